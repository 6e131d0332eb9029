//! One connection: hello, welcome, the model if it is missing, then frames until the end.

use std::sync::Arc;
use std::time::Duration;

use nestcast_codec::{ModelId, Size};
use nestcast_proto::{Close, Code, Control, Hello, MAX_FRAME, Message, ModelRequest, Subscriber, Welcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::Error;
use crate::model::{self, Request};
use crate::player::Player;
use crate::streams::{self, Event, Reader};
use crate::transport::{Connection, Incoming};
use crate::view::Announcement;

/// How long a sender may take for each answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long no frame may come: so long, and four frame intervals.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);
/// Events of streams that wait to be put together.
const MAX_WAITING_EVENTS: usize = 64;
/// What is kept of a frame: so many bytes, and so many for each pixel. Noise takes 3 of RGB, and a prefix is a picture.
const KEPT_BYTES: u64 = 64 * 1024;
const KEPT_BYTES_PER_PIXEL: u64 = 4;
/// Most frames in a second: no display shows more, and held pictures are shown at this rate.
const MAX_FRAMES_PER_SECOND: u32 = 1000;

/// Runs one connection to its end.
pub(crate) async fn run<C: Connection>(
    connection: &C,
    hello: Hello,
    fetch: bool,
    player: &Player,
) -> Result<(), Error> {
    let outcome = tokio::select! {
        outcome = session(connection, hello, fetch, player) => outcome,
        error = player.ended() => Err(error),
    };
    let close = match &outcome {
        Err(Error::Violation(close)) => *close,
        Err(Error::Late(why)) => Close { code: Code::Slow, why },
        Err(Error::View(_)) => Close { code: Code::Model, why: "the receiver cannot show this" },
        _ => Close { code: Code::Done, why: "the receiver leaves" },
    };
    connection.close(close);
    outcome
}

async fn session<C: Connection>(connection: &C, hello: Hello, fetch: bool, player: &Player) -> Result<(), Error> {
    let greeting = async {
        let (outgoing, mut incoming) = connection.open_control(Message::Hello(hello).encode()).await?;
        let mut control = Control::default();
        let welcome = welcome(&mut incoming, &mut control).await?;
        Ok((outgoing, incoming, control, welcome))
    };
    let late = Error::Late("no welcome came");
    let (mut outgoing, incoming, control, welcome) = timeout(ANSWER_TIMEOUT, greeting).await.unwrap_or(Err(late))?;
    let announced = announcement(&welcome)?;
    let mut frames = Frames::new(connection, &announced, player);
    frames.readers.spawn(streams::silence(incoming, control));
    if !player.announce(announced).await? {
        if !fetch {
            let why = format!(
                "the sender's model package {} is not here: name its folder with --model, or let it be fetched",
                announced.package
            );
            return Err(Error::View(why));
        }
        tracing::info!(package = %announced.package, "asking the sender for its model");
        let request = ModelRequest { package: welcome.package };
        let asking = connection.say(&mut outgoing, Message::ModelRequest(request).encode());
        timeout(ANSWER_TIMEOUT, asking).await.unwrap_or(Err(Error::Late("it takes no request for its model")))?;
        let (request, begins) = Request::new(welcome.package);
        frames.reader.request = Some(Arc::new(request));
        frames.readers.spawn(model::expect(begins));
    }
    frames.run().await
}

async fn welcome(incoming: &mut impl Incoming, control: &mut Control) -> Result<Welcome, Error> {
    loop {
        match control.poll()? {
            Some(Message::Welcome(welcome)) => return Ok(welcome),
            Some(_) => return Err(Error::violation("the first message is no welcome")),
            None => {}
        }
        match incoming.read().await? {
            Some(bytes) => control.handle_bytes(&bytes),
            // The reason for the end, if there is one, comes with the connection's close.
            None => std::future::pending().await,
        }
    }
}

fn announcement(welcome: &Welcome) -> Result<Announcement, Error> {
    let size = Size::new(welcome.width, welcome.height).map_err(|error| Error::View(error.to_string()))?;
    let (frames, seconds) = welcome.rate;
    if frames > seconds.saturating_mul(MAX_FRAMES_PER_SECOND) {
        return Err(Error::violation("a welcome announces more than 1000 frames a second"));
    }
    Ok(Announcement { model: ModelId(welcome.model), package: welcome.package, size, rate: welcome.rate })
}

/// Streams to frames, until the connection ends.
struct Frames<'a, C> {
    connection: &'a C,
    player: &'a Player,
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

impl<'a, C: Connection> Frames<'a, C> {
    fn new(connection: &'a C, announced: &Announcement, player: &'a Player) -> Self {
        let (events, inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        let most = KEPT_BYTES + KEPT_BYTES_PER_PIXEL * announced.size.pixels() as u64;
        let (epoch, patience) = (Instant::now(), FRAME_TIMEOUT + 4 * announced.interval());
        Self {
            connection,
            player,
            subscriber: Subscriber::new(announced.interval()).with_max_frame(most.min(MAX_FRAME)),
            epoch,
            inbox,
            reader: Reader { events, request: None, player: player.clone() },
            readers: JoinSet::new(),
            patience,
            overdue: epoch + patience,
        }
    }

    async fn run(mut self) -> Result<(), Error> {
        let end = loop {
            let due = self.subscriber.poll_timeout().map_or(self.overdue, |due| self.overdue.min(self.epoch + due));
            tokio::select! {
                Some(event) = self.inbox.recv() => handle(event, self.epoch.elapsed(), &mut self.subscriber)?,
                Some(read) = self.readers.join_next() => match read {
                    Ok(Ok(())) => {}
                    Ok(Err(end @ (Error::Closed(_) | Error::Lost { .. }))) => break end,
                    Ok(Err(error)) => return Err(error),
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                stream = self.connection.accept() => match stream {
                    Ok(stream) => drop(self.readers.spawn(self.reader.clone().read(stream))),
                    Err(end) => break end,
                },
                () = sleep_until(due) => {}
            }
            self.subscriber.handle_round_trip(self.connection.rtt());
            self.show();
            self.check_frames()?;
        };
        self.finish().await?;
        Err(end)
    }

    fn show(&mut self) {
        while let Some(arrived) = self.subscriber.poll(self.epoch.elapsed()) {
            self.overdue = Instant::now() + self.patience;
            self.player.frame(arrived, self.subscriber.stats());
        }
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
        drop(self.reader);
        while let Some(event) = self.inbox.recv().await {
            handle(event, self.epoch.elapsed(), &mut self.subscriber)?;
        }
        self.subscriber.handle_close();
        while let Some(arrived) = self.subscriber.poll(self.epoch.elapsed()) {
            self.player.frame(arrived, self.subscriber.stats());
        }
        Ok(())
    }
}

fn handle(event: Event, now: Duration, subscriber: &mut Subscriber) -> Result<(), Error> {
    match event {
        Event::Head(header) => subscriber.handle_head(now, header)?,
        Event::Bytes(id, bytes) => subscriber.handle_bytes(now, id, &bytes)?,
        Event::End(id) => subscriber.handle_end(id),
        Event::Base(header, base) => subscriber.handle_base(now, header, &base),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
