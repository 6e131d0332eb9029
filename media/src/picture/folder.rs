//! Lists the pictures in folders, by the names of files.

use std::io;
use std::path::{Path, PathBuf};

/// Extensions of pictures, in any case; also of formats that this crate does not read, so that an error names the
/// file. Raw files of cameras are left out: mostly, a JPEG of the same name is next to them.
const PICTURE_EXTENSIONS: [&str; 19] = [
    "png", "apng", "jpg", "jpeg", "jpe", "jfif", "mpo", "webp", "avif", "heic", "heif", "hif", "gif", "tif", "tiff",
    "bmp", "jxl", "jp2", "psd",
];

/// Returns whether a file's name promises a picture.
#[must_use]
fn is_named_as_one(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| PICTURE_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// Lists the files in a folder that are named as pictures, in the order of their names. Leaves out subfolders, and also
/// pipes, because they may never end.
///
/// # Errors
/// Those of the system.
pub fn in_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        found.extend(Some(entry?.path()).filter(|path| is_named_as_one(path) && may_be_read(path)));
    }
    found.sort();
    Ok(found)
}

/// Lists the files in a folder and its subfolders that are named as pictures or that `also` accepts, in the order of
/// their names. Follows no links to folders, because they may form a circle. Leaves out pipes, because they may never
/// end.
///
/// # Errors
/// The folder that cannot be read, and the system's error.
pub fn below(folder: &Path, also: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let mut folders = vec![folder.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let unreadable = |error| (folder.clone(), error);
        for entry in folder.read_dir().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if (is_named_as_one(&path) || also(&path)) && may_be_read(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns whether a path is a file, or does not exist: the reader then reports that.
fn may_be_read(path: &Path) -> bool {
    path.metadata().map_or(true, |data| data.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_promises_a_picture_by_its_extension_in_any_case() {
        let named = |name: &str| is_named_as_one(Path::new(name));
        assert!(named("a.png") && named("x.apng") && named("b/c.JPG") && named("d.e.Jpeg"));
        assert!(
            !named("png")
                && !named(".png")
                && named("a.gif")
                && !named("a.txt")
                && !named("a.png.part")
                && !named("a.DNG")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_a_folder_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.png"), "").expect("a file");
        let pipe = folder.path().join("b.png");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()));
        assert_eq!(in_folder(folder.path()).expect("it is there"), [folder.path().join("a.png")]);
    }
}
