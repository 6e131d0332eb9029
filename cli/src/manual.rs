//! Writes the man pages and shell completions of `nestcast` into a folder: `cargo xtask manual`.

#[expect(dead_code, unused_imports, reason = "the program uses what it parses, the manual only its definitions")]
mod args;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use clap::CommandFactory as _;
use clap_complete::Shell;

const PROGRAM_NAME: &str = "nestcast";
const COMPLETION_SHELLS: [Shell; 5] = [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh];

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("usage: nestcast-manual FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nestcast-manual: {}: {error}", Path::new(&folder).display());
            ExitCode::FAILURE
        }
    }
}

/// Writes a page for the program and for each of its commands into `man`, a file for each shell into `completions`.
fn write(folder: &Path) -> io::Result<()> {
    let [man, completions] = ["man", "completions"].map(|name| folder.join(name));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(args::Arguments::command().disable_help_subcommand(true), &man)?;
    let mut command = args::Arguments::command();
    for shell in COMPLETION_SHELLS {
        clap_complete::generate_to(shell, &mut command, PROGRAM_NAME, &completions)?;
    }
    Ok(())
}
