//! `nestcast decode`: a stream, or a prefix of one, to a PNG picture.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_codec::Error;
use nestcast_lab::metrics;
use nestcast_media::output::Output;
use nestcast_media::picture::encode_png;
use nestcast_media::{Input, Kind};

use crate::args::{Decode, Transform};
use crate::transforms::Model;
use crate::{files, pictures, video};

const PNG: &str = "png";
/// Extensions that promise a format.
const FORMATS: [&str; 14] =
    [PNG, "jpg", "jpeg", "webp", "avif", "gif", "bmp", "tif", "tiff", "y4m", "mp4", "mkv", "webm", "avi"];

pub(crate) fn run(options: &Decode) -> Result<()> {
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::StoredVideo {
        return video::decode(options, input);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::decode(options, input);
    }
    let of_video = options.bitrate.is_some() || !options.frames.is_all();
    ensure!(!of_video, "--bitrate and --frames are for videos, this is a picture's stream: give --bytes");
    picture(options, input)
}

fn picture(options: &Decode, input: Input<'_>) -> Result<()> {
    let name = input.name();
    let failed = || format!("{name} cannot be decoded");
    let stream = input.stream()?;
    ensure_png(&options.output)?;
    let output = Output::new(&options.output, &[&options.input])?;
    let model = Model::open(&options.common)?.or_built_in(stream.header().model);
    let transform = options.decoder.unwrap_or(Transform::Deep);
    let (synthesis, (mut decoder, fault, count)) = model.synthesis_beside(transform, || {
        // Refuses what the decoder would, before more than the header is read.
        let (given, max) = (stream.header().size.pixels() as u64, options.common.max_pixels);
        let what = "the picture's number of pixels";
        ensure!(given <= max, anyhow::Error::from(Error::Limit { what, given, max }).context(failed()));
        let bytes = match options.bytes {
            Some(count) => pictures::prefix(&name, stream, count)?,
            None => pictures::stream(&name, stream, None)?.bytes().clone(),
        };
        // The synthesis is not there yet; all that a decoder knows before it is the same with another.
        let mut decoder = model.decoder(Transform::Linear)?;
        let fault = match decoder.push(&bytes) {
            Err(fault @ Error::Corrupt { .. }) if decoder.header().is_some() => Some(fault),
            pushed => pushed.map(|_| None).with_context(failed)?,
        };
        Ok((decoder, fault, bytes.len()))
    })?;
    let (coefficients, position) = decoder.coefficients().with_context(failed)?;
    let picture = synthesis.picture_of(std::mem::take(coefficients), position).with_context(failed)?;
    if let Some(fault) = fault {
        files::note(&format!("{name}: {fault}: the picture shows what came before; get the stream again for the rest"));
    }
    output.write(&encode_png(&picture)?)?;
    let (path, size, transform) = (options.output.display(), picture.size(), transform.name());
    let (width, height, bpp) = (size.width(), size.height(), metrics::bpp(count, size));
    files::say_beside(
        &output,
        &format!("{path}: {width}x{height} from {count} bytes, {bpp:.3} bpp, {transform} decoder\n"),
    )
}

/// The format of pictures or video that a name promises, if any.
pub(crate) fn promised_format(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_ascii_lowercase();
    FORMATS.into_iter().find(|format| extension == *format)
}

/// Refuses a name that promises another format than PNG.
pub(crate) fn ensure_png(path: &Path) -> Result<()> {
    let promises_another = promised_format(path).is_some_and(|format| format != PNG);
    ensure!(!promises_another, "{} would hold a PNG picture: give it a name that ends in .png", path.display());
    Ok(())
}
