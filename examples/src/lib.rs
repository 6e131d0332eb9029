//! The programs are in `src/bin`. Here the tests compile, and run where they end, the examples of the documents.

#[cfg(doctest)]
#[doc = include_str!("../../docs/embed.md")]
pub struct Embed;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
