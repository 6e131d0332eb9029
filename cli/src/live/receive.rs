//! `nestcast receive`: a broadcast to a folder or a player, or kept as a stored video.

use std::net::Ipv4Addr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use nestcast_media::is_standard;
use nestcast_media::output::{Output, promised_format};
use nestcast_proto::{DecoderKind, Start};
use nestcast_receiver::{Address, ReceiverConfig, Seek};
use tokio::runtime::Runtime;

use super::record::Keeper;
use super::viewer::Screen;
use super::{process, record, to_live};
use crate::args::{Place, Receive, Transform};
use crate::files;

pub(crate) fn run(options: &Receive) -> Result<()> {
    let runtime = process::runtime()?;
    // A relay has nothing earlier, but the signal must not end its receiver either.
    let seek = to_live::by_signal(&runtime)?;
    if promised_format(&options.output) == Some("nst") && !options.output.is_dir() {
        return keep(options, &runtime, seek);
    }
    let screen = Screen::new(options)?;
    let totals = Arc::clone(&screen.totals);
    let ended = match &options.address {
        Place::Sender(address) => {
            let config = config(options, address, seek)?;
            note_wait(options, address);
            to_live::by_key(&config);
            runtime
                .block_on(nestcast_receiver::view(config, screen, process::interrupted()))
                .map_err(anyhow::Error::from)
        }
        #[cfg(feature = "moq")]
        Place::Relay(url) => {
            let config = relay_config(options, url)?;
            note_wait(options, url);
            runtime.block_on(nestcast_moq::view(config, screen, process::interrupted())).map_err(anyhow::Error::from)
        }
    };
    let totals = *totals.lock().unwrap_or_else(PoisonError::into_inner);
    let is_taken = is_standard(&options.output) || options.sound.as_deref().is_some_and(is_standard);
    if totals.received.shown > 0 && !options.json && !is_taken {
        files::print(&format!("{}: {totals}\n", options.output.display()))?;
    }
    conclude(ended, totals.received.shown > 0)
}

/// Keeps what arrives as a stored video, and decodes nothing.
fn keep(options: &Receive, runtime: &Runtime, seek: Seek) -> Result<()> {
    let relayed = "nestcast keeps no stored video of a relayed broadcast: name a y4m file or a folder";
    let address = options.address.sender().context(relayed)?;
    ensure!(
        options.decoder != Some(Transform::Deep) && options.original.is_none(),
        "--decoder deep and --original need pictures, but nestcast decodes none for a stored video: leave them out"
    );
    ensure!(options.sound.is_none(), "a stored video holds its sound itself: leave --sound out");
    let place = Output::recording(&options.output)?;
    let mut keeper = Keeper::new(place.path(), options.json);
    let config = ReceiverConfig { decoder: DecoderKind::Linear, ..config(options, address, seek)? };
    note_wait(options, address);
    to_live::by_key(&config);
    let ended = runtime.block_on(nestcast_receiver::receive(config, &mut keeper, process::interrupted()));
    let written = keeper.finish()?.filter(|written| written.frames > 0);
    written.map_or(Ok(()), |written| record::tell(place.path(), address.broadcast(), written, options.json))?;
    conclude(ended.map_err(anyhow::Error::from), written.is_some())
}

/// Ends the command; a broadcast without a frame is an error, unless you ended it. You also end it by closing the player.
fn conclude(ended: Result<()>, came: bool) -> Result<()> {
    match ended {
        Err(error) if process::is_player_closed() => {
            files::note(&format!("{error:#}"));
            return Ok(());
        }
        ended => ended?,
    }
    ensure!(
        came || process::is_asked_to_end(),
        "the broadcast ended before any picture came: ask whoever runs the sender"
    );
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
fn config(options: &Receive, address: &Address, seek: Seek) -> Result<ReceiverConfig> {
    Ok(ReceiverConfig {
        seek,
        host: Some(address.clone()),
        name: address.host().to_owned(),
        broadcast: address.broadcast().clone(),
        start: start(options),
        token: process::token(options.token_file.as_deref())?.unwrap_or_default(),
        token_file: options.token_file.clone().filter(|file| file.is_file()),
        max_bitrate: options.max_bitrate,
        decoder: decoder(options),
        fetch_model: !options.no_fetch_model,
        retry: Duration::from_secs(options.retry.into()),
        wait: options.wait,
        latency: options.latency,
        // The host's addresses replace it.
        ..ReceiverConfig::new((Ipv4Addr::UNSPECIFIED, 0).into(), options.trusted.trust())
    })
}

/// Returns where the receiver begins, if not where all others are.
fn start(options: &Receive) -> Option<Start> {
    options.start.map(Start::AfterBeginning).or_else(|| options.rewind.map(Start::BeforeNow))
}

/// Returns the settings for a broadcast at a relay.
#[cfg(feature = "moq")]
fn relay_config(options: &Receive, url: &nestcast_moq::RelayUrl) -> Result<nestcast_moq::Config> {
    ensure!(start(options).is_none(), "a relay keeps nothing to rewind: leave --start and --rewind out");
    ensure!(options.max_bitrate.is_none(), "a relay is not told --max-bitrate: leave it out");
    Ok(nestcast_moq::Config {
        url: process::with_token(url, options.token_file.as_deref())?,
        trust: options.trusted.trust(),
        decoder: decoder(options),
        retry: Duration::from_secs(options.retry.into()),
        wait: options.wait,
        latency: options.latency,
    })
}
