//! `nestcast receive`: a broadcast to a folder or a player, or kept as a stored video.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use nestcast_media::is_standard;
use nestcast_media::output::{Output, promised_format};
use nestcast_proto::DecoderKind;
use nestcast_receiver::Config;
use tokio::runtime::Runtime;

use super::record::Keeper;
use super::{process, record};
use super::viewer::Screen;
use crate::args::{Receive, Transform};
use crate::files;

const EMPTY: &str = "the broadcast ended before any picture came: ask whoever runs the sender";

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
    if promised_format(&options.output) == Some("nst") && !options.output.is_dir() {
        return keep(options, &runtime, Config { decoder: DecoderKind::Linear, ..config });
    }
    let screen = Screen::new(options)?;
    let totals = Arc::clone(&screen.totals);
    let asked = AtomicBool::new(false);
    let shutdown = async {
        process::interrupted().await;
        asked.store(true, Relaxed);
    };
    note_wait(options);
    let ended = runtime.block_on(nestcast_receiver::view(config, screen, shutdown));
    let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
    if totals.received.shown > 0 && !options.json && !is_standard(&options.output) {
        files::print(&format!("{}: {totals}\n", options.output.display()))?;
    }
    ended?;
    let empty = totals.received.shown == 0 && !asked.load(Relaxed);
    ensure!(!empty, EMPTY);
    Ok(())
}

/// Keeps what arrives as a stored video, and decodes nothing.
fn keep(options: &Receive, runtime: &Runtime, config: Config) -> Result<()> {
    ensure!(
        options.decoder != Some(Transform::Deep) && options.original.is_none(),
        "--decoder deep and --original need pictures, but nestcast decodes none for a stored video: leave them out"
    );
    let place = Output::stream(&options.output, &[])?;
    let mut keeper = Keeper::new(place.path());
    let asked = AtomicBool::new(false);
    let shutdown = async {
        process::interrupted().await;
        asked.store(true, Relaxed);
    };
    note_wait(options);
    let ended = runtime.block_on(nestcast_receiver::receive(config, &mut keeper, shutdown));
    let written = keeper.finish()?.filter(|written| written.frames > 0);
    written.map_or(Ok(()), |written| record::tell(place.path(), written, options.json))?;
    ended?;
    ensure!(written.is_some() || asked.load(Relaxed), EMPTY);
    Ok(())
}

fn note_wait(options: &Receive) {
    if options.wait {
        files::note(&format!("waiting for a broadcast at {}, until you press ctrl-c", options.address));
    }
}
