//! `nestcast cut`: the first bytes of a stream. Nothing is decoded, so no model is needed.

use anyhow::{Context, Result};
use nestcast_codec::Header;
use nestcast_lab::metrics;

use crate::args::Cut;
use crate::files::{self, Output};
use crate::streams::Stream;

pub(crate) fn run(options: &Cut) -> Result<()> {
    let output = Output::new(&options.output, &[&options.input])?;
    let count = |header: &Header| match (options.length.bytes, options.length.bpp) {
        (Some(count), _) => count,
        (None, Some(bpp)) => metrics::budget(bpp, header.size),
        (None, None) => unreachable!("one of the two is required"),
    };
    let stream = Stream::read(&options.input, |header| Ok(Some(count(header))))?;
    let count = count(&stream.header);
    let prefix =
        stream.prefix(count).with_context(|| format!("{} cannot be cut there", files::name(&options.input)))?;
    output.write(&prefix)
}
