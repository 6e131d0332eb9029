//! Adds a network's output to planes, tile by tile on several threads.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

use nestcast_codec::Planes;

use super::tiles::{BLOCK_CHANNELS, BLOCK_SIDE, GRID_PIXELS, Tile, Tiling};
use crate::onnx::{Network, Workers};
use crate::package::Ports;
use crate::runtime::Runtime;
use crate::tensor::{NetworkError, Tensor, TensorView};

/// A network whose output is added to planes.
#[derive(Debug)]
pub(crate) struct Correction {
    pub(super) network: Network,
    pub(super) ports: Ports,
    threads: usize,
}

/// Most tiles at once: a network needs 80 MB for each (see `tiles.rs`), and further threads would wait for memory.
const MOST_SESSIONS: usize = 16;

/// The number of sessions for `threads` threads: no more than can work at the same time.
pub(crate) fn sessions(threads: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    threads.clamp(1, cores.clamp(2, MOST_SESSIONS))
}

impl Correction {
    /// Loads the network and tries it, so that another kind of network fails now.
    pub(crate) fn load(runtime: &Runtime, model: &[u8], ports: &Ports, threads: usize) -> Result<Self, NetworkError> {
        let threads = sessions(threads);
        let network = Network::load(runtime, model, Workers::single_threaded(threads))?;
        let correction = Self { network, ports: ports.clone(), threads };
        let shape = vec![1, 2 * GRID_PIXELS / BLOCK_SIDE, GRID_PIXELS / BLOCK_SIDE, BLOCK_CHANNELS];
        let planes = Tensor { data: vec![0.0; shape.iter().product()], shape };
        let cut = correction.ports.cut.as_ref().map(|_| 0.0);
        correction.run(&planes, cut, |_| ())?;
        Ok(correction)
    }

    /// Corrects planes in place. The result does not depend on the number of threads.
    pub(super) fn add_to(&self, planes: &mut Planes, cut: Option<f32>) -> Result<(), NetworkError> {
        let tiling = Tiling::of(planes.size);
        self.add_in_tiles(planes, &tiling, cut)
    }

    pub(super) fn add_in_tiles(
        &self,
        planes: &mut Planes,
        tiling: &Tiling,
        cut: Option<f32>,
    ) -> Result<(), NetworkError> {
        let threads = self.threads.min(tiling.tiles.len());
        let state = Mutex::new(Progress { planes, tiling, next: 0, finished: Vec::new(), failed: None });
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.work(&state, cut));
            }
            self.work(&state, cut);
        });
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(()), Err)
    }

    /// Runs tile after tile until none is left.
    fn work(&self, state: &Mutex<Progress<'_>>, cut: Option<f32>) {
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut input = Tensor::default();
        loop {
            let Some(tile) = lock().take(&mut input) else { return };
            let inner = self.run(&input, cut, |correction| tile.inner_of(correction));
            lock().put(tile, inner);
        }
    }

    /// Lends the correction of some planes to `read`.
    fn run<R>(&self, planes: &Tensor, cut: Option<f32>, read: impl FnOnce(&[f32]) -> R) -> Result<R, NetworkError> {
        let cut = cut.map(|cut| Tensor { shape: vec![1], data: vec![cut] });
        let mut inputs = vec![(self.ports.planes.as_str(), planes)];
        inputs.extend(self.ports.cut.as_deref().zip(cut.as_ref()));
        let index = self.network.outputs().iter().position(|port| port.name == self.ports.correction);
        self.network.run_with(&inputs, |outputs: &[TensorView<'_>]| {
            let correction = index.and_then(|index| outputs.get(index));
            match correction.filter(|correction| correction.shape == planes.shape) {
                Some(correction) => Ok(read(correction.data)),
                None => Err(NetworkError::Outputs {
                    needed: format!("{} of the shape {:?}", self.ports.correction, planes.shape),
                    given: outputs.iter().map(|output| format!("{:?}", output.shape)).collect::<Vec<_>>().join(", "),
                }),
            }
        })?
    }
}

/// Planes of which some tiles are corrected. A tile is written only when no other tile will read its pixels, so the
/// planes need no second copy.
struct Progress<'a> {
    planes: &'a mut Planes,
    tiling: &'a Tiling,
    /// The next tile to read; all before it have been read.
    next: usize,
    /// Corrections that are not written yet.
    finished: Vec<(&'a Tile, Vec<f32>)>,
    failed: Option<NetworkError>,
}

impl<'a> Progress<'a> {
    /// Reads the next tile into `input`, unless there is none or a network failed.
    fn take(&mut self, input: &mut Tensor) -> Option<&'a Tile> {
        if self.failed.is_some() {
            return None;
        }
        let tile = self.tiling.tiles.get(self.next)?;
        self.next += 1;
        tile.read(self.planes, input);
        Some(tile)
    }

    /// Stores a tile's correction, and writes every tile that can be written.
    fn put(&mut self, tile: &'a Tile, correction: Result<Vec<f32>, NetworkError>) {
        match correction {
            Ok(values) => self.finished.push((tile, values)),
            Err(error) => self.failed = Some(error),
        }
        let planes = &mut *self.planes;
        let next = self.next;
        let waiting = std::mem::take(&mut self.finished).into_iter().filter_map(|(tile, values)| {
            if tile.last_reader >= next {
                return Some((tile, values));
            }
            tile.add(planes, &values);
            None
        });
        self.finished = waiting.collect();
    }
}
