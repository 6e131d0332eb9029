//! Keeps a live broadcast for receivers that begin earlier, and plays it to each of them at the delay that it chose.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{
    Archive, BroadcastFrame, Demand, DemandEntry, Followed, Frame, FrameStream, OpenedArchive, RenditionFollower,
    Sound, SourceError, Start, Welcome,
};
use tokio::runtime::Handle;

use crate::frames::fanout::{FrameReceiver, NextFrame};
use crate::frames::rewind_store::{Cursor, Passed, RewindStore};
use crate::frames::sound::SoundReceiver;

/// How often the store asks for a frame with which a receiver can begin.
const RANDOM_ACCESS_INTERVAL: Duration = Duration::from_secs(2);

/// Keeps frames and sound on a thread until the broadcast ends. Call it within a tokio runtime.
pub(crate) fn keep(store: Arc<RewindStore>, frames: FrameReceiver, sound: SoundReceiver, entry: DemandEntry) {
    let runtime = Handle::current();
    let keeper = Keeper { store, entry, follower: RenditionFollower::of_recorder(), is_broken: true, joined: None };
    thread::spawn(move || runtime.block_on(keeper.run(frames, sound)));
}

/// What the thread has.
struct Keeper {
    store: Arc<RewindStore>,
    /// States no demand, and asks for random-access frames.
    entry: DemandEntry,
    follower: RenditionFollower,
    /// Whether frames are missing before the next one.
    is_broken: bool,
    /// When the newest kept random-access frame was captured.
    joined: Option<u64>,
}

impl Keeper {
    async fn run(mut self, mut frames: FrameReceiver, mut sound: SoundReceiver) {
        let mut has_sound = true;
        loop {
            let kept = tokio::select! {
                biased;
                packet = sound.next(), if has_sound => match packet {
                    Some(packet) => self.store.push_sound(&packet),
                    None => {
                        has_sound = false;
                        Ok(())
                    }
                },
                next = frames.next() => match next {
                    NextFrame::Frame(frame) => self.keep(&frame),
                    NextFrame::Missed(_) => {
                        self.is_broken = true;
                        Ok(())
                    }
                    NextFrame::End => return self.store.end(),
                },
            };
            if let Err(error) = kept {
                tracing::warn!("the broadcast cannot be rewound any more: {error}");
                return self.store.clear();
            }
        }
    }

    fn keep(&mut self, frame: &BroadcastFrame) -> io::Result<()> {
        let Followed { frame, begins_anew } = self.follower.follow(frame);
        self.is_broken |= begins_anew;
        let interval = u64::try_from(RANDOM_ACCESS_INTERVAL.as_micros()).unwrap_or(u64::MAX);
        let is_due =
            self.is_broken || self.joined.is_none_or(|joined| frame.captured.saturating_sub(joined) >= interval);
        match &frame.join {
            None if is_due => self.entry.request_random_access(self.follower.rendition()),
            Some(join) if is_due => {
                self.joined = Some(frame.captured);
                // After a gap it stands for the frame, so that a stream which passes the gap goes on with it.
                let instead = Frame { base: join.base, bytes: join.bytes.clone(), ..frame.clone() };
                let is_broken = std::mem::replace(&mut self.is_broken, false);
                return self.store.push(if is_broken { &instead } else { frame });
            }
            _ => {}
        }
        if self.is_broken { Ok(()) } else { self.store.push(&Frame { join: None, ..frame.clone() }) }
    }
}

/// The store as receivers see it.
#[derive(Debug)]
pub(crate) struct Rewindable(pub(crate) Arc<RewindStore>);

impl Archive for Rewindable {
    fn open(&self, start: Start, has_left: &Arc<AtomicBool>) -> Result<Option<OpenedArchive>, SourceError> {
        let Start::BeforeNow(before) = start else { return Ok(None) };
        let Some((cursor, before)) = self.0.find(before) else { return Ok(None) };
        let (store, has_left) = (Arc::clone(&self.0), Arc::clone(has_left));
        let stream = RewindStream { store, has_left, cursor, first: None, read: None, packets: VecDeque::new() };
        Ok(Some((Box::new(stream), Start::BeforeNow(before))))
    }
}

/// The kept broadcast from one moment on.
#[derive(Debug)]
struct RewindStream {
    store: Arc<RewindStore>,
    /// Whether nobody waits for the next frame.
    has_left: Arc<AtomicBool>,
    cursor: Cursor,
    /// When the first frame was captured.
    first: Option<u64>,
    read: Option<Frame>,
    packets: VecDeque<(u64, Bytes)>,
}

impl RewindStream {
    fn due(&self, captured: u64) -> Duration {
        Duration::from_micros(captured.saturating_sub(self.first.unwrap_or(captured)))
    }
}

impl FrameStream for RewindStream {
    fn welcome(&self) -> Welcome {
        self.store.welcome.clone()
    }

    fn sound(&self) -> Option<Sound> {
        self.store.sound
    }

    fn take_sound(&mut self) -> Option<(Duration, Bytes)> {
        let (captured, packet) = self.packets.pop_front()?;
        Some((self.due(captured), packet))
    }

    fn read(&mut self) -> Result<Option<Duration>, SourceError> {
        let Passed { frame, packets } =
            self.store.read(&mut self.cursor, &self.has_left).map_err(SourceError::failed)?;
        self.packets = packets.into();
        self.read = frame;
        let Some(captured) = self.read.as_ref().map(|frame| frame.captured) else { return Ok(None) };
        self.first.get_or_insert(captured);
        Ok(Some(self.due(captured)))
    }

    fn prepare(&mut self, _: &Demand) -> bool {
        false
    }

    fn take(&mut self, captured: u64, _: &Demand) -> Option<BroadcastFrame> {
        Some(Frame { captured, ..self.read.take()? }.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use nestcast_proto::{FrameRate, PackageHash, RandomAccessFrame, SoundPacket};

    use super::*;

    fn welcome() -> Welcome {
        let rate = FrameRate::new(10, 1).expect("a rate");
        Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 1, height: 1, rate, video: None }
    }

    /// Makes a frame every 100 ms, with a random-access frame of three bytes if `joins`.
    fn frame(id: u64, joins: bool) -> Frame {
        let join = joins.then(|| RandomAccessFrame { base: 3, bytes: Bytes::from_static(b"new") });
        let bytes = Bytes::from(id.to_be_bytes().to_vec());
        Frame { id, skipped: 0, captured: id * 100_000, since: id, base: 8, bytes, join }
    }

    fn store(limit: u64) -> Arc<RewindStore> {
        Arc::new(RewindStore::new(welcome(), Some(Sound::Mono), Duration::from_secs(limit)))
    }

    fn opened_at(store: &Arc<RewindStore>, start: Start, has_left: &Arc<AtomicBool>) -> OpenedArchive {
        Rewindable(Arc::clone(store)).open(start, has_left).expect("it reads").expect("it is there")
    }

    /// Opens the store this number of milliseconds before its end; returns what it grants and the first frames: their
    /// times and numbers.
    fn opened(store: &Arc<RewindStore>, before: u64, count: usize) -> (u128, Vec<(u128, u64)>) {
        let start = Start::BeforeNow(Duration::from_millis(before));
        let (mut stream, granted) = opened_at(store, start, &Arc::default());
        let mut next = || {
            let due = stream.read().expect("it reads")?;
            let BroadcastFrame { frame, .. } = stream.take(7, &Demand::default()).expect("a frame");
            assert_eq!(
                (frame.captured, u64::from_be_bytes(frame.bytes[..].try_into().expect("8 bytes"))),
                (7, frame.id)
            );
            Some((due.as_millis(), frame.id))
        };
        (granted.time().as_millis(), (0..count).map_while(|_| next()).collect())
    }

    #[test]
    fn a_receiver_begins_at_the_frame_before_the_moment_or_at_the_oldest() {
        let store = store(10);
        (0..200).for_each(|id| store.push(&frame(id, id % 20 == 7)).expect("a file"));
        assert_eq!(opened(&store, 3000, 3), (3200, vec![(0, 167), (100, 168), (200, 169)]));
        assert_eq!(opened(&store, 0, 2), (1200, vec![(0, 187), (100, 188)]));
        assert_eq!(opened(&store, 3_600_000, 1), (9200, vec![(0, 107)]), "all that is kept");
        store.end();
        assert_eq!(opened(&store, 0, 99).1.len(), 13, "up to the end");
        let after = Start::AfterBeginning(Duration::ZERO);
        assert!(Rewindable(Arc::clone(&store)).open(after, &Arc::default()).expect("it reads").is_none());
    }

    #[test]
    fn what_is_too_old_is_dropped_and_a_stream_that_is_too_late_goes_on_where_it_can() {
        let store = store(1);
        (0..11).for_each(|id| store.push(&frame(id, id % 5 == 0)).expect("a file"));
        let (mut cursor, _) = store.find(Duration::from_secs(1)).expect("the first");
        (11..31).for_each(|id| store.push(&frame(id, id % 5 == 0)).expect("a file"));
        let passed = store.read(&mut cursor, &AtomicBool::default()).expect("it reads").frame.expect("a frame");
        assert_eq!((passed.id, passed.join.is_some()), (20, true));
    }

    #[test]
    fn who_leaves_while_no_frame_comes_keeps_no_thread() {
        let store = store(10);
        store.push(&frame(0, true)).expect("a file");
        let has_left = Arc::default();
        let (mut stream, _) = opened_at(&store, Start::BeforeNow(Duration::ZERO), &has_left);
        assert!(stream.read().expect("it reads").is_some());
        let thread = thread::spawn(move || stream.read());
        has_left.store(true, Ordering::Relaxed);
        assert!(thread.join().expect("no panic").expect("no error").is_none());
    }

    #[test]
    fn who_is_behind_learns_whether_the_broadcast_ended_or_cannot_be_kept() {
        for is_lost in [false, true] {
            let store = store(10);
            store.push(&frame(0, true)).expect("a file");
            let (mut stream, _) = opened_at(&store, Start::BeforeNow(Duration::ZERO), &Arc::default());
            assert!(stream.read().expect("it reads").is_some());
            if is_lost {
                store.clear()
            } else {
                store.end()
            }
            assert_eq!(stream.read().is_err(), is_lost);
        }
    }

    #[test]
    fn sound_comes_with_the_frames_and_its_own_times() {
        let store = store(10);
        for id in 0..20 {
            let packet =
                |number: u64| SoundPacket { number, captured: number * 20_000, bytes: Bytes::from_static(b"p") };
            (5 * id..5 * id + 5).for_each(|number| store.push_sound(&packet(number)).expect("a file"));
            store.push(&frame(id, id == 10)).expect("a file");
        }
        store.end();
        let start = Start::BeforeNow(Duration::from_millis(900));
        let (mut stream, _) = opened_at(&store, start, &Arc::default());
        let mut times = Vec::new();
        while stream.read().expect("it reads").is_some() {
            times.extend(std::iter::from_fn(|| stream.take_sound()).map(|(due, _)| due.as_millis()));
        }
        times.extend(std::iter::from_fn(|| stream.take_sound()).map(|(due, _)| due.as_millis()));
        assert_eq!(times, (0..50).map(|packet| packet * 20).collect::<Vec<_>>());
    }

    #[test]
    fn the_store_asks_for_frames_to_begin_with_and_keeps_none_after_a_gap_before_it_has_one() {
        let (demand, store) = (Demand::default(), store(100));
        let follower = RenditionFollower::of_recorder();
        let mut keeper =
            Keeper { store: Arc::clone(&store), entry: demand.register(), follower, is_broken: true, joined: None };
        let mut asked = Vec::new();
        for id in 0..100 {
            let is_asked = demand.take_random_access_request();
            asked.extend(is_asked.then_some(id));
            keeper.is_broken |= id == 50;
            keeper.keep(&frame(id, is_asked).into()).expect("a file");
        }
        store.end();
        assert_eq!(asked, [1, 22, 43, 51, 72, 93], "every two seconds, and after the gap");
        let (mut cursor, _) = store.find(Duration::MAX).expect("it has some");
        let mut kept = Vec::new();
        while let Some(frame) = store.read(&mut cursor, &AtomicBool::default()).expect("it reads").frame {
            assert_eq!(
                (frame.bytes == b"new"[..], frame.join.is_some()),
                ([1, 51].contains(&frame.id), asked.contains(&frame.id))
            );
            kept.push(frame.id);
        }
        assert_eq!(kept, (1..50).chain(51..100).collect::<Vec<_>>());
    }
}
