//! y4m video as a source of pictures.

use std::io::Read;

use nestcast_codec::{Format, Matrix, Picture};
use nestcast_media::y4m::{self, Reader};
use nestcast_proto::{SourceError, StreamPicture};

use crate::error::PictureError;
use crate::format::PictureFormat;
use crate::repeated::{Again, Repeated};
use crate::source::{PictureSource, Pictures};

impl Pictures {
    /// Reads the pictures of a y4m video at its own rate, as planar YCbCr 4:2:0 even if the video is grey, in the bits of
    /// the video's samples. Their matrix is `matrix`, or the usual one for their size. When the video ends, `again` reopens
    /// it to begin from its first picture.
    ///
    /// # Errors
    /// [`PictureError::Video`] if the input is no y4m that can be read, or a picture has more than `max_pixels`. The
    /// source breaks off with [`y4m::Error::NoFrame`] if there is no picture.
    pub fn y4m<R: Read + Send + 'static>(
        name: &str,
        max_pixels: u64,
        matrix: Option<Matrix>,
        input: R,
        again: Option<Again<R>>,
    ) -> Result<Self, PictureError> {
        let refuse = |error| PictureError::Video { name: name.to_owned(), error };
        let input = Repeated::<R, Reader<R>>::begin(input, max_pixels, matrix, again).map_err(refuse)?;
        let reader = &input.reader;
        let planar = Format::planar(reader.colours(), reader.bits());
        let format = PictureFormat::new(reader.size(), planar, reader.rate()).with_display(reader.display());
        let (name, notes) = (name.to_owned(), reader.notes());
        let video = Video { name, format, planar, input, is_empty: true };
        Ok(Self::new(video).with_notes(notes))
    }
}

/// A y4m video.
struct Video<R> {
    name: String,
    format: PictureFormat,
    /// The format of its samples.
    planar: Format,
    input: Repeated<R, Reader<R>>,
    /// Whether no picture was read yet.
    is_empty: bool,
}

impl<R: Read + Send> PictureSource for Video<R> {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
        match self.read(spent) {
            Ok(picture) => Ok(picture.map(StreamPicture::from)),
            Err(error) => Err(SourceError::broken_off(PictureError::Video { name: self.name.clone(), error })),
        }
    }
}

impl<R: Read> Video<R> {
    fn read(&mut self, spent: Option<Picture>) -> Result<Option<Picture>, y4m::Error> {
        let size = self.format.size;
        let mut picture = spent.unwrap_or_else(|| Picture::zero(size, self.planar));
        if self.input.reader.read_into(&mut picture)? {
            self.is_empty = false;
            return Ok(Some(picture));
        }
        if self.is_empty {
            return Err(y4m::Error::NoFrame { there: 0 });
        }
        if self.input.restart()?.is_none() {
            return Ok(None);
        }
        if self.input.reader.size() != size {
            return Err(y4m::Error::Corrupt("it has another size than before"));
        }
        if Some(self.input.reader.bits()) != self.planar.ycbcr420().map(|(_, bits)| bits) {
            return Err(y4m::Error::Corrupt("it has other samples than before: another number of bits"));
        }
        Ok(self.input.reader.read_into(&mut picture)?.then_some(picture))
    }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Ycbcr;
    use nestcast_proto::PictureStream as _;

    use super::*;

    const VIDEO: &[u8] = b"YUV4MPEG2 W2 H2 F30:1 C420\nFRAME\n123456FRAME\nabcdef";

    #[test]
    fn a_video_is_planar_and_read_into_spent_memory() {
        let again = || Ok(VIDEO);
        let mut pictures = Pictures::y4m("clip", 100, None, VIDEO, Some(Box::new(again))).expect("y4m");
        let mut next = |spent| pictures.next(spent).expect("a picture").expect("one").picture;
        let first = next(None);
        assert_eq!((first.format(), first.samples()), (Format::Ycbcr420(Ycbcr::BT601), &b"123456"[..]));
        let memory = first.samples().as_ptr();
        let second = next(Some(first));
        assert_eq!((second.samples(), second.samples().as_ptr()), (&b"abcdef"[..], memory));
        let third = next(Some(second));
        assert_eq!((third.samples(), third.samples().as_ptr()), (&b"123456"[..], memory), "it begins again");
    }

    #[test]
    fn what_a_video_loses_is_noted() {
        let deep = &b"YUV4MPEG2 W2 H2 F30:1 C420p10\nFRAME\n\x04\0\x08\0\x0C\0\x10\0\x14\0\x18\0"[..];
        let mut pictures = Pictures::y4m("clip", 100, None, deep, None).expect("y4m");
        assert_eq!(pictures.notes(), []);
        let picture = pictures.next(None).expect("a picture").expect("one").picture;
        assert_eq!(picture.format(), Format::Ycbcr420Deep { colours: Ycbcr::BT601, bits: 10 });
        assert_eq!(picture.samples(), b"\x04\0\x08\0\x0C\0\x10\0\x14\0\x18\0");
        let wide = &b"YUV4MPEG2 W1 H1 F30:1 C444\nFRAME\nyuv"[..];
        let pictures = Pictures::y4m("clip", 100, None, wide, None).expect("y4m");
        assert_eq!(pictures.notes(), [y4m::Note::Averaged("4:4:4")]);
        assert_eq!(Pictures::y4m("clip", 100, None, VIDEO, None).expect("y4m").notes(), []);
    }

    #[test]
    fn a_video_that_begins_again_in_other_bits_is_refused() {
        let again = || Ok(&b"YUV4MPEG2 W2 H2 F30:1 C420p10\nFRAME\n112233445566"[..]);
        let mut pictures = Pictures::y4m("clip", 100, None, VIDEO, Some(Box::new(again))).expect("y4m");
        assert!((0..2).all(|_| pictures.next(None).expect("a picture").is_some()));
        let refused = pictures.next(None).expect_err("other bits").to_string();
        assert!(refused.contains("other samples than before"), "{refused}");
    }

    #[test]
    fn a_video_that_begins_again_in_another_range_is_refused() {
        let again = || Ok(&b"YUV4MPEG2 W2 H2 F30:1 C420 XCOLORRANGE=FULL\nFRAME\n123456"[..]);
        let mut pictures = Pictures::y4m("clip", 100, None, VIDEO, Some(Box::new(again))).expect("y4m");
        assert!((0..2).all(|_| pictures.next(None).expect("a picture").is_some()));
        let refused = pictures.next(None).expect_err("another range").to_string();
        assert!(refused.contains("full range") && refused.contains("limited range"), "{refused}");
    }
}
