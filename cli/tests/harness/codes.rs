//! A small package of binary codes.

use std::path::Path;

use nestcast_onnx_writer::codes::{decoder, encoder};
use sha2::{Digest as _, Sha256};

/// The bits of its codes.
pub(crate) const BITS: u64 = 64;

/// Writes the package. Another `seed` makes another model.
pub(crate) fn write(folder: &Path, seed: u64) {
    std::fs::create_dir_all(folder).expect("a folder");
    let head = "kind = \"binary-code\"\nformat = 1\nname = \"cells\"\nversion = \"1\"\nlicence = \"MIT\"\ndata = []";
    let mut manifest = format!("{head}\n\n[code]\nbits = {BITS}\n\n[files]\n");
    for (name, bytes) in [("encoder.onnx", encoder(BITS, seed)), ("decoder.onnx", decoder(BITS))] {
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        manifest += &format!("\"{name}\" = \"{digest}\"\n");
        std::fs::write(folder.join(name), bytes).expect("a file");
    }
    std::fs::write(folder.join("manifest.toml"), manifest).expect("a file");
}
