//! The broadcast: one sender and three receivers, over links of 0.3, 1 and 4 Mbit/s.

mod air;
mod charts;
mod loops;
mod measure;
mod page;
mod played;
mod row;
mod rungs;
mod schedule;
mod sheet;
mod video;
mod watch;

use std::fmt::Write;

use anyhow::Result;
use nestcast_media::picture::encode_png;

use self::measure::Report;
use self::row::figure;
use self::schedule::LENGTH_SECONDS;
use super::{File, Setup, Shown};

pub use self::video::Video;

/// Broadcasts a video and measures what receivers show.
///
/// # Errors
/// Those of the broadcast; also if a receiver shows nothing.
pub fn run(setup: &Setup<'_>, video: &Video) -> Result<Shown> {
    (setup.note)(&format!("broadcasting for {} s to three receivers", LENGTH_SECONDS));
    let outcome = air::broadcast(setup, &video.clip)?;
    let report = measure::measure(video, outcome)?;
    if let Some(missing) = &report.missing {
        (setup.note)(&format!("x264 is left out: {missing}"));
    }
    let page = page::write(&report)?.into_bytes();
    let files = vec![
        File { what: "page", name: "broadcast.html", bytes: page },
        File { what: "contact sheet", name: "broadcast-sheet.png", bytes: encode_png(&sheet::draw(&report)?)? },
        File { what: "every frame", name: "broadcast.csv", bytes: csv(&report) },
    ];
    Ok(Shown { summary: describe(&report), files })
}

/// Returns CSV with a line for each frame that was shown.
fn csv(report: &Report<'_>) -> Vec<u8> {
    let mut text =
        "link,frame,seconds,bytes,latency_ms,luma_psnr_db,x264_psnr_db,jpeg_quality,jpeg_psnr_db\n".to_owned();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    for column in &report.columns {
        for row in &column.rows {
            let (quality, jpeg) = row.jpeg.unzip();
            let quality = quality.map_or_else(String::new, |quality| quality.to_string());
            let _ = writeln!(
                text,
                "{},{},{:.3},{},{:.1},{:.2},{},{quality},{}",
                column.name,
                row.id,
                row.seconds,
                row.bytes,
                row.latency.as_secs_f64() * 1e3,
                row.psnr,
                number(row.x264),
                number(jpeg)
            );
        }
    }
    text.into_bytes()
}

fn describe(report: &Report<'_>) -> String {
    let size = report.video.clip.size();
    let mut text = format!(
        "{}, {}x{}, broadcast for {} s, {} frames encoded once\n\n\
         link          used  frames  missed  nestcast dB  x264 dB  JPEG dB   latency p50, p95   queue p95\n",
        report.video.name,
        size.width(),
        size.height(),
        LENGTH_SECONDS,
        report.frames
    );
    for column in &report.columns {
        let [p50, p95] = column.latency.map(|latency| latency.as_millis());
        let [x264, jpeg] = [column.x264, column.jpeg].map(figure);
        let _ = writeln!(
            text,
            "{:<12}  {:>2.0} %  {:>6}  {:>6}  {:>11.1}  {x264:>7}  {jpeg:>7}   {:>16}  {:>10}",
            column.name,
            column.used * 100.0,
            column.rows.len(),
            column.missed,
            column.psnr,
            format!("{p50}, {p95} ms"),
            format!("{} ms", column.queue_p95.as_millis())
        );
    }
    text.push_str(
        "\nThe 4 Mbit/s link falls to 1 Mbit/s from second 5 to 8. PSNR of luma. x264: the best of three renditions that the\n\
         link carries, never late. JPEG: the best that fits into nestcast's bytes, frame by frame.\n",
    );
    text
}
