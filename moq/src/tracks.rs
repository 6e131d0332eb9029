//! The tracks of a broadcast at a relay, as a subscriber reads them.

use std::time::Duration;

use bytes::Bytes;
use moq_net::{broadcast, cache, group, origin, track};
use nestcast_receiver::Trust;
use nestcast_relayed::catalog::MAX_CATALOG_BYTES;
use nestcast_relayed::client::{MAX_GROUPS, MAX_OPEN_BYTES, MAX_SOUND_OBJECT_BYTES};
use nestcast_relayed::{Event, Fault, Piece, Track};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::catalog;
use crate::error::Error;
use crate::relay::Relay;
use crate::stoppable::Stops;
use crate::url::RelayUrl;

/// The longest time for the broadcast and its catalog, once connected.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(5);
/// How long groups are kept here: they are read at once.
const KEPT_TIME: Duration = Duration::from_secs(2);
/// About how many bytes of groups are kept here, those that are still open not counted.
const MAX_KEPT_BYTES: u64 = MAX_OPEN_BYTES;

/// A broadcast at a relay, and its catalog.
pub(crate) struct Subscription {
    pub(crate) relay: Relay,
    broadcast: broadcast::Consumer,
    pub(crate) stops: Stops,
    /// The session's welcome and announcement of sound, unchecked.
    pub(crate) welcome: Bytes,
    _origin: JoinSet<()>,
}

impl Subscription {
    /// Connects within `time`, and reads the catalog.
    pub(crate) async fn open(url: &RelayUrl, trust: &Trust, time: Duration) -> Result<Self, Error> {
        let mut settings = origin::Config::default();
        let limits = cache::Config::default().with_expiry(KEPT_TIME).with_capacity(MAX_KEPT_BYTES);
        settings.pool = cache::Pool::new(limits);
        let (origin, driver) = origin::Producer::new(settings);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            moq_net::time::run(driver).await;
        });
        let stops = Stops::default();
        let into = Some((origin.clone(), stops.clone()));
        let relay = Relay::connect(url, trust, time, None, into).await?;
        let origin = origin.consume();
        let found = timeout(CATALOG_TIMEOUT, origin.routed_broadcast(url.broadcast()));
        let broadcast = tokio::select! {
            found = found => found.map_err(|_| Error::NoBroadcast(url.to_string()))?,
            error = relay.closed() => return Err(error),
        };
        let refused = |error: moq_net::Error| Error::Refused { url: url.to_string(), cause: error.to_string() };
        let broadcast = broadcast.map_err(refused)?;
        let catalog = timeout(CATALOG_TIMEOUT, read_catalog(&broadcast)).await;
        let catalog = catalog.ok().flatten().ok_or(Fault::NoCatalog)?;
        let welcome = catalog::decode(&catalog)?;
        Ok(Self { relay, broadcast, stops, welcome, _origin: tasks })
    }

    /// Subscribes to a track from now on.
    pub(crate) fn track(&self, track: Track) -> impl Future<Output = Result<track::Subscriber, Error>> + use<> {
        let gone = |error: moq_net::Error| Error::Lost(error.to_string());
        let found = self.broadcast.track(track.name()).map_err(gone);
        async move {
            let subscribed = found?.subscribe(wanted(track, Track::MAX_FIRST_AGE));
            timeout(CATALOG_TIMEOUT, subscribed).await.map_err(|_| Fault::NoCatalog)?.map_err(gone)
        }
    }
}

/// Reads the newest catalog; `None` if there is none.
async fn read_catalog(broadcast: &broadcast::Consumer) -> Option<Bytes> {
    let wanted = track::Subscription::default().with_priority(Track::Catalog.priority());
    let mut track = broadcast.track(Track::Catalog.name()).ok()?.subscribe(wanted).await.ok()?;
    let mut group = track.recv_group().await.ok()??;
    let mut frame = group.next_frame().await.ok()??;
    let most = MAX_CATALOG_BYTES + 1;
    let mut catalog = Vec::new();
    while let Some(bytes) = frame.read_chunk().await.ok()? {
        catalog.extend_from_slice(&bytes[..bytes.len().min(most - catalog.len())]);
    }
    Some(catalog.into())
}

/// What a reader of a track says.
#[derive(Debug)]
pub(crate) enum Read {
    Event(Event),
    TrackEnd(Track, String),
    /// A track cannot be read.
    Refused(Error),
}

fn wanted(track: Track, age: Duration) -> track::Subscription {
    track::Subscription::default().with_priority(track.priority()).with_max_age(age)
}

/// Reads the groups of a track until it ends.
pub(crate) async fn read(track: Track, mut subscriber: track::Subscriber, events: mpsc::Sender<Read>) {
    let mut groups = JoinSet::new();
    let mut is_first = true;
    let end = loop {
        tokio::select! {
            group = subscriber.recv_group() => match group {
                // A relay with that many groups open does not serve them in order; the newest are lost.
                Ok(Some(_)) if groups.len() >= MAX_GROUPS => {}
                Ok(Some(group)) => {
                    if std::mem::take(&mut is_first)
                        && let Err(error) = subscriber.update(wanted(track, track.max_age()))
                    {
                        break error.to_string();
                    }
                    groups.spawn(read_group(track, group, events.clone()));
                }
                Ok(None) => break "it is over".to_owned(),
                Err(error) => break error.to_string(),
            },
            Some(_) = groups.join_next() => {}
        }
    };
    while groups.join_next().await.is_some() {}
    // The driver may have ended.
    let _ = events.send(Read::TrackEnd(track, end)).await;
}

/// Reads a group as it comes. A group of base layers counts as one group for each of its objects.
async fn read_group(track: Track, mut group: group::Consumer, events: mpsc::Sender<Read>) {
    if track == Track::Sound {
        return read_sound(group, events).await;
    }
    let mut number = group.sequence;
    if track == Track::Base {
        // The driver may have ended.
        let _ = events.send(Read::Event(Event::BaseGroup(number))).await;
    }
    let mut offset = 0;
    let end = async {
        while let Some(mut object) = group.next_frame().await? {
            while let Some(bytes) = object.read_chunk().await? {
                let length = bytes.len() as u64;
                let _ = events.send(Read::Event(Event::Bytes(Piece { track, number, offset, bytes }))).await;
                offset += length;
            }
            if track == Track::Base {
                let length = std::mem::take(&mut offset);
                let _ = events.send(Read::Event(Event::End { track, number, length })).await;
                number = number.saturating_add(1);
            }
        }
        Ok::<(), moq_net::Error>(())
    };
    let is_whole = end.await.is_ok();
    // A random-access frame without its end is none; of the rest any part is worth something.
    if track == Track::More || is_whole && track != Track::Base {
        let _ = events.send(Read::Event(Event::End { track, number, length: offset })).await;
    }
}

/// Reads a group of packets of sound.
async fn read_sound(mut group: group::Consumer, events: mpsc::Sender<Read>) {
    // A group that breaks off ends the packets that it had.
    while let Ok(Some(mut object)) = group.next_frame().await {
        let mut packet = Vec::new();
        while let Ok(Some(bytes)) = object.read_chunk().await {
            if packet.len() + bytes.len() > MAX_SOUND_OBJECT_BYTES {
                return;
            }
            packet.extend_from_slice(&bytes);
        }
        // The driver may have ended.
        let _ = events.send(Read::Event(Event::Sound(packet.into()))).await;
    }
}
