//! Converts the colours that a file declares to sRGB.
//!
//! `moxcms` computes it. Code points of cICP are those of ITU-T H.273, the curves of HDR those of ITU-R BT.2100-2, and
//! reference white is the 203 cd/m2 of ITU-R BT.2408-7.

use std::sync::Arc;

use image::DynamicImage;
use moxcms::{
    Chromaticity, CicpColorPrimaries, CicpProfile, CmsError, ColorPrimaries, ColorProfile, DataColorSpace, Layout,
    MatrixCoefficients, ToneReprCurve, TransferCharacteristics, TransformExecutor, TransformOptions,
};

/// The most samples that are converted at once.
const PART_SAMPLES: usize = 3 * 4 * 1024;
/// Reference white of BT.2100's PQ, as a share of its greatest luminance.
const PQ_WHITE: f64 = 203.0 / 10_000.0;
/// The signal of reference white in BT.2100's HLG.
const HLG_WHITE: f64 = 0.75;
/// HLG's system gamma for a display of 1000 cd/m2.
const HLG_GAMMA: f64 = 1.2;
/// `gAMA` of files whose writer means sRGB, and the tolerance.
const SRGB_GAMMA: u32 = 45_455;
const GAMMA_TOLERANCE: u32 = 500;
/// `cHRM` of sRGB: x and y of white, red, green and blue, in 1/100000, and the tolerance.
const SRGB_CHROMATICITIES: [u32; 8] = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000];
const CHROMATICITY_TOLERANCE: u32 = 200;

/// Colours other than sRGB.
#[derive(Debug, Clone)]
pub(super) struct Colours {
    profile: ColorProfile,
    /// Whether there may be light above reference white, which sRGB cannot show.
    pub(super) hdr: bool,
}

/// Reads a profile; `None` if it is sRGB, or differs from it by too little to see.
///
/// # Errors
/// [`CmsError`] if it cannot be read.
pub(super) fn from_icc(profile: &[u8]) -> Result<Option<Colours>, CmsError> {
    let profile = ColorProfile::new_from_slice(profile)?;
    Ok((!is_srgb(&profile)?).then_some(Colours { profile, hdr: false }))
}

/// Returns Adobe RGB (1998), which cameras name without a profile.
pub(super) fn adobe_rgb() -> Colours {
    Colours { profile: ColorProfile::new_adobe_rgb(), hdr: false }
}

/// Returns the colours of PNG's `cICP`: primaries, transfer, matrix, range. `Some(None)` is sRGB. `None` means that
/// they are unknown, or not RGB in full range.
pub(super) fn from_cicp([primaries, transfer, matrix, full_range]: [u8; 4]) -> Option<Option<Colours>> {
    const RGB_FULL_RANGE: [u8; 2] = [0, 1];
    const SRGB_COLOURS: [u8; 2] = [1, 13];
    if [matrix, full_range] != RGB_FULL_RANGE {
        return None;
    }
    if [primaries, transfer] == SRGB_COLOURS {
        return Some(None);
    }
    let color_primaries = CicpColorPrimaries::try_from(primaries).ok()?;
    let transfer_characteristics = TransferCharacteristics::try_from(transfer).ok()?;
    let curve = match transfer_characteristics {
        TransferCharacteristics::Smpte2084 => Some(hdr_curve(pq)),
        TransferCharacteristics::Hlg => Some(hdr_curve(hlg)),
        _ => None,
    };
    let matrix_coefficients = MatrixCoefficients::Identity;
    let known = if curve.is_some() { TransferCharacteristics::Srgb } else { transfer_characteristics };
    let cicp = CicpProfile { color_primaries, transfer_characteristics: known, matrix_coefficients, full_range: true };
    let mut profile = ColorProfile::new_from_cicp(cicp);
    if let Some(curve) = &curve {
        profile.cicp = None;
        set_curve(&mut profile, curve.clone());
    }
    profile.red_trc.as_ref()?;
    Some(Some(Colours { profile, hdr: curve.is_some() }))
}

/// Returns the colours of PNG's `gAMA` and `cHRM`; `None` if they are sRGB within the tolerances.
pub(super) fn from_gamma(gamma: Option<u32>, chromaticities: Option<[u32; 8]>) -> Option<Colours> {
    let gamma = gamma.filter(|gamma| *gamma > 0 && gamma.abs_diff(SRGB_GAMMA) > GAMMA_TOLERANCE);
    let is_near = |given: &[u32; 8]| {
        given.iter().zip(SRGB_CHROMATICITIES).all(|(given, srgb)| given.abs_diff(srgb) <= CHROMATICITY_TOLERANCE)
    };
    let chromaticities =
        chromaticities.filter(|given| !is_near(given) && given.iter().skip(1).step_by(2).all(|y| *y > 0));
    if gamma.is_none() && chromaticities.is_none() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for colours")]
    let share = |number: u32| (f64::from(number) / 1e5) as f32;
    let mut profile = ColorProfile::new_srgb();
    profile.cicp = None;
    if let Some(points) = chromaticities {
        let (points, _) = points.as_chunks::<2>();
        let [white, red, green, blue] =
            [0, 1, 2, 3].map(|at| Chromaticity::new(share(points[at][0]), share(points[at][1])));
        profile.update_rgb_colorimetry(white.to_xyyb(), ColorPrimaries { red, green, blue });
    }
    if let Some(gamma) = gamma {
        set_curve(&mut profile, ToneReprCurve::Parametric(vec![1.0 / share(gamma)]));
    }
    Some(Colours { profile, hdr: false })
}

/// Gives all three colours one curve.
fn set_curve(profile: &mut ColorProfile, curve: ToneReprCurve) {
    profile.red_trc = Some(curve.clone());
    profile.green_trc = Some(curve.clone());
    profile.blue_trc = Some(curve);
}

/// Returns a curve from signal to light. Reference white is 1, and all brighter light too.
fn hdr_curve(light: impl Fn(f64) -> f64) -> ToneReprCurve {
    const CURVE_ENTRIES: u16 = 4096;
    let entry = |at: u16| {
        let light = light(f64::from(at) / f64::from(CURVE_ENTRIES - 1)).clamp(0.0, 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
        let entry = (light * f64::from(u16::MAX)).round() as u16;
        entry
    };
    ToneReprCurve::Lut((0..CURVE_ENTRIES).map(entry).collect())
}

/// Returns the light of a PQ signal (ITU-R BT.2100-2, table 4).
fn pq(signal: f64) -> f64 {
    const M1: f64 = 2610.0 / 16_384.0;
    const M2: f64 = 2523.0 / 4096.0 * 128.0;
    const C1: f64 = 3424.0 / 4096.0;
    const C2: f64 = 2413.0 / 4096.0 * 32.0;
    const C3: f64 = 2392.0 / 4096.0 * 32.0;
    let power = signal.powf(1.0 / M2);
    ((power - C1).max(0.0) / (C2 - C3 * power)).powf(1.0 / M1) / PQ_WHITE
}

/// Returns the light of an HLG signal (ITU-R BT.2100-2, table 5). It applies the system gamma to each colour.
fn hlg(signal: f64) -> f64 {
    const A: f64 = 0.178_832_77;
    const B: f64 = 0.284_668_92;
    const C: f64 = 0.559_910_73;
    let scene = |signal: f64| {
        if signal <= 0.5 { signal * signal / 3.0 } else { (((signal - C) / A).exp() + B) / 12.0 }
    };
    (scene(signal) / scene(HLG_WHITE)).powf(HLG_GAMMA)
}

fn options() -> TransformOptions {
    TransformOptions { prefer_fixed_point: false, ..TransformOptions::default() }
}

/// Returns whether a profile changes no sample of 8 bits by more than one step.
fn is_srgb(profile: &ColorProfile) -> Result<bool, CmsError> {
    const GRID_STEP: usize = 15;
    let srgb = ColorProfile::new_srgb();
    let (before, layout) = match profile.color_space {
        DataColorSpace::Gray => ((0..=u8::MAX).collect::<Vec<u8>>(), Layout::Gray),
        DataColorSpace::Rgb => {
            let levels = || (0..=u8::MAX).step_by(GRID_STEP);
            let colours = levels().flat_map(|red| levels().map(move |green| (red, green)));
            let colours = colours.flat_map(|(red, green)| levels().map(move |blue| [red, green, blue]));
            (colours.flatten().collect(), Layout::Rgb)
        }
        _ => return Ok(false),
    };
    let each = if layout == Layout::Gray { 3 } else { 1 };
    let mut after = vec![0; before.len() * each];
    profile.create_transform_8bit(layout, &srgb, Layout::Rgb, options())?.transform(&before, &mut after)?;
    Ok(before.iter().flat_map(|sample| std::iter::repeat_n(sample, each)).zip(&after).all(|(a, b)| a.abs_diff(*b) <= 1))
}

impl Colours {
    /// Converts a picture to sRGB.
    ///
    /// # Errors
    /// [`CmsError`] if the profile is for another kind of picture: for ink, Lab, or for grey if the picture has colours.
    pub(super) fn to_srgb(&self, image: &mut DynamicImage) -> Result<(), CmsError> {
        use DynamicImage as Image;
        // The library takes any profile of three channels.
        let is_grey = !image.color().has_color() && self.profile.color_space == DataColorSpace::Gray;
        if self.profile.color_space != DataColorSpace::Rgb && !is_grey {
            return Err(CmsError::UnsupportedProfileConnection);
        }
        let srgb = ColorProfile::new_srgb();
        let eight = |layout| self.profile.create_transform_8bit(layout, &srgb, layout, options());
        let sixteen = |layout| self.profile.create_transform_16bit(layout, &srgb, layout, options());
        match image {
            Image::ImageRgb8(image) => in_parts(image, &eight(Layout::Rgb)?),
            Image::ImageRgba8(image) => in_parts(image, &eight(Layout::Rgba)?),
            Image::ImageRgb16(image) => in_parts(image, &sixteen(Layout::Rgb)?),
            Image::ImageRgba16(image) => in_parts(image, &sixteen(Layout::Rgba)?),
            Image::ImageLuma8(_) | Image::ImageLumaA8(_) | Image::ImageLuma16(_) | Image::ImageLumaA16(_) => {
                let greys = self.greys()?;
                let change = |grey: &mut u16| *grey = greys[usize::from(*grey)];
                let change_byte =
                    |grey: &mut u8| *grey = ((u32::from(greys[usize::from(*grey) * 257]) + 128) / 257).to_le_bytes()[0];
                match image {
                    Image::ImageLuma8(image) => image.iter_mut().for_each(change_byte),
                    Image::ImageLumaA8(image) => image.iter_mut().step_by(2).for_each(change_byte),
                    Image::ImageLuma16(image) => image.iter_mut().for_each(change),
                    Image::ImageLumaA16(image) => image.iter_mut().step_by(2).for_each(change),
                    _ => {}
                }
                Ok(())
            }
            _ => Err(CmsError::UnsupportedProfileConnection),
        }
    }

    /// Converts amounts of ink, four for each pixel, to sRGB.
    ///
    /// # Errors
    /// [`CmsError`] if the profile is not for ink.
    pub(super) fn of_ink(&self, ink: &[u8]) -> Result<Vec<u8>, CmsError> {
        if self.profile.color_space != DataColorSpace::Cmyk {
            return Err(CmsError::UnsupportedProfileConnection);
        }
        // The library calls any four channels so.
        let four = Layout::Rgba;
        let transform = self.profile.create_transform_8bit(four, &ColorProfile::new_srgb(), Layout::Rgb, options())?;
        let mut shown = vec![0; ink.len() / 4 * 3];
        for (ink, shown) in ink.chunks(PART_SAMPLES).zip(shown.chunks_mut(PART_SAMPLES / 4 * 3)) {
            transform.transform(ink, shown)?;
        }
        Ok(shown)
    }

    /// Returns the 16-bit grey that every 16-bit grey becomes.
    fn greys(&self) -> Result<Vec<u16>, CmsError> {
        let all = 0..=u16::MAX;
        let grey = self.profile.color_space == DataColorSpace::Gray;
        let (layout, before): (_, Vec<u16>) = match grey {
            true => (Layout::Gray, all.collect()),
            false => (Layout::Rgb, all.flat_map(|grey| [grey; 3]).collect()),
        };
        let srgb = ColorProfile::new_srgb();
        let mut after = vec![0; 3 * (usize::from(u16::MAX) + 1)];
        self.profile.create_transform_16bit(layout, &srgb, Layout::Rgb, options())?.transform(&before, &mut after)?;
        let (pixels, _) = after.as_chunks::<3>();
        Ok(pixels.iter().map(|pixel| pixel[1]).collect())
    }
}

/// Converts samples in place.
fn in_parts<T: Copy + Default>(
    samples: &mut [T],
    transform: &Arc<dyn TransformExecutor<T> + Send + Sync>,
) -> Result<(), CmsError> {
    let mut before = Vec::with_capacity(PART_SAMPLES);
    for part in samples.chunks_mut(PART_SAMPLES) {
        before.clear();
        before.extend_from_slice(part);
        transform.transform(&before, part)?;
    }
    Ok(())
}
