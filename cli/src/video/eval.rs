//! `nestcast eval` of a y4m video: encoded once, decoded at five rates.

use anyhow::{Context, Result, bail, ensure};
use nestcast_lab::eval::video::{Report, frames, rates};
use nestcast_lab::video::{Measured, Measurement};
use nestcast_media::output::Output;
use nestcast_media::{Input, is_standard};

use super::clip::{self, Clip};
use crate::args::{Eval, Transform};
use crate::files::{self, Lines};
use crate::transforms;

pub(crate) fn run(options: &Eval, input: Input<'_>) -> Result<()> {
    options.picture.refuse()?;
    let both = options.decoder.is_some_and(|asked| asked.len() > 1);
    ensure!(!both, "--decoder both is for pictures: measure a video twice, with one decoder each");
    ensure!(options.grid.is_none(), "--grid is for pictures: for a video give --bitrates");
    #[cfg(feature = "perceptual")]
    ensure!(!options.perceptual, "--perceptual is for pictures: leave it out");
    clip::model(&options.common)?;
    let piped = piped(options)?;
    let place = |path| Output::new(path, &[input.path()]);
    let csv = options.csv.as_deref().map(place).transpose()?;
    #[cfg(feature = "plot")]
    let plot = options.plot.as_deref().map(place).transpose()?;
    let clip = Clip::open(input, &options.video, options.common.max_pixels, 8)?;
    let (report, measured) = measure(options, clip)?;
    #[cfg(feature = "plot")]
    if let Some(output) = plot {
        output.write(report.chart()?.as_bytes())?;
    }
    if let Some(output) = &csv {
        output.write(frames(&measured)?.as_bytes())?;
    }
    if options.json {
        return if piped { Lines::Error } else { Lines::Output }.print_pretty(&report);
    }
    if piped {
        return Ok(());
    }
    files::print_result(&report.table())
}

/// Returns whether the table or the plot goes to standard output, which only one of them can.
fn piped(options: &Eval) -> Result<bool> {
    let outputs = [
        options.csv.as_deref(),
        #[cfg(feature = "plot")]
        options.plot.as_deref(),
    ];
    let count = outputs.into_iter().flatten().filter(|output| is_standard(output)).count();
    ensure!(count < 2, "--csv and --plot cannot both go to standard output: name a file for one of them");
    Ok(count == 1)
}

fn measure(options: &Eval, mut clip: Clip) -> Result<(Report, Measured)> {
    let (coding, size, rate) = (&options.video, clip.frames.size(), clip.frames.rate());
    let settings = coding.settings(size, rate, options.common.threads());
    let bitrates = coding.bitrates(size, rate);
    let (renditions, effort) = (coding.renditions.unwrap_or(1), coding.effort.unwrap_or_default());
    let mut measurement = Measurement::new(&settings, renditions, effort, &rates(bitrates))?;
    if options.decoder.is_some_and(|asked| asked == [Transform::Deep]) {
        measurement = measurement.with_restoration(&transforms::restoration(options.common.threads())?);
    }
    let broken = clip.for_each(|picture| measurement.push(picture).context("the video cannot be measured"))?;
    if let Some(error) = broken {
        let (name, start, end) = (&clip.name, clip.frames.start(), error.broken_at().unwrap_or_default());
        bail!("{name} is refused: {error}: --frames {start}..{end} uses the frames before it");
    }
    let measured = measurement.finish();
    let report = Report::new(&clip.name, size, rate, &measured);
    Ok((report, measured))
}
