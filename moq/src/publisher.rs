//! Publishes a broadcast at a relay: from the fan-out of frames to tracks.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use moq_net::{Timescale, Timestamp, broadcast, cache, group, origin, track};
use nestcast_proto::{
    Bitrate, BroadcastFrame, Demand, DemandEntry, ReceiverDemand, RenditionFollower, Sound, StreamHead, Welcome,
};
use nestcast_receiver::{Retry, Trust};
use nestcast_relayed::{Fault, Follower, Track};
use nestcast_sender::{FrameReceiver, NextFrame, SoundReceiver, Station};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::catalog;
use crate::current_url::CurrentUrl;
use crate::error::Error;
use crate::mapping::{BASE_GROUP_FRAMES, GroupNumbers, Pieces, SOUND_GROUP_PACKETS};
use crate::relay::Relay;
use crate::url::RelayUrl;

/// How long groups are kept for a relay: it reads them at once.
const KEPT_TIME: Duration = Duration::from_secs(1);
/// How old a base layer may be that still goes to the relay, and how old the rest of a frame.
const MAX_BASE_AGE: Duration = Duration::from_secs(1);
const MAX_MORE_AGE: Duration = Duration::from_millis(300);
/// How old a packet of sound may be.
const MAX_SOUND_AGE: Duration = Duration::from_millis(500);
/// How old the catalog may be: as old as the broadcast.
const MAX_CATALOG_AGE: Duration = Duration::from_secs(100 * 365 * 86_400);
/// The least time between two random-access frames while somebody waits for one.
const MIN_JOIN_INTERVAL: Duration = Duration::from_millis(500);
/// How long a random-access frame may take at the least rate, beyond its base layer: base layers wait meanwhile.
const MAX_JOIN_TIME: Duration = Duration::from_millis(100);
/// The longest time for one attempt to connect.
const ATTEMPT_TIME: Duration = Duration::from_secs(5);

/// The rates of the viewers that a relay may have, since it does not say. The encoder then makes frames for receivers
/// of the least rate, of the greatest, and of their geometric mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    least: Bitrate,
    greatest: Bitrate,
}

/// Why two rates, or a text, are no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give the least rate and the greatest in bits per second, as in 500k..8M")]
pub struct RatesError;

impl Default for Rates {
    /// 500 kbit/s to 8 Mbit/s.
    fn default() -> Self {
        Self { least: Bitrate::from_bits(500_000), greatest: Bitrate::from_bits(8_000_000) }
    }
}

/// As in `500k..8M`.
impl FromStr for Rates {
    type Err = RatesError;

    fn from_str(text: &str) -> Result<Self, RatesError> {
        let (least, greatest) = text.split_once("..").ok_or(RatesError)?;
        let rate = |text: &str| text.parse::<Bitrate>().map_err(|_| RatesError);
        Self::new(rate(least)?, rate(greatest)?)
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.least.bits(), self.greatest.bits())
    }
}

impl Rates {
    /// Makes a range of rates.
    ///
    /// # Errors
    /// If the least one is above the greatest.
    pub fn new(least: Bitrate, greatest: Bitrate) -> Result<Self, RatesError> {
        if least.bits() <= greatest.bits() { Ok(Self { least, greatest }) } else { Err(RatesError) }
    }

    /// Returns the rates that the encoder makes frames for, ascending.
    fn steps(self) -> [Bitrate; 3] {
        let product = u128::from(self.least.bits()) * u128::from(self.greatest.bits());
        let mean = u64::try_from(product.isqrt()).unwrap_or(u64::MAX);
        [self.least, Bitrate::from_bits(mean), self.greatest]
    }

    /// Returns the most bytes of a frame.
    fn frame_bytes(self, interval: Duration) -> u64 {
        self.greatest.bytes_in(interval)
    }
}

/// What of a broadcast goes to a relay.
#[derive(Debug)]
pub struct Relayed {
    /// The source's announcement.
    pub welcome: Welcome,
    /// The frames: [`Station::frames`].
    pub frames: FrameReceiver,
    /// What receivers want: [`Station::demand`].
    pub demand: Demand,
    /// The sound, if the broadcast announced any, and its packets: [`Station::sound`].
    pub sound: Option<(Sound, SoundReceiver)>,
}

impl Relayed {
    /// Subscribes to all of a broadcast.
    ///
    /// # Errors
    /// [`Fault::Pictures`] if its frames are not video.
    pub fn of(station: &Station) -> Result<Self, Fault> {
        let welcome = station.welcome();
        Follower::check(&welcome)?;
        Ok(Self { welcome, frames: station.frames(), demand: station.demand(), sound: station.sound() })
    }
}

/// Publishes `relayed` at the relay of `url` until they end or `shutdown` is ready. It connects again whenever the
/// relay was away, so it fails only if the relay or the broadcast is of the wrong kind. If the relay refuses a token of
/// a file ([`RelayUrl::with_token_file`]), it waits for another one there.
///
/// `demand` is the broadcast's: the relay takes part in it as three receivers of `rates`.
///
/// # Errors
/// If the frames are not video, or no later attempt to connect can succeed.
pub async fn publish(
    url: &RelayUrl,
    trust: &Trust,
    rates: Rates,
    relayed: Relayed,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let Relayed { welcome, frames, demand, sound } = relayed;
    Follower::check(&welcome)?;
    let mut config = origin::Config::default();
    config.pool = cache::Pool::new(cache::Config::default().with_expiry(KEPT_TIME));
    let (origin, driver) = origin::Producer::new(config);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        moq_net::time::run(driver).await;
    });
    let mut tracks = Tracks::create(&origin, url, &welcome, sound.as_ref().map(|(sound, _)| *sound))?;
    if let (Some(track), Some((_, packets))) = (tracks.sound.take(), sound) {
        tasks.spawn(publish_sound(track, packets));
    }
    let publisher = Publisher::new(tracks, rates, welcome.interval(), &demand);
    tokio::select! {
        () = publisher.run(frames) => Ok(()),
        error = stay_connected(url, trust, &origin) => Err(error),
        () = shutdown => Ok(()),
    }
}

/// Connects again and again; returns why that is of no use.
async fn stay_connected(url: &RelayUrl, trust: &Trust, origin: &origin::Producer) -> Error {
    let mut retry = Retry::new(Duration::MAX);
    let mut current = CurrentUrl::new(url);
    loop {
        let began = Instant::now();
        let url = current.read().await;
        let (error, connected) = match Relay::connect(url, trust, ATTEMPT_TIME, Some(origin.clone()), None).await {
            Ok(relay) => {
                tracing::info!("publishing at {url}");
                (relay.closed().await, Some(began.elapsed()))
            }
            Err(error) => (error, None),
        };
        if matches!(error, Error::Unauthorized) && current.may_change() {
            tracing::warn!("{error}; waiting for another token in its file");
            current.changed().await;
            continue;
        }
        if !error.may_retry() {
            return error;
        }
        let Some(pause) = retry.next(connected, fastrand::f64()) else { return error };
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        tokio::time::sleep(pause).await;
    }
}

/// The tracks of a broadcast at the relay, until they are dropped.
struct Tracks {
    base: GroupedTrack,
    more: track::Producer,
    join: track::Producer,
    sound: Option<GroupedTrack>,
    _catalog: track::Producer,
    _broadcast: broadcast::Producer,
}

impl Tracks {
    fn create(
        origin: &origin::Producer,
        url: &RelayUrl,
        welcome: &Welcome,
        sound: Option<Sound>,
    ) -> Result<Self, Error> {
        let failed = |error: moq_net::Error| Error::Setup(error.to_string());
        let broadcast = origin.create_broadcast(url.broadcast()).map_err(failed)?;
        let create = |track: Track, max_age| {
            let info = track::Info::default()
                .with_timescale(Timescale::MICRO)
                .with_priority(track.priority())
                .with_max_age(max_age);
            broadcast.create_track(track.name(), info).map_err(failed)
        };
        let mut catalog = create(Track::Catalog, MAX_CATALOG_AGE)?;
        let base = GroupedTrack::new(create(Track::Base, MAX_BASE_AGE)?, BASE_GROUP_FRAMES);
        let more = create(Track::More, MAX_MORE_AGE)?;
        let join = create(Track::Join, MAX_BASE_AGE)?;
        catalog.write_frame(timestamp(now().as_micros()), catalog::encode(welcome, sound)).map_err(failed)?;
        let sound = sound.map(|_| create(Track::Sound, MAX_SOUND_AGE)).transpose()?;
        let sound = sound.map(|track| GroupedTrack::new(track, SOUND_GROUP_PACKETS));
        broadcast.announce(origin::Route::default()).map_err(failed)?;
        Ok(Self { base, more, join, sound, _catalog: catalog, _broadcast: broadcast })
    }
}

/// A track whose groups have several objects with numbers in a row: base layers, or packets of sound.
struct GroupedTrack {
    track: track::Producer,
    max_objects: u64,
    open: Option<OpenGroup>,
}

struct OpenGroup {
    group: group::Producer,
    /// The number of its first object, and the number that would continue it.
    first: u64,
    next: u64,
}

impl GroupedTrack {
    const fn new(track: track::Producer, max_objects: u64) -> Self {
        Self { track, max_objects, open: None }
    }

    /// Writes an object into the open group if it continues that, otherwise or if it `begins` one into a new group.
    fn write(&mut self, number: u64, at: Timestamp, object: Bytes, begins: bool) -> Result<(), moq_net::Error> {
        let continues = |open: &OpenGroup| number == open.next && number - open.first < self.max_objects;
        let mut open = match self.open.take() {
            Some(open) if continues(&open) && !begins => open,
            ended => {
                if let Some(ended) = ended {
                    ended.group.finish()?;
                }
                let group = self.track.create_group(group::Info { sequence: number })?;
                OpenGroup { group, first: number, next: number }
            }
        };
        open.group.write_frame(at, object)?;
        open.next = number.saturating_add(1);
        self.open = Some(open);
        Ok(())
    }
}

/// Writes frames to tracks.
struct Publisher {
    tracks: Tracks,
    numbers: GroupNumbers,
    follower: RenditionFollower,
    /// The demand of the viewers behind the relay, in the order of [`Rates::steps`].
    entries: [(DemandEntry, Bitrate); 3],
    interval: Duration,
    most: u64,
    most_of_join: u64,
    /// Whether frames were missed: nothing is of use before a random-access frame.
    waits_for_join: bool,
    /// When a random-access frame was last asked for.
    asked: Option<Instant>,
}

impl Publisher {
    fn new(tracks: Tracks, rates: Rates, interval: Duration, demand: &Demand) -> Self {
        let entries = rates.steps().map(|rate| (demand.register(), rate));
        let millis = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
        Self {
            tracks,
            numbers: GroupNumbers::beginning_at(millis),
            // That of the slowest viewers, so that its base layers fit all.
            follower: RenditionFollower::new(entries[0].0.receiver()),
            entries,
            interval,
            most: rates.frame_bytes(interval),
            most_of_join: rates.least.bytes_in(MAX_JOIN_TIME),
            waits_for_join: false,
            asked: None,
        }
    }

    /// Publishes frames until there are no more.
    async fn run(mut self, mut frames: FrameReceiver) {
        self.state_demand();
        loop {
            match frames.next().await {
                NextFrame::Frame(frame) => {
                    if let Err(error) = self.write(&frame) {
                        tracing::warn!(frame = frame.frame.id, "not published: {error}");
                    }
                    self.state_demand();
                }
                NextFrame::Missed(missed) => {
                    tracing::warn!("the relay missed {missed} frames");
                    self.waits_for_join = true;
                }
                NextFrame::End => return,
            }
        }
    }

    fn write(&mut self, frame: &BroadcastFrame) -> Result<(), moq_net::Error> {
        let followed = self.follower.follow(frame);
        self.waits_for_join |= followed.begins_anew;
        let frame = followed.frame;
        let [most, most_of_join] =
            [self.most, self.most_of_join].map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let (group, at) = (self.numbers.of(frame.id), timestamp(frame.captured.into()));
        let Pieces { base, more, join } = Pieces::cut(frame, most, most_of_join);
        let begins_group = !join.is_empty();
        if begins_group {
            self.waits_for_join = false;
            write(&self.tracks.join, group, at, join)?;
        }
        // Subscribers see the gap in the frames' numbers, and look for a random-access frame.
        if self.waits_for_join {
            return Ok(());
        }
        self.tracks.base.write(group, at, base, begins_group)?;
        write(&self.tracks.more, group, at, more)
    }

    /// States what the viewers behind the relay want of the next frame.
    fn state_demand(&mut self) {
        let is_due = self.asked.is_none_or(|asked| asked.elapsed() >= MIN_JOIN_INTERVAL);
        let asks = is_due && (self.waits_for_join || self.tracks.join.is_used());
        if asks {
            self.asked = Some(Instant::now());
        }
        let rendition = self.follower.rendition();
        for (at, (entry, bandwidth)) in self.entries.iter().enumerate() {
            entry.set(ReceiverDemand {
                bandwidth: *bandwidth,
                useful_bytes: bandwidth.bytes_in(self.interval),
                needs_random_access: asks && at == 0,
                rendition,
                ..ReceiverDemand::default()
            });
        }
    }
}

/// Publishes packets of sound until there are no more.
async fn publish_sound(mut track: GroupedTrack, mut packets: SoundReceiver) {
    let numbers = GroupNumbers::beginning_at(u64::try_from(now().as_millis()).unwrap_or(u64::MAX));
    while let Some(packet) = packets.next().await {
        let at = timestamp(packet.captured.into());
        if let Err(error) = track.write(numbers.of(packet.number), at, StreamHead::sound_stream(&packet), false) {
            tracing::warn!(packet = packet.number, "sound is not published: {error}");
        }
    }
}

/// Writes a group.
fn write(
    track: &track::Producer,
    number: u64,
    at: Timestamp,
    objects: impl IntoIterator<Item = Bytes>,
) -> Result<(), moq_net::Error> {
    let mut group = track.create_group(group::Info { sequence: number })?;
    for object in objects {
        group.write_frame(at, object)?;
    }
    group.finish()
}

/// Returns a time of capture in microseconds since 1970; the latest possible one for a later time.
fn timestamp(micros: u128) -> Timestamp {
    let latest = (1 << 62) - 1;
    let micros = u64::try_from(micros).unwrap_or(latest).min(latest);
    Timestamp::from_micros(micros).unwrap_or(Timestamp::ZERO)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_a_range_and_its_geometric_mean() {
        let mbit = |mbit: u64| Bitrate::from_bits(mbit * 1_000_000);
        assert_eq!(Rates::new(mbit(1), mbit(16)).map(Rates::steps), Ok([mbit(1), mbit(4), mbit(16)]));
        assert_eq!(Rates::new(mbit(2), mbit(1)), Err(RatesError));
        let rates: Rates = "1M..12M".parse().expect("a range");
        assert_eq!((rates.to_string().parse(), rates), (Ok(rates), Rates { least: mbit(1), greatest: mbit(12) }));
        assert_eq!("2M..1M".parse::<Rates>(), Err(RatesError));
        assert_eq!("2M".parse::<Rates>(), Err(RatesError));
        assert_eq!(rates.frame_bytes(Duration::from_millis(40)), 60_000);
    }
}
