//! Writes the mail that the viewer's network worker hands to its screen for a stored video at a bit rate, one mail for
//! each frame, for `tests/web/two_workers.mjs`: `mail VIDEO.nst BITS_PER_SECOND OUT`. Each mail follows its length in 32
//! bits, little-endian.

use std::error::Error;
use std::fs;
use std::io::{Cursor, Write as _};
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Bitrate, Budget, VideoModel};
use nestcast_media::stored::{Frames, Reader};
use nestcast_proto::{FrameHeader, PackageHash, ReceivedFrame, Video, Welcome};
use nestcast_web::Mail;

/// The most pixels of a video's frames.
const MAX_PIXELS: u64 = 4096 * 2160;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [video, bits, out] = &arguments[..] else { return Err("mail VIDEO.nst BITS_PER_SECOND OUT".into()) };
    let bitrate = Bitrate::from_bits(bits.parse()?);
    let mut out = fs::File::create(out)?;
    let reader = Reader::new(Cursor::new(Bytes::from(fs::read(video)?)), MAX_PIXELS)?;
    let header = *reader.header();
    let mut frames = Frames::new(reader, 0..u64::MAX);
    frames.choose(bitrate);
    let mut budget = Budget::new(bitrate, header.rate);
    let [key, residual] = VideoModel::built_in().ids();
    let mut mail = Mail::default();
    let mut send = |mail: &mut Mail| -> Result<(), Box<dyn Error>> {
        let bytes = mail.take();
        out.write_all(&u32::try_from(bytes.len())?.to_le_bytes())?;
        Ok(out.write_all(&bytes)?)
    };
    mail.push_welcome(Welcome {
        model: key.0,
        package: PackageHash([0; 32]),
        width: u32::try_from(header.size.width())?,
        height: u32::try_from(header.size.height())?,
        rate: header.rate,
        video: Some(Video::new(residual.0)),
    });
    send(&mut mail)?;
    while let Some(frame) = frames.next()? {
        let count = frame.allowed(&mut budget);
        let base = frame.head.map_or(0, |head| head.base);
        let at = header.rate.interval() * u32::try_from(frame.number)?;
        let header = FrameHeader {
            id: frame.number,
            skipped: 0,
            captured: u64::try_from(at.as_micros())?,
            full: frame.bytes.len() as u64,
            base: base as u64,
        };
        let prefix = frame.bytes.slice(..count);
        mail.push_frame(ReceivedFrame { header, prefix, first: Duration::ZERO, shown: at });
        send(&mut mail)?;
    }
    Ok(())
}
