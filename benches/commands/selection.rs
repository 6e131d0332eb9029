//! Which clips a command measures, and by which schemes.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

#[derive(Args)]
pub(crate) struct Selection {
    /// Clips, or folders of y4m files.
    #[arg(required = true)]
    clips: Vec<PathBuf>,
    /// Measure only this scheme (may be repeated); the rows of the others stay as they are.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

impl Selection {
    /// Returns whether all schemes are measured.
    pub(crate) fn has_all_schemes(&self) -> bool {
        self.only.is_empty()
    }

    /// Leaves out the schemes that are not measured; `id` returns a scheme's name.
    pub(crate) fn retain<S>(&self, schemes: &mut Vec<S>, id: impl Fn(&S) -> &str) -> Result<()> {
        schemes.retain(|scheme| self.only.is_empty() || self.only.iter().any(|name| name == id(scheme)));
        ensure!(!schemes.is_empty(), "no scheme of that name: {}", self.only.join(", "));
        Ok(())
    }

    /// Returns the given files, and the y4m files of given folders by name.
    pub(crate) fn clips(&self) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for path in &self.clips {
            if path.is_dir() {
                let found = super::files(path, "y4m")?;
                ensure!(!found.is_empty(), "no y4m files in {}", path.display());
                paths.extend(found);
            } else {
                paths.push(path.clone());
            }
        }
        Ok(paths)
    }
}
