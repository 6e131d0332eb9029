//! A model's tables: all that the bytes and the linear decoder depend on (spec, "Model tables").

use sha2::{Digest, Sha256};

use crate::Error;
use crate::contexts::CONTEXTS;
use crate::layout::{LEVELS, UNITS};

const MAGIC: &[u8; 4] = b"NSTM";
const VERSION: u8 = 4;
/// Bit planes with a reconstruction point of their own.
pub(crate) const PLANES: usize = 15;
/// Lifting steps of a wavelet level.
pub(crate) const STEPS: usize = 4;
const HEADER: usize = 8;
const FLOATS: usize = LEVELS * STEPS * 2 + UNITS * (1 + PLANES);
const WEIGHTS: usize = 6;
/// Length of the tables in bytes.
const LENGTH: usize = HEADER + 4 * FLOATS + UNITS * WEIGHTS + 2 * CONTEXTS;

/// The first six bytes of the SHA-256 of a model's tables; every stream carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId(pub [u8; 6]);

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Taps of one wavelet level, for each lifting step: (near, far).
pub(crate) type Taps = [[f32; 2]; STEPS];

/// Weights, in 1/64, of what is known around a coefficient in its expected magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weights {
    pub(crate) side: u16,
    pub(crate) above: u16,
    pub(crate) diagonal: u16,
    pub(crate) parent: u16,
    pub(crate) from_luma: u16,
    pub(crate) from_u: u16,
}

/// What the tables say of one unit.
#[derive(Debug, Clone)]
pub(crate) struct UnitTables {
    /// The finest quantiser step.
    pub(crate) step: f32,
    /// Reconstruction point inside a bin, 0..1, by bit plane.
    pub(crate) offsets: [f32; PLANES],
    pub(crate) weights: Weights,
}

/// Tables of one model, checked.
#[derive(Debug, Clone)]
pub struct Model {
    id: ModelId,
    /// By level (0 = finest).
    pub(crate) taps: [Taps; LEVELS],
    pub(crate) units: Vec<UnitTables>,
    /// Prior probability of a one in each context, in 1/65536.
    pub(crate) priors: Vec<u16>,
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
}

impl Model {
    /// Reads a model's tables (`tables.bin` of a model package).
    ///
    /// # Errors
    /// [`Error::Version`] or [`Error::Corrupt`], with the clause that is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let corrupt = |why| Error::Corrupt { what: "model", why };
        if bytes.get(..4) != Some(MAGIC) {
            return Err(corrupt("the tables do not begin with NSTM"));
        }
        match bytes.get(4) {
            Some(&VERSION) => {}
            Some(&version) => return Err(Error::Version { what: "model", version, known: VERSION }),
            None => return Err(corrupt("the tables end in their header")),
        }
        if bytes.len() != LENGTH {
            return Err(corrupt("the tables do not have the length that their version fixes"));
        }
        if bytes[5..HEADER] != [0; 3] {
            return Err(corrupt("its reserved bytes are not zero"));
        }
        let digest = Sha256::digest(bytes);
        let id = ModelId(std::array::from_fn(|i| digest[i]));
        let mut reader = Reader(&bytes[HEADER..]);
        let model = Self {
            id,
            taps: std::array::from_fn(|_| std::array::from_fn(|_| reader.floats())),
            units: (0..UNITS)
                .map(|_| UnitTables {
                    step: reader.float(),
                    offsets: reader.floats(),
                    weights: Weights {
                        side: reader.weight(),
                        above: reader.weight(),
                        diagonal: reader.weight(),
                        parent: reader.weight(),
                        from_luma: reader.weight(),
                        from_u: reader.weight(),
                    },
                })
                .collect(),
            priors: (0..CONTEXTS).map(|_| u16::from_le_bytes(reader.take())).collect(),
        };
        let sane = |v: &f32| v.is_finite() && v.abs() < 1e4;
        let floats = model.taps.iter().flatten().flatten();
        if !floats.chain(model.units.iter().flat_map(|unit| &unit.offsets)).all(sane) {
            return Err(corrupt("a number is not finite or out of range"));
        }
        if model.units.iter().any(|unit| !(1e-3..1e4).contains(&unit.step)) {
            return Err(corrupt("a quantiser step is out of range"));
        }
        Ok(model)
    }

    /// The tables in `bytes` with other priors: the probability of a one in each context, in 1/65536.
    ///
    /// # Errors
    /// As [`Model::from_bytes`]; [`Error::Argument`] if there is not one prior for every context.
    pub fn with_priors(bytes: &[u8], priors: &[u16]) -> Result<Vec<u8>, Error> {
        Self::from_bytes(bytes)?;
        if priors.len() != CONTEXTS {
            return Err(Error::Argument("there is not one prior for every context"));
        }
        let mut out = bytes[..LENGTH - 2 * CONTEXTS].to_vec();
        out.extend(priors.iter().flat_map(|prior| prior.to_le_bytes()));
        Ok(out)
    }

    /// The model's name in streams.
    #[must_use]
    pub const fn id(&self) -> ModelId {
        self.id
    }
}
