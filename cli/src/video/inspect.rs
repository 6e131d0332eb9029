//! `nestcast inspect` of a stored video: its header, and a line a frame.

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Format, Picture, Range, VideoDecoder, VideoModel};
use nestcast_lab::metrics::{YcbcrPsnr, ycbcr_psnr};
use nestcast_lab::rate_distortion::rounded;
use nestcast_lab::video::kbps;
use serde::Serialize;

use super::clip::Clip;
use super::stored::{Record, Stored};
use crate::args::{Common, Frames, Inspect};
use crate::files::{self, Input, Lines};

/// Everything that is told, one line each.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Video {
        file: String,
        width: usize,
        height: usize,
        frames_per_second: f64,
        full_range: bool,
        /// Of frames predicted from nothing, and of residuals.
        model_ids: [String; 2],
        /// Bits a second of every loop's slowest receiver, of several loops.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        loops_bps: Vec<u64>,
        /// The loop whose frames follow, from 0.
        #[serde(rename = "loop")]
        chosen: usize,
    },
    Frame(Shown),
    Total {
        frames: u64,
        keys: u64,
        bytes: u64,
        kbps: f64,
        luma_db: Option<f64>,
    },
}

/// A frame; nothing of it is known where it was cut inside its head.
#[derive(Debug, Serialize)]
struct Shown {
    frame: u64,
    kind: Option<&'static str>,
    /// Bytes of head and side information.
    side: Option<usize>,
    /// Bytes up to the end of the floor, and of the loop.
    floor: Option<usize>,
    #[serde(rename = "loop")]
    closed: Option<usize>,
    bytes: usize,
    luma_db: Option<f64>,
    ycbcr_db: Option<f64>,
}

pub(crate) fn run(options: &Inspect, input: Input<'_>) -> Result<()> {
    let model = super::model(&options.common)?;
    // Memory is taken for pictures where they are decoded alone.
    let max_pixels = if options.original.is_some() { options.common.max_pixels } else { u64::MAX };
    let mut stored = Stored::open(input, &Frames::default(), max_pixels)?;
    let mut comparison = match &options.original {
        Some(path) => Some(Comparison::open(model, Input::open(path)?, &stored, &options.common)?),
        None => None,
    };
    let out = if options.json { print_json } else { print_text };
    let header = *stored.header();
    out(&video(&stored))?;
    let [mut frames, mut keys, mut bytes] = [0_u64; 3];
    let mut compared = Vec::new();
    while let Some(record) = stored.next()? {
        let psnr = comparison.as_mut().map(|comparison| comparison.psnr(&record)).transpose()?.flatten();
        let shown = Shown::new(&record, psnr);
        frames += 1;
        keys += u64::from(record.head.is_some_and(|head| head.key));
        bytes += record.bytes.len() as u64;
        compared.extend(psnr.map(|psnr| psnr.luma));
        out(&Line::Frame(shown))?;
    }
    let kbps = rounded(kbps(bytes, frames, header.rate), 2);
    let mean = compared.iter().sum::<f64>() / compared.len() as f64;
    let luma_db = (!compared.is_empty()).then(|| rounded(mean, 3));
    out(&Line::Total { frames, keys, bytes, kbps, luma_db })?;
    stored.end(frames)
}

fn video(stored: &Stored) -> Line {
    let header = stored.header();
    let several = header.loops.count() > 1;
    Line::Video {
        file: stored.name().to_owned(),
        width: header.size.width(),
        height: header.size.height(),
        frames_per_second: rounded(f64::from(header.rate.frames) / f64::from(header.rate.seconds), 3),
        full_range: header.range == Range::Full,
        model_ids: header.models.map(|model| model.to_string()),
        loops_bps: if several { header.loops.rates().to_vec() } else { Vec::new() },
        chosen: stored.chosen(),
    }
}

impl Shown {
    fn new(record: &Record, psnr: Option<YcbcrPsnr>) -> Self {
        let head = record.head;
        Self {
            frame: record.number,
            kind: head.map(|head| if head.key { "key" } else { "inter" }),
            side: head.map(|head| head.side),
            floor: head.map(|head| head.base),
            closed: head.map(|head| head.closed),
            bytes: record.bytes.len(),
            luma_db: psnr.map(|psnr| rounded(psnr.luma, 3)),
            ycbcr_db: psnr.map(|psnr| rounded(psnr.weighted(), 3)),
        }
    }
}

/// Decodes beside the original.
struct Comparison {
    decoder: VideoDecoder,
    clip: Clip,
    original: Picture,
    decoded: Picture,
}

impl Comparison {
    fn open(model: VideoModel, original: Input<'_>, stored: &Stored, common: &Common) -> Result<Self> {
        let header = stored.header();
        stored.check_model(&model)?;
        let clip = Clip::whole(original, common.max_pixels)?;
        let alike = clip.size() == header.size && clip.range() == header.range;
        ensure!(alike, "--original has another size or range of samples: name the video that this was made of");
        Ok(Self {
            decoder: super::decoder(model, header.size, common),
            original: clip.picture(),
            decoded: Picture::zero(header.size, Format::Ycbcr420(header.range)),
            clip,
        })
    }

    /// Nothing for a frame that cannot be decoded, or is not in the original.
    fn psnr(&mut self, record: &Record) -> Result<Option<YcbcrPsnr>> {
        if !self.clip.read_into(&mut self.original).context("--original")? {
            return Ok(None);
        }
        if self.decoder.decode(&record.bytes).is_err() {
            return Ok(None);
        }
        self.decoder.render_into(&mut self.decoded)?;
        Ok(Some(ycbcr_psnr(&self.original, &self.decoded)))
    }
}

fn print_json(line: &Line) -> Result<()> {
    Lines::Output.print(line)
}

fn print_text(line: &Line) -> Result<()> {
    let db = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:>9.2}"));
    let count = |value: Option<usize>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    files::print_result(&match line {
        Line::Video {
            file,
            width,
            height,
            frames_per_second,
            full_range,
            model_ids: [key, residual],
            loops_bps,
            chosen,
        } => format!(
            "{file}\n  video     {width}x{height} YCbCr 4:2:0, {} range, {frames_per_second} frames/s\n  models    {key} of \
             keys, {residual} of residuals\n{}  \
             columns   bytes up to the end of side information, of the floor and of the loop, and all: fewer than the loop's \
             where it is cut\n\n   frame  kind    side   floor    loop    bytes    Y dB  YCbCr dB\n",
            if *full_range { "full" } else { "limited" },
            print_loops(loops_bps, *chosen)
        ),
        Line::Frame(Shown { frame, kind, side, floor, closed, bytes, luma_db, ycbcr_db }) => format!(
            "{frame:>8}  {:<5}{:>7} {:>7} {:>7} {bytes:>8}{}{}\n",
            kind.unwrap_or("-"),
            count(*side),
            count(*floor),
            count(*closed),
            db(*luma_db),
            db(*ycbcr_db)
        ),
        Line::Total { frames, keys, bytes, kbps, luma_db } => {
            let quality = luma_db.map_or_else(String::new, |db| format!(", mean {db:.2} dB of luma"));
            format!("\n{frames} frames, {keys} of them keys, {bytes} bytes, {kbps:.0} kbit/s{quality}\n")
        }
    })
}

/// The line of several loops.
fn print_loops(loops_bps: &[u64], chosen: usize) -> String {
    if loops_bps.is_empty() {
        return String::new();
    }
    let rates: Vec<String> = loops_bps.iter().map(|rate| (rate / 1000).to_string()).collect();
    format!("  loops     for receivers from {} kbit/s on; shown is that from {}\n", rates.join(", "), rates[chosen])
}
