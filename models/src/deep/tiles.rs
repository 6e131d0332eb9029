//! How a picture is cut into tiles for a network: bounded memory, work for every core, and no visible borders.

use std::ops::Range;

use nestcast_codec::{Planes, Size};

use crate::tensor::Tensor;

/// The networks need planes whose sides are multiples of this.
pub(crate) const GRID_PIXELS: usize = 16;

/// Pixels of a region each way, which has a gain of its own.
pub(crate) const REGION_SIDE: usize = 32;

/// Pixels of a block each way: the networks get blocks, one after the other, and their first layer sees one at a time.
pub(crate) const BLOCK_SIDE: usize = 4;

/// Values of such a block: component by component, row by row.
pub(crate) const BLOCK_CHANNELS: usize = 3 * BLOCK_SIDE * BLOCK_SIDE;

/// Pixels around a tile that the network also sees.
///
/// A multiple of [`GRID_PIXELS`], so that the network's grid is the same. The analysis reaches exactly 48 pixels far,
/// so nothing changes at its borders; the synthesis reaches 92, but hardly: in floats it differed from the untiled one
/// at most by 0.10 of 255 levels at 0.03 bits per pixel, where it corrects 3.3 levels rms, and by 0.02 at 0.4; with 32
/// pixels by 0.43 and 0.07. In int8 a few roundings fall the other way on such a difference with any overlap: next to a
/// border the mean difference was 0.20 levels and 0.04, the largest 1.8 and 0.4, which is noise that nobody sees. In a
/// picture of 768x512, 16 pixels more are 4 % more pixels for the network.
pub(super) const OVERLAP_PIXELS: usize = 48;

/// Longest side of a tile without its overlap.
///
/// A network needs about 220 bytes a pixel while it runs, so 80 MB a thread. Decoding 24 megapixels on two threads
/// peaks at 1.15 GB with 512 (630 MB of them the stream's), 1.27 GB with 768, 1.5 GB with 1024; the time is the same.
const MAX_TILE_SIDE: usize = 512;

/// Longest side of a network's input.
pub(crate) const LONGEST_OUTER: usize = MAX_TILE_SIDE + 2 * OVERLAP_PIXELS;

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
        let mut counts = [width.div_ceil(MAX_TILE_SIDE), height.div_ceil(MAX_TILE_SIDE)];
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
    let blocks = length.div_ceil(GRID_PIXELS);
    let border = |index: usize| index * blocks / count * GRID_PIXELS;
    let span = |index: usize| Span {
        inner: border(index)..border(index + 1).min(length),
        outer: border(index).saturating_sub(OVERLAP_PIXELS)
            ..(border(index + 1) + OVERLAP_PIXELS).min(blocks * GRID_PIXELS),
    };
    (0..count).map(span).collect()
}

impl Tile {
    /// Copies the tile with its overlap into blocks, and repeats the picture's last pixels to fill them.
    pub(super) fn read(&self, planes: &Planes, input: &mut Tensor) {
        let width = planes.size.width();
        let height = planes.size.height();
        let across = self.x.outer.len() / BLOCK_SIDE;
        input.shape = vec![1, self.y.outer.len() / BLOCK_SIDE, across, BLOCK_CHANNELS];
        // Grey leaves the channels of chroma at 0.
        input.data.clear();
        input.data.resize(input.shape.iter().product(), 0.0);
        let known = self.x.outer.start..self.x.outer.end.min(width);
        let whole = known.len() / BLOCK_SIDE;
        for (y, blocks) in
            self.y.outer.clone().step_by(BLOCK_SIDE).zip(input.data.chunks_exact_mut(across * BLOCK_CHANNELS))
        {
            let (inside, beyond) = blocks.split_at_mut(whole * BLOCK_CHANNELS);
            for (plane, channels) in planes.components.iter().zip((0..BLOCK_CHANNELS).step_by(BLOCK_SIDE * BLOCK_SIDE))
            {
                for (i, channel) in (channels..channels + BLOCK_SIDE * BLOCK_SIDE).step_by(BLOCK_SIDE).enumerate() {
                    let row = &plane[(y + i).min(height - 1) * width..][..width];
                    let pixels = row[known.clone()].as_chunks::<BLOCK_SIDE>().0;
                    for (block, pixels) in inside.as_chunks_mut::<BLOCK_CHANNELS>().0.iter_mut().zip(pixels) {
                        block[channel..channel + BLOCK_SIDE].copy_from_slice(pixels);
                    }
                    let last = known.start + whole * BLOCK_SIDE;
                    for (x, block) in (last..).step_by(BLOCK_SIDE).zip(beyond.as_chunks_mut::<BLOCK_CHANNELS>().0) {
                        for (x, value) in (x..).zip(&mut block[channel..channel + BLOCK_SIDE]) {
                            *value = row[x.min(width - 1)];
                        }
                    }
                }
            }
        }
    }

    /// The tile's own pixels of a network's output, which covers the overlap too: three planes of whole blocks.
    pub(super) fn inner_of(&self, correction: &[f32]) -> Vec<f32> {
        let stride = self.x.outer.len() / BLOCK_SIDE * BLOCK_CHANNELS;
        let left = (self.x.inner.start - self.x.outer.start) / BLOCK_SIDE;
        let top = (self.y.inner.start - self.y.outer.start) / BLOCK_SIDE;
        let (across, down) = self.blocks();
        let mut values = vec![0.0; across * down * BLOCK_CHANNELS];
        for (component, plane) in values.chunks_exact_mut(across * down * BLOCK_SIDE * BLOCK_SIDE).enumerate() {
            let rows = plane.chunks_exact_mut(across * BLOCK_SIDE * BLOCK_SIDE);
            for (blocks, rows) in correction.chunks_exact(stride).skip(top).zip(rows) {
                let blocks = &blocks.as_chunks::<BLOCK_CHANNELS>().0[left..][..across];
                for (i, row) in rows.chunks_exact_mut(across * BLOCK_SIDE).enumerate() {
                    let channel = (component * BLOCK_SIDE + i) * BLOCK_SIDE;
                    for (pixels, block) in row.as_chunks_mut::<BLOCK_SIDE>().0.iter_mut().zip(blocks) {
                        pixels.copy_from_slice(&block[channel..channel + BLOCK_SIDE]);
                    }
                }
            }
        }
        values
    }

    /// Blocks that hold the tile's own pixels, across and down.
    fn blocks(&self) -> (usize, usize) {
        (self.x.inner.len().div_ceil(BLOCK_SIDE), self.y.inner.len().div_ceil(BLOCK_SIDE))
    }

    /// Adds what [`Self::inner_of`] gave to the tile's own pixels; to luma alone where there is no chroma.
    pub(super) fn add(&self, planes: &mut Planes, correction: &[f32]) {
        let width = planes.size.width();
        let (across, down) = self.blocks();
        let given = correction.chunks_exact(across * down * BLOCK_SIDE * BLOCK_SIDE);
        for (plane, correction) in planes.components.iter_mut().zip(given) {
            for (y, correction) in self.y.inner.clone().zip(correction.chunks_exact(across * BLOCK_SIDE)) {
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
                            && span.outer.start % GRID_PIXELS == 0
                            && span.outer.len() % GRID_PIXELS == 0
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
