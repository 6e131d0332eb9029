//! Scalable coding (SVC): three layers of quality or of size in one encode, by the example programs of libvpx and
//! libaom.
//!
//! | program | setting |
//! |---|---|
//! | `vp9_spatial_svc_encoder` | speed 5, constant rate, a buffer of 1 s, keyframes of at most 9 mean frames |
//! | `svc_encoder_rtc` | speed 7, constant rate, a buffer of 1 s, keyframes of at most 3 mean frames |
//!
//! Both use one thread, no temporal layers, no adaptive quantisation (its PSNR is less) and quantisers from 2 to 63.
//! Buffer and keyframes are the programs' own and have no option. Each program writes one file for a layer with all
//! layers below it. A layer is predicted from its own last picture and from the layers below it, so a decoder needs no
//! layer above the one that it shows, and goes on without them at any picture.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{FrameRate, Picture, Size};

use crate::{ffmpeg::Ffmpeg, ivf::Ivf};

/// The number of layers.
pub const LAYER_COUNT: usize = 3;
/// A low priority, so that other programs stay responsive.
const NICE_ARGUMENTS: [&str; 2] = ["-n", "10"];
/// The bit of a VP9 frame's first byte that a keyframe has not set: `frame_type`, in profile 0.
const VP9_FRAME_TYPE: u8 = 1 << 2;
/// The type of an AV1 sequence header, which begins each keyframe's temporal unit, and of the delimiter before it.
const AV1_SEQUENCE_HEADER: u8 = 1;
const AV1_TEMPORAL_DELIMITER: [u8; 2] = [0x12, 0];

/// An example program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// VP9, of libvpx.
    Vp9,
    /// AV1, of libaom.
    Av1,
}

/// How layers are coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerSetting {
    /// Width and height of the pictures.
    pub size: Size,
    /// Pictures a second.
    pub rate: FrameRate,
    /// The rate of each layer with the layers below it, in kbit/s, ascending.
    pub kbps: [f64; LAYER_COUNT],
    /// The part of width and height that each layer has: 4 for a quarter.
    pub shrink_factors: [u32; LAYER_COUNT],
    /// Frames from one keyframe to the next.
    pub keyframe_interval: usize,
}

/// A picture's layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayeredUnit {
    bytes: Bytes,
    /// The end of each layer.
    ends: [usize; LAYER_COUNT],
    /// Whether a decoder may begin here.
    pub key: bool,
}

/// An installed program.
#[derive(Clone, Debug)]
pub struct LayerEncoder {
    program: Program,
    path: PathBuf,
}

impl Program {
    /// Both programs.
    pub const ALL: [Self; 2] = [Self::Vp9, Self::Av1];

    /// Returns the program's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vp9 => "vp9_spatial_svc_encoder",
            Self::Av1 => "svc_encoder_rtc",
        }
    }

    /// Finds the program in the folders of a search path.
    #[must_use]
    pub fn find(self, search: Option<&OsStr>) -> Option<LayerEncoder> {
        let mut paths = std::env::split_paths(search?).map(|folder| folder.join(self.name()));
        Some(LayerEncoder { program: self, path: paths.find(|path| path.is_file())? })
    }

    /// Returns the file of a layer with all layers below it.
    fn file(self, output: &Path, layer: usize) -> PathBuf {
        let suffix = match self {
            Self::Vp9 => format!("_s{layer}.ivf"),
            Self::Av1 => format!("_{layer}.av1"),
        };
        let mut name = output.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    /// Returns ffmpeg's options for a decoder that shows only the highest layer of each picture.
    #[must_use]
    pub const fn decoder(self) -> [&'static str; 2] {
        match self {
            Self::Vp9 => ["-c:v", "libvpx-vp9"],
            Self::Av1 => ["-c:v", "libdav1d"],
        }
    }

    const fn codec(self) -> [u8; 4] {
        match self {
            Self::Vp9 => *b"VP90",
            Self::Av1 => *b"AV01",
        }
    }

    /// Returns whether a decoder may begin at this picture.
    #[must_use]
    pub fn is_key(self, unit: &[u8]) -> bool {
        match self {
            Self::Vp9 => unit.first().is_some_and(|byte| byte & VP9_FRAME_TYPE == 0),
            Self::Av1 => {
                let header = unit.strip_prefix(&AV1_TEMPORAL_DELIMITER).unwrap_or(unit).first();
                header.is_some_and(|byte| byte >> 3 == AV1_SEQUENCE_HEADER)
            }
        }
    }

    /// Decodes what remains of pictures after layers were left out: `units` begin with a keyframe. Passes each picture
    /// and its number to `show`.
    ///
    /// # Errors
    /// If `ffmpeg` fails or returns another number of pictures than units; those of `show`.
    pub fn decode<'a>(
        self,
        (ffmpeg, size, rate): (&Ffmpeg, Size, FrameRate),
        units: impl IntoIterator<Item = &'a [u8]>,
        show: impl FnMut(usize, &Picture) -> Result<()>,
    ) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let coded = folder.path().join("layers.ivf");
        let mut ivf = Ivf::new(self.codec(), size, rate)?;
        (0..).zip(units).for_each(|(time, unit)| ivf.push(time, unit));
        fs::write(&coded, ivf.bytes()?)?;
        let count = ffmpeg.show(&self.decoder(), &coded, show)?;
        ensure!(count == ivf.frames().len(), "{count} pictures of {} units", ivf.frames().len());
        Ok(())
    }
}

impl LayerSetting {
    /// Returns the program's arguments, without its files.
    fn arguments(&self, program: Program) -> String {
        let list = |value: &dyn Fn(usize) -> String| (0..LAYER_COUNT).map(value).collect::<Vec<_>>().join(",");
        let increments = increments(self.kbps);
        let rates = list(&|layer| increments[layer].to_string());
        let scales = list(&|layer| format!("1/{}", self.shrink_factors[layer]));
        let (width, height) = (self.size.width(), self.size.height());
        let [frames, seconds] = [self.rate.frames(), self.rate.seconds()];
        let total: u64 = increments.iter().sum();
        let common = format!(
            "-w {width} -h {height} -t {seconds}/{frames} -sl {LAYER_COUNT} -tl 1 -k {} -th 1 -r {scales} -b {total} \
             -bl {rates}",
            self.keyframe_interval
        );
        match program {
            Program::Vp9 => {
                let (least, most) = (list(&|_| "2".to_owned()), list(&|_| "63".to_owned()));
                format!(
                    "{common} -sp 5 -aq 0 -rcstat 1 --rc-end-usage=1 --lag-in-frames=0 --drop-frame=0 \
                     --min-q={least} --max-q={most}"
                )
            }
            Program::Av1 => {
                format!("{common} -sp 7 -aq 0 -lm 6 --min-q=2 --max-q=63 --drop-frame=0 --test-decode=0 --output-obu=0")
            }
        }
    }
}

impl LayeredUnit {
    /// Joins what a decoder gets for each layer with those below it.
    fn of(layers: [&[u8]; LAYER_COUNT], key: bool) -> Result<Self> {
        let all = layers[LAYER_COUNT - 1];
        ensure!(
            layers.windows(2).all(|pair| pair[1].starts_with(pair[0])),
            "a layer does not begin with those below it"
        );
        Ok(Self { bytes: Bytes::copy_from_slice(all), ends: layers.map(<[u8]>::len), key })
    }

    /// Returns the bytes of a layer and of those below it.
    ///
    /// # Panics
    /// If there is no such layer.
    #[must_use]
    pub fn up_to(&self, layer: usize) -> Bytes {
        self.bytes.slice(..self.ends[layer])
    }
}

impl LayerEncoder {
    /// Returns which program it is.
    #[must_use]
    pub const fn program(&self) -> Program {
        self.program
    }

    /// Encodes a file of raw pictures, planar YCbCr 4:2:0; returns a file for each layer with all layers below it. All
    /// their names begin with `output`.
    ///
    /// # Errors
    /// If the program fails.
    pub fn encode_file(&self, setting: &LayerSetting, raw: &Path, output: &Path) -> Result<[PathBuf; LAYER_COUNT]> {
        let arguments = setting.arguments(self.program);
        let mut command = Command::new("nice");
        command.args(NICE_ARGUMENTS).arg(&self.path).args(arguments.split_whitespace()).arg(raw).arg("-o").arg(output);
        let done = command.output().with_context(|| self.path.display().to_string())?;
        let said = String::from_utf8_lossy(&done.stderr);
        let last = || said.trim().lines().last().unwrap_or("it did not say why");
        ensure!(done.status.success(), "{} {arguments} failed: {}", self.program.name(), last());
        Ok(std::array::from_fn(|layer| self.program.file(output, layer)))
    }

    /// Reads a file of one layer with all layers below it, and joins what belongs to one picture.
    ///
    /// # Errors
    /// If it cannot be read, or is no IVF file.
    pub fn read(file: &Path) -> Result<Ivf> {
        Ok(Ivf::parse(&fs::read(file)?)?.joined())
    }

    /// Encodes pictures, planar YCbCr 4:2:0; returns a unit for each.
    ///
    /// # Errors
    /// If the program fails, or leaves out a layer of a picture.
    pub fn encode<'a>(
        &self,
        pictures: impl IntoIterator<Item = &'a Picture>,
        setting: &LayerSetting,
    ) -> Result<Vec<LayeredUnit>> {
        let folder = tempfile::tempdir()?;
        let (raw, output) = (folder.path().join("raw"), folder.path().join("layers"));
        let mut samples = BufWriter::new(File::create(&raw)?);
        let mut count = 0;
        for picture in pictures {
            samples.write_all(picture.samples())?;
            count += 1;
        }
        samples.into_inner()?;
        let files = self.encode_file(setting, &raw, &output)?;
        let [lowest, middle, highest] = files.each_ref().map(|file| Self::read(file));
        let (lowest, middle, highest) = (lowest?, middle?, highest?);
        let layers = [&lowest, &middle, &highest];
        ensure!(layers.iter().all(|layer| layer.frames().len() == count), "the layers have not {count} pictures each");
        let units = lowest.frames().zip(middle.frames()).zip(highest.frames());
        units.map(|((low, mid), high)| LayeredUnit::of([low, mid, high], self.program.is_key(low))).collect()
    }
}

/// Returns the rate of each layer without those below it, in whole kbit/s, which the programs need.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
fn increments(kbps: [f64; LAYER_COUNT]) -> [u64; LAYER_COUNT] {
    let all = kbps.map(|kbps| kbps.round() as u64);
    std::array::from_fn(|layer| all[layer].saturating_sub(layer.checked_sub(1).map_or(0, |below| all[below])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(shrink_factors: [u32; LAYER_COUNT]) -> LayerSetting {
        let (size, rate) = (Size::new(32, 16).expect("a size"), FrameRate::new(30, 1).expect("a rate"));
        LayerSetting { size, rate, kbps: [75.0, 300.0, 1200.0], shrink_factors, keyframe_interval: 60 }
    }

    #[test]
    fn rates_of_layers_add_up() {
        assert_eq!(increments([75.0, 197.46, 497.6]), [75, 122, 301]);
    }

    #[test]
    fn rates_scales_and_keyframes_are_arguments() {
        let words = setting([4, 2, 1]).arguments(Program::Vp9);
        assert!(words.contains(" -t 1/30 ") && words.contains(" -k 60 "), "{words}");
        assert!(words.contains(" -r 1/4,1/2,1/1 -b 1200 -bl 75,225,900 "), "{words}");
        let words = setting([1; 3]).arguments(Program::Av1);
        assert!(words.contains(" -r 1/1,1/1,1/1 ") && words.contains(" -lm 6 "), "{words}");
        assert_eq!(Program::Vp9.file(Path::new("a/b"), 1), Path::new("a/b_s1.ivf"));
        assert_eq!(Program::Av1.file(Path::new("a/b"), 2), Path::new("a/b_2.av1"));
    }

    #[test]
    fn a_program_is_found_on_the_path_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let search = std::env::join_paths([Path::new("/no/such/folder"), folder.path()]).expect("a path");
        assert!(Program::Av1.find(Some(&search)).is_none());
        let path = folder.path().join("svc_encoder_rtc");
        fs::write(&path, "").expect("writes");
        assert_eq!(Program::Av1.find(Some(&search)).map(|encoder| encoder.path), Some(path));
        assert!(Program::Vp9.find(Some(&search)).is_none() && Program::Av1.find(None).is_none());
    }

    #[test]
    fn layers_are_prefixes_of_a_unit() {
        let unit = LayeredUnit::of([b"a", b"ab", b"abc"], true).expect("prefixes");
        assert_eq!([0, 1, 2].map(|layer| unit.up_to(layer)), ["a", "ab", "abc"].map(Bytes::from));
        assert!(LayeredUnit::of([b"a", b"b", b"bc"], true).is_err());
    }

    #[test]
    fn keyframes_are_known_by_their_first_bytes() {
        assert!(Program::Vp9.is_key(&[0x82, 0x49]) && !Program::Vp9.is_key(&[0x86, 0]));
        assert!(Program::Av1.is_key(&[0x12, 0, 0x0a, 0x0b]) && !Program::Av1.is_key(&[0x12, 0, 0x32, 0x0b]));
        assert!(Program::ALL.iter().all(|program| !program.is_key(&[])));
    }

    #[cfg(feature = "motion-jpeg")]
    #[test]
    fn layers_are_left_out_at_any_picture_and_come_back_with_a_keyframe() -> Result<()> {
        let Ok(ffmpeg) = Ffmpeg::find() else {
            println!("skipped: no ffmpeg");
            return Ok(());
        };
        let clip = crate::clip::Clip::builtin()?;
        let setting = LayerSetting {
            size: clip.size(),
            rate: clip.rate(),
            kbps: [200.0, 600.0, 1800.0],
            shrink_factors: [1; LAYER_COUNT],
            keyframe_interval: 40,
        };
        for program in Program::ALL {
            let Some(encoder) = program.find(std::env::var_os("PATH").as_deref()) else {
                println!("skipped: no {}", program.name());
                continue;
            };
            let units = encoder.encode((0..60).map(|id| clip.at(id)), &setting)?;
            let keys: Vec<usize> = (0..units.len()).filter(|&at| units[at].key).collect();
            assert_eq!((units.len(), &keys[..]), (60, &[0, 40][..]), "{}", program.name());
            let layer = |at: usize| if !(15..40).contains(&at) { 2 } else { usize::from(at < 30) };
            let sent: Vec<Bytes> = units.iter().enumerate().map(|(at, unit)| unit.up_to(layer(at))).collect();
            program.decode((&ffmpeg, clip.size(), clip.rate()), sent.iter().map(|unit| &unit[..]), |at, picture| {
                let psnr = crate::metrics::luma_psnr(clip.at(at as u64), picture);
                ensure!(psnr > 30.0, "{psnr} dB at {at} by {}", program.name());
                Ok(())
            })?;
        }
        Ok(())
    }
}
