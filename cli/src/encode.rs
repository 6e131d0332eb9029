//! `nestcast encode`: a picture to a stream; `video` encodes videos.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nestcast_lab::encoded::{EncodedPicture, Names};
use nestcast_media::output::Output;
use nestcast_media::picture::Samples;
use nestcast_media::{Input, Kind};

use crate::args::Encode;
use crate::transforms::Model;
use crate::{files, video};

pub(crate) fn run(options: &Encode) -> Result<()> {
    let output = Output::stream(&options.output, &[&options.input])?;
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::Y4m {
        return video::encode(options, input, &output);
    }
    ensure!(
        !options.video.is_asked_for(),
        "--bitrates, --effort, --renditions, --frames and --matrix are for y4m videos: leave them out"
    );
    #[cfg(feature = "retrieval")]
    if nestcast_models::codes::CodePackage::is_meant(options.common.model()) {
        return crate::retrieval::encode(options, input, &output);
    }
    let model = Model::open(&options.common)?;
    let names = Names::new(input.name(), output.path());
    let decoded = input.picture_as(options.common.max_pixels, Samples::All)?;
    files::note_lost(&names.input, &decoded.notes);
    let (asked, encoder) = model.encoder(&options.picture)?;
    let analysis = model.used_analysis(asked, &decoded.picture);
    let mut encoder = encoder.with_max_bytes(options.max_bytes.unwrap_or(usize::MAX)).with_max_bits(options.bits);
    let start = Instant::now();
    let stream = encoder.encode(&decoded.picture).with_context(|| format!("{} cannot be encoded", names.input))?;
    let took = start.elapsed();
    let refused = || format!("`decode` would refuse the stream of {}, unless both get --max-pixels", names.input);
    stream.header().check_pixels(options.common.max_pixels).with_context(refused)?;
    output.write(stream.bytes())?;
    let summary = EncodedPicture::new(names, &stream, model.package.name(), analysis, took);
    files::conclude(&output, options.json, &summary)
}
