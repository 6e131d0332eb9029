//! `nestcast search`: the pictures of an index nearest to one, among those that share its first bits.

use anyhow::{Context, Result, ensure};
use mmap_io::MemoryMappedFile;
use nestcast_lab::search::Report;
use nestcast_media::output::Output;
use nestcast_media::picture::encode_png;
use nestcast_media::{Input, is_standard};
use nestcast_retrieval::Index;

use crate::args::Search;
use crate::files::{self, Lines};

pub(crate) fn run(options: &Search) -> Result<()> {
    options.check();
    let inputs = [options.index.as_path(), &options.image];
    let sheet = options.sheet.as_ref().map(|path| Output::png(path, &inputs)).transpose()?;
    let names = inputs.map(Input::name_of);
    let place = &names[0];
    ensure!(!is_standard(&options.index), "nestcast maps an index into memory: name its file");
    let unreadable = || format!("{place} cannot be read");
    let length = options.index.metadata().with_context(unreadable)?.len();
    ensure!(length > 0, "{place} is empty: index the pictures again");
    let map = MemoryMappedFile::open_ro(&options.index).with_context(unreadable)?;
    let bytes = map.as_slice_bytes(0, map.len()).with_context(unreadable)?;
    let index = Index::open(bytes).with_context(|| format!("{place} is refused"))?;
    let coder = options.codes.coder(1)?;
    let (needed, given, model) = (index.model(), coder.model(), coder.package().name());
    ensure!(
        needed == given,
        "{place} is refused: its codes are of the model {needed}, and {model} is {given}: name its package with --model, or index \
         the pictures again"
    );
    let query = coder.query(&options.image)?;
    let report = Report::new(names, &index, &query, [options.top, options.among()])?;
    if let Some(sheet) = sheet {
        sheet.write(&encode_png(&report.sheet(&query, &coder)?)?)?;
        let (missing, all) = report.missing();
        if missing > 0 && !options.json {
            let lost = format!("{missing} of {all} pictures found are not there, seen from this folder");
            files::note(&format!("{lost}: search from where they were indexed"));
        }
        if sheet.is_standard() && !options.json {
            return Ok(());
        }
    }
    if options.json {
        let lines = options.sheet.as_deref().map_or(Lines::Output, Lines::next_to);
        return lines.print_pretty(&report);
    }
    files::print_result(&report.to_string())
}
