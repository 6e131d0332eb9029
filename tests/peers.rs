//! Peers that a sender should survive: garbage, other versions, many streams and handshakes, silence, bad links. Also
//! what good peers rely on: certificates, a model, an end.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{Channels, Format, FrameRate, ModelId, Size};
use nestcast_encode::{PictureFormat, Pictures};
use nestcast_lab::link::{Link, Relay, Traffic};
use nestcast_models::{Package, PackageError};
use nestcast_proto::Code;
use nestcast_receiver::{Announcement, Decoding, Error, ReceiverConfig, Shown, Trust, Viewer, view};
use nestcast_sender::Identity;
use nestcast_tests::broadcasts::{
    self, PATIENCE, Plan, Running, config, count, count_frames, count_while, eventually, identity, see,
};
use nestcast_tests::hostile_receiver::{HostileReceiver, client, client_of_aes_256, endpoint, hello};
use nestcast_tests::pictures::{self, Content};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Sends `bytes` as the control stream's first; returns the resulting close code.
async fn say(address: SocketAddr, bytes: &[u8]) -> Code {
    let mut receiver = HostileReceiver::connect(address, 1 << 20).await;
    receiver.say(bytes).await;
    receiver.close_code().await.expect("a close code")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_hello_is_answered_with_a_close_code_that_is_counted() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let address = broadcast.address;
    let mut other = hello(b"").to_vec();
    other[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(say(address, &other).await, Code::Version);
    let whole = hello(b"");
    let late = say(address, &whole[..5]);
    let garbage: Vec<u8> = (0..2000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0]).collect();
    for bytes in [&[9, 0][..], &[1, 0], &[2, 1, 1], &garbage, &[0xFF; 64], &[&hello(b"")[..], &hello(b"")].concat()] {
        assert_eq!(say(address, bytes).await, Code::Violation, "{bytes:?}");
    }
    assert_eq!(late.await, Code::Slow, "a part of a hello");
    let refusals = broadcast.monitor.read().refusals;
    assert_eq!(refusals.into_iter().collect::<Vec<_>>(), [("slow", 1), ("version", 1), ("violation", 6)]);
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packet_is_sealed_in_ten_rounds_and_who_has_only_the_cipher_of_fourteen_is_refused() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let connect = async |config| {
        let connecting = endpoint(Ipv4Addr::LOCALHOST, config).connect(broadcast.address, "localhost");
        connecting.expect("an address").await.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(connect(client(1 << 20)).await, Ok(()));
    let refused = connect(client_of_aes_256(1 << 20)).await.expect_err("there is no such cipher");
    assert!(refused.contains("error 40"), "handshake_failure (RFC 8446, section 6), not {refused}");
    broadcast.stop().await;
}

/// Starts a link to a broadcast that is as good as none.
async fn relay(broadcast: &Running) -> Relay {
    let link = Link::constant(1_000_000_000).with_rtt(Duration::ZERO);
    Relay::start(broadcast.address, link).await.expect("free ports")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_that_is_held_up_still_has_its_code() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let relay = relay(&broadcast).await;
    let mut strangers = Vec::new();
    for _ in 0..10 {
        strangers.push(HostileReceiver::connect(relay.address(), 1 << 20).await);
    }
    relay.set_traffic(Traffic::Held);
    for stranger in &mut strangers {
        stranger.say(&[9, 0]).await;
    }
    eventually("the sender closes them all", || broadcast.monitor.read().refused() == 10).await;
    // By then the sender may have forgotten them, and each has repeated what nobody acknowledged.
    sleep(Duration::from_secs(1)).await;
    relay.set_traffic(Traffic::Both);
    for stranger in &strangers {
        // On a busy machine one may have waited for longer than a hello may take.
        let code = stranger.close_code().await;
        assert!(matches!(code, Ok(Code::Violation | Code::Slow)), "{code:?}");
    }
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_gets_no_thousand_streams() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let mut receiver = HostileReceiver::connect(broadcast.address, 1 << 20).await;
    receiver.say(&hello(b"")).await;
    let connection = &receiver.connection;
    let opened = Arc::new(AtomicUsize::new(0));
    let mut asking = JoinSet::new();
    for _ in 0..1000 {
        let (connection, opened) = (connection.clone(), Arc::clone(&opened));
        asking.spawn(async move {
            // Either it does not open during the test, or the connection ends.
            let one = tokio::select! {
                control = connection.open_bi() => control.is_ok(),
                own = connection.open_uni() => own.is_ok(),
            };
            opened.fetch_add(usize::from(one), Ordering::Relaxed);
        });
    }
    count_frames(config(broadcast.address, &identity), 30).await.expect("others are served");
    assert_eq!(opened.load(Ordering::Relaxed), 0, "streams besides the one for control");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_reads_nothing_takes_no_more_than_its_buffer() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let address = broadcast.address;
    let mut deaf = Vec::new();
    for _ in 0..5 {
        let mut receiver = HostileReceiver::connect(address, 20_000).await;
        receiver.say(&hello(b"")).await;
        deaf.push(receiver);
    }
    // The tests of feeds measure in virtual time what it costs the other.
    count_frames(config(address, &identity), 60).await.expect("another is served");
    // Each holds only a few bases and what its receiver took.
    let held: Vec<_> = broadcast.monitor.read().receivers.iter().map(|receiver| receiver.sent.bytes).collect();
    assert!(held.len() >= 5 && held.iter().filter(|bytes| **bytes <= 20_000 + 8 * 1024).count() >= 5, "{held:?}");
    drop(deaf);
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_vanishes_is_forgotten() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let relay = relay(&broadcast).await;
    let (shows, shown) = oneshot::channel();
    let stay = async move |mut showing: watch::Receiver<u64>| {
        see(&mut showing, 1).await;
        shows.send(()).expect("the test waits");
        sleep(PATIENCE).await;
    };
    let lost = tokio::spawn(count_while(config(relay.address(), &identity), Instant::now(), stay));
    // Before its welcome, the receiver would report a sender that is too slow.
    shown.await.expect("a picture comes");
    relay.set_traffic(Traffic::Nothing);
    eventually("it is forgotten", || broadcast.monitor.read().receivers.is_empty()).await;
    assert!(matches!(lost.await.expect("no panic"), Err(Error::Lost { .. })));
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_receivers_over_a_lossy_path_get_their_frames() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let link = Link::constant(1_000_000_000).with_rtt(Duration::from_millis(50)).with_loss(10_000, 7);
    let relay = Relay::start(broadcast.address, link).await.expect("free ports");
    let receivers: Vec<_> = (0..20)
        .map(|_| {
            let mut config = config(relay.address(), &identity);
            config.max_bitrate = Some(nestcast_proto::Bitrate::from_bits(300_000));
            tokio::spawn(count_frames(config, 60))
        })
        .collect();
    for receiver in receivers {
        let received = receiver.await.expect("no panic").expect("it is served").received;
        assert!(received.shown >= 60 && received.useful <= received.bytes, "{received:?}");
    }
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_many_handshakes_addresses_are_validated_and_receivers_come_in() {
    let identity = identity();
    let broadcast = Running::start(Plan::new(&identity));
    let relay = relay(&broadcast).await;
    relay.set_traffic(Traffic::ToServer);
    let endpoint = endpoint(Ipv4Addr::LOCALHOST, client(1 << 20));
    let silent: Vec<_> =
        (0..80).map(|_| endpoint.connect(relay.address(), "localhost").expect("a valid name")).collect();
    eventually("addresses are validated", || broadcast.monitor.read().retries > 0).await;
    count_frames(config(broadcast.address, &identity), 10).await.expect("it comes in");
    drop(silent);
    broadcast.stop().await;
}

/// Makes a certificate for `localhost` that an authority signs, as PEM files: chain, key, the authority's own.
fn vouched(folder: &std::path::Path) -> [std::path::PathBuf; 3] {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("random")).expect("a certificate");
    let key = KeyPair::generate().expect("random");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let files = ["chain.pem", "key.pem", "authority.pem"].map(|name| folder.join(name));
    for (file, text) in files.iter().zip([certificate.pem(), key.serialize_pem(), authority.pem()]) {
        std::fs::write(file, text).expect("a new folder");
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_in_pem_files_are_trusted_by_their_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let [chain, key, authority] = vouched(folder.path());
    let identity = Identity::from_pem(&chain, &key).expect("sound files");
    let broadcast = Running::start(Plan::new(&identity));
    let mut config = config(broadcast.address, &identity);
    config.trust = Trust::Authorities(authority);
    // The certificate contains no address.
    for name in [config.name.clone(), "elsewhere".to_owned()] {
        let refused = count(ReceiverConfig { name, ..config.clone() }, Instant::now(), PATIENCE).await;
        assert!(matches!(refused, Err(Error::Untrusted { .. })), "{refused:?}");
    }
    config.name = "localhost".to_owned();
    count_frames(config.clone(), 10).await.expect("it is trusted");
    config.trust = Trust::Authorities(folder.path().join("key.pem"));
    assert!(count(config, Instant::now(), PATIENCE).await.is_err(), "a key is no authority");
    broadcast.stop().await;
}

/// Has no model, and accepts the one that arrives.
struct ModelFetcher(std::sync::mpsc::Sender<ModelId>);

impl Viewer for ModelFetcher {
    type Error = PackageError;

    fn handle_announcement(&mut self, _announced: &Announcement) -> Result<Option<Decoding>, PackageError> {
        Ok(None)
    }

    fn handle_package(&mut self, announced: &Announcement, package: Bytes) -> Result<Option<Decoding>, PackageError> {
        let package = Package::from_archive(&package, "sent")?;
        assert_eq!((package.id(), package.hash()), (announced.model, announced.package.0));
        Ok(Some(broadcasts::decoding(&package)))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), PackageError> {
        assert_eq!(shown.picture.channels(), Channels::Rgb);
        // A test that has seen enough no longer listens.
        let _ = self.0.send(ModelId([0; 6]));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_without_the_model_gets_it_and_then_frames() {
    let identity = identity();
    let broadcast = Running::start(Plan { give_model: true, ..Plan::new(&identity) });
    let mut config = config(broadcast.address, &identity);
    config.fetch_model = true;
    let (seen, seeing) = std::sync::mpsc::channel();
    let receiver = tokio::spawn(view(config, ModelFetcher(seen), std::future::pending()));
    let looking = tokio::task::spawn_blocking(move || (0..5).all(|_| seeing.recv_timeout(PATIENCE).is_ok()));
    assert!(looking.await.expect("no panic"), "frames are shown");
    broadcast.stop().await;
    receiver.await.expect("no panic").expect("the broadcast's end is no error");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_breaks_off_ends_the_broadcast_and_says_why() {
    let identity = identity();
    let rate = FrameRate::new(30, 1).expect("a valid rate");
    let size = Size::new(16, 16).expect("a valid size");
    let mut count = 0;
    let next = move |_| {
        count += 1;
        let height = if count < 5 { 16 } else { 8 };
        Ok(Some(pictures::picture(Content::Noise, 16, height, Channels::Rgb, 1)))
    };
    let source = Pictures::from_fn(PictureFormat::new(size, Format::Rgb, rate), next);
    let broadcast = Plan::new(&identity).listen_with(source);
    let ended = timeout(PATIENCE, broadcast.run(std::future::pending())).await.expect("it ends");
    let why = ended.expect_err("another size").to_string();
    assert!(why.contains("16x8") && why.contains("16x16"), "{why}");

    let frame = |name: &str| [&format!("YUV4MPEG2 {name} F30:1 Cmono\nFRAME\n").into_bytes()[..], &[7; 64]].concat();
    let again = move || Ok(std::io::Cursor::new(frame("W16 H4")));
    let first = std::io::Cursor::new(frame("W8 H8"));
    let source = Pictures::y4m("clip", 1000, None, first, Some(Box::new(again))).expect("y4m");
    let ended = timeout(PATIENCE, Plan::new(&identity).listen_with(source).run(std::future::pending())).await;
    let why = ended.expect("it ends").expect_err("another size").to_string();
    assert!(why.contains("clip") && why.contains("size"), "{why}");
}
