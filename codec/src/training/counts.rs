//! For those who train models: counts of zeros and ones in each context, and tables with priors from such counts.

use crate::bitplane::contexts::SLICE_CONTEXTS;
use crate::bitplane::scan::{self, Cursor};
use crate::entropy::probability::Probability;
use crate::entropy::range_coder::Coder;
use crate::entropy::record::Record;
use crate::error::Error;
use crate::model::{Model, TABLE_PRIORS, TABLES_BYTES};
use crate::stream::slice_encoder::SliceEncoder;

impl<R: Record> SliceEncoder<R> {
    /// Counts how often each adaptive probability codes a zero and a one while the Levels are coded from plane
    /// `planes` - 1 down.
    pub(crate) fn count(&mut self, planes: u8) -> Vec<[u64; 2]> {
        let mut counter = Counter::new();
        for slice in self.slices() {
            let done = scan::run(slice, &mut Cursor::new(planes), &mut counter, |_| true);
            debug_assert!(done.is_ok(), "a counter is never starved");
        }
        counter.counts.truncate(TABLE_PRIORS);
        counter.counts
    }
}

impl Model {
    /// Returns the tables in `bytes` with other priors: the probability of a one in each context, in 1/65536.
    ///
    /// # Errors
    /// As [`Model::from_bytes`]; [`Error::Argument`] unless there is one prior for every context.
    pub fn with_priors(bytes: &[u8], priors: &[u16]) -> Result<Vec<u8>, Error> {
        Self::from_bytes(bytes)?;
        if priors.len() != TABLE_PRIORS {
            return Err(Error::Argument("there is not one prior for every context"));
        }
        let mut out = bytes[..TABLES_BYTES - 2 * TABLE_PRIORS].to_vec();
        out.extend(priors.iter().flat_map(|prior| prior.to_le_bytes()));
        out.extend(&bytes[TABLES_BYTES..]);
        Ok(out)
    }
}

/// A coder that counts bits instead of writing them.
struct Counter {
    counts: Vec<[u64; 2]>,
}

impl Counter {
    fn new() -> Self {
        Self { counts: vec![[0; 2]; SLICE_CONTEXTS] }
    }
}

impl Default for Counter {
    /// Makes a stand-in that counts nothing.
    fn default() -> Self {
        Self { counts: Vec::new() }
    }
}

impl Coder for Counter {
    const WRITES_BITS: bool = true;

    fn code<const RATES: u32>(
        &mut self,
        _probabilities: &mut [Probability],
        context: usize,
        bit: bool,
    ) -> Option<bool> {
        self.counts[context][usize::from(bit)] += 1;
        Some(bit)
    }

    fn position(&self) -> usize {
        0
    }
}
