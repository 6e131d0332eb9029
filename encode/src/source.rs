//! Sources of pictures.

use std::time::Duration;

use nestcast_codec::Picture;
use nestcast_media::y4m::Note;
use nestcast_proto::{PictureStream, SourceError, StreamPicture};

use crate::format::{PictureFormat, PictureRate};

/// A sequence of pictures in one format: a camera, a file, a program that draws.
pub trait PictureSource: Send {
    /// Returns the format of every picture. It must stay the same.
    fn format(&self) -> PictureFormat;

    /// Returns the next picture, or `None` at the end, with its capture time if the source knows it. `spent` is a
    /// picture that was encoded or skipped, in the source's format: a source that reuses its memory needs no other.
    ///
    /// A source of [variable rate](PictureRate::Variable) returns when its next picture is ready.
    ///
    /// # Errors
    /// [`SourceError::BrokenOff`] if the pictures stop before the source's end.
    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError>;
}

impl<S: PictureSource + ?Sized> PictureSource for Box<S> {
    fn format(&self) -> PictureFormat {
        (**self).format()
    }

    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
        (**self).next(spent)
    }
}

/// The pictures of any source, each checked against the source's format.
pub struct Pictures {
    format: PictureFormat,
    source: Box<dyn PictureSource>,
    /// What they lose of a video.
    notes: Vec<Note>,
}

impl std::fmt::Debug for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pictures").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Pictures {
    /// Wraps the pictures of `source`.
    pub fn new(source: impl PictureSource + 'static) -> Self {
        Self { format: source.format(), source: Box::new(source), notes: Vec::new() }
    }

    /// Makes pictures of `format` with the function `next`, which gets spent pictures as [`PictureSource::next`] does.
    /// They end with its first `None`.
    pub fn from_fn(
        format: PictureFormat,
        next: impl FnMut(Option<Picture>) -> Result<Option<Picture>, SourceError> + Send + 'static,
    ) -> Self {
        Self::new(Function { format, next })
    }

    /// Repeats one picture.
    pub fn still(picture: Picture, rate: impl Into<PictureRate>) -> Self {
        let format = PictureFormat::of(&picture, rate);
        Self::from_fn(format, move |spent| match spent.filter(|spent| format.check(spent).is_ok()) {
            Some(mut again) => {
                again.samples_mut().copy_from_slice(picture.samples());
                Ok(Some(again))
            }
            None => Ok(Some(picture.clone())),
        })
    }

    /// Returns the format of every picture.
    #[must_use]
    pub const fn format(&self) -> PictureFormat {
        self.format
    }

    /// Returns what the pictures lose of the y4m video that they are from, to tell the user.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(crate) fn with_notes(self, notes: Vec<Note>) -> Self {
        Self { notes, ..self }
    }
}

impl PictureStream for Pictures {
    type Picture = Picture;

    fn interval(&self) -> Option<Duration> {
        self.format.rate.interval()
    }

    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
        let next = self.source.next(spent)?;
        if let Some(next) = &next {
            self.format.check(&next.picture).map_err(SourceError::broken_off)?;
        }
        Ok(next)
    }
}

/// A function as a source.
struct Function<F> {
    format: PictureFormat,
    next: F,
}

impl<F: FnMut(Option<Picture>) -> Result<Option<Picture>, SourceError> + Send> PictureSource for Function<F> {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
        Ok((self.next)(spent)?.map(StreamPicture::from))
    }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Format, FrameRate, Size, Ycbcr};

    use super::*;

    fn rate() -> FrameRate {
        FrameRate::new(30, 1).expect("a rate")
    }

    fn size() -> Size {
        Size::new(4, 2).expect("a size")
    }

    #[test]
    fn a_still_announces_the_format_of_its_picture_and_uses_its_memory_again() {
        for format in [Format::Rgb, Format::Grey, Format::Ycbcr420(Ycbcr::BT601_FULL), Format::Ycbcr420(Ycbcr::BT601)] {
            let picture = Picture::zero(size(), format);
            let mut pictures = Pictures::still(picture.clone(), rate());
            assert_eq!(pictures.format(), PictureFormat::new(size(), format, rate()));
            let first = pictures.next(None).expect("a picture").expect("for ever").picture;
            let memory = first.samples().as_ptr();
            let second = pictures.next(Some(first)).expect("a picture").expect("for ever").picture;
            assert_eq!((second.samples().as_ptr(), &second), (memory, &picture));
        }
    }

    #[test]
    fn a_picture_of_another_range_than_was_announced_breaks_the_source_off() {
        let format = PictureFormat::new(size(), Format::Ycbcr420(Ycbcr::BT601), rate());
        let mut pictures =
            Pictures::from_fn(format, |_| Ok(Some(Picture::zero(size(), Format::Ycbcr420(Ycbcr::BT601_FULL)))));
        let refused = pictures.next(None).expect_err("another range");
        assert!(
            matches!(refused, SourceError::BrokenOff(_)) && refused.to_string().contains("full range"),
            "{refused}"
        );
    }

    /// A camera: it paces itself and knows its capture times.
    struct Camera(u64);

    impl PictureSource for Camera {
        fn format(&self) -> PictureFormat {
            PictureFormat::new(size(), Format::Grey, PictureRate::Variable { most: rate() })
        }

        fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
            self.0 += 1;
            let picture = spent.unwrap_or_else(|| Picture::zero(size(), Format::Grey));
            Ok(Some(StreamPicture { picture, captured: Some(self.0) }))
        }
    }

    #[test]
    fn any_source_is_a_stream_and_one_that_paces_itself_is_not_waited_for() {
        let source: Box<dyn PictureSource> = Box::new(Camera(6));
        let mut pictures = Pictures::new(source);
        assert_eq!(pictures.interval(), None);
        assert_eq!(pictures.next(None).expect("a picture").expect("for ever").captured, Some(7));
        assert_eq!(Pictures::still(Picture::zero(size(), Format::Grey), rate()).interval(), Some(rate().interval()));
    }
}
