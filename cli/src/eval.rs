//! `nestcast eval`: rate and distortion of pictures on a grid of byte cuts, as CSV and as means.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use nestcast_lab::eval::{csv, pictures::Bench, rival::Rivals};
use nestcast_lab::progress::Progress;
use nestcast_lab::rate_distortion::Row;
use nestcast_media::output::Output;
use nestcast_media::{Input, Kind, is_standard};

use crate::args::Eval;
use crate::files::{self, Lines};
use crate::transforms::{Model, usual_decoders};
use crate::{advice, pictures, video};

pub(crate) fn run(options: &Eval) -> Result<()> {
    // Opened once, because a pipe can be read only once.
    let alone = <&[_; 1]>::try_from(&*options.inputs).ok().filter(|[path]| is_standard(path) || !path.is_dir());
    let mut alone = alone.map(|[path]| Input::open(path)).transpose()?;
    if let Some(input) = alone.take_if(|input| matches!(input.kind(), Ok(Kind::Y4m))) {
        ensure!(options.rival.is_empty(), "--rival is for pictures: leave it out");
        return video::eval(options, input);
    }
    let of_video = options.video.is_asked_for();
    #[cfg(feature = "plot")]
    let of_video = of_video || options.plot.is_some();
    ensure!(
        !of_video,
        "--bitrates, --effort, --renditions, --frames, --matrix and --plot are for one y4m video: leave them out"
    );
    pictures(options, alone)
}

/// Measures the given pictures; `alone` is a single one that is already open.
fn pictures(options: &Eval, mut alone: Option<Input<'_>>) -> Result<()> {
    // Before the model, whose note may be long.
    if let Some(input) = alone.take_if(|input| !matches!(input.kind(), Ok(Kind::Picture))) {
        pictures::read(input, options.common.max_pixels)?;
    }
    let pictures = pictures::named(&options.inputs)?;
    let inputs: Vec<&Path> = pictures.iter().map(PathBuf::as_path).collect();
    let csv = options.csv.as_deref().filter(|csv| !is_standard(csv));
    let output = csv.map(|csv| Output::new(csv, &inputs)).transpose()?;
    let model = Model::open(&options.common)?;
    let decoders = options.decoder.unwrap_or_else(usual_decoders);
    let decoders = decoders.iter().map(|&kind| Ok((kind.name(), model.decoder(kind)?))).collect::<Result<_>>()?;
    let mut bench =
        Bench::new(model.encoder(&options.picture)?, decoders, options.grid.unwrap_or_default().rates().collect());
    #[cfg(feature = "perceptual")]
    {
        bench = bench.with_perceptual(options.perceptual);
    }

    let rivals = Rivals::new(options.rival.clone(), options.qualities);
    let progress = Progress::new(inputs.len() * bench.points());
    let ([mut rows, mut of_rivals], mut left_out) = ([Vec::new(), Vec::new()], Vec::new());
    for input in &inputs {
        let opened = alone.take().map_or_else(|| Input::open(input), Ok).map_err(anyhow::Error::from);
        let image = Input::distinct_name_of(input, &inputs);
        let max_pixels = options.common.max_pixels;
        match opened.and_then(|input| measure((&mut bench, &rivals), (input, image), max_pixels, &progress)) {
            Ok([measured, rival]) => (rows.extend(measured), of_rivals.extend(rival)).0,
            Err(error) if inputs.len() == 1 => return Err(error),
            Err(error) => {
                progress.suspend(|| files::note(&advice::told(&error)));
                left_out.push(Input::name_of(input));
            }
        }
    }
    drop(progress);
    ensure!(!rows.is_empty(), "no picture can be measured: {}", left_out.join(", "));
    report(options, output.as_ref(), [&rows, &of_rivals], (&bench, &rivals))?;
    let (count, all) = (left_out.len(), inputs.len());
    ensure!(count == 0, "{count} of {all} pictures are not in the table: {}", left_out.join(", "));
    Ok(())
}

/// Measures the picture of an input, which the table calls by this name: by nestcast, and by rivals.
fn measure(
    (bench, rivals): (&mut Bench, &Rivals),
    (input, image): (Input<'_>, String),
    max_pixels: u64,
    progress: &Progress,
) -> Result<[Vec<Row>; 2]> {
    let name = input.name();
    progress.say(&image);
    let picture = pictures::read(input, max_pixels)?;
    let measured = bench.measure(&image, &picture, progress);
    let both = measured.and_then(|rows| Ok([rows, rivals.measure(&image, &picture, bench.look(&picture).as_ref())?]));
    both.with_context(|| format!("{name} cannot be measured"))
}

/// Writes the table to `--csv`, and prints its means if standard output is free.
fn report(
    options: &Eval,
    output: Option<&Output>,
    [rows, of_rivals]: [&[Row]; 2],
    (bench, rivals): (&Bench, &Rivals),
) -> Result<()> {
    let to_standard = output.is_none() && options.csv.is_some();
    if options.csv.is_some() {
        let csv = csv(&[rows, of_rivals].concat())?;
        output.map_or_else(|| files::print_result(&csv), |output| Ok(output.write(csv.as_bytes())?))?;
    }
    let means = bench.means(rows);
    let lines = options.csv.as_deref().map_or(Lines::Output, Lines::next_to);
    if rivals.is_empty() && options.json {
        return lines.print_pretty(&means);
    }
    let summary = rivals.summary(&means, of_rivals);
    if options.json {
        return lines.print_pretty(&summary);
    }
    let table = bench.table(&means) + &if rivals.is_empty() { String::new() } else { summary.table() };
    match &options.csv {
        Some(_) if to_standard => Ok(()),
        Some(_) => files::print(&table),
        None => files::print_result(&table),
    }
}
