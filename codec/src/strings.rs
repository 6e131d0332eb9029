//! Stripes to strings, piece by piece side by side: so an encoder with a limit stops all of them near the same piece.

use std::sync::{Mutex, PoisonError};

use crate::parallel;
use crate::pieces::{self, Cursor};
use crate::range::RangeEncoder;
use crate::segments::{Coded, Ends};
use crate::stripe::Stripe;

/// A stripe that is being coded.
struct Job {
    stripe: Stripe,
    cursor: Cursor,
    coder: RangeEncoder,
    /// Bytes written after each piece.
    marks: Vec<usize>,
}

impl Job {
    fn piece(&mut self) -> usize {
        let mut position = 0;
        let done = pieces::run(&mut self.stripe, &mut self.cursor, &mut self.coder, |now| {
            position = now;
            false
        });
        debug_assert!(done.is_ok(), "an encoder is never starved");
        self.marks.push(position);
        position
    }
}

/// How far all stripes have come.
struct Progress {
    /// For each piece how many stripes are behind it, and how many bytes they have there.
    behind: Vec<(usize, usize)>,
    /// Pieces that all stripes are behind.
    done: usize,
    ends: Ends,
    /// Whether those pieces are enough.
    enough: bool,
}

/// Codes stripes of equal units down to the last plane, or to the end of the segment that holds the `bytes`th byte of all. On
/// several threads those that are ahead come further, up to the last plane if the system grants fewer threads than asked for.
pub(crate) fn code(stripes: Vec<Stripe>, planes: u8, bytes: usize, threads: usize) -> Vec<Coded> {
    let count = stripes.len();
    let job = |stripe| Job { stripe, cursor: Cursor::new(planes), coder: RangeEncoder::new(), marks: Vec::new() };
    let mut jobs: Vec<Job> = stripes.into_iter().map(job).collect();
    let progress = Progress { behind: Vec::new(), done: 0, ends: Ends::new(count), enough: false };
    let progress = Mutex::new(progress);
    // Neighbours are alike, so they are dealt out. Without a limit each goes to its end by itself, for whoever is free.
    let hands = if bytes == usize::MAX { count } else { threads.min(count) };
    let mut dealt: Vec<Vec<&mut Job>> = (0..hands).map(|_| Vec::new()).collect();
    jobs.iter_mut().enumerate().for_each(|(at, job)| dealt[at % hands].push(job));
    parallel::for_each(threads, dealt.into_iter(), |mut jobs| {
        let mut piece = 0;
        while jobs.iter().all(|job| job.cursor.planes > 0) {
            let written: usize = jobs.iter_mut().map(|job| job.piece()).sum();
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.note(piece, jobs.len(), written, count, bytes);
            piece += 1;
            // What is enough was counted where all came, so nobody is before that.
            if progress.enough {
                break;
            }
        }
    });
    let coded = |job: Job| Coded { bytes: job.coder.finish(), marks: job.marks, whole: job.cursor.planes == 0 };
    jobs.into_iter().map(coded).collect()
}

impl Progress {
    /// So many stripes are behind a piece, with so many bytes.
    fn note(&mut self, piece: usize, stripes: usize, written: usize, all: usize, bytes: usize) {
        if self.behind.len() == piece {
            self.behind.push((0, 0));
        }
        self.behind[piece].0 += stripes;
        self.behind[piece].1 += written;
        while let Some(&(stripes, written)) = self.behind.get(self.done)
            && stripes == all
            && !self.enough
        {
            self.done += 1;
            self.enough = self.ends.close(written) && written >= bytes;
        }
    }
}
