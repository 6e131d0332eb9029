//! Stripes to strings, piece by piece side by side: so an encoder with a limit stops all of them near the same piece.

use std::sync::{Mutex, PoisonError};

use crate::parallel;
use crate::pieces::{self, Cursor};
use crate::range::RangeEncoder;
use crate::segments::Coded;
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
    /// Bytes of the stripes that are behind a piece, for each piece.
    written: Vec<usize>,
    /// How many pieces are enough, once that is known.
    last: usize,
}

/// Codes stripes of equal units down to the last plane, or at least to the first piece behind which they have more than
/// `enough` bytes together. On several threads those that are ahead come further.
pub(crate) fn code(stripes: Vec<Stripe>, planes: u8, enough: usize, threads: usize) -> Vec<Coded> {
    let job = |stripe| Job { stripe, cursor: Cursor::new(planes), coder: RangeEncoder::new(), marks: Vec::new() };
    let mut jobs: Vec<Job> = stripes.into_iter().map(job).collect();
    let share = jobs.len().div_ceil(threads).max(1);
    let progress = Mutex::new(Progress { written: Vec::new(), last: usize::MAX });
    parallel::for_each(threads, jobs.chunks_mut(share), |jobs| {
        let mut pieces = 0;
        while jobs.iter().all(|job| job.cursor.planes > 0) {
            let written: usize = jobs.iter_mut().map(Job::piece).sum();
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.written.len() == pieces {
                progress.written.push(0);
            }
            progress.written[pieces] += written;
            pieces += 1;
            if progress.written[pieces - 1] > enough {
                progress.last = progress.last.min(pieces);
            }
            if pieces >= progress.last {
                break;
            }
        }
    });
    let coded = |job: Job| Coded { bytes: job.coder.finish(), marks: job.marks, whole: job.cursor.planes == 0 };
    jobs.into_iter().map(coded).collect()
}
