//! Contact sheets: rows of pictures with captions under a title.

use nestcast_codec::{Error, Picture};

use crate::canvas::{Canvas, Colour, Style};

/// Pixels around the sheet.
const MARGIN_PIXELS: usize = 28;
/// Pixels between columns, and between rows.
const GAP_PIXELS: usize = 16;
/// Pixels between a text and its picture.
const CLOSE_PIXELS: usize = 6;

const PAPER: Colour = [250, 250, 248];
const INK: Colour = [28, 28, 30];
const FAINT: Colour = [96, 96, 100];
const EMPTY: Colour = [232, 232, 230];

/// A row of the sheet.
#[derive(Clone, Debug)]
pub struct Row {
    /// The heading above the row; an empty one takes no room.
    pub heading: String,
    /// The cells from left to right.
    pub cells: Vec<Cell>,
}

/// A picture with two lines below it.
#[derive(Clone, Debug)]
pub struct Cell {
    /// RGB, at most as large as the sheet's cells; without a picture the cell is grey.
    pub picture: Option<Picture>,
    /// The first line.
    pub name: String,
    /// The second line.
    pub figures: String,
}

/// Draws rows of cells whose pictures are at most `width` by `height` pixels.
///
/// # Errors
/// If the sheet is larger than a picture may be.
pub fn draw(title: &str, rows: &[Row], (width, height): (usize, usize)) -> Result<Picture, Error> {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0).max(1);
    let headings = rows.iter().map(|row| row.heading.as_str()).chain([title]);
    let widest = headings.map(|heading| Style::Heading.width(heading)).max().unwrap_or(0);
    let captions = rows.iter().flat_map(|row| &row.cells).flat_map(|cell| [&cell.name, &cell.figures]);
    let caption = captions.map(|caption| Style::Caption.width(caption)).max().unwrap_or(0);
    // Columns of narrow pictures are wide enough for their captions.
    let column = width.max(caption).max((widest + GAP_PIXELS).div_ceil(columns).saturating_sub(GAP_PIXELS));
    let below = CLOSE_PIXELS + 2 * Style::Caption.height();
    let title_height = if title.is_empty() { 0 } else { Style::Heading.height() + GAP_PIXELS };
    let row_height = |row: &Row| heading_height(row) + height + below + GAP_PIXELS;
    let total: usize = rows.iter().map(row_height).sum();

    let mut canvas = Canvas::new(
        2 * MARGIN_PIXELS + columns * (column + GAP_PIXELS) - GAP_PIXELS,
        2 * MARGIN_PIXELS + title_height + total,
        PAPER,
    );
    canvas.write((MARGIN_PIXELS, MARGIN_PIXELS), title, Style::Heading, FAINT);
    let mut y = MARGIN_PIXELS + title_height;
    for row in rows {
        canvas.write((MARGIN_PIXELS, y), &row.heading, Style::Heading, INK);
        for (index, cell) in row.cells.iter().enumerate() {
            let x = MARGIN_PIXELS + index * (column + GAP_PIXELS);
            let top = y + heading_height(row);
            match &cell.picture {
                Some(picture) => canvas.place((x, top), picture),
                None => canvas.fill((x, top), (width, height), EMPTY),
            }
            canvas.write((x, top + height + CLOSE_PIXELS), &cell.name, Style::Caption, INK);
            canvas.write(
                (x, top + height + CLOSE_PIXELS + Style::Caption.height()),
                &cell.figures,
                Style::Caption,
                FAINT,
            );
        }
        y += row_height(row);
    }
    canvas.finish()
}

const fn heading_height(row: &Row) -> usize {
    if row.heading.is_empty() { 0 } else { Style::Heading.height() + CLOSE_PIXELS }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Channels, Size};

    use super::*;

    #[test]
    fn cells_stand_in_rows_and_columns() -> Result<(), Error> {
        let red = Picture::new(Size::new(40, 30)?, Channels::Rgb, [200, 0, 0].repeat(40 * 30))?;
        let cell = |picture| Cell { picture, name: "a".to_owned(), figures: "1 dB".to_owned() };
        let rows = [
            Row { heading: "first".to_owned(), cells: vec![cell(Some(red.clone())), cell(None)] },
            Row { heading: String::new(), cells: vec![cell(Some(red))] },
        ];
        let sheet = draw("a title", &rows, (40, 30))?;
        let count =
            |colour: Colour| sheet.samples().as_chunks::<3>().0.iter().filter(|pixel| **pixel == colour).count();
        assert_eq!((count([200, 0, 0]), count(EMPTY)), (2 * 40 * 30, 40 * 30));
        let pixel = |x: usize, y: usize| sheet.samples()[3 * (y * sheet.size().width() + x)];
        let first = MARGIN_PIXELS + Style::Heading.height() + GAP_PIXELS + Style::Heading.height() + CLOSE_PIXELS;
        assert_eq!(
            (pixel(MARGIN_PIXELS, first), pixel(MARGIN_PIXELS + 39, first + 29), pixel(MARGIN_PIXELS, first - 1)),
            (200, 200, 250)
        );
        Ok(())
    }
}
