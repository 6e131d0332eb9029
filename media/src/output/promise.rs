//! What a file's name promises.

use std::path::Path;

/// Extensions of pictures and videos, whether this crate writes them or not.
const FORMATS: [&str; 14] =
    ["png", "jpg", "jpeg", "webp", "avif", "gif", "bmp", "tif", "tiff", "y4m", "mp4", "mkv", "webm", "avi"];

/// The format of pictures or video that a name promises by its extension, in whatever case; what is written under the name should have
/// it.
#[must_use]
pub fn promised_format(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_ascii_lowercase();
    FORMATS.into_iter().find(|format| extension == *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_promises_in_any_case() {
        let promised = ["a.png", "b/c.JPG", "d.nst", "png", "e.tar.Y4M"].map(|name| promised_format(Path::new(name)));
        assert_eq!(promised, [Some("png"), Some("jpg"), None, None, Some("y4m")]);
    }
}
