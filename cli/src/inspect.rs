//! `nestcast inspect`: a stream's header, and the quality of its cuts.

use anyhow::{Context, Result, ensure};
use nestcast_lab::inspect::picture::Report;
use nestcast_media::{Input, Kind};

use crate::args::{Inspect, Transform};
use crate::files::{self, Lines};
use crate::transforms::Model;
use crate::{pictures, video};

pub(crate) fn run(options: &Inspect) -> Result<()> {
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::StoredVideo {
        return video::inspect(options, input);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::inspect(options, input);
    }
    ensure!(options.original.is_none(), "--original is for videos: `nestcast eval` measures pictures");
    let (name, stream) = (input.name(), input.stream()?);
    let (header, header_bytes) = (*stream.header(), stream.header_bytes());
    let stream = pictures::stream(&name, stream, None)?;
    let model = Model::of_stream(&options.common, header.model).with_context(|| format!("{name} is refused"))?;
    let known = (header.model == model.package.id()).then(|| model.package.name().to_owned());
    // The cuts are found by decoding, which needs the model, and memory for the picture.
    let decodes = known.is_some() && header.check_pixels(options.common.max_pixels).is_ok();
    let mut report = Report::new(name.clone(), &stream, header_bytes, known);
    if decodes {
        let cut = report.with_cuts(&stream, &mut model.decoder(Transform::Linear)?);
        report = cut.with_context(|| format!("{name} cannot be decoded"))?;
    }
    if options.json { Lines::Output.print_pretty(&report) } else { files::print_result(&report.to_string()) }
}
