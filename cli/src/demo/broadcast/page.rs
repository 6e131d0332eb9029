//! The broadcast's web page.

use std::fmt::Write;

use anyhow::Result;
use nestcast_media::picture;

use super::air::SECONDS;
use super::measure::{Cell, Column, Moment, Report};
use super::{chart, link_at, rival};
use crate::demo::html::{self, escaped, grouped};

pub(super) fn write(report: &Report<'_>) -> Result<String> {
    let (clip, size) = (report.clip, report.clip.size);
    let mut page = html::begin("a broadcast");
    let _ = write!(
        page,
        "<header>\n<h1>One broadcast, three links</h1>\n\
         <p>{name}, {width}&times;{height} pixels, was broadcast live for {SECONDS} seconds over QUIC: {frames} frames, each \
         <b>encoded once</b> in {encode:.1} ms. Three receivers got it at the same time, each behind a simulated link, and \
         of every frame as many bytes as its link carried in time. The fastest link falls to a quarter for three seconds. \
         No frame is encoded twice, and no receiver chooses between versions.</p>\n</header>\n",
        name = escaped(&clip.name),
        width = size.width(),
        height = size.height(),
        frames = report.frames,
        encode = report.encode.as_secs_f64() * 1e3,
    );
    table(&mut page, &report.columns);
    for moment in &report.moments {
        section(&mut page, report, moment)?;
    }
    let _ = write!(
        page,
        "<section>\n<h2>Payload over time</h2>\n<p>Dashed: what each link carries, headers included.</p>\n\
         <div class=\"wide\">{}</div>\n</section>\n\
         <section>\n<h2>Quality over time</h2>\n<p>Solid: nestcast. Dashed: JPEG of the same bytes, where there is one.</p>\n\
         <div class=\"wide\">{}</div>\n</section>\n",
        chart::bitrate(&report.columns),
        chart::quality(&report.columns)
    );
    footer(&mut page, report);
    html::end(&mut page);
    Ok(page)
}

fn table(page: &mut String, columns: &[Column]) {
    page.push_str(
        "<div class=\"wide\"><table>\n<thead><tr><th>link</th><th>used</th><th>frames</th><th>missed</th>\
         <th>nestcast <small>dB</small></th><th>JPEG <small>dB</small></th><th>frames with a JPEG</th>\
         <th>latency <small>p50, p95</small></th><th>queue <small>p95</small></th></tr></thead>\n<tbody>\n",
    );
    for column in columns {
        let [p50, p95] = column.latency.map(|latency| latency.as_millis());
        let jpeg = column.jpeg_psnr.map_or_else(|| "&ndash;".to_owned(), |psnr| format!("{psnr:.1}"));
        let _ = writeln!(
            page,
            "<tr><th>{}</th><td>{:.0} %</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{jpeg}</td><td>{:.0} %</td>\
             <td>{p50}, {p95} ms</td><td>{} ms</td></tr>",
            column.name,
            column.used * 100.0,
            column.rows.len(),
            column.missed,
            column.psnr,
            column.jpeg_share * 100.0,
            column.queue_p95.as_millis()
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn section(page: &mut String, report: &Report<'_>, moment: &Moment) -> Result<()> {
    let _ = writeln!(
        page,
        "<section>\n<h2>{:.1} s <small>one frame, as each receiver saw it</small></h2>\n<div class=\"row three\">",
        moment.seconds
    );
    for (column, cell) in report.columns.iter().zip(&moment.cells) {
        let link = link_at(column, moment.seconds);
        let (pixels, png) = (cell.picture.size(), picture::encode_png(&cell.picture)?);
        page.push_str("<figure class=\"deep\">");
        html::image(page, &format!("nestcast at {link}"), pixels, "png", &png);
        let _ = writeln!(
            page,
            "<figcaption><b>nestcast</b> at {link}: {:.2} dB <small>{} bytes</small></figcaption></figure>",
            cell.psnr,
            grouped(cell.bytes)
        );
    }
    for cell in &moment.cells {
        jpeg(page, report, cell);
    }
    page.push_str("</div>\n</section>\n");
    Ok(())
}

fn jpeg(page: &mut String, report: &Report<'_>, cell: &Cell) {
    page.push_str("<figure class=\"JPEG\">");
    let words = match &cell.jpeg {
        Some(jpeg) => {
            html::image(page, "JPEG of the same bytes", jpeg.picture.size(), "jpeg", &jpeg.file);
            format!("{:.2} dB <small>quality {}</small>", jpeg.psnr, jpeg.quality)
        }
        None => {
            let (width, height) = (report.clip.size.width(), report.clip.size.height());
            let _ =
                write!(page, "<div class=\"none\" style=\"aspect-ratio:{width}/{height}\">no JPEG is this small</div>");
            String::new()
        }
    };
    let _ = writeln!(page, "<figcaption><b>JPEG</b> {words}</figcaption></figure>");
}

fn footer(page: &mut String, report: &Report<'_>) {
    let _ = write!(
        page,
        "<footer>\n<p>One machine: real QUIC on loopback, each receiver behind a relay that lets packets through at its \
         rate, behind a queue of 100 ms, 5 ms later each way. <b>used</b>: bytes of frames that were shown, over what the \
         link carries with all headers, from the second second on. <b>missed</b>: frames that were due and not shown. \
         <b>latency</b>: from the moment a frame was due at the sender to the decoded picture. <b>queue</b>: how long packets \
         waited before the link. PSNR is over red, green and blue. nestcast is decoded by the linear decoder.</p>\n\
         <p>JPEG is {}; all links carry as much of it as of nestcast, and it is never late.</p>\n",
        rival::DESCRIPTION
    );
    if let Some(credit) = report.clip.credit {
        let _ = writeln!(page, "<p>{credit}</p>");
    }
    page.push_str("</footer>\n");
}
