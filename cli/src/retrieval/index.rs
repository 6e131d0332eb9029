//! `nestcast index`: a folder's pictures to an index.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use nestcast_lab::encoded::Names;
use nestcast_lab::search::{Summary, index, pictures_below};
use nestcast_media::output::Output;

use crate::args::Index;
use crate::files;

pub(crate) fn run(options: &Index) -> Result<()> {
    let pictures = pictures_below(&options.folder)?;
    let inputs: Vec<_> = pictures.iter().map(PathBuf::as_path).collect();
    let output = Output::new(&options.output, &inputs)?;
    let threads = options.threads.count();
    let coder = options.codes.coder(threads)?;
    let (index, count) = index(&coder, &pictures, threads, files::note_left_out)?;
    let (mut bytes, mut pieces) = (0, output.begin()?);
    index.write(|piece| {
        bytes += piece.len() as u64;
        pieces.write_all(piece).map_err(|error| anyhow::Error::from(output.explain(error)))
    })?;
    pieces.finish()?;
    let names = Names::new(options.folder.display().to_string(), &options.output);
    let summary = Summary::new(names, &coder, count, pictures.len() - count, bytes);
    files::conclude(&output, options.json, &summary)
}
