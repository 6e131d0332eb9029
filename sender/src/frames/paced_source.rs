//! A source of frames that were encoded earlier: a thread that hands each over when it is due.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nestcast_proto::{BroadcastFrame, Demand, FrameStream, SourceError, Welcome};
use tokio::sync::mpsc;

use crate::clock;
use crate::frames::source::FrameSource;

/// The most that a frame may be late before all frames after it are due later. A shorter delay is made good.
const MAX_LATENESS: Duration = Duration::from_millis(250);

/// Sends the frames of a [`FrameStream`] at their own pace, and encodes nothing. It reads nothing before the first frame
/// is requested.
pub struct PacedSource {
    welcome: Welcome,
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
        Self { welcome: stream.welcome(), state: State::Ready(Box::new(stream)) }
    }
}

impl FrameSource for PacedSource {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ready(stream) => State::Running(Running::start(stream, demand.clone())),
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
    fn start(stream: Box<dyn FrameStream>, demand: Demand) -> Self {
        let (made, frames) = mpsc::channel(1);
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || send(stream, &demand, &made, &stopped));
        Self { frames, stop: Some(stop), thread: Some(thread) }
    }
}

/// Sends frames until there are no more, or nobody receives them.
fn send(
    mut stream: Box<dyn FrameStream>,
    demand: &Demand,
    frames: &mpsc::Sender<BroadcastFrame>,
    stopped: &Receiver<()>,
) -> Result<(), SourceError> {
    let mut schedule = Schedule(Instant::now());
    while let Some(due) = stream.read()? {
        let start = Instant::now();
        let due = schedule.due(due, start);
        while Instant::now() < due && stream.prepare(demand) {}
        let prepared = start.elapsed();
        if stopped.recv_timeout(due.saturating_duration_since(Instant::now())) != Err(RecvTimeoutError::Timeout) {
            return Ok(());
        }
        // Capture times follow the schedule, however late the system woke this thread.
        let start = Instant::now();
        let late = u64::try_from((start - due).as_micros()).unwrap_or(u64::MAX);
        let Some(frame) = stream.take(clock::microseconds().saturating_sub(late), demand) else { continue };
        let encode_time = prepared + start.elapsed();
        if frames.blocking_send(BroadcastFrame { encode_time, ..frame }).is_err() {
            return Ok(());
        }
    }
    if let Some(fault) = stream.take_fault() {
        tracing::warn!("{fault}");
    }
    Ok(())
}

/// When a frame that is due at zero is due.
struct Schedule(Instant);

impl Schedule {
    /// Returns when the next frame is due. If it is far too late, as after the machine slept, the schedule moves.
    fn due(&mut self, after: Duration, now: Instant) -> Instant {
        let due = self.0 + after;
        let late = now.saturating_duration_since(due);
        if late <= MAX_LATENESS {
            return due;
        }
        self.0 += late;
        now
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

    #[test]
    fn a_short_delay_is_made_good_and_a_long_one_moves_the_schedule() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut schedule = Schedule(start);
        let mut due = |frame, now| (schedule.due(Duration::from_millis(frame), at(now)) - start).as_millis();
        assert_eq!([due(0, 0), due(40, 3), due(80, 300), due(120, 301)], [0, 40, 80, 120]);
        assert_eq!([due(160, 5000), due(200, 5001)], [5000, 5040], "the machine slept");
    }
}
