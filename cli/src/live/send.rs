//! `nestcast send`: broadcasts a source to every receiver that asks for it.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
#[cfg(feature = "moq")]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use nestcast_encode::Pace;
use nestcast_lab::progress::StatusLine;
use nestcast_media::is_standard;
#[cfg(feature = "moq")]
use nestcast_moq::{RelayUrl, Relayed};
use nestcast_proto::BroadcastName;
use nestcast_sender::{
    AnySource, Authorizer, Broadcast, BrowserCertificate, Browsers, Identity, Monitor, ProgressLine, SenderConfig,
    SharedToken, Station, Statistics, place_of,
};
#[cfg(feature = "access")]
use nestcast_sender::{HttpCallback, SignedTokens};
#[cfg(feature = "metrics")]
use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::lines::Line;
use super::{page, process, record, source};
#[cfg(feature = "moq")]
use crate::args;
#[cfg(feature = "access")]
use crate::args::Access;
use crate::args::{NamedSource, Send};
use crate::files::{self, Lines};

pub(crate) fn run(options: &Send) -> Result<()> {
    let sources = source::open_all(options)?;
    let runtime = process::runtime()?;
    let token = process::token(options.token_file.as_deref())?;
    let outcome = runtime.block_on(on_air(options, config(options, token.clone())?, token, sources));
    // The process ends even if a thread still waits for standard input.
    runtime.shutdown_background();
    outcome
}

/// Returns the sender's settings.
fn config(options: &Send, token: Option<Bytes>) -> Result<SenderConfig> {
    let identity = match (&options.cert, &options.key) {
        (Some(chain), Some(key)) => Identity::from_pem(chain, key)?,
        _ => Identity::generate()?,
    };
    #[cfg(feature = "qlog")]
    if let Some(folder) = &options.qlog {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be written", folder.display()))?;
    }
    let shared = token.map(|token| Arc::new(SharedToken(token)) as Arc<dyn Authorizer>).into_iter();
    #[cfg(feature = "access")]
    let authorizers = shared.chain(viewers(&options.access)?).collect();
    #[cfg(not(feature = "access"))]
    let authorizers = shared.collect();
    let &Send { listen, max_receivers, max_receivers_per_address, max_bitrate, rewind, .. } = options;
    let validity = if options.cert.is_some() { None } else { Browsers::default().validity };
    Ok(SenderConfig {
        authorizers,
        rewind,
        max_bitrate,
        max_receivers: max_receivers.get(),
        max_receivers_per_address: max_receivers_per_address.get(),
        #[cfg(feature = "qlog")]
        qlog: options.qlog.clone(),
        browsers: options.web.map(|_| Browsers { validity, origins: options.web_origin.clone() }),
        ..SenderConfig::new(listen, identity)
    })
}

/// Returns those who decide on each viewer.
#[cfg(feature = "access")]
fn viewers(access: &Access) -> Result<Vec<Arc<dyn Authorizer>>> {
    let mut authorizers: Vec<Arc<dyn Authorizer>> = Vec::new();
    if let Some(file) = &access.keys {
        let keys = SignedTokens::from_file(file, access.audience.clone());
        authorizers.push(Arc::new(keys.with_context(|| format!("{} cannot be used", file.display()))?));
    }
    if let Some(url) = &access.admit {
        let service = HttpCallback::new(url).context("--admit names no web service")?;
        let token = process::token(access.admit_token_file.as_deref())?;
        authorizers.push(Arc::new(token.map_or(Ok(service.clone()), |token| service.with_token(&token))?));
    }
    Ok(authorizers)
}

/// Broadcasts until the source ends or the user ends the program.
async fn on_air(
    options: &Send,
    mut config: SenderConfig,
    token: Option<Bytes>,
    sources: Vec<(BroadcastName, AnySource)>,
) -> Result<()> {
    let fingerprint = config.identity.fingerprint().to_string();
    let identity = options.cert.as_ref().map(|_| config.identity.clone());
    // First, because the system may choose the port, which is a part of the page's origin.
    let page = page::listen(options.web, identity).await?;
    if let (Some(browsers), Some(page)) = (&mut config.browsers, &page) {
        page.allow(&mut browsers.origins);
    }
    let mut sources = sources.into_iter();
    let (name, first) = sources.next().context("name a source")?;
    let broadcast = Broadcast::listen(config, first)?.named(name);
    let broadcast = sources.fold(broadcast, |broadcast, (name, source)| broadcast.with_source(name, source));
    let stations = broadcast.stations();
    let station = |named: &NamedSource| &stations[&named.name];
    let address = broadcast.address().unwrap_or(options.listen);
    let monitors = broadcast.monitors();
    #[cfg(feature = "metrics")]
    let metrics = serve_metrics(options, monitors.clone()).await?;
    #[cfg(not(feature = "metrics"))]
    let metrics = None;
    #[cfg(feature = "moq")]
    let relayed = relayed(options, station)?;
    // After all that may be refused, because it creates files.
    let recordings = record::start(options, station)?;
    let mut certificate = broadcast.browser_certificate();
    page.iter().for_each(|page| page::serve_viewer(page, address, certificate.clone()));
    // A log may keep what is printed elsewhere, and a token is a secret.
    let shown = token.filter(|_| !options.json && io::stderr().is_terminal());
    let links = |certificate: &BrowserCertificate| -> Vec<String> {
        let link = |(name, station): (_, &Station)| {
            let link = page.as_ref()?.link(address, name, certificate, shown.as_deref())?;
            Some(if station.can_rewind() { link + "&rewind=1" } else { link })
        };
        stations.iter().filter_map(link).collect()
    };
    let web = links(&certificate);
    if options.json {
        let (address, web) = (address.to_string(), web.first().cloned());
        Lines::Output.print(&Line::Listening { address, fingerprint, metrics, web })?;
    } else {
        let (token, whose) = token_advice(options);
        monitors.keys().for_each(|name| note_place(address, name, &fingerprint, token));
        whose.into_iter().for_each(files::note);
        web.iter().for_each(|web| files::note(&format!("watch in a browser: {web}")));
    }
    #[cfg(feature = "moq")]
    publish(options, relayed, page.as_ref().and_then(|page| page.place()))?;
    let (began, mut paces) = (Instant::now(), monitors.keys().map(|_| Pace::default()).collect::<Vec<_>>());
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // A separate task, because the reader of the figures may stop reading.
    let mut run = tokio::spawn(broadcast.run(process::interrupted()));
    let (status, mut lines) = ((!options.json).then(StatusLine::begin), ProgressLine::default());
    let ended = loop {
        tokio::select! {
            ended = &mut run => break ended.context("the broadcast stopped unexpectedly: please report this")?,
            () = certificate.changed() => tell_links(options.json, links(&certificate))?,
            _ = seconds.tick() => {
                let figures: Vec<_> = monitors.values().map(Monitor::read).collect();
                for ((name, figures), pace) in monitors.keys().zip(&figures).zip(&mut paces) {
                    tell_pace(options.json, name, figures, pace, began)?;
                }
                let line = status.as_ref().zip(lines.next(began.elapsed(), &figures));
                line.inspect(|(status, line)| status.show(line));
            }
        }
    };
    drop(status);
    let mut kept = Ok(());
    for recording in recordings {
        let ended = recording.await.context("the recording stopped unexpectedly: please report this");
        kept = kept.and(ended.flatten());
    }
    kept?;
    let last: Vec<_> = monitors.iter().map(|(name, monitor)| (name, monitor.read())).collect();
    last.iter().try_for_each(|(name, figures)| tell(options.json, name, figures, Some(figures.to_string())))?;
    let unseen = last.iter().all(|(_, figures)| figures.accepted == 0) && !process::is_asked_to_end();
    let is_piped = options.sources.iter().any(|source| is_standard(&source.value));
    if unseen && ended.is_ok() && !options.repeat && !options.json && !is_piped {
        files::note("the source ended before anyone connected: --repeat starts it again");
    }
    Ok(ended?)
}

/// Returns the option by which a receiver gives its token, and a note on where that token is from.
const fn token_advice(options: &Send) -> (&'static str, Option<&'static str>) {
    #[cfg(feature = "access")]
    if options.access.keys.is_some() {
        let whose = "each viewer needs a token of its own: `nestcast token` makes it, with the private key of --keys";
        return (" --token-file VIEWER.token", Some(whose));
    }
    if options.token_file.is_some() {
        return (" --token-file FILE", None);
    }
    #[cfg(feature = "access")]
    if options.access.admit.is_some() {
        let whose = "the web service of --admit decides: if it needs a token, receive with --token-file FILE";
        return ("", Some(whose));
    }
    ("", None)
}

/// Prints how to receive a broadcast.
fn note_place(address: SocketAddr, name: &BroadcastName, fingerprint: &str, token: &str) {
    let place = if name.is_empty() { place_of(address) } else { format!("{}/{name}", place_of(address)) };
    files::note(&format!("receive with: nestcast receive {place} --fingerprint {fingerprint}{token} -o -"));
}

/// Prints the links that replace those before.
fn tell_links(json: bool, links: Vec<String>) -> Result<()> {
    links.into_iter().try_for_each(|web| {
        if json {
            return Lines::Output.print(&Line::Web { web });
        }
        files::note(&format!("watch in a browser from now on: {web}"));
        Ok(())
    })
}

/// Prints the figures for programs, or for people that the encoder lacks time.
fn tell_pace(json: bool, name: &BroadcastName, figures: &Statistics, pace: &mut Pace, began: Instant) -> Result<()> {
    let shortfall = pace.shortfall(began.elapsed(), figures.frames, figures.skipped);
    let helps = "; send a smaller picture or fewer frames a second";
    tell(json, name, figures, shortfall.map(|shortfall| format!("{shortfall}{helps}")))
}

/// Prints the figures for programs, or the words, if any, for people.
fn tell(json: bool, name: &BroadcastName, figures: &Statistics, words: Option<String>) -> Result<()> {
    let broadcast = Some(name.as_str()).filter(|name| !name.is_empty());
    match words {
        _ if json => return Lines::Output.print(&Line::Sent { broadcast, figures }),
        Some(words) => files::note(&broadcast.map_or_else(|| words.clone(), |name| format!("{name}: {words}"))),
        None => {}
    }
    Ok(())
}

/// Returns what is published at which relay. Each URL has its token.
#[cfg(feature = "moq")]
fn relayed<'o, 's>(
    options: &'o Send,
    station: impl Fn(&NamedSource) -> &'s Station,
) -> Result<Vec<(&'o NamedSource, RelayUrl, Relayed)>> {
    let urls = args::assign_apart(&options.sources, "--relay", &options.relay.relay)?;
    let files = args::assign(&options.sources, "--relay-token-file", &options.relay.relay_token_file)?;
    let named = options.sources.iter().zip(urls.into_iter().zip(files));
    let lost = named.clone().find(|(_, (url, file))| url.is_none() && file.is_some());
    anyhow::ensure!(lost.is_none(), "--relay-token-file is for a source that has no --relay: name the relay too");
    let named = named.filter_map(|(source, (url, file))| Some((source, url?, file)));
    let subscribed = named.map(|(source, url, file)| {
        let refused = || format!("{} cannot go to {url}", source.value.display());
        let relayed = Relayed::of(station(source)).with_context(refused)?;
        Ok((source, process::with_token(url, file.map(PathBuf::as_path))?, relayed))
    });
    subscribed.collect()
}

/// Publishes broadcasts at relays too. Their own receivers go on if a relay is of no use.
#[cfg(feature = "moq")]
fn publish(options: &Send, relayed: Vec<(&NamedSource, RelayUrl, Relayed)>, page: Option<String>) -> Result<()> {
    let Some(trust) = options.relay.trust() else { return Ok(()) };
    for (source, url, relayed) in relayed {
        let (rates, trust) = (options.relay.relay_rates, trust.clone());
        let web = page.as_ref().map(|page| url.page_link(page, &trust));
        let watch = web.as_ref().map(|web| format!(", or watch in a browser: {web}")).unwrap_or_default();
        files::note(&format!("publishing at {url}: receive with nestcast receive {url}{watch}"));
        if options.json {
            let broadcast = Some(source.name.as_str()).filter(|name| !name.is_empty());
            Lines::Output.print(&Line::Relay { broadcast, url: url.to_string(), web })?;
        }
        tokio::spawn(async move {
            let never = std::future::pending();
            if let Err(error) = nestcast_moq::publish(&url, &trust, rates, relayed, never).await {
                files::note(&format!("nothing is published at {url}: {error}"));
            }
        });
    }
    Ok(())
}

/// What reads the figures of each broadcast.
#[cfg(feature = "metrics")]
type Monitors = std::collections::BTreeMap<BroadcastName, Monitor>;

/// Serves figures for Prometheus as long as the program runs. Returns the address.
#[cfg(feature = "metrics")]
async fn serve_metrics(options: &Send, monitors: Monitors) -> Result<Option<String>> {
    let Some(address) = options.metrics else { return Ok(None) };
    let failed = |error: io::Error| {
        anyhow::anyhow!("metrics cannot be served on {address}: {error}: choose another address with --metrics")
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tokio::spawn(nestcast_sender::serve_metrics(listener, monitors));
    Ok(Some(address.to_string()))
}
