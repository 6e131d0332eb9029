//! The broadcast: one sender, three receivers behind links of 0.3, 1 and 4 Mbit/s.

mod air;
mod charts;
mod measure;
mod page;
mod sheet;
mod table;
mod watch;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use nestcast_media::picture::encode_png;
use tokio::runtime::Runtime;

use self::measure::{Column, Report};
use super::{File, Setup, Shown};
use crate::clip::Clip;

/// What is broadcast.
#[derive(Debug)]
pub struct Video {
    name: String,
    credit: Option<&'static str>,
    clip: Arc<Clip>,
}

impl Video {
    /// A clip with a name.
    #[must_use]
    pub fn new(name: String, clip: Clip) -> Self {
        Self { name, credit: None, clip: Arc::new(clip) }
    }

    /// What is built in; `assets/README.md` says where it is from.
    ///
    /// # Errors
    /// Those of [`Clip::builtin`].
    pub fn builtin() -> Result<Self> {
        const CREDIT: &str =
            "Video: a clip of the sign for \u{201c}book\u{201d} in American Sign Language, CC BY 4.0, shortened.";
        Ok(Self { credit: Some(CREDIT), ..Self::new("Sign language".to_owned(), Clip::builtin()?) })
    }

    /// Its pictures.
    #[must_use]
    pub fn clip(&self) -> &Clip {
        &self.clip
    }
}

/// Broadcasts a video, frames of at most `max_frame` bytes, and measures what came.
///
/// # Errors
/// Those of the broadcast; or if a receiver saw nothing.
pub fn run(setup: &Setup<'_>, video: &Video, max_frame: usize, runtime: &Runtime) -> Result<Shown> {
    (setup.note)(&format!("broadcasting for {} s to three receivers", air::SECONDS));
    let outcome = runtime.block_on(air::broadcast(setup, &video.clip, max_frame))?;
    let report = measure::measure(video, outcome)?;
    let page = page::write(&report)?.into_bytes();
    let files = vec![
        File { what: "page", name: "broadcast.html", bytes: page },
        File { what: "contact sheet", name: "broadcast-sheet.png", bytes: encode_png(&sheet::draw(&report)?)? },
        File { what: "every frame", name: "broadcast.csv", bytes: csv(&report) },
    ];
    Ok(Shown { summary: describe(&report), files })
}

/// A link's rate at a moment of the broadcast.
fn link_at(column: &Column, seconds: f64) -> String {
    format!("{} Mbit/s", column.link.rate(Duration::from_secs_f64(seconds)) as f64 / 1e6)
}

/// Every frame that was shown, a line each.
fn csv(report: &Report<'_>) -> Vec<u8> {
    let mut text = "link,frame,seconds,bytes,latency_ms,psnr_db,jpeg_quality,jpeg_psnr_db\n".to_owned();
    for column in &report.columns {
        for row in &column.rows {
            let milliseconds = row.latency.as_secs_f64() * 1e3;
            let _ = write!(
                text,
                "{},{},{:.3},{},{milliseconds:.1},{:.2},",
                column.name, row.id, row.seconds, row.bytes, row.psnr
            );
            let _ = match row.jpeg {
                Some((quality, psnr)) => writeln!(text, "{quality},{psnr:.2}"),
                None => writeln!(text, ","),
            };
        }
    }
    text.into_bytes()
}

fn describe(report: &Report<'_>) -> String {
    let size = report.video.clip.size();
    let mut text = format!(
        "{}, {}x{}, broadcast for {} s, {} frames encoded once\n\n\
         link          used  frames  missed   PSNR dB   JPEG dB  with JPEG   latency p50, p95   queue p95\n",
        report.video.name,
        size.width(),
        size.height(),
        air::SECONDS,
        report.frames
    );
    for column in &report.columns {
        let [p50, p95] = column.latency.map(|latency| latency.as_millis());
        let jpeg = column.jpeg_psnr.map_or_else(|| "-".to_owned(), |psnr| format!("{psnr:.2}"));
        let _ = writeln!(
            text,
            "{:<12}  {:>2.0} %  {:>6}  {:>6}  {:>8.2}  {jpeg:>8}  {:>7.0} %  {:>16}  {:>10}",
            column.name,
            column.used * 100.0,
            column.rows.len(),
            column.missed,
            column.psnr,
            column.jpeg_share * 100.0,
            format!("{p50}, {p95} ms"),
            format!("{} ms", column.queue_p95.as_millis())
        );
    }
    text.push_str(
        "\nThe 4 Mbit/s link falls to 1 Mbit/s from second 5 to 8. JPEG: the best that fits into the same bytes, frame by\n\
         frame, and the part of the frames that have one.\n",
    );
    text
}
