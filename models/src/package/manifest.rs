//! `manifest.toml`: the description of a model package.

use std::collections::BTreeMap;

use nestcast_codec::{Band, SUBBAND_COUNT, Subband, WAVELET_LEVELS};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Fault;

/// Version of the manifest that this build reads.
const MANIFEST_FORMAT: u32 = 1;
/// Pixels to a sample of the coarsest subbands, each way.
const COARSEST_STRIDE: usize = 1 << WAVELET_LEVELS;
/// Most networks of a synthesis.
pub(super) const MOST_SYNTHESES: usize = 8;
/// The bit planes of the largest coefficient: no cut is above.
const MOST_PLANES: f32 = 15.0;

/// The manifest of a model package. Unknown entries are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Manifest {
    /// Version of the manifest's own format.
    pub format: u32,
    /// Name of the model, as `--model` takes it.
    pub name: String,
    /// Version of the model.
    pub version: String,
    /// Licence of the weights.
    pub licence: String,
    /// What it was trained on.
    pub data: Vec<PackageSource>,
    /// The representation.
    pub transform: Transform,
    /// The values that the model was made for.
    pub ranges: Ranges,
    /// Names of the networks' inputs and outputs.
    pub networks: Networks,
    /// What encoders use unless their user chooses.
    #[serde(default)]
    pub encoder: EncoderDefaults,
    /// The arrays in `golden/`, where the package has them.
    pub golden: Option<Golden>,
    /// SHA-256 of every file, in hexadecimal, by its name in the folder.
    pub files: BTreeMap<String, String>,
}

/// A collection of training pictures.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageSource {
    /// Its publisher's name for it.
    pub name: String,
    /// How many pictures of it were used.
    pub files: u32,
    /// Its licence, as its publisher states it.
    pub licence: String,
}

/// The representation: the same in every package that this build reads.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// Pixels to a sample of the coarsest subbands, each way.
    pub stride: usize,
    /// Wavelet levels.
    pub levels: usize,
    /// Names of the subbands in the order of the stream: component, band, level.
    pub subbands: Vec<String>,
}

/// Least and greatest values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranges {
    /// The range of a picture's samples.
    pub samples: [f32; 2],
    /// The range of the networks' planes.
    pub planes: [f32; 2],
    /// The cuts that the networks of the synthesis were trained for, in bit planes: the least, those at which one
    /// network follows another, and the greatest. Other cuts are clamped to the first and the last.
    pub cut: Vec<f32>,
}

/// Names of the inputs and outputs of the networks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Networks {
    /// The ports of `analysis.onnx`.
    pub analysis: Ports,
    /// The ports of `synthesis-0.onnx`, which is for the least cuts, and of those that follow it.
    pub synthesis: Ports,
    /// The ports of `gains.onnx`, where the package has it.
    pub gains: Option<GainPorts>,
}

/// Names of a network's inputs and its output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// The input of three planes, in blocks of 4 by 4 pixels: 1 x height/4 x width/4 x 48.
    pub planes: String,
    /// The input of the cut; the analysis has none.
    pub cut: Option<String>,
    /// The output, which is added to the planes.
    pub correction: String,
}

/// Names of the input and the output of the network for gains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GainPorts {
    /// The input of three planes, in blocks of 4 by 4 pixels: 1 x height/4 x width/4 x 48.
    pub planes: String,
    /// The output, 1 x height/32 x width/32 x 2: of each region the activity in octaves
    /// ([`RegionActivity`](nestcast_codec::RegionActivity)), and the logit of its weight.
    pub activity: String,
}

/// What encoders use unless their user chooses.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderDefaults {
    /// The strength of activity masking, 0 to 1; without it 0, none.
    #[serde(default)]
    pub activity_masking: f32,
}

/// How the arrays in `golden/` were made.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// The cuts that the synthesis got.
    pub cuts: Vec<f32>,
    /// The angles of the picture's colour axes.
    pub axes: [i16; 3],
}

/// The entries that any format has, and the kind of packages of other things.
#[derive(Deserialize)]
struct Versioned {
    format: u32,
    /// Packages of codes have one.
    kind: Option<String>,
    files: Option<toml::Value>,
}

impl Versioned {
    /// The kind of package, if it is not one for pictures.
    fn of_others(&self) -> Option<&'static str> {
        let has = |name: &str| self.files.as_ref().is_some_and(|files| files.get(name).is_some());
        let video = || has("residual.bin") && !has("analysis.onnx");
        if self.kind.is_some() { Some("codes") } else { video().then_some("video") }
    }
}

impl Manifest {
    /// Reads and checks a manifest.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let versioned: Versioned = read(bytes)?;
        if let Some(of) = versioned.of_others() {
            return Err(Fault::Kind { of });
        }
        let format = versioned.format;
        if format != MANIFEST_FORMAT {
            return Err(Fault::Format { format, known: MANIFEST_FORMAT });
        }
        let manifest: Self = read(bytes)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The number of networks in the synthesis.
    pub(super) fn syntheses(&self) -> usize {
        self.ranges.cut.len().saturating_sub(1)
    }

    fn check(&self) -> Result<(), Fault> {
        check_files(&self.files)?;
        let Transform { stride, levels, subbands } = &self.transform;
        if (*stride, *levels) != (COARSEST_STRIDE, WAVELET_LEVELS)
            || !subbands.iter().eq(&(0..SUBBAND_COUNT).map(subband_name).collect::<Vec<_>>())
        {
            return Err(Fault::Transform);
        }
        let cuts = &self.ranges.cut;
        let rise = cuts.windows(2).all(|pair| pair[0] < pair[1]);
        let within = cuts.iter().all(|cut| (0.0..=MOST_PLANES).contains(cut));
        if !(1..=MOST_SYNTHESES).contains(&self.syntheses()) || !rise || !within {
            let what = format!("cuts are not 2 to {} that rise within 0 to {MOST_PLANES}", MOST_SYNTHESES + 1);
            return Err(Fault::Manifest(what));
        }
        if self.networks.analysis.cut.is_some() || self.networks.synthesis.cut.is_none() {
            return Err(Fault::Manifest("the synthesis is told the cut, the analysis is not".into()));
        }
        if !(0.0..=1.0).contains(&self.encoder.activity_masking) {
            return Err(Fault::Manifest("the strength of activity masking is not within 0 to 1".into()));
        }
        Ok(())
    }
}

/// Reads TOML; the error is one line.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    let text = str::from_utf8(bytes).map_err(|_| Fault::Manifest("it is not UTF-8".into()))?;
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        let what = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        Fault::Manifest(format!("line {line}: {}", printable(&what)))
    })
}

/// Checks the names of files and the form of their hashes.
pub(crate) fn check_files(files: &BTreeMap<String, String>) -> Result<(), Fault> {
    for (name, digest) in files {
        if !stays_inside(name) {
            return Err(Fault::Outside(printable(name)));
        }
        if digest.len() != 64 || !digest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(Fault::Manifest(format!("the sha256 of {name} is not 64 hexadecimal digits in lower case")));
        }
    }
    Ok(())
}

/// A stranger's text, as a message may quote it: short, and without characters that move a terminal's cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// A relative path of plain names, the same on every system.
fn stays_inside(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    name.split('/').all(plain)
}

/// `y-hl6`: component, band, level; 6 is the coarsest.
fn subband_name(index: usize) -> String {
    let Subband { component, level, band } = Subband::at(index);
    let band = match band {
        Band::Low => "ll",
        Band::Hl => "hl",
        Band::Lh => "lh",
        Band::Hh => "hh",
    };
    format!("{}-{band}{level}", ["y", "u", "v"][component])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_names_stay_inside() {
        for name in ["tables.bin", "golden/rgb.npy", "a/b/c-d_e.f"] {
            assert!(stays_inside(name), "{name}");
        }
        for name in ["", "/tables.bin", "../tables.bin", "a/../../b", "a//b", "a/", ".hidden", r"a\..\b", "C:x", "a b"]
        {
            assert!(!stays_inside(name), "{name}");
        }
    }

    #[test]
    fn subbands_are_named_in_the_order_of_the_stream() {
        let names: Vec<_> = [0, 1, 3, 8, SUBBAND_COUNT - 1].map(subband_name).into();
        assert_eq!(names, ["y-ll6", "u-ll6", "y-hl6", "u-hh6", "v-hh1"]);
    }
}
