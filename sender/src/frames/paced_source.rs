//! A source of frames that were encoded earlier: a thread that hands each over when it is due, and the sound between
//! them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nestcast_proto::{Archive, BroadcastFrame, Demand, FrameStream, Sound, SourceError, Welcome};
use tokio::sync::mpsc;

use crate::frames::running_clock;
use crate::frames::schedule::Schedule;
use crate::frames::sound::SoundFanout;
use crate::frames::source::FrameSource;
use crate::frames::waiting_sound::WaitingSound;

/// The most that a frame may be late before all frames after it are due later. A shorter delay is made good.
const MAX_LATENESS: Duration = Duration::from_millis(250);

/// Sends the frames of a [`FrameStream`] at their own pace, and encodes nothing. It reads nothing before the first frame
/// is requested.
pub struct PacedSource {
    welcome: Welcome,
    sound: Option<Sound>,
    fanout: Option<SoundFanout>,
    archive: Option<Arc<dyn Archive>>,
    state: State,
}

impl std::fmt::Debug for PacedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacedSource").field("welcome", &self.welcome).finish_non_exhaustive()
    }
}

enum State {
    Ready(Box<dyn FrameStream>),
    Running(Running),
    Ended,
}

/// The running thread. It ends soon after this is dropped.
#[derive(Debug)]
struct Running {
    frames: mpsc::Receiver<BroadcastFrame>,
    /// Ends the thread when it is dropped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), SourceError>>>,
}

impl PacedSource {
    /// Sends the frames of `stream`.
    pub fn new(stream: impl FrameStream + 'static) -> Self {
        let (welcome, sound) = (stream.welcome(), stream.sound());
        Self { welcome, sound, fanout: None, archive: None, state: State::Ready(Box::new(stream)) }
    }

    /// Lets receivers begin anywhere in `archive`, which has the same frames.
    #[must_use]
    pub fn with_archive(mut self, archive: impl Archive + 'static) -> Self {
        self.archive = Some(Arc::new(archive));
        self
    }
}

impl FrameSource for PacedSource {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn sound(&self) -> Option<Sound> {
        self.sound
    }

    fn archive(&self) -> Option<Arc<dyn Archive>> {
        self.archive.clone()
    }

    fn attach_sound(&mut self, sound: SoundFanout) {
        self.fanout = Some(sound);
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ready(stream) => State::Running(Running::start(stream, demand.clone(), self.fanout.take())),
            other => other,
        };
        let State::Running(running) = &mut self.state else { return Ok(None) };
        if let Some(frame) = running.frames.recv().await {
            return Ok(Some(frame));
        }
        let thread = running.thread.take();
        self.state = State::Ended;
        let Some(thread) = thread else { return Ok(None) };
        let ended = tokio::task::spawn_blocking(move || thread.join());
        match ended.await {
            Ok(Ok(outcome)) => outcome.map(|()| None),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    fn stop(&mut self) {
        match &mut self.state {
            State::Running(running) => running.stop = None,
            state => *state = State::Ended,
        }
    }
}

impl Running {
    fn start(stream: Box<dyn FrameStream>, demand: Demand, sound: Option<SoundFanout>) -> Self {
        let (made, frames) = mpsc::channel(1);
        let (stop, stopped) = channel();
        let sending = Sending {
            stream,
            demand,
            frames: made,
            sound,
            packets: WaitingSound::default(),
            prepared: Duration::ZERO,
            stopped,
        };
        let thread = thread::spawn(move || sending.run());
        Self { frames, stop: Some(stop), thread: Some(thread) }
    }
}

/// Why the thread ends early: nobody receives frames.
struct Stopped;

/// What the thread has.
struct Sending {
    stream: Box<dyn FrameStream>,
    demand: Demand,
    frames: mpsc::Sender<BroadcastFrame>,
    sound: Option<SoundFanout>,
    /// The packets that were read, and are not due yet.
    packets: WaitingSound,
    /// How long the stream prepared since the last frame.
    prepared: Duration,
    stopped: Receiver<()>,
}

impl Sending {
    /// Sends frames, and the sound between them, until there are no more, or nobody receives them.
    fn run(mut self) -> Result<(), SourceError> {
        let mut schedule = Schedule::new(running_clock::now(), MAX_LATENESS);
        while let Some(after) = self.read()? {
            let start = running_clock::now();
            let due = schedule.due(after, start);
            let origin = due.saturating_sub(after);
            if self.send_sound(origin, Some(due)).and_then(|()| self.wait(due)).is_err() {
                return Ok(());
            }
            // Capture times follow the schedule, however late the system woke this thread.
            let taking = running_clock::now();
            let captured = running_clock::microseconds_at(due);
            let Some(frame) = self.stream.take(captured, &self.demand) else { continue };
            let encode_time = std::mem::take(&mut self.prepared) + running_clock::now().saturating_sub(taking);
            if self.frames.blocking_send(BroadcastFrame { encode_time, ..frame }).is_err() {
                return Ok(());
            }
        }
        let _ = self.send_sound(schedule.due(Duration::ZERO, Duration::ZERO), None);
        if let Some(fault) = self.stream.take_fault() {
            tracing::warn!("{fault}");
        }
        Ok(())
    }

    /// Reads the next frame and the sound before it.
    fn read(&mut self) -> Result<Option<Duration>, SourceError> {
        let after = self.stream.read()?;
        while let Some((due, packet)) = self.stream.take_sound() {
            self.packets.push(due, packet);
        }
        Ok(after)
    }

    /// Sends packets when they are due, up to `until`, where the first frame was due at `origin`.
    fn send_sound(&mut self, origin: Duration, until: Option<Duration>) -> Result<(), Stopped> {
        let due = |after: Duration| origin.saturating_add(after);
        while let Some((after, packet)) = self.packets.pop_if(|after| until.is_none_or(|end| due(after) <= end)) {
            self.wait(due(after))?;
            if let Some(sound) = &self.sound {
                sound.send(running_clock::microseconds_at(due(after)), packet);
            }
        }
        Ok(())
    }

    /// Lets the stream prepare what receivers ask for, and then waits.
    fn wait(&mut self, due: Duration) -> Result<(), Stopped> {
        let start = running_clock::now();
        while running_clock::now() < due && self.stream.prepare(&self.demand) {}
        let prepared = running_clock::now();
        self.prepared += prepared.saturating_sub(start);
        match self.stopped.recv_timeout(due.saturating_sub(prepared)) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            _ => Err(Stopped),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_proto::{Frame, FrameRate, PackageHash};

    use super::*;

    /// Frames a millisecond apart. Each has one byte for each time that it could prepare, up to three.
    struct Numbers {
        next: u64,
        count: u64,
        prepared: usize,
    }

    impl FrameStream for Numbers {
        fn welcome(&self) -> Welcome {
            Welcome {
                model: [0; 6],
                package: PackageHash([0; 32]),
                width: 1,
                height: 1,
                rate: FrameRate::new(1000, 1).expect("a rate"),
                video: None,
            }
        }

        fn read(&mut self) -> Result<Option<Duration>, SourceError> {
            if self.next == 77 {
                return Err(SourceError::broken_off("it broke off"));
            }
            self.prepared = 0;
            Ok((self.next < self.count).then_some(Duration::from_millis(self.next)))
        }

        fn prepare(&mut self, _: &Demand) -> bool {
            self.prepared += 1;
            self.prepared < 3
        }

        fn take(&mut self, captured: u64, _: &Demand) -> Option<BroadcastFrame> {
            let id = self.next;
            self.next += 1;
            let bytes = Bytes::from(vec![7; self.prepared]);
            Some(Frame { id, skipped: 0, captured, since: id, base: 0, bytes, join: None }.into())
        }
    }

    #[tokio::test]
    async fn every_frame_comes_in_order_with_capture_times_by_the_schedule() {
        let mut source = PacedSource::new(Numbers { next: 0, count: 50, prepared: 0 });
        let demand = Demand::default();
        let mut frames = Vec::new();
        while let Some(frame) = source.next(&demand).await.expect("it ends") {
            frames.push(frame.frame);
        }
        assert_eq!(frames.iter().map(|frame| frame.id).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
        assert!(frames.iter().all(|frame| frame.bytes.len() <= 3));
        let rises = frames.windows(2).all(|pair| pair[0].captured < pair[1].captured);
        assert!(rises, "{:?}", frames.iter().map(|frame| frame.captured).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_error_ends_it_after_the_frames_before_and_a_stop_ends_it_at_once() {
        let demand = Demand::default();
        let mut source = PacedSource::new(Numbers { next: 70, count: 100, prepared: 0 });
        for id in 70..77 {
            assert_eq!(source.next(&demand).await.expect("a frame").expect("a frame").frame.id, id);
        }
        assert!(source.next(&demand).await.is_err_and(|error| error.to_string() == "it broke off"));
        assert!(source.next(&demand).await.is_ok_and(|frame| frame.is_none()), "it has ended");
        // The next frame is due in an hour.
        let mut source = PacedSource::new(Numbers { next: 3_600_000, count: u64::MAX, prepared: 0 });
        let waiting = tokio::time::timeout(Duration::from_millis(20), source.next(&demand)).await;
        assert!(waiting.is_err(), "it is not due");
        source.stop();
        assert!(source.next(&demand).await.expect("no error").is_none());
    }
}
