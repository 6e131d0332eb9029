//! An encoder's search for motion. Its result is not normative; it is the same on every machine and number of threads.

mod block;
mod cost;
mod difference;
mod modes;
mod overlapped;
mod prices;
mod pyramid;
mod quarters;
pub(crate) mod search_parameters;
mod second;
mod shares;
mod single_pass;

use crate::motion::field::Field;
use crate::motion::reference::{BySource, Past, Reference};
use crate::motion::search::block::{Blocks, MotionCandidate};
use crate::motion::search::modes::Modes;
use crate::motion::search::overlapped::{Inputs, Overlapped};
use crate::motion::search::pyramid::{CoarseVector, Pyramid};
use crate::motion::search::quarters::Quarters;
use crate::motion::search::search_parameters::{Effort, SearchParameters};
use crate::motion::search::single_pass::SinglePass;
use crate::observer::Stage;
use crate::parallel::{self, Threads};
use crate::picture::Size;

/// Searches frames one after another, in the same memory.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// The frame before, small, for coarse vectors.
    before: Pyramid,
    now: Pyramid,
    rough: Vec<CoarseVector>,
    blocks: Blocks,
    /// The candidates that were found in the references of the searched rendition.
    found: Vec<MotionCandidate>,
    /// The motion that the searched rendition chose at last.
    chosen: Field,
}

/// Searches in the references of one rendition, and chooses the motion.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// Interpolated samples.
    quarters: Past<BySource<Quarters>>,
    /// Whether the frame before was predicted from `last`, and all receivers have those pictures.
    continues: bool,
    /// The least worth of a bit to begin a frame with: one raise below what the frame before needed, 0 if it needed none.
    least: u32,
    modes: Modes,
    overlapped: Overlapped,
    single_pass: SinglePass,
}

/// The pixels of a frame for each thread that copies it, at least.
const MIN_PARALLEL_PIXELS: usize = 1 << 17;
/// The most times that effort `fast` chooses again in a frame, with a bit worth more, because there are too many bytes.
const MOST_REPEATS: usize = 4;
/// Effort `realtime` chooses again once, if there are more than this many times the bytes that there should be.
const REALTIME_EXCESS: usize = 4;

impl Search {
    /// Begins with the luma of the next frame: 8-bit samples without padding. Returns whether the frame has nothing in
    /// common with the one before.
    pub(crate) fn begin(&mut self, size: Size, luma: &[u8], effort: Effort, threads: &Threads) -> bool {
        let stops = effort == Effort::Realtime;
        let Self { before, now, rough, blocks, .. } = self;
        std::mem::swap(before, now);
        let resets: [&mut (dyn FnMut() + Send); 2] = [&mut || now.reset(size, luma), &mut || blocks.reset(size, luma)];
        let resetting = threads.at_most(size.pixels() / MIN_PARALLEL_PIXELS);
        parallel::for_each(&resetting, resets.into_iter(), |reset| reset());
        if !before.matches(now) {
            before.clone_from(now);
        }
        threads.end(Stage::Take);
        let [across, down] = Field::grid(size);
        rough.clear();
        rough.resize(across * down, CoarseVector::default());
        parallel::for_each(threads, rough.chunks_mut(across).enumerate(), |(by, row)| {
            before.find_row(now, by, stops, row);
        });
        let is_cut = CoarseVector::is_cut(rough);
        threads.end(Stage::CoarseSearch);
        is_cut
    }
}

impl Choice {
    /// Predicts the next frame from the last pictures alone, because some receivers do not have the pictures before
    /// them.
    pub(crate) fn begin_anew(&mut self) {
        self.continues = false;
        self.single_pass.begin_anew();
    }

    /// Returns the choice for a rendition that branches off here.
    pub(crate) fn branch(&self) -> Self {
        let quarters = Past { last: self.quarters.last.clone(), before: BySource::default() };
        let single_pass = self.single_pass.branch();
        Self { quarters, continues: self.continues, least: self.least, single_pass, ..Self::default() }
    }

    /// Fills in `field`, the motion of the frame that `search` began, and its bytes in `side`. `searched`: use the vectors that
    /// were found for another rendition of the same frame, and begin with its choice.
    pub(crate) fn run(
        &mut self,
        search_parameters: &SearchParameters,
        search: &mut Search,
        searched: bool,
        references: BySource<Past<&Reference>>,
        field: &mut Field,
        side: &mut Vec<u8>,
    ) {
        let Self { quarters, continues, least, modes, overlapped, single_pass } = self;
        let planes = references.map(|past| past.map(|reference| &reference.planes[0]));
        let Past { last, before } = quarters;
        std::mem::swap(last, before);
        let mut pictures = [
            (&mut last.enhancement_reference, planes.enhancement_reference.last),
            (&mut last.base_reference, planes.base_reference.last),
        ];
        Quarters::reset(&mut pictures, &search_parameters.threads);
        let SearchParameters { threads, .. } = search_parameters;
        threads.end(Stage::Quarters);
        let last = &*last;
        let continues = std::mem::replace(continues, true);
        let Search { rough, blocks, found, chosen, .. } = search;
        let first = searched.then_some(&*chosen);
        let SearchParameters { lambda, most_bytes, effort, .. } = *search_parameters;
        let bytes = std::mem::take(side);
        let (bytes, lambda, side_info, found) = if effort == Effort::Normal {
            single_pass.begin_anew();
            if !searched {
                found.clear();
                found.resize(field.blocks.len(), MotionCandidate::default());
                blocks.search(search_parameters, rough, last, field, found);
            }
            threads.end(Stage::BlockSearch);
            let inputs = modes::Inputs { blocks, quarters: last, found };
            let (bytes, lambda) = modes.choose_within(most_bytes, (lambda, least), inputs, field, bytes);
            threads.end(Stage::Modes);
            (bytes, lambda, modes.side_info(), Some(&**found))
        } else {
            let inputs = single_pass::Inputs { lambda, blocks, quarters: last, rough, first };
            let repeats = if effort == Effort::Fast {
                single_pass::Repeats { most: MOST_REPEATS, above_bytes: most_bytes }
            } else {
                single_pass::Repeats { most: 1, above_bytes: most_bytes * REALTIME_EXCESS }
            };
            let (bytes, lambda) = single_pass.choose_within((most_bytes, repeats), inputs, threads, field, bytes);
            threads.end(Stage::BlockSearch);
            (bytes, lambda, single_pass.side_info(), None)
        };
        *side = if effort == Effort::Realtime {
            bytes
        } else {
            field.bipredicts = continues;
            let inputs = Inputs { lambda, blocks, planes, quarters, found, side_info, first };
            overlapped.refine(inputs, threads, field, bytes)
        };
        if !searched {
            chosen.copy_from(field);
        }
        threads.end(Stage::Refine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::field::{BLOCK_SIDE, Block, Turn};
    use crate::motion::vector::Vector;

    /// Returns the choice for the first block, whose samples all have this level. Those of the other blocks are 128, as
    /// all of the references are.
    fn first_block(level: u8, effort: Effort) -> Block {
        let size = Size::new(64, 64).expect("a valid size");
        let side = size.width();
        let luma: Vec<u8> = (0..side * side)
            .map(|at| if at % side < BLOCK_SIDE && at / side < BLOCK_SIDE { level } else { 128 })
            .collect();
        let threads = Threads::new(1);
        let mut search = Search::default();
        search.begin(size, &luma, effort, &threads);
        let reference = Reference::new(size);
        let past = Past { last: &reference, before: &reference };
        let references = BySource { enhancement_reference: past, base_reference: past };
        // The blocks at the end are predicted from the base-layer reference.
        let parameters = SearchParameters { lambda: 10 * 16, most_bytes: 1000, threads, effort };
        let mut field = Field::default();
        field.reset(size, Turn { phase: 7, renews: false }, &[]);
        Choice::default().run(&parameters, &mut search, false, references, &mut field, &mut Vec::new());
        assert!(field.blocks[1..].iter().all(|block| *block == Block::whole(Vector::ZERO)), "{level}, {effort:?}");
        field.blocks[0]
    }

    #[test]
    fn only_a_block_that_no_vector_predicts_is_constant() {
        for effort in [Effort::Realtime, Effort::Fast, Effort::Normal] {
            assert_eq!(first_block(128 + 12, effort), Block::whole(Vector::ZERO), "{effort:?}");
            assert_eq!(first_block(128 + 40, effort), Block::Constant((128 + 40) / 4), "{effort:?}");
        }
    }
}
