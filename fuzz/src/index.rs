//! An index of binary codes.

use std::num::NonZeroUsize;

use nestcast_retrieval::{Builder, CodeModelId, Error, Index};

use crate::bounded;
use crate::patched::patched;

/// Bits of the codes of the index that the fuzzer changes in places.
const CODE_BITS: usize = 76;
/// Bytes of a checksum.
const CHECKSUM_BYTES: usize = 4;
/// Memory for the parts that do not grow with the bytes.
const FIXED_BYTES: usize = 256 * 1024;

/// Checks that any bytes in place of an index are refused in one line, or are an index. For an index any query,
/// insertion and removal agrees with the counts, and it is written and opened again. The bytes bound the memory.
///
/// The input: how it is made, then its material: the bytes unchanged, or an index with parts replaced, under its old
/// checksum or that of its bytes.
pub fn index(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let mut bytes = if how % 3 == 0 { rest.to_vec() } else { patched(&small(), rest) };
    if how % 3 == 2 && bytes.len() >= CHECKSUM_BYTES {
        bytes.truncate(bytes.len() - CHECKSUM_BYTES);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    }
    let query = rest.iter().copied().chain(std::iter::repeat(how)).take(CODE_BITS.div_ceil(8)).collect();
    bounded::within(FIXED_BYTES + 64 * bytes.len(), "an index", || used(&bytes, query));
}

fn used(bytes: &[u8], query: Vec<u8>) {
    let mut index = match Index::open(bytes) {
        Ok(index) => index,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "no line for a terminal: {line:?}");
            return;
        }
    };
    let query = fitting(query, index.bits());
    searched(&index, &query);
    let before = index.len();
    let first = index.entries().next().map(|entry| (entry.code, entry.name.to_vec()));
    let inserted = usize::from(index.insert(&query, b"new").expect("it fits"));
    // A crafted index is in any order, and its codes may have bits after their last.
    let removed = first.and_then(|(code, name)| index.remove(&code, &name).ok());
    let removed = usize::from(removed == Some(true));
    assert_eq!(index.len(), before + inserted - removed);
    searched(&index, &query);
    let mut written = Vec::new();
    let done = index.write(|piece| {
        written.extend_from_slice(piece);
        Ok::<_, Error>(())
    });
    done.expect("an entry more is within the limits");
    let again = Index::open(written).expect("what was written is an index");
    assert_eq!((again.len(), again.bits(), again.model()), (index.len(), index.bits(), index.model()));
}

fn searched<B: AsRef<[u8]>>(index: &Index<B>, query: &[u8]) {
    for terminal in [1, 2, 9, usize::MAX].into_iter().filter_map(NonZeroUsize::new) {
        let found = index.neighbourhood(query, terminal).expect("it fits");
        assert!(found.depth() <= index.bits() && found.len() <= index.len());
        assert_eq!(found.iter().count(), found.len());
        assert_eq!(found.nearest(5).len(), found.len().min(5));
    }
}

/// Makes a code of this number of bits.
fn fitting(mut code: Vec<u8>, bits: usize) -> Vec<u8> {
    code.resize(bits.div_ceil(8), 0);
    if let (Some(last), used @ 1..) = (code.last_mut(), bits % 8) {
        *last &= u8::MAX << (8 - used);
    }
    code
}

/// An index of two levels.
fn small() -> Vec<u8> {
    let mut builder = Builder::new(CodeModelId([1; 32]), CODE_BITS).expect("a length");
    for number in 0..20_u8 {
        let code = fitting(vec![number / 4 * 40, 0, 0, 0, 0, 0, 0, number, number * 12], CODE_BITS);
        builder.push(&code, &[number; 2][..usize::from(number % 3)]).expect("it fits");
    }
    builder.to_bytes().expect("few codes")
}
