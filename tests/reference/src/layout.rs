//! Sections 4 to 6: units, stripes, segments.

/// Wavelet level of a unit, 1 (finest) to 6.
pub fn level(unit: usize) -> usize {
    if unit < 3 { 6 } else { 6 - (unit - 3) / 9 }
}

/// Component of a unit: 0 luma, 1 U, 2 V.
pub fn component(unit: usize) -> usize {
    if unit < 3 { unit } else { (unit - 3) % 9 / 3 }
}

/// Band of a unit: 0 LL, 1 HL, 2 LH, 3 HH.
pub fn band(unit: usize) -> usize {
    if unit < 3 { 0 } else { (unit - 3) % 3 + 1 }
}

/// The units of a picture, in order.
pub fn units(colour: bool) -> Vec<usize> {
    (0..57).filter(|&unit| colour || component(unit) == 0).collect()
}

pub(super) fn low(side: usize, level: usize) -> usize {
    if level == 0 { side } else { low(side, level - 1).div_ceil(2) }
}

fn high(side: usize, level: usize) -> usize {
    low(side, level - 1) / 2
}

/// Columns and rows of a unit in an area of pixels.
pub fn unit_size(unit: usize, width: usize, height: usize) -> (usize, usize) {
    let level = level(unit);
    let across = if matches!(band(unit), 1 | 3) { high(width, level) } else { low(width, level) };
    let down = if matches!(band(unit), 2 | 3) { high(height, level) } else { low(height, level) };
    (across, down)
}

pub(super) fn parent(unit: usize) -> Option<usize> {
    (unit >= 12).then(|| unit - 9)
}

pub(super) fn sibling(unit: usize, of: usize) -> usize {
    if unit < 3 { of } else { unit + 3 * of - 3 * component(unit) }
}

/// The units of the other two bands of the same level and component.
pub(super) fn other_bands(unit: usize) -> Vec<usize> {
    let same = |&other: &usize| level(other) == level(unit) && component(other) == component(unit);
    (3..57).filter(same).filter(|&other| unit >= 3 && other != unit).collect()
}

/// The first row of every stripe, and behind them the height.
pub(super) fn borders(width: usize, height: usize) -> Vec<usize> {
    let bands = height.div_ceil(64);
    let stripes = (width * height / 196608).min(64).min(bands).max(1);
    (0..=stripes).map(|stripe| (stripe * bands / stripes * 64).min(height)).collect()
}

/// The strings of all stripes, as far as they are in a body.
pub(super) struct Strings {
    pub(super) of_stripes: Vec<Vec<u8>>,
    pub(super) corrupt: bool,
}

impl Strings {
    pub(super) fn of(body: &[u8], stripes: usize) -> Self {
        let mut strings = Self { of_stripes: vec![Vec::new(); stripes], corrupt: false };
        if stripes == 1 {
            strings.of_stripes[0] = body.to_vec();
            return strings;
        }
        let mut left = body.iter().copied();
        while strings.segment(&mut left).is_some() {}
        strings
    }

    /// Takes one segment; `None` if the body ended in it or it is corrupt.
    fn segment(&mut self, left: &mut impl Iterator<Item = u8>) -> Option<()> {
        let mut lengths = Vec::new();
        for _ in 0..self.of_stripes.len() {
            lengths.push(self.length(left)?);
        }
        for round in 0..16 {
            for (string, length) in self.of_stripes.iter_mut().zip(&lengths) {
                for _ in length * round / 16..length * (round + 1) / 16 {
                    string.push(left.next()?);
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
        // A fourth byte that promises a fifth is corrupt once any byte is behind it.
        self.corrupt = left.next().is_some();
        None
    }
}
