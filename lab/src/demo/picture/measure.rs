//! What the demo shows: pictures at four cuts, and quality over rate.

use anyhow::Result;
use bytes::Bytes;
use nestcast_codec::{Decoder, MAX_HEADER, Picture, Stream};

use super::ladder::{Ladder, Step};
use super::photo::{Coders, Photo};
use crate::demo::Setup;
use crate::metrics;
use crate::progress::Progress;

/// The cuts shown, in percent of the stream.
const CUT_PERCENTS: [usize; 4] = [1, 5, 20, 100];
/// The name of the last column.
const JPEG_COLUMN: &str = "JPEG";
/// The curve's rates in hundredths of a bit per pixel: four where quality rises fast, then every 0.05 up to 1.5.
const SPARSE_RATES: [u32; 4] = [1, 2, 3, 7];
const RATE_STEP: u32 = 5;
const RATE_STEPS: u32 = 30;

pub(super) struct Report<'a> {
    pub(super) photo: &'a Photo,
    pub(super) model: String,
    pub(super) stream: Bytes,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
    pub(super) curves: Vec<Quality>,
}

/// One cut.
pub(super) struct Row {
    pub(super) percent: usize,
    pub(super) bytes: usize,
    pub(super) bpp: f64,
    /// The cells by column; `None` where no JPEG is this small.
    pub(super) cells: Vec<Option<Cell>>,
}

pub(super) struct Cell {
    pub(super) picture: Picture,
    pub(super) psnr: f64,
    /// The file, if the cell is a JPEG.
    pub(super) jpeg: Option<Step>,
}

pub(super) struct Quality {
    pub(super) name: &'static str,
    /// Bits per pixel and PSNR in dB, by rate.
    pub(super) points: Vec<(f64, f64)>,
}

/// Encodes a photo once and compares cuts of its stream with JPEG.
pub(super) fn measure<'a>(setup: &Setup<'_>, photo: &'a Photo, mut coders: Coders) -> Result<Report<'a>> {
    let package = setup.package;
    let picture = &photo.picture;
    let progress = Progress::new(coders.decoders.len() * (CUT_PERCENTS.len() + rates().count()));
    progress.say("encoding");
    let stream = coders.encoder.encode(picture)?;
    let columns = coders.decoders.iter().map(|decoder| decoder.0).chain([JPEG_COLUMN]).collect();
    let mut bench = Bench { picture, decoders: coders.decoders, ladder: Ladder::new(picture)?, progress };
    Ok(Report {
        photo,
        model: format!("{} ({})", package.name(), package.id()),
        stream: stream.bytes().clone(),
        columns,
        rows: bench.rows(&stream)?,
        curves: bench.curves(&stream)?,
    })
}

/// Returns the curve's rates in bits per pixel.
fn rates() -> impl Iterator<Item = f64> {
    SPARSE_RATES.into_iter().chain((1..=RATE_STEPS).map(|step| step * RATE_STEP)).map(|rate| f64::from(rate) / 100.0)
}

/// A photo, and the coders to measure it with.
struct Bench<'a> {
    picture: &'a Picture,
    /// The decoders with their names.
    decoders: Vec<(&'static str, Decoder)>,
    ladder: Ladder<'a>,
    progress: Progress,
}

impl Bench<'_> {
    /// Returns the rows of pictures.
    fn rows(&mut self, stream: &Stream) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for percent in CUT_PERCENTS {
            // Decoding needs the header; 1 % of a tiny picture's stream may be shorter.
            let prefix = stream.prefix((stream.bytes().len() * percent / 100).max(MAX_HEADER));
            let mut cells = Vec::new();
            for decoder in 0..self.decoders.len() {
                let (picture, psnr) = self.decode(&prefix, decoder)?;
                cells.push(Some(Cell { picture, psnr, jpeg: None }));
            }
            let jpeg = self.ladder.fitting(prefix.len())?;
            cells.push(jpeg.map(|(step, picture, psnr)| Cell { picture, psnr, jpeg: Some(step) }));
            rows.push(Row { percent, bytes: prefix.len(), bpp: self.bpp(prefix.len()), cells });
        }
        Ok(rows)
    }

    /// Returns the curves of quality over rate.
    fn curves(&mut self, stream: &Stream) -> Result<Vec<Quality>> {
        let mut curves = Vec::new();
        for decoder in 0..self.decoders.len() {
            let mut points = Vec::new();
            for rate in rates() {
                let prefix = stream.prefix(metrics::budget(rate, self.picture.size()).max(MAX_HEADER));
                points.push((self.bpp(prefix.len()), self.decode(&prefix, decoder)?.1));
            }
            curves.push(Quality { name: self.decoders[decoder].0, points: in_order(points) });
        }
        self.progress.say(JPEG_COLUMN);
        let most = rates().fold(0.0, f64::max);
        let front = self.ladder.front(metrics::budget(most, self.picture.size()))?;
        let points = front.into_iter().map(|(bytes, psnr)| (self.bpp(bytes), psnr)).collect();
        curves.push(Quality { name: JPEG_COLUMN, points: in_order(points) });
        Ok(curves)
    }

    fn decode(&mut self, bytes: &[u8], decoder: usize) -> Result<(Picture, f64)> {
        let (name, decoder) = &mut self.decoders[decoder];
        self.progress.say(&format!("{name} decoder"));
        decoder.reset();
        decoder.push(bytes)?;
        let decoded = decoder.render()?;
        self.progress.step();
        let psnr = metrics::psnr(self.picture, &decoded);
        Ok((decoded, psnr))
    }

    fn bpp(&self, bytes: usize) -> f64 {
        metrics::bpp(bytes, self.picture.size())
    }
}

/// Sorts points by rate, and drops those that are not finite or repeat a rate.
fn in_order(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.retain(|(_, psnr)| psnr.is_finite());
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    points
}
