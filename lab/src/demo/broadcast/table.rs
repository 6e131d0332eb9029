//! The live table: a line for each receiver, redrawn in a terminal, plain and rarer elsewhere.

use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::watch::{self, Notebook, Seen};
use crate::clip::Clip;

const HEAD: &str = "link          kbit/s  frames/s  bytes a frame     PSNR   latency";
/// States between two plain ones.
const PLAIN_EVERY: u32 = 12;

/// The table; it goes when it is dropped.
pub(super) struct Table {
    note: fn(&str),
    rows: Vec<(&'static str, Notebook, ProgressBar)>,
    screen: MultiProgress,
    began: Instant,
    states: u32,
}

impl Table {
    pub(super) fn new(note: fn(&str), receivers: impl Iterator<Item = (&'static str, Notebook)>) -> Self {
        let screen = MultiProgress::new();
        let line = || {
            let bar = screen.add(ProgressBar::new_spinner());
            bar.with_style(ProgressStyle::with_template("{msg}").expect("the template is valid"))
        };
        let head = line();
        head.set_message(HEAD);
        let rows = receivers.map(|(name, notebook)| (name, notebook, line())).collect();
        Self { note, rows, screen, began: Instant::now(), states: 0 }
    }

    /// Shows the last second.
    pub(super) fn refresh(&mut self, clip: &Clip) {
        let plain = self.screen.is_hidden() && self.states > 0 && self.states.is_multiple_of(PLAIN_EVERY);
        self.states += 1;
        if plain {
            (self.note)(&format!("{:.0} s on air\n{HEAD}", self.began.elapsed().as_secs_f64()));
        }
        for (name, notebook, bar) in &self.rows {
            let row = row(name, &watch::open(notebook).seen, clip);
            if plain {
                (self.note)(&row);
            }
            bar.set_message(row);
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // Nothing depends on a terminal that takes no more.
        let _ = self.screen.clear();
    }
}

fn row(name: &str, seen: &[Seen], clip: &Clip) -> String {
    let second = usize::try_from(clip.frames_in(1)).unwrap_or(1).max(1);
    let last = seen.last().map_or(0, |seen| seen.id);
    let recent: Vec<&Seen> = seen.iter().rev().take_while(|seen| seen.id + second as u64 > last).collect();
    if recent.is_empty() {
        return format!("{name:<12}  waiting for the first frame");
    }
    let count = recent.len();
    let bytes: usize = recent.iter().map(|seen| seen.bytes).sum();
    let psnr = recent.iter().map(|seen| seen.psnr).sum::<f64>() / count as f64;
    let mut latencies: Vec<_> = recent.iter().map(|seen| seen.latency).collect();
    latencies.sort();
    format!(
        "{name:<12}  {:>6}  {count:>8}  {:>13}  {psnr:>4.1} dB  {:>4} ms",
        bytes * 8 / 1000,
        bytes / count,
        latencies[count / 2].as_millis()
    )
}
