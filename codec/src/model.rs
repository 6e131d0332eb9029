//! A model's tables: the bytes and the linear decoder depend on nothing else (spec, "Model tables").

use std::sync::{Arc, LazyLock};

use sha2::{Digest, Sha256};

use crate::error::{Error, ModelId};
use crate::post_filter::table::{self, PostFilter};
use crate::subband::layout::{SUBBAND_COUNT, WAVELET_LEVELS};
use crate::subband::quantise::{Dequantiser, MAX_PLANES};
use crate::tables;
use crate::wavelet;
use crate::wavelet::integer::IntegerWavelet;
use crate::wavelet::lift::{LIFTING_STEPS, Taps};

const TABLES_MAGIC: &[u8; 4] = b"NSTM";
const TABLES_VERSION: u8 = 1;
/// Bit planes that have a reconstruction point of their own.
pub(crate) const RECONSTRUCTED_PLANES: usize = MAX_PLANES as usize;
/// Priors of a slice's adaptive probabilities, one for each context.
pub(crate) const TABLE_PRIORS: usize = 7282;
/// Bytes before the taps.
pub(crate) const HEADER_BYTES: usize = 8;
/// Taps of all levels.
pub(crate) const TAP_FLOATS: usize = WAVELET_LEVELS * LIFTING_STEPS * 2;
const SHAPE_WEIGHTS: usize = 6;
/// Length of a subband's record in bytes: step, reconstruction points, weights.
pub(crate) const SUBBAND_BYTES: usize = 4 * (1 + RECONSTRUCTED_PLANES) + SHAPE_WEIGHTS;
/// Length of the tables in bytes, without a post-filter.
pub(crate) const TABLES_BYTES: usize = HEADER_BYTES + 4 * TAP_FLOATS + SUBBAND_COUNT * SUBBAND_BYTES + 2 * TABLE_PRIORS;

/// Weights, in 1/64, of the known values around a coefficient in its expected magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weights {
    pub(crate) side: u16,
    pub(crate) above: u16,
    pub(crate) diagonal: u16,
    pub(crate) parent: u16,
    pub(crate) from_luma: u16,
    pub(crate) from_u: u16,
}

/// The tables of one subband.
#[derive(Debug, Clone)]
pub(crate) struct SubbandTables {
    /// The finest quantiser step.
    pub(crate) step: f32,
    /// The reconstruction point inside a bin, 0..1, by bit plane.
    pub(crate) offsets: [f32; RECONSTRUCTED_PLANES],
    /// The step and the reconstruction points as integers.
    pub(crate) dequantiser: Dequantiser,
    pub(crate) weights: Weights,
}

impl SubbandTables {
    /// Returns the offset to add to a magnitude that is known to plane 0, 1, ..., in the subband's own scale. The last
    /// `fine` planes are below the finest step; values are equally likely there.
    pub(crate) fn reconstruction_points(&self, fine: u8) -> [f32; RECONSTRUCTED_PLANES + 1] {
        let step = self.fine_step(fine);
        std::array::from_fn(|plane| {
            let offset =
                plane.checked_sub(fine.into()).map_or(0.5, |plane| self.offsets[plane.min(RECONSTRUCTED_PLANES - 1)]);
            offset * f32::from(1_u16 << plane.min(RECONSTRUCTED_PLANES)) * step
        })
    }

    /// Returns the step of the last of `fine` planes below the finest step.
    pub(crate) fn fine_step(&self, fine: u8) -> f32 {
        self.step / f32::from(1_u16 << fine)
    }
}

/// The checked tables of one model.
#[derive(Debug, Clone)]
pub struct Model {
    id: ModelId,
    /// By level (0 = finest).
    pub(crate) taps: [Taps; WAVELET_LEVELS],
    /// The same taps as integers.
    pub(crate) integer_wavelet: IntegerWavelet,
    pub(crate) subbands: Vec<SubbandTables>,
    /// The prior probability of a one in each context, in 1/65536.
    pub(crate) priors: Vec<u16>,
    /// The filter of pictures' planes; `None` in models that show planes unfiltered.
    pub(crate) post_filter: Option<PostFilter>,
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_first_chunk().expect("the length was checked");
        self.0 = tail;
        *head
    }

    fn float(&mut self) -> f32 {
        f32::from_le_bytes(self.take())
    }

    fn floats<const N: usize>(&mut self) -> [f32; N] {
        std::array::from_fn(|_| self.float())
    }

    fn weight(&mut self) -> u16 {
        u16::from(self.take::<1>()[0])
    }

    fn subband(&mut self) -> SubbandTables {
        let step = self.float();
        let offsets = self.floats();
        let weights = Weights {
            side: self.weight(),
            above: self.weight(),
            diagonal: self.weight(),
            parent: self.weight(),
            from_luma: self.weight(),
            from_u: self.weight(),
        };
        SubbandTables { step, offsets, dequantiser: Dequantiser::new(step, &offsets), weights }
    }
}

impl Model {
    /// Returns the model `photo`, whose tables are part of this build.
    #[must_use]
    pub fn photo() -> Arc<Self> {
        static PHOTO_MODEL: LazyLock<Arc<Model>> = LazyLock::new(|| {
            Arc::new(Model::from_bytes(tables::PHOTO).expect("a test reads the tables of this build"))
        });
        Arc::clone(&PHOTO_MODEL)
    }

    /// Reads a model's tables (`tables.bin` of a model package).
    ///
    /// # Errors
    /// [`Error::Version`], or [`Error::Corrupt`] with the clause that the tables break.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let corrupt = |why| Error::Corrupt { what: "model", why };
        if bytes.get(..4) != Some(TABLES_MAGIC) {
            return Err(corrupt("the tables do not begin with NSTM"));
        }
        match bytes.get(4) {
            Some(&TABLES_VERSION) => {}
            Some(&version) => return Err(Error::Version { what: "model", version, known: TABLES_VERSION }),
            None => return Err(corrupt("the tables end in their header")),
        }
        let Some((_, filter)) =
            bytes.split_at_checked(TABLES_BYTES).filter(|(_, filter)| [0, table::TABLE_BYTES].contains(&filter.len()))
        else {
            return Err(corrupt("the tables do not have a length that their version fixes"));
        };
        if bytes[5..HEADER_BYTES] != [0; 3] {
            return Err(corrupt("its reserved bytes are not zero"));
        }
        let digest = Sha256::digest(bytes);
        let id = ModelId(std::array::from_fn(|i| digest[i]));
        let mut reader = Reader(&bytes[HEADER_BYTES..]);
        let taps: [Taps; WAVELET_LEVELS] = std::array::from_fn(|_| std::array::from_fn(|_| reader.floats()));
        let integer_wavelet = IntegerWavelet::new(&taps);
        let subbands = (0..SUBBAND_COUNT).map(|_| reader.subband()).collect();
        let priors = (0..TABLE_PRIORS).map(|_| u16::from_le_bytes(reader.take())).collect();
        let post_filter = filter.first_chunk().map(PostFilter::read).transpose().map_err(corrupt)?;
        let model = Self { id, taps, integer_wavelet, subbands, priors, post_filter };
        let sane = |v: &f32| v.is_finite() && v.abs() < 1e4;
        let floats = model.taps.iter().flatten().flatten();
        if !floats.chain(model.subbands.iter().flat_map(|subband| &subband.offsets)).all(sane) {
            return Err(corrupt("a number is not finite or out of range"));
        }
        if model.subbands.iter().any(|subband| !(1e-3..1e4).contains(&subband.step)) {
            return Err(corrupt("a quantiser step is out of range"));
        }
        Ok(model)
    }

    /// Whether its tables have a filter for the planes of pictures.
    pub(crate) const fn has_post_filter(&self) -> bool {
        self.post_filter.is_some()
    }

    /// Returns the finest step of every subband.
    pub(crate) fn steps(&self) -> [f32; SUBBAND_COUNT] {
        std::array::from_fn(|index| self.subbands[index].step)
    }

    /// Returns the energies of the wavelet's basis functions.
    pub(crate) fn norms(&self) -> [[f32; 2]; WAVELET_LEVELS] {
        wavelet::norms(&self.taps)
    }

    /// Returns the model's name in streams.
    #[must_use]
    pub const fn id(&self) -> ModelId {
        self.id
    }
}
