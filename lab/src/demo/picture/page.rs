//! The picture's web page.

use anyhow::Result;
use maud::{Markup, html};
use nestcast_media::picture::encode_png;

use super::measure::{Cell, Report, Row};
use crate::jpeg;
use crate::page::{Image, Row as Line, chart, figure, grouped, head, page, table};
use crate::plot::{Axis, Chart, Curve, Mark, Stroke, shown};

/// The range of rates on the curve, in bits per pixel.
const SHOWN_BPP: (f64, f64) = (0.0, 1.5);

pub(super) fn write(report: &Report<'_>) -> Result<String> {
    let photo = report.photo;
    let size = report.photo.picture.size();
    let decoders = &report.columns[..report.columns.len() - 1];
    let body = html! {
        p {
            (photo.name) ", " (size.width()) "\u{d7}" (size.height()) " pixels, was encoded once, into " (grouped(report.stream.len()))
            " bytes. Every picture below by "
            @for (place, name) in decoders.iter().enumerate() { @if place > 0 { " and " } b { (name) } }
            " is decoded from the first bytes of that one stream. Every " b { "JPEG" } " was encoded anew for its size."
        }
        (figures(report))
        input type="radio" name="view" id="whole" checked; label for="whole" { "Whole pictures" }
        input type="radio" name="view" id="detail"; label for="detail" { "Detail, pixel by pixel" }
        main { @for row in &report.rows { (section(report, row)?) } }
        h2 { "Quality over rate" }
        (chart(&curves(report))?)
        (footer(report))
    };
    Ok(page("One stream, cut anywhere", &body))
}

fn figures(report: &Report<'_>) -> Markup {
    let mut heads = ["cut", "bytes", "bpp"].map(|name| head(name, "", "")).to_vec();
    heads.extend(report.columns.iter().map(|column| head(column, "dB", column)));
    let rows = report.rows.iter().map(|row| {
        let quality =
            |cell: &Option<Cell>| cell.as_ref().map_or("\u{2013}".to_owned(), |cell| format!("{:.2}", cell.psnr));
        let cells = [format!("{} %", row.percent), grouped(row.bytes), format!("{:.3}", row.bpp)];
        Line::plain(cells.into_iter().chain(row.cells.iter().map(quality)))
    });
    table(&heads, rows)
}

fn section(report: &Report<'_>, row: &Row) -> Result<Markup> {
    Ok(html! {
        h2 { (row.percent) " % " small { (grouped(row.bytes)) " bytes, " (format!("{:.3} bpp", row.bpp)) } }
        div.row {
            @for (name, cell) in report.columns.iter().zip(&row.cells) {
                (shown_cell(report, name, cell.as_ref(), row.percent)?)
            }
        }
    })
}

/// Shows a JPEG as the file itself, anything else as PNG, so that the reader sees what was decoded.
fn shown_cell(report: &Report<'_>, name: &str, cell: Option<&Cell>, percent: usize) -> Result<Markup> {
    let png = cell.filter(|cell| cell.jpeg.is_none()).map(|cell| encode_png(&cell.picture)).transpose()?;
    let jpeg = cell.and_then(|cell| cell.jpeg.as_ref());
    let image = match (&png, jpeg) {
        (Some(png), _) => Image::Png(png),
        (None, Some(step)) => Image::Jpeg(&step.file),
        (None, None) => Image::Absent("no JPEG is this small"),
    };
    let caption = html! {
        b { (name) }
        @if let Some(cell) = cell { (format!(" {:.2} dB ", cell.psnr)) }
        @if let Some(step) = jpeg {
            small { (step.sampling.name()) " quality " (step.quality) ", " (grouped(step.file.len())) " bytes" }
        }
    };
    Ok(figure(name, image, &format!("{name} at {percent} %"), Some(report.photo.picture.size()), &caption))
}

fn curves(report: &Report<'_>) -> Chart {
    let stroke = |name: &str| match name {
        "deep" => Stroke::strong(0),
        "linear" => Stroke::strong(1),
        _ => Stroke { strong: false, ..Stroke::strong(2) },
    };
    let curve = |quality: &super::measure::Quality| Curve {
        name: quality.name.to_owned(),
        points: quality.points.clone(),
        stroke: stroke(quality.name),
        labels: Vec::new(),
    };
    let curves: Vec<Curve> = report.curves.iter().map(curve).collect();
    let mark = |row: &Row| Mark { range: (row.bpp, row.bpp), label: format!("{} %", row.percent) };
    Chart {
        title: "Quality over rate, and the cuts above".to_owned(),
        x: Axis::linear("rate (bits per pixel)", SHOWN_BPP),
        y: Axis::fitting("RGB PSNR (dB)", shown(&curves, SHOWN_BPP)),
        marks: report.rows.iter().filter(|row| row.bpp <= SHOWN_BPP.1).map(mark).collect(),
        curves,
    }
}

fn footer(report: &Report<'_>) -> Markup {
    html! { footer {
        p {
            "Bytes count everything that a decoder needs except the model, here " (report.model) ". PSNR is over red, green and blue. \
             JPEG is " (jpeg::ENCODE_DESCRIPTION) " at the highest quality that fits into the same bytes; the page holds the JPEG files \
             themselves, and all other pictures without loss."
        }
        @if let Some(credit) = report.photo.credit { p { (credit) } }
    } }
}
