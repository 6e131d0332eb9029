//! What an analysis may say of the regions of a picture, beyond their coefficients.

/// What a network found of a region of 32 x 32 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RegionActivity {
    /// How much of errors the region hides, in octaves: its gain is lower by the strength of the masking times what it
    /// has above the mean of its picture.
    pub activity: f32,
    /// The weight of the region in that mean, 0 to 1.
    pub weight: f32,
}
