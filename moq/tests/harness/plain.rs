//! A reader of a relay's tracks that stops nothing, as other players read.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use moq_net::{group, origin, track};
use nestcast_moq::Track;
use quinn::crypto::rustls::QuicClientConfig;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Place;

/// How late its groups may be.
const MAX_AGE: Duration = Duration::from_millis(300);

/// Reads base layers and the rest of frames for `time`; returns the share of the last half's base layers that came, in
/// percent, of those that a publisher makes at `fps` frames a second.
pub(crate) async fn base_layers_at_the_end(place: &Place, time: Duration, fps: u32) -> f64 {
    let (found, mut came) = mpsc::unbounded_channel();
    let began = Instant::now();
    // It ends at the latest with its time.
    let _ = timeout(time, read(place, &found, &Arc::default())).await;
    drop(found);
    let mut late = BTreeSet::new();
    while let Some((number, at)) = came.recv().await {
        if at - began >= time / 2 {
            late.insert(number);
        }
    }
    100.0 * late.len() as f64 / (time.as_secs_f64() / 2.0 * f64::from(fps))
}

/// Reads base layers and the rest of frames until the relay ends, and counts their bytes.
pub(crate) async fn count(place: &Place, bytes: &Arc<AtomicU64>) {
    let (found, came) = mpsc::unbounded_channel();
    drop(came);
    read(place, &found, bytes).await;
}

async fn read(place: &Place, found: &mpsc::UnboundedSender<(u64, Instant)>, bytes: &Arc<AtomicU64>) {
    let mut crypto = place.trust.config().expect("a configuration");
    crypto.alpn_protocols = nestcast_moq::MOQ_LITE_VERSIONS.map(|name| name.as_bytes().to_vec()).to_vec();
    let endpoint = quinn::Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into()).expect("a port");
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto).expect("TLS 1.3")));
    let address = (place.url.host().parse::<Ipv4Addr>().expect("an address"), place.url.port()).into();
    let connection = endpoint.connect_with(config, address, "localhost").expect("a connection").await.expect("a relay");
    let (origin, driver) = origin::Producer::new(origin::Config::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        moq_net::time::run(driver).await;
    });
    let client = moq_net::Client::new().with_path(place.url.path()).with_subscriber(origin.clone());
    let session = web_transport_quinn::Session::raw(connection);
    let (_session, driver) = client.connect_lite(Instant::now(), session).await.expect("a session");
    tasks.spawn(async move {
        moq_net::time::run(driver).await;
    });
    let origin = origin.consume();
    let broadcast = origin.routed_broadcast(place.url.broadcast()).await.expect("a broadcast");
    for track in [Track::Base, Track::More] {
        let wanted = track::Subscription::default().with_priority(track.priority()).with_max_age(MAX_AGE);
        let subscribed = broadcast.track(track.name()).expect("a track").subscribe(wanted).await.expect("a track");
        tasks.spawn(read_track(track, subscribed, found.clone(), Arc::clone(bytes)));
    }
    while tasks.join_next().await.is_some() {}
}

async fn read_track(
    track: Track,
    mut subscriber: track::Subscriber,
    found: mpsc::UnboundedSender<(u64, Instant)>,
    bytes: Arc<AtomicU64>,
) {
    let mut groups = JoinSet::new();
    while let Ok(Some(group)) = subscriber.recv_group().await {
        groups.spawn(read_group(track, group, found.clone(), Arc::clone(&bytes)));
    }
}

async fn read_group(
    track: Track,
    mut group: group::Consumer,
    found: mpsc::UnboundedSender<(u64, Instant)>,
    bytes: Arc<AtomicU64>,
) {
    let mut number = group.sequence;
    while let Ok(Some(mut object)) = group.next_frame().await {
        while let Ok(Some(chunk)) = object.read_chunk().await {
            bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
        if track == Track::Base {
            // The test may have ended.
            let _ = found.send((number, Instant::now()));
            number += 1;
        }
    }
}
