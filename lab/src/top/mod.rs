//! `nestcast top`: a running sender's figures on a terminal, from its page for Prometheus.

mod page;
mod samples;
mod table;

use std::io;
use std::time::{Duration, Instant};

use console::Term;

pub use page::PageError;
use samples::Samples;
use table::table;

/// Columns of text where the output is no terminal.
const PLAIN_COLUMNS: usize = 120;

/// Shows the figures of the sender whose page for Prometheus is at `address`, as `HOST:PORT` or a URL, every `interval`. On a
/// terminal each showing takes the place of the one before it; elsewhere showings follow each other, an empty line
/// apart. Returns once output ends or, with `once`, after the first showing, whose rates are those of one interval.
///
/// # Errors
/// [`PageError`] if the page cannot be read.
pub fn run(address: &str, interval: Duration, once: bool) -> Result<(), PageError> {
    let address = host_and_port(address);
    let terminal = Term::stdout();
    let mut before = read(address)?;
    loop {
        std::thread::sleep(interval);
        let now = read(address)?;
        let size = terminal.is_term().then(|| terminal.size_checked()).flatten();
        let (rows, columns) = size.map_or((usize::MAX, PLAIN_COLUMNS), |(rows, columns)| (rows.into(), columns.into()));
        let text = table(address, &before, &now, rows.saturating_sub(1), columns);
        if show(&terminal, &text).is_err() || once {
            return Ok(());
        }
        before = now;
    }
}

/// Returns an address without the other parts of a URL.
fn host_and_port(address: &str) -> &str {
    let bare = address.split_once("://").map_or(address, |(_, rest)| rest);
    bare.split('/').next().unwrap_or(bare)
}

fn read(address: &str) -> Result<(Instant, Samples), PageError> {
    let text = page::get(address)?;
    Ok((Instant::now(), Samples::parse(&text)))
}

fn show(terminal: &Term, text: &str) -> io::Result<()> {
    if terminal.is_term() {
        terminal.clear_screen()?;
    }
    terminal.write_line(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_an_address_too() {
        for text in ["[::1]:9433", "http://[::1]:9433", "https://[::1]:9433", "http://[::1]:9433/metrics"] {
            assert_eq!(host_and_port(text), "[::1]:9433");
        }
    }
}
