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
