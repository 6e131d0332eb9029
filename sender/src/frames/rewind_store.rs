//! The last frames and packets of sound of a live broadcast, for receivers that begin earlier.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Frame, RandomAccessFrame, Sound, SoundPacket, Welcome};

/// The bytes of a file of the store. The oldest file goes as a whole.
const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;
/// The most files: 8 GiB.
const MAX_SEGMENTS: usize = 128;

/// How often a thread that waits for a frame looks whether its receiver has left.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// What was broadcast within a limit. Its bytes are in files without a name, which the system frees when they close.
#[derive(Debug)]
pub(crate) struct RewindStore {
    pub(super) welcome: Welcome,
    pub(super) sound: Option<Sound>,
    limit: Duration,
    kept: Mutex<Kept>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct Kept {
    frames: VecDeque<KeptFrame>,
    /// The number of the first frame in `frames`, counted since the beginning, and so for packets.
    first_frame: u64,
    packets: VecDeque<KeptPacket>,
    first_packet: u64,
    segments: VecDeque<Segment>,
    /// The number of the first segment.
    first_segment: u64,
    /// Set when no more comes.
    over: Option<Over>,
}

/// Why no more comes.
#[derive(Debug, Clone, Copy)]
enum Over {
    /// The broadcast ended.
    Ended,
    /// It cannot be kept.
    Lost,
}

#[derive(Debug)]
struct Segment {
    file: File,
    length: u64,
}

/// Where bytes are.
#[derive(Debug, Clone, Copy)]
struct Place {
    segment: u64,
    at: u64,
    length: usize,
}

#[derive(Debug, Clone, Copy)]
struct KeptFrame {
    id: u64,
    skipped: u64,
    captured: u64,
    base: usize,
    place: Place,
    /// The random-access frame: its base layer, and its bytes.
    join: Option<(usize, Place)>,
}

#[derive(Debug, Clone, Copy)]
struct KeptPacket {
    captured: u64,
    place: Place,
}

/// A position in the store: the numbers of the next frame and packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) frame: u64,
    packet: u64,
}

/// What a cursor passes.
#[derive(Debug)]
pub(super) struct Passed {
    /// `None` at the end.
    pub(super) frame: Option<Frame>,
    /// The sound up to it, with its capture times.
    pub(super) packets: Vec<(u64, Bytes)>,
}

impl RewindStore {
    /// Keeps what was captured within `limit` before the newest frame.
    pub(crate) fn new(welcome: Welcome, sound: Option<Sound>, limit: Duration) -> Self {
        Self { welcome, sound, limit, kept: Mutex::default(), grown: Condvar::new() }
    }

    /// Keeps a frame, and drops those that are too old.
    pub(super) fn push(&self, frame: &Frame) -> io::Result<()> {
        let mut kept = self.lock();
        let place = kept.write(&frame.bytes)?;
        let join = match &frame.join {
            Some(join) if join.bytes == frame.bytes => Some((join.base, place)),
            Some(join) => Some((join.base, kept.write(&join.bytes)?)),
            None => None,
        };
        let Frame { id, skipped, captured, base, .. } = *frame;
        kept.frames.push_back(KeptFrame { id, skipped, captured, base, place, join });
        kept.trim(captured.saturating_sub(micros(self.limit)));
        drop(kept);
        self.grown.notify_all();
        Ok(())
    }

    /// Keeps a packet of sound, and drops what is too old, also while no frames come.
    pub(super) fn push_sound(&self, packet: &SoundPacket) -> io::Result<()> {
        let mut kept = self.lock();
        let place = kept.write(&packet.bytes)?;
        kept.packets.push_back(KeptPacket { captured: packet.captured, place });
        kept.trim(packet.captured.saturating_sub(micros(self.limit)));
        Ok(())
    }

    /// Notes that no more comes.
    pub(super) fn end(&self) {
        self.lock().over = Some(Over::Ended);
        self.grown.notify_all();
    }

    /// Drops everything: it cannot be kept.
    pub(super) fn clear(&self) {
        *self.lock() = Kept { over: Some(Over::Lost), ..Kept::default() };
        self.grown.notify_all();
    }

    /// Returns the newest place, at least `before` before the newest frame, where a receiver can begin; if it is not that
    /// long, the oldest such place. Also returns how long before the newest frame that is. Returns `None` if there is none.
    pub(super) fn find(&self, before: Duration) -> Option<(Cursor, Duration)> {
        let kept = self.lock();
        let newest = kept.frames.back()?.captured;
        let wanted = newest.saturating_sub(micros(before));
        let begins = |(_, frame): &(usize, &KeptFrame)| frame.join.is_some();
        let is_early = |(_, frame): &(usize, &KeptFrame)| frame.captured <= wanted;
        let all = || kept.frames.iter().enumerate().filter(begins);
        let (at, frame) = all().rev().find(is_early).or_else(|| all().next())?;
        let packet = kept.packets.partition_point(|packet| packet.captured < frame.captured);
        let cursor = Cursor { frame: kept.first_frame + at as u64, packet: kept.first_packet + packet as u64 };
        Some((cursor, Duration::from_micros(newest.saturating_sub(frame.captured))))
    }

    /// Reads the frame at the cursor with the sound before it, and moves the cursor. Waits for a frame that did not come
    /// yet; once `has_left` is true, it returns none soon. A cursor whose frame is gone goes to the oldest with which a
    /// receiver can begin.
    pub(super) fn read(&self, cursor: &mut Cursor, has_left: &AtomicBool) -> io::Result<Passed> {
        let mut kept = self.lock();
        loop {
            cursor.packet = cursor.packet.max(kept.first_packet);
            if cursor.frame < kept.first_frame
                && let Some(begins) = kept.frames.iter().position(|frame| frame.join.is_some())
            {
                cursor.frame = kept.first_frame + begins as u64;
            }
            if let Some(frame) = kept.frame(cursor.frame) {
                cursor.frame += 1;
                let packets = kept.packets(cursor, frame.captured)?;
                return Ok(Passed { frame: Some(kept.read_frame(frame)?), packets });
            }
            match kept.over {
                Some(Over::Ended) => return Ok(Passed { frame: None, packets: kept.packets(cursor, u64::MAX)? }),
                Some(Over::Lost) => return Err(io::Error::other("what was kept of the broadcast is lost")),
                None => {}
            }
            if has_left.load(Ordering::Relaxed) {
                return Ok(Passed { frame: None, packets: Vec::new() });
            }
            kept = self.grown.wait_timeout(kept, LOOK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<Place> {
        if self.segments.back().is_none_or(|segment| segment.length >= SEGMENT_BYTES) {
            self.segments.push_back(Segment { file: tempfile::tempfile()?, length: 0 });
        }
        let segment = self.first_segment + self.segments.len() as u64 - 1;
        let Some(Segment { file, length }) = self.segments.back_mut() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let at = *length;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        *length += bytes.len() as u64;
        Ok(Place { segment, at, length: bytes.len() })
    }

    fn bytes(&mut self, place: Place) -> io::Result<Bytes> {
        let number = place.segment.checked_sub(self.first_segment).and_then(|number| usize::try_from(number).ok());
        let segment = number.and_then(|number| self.segments.get_mut(number)).ok_or(io::ErrorKind::NotFound)?;
        segment.file.seek(SeekFrom::Start(place.at))?;
        let mut bytes = vec![0; place.length];
        segment.file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Drops what was captured before `oldest`, and files that nothing needs.
    fn trim(&mut self, oldest: u64) {
        while self.frames.pop_front_if(|frame| frame.captured < oldest).is_some() {
            self.first_frame += 1;
        }
        self.drop_files(oldest);
        while self.segments.len() > MAX_SEGMENTS {
            if self.frames.pop_front().is_some() {
                self.first_frame += 1;
            } else if self.packets.pop_front().is_some() {
                self.first_packet += 1;
            } else {
                return;
            }
            self.drop_files(oldest);
        }
    }

    /// Drops sound before the oldest frame, or before `oldest` if there is no frame, and the files before both.
    fn drop_files(&mut self, oldest: u64) {
        let captured = self.frames.front().map_or(oldest, |frame| frame.captured);
        while self.packets.pop_front_if(|packet| packet.captured < captured).is_some() {
            self.first_packet += 1;
        }
        let pictures = self.frames.front().map(|frame| frame.place.segment);
        let sound = self.packets.front().map(|packet| packet.place.segment);
        let needed = pictures.into_iter().chain(sound).min().unwrap_or(u64::MAX);
        // The newest file is written.
        while self.first_segment < needed && self.segments.len() > 1 {
            self.segments.pop_front();
            self.first_segment += 1;
        }
    }

    fn frame(&self, number: u64) -> Option<KeptFrame> {
        let at = usize::try_from(number.checked_sub(self.first_frame)?).ok()?;
        self.frames.get(at).copied()
    }

    fn read_frame(&mut self, frame: KeptFrame) -> io::Result<Frame> {
        let KeptFrame { id, skipped, captured, base, place, join } = frame;
        let join = join.map(|(base, place)| Ok::<_, io::Error>(RandomAccessFrame { base, bytes: self.bytes(place)? }));
        Ok(Frame { id, skipped, captured, since: id, base, bytes: self.bytes(place)?, join: join.transpose()? })
    }

    /// Returns the packets from the cursor on that were captured up to `until`, and moves the cursor.
    fn packets(&mut self, cursor: &mut Cursor, until: u64) -> io::Result<Vec<(u64, Bytes)>> {
        let mut packets = Vec::new();
        let at = |number: u64, first: u64| usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        while let Some(packet) =
            self.packets.get(at(cursor.packet, self.first_packet)).copied().filter(|packet| packet.captured <= until)
        {
            packets.push((packet.captured, self.bytes(packet.place)?));
            cursor.packet += 1;
        }
        Ok(packets)
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use nestcast_proto::{FrameRate, PackageHash};

    use super::*;

    #[test]
    fn while_pictures_stop_sound_is_kept_no_longer_than_the_limit_and_files_are_freed() {
        let rate = FrameRate::new(10, 1).expect("a rate");
        let welcome = Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 1, height: 1, rate, video: None };
        let store = RewindStore::new(welcome, Some(Sound::Mono), Duration::from_secs(1));
        let frame = |id: u64, captured| Frame {
            id,
            skipped: 0,
            captured,
            since: id,
            base: 1,
            bytes: Bytes::from_static(b"f"),
            join: Some(RandomAccessFrame { base: 1, bytes: Bytes::from_static(b"f") }),
        };
        store.push(&frame(0, 0)).expect("a file");
        let bytes = Bytes::from(vec![7; 1 << 20]);
        for number in 0..200 {
            let packet = SoundPacket { number, captured: number * 20_000, bytes: bytes.clone() };
            store.push_sound(&packet).expect("a file");
        }
        let kept = store.lock();
        assert_eq!((kept.frames.len(), kept.packets.len()), (0, 51));
        assert!(kept.segments.len() <= 2, "{} files", kept.segments.len());
        drop(kept);
        // A stream that waited goes on with the next frame.
        let mut cursor = Cursor { frame: 1, packet: 0 };
        store.push(&frame(1, 4_000_000)).expect("a file");
        let passed = store.read(&mut cursor, &AtomicBool::default()).expect("it reads");
        assert_eq!(passed.frame.map(|frame| frame.id), Some(1));
    }
}
