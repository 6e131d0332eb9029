//! Tests pictures in the caller's memory: strides, planar YCbCr 4:2:0, and wrong sizes.

use nestcast_codec::{
    Channels, Codec, DecodeError, Error, Format, Picture, Plane, PlaneMut, Size, View, ViewMut, Ycbcr,
};

const SIZES: [(u32, u32); 6] = [(1, 1), (2, 1), (3, 5), (64, 48), (129, 77), (310, 203)];
const FORMATS: [Format; 4] =
    [Format::Grey, Format::Rgb, Format::Ycbcr420(Ycbcr::BT601_FULL), Format::Ycbcr420(Ycbcr::BT601)];

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).expect("a valid size")
}

/// A slope of soft colours with a little grain; also in YCbCr, where the samples lie around 128.
fn picture(format: Format, size: Size) -> Picture {
    let mut state = 5_u32;
    let samples = (0..format.bytes(size)).map(|at| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(96 + at * 60 / format.bytes(size)).expect("at most 156") + state.to_be_bytes()[0] / 32
    });
    Picture::new(size, format, samples.collect()).expect("all samples")
}

/// The same picture with rows of 7 more bytes; the last row ends with its samples.
fn padded(picture: &Picture) -> Vec<(Vec<u8>, usize)> {
    let (format, mut rest) = (picture.format(), picture.samples());
    let planes = (0..format.planes()).map(|plane| {
        let [width, rows] = format.plane(picture.size(), plane);
        let (own, after) = rest.split_at(width * rows);
        rest = after;
        let mut bytes: Vec<u8> = own.chunks(width).flat_map(|row| [row, &[0xEE; 7]].concat()).collect();
        bytes.truncate(bytes.len() - 7);
        (bytes, width + 7)
    });
    planes.collect()
}

#[test]
fn one_call_decodes_a_prefix() {
    let codec = Codec::photo();
    let stream = codec.encode(&picture(Format::Rgb, size(64, 48))).expect("a stream");
    let mut decoder = codec.decoder();
    for length in [40, stream.len()] {
        let prefix = stream.prefix(length);
        decoder.reset();
        decoder.push(&prefix).expect("a prefix");
        assert_eq!(codec.decode(&prefix), decoder.render(), "{length} bytes");
    }
    assert!(matches!(codec.decode(&stream.prefix(3)), Err(DecodeError::IncompleteHeader { .. })));
    assert!(matches!(codec.decode(&[0xFF; 40]), Err(DecodeError::Stream(_))));
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    let sum: u64 = a.iter().zip(b).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    10.0 * (255.0 * 255.0 * a.len() as f64 / sum.max(1) as f64).log10()
}

#[test]
fn every_format_comes_back_and_strides_change_nothing() {
    let codec = Codec::photo();
    for ((width, height), format) in SIZES.into_iter().flat_map(|size| FORMATS.map(|format| (size, format))) {
        let picture = picture(format, size(width, height));
        let what = format!("{width}x{height} {format:?}");
        let stream = codec.encode(&picture).expect("a stream");
        let buffers = padded(&picture);
        let planes: Vec<_> = buffers.iter().map(|(samples, stride)| Plane { samples, stride: *stride }).collect();
        let view = View::new(picture.size(), format, &planes).expect("all rows are there");
        assert!(codec.encode(view).expect("a stream") == stream, "{what}: the stride shows");

        let mut decoder = codec.decoder();
        decoder.push(stream.bytes()).expect("a valid stream");
        let mut back = Picture::zero(picture.size(), format);
        decoder.render_into(&mut back).expect("a picture");
        let quality = psnr(picture.samples(), back.samples());
        assert!(quality > 40.0, "{what}: {quality:.1} dB");

        let mut buffers = padded(&picture);
        let mut planes = buffers.iter_mut().map(|(samples, stride)| PlaneMut { samples, stride: *stride });
        let mut next = || planes.next().expect("as many planes as the format has");
        let view = match format.planes() {
            1 => ViewMut::new(picture.size(), format, [next()]),
            _ => ViewMut::new(picture.size(), format, [next(), next(), next()]),
        };
        decoder.render_into(view.expect("all rows are there")).expect("a picture");
        assert!(buffers == padded(&back), "{what}: the stride shows, or what is between rows was written");
    }
}

/// Computes BT.601 in doubles for pictures whose colours are far from clipping.
#[test]
fn the_ycbcr_picture_of_a_stream_is_its_rgb_picture_in_other_samples() {
    let codec = Codec::photo();
    for ((width, height), range) in SIZES.into_iter().flat_map(|size| [(size, Ycbcr::BT601_FULL), (size, Ycbcr::BT601)])
    {
        let size = size(width, height);
        let mut decoder = codec.decoder();
        decoder.push(codec.encode(&picture(Format::Rgb, size)).expect("a stream").bytes()).expect("a valid stream");
        let rgb = decoder.render().expect("a picture");
        let mut ycbcr = Picture::zero(size, Format::Ycbcr420(range));
        decoder.render_into(&mut ycbcr).expect("a picture");
        let (luma, scale) =
            if range == Ycbcr::BT601_FULL { ([0.0, 1.0], 1.0) } else { ([16.0, 219.0 / 255.0], 224.0 / 255.0) };
        let y = |x: usize, y: usize| {
            let pixel = &rgb.samples()[3 * (y * size.width() + x)..];
            0.299 * f64::from(pixel[0]) + 0.587 * f64::from(pixel[1]) + 0.114 * f64::from(pixel[2])
        };
        let check = |given: u8, exact: f64| {
            let off = (f64::from(given) - exact).abs();
            assert!(off <= 1.6, "{width}x{height} {range:?}: {given}, BT.601 has {exact}");
        };
        let [across, down] = Format::Ycbcr420(range).plane(size, 1);
        let (lumas, chromas) = ycbcr.samples().split_at(size.pixels());
        for (at, &given) in lumas.iter().enumerate() {
            check(given, luma[0] + luma[1] * y(at % size.width(), at / size.width()));
        }
        for (at, &given) in chromas.iter().enumerate() {
            let (channel, factor) = if at < across * down { (2, 1.772) } else { (0, 1.402) };
            let (bx, by) = (at % (across * down) % across, at % (across * down) / across);
            let places = [(0, 0), (1, 0), (0, 1), (1, 1)]
                .map(|(dx, dy)| ((2 * bx + dx).min(size.width() - 1), (2 * by + dy).min(size.height() - 1)));
            let differences =
                places.map(|(px, py)| f64::from(rgb.samples()[3 * (py * size.width() + px) + channel]) - y(px, py));
            check(given, 128.0 + scale / factor * differences.iter().sum::<f64>() / 4.0);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let size = size(5, 3);
    let samples = [0; 45];
    let plane = |count: usize, stride: usize| Plane { samples: &samples[..count], stride };
    let refused = |format, planes: &[Plane<'_>]| matches!(View::new(size, format, planes), Err(Error::Argument(_)));
    assert!(!refused(Format::Rgb, &[plane(45, 15)]));
    assert!(refused(Format::Rgb, &[plane(44, 15)]), "a byte is missing");
    assert!(refused(Format::Rgb, &[plane(45, 14)]), "rows overlap");
    assert!(refused(Format::Rgb, &[plane(45, usize::MAX)]), "no memory has such a stride");
    assert!(refused(Format::Grey, &[]), "no plane");
    let ycbcr = Format::Ycbcr420(Ycbcr::BT601_FULL);
    assert!(!refused(ycbcr, &[plane(15, 5), plane(6, 3), plane(6, 3)]));
    assert!(refused(ycbcr, &[plane(15, 5), plane(6, 3)]), "a plane is missing");
    assert!(refused(ycbcr, &[plane(15, 5), plane(6, 3), plane(5, 3)]), "the last plane is short");
    assert!(Picture::new(size, ycbcr, vec![0; 26]).is_err());

    let codec = Codec::photo();
    let mut decoder = codec.decoder();
    let stream = codec.encode(&picture(Format::Rgb, size)).expect("a stream");
    decoder.push(stream.bytes()).expect("a valid stream");
    let mut other = [Picture::zero(size, Format::Grey), Picture::zero(self::size(3, 5), Format::Rgb)];
    for other in &mut other {
        assert!(matches!(decoder.render_into(other), Err(DecodeError::Synthesis(_))));
    }
    assert_eq!(decoder.render().map(|picture| picture.channels()), Ok(Channels::Rgb));
}

/// Coefficients of one model with the tables of another would make a valid stream of a wrong picture.
#[test]
fn models_do_not_mix() {
    use nestcast_codec::{Analysis as _, Encoder, Linear, Model, Position, Synthesis as _};
    let mut tables = nestcast_codec::tables::PHOTO.to_vec();
    tables[200] ^= 1;
    let other = Linear::new(Model::from_bytes(&tables).expect("valid tables").into());
    let photo = Linear::new(Model::photo());
    let picture = picture(Format::Rgb, size(20, 10));
    let coefficients = other.coefficients_of((&picture).into()).expect("linear never fails");
    let refused = Encoder::new(photo.clone()).encode_coefficients(&coefficients);
    assert!(matches!(refused, Err(Error::Model { .. })), "{refused:?}");
    assert!(photo.compose(&coefficients).is_err() && photo.picture_of(coefficients, Position(0.0)).is_err());
    let stream = Encoder::new(other).encode(&picture).expect("a stream");
    assert!(matches!(Codec::photo().decoder().push(stream.bytes()), Err(Error::Model { .. })));
}
