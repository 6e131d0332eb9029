//! Pictures on a grid of byte cuts: each encoded once, decoded at every rate by every decoder.

use std::time::Instant;

use anyhow::Result;
use nestcast_codec::{Decoder, Encoder, MAX_HEADER, Picture};
use serde::Serialize;

use crate::metrics::{self, MsSsim};
use crate::progress::Progress;
use crate::rate_distortion::{Row, rounded};

/// The coders and rates that all pictures are measured with.
#[derive(Debug)]
pub struct Bench {
    analysis: &'static str,
    encoder: Encoder,
    decoders: Vec<(&'static str, Decoder)>,
    rates: Vec<f64>,
    /// Whether the decoders have decoded a picture.
    has_measured: bool,
    #[cfg(feature = "perceptual")]
    perceptual: bool,
}

/// Means over all pictures at one point of the grid.
#[derive(Debug, Serialize)]
pub struct Mean {
    decoder: &'static str,
    /// The budget. A picture may use less, by part of a byte or because its stream ends earlier.
    budget_bpp: f64,
    pictures: usize,
    bpp: f64,
    /// The mean over pictures that are decoded with some error: PSNR is infinite for the others.
    psnr_db: Option<f64>,
    /// Pictures that are decoded without any error.
    lossless: usize,
    ms_ssim: Option<f64>,
    encode_ms: f64,
    decode_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssimulacra2: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    butteraugli: Option<f64>,
}

/// Returns SSIMULACRA2 and Butteraugli of a picture compared with an original.
pub type Look = Box<dyn Fn(&Picture) -> [f64; 2]>;

impl Bench {
    /// Takes an encoder, decoders by the names of their transforms, and rates in bits per pixel, lowest first.
    #[must_use]
    pub fn new(
        (analysis, encoder): (&'static str, Encoder),
        decoders: Vec<(&'static str, Decoder)>,
        rates: Vec<f64>,
    ) -> Self {
        Self {
            analysis,
            encoder,
            decoders,
            rates,
            has_measured: false,
            #[cfg(feature = "perceptual")]
            perceptual: false,
        }
    }

    /// Measures SSIMULACRA2 and Butteraugli too, for pictures that are large enough.
    #[cfg(feature = "perceptual")]
    #[must_use]
    pub fn with_perceptual(self, perceptual: bool) -> Self {
        Self { perceptual, ..self }
    }

    /// Returns the number of rows of a picture.
    #[must_use]
    pub fn points(&self) -> usize {
        self.decoders.len() * self.rates.len()
    }

    /// Prepares the perceptual comparison, if it is asked for and the picture is large enough.
    #[cfg(feature = "perceptual")]
    #[must_use]
    pub fn look(&self, original: &Picture) -> Option<Look> {
        let original = self.perceptual.then(|| metrics::Perceptual::new(original)).flatten()?;
        Some(Box::new(move |decoded| {
            let scores = original.compare(decoded);
            [rounded(scores.ssimulacra2, 3), rounded(scores.butteraugli, 4)]
        }))
    }

    /// Returns `None`: this build lacks the feature `perceptual`.
    #[cfg(not(feature = "perceptual"))]
    #[must_use]
    pub const fn look(&self, _: &Picture) -> Option<Look> {
        None
    }

    /// Encodes a picture once and decodes every cut from the start with every decoder; each decoding is a step of
    /// `progress`.
    ///
    /// # Errors
    /// Those of the encoder and the decoders.
    pub fn measure(&mut self, image: &str, picture: &Picture, progress: &Progress) -> Result<Vec<Row>> {
        let reference = MsSsim::new(picture);
        let look = self.look(picture);
        let start = Instant::now();
        let stream = self.encoder.encode(picture)?;
        let encode_ms = start.elapsed().as_secs_f64() * 1e3;
        let mut rows = Vec::new();
        let is_first = !std::mem::replace(&mut self.has_measured, true);
        for (decoder_name, decoder) in &mut self.decoders {
            if is_first {
                // A decoder's first picture takes its memory and loads its networks, which is no part of a row's time.
                decode(decoder, &stream.prefix(MAX_HEADER))?;
            }
            for &rate in &self.rates {
                // A picture of a few pixels needs at least its header.
                let prefix = stream.prefix(metrics::budget(rate, picture.size()).max(MAX_HEADER));
                let start = Instant::now();
                let decoded = decode(decoder, &prefix)?;
                let decode_ms = start.elapsed().as_secs_f64() * 1e3;
                let scores = look.as_ref().map(|look| look(&decoded));
                rows.push(Row {
                    image: image.to_owned(),
                    decoder: (*decoder_name).to_owned(),
                    bytes: prefix.len(),
                    bpp: rounded(metrics::bpp(prefix.len(), picture.size()), 6),
                    psnr_db: rounded(metrics::psnr(picture, &decoded), 4),
                    ms_ssim: reference.as_ref().map(|reference| rounded(reference.compare(&decoded), 6)),
                    encode_ms: Some(rounded(encode_ms, 2)),
                    decode_ms: Some(rounded(decode_ms, 2)),
                    ssimulacra2: scores.map(|[ssimulacra2, _]| ssimulacra2),
                    butteraugli: scores.map(|[_, butteraugli]| butteraugli),
                });
                progress.step();
            }
        }
        Ok(rows)
    }

    /// Returns means over the pictures, by decoder, then rate. Each picture's rows must have that order.
    #[must_use]
    pub fn means(&self, rows: &[Row]) -> Vec<Mean> {
        let each = self.points();
        let points = (0..each).map(|point| {
            let rows: Vec<&Row> = rows.iter().skip(point).step_by(each).collect();
            let mean =
                |value: fn(&Row) -> Option<f64>| average(rows.iter().filter_map(|row| value(row))).unwrap_or(f64::NAN);
            Mean {
                decoder: self.decoders[point / self.rates.len()].0,
                budget_bpp: rounded(self.rates[point % self.rates.len()], 6),
                pictures: rows.len(),
                bpp: mean(|row| Some(row.bpp)),
                psnr_db: average(rows.iter().map(|row| row.psnr_db).filter(|db| db.is_finite())),
                lossless: rows.iter().filter(|row| row.psnr_db.is_infinite()).count(),
                ms_ssim: average(rows.iter().filter_map(|row| row.ms_ssim)),
                encode_ms: mean(|row| row.encode_ms),
                decode_ms: mean(|row| row.decode_ms),
                ssimulacra2: average(rows.iter().filter_map(|row| row.ssimulacra2)),
                butteraugli: average(rows.iter().filter_map(|row| row.butteraugli)),
            }
        });
        points.collect()
    }

    /// Formats the means as lines of text, by the bits per pixel used.
    #[must_use]
    pub fn table(&self, means: &[Mean]) -> String {
        use std::fmt::Write;
        let count = means[0].pictures;
        let s = if means[0].pictures == 1 { "" } else { "s" };
        let mut text = format!(
            "means over {count} picture{s}, {} analysis, {:.1} ms to encode\n\n    bpp",
            self.analysis, means[0].encode_ms
        );
        let with_look = means.iter().any(|mean| mean.ssimulacra2.is_some());
        let look = if with_look { "  SSIMULACRA2  Butteraugli" } else { "" };
        for (decoder, _) in &self.decoders {
            let _ = write!(text, "  {:>9}  MS-SSIM{look}  decode", format!("{decoder} dB"));
        }
        text.push('\n');
        for index in 0..self.rates.len() {
            // The rate used, because a stream may end before the rate asked for. It is the same for every decoder.
            let _ = write!(text, "{:>7.3}", means[index].bpp);
            for mean in means.iter().skip(index).step_by(self.rates.len()) {
                let similarity = figure(mean.ms_ssim, 4);
                let _ = write!(text, "  {:>9}  {similarity:>7}", figure(mean.psnr_db, 2));
                if with_look {
                    let _ = write!(text, "  {:>11}  {:>11}", figure(mean.ssimulacra2, 1), figure(mean.butteraugli, 2));
                }
                let _ = write!(text, "  {:>3.0} ms", mean.decode_ms);
            }
            text.push('\n');
        }
        let lossless = means.iter().map(|mean| mean.lossless).max().unwrap_or(0);
        if lossless > 0 {
            let s = if lossless == 1 { "" } else { "s" };
            let _ = writeln!(
                text,
                "up to {lossless} picture{s} decoded without any error: no mean of dB counts them, since PSNR is infinite"
            );
        }
        text
    }
}

/// A curve of means: its name, and rate, PSNR and MS-SSIM of each point.
pub(super) type MeanCurve = (String, Vec<(f64, Option<f64>, Option<f64>)>);

/// Returns the curve of each decoder, without points at which all streams had ended before: they are one point.
pub(super) fn curves(means: &[Mean]) -> Vec<MeanCurve> {
    let mut curves = Vec::<MeanCurve>::new();
    for mean in means {
        let point = (mean.bpp, mean.psnr_db, mean.ms_ssim);
        match curves.last_mut().filter(|(name, _)| name == mean.decoder) {
            Some((_, points)) if points.last() == Some(&point) => {}
            Some((_, points)) => points.push(point),
            None => curves.push((mean.decoder.to_owned(), vec![point])),
        }
    }
    curves
}

/// Resets the decoder and decodes a prefix.
fn decode(decoder: &mut Decoder, prefix: &[u8]) -> Result<Picture> {
    decoder.reset();
    decoder.push(prefix)?;
    Ok(decoder.render()?)
}

/// Returns the mean to six digits after the point, as many as a row of the table has at most.
pub(super) fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| rounded(values.iter().sum::<f64>() / values.len() as f64, 6))
}

/// Formats a figure with `digits` digits after the point, `-` where it was not measured.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Channels, Codec, Size};

    use super::*;
    use crate::eval::csv;

    #[test]
    fn pictures_are_measured_at_every_rate_and_their_means_stand_in_one_line_each() {
        let codec = Codec::photo();
        let mut bench = Bench::new(("linear", codec.encoder()), vec![("one", codec.decoder())], vec![0.5, 2.0]);
        let size = Size::new(48, 32).expect("a size");
        let grey = |step: u32| (0..48 * 32_u32).map(move |at| (at * step % 251).to_le_bytes()[0]).collect();
        let progress = Progress::new(2 * bench.points());
        let rows: Vec<Row> = [("a", 1), ("b", 7)]
            .into_iter()
            .flat_map(|(name, step)| {
                let picture = Picture::new(size, Channels::Grey, grey(step)).expect("a picture");
                bench.measure(name, &picture, &progress).expect("figures")
            })
            .collect();
        assert_eq!(
            rows.iter().map(|row| (&*row.image, row.bytes)).collect::<Vec<_>>()[..3],
            [("a", 96), ("a", 384), ("b", 96)]
        );
        assert!(rows[0].psnr_db < rows[1].psnr_db && rows[2].psnr_db < rows[3].psnr_db, "{rows:?}");
        let means = bench.means(&rows);
        assert!((means[1].psnr_db.expect("a mean") - (rows[1].psnr_db + rows[3].psnr_db) / 2.0).abs() < 1e-9);
        assert_eq!(bench.table(&means).lines().count(), 3 + 2);
        assert_eq!(csv(&rows).expect("a table").lines().count(), 1 + 4);
    }

    #[test]
    fn a_mean_has_no_digits_that_come_from_binary_fractions() {
        let mean = average([0.1, 0.2, 0.3].into_iter()).expect("three numbers");
        assert_eq!(mean.to_string(), "0.2");
    }

    #[test]
    fn a_picture_without_any_error_leaves_the_mean_of_the_others() {
        let codec = Codec::photo();
        let bench = Bench::new(("linear", codec.encoder()), vec![("one", codec.decoder())], vec![0.5]);
        let row = |psnr_db| Row { psnr_db, ..Row::default() };
        let means = bench.means(&[row(30.0), row(f64::INFINITY), row(40.0)]);
        assert_eq!((means[0].psnr_db, means[0].lossless, means[0].pictures), (Some(35.0), 1, 3));
        let text = bench.table(&means);
        assert!(text.contains("  35.00  ") && text.contains("up to 1 picture decoded without any error"), "{text}");
        let all = bench.means(&[row(f64::INFINITY)]);
        assert_eq!((all[0].psnr_db, all[0].lossless), (None, 1));
        assert!(!bench.table(&all).contains("inf "));
    }

    #[test]
    fn a_rate_beyond_the_end_of_streams_is_told_as_what_was_used() {
        let codec = Codec::photo();
        let mut bench = Bench::new(("linear", codec.encoder()), vec![("one", codec.decoder())], vec![0.5, 50.0]);
        let size = Size::new(48, 32).expect("a size");
        let picture = Picture::new(size, Channels::Grey, vec![90; 48 * 32]).expect("a picture");
        let rows = bench.measure("flat", &picture, &Progress::new(bench.points())).expect("figures");
        let text = bench.table(&bench.means(&rows));
        let first = |line: &str| line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        let used: Vec<f64> = text.lines().skip(3).filter_map(first).collect();
        assert!(used.len() == 2 && used[1] < 1.0 && text.starts_with("means over 1 picture, "), "{text}");
    }
}
