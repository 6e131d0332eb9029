//! `nestcast eval`: rate and distortion of pictures on a grid of byte cuts, as CSV and as means.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nestcast_codec::{Decoder, Encoder, Picture};
use nestcast_lab::metrics::{self, MsSsim};
use nestcast_lab::progress::Progress;
use nestcast_lab::rate_distortion::{Row, rounded};
use serde::Serialize;

use crate::args::{Decoders, Eval, Transform};
use crate::files::{self, Input, Lines, Output};
use crate::live::is_video;
use crate::transforms::{self, Model};
use crate::{pictures, video};

/// Means over all pictures at one point of the grid.
#[derive(Debug, Serialize)]
struct Mean {
    decoder: &'static str,
    /// The budget; what a picture took may be less by part of a byte, or where its stream ends earlier.
    budget_bpp: f64,
    pictures: usize,
    bpp: f64,
    psnr_db: f64,
    ms_ssim: Option<f64>,
    encode_ms: f64,
    decode_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssimulacra2: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    butteraugli: Option<f64>,
}

pub(crate) fn run(options: &Eval) -> Result<()> {
    if let [path] = &options.inputs[..]
        && path.is_file()
        && is_video(path)?
    {
        return video::eval(options, Input::open(path)?);
    }
    let of_video =
        options.bitrates.is_some() || options.effort.is_some() || options.loops.is_some() || !options.frames.is_all();
    #[cfg(feature = "plot")]
    let of_video = of_video || options.plot.is_some();
    ensure!(!of_video, "--bitrates, --effort, --loops, --frames and --plot are for one y4m video: leave them out");
    pictures(options)
}

/// Measures pictures.
fn pictures(options: &Eval) -> Result<()> {
    let pictures = pictures_of(&options.inputs)?;
    let inputs: Vec<&Path> = pictures.iter().map(PathBuf::as_path).collect();
    let csv = options.csv.as_deref().filter(|csv| !files::is_standard(csv));
    let output = csv.map(|csv| Output::new(csv, &inputs)).transpose()?;
    let model = Model::open(&options.common)?;
    let decoders = options.decoder.unwrap_or(Decoders::Both).list();
    let mut bench = Bench {
        decoders: decoders.iter().map(|&kind| Ok((kind, model.decoder(kind)?))).collect::<Result<_>>()?,
        analysis: options.analysis,
        encoder: model.encoder(options.analysis)?,
        rates: options.grid.unwrap_or_default().rates().collect(),
        max_pixels: options.common.max_pixels,
        #[cfg(feature = "perceptual")]
        perceptual: options.perceptual,
    };

    let progress = Progress::new(inputs.len() * decoders.len() * bench.rates.len());
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for input in &inputs {
        match bench.measure(input, &progress) {
            Ok(measured) => rows.extend(measured),
            Err(error) if inputs.len() == 1 => return Err(error),
            Err(error) => {
                progress.suspend(|| files::note(&format!("{error:#}")));
                left_out.push(files::name(input));
            }
        }
    }
    drop(progress);
    ensure!(!rows.is_empty(), "no picture can be measured: {}", left_out.join(", "));
    report(options, output.as_ref(), &rows, &bench)?;
    let (count, all) = (left_out.len(), inputs.len());
    ensure!(count == 0, "{count} of {all} pictures are not in the table: {}", left_out.join(", "));
    Ok(())
}

/// Writes the table where `--csv` says, and prints its means where that leaves room.
fn report(options: &Eval, output: Option<&Output<'_>>, rows: &[Row], bench: &Bench) -> Result<()> {
    let to_standard = output.is_none() && options.csv.is_some();
    if let Some(output) = output {
        output.write(to_csv(rows)?.as_bytes())?;
    } else if to_standard {
        files::print_result(&to_csv(rows)?)?;
    }
    let means = means(rows, bench);
    match &options.csv {
        csv if options.json => csv.as_deref().map_or(Lines::Output, Lines::beside).print_pretty(&means),
        Some(_) if to_standard => Ok(()),
        Some(_) => files::print(&table(&means, bench)),
        None => files::print_result(&table(&means, bench)),
    }
}

/// The pictures named, and those in the folders named, by name.
pub(crate) fn pictures_of(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for input in inputs {
        if files::is_standard(input) || !input.is_dir() {
            all.push(input.clone());
            continue;
        }
        let unreadable = || format!("the folder {} cannot be read", input.display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir(input).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
            if extension.is_some_and(|extension| ["png", "jpg", "jpeg"].iter().any(|known| extension == *known)) {
                found.push(path);
            }
        }
        ensure!(!found.is_empty(), "the folder {} holds no PNG or JPEG pictures: name another", input.display());
        found.sort();
        all.extend(found);
    }
    Ok(all)
}

/// What all pictures are measured with.
struct Bench {
    analysis: Transform,
    encoder: Encoder,
    decoders: Vec<(Transform, Decoder)>,
    rates: Vec<f64>,
    max_pixels: u64,
    #[cfg(feature = "perceptual")]
    perceptual: bool,
}

/// SSIMULACRA2 and Butteraugli of a picture beside an original.
type Look = Box<dyn Fn(&Picture) -> [f64; 2]>;

impl Bench {
    /// What decoded pictures look like beside this one, where that is asked for and the picture is large enough.
    #[cfg(feature = "perceptual")]
    fn look(&self, original: &Picture) -> Option<Look> {
        let original = self.perceptual.then(|| metrics::Perceptual::new(original)).flatten()?;
        Some(Box::new(move |decoded| {
            let scores = original.compare(decoded);
            [rounded(scores.ssimulacra2, 3), rounded(scores.butteraugli, 4)]
        }))
    }

    #[cfg(not(feature = "perceptual"))]
    #[expect(clippy::unused_self, reason = "as with the feature")]
    const fn look(&self, _: &Picture) -> Option<Look> {
        None
    }

    /// Encodes a picture once, and decodes it from nothing at every cut with every decoder.
    fn measure(&mut self, path: &Path, progress: &Progress) -> Result<Vec<Row>> {
        let image = path.file_name().map_or_else(|| files::name(path), |name| name.to_string_lossy().into_owned());
        progress.say(&image);
        let picture = pictures::read(path, self.max_pixels)?;
        let reference = MsSsim::new(&picture);
        let look = self.look(&picture);
        let failed = || format!("{} cannot be measured", files::name(path));

        let start = Instant::now();
        let stream = self.encoder.encode(&picture).with_context(failed)?;
        let encode_ms = start.elapsed().as_secs_f64() * 1e3;

        let mut rows = Vec::new();
        for (kind, decoder) in &mut self.decoders {
            for &rate in &self.rates {
                // A picture of a few pixels costs its header at least.
                let budget = metrics::budget(rate, picture.size()).max(nestcast_codec::MAX_HEADER);
                let prefix = stream.prefix(budget);
                let start = Instant::now();
                let decoded = transforms::decode(decoder, &prefix).with_context(failed)?;
                let decode_ms = start.elapsed().as_secs_f64() * 1e3;
                let scores = look.as_ref().map(|look| look(&decoded));
                rows.push(Row {
                    image: image.clone(),
                    decoder: kind.name().to_owned(),
                    bytes: prefix.len(),
                    bpp: rounded(metrics::bpp(prefix.len(), picture.size()), 6),
                    psnr_db: rounded(metrics::psnr(&picture, &decoded), 4),
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
}

fn to_csv(rows: &[Row]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().context("the table cannot be made")?;
    Ok(String::from_utf8(bytes)?)
}

/// Means over the pictures, by decoder, then rate. Rows come in that order for each picture.
fn means(rows: &[Row], bench: &Bench) -> Vec<Mean> {
    let each = bench.decoders.len() * bench.rates.len();
    let points = (0..each).map(|point| {
        let rows: Vec<&Row> = rows.iter().skip(point).step_by(each).collect();
        let mean =
            |value: fn(&Row) -> Option<f64>| average(rows.iter().filter_map(|row| value(row))).unwrap_or(f64::NAN);
        Mean {
            decoder: bench.decoders[point / bench.rates.len()].0.name(),
            budget_bpp: bench.rates[point % bench.rates.len()],
            pictures: rows.len(),
            bpp: mean(|row| Some(row.bpp)),
            psnr_db: mean(|row| Some(row.psnr_db)),
            ms_ssim: average(rows.iter().filter_map(|row| row.ms_ssim)),
            encode_ms: mean(|row| row.encode_ms),
            decode_ms: mean(|row| row.decode_ms),
            ssimulacra2: average(rows.iter().filter_map(|row| row.ssimulacra2)),
            butteraugli: average(rows.iter().filter_map(|row| row.butteraugli)),
        }
    });
    points.collect()
}

#[expect(clippy::cast_precision_loss, reason = "pictures are few")]
fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn table(means: &[Mean], bench: &Bench) -> String {
    use std::fmt::Write;
    let mut text = format!(
        "means over {} pictures, {} analysis, {:.1} ms to encode\n\n    bpp",
        means[0].pictures,
        bench.analysis.name(),
        means[0].encode_ms
    );
    let with_look = means.iter().any(|mean| mean.ssimulacra2.is_some());
    let look = if with_look { "  SSIMULACRA2  Butteraugli" } else { "" };
    for (decoder, _) in &bench.decoders {
        let _ = write!(text, "  {:>9}  MS-SSIM{look}  decode", format!("{} dB", decoder.name()));
    }
    text.push('\n');
    for (index, rate) in bench.rates.iter().enumerate() {
        let _ = write!(text, "{rate:>7.3}");
        for mean in means.iter().skip(index).step_by(bench.rates.len()) {
            let similarity = figure(mean.ms_ssim, 4);
            let _ = write!(text, "  {:>9.2}  {similarity:>7}", mean.psnr_db);
            if with_look {
                let _ = write!(text, "  {:>11}  {:>11}", figure(mean.ssimulacra2, 1), figure(mean.butteraugli, 2));
            }
            let _ = write!(text, "  {:>3.0} ms", mean.decode_ms);
        }
        text.push('\n');
    }
    text
}

/// A figure with so many digits behind the point, `-` where it was not measured.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}
