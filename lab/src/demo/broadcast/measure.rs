//! What the broadcast's report says, in numbers and pictures.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use nestcast_codec::Picture;

use super::Video;
use super::air::{self, MOMENTS, Outcome, Receiver};
use super::watch::Seen;
use crate::clip::Clip;
use crate::link::Link;
use crate::motion_jpeg::MotionJpeg;
use crate::progress::Progress;

/// The first second is that of finding the rate.
const SETTLED: f64 = 1.0;

/// All that is shown.
pub(super) struct Report<'a> {
    pub(super) video: &'a Video,
    pub(super) columns: Vec<Column>,
    pub(super) moments: Vec<Moment>,
    /// Frames that were encoded, and the mean time that took.
    pub(super) frames: u64,
    pub(super) encode: Duration,
}

/// One receiver's figures.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) link: Link,
    pub(super) rows: Vec<Row>,
    /// Frames that were due while it was connected and not shown.
    pub(super) missed: u64,
    /// Payload over the link's capacity, from the second second on.
    pub(super) used: f64,
    pub(super) psnr: f64,
    /// Of the frames that have a JPEG, and the part of them.
    pub(super) jpeg_psnr: Option<f64>,
    pub(super) jpeg_share: f64,
    pub(super) latency: [Duration; 2],
    pub(super) queue_p95: Duration,
}

/// A frame that one receiver showed, and the JPEG that fits into the same bytes.
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) seconds: f64,
    pub(super) bytes: usize,
    pub(super) latency: Duration,
    pub(super) psnr: f64,
    /// Quality and PSNR.
    pub(super) jpeg: Option<(u8, f64)>,
}

/// One frame as every receiver saw it.
pub(super) struct Moment {
    pub(super) seconds: f64,
    pub(super) cells: Vec<Cell>,
}

pub(super) struct Cell {
    pub(super) bytes: usize,
    pub(super) psnr: f64,
    pub(super) picture: Picture,
    pub(super) jpeg: Option<Jpeg>,
}

pub(super) struct Jpeg {
    pub(super) quality: u8,
    pub(super) psnr: f64,
    pub(super) picture: Picture,
    pub(super) file: Bytes,
}

pub(super) fn measure(video: &Video, outcome: Outcome) -> Result<Report<'_>> {
    let clip = &*video.clip;
    let Outcome { receivers, sent } = outcome;
    let rival = MotionJpeg::new(Arc::clone(&video.clip));
    let progress = Progress::new(receivers.iter().map(|receiver| receiver.seen.len()).sum());
    progress.say("JPEG of the same bytes");
    let mut columns = Vec::new();
    for receiver in &receivers {
        columns.push(column(clip, receiver, &rival, &progress)?);
    }
    let moments: Result<Vec<Moment>> =
        MOMENTS.iter().filter_map(|&seconds| moment(clip, seconds, &receivers, &rival)).collect();
    let encode = sent.encode_time / u32::try_from(sent.frames).unwrap_or(u32::MAX).max(1);
    Ok(Report { video, columns, moments: moments?, frames: sent.frames, encode })
}

fn column(clip: &Clip, receiver: &Receiver, rival: &MotionJpeg, progress: &Progress) -> Result<Column> {
    let mut rows = Vec::new();
    for seen in &receiver.seen {
        let index = clip.index(seen.id);
        let quality = rival.fitting(index, seen.bytes)?;
        let jpeg = quality.map(|quality| Ok::<_, anyhow::Error>((quality, rival.psnr(index, quality)?))).transpose()?;
        let Seen { id, bytes, latency, psnr, .. } = *seen;
        rows.push(Row { id, seconds: clip.seconds(id), bytes, latency, psnr, jpeg });
        progress.step();
    }
    let (first, last) = rows.first().zip(rows.last()).context("a receiver saw nothing: is the machine very busy?")?;
    let due = last.id - first.id + 1;
    let settled = || rows.iter().filter(|row| row.seconds >= SETTLED);
    let (from, to) = (Duration::from_secs_f64(SETTLED), Duration::from_secs(air::SECONDS.into()));
    let payload: usize = settled().map(|row| row.bytes).sum();
    let mut latencies: Vec<Duration> = settled().map(|row| row.latency).collect();
    let mut waits: Vec<Duration> =
        receiver.passages.iter().filter(|passage| passage.at >= from).filter_map(|passage| passage.wait).collect();
    let jpegs: Vec<f64> = rows.iter().filter_map(|row| row.jpeg.map(|(_, psnr)| psnr)).collect();
    Ok(Column {
        name: receiver.name,
        link: receiver.link.clone(),
        missed: due - rows.len() as u64,
        used: payload as f64 * 8.0 / receiver.link.capacity(from, to),
        psnr: mean(rows.iter().map(|row| row.psnr)).unwrap_or(0.0),
        jpeg_psnr: mean(jpegs.iter().copied()),
        jpeg_share: jpegs.len() as f64 / rows.len() as f64,
        latency: [quantile(&mut latencies, 50), quantile(&mut latencies, 95)],
        queue_p95: quantile(&mut waits, 95),
        rows,
    })
}

/// Of the frames from `seconds` on that all receivers kept, the one whose bytes are most like those of the others.
fn moment(clip: &Clip, seconds: f64, receivers: &[Receiver], rival: &MotionJpeg) -> Option<Result<Moment>> {
    let near: Vec<Vec<&Seen>> = receivers.iter().map(|receiver| kept(clip, seconds, &receiver.seen)).collect();
    let of = |id: u64| -> Option<Vec<&Seen>> {
        near.iter().map(|seen| seen.iter().find(|seen| seen.id == id).copied()).collect()
    };
    let middle: Vec<f64> = near.iter().map(|seen| median(seen.iter().map(|seen| seen.bytes).collect())).collect();
    let oddness = |seen: &[&Seen]| -> f64 {
        seen.iter().zip(&middle).map(|(seen, middle)| (seen.bytes as f64 / middle).ln().abs()).sum()
    };
    let common = near.first()?.iter().filter_map(|seen| of(seen.id));
    let typical = common.min_by(|a, b| oddness(a).total_cmp(&oddness(b)))?;
    let seconds = clip.seconds(typical[0].id);
    let cells: Result<Vec<Cell>> = typical.into_iter().filter_map(|seen| cell(clip, seen, rival)).collect();
    Some(cells.map(|cells| Moment { seconds, cells }))
}

/// The frames with a picture in the second from `seconds` on.
fn kept<'a>(clip: &Clip, seconds: f64, seen: &'a [Seen]) -> Vec<&'a Seen> {
    let near = |seen: &&Seen| (seconds..seconds + 1.0).contains(&clip.seconds(seen.id)) && seen.picture.is_some();
    seen.iter().filter(near).collect()
}

fn median(mut values: Vec<usize>) -> f64 {
    values.sort_unstable();
    values.get(values.len() / 2).map_or(1.0, |value| *value as f64)
}

fn cell(clip: &Clip, seen: &Seen, rival: &MotionJpeg) -> Option<Result<Cell>> {
    let (picture, index) = (seen.picture.clone()?, clip.index(seen.id));
    let jpeg = || {
        let Some(quality) = rival.fitting(index, seen.bytes)? else { return Ok(None) };
        let (psnr, file) = (rival.psnr(index, quality)?, rival.file(index, quality)?);
        Ok(Some(Jpeg { quality, psnr, picture: rival.picture(index, quality)?, file }))
    };
    Some(jpeg().map(|jpeg| Cell { bytes: seen.bytes, psnr: seen.psnr, picture, jpeg }))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// So many percent of the values are at most this.
fn quantile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort();
    values.get((values.len() * percent / 100).min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}
