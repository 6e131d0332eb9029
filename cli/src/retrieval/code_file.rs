//! Code files: a 32x32 picture as an ordered binary code, cut at any bit (`spec/codes.md`).

use anyhow::{Context, Result, ensure};
use nestcast_lab::encoded::{EncodedCode, Names};
use nestcast_lab::inspect::code::Report;
use nestcast_media::output::Output;
use nestcast_media::picture::encode_png;
use nestcast_media::{Input, to_rgb};
use nestcast_models::Runtime;
use nestcast_models::codes::{CodePackage, SIDE_PIXELS};
use nestcast_retrieval::{CODE_MAGIC, CodeFile};

use crate::args::{Common, Cut, Decode, Encode, Inspect};
use crate::files::{self, Lines};
use crate::pictures;

/// A limit that no code file reaches, in bytes.
const MAX_BYTES: u64 = 8192;

/// Returns whether an input begins as a code file does.
pub(crate) fn is_code(input: &mut Input<'_>) -> Result<bool> {
    Ok(input.read_to(CODE_MAGIC.len() as u64)?.starts_with(&CODE_MAGIC))
}

pub(crate) fn encode(options: &Encode, input: Input<'_>, output: &Output) -> Result<()> {
    ensure!(options.max_bytes.is_none(), "--max-bytes is for streams: cut the code with `nestcast cut --bits N`");
    let chosen = options.picture.has_networks();
    ensure!(!chosen, "--analysis is for streams, but a code uses the encoder of its package: leave it out");
    options.picture.refuse()?;
    let names = Names::new(input.name(), output.path());
    let package = CodePackage::find(options.common.model())?;
    let picture = pictures::read(input, options.common.max_pixels)?;
    let (width, height) = (picture.size().width(), picture.size().height());
    let (name, model) = (&names.input, package.name());
    ensure!(
        (width, height) == (SIDE_PIXELS, SIDE_PIXELS),
        "{name} has {width}x{height} pixels: scale it to the {SIDE_PIXELS}x{SIDE_PIXELS} that {model} codes"
    );
    let code = package.encoder(&Runtime::open()?, 1)?.encode(&to_rgb(&picture));
    let code = code.with_context(|| format!("{name} cannot be encoded"))?;
    let file = CodeFile { model: package.short_id(), bits: package.bits(), code };
    output.write(&file.to_bytes())?;
    let model = model.to_owned();
    files::conclude(output, options.json, &EncodedCode { names, bits: file.bits, model })
}

pub(crate) fn cut(options: &Cut, input: Input<'_>, output: &Output) -> Result<()> {
    let bits = options.length.bits.context("this is a code: cut it with --bits")?;
    let file = read(input)?;
    if bits > file.bits {
        files::note(&format!("you asked for {bits} bits, but the code has {}: nestcast uses all of it", file.bits));
    }
    Ok(output.write(&file.first(bits).to_bytes())?)
}

pub(crate) fn decode(options: &Decode, input: Input<'_>) -> Result<()> {
    let output = Output::png(&options.output, &[&options.input])?;
    let name = input.name();
    ensure!(options.bytes.is_none() && options.decoder.is_none(), "{name} is a code: leave --bytes and --decoder out");
    let of_video = options.bitrate.is_some() || !options.frames.is_all();
    ensure!(!of_video, "{name} is a code: leave --bitrate and --frames out, which are for videos");
    let file = read(input)?;
    let failed = || format!("{name} cannot be decoded");
    let missing = "it is of another model: name the folder of its package with --model";
    let package = package(&file, &options.common).and_then(|package| package.context(missing));
    let package = package.with_context(failed)?;
    let (all, model) = (package.bits(), package.name());
    let decoder = package.decoder(&Runtime::open()?)?;
    let decoder = decoder.with_context(|| format!("{name} cannot be decoded: {model} makes codes only"))?;
    let picture = decoder.decode(&file.code, file.bits).with_context(failed)?;
    output.write(&encode_png(&picture)?)?;
    let (path, bits, side) = (options.output.display(), file.bits, SIDE_PIXELS);
    files::say_beside(&output, &format!("{path}: {side}x{side} from {bits} of {all} bits, model {model}\n"))
}

pub(crate) fn inspect(options: &Inspect, input: Input<'_>) -> Result<()> {
    let name = input.name();
    ensure!(options.original.is_none(), "--original is for videos, but {name} is a code: leave it out");
    let file = read(input)?;
    let package = package(&file, &options.common).with_context(|| format!("{name} is refused"))?;
    let report = Report::new(name, &file, package.as_ref());
    if options.json { Lines::Output.print_pretty(&report) } else { files::print_result(&report.to_string()) }
}

fn read(mut input: Input<'_>) -> Result<CodeFile> {
    let name = input.name();
    CodeFile::parse(input.read_to(MAX_BYTES)?).with_context(|| format!("{name} is refused"))
}

/// Finds the package of a code, if it is available: the one that `--model` names, or without `--model` a built-in one.
/// Refuses a code that is longer than its model makes.
fn package(file: &CodeFile, options: &Common) -> Result<Option<CodePackage>> {
    let package = CodePackage::find_short(options.model(), file.model)?;
    if let (Some(named), Some(found)) = (&options.model, &package) {
        let is_it = CodePackage::is_meant(named) && CodePackage::find(named)?.short_id() == file.model;
        ensure!(is_it, "it is of the model {}, and --model {named} is another", found.name());
    }
    let most = package.as_ref().map_or(file.bits, CodePackage::bits);
    ensure!(file.bits <= most, "it has {} bits where its model makes {most}: get the code again", file.bits);
    Ok(package)
}
