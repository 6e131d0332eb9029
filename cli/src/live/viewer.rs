//! Shows what came: PNG pictures in a folder, or y4m on standard output.

use std::fs;
use std::io::{self, IsTerminal as _, Stdout};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::Picture;
use nestcast_lab::metrics;
use nestcast_media::picture::encode_png;
use nestcast_media::y4m::{Rate, Writer};
use nestcast_models::Package;
use nestcast_receiver::{Announcement, Decoding, Shown, Totals, Viewer};

use super::{
    lines::Line,
    packages::{self, Packages},
    source,
};
use crate::args::{Receive, Transform};
use crate::files::{self, Output};
use crate::transforms::Model;

/// What a receiver shows on.
pub(super) struct Screen {
    model: Model,
    packages: Packages,
    decoder: Transform,
    max_pixels: u64,
    sink: Sink,
    last: Option<Picture>,
    originals: Vec<Picture>,
    json: bool,
    totals: Totals,
}

enum Sink {
    Folder(PathBuf),
    /// y4m; there is no writer before the rate is known.
    Video(Option<Writer<Stdout>>),
}

impl Screen {
    pub(super) fn new(options: &Receive) -> Result<Self> {
        let model = Model::open(&options.common)?;
        // Fails now rather than when the first frame is there.
        model.decoder(options.decoder)?;
        let max_pixels = options.common.max_pixels;
        let originals = options.original.as_ref().map(|path| source::originals(path, max_pixels)).transpose()?;
        let sink = if files::is_standard(&options.output) {
            let what = "standard output is a terminal, which cannot show this: pipe it to a player, or name a folder";
            ensure!(!io::stdout().is_terminal(), what);
            Sink::Video(None)
        } else {
            let folder = options.output.clone();
            let failed = || format!("{} cannot be written", folder.display());
            fs::create_dir_all(&folder).with_context(failed)?;
            let empty = fs::read_dir(&folder).with_context(failed)?.next().is_none();
            ensure!(empty, "{} is not empty: name a new folder", folder.display());
            Sink::Folder(folder)
        };
        let (decoder, json, originals) = (options.decoder, options.json, originals.unwrap_or_default());
        let packages = Packages::new(decoder, model.package().clone());
        Ok(Self { model, packages, decoder, max_pixels, sink, last: None, originals, json, totals: Totals::default() })
    }

    fn decoding(&self, package: Package) -> Result<Decoding> {
        Ok(Decoding { decoder: self.model.with_package(package).decoder(self.decoder)? })
    }

    fn psnr(&self, shown: &Shown<'_>) -> Option<f64> {
        let count = self.originals.len() as u64;
        let at = usize::try_from(shown.id.checked_rem(count)?).ok()?;
        let original = &self.originals[at];
        let alike = (original.size(), original.channels()) == (shown.picture.size(), shown.picture.channels());
        alike.then(|| metrics::psnr(original, shown.picture))
    }

    fn put(&mut self, id: u64, picture: &Picture) -> Result<()> {
        match &mut self.sink {
            Sink::Folder(folder) => {
                let path = folder.join(format!("frame-{id:08}.png"));
                Output::new(&path, &[])?.write_frame(&encode_png(picture)?)
            }
            Sink::Video(Some(writer)) => {
                writer.write(picture).context("standard output takes no more: did the player end?")
            }
            Sink::Video(None) => Ok(()),
        }
    }
}

/// One line of an error and its causes.
fn line(error: anyhow::Error) -> String {
    format!("{error:#}")
}

impl Viewer for Screen {
    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, String> {
        let pixels = announced.size.pixels() as u64;
        if pixels > self.max_pixels {
            return Err(format!("the sender's pictures have {pixels} pixels: raise --max-pixels if you trust it"));
        }
        if let Sink::Video(writer @ None) = &mut self.sink {
            let rate = Rate::new(announced.rate.0, announced.rate.1).map_err(|error| error.to_string())?;
            *writer = Some(Writer::new(io::stdout(), rate));
        }
        self.packages.find(announced).map(|package| self.decoding(package)).transpose().map_err(line)
    }

    fn handle_package(&mut self, announced: &Announcement, archive: Bytes) -> Result<Decoding, String> {
        let package = packages::checked(announced, &archive).map_err(line)?;
        let decoding = self.decoding(package).map_err(line)?;
        if let Err(error) = self.packages.keep(announced.package, &archive) {
            files::note(&format!("the fetched model is used, but not kept: {error:#}"));
        }
        Ok(decoding)
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), String> {
        self.put(shown.id, shown.picture).map_err(line)?;
        if matches!(self.sink, Sink::Video(_)) {
            self.last = Some(shown.picture.clone());
        }
        if self.json {
            Line::from((shown, self.psnr(shown))).print().map_err(line)?;
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<(), String> {
        // A folder keeps the last picture anyway.
        match self.last.take() {
            Some(picture) => {
                let shown = self.put(0, &picture).map_err(line);
                self.last = Some(picture);
                shown
            }
            None => Ok(()),
        }
    }

    fn report(&mut self, totals: &Totals) -> Result<(), String> {
        self.totals = *totals;
        if self.json {
            Line::from(totals).print().map_err(line)?;
        }
        Ok(())
    }
}
