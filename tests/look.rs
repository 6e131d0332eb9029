//! What activity masking gains for the eye on a photo, and that it takes little where everything shows.

use std::path::Path;

use nestcast_codec::{Analysis, Channels, Decoder, Encoder, Picture, Size};
use nestcast_lab::drawings;
use nestcast_lab::metrics::{Perceptual, budget};
use nestcast_models::{DeepAnalysis, Package, Runtime};

/// The most of SSIMULACRA 2 that masking may take from a drawing, as a mean over [`RATES_BPP`]: scores of drawings jump
/// by a point from cut to cut.
const MOST_LOST: f64 = 0.3;
/// The rates of drawings, in bits per pixel.
const RATES_BPP: [f64; 4] = [0.2, 0.3, 0.5, 1.0];

fn photo() -> Picture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/assets/spiral_firework.png");
    let photo = image::open(&path).expect("the bundled photo").into_rgb8();
    let size = Size::new(photo.width(), photo.height()).expect("a valid size");
    Picture::new(size, Channels::Rgb, photo.into_raw()).expect("three samples a pixel")
}

/// A model with activity masking and a network for it.
struct Masking {
    package: Package,
    runtime: Runtime,
}

impl Masking {
    fn new() -> Self {
        let package = Package::builtin("photo-ssim").unwrap_or_else(|error| panic!("{error}"));
        let runtime = Runtime::open().unwrap_or_else(|error| panic!("{error}"));
        Self { package, runtime }
    }

    /// Returns the analysis with the network, as encoders use it by default.
    fn masked(&self) -> DeepAnalysis {
        self.package.masked_analysis(&self.runtime, 2).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns SSIMULACRA 2 of a picture that is encoded like this, at these rates, by the linear decoder.
    fn look<const N: usize>(
        &self,
        (analysis, strength): (impl Analysis + 'static, f32),
        (picture, original): (&Picture, &Perceptual),
        rates_bpp: [f64; N],
    ) -> [f64; N] {
        let mut encoder = Encoder::new(analysis).with_activity_masking(strength);
        let stream = encoder.encode(picture).expect("a stream");
        rates_bpp.map(|rate_bpp| {
            let mut decoder = Decoder::new(self.package.linear(2));
            decoder.push(&stream.prefix(budget(rate_bpp, picture.size()))).expect("a prefix is no error");
            original.compare(&decoder.render().expect("a picture")).ssimulacra2
        })
    }
}

#[test]
fn the_rule_gains_on_a_photo_and_the_network_gains_more() {
    let (masking, photo) = (Masking::new(), photo());
    let strength = masking.package.activity_masking();
    let original = Perceptual::new(&photo).expect("large enough");
    let pair = (&photo, &original);
    let [none] = masking.look((masking.package.linear(2), 0.0), pair, [0.2]);
    let [rule] = masking.look((masking.package.linear(2), strength), pair, [0.2]);
    let [network] = masking.look((masking.masked(), strength), pair, [0.2]);
    println!("SSIMULACRA 2 at 0.2 bpp: {none:.2} without masking, {rule:.2} by the rule, {network:.2} by the network");
    assert!(none < rule && rule < network, "{none}, {rule}, {network}");
}

#[test]
fn drawings_lose_little() {
    let masking = Masking::new();
    let strength = masking.package.activity_masking();
    let mut lost = Vec::new();
    for (name, drawing) in drawings::all().expect("drawings") {
        let original = Perceptual::new(&drawing).expect("large enough");
        let pair = (&drawing, &original);
        let none = masking.look((masking.package.linear(2), 0.0), pair, RATES_BPP);
        let masked = masking.look((masking.masked(), strength), pair, RATES_BPP);
        println!("{name}: {none:.2?} without masking, {masked:.2?} with it");
        if none.iter().sum::<f64>() - masked.iter().sum::<f64>() > MOST_LOST * RATES_BPP.len() as f64 {
            lost.push(format!("{name}: {none:.2?} without masking, {masked:.2?} with it"));
        }
    }
    assert!(lost.is_empty(), "masking takes more than {MOST_LOST}: {}", lost.join("; "));
}
