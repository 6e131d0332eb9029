//! How a picture is cut into tiles for a network: bounded memory, work for every core, and no visible borders.

use std::ops::Range;

use nestcast_codec::{Planes, Size};

use crate::tensor::Tensor;

/// The networks need planes whose sides are multiples of this.
pub(crate) const BLOCK: usize = 16;

/// Pixels of a block each way: the networks get blocks, one after the other, and their first layer sees one at a time.
pub(crate) const SIDE: usize = 4;

/// Values of such a block: component by component, row by row.
pub(crate) const CHANNELS: usize = 3 * SIDE * SIDE;

/// Pixels around a tile that the network also sees.
///
/// A multiple of [`BLOCK`], so that the network's grid is the same. The analysis reaches exactly 48 pixels far, so
/// nothing changes at its borders; the synthesis reaches 92, but hardly: in floats it differed from the untiled one at
/// most by 0.10 of 255 levels at 0.03 bits per pixel, where it corrects 3.3 levels rms, and by 0.02 at 0.4; with 32
/// pixels by 0.43 and 0.07. In int8 a few roundings fall the other way on such a difference with any overlap: next to a
/// border the mean difference was 0.20 levels and 0.04, the largest 1.8 and 0.4, which is noise that nobody sees. In a
/// picture of 768x512, 16 pixels more are 4 % more pixels for the network.
pub(super) const OVERLAP: usize = 48;

/// Longest side of a tile without its overlap.
///
/// A network needs about 220 bytes a pixel while it runs, so 80 MB a thread. Decoding 24 megapixels on two threads
/// peaks at 1.15 GB with 512 (630 MB of them the stream's), 1.27 GB with 768, 1.5 GB with 1024; the time is the same.
const LONGEST: usize = 512;

/// Longest side of a network's input.
pub(crate) const LONGEST_OUTER: usize = LONGEST + 2 * OVERLAP;

/// A picture of at least this many pixels has two tiles or more, so that two cores have work.
const WORTH_TWO: usize = 1 << 17;

/// A part of a picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) x: Span,
    pub(crate) y: Span,
    /// The last tile, in order, that reads any of this tile's own pixels.
    pub(super) last_reader: usize,
}

/// A tile along one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its own pixels.
    pub(crate) inner: Range<usize>,
    /// With the overlap, and padded to whole blocks where the picture ends.
    pub(crate) outer: Range<usize>,
}

/// All tiles of a picture, row by row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tiling {
    pub(crate) tiles: Vec<Tile>,
}

impl Tiling {
    /// Depends on the size alone.
    pub(crate) fn of(size: Size) -> Self {
        let width = size.width();
        let height = size.height();
        let mut counts = [width.div_ceil(LONGEST), height.div_ceil(LONGEST)];
        if counts == [1, 1] && size.pixels() >= WORTH_TWO {
            counts[usize::from(height > width)] = 2;
        }
        Self::split(size, counts)
    }

    /// A grid of this many columns and rows.
    pub(crate) fn split(size: Size, [columns, rows]: [usize; 2]) -> Self {
        let across = spans(size.width(), columns);
        let tiles = spans(size.height(), rows).into_iter().enumerate().flat_map(|(row, y)| {
            let tile = move |(column, x): (usize, &Span)| {
                let [right, below] = [(column + 1).min(columns - 1), (row + 1).min(rows - 1)];
                Tile { x: x.clone(), y: y.clone(), last_reader: below * columns + right }
            };
            across.iter().enumerate().map(tile).collect::<Vec<_>>()
        });
        Self { tiles: tiles.collect() }
    }
}

/// `count` nearly equal spans, bordering on whole blocks.
fn spans(length: usize, count: usize) -> Vec<Span> {
    let blocks = length.div_ceil(BLOCK);
    let border = |index: usize| index * blocks / count * BLOCK;
    let span = |index: usize| Span {
        inner: border(index)..border(index + 1).min(length),
        outer: border(index).saturating_sub(OVERLAP)..(border(index + 1) + OVERLAP).min(blocks * BLOCK),
    };
    (0..count).map(span).collect()
}

impl Tile {
    /// Copies the tile with its overlap into blocks, and repeats the picture's last pixels to fill them.
    pub(super) fn read(&self, planes: &Planes, input: &mut Tensor) {
        let width = planes.size.width();
        let height = planes.size.height();
        let across = self.x.outer.len() / SIDE;
        input.shape = vec![1, self.y.outer.len() / SIDE, across, CHANNELS];
        // Grey leaves the channels of chroma at 0.
        input.data.clear();
        input.data.resize(input.shape.iter().product(), 0.0);
        let known = self.x.outer.start..self.x.outer.end.min(width);
        let whole = known.len() / SIDE;
        for (y, blocks) in self.y.outer.clone().step_by(SIDE).zip(input.data.chunks_exact_mut(across * CHANNELS)) {
            let (inside, beyond) = blocks.split_at_mut(whole * CHANNELS);
            for (plane, channels) in planes.components.iter().zip((0..CHANNELS).step_by(SIDE * SIDE)) {
                for (i, channel) in (channels..channels + SIDE * SIDE).step_by(SIDE).enumerate() {
                    let row = &plane[(y + i).min(height - 1) * width..][..width];
                    let pixels = row[known.clone()].as_chunks::<SIDE>().0;
                    for (block, pixels) in inside.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(pixels) {
                        block[channel..channel + SIDE].copy_from_slice(pixels);
                    }
                    let last = known.start + whole * SIDE;
                    for (x, block) in (last..).step_by(SIDE).zip(beyond.as_chunks_mut::<CHANNELS>().0) {
                        for (x, value) in (x..).zip(&mut block[channel..channel + SIDE]) {
                            *value = row[x.min(width - 1)];
                        }
                    }
                }
            }
        }
    }

    /// The tile's own pixels of a network's output, which covers the overlap too: three planes of whole blocks.
    pub(super) fn inner_of(&self, correction: &[f32]) -> Vec<f32> {
        let stride = self.x.outer.len() / SIDE * CHANNELS;
        let left = (self.x.inner.start - self.x.outer.start) / SIDE;
        let top = (self.y.inner.start - self.y.outer.start) / SIDE;
        let (across, down) = self.blocks();
        let mut values = vec![0.0; across * down * CHANNELS];
        for (component, plane) in values.chunks_exact_mut(across * down * SIDE * SIDE).enumerate() {
            let rows = plane.chunks_exact_mut(across * SIDE * SIDE);
            for (blocks, rows) in correction.chunks_exact(stride).skip(top).zip(rows) {
                let blocks = &blocks.as_chunks::<CHANNELS>().0[left..][..across];
                for (i, row) in rows.chunks_exact_mut(across * SIDE).enumerate() {
                    let channel = (component * SIDE + i) * SIDE;
                    for (pixels, block) in row.as_chunks_mut::<SIDE>().0.iter_mut().zip(blocks) {
                        pixels.copy_from_slice(&block[channel..channel + SIDE]);
                    }
                }
            }
        }
        values
    }

    /// Blocks that hold the tile's own pixels, across and down.
    fn blocks(&self) -> (usize, usize) {
        (self.x.inner.len().div_ceil(SIDE), self.y.inner.len().div_ceil(SIDE))
    }

    /// Adds what [`Self::inner_of`] gave to the tile's own pixels; to luma alone where there is no chroma.
    pub(super) fn add(&self, planes: &mut Planes, correction: &[f32]) {
        let width = planes.size.width();
        let (across, down) = self.blocks();
        let given = correction.chunks_exact(across * down * SIDE * SIDE);
        for (plane, correction) in planes.components.iter_mut().zip(given) {
            for (y, correction) in self.y.inner.clone().zip(correction.chunks_exact(across * SIDE)) {
                let row = &mut plane[y * width + self.x.inner.start..][..self.x.inner.len()];
                row.iter_mut().zip(correction).for_each(|(value, more)| *value += more);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> Size {
        Size::new(width, height).expect("a valid size")
    }

    #[test]
    fn every_pixel_is_in_one_tile() {
        for (width, height) in [(1, 1), (17, 33), (1000, 131), (1025, 1024), (1537, 16), (3000, 2001)] {
            let size = size(width, height);
            let width = size.width();
            let height = size.height();
            let mut seen = vec![0; width * height];
            for tile in &Tiling::of(size).tiles {
                for y in tile.y.inner.clone() {
                    seen[y * width..][tile.x.inner.clone()].iter_mut().for_each(|times| *times += 1);
                }
                for span in [&tile.x, &tile.y] {
                    assert!(
                        span.outer.len() <= LONGEST_OUTER
                            && span.outer.start % BLOCK == 0
                            && span.outer.len() % BLOCK == 0
                    );
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{width}x{height}");
        }
    }

    #[test]
    fn last_readers_are_the_last_that_overlap() {
        let tiles = Tiling::of(size(3000, 2001)).tiles;
        let meet = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        for tile in &tiles {
            let reads = |other: &Tile| meet(&tile.x.inner, &other.x.outer) && meet(&tile.y.inner, &other.y.outer);
            assert_eq!(tiles.iter().rposition(reads), Some(tile.last_reader));
        }
    }

    #[test]
    fn two_cores_share_a_picture_of_any_orientation() {
        let count = |width, height| Tiling::of(size(width, height)).tiles.len();
        assert_eq!([count(768, 512), count(512, 768), count(512, 512), count(320, 240)], [2, 2, 2, 1]);
        assert_eq!([count(1920, 1080), count(6000, 4000)], [12, 96]);
    }
}
