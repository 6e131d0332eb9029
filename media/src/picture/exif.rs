//! Reads the orientation, and the colour space that a camera names, in Exif (CIPA DC-008, section 4.6; DCF, section 3.2).

use image::metadata::Orientation;

/// Tags of the fields that lead to the colour space.
const EXIF_FIELDS: u16 = 0x8769;
const INTEROPERABILITY_FIELDS: u16 = 0xA005;
const COLOUR_SPACE: u16 = 0xA001;
const INTEROPERABILITY_INDEX: u16 = 1;
/// Colour spaces: a value that some cameras write for Adobe RGB, and the standard's value for all but sRGB.
const ADOBE_RGB: u32 = 2;
const UNCALIBRATED_SPACE: u32 = 0xFFFF;

/// Returns how to turn the picture.
pub(super) fn orientation(data: &[u8]) -> Orientation {
    Orientation::from_exif_chunk(tiff(data)).unwrap_or(Orientation::NoTransforms)
}

/// Returns the data without the name that JPEG has before them, and that some writers put into other files too.
fn tiff(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"Exif\0\0").unwrap_or(data)
}

/// Colours that a camera names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColourSpace {
    Srgb,
    AdobeRgb,
    /// Others than sRGB.
    Other,
}

/// Returns the colours that the data name; sRGB if they name none. The data begin with a TIFF header.
pub(super) fn colour_space(data: &[u8]) -> ColourSpace {
    Exif::new(tiff(data)).and_then(|exif| exif.colour_space()).unwrap_or(ColourSpace::Srgb)
}

struct Exif<'a> {
    data: &'a [u8],
    big_endian: bool,
}

impl<'a> Exif<'a> {
    fn new(data: &'a [u8]) -> Option<Self> {
        match data.first_chunk()? {
            b"II*\0" => Some(Self { data, big_endian: false }),
            b"MM\0*" => Some(Self { data, big_endian: true }),
            _ => None,
        }
    }

    fn colour_space(&self) -> Option<ColourSpace> {
        let fields = self.value(self.long(4)?, EXIF_FIELDS)?;
        Some(match self.value(fields, COLOUR_SPACE)? {
            ADOBE_RGB => ColourSpace::AdobeRgb,
            UNCALIBRATED_SPACE if self.is_interoperable_as_adobe_rgb(fields) == Some(true) => ColourSpace::AdobeRgb,
            UNCALIBRATED_SPACE => ColourSpace::Other,
            _ => ColourSpace::Srgb,
        })
    }

    fn is_interoperable_as_adobe_rgb(&self, fields: u32) -> Option<bool> {
        let fields = self.value(fields, INTEROPERABILITY_FIELDS)?;
        Some(self.field(fields, INTEROPERABILITY_INDEX)?.starts_with(b"R03"))
    }

    /// Returns the four bytes of a field's value. The fields begin at this byte.
    fn field(&self, fields: u32, tag: u16) -> Option<&'a [u8]> {
        let at = usize::try_from(fields).ok()?;
        let count = usize::from(self.short(at)?);
        let (entries, _) = self.data.get(at + 2..)?.as_chunks::<12>();
        let entry = entries.iter().take(count).find(|entry| self.number(&entry[..2]) == u32::from(tag))?;
        Some(&entry[8..])
    }

    /// Returns a field's number: its two bytes if it is a short one.
    fn value(&self, fields: u32, tag: u16) -> Option<u32> {
        let value = self.field(fields, tag)?;
        let value = if tag == COLOUR_SPACE { &value[..2] } else { value };
        Some(self.number(value))
    }

    fn short(&self, at: usize) -> Option<u16> {
        u16::try_from(self.number(self.data.get(at..)?.get(..2)?)).ok()
    }

    fn long(&self, at: usize) -> Option<u32> {
        Some(self.number(self.data.get(at..)?.get(..4)?))
    }

    fn number(&self, bytes: &[u8]) -> u32 {
        let join = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        if self.big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_space_is_found_and_no_offset_leads_astray() {
        // The first field points to Exif's fields; these point to the colour space and to those of interoperability.
        let exif = |space: u8, index: &[u8; 4]| {
            let field =
                |tag: u16, kind: u8, value: [u8; 4]| [&tag.to_le_bytes()[..], &[kind, 0, 1, 0, 0, 0], &value].concat();
            let header = b"II*\0\x08\0\0\0\x01\0".to_vec();
            let first = field(EXIF_FIELDS, 4, [26, 0, 0, 0]);
            let high = if space == 0xFF { 0xFF } else { 0 };
            let second = [&[0, 0, 0, 0, 2, 0][..], &field(COLOUR_SPACE, 3, [space, high, 0, 0])].concat();
            let third = [field(INTEROPERABILITY_FIELDS, 4, [56, 0, 0, 0]), vec![0; 4], vec![1, 0]].concat();
            [header, first, second, third, field(INTEROPERABILITY_INDEX, 2, *index)].concat()
        };
        let colours = [exif(0xFF, b"R03\0"), exif(2, b"R98\0"), exif(0xFF, b"R98\0"), exif(1, b"R03\0")];
        let [adobe, srgb, other] = [ColourSpace::AdobeRgb, ColourSpace::Srgb, ColourSpace::Other];
        assert_eq!(colours.map(|data| colour_space(&data)), [adobe, adobe, other, srgb]);
        let whole = exif(0xFF, b"R03\0");
        for length in 0..whole.len() - 4 {
            assert_ne!(colour_space(&whole[..length]), adobe);
        }
        assert_eq!(colour_space(b"MM\0*\xFF\xFF\xFF\xFF"), srgb);
    }
}
