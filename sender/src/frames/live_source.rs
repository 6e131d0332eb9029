//! A source of live frames: two threads that encode pictures and never wait for the network.
//!
//! ```text
//! PictureStream (thread, at its rate) -> newest picture -> FrameEncoder (thread) -> frames
//! ```
//!
//! An encoder that is late gets the newest picture; older ones are skipped and counted.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_proto::{
    BroadcastFrame, Captured, Demand, FrameEncoder, MuxedStream, PictureStream, Sound, SourceError, StreamPicture,
    Welcome,
};
use tokio::sync::mpsc;

use crate::clock;
use crate::frames::latest_value::LatestValue;
use crate::frames::muxed;
use crate::frames::running_clock;
use crate::frames::schedule::Schedule;
use crate::frames::sound::SoundFanout;
use crate::frames::source::FrameSource;

/// The most used pictures kept for reuse: one is read while another is encoded, and an encoder may keep one for
/// comparison.
const MAX_SPENT_PICTURES: usize = 2;
/// How late a picture may be until the schedule moves to it at once, and how many pictures in turn are late where the
/// source is slow. Other delays are this thread's, and it makes them good.
const MAX_LAG: Duration = Duration::from_millis(250);
const LATE_PICTURES: usize = 8;

/// Encodes the pictures of any stream with any encoder. It reads and encodes nothing before the first frame is
/// requested.
///
/// ```
/// use std::time::Duration;
/// use bytes::Bytes;
/// use nestcast_proto::{
///     BroadcastFrame, Captured, Demand, Frame, FrameEncoder, FrameRate, PackageHash, PictureStream, SourceError,
///     StreamPicture, Welcome,
/// };
/// use nestcast_sender::{FrameSource as _, LiveSource};
///
/// /// "Pictures" of ten bytes.
/// struct Thermometer(u8);
///
/// impl PictureStream for Thermometer {
///     type Picture = [u8; 10];
///
///     fn interval(&self) -> Option<Duration> {
///         Some(Duration::from_millis(1))
///     }
///
///     fn next(&mut self, _: Option<[u8; 10]>) -> Result<Option<StreamPicture<[u8; 10]>>, SourceError> {
///         self.0 += 1;
///         Ok((self.0 <= 3).then_some([self.0; 10].into()))
///     }
/// }
///
/// /// Sends them as they are.
/// struct Raw;
///
/// impl FrameEncoder for Raw {
///     type Picture = [u8; 10];
///
///     fn welcome(&self) -> Welcome {
///         let rate = FrameRate::new(1000, 1).expect("a rate");
///         Welcome { model: [0; 6], package: PackageHash([0; 32]), width: 10, height: 1, rate, video: None }
///     }
///
///     fn encode(
///         &mut self,
///         captured: Captured<[u8; 10]>,
///         skipped: u64,
///         _: &Demand,
///     ) -> Result<(BroadcastFrame, Option<[u8; 10]>), SourceError> {
///         let Captured { id, at, picture } = captured;
///         let bytes = Bytes::copy_from_slice(&picture);
///         Ok((Frame { id, skipped, captured: at, since: id, base: 10, bytes, join: None }.into(), None))
///     }
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let mut source = LiveSource::new(Thermometer(0), Raw); // for Broadcast::listen
/// let demand = Demand::default();
/// let mut last = 0;
/// while let Some(frame) = source.next(&demand).await? {
///     last = frame.frame.id;
/// }
/// assert_eq!(last, 2);
/// # Ok::<(), SourceError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LiveSource<P> {
    welcome: Welcome,
    package: Option<Bytes>,
    /// The sound of a muxed stream.
    sound: Option<Sound>,
    state: State<P>,
}

impl<P> std::fmt::Debug for LiveSource<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSource").field("welcome", &self.welcome).finish_non_exhaustive()
    }
}

/// Where pictures come from.
enum Stream<P> {
    Pictures(Box<dyn PictureStream<Picture = P>>),
    Muxed(Box<dyn MuxedStream<Picture = P>>, Option<SoundFanout>),
}

type Encoder<P> = Box<dyn FrameEncoder<Picture = P>>;

enum State<P> {
    Ready(Stream<P>, Encoder<P>),
    Running(Running<P>),
    Ended,
}

impl<P: Send + 'static> LiveSource<P> {
    /// Encodes the pictures of `stream` with `encoder`.
    pub fn new(
        stream: impl PictureStream<Picture = P> + 'static,
        encoder: impl FrameEncoder<Picture = P> + 'static,
    ) -> Self {
        Self::of(Stream::Pictures(Box::new(stream)), Box::new(encoder), None)
    }

    /// Encodes the pictures of `stream` with `encoder`, and sends its sound as it is.
    pub fn muxed(
        stream: impl MuxedStream<Picture = P> + 'static,
        encoder: impl FrameEncoder<Picture = P> + 'static,
    ) -> Self {
        let sound = stream.sound();
        Self::of(Stream::Muxed(Box::new(stream), None), Box::new(encoder), sound)
    }

    fn of(stream: Stream<P>, encoder: Encoder<P>, sound: Option<Sound>) -> Self {
        let (welcome, package) = (encoder.welcome(), encoder.package());
        Self { welcome, package, sound, state: State::Ready(stream, encoder) }
    }
}

impl<P: Send + 'static> FrameSource for LiveSource<P> {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn package(&self) -> Option<Bytes> {
        self.package.clone()
    }

    fn sound(&self) -> Option<Sound> {
        self.sound
    }

    fn attach_sound(&mut self, sound: SoundFanout) {
        if let State::Ready(Stream::Muxed(_, fanout), _) = &mut self.state {
            *fanout = Some(sound);
        }
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Ready(stream, encoder) => State::Running(Running::start(stream, encoder, demand.clone())),
            other => other,
        };
        let State::Running(running) = &mut self.state else { return Ok(None) };
        if let Some(frame) = running.frames.recv().await {
            return Ok(Some(frame));
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Running(running) => running.join().await.map(|()| None),
            _ => Ok(None),
        }
    }

    fn stop(&mut self) {
        match &mut self.state {
            State::Running(running) => {
                running.stopped = true;
                running.slot.close();
            }
            state => *state = State::Ended,
        }
    }
}

/// The running threads. They end when it is dropped; it does not wait for a thread that waits for input.
#[derive(Debug)]
struct Running<P> {
    frames: mpsc::Receiver<BroadcastFrame>,
    slot: Arc<LatestValue<Captured<P>>>,
    stopped: bool,
    threads: Option<[JoinHandle<Result<(), SourceError>>; 2]>,
}

impl<P: Send + 'static> Running<P> {
    fn start(stream: Stream<P>, encoder: Encoder<P>, demand: Demand) -> Self {
        let slot: Arc<LatestValue<Captured<P>>> = Arc::default();
        let (made, frames) = mpsc::channel(1);
        let (spend, spent) = sync_channel(MAX_SPENT_PICTURES);
        let filling = Arc::clone(&slot);
        let emptying = Arc::clone(&slot);
        let reading = thread::spawn(move || {
            let _close = filling.close_on_drop();
            match stream {
                Stream::Pictures(stream) => read(stream, &filling, &spent),
                Stream::Muxed(stream, fanout) => muxed::read(stream, &filling, &spent, fanout.as_ref()),
            }
        });
        let encoding = thread::spawn(move || {
            let _close = emptying.close_on_drop();
            encode(encoder, &demand, &emptying, &made, &spend)
        });
        Self { frames, slot, stopped: false, threads: Some([encoding, reading]) }
    }

    /// Returns the outcome, once the encoder has ended. After a picture that cannot be encoded, reading ends with the
    /// next picture.
    async fn join(mut self) -> Result<(), SourceError> {
        let Some([encoding, reading]) = self.threads.take() else { return Ok(()) };
        if self.stopped && !reading.is_finished() {
            return Ok(());
        }
        let ended = |thread: JoinHandle<_>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let both = tokio::task::spawn_blocking(move || ended(encoding).and_then(|()| ended(reading)));
        both.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

impl<P> Drop for Running<P> {
    fn drop(&mut self) {
        self.slot.close();
    }
}

/// Reads pictures, and gives `spent` pictures back to the stream for reuse.
fn read<P: Send + 'static>(
    mut stream: Box<dyn PictureStream<Picture = P>>,
    slot: &LatestValue<Captured<P>>,
    spent: &Receiver<P>,
) -> Result<(), SourceError> {
    let mut due = Due::new(stream.interval(), running_clock::now());
    let mut skipped = None;
    let mut last = 0;
    for id in 0.. {
        let next = stream.next(skipped.take().or_else(|| spent.try_recv().ok()))?;
        // At the end too, so that the last picture stays as long as the others.
        let was_due = due.wait();
        let Some(StreamPicture { picture, captured }) = next.filter(|_| !slot.is_closed()) else { break };
        // A stream's own times use the driver's clock, which may go back; capture times must not.
        last = captured.or(was_due).unwrap_or_else(clock::microseconds).max(last);
        skipped = slot.put(Captured { id, at: last, picture }).map(|captured| captured.picture);
    }
    Ok(())
}

/// When the next picture is due, for a stream that does not wait itself.
struct Due {
    interval: Option<Duration>,
    schedule: Schedule,
    /// When the next is due, after the first.
    after: Duration,
    /// How late the last pictures were.
    lags: [Duration; LATE_PICTURES],
    number: usize,
}

impl Due {
    const fn new(interval: Option<Duration>, began: Duration) -> Self {
        let schedule = Schedule::new(began, MAX_LAG);
        Self { interval, schedule, after: Duration::ZERO, lags: [Duration::ZERO; LATE_PICTURES], number: 0 }
    }

    /// Waits until the picture that was read is due. Returns when that was, in microseconds since 1970, however late the
    /// system woke this thread.
    fn wait(&mut self) -> Option<u64> {
        let interval = self.interval?;
        let now = running_clock::now();
        let due = self.next(interval, now);
        thread::sleep(due.saturating_sub(now));
        Some(running_clock::microseconds_at(due))
    }

    /// Returns when the next picture is due, which is there at `now`. If all of the last pictures were late, the source
    /// is slower than the schedule, which moves by the least of their delays.
    fn next(&mut self, interval: Duration, now: Duration) -> Duration {
        let due = self.schedule.due(self.after, now);
        self.lags[self.number % LATE_PICTURES] = now.saturating_sub(due);
        self.number += 1;
        self.after += interval;
        let least = self.lags.into_iter().min().unwrap_or_default();
        self.schedule.delay(least);
        self.lags.iter_mut().for_each(|lag| *lag -= least);
        due + least
    }
}

/// Encodes the newest pictures until there are no more, or nobody receives the frames.
fn encode<P: Send + 'static>(
    mut encoder: Encoder<P>,
    demand: &Demand,
    slot: &LatestValue<Captured<P>>,
    frames: &mpsc::Sender<BroadcastFrame>,
    spend: &SyncSender<P>,
) -> Result<(), SourceError> {
    let mut next = 0;
    let mut skipped = 0;
    while let Some(captured) = slot.take() {
        skipped += captured.id.saturating_sub(next);
        next = captured.id + 1;
        let start = Instant::now();
        let (frame, spent) = encoder.encode(captured, skipped, demand)?;
        let encode_time = start.elapsed();
        encoder.handle_encode_time(encode_time);
        if frames.blocking_send(BroadcastFrame { encode_time, ..frame }).is_err() {
            break;
        }
        // A picture that finds no room is dropped.
        let _ = spent.map(|picture| spend.try_send(picture));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use nestcast_proto::{Frame, FrameRate, PackageHash};

    use super::*;

    /// A camera that paces itself and has its own capture times. Its "pictures" are the numbers of its buffers.
    struct Camera {
        times: std::vec::IntoIter<u64>,
        buffers: u64,
        /// Signals that a picture is being encoded; without it, pictures follow at once.
        encoding: Option<Receiver<()>>,
    }

    impl Camera {
        fn new(times: impl IntoIterator<Item = u64>, encoding: Option<Receiver<()>>) -> Self {
            Self { times: times.into_iter().collect::<Vec<_>>().into_iter(), buffers: 0, encoding }
        }
    }

    impl PictureStream for Camera {
        type Picture = u64;

        fn interval(&self) -> Option<Duration> {
            None
        }

        fn next(&mut self, spent: Option<u64>) -> Result<Option<StreamPicture<u64>>, SourceError> {
            if let Some(encoding) = self.encoding.as_ref().filter(|_| self.buffers > 0) {
                encoding.recv().expect("each picture is encoded");
            }
            let Some(time) = self.times.next() else { return Ok(None) };
            let picture = spent.unwrap_or_else(|| {
                self.buffers += 1;
                self.buffers
            });
            Ok(Some(StreamPicture { picture, captured: Some(time) }))
        }
    }

    /// An encoder that makes a frame of the buffer's number, and reports the encoding times that it gets.
    struct Numbers {
        encoding: Sender<()>,
        times: Sender<Duration>,
    }

    impl FrameEncoder for Numbers {
        type Picture = u64;

        fn welcome(&self) -> Welcome {
            Welcome {
                model: [0; 6],
                package: PackageHash([0; 32]),
                width: 1,
                height: 1,
                rate: FrameRate::new(30, 1).expect("a rate"),
                video: None,
            }
        }

        fn encode(
            &mut self,
            captured: Captured<u64>,
            skipped: u64,
            _: &Demand,
        ) -> Result<(BroadcastFrame, Option<u64>), SourceError> {
            let Captured { id, at, picture } = captured;
            // A camera that does not wait may have ended.
            let _ = self.encoding.send(());
            let bytes = Bytes::copy_from_slice(&picture.to_be_bytes());
            let frame = Frame { id, skipped, captured: at, since: id, base: 8, bytes, join: None };
            Ok((frame.into(), Some(picture)))
        }

        fn handle_encode_time(&mut self, took: Duration) {
            self.times.send(took).expect("the test listens");
        }
    }

    /// Returns all frames of a camera, and the encoding times that the encoder got.
    async fn frames(times: Vec<u64>, waits: bool) -> (Vec<BroadcastFrame>, Vec<Duration>) {
        let ((encoding, encoded), (told, tells)) = (channel(), channel());
        let camera: Box<dyn PictureStream<Picture = u64>> = Box::new(Camera::new(times, waits.then_some(encoded)));
        let mut source = LiveSource::new(camera, Numbers { encoding, times: told });
        let mut frames = Vec::new();
        let demand = Demand::default();
        while let Some(frame) = source.next(&demand).await.expect("a camera that ends") {
            frames.push(frame);
        }
        (frames, tells.try_iter().collect())
    }

    #[tokio::test]
    async fn a_camera_gets_its_buffers_back_and_frames_have_its_times_and_the_time_to_encode() {
        // The camera's clock goes back once.
        let times: Vec<u64> = (100..150).map(|time| if time == 120 { 3 } else { time }).collect();
        let (frames, told) = frames(times, true).await;
        let ids: Vec<u64> = frames.iter().map(|frame| frame.frame.id).collect();
        assert_eq!(ids, (0..50).collect::<Vec<_>>());
        let captured = |id: usize| frames[id].frame.captured;
        assert_eq!([0, 19, 20, 21, 49].map(captured), [100, 119, 119, 121, 149]);
        let buffers: std::collections::BTreeSet<_> = frames.iter().map(|frame| frame.frame.bytes.clone()).collect();
        assert!(buffers.len() <= 3, "{} buffers", buffers.len());
        assert_eq!(frames.iter().map(|frame| frame.encode_time).collect::<Vec<_>>(), told);
    }

    #[tokio::test]
    async fn pictures_that_come_while_one_is_encoded_are_skipped_and_counted() {
        let (frames, _) = frames((0..1000).collect(), false).await;
        let last = &frames.last().expect("frames").frame;
        assert_eq!((last.id, frames.len() as u64 + last.skipped), (999, 1000));
    }

    #[tokio::test]
    async fn the_last_picture_stays_as_long_as_the_others() {
        const INTERVAL: Duration = Duration::from_millis(60);
        struct Slides(u64);
        impl PictureStream for Slides {
            type Picture = u64;

            fn interval(&self) -> Option<Duration> {
                Some(INTERVAL)
            }

            fn next(&mut self, _: Option<u64>) -> Result<Option<StreamPicture<u64>>, SourceError> {
                self.0 += 1;
                Ok((self.0 <= 2).then_some(self.0.into()))
            }
        }
        let ((encoding, _encoded), (times, _tells)) = (channel(), channel());
        let mut source = LiveSource::new(Slides(0), Numbers { encoding, times });
        let (began, demand, mut ends) = (Instant::now(), Demand::default(), Vec::new());
        while source.next(&demand).await.expect("slides that end").is_some() {
            ends.push(began.elapsed());
        }
        assert!(!ends.is_empty() && began.elapsed() >= 2 * INTERVAL, "{:?} after {ends:?}", began.elapsed());
    }

    /// Returns when each of the pictures is due, in milliseconds, if they are read at these times.
    fn due(read: impl IntoIterator<Item = u64>) -> Vec<u128> {
        let interval = Duration::from_millis(40);
        let mut due = Due::new(Some(interval), Duration::ZERO);
        read.into_iter().map(|read| due.next(interval, Duration::from_millis(read)).as_millis()).collect()
    }

    #[test]
    fn short_delays_of_a_thread_are_made_good_and_a_slow_source_is_followed_evenly() {
        let late = |at: u64| at * 40 + if at % 8 == 3 { 200 } else { 0 };
        assert_eq!(due((0..100).map(late)), (0..100).map(|at| at * 40).collect::<Vec<_>>());
        let slow = due((0..200).map(|at| at * 50));
        let steps: Vec<u128> = slow.windows(2).skip(8).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step == 50), "{steps:?}");
        assert!(slow[199].abs_diff(199 * 50) <= 10 * LATE_PICTURES as u128, "{slow:?}");
        assert_eq!(due([0, 40, 5000, 5040, 5080]), [0, 40, 5000, 5040, 5080], "the source stopped");
    }
}
