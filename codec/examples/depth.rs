//! Prints what more than 8 bits a sample give a video, and what they cost:
//! `cargo run --release -p nestcast-codec --example depth -- CLIP.y4m [FRAMES]`.
//!
//! The clip has more than 8 bits a sample, as `ffmpeg -pix_fmt yuv420p10le` writes it. It is encoded on one thread from 8
//! bits, rounded, and from all bits, then cut to some rates and decoded in 8 bits and in all. The columns are the rate
//! that arrived, PSNR of luma against all bits, and the milliseconds of a frame to encode and to decode; of three runs
//! the least time counts.

#[path = "y4m/mod.rs"]
mod y4m;

use std::error::Error;
use std::time::{Duration, Instant};

use nestcast_codec::{
    Bitrate, Budget, CodedFrame, Effort, Format, Picture, Population, VideoDecoder, VideoEncoder, VideoModel,
    VideoSettings, Ycbcr,
};
use y4m::Clip;

/// The rates of receivers, in bits a second; a whole frame is shown last.
const RATES: [u64; 4] = [300_000, 1_000_000, 4_000_000, 16_000_000];
/// The rate that no frame needs.
const UNLIMITED: u64 = 1_000_000_000;
const RUN_COUNT: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: depth CLIP.y4m [FRAMES]")?;
    let clip = y4m::read(path, arguments.get(1).map_or(Ok(40), |frames| frames.parse())?)?;
    let (_, bits) = clip.pictures[0].format().ycbcr420().filter(|(_, bits)| *bits > 8).ok_or("it has 8 bits")?;
    println!("source  shown       rate    luma  encode  decode");
    // The fastest receiver's rate bounds a frame, so whole frames have an encode of their own.
    for rates in [&RATES[..], &[UNLIMITED]] {
        for given in [8, bits] {
            let (frames, encode) = encoded(&clip, given, rates[rates.len() - 1])?;
            for bitrate in rates {
                for shown in [8, bits] {
                    let (bytes, psnr, decode) = decoded(&clip, &frames, *bitrate, shown)?;
                    let kbps = 8.0 * bytes as f64 * clip.rate.per_second() / frames.len() as f64 / 1e3;
                    println!(
                        "{given:2} bits  {shown:2} bits {kbps:6.0} k  {psnr:5.2} dB  {:4.1} ms  {:4.1} ms",
                        1e3 * encode.as_secs_f64(),
                        1e3 * decode.as_secs_f64()
                    );
                }
            }
        }
    }
    Ok(())
}

/// Returns the frames of the clip in `bits` bits a sample, and the time of one.
fn encoded(clip: &Clip, bits: u8, most: u64) -> Result<(Vec<CodedFrame>, Duration), Box<dyn Error>> {
    let pictures = clip.pictures.iter().map(|picture| rounded(picture, bits)).collect::<Result<Vec<_>, _>>()?;
    let mut best: Option<(Vec<CodedFrame>, Duration)> = None;
    for _ in 0..RUN_COUNT {
        let population = Population::log_uniform(Bitrate::from_bits(RATES[0])..=Bitrate::from_bits(most));
        let settings = VideoSettings { size: clip.size, rate: clip.rate, population, threads: 1 };
        let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings).with_effort(Effort::Fast);
        let start = Instant::now();
        let frames = pictures.iter().map(|picture| encoder.encode(picture)).collect::<Result<Vec<_>, _>>()?;
        let took = start.elapsed() / u32::try_from(frames.len())?;
        best = Some(best.filter(|(_, least)| *least < took).unwrap_or((frames, took)));
    }
    Ok(best.ok_or("no run")?)
}

/// Returns the bytes that a receiver with this rate gets, the PSNR of what it shows in `bits` bits, and the time of a
/// frame.
fn decoded(
    clip: &Clip,
    frames: &[CodedFrame],
    bitrate: u64,
    bits: u8,
) -> Result<(usize, f64, Duration), Box<dyn Error>> {
    let mut shown = Picture::zero(clip.size, Format::planar(Ycbcr::BT601, bits));
    let (mut bytes, mut error, mut least) = (0, 0.0, Duration::MAX);
    for _ in 0..RUN_COUNT {
        let mut budget = Budget::new(Bitrate::from_bits(bitrate), clip.rate);
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), clip.size, 1);
        let mut took = Duration::ZERO;
        (bytes, error) = (0, 0.0);
        for (frame, original) in frames.iter().zip(&clip.pictures) {
            let count = budget.cut(&frame.bytes, 0)?;
            bytes += count;
            let start = Instant::now();
            decoder.decode(&frame.bytes[..count])?;
            decoder.render_into(&mut shown)?;
            took += start.elapsed();
            let pairs = luma(original)?.into_iter().zip(luma(&shown)?);
            error += pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        }
        least = least.min(took / u32::try_from(frames.len())?);
    }
    let mean = error / (frames.len() * clip.size.pixels()) as f64;
    Ok((bytes, 10.0 * (255.0 * 255.0 / mean).log10(), least))
}

/// Returns samples of luma in steps of 8 bits.
fn luma(picture: &Picture) -> Result<Vec<f64>, Box<dyn Error>> {
    let (_, bits) = picture.format().ycbcr420().ok_or("no planar picture")?;
    let bytes = &picture.samples()[..picture.format().plane(picture.size(), 0).iter().product()];
    Ok(match bits {
        8 => bytes.iter().map(|&sample| f64::from(sample)).collect(),
        _ => {
            let step = f64::from(1_u32 << (bits - 8));
            bytes.as_chunks().0.iter().map(|&sample| f64::from(u16::from_le_bytes(sample)) / step).collect()
        }
    })
}

/// Returns a picture of more than 8 bits in its own bits, or rounded to 8.
fn rounded(picture: &Picture, bits: u8) -> Result<Picture, Box<dyn Error>> {
    let (colours, own) = picture.format().ycbcr420().ok_or("no planar picture")?;
    if bits == own {
        return Ok(picture.clone());
    }
    let half = (1_u32 << (own - 8)) / 2;
    let round = |sample: &[u8; 2]| (u32::from(u16::from_le_bytes(*sample)) + half) >> (own - 8);
    let samples = picture.samples().as_chunks().0.iter().map(|sample| u8::try_from(round(sample)).unwrap_or(u8::MAX));
    Ok(Picture::new(picture.size(), Format::Ycbcr420(colours), samples.collect())?)
}
