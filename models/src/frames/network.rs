//! The network that corrects frames of video.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use nestcast_codec::{DecodedFrame, DecodingConditions, PlaneMut, Position, Restoration, TransformError, ViewMut};

use super::blocks::{self, BLOCK_CHANNELS, BLOCK_SAMPLES, BLOCK_SIDE};
use crate::deep::sessions;
use crate::deep::tiles::{GRID_PIXELS, Tile, Tiling};
use crate::onnx::{Network, Workers};
use crate::runtime::Runtime;
use crate::tensor::{NetworkError, Tensor};

/// The network's inputs about a frame: the positions of the shown picture, the enhanced picture and the floor; 1 for a
/// key frame.
pub(super) const CONDITION_NUMBERS: u16 = 4;
/// Names of the network's ports.
pub(super) const FRAME_PORT: &str = "frame";
pub(super) const TOLD_PORT: &str = "told";
pub(super) const CORRECTION_PORT: &str = "correction";

/// Shows frames of video through the network of a package.
#[derive(Debug)]
pub struct DeepFrames {
    network: Network,
    threads: usize,
    /// Positions that the network was trained for; others are clamped to them.
    positions: [f32; 2],
    /// Inputs of earlier frames, whose memory is used again.
    inputs: Mutex<Vec<Tensor>>,
}

impl DeepFrames {
    /// Loads the network and tries it, so that another kind of network fails now.
    pub(super) fn load(
        runtime: &Runtime,
        model: &[u8],
        positions: [f32; 2],
        threads: usize,
    ) -> Result<Self, NetworkError> {
        let threads = sessions(threads);
        let network = Network::load(runtime, model, Workers::single_threaded(threads))?;
        let frames = Self { network, threads, positions, inputs: Mutex::default() };
        let shape = vec![1, 2 * GRID_PIXELS / BLOCK_SIDE, GRID_PIXELS / BLOCK_SIDE, BLOCK_CHANNELS];
        let blocks = Tensor { data: vec![0.0; shape.iter().product()], shape };
        frames.run(&blocks, &frames.told(&DecodingConditions::default()), |_| ())?;
        Ok(frames)
    }

    fn told(&self, told: &DecodingConditions) -> Tensor {
        let [low, high] = self.positions;
        let position = |Position(position): Position| position.clamp(low, high);
        let key = f32::from(u8::from(told.key));
        Tensor {
            shape: vec![CONDITION_NUMBERS.into()],
            data: vec![position(told.shown), position(told.enhancement_reference), position(told.base_reference), key],
        }
    }

    /// Lends the correction of some blocks to `read`.
    fn run<R>(&self, blocks: &Tensor, told: &Tensor, read: impl FnOnce(&[f32]) -> R) -> Result<R, NetworkError> {
        let [_, rows, columns, _] = blocks.shape[..] else { unreachable!("blocks have four dimensions") };
        let shape = [1, rows, columns, BLOCK_SAMPLES];
        self.network.run_with(&[(FRAME_PORT, blocks), (TOLD_PORT, told)], |outputs| match outputs {
            [correction] if correction.shape == shape => Ok(read(correction.data)),
            _ => Err(NetworkError::Outputs {
                needed: format!("{CORRECTION_PORT} of the shape {shape:?}"),
                given: outputs.iter().map(|output| format!("{:?}", output.shape)).collect::<Vec<_>>().join(", "),
            }),
        })?
    }

    /// Corrects tile after tile until none is left.
    fn work(&self, job: &Job<'_, '_>) -> Result<(), NetworkError> {
        let lock = || self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut input = lock().pop().unwrap_or_default();
        let done = job.tiles().try_for_each(|tile| {
            blocks::read(tile, job.frame, &mut input);
            self.run(&input, &job.told, |correction| {
                let mut out = job.out.lock().unwrap_or_else(PoisonError::into_inner);
                blocks::write(tile, job.frame, correction, &mut out);
            })
        });
        lock().push(input);
        done
    }

    fn restore_in_tiles(
        &self,
        frame: &DecodedFrame<'_>,
        tiling: &Tiling,
        out: ViewMut<'_>,
    ) -> Result<(), NetworkError> {
        let told = self.told(&frame.told());
        let job = Job { frame, told, tiling, next: AtomicUsize::new(0), out: Mutex::new(out.into_planes()) };
        thread::scope(|scope| {
            let others = 1..self.threads.min(tiling.tiles.len());
            let others: Vec<_> = others.map(|_| scope.spawn(|| self.work(&job))).collect();
            let own = self.work(&job);
            let others =
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            others.fold(own, Result::and)
        })
    }
}

impl Restoration for DeepFrames {
    fn restore(&self, frame: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError> {
        Ok(self.restore_in_tiles(frame, &Tiling::of(frame.size()), out)?)
    }
}

/// A frame in progress.
struct Job<'a, 'b> {
    frame: &'a DecodedFrame<'a>,
    told: Tensor,
    tiling: &'a Tiling,
    /// The next tile; all before it were taken.
    next: AtomicUsize,
    out: Mutex<[PlaneMut<'b>; 3]>,
}

impl Job<'_, '_> {
    /// The tiles that no other thread takes.
    fn tiles(&self) -> impl Iterator<Item = &Tile> {
        std::iter::from_fn(|| self.tiling.tiles.get(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests;
