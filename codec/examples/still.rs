//! Prints what a picture that does not change costs an encoder, and how good it becomes at three receivers:
//! `cargo run --release -p nestcast-codec --example still -- CLIP.y4m [realtime|fast|normal] [FRAMES] [unknown]`.
//!
//! It encodes the clip's first picture again and again, on one thread, for receivers a factor of sixteen apart. The
//! columns are processor time where the system states it (Linux), the frame's bytes, and for the slowest, the middle
//! and the fastest receiver the bytes that it got and the PSNR of luma of what it shows. With `unknown` the encoder
//! does not know its receivers, as that of a stored video.

#[path = "y4m/mod.rs"]
mod y4m;

use std::error::Error;
use std::time::{Duration, Instant};

use nestcast_codec::{
    Bitrate, Budget, Effort, Picture, Population, VideoDecoder, VideoEncoder, VideoModel, VideoSettings,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: still CLIP.y4m [realtime|fast|normal] [FRAMES]")?;
    let effort = match arguments.get(1).map(String::as_str) {
        None | Some("realtime") => Effort::Realtime,
        Some("fast") => Effort::Fast,
        Some("normal") => Effort::Normal,
        Some(other) => return Err(format!("no effort is called {other}: say realtime, fast or normal").into()),
    };
    let frames: u32 = arguments.get(2).map_or(Ok(100), |frames| frames.parse())?;
    let y4m::Clip { size, rate, pictures } = y4m::read(path, 1)?;
    let [picture, ..] = &pictures[..] else { return Err("it has no frames".into()) };
    let [least, most] = Population::usual_bitrates(size, rate);
    let population = Population::log_uniform(least..=most);
    let settings = VideoSettings { size, rate, population, threads: 1 };
    let model = VideoModel::built_in();
    let is_known = arguments.get(3).is_none_or(|word| word != "unknown");
    let mut encoder = VideoEncoder::new(model.clone(), settings).with_effort(effort).with_known_receivers(is_known);
    let middle = Bitrate::from_bits((least.bits() * most.bits()).isqrt());
    let mut receivers = [least, middle, most].map(|bitrate| {
        (Budget::new(bitrate, rate), VideoDecoder::new(model.clone(), size, 1), Picture::zero(size, picture.format()))
    });
    println!("frame      ms    bytes   base   enhancement{:>18}{:>18}{:>18}", "slowest", "middle", "fastest");
    for number in 0..frames {
        let began = ProcessorTime::now();
        let frame = encoder.encode(picture)?;
        let took = began.elapsed();
        let mut shown = String::new();
        for (budget, decoder, out) in &mut receivers {
            let cut = budget.cut(&frame.bytes, 0)?;
            decoder.decode(&frame.bytes[..cut])?;
            decoder.render_into(&mut *out)?;
            shown += &format!("{cut:>9}{:>6.2} dB", psnr(picture, out));
        }
        if number < 4 || number % 10 == 9 {
            let milliseconds = took.as_secs_f64() * 1e3;
            let [bytes, base, enhancement] = [frame.bytes.len(), frame.base, frame.enhancement_reference];
            println!("{number:>5}{milliseconds:>8.1}{bytes:>9}{base:>7}{enhancement:>14}{shown}");
        }
    }
    Ok(())
}

/// Returns the PSNR of luma.
fn psnr(a: &Picture, b: &Picture) -> f64 {
    let luma = a.size().pixels();
    let squares = a.samples()[..luma].iter().zip(&b.samples()[..luma]).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
    10.0 * (255.0 * 255.0 * luma as f64 / squares.sum::<u64>() as f64).log10()
}

/// A moment by the processor time of this thread, or by the clock if the system does not state it.
enum ProcessorTime {
    Thread(Duration),
    Clock(Instant),
}

impl ProcessorTime {
    fn now() -> Self {
        Self::of_thread().map_or_else(|| Self::Clock(Instant::now()), Self::Thread)
    }

    fn of_thread() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::Thread(began) => Self::of_thread().map_or(Duration::ZERO, |now| now.saturating_sub(*began)),
            Self::Clock(began) => began.elapsed(),
        }
    }
}
