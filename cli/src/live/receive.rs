//! `nestcast receive`: a broadcast to a folder or a player.

use std::net::ToSocketAddrs as _;
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nestcast_proto::{Bitrate, Code, DecoderKind};
use nestcast_receiver::{Config, Error, Totals};

use super::viewer::Screen;
use crate::args::{Receive, Transform};
use crate::files;

pub(crate) fn run(options: &Receive) -> Result<()> {
    let runtime = super::runtime()?;
    let place = &options.address.text;
    let address = place.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    let config = Config {
        address: address.with_context(|| format!("{place} cannot be found: check the host's name"))?,
        name: options.address.host.clone(),
        trust: options.trusted.trust(),
        token: super::token(options.token_file.as_deref())?.unwrap_or_default(),
        max_bitrate: options.max_bitrate.map(Bitrate::from_bits),
        decoder: match options.decoder {
            Transform::Linear => DecoderKind::Linear,
            Transform::Deep => DecoderKind::Deep,
        },
        fetch_model: !options.no_fetch_model,
        retry: Duration::from_secs(options.retry.into()),
    };
    let screen = Screen::new(options)?;
    let totals = screen.totals();
    let ended = runtime.block_on(nestcast_receiver::view(config, screen, super::interrupted())).map_err(advise);
    let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
    if totals.received.shown > 0 && !options.json && !files::is_standard(&options.output) {
        files::print(&describe(options, &totals))?;
    }
    ended
}

/// What came, in words.
fn describe(options: &Receive, totals: &Totals) -> String {
    let Totals { received, undecoded, concealed, corrupt, reconnects, .. } = totals;
    let any = |count: u64, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
    let (made_up, again) = (any(*concealed, "concealed while they were missing"), any(*reconnects, "reconnections"));
    format!(
        "{}: {} pictures from {} bytes, {undecoded} skipped for want of time, {} never came{made_up}{again}\n",
        options.output.display(),
        received.shown.saturating_sub(undecoded + corrupt),
        received.bytes,
        received.blank
    )
}

/// Adds what to do.
fn advise(error: Error) -> anyhow::Error {
    let cause = match &error {
        Error::GaveUp { last, .. } => last,
        other => other,
    };
    let advice = match cause {
        Error::Untrusted { .. } => "check --fingerprint or --ca",
        Error::PackageMissing(_) => "name its folder with --model, or let it be fetched",
        Error::Closed(Code::Violation | Code::Version) | Error::Violation(_) => "update nestcast at the older end",
        Error::Closed(Code::Token) => "give the sender's with --token-file",
        Error::Closed(Code::Model) => "name it with --model",
        Error::Closed(Code::Full) => "try later",
        _ => return error.into(),
    };
    anyhow!("{error}: {advice}")
}
