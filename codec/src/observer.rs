//! Lets measurements follow an encoder or a decoder through a frame. This crate has no clock: the observer has one.

/// A part of the work on a frame of video. The numbers of `docs/measurements/hd.md` are those of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Encoder: takes in the samples and the frame at a quarter of its size.
    Take,
    /// Encoder: coarse vectors between two such frames, and whether a scene begins.
    CoarseSearch,
    /// Encoder: interpolates the references for its search.
    Quarters,
    /// Encoder: vectors of every block; in efforts other than `normal` also the choice of its prediction, and its bytes.
    BlockSearch,
    /// Encoder, effort `normal`: the choice of every block's prediction, and its bytes.
    Modes,
    /// Encoder, efforts `normal` and `fast`: improves vectors by the error of overlapped prediction.
    Refine,
    /// Decoder: reads the motion.
    SideInfo,
    /// Overlapped prediction of both references.
    Predict,
    /// Encoder: frame less prediction, weighed by age.
    Subtract,
    /// Encoder: wavelet of the residual.
    Analysis,
    /// Encoder: quantiser.
    Quantise,
    /// Encoder: codes bit planes.
    Encode,
    /// Encoder: interleaves the slices and writes the frame.
    Write,
    /// Decodes bit planes; an encoder decodes its own.
    Decode,
    /// From bit planes to coefficients.
    Dequantise,
    /// Inverse wavelet.
    Synthesis,
    /// The residual back from its weights, added to the prediction.
    Add,
    /// Encoder: squared errors for the rate allocation.
    Learn,
    /// Decoder: post-filter and samples.
    Show,
}

impl Stage {
    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Take => "take in",
            Self::CoarseSearch => "coarse search",
            Self::Quarters => "interpolate",
            Self::BlockSearch => "block search",
            Self::Modes => "modes",
            Self::Refine => "refine",
            Self::SideInfo => "side information",
            Self::Predict => "predict",
            Self::Subtract => "subtract",
            Self::Analysis => "analysis",
            Self::Quantise => "quantise",
            Self::Encode => "encode",
            Self::Write => "write",
            Self::Decode => "decode",
            Self::Dequantise => "dequantise",
            Self::Synthesis => "synthesis",
            Self::Add => "add",
            Self::Learn => "learn",
            Self::Show => "show",
        }
    }
}

/// A moment in the work on a frame. All time before the first one, and between two, is that of the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A stage ends.
    Stage(Stage),
    /// Work for all threads begins.
    Fork,
    /// A part of the item of this number of that work ends. Items can be worked on at the same time, parts of an item
    /// cannot.
    Item(usize),
    /// All items have ended.
    Join,
}

/// Follows the work on frames. Under an observer the caller does all work, one item after another, divided as for the
/// granted threads. So the times of items are not those of threads that disturb each other, and a machine with few
/// processors can say what more of them would gain.
pub trait Observer: Send + Sync {
    /// Takes note of a moment.
    fn handle(&self, moment: Moment);
}
