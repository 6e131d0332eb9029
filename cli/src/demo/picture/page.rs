//! The picture's web page.

use std::fmt::Write;

use nestcast_media::picture;

use super::chart;
use super::measure::{Cell, Report, Row};
use crate::demo::html::{self, escaped, grouped};
use crate::demo::jpeg;

pub(super) fn write(report: &Report) -> anyhow::Result<String> {
    let size = report.size;
    let mut page = html::begin(&report.name);
    let _ = write!(
        page,
        "<header>\n<h1>One stream, cut anywhere</h1>\n\
         <p>{name}, {width}&times;{height} pixels, was encoded once, into {bytes} bytes. Every picture below by <b>{decoders}</b> \
         is decoded from the first bytes of that one stream. Every <b>JPEG</b> was encoded anew for its size.</p>\n</header>\n",
        name = escaped(&report.name),
        width = size.width(),
        height = size.height(),
        bytes = grouped(report.stream.len()),
        decoders = report.columns[..report.columns.len() - 1].join("</b> and <b>"),
    );
    table(&mut page, report);
    page.push_str(
        "<input type=\"radio\" name=\"view\" id=\"whole\" checked><label for=\"whole\">Whole pictures</label>\n\
         <input type=\"radio\" name=\"view\" id=\"detail\"><label for=\"detail\">Detail, pixel by pixel</label>\n<main>\n",
    );
    for row in &report.rows {
        section(&mut page, report, row)?;
    }
    page.push_str("</main>\n");
    let _ = write!(
        page,
        "<section>\n<h2>Quality over rate</h2>\n<div class=\"wide\">{}</div>\n</section>\n",
        chart::draw(report)
    );
    footer(&mut page, report);
    html::end(&mut page);
    Ok(page)
}

fn table(page: &mut String, report: &Report) {
    page.push_str("<div class=\"wide\"><table>\n<thead><tr><th>cut</th><th>bytes</th><th>bpp</th>");
    for column in &report.columns {
        let _ = write!(page, "<th class=\"{column}\">{column} <small>dB</small></th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &report.rows {
        let _ = write!(page, "<tr><th>{} %</th><td>{}</td><td>{:.3}</td>", row.percent, grouped(row.bytes), row.bpp);
        for cell in &row.cells {
            let quality = cell.as_ref().map_or_else(|| "&ndash;".to_owned(), |cell| format!("{:.2}", cell.psnr));
            let _ = write!(page, "<td>{quality}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn section(page: &mut String, report: &Report, row: &Row) -> anyhow::Result<()> {
    let _ = writeln!(
        page,
        "<section>\n<h2>{} % <small>{} bytes, {:.3} bpp</small></h2>\n<div class=\"row\">",
        row.percent,
        grouped(row.bytes),
        row.bpp
    );
    for (name, cell) in report.columns.iter().zip(&row.cells) {
        let _ = write!(page, "<figure class=\"{name}\">");
        match cell {
            None => {
                let (width, height) = (report.size.width(), report.size.height());
                let _ = write!(
                    page,
                    "<div class=\"none\" style=\"aspect-ratio:{width}/{height}\">no JPEG is this small</div>"
                );
            }
            Some(cell) => image(page, &format!("{name} at {} %", row.percent), cell)?,
        }
        let _ = writeln!(
            page,
            "<figcaption><b>{name}</b> {}</figcaption></figure>",
            cell.as_ref().map(words).unwrap_or_default()
        );
    }
    page.push_str("</div>\n</section>\n");
    Ok(())
}

fn words(cell: &Cell) -> String {
    let quality = format!("{:.2} dB", cell.psnr);
    match &cell.jpeg {
        None => quality,
        Some(step) => format!(
            "{quality} <small>{} quality {}, {} bytes</small>",
            step.sampling.name(),
            step.quality,
            grouped(step.file.len())
        ),
    }
}

/// A JPEG as the very file, anything else as PNG, so that what is seen is what was decoded.
fn image(page: &mut String, name: &str, cell: &Cell) -> anyhow::Result<()> {
    let (kind, bytes) = match &cell.jpeg {
        Some(step) => ("jpeg", step.file.clone()),
        None => ("png", picture::encode_png(&cell.picture)?),
    };
    html::image(page, name, cell.picture.size(), kind, &bytes);
    Ok(())
}

fn footer(page: &mut String, report: &Report) {
    let _ = write!(
        page,
        "<footer>\n<p>Bytes count everything that a decoder needs except the model, here {}. PSNR is over red, green and blue. \
         JPEG is {} at the highest quality that fits into the same bytes; the page holds the JPEG files themselves, and all \
         other pictures without loss.</p>\n",
        escaped(&report.model),
        jpeg::DESCRIPTION
    );
    if let Some(credit) = report.credit {
        let _ = writeln!(page, "<p>{credit}</p>");
    }
    page.push_str("</footer>\n");
}
