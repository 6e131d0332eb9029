//! `nestcast decode`: a stream, or a prefix of one, to a PNG picture.

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Decoder, Error};
use nestcast_lab::metrics;
use nestcast_media::output::Output;
use nestcast_media::picture::encode_png;
use nestcast_media::stream::Reader;
use nestcast_media::{Input, Kind, Opened};
use nestcast_models::runtime::load_beside;
use nestcast_models::{Composed, Runtime};

use crate::args::{Decode, Transform};
use crate::transforms::{Model, usual_decoder};
use crate::{files, pictures, video};

pub(crate) fn run(options: &Decode) -> Result<()> {
    let mut input = Input::open(&options.input)?;
    if input.kind()? == Kind::StoredVideo {
        return video::decode(options, input);
    }
    #[cfg(feature = "retrieval")]
    if crate::retrieval::is_code(&mut input)? {
        return crate::retrieval::decode(options, input);
    }
    let of_video = options.bitrate.is_some() || !options.frames.is_all() || options.sound.is_some();
    ensure!(!of_video, "--bitrate, --frames and --sound are for videos, but this is a picture's stream: give --bytes");
    // A second `open` waits for this one, and returns its error.
    let preloaded = || (options.decoder != Some(Transform::Linear)).then(Runtime::open);
    load_beside(preloaded, || picture(options, input)).1
}

fn picture(options: &Decode, input: Input<'_>) -> Result<()> {
    let name = input.name();
    let failed = || format!("{name} cannot be decoded");
    let stream = input.stream()?;
    let output = Output::png(&options.output, &[&options.input])?;
    let header = *stream.header();
    let model = Model::of_stream(&options.common, header.model).with_context(failed)?;
    let Pushed { mut decoder, fault, count } = pushed(options, &name, stream, &model)?;
    let transform = options.decoder.unwrap_or_else(usual_decoder);
    let picture = match transform {
        Transform::Linear => decoder.render_as(header.format()).with_context(failed)?,
        Transform::Deep => {
            let (coefficients, position) = decoder.coefficients().with_context(failed)?;
            let linear = model.package.linear(model.threads);
            let load = || {
                let synthesis = model.deep_synthesis()?;
                synthesis.prepare(position).with_context(failed).map(|()| synthesis)
            };
            let (synthesis, composed) = load_beside(load, || Composed::new(&linear, coefficients, position));
            let (composed, synthesis) = (composed.with_context(failed)?, synthesis?);
            let mut picture = synthesis.complete_as(composed, header.format()).with_context(failed)?;
            decoder.render_alpha_into(&mut picture).with_context(failed)?;
            // Networks free their memory more slowly than the system reclaims it when the process ends.
            std::mem::forget(synthesis);
            picture
        }
    };
    if let Some(fault) = fault {
        let rest = "the picture shows what comes before the fault; get the stream again for the rest";
        files::note(&format!("{name}: {fault}: {rest}"));
    }
    output.write(&encode_png(&picture)?)?;
    let (path, size, transform) = (options.output.display(), picture.size(), transform.name());
    let (width, height, bpp) = (size.width(), size.height(), metrics::bpp(count, size));
    let text = format!("{path}: {width}x{height} from {count} bytes, {bpp:.3} bpp, {transform} decoder\n");
    files::say_beside(&output, &text)
}

/// A linear decoder with a stream in it: before the synthesis, its state is the same for every transform.
struct Pushed {
    decoder: Decoder,
    /// The rule of the specification that the stream breaks.
    fault: Option<Error>,
    /// Bytes of the stream.
    count: usize,
}

fn pushed(options: &Decode, name: &str, stream: Reader<Opened>, model: &Model) -> Result<Pushed> {
    let failed = || format!("{name} cannot be decoded");
    // Refuses what the decoder would refuse, after reading only the header.
    stream.header().check_pixels(options.common.max_pixels).with_context(failed)?;
    let bytes = match options.bytes {
        Some(count) => pictures::prefix(name, stream, count)?,
        None => pictures::stream(name, stream, None)?.bytes().clone(),
    };
    let mut decoder = model.decoder(Transform::Linear)?;
    let fault = match decoder.push(&bytes) {
        Err(fault @ Error::Corrupt { .. }) if decoder.header().is_some() => Some(fault),
        pushed => pushed.map(|_| None).with_context(failed)?,
    };
    Ok(Pushed { decoder, fault, count: bytes.len() })
}
