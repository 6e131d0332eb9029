//! The broadcast's web page.

use anyhow::Result;
use maud::{Markup, html};
use nestcast_media::picture::encode_png;

use super::air::SECONDS;
use super::measure::{Cell, Column, Moment, Report};
use super::{charts, link_at};
use crate::motion_jpeg::DESCRIPTION;
use crate::page::{Image, Row, chart, figure, grouped, head, page, table};

pub(super) fn write(report: &Report<'_>) -> Result<String> {
    let (video, size) = (report.video, report.video.clip.size());
    let encode = format!("{:.1}", report.encode.as_secs_f64() * 1e3);
    let body = html! {
        p {
            (video.name) ", " (size.width()) "\u{d7}" (size.height()) " pixels, was broadcast live for " (SECONDS) " seconds over QUIC: "
            (report.frames) " frames, each " b { "encoded once" } " in " (encode) " ms. Three receivers got it at the same time, each behind \
             a simulated link, and of every frame as many bytes as its link carried in time. The fastest link falls to a quarter for \
             three seconds. No frame is encoded twice, and no receiver chooses between versions."
        }
        (figures(&report.columns))
        @for moment in &report.moments { (section(report, moment)?) }
        h2 { "Payload over time" }
        p { "Dashed: what each link carries, headers included." }
        (chart(&charts::bitrate(&report.columns))?)
        h2 { "Quality over time" }
        p { "Solid: nestcast. Dashed: JPEG of the same bytes, where there is one." }
        (chart(&charts::quality(&report.columns))?)
        (footer(report))
    };
    Ok(page("One broadcast, three links", &body))
}

fn figures(columns: &[Column]) -> Markup {
    let names = [("link", ""), ("used", ""), ("frames", ""), ("missed", ""), ("nestcast", "dB"), ("JPEG", "dB")];
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
            column.jpeg_psnr.map_or_else(|| "\u{2013}".to_owned(), |psnr| format!("{psnr:.1}")),
            format!("{:.0} %", column.jpeg_share * 100.0),
            format!("{p50}, {p95} ms"),
            format!("{} ms", column.queue_p95.as_millis()),
        ])
    });
    table(&heads, rows)
}

fn section(report: &Report<'_>, moment: &Moment) -> Result<Markup> {
    Ok(html! {
        h2 { (format!("{:.1} s ", moment.seconds)) small { "one frame, as each receiver saw it" } }
        div.row.three {
            @for (column, cell) in report.columns.iter().zip(&moment.cells) {
                (ours(&link_at(column, moment.seconds), cell)?)
            }
            @for cell in &moment.cells { (theirs(report, cell)) }
        }
    })
}

fn ours(link: &str, cell: &Cell) -> Result<Markup> {
    let png = encode_png(&cell.picture)?;
    let caption = html! {
        b { "nestcast" } " at " (link) ": " (format!("{:.2} dB ", cell.psnr)) small { (grouped(cell.bytes)) " bytes" }
    };
    Ok(figure("deep", Image::Png(&png), &format!("nestcast at {link}"), Some(cell.picture.size()), &caption))
}

fn theirs(report: &Report<'_>, cell: &Cell) -> Markup {
    let image = cell.jpeg.as_ref().map_or(Image::Absent("no JPEG is this small"), |jpeg| Image::Jpeg(&jpeg.file));
    let caption = html! {
        b { "JPEG" }
        @if let Some(jpeg) = &cell.jpeg { (format!(" {:.2} dB ", jpeg.psnr)) small { "quality " (jpeg.quality) } }
    };
    figure("JPEG", image, "JPEG of the same bytes", Some(report.video.clip.size()), &caption)
}

fn footer(report: &Report<'_>) -> Markup {
    html! { footer {
        p {
            "One machine: real QUIC on loopback, each receiver behind a relay that lets packets through at its rate, behind a queue of \
             100 ms, 5 ms later each way. " b { "used" } ": bytes of frames that were shown, over what the link carries with all headers, \
             from the second second on. " b { "missed" } ": frames that were due and not shown. " b { "latency" } ": from the moment a frame \
             was due at the sender to the decoded picture. " b { "queue" } ": how long packets waited before the link. PSNR is over red, \
             green and blue. nestcast is decoded by the linear decoder."
        }
        p { "JPEG is " (DESCRIPTION) "; all links carry as much of it as of nestcast, and it is never late." }
        @if let Some(credit) = report.video.credit { p { (credit) } }
    } }
}
