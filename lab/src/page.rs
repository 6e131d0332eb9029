//! Web pages: one style, tables and figures for the report and the demonstration. A page loads no scripts and no fonts.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use nestcast_codec::Size;

use crate::plot::{Chart, variables};

const PAGE_STYLE: &str = include_str!("page.css");

/// Returns a whole page; its title is its heading.
pub fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "nestcast: " (title) }
                style { (PreEscaped(variables())) (PreEscaped(PAGE_STYLE)) }
            }
            body { h1 { (title) } (body) }
        }
    };
    page.into_string()
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Whether the row is nestcast's, among those of others.
    pub ours: bool,
    /// The cells by column; the first names the row.
    pub cells: Vec<Markup>,
}

impl Row {
    /// Makes a row of plain texts.
    pub fn plain<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> Self {
        let cells = cells.into_iter().map(|cell| html! { (cell.as_ref()) });
        Self { ours: false, cells: cells.collect() }
    }
}

/// Makes a table with these heads.
pub fn table(heads: &[Markup], rows: impl IntoIterator<Item = Row>) -> Markup {
    html! {
        div.wide { table {
            thead { tr { @for head in heads { (head) } } }
            tbody { @for row in rows {
                tr.ours[row.ours] {
                    @for (place, cell) in row.cells.into_iter().enumerate() {
                        @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                    }
                }
            } }
        } }
    }
}

/// Makes a column's head: its name, its unit or `""`, and a class or `""`.
pub fn head(name: &str, unit: &str, class: &str) -> Markup {
    html! { th scope="col" class=[Some(class).filter(|class| !class.is_empty())] {
        (name) @if !unit.is_empty() { " " small { (unit) } }
    } }
}

/// Makes heads of plain columns.
pub fn heads<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<Markup> {
    names.into_iter().map(|name| head(name.as_ref(), "", "")).collect()
}

/// Embeds a chart in the page.
///
/// # Errors
/// Those of [`Chart::svg`].
pub fn chart(chart: &Chart) -> Result<Markup> {
    // Inside a page, an element's name implies its namespace.
    let svg = chart.svg()?.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    Ok(html! { div.wide { (PreEscaped(svg)) } })
}

/// Links a chart in a file next to the page.
pub fn linked_chart(file: &str, what: &str) -> Markup {
    html! { div.wide { img alt=(what) src=(file); } }
}

/// What a figure shows.
#[derive(Clone, Copy, Debug)]
pub enum Image<'a> {
    /// A file next to the page.
    File(&'a str),
    /// A PNG file inside the page.
    Png(&'a [u8]),
    /// A JPEG file inside the page.
    Jpeg(&'a [u8]),
    /// A WebP file inside the page.
    Webp(&'a [u8]),
    /// Words in place of a picture of this size.
    Absent(&'a str),
}

/// Makes a figure of a class, with alternative text. `size` is in pixels, where it is known.
pub fn figure(class: &str, image: Image<'_>, alt: &str, size: Option<Size>, caption: &Markup) -> Markup {
    let (width, height) = size.map(|size| (size.width(), size.height())).unzip();
    let data = |kind: &str, bytes| format!("data:image/{kind};base64,{}", STANDARD.encode(bytes));
    let source = match image {
        Image::File(file) => Some(file.to_owned()),
        Image::Png(bytes) => Some(data("png", bytes)),
        Image::Jpeg(bytes) => Some(data("jpeg", bytes)),
        Image::Webp(bytes) => Some(data("webp", bytes)),
        Image::Absent(_) => None,
    };
    html! {
        figure class=(class) {
            @if let Some(source) = source { img alt=(alt) width=[width] height=[height] src=(source); }
            @if let Image::Absent(words) = image {
                div.none style={ "aspect-ratio:" (width.unwrap_or(4)) "/" (height.unwrap_or(3)) } { (words) }
            }
            figcaption { (caption) }
        }
    }
}

/// Formats digits in groups of three, with thin spaces that do not break.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
    }

    #[test]
    fn names_cannot_break_the_page() {
        let rows = [Row::plain(["<b>", "1"])];
        let body =
            html! { (table(&heads(["a", "\"&"]), rows)) (figure("x", Image::File("\"><s>"), "<i>", None, &html! {})) };
        let page = page("<script>", &body);
        for broken in ["<b>", "<s>", "<i>", "<script>"] {
            assert!(!page.contains(broken), "{page}");
        }
        assert!(page.contains("<th scope=\"row\">&lt;b&gt;</th><td>1</td>"), "{page}");
    }

    #[test]
    fn a_figure_holds_its_file_or_says_why_there_is_none() {
        let size = Size::new(4, 2).ok();
        let shown = figure("deep", Image::Png(b"png"), "a", size, &html! { "c" }).into_string();
        assert!(shown.contains("width=\"4\" height=\"2\" src=\"data:image/png;base64,cG5n\""), "{shown}");
        let absent = figure("JPEG", Image::Absent("none"), "a", size, &html! {}).into_string();
        assert!(absent.contains("aspect-ratio:4/2") && !absent.contains("<img"), "{absent}");
    }
}
