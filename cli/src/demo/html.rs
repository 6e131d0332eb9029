//! What the demo's web pages share: each is one file that loads nothing from elsewhere.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nestcast_codec::Size;

const STYLE: &str = include_str!("page.css");

/// A page up to its content.
pub(super) fn begin(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>nestcast: {}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n",
        escaped(title)
    )
}

/// The rest of it.
pub(super) fn end(page: &mut String) {
    page.push_str("</body>\n</html>\n");
}

/// A picture file inside the page; `kind` is `png` or `jpeg`.
pub(super) fn image(page: &mut String, name: &str, size: Size, kind: &str, bytes: &[u8]) {
    let (width, height) = (size.width(), size.height());
    let _ = write!(page, "<img alt=\"{name}\" width=\"{width}\" height=\"{height}\" src=\"data:image/{kind};base64,",);
    STANDARD.encode_string(bytes, page);
    page.push_str("\">");
}

/// Digits in groups of three, with thin spaces that do not break.
pub(super) fn grouped(number: usize) -> String {
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

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
