//! Codes all slices into payloads, one coding pass of each in turn, so that an encoder with a limit stops all of them
//! near the same coding pass.

use std::sync::{Mutex, PoisonError};

use crate::bitplane::scan::{self, Cursor};
use crate::bitplane::slice::Slice;
use crate::entropy::range_coder::RangeEncoder;
use crate::entropy::record::Record;
use crate::observer::Moment;
use crate::parallel::{self, Threads};
use crate::stream::interleave::{Coded, Ends, Limit};
use crate::subband::layout::MAX_SLICES;

/// Codes the slices of pictures, one picture after another in the same memory.
#[derive(Debug, Default)]
pub(super) struct SliceCoder<R> {
    jobs: Vec<Job<R>>,
    /// For each coding pass the number of slices that have passed it, and their bytes at that point.
    passed: Vec<(usize, usize)>,
}

/// A slice that is being coded.
#[derive(Debug, Default)]
struct Job<R> {
    cursor: Cursor,
    coder: RangeEncoder<R>,
    coded: Coded<R>,
}

impl<R: Record> SliceCoder<R> {
    /// Codes slices down to the last plane, or to the end of the segment that contains the last byte within the limit.
    /// A thread always codes a pass of the slice that is least far, so that none is coded much further than needed,
    /// however many threads help.
    pub(super) fn code<'a>(
        &mut self,
        slices: impl ExactSizeIterator<Item = &'a mut Slice>,
        planes: u8,
        limit: Limit,
        threads: &Threads,
    ) {
        let Self { jobs, passed } = self;
        let count = slices.len();
        jobs.resize_with(count, Job::default);
        jobs.iter_mut().for_each(|job| job.start(planes));
        passed.clear();
        let progress = Progress { passed, done: 0, ends: Ends::new(count), reached: false };
        let mut all = slices.zip(jobs.iter_mut());
        let waiting: [Option<_>; MAX_SLICES] = std::array::from_fn(|_| all.next());
        let shared = Mutex::new((waiting, progress));
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let take = || {
            let (waiting, progress) = &mut *lock();
            let left = waiting.iter_mut().enumerate().filter(|(_, slice)| {
                slice.as_ref().is_some_and(|(_, job): &(&mut Slice, &mut Job<R>)| job.cursor.planes > 0)
            });
            let least = left.min_by_key(|(_, slice)| slice.as_ref().map(|(_, job)| job.coded.marks.len()));
            // All slices have passed the coding pass at which the limit was reached.
            least.filter(|_| !progress.reached).and_then(|(number, slice)| Some((number, slice.take()?)))
        };
        parallel::for_each(threads, 0..count, |_| {
            while let Some((number, (slice, job))) = take() {
                if limit.bytes == usize::MAX {
                    // Without a limit, slice after slice: each stays in the cache.
                    while job.cursor.planes > 0 {
                        job.code_pass(slice);
                    }
                    continue;
                }
                let pass = job.coded.marks.len();
                let written = job.code_pass(slice);
                let (waiting, progress) = &mut *lock();
                progress.note(pass, written, count, limit);
                waiting[number] = Some((slice, job));
                threads.note(Moment::Item(number));
            }
        });
        self.jobs.iter_mut().for_each(Job::finish);
    }

    /// Keeps the end of every coding pass number `passes` alone, after some ends without bytes and before some more
    /// ends with all bytes.
    pub(super) fn align(&mut self, [above, below]: [usize; 2], passes: usize) {
        for Job { coded, .. } in &mut self.jobs {
            let ends = coded.marks.iter().skip(passes - 1).step_by(passes);
            let aligned = std::iter::repeat_n(&0, above).chain(ends);
            coded.marks = aligned.chain(std::iter::repeat_n(&coded.bytes.len(), below)).copied().collect();
        }
    }

    /// The coded slices.
    pub(super) fn coded(&self) -> impl ExactSizeIterator<Item = &Coded<R>> + Clone {
        self.jobs.iter().map(|job| &job.coded)
    }
}

impl<R: Record> Job<R> {
    fn start(&mut self, planes: u8) {
        self.cursor = Cursor::new(planes);
        let Coded { bytes, marks, record, .. } = &mut self.coded;
        self.coder.restart(std::mem::take(bytes), std::mem::take(record));
        marks.clear();
    }

    /// Codes one coding pass and returns the bytes written by its end.
    fn code_pass(&mut self, slice: &mut Slice) -> usize {
        let mut position = 0;
        let done = scan::run(slice, &mut self.cursor, &mut self.coder, |now| {
            position = now;
            false
        });
        debug_assert!(done.is_ok(), "an encoder is never starved");
        self.coded.marks.push(position);
        position
    }

    fn finish(&mut self) {
        (self.coded.bytes, self.coded.record) = std::mem::take(&mut self.coder).finish_recorded();
        self.coded.complete = self.cursor.planes == 0;
    }
}

/// The depth that all slices have reached.
struct Progress<'a> {
    passed: &'a mut Vec<(usize, usize)>,
    /// Coding passes that all slices have passed.
    done: usize,
    ends: Ends,
    /// Whether the limit was reached in these passes.
    reached: bool,
}

impl Progress<'_> {
    /// Notes that one of `all` slices has passed a coding pass, with `written` bytes.
    fn note(&mut self, pass: usize, written: usize, all: usize, limit: Limit) {
        if self.passed.len() == pass {
            self.passed.push((0, 0));
        }
        self.passed[pass].0 += 1;
        self.passed[pass].1 += written;
        while let Some(&(slices, written)) = self.passed.get(self.done)
            && slices == all
            && !self.reached
        {
            self.done += 1;
            let closes = self.ends.close(written);
            self.reached = (closes || limit.shortens) && written >= limit.bytes;
        }
    }
}
