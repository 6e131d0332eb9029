//! Broadcasts a camera: `cargo run --release -p nestcast-sender --example camera -- [--seconds N]`.
//!
//! No camera is needed. [`TestCamera`] draws what a device would capture, and behaves like one in all that matters
//! here:
//!
//! - its pictures are NV12 of limited range, in memory of its own, in rows that are longer than the picture is wide;
//! - it returns a picture when it has one, and takes longer in the dark: its rate is variable;
//! - it says when it captured each picture;
//! - it copies into pictures that were encoded already, so no picture needs new memory.
//!
//! To broadcast a real one, write a [`PictureSource`] that reads your device where `TestCamera` draws.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use nestcast_codec::{Format, FrameRate, Picture, Plane, Size, Ycbcr};
use nestcast_encode::{PictureFormat, PictureRate, PictureSource, Pictures, RawPicture, RenditionLimit, VideoEncoding};
use nestcast_proto::{SourceError, StreamPicture};
use nestcast_sender::{Broadcast, Identity, LiveSource, SenderConfig, clock_micros, place_of};

const FRAME_WIDTH: usize = 640;
const FRAME_HEIGHT: usize = 360;
/// Devices begin rows at multiples of some power of two.
const STRIDE_BYTES: usize = 704;
/// The most pictures a second.
const MAX_PICTURES_PER_SECOND: u32 = 30;
/// For this long the scene is bright, then dark for as long.
const BRIGHT_TIME: Duration = Duration::from_secs(4);

/// Draws a test picture in place of a device.
struct TestCamera {
    format: PictureFormat,
    size: Size,
    /// The device's memory: luma, then both colour differences interleaved.
    memory: Vec<u8>,
    began: Instant,
    /// When the next picture is captured.
    next: Duration,
}

impl TestCamera {
    fn open() -> Result<Self, Box<dyn Error>> {
        let size = Size::new(u32::try_from(FRAME_WIDTH)?, u32::try_from(FRAME_HEIGHT)?)?;
        let rate = PictureRate::Variable { most: FrameRate::new(MAX_PICTURES_PER_SECOND, 1)? };
        let format = PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT601), rate);
        let memory = vec![128; STRIDE_BYTES * FRAME_HEIGHT * 3 / 2];
        Ok(Self { format, size, memory, began: Instant::now(), next: Duration::ZERO })
    }

    /// Waits for the next picture, as a device does, and returns its age.
    fn capture(&mut self) -> Duration {
        let now = self.began.elapsed();
        self.next = self.next.max(now);
        thread::sleep(self.next - now);
        let is_dark = (self.next.as_millis() / BRIGHT_TIME.as_millis()) % 2 == 1;
        self.draw(self.next, is_dark);
        let captured = self.next;
        // In the dark the shutter is open for twice as long.
        self.next += Duration::from_secs(1) / MAX_PICTURES_PER_SECOND * if is_dark { 2 } else { 1 };
        self.began.elapsed() - captured
    }

    /// Stripes that move to the left, a square that moves to the right, and colours that change.
    fn draw(&mut self, time: Duration, is_dark: bool) {
        let step = usize::try_from(time.as_millis() / 10).unwrap_or(0);
        let (luma, differences) = self.memory.split_at_mut(STRIDE_BYTES * FRAME_HEIGHT);
        let square = step % (FRAME_WIDTH - 100);
        for (y, row) in luma.chunks_exact_mut(STRIDE_BYTES).enumerate() {
            for (x, sample) in row[..FRAME_WIDTH].iter_mut().enumerate() {
                let is_square = (square..square + 100).contains(&x) && (130..230).contains(&y);
                let value = if is_square { 235 } else { 16 + (x + y / 4 + step) % 128 };
                *sample = u8::try_from(if is_dark { 16 + (value - 16) / 3 } else { value }).unwrap_or(235);
            }
        }
        for row in differences.chunks_exact_mut(STRIDE_BYTES) {
            for (x, pair) in row[..FRAME_WIDTH].chunks_exact_mut(2).enumerate() {
                let tint = u8::try_from((x + step / 8) % 64).unwrap_or(0);
                pair.copy_from_slice(&[96 + tint, 160 - tint]);
            }
        }
    }
}

impl PictureSource for TestCamera {
    fn format(&self) -> PictureFormat {
        self.format
    }

    fn next(&mut self, spent: Option<Picture>) -> Result<Option<StreamPicture<Picture>>, SourceError> {
        let age = self.capture();
        let captured = clock_micros().saturating_sub(u64::try_from(age.as_micros()).unwrap_or(0));
        let (luma, chroma) = self.memory.split_at(STRIDE_BYTES * FRAME_HEIGHT);
        let [luma, chroma] = [luma, chroma].map(|samples| Plane { samples, stride: STRIDE_BYTES });
        let raw = RawPicture::nv12(self.size, Ycbcr::BT601, luma, chroma).map_err(SourceError::broken_off)?;
        let mut picture = spent.unwrap_or_else(|| Picture::zero(self.size, raw.format()));
        raw.copy_into(&mut picture);
        Ok(Some(StreamPicture { picture, captured: Some(captured) }))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = seconds()?;
    let pictures = Pictures::new(TestCamera::open()?);
    let threads = thread::available_parallelism()?.get();
    let encoding = VideoEncoding::new(pictures.format(), threads, RenditionLimit::AsNeeded)?;
    let identity = Identity::generate()?;
    let fingerprint = identity.fingerprint();
    let config = SenderConfig::new(([0, 0, 0, 0], 0).into(), identity);
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(async {
        let broadcast = Broadcast::listen(config, LiveSource::new(pictures, encoding))?;
        let address = broadcast.address().ok_or("it does not listen")?;
        println!("receive with: nestcast receive {} --fingerprint {fingerprint} -o - | ffplay -", place_of(address));
        let monitor = broadcast.monitor();
        broadcast.run(end(seconds)).await?;
        println!("{}", monitor.read());
        Ok(())
    });
    // The program does not wait for a device that is still waiting for a picture.
    runtime.shutdown_background();
    outcome
}

/// Waits for Ctrl-C, or for this long.
async fn end(seconds: Option<u64>) {
    let time_is_up = async {
        match seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = time_is_up => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// What follows `--seconds`.
fn seconds() -> Result<Option<u64>, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, ..) => Ok(None),
        (Some("--seconds"), Some(seconds), None) => Ok(Some(seconds.parse()?)),
        _ => Err("usage: camera [--seconds N]".into()),
    }
}
