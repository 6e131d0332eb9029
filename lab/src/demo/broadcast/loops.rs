//! What the page plays: a few seconds of what each receiver showed, next to the rivals.

use std::ops::Range;

use anyhow::Result;
use nestcast_codec::Picture;

use super::air::Receiver;
use super::played::ids;
use super::row::Row;
use super::rungs::Ladder;
use crate::canvas::{Canvas, Colour};
use crate::clip::Clip;
use crate::motion_jpeg::MotionJpeg;
use crate::thumbnail::thumbnail;
use crate::{animation, sheet};

/// Longest side of a picture in a loop.
const MAX_SIDE: u32 = 400;
/// Pixels between pictures that play side by side.
const GAP_PIXELS: usize = 8;
const PAPER_COLOUR: Colour = [127, 127, 127];

/// Pictures that play side by side.
pub(super) struct Loop {
    /// Each pane's name, and its mean PSNR of luma in dB while it plays.
    pub(super) panes: Vec<Pane>,
    /// The pictures of one frame, by pane.
    pub(super) stills: Vec<Picture>,
    /// The whole loop as an animated picture.
    pub(super) file: Vec<u8>,
}

/// One of the pictures that play side by side.
pub(super) struct Pane {
    pub(super) name: String,
    pub(super) psnr: f64,
}

/// The successive pictures of a pane; a frame without a picture repeats the one before it.
struct Reel {
    pane: Pane,
    pictures: Vec<Picture>,
}

impl Reel {
    /// Collects each frame's picture and PSNR; `None` if no frame has a picture.
    fn new(
        name: String,
        ids: Range<u64>,
        frame: impl Fn(u64) -> Result<Option<(Picture, f64)>>,
    ) -> Result<Option<Self>> {
        let (mut pictures, mut psnr, mut shown): (Vec<Option<Picture>>, f64, u32) = (Vec::new(), 0.0, 0);
        for id in ids {
            if let Some((picture, db)) = frame(id)? {
                (psnr, shown) = (psnr + db, shown + 1);
                pictures.push(Some(thumbnail(&picture, MAX_SIDE)?));
            } else {
                pictures.push(pictures.last().cloned().flatten());
            }
        }
        let Some(first) = pictures.iter().flatten().next().cloned() else { return Ok(None) };
        let pictures = pictures.into_iter().map(|picture| picture.unwrap_or_else(|| first.clone())).collect();
        Ok(Some(Self { pane: Pane { name, psnr: psnr / f64::from(shown) }, pictures }))
    }
}

/// Plays what a receiver showed, next to x264 and JPEG at the receiver's rate.
pub(super) fn play(
    clip: &Clip,
    receiver: &Receiver,
    rows: &[Row],
    (ladder, jpegs): (Option<&Ladder>, &MotionJpeg),
) -> Result<Loop> {
    let ids = ids(clip);
    let row = |id: u64| rows.binary_search_by_key(&id, |row| row.id).ok();
    let nestcast = |id| Ok(row(id).and_then(|at| Some((receiver.seen[at].picture.clone()?, rows[at].psnr))));
    let jpeg = |id| {
        let Some((quality, psnr)) = row(id).and_then(|at| rows[at].jpeg) else { return Ok(None) };
        Ok(Some((jpegs.picture(clip.index(id), quality)?, psnr)))
    };
    let mut reels = vec![Reel::new("nestcast".to_owned(), ids.clone(), nestcast)?];
    let rate = receiver.link.rate(clip.time(ids.start));
    if let Some(rung) = ladder.and_then(|ladder| ladder.best(rate)) {
        let name = format!("x264 at {} Mbit/s", f64::from(rung.rate) / 1e6);
        reels.push(Reel::new(name, ids.clone(), |id| Ok(rung.picture(id).cloned().zip(rung.psnr(id))))?);
    }
    reels.push(Reel::new("JPEG of the same bytes".to_owned(), ids, jpeg)?);
    let reels: Vec<Reel> = reels.into_iter().flatten().collect();
    let count = reels.iter().map(|reel| reel.pictures.len()).min().unwrap_or(0);
    let strips: Result<Vec<Picture>> = (0..count).map(|at| strip(&reels, at)).collect();
    let file = if count > 0 { animation::encode(&strips?, clip.rate().interval())? } else { Vec::new() };
    let stills = reels.iter().map(|reel| reel.pictures[count / 2].clone()).collect();
    Ok(Loop { panes: reels.into_iter().map(|reel| reel.pane).collect(), stills, file })
}

fn strip(reels: &[Reel], at: usize) -> Result<Picture> {
    let size = reels[0].pictures[at].size();
    let mut canvas = Canvas::new(reels.len() * (size.width() + GAP_PIXELS) - GAP_PIXELS, size.height(), PAPER_COLOUR);
    for (number, reel) in reels.iter().enumerate() {
        canvas.place((number * (size.width() + GAP_PIXELS), 0), &reel.pictures[at]);
    }
    Ok(canvas.finish()?)
}

impl Loop {
    /// Returns the cells of a contact sheet, one for each pane.
    pub(super) fn cells(&self) -> impl Iterator<Item = sheet::Cell> {
        self.panes.iter().zip(&self.stills).map(|(pane, still)| sheet::Cell {
            picture: Some(still.clone()),
            name: pane.name.clone(),
            figures: format!("{:.1} dB", pane.psnr),
        })
    }
}
