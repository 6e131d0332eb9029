//! `nestcast receive`: a broadcast to a folder or a player.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use nestcast_media::is_standard;
use nestcast_proto::DecoderKind;
use nestcast_receiver::Config;

use super::process;
use super::viewer::Screen;
use crate::args::{Receive, Transform};
use crate::files;

pub(crate) fn run(options: &Receive) -> Result<()> {
    let runtime = process::runtime()?;
    let place = &options.address;
    let config = Config {
        host: Some(place.clone()),
        name: place.host().to_owned(),
        token: process::token(options.token_file.as_deref())?.unwrap_or_default(),
        max_bitrate: options.max_bitrate,
        decoder: if options.decoder == Some(Transform::Linear) { DecoderKind::Linear } else { DecoderKind::Deep },
        fetch_model: !options.no_fetch_model,
        retry: Duration::from_secs(options.retry.into()),
        wait: options.wait,
        latency: options.latency,
        // The host's addresses replace it.
        ..Config::new((Ipv4Addr::UNSPECIFIED, 0).into(), options.trusted.trust())
    };
    let screen = Screen::new(options)?;
    let totals = Arc::clone(&screen.totals);
    let asked = AtomicBool::new(false);
    let shutdown = async {
        process::interrupted().await;
        asked.store(true, Relaxed);
    };
    if options.wait {
        files::note(&format!("waiting for a broadcast at {place}, until you press ctrl-c"));
    }
    let ended = runtime.block_on(nestcast_receiver::view(config, screen, shutdown));
    let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
    let is_taken = is_standard(&options.output) || options.sound.as_deref().is_some_and(is_standard);
    if totals.received.shown > 0 && !options.json && !is_taken {
        files::print(&format!("{}: {totals}\n", options.output.display()))?;
    }
    ended?;
    let empty = totals.received.shown == 0 && !asked.load(Relaxed);
    ensure!(!empty, "the broadcast ended before any picture came: ask whoever runs the sender");
    Ok(())
}
