//! The `nestcast` command: parses its arguments, runs one subcommand, reports failure in one line.

mod advice;
mod args;
mod cut;
mod decode;
#[cfg(feature = "demo")]
mod demo;
mod encode;
mod eval;
mod files;
mod inspect;
mod live;
mod pictures;
#[cfg(feature = "retrieval")]
mod retrieval;
mod transforms;
mod video;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, Command};

/// Keeps the memory of one frame for the next; the system's allocator hands it back and takes it anew, which
/// costs a decoder up to a third of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !matches!(arguments.command, Command::Send(_) | Command::Receive(_)) {
        nestcast_media::output::end_without_temporary_files();
    }
    let done = match &arguments.command {
        Command::Encode(options) => encode::run(options),
        Command::Decode(options) => decode::run(options),
        Command::Cut(options) => cut::run(options),
        Command::Inspect(options) => inspect::run(options),
        Command::Eval(options) => eval::run(options),
        #[cfg(feature = "retrieval")]
        Command::Index(options) => retrieval::index(options),
        #[cfg(feature = "retrieval")]
        Command::Search(options) => retrieval::search(options),
        Command::Send(options) => live::send(options),
        Command::Receive(options) => live::receive(options),
        #[cfg(feature = "demo")]
        Command::Demo(options) => demo::run(options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            files::complain(&error);
            ExitCode::FAILURE
        }
    }
}
