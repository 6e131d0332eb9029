//! What a hostile relay or publisher can do to a subscriber: withhold, repeat, reorder, lie, and never end.

mod harness;

use std::time::Duration;

use bytes::Bytes;
use harness::{Got, LocalRelay, content, receive_for, welcome};
use moq_net::{Timescale, Timestamp, broadcast, group, track};
use nestcast_moq::mapping::Pieces;
use nestcast_moq::{Error, Fault, Track, catalog};
use nestcast_proto::{Frame, RandomAccessFrame, Welcome};

/// How long a subscriber watches.
const WATCHED: Duration = Duration::from_secs(3);

/// Tracks that a test writes by hand.
struct Tracks {
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
        Self { base, more, join, _rest: (announced, broadcast) }
    }
}

fn write(track: &track::Producer, number: u64, objects: &[Bytes], ends: bool) -> Option<group::Producer> {
    let mut group = track.create_group(group::Info { sequence: number }).ok()?;
    for object in objects {
        let at = number.wrapping_mul(33_333) & ((1 << 60) - 1);
        group.write_frame(Timestamp::from_micros(at).expect("a time"), object.clone()).expect("a group");
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
        got = receive_for(&place, WATCHED, Duration::ZERO) => got,
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
    assert_eq!(got.wrong, 0);
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
