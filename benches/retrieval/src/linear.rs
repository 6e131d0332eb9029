//! A linear scan: the Hamming distance of every code to the query by POPCNT, and the 32 nearest.

use std::collections::BinaryHeap;
use std::hint::black_box;

use nestcast_retrieval::hamming_distance;

use crate::clock::timed;
use crate::codes::Codes;
use crate::table::{Row, median, rounded};

/// The number of nearest codes that are kept.
const NEAREST_CODES: usize = 32;
/// The number of rounds, and the least number of codes compared in each.
const MEASURED_ROUNDS: usize = 5;
const MIN_CODES: usize = 2_000_000;

pub(crate) fn measure(codes: &Codes) -> Row {
    let all = codes.all();
    let each = MIN_CODES.div_ceil(codes.count);
    let queries = codes.queries(false, MEASURED_ROUNDS * each);
    let rounds = queries.chunks(each).map(|round| {
        let ((), us) = timed(|| {
            round.iter().for_each(|query| {
                black_box(scan(&all, query));
            });
        });
        us / each as f64
    });
    Row {
        method: "linear".to_owned(),
        parameter: String::new(),
        bits: codes.bits,
        count: codes.count,
        queries: "new".to_owned(),
        us: rounded(median(rounds.collect())),
        found: NEAREST_CODES as f64,
        memory: Some(1.0),
        scaled: false,
        recall: None,
    }
}

/// Returns the nearest codes, each as its distance and number.
fn scan(all: &[u8], query: &[u8]) -> BinaryHeap<(u32, usize)> {
    match query.len() {
        2 => nearest(all, query, |a, b| (word::<2>(a) ^ word::<2>(b)).count_ones()),
        4 => nearest(all, query, |a, b| (word::<4>(a) ^ word::<4>(b)).count_ones()),
        _ => nearest(all, query, hamming_distance),
    }
}

fn word<const BYTES: usize>(code: &[u8]) -> u32 {
    code.iter().take(BYTES).fold(0, |word, &byte| word << 8 | u32::from(byte))
}

#[inline]
fn nearest(all: &[u8], query: &[u8], distance: impl Fn(&[u8], &[u8]) -> u32) -> BinaryHeap<(u32, usize)> {
    let mut heap = BinaryHeap::with_capacity(NEAREST_CODES + 1);
    let mut worst = u32::MAX;
    for (number, code) in all.chunks_exact(query.len()).enumerate() {
        let distance = distance(code, query);
        if distance < worst {
            heap.push((distance, number));
            if heap.len() > NEAREST_CODES {
                heap.pop();
                worst = heap.peek().map_or(worst, |(distance, _)| *distance);
            }
        }
    }
    heap
}
