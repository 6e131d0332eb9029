//! Matroska as a source of pictures and sound.

use std::io::Read;
use std::time::Duration;

use nestcast_codec::{Matrix, Picture};
use nestcast_media::matroska::{Error, Part, Reader, SoundTrack};
use nestcast_proto::{MuxedPart, MuxedStream, NextPart, Sound, SourceError, TimedSound};

use crate::error::PictureError;
use crate::format::{PictureFormat, PictureRate};
use crate::repeated::{Again, Repeated};

/// Reads pictures and sound of Matroska from a file or a pipe, at the times that it states.
pub struct Muxed<R> {
    name: String,
    input: Repeated<R, Reader<R>>,
    sound: Option<Box<dyn TimedSound>>,
    /// What receivers learn of the sound, also after a fault in it.
    announced: Option<Sound>,
    /// Pictures are this much later than in the file, so that sound that is heard before its time has one.
    lag: Duration,
    /// The memory for the next picture.
    picture: Picture,
    /// The time of the first part.
    first: Option<Duration>,
    /// Whether a picture came since the file began.
    has_picture: bool,
    /// How long the file took when it was read before.
    before: Duration,
    /// The end of what was read.
    end: Duration,
    has_ended: bool,
}

impl<R> std::fmt::Debug for Muxed<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Muxed").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<R: Read + Send + 'static> Muxed<R> {
    /// Reads the beginning. The matrix of the pictures is `matrix`, or that of the file. When the file ends, `again`
    /// reopens it.
    ///
    /// # Errors
    /// [`PictureError::Matroska`] if the input is no Matroska that can be read, or a picture has more than `max_pixels`.
    pub fn new(
        name: &str,
        max_pixels: u64,
        matrix: Option<Matrix>,
        input: R,
        again: Option<Again<R>>,
    ) -> Result<Self, PictureError> {
        let refuse = |error| PictureError::Matroska { name: name.to_owned(), error };
        let input = Repeated::<R, Reader<R>>::begin(input, max_pixels, matrix, again).map_err(refuse)?;
        Ok(Self {
            name: name.to_owned(),
            picture: Picture::zero(input.reader.size(), input.reader.format()),
            input,
            sound: None,
            announced: None,
            lag: Duration::ZERO,
            first: None,
            has_picture: false,
            before: Duration::ZERO,
            end: Duration::ZERO,
            has_ended: false,
        })
    }

    /// Returns the format of every picture.
    #[must_use]
    pub fn format(&self) -> PictureFormat {
        let rate = PictureRate::Variable { most: self.input.reader.rate() };
        PictureFormat::new(self.input.reader.size(), self.input.reader.format(), rate)
            .with_display(self.input.reader.display())
    }

    /// Returns the track of sound, if the file has one.
    #[must_use]
    pub fn sound_track(&self) -> Option<SoundTrack> {
        self.input.reader.sound()
    }

    /// Makes packets of the file's sound. Without this, it is left out.
    #[must_use]
    pub fn with_sound(mut self, sound: impl TimedSound + 'static) -> Self {
        (self.announced, self.lag) = (Some(sound.sound()), sound.lag());
        self.sound = Some(Box::new(sound));
        self
    }

    /// Returns the next part, or says that the sound has a fault.
    fn part(&mut self, spent: &mut Option<Picture>) -> Result<NextPart<Picture>, Error> {
        loop {
            if let Some(packet) = self.packet() {
                return Ok(Some(packet));
            }
            match self.input.reader.next(&mut self.picture)? {
                Some(Part::Picture(at)) => {
                    self.has_picture = true;
                    let after = after(&mut self.first, at) + self.before;
                    self.end = self.end.max(after + self.input.reader.rate().interval());
                    let fits = |it: &Picture| {
                        it.size() == self.input.reader.size() && it.format() == self.input.reader.format()
                    };
                    let free = spent.take().filter(fits);
                    let free =
                        free.unwrap_or_else(|| Picture::zero(self.input.reader.size(), self.input.reader.format()));
                    let picture = std::mem::replace(&mut self.picture, free);
                    return Ok(Some((after + self.lag, MuxedPart::Picture(picture))));
                }
                Some(Part::Sound(at, bytes)) => {
                    let after = after(&mut self.first, at) + self.before;
                    self.end = self.end.max(after);
                    if let Some(Err(fault)) = self.sound.as_mut().map(|sound| sound.push(after, bytes)) {
                        self.sound = None;
                        return Ok(Some((after, MuxedPart::SoundFault(fault))));
                    }
                }
                None => {
                    if self.has_ended || !self.restart()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Returns a packet that is ready.
    fn packet(&mut self) -> NextPart<Picture> {
        match self.sound.as_mut()?.pop() {
            Ok(packet) => packet.map(|(at, packet)| (at, MuxedPart::Sound(packet))),
            Err(fault) => {
                self.sound = None;
                Some((self.end, MuxedPart::SoundFault(fault)))
            }
        }
    }

    /// Begins the file again, or fills the last packet of sound. Returns whether there may be more. Refuses a file
    /// without pictures, and one that takes no time: it would begin again for ever, and give nothing.
    fn restart(&mut self) -> Result<bool, Error> {
        if !self.has_picture {
            return Err(Error::NoPictures);
        }
        if !self.input.is_repeated() {
            self.has_ended = true;
            let Some(sound) = &mut self.sound else { return Ok(false) };
            sound.finish();
            return Ok(true);
        }
        if self.end <= self.before {
            return Err(Error::Form("pictures and sound take no time"));
        }
        let format = |reader: &Reader<R>| (reader.size(), reader.format(), reader.sound());
        let before = self.input.restart()?.as_ref().map(format);
        if before.is_some_and(|before| before != format(&self.input.reader)) {
            return Err(Error::Form("pictures or sound have another format than before"));
        }
        (self.first, self.before) = (None, self.end);
        self.has_picture = false;
        Ok(true)
    }
}

/// Returns the time since the first part.
fn after(first: &mut Option<Duration>, at: Duration) -> Duration {
    at.saturating_sub(*first.get_or_insert(at))
}

impl<R: Read + Send + 'static> MuxedStream for Muxed<R> {
    type Picture = Picture;

    fn sound(&self) -> Option<Sound> {
        self.announced
    }

    fn next(&mut self, spent: &mut Option<Picture>) -> Result<NextPart<Picture>, SourceError> {
        self.part(spent)
            .map_err(|error| SourceError::broken_off(PictureError::Matroska { name: self.name.clone(), error }))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_codec::{Format, Ycbcr};

    use super::*;

    /// Writes an element with a length of one byte, or of eight.
    fn element(id: u32, content: &[u8]) -> Vec<u8> {
        let id: Vec<u8> = id.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
        [&id[..], &(1 << 56 | content.len() as u64).to_be_bytes(), content].concat()
    }

    /// Writes a file with pictures of 2x2 and sound, and with these blocks: track, time and content.
    fn file(blocks: &[(u8, i16, &[u8])]) -> Vec<u8> {
        let video = [element(0xB0, &[2]), element(0xBA, &[2]), element(0x2E_B524, b"I420")].concat();
        let pictures =
            [element(0xD7, &[1]), element(0x83, &[1]), element(0x86, b"V_UNCOMPRESSED"), element(0xE0, &video)];
        let sound = [element(0xD7, &[2]), element(0x83, &[2]), element(0x86, b"A_OPUS")];
        let tracks = [element(0xAE, &pictures.concat()), element(0xAE, &sound.concat())].concat();
        let block = |(track, time, content): &(u8, i16, &[u8])| {
            element(0xA3, &[&[0x80 | track][..], &time.to_be_bytes(), &[0], content].concat())
        };
        let blocks: Vec<u8> = blocks.iter().flat_map(block).collect();
        let cluster = element(0x1F43_B675, &[element(0xE7, &[100]), blocks].concat());
        [element(0x1A45_DFA3, b""), element(0x1853_8067, &[element(0x1654_AE6B, &tracks), cluster].concat())].concat()
    }

    /// Packets as they are, and a fault for an empty one.
    struct AsItIs(Option<(Duration, Bytes)>);

    impl TimedSound for AsItIs {
        fn sound(&self) -> Sound {
            Sound::Mono
        }

        fn lag(&self) -> Duration {
            Duration::from_millis(5)
        }

        fn push(&mut self, at: Duration, bytes: &[u8]) -> Result<(), SourceError> {
            self.0 = Some((at, Bytes::copy_from_slice(bytes)));
            if bytes.is_empty() { Err(SourceError::broken_off("no packet")) } else { Ok(()) }
        }

        fn pop(&mut self) -> Result<Option<(Duration, Bytes)>, SourceError> {
            Ok(self.0.take())
        }

        fn finish(&mut self) {
            self.0 = Some((Duration::from_millis(999), Bytes::from_static(b"last")));
        }
    }

    /// Returns the first parts, at most this number of them: milliseconds and the first byte of each.
    fn parts(input: Vec<u8>, again: Option<Vec<u8>>, count: usize) -> Vec<(u128, char)> {
        let again = again.map(|again| Box::new(move || Ok(std::io::Cursor::new(again.clone()))) as Again<_>);
        let muxed = Muxed::new("film", 100, None, std::io::Cursor::new(input), again).expect("Matroska");
        assert!(muxed.sound_track().is_some() && muxed.format().samples == Format::Ycbcr420(Ycbcr::BT601).into());
        let mut muxed = muxed.with_sound(AsItIs(None));
        let mut spent = None;
        let mut next = || {
            let (after, part) = muxed.next(&mut spent).ok().flatten()?;
            let first = match part {
                MuxedPart::Picture(picture) => {
                    let first = picture.samples()[0];
                    spent = Some(picture);
                    first.into()
                }
                MuxedPart::Sound(packet) => packet[0].into(),
                MuxedPart::SoundFault(_) => '!',
            };
            Some((after.as_millis(), first))
        };
        let parts = (0..count).map_while(|_| next()).collect();
        assert_eq!(muxed.sound(), Some(Sound::Mono), "it stays the same");
        parts
    }

    #[test]
    fn parts_have_their_order_and_times_and_pictures_wait_for_sound_that_lags() {
        let film = file(&[(1, 0, b"ABCDbr"), (2, 0, b"one"), (2, 20, b"two"), (1, 33, b"EFGHbr")]);
        assert_eq!(parts(film.clone(), None, 9), [(5, 'A'), (0, 'o'), (20, 't'), (38, 'E'), (999, 'l')]);
        let again = parts(film.clone(), Some(film.clone()), 6);
        assert_eq!(again[4..], [(33 + 33 + 5, 'A'), (66, 'o')], "it begins again where it ended");
        let other = parts(film, Some(file(&[])), 6);
        assert_eq!(other.len(), 4, "that has no pictures: {other:?}");
    }

    #[test]
    fn a_file_without_a_picture_is_refused_at_its_end_and_never_begins_again() {
        let silent = file(&[(2, 0, b"")]);
        for again in [None, Some(silent.clone())] {
            let again = again.map(|again| {
                let mut left = 3;
                Box::new(move || {
                    left -= 1;
                    if left == 0 {
                        Err(std::io::Error::other("it begins for ever"))
                    } else {
                        Ok(std::io::Cursor::new(again.clone()))
                    }
                }) as Again<_>
            });
            // Nobody wants its sound, so no part comes.
            let mut muxed =
                Muxed::new("film", 100, None, std::io::Cursor::new(silent.clone()), again).expect("Matroska");
            let refused = muxed.part(&mut None).expect_err("it has no pictures");
            assert!(matches!(refused, Error::NoPictures), "{refused}");
        }
        let sound = file(&[(2, 0, b"one"), (2, 20, b"two")]);
        assert_eq!(parts(sound.clone(), Some(sound), 9), [(0, 'o'), (20, 't')], "it is not sent again");
    }

    #[test]
    fn pictures_go_on_after_a_fault_in_the_sound() {
        let film = file(&[(2, 0, b"one"), (2, 20, b""), (1, 40, b"ABCDbr"), (2, 40, b"more"), (1, 80, b"EFGHbr")]);
        assert_eq!(parts(film, None, 9), [(0, 'o'), (20, '!'), (45, 'A'), (85, 'E')]);
    }
}
