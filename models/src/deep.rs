//! The deep transform: the linear one and what its networks correct.

mod corrections;
pub(crate) mod tiles;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nestcast_codec::{
    Analysis, Axes, Coefficients, Error, Linear, Model, Picture, Planes, Position, PostFilter, Synthesis,
    TransformError, View, ViewMut,
};

use crate::onnx::{Network, Workers};
use crate::package::Ports;
use crate::package::files::synthesis_file;
use crate::runtime::Runtime;
use crate::tensor::{NetworkError, Tensor, TensorView};
pub(crate) use corrections::Corrections;
use tiles::{BLOCK, Tile, Tiling};
pub(crate) use tiles::{CHANNELS, LONGEST_OUTER, SIDE};

/// Both halves. An encoder or decoder alone needs only its own.
#[derive(Debug)]
pub struct Deep {
    /// The encoder's half.
    pub analysis: DeepAnalysis,
    /// The decoder's half.
    pub synthesis: DeepSynthesis,
}

/// Planes, corrected, then decomposed.
#[derive(Debug)]
pub struct DeepAnalysis {
    pub(crate) linear: Linear,
    pub(crate) correction: Correction,
}

/// The linear synthesis, corrected for what is missing at the cut, then through a post-filter that was fitted behind its networks.
#[derive(Debug)]
pub struct DeepSynthesis {
    pub(crate) linear: Linear,
    pub(crate) corrections: Corrections,
    /// Fitted behind the networks.
    pub(crate) post_filter: Arc<PostFilter>,
}

/// A synthesis as far as it needs no network, so that it can be done while one is loaded.
#[derive(Debug)]
pub struct Composed {
    /// The planes that the network corrects.
    pub planes: Planes,
    /// What the post-filter is told of their coefficients.
    pub significance: Vec<Vec<u8>>,
    /// How far the stream came.
    pub position: Position,
}

impl Composed {
    /// The planes of these coefficients, whose memory it takes, of a stream that came so far.
    ///
    /// # Errors
    /// As [`Coefficients::check`].
    pub fn new(linear: &Linear, coefficients: &mut Coefficients, position: Position) -> Result<Self, Error> {
        let planes = linear.compose(coefficients)?;
        // The planes take as much memory, and the network more.
        let Coefficients { significance, .. } = std::mem::take(coefficients);
        Ok(Self { planes, significance, position })
    }
}

impl DeepSynthesis {
    /// The rest of the synthesis, in memory of its own: the network and the post-filter.
    ///
    /// # Errors
    /// As [`DeepSynthesis::prepare`], and if the network fails.
    pub fn complete(&self, composed: Composed) -> Result<Picture, TransformError> {
        let mut picture = Picture::zero(composed.planes.size, composed.planes.channels);
        self.complete_into(composed, (&mut picture).into())?;
        Ok(picture)
    }

    /// Adds the correction of the cut's network to the planes. The post-filter comes behind it.
    ///
    /// # Errors
    /// As [`DeepSynthesis::complete`].
    pub fn correct(&self, composed: &mut Composed) -> Result<(), TransformError> {
        let (correction, cut) = self.at(composed.position)?;
        Ok(correction.add_to(&mut composed.planes, Some(cut))?)
    }

    /// Loads the network of a stream that came so far, if it is not loaded, so that [`DeepSynthesis::complete`] need not wait for it.
    ///
    /// # Errors
    /// [`TransformError::Network`] with the network's file, if ONNX Runtime refuses it or it is not of the kind that a package holds.
    pub fn prepare(&self, position: Position) -> Result<(), TransformError> {
        self.at(position).map(|_| ())
    }

    fn at(&self, position: Position) -> Result<(Arc<Correction>, f32), TransformError> {
        let at = self.corrections.at(position.0);
        at.map_err(|error| {
            let file = synthesis_file(self.corrections.number(position.0));
            TransformError::Network(format!("{file}: {error}: export the package again"))
        })
    }

    fn complete_into(&self, mut composed: Composed, out: ViewMut<'_>) -> Result<(), TransformError> {
        self.correct(&mut composed)?;
        let Composed { planes, significance, position } = composed;
        Ok(self.linear.filtered_picture(&planes, &significance, (&self.post_filter, position), out)?)
    }
}

impl Analysis for Deep {
    fn model(&self) -> &Arc<Model> {
        Analysis::model(&self.analysis)
    }

    fn threads(&self) -> usize {
        Analysis::threads(&self.analysis)
    }

    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError> {
        self.analysis.analyse(picture, out)
    }
}

impl Synthesis for Deep {
    fn model(&self) -> &Arc<Model> {
        Synthesis::model(&self.synthesis)
    }

    fn threads(&self) -> usize {
        Synthesis::threads(&self.synthesis)
    }

    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError> {
        self.synthesis.synthesise(coefficients, position, out)
    }
}

impl Analysis for DeepAnalysis {
    fn model(&self) -> &Arc<Model> {
        Analysis::model(&self.linear)
    }

    fn threads(&self) -> usize {
        Analysis::threads(&self.linear)
    }

    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError> {
        let mut planes = self.linear.planes(picture, Axes::of(picture));
        self.correction.add_to(&mut planes, None)?;
        Ok(self.linear.decompose(&planes, out)?)
    }
}

impl Synthesis for DeepSynthesis {
    fn model(&self) -> &Arc<Model> {
        Synthesis::model(&self.linear)
    }

    fn threads(&self) -> usize {
        Synthesis::threads(&self.linear)
    }

    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError> {
        self.complete_into(Composed::new(&self.linear, coefficients, position)?, out)
    }
}

/// A network that says what to add to planes.
#[derive(Debug)]
pub(crate) struct Correction {
    network: Network,
    ports: Ports,
    threads: usize,
}

/// Most tiles at once: a network takes 80 MB for each (see [`tiles`]), and further threads would wait for memory.
const MOST_SESSIONS: usize = 16;

/// As many sessions as there can be threads at work, whatever was asked for.
pub(crate) fn sessions(threads: usize) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    threads.clamp(1, cores.clamp(2, MOST_SESSIONS))
}

impl Correction {
    /// Loads the network and tries it, so that one of another kind is found now.
    pub(crate) fn load(runtime: &Runtime, model: &[u8], ports: &Ports, threads: usize) -> Result<Self, NetworkError> {
        let threads = sessions(threads);
        let network = Network::load(runtime, model, Workers::single_threaded(threads))?;
        let correction = Self { network, ports: ports.clone(), threads };
        let shape = vec![1, 2 * BLOCK / SIDE, BLOCK / SIDE, CHANNELS];
        let planes = Tensor { data: vec![0.0; shape.iter().product()], shape };
        let cut = correction.ports.cut.as_ref().map(|_| 0.0);
        correction.run(&planes, cut, |_| ())?;
        Ok(correction)
    }

    /// Corrects planes in place. What comes out does not depend on the number of threads.
    fn add_to(&self, planes: &mut Planes, cut: Option<f32>) -> Result<(), NetworkError> {
        let tiling = Tiling::of(planes.size);
        self.add_in_tiles(planes, &tiling, cut)
    }

    fn add_in_tiles(&self, planes: &mut Planes, tiling: &Tiling, cut: Option<f32>) -> Result<(), NetworkError> {
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

/// Planes of which some tiles are corrected. A tile is written only when no other tile will read under it,
/// so the planes need no second copy.
struct Progress<'a> {
    planes: &'a mut Planes,
    tiling: &'a Tiling,
    /// The next tile to read; all before it were.
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

    /// Takes a tile's correction, and writes whatever may be written.
    fn put(&mut self, tile: &'a Tile, correction: Result<Vec<f32>, NetworkError>) {
        match correction {
            Ok(values) => self.finished.push((tile, values)),
            Err(error) => self.failed = Some(error),
        }
        let (planes, next) = (&mut *self.planes, self.next);
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

#[cfg(test)]
mod tests;
