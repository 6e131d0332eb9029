//! Pictures of 16 bits a sample and with opacity: what a stream keeps of them, at every cut.

use nestcast_codec::{Channels, Codec, Format, Header, Picture, Position, Progress, Size, Stream};

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
        let hills: f64 = (1..9).map(|k| {
            let k = f64::from(k);
            ((k * k * x + k * y) * 7.0 + k + 0.3 * channel as f64).sin() / (2.0 * k * k).sqrt()
        }).sum();
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

#[test]
fn measure() {
    for (name, picture) in [("gradient", gradient(size(512, 384))), ("photo", photo(size(512, 384), Format::Rgb16)), ("slices", photo(size(1024, 700), Format::Rgb16))] {
        let stream = Codec::photo().encode(&picture).expect("a stream");
        let plain = Codec::photo().encode(&rounded(&picture)).expect("a stream");
        println!("{name} {:?} of 8: {} {:?}; floor {:.2}", stream.header(), plain.len(), plain.header().planes, psnr(&picture, &rounded(&picture)));
        let mut bytes = 100;
        while bytes < 2 * stream.len() {
            let (a, b) = (stream.prefix(bytes), plain.prefix(bytes));
            println!("{:8} bytes: 16 {:.2}, as 8 {:.3}, of 8 in 8 {:.3} in 16 {:.3}", a.len(), psnr(&picture, &decoded(&a, Format::Rgb16)), psnr(&picture, &decoded(&a, Format::Rgb)), psnr(&picture, &decoded(&b, Format::Rgb)), psnr(&picture, &decoded(&b, Format::Rgb16)));
            bytes *= 2;
        }
    }
}

#[test]
fn unfiltered() {
    use nestcast_codec::{Linear, Model, Synthesis as _};
    let linear = Linear::new(Model::photo());
    for picture in [gradient(size(512, 384)), photo(size(512, 384), Format::Rgb16)] {
        let stream = Codec::photo().encode(&picture).expect("a stream");
        let mut bytes = 50;
        while bytes < 2 * stream.len() {
            let mut decoder = Codec::photo().decoder();
            decoder.push(&stream.prefix(bytes)).expect("a valid stream");
            let (coefficients, position) = decoder.coefficients().expect("some");
            let mut coefficients = coefficients.clone();
            coefficients.significance.clear();
            let mut out = Picture::zero(picture.size(), Format::Rgb16);
            linear.synthesise(&mut coefficients, position, (&mut out).into()).expect("a picture");
            println!("{bytes} {position:?} {:.2} unfiltered {:.2}", psnr(&picture, &decoded(&stream.prefix(bytes), Format::Rgb16)), psnr(&picture, &out));
            bytes *= 2;
        }
    }
}

fn masked(size: Size, alpha: impl Fn(f64, f64) -> f64) -> Picture {
    let colours = match std::env::var("PPM") { Ok(p) => { let b = std::fs::read(p).unwrap(); let n = 3 * size.pixels(); Picture::new(size, Format::Rgb, b[b.len() - n..].to_vec()).unwrap() } Err(_) => rounded(&photo(size, Format::Rgb16)) };
    let mut picture = Picture::zero(size, Format::Rgba);
    let pixels = picture.samples_mut().chunks_exact_mut(4).zip(colours.samples().chunks_exact(3));
    for (at, (pixel, rgb)) in pixels.enumerate() {
        pixel[..3].copy_from_slice(rgb);
        let (x, y) = (at % size.width(), at / size.width());
        pixel[3] = (255.0 * alpha(y as f64 / size.height() as f64, x as f64 / size.width() as f64).clamp(0.0, 1.0)).round() as u8;
    }
    picture
}

#[test]
fn alpha() {
    let radius = |y: f64, x: f64| ((x - 0.5).powi(2) + (y - 0.5).powi(2)).sqrt();
    let size = size(512, 384);
    for (name, picture) in [
        ("opaque", masked(size, |_, _| 1.0)),
        ("half", masked(size, |_, _| 0.5)),
        ("cut-out", masked(size, |y, x| (0.35 - radius(y, x)) * 400.0 + 0.5)),
        ("soft", masked(size, |y, x| 1.5 - 3.0 * radius(y, x))),
    ] {
        let stream = Codec::photo().encode(&picture).expect("a stream");
        let plain = Codec::photo().encode(&decoded(stream.as_ref(), Format::Rgb)).expect("a stream");
        let opaque = Picture::new(size, Format::Rgb, picture.samples().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect()).unwrap();
        let plain = { let _ = plain; Codec::photo().encode(&opaque).unwrap() };
        println!("{name}: {} of {} bytes, {:?}", stream.len(), plain.len(), stream.header().alpha);
        let mut bytes = 100;
        while bytes < 2 * stream.len() {
            let out = decoded(&stream.prefix(bytes), Format::Rgba);
            let part = |p: &Picture, alpha: bool| {
                let s: Vec<u8> = p.samples().chunks_exact(4).flat_map(|p| if alpha { vec![p[3]] } else { p[..3].to_vec() }).collect();
                Picture::new(size, if alpha { Format::Grey } else { Format::Rgb }, s).unwrap()
            };
            println!("{bytes}: colour {:.2} of {:.2}, alpha {:.2}", psnr(&part(&picture, false), &part(&out, false)), psnr(&opaque, &decoded(&plain.prefix(bytes), Format::Rgb)), psnr(&part(&picture, true), &part(&out, true)));
            bytes *= 2;
        }
    }
}
