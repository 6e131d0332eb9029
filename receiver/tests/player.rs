//! The player's thread with frames that are no pictures, and with frames that do not come.

use std::error::Error;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{
    Bitrate, Codec, Format, FrameRate, Picture, Population, Size, VideoEncoder, VideoModel, VideoSettings, Ycbcr,
};
use nestcast_proto::{FrameHeader, PackageHash, ReceiveStats, ReceivedFrame, Sound, Video, Welcome};
use nestcast_receiver::{
    Announcement, Concealed, Decoding, FrameSink as _, Player, Readiness, Shown, SoundMode, Viewer,
};

/// The time after which a hang fails with a message.
const PATIENCE: Duration = Duration::from_secs(180);
const SIDES: [u32; 2] = [96, 64];

/// A viewer that has every model.
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

/// A viewer that reports what it gets.
struct Teller(Sender<&'static str>);

impl Viewer for Teller {
    type Error = Box<dyn Error + Send + Sync>;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error> {
        Ok(Decoding::video(announced, 1))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Self::Error> {
        Ok(self.0.send("shown")?)
    }

    fn conceal(&mut self, _concealed: &Concealed<'_>) -> Result<(), Self::Error> {
        Ok(self.0.send("concealed")?)
    }

    fn hold(&mut self, _picture: &Picture) -> Result<(), Self::Error> {
        Ok(self.0.send("held")?)
    }

    fn handle_disconnection(&mut self) -> Result<(), Self::Error> {
        Ok(self.0.send("disconnected")?)
    }
}

/// A viewer that reports what sound each connection has.
struct Listener(Sender<Option<Sound>>);

impl Viewer for Listener {
    type Error = Box<dyn Error + Send + Sync>;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error> {
        Ok(Decoding::video(announced, 1))
    }

    fn show(&mut self, _shown: &Shown<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    fn sound_mode(&self) -> Option<SoundMode> {
        Some(SoundMode::Live)
    }

    fn handle_sound_announced(&mut self, sound: Option<Sound>) -> Result<(), Self::Error> {
        Ok(self.0.send(sound)?)
    }
}

fn welcome() -> Welcome {
    let ([key, residual], [width, height]) = (VideoModel::built_in().ids(), SIDES);
    let video = Some(Video::new(residual.0));
    Welcome {
        model: key.0,
        package: PackageHash([0; 32]),
        width,
        height,
        rate: FrameRate::new(30, 1).expect("a rate"),
        video,
    }
}

fn arrived(id: u64, prefix: Bytes, base: u64) -> ReceivedFrame {
    let header = FrameHeader { id, skipped: 0, captured: 0, full: prefix.len() as u64, base };
    ReceivedFrame { header, prefix, first: Duration::ZERO, shown: Duration::ZERO }
}

fn junk() -> ReceivedFrame {
    arrived(0, Bytes::from_static(b"junk"), 4)
}

/// Returns waves that move by two samples a frame.
fn frames(count: u32) -> Vec<ReceivedFrame> {
    let [width, height] = SIDES;
    let (size, format) = (Size::new(width, height).expect("a valid size"), Format::Ycbcr420(Ycbcr::BT601));
    let (rate, population) = (
        FrameRate::new(30, 1).expect("a rate"),
        Population::log_uniform(Bitrate::from_bits(40_000)..=Bitrate::from_bits(640_000)),
    );
    let settings = VideoSettings { size, rate, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let frame = |number: u32| {
        let wave = |at: u32, of: u32| (at % of).abs_diff(of / 2) * 90 / of;
        let sample = |x: u32, y: u32| 60 + wave(x + 2 * number, 46) + wave(3 * y + x + 2 * number, 58);
        let luma = (0..height).flat_map(|y| (0..width).map(move |x| u8::try_from(sample(x, y)).expect("a byte")));
        let mut samples: Vec<u8> = luma.collect();
        samples.resize(format.bytes(size), 128);
        let picture = Picture::new(size, format, samples).expect("all samples");
        let frame = encoder.encode(&picture).expect("a frame");
        arrived(number.into(), frame.bytes, frame.base as u64)
    };
    (0..count).map(frame).collect()
}

#[tokio::test]
async fn frames_that_do_not_come_are_concealed_and_then_the_picture_is_held() {
    let (tell, told) = channel();
    let mut player = Player::start(Teller(tell));
    player.handle_connection();
    assert_eq!(player.handle_welcome(&welcome()).await.expect("it runs"), Readiness::Ready);
    frames(8).into_iter().for_each(|frame| player.handle_frame(frame, ReceiveStats::default()).expect("it takes all"));
    assert_eq!(told.recv_timeout(PATIENCE), Ok("shown"));
    for what in ["concealed", "held"] {
        while told.recv_timeout(PATIENCE).expect("something is shown once an interval") != what {}
    }
    assert!(player.useful_for(None).is_some());
    player.finish().await.expect("nothing is wrong");
}

#[tokio::test]
async fn nothing_is_shown_while_there_is_no_connection() {
    let (tell, told) = channel();
    let mut player = Player::start(Teller(tell));
    for _ in 0..2 {
        player.handle_connection();
        assert_eq!(player.handle_welcome(&welcome()).await.expect("it runs"), Readiness::Ready);
        for frame in frames(8) {
            player.handle_frame(frame, ReceiveStats::default()).expect("it takes all");
        }
        while told.recv_timeout(PATIENCE).expect("the next connection shows pictures again") != "held" {}
        player.handle_disconnection();
        // What was on its way is shown still. Without an end, a picture would be held each 33 ms.
        let shown = (0..1000).take_while(|_| told.recv_timeout(Duration::from_millis(500)).is_ok());
        assert!(shown.count() < 1000, "a picture is held without a connection");
    }
    player.finish().await.expect("nothing is wrong");
}

#[tokio::test]
async fn a_viewer_learns_for_each_connection_whether_it_has_sound() {
    let (tell, told) = channel();
    let mut player = Player::start(Listener(tell));
    for sound in [Some(Sound::Mono), None, Some(Sound::Stereo)] {
        player.handle_connection();
        assert!(sound.is_none_or(|sound| player.handle_sound_announced(sound)));
        assert_eq!(player.handle_welcome(&welcome()).await.expect("it runs"), Readiness::Ready);
        assert_eq!(told.recv_timeout(PATIENCE), Ok(sound));
        player.handle_disconnection();
    }
    player.finish().await.expect("nothing is wrong");
}

#[tokio::test]
async fn the_picture_of_one_connection_is_not_held_before_the_first_frame_of_the_next() {
    let (tell, told) = channel();
    let mut player = Player::start(Teller(tell));
    for _ in 0..2 {
        player.handle_connection();
        assert_eq!(player.handle_welcome(&welcome()).await.expect("it runs"), Readiness::Ready);
        // A picture would be held each 33 ms.
        let early = std::iter::from_fn(|| told.recv_timeout(Duration::from_millis(300)).ok());
        let early: Vec<_> = early.take(10).collect();
        assert!(!early.contains(&"held") && !early.contains(&"concealed"), "{early:?}");
        frames(8).into_iter().for_each(|frame| player.handle_frame(frame, ReceiveStats::default()).expect("it runs"));
        while told.recv_timeout(PATIENCE).expect("pictures are held after the first frame") != "held" {}
        player.handle_disconnection();
        // What was on its way is shown still.
        while told.recv_timeout(Duration::from_millis(500)).is_ok() {}
    }
    player.finish().await.expect("nothing is wrong");
}

#[tokio::test]
async fn a_viewer_learns_after_the_last_picture_that_the_connection_ended_unless_the_receiver_stopped() {
    for ended in [true, false] {
        let (tell, told) = channel();
        let mut player = Player::start(Teller(tell));
        player.handle_connection();
        assert_eq!(player.handle_welcome(&welcome()).await.expect("it runs"), Readiness::Ready);
        for frame in frames(8) {
            player.handle_frame(frame, ReceiveStats::default()).expect("it takes all");
        }
        if ended {
            player.handle_disconnection();
        }
        player.finish().await.expect("nothing is wrong");
        let told: Vec<_> = told.iter().collect();
        let ends = told.iter().filter(|what| **what == "disconnected").count();
        assert_eq!((ends, told.last() == Some(&"disconnected")), (usize::from(ended), ended), "{told:?}");
    }
}

#[tokio::test]
async fn frames_that_cannot_be_decoded_are_not_looked_at_for_ever() {
    let pictures = Welcome { model: [0; 6], video: None, ..welcome() };
    for welcome in [pictures, welcome()] {
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
