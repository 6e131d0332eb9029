//! Names and strokes of codecs, the same in every table and plot.

use nestcast_lab::plot::{Pattern, Stroke};

/// By id: name, colour, pattern of the line. Variants of one codec share a colour.
const CODEC_STYLES: [(&str, &str, usize, Pattern); 62] = [
    ("deep", "nestcast, deep", 0, Pattern::Solid),
    ("linear", "nestcast, linear", 1, Pattern::Solid),
    ("jpeg-420", "JPEG 4:2:0", 2, Pattern::Solid),
    ("jpeg-444", "JPEG 4:4:4", 2, Pattern::Dashed),
    ("jpeg-420-cut", "progressive JPEG 4:2:0, cut", 2, Pattern::Dotted),
    ("jpeg-444-cut", "progressive JPEG 4:4:4, cut", 8, Pattern::Dotted),
    ("webp-m4", "WebP, method 4", 3, Pattern::Dashed),
    ("webp-m6", "WebP, method 6", 3, Pattern::Solid),
    ("avif-420", "AVIF 4:2:0, speed 6", 5, Pattern::Dashed),
    ("avif-444", "AVIF 4:4:4, speed 6", 5, Pattern::Solid),
    ("jxl-e7", "JPEG XL, effort 7", 7, Pattern::Solid),
    ("jpeg2000", "JPEG 2000", 4, Pattern::Dashed),
    ("jpeg2000-layers", "JPEG 2000, one stream", 4, Pattern::Solid),
    ("tfc/bpg444", "BPG 4:4:4 (published)", 6, Pattern::Dashed),
    ("progressive/DPICT", "DPICT (published)", 7, Pattern::Dashed),
    ("cai/vtm", "VTM (published)", 8, Pattern::Dashed),
    ("JPEG", "JPEG", 2, Pattern::Solid),
    ("WebP", "WebP", 3, Pattern::Solid),
    ("JPEG XL", "JPEG XL", 7, Pattern::Solid),
    ("AVIF", "AVIF", 5, Pattern::Solid),
    ("encode-linear", "encode, linear", 1, Pattern::Solid),
    ("encode-deep", "encode, deep", 0, Pattern::Solid),
    ("decode-linear", "decode, linear", 1, Pattern::Dashed),
    ("decode-deep", "decode, deep", 0, Pattern::Dashed),
    ("local/jxl_0.7_e7", "JPEG XL 0.7, effort 7 (published)", 7, Pattern::Solid),
    ("cai/hm", "HM (published)", 8, Pattern::Solid),
    ("progressive/VarMask_WACV25", "VarMask (published)", 7, Pattern::Dotted),
    ("cai/compressai-bmshj2018-factorized_mse_cpu", "factorised prior (published)", 8, Pattern::Dotted),
    ("cai/compressai-bmshj2018-hyperprior_mse_cpu", "hyperprior (published)", 8, Pattern::Dotted),
    ("progressive/CTC_2023", "CTC (published)", 7, Pattern::Dotted),
    ("nestcast", "nestcast", 0, Pattern::Solid),
    ("nestcast-2", "nestcast, two loops", 0, Pattern::Dashed),
    ("nestcast-3", "nestcast, three loops", 0, Pattern::Dotted),
    ("nestcast-deep", "nestcast, deep decoder", 1, Pattern::Dashed),
    ("nestcast-2-deep", "nestcast, two loops, deep decoder", 1, Pattern::Dotted),
    ("nestcast-3-deep", "nestcast, three loops, deep decoder", 1, Pattern::Dotted),
    ("nestcast-renews", "nestcast, renewing always", 0, Pattern::Dashed),
    ("nestcast-3-renews", "nestcast, three loops, renewing always", 0, Pattern::Dotted),
    ("intra", "nestcast, frames alone", 1, Pattern::Solid),
    ("x264", "x264 zerolatency", 5, Pattern::Solid),
    ("x264-once", "x264 zerolatency, one keyframe", 5, Pattern::Dotted),
    ("x264-psnr", "x264, tuned for PSNR", 5, Pattern::Dashed),
    ("x264-psnr-once", "x264, tuned for PSNR, one keyframe", 5, Pattern::Dotted),
    ("x264-refresh", "x264, intra refresh", 4, Pattern::Solid),
    ("x264-free", "x264 without VBV", 5, Pattern::Dotted),
    ("vp9", "libvpx VP9, realtime", 3, Pattern::Solid),
    ("aom", "libaom AV1, realtime", 7, Pattern::Solid),
    ("aom-tight", "libaom AV1, buffer of 1.5 frames", 7, Pattern::Dashed),
    ("svt-av1", "SVT-AV1, low delay", 6, Pattern::Solid),
    ("x264-ladder", "ladder of three x264", 8, Pattern::Dashed),
    ("x264-own", "five x264 zerolatency", 5, Pattern::Solid),
    ("x264-refresh-own", "five x264 tuned for PSNR, intra refresh", 5, Pattern::Dashed),
    ("aom-own", "five libaom AV1", 7, Pattern::Solid),
    ("aom-tight-own", "five libaom AV1, buffer of 1.5 frames", 7, Pattern::Dashed),
    ("x264-simulcast", "simulcast of three x264 tuned for PSNR", 4, Pattern::Solid),
    ("vp9-simulcast", "simulcast of three VP9", 3, Pattern::Solid),
    ("x264-scaled-simulcast", "simulcast of three x264, 1/4, 1/2 and full size", 4, Pattern::Dashed),
    ("vp9-scaled-simulcast", "simulcast of three VP9, 1/4, 1/2 and full size", 3, Pattern::Dashed),
    ("vp9-quality-layers", "VP9 SVC, three quality layers", 6, Pattern::Solid),
    ("av1-quality-layers", "AV1 SVC, three quality layers", 8, Pattern::Solid),
    ("vp9-spatial-layers", "VP9 SVC, three spatial layers", 6, Pattern::Dashed),
    ("av1-spatial-layers", "AV1 SVC, three spatial layers", 8, Pattern::Dotted),
];

/// Returns whether a codec has a name of its own.
#[must_use]
pub fn is_known(id: &str) -> bool {
    CODEC_STYLES.iter().any(|codec| codec.0 == id)
}

/// Returns a codec's name, or its id if it has no other name.
#[must_use]
pub fn name(id: &str) -> String {
    if let Some((_, name, ..)) = CODEC_STYLES.iter().find(|codec| codec.0 == id) {
        return (*name).to_owned();
    }
    // The names of another model's decoders contain the model.
    match id.rsplit_once(' ') {
        Some((model, decoder)) if CODEC_STYLES.iter().any(|codec| codec.0 == decoder) => {
            format!("{}, {model}", name(decoder))
        }
        _ => id.to_owned(),
    }
}

/// Returns a codec's stroke: thick for nestcast, with dots for what was measured.
#[must_use]
pub fn stroke(id: &str) -> Stroke {
    let decoder = id.rsplit_once(' ').map_or(id, |(_, decoder)| decoder);
    let (colour, pattern) =
        CODEC_STYLES.iter().find(|codec| codec.0 == decoder).map_or((7, Pattern::Dotted), |c| (c.2, c.3));
    let ours = colour < 2;
    let pattern = if decoder == id { pattern } else { Pattern::Dashed };
    Stroke { colour, pattern, strong: ours, dots: !ours && !id.contains('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_models_are_told_apart() {
        assert_eq!(name("ssim deep"), "nestcast, deep, ssim");
        assert_eq!((stroke("ssim deep").colour, stroke("ssim deep").pattern), (0, Pattern::Dashed));
        assert_eq!(name("some/thing"), "some/thing");
        assert!(stroke("webp-m6").dots && !stroke("cai/vtm").dots);
    }
}
