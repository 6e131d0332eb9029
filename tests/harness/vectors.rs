//! The frozen vectors of `spec/vectors`: writes and reads them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nestcast_codec::{Decoder, Format, Linear, Model};
use sha2::{Digest as _, Sha256};

pub use crate::recipes::{RECIPES, Recipe};
use crate::reference::{Prefix, Reference};
use crate::video_vectors;

/// Returns the cuts with digests in the manifest, for a stream with a header of `header` bytes.
fn cuts(header: usize, bytes: usize) -> Vec<usize> {
    let body = bytes - header;
    let mut cuts = vec![header, header + body.min(7), header + body / 16, header + body / 3, bytes];
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// A frozen vector.
#[derive(Debug)]
pub struct Vector {
    /// Its recipe.
    pub recipe: Recipe,
    /// The frozen stream.
    pub stream: Vec<u8>,
    /// Its lines in the manifest.
    pub rows: Vec<Row>,
}

/// A line of the manifest: the decoding of a vector at a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bytes of the prefix.
    pub cut: usize,
    /// Digest of the Levels.
    pub levels: String,
    /// Digest of the samples of the linear picture.
    pub samples: String,
}

const COLUMNS: &str = "vector\tkind\twidth\theight\tmodel\tbytes\tstream sha256\tcut\tlevels sha256\tsamples sha256\n";

/// Returns the folder of the vectors.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/vectors")
}

/// Returns the tables that all vectors are coded with.
///
/// # Panics
/// If they cannot be read.
pub fn tables() -> Vec<u8> {
    fs::read(folder().join("tables.bin")).expect("spec/vectors/tables.bin")
}

/// Returns the model of these tables.
///
/// # Panics
/// If the codec refuses them.
pub fn model() -> Arc<Model> {
    Arc::new(Model::from_bytes(&tables()).unwrap_or_else(|error| panic!("spec/vectors/tables.bin: {error}")))
}

/// Reads all vectors.
///
/// # Panics
/// If a file is missing.
pub fn read() -> Vec<Vector> {
    let manifest = manifest();
    let of = |recipe: &Recipe| {
        let file = format!("{}.nst", recipe.name);
        let stream = fs::read(folder().join(&file)).unwrap_or_else(|error| panic!("spec/vectors/{file}: {error}"));
        let lines = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let rows = lines.filter(|line| line[0] == recipe.name).map(|line| Row {
            cut: line[7].parse().expect("a number of bytes"),
            levels: line[8].into(),
            samples: line[9].into(),
        });
        Vector { recipe: *recipe, stream, rows: rows.collect() }
    };
    RECIPES.iter().map(of).collect()
}

/// Returns the manifest's text.
///
/// # Panics
/// If it cannot be read.
pub fn manifest() -> String {
    fs::read_to_string(folder().join("manifest.tsv")).expect("spec/vectors/manifest.tsv")
}

/// Decodes a stream: Levels by the reference decoder, samples by the codec.
///
/// # Panics
/// If one of them refuses it.
pub fn row(stream: &[u8], reference: &Reference, model: &Arc<Model>, cut: usize) -> Row {
    let mut decoder = Decoder::new(Linear::new(Arc::clone(model)));
    decoder.push(&stream[..cut]).unwrap_or_else(|error| panic!("the first {cut} bytes: {error}"));
    let format = decoder.header().expect("a whole header").format();
    let rendered = decoder.render_as(format);
    let picture = rendered.unwrap_or_else(|error| panic!("the first {cut} bytes: {error}"));
    Row { cut, levels: levels_digest(&reference.at(cut)), samples: sha256(picture.samples()) }
}

/// Writes tables, streams and manifest.
///
/// # Errors
/// If a file cannot be written.
///
/// # Panics
/// If the codec or the reference decoder refuses a stream.
pub fn write(folder: &Path, tables: &[u8]) -> std::io::Result<()> {
    let model = Arc::new(Model::from_bytes(tables).unwrap_or_else(|error| panic!("tables: {error}")));
    fs::create_dir_all(folder)?;
    fs::write(folder.join("tables.bin"), tables)?;
    let mut manifest = COLUMNS.to_string();
    for recipe in &RECIPES {
        let stream = recipe.encode(&model);
        fs::write(folder.join(format!("{}.nst", recipe.name)), &stream)?;
        let reference = Reference::decode(tables, &stream).expect("a valid stream").expect("a whole header");
        for cut in cuts(reference.header().bytes, stream.len()) {
            let row = row(&stream, &reference, &model, cut);
            let (levels, samples) = (row.levels, row.samples);
            writeln!(manifest, "{}\t{cut}\t{levels}\t{samples}", head(recipe, &model, &stream)).expect("a string");
        }
    }
    fs::write(folder.join("manifest.tsv"), manifest)?;
    video_vectors::write(folder, tables)
}

/// Returns the columns of the manifest that are the same for all cuts of a vector.
pub fn head(recipe: &Recipe, model: &Model, stream: &[u8]) -> String {
    let kind = match recipe.format {
        Format::Grey => "grey",
        Format::Rgb => "rgb",
        Format::GreyAlpha => "grey-alpha",
        Format::Rgba => "rgba",
        Format::Grey16 => "grey16",
        Format::GreyAlpha16 => "grey-alpha16",
        Format::Rgb16 => "rgb16",
        Format::Rgba16 => "rgba16",
        other => panic!("no format of streams: {other:?}"),
    };
    let (bytes, digest) = (stream.len(), sha256(stream));
    format!("{}\t{kind}\t{}\t{}\t{}\t{bytes}\t{digest}", recipe.name, recipe.width, recipe.height, model.id())
}

/// Returns the digest of the Levels of a prefix, as `spec/vectors/README.md` defines it.
pub fn levels_digest(prefix: &Prefix) -> String {
    let mut bytes = Vec::new();
    for prefix in [prefix].into_iter().chain(prefix.alpha.as_deref()) {
        for subband in &prefix.subbands {
            for (level, known) in subband.levels.iter().zip(&subband.known) {
                bytes.extend(level.to_le_bytes());
                bytes.extend(known.to_le_bytes());
            }
        }
    }
    sha256(&bytes)
}

/// Returns SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
