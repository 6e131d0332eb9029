//! The nearest entries of several queries together, for example of a picture and of pictures that it may be a crop of.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::{Neighbourhood, hamming_distance, shared_bits};

/// An entry as the nearest query sees it; nearer entries compare as less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nearest<'a> {
    /// Bits in which its code differs from the query.
    pub hamming_distance: u32,
    /// The query's place among all; the first of equally near queries.
    pub query: usize,
    /// The number of first bits that it shares with the query.
    pub shared_bits: Reverse<usize>,
    /// Its name.
    pub name: &'a [u8],
}

/// The first `count` entries of the neighbourhoods of several queries, by Hamming distance, then by query, then by the
/// leading bits that they share, then by name. An entry that several queries found occurs once, with the nearest.
#[must_use]
pub fn nearest_of<'a>(neighbourhoods: &[Neighbourhood<'a>], count: usize) -> Vec<Nearest<'a>> {
    let all = neighbourhoods.iter().enumerate().flat_map(|(query, neighbourhood)| {
        neighbourhood.nearest(count).into_iter().map(move |entry| Nearest {
            hamming_distance: hamming_distance(&entry.code, neighbourhood.query),
            query,
            shared_bits: Reverse(shared_bits(&entry.code, neighbourhood.query)),
            name: entry.name,
        })
    });
    first(all.collect(), count)
}

fn first(mut all: Vec<Nearest<'_>>, count: usize) -> Vec<Nearest<'_>> {
    all.sort_unstable();
    let mut seen = HashSet::new();
    all.retain(|one| seen.insert(one.name));
    all.truncate(count);
    all
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::{Builder, CodeModelId, Index};

    #[test]
    fn names_are_told_apart_by_their_bytes_and_come_once() {
        let near = |hamming_distance, query, name| Nearest { hamming_distance, query, shared_bits: Reverse(3), name };
        let (one, other): (&[u8], &[u8]) = (b"a\xff.png", b"a\xfe.png");
        let all = vec![near(4, 1, one), near(4, 0, one), near(5, 0, other), near(2, 1, b"b.png")];
        let first: Vec<_> = first(all, 3).iter().map(|one| (one.name, one.query)).collect();
        assert_eq!(first, [(&b"b.png"[..], 1), (one, 0), (other, 0)]);
    }

    #[test]
    fn the_nearest_of_two_queries_come_with_the_query_that_is_nearer() {
        let mut builder = Builder::new(CodeModelId([7; 32]), 8).expect("a length");
        for (code, name) in [([0b0000_0000], b"night"), ([0b0000_0111], b"dawns"), ([0b1111_1111], b"noons")] {
            builder.push(&code, name).expect("room");
        }
        let index = Index::open(builder.to_bytes().expect("few")).expect("sound");
        let all = NonZeroUsize::new(3).expect("above 0");
        let found = [&[0b0000_0001], &[0b1111_1110]].map(|code| index.neighbourhood(code, all).expect("a length"));
        let near = nearest_of(&found, 2);
        let near: Vec<_> = near.iter().map(|one| (one.name, one.hamming_distance, one.query)).collect();
        assert_eq!(near, [(&b"night"[..], 1, 0), (b"noons", 1, 1)]);
    }
}
