//! `nestcast receive`: a broadcast to a folder or a player.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use nestcast_media::is_standard;
use nestcast_proto::DecoderKind;
use nestcast_receiver::{Address, Config};

use super::process;
use super::viewer::Screen;
use crate::args::{Place, Receive, Transform};
use crate::files;

pub(crate) fn run(options: &Receive) -> Result<()> {
    let runtime = process::runtime()?;
    let screen = Screen::new(options)?;
    let totals = Arc::clone(&screen.totals);
    let asked = AtomicBool::new(false);
    let shutdown = async {
        process::interrupted().await;
        asked.store(true, Relaxed);
    };
    let ended = match &options.address {
        Place::Sender(address) => {
            let config = config(options, address)?;
            note_wait(options, address);
            runtime.block_on(nestcast_receiver::view(config, screen, shutdown)).map_err(anyhow::Error::from)
        }
        #[cfg(feature = "moq")]
        Place::Relay(url) => {
            let config = relay_config(options, url)?;
            note_wait(options, url);
            runtime.block_on(nestcast_moq::view(config, screen, shutdown)).map_err(anyhow::Error::from)
        }
    };
    let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
    if totals.received.shown > 0 && !options.json && !is_standard(&options.output) {
        files::print(&format!("{}: {totals}\n", options.output.display()))?;
    }
    ended?;
    let empty = totals.received.shown == 0 && !asked.load(Relaxed);
    ensure!(!empty, "the broadcast ended before any picture came: ask whoever runs the sender");
    Ok(())
}

fn note_wait(options: &Receive, place: impl std::fmt::Display) {
    if options.wait {
        files::note(&format!("waiting for a broadcast at {place}, until you press ctrl-c"));
    }
}

fn decoder(options: &Receive) -> DecoderKind {
    if options.decoder == Some(Transform::Linear) { DecoderKind::Linear } else { DecoderKind::Deep }
}

/// Returns the settings for a sender.
fn config(options: &Receive, address: &Address) -> Result<Config> {
    Ok(Config {
        host: Some(address.clone()),
        name: address.host().to_owned(),
        token: process::token(options.token_file.as_deref())?.unwrap_or_default(),
        max_bitrate: options.max_bitrate,
        decoder: decoder(options),
        fetch_model: !options.no_fetch_model,
        retry: Duration::from_secs(options.retry.into()),
        wait: options.wait,
        latency: options.latency,
        // The host's addresses replace it.
        ..Config::new((Ipv4Addr::UNSPECIFIED, 0).into(), options.trusted.trust())
    })
}

/// Returns the settings for a broadcast at a relay.
#[cfg(feature = "moq")]
fn relay_config(options: &Receive, url: &nestcast_moq::RelayUrl) -> Result<nestcast_moq::Config> {
    ensure!(options.token_file.is_none(), "a relay's token is part of its URL, after ?jwt=: leave --token-file out");
    ensure!(options.max_bitrate.is_none(), "a relay is not told --max-bitrate: leave it out");
    Ok(nestcast_moq::Config {
        url: url.clone(),
        trust: options.trusted.trust(),
        decoder: decoder(options),
        retry: Duration::from_secs(options.retry.into()),
        wait: options.wait,
        latency: options.latency,
    })
}
