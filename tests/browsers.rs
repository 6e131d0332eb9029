//! Broadcasts to browsers. A page gets what a native receiver gets. The sender refuses hostile pages and peers and
//! tells them why. Certificates change while a broadcast runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Decoder, Encoder, Picture};
use nestcast_encode::PictureEncoding;
use nestcast_lab::link::{Link, Relay};
use nestcast_models::{Package, PackageError};
use nestcast_proto::{Close, Code, PackageHash};
use nestcast_receiver::{Announcement, Decoding, Shown, Viewer, view};
use nestcast_sender::{Authorizer, Broadcast, Browsers, FrameSource, LiveSource, SenderConfig, SharedToken};
use nestcast_tests::broadcasts::{Plan, Running, config, decoding, eventually, identity};
use nestcast_tests::hostile_receiver::{HostileReceiver, hello};
use nestcast_tests::page::{Browser, REQUEST, frame, opening, request};
use nestcast_tests::still_frames::StillFrames;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Returns the settings that admit browsers.
fn browsers() -> Browsers {
    Browsers::default()
}

/// Broadcasts `source`, to browsers too.
fn start(browsers: Browsers, token: Option<&'static [u8]>, source: impl FrameSource) -> Running {
    let config = SenderConfig::new(([127, 0, 0, 1], 0).into(), identity());
    let token = token.map(|token| Arc::new(SharedToken(Bytes::from_static(token))) as Arc<dyn Authorizer>);
    let authorizers = token.into_iter().collect();
    let config = SenderConfig { browsers: Some(browsers), authorizers, max_receivers: 2, ..config };
    Running::run(Broadcast::listen(config, source).expect("a free port"))
}

/// Returns the same frame for a minute.
fn still() -> StillFrames {
    StillFrames::new(4000, 400, Duration::from_secs(60))
}

/// Keeps the pictures that are shown, with their numbers and the bytes that arrived.
struct Keeper(Sender<((u64, usize), Picture)>);

impl Viewer for Keeper {
    type Error = PackageError;

    fn handle_announcement(&mut self, _: &Announcement) -> Result<Option<Decoding>, PackageError> {
        Ok(Some(decoding(&Package::builtin("photo")?)))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), PackageError> {
        // A test that has seen enough no longer listens.
        let _ = self.0.send(((shown.id, shown.bytes), shown.picture.clone()));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_decodes_the_pictures_of_a_native_receiver() {
    let identity = identity();
    let mut plan = Plan::new(&identity);
    plan.browsers = Some(browsers());
    let broadcast = Running::start(plan);
    let (seen, seeing) = channel();
    let (enough, is_enough) = tokio::sync::oneshot::channel();
    let native =
        tokio::spawn(view(config(broadcast.address, &identity), Keeper(seen), async { drop(is_enough.await) }));
    let page = Browser::connect(broadcast.address).await.session().await;
    let mut count = 0;
    let (welcome, came, _) = page
        .watch(b"", |arrived| {
            count += u32::from(arrived.header.full == arrived.prefix.len() as u64);
            count >= 20
        })
        .await;
    enough.send(()).expect("it receives");
    native.await.expect("no panic").expect("it leaves");
    let seen: BTreeMap<_, _> = seeing.try_iter().collect();
    let package = Package::builtin("photo").expect("it is built in");
    assert_eq!(welcome.expect("a welcome").package.0, package.hash());
    let mut same = 0;
    for arrived in came {
        let Some(native) = seen.get(&(arrived.header.id, arrived.prefix.len())) else { continue };
        let mut decoder = Decoder::new(package.linear(1));
        decoder.push(&arrived.prefix).expect("a sound frame");
        let picture = decoder.render().expect("a picture");
        assert!(picture == *native, "picture {}", arrived.header.id);
        same += 1;
    }
    assert!(same >= 10, "{same} of the pictures were shown by both");
    let receivers = broadcast.monitor.read();
    assert_eq!((receivers.accepted, receivers.refused()), (2, 0));
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_native_receivers_get_the_broadcast_that_they_name() {
    let identity = identity();
    let name = |text: &str| text.parse().expect("a name");
    let plan = |width| Plan { size: (width, 48), browsers: Some(browsers()), ..Plan::new(&identity) };
    let pictures = plan(96).pictures();
    let package = Package::builtin("photo").expect("it is built in");
    let encoder = Encoder::new(package.linear(1));
    let encoding = PictureEncoding::new(pictures.format(), PackageHash(package.hash()), encoder);
    let other = LiveSource::new(pictures, encoding);
    let broadcast = plan(64).listen().named(name("cam1")).with_source(name("cam2"), other);
    let monitors = broadcast.monitors();
    let broadcast = Running::run(broadcast);
    for (text, width) in [("cam1", 64), ("cam2", 96)] {
        let page = Browser::connect(broadcast.address).await.session().await;
        let mut count = 0;
        let (welcome, ..) = page
            .watch_named(text, b"", |_| {
                count += 1;
                count >= 3
            })
            .await;
        assert_eq!(welcome.expect("a welcome").width, width, "{text}");
        let mut native = config(broadcast.address, &identity);
        native.broadcast = name(text);
        let (seen, seeing) = channel();
        let (enough, is_enough) = tokio::sync::oneshot::channel();
        let watching = tokio::spawn(view(native, Keeper(seen), async { drop(is_enough.await) }));
        let (_, picture) =
            tokio::task::spawn_blocking(move || seeing.recv().expect("a picture")).await.expect("no panic");
        assert_eq!(picture.size().width(), width as usize, "{text}");
        enough.send(()).expect("it receives");
        watching.await.expect("no panic").expect("it leaves");
        assert_eq!(monitors[&name(text)].read().accepted, 2, "{text}");
    }
    for text in ["", "cam3"] {
        let page = Browser::connect(broadcast.address).await.session().await;
        let (_, _, close) = page.watch_named(text, b"", |_| false).await;
        assert_eq!(close.expect("a close").0, Code::NoBroadcast, "{text}");
    }
    assert_eq!(monitors[&name("cam1")].read().refusals.get("no_broadcast"), Some(&2));
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_why_a_session_ends() {
    let broadcast = start(browsers(), Some(b"secret"), StillFrames::new(4000, 400, Duration::from_secs(2)));
    let address = broadcast.address;
    let refused = Browser::connect(address).await.session().await.watch(b"wrong", |_| false).await;
    assert_eq!(refused.2.expect("a close"), (Code::Token, "the token is missing or wrong".to_owned()));
    let watch = async || Browser::connect(address).await.session().await.watch(b"secret", |_| false).await;
    let (first, second, third) = tokio::join!(watch(), watch(), watch());
    let mut codes = [first, second, third].map(|(_, came, close)| (close.map(|close| close.0), came.len()));
    codes.sort_by_key(|(_, count)| *count);
    assert_eq!(codes[0], (Some(Code::Full), 0), "there are two places");
    assert!(codes[1..].iter().all(|(code, count)| *code == Some(Code::Done) && *count > 20), "{codes:?}");
    let refusals = broadcast.monitor.read().refusals;
    assert_eq!(refusals.into_iter().collect::<Vec<_>>(), [("full", 1), ("token", 1)]);
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_the_end_though_the_window_is_full() {
    let identity = identity();
    let plan = Plan { size: (320, 240), browsers: Some(browsers()), ..Plan::new(&identity) };
    let broadcast = Running::start(plan);
    let link = Link::constant(500_000).with_rtt(Duration::from_millis(50));
    let relay = Relay::start(broadcast.address, link).await.expect("free ports");
    let page = Browser::connect(relay.address()).await.session().await;
    let watching = tokio::spawn(page.watch(b"", |_| false));
    let monitor = broadcast.monitor.clone();
    let is_full = move || {
        let receivers = monitor.read().receivers;
        receivers
            .iter()
            .any(|receiver| receiver.sent.frames > 10 && 2 * receiver.path.in_flight >= receiver.path.window)
    };
    eventually("the path is full", is_full).await;
    broadcast.stop().await;
    let (_, _, close) = watching.await.expect("no panic");
    assert_eq!(close.expect("a close").0, Code::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_pages_join_at_once() {
    let identity = identity();
    let plan = Plan { size: (64, 48), browsers: Some(browsers()), ..Plan::new(&identity) };
    let broadcast = Running::start(plan);
    let address = broadcast.address;
    let mut pages = JoinSet::new();
    for _ in 0..100 {
        pages.spawn(async move {
            let page = Browser::connect(address).await.session().await;
            let mut count = 0;
            page.watch(b"", |_| {
                count += 1;
                count == 3
            })
            .await
        });
    }
    let watched = pages.join_all().await;
    assert!(watched.iter().all(|(welcome, came, close)| welcome.is_some() && came.len() == 3 && close.is_none()));
    let figures = broadcast.monitor.read();
    assert_eq!((figures.accepted, figures.refused()), (100, 0));
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_leaves_makes_room() {
    let broadcast = start(browsers(), None, still());
    for _ in 0..4 {
        let page = Browser::connect(broadcast.address).await.session().await;
        let (mut control, _answers) = page.open_control().await;
        control.write_all(&hello(b"")).await.expect("the session is open");
        let monitor = broadcast.monitor.clone();
        eventually("it watches", move || monitor.read().receivers.len() == 1).await;
        page.close(Close { code: Code::Done, why: "enough" }).await;
        let monitor = broadcast.monitor.clone();
        eventually("it left", move || monitor.read().receivers.is_empty()).await;
    }
    broadcast.stop().await;
}

/// Returns the code with which a sender closes a connection whose streams begin with these bytes.
async fn refused(address: SocketAddr, streams: &[Vec<u8>], asked: Option<&[u8]>) -> u64 {
    let mut browser = Browser::connect_silent(address).await;
    for stream in streams {
        browser.open(stream).await;
    }
    if let Some(request) = asked {
        let (mut outgoing, _incoming) = browser.connection.open_bi().await.expect("a stream");
        let _ = outgoing.write_all(request).await;
        return browser.close_code().await.0;
    }
    browser.close_code().await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_browsers_are_refused_and_told() {
    let broadcast = start(Browsers { origins: vec!["http://localhost:8080".to_owned()], ..browsers() }, None, still());
    let address = broadcast.address;
    let [control, ..] = opening();
    let giant = vec![0, 4, 0x80, 0xFF, 0xFF, 0xFF];
    assert_eq!(refused(address, &[giant], None).await, 0x107, "settings of 16 MB");
    assert_eq!(refused(address, &[vec![0, 13, 1, 0]], None).await, 0x10A, "no settings");
    assert_eq!(refused(address, &[control.clone(), control], None).await, 0x103, "two control streams");
    assert_eq!(refused(address, &[], Some(&frame(0, b"data"))).await, 0x105, "data before a request");
    assert_eq!(refused(address, &[], Some(&frame(1, &[0xFF; 64]))).await, 0x200, "no fields");
    assert_eq!(refused(address, &[], Some(&[1, 0x80, 0xFF, 0xFF, 0xFF])).await, 0x107, "fields of 16 MB");
    assert_eq!(refused(address, &[], None).await, 0x107, "no request in time");
    for (change, status) in [
        ((":path", "/admin"), "404"),
        ((":method", "GET"), "405"),
        ((":protocol", "websocket"), "501"),
        (("origin", "https://other.example"), "403"),
    ] {
        let fields = REQUEST.map(|field| if field.0 == change.0 { change } else { field });
        let browser = Browser::connect(address).await;
        let answered = browser.ask(&request(&fields)).await.expect("an answer");
        assert_eq!(answered.2, status, "{change:?}");
        assert_eq!(browser.close_code().await.0, 0x100);
    }
    assert_eq!(broadcast.monitor.read().refusals.into_iter().collect::<Vec<_>>(), [("handshake", 11)]);
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_one_session_and_that_one_control_stream() {
    let broadcast = start(browsers(), None, still());
    let page = Browser::connect(broadcast.address).await.session().await;
    let (mut second, _incoming) = page.browser.connection.open_bi().await.expect("a stream");
    let _ = second.write_all(&request(&REQUEST)).await;
    assert_eq!(page.browser.close_code().await, (0x10B, "a connection has one session".to_owned()));

    let page = Browser::connect(broadcast.address).await.session().await;
    let (mut other, _incoming) = page.browser.connection.open_bi().await.expect("a stream");
    let _ = other.write_all(&[0x40, 0x41, 8]).await;
    assert_eq!(page.browser.close_code().await.0, 0x108, "of another session");

    // Thousands of streams would be: the sender grants no third stream while two are open.
    let page = Browser::connect(broadcast.address).await.session().await;
    let _control = page.open_control().await;
    let more = timeout(Duration::from_millis(300), page.browser.connection.open_bi()).await;
    assert!(more.is_err(), "two streams are granted");
    let more = timeout(Duration::from_millis(300), page.browser.connection.open_uni()).await;
    assert!(more.is_err(), "and three the other way");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_native_receiver_has_one_stream_beside_browsers_and_alone() {
    for with_browsers in [true, false] {
        let identity = identity();
        let mut plan = Plan::new(&identity);
        plan.browsers = with_browsers.then(browsers);
        let broadcast = Running::start(plan);
        let mut receiver = HostileReceiver::connect(broadcast.address, 1 << 20).await;
        receiver.say(&hello(b"")).await;
        receiver.welcome().await;
        let more = timeout(Duration::from_millis(300), receiver.connection.open_uni()).await;
        assert_eq!(more.is_ok(), with_browsers, "what a connection may open is said before it says what it is");
        if let Ok(more) = more {
            more.expect("a stream").write_all(b"hm").await.expect("it is open");
            assert_eq!(receiver.close_code().await.expect("a code"), Code::Violation);
        }
        let refused = Browser::try_connect(broadcast.address).await;
        assert_eq!(refused.is_ok(), with_browsers, "{refused:?}");
        broadcast.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_shown_a_new_certificate_while_the_broadcast_runs() {
    let identity = identity();
    let mut plan = Plan::new(&identity);
    plan.browsers = Some(Browsers { validity: Some(Duration::from_secs(2)), ..browsers() });
    let listening = plan.listen();
    let mut certificate = listening.browser_certificate();
    let first = certificate.made().expect("one is made").0;
    let broadcast = Running::run(listening);
    let shown = Browser::connect_silent(broadcast.address).await.fingerprint();
    assert_eq!(shown, first.to_string());
    timeout(Duration::from_secs(60), certificate.changed()).await.expect("another is made");
    let second = certificate.made().expect("one is made").0;
    assert_ne!(first, second);
    // The certificate of receivers stays.
    let native = HostileReceiver::connect(broadcast.address, 1 << 20).await;
    let chain = native.connection.peer_identity().expect("a certificate");
    let chain = chain.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>().expect("a chain");
    let hash = |der: &[u8]| -> String {
        use sha2::Digest as _;
        sha2::Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    assert_eq!(hash(&chain[0]), identity.fingerprint().to_string());
    broadcast.stop().await;
}
