//! Cuts a stored video to a bit rate: every frame as a sender would cut it, from the loop that fits the rate best.

use std::io::{Read, Write};

use bytes::Bytes;
use nestcast_codec::{
    Bitrate, Budget, FrameHead, MIN_RANDOM_ACCESS_BYTES, RenditionRates, SoundRecord, VideoHeader, VideoWriter,
};

use super::{Error, Frames};

/// A random-access frame has at most what the rate carries in this many frame intervals, as a sender's has, or
/// [`MIN_RANDOM_ACCESS_BYTES`].
const RANDOM_ACCESS_INTERVALS: usize = 2;

/// What a cut video contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// Frames.
    pub frames: u64,
    /// Bytes of their records, without sound and random-access frames.
    pub bytes: u64,
    /// Bytes of base layers, which are never cut.
    pub bases: u64,
    /// Frames that stay whole, because they do not say where they can be cut.
    pub uncut: u64,
    /// Frames of which the rate leaves bytes out.
    pub cut: u64,
}

/// Writes the part of all frames that fits a rate in bits a second, with the frames before the range that it is
/// predicted from. Decodes nothing. Sound stays as it is, and does not count in the rate. Neither do random-access frames,
/// each of which has at most the bytes of two frame intervals.
///
/// # Errors
/// [`Error::Io`] if the system cannot read, [`Error::Write`] if it cannot write.
pub fn cut<R: Read>(frames: &mut Frames<R>, bitrate: Bitrate, mut output: impl Write) -> Result<Kept, Error> {
    frames.choose(bitrate);
    let channels = frames.begin_sound()?.and_then(|channels| u8::try_from(channels).ok());
    frames.keep_random_access();
    let header = *frames.reader().header();
    let most =
        bitrate.bytes_per_frame(header.rate).saturating_mul(RANDOM_ACCESS_INTERVALS).max(MIN_RANDOM_ACCESS_BYTES);
    let mut budget = Budget::new(bitrate, header.rate);
    let (mut writer, start) = VideoWriter::new(&VideoHeader { renditions: RenditionRates::ONE, ..header });
    let mut put = |piece: &[u8]| output.write_all(piece).map_err(Error::Write);
    put(&start)?;
    let mut kept = Kept::default();
    let begun = channels.map(|channels| SoundRecord { channels, packet: None });
    begun.map_or(Ok(()), |begun| put(&writer.sound(&begun)))?;
    loop {
        let frame = frames.next()?;
        for sound in frames.take_sound() {
            let packet = Some((sound.captured, &sound.bytes[..]));
            channels.map_or(Ok(()), |channels| put(&writer.sound(&SoundRecord { channels, packet })))?;
        }
        let Some(frame) = frame else { break };
        let count = frame.allowed(&mut budget);
        let key = frame.head.is_some_and(|head| head.key);
        frame.captured.into_iter().for_each(|micros| writer.captured(micros));
        let beginning = frames.take_random_access().filter(|_| !key).map(|bytes| shortened(&bytes, most));
        beginning.iter().for_each(|bytes| writer.random_access(bytes));
        let record = writer.frame(&frame.bytes[..count], key);
        put(&record)?;
        kept.frames += 1;
        kept.uncut += u64::from(frame.head.is_none());
        kept.cut += u64::from(count < frame.bytes.len());
        kept.bytes += (record.len() - beginning.map_or(0, |bytes| bytes.len())) as u64;
        kept.bases += frame.head.map_or(0, |head| head.base.min(frame.bytes.len()) as u64);
    }
    put(&writer.finish())?;
    Ok(kept)
}

/// Returns the first bytes of a random-access frame: `most` of them, or more if its motion would take over half of these.
fn shortened(frame: &Bytes, most: usize) -> Bytes {
    let side = FrameHead::parse(frame).ok().flatten().map_or(0, |head| head.side);
    frame.slice(..frame.len().min(most.max(side.saturating_add(most / 2))))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use nestcast_codec::{
        Display, Format, FrameRate, Picture, Population, Size, VideoModel, VideoRenditions, VideoSettings, Ycbcr,
    };

    use super::*;
    use crate::stored::{Reader, Writer};

    #[test]
    fn a_cut_video_can_be_begun_where_the_whole_one_can() {
        let (size, rate) = (Size::new(64, 48).expect("a size"), FrameRate::new(4, 1).expect("a rate"));
        let population = Population::log_uniform(Bitrate::from_bits(20_000)..=Bitrate::from_bits(400_000));
        let model = VideoModel::built_in();
        let encoder = VideoRenditions::new(&model, VideoSettings { size, rate, population, threads: 1 }, 2);
        let encoder = encoder.expect("two renditions");
        let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), encoder.rates());
        let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
        let mut writer = Writer::new(encoder, &header, Vec::new());
        let mut picture = Picture::zero(size, Format::Ycbcr420(colours));
        for number in 0..20 {
            picture.samples_mut()[..48 * 48].chunks_mut(7).for_each(|part| part.fill(number * 11));
            writer.write(&picture).expect("memory");
        }
        let whole = writer.finish().expect("memory").0;
        let begins = |bytes: &[u8]| {
            let mut reader = Reader::new(Cursor::new(bytes), u64::MAX).expect("a video");
            let positions = reader.positions().expect("it seeks");
            let begins = positions.into_iter().filter(crate::stored::Position::has_random_access);
            let frame = |place| {
                reader.begin_at(&place).expect("it seeks");
                (place.number, reader.next_frame().expect("whole").expect("a frame"))
            };
            begins.map(frame).collect::<Vec<_>>()
        };
        for (bits, most) in [(20_000, MIN_RANDOM_ACCESS_BYTES), (400_000, 25_000)] {
            let mut frames = Frames::new(Reader::new(Cursor::new(&whole), u64::MAX).expect("a video"), 0..u64::MAX);
            let mut shorter = Vec::new();
            cut(&mut frames, Bitrate::from_bits(bits), &mut shorter).expect("memory");
            let (of_cut, of_whole) = (begins(&shorter), begins(&whole));
            let numbers = of_cut.iter().map(|(number, _)| *number).collect::<Vec<_>>();
            assert_eq!(numbers, [8, 16]);
            let chosen = header.renditions.serving(Bitrate::from_bits(bits)) == 1;
            for ((_, cut), (_, whole)) in of_cut.iter().zip(&of_whole) {
                assert!(cut.len() <= most && !cut.is_empty(), "{} of {} bytes", cut.len(), whole.len());
                // A reader that chooses none reads the fastest rendition.
                assert!(!chosen || whole.starts_with(cut));
            }
        }
    }
}
