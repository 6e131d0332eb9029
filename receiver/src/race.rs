//! Connects to the address of a sender's host that answers first ("happy eyeballs", RFC 8305).

use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::time::Duration;

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use crate::config::Config;
use crate::error::Error;
use crate::quic::{QuicConnection, Socket};

/// The time between the starts of attempts at two addresses (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// The most addresses of one host that are tried.
const MAX_ADDRESSES: usize = 4;

/// Connects to the configured sender within `time`, over `socket` or a separate socket for each address.
pub(crate) async fn connect(to: &Config, socket: Option<&Socket>, time: Duration) -> Result<QuicConnection, Error> {
    let addresses = addresses(to).await?;
    if let [address] = addresses[..] {
        return QuicConnection::connect(to, address, socket.cloned(), time).await;
    }
    let mut attempts = JoinSet::new();
    for (turn, address) in (0..).zip(addresses.into_iter().take(MAX_ADDRESSES)) {
        let to = to.clone();
        let socket = socket.cloned();
        let delay = turn * ATTEMPT_DELAY;
        attempts.spawn(async move {
            sleep(delay).await;
            QuicConnection::connect(&to, address, socket, time.saturating_sub(delay)).await
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

/// Returns the sender's possible addresses, at least one. A look-up of the host's name may ask the network, so it runs
/// on another thread.
async fn addresses(to: &Config) -> Result<Vec<SocketAddr>, Error> {
    let Some(host) = to.host.clone() else {
        return Ok(std::iter::once(to.address).chain(to.other_addresses.iter().copied()).collect());
    };
    let known = spawn_blocking({
        let host = host.clone();
        move || host.look_up()
    });
    let known = known.await.unwrap_or_default();
    if known.is_empty() { Err(Error::UnknownHost(host)) } else { Ok(known) }
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
