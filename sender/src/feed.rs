//! One receiver: drives a [`SenderSession`] over its connection, frame by frame.

mod moves;
mod sound;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use nestcast_proto::{
    Bitrate, Close, DemandEntry, Hello, INITIAL_WINDOW, PathStats, Room, SenderEnd, SenderOutput, SenderSession,
};
use tokio::time::{Instant, sleep_until};

use self::moves::{read, write};
use self::sound::SoundStreams;
use crate::clock;
use crate::directory::{Chosen, Directory};
use crate::door::slots::Place;
use crate::figures::statistics::{Counters, ReceiverStatistics, Served};
use crate::frames::fanout::{FrameReceiver, NextFrame};
use crate::transport::{Connection, Disconnected, Incoming, Outgoing};

/// Why a feed ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    #[error(transparent)]
    Disconnected(#[from] Disconnected),
    #[error(transparent)]
    Session(#[from] SenderEnd),
}

/// Admits a receiver that says hello, and is let in, before `time_is_up`. Feeds it until it leaves, breaks a rule, or
/// the frames end.
pub(crate) async fn run<C: Connection>(
    connection: C,
    time_is_up: impl Future<Output = Close>,
    entry: DemandEntry,
    directory: Arc<Directory>,
) {
    let address = connection.address();
    let shared = &directory.first().shared;
    let mut feed = Feed::new(&connection, entry, &directory);
    let admitted = tokio::select! {
        admitted = feed.admit(time_is_up) => admitted,
        () = shared.is_cut_off() => Err(SenderEnd::Over(shared.end()).into()),
    };
    let end = match admitted {
        Ok(()) => feed.serve().await,
        Err(end) => {
            tracing::info!(%address, "refused: {end}");
            end
        }
    };
    feed.tell(&end).await;
}

/// One receiver's session on its connection.
struct Feed<'a, C: Connection> {
    connection: &'a C,
    chosen: Chosen<'a>,
    session: SenderSession,
    /// The instant of the session's time zero.
    epoch: Instant,
    /// The control stream, both ways. It is kept until the connection closes: dropping a stream finishes it, and the
    /// receiver would see that end before the reason.
    control: Option<(C::Outgoing, C::Incoming)>,
    /// Streams that the session has open; the last is the one being written.
    streams: Vec<C::Outgoing>,
    sound: SoundStreams<C::Outgoing>,
    place: Option<Place>,
    /// The limit that it was granted.
    cap: Option<Bitrate>,
    /// The viewer's name.
    name: Option<Arc<str>>,
    /// The receiver's entry in the statistics, from its first frame on.
    served: Option<Served>,
}

/// What a feed waits for.
enum Event {
    Sound(Bytes),
    Frame(NextFrame),
    Written(usize),
    Control(Bytes),
    Time,
}

impl<'a, C: Connection> Feed<'a, C> {
    fn new(connection: &'a C, entry: DemandEntry, directory: &'a Directory) -> Self {
        let chosen = Chosen::new(directory, entry);
        let session = SenderSession::new(Arc::clone(&chosen.shared().offer), chosen.entry.receiver());
        Self {
            connection,
            session: if C::SHOWS_STREAM_NUMBERS { session } else { session.without_parity() },
            epoch: Instant::now(),
            control: None,
            streams: Vec::new(),
            sound: SoundStreams::new(&chosen.shared().sound),
            chosen,
            place: None,
            cap: None,
            name: None,
            served: None,
        }
    }

    /// Welcomes a receiver that has a place before `time_is_up`. What it takes then to begin elsewhere is no part of that
    /// time.
    async fn admit(&mut self, time_is_up: impl Future<Output = Close>) -> Result<(), End> {
        tokio::select! {
            heard = self.hear() => heard?,
            close = time_is_up => return Err(SenderEnd::Refused(close).into()),
        }
        // Not before it has its control stream, because it may open no other.
        let start = tokio::select! {
            start = self.chosen.rewind() => start,
            gone = self.connection.closed() => return Err(gone.into()),
        };
        start.into_iter().for_each(|start| self.session.handle_start(start));
        self.session.handle_chosen(Arc::clone(&self.chosen.shared().offer), self.chosen.entry.receiver());
        self.sound = SoundStreams::new(&self.chosen.shared().sound);
        self.session.handle_admitted(self.epoch.elapsed(), clock::microseconds(), self.cap);
        self.take_outputs().await.map(drop)
    }

    /// Waits until the receiver has said hello and has a place.
    async fn hear(&mut self) -> Result<(), End> {
        self.control = Some(self.connection.accept_control().await?);
        while self.place.is_none() {
            let bytes = read(&mut self.control).await?;
            self.session.handle_control_bytes(self.epoch.elapsed(), &bytes);
            self.take_outputs().await?;
        }
        Ok(())
    }

    /// Feeds an admitted receiver until it leaves or the broadcast ends. Returns why it ended.
    async fn serve(&mut self) -> End {
        let (connection, shared, address) = (self.connection, self.chosen.shared(), self.connection.address());
        Counters::add(&shared.counters.accepted, 1);
        let (name, cap) = (self.name.as_deref(), self.session.max_bitrate().map(Bitrate::bits));
        tracing::info!(%address, name, cap, "receiver joined");
        // A new receiver begins with the newest frame.
        let frames = self.chosen.frames();
        let ended = tokio::select! {
            end = self.run(frames) => end,
            // This applies whatever the feed waits for: a source without a new frame, or a slow receiver's next turn.
            gone = connection.closed() => gone.into(),
            () = shared.is_cut_off() => SenderEnd::Over(shared.end()).into(),
        };
        self.served = None;
        tracing::info!(%address, sent = ?self.session.stats(), "receiver left: {ended}");
        ended
    }

    /// Feeds the receiver to the end. Returns why it ended.
    async fn run(&mut self, mut frames: FrameReceiver) -> End {
        let mut is_live = true;
        loop {
            if let Err(end) = self.turn(&mut frames, &mut is_live).await {
                return end;
            }
        }
    }

    /// Performs the session's outputs, then waits for one event and handles it.
    async fn turn(&mut self, frames: &mut FrameReceiver, is_live: &mut bool) -> Result<(), End> {
        if self.session.needs_random_access() {
            self.chosen.entry.request_random_access(self.session.rendition());
        }
        let writes = self.take_outputs().await?;
        match self.event(frames, *is_live, writes).await? {
            Event::Sound(stream) => {
                let unsettled = self.sound.unsettled();
                self.session.handle_sound(&stream, unsettled);
            }
            Event::Frame(NextFrame::Frame(frame)) => {
                let path = self.connection.path();
                self.tell_arrivals(&path);
                self.session.handle_frame(self.epoch.elapsed(), &frame, &path);
                self.note(path);
            }
            Event::Frame(NextFrame::Missed(count)) => self.session.handle_missed(count),
            Event::Frame(NextFrame::End) => {
                *is_live = false;
                self.session.handle_end(self.chosen.shared().end());
                self.note(self.connection.path());
            }
            Event::Written(count) => {
                self.session.handle_written(self.epoch.elapsed(), count, &self.connection.path());
            }
            Event::Control(bytes) => self.session.handle_control_bytes(self.epoch.elapsed(), &bytes),
            Event::Time => {}
        }
        Ok(())
    }

    /// Waits for the next event. If several are ready, the most urgent wins: sound, a base layer before the next frame,
    /// which would end its frame, and the next frame before further layers. Every branch may be dropped while it waits.
    async fn event(&mut self, frames: &mut FrameReceiver, is_live: bool, writes: bool) -> Result<Event, End> {
        let room = self.session.room(&self.connection.path());
        let chunks = if writes { self.session.unwritten() } else { Default::default() };
        let write = write(self.streams.last_mut(), chunks, room);
        let sound = self.sound.next(is_live && self.session.wants_sound());
        let quiet = quiet(&mut self.control, self.session.poll_timeout().map(|turn| self.epoch + turn));
        if self.session.owes_base() {
            tokio::select! {
                biased;
                stream = sound => Ok(Event::Sound(stream)),
                written = write, if writes => Ok(Event::Written(written?)),
                next = frames.next(), if is_live => Ok(Event::Frame(next)),
                event = quiet => event,
            }
        } else {
            tokio::select! {
                biased;
                stream = sound => Ok(Event::Sound(stream)),
                next = frames.next(), if is_live => Ok(Event::Frame(next)),
                written = write, if writes => Ok(Event::Written(written?)),
                event = quiet => event,
            }
        }
    }

    /// Performs the outputs that need no room; returns whether there is something to write.
    async fn take_outputs(&mut self) -> Result<bool, End> {
        let mut knows_arrivals = false;
        while let Some(output) = self.session.poll(self.epoch.elapsed()) {
            match output {
                SenderOutput::Hello(hello) => self.decide(hello).await?,
                SenderOutput::Say(message) => self.say(message).await?,
                SenderOutput::FinishControl => {
                    if let Some((outgoing, _)) = &mut self.control {
                        outgoing.finish();
                    }
                }
                SenderOutput::Open(urgency) => {
                    let stream = self.connection.open(urgency).await?;
                    self.session.handle_opened(stream.number());
                    self.streams.push(stream);
                }
                SenderOutput::Sound(stream) => self.sound.send(self.connection, stream).await?,
                SenderOutput::Write if knows_arrivals => return Ok(true),
                SenderOutput::Write => {
                    knows_arrivals = true;
                    self.tell_arrivals(&self.connection.path());
                }
                SenderOutput::Finish(number) => self.on_stream(number, Outgoing::finish),
                SenderOutput::Reset(number) => self.on_stream(number, Outgoing::reset),
                SenderOutput::FlightReset => self.connection.handle_reset(),
                SenderOutput::Release(number) => self.streams.retain(|stream| stream.number() != number),
                SenderOutput::AllowBeyond(packets) => self.connection.allow_beyond(packets),
                SenderOutput::Await(number) => {
                    if let Some(stream) = self.streams.iter_mut().find(|stream| stream.number() == number) {
                        stream.settled().await;
                    }
                    self.session.handle_settled(number);
                }
                SenderOutput::Close(end) => {
                    if matches!(end, SenderEnd::Over(_)) {
                        self.sound.settle().await;
                    }
                    return Err(end.into());
                }
                _ => {}
            }
        }
        Ok(false)
    }

    /// Gives a receiver that may watch a place, if there is one.
    async fn decide(&mut self, hello: Hello) -> Result<(), SenderEnd> {
        let admitted = self.chosen.admit(self.connection.address(), hello).await;
        let (place, grant) = admitted.map_err(SenderEnd::Refused)?;
        (self.place, self.name, self.cap) = (Some(place), grant.shown_name(), grant.max_bitrate);
        Ok(())
    }

    /// Sends a message, as fast as the transport accepts it.
    async fn say(&mut self, message: Bytes) -> Result<(), Disconnected> {
        let Some((outgoing, _)) = &mut self.control else { return Ok(()) };
        let mut left = [message];
        while !left[0].is_empty() {
            outgoing.write(&mut left, Room { held: INITIAL_WINDOW, pending: None }).await?;
        }
        Ok(())
    }

    fn on_stream(&mut self, number: u64, act: impl FnOnce(&mut C::Outgoing)) {
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.number() == number) {
            act(stream);
        }
    }

    /// Tells the session which streams have arrived, if the session wants to know.
    fn tell_arrivals(&mut self, path: &PathStats) {
        if !self.session.wants_arrivals(path) {
            return;
        }
        for stream in &mut self.streams {
            let number = stream.number();
            let is_finished = self.session.unsettled().any(|unsettled| unsettled == number);
            if is_finished && pin!(stream.settled()).poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                self.session.handle_settled(number);
            }
        }
    }

    /// Tells the receiver why the session ends, if it is still connected.
    async fn tell(&self, end: &End) {
        match end {
            End::Disconnected(_) => {}
            End::Session(end) => {
                if let SenderEnd::Refused(close) = end {
                    self.chosen.shared().counters.refuse(close.code.name());
                }
                self.connection.close(end.close()).await;
            }
        }
    }

    /// Records what the receiver wants, and its figures with `path`.
    fn note(&mut self, path: PathStats) {
        let wanted = self.session.demand(&path);
        self.chosen.entry.set(wanted);
        let number = self.chosen.number;
        let figures = ReceiverStatistics {
            number,
            address: self.connection.address(),
            name: self.name.clone(),
            rendition: wanted.rendition,
            delivery_rate: self.session.delivery_rate(),
            useful_bytes: wanted.useful_bytes,
            sent: self.session.stats(),
            path,
        };
        match &self.served {
            Some(served) => served.note(figures),
            None => self.served = Some(self.chosen.shared().counters.serve(number, figures)),
        }
    }
}

/// Waits for what is never urgent: a message, or the session's turn.
async fn quiet<O, I: Incoming>(control: &mut Option<(O, I)>, turn: Option<Instant>) -> Result<Event, End> {
    let time = async {
        match turn {
            Some(turn) => sleep_until(turn).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        bytes = read(control) => Ok(Event::Control(bytes?)),
        () = time => Ok(Event::Time),
    }
}

#[cfg(test)]
mod tests;
