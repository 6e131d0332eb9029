//! The player's thread over frames that are no pictures.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Codec, VideoModel};
use nestcast_proto::{Arrived, FrameHeader, PackageHash, ReceiveStats, Video, Welcome};
use nestcast_receiver::{Announcement, Decoding, FrameSink as _, Player, Readiness, Shown, Viewer};

/// Knows every model.
struct Eager;

impl Viewer for Eager {
    type Error = Box<dyn Error + Send + Sync>;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error> {
        let pictures = || Decoding::new(Codec::photo().decoder());
        Ok(Some(Decoding::video(announced, 1).unwrap_or_else(pictures)))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Self::Error> {
        Err("a picture is shown".into())
    }
}

fn junk() -> Arrived {
    let header = FrameHeader { id: 0, skipped: 0, captured: 0, full: 4, base: 4 };
    Arrived { header, prefix: Bytes::from_static(b"junk"), first: Duration::ZERO, shown: Duration::ZERO }
}

#[tokio::test]
async fn frames_that_cannot_be_decoded_are_not_looked_at_for_ever() {
    let [key, residual] = VideoModel::built_in().ids();
    let video = Welcome {
        model: key.0,
        package: PackageHash([0; 32]),
        width: 16,
        height: 16,
        rate: (30, 1),
        video: Some(Video { residual: residual.0, full_range: false }),
    };
    let pictures = Welcome { model: [0; 6], video: None, ..video.clone() };
    for welcome in [pictures, video] {
        let mut player = Player::start(Eager);
        player.handle_connection();
        assert_eq!(player.handle_welcome(&welcome).await.expect("it runs"), Readiness::Ready);
        while tokio::time::timeout(Duration::from_millis(1), player.failed()).await.is_err() {
            player.handle_frame(junk(), ReceiveStats::default()).expect("it takes all");
        }
        assert_eq!(player.useful_for(None), None);
        let ended = player.finish().await.expect_err("it gave up").to_string();
        assert!(ended.contains("can be decoded"), "{ended}");
    }
}
