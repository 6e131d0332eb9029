//! The deep transform: the linear one, corrected by networks.

mod correction;
mod corrections;
mod gains;
pub(crate) mod tiles;

use std::sync::Arc;

use nestcast_codec::{
    Analysis, Axes, Coefficients, Error, Format, Linear, Model, Picture, Planes, Position, PostFilter, Synthesis,
    Threads, TransformError, View, ViewMut,
};

use crate::package::files::synthesis_file;
pub(crate) use correction::{Correction, sessions};
pub(crate) use corrections::Corrections;
pub(crate) use gains::GainNetwork;
pub(crate) use tiles::LONGEST_OUTER;

/// Both halves. An encoder or decoder alone needs only its own.
#[derive(Debug)]
pub struct Deep {
    /// The encoder's half.
    pub analysis: DeepAnalysis,
    /// The decoder's half.
    pub synthesis: DeepSynthesis,
}

/// Planes, corrected, then decomposed; and how much of errors each region hides. A package has either network or both.
/// Planes of a picture with colours of more than 8 bits stay as they are.
#[derive(Debug)]
pub struct DeepAnalysis {
    pub(crate) linear: Linear,
    pub(crate) correction: Option<Correction>,
    pub(crate) gains: Option<GainNetwork>,
}

/// The linear synthesis, corrected for what is missing at the cut, then through a post-filter that was fitted after its
/// networks.
#[derive(Debug)]
pub struct DeepSynthesis {
    pub(crate) linear: Linear,
    pub(crate) corrections: Corrections,
    /// Fitted after the networks.
    pub(crate) post_filter: Arc<PostFilter>,
}

/// The part of a synthesis that needs no network, so that it can run while one is loaded.
#[derive(Debug)]
pub struct Composed {
    /// The planes that the network corrects.
    pub planes: Planes,
    /// The significance of their coefficients, for the post-filter.
    pub significance: Vec<Vec<u8>>,
    /// Where the stream ends.
    pub position: Position,
}

impl Composed {
    /// Makes the planes of these coefficients, whose memory it takes; `position` is where their stream ends.
    ///
    /// # Errors
    /// As [`Coefficients::check`].
    pub fn new(linear: &Linear, coefficients: &mut Coefficients, position: Position) -> Result<Self, Error> {
        let planes = linear.compose(coefficients)?;
        // The planes need as much memory, and the network more.
        let Coefficients { significance, .. } = std::mem::take(coefficients);
        Ok(Self { planes, significance, position })
    }
}

impl DeepSynthesis {
    /// Does the rest of the synthesis, in memory of its own: the network and the post-filter.
    ///
    /// # Errors
    /// As [`DeepSynthesis::prepare`], and if the network fails.
    pub fn complete(&self, composed: Composed) -> Result<Picture, TransformError> {
        let channels = composed.planes.channels;
        self.complete_as(composed, channels)
    }

    /// As [`DeepSynthesis::complete`], in any format of these colours; opacity is the largest.
    ///
    /// # Errors
    /// As [`DeepSynthesis::complete`].
    pub fn complete_as(&self, composed: Composed, format: impl Into<Format>) -> Result<Picture, TransformError> {
        let mut picture = Picture::zero(composed.planes.size, format);
        self.complete_into(composed, (&mut picture).into())?;
        Ok(picture)
    }

    /// Adds the correction of the cut's network to the planes. The post-filter follows. Networks are for streams of 8
    /// bits a sample: below position 0 their correction fades, and from -1 on there is none.
    ///
    /// # Errors
    /// As [`DeepSynthesis::complete`].
    pub fn correct(&self, composed: &mut Composed) -> Result<(), TransformError> {
        let Position(position) = composed.position;
        if position <= -1.0 {
            return Ok(());
        }
        let (correction, cut) = self.at(composed.position)?;
        let given = (position < 0.0).then(|| composed.planes.components.clone());
        correction.add_to(&mut composed.planes, Some(cut))?;
        for (corrected, given) in composed.planes.components.iter_mut().zip(given.iter().flatten()) {
            corrected.iter_mut().zip(given).for_each(|(value, given)| *value += position * (*value - given));
        }
        Ok(())
    }

    /// Loads the network for a stream that ends here, if it is not loaded, so that [`DeepSynthesis::complete`] need not
    /// wait for it.
    ///
    /// # Errors
    /// [`TransformError::Network`] with the network's file, if ONNX Runtime refuses it or it is not of the kind that a
    /// package holds.
    pub fn prepare(&self, position: Position) -> Result<(), TransformError> {
        self.at(position).map(|_| ())
    }

    fn at(&self, position: Position) -> Result<(Arc<Correction>, f32), TransformError> {
        let at = self.corrections.at(position.0);
        at.map_err(|error| {
            let file = synthesis_file(self.corrections.number(position.0));
            TransformError::Network(format!("{file}: {error}: export the package again"))
        })
    }

    fn complete_into(&self, mut composed: Composed, out: ViewMut<'_>) -> Result<(), TransformError> {
        self.correct(&mut composed)?;
        let Composed { planes, significance, position } = composed;
        Ok(self.linear.filtered_picture(&planes, &significance, (&self.post_filter, position), out)?)
    }
}

impl Analysis for Deep {
    fn model(&self) -> &Arc<Model> {
        Analysis::model(&self.analysis)
    }

    fn threads(&self) -> &Threads {
        Analysis::threads(&self.analysis)
    }

    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError> {
        self.analysis.analyse(picture, out)
    }
}

impl Synthesis for Deep {
    fn model(&self) -> &Arc<Model> {
        Synthesis::model(&self.synthesis)
    }

    fn threads(&self) -> &Threads {
        Synthesis::threads(&self.synthesis)
    }

    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError> {
        self.synthesis.synthesise(coefficients, position, out)
    }
}

impl Analysis for DeepAnalysis {
    fn model(&self) -> &Arc<Model> {
        Analysis::model(&self.linear)
    }

    fn threads(&self) -> &Threads {
        Analysis::threads(&self.linear)
    }

    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError> {
        let mut planes = self.linear.planes(picture, Axes::of(picture));
        let activity = self.gains.as_ref().map(|network| network.activity(&planes)).transpose()?;
        // The correction is for 8 bits, and larger than the differences between deeper samples.
        if let Some(correction) = self.correction.as_ref().filter(|_| !picture.has_deep_colour()) {
            correction.add_to(&mut planes, None)?;
        }
        self.linear.decompose(&planes, out)?;
        out.activity = activity.unwrap_or_default();
        Ok(())
    }
}

impl Synthesis for DeepSynthesis {
    fn model(&self) -> &Arc<Model> {
        Synthesis::model(&self.linear)
    }

    fn threads(&self) -> &Threads {
        Synthesis::threads(&self.linear)
    }

    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError> {
        self.complete_into(Composed::new(&self.linear, coefficients, position)?, out)
    }
}

#[cfg(test)]
mod tests;
