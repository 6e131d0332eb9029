//! Cuts a stored video to a bit rate: every frame as a sender would cut it, from the loop that fits the rate best.

use std::io::{Read, Write};

use nestcast_codec::{Bitrate, Budget, RenditionRates, SoundBlock, VideoHeader, VideoWriter};

use super::{Error, Frames};

/// What a cut video contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// Frames.
    pub frames: u64,
    /// Bytes of their records, without those of sound.
    pub bytes: u64,
    /// Bytes of base layers, which are never cut.
    pub bases: u64,
    /// Frames that stay whole, because they do not say where they can be cut.
    pub uncut: u64,
}

/// Writes the part of all frames that fits a rate in bits a second, with the frames before the range that it is
/// predicted from. Decodes nothing. Sound stays as it is, and does not count in the rate.
///
/// # Errors
/// [`Error::Io`] if the system cannot read, [`Error::Write`] if it cannot write.
pub fn cut<R: Read>(frames: &mut Frames<R>, bitrate: Bitrate, mut output: impl Write) -> Result<Kept, Error> {
    frames.choose(bitrate);
    let channels = frames.begin_sound()?.and_then(|channels| u8::try_from(channels).ok());
    let header = *frames.reader().header();
    let mut budget = Budget::new(bitrate, header.rate);
    let (mut writer, start) = VideoWriter::new(&VideoHeader { renditions: RenditionRates::ONE, ..header });
    let mut put = |piece: &[u8]| output.write_all(piece).map_err(Error::Write);
    put(&start)?;
    let mut kept = Kept::default();
    let begun = channels.map(|channels| SoundBlock { channels, packet: None });
    begun.map_or(Ok(()), |begun| put(&writer.sound(&begun)))?;
    loop {
        let frame = frames.next()?;
        for sound in frames.take_sound() {
            let packet = Some((sound.captured, &sound.bytes[..]));
            channels.map_or(Ok(()), |channels| put(&writer.sound(&SoundBlock { channels, packet })))?;
        }
        let Some(frame) = frame else { break };
        let count = frame.allowed(&mut budget);
        let key = frame.head.is_some_and(|head| head.key);
        frame.captured.into_iter().for_each(|micros| writer.captured(micros));
        let record = writer.frame(&frame.bytes[..count], key);
        put(&record)?;
        kept.frames += 1;
        kept.uncut += u64::from(frame.head.is_none());
        kept.bytes += record.len() as u64;
        kept.bases += frame.head.map_or(0, |head| head.base.min(frame.bytes.len()) as u64);
    }
    put(&writer.finish())?;
    Ok(kept)
}
