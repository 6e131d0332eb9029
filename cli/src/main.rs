//! The `nestcast` command: parses its arguments, runs one subcommand, reports failure in one line.

#[cfg(feature = "access")]
mod access;
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
mod web_viewer;

#[cfg(feature = "metrics")]
use std::time::Duration;

use clap::Parser as _;
use nestcast_media::output::{self, end_at_once, end_without_temporary_files};

use crate::args::{Arguments, Command};

/// Keeps freed memory, and allocates pages of 2 MB where the system has them: with the system's allocator `decode` and
/// `encode` need 1.4 to 1.7 times as long.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| advice::of_unknown(error).exit());
    let is_live = matches!(arguments.command, Command::Send(_) | Command::Receive(_));
    if !is_live {
        end_without_temporary_files();
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
        #[cfg(feature = "access")]
        Command::Key(options) => access::key(options),
        #[cfg(feature = "access")]
        Command::Token(options) => access::token(options),
        #[cfg(feature = "metrics")]
        Command::Top(options) => {
            nestcast_lab::top::run(&options.address, Duration::from_secs(options.interval.into()), options.once)
                .map_err(Into::into)
        }
        Command::WebViewer(options) => web_viewer::run(options),
        #[cfg(feature = "demo")]
        Command::Demo(options) => demo::run(options),
    };
    // A program that reads our lines closes them when it has enough: no error. A player that closes a broadcast is one.
    if let Err(error) = &done
        && (is_live || !matches!(error.downcast_ref(), Some(output::Error::ReaderGone)))
    {
        files::complain(error);
    }
    // Everything is written. The system reclaims memory at once; ONNX Runtime would need 7 ms to free it.
    end_at_once(i32::from(done.is_err()))
}
