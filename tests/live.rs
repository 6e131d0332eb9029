//! A broadcast over loopback, with real QUIC: several receivers, wrong secrets, senders that come back.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Channels, Decoder, Encoder, ModelId, Size};
use nestcast_models::Package;
use nestcast_proto::{Bitrate, Code, DecoderKind};
use nestcast_receiver::{Announcement, Config, Decoding, Error, Shown, Totals, Trust, Viewer, receive};
use nestcast_sender::{Broadcast, Encoding, Identity, Source};
use nestcast_tests::pictures::{self, Content};
use nestcast_video::Rate;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
const RATE: u32 = 30;

/// A broadcast that runs.
struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), nestcast_sender::Error>>,
}

impl Running {
    /// Broadcasts a picture that changes, as `identity`.
    fn start(listen: SocketAddr, identity: &Identity, token: Option<&'static [u8]>, model: Option<ModelId>) -> Self {
        let package = Package::builtin("photo").expect("it is built in");
        let linear = Box::new(package.linear(1));
        let encoding = Encoding::new(model.unwrap_or(package.id()), Encoder::new(package.tables().clone()), linear);
        let size = Size::new(160, 120).expect("a valid size");
        let mut seed = 0;
        let next = move || {
            seed += 1;
            let noise = pictures::picture(Content::Noise, 160, 120, Channels::Rgb, seed);
            Ok(Some(noise))
        };
        let rate = Rate::new(RATE, 1).expect("a valid rate");
        let source = Source::pictures(size, rate, Box::new(next));
        let token = token.map(Bytes::from_static);
        let config =
            nestcast_sender::Config { listen, identity: identity.clone(), token, max_receivers: 10, qlog: None };
        let broadcast = Broadcast::listen(config, source, encoding).expect("a free port");
        let address = broadcast.address().expect("it listens");
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(broadcast.run(async { drop(stopped.await) }));
        Self { address, stop, ended }
    }

    async fn stop(self) {
        let _ = self.stop.send(());
        self.ended.await.expect("no panic").expect("a clean end");
    }
}

fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn identity() -> Identity {
    Identity::generate().expect("random numbers")
}

fn config(address: SocketAddr, identity: &Identity) -> Config {
    Config {
        address,
        name: "localhost".to_owned(),
        trust: Trust::fingerprint(&identity.fingerprint().to_string()).expect("64 digits"),
        token: Bytes::new(),
        max_bitrate: None,
        decoder: DecoderKind::Linear,
        fetch_model: false,
        retry: Duration::ZERO,
    }
}

/// Tells the bytes of each frame.
struct Eye(Sender<usize>, Option<ModelId>);

impl Eye {
    fn open() -> (Self, Receiver<usize>) {
        let (seen, seeing) = channel();
        (Self(seen, None), seeing)
    }
}

impl Viewer for Eye {
    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, String> {
        let package = Package::builtin("photo").map_err(|error| error.to_string())?;
        self.1 = Some(announced.model);
        if announced.model != package.id() {
            return Ok(None);
        }
        let (tables, synthesis) = (package.tables().clone(), Box::new(package.linear(1)));
        Ok(Some(Decoding { decoder: Box::new(move || Decoder::new(tables.clone())), synthesis }))
    }

    fn handle_package(&mut self, _announced: &Announcement, _package: Bytes) -> Result<Decoding, String> {
        Err("nothing was asked for".to_owned())
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), String> {
        assert_eq!(shown.picture.channels(), Channels::Rgb);
        // Whoever has seen enough no longer listens.
        let _ = self.0.send(shown.bytes);
        Ok(())
    }

    fn hold(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn report(&mut self, _totals: &Totals) -> Result<(), String> {
        Ok(())
    }
}

/// Waits for `count` frames; gives the bytes of the last.
async fn look(seeing: Receiver<usize>, count: usize) -> (usize, Receiver<usize>) {
    let looking = tokio::task::spawn_blocking(move || {
        let last = (0..count).map(|_| seeing.recv_timeout(PATIENCE).expect("frames come")).fold(0, |_, bytes| bytes);
        (last, seeing)
    });
    looking.await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_receivers_gets_what_it_asks_for_until_the_end() {
    let identity = identity();
    let broadcast = Running::start(anywhere(), &identity, Some(b"secret"), None);
    let mut receivers = Vec::new();
    for cap in [200_000, 600_000] {
        let mut config = config(broadcast.address, &identity);
        config.max_bitrate = Some(Bitrate::from_bits(cap));
        config.token = Bytes::from_static(b"secret");
        let (eye, seeing) = Eye::open();
        receivers.push((cap, tokio::spawn(receive(config, eye, std::future::pending())), seeing));
    }
    let mut ends = Vec::new();
    for (cap, end, seeing) in receivers {
        let (bytes, seeing) = look(seeing, 30).await;
        assert!(bytes as u64 <= cap / 8 / u64::from(RATE), "{bytes} of {cap}");
        assert!(bytes as u64 >= cap / 8 / u64::from(RATE) / 2, "{bytes} of {cap}");
        ends.push((end, seeing));
    }
    broadcast.stop().await;
    for (end, _seeing) in ends {
        end.await.expect("no panic").expect("the broadcast's end is no error");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_secrets_are_refused_by_name() {
    let identity = identity();
    let broadcast = Running::start(anywhere(), &identity, Some(b"secret"), None);
    for token in [&b""[..], b"secreT", b"secret2"] {
        let mut config = config(broadcast.address, &identity);
        config.token = Bytes::from_static(token);
        let refused = receive(config, Eye::open().0, std::future::pending()).await;
        assert!(matches!(refused, Err(Error::Closed(Code::Token))), "{refused:?}");
    }
    let mut config = config(broadcast.address, &self::identity());
    config.token = Bytes::from_static(b"secret");
    let refused = receive(config, Eye::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Untrusted { .. })), "{refused:?}");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_is_refused_by_a_receiver_that_may_not_ask_and_by_a_sender_that_does_not_give() {
    let identity = identity();
    let unknown = ModelId([1, 2, 3, 4, 5, 6]);
    let broadcast = Running::start(anywhere(), &identity, None, Some(unknown));
    let refused = receive(config(broadcast.address, &identity), Eye::open().0, std::future::pending()).await;
    assert!(matches!(&refused, Err(Error::View(why)) if why.contains("010203040506")), "{refused:?}");
    let mut config = config(broadcast.address, &identity);
    config.fetch_model = true;
    let refused = receive(config, Eye::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Closed(Code::Model))), "{refused:?}");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_said_so() {
    let refused = receive(config(([127, 0, 0, 1], 9).into(), &identity()), Eye::open().0, std::future::pending()).await;
    assert!(matches!(refused, Err(Error::Connect { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_reads_nothing_and_goes_leaves_the_others_alone() {
    let identity = identity();
    let broadcast = Running::start(anywhere(), &identity, None, None);
    let gone = tokio::spawn(receive(config(broadcast.address, &identity), Eye::open().0, std::future::pending()));
    let (eye, seeing) = Eye::open();
    let stays = tokio::spawn(receive(config(broadcast.address, &identity), eye, std::future::pending()));
    let (_, seeing) = look(seeing, 5).await;
    gone.abort();
    let (_, _seeing) = look(seeing, 30).await;
    broadcast.stop().await;
    stays.await.expect("no panic").expect("the broadcast's end is no error");
}

/// The sender vanishes without a word, as when its machine loses power: its runtime is dropped.
#[test]
fn a_receiver_finds_a_sender_that_comes_back() {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let (identity, first, second, receiving) = (identity(), runtime(), runtime(), runtime());
    let before = first.block_on(async { Running::start(anywhere(), &identity, None, None) });
    let mut config = config(before.address, &identity);
    config.retry = PATIENCE;
    let (eye, seeing) = Eye::open();
    let received = receiving.spawn(receive(config, eye, std::future::pending()));
    let (_, seeing) = receiving.block_on(look(seeing, 5));
    let address = before.address;
    first.shutdown_timeout(Duration::from_secs(1));
    let after = second.block_on(async { Running::start(address, &identity, None, None) });
    // What was on the way, and more.
    let (_, _seeing) = receiving.block_on(look(seeing, 60));
    second.block_on(after.stop());
    receiving.block_on(received).expect("no panic").expect("the broadcast's end is no error");
}
