//! `nestcast inspect`: what a stream says of itself, and what its cuts give.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Channels, Error, Progress};
use nestcast_lab::metrics;
use serde::Serialize;

use crate::args::{Inspect, Transform};
use crate::files::{self, Input, Lines};
use crate::streams::Stream;
use crate::transforms::{self, Model};
use crate::video;

/// Shares of the stream that the table shows, in percent.
const PERCENTS: [usize; 7] = [1, 2, 5, 10, 20, 50, 100];

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    bytes: usize,
    bpp: f64,
    header_bytes: usize,
    width: usize,
    height: usize,
    channels: usize,
    planes: u8,
    /// Angles of the colour axes, in 1/1024 of half a turn; absent for grey.
    axes: Option<[i16; 3]>,
    model_id: String,
    /// The model's name if this is the one at hand.
    model: Option<String>,
    /// Whether further bytes would change nothing; absent where the model is not at hand.
    whole: Option<bool>,
    /// What the stream breaks behind its header; cuts end before it.
    fault: Option<String>,
    /// Bit planes that are still missing.
    planes_left: Option<f32>,
    cuts: Vec<Cut>,
}

#[derive(Debug, Serialize)]
struct Cut {
    percent: usize,
    bytes: usize,
    bpp: f64,
    planes_left: f32,
}

pub(crate) fn run(options: &Inspect) -> Result<()> {
    let mut input = Input::open(&options.input)?;
    if video::is_stored(&mut input)? {
        return video::inspect(options, input);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::inspect(options, input);
    }
    ensure!(options.original.is_none(), "--original is for videos: `nestcast eval` measures pictures");
    let stream = Stream::read(input, |_| Ok(None))?;
    let model = Model::open(&options.common)?;
    let header = stream.header;
    let known = header.model == model.id();
    let mut report = Report {
        file: files::name(&options.input),
        bytes: stream.bytes.len(),
        bpp: metrics::bpp(stream.bytes.len(), header.size),
        header_bytes: stream.header_bytes,
        width: header.size.width(),
        height: header.size.height(),
        channels: header.channels.count(),
        planes: header.planes,
        axes: (header.channels == Channels::Rgb).then(|| header.axes.angles()),
        model_id: header.model.to_string(),
        model: known.then(|| model.name().to_owned()),
        whole: None,
        fault: None,
        planes_left: None,
        cuts: Vec::new(),
    };
    // Cuts are found by decoding, which needs the model, and memory for the picture.
    if known && header.size.pixels() as u64 <= options.common.max_pixels {
        let failed = || format!("{} cannot be decoded", files::name(&options.input));
        cuts(&stream, &model, &mut report).with_context(failed)?;
        report.planes_left = report.cuts.last().map(|cut| cut.planes_left);
    }
    if options.json {
        return Lines::Output.print_pretty(&report);
    }
    files::print_result(&describe(&report, header.channels))
}

/// Decodes the stream from cut to cut.
fn cuts(stream: &Stream, model: &Model, report: &mut Report) -> Result<()> {
    let mut decoder = model.decoder(Transform::Linear)?;
    let mut at = 0;
    for percent in PERCENTS {
        let bytes = stream.bytes.len() * percent / 100;
        if bytes < stream.header_bytes {
            continue;
        }
        let progress = match decoder.push(&stream.bytes[at..bytes]) {
            Ok(progress) => progress,
            Err(fault @ Error::Corrupt { .. }) => {
                (report.fault, report.whole) = (Some(fault.to_string()), Some(false));
                break;
            }
            Err(error) => return Err(transforms::advise(error)),
        };
        at = bytes;
        report.whole = Some(progress == Progress::Complete);
        let planes_left = match progress {
            Progress::Picture(cut) => cut.0,
            _ => 0.0,
        };
        let bpp = metrics::bpp(bytes, stream.header.size);
        report.cuts.push(Cut { percent, bytes, bpp, planes_left });
    }
    Ok(())
}

fn describe(report: &Report, channels: Channels) -> String {
    let colours = if channels == Channels::Grey { "grey" } else { "RGB" };
    let model = match &report.model {
        Some(name) => format!("{} ({name})", report.model_id),
        None => format!("{}, which is not the model at hand: name its folder with --model", report.model_id),
    };
    let progress = match (&report.fault, report.whole) {
        (Some(fault), _) => &format!("{fault}: what comes before it decodes; get the stream again"),
        (None, Some(true)) => "the whole stream",
        (None, Some(false)) => "a prefix: more bytes would make the picture better",
        (None, None) => "unknown",
    };
    let turns = |angle: i16| f32::from(angle) * 180.0 / 1024.0;
    let axes = report.axes.map(|axes| axes.map(turns));
    let axes = axes.map_or(String::new(), |[a, b, c]| format!(", colours turned by {a:.1}, {b:.1} and {c:.1} degrees"));
    let mut text = format!(
        "{}\n  picture   {}x{} {colours}{axes}\n  bytes     {}, {} of them header\n  rate      {:.3} bpp\n  planes    {}\n  model     {model}\n  progress  {progress}\n",
        report.file, report.width, report.height, report.bytes, report.header_bytes, report.bpp, report.planes
    );
    if !report.cuts.is_empty() {
        text.push_str("\n    cut       bytes      bpp  planes left\n");
    }
    for cut in &report.cuts {
        let _ =
            writeln!(text, "  {:>3} %  {:>10}  {:>7.3}  {:>11.2}", cut.percent, cut.bytes, cut.bpp, cut.planes_left);
    }
    text
}
