use bytes::BytesMut;
use nestcast_proto::{put_bytes, put_varint};

use super::*;

/// Returns the head of a group's stream. The fifth version does not number objects.
fn head(version: Version, subscription: u64, number: u64, first: u64) -> Vec<u8> {
    let (mut message, mut stream) = (BytesMut::new(), BytesMut::new());
    let values = if version == Version::Six { &[subscription, number, first][..] } else { &[subscription, number] };
    values.iter().for_each(|value| put_varint(&mut message, *value));
    put_varint(&mut stream, 0);
    put_bytes(&mut stream, &message);
    stream.to_vec()
}

/// Returns an object.
fn object(bytes: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    put_varint(&mut out, 2 * 1_795_000_000_000_000);
    put_bytes(&mut out, bytes);
    out.to_vec()
}

fn group(version: Version, subscription: u64, number: u64, objects: &[&[u8]]) -> Vec<u8> {
    let objects = objects.iter().flat_map(|bytes| object(bytes));
    head(version, subscription, number, 0).into_iter().chain(objects).collect()
}

fn outputs(client: &mut Client) -> Vec<Output> {
    std::iter::from_fn(|| client.poll()).collect()
}

fn events(client: &mut Client) -> Vec<Event> {
    let event = |output| match output {
        Output::Event(event) => Some(event),
        _ => None,
    };
    outputs(client).into_iter().filter_map(event).collect()
}

/// A client that reads these tracks, as requests 0, 1, and so on.
fn reading(version: Version, tracks: &[Track]) -> Client {
    let mut client = Client::new(version, "garden".to_owned());
    client.leave(Track::Catalog);
    client.next_request = 0;
    tracks.iter().for_each(|track| client.read(*track));
    outputs(&mut client);
    client
}

fn bring(client: &mut Client, stream: u64, bytes: &[u8]) {
    client.handle_opened(stream);
    client.handle_bytes(stream, Bytes::copy_from_slice(bytes));
}

/// The bytes of a group after others.
fn bytes(track: Track, number: u64, offset: u64, text: &'static str) -> Event {
    Event::Bytes(Piece { track, number, offset, bytes: Bytes::from_static(text.as_bytes()) })
}

/// The end of a group, or of an object of the base track.
fn end(track: Track, number: u64, length: u64) -> Event {
    Event::End { track, number, length }
}

#[test]
fn it_begins_with_its_setup_and_the_catalog() {
    for version in Version::ALL {
        let mut client = Client::new(version, "garden".to_owned());
        let [Output::Setup(_), Output::Request(0, subscribe)] = &outputs(&mut client)[..] else {
            panic!("two messages")
        };
        assert_eq!(crate::wire::subscription(subscribe), Some(Some((Track::Catalog, 0))));
        bring(&mut client, 3, &[1, 4, 1, 3, 1, 2]);
        client.handle_end(3, true);
        assert_eq!(outputs(&mut client), [], "the relay's setup");
        bring(&mut client, 7, &group(version, 0, 0, &[b"{}"]));
        assert_eq!(outputs(&mut client), [Output::Catalog(Bytes::from_static(b"{}"))]);
        client.leave(Track::Catalog);
        client.handle_request_end(0);
        assert_eq!(outputs(&mut client), [Output::Leave(0), Output::Stop(7)], "it has what it wanted");
        client.read(Track::Base);
        client.handle_request_end(1);
        assert!(matches!(&outputs(&mut client)[..], [Output::Request(1, _), Output::TrackEnd(Track::Base)]));
    }
}

#[test]
fn a_group_may_come_in_any_pieces() {
    for version in Version::ALL {
        let whole = group(version, 0, 100, &[b"base100", b"", b"base102"]);
        for size in 1..=whole.len() {
            let mut client = reading(version, &[Track::Base]);
            client.handle_opened(3);
            whole.chunks(size).for_each(|part| client.handle_bytes(3, Bytes::copy_from_slice(part)));
            client.handle_end(3, true);
            let mut frames: [Vec<u8>; 3] = Default::default();
            let (mut begun, mut ended) = (0, Vec::new());
            for event in events(&mut client) {
                match event {
                    Event::BaseGroup(100) => begun += 1,
                    Event::Bytes(Piece { track: Track::Base, number, offset, bytes }) => {
                        let frame = &mut frames[usize::try_from(number - 100).expect("small")];
                        assert_eq!(offset, frame.len() as u64, "{size}");
                        frame.extend_from_slice(&bytes);
                    }
                    Event::End { track: Track::Base, number, length } => ended.push((number, length)),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!((begun, &ended[..]), (1, &[(100, 7), (101, 0), (102, 7)][..]), "{size}");
            assert_eq!(frames, [b"base100".to_vec(), Vec::new(), b"base102".to_vec()], "{size}");
        }
    }
}

#[test]
fn an_end_counts_where_a_part_is_worth_something() {
    for version in Version::ALL {
        let mut client = reading(version, &[Track::Base, Track::More, Track::Join]);
        let cut = |subscription| {
            let mut stream = group(version, subscription, 5, &[b"whole", b"cut"]);
            stream.truncate(stream.len() - 1);
            stream
        };
        bring(&mut client, 3, &cut(1));
        client.handle_end(3, false);
        let more = [bytes(Track::More, 5, 0, "whole"), bytes(Track::More, 5, 5, "cu"), end(Track::More, 5, 7)];
        assert_eq!(events(&mut client), more);
        bring(&mut client, 7, &cut(2));
        client.handle_end(7, true);
        assert_eq!(events(&mut client), [bytes(Track::Join, 5, 0, "whole"), bytes(Track::Join, 5, 5, "cu")]);
        bring(&mut client, 11, &group(version, 2, 6, &[b"join"]));
        client.handle_end(11, true);
        assert_eq!(events(&mut client), [bytes(Track::Join, 6, 0, "join"), end(Track::Join, 6, 4)]);
        bring(&mut client, 15, &cut(0));
        client.handle_end(15, true);
        let base = [
            Event::BaseGroup(5),
            bytes(Track::Base, 5, 0, "whole"),
            end(Track::Base, 5, 5),
            bytes(Track::Base, 6, 0, "cu"),
        ];
        assert_eq!(events(&mut client), base);
    }
}

#[test]
fn groups_are_stopped_by_their_track_and_number() {
    for version in Version::ALL {
        let mut client = reading(version, &[Track::Base, Track::More]);
        bring(&mut client, 3, &group(version, 1, 5, &[b"more5"]));
        let Output::Write(1, update) = &outputs(&mut client)[0] else { panic!("it asks for late groups") };
        assert_eq!(*update, version.update(Track::More));
        bring(&mut client, 7, &group(version, 0, 5, &[b"base5"]));
        bring(&mut client, 11, &group(version, 1, 6, &[b"more6"]));
        outputs(&mut client);
        client.stop_before(Track::More, 6);
        assert_eq!(outputs(&mut client), [Output::Stop(3)]);
        client.stop_before(Track::More, 4);
        bring(&mut client, 15, &group(version, 1, 5, &[b"late"]));
        assert_eq!(outputs(&mut client), [Output::Stop(15)]);
        client.handle_bytes(3, Bytes::from_static(b"late"));
        client.handle_end(3, true);
        assert_eq!(outputs(&mut client), []);
        bring(&mut client, 17, &group(version, 1, 6, &[b"again"]));
        assert_eq!(outputs(&mut client), [Output::Stop(17)]);
        client.leave(Track::More);
        assert_eq!(outputs(&mut client), [Output::Leave(1), Output::Stop(11)]);
        bring(&mut client, 19, &group(version, 1, 7, &[b"of a subscription that ended"]));
        assert_eq!(outputs(&mut client), [Output::Stop(19)]);
    }
}

#[test]
fn a_new_subscription_replaces_the_old_one_once_it_brings_something() {
    for version in Version::ALL {
        let mut client = reading(version, &[Track::Base, Track::More]);
        client.renew(Track::More, 5);
        assert_eq!(outputs(&mut client), [], "nothing has come yet");
        bring(&mut client, 3, &group(version, 1, 5, &[b"more5"]));
        outputs(&mut client);
        client.renew(Track::More, 5);
        client.renew(Track::More, 5);
        let subscribe = version.subscribe(2, "garden", Track::More, Some(6));
        assert_eq!(outputs(&mut client), [Output::Request(2, subscribe)], "one at a time");
        bring(&mut client, 7, &group(version, 1, 6, &[b"more6"]));
        assert_eq!(events(&mut client), [bytes(Track::More, 6, 0, "more6")], "the old one goes on");
        bring(&mut client, 11, &group(version, 2, 6, &[b"more6"]));
        assert_eq!(outputs(&mut client), [Output::Stop(11)], "it came already");
        bring(&mut client, 13, &group(version, 1, 7, &[b"more7"]));
        assert_eq!(outputs(&mut client), [Output::Stop(13)], "it comes by the new one");
        bring(&mut client, 15, &group(version, 2, 7, &[b"more7"]));
        let replaced = [
            Output::Write(2, version.update(Track::More)),
            Output::Leave(1),
            Output::Stop(3),
            Output::Stop(7),
            Output::Event(bytes(Track::More, 7, 0, "more7")),
        ];
        assert_eq!(outputs(&mut client), replaced);
        client.renew(Track::More, 5);
        let subscribe = version.subscribe(3, "garden", Track::More, Some(8));
        assert_eq!(outputs(&mut client), [Output::Request(3, subscribe)], "after the newest group that came");
        client.leave(Track::More);
        assert_eq!(outputs(&mut client), [Output::Leave(2), Output::Stop(15), Output::Leave(3)]);
    }
}

#[test]
fn the_old_subscription_goes_on_if_the_relay_refuses_the_new_one() {
    for version in Version::ALL {
        let mut client = reading(version, &[Track::More]);
        bring(&mut client, 3, &group(version, 0, 5, &[b"more5"]));
        client.renew(Track::More, 7);
        outputs(&mut client);
        bring(&mut client, 7, &group(version, 0, 8, &[b"more8"]));
        bring(&mut client, 11, &group(version, 1, 8, &[b"more8"]));
        client.handle_request_end(1);
        outputs(&mut client);
        bring(&mut client, 15, &group(version, 0, 9, &[b"more9"]));
        assert_eq!(outputs(&mut client), [Output::Event(bytes(Track::More, 9, 0, "more9"))], "it has no last group");
        client.renew(Track::More, 9);
        assert!(matches!(&outputs(&mut client)[..], [Output::Request(2, _)]));
        client.handle_request_end(0);
        assert_eq!(outputs(&mut client), [], "the new one is left");
        client.handle_request_end(2);
        assert_eq!(outputs(&mut client), [Output::TrackEnd(Track::More)]);
    }
}

#[test]
fn packets_of_sound_come_whole_and_are_short() {
    for version in Version::ALL {
        let mut client = reading(version, &[Track::Sound]);
        let stream = group(version, 0, 9, &[b"one", b"two"]);
        bring(&mut client, 3, &stream[..stream.len() - 1]);
        assert_eq!(events(&mut client), [Event::Sound(Bytes::from_static(b"one"))]);
        client.handle_bytes(3, Bytes::from_static(b"o"));
        assert_eq!(events(&mut client), [Event::Sound(Bytes::from_static(b"two"))]);
        let first = if version == Version::Six { 7 } else { 0 };
        bring(&mut client, 5, &[head(version, 0, 11, first), object(b"without those before it")].concat());
        assert_eq!(events(&mut client), [Event::Sound(Bytes::from_static(b"without those before it"))]);
        bring(&mut client, 7, &group(version, 0, 10, &[&[0; MAX_SOUND_OBJECT_BYTES + 1]]));
        assert_eq!(outputs(&mut client), [Output::Stop(7)]);
    }
}

#[test]
fn a_hostile_relay_costs_little() {
    for version in Version::ALL {
        let mut client = Client::new(version, "garden".to_owned());
        bring(&mut client, 3, &[&head(version, 0, 0, 0)[..], &object(&[b' '; MAX_CATALOG_BYTES + 1])].concat());
        let outputs_of = |client: &mut Client| outputs(client).split_off(2);
        assert_eq!(outputs_of(&mut client), [Output::Unusable(Fault::CatalogTooLong), Output::Stop(3)]);

        let mut client = reading(version, &[Track::Base, Track::More]);
        let wrong: [&[u8]; 4] = [&[0, 1, 0x40], &[0, 0], &head(version, 99, 1, 0), &head(version, 1, 1, 2)];
        // Version 5 has no field for the group's first object, so its last head is that of a whole group.
        let count = if version == Version::Six { 4 } else { 3 };
        for (stream, bytes) in (100..).zip(wrong).take(count) {
            bring(&mut client, stream, bytes);
            let ended = outputs(&mut client);
            let is_read = client.streams.iter().any(|open| open.stream == stream);
            assert!(ended.last() == Some(&Output::Stop(stream)) || is_read && ended.is_empty(), "{bytes:?}: {ended:?}");
        }
        let groups = u64::try_from(MAX_GROUPS).expect("small");
        (0..groups).for_each(|number| bring(&mut client, 200 + number, &head(version, 1, 10 + number, 0)));
        outputs(&mut client);
        bring(&mut client, 300, &head(version, 1, 10 + groups, 0));
        assert_eq!(outputs(&mut client), [Output::Stop(300)], "too many groups at once");

        client.leave(Track::More);
        client.read(Track::More);
        outputs(&mut client);
        let mut endless = head(version, 2, 7, 0);
        endless.extend_from_slice(&[0xFF; 16]);
        bring(&mut client, 301, &endless);
        let mebibyte = Bytes::from(vec![0; 1 << 20]);
        let before_stop = (0..40).take_while(|_| {
            client.handle_bytes(301, mebibyte.clone());
            !outputs(&mut client).contains(&Output::Stop(301))
        });
        assert_eq!(before_stop.count(), 31);
        assert_eq!(client.open_bytes, client.streams.iter().map(|stream| stream.bytes).sum::<u64>());

        let mut stream = vec![0x40; 200];
        stream[0] = 0;
        bring(&mut client, 302, &stream);
        client.handle_opened(303);
        for _ in 0..200 {
            client.handle_bytes(303, Bytes::from_static(&[0x80]));
        }
        assert!(client.streams.iter().all(|stream| stream.head.len() <= MAX_HEAD_BYTES));
        for number in 0..1000 {
            client.handle_end(number, false);
        }
        assert_eq!((client.open_bytes, client.streams.len()), (0, 0));
    }
}
