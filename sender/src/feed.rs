//! One receiver: let in or turned away, then fed frame by frame.

mod model;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{
    Bitrate, Clock, Close, Code, Control, Demand, DemandEntry, Hello, INITIAL_WINDOW, MAX_OPEN_FRAMES, Message,
    PathStats, Publisher, ReceiverDemand, RenditionFollower, Room, Step, Welcome, same_token,
};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock;
use crate::fanout::{FrameReceiver, NextFrame};
use crate::places::{Place, Places};
use crate::statistics::{Counters, ReceiverStatistics, Served};
use crate::transport::{Connection, Disconnected, Incoming, Outgoing, Urgency};

/// What all feeds share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) token: Option<Bytes>,
    pub(crate) welcome: Welcome,
    pub(crate) interval: Duration,
    pub(crate) package: Option<Bytes>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) demand: Demand,
    pub(crate) places: Arc<Places>,
    /// Why there are no more frames, once there are none.
    pub(crate) end: OnceLock<Close>,
    /// Whether feeds must end though something of the last frame is unsent.
    pub(crate) cut_off: watch::Sender<bool>,
}

/// Streams that ended and are kept until what they carried arrived: of as many frames as may come again, each with its parity's.
const MAX_FINISHED: usize = 2 * MAX_OPEN_FRAMES;

/// How a broadcast ends well.
pub(crate) const DONE: Close = Close { code: Code::Done, why: "the broadcast ended" };

impl Shared {
    /// What receivers are told when there are no more frames.
    pub(crate) fn end(&self) -> Close {
        self.end.get().copied().unwrap_or(Close { code: Code::Failed, why: "the sender failed" })
    }

    /// Waits until feeds must end.
    pub(crate) async fn is_cut_off(&self) {
        // It fails only once nobody can cut off any more, which is held here.
        let _ = self.cut_off.subscribe().wait_for(|cut_off| *cut_off).await;
    }
}

/// Why a feed ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    #[error(transparent)]
    Disconnected(#[from] Disconnected),
    #[error(transparent)]
    Close(#[from] Close),
}

/// Lets a receiver in that says hello before `time_is_up`, and feeds it until it leaves, breaks a rule, or the frames end.
pub(crate) async fn run<C: Connection>(
    connection: C,
    time_is_up: impl Future<Output = Close>,
    entry: DemandEntry,
    shared: Arc<Shared>,
    frames: FrameReceiver,
) {
    let address = connection.address();
    // Kept until the connection is closed: a stream that is dropped is ended, and its end would come before the reason.
    let mut streams = None;
    let admitted = tokio::select! {
        admitted = admit(&connection, &shared, &mut streams) => admitted,
        close = time_is_up => Err(close.into()),
        () = shared.is_cut_off() => return connection.close(shared.end()),
    };
    let Admitted { hello, incoming, control, _place } = match admitted {
        Ok(admitted) => admitted,
        Err(end) => {
            tracing::info!(%address, "refused: {end}");
            return tell(&connection, &end, &shared.counters);
        }
    };
    Counters::add(&shared.counters.accepted, 1);
    let cap = hello.max_bitrate;
    tracing::info!(%address, cap = cap.map(Bitrate::bits), "receiver joined");
    let mut feed = Feed::new(&connection, cap, entry, &shared);
    // Who comes begins with the frame that is there now.
    let ended = tokio::select! {
        ended = feed.run(frames.clone(), incoming, control) => ended,
        // Whatever the feed waits for: a source that stands still, a slow receiver's next turn.
        gone = connection.closed() => Err(gone.into()),
        () = shared.is_cut_off() => Ok(()),
    };
    feed.served = None;
    let sent = feed.publisher.stats();
    match ended {
        Ok(()) => {
            let close = shared.end();
            tracing::info!(%address, ?sent, "the end: {close}");
            connection.close(close);
        }
        Err(end) => {
            tracing::info!(%address, ?sent, "receiver left: {end}");
            tell(&connection, &end, &shared.counters);
        }
    }
}

fn tell(connection: &impl Connection, end: &End, counters: &Counters) {
    if let End::Close(close) = end {
        counters.refuse(close.code.name());
        connection.close(*close);
    }
}

/// A receiver that was let in.
struct Admitted<'a, I> {
    hello: Hello,
    incoming: &'a mut I,
    control: Control,
    _place: Place,
}

/// Hello and welcome. The place is taken between them: who does not say hello, or lacks the token, takes none. `streams`
/// becomes the control stream, both ways.
async fn admit<'a, C: Connection>(
    connection: &C,
    shared: &Shared,
    streams: &'a mut Option<(C::Outgoing, C::Incoming)>,
) -> Result<Admitted<'a, C::Incoming>, End> {
    let (outgoing, incoming) = streams.insert(connection.accept_control().await?);
    let mut control = Control::default();
    let Message::Hello(hello) = message(incoming, &mut control).await? else {
        return Err(Close { code: Code::Violation, why: "the first message is no hello" }.into());
    };
    if shared.token.as_ref().is_some_and(|token| !same_token(&hello.token, token)) {
        return Err(Close { code: Code::Token, why: "the token is missing or wrong" }.into());
    }
    let place = shared.places.take(connection.address());
    let _place = place.ok_or(Close { code: Code::Full, why: "all places are taken" })?;
    let clock = Clock { micros: clock::microseconds() };
    let mut welcome = [Message::Welcome(shared.welcome.clone()).encode(), Message::Clock(clock).encode()];
    while welcome.iter().any(|message| !message.is_empty()) {
        outgoing.write(&mut welcome, Room { held: INITIAL_WINDOW, pending: None }).await?;
    }
    outgoing.finish();
    Ok(Admitted { hello, incoming, control, _place })
}

/// The next message of a control stream.
async fn message(incoming: &mut impl Incoming, control: &mut Control) -> Result<Message, End> {
    loop {
        if let Some(message) = control.poll()? {
            return Ok(message);
        }
        match incoming.read().await? {
            Some(bytes) => control.handle_bytes(&bytes),
            // What a receiver that has nothing more to say does.
            None => std::future::pending().await,
        }
    }
}

struct Feed<'a, C: Connection> {
    connection: &'a C,
    publisher: Publisher,
    shared: &'a Shared,
    entry: DemandEntry,
    /// The stream that is written, and the oldest frame on it.
    stream: Option<(u64, C::Outgoing)>,
    /// The same of those before, as many as may be on the way; the newest last.
    finished: VecDeque<(u64, C::Outgoing)>,
    /// Where its figures are noted, from its first frame on.
    served: Option<Served>,
    cap: Option<Bitrate>,
    /// Whether the model was asked for.
    asked: bool,
    follower: RenditionFollower,
}

/// What a feed waits for.
enum Event {
    Frame(NextFrame),
    Written(usize),
    Message(Message),
}

impl<'a, C: Connection> Feed<'a, C> {
    fn new(connection: &'a C, cap: Option<Bitrate>, entry: DemandEntry, shared: &'a Shared) -> Self {
        let publisher = Publisher::new(shared.interval, cap);
        let publisher = if shared.welcome.video.is_some() { publisher.of_video(shared.interval) } else { publisher };
        Self {
            connection,
            publisher,
            shared,
            follower: RenditionFollower::new(entry.receiver()),
            entry,
            stream: None,
            finished: VecDeque::new(),
            served: None,
            cap,
            asked: false,
        }
    }

    async fn run(
        &mut self,
        mut frames: FrameReceiver,
        incoming: &mut C::Incoming,
        mut control: Control,
    ) -> Result<(), End> {
        let epoch = Instant::now();
        let mut live = true;
        loop {
            if self.publisher.needs_join() {
                self.entry.request_join(self.follower.rendition());
            }
            let idle = self.drive_to_write().await?;
            if idle && !live {
                // A close would overtake what is on the way.
                if let Some((_, last)) = self.finished.back_mut() {
                    last.settled().await;
                }
                return Ok(());
            }
            match self.event(&mut frames, live, idle, incoming, &mut control).await? {
                Event::Frame(NextFrame::Frame(frame)) => {
                    let followed = self.follower.follow(&frame);
                    if followed.begins_anew {
                        self.publisher.handle_other_loop();
                    }
                    let path = self.connection.path();
                    if self.publisher.sends_again(&path) {
                        self.tell_arrived();
                    }
                    self.publisher.handle_frame(epoch.elapsed(), followed.frame, &path);
                    self.connection.allow_beyond(self.publisher.packets_beyond(&path));
                    self.note(path);
                }
                Event::Frame(NextFrame::Missed(count)) => self.publisher.handle_missed(count),
                Event::Frame(NextFrame::End) => {
                    live = false;
                    self.publisher.handle_end();
                    self.note(self.connection.path());
                }
                Event::Written(count) => self.publisher.handle_written(epoch.elapsed(), count, &self.connection.path()),
                Event::Message(message) => self.answer(epoch.elapsed(), message).await?,
            }
        }
    }

    /// Waits for what comes first. Of what is there the most urgent: a base goes before the frame that would end its own,
    /// and that before the rest. Every branch may be dropped while it waits.
    async fn event(
        &mut self,
        frames: &mut FrameReceiver,
        live: bool,
        idle: bool,
        incoming: &mut C::Incoming,
        control: &mut Control,
    ) -> Result<Event, End> {
        let base = self.publisher.owes_base();
        let room = self.publisher.room(&self.connection.path());
        let write = Self::write(self.stream.as_mut().map(|(_, stream)| stream), self.publisher.unwritten(), room);
        if base {
            tokio::select! {
                biased;
                written = write, if !idle => Ok(Event::Written(written?)),
                next = frames.next(), if live => Ok(Event::Frame(next)),
                message = message(incoming, control) => Ok(Event::Message(message?)),
            }
        } else {
            tokio::select! {
                biased;
                next = frames.next(), if live => Ok(Event::Frame(next)),
                written = write, if !idle => Ok(Event::Written(written?)),
                message = message(incoming, control) => Ok(Event::Message(message?)),
            }
        }
    }

    /// Does all that does not wait for room; gives whether there is nothing to write.
    async fn drive_to_write(&mut self) -> Result<bool, Disconnected> {
        while let Some(step) = self.publisher.poll() {
            match step {
                Step::Open { frame } => {
                    let stream = self.connection.open(Urgency::InTurn).await?;
                    self.publisher.handle_opened(stream.number());
                    self.stream = Some((frame, stream));
                }
                Step::Write => {
                    if self.connection.path().repairing > 0 {
                        self.let_go();
                    }
                    return Ok(false);
                }
                Step::Finish => {
                    if let Some((first, mut stream)) = self.stream.take() {
                        stream.finish();
                        if self.finished.len() == MAX_FINISHED {
                            self.finished.pop_front();
                        }
                        self.finished.push_back((first, stream));
                    }
                }
                Step::Again { first } => {
                    for (frame, stream) in self.finished.iter_mut().chain(&mut self.stream) {
                        if *frame >= first {
                            stream.reset();
                        }
                    }
                    self.finished.retain(|(frame, _)| *frame < first);
                    self.connection.handle_reset();
                    self.stream = Some((first, self.connection.open(Urgency::First).await?));
                }
            }
        }
        Ok(true)
    }

    /// Tells the publisher up to which frame all arrived, and forgets those streams.
    fn tell_arrived(&mut self) {
        while let Some((frame, stream)) = self.finished.front_mut() {
            let settled = pin!(stream.settled()).poll(&mut Context::from_waker(Waker::noop()));
            if settled.is_pending() {
                break;
            }
            self.publisher.handle_arrived(*frame);
            self.finished.pop_front();
        }
    }

    /// Lets go of what the receiver has and the transport keeps, for packets that were lost and are not needed any more.
    fn let_go(&mut self) {
        self.tell_arrived();
        for (_, stream) in &mut self.finished {
            if pin!(stream.settled()).poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                stream.reset();
            }
        }
    }

    async fn write(
        stream: Option<&mut C::Outgoing>,
        mut chunks: [Bytes; 2],
        room: Room,
    ) -> Result<usize, Disconnected> {
        match stream {
            Some(stream) => stream.write(&mut chunks, room).await,
            None => std::future::pending().await,
        }
    }

    /// A message behind the hello.
    async fn answer(&mut self, now: Duration, message: Message) -> Result<(), End> {
        match message {
            Message::ModelRequest(request) => self.give_model(request).await,
            Message::JoinRequest(request) if self.shared.welcome.video.is_some() => {
                self.publisher.handle_join_request(now, request);
                Ok(())
            }
            _ => Err(Close { code: Code::Violation, why: "a receiver may only ask for the model, or a join of video" }
                .into()),
        }
    }

    /// States what it wants, and notes its figures, on a path of which this is known.
    fn note(&mut self, path: PathStats) {
        let publisher = &self.publisher;
        let wanted = ReceiverDemand {
            bandwidth: publisher.carried_rate(&path),
            max_bitrate: self.cap,
            useful_bytes: publisher.useful_bytes(),
            owed_frames: publisher.owed_frames(),
            needs_join: publisher.needs_join(),
            rendition: self.follower.rendition(),
        };
        self.entry.set(wanted);
        let number = self.entry.receiver();
        let figures = ReceiverStatistics {
            number,
            address: self.connection.address(),
            rendition: wanted.rendition,
            delivery_rate: publisher.delivery_rate(),
            useful_bytes: wanted.useful_bytes,
            sent: publisher.stats(),
            path,
        };
        match &self.served {
            Some(served) => served.note(figures),
            None => self.served = Some(self.shared.counters.serve(number, figures)),
        }
    }
}

#[cfg(test)]
mod tests;
