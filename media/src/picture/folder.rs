//! Folders of pictures, known by the names of their files.

use std::io;
use std::path::{Path, PathBuf};

/// Extensions of pictures, in whatever case.
const EXTENSIONS: [&str; 3] = ["png", "jpg", "jpeg"];

/// Whether the file's name promises a picture.
#[must_use]
pub fn is_named_as_one(path: &Path) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// What of a folder is named as a picture, by name; not what is in folders in it.
///
/// # Errors
/// Those of the system.
pub fn in_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        found.extend(Some(entry?.path()).filter(|path| is_named_as_one(path)));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_promises_a_picture_by_its_extension_in_any_case() {
        let named = |name: &str| is_named_as_one(Path::new(name));
        assert!(named("a.png") && named("b/c.JPG") && named("d.e.Jpeg"));
        assert!(!named("png") && !named(".png") && !named("a.gif") && !named("a.png.part") && !named(""));
    }
}
