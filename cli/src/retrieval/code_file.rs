//! Code files: a 32x32 picture as an ordered binary code, cut at any bit (`spec/codes.md`).

use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use nestcast_media::picture::encode_png;
use nestcast_media::to_rgb;
use nestcast_models::Runtime;
use nestcast_models::codes::{CodePackage, SIDE};
use nestcast_retrieval::{CODE_MAGIC, CodeFile};
use serde::Serialize;

use super::advise;
use crate::args::{Cut, Decode, Encode, Inspect, Transform};
use crate::decode::ensure_png;
use crate::files::{self, Input, Lines, Output};
use crate::pictures;

/// More bytes than any code file has.
const MAX_BYTES: u64 = 8192;

/// What was made of what; `encode --json` prints it as it is.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    output: String,
    bits: usize,
    model: String,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, bits, model, .. } = self;
        writeln!(f, "{output}: code of {bits} bits, model {model}")
    }
}

/// What `inspect --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    bits: usize,
    /// Whether these are all bits that its model makes; absent where the model is not at hand.
    whole: Option<bool>,
    /// As the model's hash begins, in hexadecimal.
    model_id: String,
    /// The model's name if it is the one at hand.
    model: Option<String>,
}

/// Whether an input begins as a code file does.
pub(crate) fn is_code(input: &mut Input<'_>) -> Result<bool> {
    Ok(input.read_to(CODE_MAGIC.len() as u64)?.starts_with(&CODE_MAGIC))
}

pub(crate) fn encode(options: &Encode, input: Input<'_>, output: &Output<'_>) -> Result<()> {
    ensure!(options.max_bytes.is_none(), "--max-bytes is for streams: cut the code with `nestcast cut --bits N`");
    let chosen = options.analysis == Transform::Deep;
    ensure!(!chosen, "--analysis is for streams, a code has the encoder of its package: leave it out");
    let name = files::name(&options.input);
    let package = CodePackage::find(options.common.model())?;
    let picture = pictures::read_from(input, options.common.max_pixels)?;
    let size = picture.size();
    let fits = (size.width(), size.height()) == (SIDE, SIDE);
    ensure!(
        fits,
        "{name} has {}x{} pixels: scale it to the {SIDE}x{SIDE} that {} codes",
        size.width(),
        size.height(),
        package.name()
    );
    let code = package.encoder(&Runtime::open()?, 1)?.encode(&to_rgb(&picture));
    let code = code.with_context(|| format!("{name} cannot be encoded"))?;
    let file = CodeFile { model: id(&package), bits: package.bits(), code };
    output.write(&file.to_bytes())?;
    let (output_name, model) = (options.output.display().to_string(), package.name().to_owned());
    files::conclude(output, options.json, &Summary { input: name, output: output_name, bits: file.bits, model })
}

pub(crate) fn cut(options: &Cut, input: Input<'_>, output: &Output<'_>) -> Result<()> {
    let bits = options.length.bits.context("this is a code: cut it with --bits")?;
    let file = read(input)?;
    if bits > file.bits {
        files::note(&format!("{bits} bits are asked for, the code has {}: all of it is used", file.bits));
    }
    Ok(output.write(&file.first(bits).to_bytes())?)
}

pub(crate) fn decode(options: &Decode, input: Input<'_>) -> Result<()> {
    ensure_png(&options.output)?;
    let output = files::output(&options.output, &[&options.input])?;
    let name = files::name(&options.input);
    ensure!(options.bytes.is_none() && options.decoder.is_none(), "{name} is a code: leave --bytes and --decoder out");
    let of_video = options.bitrate.is_some() || !options.frames.is_all();
    ensure!(!of_video, "{name} is a code: leave --bitrate and --frames out, which are for videos");
    let file = read(input)?;
    let package = package(&file, options.common.model()).with_context(|| format!("{name} cannot be decoded"))?;
    let missing = "it is of another model: name the folder of its package with --model";
    let package = package.context(missing).with_context(|| format!("{name} cannot be decoded"))?;
    let decoder = package.decoder(&Runtime::open()?)?;
    let decoder = decoder.with_context(|| format!("{name} cannot be decoded: {} makes codes only", package.name()))?;
    let picture = decoder.decode(&file.code, file.bits).with_context(|| format!("{name} cannot be decoded"))?;
    output.write(&encode_png(&picture)?)?;
    let (path, bits, all, model) = (options.output.display(), file.bits, package.bits(), package.name());
    files::say_beside(&output, &format!("{path}: {SIDE}x{SIDE} from {bits} of {all} bits, model {model}\n"))
}

pub(crate) fn inspect(options: &Inspect, input: Input<'_>) -> Result<()> {
    let name = files::name(&options.input);
    ensure!(options.original.is_none(), "--original is for videos, {name} is a code: leave it out");
    let file = read(input)?;
    let package = package(&file, options.common.model()).with_context(|| format!("{name} is refused"))?;
    let report = Report {
        bits: file.bits,
        whole: package.as_ref().map(|package| file.bits == package.bits()),
        model_id: file.model.iter().map(|byte| format!("{byte:02x}")).collect(),
        model: package.map(|package| package.name().to_owned()),
        file: name,
    };
    if options.json { Lines::Output.print_pretty(&report) } else { files::print_result(&describe(&report)) }
}

fn describe(report: &Report) -> String {
    let Report { file, bits, whole, model_id, model } = report;
    let model = match model {
        Some(name) => format!("{model_id} ({name})"),
        None => format!("{model_id}, which is not at hand: name the folder of its package with --model"),
    };
    let progress = match whole {
        Some(true) => "the whole code",
        Some(false) => "a prefix: more bits would make the picture better",
        None => "unknown",
    };
    format!(
        "{file}\n  picture   {SIDE}x{SIDE} RGB\n  code      {bits} bits\n  model     {model}\n  progress  {progress}\n"
    )
}

fn id(package: &CodePackage) -> [u8; CodeFile::MODEL_BYTES] {
    std::array::from_fn(|at| package.hash()[at])
}

fn read(mut input: Input<'_>) -> Result<CodeFile> {
    let name = files::name(input.path());
    let bytes = input.read_to(MAX_BYTES)?;
    CodeFile::parse(bytes).map_err(advise).with_context(|| format!("{name} is refused"))
}

/// The package that `--model` names, or the built-in one, if it is the one that the code is of. A code that is longer than
/// its model makes is refused.
fn package(file: &CodeFile, named: &str) -> Result<Option<CodePackage>> {
    let built_in = CodePackage::names().filter_map(|name| CodePackage::find(name).ok());
    let named = CodePackage::is_meant(named).then(|| CodePackage::find(named)).transpose()?;
    let package = named.into_iter().chain(built_in).find(|package| id(package) == file.model);
    if let Some(most) = package.as_ref().map(CodePackage::bits).filter(|most| file.bits > *most) {
        bail!("it has {} bits where its model makes {most}: get the code again", file.bits);
    }
    Ok(package)
}
