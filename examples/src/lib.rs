//! The programs are in `src/bin`. Here the tests compile, and run where they end, the examples of the documents.

#[cfg(doctest)]
#[doc = include_str!("../../docs/embed.md")]
pub struct Embed;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../codec/README.md")]
pub struct ReadmeOfCodec;

#[cfg(doctest)]
#[doc = include_str!("../../media/README.md")]
pub struct ReadmeOfMedia;

#[cfg(doctest)]
#[doc = include_str!("../../models/README.md")]
pub struct ReadmeOfModels;

#[cfg(doctest)]
#[doc = include_str!("../../retrieval/README.md")]
pub struct ReadmeOfRetrieval;

#[cfg(doctest)]
#[doc = include_str!("../../sound/README.md")]
pub struct ReadmeOfSound;
