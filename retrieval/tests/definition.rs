//! Ordered retrieval against the paper's definition, word by word, on random cases; and the bytes of an index at every
//! cut.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use nestcast_retrieval::{Builder, CodeModelId, Error, Index};
use proptest::prelude::*;

const MODEL: CodeModelId = CodeModelId([3; 32]);

/// An entry as the definition sees it: a code's bits, and a name.
type Example = (Vec<bool>, Vec<u8>);

/// Section 5.1 of the paper. N_b is the set of examples whose first b bits are those of the query. For b = 1, 2, ...
/// the retrieval terminates when |N_b| < R, and its output is N_(b-1); when no N_b is so small, it is N_K.
fn defined(examples: &BTreeSet<Example>, query: &[bool], terminal: usize) -> (usize, BTreeSet<Example>) {
    let neighbourhood =
        |b: usize| examples.iter().filter(|(code, _)| code[..b] == query[..b]).cloned().collect::<BTreeSet<_>>();
    for b in 1..=query.len() {
        if neighbourhood(b).len() < terminal {
            return (b - 1, neighbourhood(b - 1));
        }
    }
    (query.len(), neighbourhood(query.len()))
}

fn packed(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8)
        .map(|bits| bits.iter().enumerate().fold(0, |byte, (at, &bit)| byte | u8::from(bit) << (7 - at)))
        .collect()
}

fn unpacked(bytes: &[u8], bits: usize) -> Vec<bool> {
    (0..bits).map(|bit| bytes[bit / 8] >> (7 - bit % 8) & 1 == 1).collect()
}

fn bytes_of<B: AsRef<[u8]>>(index: &Index<B>) -> Vec<u8> {
    let mut bytes = Vec::new();
    index
        .write(|piece| {
            bytes.extend_from_slice(piece);
            Ok::<_, Error>(())
        })
        .expect("within the limits");
    bytes
}

/// Codes of few bits that are 1, as those of the paper are, and of runs of one bit, so that long prefixes are shared.
fn code(bits: usize) -> impl Strategy<Value = Vec<bool>> {
    let sparse = prop::collection::vec(prop::bool::weighted(0.2), bits);
    let runs = (0..=bits, any::<bool>()).prop_map(move |(run, bit)| (0..bits).map(|at| (at < run) == bit).collect());
    prop_oneof![3 => sparse, 1 => runs]
}

#[derive(Debug, Clone)]
struct Case {
    at_first: Vec<Example>,
    inserted: Vec<Example>,
    /// Which of all to remove, as shares of them.
    removed: Vec<prop::sample::Index>,
    query: Vec<bool>,
    terminal: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let bits = prop_oneof![1_usize..12, 60_usize..70, 120_usize..140];
    bits.prop_flat_map(|bits| {
        let name = || prop_oneof![9 => prop::collection::vec(0_u8..3, 0..2), 1 => prop::collection::vec(any::<u8>(), 120..300)];
        let example = || (code(bits), name());
        let (at_first, inserted) = (prop::collection::vec(example(), 0..90), prop::collection::vec(example(), 0..12));
        let removed = prop::collection::vec(any::<prop::sample::Index>(), 0..30);
        (at_first, inserted, removed, code(bits), 1_usize..40).prop_map(
            |(at_first, inserted, removed, query, terminal)| Case { at_first, inserted, removed, query, terminal },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn searches_agree_with_the_definition(case in case()) {
        let bits = case.query.len();
        let mut builder = Builder::new(MODEL, bits).expect("a length");
        let mut examples = BTreeSet::new();
        for (code, name) in &case.at_first {
            builder.push(&packed(code), name).expect("a code");
            examples.insert((code.clone(), name.clone()));
        }
        let mut index = Index::open(builder.to_bytes().expect("few codes")).expect("an index");
        for (code, name) in &case.inserted {
            let new = index.insert(&packed(code), name).expect("a code");
            prop_assert_eq!(new, examples.insert((code.clone(), name.clone())));
        }
        let all: Vec<_> = case.at_first.iter().chain(&case.inserted).collect();
        for (code, name) in case.removed.iter().filter(|_| !all.is_empty()).map(|at| at.get(&all)) {
            let was_there = index.remove(&packed(code), name).expect("a code");
            prop_assert_eq!(was_there, examples.remove(&(code.clone(), name.clone())));
        }
        let folded = Index::open(bytes_of(&index)).expect("an index");
        let (depth, wanted) = defined(&examples, &case.query, case.terminal);
        let (query, terminal) = (packed(&case.query), NonZeroUsize::new(case.terminal).expect("at least 1"));
        for index in [&index, &folded] {
            prop_assert_eq!(index.len(), examples.len());
            let listed: Vec<_> = index.entries().map(|entry| (unpacked(&entry.code, bits), entry.name.to_vec())).collect();
            prop_assert!(listed.iter().eq(&examples));
            let found = index.neighbourhood(&query, terminal).expect("a query");
            prop_assert_eq!((found.depth(), found.len()), (depth, wanted.len()));
            let entries: Vec<_> = found.iter().map(|entry| (unpacked(&entry.code, bits), entry.name.to_vec())).collect();
            prop_assert_eq!(entries.len(), wanted.len());
            prop_assert_eq!(entries.into_iter().collect::<BTreeSet<_>>(), wanted.clone());
        }
    }
}

#[test]
fn the_nearest_differ_in_the_fewest_bits() {
    let mut builder = Builder::new(MODEL, 8).expect("a length");
    for (code, name) in
        [(0b1000_0000, "a"), (0b1111_0001, "b"), (0b1111_0111, "c"), (0b1111_1111, "d"), (0b0111_1111, "e")]
    {
        builder.push(&[code], name.as_bytes()).expect("a code");
    }
    let index = Index::open(builder.to_bytes().expect("few codes")).expect("an index");
    let found = index.neighbourhood(&[0b1111_1111], NonZeroUsize::MIN).expect("a query");
    assert_eq!((found.depth(), found.len()), (8, 1));
    let all = index.neighbourhood(&[0b1111_1111], NonZeroUsize::new(5).expect("not 0")).expect("a query");
    let names: Vec<_> = all.nearest(4).iter().map(|entry| entry.name.to_vec()).collect();
    assert_eq!(names, [b"d", b"c", b"e", b"b"]);
}

fn small() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(5);
    let mut builder = Builder::new(MODEL, 100).expect("a length");
    for number in 0..40_u8 {
        let mut code = [0; 13];
        random.fill(&mut code[..12]);
        builder.push(&code, &[number]).expect("a code");
    }
    builder.to_bytes().expect("few codes")
}

#[test]
fn a_cut_index_is_refused_at_every_byte() {
    let whole = small();
    assert!(Index::open(&whole[..]).is_ok());
    for cut in 0..whole.len() {
        let refused = Index::open(&whole[..cut]).expect_err("a part");
        assert!(matches!(refused, Error::NotAnIndex | Error::Truncated { .. }), "{cut}: {refused}");
    }
    let longer = [&whole[..], &[0]].concat();
    assert_eq!(Index::open(longer).expect_err("a byte more"), Error::Corrupt("bytes follow its end"));
}

#[test]
fn an_index_with_any_bit_flipped_is_refused() {
    let mut bytes = small();
    for at in 0..bytes.len() {
        bytes[at] ^= 1 << (at % 8);
        assert!(Index::open(&bytes[..]).is_err(), "byte {at}");
        bytes[at] ^= 1 << (at % 8);
    }
}

#[test]
fn an_index_of_another_version_is_named_as_such() {
    let mut bytes = small();
    for version in [2, 0] {
        bytes[8] = version;
        let refused = Index::open(&bytes[..]).expect_err("another version");
        assert_eq!(refused, Error::Version { version: version.into(), known: 1 });
    }
    assert_eq!(Index::open(b"PNG".to_vec()).expect_err("no index"), Error::NotAnIndex);
}

#[test]
fn names_that_are_not_as_long_as_they_say_are_refused() {
    let whole = small();
    let vouched = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        let end = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&checksum);
        Index::open(bytes)
    };
    let (names, last) = (whole.len() - 4 - 2 * 40, whole.len() - 4 - 2);
    assert!(vouched(names + 1, 77).is_ok(), "another name");
    let damaged = Error::Corrupt("its names are not as long as it says");
    for (at, byte, what) in [
        (names, 0, "a short name"),
        (names, 200, "a long name"),
        (last, 0, "bytes left after the last"),
        (last, 2, "bytes missing"),
        (names - 4, 65, "a place inside a name"),
        (names - 1, 1, "a place after all"),
    ] {
        assert_eq!(vouched(at, byte).expect_err(what), damaged, "{what}");
    }
}

#[test]
fn a_header_that_promises_too_much_takes_no_memory() {
    let mut bytes = small();
    bytes[16..24].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
    assert!(matches!(Index::open(&bytes[..]), Err(Error::Truncated { .. })));
    bytes[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(Index::open(&bytes[..]), Err(Error::Limit { what: "entries", .. })));
}

#[test]
fn an_index_takes_little_more_than_its_codes() {
    for (bits, percent) in [(512, 110), (2048, 103)] {
        let mut random = fastrand::Rng::with_seed(1);
        let mut builder = Builder::new(MODEL, bits).expect("a length");
        for number in 0..20_000_u32 {
            let mut code = vec![0; bits / 8];
            random.fill(&mut code);
            builder.push(&code, &number.to_le_bytes()).expect("a code");
        }
        let (bytes, codes) = (builder.to_bytes().expect("few codes").len(), 20_000 * bits / 8);
        assert!(bytes * 100 <= codes * percent, "{bytes} bytes for {codes}");
    }
}
