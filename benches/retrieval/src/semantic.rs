//! Semantic hashing (Salakhutdinov, Hinton 2009): a hash table of codes, probed at every code within a Hamming radius.
//!
//! The table favours this method. A code's hash is the exclusive or of a random word for each bit that is 1, so a probe
//! costs one word and not the code's length. A bucket stores only how many codes it has.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

use crate::clock::timed;
use crate::codes::Codes;
use crate::table::{Row, median, rounded};

const SEARCH_RADII: [usize; 3] = [1, 2, 3];
/// The rounds, and the most probes of each: if a query needs more, its time is scaled up.
const MEASURED_ROUNDS: usize = 5;
const MAX_PROBES: u64 = 1_000_000;

/// A hasher that returns the key itself.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

struct Table {
    /// The hash of each bit.
    bits: Vec<u64>,
    buckets: HashMap<u64, u32, BuildHasherDefault<Same>>,
}

pub(crate) fn measure(codes: &Codes) -> Vec<Row> {
    let table = Table::of(codes);
    let row = |radius| {
        let whole = probes(codes.bits, radius);
        let each = usize::try_from((MAX_PROBES / whole).max(1)).unwrap_or(1);
        let queries = codes.queries(false, MEASURED_ROUNDS * each);
        let (mut found, mut rounds) = (0, Vec::new());
        for round in queries.chunks(each) {
            let mut made = 0;
            let ((), us) = timed(|| {
                for query in round {
                    let mut left = MAX_PROBES;
                    found += black_box(table.probe(table.hash(query), 0, radius, &mut left));
                    made += MAX_PROBES - left;
                }
            });
            rounds.push(us * whole as f64 / made as f64);
        }
        Row {
            method: "semantic".to_owned(),
            parameter: radius.to_string(),
            bits: codes.bits,
            count: codes.count,
            queries: "new".to_owned(),
            us: rounded(median(rounds)),
            found: rounded(f64::from(found) / queries.len() as f64),
            memory: None,
            scaled: whole > MAX_PROBES,
            recall: None,
        }
    };
    SEARCH_RADII.into_iter().map(row).collect()
}

/// Returns the number of codes within a radius: the sum of C(bits, i) for i up to it.
fn probes(bits: usize, radius: usize) -> u64 {
    let choices = (1..=radius as u64).scan(1, |ways, taken| {
        *ways = *ways * (bits as u64 + 1 - taken) / taken;
        Some(*ways)
    });
    1 + choices.sum::<u64>()
}

impl Table {
    fn of(codes: &Codes) -> Self {
        let mut random = fastrand::Rng::with_seed(11);
        let bits = (0..codes.bits).map(|_| random.u64(..)).collect();
        let mut table =
            Self { bits, buckets: HashMap::with_capacity_and_hasher(codes.count, BuildHasherDefault::default()) };
        let mut code = vec![0; codes.bytes()];
        for number in 0..codes.count {
            codes.put(number, &mut code);
            *table.buckets.entry(table.hash(&code)).or_insert(0) += 1;
        }
        table
    }

    fn hash(&self, code: &[u8]) -> u64 {
        let ones = (0..self.bits.len()).filter(|bit| code[bit / 8] >> (7 - bit % 8) & 1 == 1);
        ones.fold(0, |hash, bit| hash ^ self.bits[bit])
    }

    /// Counts the codes within `radius` of a hash, changing bits from `first` on; ends when no probes are left.
    fn probe(&self, hash: u64, first: usize, radius: usize, left: &mut u64) -> u32 {
        if *left == 0 {
            return 0;
        }
        *left -= 1;
        let mut found = self.buckets.get(&hash).copied().unwrap_or(0);
        if radius > 0 {
            for bit in first..self.bits.len() {
                found += self.probe(hash ^ self.bits[bit], bit + 1, radius - 1, left);
            }
        }
        found
    }
}
