//! `nestcast receive`: a broadcast to a folder or a player, or kept as a stored video.

use std::net::Ipv4Addr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use nestcast_media::is_standard;
use nestcast_media::output::{Output, promised_format};
use nestcast_proto::DecoderKind;
use nestcast_receiver::{Config, Error};
use tokio::runtime::Runtime;

use super::record::Keeper;
use super::viewer::Screen;
use super::{process, record};
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
    if promised_format(&options.output) == Some("nst") && !options.output.is_dir() {
        return keep(options, &runtime, Config { decoder: DecoderKind::Linear, ..config });
    }
    let screen = Screen::new(options)?;
    let totals = Arc::clone(&screen.totals);
    note_wait(options);
    let ended = runtime.block_on(nestcast_receiver::view(config, screen, process::interrupted()));
    let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
    let is_taken = is_standard(&options.output) || options.sound.as_deref().is_some_and(is_standard);
    if totals.received.shown > 0 && !options.json && !is_taken {
        files::print(&format!("{}: {totals}\n", options.output.display()))?;
    }
    conclude(ended, totals.received.shown > 0)
}

/// Keeps what arrives as a stored video, and decodes nothing.
fn keep(options: &Receive, runtime: &Runtime, config: Config) -> Result<()> {
    ensure!(
        options.decoder != Some(Transform::Deep) && options.original.is_none(),
        "--decoder deep and --original need pictures, but nestcast decodes none for a stored video: leave them out"
    );
    let place = Output::recording(&options.output)?;
    let mut keeper = Keeper::new(place.path());
    note_wait(options);
    let ended = runtime.block_on(nestcast_receiver::receive(config, &mut keeper, process::interrupted()));
    let written = keeper.finish()?.filter(|written| written.frames > 0);
    written.map_or(Ok(()), |written| record::tell(place.path(), written, options.json))?;
    conclude(ended, written.is_some())
}

fn note_wait(options: &Receive) {
    if options.wait {
        files::note(&format!("waiting for a broadcast at {}, until you press ctrl-c", options.address));
    }
}

/// Ends the command; a broadcast without a frame is an error, unless you ended it.
fn conclude(ended: Result<(), Error>, came: bool) -> Result<()> {
    ended?;
    ensure!(
        came || process::is_asked_to_end(),
        "the broadcast ended before any picture came: ask whoever runs the sender"
    );
    Ok(())
}
