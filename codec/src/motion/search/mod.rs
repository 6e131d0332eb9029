//! An encoder's search for motion. What it finds is not normative; it is the same on every machine and number of threads.

pub(crate) mod aim;
mod block;
mod cost;
mod modes;
mod overlapped;
mod pyramid;
mod quarters;
mod shares;

use crate::motion::field::{Field, Source};
use crate::motion::reference::{Plane, Reference};
use crate::motion::search::aim::{Aim, Effort};
use crate::motion::search::block::{Blocks, Found};
use crate::motion::search::modes::Modes;
use crate::motion::search::overlapped::{Inputs, Overlapped};
use crate::motion::search::pyramid::{Pyramid, Rough};
use crate::motion::search::quarters::Quarters;
use crate::parallel;
use crate::picture::Size;

/// Searches frames one after another, in the same memory.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The frame before, small, for rough displacements.
    before: Pyramid,
    now: Pyramid,
    rough: Vec<Rough>,
    blocks: Blocks,
    /// What was found in the references of the loop that was searched.
    found: Vec<Found>,
}

/// Searches in the references of one loop, and chooses.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// Samples between samples: of the loop, of the floor.
    quarters: [Quarters; 2],
    modes: Modes,
    overlapped: Overlapped,
}

/// Most times that a bit's worth is raised.
const ROUNDS: usize = 8;

impl Search {
    /// Tells it the luma of the next frame: 8-bit samples without padding. Says whether the frame before has nothing of
    /// this one.
    pub(crate) fn begin(&mut self, size: Size, luma: &[u8], threads: usize) -> bool {
        let Self { before, now, rough, blocks, .. } = self;
        std::mem::swap(before, now);
        now.reset(size, luma);
        blocks.reset(size, luma);
        if !before.matches(now) {
            before.clone_from(now);
        }
        let [across, down] = Field::grid(size);
        rough.clear();
        rough.resize(across * down, Rough::default());
        parallel::for_each(threads, rough.chunks_mut(across).enumerate(), |(by, row)| {
            row.iter_mut().enumerate().for_each(|(bx, rough)| *rough = before.find(now, [bx, by]));
        });
        Rough::is_cut(rough)
    }
}

impl Choice {
    /// Fills in the motion of the frame that `search` begun, and makes `side` its bytes. `searched`: with the vectors that
    /// were found for another loop of the same frame. `references`: loop and floor.
    pub(crate) fn run(
        &mut self,
        aim: &Aim,
        search: &mut Search,
        searched: bool,
        references: (&Reference, &Reference),
        field: &mut Field,
        side: &mut Vec<u8>,
    ) {
        field.reset(aim.size, aim.phase);
        let planes = [&references.0.planes[0], &references.1.planes[0]];
        let refreshes = field.sources.contains(&Source::Floor);
        let wanted = self.quarters.iter_mut().zip(planes).zip([true, refreshes]).filter(|(_, wanted)| *wanted);
        parallel::for_each(aim.threads, wanted, |((quarters, plane), _): ((&mut Quarters, &Plane), _)| {
            quarters.reset(plane)
        });
        let Self { quarters, modes, overlapped } = self;
        let Search { rough, blocks, found, .. } = search;
        if !searched {
            found.clear();
            found.resize(field.blocks.len(), Found::default());
            blocks.search(aim, rough, quarters, field, found);
        }
        let mut lambda = aim.lambda;
        let mut bytes = modes.choose(lambda, blocks, quarters, found, field, std::mem::take(side));
        for _ in 0..ROUNDS {
            if bytes.len() <= aim.most_bytes {
                break;
            }
            lambda = lambda * 7 / 5;
            bytes = modes.choose(lambda, blocks, quarters, found, field, bytes);
        }
        *side = match aim.effort {
            Effort::Fast => bytes,
            Effort::Normal => {
                let inputs = Inputs { lambda, blocks, planes, found, side_info: modes.side_info() };
                overlapped.refine(inputs, aim.threads, field, bytes)
            }
        };
    }
}
