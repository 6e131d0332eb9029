//! Plays a stored video as a receiver with a given rate sees it.

use std::io::{Read, Seek};
use std::sync::Arc;

use nestcast_codec::{Bitrate, Budget, DecodedPart, Restoration, VideoDecoder, VideoModel, ViewMut};

use super::{Error, Frames};

/// Decodes the frames of a range.
#[derive(Debug)]
pub struct Player<R> {
    frames: Frames<R>,
    decoder: VideoDecoder,
    budget: Option<Budget>,
    played: Played,
}

/// Counts of what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Played {
    /// Frames.
    pub frames: u64,
    /// Bytes that the receiver got of them.
    pub bytes: u64,
    /// Frames that repeat the one before, because they cannot be decoded.
    pub repeated: u64,
}

/// A frame to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// From 0.
    pub number: u64,
    /// When it was captured, in microseconds since 1970-01-01 UTC, if the file says so.
    pub captured: Option<u64>,
    /// Bytes that the receiver got of it.
    pub bytes: usize,
    /// Whether it repeats the one before, because it cannot be decoded.
    pub repeated: bool,
}

impl<R: Read> Player<R> {
    /// Decodes all bytes of each frame, on `threads` threads.
    ///
    /// # Errors
    /// [`Error::Models`] if the frames need other tables than `model`'s.
    pub fn new(frames: Frames<R>, model: VideoModel, threads: usize) -> Result<Self, Error> {
        frames.reader().check_model(&model)?;
        let decoder = VideoDecoder::new(model, frames.reader().header().size, threads).with_max_pixels(u64::MAX);
        Ok(Self { frames, decoder, budget: None, played: Played::default() })
    }

    /// Decodes the bytes that a receiver with this rate gets of each frame, from the loop that fits the rate.
    #[must_use]
    pub fn with_bitrate(mut self, bitrate: Bitrate) -> Self {
        self.frames.choose(bitrate);
        self.budget = Some(Budget::new(bitrate, self.frames.reader().header().rate));
        self
    }

    /// Passes decoded frames through `restoration`; not in WebAssembly.
    #[must_use]
    pub fn with_restoration(mut self, restoration: Arc<dyn Restoration>) -> Self {
        self.decoder = self.decoder.with_restoration(restoration);
        self
    }

    /// Returns the reader of frames.
    #[must_use]
    pub const fn frames(&self) -> &Frames<R> {
        &self.frames
    }

    /// Returns the reader of frames, for the sound between them.
    pub const fn frames_mut(&mut self) -> &mut Frames<R> {
        &mut self.frames
    }

    /// Returns the counts of what was shown.
    #[must_use]
    pub const fn played(&self) -> Played {
        self.played
    }

    /// Decodes up to the next frame of the range that has a picture, and draws it: planar YCbCr 4:2:0 of the header's
    /// size and colours. Returns `None` after the last frame. [`Frames::fault`] has the first fault.
    ///
    /// # Errors
    /// [`Error::Io`] from the system; [`Error::Show`] if `picture` has another size or format.
    pub fn next_into<'a>(&mut self, picture: impl Into<ViewMut<'a>>) -> Result<Option<Shown>, Error> {
        while let Some(frame) = self.frames.next()? {
            let bytes = self.budget.as_mut().map_or(frame.bytes.len(), |budget| frame.allowed(budget));
            let decoded = self.decoder.decode(&frame.bytes[..bytes]);
            let arrived = decoded.unwrap_or_else(|error| {
                self.frames.blame(format!("frame {}: {error}", frame.number));
                DecodedPart::Nothing
            });
            let repeated = arrived == DecodedPart::Nothing;
            // Frames before the range only serve for prediction. Before the first decoded frame there is nothing to
            // show.
            if frame.number < self.frames.range().start || (arrived == DecodedPart::Nothing && self.played.frames == 0)
            {
                continue;
            }
            self.decoder.render_into(picture)?;
            self.played.frames += 1;
            self.played.bytes += bytes as u64;
            self.played.repeated += u64::from(repeated);
            return Ok(Some(Shown { number: frame.number, captured: frame.captured, bytes, repeated }));
        }
        Ok(None)
    }
}

impl<R: Read + Seek> Player<R> {
    /// Skips the frames before the last key frame at or before the range, as [`Frames::seek`] does. The pictures are
    /// exactly those that it shows without this call. After [`Player::with_bitrate`] they may differ, because the rate
    /// counts from there on.
    ///
    /// # Errors
    /// The system's.
    pub fn seek(&mut self) -> Result<(), Error> {
        self.frames.seek()
    }

    /// Goes, forward or back, to frame `frame`, which [`Player::next_into`] then shows next. It decodes from the last
    /// frame with which a decoder can begin, where [`Player::seek`] needs a key frame. So the pictures differ a little
    /// from those of [`Player::seek`], and less with each frame. [`Reader::seek_near`](super::Reader::seek_near) has
    /// the details.
    ///
    /// # Errors
    /// The system's, also if the input cannot seek.
    pub fn seek_near(&mut self, frame: u64) -> Result<(), Error> {
        self.frames.seek_near(frame)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use nestcast_codec::{
        Display, Format, FrameRate, Picture, Population, Size, VideoHeader, VideoRenditions, VideoSettings, Ycbcr,
    };

    use super::*;
    use crate::stored::{Reader, Writer};

    /// Returns a video of `frames` pictures, of which `draw` draws each.
    fn film(frames: u64, draw: impl Fn(u64, &mut [u8])) -> Vec<u8> {
        let size = Size::new(32, 16).expect("a valid size");
        let model = VideoModel::built_in();
        let rate = FrameRate::new(30, 1).expect("a rate");
        let colours = Ycbcr::BT601;
        let settings = VideoSettings {
            size,
            rate,
            population: Population::log_uniform(Bitrate::from_bits(100_000)..=Bitrate::from_bits(1_000_000)),
            threads: 1,
        };
        let encoder = VideoRenditions::new(&model, settings, 1).expect("one loop");
        let display = Display::default();
        let header =
            VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions: encoder.rates() };
        let mut writer = Writer::new(encoder, &header, Vec::new());
        for number in 0..frames {
            let mut picture = Picture::zero(size, Format::Ycbcr420(colours));
            draw(number, picture.samples_mut());
            writer.write(&picture).expect("a frame");
        }
        writer.finish().expect("memory takes all").0
    }

    /// A video of three frames, and where the record of the last begins.
    fn three_frames() -> (Vec<u8>, usize) {
        let bytes = film(3, |_, _| {});
        let mut reader = Reader::new(Cursor::new(&bytes), u64::MAX).expect("a header");
        let last = (0..2).map(|_| reader.next_frame().expect("a frame").expect("two frames")).last().expect("two");
        let at = bytes.windows(last.len()).rposition(|window| *window == last[..]).expect("it is there");
        (bytes, at + last.len())
    }

    fn player(bytes: &[u8]) -> Player<Cursor<&[u8]>> {
        let reader = Reader::new(Cursor::new(bytes), u64::MAX).expect("a header");
        Player::new(Frames::new(reader, 0..u64::MAX), VideoModel::built_in(), 1).expect("its tables")
    }

    #[test]
    fn a_frame_of_which_nothing_can_be_decoded_shows_the_one_before_and_counts() {
        let (bytes, last) = three_frames();
        let mut picture = Picture::zero(Size::new(32, 16).expect("a size"), Format::Ycbcr420(Ycbcr::BT601));
        let mut player = player(&bytes[..last + 2]); // its record's head and a byte
        let shown: Vec<_> = std::iter::from_fn(|| player.next_into(&mut picture).expect("memory")).collect();
        assert_eq!(shown.iter().map(|shown| shown.repeated).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!((player.played().frames, player.played().repeated), (3, 1));
    }

    #[test]
    fn a_player_goes_near_any_frame_from_the_last_random_access_frame_and_exactly_from_a_key_frame() {
        let bytes = film(130, |number, samples| {
            samples.iter_mut().zip(0..).for_each(|(sample, at)| *sample = 60 + ((at * 7 + number * 3) % 100) as u8);
        });
        let mut picture = Picture::zero(Size::new(32, 16).expect("a size"), Format::Ycbcr420(Ycbcr::BT601));
        let mut all = player(&bytes);
        let mut exact = Vec::new();
        while all.next_into(&mut picture).expect("memory").is_some() {
            exact.push(picture.clone());
        }
        assert_eq!(exact.len(), 130);
        // Back from the end, on, and to the first frame, which is the only key frame.
        for (frame, first) in [(129, 120), (61, 60), (125, 120), (0, 0), (59, 0)] {
            all.seek_near(frame).expect("it seeks");
            assert_eq!(all.frames().reader().next_number(), first);
            let shown = all.next_into(&mut picture).expect("memory").expect("a frame");
            let number = usize::try_from(frame).expect("few");
            assert_eq!((shown.number, shown.repeated), (frame, false));
            let pairs = picture.samples().iter().zip(exact[number].samples());
            let distance: u64 = pairs.map(|(near, exact)| u64::from(near.abs_diff(*exact))).sum();
            assert!(distance <= 4 * picture.samples().len() as u64, "frame {frame}: {distance}");
            assert!(first > 0 || distance == 0, "frame {frame} is decoded from the key frame");
        }
        all.seek_near(1000).expect("it seeks");
        assert_eq!(all.next_into(&mut picture).expect("memory"), None);
        let reader = Reader::new(Cursor::new(&bytes[..]), u64::MAX).expect("a header");
        let mut late = Player::new(Frames::new(reader, 129..u64::MAX), VideoModel::built_in(), 1).expect("its tables");
        late.seek().expect("it seeks");
        assert_eq!(late.next_into(&mut picture).expect("memory").map(|shown| shown.number), Some(129));
        assert_eq!(picture, exact[129]);
    }

    #[test]
    fn what_is_no_record_ends_a_video_for_good() {
        let (mut bytes, last) = three_frames();
        bytes[last] = 0xff;
        bytes.splice(last + 1..last + 1, [0xff; 9]);
        let mut picture = Picture::zero(Size::new(32, 16).expect("a size"), Format::Ycbcr420(Ycbcr::BT601));
        let mut player = player(&bytes);
        let mut next = || player.next_into(&mut picture).expect("memory").is_some();
        assert_eq!([(); 5].map(|()| next()), [true, true, false, false, false]);
        assert!(player.frames().fault().is_some());
    }
}
