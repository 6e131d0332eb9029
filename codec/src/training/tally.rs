//! Statistics of coded video frames: the better value of each prior, and the mean place of coefficients in their bins.

use crate::bitplane::scan::{self, Cursor};
use crate::entropy::probability::{PROBABILITY_BITS, Probability};
use crate::entropy::range_coder::Coder;
use crate::entropy::record::Record;
use crate::error::Error;
use crate::model::{HEADER_BYTES, Model, RECONSTRUCTED_PLANES, SUBBAND_BYTES, TABLE_PRIORS, TABLES_BYTES, TAP_FLOATS};
use crate::parallel::Threads;
use crate::stream::slice_decoder::SliceDecoder;
use crate::stream::slice_encoder::SliceEncoder;
use crate::subband::coefficients::{self, Bands};
use crate::subband::layout::SUBBAND_COUNT;
use crate::subband::quantise::MAX_PLANES;

/// The weight of the old prior, in symbols with the weight of the first ones: the prior of a rare context moves little.
const PRIOR_SYMBOLS: f64 = 4.0;
/// The weight of the old reconstruction point, in coefficients.
const POINT_COEFFICIENTS: f64 = 32.0;
/// The smallest and the greatest prior, in 1/65536: the unlikely symbol costs ten bits.
const PRIOR_RANGE: [f64; 2] = [64.0, 65472.0];
/// Bits of the plane's number that is packed with a magnitude.
const PLANE_BITS: u32 = 4;

/// Statistics of coding, summed over frames. Sums of several frames can be weighted and added.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The length of the bitstreams in bits, by the probabilities of their symbols.
    pub bits: f64,
    /// By context.
    priors: Vec<Slope>,
    /// By subband and plane: sum of the positions of coefficients in their bins, 0..1, and their number.
    points: Vec<[[f64; 2]; RECONSTRUCTED_PLANES]>,
}

/// How the length of the code changes with a prior: the input of one step of Fisher scoring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slope {
    /// Minus the derivative of the length, in nats.
    falls: f64,
    /// Its expected second derivative: the Fisher information.
    curves: f64,
}

impl Slope {
    pub(crate) fn add(&mut self, other: Self, weight: f64) {
        self.falls += weight * other.falls;
        self.curves += weight * other.curves;
    }

    /// Returns the better prior, in 1/65536.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 16 bits")]
    pub(crate) fn better(self, prior: u16) -> u16 {
        let [least, greatest] = PRIOR_RANGE;
        let prior = f64::from(prior).clamp(least, greatest);
        let one = prior / 65536.0;
        let step = self.falls / (self.curves + PRIOR_SYMBOLS / (one * (1.0 - one)));
        (prior + 65536.0 * step).round().clamp(least, greatest) as u16
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            bits: 0.0,
            priors: vec![Slope::default(); TABLE_PRIORS],
            points: vec![[[0.0; 2]; RECONSTRUCTED_PLANES]; SUBBAND_COUNT],
        }
    }
}

impl Tally {
    /// Adds the statistics of other frames, each counted `weight` times.
    pub fn add(&mut self, other: &Self, weight: f64) {
        self.bits += weight * other.bits;
        self.priors.iter_mut().zip(&other.priors).for_each(|(own, other)| own.add(*other, weight));
        for (own, other) in self.points.iter_mut().flatten().zip(other.points.iter().flatten()) {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += weight * other);
        }
    }

    /// Returns `tables`, with which everything was coded, with better priors and reconstruction points.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn better_tables(&self, tables: &[u8]) -> Result<Vec<u8>, Error> {
        let model = Model::from_bytes(tables)?;
        let mut out = tables.to_vec();
        for (index, (points, subband)) in self.points.iter().zip(&model.subbands).enumerate() {
            let first = HEADER_BYTES + 4 * TAP_FLOATS + index * SUBBAND_BYTES + 4;
            for (plane, [sum, count]) in points.iter().enumerate() {
                let before = f64::from(subband.offsets[plane]);
                #[expect(clippy::cast_possible_truncation, reason = "a mean of numbers from 0 to 1")]
                let point = ((sum + POINT_COEFFICIENTS * before) / (count + POINT_COEFFICIENTS)) as f32;
                out[first + 4 * plane..][..4].copy_from_slice(&point.to_le_bytes());
            }
        }
        let priors = &mut out[TABLES_BYTES - 2 * TABLE_PRIORS..TABLES_BYTES];
        for ((out, slope), before) in priors.chunks_exact_mut(2).zip(&self.priors).zip(&model.priors) {
            out.copy_from_slice(&slope.better(*before).to_le_bytes());
        }
        Ok(out)
    }

    /// Counts the symbols of the first `passes` coding passes of every slice. The slices must be new. A symbol counts
    /// with the sum of the weights of the receivers whose bytes contain it.
    pub(crate) fn meet_symbols(
        &mut self,
        slices: &mut SliceEncoder<impl Record>,
        planes: u8,
        passes: usize,
        receivers: &[Receiver],
    ) {
        let meters: Vec<Meter> = slices
            .slices()
            .map(|slice| {
                let mut meter = Meter::new(TABLE_PRIORS);
                let mut done = 0;
                // A meter is never starved.
                let _ = scan::run(slice, &mut Cursor::new(planes), &mut meter, |_| {
                    done += 1;
                    done < passes
                });
                meter
            })
            .collect();
        let bits: f64 = meters.iter().map(|meter| meter.bits).sum();
        self.bits += bits;
        for meter in meters {
            // Slices take turns, so a prefix has the same share of each.
            let share = meter.bits / bits;
            let contains = |receiver: &&Receiver, end: f64| end <= 8.0 * receiver.string as f64 * share;
            for symbol in meter.symbols {
                let receivers = receivers.iter().filter(|receiver| contains(receiver, symbol.end));
                let weight: f64 = receivers.map(|receiver| receiver.weight).sum();
                self.priors[symbol.context].add(symbol.slope, weight);
            }
        }
    }

    /// Counts the coefficients that a prefix of their bitstream determines.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a length in the bitstream is corrupt.
    pub(crate) fn meet_points(
        &mut self,
        model: &Model,
        bands: Bands<'_>,
        planes: u8,
        prefix: &[u8],
    ) -> Result<(), Error> {
        let mut known: Vec<Vec<i32>> = Vec::new();
        let mut decoder = SliceDecoder::new();
        decoder.start(bands.size, bands.chroma, planes.min(MAX_PLANES), false);
        decoder.push(model, prefix, &Threads::new(1)).map_err(|why| Error::Corrupt { what: "frame", why })?;
        let used = coefficients::resize(&mut known, |index| bands.subbands[index].len());
        decoder.colours().write_to(&mut known, &used, &mut [], &Threads::new(1), |slice, rows| {
            slice.write_values(rows, &used, |_| {
                |magnitude, plane| i32::from(magnitude) << PLANE_BITS | known_plane(plane)
            });
        });
        for (index, (known, exact)) in known.iter().zip(bands.subbands).enumerate() {
            let step = f64::from(model.subbands[index].step);
            for (known, exact) in known.iter().zip(exact).filter(|(known, _)| **known != 0) {
                let [magnitude, plane] = [known.unsigned_abs() >> PLANE_BITS, known.unsigned_abs() & PLANE_MASK];
                let beyond = f64::from(exact.abs()) / step - f64::from(magnitude);
                let [sum, count] = &mut self.points[index][plane as usize];
                *sum += (beyond / f64::from(1_u32 << plane)).clamp(0.0, 1.0);
                *count += 1.0;
            }
        }
        Ok(())
    }
}

const PLANE_MASK: u32 = (1 << PLANE_BITS) - 1;

fn known_plane(plane: usize) -> i32 {
    i32::try_from(plane).unwrap_or_default()
}

/// Who gets a prefix of a bitstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    /// The bytes of the bitstream that it gets.
    pub(crate) string: usize,
    /// What one of its symbols counts.
    pub(crate) weight: f64,
}

/// A coder that measures a code instead of writing it.
pub(crate) struct Meter {
    /// Length in bits.
    pub(crate) bits: f64,
    pub(crate) symbols: Vec<MeteredSymbol>,
    /// By context: the remaining weight of the prior in the fast and in the slow estimate.
    left: Vec<[f64; 2]>,
}

/// A symbol of a measured code.
pub(crate) struct MeteredSymbol {
    pub(crate) context: usize,
    pub(crate) slope: Slope,
    /// The length of the code up to its end, in bits.
    end: f64,
}

impl Meter {
    pub(crate) fn new(contexts: usize) -> Self {
        Self { bits: 0.0, symbols: Vec::new(), left: vec![[1.0; 2]; contexts] }
    }
}

impl Default for Meter {
    /// Makes a stand-in that measures nothing.
    fn default() -> Self {
        Self::new(0)
    }
}

impl Coder for Meter {
    const WRITES_BITS: bool = true;

    fn code<const RATES: u32>(&mut self, probabilities: &mut [Probability], context: usize, bit: bool) -> Option<bool> {
        let probability = &mut probabilities[context];
        let one = f64::from(probability.of_one()) / f64::from(1_u32 << PROBABILITY_BITS);
        self.bits -= if bit { one } else { 1.0 - one }.log2();
        let left = &mut self.left[context];
        let share = (left[0] + left[1]) / 2.0;
        let slope = Slope {
            falls: share * if bit { 1.0 / one } else { -1.0 / (1.0 - one) },
            curves: share * share / (one * (1.0 - one)),
        };
        self.symbols.push(MeteredSymbol { context, slope, end: self.bits });
        for (left, shift) in left.iter_mut().zip([RATES & 0xF, RATES >> 4]) {
            *left *= 1.0 - 1.0 / f64::from(1_u32 << shift);
        }
        if bit {
            probability.rise::<RATES>()
        } else {
            probability.fall::<RATES>()
        }
        Some(bit)
    }

    fn position(&self) -> usize {
        0
    }
}
