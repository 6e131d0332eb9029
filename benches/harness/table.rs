//! Tables in files: CSV with a header, an empty field where nothing was measured.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Serialize, de::DeserializeOwned};

/// Reads all rows.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let name = || format!("rows from {}", path.display());
    let rows: Result<Vec<T>, _> = csv::Reader::from_path(path).with_context(name)?.into_deserialize().collect();
    rows.with_context(name)
}

/// Reads all rows; none if the file does not exist.
pub fn read_if_there<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if path.exists() { read(path) } else { Ok(Vec::new()) }
}

/// Writes rows in [`read`]'s format; creates the folder if it does not exist.
pub fn write<T: Serialize>(path: &Path, rows: &[T]) -> Result<()> {
    let name = || format!("rows to {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(name)?;
    }
    let mut writer = csv::Writer::from_path(path).with_context(name)?;
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(writer.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nestcast_lab::rate_distortion::Row;

    #[test]
    fn rows_survive_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/er/rows.csv");
        let row = |image: &str, bpp, ms_ssim| Row {
            image: image.to_owned(),
            decoder: "deep".to_owned(),
            bytes: 100,
            bpp,
            psnr_db: 31.0,
            ms_ssim,
            encode_ms: None,
            decode_ms: Some(2.0),
            ..Row::default()
        };
        let rows = vec![row("a, b.png", 0.125, Some(0.9)), row("c.png", 0.5, None)];
        write(&path, &rows).expect("writes");
        let text = std::fs::read_to_string(&path).expect("reads");
        assert!(
            text.starts_with("image,decoder,bytes,bpp,psnr_db,ms_ssim,encode_ms,decode_ms,ssimulacra2,butteraugli\n"),
            "{text}"
        );
        assert!(text.contains("c.png,deep,100,0.5,31.0,,,2.0,,"), "{text}");
        assert_eq!(read::<Row>(&path).expect("reads"), rows);
    }
}
