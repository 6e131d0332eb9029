//! Sections 4 to 6: subbands, slices, segments.

/// Returns the wavelet level of a subband, 1 (finest) to 6.
pub fn level(subband: usize) -> usize {
    if subband < 3 { 6 } else { 6 - (subband - 3) / 9 }
}

/// Returns the component of a subband: 0 luma, 1 U, 2 V.
pub fn component(subband: usize) -> usize {
    if subband < 3 { subband } else { (subband - 3) % 9 / 3 }
}

/// Returns the band of a subband: 0 LL, 1 HL, 2 LH, 3 HH.
pub fn band(subband: usize) -> usize {
    if subband < 3 { 0 } else { (subband - 3) % 3 + 1 }
}

/// The kind of coded data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Grey,
    Rgb,
    /// Section 20: three components, of which two have no subbands of level 1.
    Residual,
}

/// Returns the subbands of a kind, in order.
pub(super) fn subbands(kind: Kind) -> Vec<usize> {
    let has = |&subband: &usize| match kind {
        Kind::Grey => component(subband) == 0,
        Kind::Rgb => true,
        Kind::Residual => component(subband) == 0 || level(subband) > 1,
    };
    (0..57).filter(has).collect()
}

pub(super) fn low(side: usize, level: usize) -> usize {
    if level == 0 { side } else { low(side, level - 1).div_ceil(2) }
}

fn high(side: usize, level: usize) -> usize {
    low(side, level - 1) / 2
}

/// Returns columns and rows of a subband in an area of pixels.
pub fn subband_size(subband: usize, width: usize, height: usize) -> (usize, usize) {
    let level = level(subband);
    let across = if matches!(band(subband), 1 | 3) { high(width, level) } else { low(width, level) };
    let down = if matches!(band(subband), 2 | 3) { high(height, level) } else { low(height, level) };
    (across, down)
}

pub(super) fn parent(subband: usize) -> Option<usize> {
    (subband >= 12).then(|| subband - 9)
}

pub(super) fn sibling(subband: usize, of: usize) -> usize {
    if subband < 3 { of } else { subband + 3 * of - 3 * component(subband) }
}

/// Returns the subbands of the other two bands of the same level and component.
pub(super) fn other_bands(subband: usize) -> Vec<usize> {
    let same = |&other: &usize| level(other) == level(subband) && component(other) == component(subband);
    (3..57).filter(same).filter(|&other| subband >= 3 && other != subband).collect()
}

/// Returns the first row of every slice, and finally the height.
pub(super) fn borders(width: usize, height: usize) -> Vec<usize> {
    let bands = height.div_ceil(64);
    let slices = (width * height / 196608).min(64).min(bands).max(1);
    (0..=slices).map(|slice| (slice * bands / slices * 64).min(height)).collect()
}

/// The payloads of all slices, as far as a body contains them.
pub(super) struct Payloads {
    pub(super) of_slices: Vec<Vec<u8>>,
    pub(super) corrupt: bool,
}

impl Payloads {
    pub(super) fn of(body: &[u8], slices: usize) -> Self {
        let mut payloads = Self { of_slices: vec![Vec::new(); slices], corrupt: false };
        if slices == 1 {
            payloads.of_slices[0] = body.to_vec();
            return payloads;
        }
        let mut left = body.iter().copied();
        while payloads.segment(&mut left).is_some() {}
        payloads
    }

    /// Takes one segment; `None` if the body ended in it or it is corrupt.
    fn segment(&mut self, left: &mut impl Iterator<Item = u8>) -> Option<()> {
        let mut lengths = Vec::new();
        for _ in 0..self.of_slices.len() {
            lengths.push(self.length(left)?);
        }
        for share in 0..16 {
            for (payload, length) in self.of_slices.iter_mut().zip(&lengths) {
                for _ in length * share / 16..length * (share + 1) / 16 {
                    payload.push(left.next()?);
                }
            }
        }
        Some(())
    }

    fn length(&mut self, left: &mut impl Iterator<Item = u8>) -> Option<usize> {
        let mut length = 0;
        for group in 0..4 {
            let byte = usize::from(left.next()?);
            length += (byte % 128) << (7 * group);
            if byte < 128 {
                return Some(length);
            }
        }
        // A fourth byte that promises a fifth is corrupt once any byte follows it.
        self.corrupt = left.next().is_some();
        None
    }
}
