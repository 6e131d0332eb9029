//! `nestcast decode`: a stream, or a prefix of one, to a PNG picture.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_lab::metrics;
use nestcast_media::Kind;
use nestcast_media::picture::encode_png;

use crate::args::{Decode, Transform};
use crate::files::{self, Input};
use crate::streams::StreamFile;
use crate::transforms::{self, Model};
use crate::video;

const PNG: &str = "png";
/// Extensions that promise a format.
const FORMATS: [&str; 10] = [PNG, "jpg", "jpeg", "webp", "avif", "gif", "bmp", "tif", "tiff", "y4m"];

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
    ensure_png(&options.output)?;
    let output = files::output(&options.output, &[&options.input])?;
    let failed = || format!("{} cannot be decoded", files::name(&options.input));
    let stream = StreamFile::open(input)?;
    let model = Model::open(&options.common)?.or_built_in(stream.header().model);
    let transform = options.decoder.unwrap_or(Transform::Deep);
    let (synthesis, (mut decoder, fault, count)) = model.synthesis_beside(transform, || {
        transforms::check_size(stream.header().size, &options.common).with_context(failed)?;
        let bytes = match options.bytes {
            Some(count) => stream.prefix(count)?,
            None => stream.read(None)?.bytes().clone(),
        };
        // The synthesis is not there yet; all that a decoder knows before it is the same with another.
        let mut decoder = model.decoder(Transform::Linear)?;
        let fault = transforms::push_before_fault(&mut decoder, &bytes).with_context(failed)?;
        Ok((decoder, fault, bytes.len()))
    })?;
    let (coefficients, position) = decoder.coefficients().with_context(failed)?;
    let picture = synthesis.picture_of(std::mem::take(coefficients), position).with_context(failed)?;
    if let Some(fault) = fault {
        let name = files::name(&options.input);
        files::note(&format!("{name}: {fault}: the picture shows what came before; get the stream again for the rest"));
    }
    output.write(&encode_png(&picture)?)?;
    let (path, size, name) = (options.output.display(), picture.size(), transform.name());
    let (width, height, bpp) = (size.width(), size.height(), metrics::bpp(count, size));
    files::say_beside(&output, &format!("{path}: {width}x{height} from {count} bytes, {bpp:.3} bpp, {name} decoder\n"))
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
