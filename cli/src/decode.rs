//! `nestcast decode`: a stream, or a prefix of one, to a PNG picture.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nestcast_lab::metrics;
use nestcast_media::picture::encode_png;

use crate::args::{Decode, Transform};
use crate::files::{self, Input, Output};
use crate::streams::Stream;
use crate::transforms::{self, Model};
use crate::video;

/// Extensions that promise what this does not write.
const OTHER_FORMATS: [&str; 9] = ["jpg", "jpeg", "webp", "avif", "gif", "bmp", "tif", "tiff", "y4m"];

pub(crate) fn run(options: &Decode) -> Result<()> {
    let mut input = Input::open(&options.input)?;
    if video::is_stored(&mut input)? {
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
    let output = Output::new(&options.output, &[&options.input])?;
    let failed = || format!("{} cannot be decoded", files::name(&options.input));
    let model = Model::open(&options.common)?;
    let transform = options.decoder.unwrap_or(Transform::Deep);
    let (synthesis, (mut decoder, fault, count)) = model.synthesis_beside(transform, || {
        let stream = Stream::read(input, |header| {
            transforms::check_size(header.size, &options.common).with_context(failed)?;
            Ok(options.bytes)
        })?;
        let bytes = match options.bytes {
            Some(count) => stream.prefix(count)?,
            None => stream.bytes.clone(),
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
    if output.is_standard() {
        return Ok(());
    }
    let size = picture.size();
    files::print(&format!(
        "{}: {}x{} from {count} bytes, {:.3} bpp, {} decoder\n",
        options.output.display(),
        size.width(),
        size.height(),
        metrics::bpp(count, size),
        transform.name()
    ))
}

/// Refuses a name that promises another format than PNG.
pub(crate) fn ensure_png(path: &Path) -> Result<()> {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let promises_another = extension.is_some_and(|extension| OTHER_FORMATS.iter().any(|format| extension == *format));
    ensure!(!promises_another, "{} would hold a PNG picture: give it a name that ends in .png", path.display());
    Ok(())
}
