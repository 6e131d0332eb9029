//! One connection: drives a [`ReceiverSession`] over a transport, and hands its frames to a sink.

use std::ops::ControlFlow;
use std::time::Duration;

use nestcast_proto::{Close, Code, Hello, ReceivedFrame, ReceiverOutput, ReceiverSession, Start, Welcome};
use tokio::time::{Instant, sleep_until};

use crate::control_writer::ControlWriter;
use crate::error::Error;
use crate::seek::Place;
use crate::sink::{FrameSink, Readiness};
use crate::start;
use crate::streams::{Event, Streams};
use crate::transport::Connection;

/// The result of a connection.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Why it ended.
    pub(crate) error: Error,
    /// The time from the first frame handed over to the last; `None` if there was none.
    pub(crate) handed_over: Option<Duration>,
    /// Where the sender said that it begins, if it was asked.
    pub(crate) began: Option<Start>,
}

/// Runs one connection to its end. Notes in `place` where the receiver is.
pub(crate) async fn run<C, S>(connection: &C, hello: Hello, fetch: bool, place: &Place, sink: &mut S) -> Ended
where
    C: Connection,
    S: FrameSink,
{
    let mut driver = Driver {
        connection,
        sink,
        start: hello.start,
        place,
        session: ReceiverSession::new(hello, fetch),
        epoch: Instant::now(),
        control: ControlWriter::default(),
        streams: Streams::default(),
        is_ready: false,
        began: None,
    };
    let error = driver.run().await;
    connection.close(close_of(&error));
    Ended { error, handed_over: place.handed_over(), began: driver.began }
}

/// Returns the close that a sender gets for an error.
fn close_of(error: &Error) -> Close {
    match error {
        Error::Session(end) => end.close(),
        Error::Refused(_) => Close { code: Code::Model, why: "the receiver cannot show this" },
        Error::Sink(_) => Close { code: Code::Failed, why: "the receiver's player failed" },
        _ => Close { code: Code::Done, why: "the receiver leaves" },
    }
}

/// A session on its connection.
struct Driver<'a, C: Connection, S> {
    connection: &'a C,
    sink: &'a mut S,
    /// Where it asked to begin.
    start: Option<Start>,
    place: &'a Place,
    session: ReceiverSession,
    /// The instant of the session's time zero.
    epoch: Instant,
    control: ControlWriter<C::Outgoing>,
    streams: Streams,
    /// Whether the sink knows the announcement: from then on streams are read.
    is_ready: bool,
    began: Option<Start>,
}

impl<C: Connection, S: FrameSink> Driver<'_, C, S> {
    /// Runs the session to its end, and returns why it ended.
    async fn run(&mut self) -> Error {
        let end = loop {
            self.session.handle_rtt(self.connection.rtt());
            if let Err(error) = self.take_outputs().await {
                return error;
            }
            match self.take_input().await {
                ControlFlow::Continue(()) => {}
                // Data that arrived before the connection's end are still handed over.
                ControlFlow::Break(end @ (Error::Closed(_) | Error::Lost { .. })) => break end,
                ControlFlow::Break(error) => return error,
            }
        };
        match self.finish().await {
            Ok(()) => end,
            Err(error) => error,
        }
    }

    /// Waits for the next input and passes it to the session. Breaks at the end of the connection or of the sink.
    async fn take_input(&mut self) -> ControlFlow<Error> {
        let due = self.session.poll_timeout().map(|due| self.epoch + due);
        let due = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        // The order is fixed (`biased`), so that every run in virtual time is the same.
        tokio::select! {
            biased;
            event = self.streams.next() => match event {
                Ok(event) => self.handle(event),
                Err(end) => return ControlFlow::Break(end),
            },
            said = self.control.say() => match said {
                Ok(()) => self.session.handle_said(),
                Err(end) => return ControlFlow::Break(end),
            },
            error = self.sink.failed() => return ControlFlow::Break(Error::sink(error)),
            opened = self.connection.open_control(), if !self.control.is_open() => match opened {
                Ok((outgoing, incoming)) => {
                    self.control.open(outgoing);
                    self.streams.read_control(incoming);
                }
                Err(end) => return ControlFlow::Break(end),
            },
            stream = self.connection.accept(), if self.is_ready => match stream {
                Ok(stream) => self.session.handle_opened(self.streams.read(stream)),
                Err(end) => return ControlFlow::Break(end),
            },
            end = self.connection.closed(), if !self.is_ready => return ControlFlow::Break(end),
            () = due => {}
        }
        ControlFlow::Continue(())
    }

    fn handle(&mut self, event: Event) {
        let now = self.epoch.elapsed();
        match event {
            Event::Control(bytes) => self.session.handle_control_bytes(&bytes),
            Event::Bytes { stream, offset, bytes } => self.session.handle_stream_bytes(now, stream, offset, bytes),
            Event::End(stream) => {
                self.session.handle_stream_end(now, stream);
                self.streams.stop(stream);
            }
        }
    }

    /// Performs everything that the session asks for.
    async fn take_outputs(&mut self) -> Result<(), Error> {
        while let Some(output) = self.poll() {
            match output {
                ReceiverOutput::Say(message) => self.control.push(message),
                ReceiverOutput::Welcome { welcome, sender_clock } => self.answer(&welcome, sender_clock).await?,
                ReceiverOutput::Package(package) => {
                    self.sink.handle_package(package).await.map_err(Error::refused)?;
                    self.session.handle_package_taken(self.epoch.elapsed());
                }
                ReceiverOutput::Start(granted) => {
                    self.began = granted;
                    self.place.handle_start(granted);
                    let note = self.start.take().and_then(|asked| start::note(asked, granted));
                    note.iter().for_each(|note| tracing::warn!("{note}"));
                }
                ReceiverOutput::SoundAnnounced(sound) => {
                    let wanted = self.sink.handle_sound_announced(sound);
                    if wanted {
                        self.session.handle_sound_wanted(self.epoch.elapsed(), wanted);
                    }
                }
                ReceiverOutput::Sound(packet) => self.sink.handle_sound(packet).map_err(Error::sink)?,
                ReceiverOutput::Frame(arrived) => self.hand_over(arrived)?,
                ReceiverOutput::More(more) => {
                    self.sink.handle_more(more, self.session.stats()).map_err(Error::sink)?;
                }
                ReceiverOutput::ReadUnordered(stream) => self.streams.read_unordered(stream),
                ReceiverOutput::Stop(stream) => self.streams.stop(stream),
                ReceiverOutput::Close(end) => return Err(Error::Session(end)),
                _ => {}
            }
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<ReceiverOutput> {
        if let Some(lost) = self.sink.lost() {
            self.session.handle_undecoded(lost);
        }
        self.session.poll(self.epoch.elapsed())
    }

    /// Asks the sink whether it can use the announced broadcast.
    async fn answer(&mut self, welcome: &Welcome, sender_clock: Duration) -> Result<(), Error> {
        self.sink.handle_clock(sender_clock);
        let readiness = self.sink.handle_welcome(welcome).await.map_err(Error::refused)?;
        let now = self.epoch.elapsed();
        match readiness {
            Readiness::Ready => self.session.handle_ready(now),
            Readiness::NeedsPackage => {
                tracing::info!(package = %welcome.package, "the sender's model is not here");
                self.session.handle_package_missing(now);
            }
        }
        self.is_ready = true;
        Ok(())
    }

    fn hand_over(&mut self, arrived: ReceivedFrame) -> Result<(), Error> {
        self.place.handle_frame();
        self.sink.handle_frame(arrived, self.session.stats()).map_err(Error::sink)
    }

    /// Hands over what arrived before the connection's end.
    async fn finish(&mut self) -> Result<(), Error> {
        self.streams.handle_close();
        while let Ok(event) = self.streams.next().await {
            self.handle(event);
        }
        self.session.handle_close();
        self.take_outputs().await
    }
}

#[cfg(test)]
mod tests;
