//! The measurements: each writes tables into `benches/results`, from which `report` draws.

mod commands;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures nestcast and its rivals. Run it through `cargo xtask measure`, which sets up ONNX Runtime.
#[derive(Parser)]
struct Options {
    /// Folder of the results.
    #[arg(long, global = true, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/results"))]
    results: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rate and distortion of the rivals over a folder of pictures; needed again only when a rival changes.
    Rivals(commands::rivals::Options),
    /// SSIMULACRA2 and Butteraugli of nestcast and rivals at equal bytes.
    Perceptual(commands::perceptual::Options),
    /// One stream cut to each receiver of a population, against ladders of encodes.
    Population(commands::population::Options),
    /// Video: nestcast and encoders of ffmpeg at five rates, and the population figure.
    Video(commands::video::Options),
    /// VMAF and XPSNR of the same clips and rates.
    VideoPerceptual(commands::video_perceptual::Options),
    /// Video for receivers of unequal rates: nestcast, layers of one encode, simulcast, and an encode for each.
    Layers(commands::selection::Selection),
    /// Makes the clips that are derived from published files.
    Clips(commands::clips::Options),
    /// Draws a page of text, a terminal, lines, a chart and a cartoon, to measure with `nestcast eval`.
    Drawings(commands::drawings::Options),
    /// Contact sheets: nestcast next to its rivals at equal bytes.
    Sheets(commands::sheets::Options),
    /// Time and memory from 0.1 to 33 megapixels, every figure from a process of its own.
    Scaling(commands::scaling::Options),
    /// Copies the medians of the last `cargo bench` into the results.
    Timings(commands::timings::Options),
    /// Derives the table of bandwidths from a folder of traces.
    Bandwidths(commands::bandwidths::Options),
    /// Draws the report from the tables; measures nothing.
    Report,
}

fn main() -> Result<()> {
    let Options { results, command } = Options::parse();
    match command {
        Command::Rivals(options) => commands::rivals::run(&options, &results),
        Command::Perceptual(options) => commands::perceptual::run(&options, &results),
        Command::Population(options) => commands::population::run(&options, &results),
        Command::Video(options) => commands::video::run(&options, &results),
        Command::VideoPerceptual(options) => commands::video_perceptual::run(&options, &results),
        Command::Layers(options) => commands::layers::run(&options, &results),
        Command::Clips(options) => commands::clips::run(&options),
        Command::Drawings(options) => commands::drawings::run(&options),
        Command::Sheets(options) => commands::sheets::run(&options, &results),
        Command::Scaling(options) => commands::scaling::run(&options, &results),
        Command::Timings(options) => commands::timings::run(&options, &results),
        Command::Bandwidths(options) => commands::bandwidths::run(&options),
        Command::Report => commands::report::run(&results),
    }
}
