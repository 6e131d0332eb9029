//! Reports on a picture's stream: its header, and the precision of its cuts.

use std::fmt::{self, Display, Formatter};

use nestcast_codec::{Channels, Decoder, Error, Progress, Stream};
use serde::Serialize;

use crate::metrics;

/// The cuts in the table, in percent of the stream.
const CUT_PERCENTS: [usize; 7] = [1, 2, 5, 10, 20, 50, 100];

/// The report on a stream.
#[derive(Debug, Serialize)]
pub struct Report {
    file: String,
    bytes: usize,
    bpp: f64,
    header_bytes: usize,
    width: usize,
    height: usize,
    channels: usize,
    planes: u8,
    /// Bits of a sample in the source.
    bits: u8,
    /// Bit planes below the finest step.
    fine_planes: u8,
    /// Whether there is opacity.
    alpha: bool,
    /// Whether regions have gains.
    gains: bool,
    /// Angles of the colour axes, in 1/1024 of half a turn; absent for grey.
    axes: Option<[i16; 3]>,
    model_id: String,
    /// The model's name, if the model is available.
    model: Option<String>,
    /// Whether further bytes would change nothing; absent without the model.
    whole: Option<bool>,
    /// The rule that the stream breaks after its header; cuts end before it.
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

impl Report {
    /// Takes the stream's name and its header's length; `model` is the model's name if it is available.
    #[must_use]
    pub fn new(file: String, stream: &Stream, header_bytes: usize, model: Option<String>) -> Self {
        let header = stream.header();
        Self {
            file,
            bytes: stream.bytes().len(),
            bpp: metrics::bpp(stream.bytes().len(), header.size),
            header_bytes,
            width: header.size.width(),
            height: header.size.height(),
            channels: header.channels.count(),
            planes: header.planes,
            bits: header.bits,
            fine_planes: header.fine_planes,
            alpha: header.alpha.is_some(),
            gains: header.gains,
            axes: (header.channels == Channels::Rgb).then(|| header.axes.angles()),
            model_id: header.model.to_string(),
            model,
            whole: None,
            fault: None,
            planes_left: None,
            cuts: Vec::new(),
        }
    }

    /// Decodes the stream from cut to cut, and reports what each cut gives.
    ///
    /// # Errors
    /// Those of the decoder, except a stream that breaks the specification: the report says so.
    pub fn with_cuts(mut self, stream: &Stream, decoder: &mut Decoder) -> Result<Self, Error> {
        let mut at = 0;
        for percent in CUT_PERCENTS {
            let bytes = stream.bytes().len() * percent / 100;
            if bytes < self.header_bytes {
                continue;
            }
            let progress = match decoder.push(&stream.bytes()[at..bytes]) {
                Ok(progress) => progress,
                Err(fault @ Error::Corrupt { .. }) => {
                    (self.fault, self.whole) = (Some(fault.to_string()), Some(false));
                    break;
                }
                Err(error) => return Err(error),
            };
            at = bytes;
            self.whole = Some(progress == Progress::Complete);
            let planes_left = decoder.planes_left().unwrap_or_default();
            let bpp = metrics::bpp(bytes, stream.header().size);
            self.cuts.push(Cut { percent, bytes, bpp, planes_left });
        }
        self.planes_left = self.cuts.last().map(|cut| cut.planes_left);
        Ok(self)
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, width, height, bytes, header_bytes, bpp, planes, model_id, .. } = self;
        let gains = if self.gains { ", regions with gains" } else { "" };
        let colours = if self.axes.is_some() { "RGB" } else { "grey" };
        let deep = if self.bits > 8 { &format!(" of {} bits", self.bits) } else { "" };
        let alpha = if self.alpha { " with opacity" } else { "" };
        let fine = if self.fine_planes > 0 { &format!(" and {} finer", self.fine_planes) } else { "" };
        let turns = |angle: i16| f32::from(angle) * 180.0 / 1024.0;
        let axes = self.axes.map_or_else(String::new, |axes| {
            let [a, b, c] = axes.map(turns);
            format!(", colours turned by {a:.1}, {b:.1} and {c:.1} degrees")
        });
        let model = match &self.model {
            Some(name) => format!("{model_id} ({name})"),
            None => format!("{model_id}, which is not the model at hand: name its folder with --model"),
        };
        let progress = match (&self.fault, self.whole) {
            (Some(fault), _) => &format!("{fault}: what comes before it decodes; get the stream again"),
            (None, Some(true)) => "the whole stream",
            (None, Some(false)) => "a prefix: more bytes would make the picture better",
            (None, None) => "unknown",
        };
        write!(
            f,
            "{file}\n  picture   {width}x{height} {colours}{deep}{alpha}{axes}\n  bytes     {bytes}, {header_bytes} of them header\n  \
             rate      {bpp:.3} bpp\n  planes    {planes}{fine}{gains}\n  model     {model}\n  progress  {progress}\n"
        )?;
        if !self.cuts.is_empty() {
            f.write_str("\n    cut       bytes      bpp  planes left\n")?;
        }
        self.cuts.iter().try_for_each(|Cut { percent, bytes, bpp, planes_left }| {
            writeln!(f, "  {percent:>3} %  {bytes:>10}  {bpp:>7.3}  {planes_left:>11.2}")
        })
    }
}
