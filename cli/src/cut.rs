//! `nestcast cut`: the first bytes of a stream. Nothing is decoded, so no model is needed.

use anyhow::{Context, Result, bail};
use nestcast_lab::metrics;
use nestcast_media::Kind;

use crate::args::Cut;
use crate::files::{self, Input};
use crate::streams::StreamFile;
use crate::video;

pub(crate) fn run(options: &Cut) -> Result<()> {
    let output = files::output(&options.output, &[&options.input])?;
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::StoredVideo {
        return video::cut(options, input, &output);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::cut(options, input, &output);
    }
    let stream = StreamFile::open(input)?;
    let count = match (options.length.bytes, options.length.bpp) {
        (Some(count), _) => count,
        (None, Some(bpp)) => metrics::budget(bpp, stream.header().size),
        (None, None) => bail!("this is a picture's stream: give --bytes or --bpp"),
    };
    let prefix =
        stream.prefix(count).with_context(|| format!("{} cannot be cut there", files::name(&options.input)))?;
    Ok(output.write(&prefix)?)
}
