//! The broadcast's web page.

use std::time::Duration;

use anyhow::Result;
use maud::{Markup, html};

use super::measure::{Column, Report};
use super::row::figure as db;
use super::schedule::LENGTH_SECONDS;
use super::{charts, rungs};
use crate::motion_jpeg;
use crate::page::{Image, Row, chart, figure, grouped, head, page, table};

pub(super) fn write(report: &Report<'_>) -> Result<String> {
    let video = report.video;
    let size = report.video.clip.size();
    let body = html! {
        p {
            (video.name) ", " (size.width()) "\u{d7}" (size.height()) " pixels, was broadcast for " (LENGTH_SECONDS) " seconds over QUIC: "
            (report.frames) " frames of video, each " b { "encoded once" } " and predicted from those before. Three \
             receivers got it at the same time, each behind a simulated link, and of every frame as many bytes as its link carried in \
             time. The fastest link falls to a quarter for three seconds. No frame is encoded twice, and no receiver chooses between versions."
        }
        (figures(&report.columns))
        @if let Some(missing) = &report.missing { p { "x264 is left out: " (missing) "." } }
        @for column in &report.columns { (playing(column)) }
        h2 { "Quality over time" }
        p { "Solid: nestcast. Dashed: x264. Dotted: JPEG of the same bytes, where there is one." }
        (chart(&charts::quality(&report.columns))?)
        h2 { "Payload over time" }
        p { "Dashed: what each link carries, headers included." }
        (chart(&charts::bitrate(&report.columns))?)
        h2 { "Latency over time" }
        p { "From the moment a frame was due at the sender until it is handed over to be shown." }
        (chart(&charts::latency(&report.columns))?)
        (footer(report))
    };
    Ok(page("One broadcast, three links", &body))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

fn figures(columns: &[Column]) -> Markup {
    let names = [
        ("link", ""),
        ("used", ""),
        ("frames", ""),
        ("missed", ""),
        ("nestcast", "dB"),
        ("x264", "dB"),
        ("JPEG", "dB"),
    ];
    let more = [("frames with a JPEG", ""), ("latency", "p50, p95"), ("queue", "p95")];
    let heads: Vec<Markup> = names.into_iter().chain(more).map(|(name, unit)| head(name, unit, "")).collect();
    let rows = columns.iter().map(|column| {
        let [p50, p95] = column.latency.map(|latency| latency.as_millis());
        Row::plain([
            column.name.to_owned(),
            format!("{:.0} %", column.used * 100.0),
            column.rows.len().to_string(),
            column.missed.to_string(),
            format!("{:.1}", column.psnr),
            db(column.x264),
            db(column.jpeg),
            format!("{:.0} %", column.jpeg_share * 100.0),
            format!("{p50}, {p95} ms"),
            format!("{} ms", column.queue_p95.as_millis()),
        ])
    });
    table(&heads, rows)
}

/// Plays what a receiver showed next to the rivals, in a loop.
fn playing(column: &Column) -> Markup {
    let played = &column.played;
    let caption = html! { @for pane in &played.panes {
        span { b { (pane.name) } (format!(": {:.1} dB", pane.psnr)) }
    } };
    let alt = format!("What the receiver behind {} saw, next to x264 and JPEG", column.name);
    html! {
        h2 { (column.name) " " small { "a receiver's picture as it plays, " (grouped(column.bytes_a_frame())) " bytes a frame" } }
        div.wide { @if played.file.is_empty() {
            p { "This receiver saw nothing of these seconds." }
        } @else {
            (figure("strip", Image::Webp(&played.file), &alt, None, &caption))
        } }
    }
}

fn footer(report: &Report<'_>) -> Markup {
    html! { footer {
        p {
            "In virtual time: nestcast's sender, its QUIC and its receivers as they are, over simulated links with a queue of 100 ms \
             and 5 ms each way, so that no other load of the machine changes the figures; runs differ by some tenths of a decibel. " b { "used" } ": bytes of frames that were shown, over what \
             the link carries with all headers, from the second second on. " b { "missed" } ": frames that were due and not shown. "
            b { "latency" } ": from the moment a frame was due at the sender until the receiver hands it over to be shown; encoding and \
             decoding, here " (milliseconds(report.encode)) " and " (milliseconds(report.decode)) " ms, come on top. " b { "queue" } ": how \
             long packets waited before the link. PSNR is of luma. What plays is kept as WebP of quality 90."
        }
        @if report.missing.is_none() { p { "x264 is " (rungs::LADDER_DESCRIPTION) "." } }
        p { "JPEG is " (motion_jpeg::ENCODE_DESCRIPTION) "; all links carry as much of it as of nestcast, and it is never late." }
        @if let Some(credit) = report.video.credit { p { (credit) } }
    } }
}
