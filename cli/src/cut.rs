//! `nestcast cut`: the first bytes of a stream. It decodes nothing, so it needs no model.

use anyhow::{Context, Result, bail};
use nestcast_lab::metrics;
use nestcast_media::output::Output;
use nestcast_media::{Input, Kind};

use crate::args::Cut;
use crate::{pictures, video};

pub(crate) fn run(options: &Cut) -> Result<()> {
    let output = Output::stream(&options.output, &[&options.input])?;
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::StoredVideo {
        return video::cut(options, input, &output);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::cut(options, input, &output);
    }
    let (name, stream) = (input.name(), input.stream()?);
    let count = match (options.length.bytes, options.length.bpp) {
        (Some(count), _) => count,
        (None, Some(bpp)) => metrics::budget(bpp, stream.header().size),
        (None, None) => bail!("this is a picture's stream: give --bytes or --bpp"),
    };
    let prefix = pictures::prefix(&name, stream, count).with_context(|| format!("{name} cannot be cut there"))?;
    Ok(output.write(&prefix)?)
}
