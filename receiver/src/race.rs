//! Connects to the address of a sender's host that answers first ("happy eyeballs", RFC 8305).

use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use crate::config::ReceiverConfig;
use crate::error::Error;
use crate::quic::{QuicConnection, ReceiverSocket};

/// The time between the starts of attempts at two addresses (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// The most addresses of one host that are tried.
const MAX_ADDRESSES: usize = 4;
/// The most look-ups of the host's name at once: without a network each may take half a minute.
const MAX_LOOK_UPS: usize = 2;

/// Connects to a sender again and again.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    to: ReceiverConfig,
    /// The socket of all connections, or one of the system for each attempt at an address.
    socket: Option<ReceiverSocket>,
    /// The address of the last connection to a host that has a name: it is tried while the name is looked up.
    last: Option<SocketAddr>,
    look_ups: Arc<Semaphore>,
}

impl Dialer {
    pub(crate) fn new(to: ReceiverConfig, socket: Option<ReceiverSocket>) -> Self {
        Self { to, socket, last: None, look_ups: Arc::new(Semaphore::new(MAX_LOOK_UPS)) }
    }

    /// Returns whether several attempts may be under way at once.
    pub(crate) fn may_overlap(&self) -> bool {
        self.socket.as_ref().is_none_or(|socket| !socket.is_shared())
    }

    /// Notes where the sender was found.
    pub(crate) fn handle_connected(&mut self, address: SocketAddr) {
        self.last = self.to.host.is_some().then_some(address);
    }

    /// Connects to the configured sender within `time`, and the time that a look-up takes.
    pub(crate) async fn connect(&self, time: Duration) -> Result<QuicConnection, Error> {
        let Some(last) = self.last.filter(|_| self.may_overlap()) else {
            return self.race(self.addresses().await?, time).await;
        };
        let (mut to_last, mut known) = (pin!(self.connect_to(last, time)), pin!(self.addresses()));
        let known = tokio::select! {
            connected = &mut to_last => match connected {
                Ok(connection) => return Ok(connection),
                Err(_) => return self.race(known.await?, time).await,
            },
            known = &mut known => known,
        };
        // Without an answer about the name, the last address is all that is known.
        let others: Vec<_> = known.unwrap_or_default().into_iter().filter(|address| *address != last).collect();
        if others.is_empty() {
            return to_last.await;
        }
        // One that fails leaves the other its time.
        let mut elsewhere = pin!(self.race(others, time));
        let (first, second) = tokio::select! {
            first = &mut to_last => match first {
                Err(first) => (first, elsewhere.await),
                connected => return connected,
            },
            first = &mut elsewhere => match first {
                Err(first) => (first, to_last.await),
                connected => return connected,
            },
        };
        second.map_err(|second| if weight(&first) > weight(&second) { first } else { second })
    }

    async fn connect_to(&self, address: SocketAddr, time: Duration) -> Result<QuicConnection, Error> {
        QuicConnection::connect(&self.to, address, self.socket.as_ref(), time).await
    }

    /// Connects to that one of the addresses, at least one, which answers first.
    async fn race(&self, addresses: Vec<SocketAddr>, time: Duration) -> Result<QuicConnection, Error> {
        if let [address] = addresses[..] {
            return self.connect_to(address, time).await;
        }
        let mut attempts = JoinSet::new();
        for (turn, address) in (0..).zip(addresses.into_iter().take(MAX_ADDRESSES)) {
            let dialer = self.clone();
            let delay = turn * ATTEMPT_DELAY;
            attempts.spawn(async move {
                sleep(delay).await;
                dialer.connect_to(address, time.saturating_sub(delay)).await
            });
        }
        let mut failures = Vec::new();
        while let Some(ended) = attempts.join_next().await {
            match ended.unwrap_or_else(|error| resume_unwind(error.into_panic())) {
                Ok(connection) => return Ok(connection),
                Err(error) => failures.push(error),
            }
        }
        Err(failures.into_iter().max_by_key(weight).expect("there is one address at least"))
    }

    /// Returns the sender's possible addresses, at least one. A look-up of the host's name may ask the network, so it
    /// runs on another thread.
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Error> {
        let Some(host) = self.to.host.clone() else {
            return Ok(std::iter::once(self.to.address).chain(self.to.other_addresses.iter().copied()).collect());
        };
        let turn = Arc::clone(&self.look_ups).acquire_owned().await;
        let known = spawn_blocking({
            let host = host.clone();
            move || {
                let _turn = turn;
                host.look_up()
            }
        });
        let known = known.await.unwrap_or_default();
        if known.is_empty() { Err(Error::UnknownHost(host)) } else { Ok(known) }
    }
}

/// Ranks how much an error says about a host: a sender's refusal says more than silence, and an address of a kind that
/// this machine lacks says nothing.
const fn weight(error: &Error) -> u8 {
    match error {
        Error::Socket(_) | Error::Setup(_) => 0,
        error if error.may_retry() => 1,
        _ => 2,
    }
}
