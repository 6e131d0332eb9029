//! The records that the network passes to the screen, and their form as bytes between two workers.

use std::collections::VecDeque;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use nestcast_proto::{
    Control, MAX_OPEN_VIDEO_FRAMES, Message, More, ReceivedFrame, Sound, SoundPacket, StreamHead, Welcome,
};

use crate::milliseconds::{duration, milliseconds};

const WELCOME_RECORD: u8 = 0;
const FRAME_RECORD: u8 = 1;
const MORE_RECORD: u8 = 2;
const SOUND_ANNOUNCED_RECORD: u8 = 3;
const SOUND_RECORD: u8 = 4;
/// The most packets of sound that wait: a second's.
const MAX_SOUND: usize = 50;
/// The version that a welcome is written with. A reader uses the welcome alone.
const ANY_VERSION: u64 = 1;

/// One record for the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A sender announced itself.
    Welcome(Welcome),
    /// A frame.
    Frame(ReceivedFrame),
    /// More of a still picture.
    More(More),
    /// The broadcast has this sound.
    SoundAnnounced(Sound),
    /// A packet of sound.
    Sound(SoundPacket),
}

/// The bytes are no mail: the page mixed up messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page handed over broken mail: load it again")]
pub struct MailError;

/// Records that wait for the screen, which may be busy. Of pictures, only the newest one waits; of video, at most
/// [`MAX_OPEN_VIDEO_FRAMES`] frames: as many may come at once, when a base layer comes that they waited for.
#[derive(Debug, Default)]
pub struct Mail {
    records: VecDeque<Record>,
    is_video: bool,
    replaced: u64,
}

impl Mail {
    /// Adds a welcome. Drops the records of the connection before.
    pub fn push_welcome(&mut self, welcome: Welcome) {
        self.is_video = welcome.video.is_some();
        self.records.clear();
        self.records.push_back(Record::Welcome(welcome));
    }

    /// Adds a frame. If too many wait, drops the oldest. Returns the number of the newest frame of video that was dropped.
    pub fn push_frame(&mut self, frame: ReceivedFrame) -> Option<u64> {
        let max = if self.is_video { MAX_OPEN_VIDEO_FRAMES } else { 1 };
        let mut lost = None;
        while self.records.iter().filter(|record| matches!(record, Record::Frame(_))).count() >= max {
            let oldest = self.records.iter().position(|record| matches!(record, Record::Frame(_)));
            if let Some(Record::Frame(dropped)) = oldest.and_then(|at| self.records.remove(at)) {
                lost = Some(dropped.header.id).filter(|_| self.is_video);
                self.replaced += 1;
            }
        }
        // More bytes of a picture are useless after the next picture has arrived.
        self.records.retain(|record| !matches!(record, Record::More(_)));
        self.records.push_back(Record::Frame(frame));
        lost
    }

    /// Adds more bytes of the last picture, after those that wait.
    pub fn push_more(&mut self, more: More) {
        match self.records.back_mut() {
            Some(Record::More(before)) if before.frame == more.frame => {
                before.bytes = [&before.bytes[..], &more.bytes].concat().into();
                before.full = more.full;
            }
            _ => self.records.push_back(Record::More(more)),
        }
    }

    /// Adds the sound of the broadcast that was welcomed.
    pub fn push_sound_announced(&mut self, sound: Sound) {
        self.records.push_back(Record::SoundAnnounced(sound));
    }

    /// Adds a packet of sound. If too many wait, drops the oldest.
    pub fn push_sound(&mut self, packet: SoundPacket) {
        let is_sound = |record: &Record| matches!(record, Record::Sound(_));
        if self.records.iter().filter(|record| is_sound(record)).count() >= MAX_SOUND
            && let Some(oldest) = self.records.iter().position(is_sound)
        {
            self.records.remove(oldest);
        }
        self.records.push_back(Record::Sound(packet));
    }

    /// Returns how many frames were replaced by newer ones so far.
    #[must_use]
    pub const fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Takes all records that wait, as bytes for [`Mail::open`]; empty if there are none.
    pub fn take(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        for record in self.records.drain(..) {
            let (kind, body) = sealed(&record);
            out.put_u8(kind);
            out.put_u32_le(u32::try_from(body.len()).unwrap_or(u32::MAX));
            out.extend_from_slice(&body);
        }
        out.freeze()
    }

    /// Reads the bytes that [`Mail::take`] returned.
    ///
    /// # Errors
    /// If these are other bytes.
    pub fn open(mut bytes: Bytes) -> Result<Vec<Record>, MailError> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let [kind] = take(&mut bytes)?;
            let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
            if length > bytes.len() {
                return Err(MailError);
            }
            records.push(unsealed(kind, bytes.split_to(length))?);
        }
        Ok(records)
    }
}

fn sealed(record: &Record) -> (u8, Bytes) {
    let mut body = BytesMut::new();
    let kind = match record {
        Record::Welcome(welcome) => {
            let message = Message::Welcome { version: ANY_VERSION, welcome: welcome.clone() };
            return (WELCOME_RECORD, message.encode());
        }
        Record::Frame(frame) => {
            body.put_f64_le(milliseconds(frame.first));
            body.put_f64_le(milliseconds(frame.shown));
            body.extend_from_slice(&StreamHead::Frame(frame.header).encode());
            body.extend_from_slice(&frame.prefix);
            FRAME_RECORD
        }
        Record::More(more) => {
            body.put_u64_le(more.frame);
            body.put_u64_le(more.full);
            body.extend_from_slice(&more.bytes);
            MORE_RECORD
        }
        Record::SoundAnnounced(sound) => {
            body.put_u8(if *sound == Sound::Mono { 1 } else { 2 });
            SOUND_ANNOUNCED_RECORD
        }
        Record::Sound(packet) => return (SOUND_RECORD, StreamHead::sound_stream(packet)),
    };
    (kind, body.freeze())
}

fn unsealed(kind: u8, mut body: Bytes) -> Result<Record, MailError> {
    match kind {
        WELCOME_RECORD => {
            let mut control = Control::default();
            control.handle_bytes(&body);
            match control.poll() {
                Ok(Some(Message::Welcome { welcome, .. })) => Ok(Record::Welcome(welcome)),
                _ => Err(MailError),
            }
        }
        FRAME_RECORD => {
            let [first, shown] = [take(&mut body)?, take(&mut body)?].map(|ms| duration(f64::from_le_bytes(ms)));
            let Ok(Some((StreamHead::Frame(header), length))) = StreamHead::parse(&body) else { return Err(MailError) };
            let prefix = body.slice(length..);
            Ok(Record::Frame(ReceivedFrame { header, prefix, first, shown }))
        }
        MORE_RECORD => {
            let [frame, full] = [take(&mut body)?, take(&mut body)?].map(u64::from_le_bytes);
            Ok(Record::More(More { frame, bytes: body, full }))
        }
        SOUND_ANNOUNCED_RECORD => {
            let [channels] = take(&mut body)?;
            Sound::with_channels(channels.into()).map(Record::SoundAnnounced).ok_or(MailError)
        }
        SOUND_RECORD => {
            let Ok(Some((StreamHead::Sound(header), length))) = StreamHead::parse(&body) else { return Err(MailError) };
            let packet = SoundPacket { number: header.number, captured: header.captured, bytes: body.slice(length..) };
            Ok(Record::Sound(packet))
        }
        _ => Err(MailError),
    }
}

/// Takes the first bytes away and returns them.
fn take<const N: usize>(bytes: &mut Bytes) -> Result<[u8; N], MailError> {
    let first = *bytes.first_chunk().ok_or(MailError)?;
    bytes.advance(N);
    Ok(first)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nestcast_proto::{FrameHeader, FrameRate, PackageHash, Video};

    use super::*;

    fn welcome(is_video: bool) -> Welcome {
        let video = is_video.then_some(Video { signal: 1, ..Video::new([2; 6]) });
        Welcome {
            model: [1; 6],
            package: PackageHash([0; 32]),
            width: 20,
            height: 10,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video,
        }
    }

    fn frame(id: u64) -> ReceivedFrame {
        let header = FrameHeader { id, skipped: 0, captured: 1_795_000_000_000_000 + id, full: 900, base: 3 };
        let [first, shown] = [id, id + 20].map(Duration::from_millis);
        ReceivedFrame { header, prefix: Bytes::from_static(b"prefix"), first, shown }
    }

    fn more(frame: u64, bytes: &'static [u8]) -> More {
        More { frame, bytes: Bytes::from_static(bytes), full: 900 }
    }

    #[test]
    fn what_is_taken_is_what_came_in_its_order() {
        let mut mail = Mail::default();
        mail.push_frame(frame(7));
        mail.push_welcome(welcome(false));
        assert_eq!(mail.push_frame(frame(8)), None);
        mail.push_more(more(8, b"ab"));
        mail.push_more(more(8, b"cd"));
        let expected = [Record::Welcome(welcome(false)), Record::Frame(frame(8)), Record::More(more(8, b"abcd"))];
        assert_eq!(Mail::open(mail.take()).as_deref(), Ok(&expected[..]));
        assert!(mail.take().is_empty());
    }

    #[test]
    fn a_busy_screen_gets_the_newest_picture_or_the_last_frames_of_video() {
        let mut mail = Mail::default();
        mail.push_welcome(welcome(false));
        for id in 0..9 {
            assert_eq!(mail.push_frame(frame(id)), None, "nothing depends on it");
            mail.push_more(more(id, b"x"));
        }
        assert_eq!(Mail::open(mail.take()).map(|records| records.len()), Ok(3));
        assert_eq!(mail.replaced(), 8);
        mail.push_welcome(welcome(true));
        assert_eq!(Mail::open(mail.take()).map(|records| records.len()), Ok(1));
        let lost: Vec<_> = (0..34).map(|id| mail.push_frame(frame(id))).collect();
        assert!(lost[..32].iter().all(Option::is_none), "{lost:?}");
        assert_eq!(lost[32..], [Some(0), Some(1)]);
        assert_eq!(Mail::open(mail.take()).map(|records| records.len()), Ok(32));
    }

    #[test]
    fn a_busy_screen_gets_the_last_second_of_sound() {
        let packet = |number| SoundPacket { number, captured: 7, bytes: Bytes::from_static(b"packet") };
        let mut mail = Mail::default();
        mail.push_welcome(welcome(true));
        mail.push_sound_announced(Sound::Stereo);
        (0..60).for_each(|number| mail.push_sound(packet(number)));
        let records = Mail::open(mail.take()).expect("mail");
        assert_eq!(records.len(), 52);
        assert_eq!(records[1..3], [Record::SoundAnnounced(Sound::Stereo), Record::Sound(packet(10))]);
    }

    #[test]
    fn no_bytes_but_mail_are_read() {
        let mut mail = Mail::default();
        mail.push_welcome(welcome(true));
        mail.push_frame(frame(3));
        let whole = mail.take();
        let read = (0..whole.len()).filter(|&end| Mail::open(whole.slice(..end)).is_ok());
        assert!(read.count() <= 2, "nothing, or the welcome alone");
        assert_eq!(Mail::open(Bytes::from_static(&[9, 0, 0, 0, 0])), Err(MailError));
    }
}
