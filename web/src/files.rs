//! The files that a browser needs. `cargo xtask web` leaves the module in `dist/`, so that building this crate needs no
//! WebAssembly target.

use std::io;
use std::path::Path;

use nestcast_codec::tables;

/// A file of the viewer.
#[derive(Debug, Clone, Copy)]
pub struct StaticFile {
    /// The file's name. All files are in one folder.
    pub name: &'static str,
    /// Its media type, as an HTTP server states it.
    pub media_type: &'static str,
    /// The contents.
    pub bytes: &'static [u8],
    /// The contents in gzip, if that was made in advance.
    pub gzipped: Option<&'static [u8]>,
}

const fn text(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> StaticFile {
    StaticFile { name, media_type, bytes, gzipped: None }
}

const fn binary(name: &'static str, bytes: &'static [u8]) -> StaticFile {
    StaticFile { name, media_type: "application/octet-stream", bytes, gzipped: None }
}

/// All files; the page is the first.
pub const PAGE_FILES: [StaticFile; 17] = [
    text("index.html", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    text("page.css", "text/css; charset=utf-8", include_bytes!("../page/page.css")),
    text("player.js", "text/javascript; charset=utf-8", include_bytes!("../page/player.js")),
    text("worker.js", "text/javascript; charset=utf-8", include_bytes!("../page/worker.js")),
    text("relay.js", "text/javascript; charset=utf-8", include_bytes!("../page/relay.js")),
    text("residuals.js", "text/javascript; charset=utf-8", include_bytes!("../page/residuals.js")),
    text("painter.js", "text/javascript; charset=utf-8", include_bytes!("../page/painter.js")),
    text("player.d.ts", "text/plain; charset=utf-8", include_bytes!("../page/player.d.ts")),
    text("package.json", "application/json", include_bytes!("../page/package.json")),
    text("README.md", "text/plain; charset=utf-8", include_bytes!("../page/README.md")),
    text("LICENSE-MIT", "text/plain; charset=utf-8", include_bytes!("../../LICENSE-MIT")),
    text("LICENSE-APACHE", "text/plain; charset=utf-8", include_bytes!("../../LICENSE-APACHE")),
    StaticFile {
        name: "nestcast.wasm",
        media_type: "application/wasm",
        bytes: include_bytes!("../dist/nestcast.wasm"),
        gzipped: Some(include_bytes!("../dist/nestcast.wasm.gz")),
    },
    binary("photo.bin", tables::PHOTO),
    binary("key.bin", tables::VIDEO_KEY),
    binary("residual.bin", tables::VIDEO_RESIDUAL),
    binary("photo.nst", include_bytes!("../page/photo.nst")),
];

/// Writes all files into a folder, and creates the folder if it does not exist. A file that is there with the same
/// contents stays.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if a file of one of the names has other contents; then nothing is written. Those of
/// the system.
pub fn write_files(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut missing = Vec::new();
    for file in &PAGE_FILES {
        match std::fs::read(folder.join(file.name)) {
            Ok(bytes) if bytes == file.bytes => {}
            Ok(_) => {
                let why = format!("{} is there and has other contents", file.name);
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(file),
            Err(error) => return Err(error),
        }
    }
    missing.into_iter().try_for_each(|file| std::fs::write(folder.join(file.name), file.bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// The most bytes of the packed module, because every viewer loads it.
    const MAX_PACKED: usize = 200_000;

    #[test]
    fn the_module_is_small_and_the_page_names_only_files_that_are_there() {
        let module = PAGE_FILES.iter().find(|file| file.name == "nestcast.wasm").expect("the module");
        let packed = module.gzipped.expect("it is packed");
        assert!(module.bytes.starts_with(b"\0asm") && packed.len() < MAX_PACKED, "{}", packed.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut unpacked).expect("gzip");
        assert!(unpacked == module.bytes, "`cargo xtask web` writes both");
        for name in ["index.html", "player.js", "worker.js"] {
            let file = PAGE_FILES.iter().find(|file| file.name == name).expect("it is there");
            let text = std::str::from_utf8(file.bytes).expect("text");
            let named = text.split(['"', '\'']).filter(|word| {
                let ends = [".js", ".css", ".wasm", ".bin", ".nst"];
                ends.iter().any(|end| word.ends_with(end)) && !word.contains(['<', ' '])
            });
            let named: Vec<_> = named.map(|word| word.trim_start_matches("./")).filter(|word| word.len() > 4).collect();
            assert!(!named.is_empty(), "{name} names files");
            for word in named {
                assert!(PAGE_FILES.iter().any(|file| file.name == word), "{name} names {word}");
            }
        }
    }

    fn text_of(name: &str) -> &'static str {
        let file = PAGE_FILES.iter().find(|file| file.name == name).expect("it is there");
        std::str::from_utf8(file.bytes).expect("text")
    }

    #[test]
    fn tools_that_bundle_a_page_find_every_file_by_its_whole_name() {
        let mut found = Vec::new();
        for name in ["player.js", "worker.js"] {
            let text = text_of(name);
            for (at, _) in text.match_indices(", import.meta.url)") {
                let named = text[..at].rsplit_once("new URL(").map_or("", |(_, named)| named);
                let file = named.strip_prefix("'./").and_then(|rest| rest.strip_suffix('\''));
                found.push(file.unwrap_or_else(|| panic!("{name}: {named} is no name")));
            }
            assert_eq!(text.matches("import.meta.url").count(), text.matches(", import.meta.url)").count(), "{name}");
        }
        found.sort_unstable();
        assert_eq!(found, ["key.bin", "nestcast.wasm", "photo.bin", "residual.bin", "worker.js"]);
    }

    #[test]
    fn the_npm_package_has_all_that_the_elements_load_and_its_licences() {
        // All but the page of its own.
        let left_out = ["index.html", "page.css", "photo.nst", "package.json", "README.md"];
        let manifest = text_of("package.json");
        let (_, files) = manifest.split_once("\"files\": [").expect("a list of files");
        let (files, _) = files.split_once(']').expect("its end");
        let mut listed: Vec<_> = files.split(',').map(|name| name.trim().trim_matches('"')).collect();
        let mut needed: Vec<_> =
            PAGE_FILES.iter().map(|file| file.name).filter(|name| !left_out.contains(name)).collect();
        listed.sort_unstable();
        needed.sort_unstable();
        assert_eq!(listed, needed);
        assert!(manifest.contains(concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"")));
    }
}
