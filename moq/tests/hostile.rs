//! What a hostile relay or publisher can do to a subscriber: withhold, repeat, reorder, lie, and never end.

mod harness;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use harness::local::{Connections, LocalRelay};
use harness::{Got, content, receive_for, welcome};
use moq_net::{Timescale, Timestamp, broadcast, frame, group, track};
use nestcast_codec::{Format, FrameRate, Size, Ycbcr};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::link::{Link, Relay as LinkRelay, Traffic};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_moq::mapping::Pieces;
use nestcast_moq::{Error, Fault, Track, catalog};
use nestcast_proto::{Bitrate, Demand, Frame, RandomAccessFrame, ReceiverDemand, Welcome, put_bytes, put_varint};
use nestcast_receiver::{Announcement, Decoding, Shown, Totals, Viewer};
use nestcast_sender::FrameSource as _;
use nestcast_tests::video_frames::{SIZE, picture};

/// Longer than anything here lasts: it only turns a hang into a message.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a subscriber watches.
const WATCHED: Duration = Duration::from_secs(3);
/// More than a subscriber has subscriptions: they are numbered from 0.
const SUBSCRIPTIONS: u64 = 8;
/// The streams of groups in moq-lite.
const GROUP_STREAM: u64 = 0;
/// Frames after which a frame is shown, and those after which neither end keeps its groups.
const SHOWN_FRAMES: u64 = 6;
const FORGOTTEN_FRAMES: u64 = 75;
/// The size of the video, and another one.
const SIZES: [[u32; 2]; 2] = [SIZE, [320, 192]];

/// Tracks that a test writes by hand.
struct Tracks {
    connections: Connections,
    base: track::Producer,
    more: track::Producer,
    join: track::Producer,
    _rest: (track::Producer, broadcast::Producer),
}

impl Tracks {
    /// Announces a broadcast with this catalog; without one, the track stays empty.
    fn announce(relay: &LocalRelay, catalog: Option<Bytes>) -> Self {
        let broadcast = relay.origin.create_broadcast("garden").expect("a broadcast");
        let create = |track: Track| {
            let info = track::Info::default().with_timescale(Timescale::MICRO).with_max_age(Duration::from_secs(60));
            broadcast.create_track(track.name(), info).expect("a track")
        };
        let (mut announced, base, more, join) =
            (create(Track::Catalog), create(Track::Base), create(Track::More), create(Track::Join));
        if let Some(catalog) = catalog {
            announced.write_frame(Timestamp::now(), catalog).expect("a catalog");
        }
        broadcast.announce(moq_net::origin::Route::default()).expect("a broadcast");
        Self { connections: relay.connections.clone(), base, more, join, _rest: (announced, broadcast) }
    }

    /// Sends a group once more, in a stream of its own, into each subscription that there may be.
    fn send_again(&self, number: u64, objects: Vec<Bytes>) {
        for connection in self.connections.all() {
            for subscription in 0..SUBSCRIPTIONS {
                let stream = forged(subscription, number, &objects);
                let connection = connection.clone();
                tokio::spawn(async move {
                    let Ok(mut sending) = connection.open_uni().await else { return };
                    // The subscriber may stop it.
                    if sending.write_all(&stream).await.is_ok() {
                        let _ = sending.finish();
                    }
                });
            }
        }
    }
}

/// Returns the stream of a group in moq-lite-06.
fn forged(subscription: u64, number: u64, objects: &[Bytes]) -> Bytes {
    let mut head = BytesMut::new();
    [subscription, number, 0].into_iter().for_each(|value| put_varint(&mut head, value));
    let mut stream = BytesMut::new();
    put_varint(&mut stream, GROUP_STREAM);
    put_bytes(&mut stream, &head);
    for (at, object) in objects.iter().enumerate() {
        // The time since the object before, whose sign is the lowest bit.
        put_varint(&mut stream, if at == 0 { 2 * micros(number) } else { 0 });
        put_bytes(&mut stream, object);
    }
    stream.freeze()
}

/// Returns the time of a group's objects.
const fn micros(number: u64) -> u64 {
    number.wrapping_mul(33_333) & ((1 << 60) - 1)
}

fn write(track: &track::Producer, number: u64, objects: &[Bytes], ends: bool) -> Option<group::Producer> {
    let mut group = track.create_group(group::Info { sequence: number }).ok()?;
    for object in objects {
        let at = Timestamp::from_micros(micros(number)).expect("a time");
        group.write_frame(at, object.clone()).expect("a group");
    }
    if ends {
        group.finish().expect("a group");
    }
    Some(group)
}

/// Returns frame `id`, with a random-access frame.
fn pieces(id: u64) -> Pieces {
    let join = RandomAccessFrame { base: 2000, bytes: content(id, 2000, true) };
    let bytes = content(id, 20_000, false);
    Pieces::cut(
        &Frame { id, skipped: 0, captured: 0, since: id, base: 900, bytes, join: Some(join) },
        usize::MAX,
        usize::MAX,
    )
}

/// Subscribes while `act` writes frame after frame, one a frame interval.
async fn watch(act: impl Fn(&Tracks, u64, &mut Vec<group::Producer>)) -> (Got, Result<(), Error>) {
    watch_for(WATCHED, act).await
}

async fn watch_for(time: Duration, act: impl Fn(&Tracks, u64, &mut Vec<group::Producer>)) -> (Got, Result<(), Error>) {
    let relay = LocalRelay::start();
    let tracks = Tracks::announce(&relay, Some(catalog::encode(&welcome(), None)));
    let place = relay.place.clone();
    let mut open = Vec::new();
    let frames = async {
        for id in 0.. {
            act(&tracks, id, &mut open);
            tokio::time::sleep(Duration::from_millis(33)).await;
        }
    };
    tokio::select! {
        got = receive_for(&place, time, Duration::ZERO) => got,
        () = frames => unreachable!("there is no last frame"),
    }
}

async fn refused(announced: Option<Bytes>) -> Error {
    let relay = LocalRelay::start();
    let _tracks = Tracks::announce(&relay, announced);
    let (got, ended) = receive_for(&relay.place, Duration::from_secs(20), Duration::ZERO).await;
    assert!(got.frames.is_empty());
    ended.expect_err("it is of no use")
}

#[tokio::test]
async fn another_broadcasts_catalog_is_refused_in_one_line() {
    let video = br#"{"version":1,"tracks":[{"name":"video","packaging":"loc","isLive":true}]}"#;
    let error = refused(Some(Bytes::from_static(video))).await;
    assert!(matches!(error, Error::Broadcast(Fault::OtherBroadcast)), "{error}");
    let error = refused(Some(vec![b' '; 3_000_000].into())).await;
    assert!(matches!(error, Error::Broadcast(Fault::CatalogTooLong)), "{error}");
    let error = refused(Some(catalog::encode(&Welcome { video: None, ..welcome() }, None))).await;
    assert!(matches!(error, Error::Broadcast(Fault::Pictures)), "{error}");
    let error = refused(Some(catalog::encode(&Welcome { width: 1 << 30, ..welcome() }, None))).await;
    assert!(matches!(error, Error::Session(_)), "a picture that no machine holds: {error}");
    let error = refused(None).await;
    assert!(matches!(error, Error::Broadcast(Fault::NoCatalog)), "{error}");
}

#[tokio::test]
async fn honest_frames_come_as_a_measure_for_the_others() {
    let (got, ended) = watch(|tracks, id, _| {
        let Pieces { base, more, join } = pieces(id);
        write(&tracks.join, id, &join, true);
        write(&tracks.base, id, &[base], true);
        write(&tracks.more, id, &more, true);
    })
    .await;
    ended.expect("a shutdown");
    assert!(got.frames.len() > 30 && got.wrong == 0 && got.breaks == 0, "{} {}", got.frames.len(), got.wrong);
}

#[tokio::test]
async fn groups_that_never_end_cost_their_frames_alone() {
    let (got, ended) = watch(|tracks, id, open| {
        let Pieces { base, more, join } = pieces(id);
        open.extend(write(&tracks.join, id, &join, id % 2 == 0));
        open.extend(write(&tracks.base, id, &[base], id % 2 == 0));
        open.extend(write(&tracks.more, id, &more, false));
    })
    .await;
    ended.expect("a shutdown");
    assert!(got.wrong == 0 && got.frames.len() > 20, "{} wrong of {}", got.wrong, got.frames.len());
}

#[tokio::test]
async fn repeated_groups_are_shown_once() {
    let (got, ended) = watch_for(2 * WATCHED, |tracks, id, _| {
        let Pieces { base, more, join } = pieces(id);
        write(&tracks.join, id, &join, true);
        write(&tracks.base, id, &[base], true);
        write(&tracks.more, id, &more, true);
        // A little later, and with other bytes when the first ones are shown and forgotten.
        if let Some(shown) = id.checked_sub(SHOWN_FRAMES) {
            tracks.send_again(shown, vec![pieces(shown).base]);
        }
        if let Some(old) = id.checked_sub(FORGOTTEN_FRAMES) {
            tracks.send_again(old, pieces(old).join);
        }
    })
    .await;
    ended.expect("a shutdown");
    assert!(got.wrong == 0 && got.breaks == 0, "{} wrong, {} breaks", got.wrong, got.breaks);
    assert!(got.frames.len() > 80, "{} frames", got.frames.len());
}

#[tokio::test]
async fn a_relay_that_vanishes_in_a_frame_ends_the_session_in_words() {
    const LAST: u64 = 30;
    let relay = LocalRelay::start();
    let tracks = Tracks::announce(&relay, Some(catalog::encode(&welcome(), None)));
    let link = LinkRelay::start(relay.place.address(), Link::constant(50_000_000)).await.expect("a port");
    let frames = async {
        for id in 0..LAST {
            let Pieces { base, more, join } = pieces(id);
            write(&tracks.join, id, &join, true);
            write(&tracks.base, id, &[base], true);
            write(&tracks.more, id, &more, true);
            tokio::time::sleep(Duration::from_millis(33)).await;
        }
        let Pieces { base, .. } = pieces(LAST);
        let mut group = tracks.base.create_group(group::Info { sequence: LAST }).expect("a group");
        let at = Timestamp::from_micros(micros(LAST)).expect("a time");
        let mut half = group.create_frame(frame::Info { size: base.len() as u64, timestamp: at }).expect("an object");
        half.write(base.slice(..base.len() / 2)).expect("an object");
        tokio::time::sleep(Duration::from_millis(33)).await;
        link.set_traffic(Traffic::Nothing);
        std::future::pending::<()>().await;
    };
    let place = relay.place.at(link.address());
    let (got, ended) = tokio::select! {
        got = receive_for(&place, PATIENCE, Duration::ZERO) => got,
        () = frames => unreachable!("it waits"),
    };
    let error = ended.expect_err("nothing comes any more");
    assert!(error.to_string().starts_with("the connection to the relay ended: "), "{error}");
    assert!(got.wrong == 0 && got.frames.len() > 10, "{} wrong of {}", got.wrong, got.frames.len());
    assert!(got.frames.last_key_value().is_some_and(|(last, _)| *last < LAST), "half a base layer is no frame");
}

/// What a player shows: the sizes of its pictures, and the totals.
#[derive(Clone, Default)]
struct Pictures(Arc<Mutex<(Vec<[usize; 2]>, Totals)>>);

impl Viewer for Pictures {
    type Error = Infallible;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Infallible> {
        Ok(Decoding::video(announced, 1))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Infallible> {
        let size = shown.picture.size();
        self.0.lock().expect("no panic").0.push([size.width(), size.height()]);
        Ok(())
    }

    fn report(&mut self, totals: &Totals) -> Result<(), Infallible> {
        self.0.lock().expect("no panic").1 = *totals;
        Ok(())
    }
}

/// Plays real video of the first of [`SIZES`] with a catalog that says another size.
async fn play_as(announced: [u32; 2]) -> (Vec<[usize; 2]>, Totals, Result<(), Error>) {
    let [width, height] = SIZES[0];
    let size = Size::new(width, height).expect("a size");
    let rate = FrameRate::new(30, 1).expect("a rate");
    let shape = PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT601), rate);
    let mut source = VideoFrames::new(shape, (1, RenditionLimit::AtMost(1)), picture);
    let [width, height] = announced;
    let relay = LocalRelay::start();
    let catalog = catalog::encode(&Welcome { width, height, ..source.welcome() }, None);
    let tracks = Tracks::announce(&relay, Some(catalog));
    let frames = async {
        let demand = Demand::default();
        let viewer = demand.register();
        loop {
            let (bandwidth, needs_random_access) = (Bitrate::from_bits(8_000_000), tracks.join.is_used());
            viewer.set(ReceiverDemand { bandwidth, useful_bytes: 30_000, needs_random_access, ..Default::default() });
            let frame = source.next(&demand).await.expect("a source that works").expect("no end").frame;
            let Pieces { base, more, join } = Pieces::cut(&frame, usize::MAX, usize::MAX);
            if !join.is_empty() {
                write(&tracks.join, frame.id, &join, true);
            }
            write(&tracks.base, frame.id, &[base], true);
            write(&tracks.more, frame.id, &more, true);
        }
    };
    let pictures = Pictures::default();
    let config = relay.place.config(Duration::ZERO);
    let ended = tokio::select! {
        ended = nestcast_moq::view(config, pictures.clone(), tokio::time::sleep(2 * WATCHED)) => ended,
        () = frames => unreachable!("there is no last frame"),
    };
    let (sizes, totals) = pictures.0.lock().expect("no panic").clone();
    (sizes, totals, ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalog_of_another_size_shows_pictures_of_that_size_or_ends_in_words() {
    let (honest, totals, ended) = play_as(SIZES[0]).await;
    ended.expect("a shutdown");
    let [width, height] = SIZES[0].map(|side| side as usize);
    assert!(honest.len() > 20 && honest.iter().all(|size| *size == [width, height]), "{} {totals}", honest.len());
    for announced in [SIZES[1], [16, 16]] {
        let (lying, totals, ended) = play_as(announced).await;
        let announced = announced.map(|side| side as usize);
        assert!(lying.iter().all(|size| *size == announced), "it decodes no other size than it took memory for");
        // It shows something, counts frames that break the rules, or says why it ends.
        assert!(!lying.is_empty() || ended.is_err() || totals.played.corrupt > 0, "{announced:?}: {totals}");
        assert!(ended.is_ok() || matches!(ended, Err(Error::Session(_) | Error::Sink(_))), "{ended:?}");
    }
}

#[tokio::test]
async fn reordered_and_withheld_groups_cost_frames_and_no_more() {
    let (got, ended) = watch(|tracks, id, _| {
        let Pieces { base, more, join } = pieces(id);
        write(&tracks.join, id, &join, true);
        write(&tracks.more, id, &more, true);
        // The fifth of five is withheld, and the third comes after the fourth.
        match id % 5 {
            4 => {}
            3 => {
                write(&tracks.base, id, &[base], true);
                write(&tracks.base, id - 1, &[pieces(id - 1).base], true);
            }
            2 => {}
            _ => {
                write(&tracks.base, id, &[base], true);
            }
        }
    })
    .await;
    ended.expect("a shutdown");
    assert!(got.wrong == 0 && !got.frames.is_empty(), "{} wrong of {}", got.wrong, got.frames.len());
}

#[tokio::test]
async fn heads_that_lie_end_the_session() {
    let (got, ended) = watch(|tracks, id, _| {
        let Pieces { join, .. } = pieces(id);
        write(&tracks.join, id, &join, true);
        // A base of more bytes than the frame has: kind 0, number, 0, 0, 5 bytes, a base of 9.
        let number = u8::try_from(id % 60).expect("small");
        write(&tracks.base, id, &[Bytes::from(vec![0, number, 0, 0, 5, 9, 7, 7])], true);
    })
    .await;
    let error = ended.expect_err("it breaks a rule");
    assert!(matches!(error, Error::Session(_)), "{error}");
    assert!(got.wrong == 0 && got.frames.len() <= 1, "{}", got.frames.len());
}

#[tokio::test]
async fn random_bytes_and_random_numbers_do_nothing() {
    let (got, ended) = watch(|tracks, id, _| {
        let seed = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let words = (0..400_u64).flat_map(|at| seed.wrapping_mul(at | 1).rotate_left(17).to_le_bytes());
        let bytes = [Bytes::from_iter(words)];
        for track in [&tracks.join, &tracks.base, &tracks.more] {
            write(track, seed >> 3, &bytes, true);
        }
    })
    .await;
    assert!(got.frames.is_empty(), "{}", got.frames.len());
    assert!(ended.is_ok() || matches!(ended, Err(Error::Session(_) | Error::Ended | Error::Lost(_))), "{ended:?}");
}
