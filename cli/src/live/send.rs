//! `nestcast send`: a source to all who ask for it.

use std::time::Duration;

#[cfg(any(feature = "metrics", feature = "qlog"))]
use anyhow::Context as _;
use anyhow::{Result, anyhow, ensure};
use nestcast_codec::Size;
use nestcast_proto::PackageHash;
#[cfg(feature = "metrics")]
use nestcast_sender::serve_metrics;
use nestcast_sender::{
    Behind, Broadcast, Capture, Config, Encoding, Error, Identity, Loops, Monitor, Pace, Pictures, Statistics,
};
#[cfg(feature = "metrics")]
use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::lines::Line;
use super::source::{self, Source};
use crate::args::{Send, Transform};
use crate::files::{self, Lines};
use crate::transforms::Model;
use crate::video;

/// Bytes of a frame's stream for each pixel: beyond 4 bits a pixel nothing is seen, and encoding takes longer.
const PIXELS_PER_BYTE: usize = 2;
/// The least that a frame's stream is allowed.
const LEAST_FRAME: usize = 16 * 1024;

pub(crate) fn run(options: &Send) -> Result<()> {
    let capture = match source::open(options)? {
        Source::Video(pictures) => {
            let linear = options.analysis == Transform::Linear;
            ensure!(linear, "--analysis deep is for pictures: video has no other than linear");
            video::model(&options.common)?;
            let (threads, loops) = (options.common.threads(), options.loops.map_or(Loops::AsNeeded, Loops::AtMost));
            Capture::video(pictures, threads, loops, options.effort.map(Into::into))
        }
        Source::Pictures(pictures) => {
            let of_video = options.loops.is_some() || options.effort.is_some();
            ensure!(
                !of_video,
                "--loops and --effort are for videos, pictures are coded each by itself: leave them out"
            );
            encoded(options, pictures)?
        }
    };
    broadcast(options, capture)
}

/// Pictures, each encoded by itself.
fn encoded(options: &Send, pictures: Pictures) -> Result<Capture> {
    let model = Model::open(&options.common)?;
    let most = frame_limit(pictures.size());
    let hash = PackageHash(model.package().hash());
    let encoding = Encoding::new(hash, model.encoder(options.analysis)?.with_max_bytes(most))
        .with_package(model.package().archive().into());
    Ok(Capture::pictures(pictures, encoding))
}

fn broadcast(options: &Send, source: Capture) -> Result<()> {
    let runtime = super::runtime()?;
    let outcome = runtime.block_on(on_air(options, config(options)?, source));
    // A thread that still waits for standard input ends with the process.
    runtime.shutdown_background();
    outcome
}

/// What the sender is told.
fn config(options: &Send) -> Result<Config> {
    let token = super::token(options.token_file.as_deref())?;
    let identity = match (&options.cert, &options.key) {
        (Some(chain), Some(key)) => Identity::from_pem(chain, key)?,
        _ => Identity::generate()?,
    };
    #[cfg(feature = "qlog")]
    if let Some(folder) = &options.qlog {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be written", folder.display()))?;
    }
    let &Send { listen, max_receivers, max_receivers_per_address, .. } = options;
    Ok(Config {
        token,
        max_receivers: max_receivers.get(),
        max_receivers_per_address: max_receivers_per_address.get(),
        #[cfg(feature = "qlog")]
        qlog: options.qlog.clone(),
        ..Config::new(listen, identity)
    })
}

/// Broadcasts until the source ends or the program is asked to.
async fn on_air(options: &Send, config: Config, source: Capture) -> Result<()> {
    let fingerprint = config.identity.fingerprint().to_string();
    let broadcast = Broadcast::listen(config, source).map_err(advise)?;
    let address = broadcast.address().unwrap_or(options.listen).to_string();
    let monitor = broadcast.monitor();
    let (metrics, serving) = metrics(options, monitor.clone()).await?;
    if options.json {
        Lines::Output.print(&Line::Listening { address, fingerprint, metrics })?;
    } else {
        files::note(&format!("receive with: nestcast receive {address} --fingerprint {fingerprint} -o -"));
    }
    let (began, mut pace) = (Instant::now(), Pace::default());
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut serving = std::pin::pin!(serving);
    let mut run = std::pin::pin!(broadcast.run(super::interrupted()));
    let ended = loop {
        tokio::select! {
            ended = &mut run => break ended,
            () = &mut serving => {}
            _ = seconds.tick() => {
                let figures = monitor.read();
                tell(options.json, &figures, pace.behind(began.elapsed(), &figures).map(warning))?;
            }
        }
    };
    let figures = monitor.read();
    tell(options.json, &figures, Some(describe(&figures)))?;
    Ok(ended?)
}

/// Tells programs the figures, and people the words if there are any.
fn tell(json: bool, figures: &Statistics, words: Option<String>) -> Result<()> {
    match words {
        _ if json => return Lines::Output.print(&Line::from(figures)),
        Some(words) => files::note(&words),
        None => {}
    }
    Ok(())
}

/// Where figures for Prometheus are served, if anywhere, and what answers for ever.
#[cfg(feature = "metrics")]
async fn metrics(options: &Send, monitor: Monitor) -> Result<(Option<String>, impl Future<Output = ()>)> {
    let listener = match options.metrics {
        Some(address) => Some(TcpListener::bind(address).await.with_context(|| {
            format!("metrics cannot be served on {address}: choose another address with --metrics")
        })?),
        None => None,
    };
    let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let serving = async {
        match listener {
            Some(listener) => serve_metrics(listener, monitor).await,
            None => std::future::pending().await,
        }
    };
    Ok((address.map(|address| address.to_string()), serving))
}

#[cfg(not(feature = "metrics"))]
async fn metrics(_: &Send, _: Monitor) -> Result<(Option<String>, impl Future<Output = ()>)> {
    Ok((None, std::future::pending()))
}

/// Adds which option helps.
fn advise(error: Error) -> anyhow::Error {
    match error {
        Error::Listen { .. } => anyhow!("{error}: choose another address with --listen"),
        other => other.into(),
    }
}

/// Most bytes of a frame of this size.
fn frame_limit(size: Size) -> usize {
    let most = usize::try_from(nestcast_proto::MAX_FRAME).unwrap_or(usize::MAX);
    (size.pixels() / PIXELS_PER_BYTE).clamp(LEAST_FRAME, most)
}

/// What to say of an encoder that does not keep up.
fn warning(Behind { encoded, due, past }: Behind) -> String {
    let [reached, wanted] = [encoded, due].map(|frames| a_second(frames, past));
    format!(
        "the encoder reaches {reached} of {wanted} frames a second: {} of {due} were skipped in the last {:.0} s; a smaller \
         picture or fewer frames a second help",
        due - encoded,
        past.as_secs_f64()
    )
}

/// Frames a second, with a decimal where there are few.
#[expect(clippy::cast_precision_loss, reason = "frames of a few seconds are few")]
fn a_second(frames: u64, time: Duration) -> String {
    let rate = frames as f64 / time.as_secs_f64();
    if rate < 9.95 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

fn describe(figures: &Statistics) -> String {
    let Statistics { frames, skipped, accepted, .. } = figures;
    let refused = figures.refused();
    format!(
        "{frames} frames encoded, {skipped} skipped for want of time; {accepted} receivers served, {refused} refused"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_that_falls_behind_is_told_with_its_rate_and_what_helps() {
        let said = |encoded, due, seconds| warning(Behind { encoded, due, past: Duration::from_secs(seconds) });
        let start = "the encoder reaches 7.0 of 30 frames a second: 115 of 150 were skipped in the last 5 s";
        assert!(said(35, 150, 5).starts_with(start) && said(35, 150, 5).contains("smaller picture"));
        assert!(said(120, 300, 10).contains("reaches 12 of 30") && said(120, 300, 10).contains("180 of 300"));
    }
}
