//! Colours and strokes of charts, in light and dark as the reader's system prefers.
//!
//! Plotters writes colours as attributes. A style sheet in the drawing matches these and adds what attributes cannot
//! express: the colour in the dark, and the pattern of a line. Without style sheets the drawing is complete, but light
//! and solid.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// A light and a dark colour, as red, green and blue.
type Pair = (u32, u32);

/// Colours of curves.
pub const CURVE_COLOURS: [Pair; 9] = [
    (0xC2185B, 0xFF6B9D),
    (0xE65100, 0xFFA15C),
    (0x77777D, 0xA8A8B0),
    (0x2E7D32, 0x7BD17F),
    (0x6A3FB5, 0xB59BFF),
    (0x0277BD, 0x5CC0FF),
    (0x8D6E00, 0xE3C14A),
    (0x00796B, 0x55D0C0),
    (0x37373B, 0xE4E4E8),
];

/// Everything that is not a curve.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Paper,
    Ink,
    Faint,
    Grid,
    Axis,
    Mark,
}

/// The colours by [`Part`].
const PART_COLOURS: [Pair; 6] = [
    (0xFFFFFF, 0x17171A),
    (0x1C1C1E, 0xEEEEF2),
    (0x62626A, 0xA0A0AA),
    (0xE6E6EA, 0x2E2E34),
    (0x8A8A92, 0x73737C),
    (0xF0F0F3, 0x242429),
];

/// The pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Unbroken.
    Solid,
    /// Long strokes.
    Dashed,
    /// Dots.
    Dotted,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// Place in [`CURVE_COLOURS`].
    pub colour: usize,
    /// The pattern of its line.
    pub pattern: Pattern,
    /// Thick.
    pub strong: bool,
    /// A dot at every point.
    pub dots: bool,
}

impl Stroke {
    /// Returns a thick, solid line.
    #[must_use]
    pub const fn strong(colour: usize) -> Self {
        Self { colour, pattern: Pattern::Solid, strong: true, dots: false }
    }

    /// Returns a thin, dashed line.
    #[must_use]
    pub const fn dashed(colour: usize) -> Self {
        Self { colour, pattern: Pattern::Dashed, strong: false, dots: false }
    }

    /// Returns the light colour, whose last two bits are the pattern.
    pub(super) const fn colour(self) -> RGBColor {
        rgb(self.key())
    }

    const fn key(self) -> u32 {
        CURVE_COLOURS[self.colour].0 & !3 | self.pattern as u32
    }
}

impl Part {
    /// Returns the light colour.
    pub(super) const fn colour(self) -> RGBColor {
        rgb(PART_COLOURS[self as usize].0)
    }
}

const fn rgb(colour: u32) -> RGBColor {
    let [_, red, green, blue] = colour.to_be_bytes();
    RGBColor(red, green, blue)
}

/// Returns the same colours for a page: `--c0` to `--c8` as in [`CURVE_COLOURS`], and those of paper, ink and lines.
#[must_use]
pub fn variables() -> String {
    const PART_NAMES: [&str; PART_COLOURS.len()] = ["paper", "ink", "faint", "grid", "axis", "mark"];
    let block = |of: fn(Pair) -> u32| {
        let mut css = String::from(":root{");
        for (number, pair) in CURVE_COLOURS.into_iter().enumerate() {
            let _ = write!(css, "--c{number}:#{:06x};", of(pair));
        }
        for (name, pair) in PART_NAMES.into_iter().zip(PART_COLOURS) {
            let _ = write!(css, "--{name}:#{:06x};", of(pair));
        }
        css + "}"
    };
    format!("{}\n@media(prefers-color-scheme:dark){{{}}}\n", block(|pair| pair.0), block(|pair| pair.1))
}

/// Returns the style sheet of a drawing with these strokes.
pub(super) fn sheet(strokes: impl Iterator<Item = Stroke>) -> String {
    let mut keys: Vec<(u32, u32, Pattern)> =
        strokes.map(|stroke| (stroke.key(), CURVE_COLOURS[stroke.colour].1, stroke.pattern)).collect();
    keys.sort_by_key(|key| key.0);
    keys.dedup_by_key(|key| key.0);
    let mut css = String::from("polyline{stroke-linejoin:round;stroke-linecap:round}");
    for (key, _, pattern) in &keys {
        let dashes = match pattern {
            Pattern::Solid => continue,
            Pattern::Dashed => "14 8",
            Pattern::Dotted => "3 8",
        };
        let _ = write!(css, "[stroke=\"#{key:06X}\"]{{stroke-dasharray:{dashes}}}");
    }
    css += "@media(prefers-color-scheme:dark){";
    for (light, dark) in keys.iter().map(|key| (key.0, key.1)).chain(PART_COLOURS) {
        let _ =
            write!(css, "[stroke=\"#{light:06X}\"]{{stroke:#{dark:06x}}}[fill=\"#{light:06X}\"]{{fill:#{dark:06x}}}");
    }
    css + "}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_one_colour_have_keys_of_their_own() {
        let mut keys: Vec<u32> = PART_COLOURS.iter().map(|part| part.0).collect();
        for colour in 0..CURVE_COLOURS.len() {
            for pattern in [Pattern::Solid, Pattern::Dashed, Pattern::Dotted] {
                keys.push(Stroke { pattern, ..Stroke::strong(colour) }.key());
            }
        }
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
        let css = sheet([Stroke::dashed(0), Stroke::strong(0), Stroke::dashed(0)].into_iter());
        assert_eq!(css.matches("stroke-dasharray").count(), 1);
        assert!(css.contains("[stroke=\"#C21859\"]{stroke:#ff6b9d}"), "{css}");
    }
}
