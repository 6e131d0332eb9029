//! The browser viewer without a browser: both halves of its module, compiled for this machine, and a driver in place of
//! `worker.js` that moves bytes over QUIC.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_codec::tables;
use nestcast_proto::{BroadcastName, Code};
use nestcast_web::{Network, Presented, Screen, ScreenError, Step, Wanted};
use quinn::{Connection, ConnectionError, RecvStream, SendStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::hostile_receiver::{client, endpoint};

/// Bytes on the way to the viewer that were not read yet: those of Chromium.
const RECEIVE_WINDOW: u32 = 15 << 20;
/// Reads that wait for the viewer.
const MAX_WAITING: usize = 64;
/// The most bytes that one read returns.
const MAX_READ: usize = 65_536;

/// Returns milliseconds since 1970, as a page has them.
fn now() -> f64 {
    1e3 * SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// What came from the sender.
enum Came {
    Control(Bytes),
    Bytes(u64, Bytes),
    End(u64, bool),
}

/// The viewer, and its connection.
struct Driver {
    connection: Connection,
    control: SendStream,
    network: Network,
    screen: Screen,
    outlet: mpsc::Sender<Came>,
    inlet: mpsc::Receiver<Came>,
    readers: JoinSet<()>,
    streams: BTreeMap<u64, AbortHandle>,
    /// Whether the viewer reads streams: it knows what they contain.
    is_ready: bool,
    pictures: u64,
}

/// Watches a broadcast until its connection ends, whatever certificate the sender shows. Returns why it ended, in words, and
/// how many pictures were shown.
///
/// # Panics
/// If the sender does not answer, or the viewer breaks a promise of its own.
pub async fn watch(sender: SocketAddr) -> (String, u64) {
    let endpoint = endpoint(Ipv4Addr::LOCALHOST, client(RECEIVE_WINDOW));
    let connection = endpoint.connect(sender, "localhost").expect("a valid name").await.expect("the sender answers");
    let (control, answers) = match connection.open_bi().await {
        Ok(opened) => opened,
        Err(error) => return (words(&error), 0),
    };
    let (outlet, inlet) = mpsc::channel(MAX_WAITING);
    let mut driver = Driver {
        connection,
        control,
        network: Network::new(now(), Network::hello(b"", 0, BroadcastName::default())),
        screen: Screen::default(),
        outlet: outlet.clone(),
        inlet,
        readers: JoinSet::new(),
        streams: BTreeMap::new(),
        is_ready: false,
        pictures: 0,
    };
    driver.readers.spawn(read(answers, outlet, Came::Control, None));
    let ended = driver.run().await;
    (ended, driver.pictures)
}

/// Reads a stream to its end.
async fn read(mut stream: RecvStream, outlet: mpsc::Sender<Came>, came: impl Fn(Bytes) -> Came, number: Option<u64>) {
    let is_whole = loop {
        match stream.read_chunk(MAX_READ, true).await {
            Ok(Some(chunk)) => {
                // The viewer may be gone.
                if outlet.send(came(chunk.bytes)).await.is_err() {
                    return;
                }
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    if let Some(number) = number {
        let _ = outlet.send(Came::End(number, is_whole)).await;
    }
}

impl Driver {
    async fn run(&mut self) -> String {
        loop {
            if let Some(end) = self.drive().await {
                return end;
            }
            let due = [self.network.poll_timeout(), self.screen.poll_timeout()].into_iter().flatten();
            let due = due.fold(f64::INFINITY, f64::min);
            let wait = Duration::try_from_secs_f64((due - now()).max(0.0) / 1e3).unwrap_or(Duration::MAX);
            let connection = self.connection.clone();
            tokio::select! {
                biased;
                Some(came) = self.inlet.recv() => self.handle(came),
                accepted = connection.accept_uni(), if self.is_ready => match accepted {
                    Ok(stream) => self.open(stream),
                    Err(error) => return self.end(&error),
                },
                error = connection.closed(), if !self.is_ready => return self.end(&error),
                () = sleep(wait.min(Duration::from_secs(3600))) => {}
            }
        }
    }

    fn open(&mut self, stream: RecvStream) {
        let number = self.network.handle_opened();
        let reader = read(stream, self.outlet.clone(), move |bytes| Came::Bytes(number, bytes), Some(number));
        self.streams.insert(number, self.readers.spawn(reader));
        while self.readers.try_join_next().is_some() {}
    }

    fn handle(&mut self, came: Came) {
        match came {
            Came::Control(bytes) => self.network.handle_control_bytes(&bytes),
            Came::Bytes(stream, bytes) => self.network.handle_stream_bytes(now(), stream, bytes),
            Came::End(stream, is_whole) => {
                self.streams.remove(&stream);
                self.network.handle_stream_end(now(), stream, is_whole);
            }
        }
    }

    /// Does what the network and the screen ask for; returns why the session ended, if it did.
    async fn drive(&mut self) -> Option<String> {
        loop {
            while let Some(step) = self.network.poll(now()) {
                if let Some(end) = self.act(step).await {
                    return Some(end);
                }
            }
            match self.show() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(format!("the viewer stopped: {error}")),
            }
        }
    }

    async fn act(&mut self, step: Step) -> Option<String> {
        match step {
            Step::Say(bytes) => {
                if self.control.write_all(&bytes).await.is_ok() {
                    self.network.handle_said();
                }
            }
            Step::Stop(stream) => self.streams.remove(&stream).expect("the viewer stops only open streams").abort(),
            Step::Close { code, why, .. } => {
                self.connection.close(code.number().into(), why.as_bytes());
                return Some(why);
            }
            Step::Welcome(_) | Step::Start(_) | Step::Sound(_) => {}
            other => panic!("{other:?} is for a relay"),
        }
        None
    }

    /// Hands the mail to the screen, and shows what is due. Returns whether the network was told something.
    fn show(&mut self) -> Result<bool, ScreenError> {
        let mail = self.network.take_mail();
        if !mail.is_empty() {
            let mut presented = self.screen.handle_mail(now(), mail, false)?;
            while let Presented::Wants(wanted) = presented {
                let video = || [tables::VIDEO_KEY, tables::VIDEO_RESIDUAL].concat();
                let bytes = if wanted == Wanted::Video { video() } else { tables::PHOTO.to_vec() };
                self.screen.handle_tables(wanted, &bytes).expect("tables of this build");
                presented = self.screen.resume(now())?;
            }
            while self.screen.has_mail() {
                self.present()?;
                self.screen.resume(now())?;
            }
        }
        self.present()?;
        let (readiness, undecoded) = (self.screen.poll_readiness(), self.screen.poll_undecoded());
        match readiness {
            Some(true) => {
                self.is_ready = true;
                self.network.handle_ready(now());
            }
            Some(false) => self.network.handle_model_missing(now()),
            None => {}
        }
        if let Some(lost) = undecoded {
            self.network.handle_undecoded(lost);
        }
        Ok(readiness.is_some() || undecoded.is_some())
    }

    fn present(&mut self) -> Result<(), ScreenError> {
        if let Presented::Picture(shown) = self.screen.handle_time(now())? {
            self.pictures += u64::from(shown.id.is_some() && !shown.is_concealed);
        }
        Ok(())
    }

    /// Shows what arrived before the end, and returns why it came.
    fn end(&mut self, error: &ConnectionError) -> String {
        while let Ok(came) = self.inlet.try_recv() {
            self.handle(came);
        }
        self.network.handle_close();
        while self.network.poll(now()).is_some() {}
        match self.show() {
            Ok(_) => words(error),
            Err(error) => format!("the viewer stopped: {error}"),
        }
    }
}

fn words(error: &ConnectionError) -> String {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            format!("the sender closed: {:?}", Code::from_number(close.error_code.into()))
        }
        other => other.to_string(),
    }
}
