//! Compares base layers decoded alone with whole frames, and receivers that join with those that were there.

use super::*;
use crate::picture::{Format, Picture, Ycbcr};
use crate::video::decoder::{DecodedPart, VideoDecoder};
use crate::video::tests::encode;

fn model() -> VideoModel {
    VideoModel::built_in()
}

/// Returns the mean squared difference of luma between what two decoders show.
fn distance(size: Size, decoders: [&mut VideoDecoder; 2]) -> f64 {
    let [one, other] = decoders.map(|decoder| {
        let mut shown = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601_FULL));
        decoder.render_into(&mut shown).expect("its size");
        shown
    });
    let luma = one.samples().iter().zip(other.samples()).take(size.pixels());
    luma.map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum::<f64>() / size.pixels() as f64
}

#[test]
fn who_joins_by_the_base_layers_of_384_frames_is_as_near_as_by_all_of_them_and_comes_nearer() {
    let size = Size::new(96, 64).expect("a size");
    let (start, count) = (430, 531);
    let frames = encode(size, count, 150);
    assert!(!frames[1..].iter().any(|frame| frame.key), "else a window would have to do nothing");
    let mut whole = VideoDecoder::new(model(), size, 1);
    let mut joiners = [start + 1, 415].map(|window| {
        let mut base = BaseLayerDecoder::new(model(), size, 1);
        for frame in &frames[start + 1 - window..=start] {
            base.decode(&frame.bytes[..frame.base]).expect("a frame");
        }
        let join = base.random_access_frame(2000).expect("it decoded frames");
        assert!(join.key && join.base == join.bytes.len() && join.base <= 2000);
        let mut joiner = VideoDecoder::new(model(), size, 1);
        joiner.decode(&join.bytes).expect("a frame");
        joiner
    });
    frames[..=start].iter().for_each(|frame| assert!(whole.decode(&frame.bytes).is_ok()));
    let [all, window] = joiners.each_mut().map(|joiner| distance(size, [joiner, &mut whole]));
    assert!((0.95..1.05).contains(&(window / all)), "{all:.2} by all frames, {window:.2} by the last");
    for frame in &frames[start + 1..] {
        let decoders = joiners.iter_mut().chain([&mut whole]);
        decoders.for_each(|decoder| assert_eq!(decoder.decode(&frame.bytes), Ok(DecodedPart::EnhancementReference)));
    }
    let last = joiners.each_mut().map(|joiner| distance(size, [joiner, &mut whole]));
    assert!(last.iter().all(|last| last * 8.0 < all), "{last:.2?} after 100 frames, {all:.2} before");
}

#[test]
fn a_base_layer_alone_makes_the_reference_that_a_decoder_has() {
    let size = Size::new(70, 50).expect("a size");
    let mut base = BaseLayerDecoder::new(model(), size, 1);
    assert!(base.random_access_frame(1000).is_none(), "nothing was decoded");
    let mut small = BaseLayerDecoder::new(model(), size, 1).with_max_pixels(3499);
    assert!(matches!(small.decode(&[0]), Err(Error::Limit { given: 3500, max: 3499, .. })));
    let mut whole = VideoDecoder::new(model(), size, 1);
    for frame in encode(size, 20, 70) {
        assert_eq!(base.decode(&frame.bytes[..1]), Ok(false), "it ends inside its head");
        assert_eq!(base.decode(&frame.bytes[..frame.base]), Ok(true));
        assert_eq!(whole.decode(&frame.bytes), Ok(DecodedPart::EnhancementReference));
        assert!(base.state.base_reference == whole.state.base_reference);
        assert!(base.decode(&[5, 0x50, 3, 0x86]).is_err(), "its flags exclude each other");
    }
}
