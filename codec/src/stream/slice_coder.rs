//! Slices to payloads, pass by pass side by side: so an encoder with a limit stops all of them near the same coding pass.

use std::sync::{Mutex, PoisonError};

use crate::bitplane::scan::{self, Cursor};
use crate::bitplane::slice::Slice;
use crate::entropy::range_coder::RangeEncoder;
use crate::parallel;
use crate::stream::interleave::{Coded, Ends};

/// A slice that is being coded.
struct Job {
    slice: Slice,
    cursor: Cursor,
    coder: RangeEncoder,
    /// Bytes written after each coding pass.
    marks: Vec<usize>,
}

impl Job {
    fn code_pass(&mut self) -> usize {
        let mut position = 0;
        let done = scan::run(&mut self.slice, &mut self.cursor, &mut self.coder, |now| {
            position = now;
            false
        });
        debug_assert!(done.is_ok(), "an encoder is never starved");
        self.marks.push(position);
        position
    }
}

/// How far all slices have come.
struct Progress {
    /// For each coding pass how many slices have passed it, and how many bytes they had there.
    passed: Vec<(usize, usize)>,
    /// Coding passes that all slices have passed.
    done: usize,
    ends: Ends,
    /// Whether the limit was reached in these.
    reached: bool,
}

/// Codes slices down to the last plane, or to the end of the segment that holds the `bytes`th byte of all. On several threads
/// those that are ahead come further, up to the last plane if the system grants fewer threads than asked for.
pub(crate) fn code(slices: Vec<Slice>, planes: u8, bytes: usize, threads: usize) -> Vec<Coded> {
    let count = slices.len();
    let job = |slice| Job { slice, cursor: Cursor::new(planes), coder: RangeEncoder::new(), marks: Vec::new() };
    let mut jobs: Vec<Job> = slices.into_iter().map(job).collect();
    let progress = Progress { passed: Vec::new(), done: 0, ends: Ends::new(count), reached: false };
    let progress = Mutex::new(progress);
    // Neighbours are alike, so they are dealt out. Without a limit each is coded to its end by whichever thread is free.
    let hands = if bytes == usize::MAX { count } else { threads.min(count) };
    let mut dealt: Vec<Vec<&mut Job>> = (0..hands).map(|_| Vec::new()).collect();
    jobs.iter_mut().enumerate().for_each(|(at, job)| dealt[at % hands].push(job));
    parallel::for_each(threads, dealt.into_iter(), |mut jobs| {
        let mut pass = 0;
        while jobs.iter().all(|job| job.cursor.planes > 0) {
            let written: usize = jobs.iter_mut().map(|job| job.code_pass()).sum();
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.note(pass, jobs.len(), written, count, bytes);
            pass += 1;
            // Every slice has passed the coding pass at which the limit was reached.
            if progress.reached {
                break;
            }
        }
    });
    let coded = |job: Job| Coded { bytes: job.coder.finish(), marks: job.marks, complete: job.cursor.planes == 0 };
    jobs.into_iter().map(coded).collect()
}

impl Progress {
    /// So many slices have passed a coding pass, with so many bytes.
    fn note(&mut self, pass: usize, slices: usize, written: usize, all: usize, bytes: usize) {
        if self.passed.len() == pass {
            self.passed.push((0, 0));
        }
        self.passed[pass].0 += slices;
        self.passed[pass].1 += written;
        while let Some(&(slices, written)) = self.passed.get(self.done)
            && slices == all
            && !self.reached
        {
            self.done += 1;
            self.reached = self.ends.close(written) && written >= bytes;
        }
    }
}
