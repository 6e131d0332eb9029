//! The codes that all methods are measured on. Each bit is 1 with a probability of 51/256, as in the paper's beta =
//! 0.2, and independent of all others, as its analysis assumes. Shorter codes are the first bits of longer ones.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

/// 51/256 in binary, the lowest digit first.
const ONES_DIGITS: [bool; 8] = [true, true, false, false, true, true, false, false];
/// The databases for FAISS: lengths at a million codes, and numbers of codes at 512 bits.
const DUMPED_DATABASES: [(usize, usize); 9] = [
    (64, 1_000_000),
    (128, 1_000_000),
    (256, 1_000_000),
    (512, 1_000_000),
    (1024, 1_000_000),
    (2048, 1_000_000),
    (512, 10_000),
    (512, 100_000),
    (512, 10_000_000),
];
/// The number of queries for FAISS.
const DUMPED_QUERIES: usize = 200;

/// A database of `count` codes of `bits` bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codes {
    pub(crate) bits: usize,
    pub(crate) count: usize,
}

impl Codes {
    /// Returns the bytes of a code.
    pub(crate) const fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Writes code `number` over `code`; codes from `count` on are not in the database.
    pub(crate) fn put(&self, number: usize, code: &mut [u8]) {
        let mut random = fastrand::Rng::with_seed(number as u64);
        for bytes in code.chunks_mut(8) {
            let word = ONES_DIGITS.iter().fold(0, |word, &digit| {
                let next = random.u64(..);
                if digit { word | next } else { word & next }
            });
            bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]);
        }
    }

    /// Returns all codes, one after another.
    pub(crate) fn all(&self) -> Vec<u8> {
        let mut codes = vec![0; self.count * self.bytes()];
        codes.chunks_mut(self.bytes()).enumerate().for_each(|(number, code)| self.put(number, code));
        codes
    }

    /// Returns `count` queries: codes in the database if `indexed`, otherwise codes that are not.
    pub(crate) fn queries(&self, indexed: bool, count: usize) -> Vec<Vec<u8>> {
        let mut random = fastrand::Rng::with_seed(7);
        let query = |number| {
            let mut code = vec![0; self.bytes()];
            self.put(number, &mut code);
            code
        };
        (0..count).map(|at| query(if indexed { random.usize(..self.count) } else { self.count + at })).collect()
    }
}

/// Writes databases, and queries that are not in them, as plain bytes.
pub(crate) fn dump(folder: &Path, most: usize) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (bits, count) in DUMPED_DATABASES.into_iter().filter(|(_, count)| *count <= most) {
        let codes = Codes { bits, count };
        let mut file = BufWriter::new(File::create(folder.join(format!("{bits}-{count}.codes")))?);
        let mut code = vec![0; codes.bytes()];
        for number in 0..count {
            codes.put(number, &mut code);
            file.write_all(&code)?;
        }
        file.flush()?;
        fs::write(folder.join(format!("{bits}-{count}.queries")), codes.queries(false, DUMPED_QUERIES).concat())?;
    }
    Ok(())
}
