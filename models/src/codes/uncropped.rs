//! What a picture may be a part of: guesses at the 32x32 pixels of the whole, for searches by a crop.

use super::shrink::SIDE_PIXELS;

/// Sides that the part may have within the whole's 32 pixels: a sixteenth and an eighth are cropped away.
pub(super) const PART_SIDES: [usize; 2] = [SIDE_PIXELS - SIDE_PIXELS / 16, SIDE_PIXELS - SIDE_PIXELS / 8];

/// The wholes that a part of `side` x `side` RGB pixels may be of, 32x32 each: it lies at a corner, at the middle of an
/// edge or in the middle, and its border is repeated outwards.
pub(super) fn wholes(part: &[u8], side: usize) -> impl Iterator<Item = Vec<u8>> {
    let free = SIDE_PIXELS - side;
    let places = move || [0, free / 2, free].into_iter();
    places().flat_map(move |top| places().map(move |left| (top, left))).map(move |place| whole(part, side, place))
}

fn whole(part: &[u8], side: usize, (top, left): (usize, usize)) -> Vec<u8> {
    let within = |at: usize, start: usize| at.saturating_sub(start).min(side - 1);
    let pixels = (0..SIDE_PIXELS * SIDE_PIXELS)
        .map(|at| 3 * (within(at / SIDE_PIXELS, top) * side + within(at % SIDE_PIXELS, left)));
    pixels.flat_map(|start| part[start..start + 3].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_at_nine_places_and_its_border_goes_on() {
        let side = SIDE_PIXELS - 4;
        let part: Vec<u8> = (0..side * side)
            .flat_map(|at| [at % side, at / side, 7])
            .map(|sample| u8::try_from(sample).expect("a byte"))
            .collect();
        let found: Vec<_> = wholes(&part, side).collect();
        assert_eq!(found.len(), 9);
        for (number, whole) in found.iter().enumerate() {
            let start = [0, 2, 4];
            let top = start[number / 3];
            let left = start[number % 3];
            for (at, pixel) in whole.chunks_exact(3).enumerate() {
                let expected = |at: usize, start: usize| at.clamp(start, start + side - 1) - start;
                let expected = [expected(at % SIDE_PIXELS, left), expected(at / SIDE_PIXELS, top), 7];
                assert_eq!(
                    pixel.iter().map(|&sample| usize::from(sample)).collect::<Vec<_>>(),
                    expected,
                    "{number}, {at}"
                );
            }
        }
    }
}
