//! The page on which the reader cuts the stream, next to the JPEG of the same bytes. A browser decodes both.

use anyhow::Result;
use nestcast_media::picture::encode_png;
use nestcast_sender::PageFile;
use serde_json::json;

use super::measure::Report;

pub(super) fn files(report: &Report<'_>) -> Result<Vec<PageFile>> {
    let photo = report.photo;
    let jpegs = report.ladder.front(report.stream.len())?;
    let facts = jpegs.iter().map(
        |(step, _)| json!({ "bytes": step.file.len(), "sampling": step.sampling.name(), "quality": step.quality }),
    );
    let facts = json!({ "name": photo.name, "credit": photo.credit, "jpegs": facts.collect::<Vec<_>>() });
    let all: Vec<u8> = jpegs.iter().flat_map(|(step, _)| &step.file).copied().collect();
    let made = |name, media_type, bytes: Vec<u8>| PageFile { name, media_type, bytes: bytes.into(), gzipped: None };
    Ok(vec![
        PageFile::from_static("index.html", "text/html; charset=utf-8", include_bytes!("slider/index.html")),
        PageFile::from_static("slider.css", "text/css; charset=utf-8", include_bytes!("slider/slider.css")),
        PageFile::from_static("slider.js", "text/javascript; charset=utf-8", include_bytes!("slider/slider.js")),
        made("picture.json", "application/json", facts.to_string().into_bytes()),
        made("picture.nst", "application/octet-stream", report.stream.to_vec()),
        made("original.png", "image/png", encode_png(&photo.picture)?),
        made("jpegs.bin", "application/octet-stream", all),
    ])
}
