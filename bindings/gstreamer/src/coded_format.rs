//! The caps of coded frames: `video/x-nestcast`, with the fields of the raw video and the models that encoded it.

use gst_video::VideoInfo;
use nestcast_codec::VideoModel;

const MEDIA_TYPE: &str = "video/x-nestcast";
const MODELS_FIELD: &str = "models";
/// Bits of a sample of the source, by the name that GStreamer's parsers give it.
const BITS_FIELD: &str = "bit-depth-luma";

/// Returns the caps of pads with coded frames.
pub(crate) fn coded_caps() -> gst::Caps {
    gst::Caps::builder(MEDIA_TYPE)
        .field("width", gst::IntRange::new(1, 16_384))
        .field("height", gst::IntRange::new(1, 16_384))
        .build()
}

/// Describes the coded frames of raw video: every buffer is one frame, or a prefix of it that contains its base.
pub(crate) fn describe(info: &VideoInfo, bits: u8, model: &VideoModel) -> Result<gst::Caps, gst::glib::BoolError> {
    let raw = info.to_caps()?;
    let fields = raw.structure(0).into_iter().flat_map(|fields| fields.iter());
    let kept = fields.filter(|(name, _)| name.as_str() != "format");
    let mut coded = gst::Structure::new_empty(MEDIA_TYPE);
    kept.for_each(|(name, value)| coded.set_value(name, value.clone()));
    coded.set(MODELS_FIELD, models(model));
    coded.set(BITS_FIELD, u32::from(bits));
    Ok(gst::Caps::builder_full().structure(coded).build())
}

/// Returns the models of coded caps that this decoder lacks.
pub(crate) fn unknown_models(caps: &gst::CapsRef, model: &VideoModel) -> Option<String> {
    let stated = caps.structure(0)?.get::<String>(MODELS_FIELD).ok()?;
    (stated != models(model)).then_some(stated)
}

/// Returns the bits of a sample that coded caps state; 8 if they state none.
pub(crate) fn stated_bits(caps: &gst::CapsRef) -> u8 {
    let stated = caps.structure(0).and_then(|fields| fields.get::<u32>(BITS_FIELD).ok());
    stated.and_then(|bits| u8::try_from(bits).ok()).unwrap_or(8)
}

/// Writes the models' ids: of key frames, and of residuals.
fn models(model: &VideoModel) -> String {
    let [key, residual] = model.ids().map(|id| id.to_string());
    format!("{key}:{residual}")
}
