//! Finds the segments of a JPEG file (ITU-T T.81, annex B).

pub(super) const START_OF_IMAGE: u8 = 0xD8;
pub(super) const END_OF_IMAGE: u8 = 0xD9;
pub(super) const START_OF_SCAN: u8 = 0xDA;

/// Returns the next marker that has a segment, or the end marker, and where it ends. Skips other bytes between
/// segments, as all decoders do: a scan's data with `FF 00` and restart markers, and bytes that some cameras leave.
pub(super) fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        let rest = bytes.get(at..)?;
        let skipped = rest.iter().position(|&byte| byte == 0xFF)?;
        at += skipped + 1;
        // Others are fill bytes, data, or markers without a segment.
        if let marker @ (0xC0..=0xCF | START_OF_IMAGE..=0xFE) = *bytes.get(at)? {
            return Some((marker, at + 1));
        }
    }
}

/// Returns a segment's bytes after its length.
pub(super) fn segment(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let (length, rest) = bytes.get(at..)?.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length)).checked_sub(2)?;
    rest.get(..length)
}

/// The segments of a file up to its end marker: the marker, where the segment begins, and its bytes.
pub(super) struct Segments<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Segments<'a> {
    pub(super) const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 2 }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = (u8, usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (marker, start) = next_marker(self.bytes, self.at).filter(|(marker, _)| *marker != END_OF_IMAGE)?;
        let body = segment(self.bytes, start)?;
        self.at = start + 2 + body.len();
        Some((marker, start, body))
    }
}
