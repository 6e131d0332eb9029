//! The format that a file's name promises.

use std::path::Path;

/// Extensions of pictures, videos and sound, whether this crate writes them or not.
const KNOWN_EXTENSIONS: [&str; 64] = [
    "png", "apng", "jpg", "jpeg", "jpe", "jfif", "webp", "avif", "gif", "bmp", "tif", "tiff", "dng", "ppm", "pgm",
    "pnm", "pam", "pbm", "tga", "ico", "heic", "heif", "jxl", "jp2", "psd", "svg", "pdf", "y4m", "yuv", "mp4", "m4v",
    "mkv", "webm", "avi", "mov", "ts", "m2ts", "mts", "mpg", "mpeg", "vob", "3gp", "flv", "wmv", "asf", "ogv", "mxf",
    "ivf", "264", "265", "h264", "hevc", "obu", "wav", "mp3", "m4a", "aac", "ogg", "oga", "opus", "flac", "wma", "mka",
    "nst",
];

/// Returns the format of pictures, video, sound or streams that a name promises by its extension, in any case. A file of this
/// name should have that format.
#[must_use]
pub fn promised_format(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_ascii_lowercase();
    KNOWN_EXTENSIONS.into_iter().find(|format| extension == *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_promises_in_any_case() {
        let promised =
            ["a.png", "b/c.JPG", "d.nst", "png", "e.tar.Y4M", "f.3gp"].map(|name| promised_format(Path::new(name)));
        assert_eq!(promised, [Some("png"), Some("jpg"), Some("nst"), None, Some("y4m"), Some("3gp")]);
    }
}
