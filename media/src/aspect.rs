//! The proportions of a pixel.

/// Reduces the proportions of a pixel; `None` if they are unknown (0:0), or too large for a header.
pub(crate) fn reduced((width, height): (u64, u64)) -> Option<[u16; 2]> {
    let (mut divisor, mut rest) = (width, height);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let sides = [width.checked_div(divisor)?, height.checked_div(divisor)?];
    let [width, height] = sides.map(|side| u16::try_from(side).ok().filter(|side| *side > 0));
    Some([width?, height?])
}
