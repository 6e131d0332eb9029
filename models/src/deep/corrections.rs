//! The networks of a synthesis, one for each range of cuts, loaded when they are needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::correction::Correction;
use crate::package::Ports;
use crate::package::files::Bytes;
use crate::runtime::Runtime;
use crate::tensor::NetworkError;

/// Most networks that stay loaded. Each holds the memory of its runs and needs some 11 ms to load.
const MOST_LOADED: usize = 2;

/// A network that is loaded, with its number.
type Loaded = (usize, Arc<Correction>);

/// Networks for cuts that rise from one to the next.
#[derive(Debug)]
pub(crate) struct Corrections {
    runtime: Runtime,
    networks: Arc<[Bytes]>,
    ports: Ports,
    /// The least cut, those at which one network follows another, and the greatest.
    bounds: Vec<f32>,
    threads: usize,
    /// The last used one last.
    loaded: Mutex<Vec<Loaded>>,
}

impl Corrections {
    /// `bounds` rise; there is one more than networks.
    pub(crate) fn new(
        runtime: &Runtime,
        networks: &Arc<[Bytes]>,
        ports: &Ports,
        bounds: &[f32],
        threads: usize,
    ) -> Self {
        let runtime = runtime.clone();
        let networks = networks.clone();
        let ports = ports.clone();
        Self { runtime, networks, ports, bounds: bounds.to_vec(), threads, loaded: Mutex::default() }
    }

    /// The number of the network that serves this cut.
    pub(crate) fn number(&self, cut: f32) -> usize {
        let within = self.bounds.get(1..self.networks.len()).unwrap_or_default();
        within.partition_point(|bound| *bound <= cut)
    }

    /// The network that serves this cut, and its input: the cut, clamped to the range that networks were trained for.
    pub(crate) fn at(&self, cut: f32) -> Result<(Arc<Correction>, f32), NetworkError> {
        let number = self.number(cut);
        let ends = self.bounds.first().zip(self.bounds.last());
        let told = ends.map_or(cut, |(low, high)| cut.clamp(*low, *high));
        let known = used(&mut self.lock(), number);
        if let Some(correction) = known {
            return Ok((correction, told));
        }
        // Threads that need another network do not wait for this.
        let correction = Correction::load(&self.runtime, &self.networks[number], &self.ports, self.threads)?;
        Ok((self.kept(number, Arc::new(correction)), told))
    }

    /// Keeps a network that was just loaded, unless another thread was faster; then that one's.
    fn kept(&self, number: usize, correction: Arc<Correction>) -> Arc<Correction> {
        let mut loaded = self.lock();
        if let Some(theirs) = used(&mut loaded, number) {
            return theirs;
        }
        loaded.push((number, Arc::clone(&correction)));
        correction
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a loaded network, now the last used one; else makes room for it.
fn used(loaded: &mut Vec<Loaded>, number: usize) -> Option<Arc<Correction>> {
    if let Some(place) = loaded.iter().position(|(known, _)| *known == number) {
        loaded[place..].rotate_left(1);
        return loaded.last().map(|(_, correction)| Arc::clone(correction));
    }
    let most = (loaded.len() + 1).saturating_sub(MOST_LOADED);
    loaded.drain(..most);
    None
}
