//! What codecs are called and how they are drawn, the same in every table and plot.

use crate::plot::{Line, Look};

/// By id: name, colour, line. Variants of one codec share a colour.
const CODECS: [(&str, &str, usize, Line); 28] = [
    ("deep", "nestcast, deep", 0, Line::Solid),
    ("linear", "nestcast, linear", 1, Line::Solid),
    ("jpeg-420", "JPEG 4:2:0", 2, Line::Solid),
    ("jpeg-444", "JPEG 4:4:4", 2, Line::Dashed),
    ("jpeg-420-cut", "progressive JPEG 4:2:0, cut", 2, Line::Dotted),
    ("jpeg-444-cut", "progressive JPEG 4:4:4, cut", 8, Line::Dotted),
    ("webp-m4", "WebP, method 4", 3, Line::Dashed),
    ("webp-m6", "WebP, method 6", 3, Line::Solid),
    ("avif-420", "AVIF 4:2:0, speed 6", 5, Line::Dashed),
    ("avif-444", "AVIF 4:4:4, speed 6", 5, Line::Solid),
    ("jpeg2000", "JPEG 2000", 4, Line::Dashed),
    ("jpeg2000-layers", "JPEG 2000, one stream", 4, Line::Solid),
    ("tfc/bpg444", "BPG 4:4:4 (published)", 6, Line::Dashed),
    ("progressive/DPICT", "DPICT (published)", 7, Line::Dashed),
    ("cai/vtm", "VTM (published)", 8, Line::Dashed),
    ("JPEG", "JPEG", 2, Line::Solid),
    ("WebP", "WebP", 3, Line::Solid),
    ("AVIF", "AVIF", 5, Line::Solid),
    ("encode-linear", "encode, linear", 1, Line::Solid),
    ("encode-deep", "encode, deep", 0, Line::Solid),
    ("decode-linear", "decode, linear", 1, Line::Dashed),
    ("decode-deep", "decode, deep", 0, Line::Dashed),
    ("local/jxl_0.7_e7", "JPEG XL 0.7, effort 7 (published)", 7, Line::Solid),
    ("cai/hm", "HM (published)", 8, Line::Solid),
    ("progressive/VarMask_WACV25", "VarMask (published)", 7, Line::Dotted),
    ("cai/compressai-bmshj2018-factorized_mse_cpu", "factorised prior (published)", 8, Line::Dotted),
    ("cai/compressai-bmshj2018-hyperprior_mse_cpu", "hyperprior (published)", 8, Line::Dotted),
    ("progressive/CTC_2023", "CTC (published)", 7, Line::Dotted),
];

/// Whether a codec has a name of its own.
#[must_use]
pub fn is_known(id: &str) -> bool {
    CODECS.iter().any(|codec| codec.0 == id)
}

/// What a codec is called; its id, if it has no other name.
#[must_use]
pub fn name(id: &str) -> String {
    if let Some((_, name, ..)) = CODECS.iter().find(|codec| codec.0 == id) {
        return (*name).to_owned();
    }
    // Another model's decoders are called after it.
    match id.rsplit_once(' ') {
        Some((model, decoder)) if CODECS.iter().any(|codec| codec.0 == decoder) => {
            format!("{}, {model}", name(decoder))
        }
        _ => id.to_owned(),
    }
}

/// How a codec is drawn: ours thick, what was measured with dots.
#[must_use]
pub fn look(id: &str) -> Look {
    let decoder = id.rsplit_once(' ').map_or(id, |(_, decoder)| decoder);
    let (colour, line) = CODECS.iter().find(|codec| codec.0 == decoder).map_or((7, Line::Dotted), |c| (c.2, c.3));
    let ours = colour < 2;
    let line = if decoder == id { line } else { Line::Dashed };
    Look { colour, strong: ours, line, dots: !ours && !id.contains('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_models_are_told_apart() {
        assert_eq!(name("ssim deep"), "nestcast, deep, ssim");
        assert_eq!((look("ssim deep").colour, look("ssim deep").line), (0, Line::Dashed));
        assert_eq!(name("some/thing"), "some/thing");
        assert!(look("webp-m6").dots && !look("cai/vtm").dots);
    }
}
