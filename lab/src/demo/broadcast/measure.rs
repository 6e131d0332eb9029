//! The figures and pictures of the broadcast's report.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::air::{Outcome, Receiver};
use super::loops::{self, Loop};
use super::played;
use super::row::Row;
use super::rungs::Ladder;
use super::schedule::LENGTH_SECONDS;
use super::video::Video;
use super::watch::Seen;
use crate::clip::Clip;
use crate::link::Link;
use crate::motion_jpeg::MotionJpeg;
use crate::progress::Progress;
use crate::x264::X264;

/// The first second does not count, because the sender is still finding the rate.
const SETTLED_SECONDS: f64 = 1.0;

/// Everything that the page shows.
pub(super) struct Report<'a> {
    pub(super) video: &'a Video,
    pub(super) columns: Vec<Column>,
    /// The number of encoded frames, and the mean time to encode one.
    pub(super) frames: u64,
    pub(super) encode: Duration,
    /// The mean time to decode a frame.
    pub(super) decode: Duration,
    /// Why x264 is missing, if it is.
    pub(super) missing: Option<String>,
}

/// One receiver's figures.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) link: Link,
    pub(super) rows: Vec<Row>,
    /// Frames that were due while the receiver was connected and that it did not show.
    pub(super) missed: u64,
    /// Payload divided by the link's capacity, after the first second.
    pub(super) used: f64,
    /// Mean PSNR after the first second.
    pub(super) psnr: f64,
    pub(super) x264: Option<f64>,
    /// Mean PSNR of the frames that have a JPEG, and the fraction of frames that have one.
    pub(super) jpeg: Option<f64>,
    pub(super) jpeg_share: f64,
    pub(super) latency: [Duration; 2],
    pub(super) queue_p95: Duration,
    pub(super) played: Loop,
}

impl Column {
    /// Returns the mean bytes of a frame after the first second.
    pub(super) fn bytes_a_frame(&self) -> usize {
        let settled: Vec<usize> = settled(&self.rows).map(|row| row.bytes).collect();
        settled.iter().sum::<usize>() / settled.len().max(1)
    }
}

pub(super) fn measure(video: &Video, outcome: Outcome) -> Result<Report<'_>> {
    let clip = &*video.clip;
    let Outcome { receivers, sent } = outcome;
    let found = X264::find();
    let missing = found.as_ref().err().map(|error| format!("{error:#}"));
    let ladder = found.ok().map(|x264| Ladder::new(clip, &x264, &played::ids(clip))).transpose()?;
    let jpegs = MotionJpeg::new(Arc::clone(&video.clip));
    let progress =
        Progress::of("JPEG of the same bytes", Some(receivers.iter().map(|one| one.seen.len() as u64).sum()));
    // One thread for each column, because the animated pictures take most of the time.
    let columns = thread::scope(|scope| {
        let column = |receiver| column(clip, receiver, (ladder.as_ref(), &jpegs), &progress);
        let threads: Vec<_> = receivers.iter().map(|receiver| scope.spawn(move || column(receiver))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().ok().context("a thread broke off: please report this")?);
        joined.collect::<Result<Vec<Column>>>()
    })?;
    let each = |time: Duration, frames: u64| time / u32::try_from(frames).unwrap_or(u32::MAX).max(1);
    let decode = receivers.iter().map(|receiver| receiver.decode).sum();
    let decode = each(decode, receivers.iter().map(|receiver| receiver.seen.len() as u64).sum());
    let frames = clip.frames_in(LENGTH_SECONDS);
    let encode = each(sent.encode_time, sent.frames);
    Ok(Report { video, columns, frames, encode, decode, missing })
}

fn column(
    clip: &Clip,
    receiver: &Receiver,
    (ladder, jpegs): (Option<&Ladder>, &MotionJpeg),
    progress: &Progress,
) -> Result<Column> {
    let mut rows = Vec::new();
    for seen in &receiver.seen {
        rows.push(row(clip, receiver, seen, (ladder, jpegs))?);
        progress.step();
    }
    let (first, last) = rows.first().zip(rows.last()).context("a receiver saw nothing")?;
    let due = last.id - first.id + 1;
    let from = Duration::from_secs_f64(SETTLED_SECONDS);
    let to = Duration::from_secs(LENGTH_SECONDS.into());
    let payload: usize = settled(&rows).map(|row| row.bytes).sum();
    let mut latencies: Vec<Duration> = settled(&rows).map(|row| row.latency).collect();
    let mut waits: Vec<Duration> =
        receiver.passages.iter().filter(|passage| passage.at >= from).filter_map(|passage| passage.wait).collect();
    let jpeg_count = rows.iter().filter(|row| row.jpeg.is_some()).count();
    Ok(Column {
        name: receiver.name,
        link: receiver.link.clone(),
        missed: due - rows.len() as u64,
        used: payload as f64 * 8.0 / receiver.link.capacity(from, to),
        psnr: mean(settled(&rows).map(|row| row.psnr)).unwrap_or(0.0),
        x264: mean(settled(&rows).filter_map(|row| row.x264)),
        jpeg: mean(settled(&rows).filter_map(|row| Some(row.jpeg?.1))),
        jpeg_share: jpeg_count as f64 / rows.len() as f64,
        latency: [quantile(&mut latencies, 50), quantile(&mut latencies, 95)],
        queue_p95: quantile(&mut waits, 95),
        played: loops::play(clip, receiver, &rows, (ladder, jpegs))?,
        rows,
    })
}

fn row(
    clip: &Clip,
    receiver: &Receiver,
    &Seen { id, bytes, latency, psnr, .. }: &Seen,
    (ladder, jpegs): (Option<&Ladder>, &MotionJpeg),
) -> Result<Row> {
    let index = clip.index(id);
    let quality = jpegs.fitting(index, bytes)?;
    let jpeg = quality.map(|quality| anyhow::Ok((quality, jpegs.psnr(index, quality)?))).transpose()?;
    let rung = ladder.and_then(|ladder| ladder.best(receiver.link.rate(clip.time(id))));
    let x264 = rung.and_then(|rung| rung.psnr(id));
    Ok(Row { id, seconds: clip.time(id).as_secs_f64(), bytes, latency, psnr, x264, jpeg })
}

fn settled(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.seconds >= SETTLED_SECONDS)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the value that `percent` percent of the values do not exceed.
fn quantile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort();
    values.get((values.len() * percent / 100).min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}
