//! One connection: hello, welcome, the model if it is missing, then frames until the end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use nestcast_proto::{
    Bitrate, Close, Code, Control, Hello, MAX_FRAME, MAX_HEAD_BYTES, Message, ModelRequest, Subscriber, Welcome,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::Error;
use crate::model::{self, Request};
use crate::repair::Repairs;
use crate::sink::{FrameSink, Readiness};
use crate::streams::{self, Event, Reader};
use crate::transport::{Connection, Incoming};

/// How long a sender may take for each answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long no frame may come: so long, and four frame intervals.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);
/// The four intervals at most: a sender may announce a picture in eleven days.
const MAX_FRAME_INTERVALS: Duration = Duration::from_secs(3600);
/// Events of streams that wait to be put together.
const MAX_WAITING_EVENTS: usize = 64;
/// What is kept of a frame: so many bytes, and so many for each pixel. Noise takes 3 of RGB, and a prefix is a picture.
const KEPT_BYTES: u64 = 64 * 1024;
const KEPT_BYTES_PER_PIXEL: u64 = 4;
/// Most frames in a second: no display shows more, and held pictures are shown at this rate.
const MAX_FRAMES_PER_SECOND: u32 = 1000;

/// How a connection went.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Why it ended.
    pub(crate) error: Error,
    /// From the first frame that was handed over to the last; `None` if there was none.
    pub(crate) handed_over: Option<Duration>,
}

/// Runs one connection to its end.
pub(crate) async fn run<C, S>(connection: &C, hello: Hello, fetch: bool, sink: &mut S) -> Ended
where
    C: Connection,
    S: FrameSink,
{
    let mut handed_over = None;
    let Err(error) = session(connection, hello, fetch, sink, &mut handed_over).await;
    let close = match &error {
        Error::Violation(close) => *close,
        Error::Late(why) => Close { code: Code::Slow, why },
        Error::Refused(_) | Error::PackageMissing(_) => {
            Close { code: Code::Model, why: "the receiver cannot show this" }
        }
        Error::Sink(_) => Close { code: Code::Failed, why: "the receiver's player failed" },
        _ => Close { code: Code::Done, why: "the receiver leaves" },
    };
    connection.close(close);
    Ended { error, handed_over: handed_over.map(|(first, last): (Instant, Instant)| last - first) }
}

async fn session<C: Connection, S: FrameSink>(
    connection: &C,
    hello: Hello,
    fetch: bool,
    sink: &mut S,
    handed_over: &mut Option<(Instant, Instant)>,
) -> Result<Infallible, Error> {
    let cap = hello.max_bitrate;
    let greeting = async {
        let (outgoing, mut incoming) = connection.open_control(Message::Hello(hello).encode()).await?;
        let mut control = Control::default();
        let welcome = match message(connection, &mut incoming, &mut control).await? {
            Message::Welcome { version, welcome } => {
                tracing::debug!(version, "the sender chose a version of the session");
                checked(welcome)?
            }
            _ => return Err(Error::violation("the first message is no welcome")),
        };
        let Message::Clock(clock) = message(connection, &mut incoming, &mut control).await? else {
            return Err(Error::violation("no clock follows the welcome"));
        };
        Ok((outgoing, incoming, control, welcome, clock))
    };
    let late = Error::Late("no welcome came");
    let greeted = tokio::select! {
        greeted = timeout(ANSWER_TIMEOUT, greeting) => greeted.unwrap_or(Err(late)),
        error = sink.failed() => Err(Error::sink(error)),
    };
    let (mut outgoing, incoming, control, welcome, clock) = greeted?;
    sink.handle_clock(Duration::from_micros(clock.micros) + connection.rtt() / 2);
    let readiness = sink.handle_welcome(&welcome).await.map_err(Error::refused)?;
    let mut frames = Frames::new(connection, &welcome, cap, sink, handed_over);
    frames.readers.spawn(streams::silence(incoming, control));
    if readiness == Readiness::NeedsPackage {
        if !fetch {
            return Err(Error::PackageMissing(welcome.package));
        }
        tracing::info!(package = %welcome.package, "asking the sender for its model");
        let request = ModelRequest { package: welcome.package };
        let asking = connection.say(&mut outgoing, Message::ModelRequest(request).encode());
        timeout(ANSWER_TIMEOUT, asking).await.unwrap_or(Err(Error::Late("it takes no request for its model")))?;
        let (request, begins) = Request::new(welcome.package);
        frames.reader.request = Some(Arc::new(request));
        frames.readers.spawn(model::expect(begins));
    }
    frames.run(outgoing).await
}

/// The next message of the control stream.
async fn message<C: Connection>(
    connection: &C,
    incoming: &mut C::Incoming,
    control: &mut Control,
) -> Result<Message, Error> {
    loop {
        if let Some(message) = control.poll()? {
            return Ok(message);
        }
        match incoming.read().await? {
            Some(bytes) => control.handle_bytes(&bytes),
            // The reason for the end, if there is one, comes with the connection's close.
            None => return Err(connection.closed().await),
        }
    }
}

fn checked(welcome: Welcome) -> Result<Welcome, Error> {
    let (frames, seconds) = welcome.rate;
    if frames > seconds.saturating_mul(MAX_FRAMES_PER_SECOND) {
        return Err(Error::violation("a welcome announces more than 1000 frames a second"));
    }
    Ok(welcome)
}

/// Bytes of a frame that are kept.
fn kept_bytes(welcome: &Welcome) -> u64 {
    let pixels = u64::from(welcome.width) * u64::from(welcome.height);
    (KEPT_BYTES + KEPT_BYTES_PER_PIXEL * pixels).min(MAX_FRAME)
}

/// Streams to frames, until the connection ends.
struct Frames<'a, C, S> {
    connection: &'a C,
    sink: &'a mut S,
    /// When the first and the last frame were handed over.
    handed_over: &'a mut Option<(Instant, Instant)>,
    subscriber: Subscriber,
    epoch: Instant,
    inbox: mpsc::Receiver<Event>,
    /// What reads a stream.
    reader: Reader,
    readers: JoinSet<Result<(), Error>>,
    /// How long no frame may come, and until when.
    patience: Duration,
    overdue: Instant,
}

impl<'a, C: Connection, S: FrameSink> Frames<'a, C, S> {
    fn new(
        connection: &'a C,
        welcome: &Welcome,
        cap: Option<Bitrate>,
        sink: &'a mut S,
        handed_over: &'a mut Option<(Instant, Instant)>,
    ) -> Self {
        let (events, inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        let kept = kept_bytes(welcome);
        let repairs = Repairs::new(usize::try_from(kept).unwrap_or(usize::MAX).saturating_add(MAX_HEAD_BYTES));
        let subscriber = Subscriber::new(welcome.interval(), kept);
        let subscriber = if welcome.video.is_some() { subscriber.of_video() } else { subscriber };
        let (epoch, patience) = (Instant::now(), FRAME_TIMEOUT + (4 * welcome.interval()).min(MAX_FRAME_INTERVALS));
        Self {
            connection,
            sink,
            handed_over,
            subscriber,
            epoch,
            inbox,
            reader: Reader { events, request: None, repairs, cap },
            readers: JoinSet::new(),
            patience,
            overdue: epoch + patience,
        }
    }

    async fn run(mut self, mut control: C::Outgoing) -> Result<Infallible, Error> {
        let end = loop {
            let due = self.subscriber.poll_timeout().map_or(self.overdue, |due| self.overdue.min(self.epoch + due));
            // In this order, so that in virtual time every run is the same.
            tokio::select! {
                biased;
                Some(event) = self.inbox.recv() => self.handle(event).await?,
                Some(read) = self.readers.join_next() => match read {
                    Ok(Ok(())) => {}
                    Ok(Err(end @ (Error::Closed(_) | Error::Lost { .. }))) => break end,
                    Ok(Err(error)) => return Err(error),
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                error = self.sink.failed() => return Err(Error::sink(error)),
                stream = self.connection.accept() => match stream {
                    Ok(stream) => drop(self.readers.spawn(self.reader.read(stream))),
                    Err(end) => break end,
                },
                () = sleep_until(due) => {}
            }
            self.subscriber.handle_round_trip(self.connection.rtt());
            self.hand_over()?;
            match self.ask_join(&mut control).await {
                // What came before the end is handed over still.
                Err(end @ (Error::Closed(_) | Error::Lost { .. })) => break end,
                asked => asked?,
            }
            self.check_frames()?;
        };
        self.finish().await?;
        Err(end)
    }

    async fn handle(&mut self, event: Event) -> Result<(), Error> {
        let now = self.epoch.elapsed();
        match event {
            Event::Head(header) => self.subscriber.handle_head(now, header)?,
            Event::Bytes(id, bytes) => self.subscriber.handle_bytes(now, id, &bytes)?,
            Event::End(id) => self.subscriber.handle_end(id),
            Event::Base(header, base) => self.subscriber.handle_base(now, header, &base),
            Event::Late(header, bytes) => {
                if self.subscriber.handle_late(header, &bytes)? {
                    self.overdue = Instant::now() + self.patience;
                }
            }
            Event::Package(package, request) => {
                self.sink.handle_package(package).await.map_err(Error::refused)?;
                request.fulfil();
            }
        }
        Ok(())
    }

    /// Hands the frames over that are due.
    fn hand_over(&mut self) -> Result<(), Error> {
        while let Some(arrived) = self.subscriber.poll(self.epoch.elapsed()) {
            let now = Instant::now();
            self.overdue = now + self.patience;
            let first = self.handed_over.map_or(now, |(first, _)| first);
            *self.handed_over = Some((first, now));
            self.sink.handle_frame(arrived, self.subscriber.stats()).map_err(Error::sink)?;
        }
        if let Some(more) = self.subscriber.poll_more(self.epoch.elapsed()) {
            self.sink.handle_more(more, self.subscriber.stats()).map_err(Error::sink)?;
        }
        Ok(())
    }

    /// Asks for a join where frames of video are lacking.
    async fn ask_join(&mut self, control: &mut C::Outgoing) -> Result<(), Error> {
        if let Some(lost) = self.sink.lost() {
            self.subscriber.handle_undecoded(lost);
        }
        let Some(request) = self.subscriber.poll_join_request(self.epoch.elapsed()) else { return Ok(()) };
        tracing::debug!(lost = request.lost, "asking the sender for a join");
        let asking = self.connection.say(control, Message::JoinRequest(request).encode());
        timeout(ANSWER_TIMEOUT, asking).await.unwrap_or(Err(Error::Late("it takes no request for a join")))
    }

    fn check_frames(&mut self) -> Result<(), Error> {
        if Instant::now() < self.overdue {
            return Ok(());
        }
        // While the model comes no frame can be shown; it has bounds of its own.
        if self.reader.request.as_ref().is_some_and(|request| request.is_open()) {
            self.overdue = Instant::now() + self.patience;
            return Ok(());
        }
        Err(Error::Late("no frame came"))
    }

    /// What came before the end is still shown.
    async fn finish(mut self) -> Result<(), Error> {
        self.readers.detach_all();
        // What still reads has the other senders.
        let (closed, _) = mpsc::channel(1);
        self.reader.events = closed;
        while let Some(event) = self.inbox.recv().await {
            self.handle(event).await?;
        }
        self.subscriber.handle_close();
        self.hand_over()
    }
}

#[cfg(test)]
mod tests;
