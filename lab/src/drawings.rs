//! Pictures that a program draws: what screens show, and where every error is seen. They are measured as photos are.

use anyhow::Result;
use nestcast_codec::Picture;

use crate::canvas::{Canvas, Colour, Style};
use crate::thumbnail::thumbnail;

/// The width and the height of a drawing in pixels.
const WIDTH: usize = 768;
const HEIGHT: usize = 512;
/// A page of text is drawn at twice its size, so that its letters are as small as those of a screen.
const TEXT_SCALE: usize = 2;

const WHITE: Colour = [255; 3];
const INK: Colour = [24, 24, 28];
const NIGHT: Colour = [16, 20, 28];
const SHADES: [Colour; 5] = [[208, 74, 60], [54, 120, 196], [66, 150, 84], [226, 168, 44], [126, 84, 160]];

/// The words of drawn texts.
const WORDS: [&str; 24] = [
    "the", "picture", "of", "a", "region", "that", "has", "smooth", "edges", "and", "some", "texture", "is", "cut",
    "at", "any", "byte", "after", "its", "header", "while", "every", "receiver", "watches",
];

/// Draws all of them: each with its name, RGB, 768 x 512 pixels.
///
/// # Errors
/// None: the sizes are within all limits.
pub fn all() -> Result<Vec<(&'static str, Picture)>> {
    Ok(vec![
        ("text", text()?),
        ("terminal", terminal()?),
        ("lines", lines()?),
        ("chart", chart()?),
        ("cartoon", cartoon()?),
    ])
}

/// Draws a page of small black text with a heading.
fn text() -> Result<Picture> {
    let (width, height) = (TEXT_SCALE * WIDTH, TEXT_SCALE * HEIGHT);
    let mut canvas = Canvas::new(width, height, WHITE);
    let margin = 48;
    canvas.write((margin, margin), "A page of text", Style::Heading, INK);
    let mut words = Words::new(1);
    let mut y = margin + 2 * Style::Heading.height();
    let mut line = 0;
    while y + Style::Caption.height() < height - margin {
        // The last line of a paragraph is short, and a gap follows.
        let ends = line % 9 == 8;
        let width = if ends { width / 3 } else { width - 2 * margin };
        canvas.write((margin, y), &words.line(width), Style::Caption, INK);
        y += Style::Caption.height() + if ends { 24 } else { 2 };
        line += 1;
    }
    thumbnail(&canvas.finish()?, u32::try_from(WIDTH)?)
}

/// Draws coloured lines of text on a dark ground.
fn terminal() -> Result<Picture> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, NIGHT);
    let mut words = Words::new(2);
    for (line, y) in (12..HEIGHT - 20).step_by(Style::Caption.height() + 3).enumerate() {
        let prompt = if line % 4 == 0 { "$ " } else { "  " };
        canvas.write((12, y), prompt, Style::Caption, SHADES[2]);
        let width = WIDTH * [3, 7, 5, 6][line % 4] / 8;
        let colour = if line % 4 == 0 { WHITE } else { SHADES[line % 5].map(|shade| shade / 2 + 110) };
        canvas.write((36, y), &words.line(width), Style::Caption, colour);
    }
    Ok(canvas.finish()?)
}

/// Draws fans of thin lines, close to each other and apart.
fn lines() -> Result<Picture> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, WHITE);
    for fan in 0..3_u8 {
        let from = [128.0 + 256.0 * f32::from(fan), 24.0];
        for ray in 0..40_u8 {
            let to = [f32::from(ray) * 19.0 + 8.0, 484.0];
            let colour = if fan == 1 { INK } else { SHADES[usize::from(ray / 8)] };
            canvas.line(from, to, 1.0 + f32::from(fan) * 0.5, colour);
        }
    }
    Ok(canvas.finish()?)
}

/// Draws curves and bars over a grid, with their names.
fn chart() -> Result<Picture> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, WHITE);
    canvas.write((80, 16), "Quality over rate", Style::Heading, INK);
    for step in 0..9_u8 {
        let y = 72.0 + 44.0 * f32::from(step);
        canvas.line([80.0, y], [740.0, y], 1.0, [214; 3]);
        canvas.write((24, 62 + 44 * usize::from(step)), &format!("{}", 80 - 10 * step), Style::Caption, INK);
    }
    for (bar, colour) in (0..11).zip(SHADES.iter().cycle()) {
        let height = 40 + bar * 23 % 130;
        canvas.fill((96 + bar * 58, 424 - height), (26, height), colour.map(|shade| shade / 2 + 127));
        canvas.write((96 + bar * 58, 436), &format!("{bar}"), Style::Caption, INK);
    }
    for (curve, colour) in (0..5_u8).zip(SHADES) {
        let point = |at: u8| {
            let x = f32::from(at) / 32.0;
            [80.0 + 660.0 * x, 400.0 - 300.0 * x.sqrt() * (1.0 - 0.13 * f32::from(curve)) - 12.0 * (9.0 * x).sin()]
        };
        (0..32).for_each(|at| canvas.line(point(at), point(at + 1), 2.5, colour));
        canvas.write((600, 300 + 22 * usize::from(curve)), &format!("codec {curve}"), Style::Caption, colour);
    }
    canvas.line([80.0, 424.0], [740.0, 424.0], 2.0, INK);
    canvas.line([80.0, 60.0], [80.0, 424.0], 2.0, INK);
    Ok(canvas.finish()?)
}

/// Draws flat shapes with dark outlines.
fn cartoon() -> Result<Picture> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, [150, 204, 238]);
    canvas.fill((0, 352), (WIDTH, HEIGHT - 352), [116, 178, 92]);
    canvas.disc([640.0, 96.0], 56.0, [250, 216, 90]);
    for (house, colour) in (0..4_u8).zip(SHADES) {
        let left = 40.0 + 180.0 * f32::from(house);
        let at = 40 + 180 * usize::from(house);
        canvas.fill((at, 260), (130, 130), colour.map(|shade| shade / 2 + 120));
        canvas.fill((at + 48, 320), (34, 70), INK.map(|shade| shade + 60));
        canvas.fill((at + 14, 284), (26, 26), WHITE);
        for [from, to] in [
            [[left, 260.0], [left + 130.0, 260.0]],
            [[left, 260.0], [left, 390.0]],
            [[left + 130.0, 260.0], [left + 130.0, 390.0]],
            [[left - 12.0, 262.0], [left + 65.0, 196.0]],
            [[left + 65.0, 196.0], [left + 142.0, 262.0]],
        ] {
            canvas.line(from, to, 4.0, INK);
        }
    }
    for tree in 0..6_u8 {
        let centre = [30.0 + 140.0 * f32::from(tree), 420.0 + 30.0 * f32::from(tree % 2)];
        canvas.line(centre, [centre[0], centre[1] + 60.0], 10.0, [110, 74, 48]);
        canvas.disc(centre, 30.0, INK);
        canvas.disc(centre, 26.0, [58, 132, 70]);
    }
    Ok(canvas.finish()?)
}

/// Words in an order without a pattern, the same every time.
struct Words {
    state: u32,
}

impl Words {
    const fn new(seed: u32) -> Self {
        Self { state: seed }
    }

    /// Returns as many words as fit into this width in the captions' letters.
    fn line(&mut self, width: usize) -> String {
        let mut line = String::new();
        loop {
            self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let longer = format!("{line}{} ", WORDS[(self.state >> 24) as usize % WORDS.len()]);
            if Style::Caption.width(&longer) > width {
                return line;
            }
            line = longer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_are_the_same_every_time_and_not_empty() {
        let [first, second] = [all(), all()].map(|drawn| drawn.expect("drawings"));
        assert_eq!(first, second);
        for (name, drawing) in first {
            assert_eq!((drawing.size().width(), drawing.size().height()), (WIDTH, HEIGHT), "{name}");
            let (pixels, _) = drawing.samples().as_chunks::<3>();
            let ground = pixels.iter().filter(|pixel| **pixel == pixels[0]).count();
            assert!((1000..pixels.len() - 20_000).contains(&ground), "{name}: {ground} of {}", pixels.len());
        }
    }
}
