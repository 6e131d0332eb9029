//! A relayed broadcast through the viewer's network, as the page drives it: the bytes of moq-lite in, mail for the screen
//! and messages out. Also tests what a hostile relay can do to it.

use std::collections::BTreeSet;

use bytes::{BufMut as _, Bytes, BytesMut};
use nestcast_proto::{
    BroadcastName, Code, FrameHeader, FrameRate, Message, PackageHash, Sound, SoundPacket, StreamHead, Video, Welcome,
    put_bytes, put_varint,
};
use nestcast_relayed::catalog::{Entry, TRACK_PACKAGING};
use nestcast_relayed::{Track, Version, wire};
use nestcast_web::{Mail, Network, PAGE_FILES, Record, Step};

const NOW: f64 = 1_795_000_000_000.0;
const RTT: f64 = 40.0;
/// Bytes of a base layer, and of a frame.
const BASE: usize = 40;
const FULL: usize = 3000;

fn welcome() -> Welcome {
    Welcome {
        model: [1; 6],
        package: PackageHash([0; 32]),
        width: 64,
        height: 32,
        rate: FrameRate::new(30, 1).expect("a rate"),
        video: Some(Video::new([2; 6])),
    }
}

fn entries(welcome: &Welcome) -> Vec<Entry> {
    let entry = |track: Track, init_data| Entry {
        name: track.name().to_owned(),
        packaging: TRACK_PACKAGING.to_owned(),
        init_data,
    };
    vec![
        entry(Track::Base, Message::Welcome { version: 1, welcome: welcome.clone() }.encode()),
        entry(Track::More, Bytes::new()),
        entry(Track::Join, Bytes::new()),
        entry(Track::Sound, Message::Sound(Sound::Mono).encode()),
    ]
}

/// A relay as far as the viewer sees it.
struct Relay {
    network: Network,
    now: f64,
    /// The subscription of each track.
    requests: Vec<(Track, u64)>,
    stopped: Vec<u64>,
    steps: Vec<Step>,
}

impl Relay {
    /// Connects, and gives the catalog.
    fn connected() -> Self {
        let mut relay = Self::begun();
        relay.bring(Track::Catalog, 0, &[b"{}"]);
        assert!(matches!(relay.steps[..], [.., Step::Catalog(_)]), "{:?}", relay.steps);
        assert_eq!(relay.network.handle_catalog(relay.now, RTT, Some((1, &entries(&welcome())))), None);
        relay.drive();
        let Some(Step::Welcome(ahead)) = relay.steps.iter().find(|step| matches!(step, Step::Welcome(_))) else {
            panic!("{:?}", relay.steps)
        };
        assert!(ahead.abs() < 1.0, "the publisher's clock is taken for this one's: {ahead}");
        relay.network.handle_ready(relay.now);
        relay.drive();
        relay
    }

    fn begun() -> Self {
        let mut network = Network::new(NOW, Network::hello(b"", 0, BroadcastName::default()));
        network.handle_relay(Version::Six, "garden".to_owned());
        let mut relay = Self { network, now: NOW, requests: Vec::new(), stopped: Vec::new(), steps: Vec::new() };
        relay.drive();
        assert_eq!(relay.steps[..1], [Step::Setup(Version::Six.setup())]);
        relay
    }

    fn drive(&mut self) {
        while let Some(step) = self.network.poll(self.now) {
            match &step {
                Step::Request(number, bytes) => {
                    let (track, same) = wire::subscription(bytes).flatten().expect("a subscription");
                    assert_eq!(same, *number);
                    self.requests.push((track, *number));
                }
                Step::Leave(number) => self.requests.retain(|(_, request)| request != number),
                Step::Stop(stream) => self.stopped.push(*stream),
                _ => {}
            }
            self.steps.push(step);
        }
    }

    fn tracks(&self) -> Vec<Track> {
        self.requests.iter().map(|(track, _)| *track).collect()
    }

    /// Returns the bytes of a group's stream.
    fn group(&self, track: Track, number: u64, objects: &[&[u8]]) -> Bytes {
        let request = self.requests.iter().find(|(read, _)| *read == track).map_or(9999, |(_, number)| *number);
        let (mut head, mut stream) = (BytesMut::new(), BytesMut::new());
        [request, number, 0].into_iter().for_each(|value| put_varint(&mut head, value));
        stream.put_u8(0);
        put_bytes(&mut stream, &head);
        stream.extend_from_slice(&written(objects));
        stream.freeze()
    }

    /// Brings more objects of a group.
    fn go_on(&mut self, stream: u64, objects: &[&[u8]]) {
        self.network.handle_stream_bytes(self.now, stream, written(objects));
        self.drive();
    }

    /// Brings a group, in two parts, without its end. Returns the stream's number.
    fn begin(&mut self, track: Track, number: u64, objects: &[&[u8]]) -> u64 {
        let mut bytes = self.group(track, number, objects);
        let stream = self.network.handle_opened();
        let start = bytes.split_to(bytes.len() / 3);
        for part in [start, bytes] {
            self.network.handle_stream_bytes(self.now, stream, part);
            self.drive();
        }
        stream
    }

    fn bring(&mut self, track: Track, number: u64, objects: &[&[u8]]) {
        let stream = self.begin(track, number, objects);
        self.network.handle_stream_end(self.now, stream, true);
        self.drive();
    }

    /// Returns the frames that the screen gets: number and bytes.
    fn frames(&mut self) -> Vec<(u64, usize)> {
        let frame = |record| match record {
            Record::Frame(frame) => Some((frame.header.id, frame.prefix.len())),
            _ => None,
        };
        Mail::open(self.network.take_mail()).expect("mail").into_iter().filter_map(frame).collect()
    }
}

/// Returns the bytes of objects.
fn written(objects: &[&[u8]]) -> Bytes {
    let mut bytes = BytesMut::new();
    for object in objects {
        put_varint(&mut bytes, 7);
        put_bytes(&mut bytes, object);
    }
    bytes.freeze()
}

/// Returns the object of a base layer; of a random-access frame, so that a decoder could begin with it.
fn base(id: u64) -> Vec<u8> {
    let header = FrameHeader { id, skipped: 0, captured: 0, full: FULL as u64, base: BASE as u64 };
    // The flag of a frame that needs no other, and numbers.
    [&StreamHead::Frame(header).encode()[..], &[0x80], &[1; BASE - 1]].concat()
}

#[test]
fn frames_are_put_together_and_cut_by_the_viewer() {
    let mut relay = Relay::connected();
    assert_eq!(relay.tracks(), [Track::Base, Track::Join], "nothing else before a random-access frame");
    let group = relay.begin(Track::Base, 1000, &[&base(0)]);
    relay.bring(Track::Join, 1000, &[&base(0), &[2; FULL - BASE]]);
    assert_eq!(relay.tracks(), [Track::Base, Track::More]);
    relay.go_on(group, &[&base(1), &base(2)]);
    let more = relay.begin(Track::More, 1001, &[&[3; 500]]);
    relay.now += 33.0;
    let next = relay.begin(Track::More, 1002, &[&[3; 700]]);
    assert_eq!(relay.stopped, [more], "the rest of the next frame is there");
    relay.now += 200.0;
    relay.drive();
    assert_eq!(relay.stopped, [more, next], "no frame follows");
    assert_eq!(relay.frames(), [(0, FULL), (1, BASE + 500), (2, BASE + 700)]);
    assert!(!relay.stopped.contains(&group));
    relay.now += 1.0;
    relay.bring(Track::More, 1001, &[b"late"]);
    assert_eq!((relay.stopped.len(), relay.frames()), (3, Vec::new()));
}

#[test]
fn a_lost_base_layer_brings_another_random_access_frame() {
    let mut relay = Relay::connected();
    relay.bring(Track::Base, 1000, &[&base(0)]);
    relay.bring(Track::Join, 1000, &[&base(0), &[2; FULL - BASE]]);
    assert_eq!(relay.tracks(), [Track::Base, Track::More]);
    relay.bring(Track::Base, 1002, &[&base(2)]);
    relay.now += 1500.0;
    relay.drive();
    assert_eq!(relay.tracks(), [Track::Base, Track::Join], "{:?}", relay.steps);
}

#[test]
fn the_subscription_to_the_rest_of_frames_is_renewed() {
    let mut relay = Relay::connected();
    let group = relay.begin(Track::Base, 1000, &[&base(0)]);
    relay.bring(Track::Join, 1000, &[&base(0), &[2; FULL - BASE]]);
    let [(_, _), (Track::More, old)] = relay.requests[..] else { panic!("{:?}", relay.requests) };
    relay.begin(Track::More, 1001, &[&[3; 500]]);
    let mut newest = 1000;
    while relay.requests.len() == 2 && relay.now < NOW + 600.0 {
        newest += 1;
        relay.now += 30.0;
        relay.go_on(group, &[&base(newest - 1000)]);
    }
    let [_, _, (Track::More, new)] = relay.requests[..] else { panic!("{:?}", relay.requests) };
    let subscribe = Version::Six.subscribe(new, "garden", Track::More, Some(newest + 1));
    assert!(relay.steps.contains(&Step::Request(new, subscribe)), "after the newest base layer: {:?}", relay.steps);
    assert!(!relay.steps.contains(&Step::Leave(old)));
    // The next group comes by the new one.
    relay.requests.retain(|(_, request)| *request != old);
    relay.begin(Track::More, newest + 1, &[&[3; 500]]);
    assert!(relay.steps.contains(&Step::Leave(old)), "the new one has begun: {:?}", relay.steps);
}

#[test]
fn the_last_frames_of_a_broadcast_are_shown() {
    let mut relay = Relay::connected();
    relay.begin(Track::Base, 1000, &[&base(0)]);
    relay.bring(Track::Join, 1000, &[&base(0), &[2; FULL - BASE]]);
    let group = relay.begin(Track::Base, 1001, &[&base(1)]);
    relay.begin(Track::More, 1001, &[&[3; 500]]);
    relay.network.handle_stream_end(relay.now, group, true);
    relay.network.handle_request_end(relay.requests[0].1);
    relay.drive();
    let Some(Step::Unusable { why, may_retry: true }) = relay.steps.last() else { panic!("{:?}", relay.steps) };
    assert!(why.contains("ended"), "{why}");
    assert_eq!(relay.frames(), [(0, FULL), (1, BASE + 500)]);
}

#[test]
fn the_page_names_the_versions_of_the_module() {
    let file = |name: &str| {
        let file = PAGE_FILES.iter().find(|file| file.name == name).expect("a file of the page");
        str::from_utf8(file.bytes).expect("text")
    };
    let names = Version::ALL.map(Version::name);
    let list = format!("const VERSIONS = ['{}'];", names.join("', '"));
    assert!(file("relay.js").contains(&list), "{list}");
    let words = format!("This viewer speaks {}.", names.join(" and "));
    assert!(file("player.js").contains(&words), "{words}");
}

#[test]
fn sound_is_read_while_the_user_wants_it() {
    let mut relay = Relay::connected();
    assert!(relay.steps.contains(&Step::Sound(Sound::Mono)));
    relay.network.handle_sound_wanted(relay.now, true);
    relay.drive();
    assert_eq!(relay.tracks(), [Track::Base, Track::Join, Track::Sound]);
    let packet = SoundPacket { number: 5, captured: 0, bytes: Bytes::from_static(b"opus") };
    relay.bring(Track::Sound, 64, &[&StreamHead::sound_stream(&packet)]);
    let records = Mail::open(relay.network.take_mail()).expect("mail");
    assert!(records.contains(&Record::Sound(packet)), "{records:?}");
    relay.network.handle_sound_wanted(relay.now, false);
    relay.drive();
    assert_eq!(relay.tracks(), [Track::Base, Track::Join]);
}

#[test]
fn what_is_wrong_is_said_in_words() {
    let unusable = |step: Option<Step>| match step {
        Some(Step::Unusable { why, may_retry }) => (why, may_retry),
        other => panic!("{other:?}"),
    };
    let mut relay = Relay::begun();
    relay.network.handle_request_end(0);
    assert!(unusable(relay.network.poll(NOW)).1, "no such broadcast");
    assert_eq!((relay.network.poll(NOW), relay.network.poll_timeout()), (None, None));
    let mut relay = Relay::begun();
    assert_eq!(relay.network.poll_timeout(), Some(NOW + 5000.0));
    let (why, may_retry) = unusable(relay.network.poll(NOW + 5000.0));
    assert!(may_retry && why.contains("no catalog"), "{why}");
    for (catalog, words) in [
        (None, "damaged"),
        (Some((2, &entries(&welcome())[..])), "version 2"),
        (Some((1, &entries(&welcome())[1..])), "no broadcast of nestcast"),
    ] {
        let (why, may_retry) = unusable(Relay::begun().network.handle_catalog(NOW, RTT, catalog));
        assert!(!may_retry && why.contains(words), "{why}");
    }
    let mut relay = Relay::begun();
    let pictures = entries(&Welcome { video: None, ..welcome() });
    assert_eq!(relay.network.handle_catalog(NOW, RTT, Some((1, &pictures))), None);
    let step = std::iter::from_fn(|| relay.network.poll(NOW)).find(|step| matches!(step, Step::Unusable { .. }));
    assert!(unusable(step).0.contains("relays carry video alone"));
    let mut relay = Relay::connected();
    let base = relay.requests[0].1;
    relay.network.handle_request_end(base);
    let (why, may_retry) = unusable(relay.network.poll(NOW));
    assert!(may_retry && why.contains("ended"), "another may follow: {why}");
}

/// Pseudorandom numbers, the same at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).expect("an index")
    }
}

#[test]
fn a_relay_that_repeats_reorders_and_lies_costs_frames_alone() {
    let mut random = Random(1);
    let mut shown = 0;
    for _ in 0..40 {
        let mut relay = Relay::connected();
        relay.steps.clear();
        let (mut all, mut open) = (Vec::<u64>::new(), BTreeSet::<u64>::new());
        for _ in 0..200 {
            let track = Track::ALL[random.index(5)];
            let number = 1000 + random.below(20);
            let mut bytes =
                relay.group(track, number, &[&base(number - 1000), &[2; 100], &base(number - 999)]).to_vec();
            if random.below(3) == 0 {
                let at = random.index(bytes.len());
                bytes[at] = random.below(256).to_le_bytes()[0];
            }
            bytes.truncate(1 + random.index(2 * bytes.len()));
            all.push(relay.network.handle_opened());
            open.extend(all.last());
            let stream = all[random.index(all.len())];
            relay.network.handle_stream_bytes(relay.now, stream, bytes.into());
            relay.drive();
            if random.below(3) > 0 && open.contains(&stream) && !relay.stopped.contains(&stream) {
                open.remove(&stream);
                relay.network.handle_stream_end(relay.now, stream, random.below(2) == 0);
            }
            relay.now += 10.0;
            relay.drive();
            for stopped in relay.stopped.drain(..) {
                assert!(open.remove(&stopped), "stream {stopped} is not open");
            }
        }
        for step in &relay.steps {
            match step {
                Step::Unusable { why, .. } => panic!("{why}"),
                Step::Close { code, why, .. } => assert_eq!(*code, Code::Violation, "{why}"),
                _ => {}
            }
        }
        let frames = relay.frames();
        assert!(frames.is_sorted_by(|(before, _), (id, _)| before < id), "{frames:?}");
        shown += frames.len();
    }
    assert!(shown > 0, "some of it is a broadcast");
}
