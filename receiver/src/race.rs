//! Connects to the address of a sender's host that answers first ("happy eyeballs", RFC 8305).

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::task::JoinSet;
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
    if to.other_addresses.is_empty() {
        return QuicConnection::connect(to, to.address, socket.cloned(), time).await;
    }
    let mut attempts = JoinSet::new();
    let addresses = std::iter::once(to.address).chain(to.other_addresses.iter().copied());
    for (turn, address) in (0..).zip(addresses.take(MAX_ADDRESSES)) {
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

/// Ranks an error by what it says about the host: a sender's refusal above silence, silence above an address family
/// that this machine lacks.
const fn weight(error: &Error) -> u8 {
    match error {
        Error::Setup(_) => 0,
        error if error.may_retry() => 1,
        _ => 2,
    }
}
