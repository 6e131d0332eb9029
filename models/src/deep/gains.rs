//! The network that says how much of errors each region of a picture hides, run tile by tile.

use nestcast_codec::{Planes, RegionActivity, Size};

use super::correction::sessions;
use super::tiles::{BLOCK_CHANNELS, BLOCK_SIDE, LONGEST_OUTER, REGION_SIDE, Span, Tile};
use crate::onnx::{Network, Workers};
use crate::package::GainPorts;
use crate::runtime::Runtime;
use crate::tensor::{NetworkError, Tensor, TensorView};

/// Regions around a tile that the network also sees: it reaches 40 pixels far.
const OVERLAP_REGIONS: usize = 2;
/// Longest side of a tile without its overlap, in regions.
const MAX_TILE_REGIONS: usize = LONGEST_OUTER / REGION_SIDE - 2 * OVERLAP_REGIONS;

/// A network for gains. Its runs are short, and follow each other.
#[derive(Debug)]
pub(crate) struct GainNetwork {
    network: Network,
    ports: GainPorts,
}

impl GainNetwork {
    /// Loads the network and tries it, so that another kind of network fails now.
    pub(crate) fn load(
        runtime: &Runtime,
        model: &[u8],
        ports: &GainPorts,
        threads: usize,
    ) -> Result<Self, NetworkError> {
        let workers = Workers { sessions: 1, threads: sessions(threads) };
        let network = Self { network: Network::load(runtime, model, workers)?, ports: ports.clone() };
        let shape = vec![1, 2 * REGION_SIDE / BLOCK_SIDE, REGION_SIDE / BLOCK_SIDE, BLOCK_CHANNELS];
        let planes = Tensor { data: vec![0.0; shape.iter().product()], shape };
        network.run(&planes, [2, 1], |_| ())?;
        Ok(network)
    }

    /// Returns the activity of each region, row by row.
    pub(super) fn activity(&self, planes: &Planes) -> Result<Vec<RegionActivity>, NetworkError> {
        self.in_tiles(planes, MAX_TILE_REGIONS)
    }

    /// As [`Self::activity`], in tiles of at most `longest` regions each way.
    pub(super) fn in_tiles(&self, planes: &Planes, longest: usize) -> Result<Vec<RegionActivity>, NetworkError> {
        let [across, down] = regions(planes.size);
        let mut found = vec![RegionActivity::default(); across * down];
        let mut input = Tensor::default();
        let columns = spans(across, longest);
        for y in spans(down, longest) {
            for x in &columns {
                let tile = Tile { x: x.clone(), y: y.clone(), last_reader: 0 };
                tile.read(planes, &mut input);
                let [width, height] = [&tile.x, &tile.y].map(|span| span.outer.len() / REGION_SIDE);
                let [left, top] = [&tile.x, &tile.y].map(|span| (span.inner.start - span.outer.start) / REGION_SIDE);
                let [first, last] = [tile.x.inner.start, tile.x.inner.end].map(|pixel| pixel / REGION_SIDE);
                self.run(&input, [height, width], |values| {
                    let rows = tile.y.inner.start / REGION_SIDE..tile.y.inner.end / REGION_SIDE;
                    for (row, values) in rows.zip(values.as_chunks::<2>().0.chunks(width).skip(top)) {
                        let own = &mut found[row * across..][first..last];
                        for (region, &[activity, logit]) in own.iter_mut().zip(&values[left..]) {
                            *region = RegionActivity { activity, weight: 1.0 / (1.0 + (-logit).exp()) };
                        }
                    }
                })?;
            }
        }
        Ok(found)
    }

    /// Lends activity and logit of the regions of some planes to `read`.
    fn run<R>(
        &self,
        planes: &Tensor,
        [height, width]: [usize; 2],
        read: impl FnOnce(&[f32]) -> R,
    ) -> Result<R, NetworkError> {
        let index = self.network.outputs().iter().position(|port| port.name == self.ports.activity);
        self.network.run_with(&[(self.ports.planes.as_str(), planes)], |outputs: &[TensorView<'_>]| {
            let shape = [1, height, width, 2];
            let activity = index.and_then(|index| outputs.get(index)).filter(|output| output.shape == shape);
            activity.map(|output| read(output.data)).ok_or_else(|| NetworkError::Outputs {
                needed: format!("{} of the shape {shape:?}", self.ports.activity),
                given: outputs.iter().map(|output| format!("{:?}", output.shape)).collect::<Vec<_>>().join(", "),
            })
        })?
    }
}

/// Regions across and down.
fn regions(size: Size) -> [usize; 2] {
    [size.width(), size.height()].map(|side| side.div_ceil(REGION_SIDE))
}

/// Tiles of at most `longest` regions along an axis of `count`, nearly equal; in whole regions, also where the picture
/// ends.
fn spans(count: usize, longest: usize) -> Vec<Span> {
    let tiles = count.div_ceil(longest);
    let border = |index: usize| index * count / tiles;
    let span = |index: usize| Span {
        inner: border(index) * REGION_SIDE..border(index + 1) * REGION_SIDE,
        outer: border(index).saturating_sub(OVERLAP_REGIONS) * REGION_SIDE
            ..(border(index + 1) + OVERLAP_REGIONS).min(count) * REGION_SIDE,
    };
    (0..tiles).map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_regions_and_fit_into_the_largest_input() {
        for count in [1, 2, 14, 15, 16, 24, 31, 200] {
            let spans = spans(count, MAX_TILE_REGIONS);
            let mut next = 0;
            for Span { inner, outer } in &spans {
                assert_eq!(inner.start, next);
                assert!(outer.start <= inner.start && inner.end <= outer.end && !inner.is_empty());
                assert!(outer.len() <= LONGEST_OUTER && outer.end <= count * REGION_SIDE, "{count}");
                next = inner.end;
            }
            assert_eq!(next, count * REGION_SIDE);
        }
    }
}
