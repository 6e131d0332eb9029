//! `nestcast encode`: a picture to a stream; `video` has videos.

use std::fmt;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nestcast_lab::metrics;
use nestcast_media::Kind;
use serde::Serialize;

use crate::args::Encode;
use crate::files::{self, Input};
use crate::transforms::Model;
use crate::{pictures, video};

/// What was made of what; `--json` prints it as it is.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    output: String,
    width: usize,
    height: usize,
    channels: usize,
    bytes: usize,
    bpp: f64,
    model: String,
    model_id: String,
    analysis: &'static str,
    encode_ms: f64,
}

pub(crate) fn run(options: &Encode) -> Result<()> {
    let output = files::output(&options.output, &[&options.input])?;
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::Y4m {
        return video::encode(options, input, &output);
    }
    ensure!(
        !options.video.is_asked_for(),
        "--bitrates, --effort, --loops and --frames are for y4m videos: leave them out"
    );
    #[cfg(feature = "retrieval")]
    if nestcast_models::codes::CodePackage::is_meant(options.common.model()) {
        return crate::retrieval::encode(options, input, &output);
    }
    let model = Model::open(&options.common)?;
    let picture = pictures::read_from(input, options.common.max_pixels)?;
    let mut encoder = model.encoder(options.analysis)?.with_max_bytes(options.max_bytes.unwrap_or(usize::MAX));

    let start = Instant::now();
    let stream =
        encoder.encode(&picture).with_context(|| format!("{} cannot be encoded", files::name(&options.input)))?;
    let encode_ms = start.elapsed().as_secs_f64() * 1e3;
    output.write(stream.bytes())?;

    let (size, bytes) = (picture.size(), stream.bytes().len());
    let summary = Summary {
        input: files::name(&options.input),
        output: options.output.display().to_string(),
        width: size.width(),
        height: size.height(),
        channels: picture.channels().count(),
        bytes,
        bpp: metrics::bpp(bytes, size),
        model: model.name().to_owned(),
        model_id: model.id().to_string(),
        analysis: options.analysis.name(),
        encode_ms,
    };
    files::conclude(&output, options.json, &summary)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, width, height, channels, bytes, bpp, model, model_id, analysis, encode_ms, .. } = self;
        let colours = if *channels == 1 { "grey" } else { "RGB" };
        writeln!(
            f,
            "{output}: {width}x{height} {colours}, {bytes} bytes, {bpp:.3} bpp, model {model} ({model_id}), \
             {analysis} analysis, {encode_ms:.0} ms"
        )
    }
}
