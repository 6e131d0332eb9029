//! Picture files, shown one after another.

use std::path::{Path, PathBuf};

use nestcast_codec::{Format, FrameRate, Picture, Size};

use crate::error::PictureError;
use crate::format::{PictureFormat, Samples};
use crate::source::Pictures;

impl Pictures {
    /// Shows the files whose `size` is known, as pictures that `read` makes of them; with `again` they repeat. A file
    /// that cannot be read is not tried again: the picture before it stays, or the first readable picture is shown.
    /// Pictures that are not planar may each be RGB or grey.
    ///
    /// # Errors
    /// [`PictureError::Sizes`] if two have different sizes, [`PictureError::NoPicture`] if none can be read.
    pub fn slides(
        mut files: Vec<PathBuf>,
        rate: FrameRate,
        again: bool,
        mut size: impl FnMut(&Path) -> Option<Size>,
        mut read: impl FnMut(&Path) -> Option<Picture> + Send + 'static,
    ) -> Result<Self, PictureError> {
        let mut sizes = Vec::new();
        files.retain(|file| size(file).inspect(|size| sizes.push(*size)).is_some());
        if let Some(at) = sizes.iter().position(|size| *size != sizes[0]) {
            let file = files.swap_remove(at);
            let first = files.swap_remove(0);
            return Err(PictureError::Sizes { file, given: sizes[at], first, size: sizes[0] });
        }
        let first = files.iter().enumerate().find_map(|(at, file)| Some((at, read(file)?)));
        let (at, picture) = first.ok_or(PictureError::NoPicture)?;
        let format = PictureFormat::new(picture.size(), samples(picture.format()), rate);
        let broken = (0..files.len()).map(|place| place < at).collect();
        let mut slides = Slides { files, broken, again, next: 0, last: picture };
        Ok(Self::from_fn(format, move |_| Ok(slides.next(&mut read))))
    }
}

/// Returns the samples of all pictures, given the format of the first.
fn samples(first: Format) -> Samples {
    match first {
        Format::Rgb | Format::Grey => Samples::RgbOrGrey,
        planar => planar.into(),
    }
}

/// The files of a slide show.
struct Slides {
    files: Vec<PathBuf>,
    /// Whether each file could not be read.
    broken: Vec<bool>,
    /// Whether the files repeat.
    again: bool,
    next: usize,
    /// The last readable picture; initially the first.
    last: Picture,
}

impl Slides {
    fn next(&mut self, read: impl FnOnce(&Path) -> Option<Picture>) -> Option<Picture> {
        if self.next == self.files.len() && self.again {
            self.next = 0;
        }
        let file = self.files.get(self.next)?;
        let broken = &mut self.broken[self.next];
        self.next += 1;
        if !*broken {
            match read(file) {
                Some(picture) => self.last = picture,
                None => *broken = true,
            }
        }
        Some(self.last.clone())
    }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Channels, Ycbcr};

    use super::*;

    #[test]
    fn slides_announce_the_range_of_their_pictures() {
        let rate = FrameRate::new(1, 1).expect("a rate");
        let size = Size::new(1, 1).expect("a size");
        let announced = |format: Format| {
            let read = move |_: &Path| Some(Picture::zero(size, format));
            let slides = Pictures::slides(vec!["1".into()], rate, false, |_| Some(size), read).expect("a picture");
            slides.format().samples
        };
        assert_eq!(announced(Format::Rgb), Samples::RgbOrGrey);
        for range in [Ycbcr::BT601_FULL, Ycbcr::BT601] {
            assert_eq!(announced(Format::Ycbcr420(range)), Samples::Fixed(Format::Ycbcr420(range)));
        }
    }

    #[test]
    fn what_cannot_be_read_is_tried_once_and_the_one_before_stays() {
        let mut tried = Vec::new();
        let mut read = |file: &Path| {
            let name = file.display().to_string();
            tried.push(name.clone());
            let grey = name.parse().ok()?;
            Picture::new(Size::new(1, 1).expect("a size"), Channels::Grey, vec![grey]).ok()
        };
        let files: Vec<PathBuf> = ["x", "1", "y", "2"].map(Into::into).to_vec();
        let last = read(&files[1]).expect("a picture");
        let broken = vec![true, false, false, false];
        let mut slides = Slides { files, broken, again: true, next: 0, last };
        let shown: Vec<u8> = (0..8).map(|_| slides.next(&mut read).expect("for ever").samples()[0]).collect();
        assert_eq!(shown, [1, 1, 1, 2, 2, 1, 1, 2]);
        assert_eq!(tried, ["1", "1", "y", "2", "1", "2"]);
    }
}
