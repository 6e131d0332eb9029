use std::error::Error as _;
use std::future::pending;

use bytes::Bytes;
use nestcast_proto::{Frame, FrameRate, PackageHash, Welcome};

use super::*;
use crate::identity::Identity;

/// A source of frames with these numbers, one after another without a pause. It then ends as `end` says.
#[derive(Debug)]
struct Numbered {
    ids: Vec<u64>,
    end: Result<(), &'static str>,
    width: u32,
}

impl Numbered {
    fn new(ids: impl IntoIterator<Item = u64>) -> Self {
        Self { ids: ids.into_iter().collect(), end: Ok(()), width: 16 }
    }
}

impl FrameSource for Numbered {
    fn welcome(&self) -> Welcome {
        let rate = FrameRate::new(1000, 1).expect("a rate");
        Welcome { model: [0; 6], package: PackageHash([0; 32]), width: self.width, height: 16, rate, video: None }
    }

    async fn next(&mut self, _demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        if self.ids.is_empty() {
            return self.end.map(|()| None).map_err(SourceError::broken_off);
        }
        let id = self.ids.remove(0);
        let bytes = Bytes::from_static(b"a frame");
        Ok(Some(Frame { id, skipped: 0, captured: 0, since: id, base: 1, bytes, join: None }.into()))
    }
}

fn listen(address: SocketAddr, source: Numbered) -> Result<Broadcast<Numbered>, Error> {
    Broadcast::listen(SenderConfig::new(address, Identity::generate().expect("an identity")), source)
}

fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn name(name: &str) -> BroadcastName {
    name.parse().expect("a name")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_is_free_when_a_broadcast_has_run() {
    let mut address = anywhere();
    for _ in 0..20 {
        let broadcast = listen(address, Numbered::new(0..3)).expect("the address is free");
        address = broadcast.address().expect("it listens");
        broadcast.run(pending()).await.expect("it ends");
    }
}

#[test]
fn outside_a_runtime_an_error_says_what_is_missing() {
    let refused = listen(anywhere(), Numbered::new(0..3)).expect_err("nothing drives it");
    let why = refused.source().map(ToString::to_string).unwrap_or_default();
    assert!(matches!(refused, Error::Listen { .. }) && why.contains("runtime"), "{refused}: {why}");
}

#[tokio::test]
async fn a_source_that_returns_no_frame_for_receivers_is_told() {
    let broadcast = listen(anywhere(), Numbered::new([4, 5, 5])).expect("a free port");
    let monitor = broadcast.monitor();
    let failed = broadcast.run(pending()).await.expect_err("numbers must rise");
    assert!(matches!(failed, Error::Source(SourceError::Failed(_))), "{failed:?}");
    assert!(failed.to_string().contains("frame 5 after frame 5") && monitor.read().frames == 2, "{failed}");
}

#[tokio::test]
async fn a_welcome_that_no_receiver_accepts_is_refused_before_any_comes() {
    let wide = || Numbered { width: 20_000, ..Numbered::new(0..3) };
    let refused = listen(anywhere(), wide()).expect_err("it is too wide");
    assert!(matches!(refused, Error::Welcome { width: 20_000, height: 16, .. }), "{refused:?}");
    let several = listen(anywhere(), Numbered::new(0..3)).expect("a free port").with_source(name("two"), wide());
    let refused = several.run(pending()).await.expect_err("it is too wide");
    assert!(matches!(refused, Error::Welcome { width: 20_000, height: 16, .. }), "{refused:?}");
}

#[tokio::test]
async fn the_name_of_the_first_broadcast_is_no_name_for_another() {
    let first = listen(anywhere(), Numbered::new(0..3)).expect("a free port");
    let refused = first.with_source(name("one"), Numbered::new(0..3)).named(name("one")).run(pending()).await;
    assert!(matches!(&refused, Err(Error::SameName(taken)) if *taken == name("one")), "{refused:?}");
}

#[tokio::test]
async fn of_several_broadcasts_the_one_that_fails_is_named() {
    let first = listen(anywhere(), Numbered::new(0..3)).expect("a free port").named(name("one"));
    let unplugged = Numbered { end: Err("camera unplugged"), ..Numbered::new(0..3) };
    let failed = first.with_source(name("two"), unplugged).run(pending()).await.expect_err("it breaks off");
    let why = failed.source().map(ToString::to_string);
    assert_eq!((failed.to_string(), why.as_deref()), ("the broadcast two failed".into(), Some("camera unplugged")));
}
