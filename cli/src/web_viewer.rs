//! `nestcast web-viewer`: writes the browser viewer into a folder.

use anyhow::{Context as _, Result, ensure};
use nestcast_media::is_standard;

use crate::args::WebViewer;
use crate::files;

pub(crate) fn run(options: &WebViewer) -> Result<()> {
    let folder = &options.output;
    ensure!(!is_standard(folder), "the viewer is several files: name a folder with -o");
    nestcast_web::write_files(folder).with_context(|| format!("{} cannot be written", folder.display()))?;
    let count = nestcast_web::PAGE_FILES.len();
    files::print(&format!("{}: {count} files; serve them by https, or on this machine by http\n", folder.display()))
}
