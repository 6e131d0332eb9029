//! Pictures of 16 bits a sample and with opacity: what a stream keeps of them, at every cut.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares from 0 to 1 become samples")]

use nestcast_codec::{Codec, EncodeError, Error, Format, Header, Picture, Progress, Size, Stream, Ycbcr};

const WHITE: f64 = 65535.0;

fn size(width: u32, height: u32) -> Size {
    Size::new(width, height).expect("a size")
}

/// A picture of 16 bits a sample by row, column and channel, each 0 to 1.
fn deep(size: Size, format: Format, value: impl Fn(f64, f64, usize) -> f64) -> Picture {
    let mut picture = Picture::zero(size, format);
    let [row, rows] = format.plane(size, 0);
    let channels = row / 2 / size.width();
    let samples = picture.samples_mut().as_chunks_mut().0;
    for (at, sample) in samples.iter_mut().enumerate() {
        let (x, y, channel) = (at / channels % size.width(), at / channels / size.width(), at % channels);
        let value = value(y as f64 / rows as f64, x as f64 / size.width() as f64, channel);
        *sample = ((value.clamp(0.0, 1.0) * WHITE).round() as u16).to_le_bytes();
    }
    picture
}

/// Smooth and finer than 8 bits: 3 steps of 8 bits from side to side.
fn gradient(size: Size) -> Picture {
    deep(size, Format::Rgb16, |y, x, channel| 0.4 + 0.01 * (x + 0.5 * y + 0.2 * channel as f64))
}

/// Hills of many sizes with noise, as cameras make.
fn photo(size: Size, format: Format) -> Picture {
    deep(size, format, |y, x, channel| {
        let hills: f64 = (1..9)
            .map(|k| {
                let k = f64::from(k);
                ((k * k * x + k * y) * 7.0 + k + 0.3 * channel as f64).sin() / (2.0 * k * k).sqrt()
            })
            .sum();
        let grain = ((x * 12_345.0 + y * 54_321.0 + channel as f64).sin() * 43_758.5).fract();
        0.45 + 0.15 * hills + 0.004 * grain
    })
}

fn samples16(picture: &Picture) -> Vec<f64> {
    let bytes = picture.samples();
    if picture.format().is_deep() {
        bytes.as_chunks().0.iter().map(|sample| u16::from_le_bytes(*sample).into()).collect()
    } else {
        bytes.iter().map(|&sample| f64::from(sample) * 257.0).collect()
    }
}

fn psnr(a: &Picture, b: &Picture) -> f64 {
    let (a, b) = (samples16(a), samples16(b));
    assert_eq!(a.len(), b.len());
    let error: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
    10.0 * (WHITE * WHITE * a.len() as f64 / error).log10()
}

fn decoded(stream: &[u8], format: Format) -> Picture {
    let mut decoder = Codec::photo().decoder();
    decoder.push(stream).expect("a valid stream");
    decoder.render_as(format).expect("a picture")
}

/// The picture rounded to 8 bits a sample.
fn rounded(picture: &Picture) -> Picture {
    let samples = samples16(picture).into_iter().map(|sample| (sample / 257.0).round() as u8).collect();
    let format = Format::interleaved(picture.channels(), picture.format().has_alpha(), false);
    Picture::new(picture.size(), format, samples).expect("all samples")
}

/// A picture with an opacity of 8 bits by row and column, each 0 to 1.
fn masked(size: Size, alpha: impl Fn(f64, f64) -> f64) -> Picture {
    let colours = rounded(&photo(size, Format::Rgb16));
    let mut picture = Picture::zero(size, Format::Rgba);
    let pixels = picture.samples_mut().chunks_exact_mut(4).zip(colours.samples().chunks_exact(3));
    for (at, (pixel, rgb)) in pixels.enumerate() {
        let (x, y) = (at % size.width(), at / size.width());
        let alpha = alpha(y as f64 / size.height() as f64, x as f64 / size.width() as f64);
        pixel[..3].copy_from_slice(rgb);
        pixel[3] = (255.0 * alpha.clamp(0.0, 1.0)).round() as u8;
    }
    picture
}

fn cut_out(y: f64, x: f64) -> f64 {
    (0.35 - ((x - 0.5).powi(2) + (y - 0.5).powi(2)).sqrt()) * 100.0 + 0.5
}

/// Splits a picture with opacity into the two.
fn split(picture: &Picture) -> [Picture; 2] {
    let pixels = || picture.samples().chunks_exact(4);
    let colours = pixels().flat_map(|pixel| pixel[..3].to_vec()).collect();
    let alpha = pixels().map(|pixel| pixel[3]).collect();
    let part = |format, samples| Picture::new(picture.size(), format, samples).expect("all samples");
    [part(Format::Rgb, colours), part(Format::Grey, alpha)]
}

fn encoded(picture: &Picture) -> Stream {
    Codec::photo().encode(picture).expect("a stream")
}

#[test]
fn precision_rises_far_beyond_eight_bits_and_costs_nothing_before() {
    let size = size(256, 192);
    for (name, picture, least) in [("gradient", gradient(size), 85.0), ("photo", photo(size, Format::Rgb16), 82.0)] {
        let (stream, usual) = (encoded(&picture), encoded(&rounded(&picture)));
        assert_eq!((stream.header().bits, stream.header().fine_planes), (16, 6), "{name}");
        // What rounding to 8 bits leaves.
        let floor = psnr(&picture, &rounded(&picture));
        assert!((58.8..59.1).contains(&floor), "{name}: {floor}");
        let mut best = 0.0_f64;
        for percent in 1..=40 {
            let prefix = stream.prefix((stream.len() * percent * percent / 1600).max(60));
            let now = psnr(&picture, &decoded(&prefix, Format::Rgb16));
            assert!(now > best - 0.3, "{name}: {} bytes give {now}, fewer {best}", prefix.len());
            best = best.max(now);
            if prefix.len() < usual.len() {
                let of_usual = psnr(&picture, &decoded(&usual.prefix(prefix.len()), Format::Rgb));
                let as_usual = psnr(&picture, &decoded(&prefix, Format::Rgb));
                assert!(as_usual > of_usual - 0.3, "{name}: {} bytes, {as_usual} of {of_usual} dB", prefix.len());
            }
        }
        assert!(best > least, "{name}: {best} dB");
        let shown = psnr(&picture, &decoded(stream.as_ref(), Format::Rgb));
        assert!((floor - shown).abs() < 0.1, "{name}: in 8 bits it is the rounded picture, {shown} of {floor} dB");
    }
}

#[test]
fn what_is_not_there_costs_nothing() {
    let size = size(70, 50);
    let usual = rounded(&photo(size, Format::Rgb16));
    let expected = encoded(&usual);
    let wide: Vec<u8> = usual.samples().iter().flat_map(|&sample| [sample, sample]).collect();
    let opaque: Vec<u8> = usual.samples().chunks(3).flat_map(|pixel| [pixel, &[255]].concat()).collect();
    for (format, samples) in [(Format::Rgb16, wide), (Format::Rgba, opaque)] {
        let picture = Picture::new(size, format, samples).expect("all samples");
        assert_eq!(encoded(&picture), expected, "{format:?}");
    }
}

#[test]
fn planar_pictures_of_ten_bits_keep_them_and_impossible_bits_are_refused() {
    let size = size(96, 64);
    let planar = |bits| {
        let mut picture = Picture::zero(size, Format::planar(Ycbcr::BT601_FULL, bits));
        let luma = size.width() * size.height();
        for (at, sample) in picture.samples_mut().as_chunks_mut().0.iter_mut().enumerate() {
            let value = if at < luma { 400 + at % size.width() / 8 } else { 512 };
            *sample = (value as u16).to_le_bytes();
        }
        picture
    };
    let stream = encoded(&planar(10));
    assert_eq!(stream.header().bits, 16);
    let shown = samples16(&decoded(stream.bytes(), Format::Rgb16));
    let error = |at: usize| (shown[at] / 257.0 - (400 + at / 3 % size.width() / 8) as f64 / 4.0).abs();
    let worst = (0..shown.len()).map(error).fold(0.0, f64::max);
    assert!(worst < 0.1, "{worst} steps of 8 bits");
    let refused = Codec::photo()
        .encoder()
        .encode(&Picture::zero(size, Format::Ycbcr420Deep { colours: Ycbcr::BT601_FULL, bits: 40 }));
    assert!(matches!(refused, Err(EncodeError::Codec(Error::Argument(_)))), "{refused:?}");
}

#[test]
fn a_limit_of_bits_is_kept() {
    let picture = photo(size(70, 50), Format::GreyAlpha16);
    let with = |bits| {
        let mut encoder = Codec::photo().encoder().with_max_bits(bits);
        encoder.encode(&picture).expect("a stream").header()
    };
    let of = |header: Header| (header.bits, header.fine_planes, header.alpha.map(|alpha| alpha.fine_planes));
    assert_eq!(
        [8, 10, 12, 16].map(|bits| of(with(bits))),
        [(8, 0, Some(0)), (10, 2, Some(2)), (12, 4, Some(4)), (16, 6, Some(6))]
    );
}

#[test]
fn every_prefix_has_colours_and_opacity() {
    let size = size(256, 192);
    let picture = masked(size, cut_out);
    let ([colours, alpha], stream) = (split(&picture), encoded(&picture));
    let usual = encoded(&colours);
    assert!(stream.len() > usual.len());
    let mut before = [0.0_f64; 2];
    for percent in 1..=20 {
        let prefix = stream.prefix((stream.len() * percent * percent / 400).max(100));
        let shown = split(&decoded(&prefix, Format::Rgba));
        let now = [psnr(&colours, &shown[0]), psnr(&alpha, &shown[1])];
        // Opacity gets a share that keeps its error near that of the colours.
        let apart = now[1] - now[0];
        assert!((-12.0..30.0).contains(&apart), "{} bytes: {now:?} dB", prefix.len());
        assert!(now[0] > before[0] - 0.1 && now[1] > before[1] - 0.5, "{} bytes: {before:?}, {now:?}", prefix.len());
        before = now;
    }
    assert!(before[1] > 55.0, "{before:?}");
}

#[test]
fn a_constant_opacity_costs_a_few_bytes() {
    let picture = masked(size(256, 192), |_, _| 0.5);
    let [stream, usual] = [&picture, &split(&picture)[0]].map(encoded);
    assert!(stream.len() <= usual.len() + 32, "{} of {} bytes", stream.len(), usual.len());
    let [_, alpha] = split(&decoded(&stream.prefix(80), Format::Rgba));
    assert!(alpha.samples().iter().all(|&alpha| alpha == 128));
}

#[test]
fn without_opacity_the_picture_is_over_white() {
    let picture = masked(size(64, 64), |y, _| if y < 0.5 { 0.0 } else { 1.0 });
    let stream = encoded(&picture);
    let [all, over] = [Format::Rgba, Format::Rgb].map(|format| decoded(stream.as_ref(), format));
    let [colours, _] = split(&all);
    let (clear, opaque) = over.samples().split_at(over.samples().len() / 4);
    assert!(clear.iter().all(|&sample| sample >= 253), "white: {:?}", &clear[..9]);
    let last = 3 * 64 * 16;
    assert_eq!(opaque[opaque.len() - last..], colours.samples()[colours.samples().len() - last..]);
}

#[test]
fn a_limit_of_bytes_gives_a_prefix() {
    for picture in [photo(size(90, 70), Format::Rgba16), photo(size(700, 600), Format::Rgba16)] {
        let whole = encoded(&picture);
        assert!(whole.header().alpha.is_some());
        for bytes in [10, 100, 2000, 20_000] {
            let mut encoder = Codec::photo().encoder().with_max_bytes(bytes);
            let stream = encoder.encode(&picture).expect("a stream");
            assert_eq!(stream.bytes()[..], whole.prefix(bytes.max(stream.len()))[..stream.len()]);
            assert!(stream.len() == bytes.min(whole.len()) || bytes < 22, "{bytes}: {}", stream.len());
        }
    }
}

#[test]
fn strong_contrasts_keep_their_precision() {
    // Squares of 64 pixels are large numbers at the coarsest level, which ends earlier; of 8, at a finer one.
    for squares in [2.0, 16.0] {
        let picture = deep(size(128, 128), Format::Grey16, |y, x, _| {
            let square = (x * squares).floor() as usize + (y * squares).floor() as usize;
            if square.is_multiple_of(2) { 0.0001 } else { 0.999_9 }
        });
        let stream = encoded(&picture);
        assert_eq!(stream.header().fine_planes, 6, "{:?}", stream.header());
        let back = psnr(&picture, &decoded(stream.as_ref(), Format::Grey16));
        assert!(back > 75.0, "{:?}: {back}", stream.header());
    }
}

#[test]
fn a_decoder_counts_opacity_and_bits_before_it_takes_memory() {
    let stream = encoded(&photo(size(40, 20), Format::Rgba16));
    let with = |max| Codec::photo().decoder().with_max_pixels(max).push(stream.as_ref());
    assert_eq!(stream.header().weighed_pixels(), 800 + 400 + 100);
    assert!(matches!(with(1299), Err(Error::Limit { given: 1300, max: 1299, .. })));
    assert_eq!(with(1300), Ok(Progress::Complete));
}

#[test]
fn a_decoder_is_reused_for_every_kind_of_stream() {
    let mut decoder = Codec::photo().decoder();
    let formats = [Format::Rgba16, Format::Rgb, Format::GreyAlpha16, Format::Grey16, Format::Rgba16];
    for format in formats {
        let picture = if format == Format::Rgb {
            rounded(&photo(size(64, 40), Format::Rgb16))
        } else {
            photo(size(64, 40), format)
        };
        let stream = encoded(&picture);
        assert_eq!(stream.header().format(), format);
        decoder.reset();
        decoder.push(stream.as_ref()).expect("a valid stream");
        assert_eq!(decoder.render_as(format), Ok(decoded(stream.as_ref(), format)), "{format:?}");
        let error = psnr(&picture, &decoder.render_as(format).expect("a picture"));
        assert!(error > if format == Format::Rgb { 45.0 } else { 75.0 }, "{format:?}: {error}");
    }
}

#[test]
fn the_missing_planes_fall_to_none_at_the_end() {
    let stream = encoded(&photo(size(70, 50), Format::Rgb16));
    let mut decoder = Codec::photo().decoder();
    assert_eq!(decoder.planes_left(), None);
    let mut before = f32::INFINITY;
    for piece in stream.bytes().chunks(50) {
        decoder.push(piece).expect("a valid stream");
        let left = decoder.planes_left().expect("a header");
        assert!((0.0..=before).contains(&left), "{left} planes after {before}");
        before = left;
    }
    assert_eq!((before, decoder.progress()), (0.0, Progress::Complete));
}
