//! The broadcast's demo: one sender, three receivers behind links of 0.3, 1 and 4 Mbit/s.

mod air;
mod chart;
mod clip;
mod measure;
mod page;
mod rival;
mod sheet;
mod table;
mod watch;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use nestcast_media::picture;

use super::save;
use crate::args::Demo;
use crate::files;
use crate::transforms::Model;
use clip::Clip;
use measure::{Column, Report};

const PAGE: &str = "broadcast.html";
const SHEET: &str = "broadcast-sheet.png";
const TABLE: &str = "broadcast.csv";

/// Broadcasts `video`, or the built-in one; gives what to tell the user.
pub(super) fn run(options: &Demo, video: Option<&Path>, model: &Model) -> Result<String> {
    let clip = Arc::new(Clip::open(video, options.common.max_pixels)?);
    files::note(&format!("broadcasting for {} s to three receivers", air::SECONDS));
    let outcome = air::broadcast(&clip, model)?;
    let report = measure::measure(&clip, outcome)?;
    let files = [
        (PAGE, page::write(&report)?.into_bytes()),
        (SHEET, picture::encode_png(&sheet::draw(&report)?)?),
        (TABLE, csv(&report)),
    ];
    save(options, &files)?;
    Ok(describe(&report, &options.output))
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

fn describe(report: &Report<'_>, folder: &Path) -> String {
    let size = report.clip.size;
    let mut text = format!(
        "{}, {}x{}, broadcast for {} s, {} frames encoded once\n\n\
         link          used  frames  missed   PSNR dB   JPEG dB  with JPEG   latency p50, p95   queue p95\n",
        report.clip.name,
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
    let place = |file: &str| folder.join(file).display().to_string();
    let _ = write!(
        text,
        "\nThe 4 Mbit/s link falls to 1 Mbit/s from second 5 to 8. JPEG: the best that fits into the same bytes, frame by\n\
         frame, and the part of the frames that have one.\n\n\
         page           {}\ncontact sheet  {}\nevery frame    {}\n",
        place(PAGE),
        place(SHEET),
        place(TABLE)
    );
    text
}
