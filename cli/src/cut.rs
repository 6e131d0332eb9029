//! `nestcast cut`: the first bytes of a stream. Nothing is decoded, so no model is needed.

use anyhow::{Context, Result, anyhow};
use nestcast_codec::Header;
use nestcast_lab::metrics;

use crate::args::Cut;
use crate::files::{self, Input, Output};
use crate::streams::Stream;
use crate::video;

pub(crate) fn run(options: &Cut) -> Result<()> {
    let output = Output::new(&options.output, &[&options.input])?;
    let mut input = Input::open(&options.input)?;
    if video::is_stored(&mut input)? {
        return video::cut(options, input, &output);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::cut(options, input, &output);
    }
    let count = |header: &Header| match (options.length.bytes, options.length.bpp) {
        (Some(count), _) => Ok(count),
        (None, Some(bpp)) => Ok(metrics::budget(bpp, header.size)),
        (None, None) => Err(anyhow!("this is a picture's stream: give --bytes or --bpp")),
    };
    let stream = Stream::read(input, |header| count(header).map(Some))?;
    let count = count(&stream.header)?;
    let prefix =
        stream.prefix(count).with_context(|| format!("{} cannot be cut there", files::name(&options.input)))?;
    output.write(&prefix)
}
