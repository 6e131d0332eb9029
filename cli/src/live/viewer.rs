//! Shows what came: PNG pictures in a folder, or y4m on standard output.

use std::io::{self, IsTerminal as _, Stdout};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{Picture, Range};
use nestcast_lab::metrics;
use nestcast_media::picture::encode_png;
use nestcast_media::y4m::{Rate, Writer};
use nestcast_models::{KeptPackages, Package, Packages, Wanted};
use nestcast_receiver::{Announcement, Concealed, Decoding, Shown, Totals, Viewer};

use super::{lines::Line, source};
use crate::args::{Receive, Transform};
use crate::decode;
use crate::files::{self, Lines};
use crate::transforms::Model;

/// What a receiver shows on.
pub(super) struct Screen {
    model: Model,
    packages: Packages,
    decoder: Transform,
    max_pixels: u64,
    /// Threads that decode video.
    threads: usize,
    sink: Sink,
    originals: Vec<Picture>,
    /// Where lines for programs go, if anywhere.
    lines: Option<Lines>,
    /// Whether it was said that the originals are not those of what is sent.
    warned: bool,
    /// What came so far, for who waits for the end.
    totals: Arc<Mutex<Totals>>,
}

enum Sink {
    Folder(PathBuf),
    /// y4m; there is no writer before the rate is known.
    Video(Option<Writer<Stdout>>),
}

impl Screen {
    pub(super) fn new(options: &Receive) -> Result<Self> {
        let model = Model::open(&options.common)?;
        let max_pixels = options.common.max_pixels;
        let originals = options.original.as_ref().map(|path| source::originals(path, max_pixels)).transpose()?;
        let sink = if files::is_standard(&options.output) {
            let what = "standard output is a terminal, which cannot show this: pipe it to a player, or name a folder";
            ensure!(!io::stdout().is_terminal(), what);
            Sink::Video(None)
        } else {
            let folder = options.output.clone();
            let promises = decode::promised_format(&folder).filter(|_| !folder.is_dir());
            ensure!(
                promises.is_none(),
                "{} would be a folder of PNG pictures: give it a name without .{}, or pipe y4m with `-o -`",
                folder.display(),
                promises.unwrap_or_default()
            );
            files::begin_folder(&folder)?;
            Sink::Folder(folder)
        };
        let (decoder, originals) = (options.decoder, originals.unwrap_or_default());
        let lines = options.json.then(|| Lines::beside(&options.output));
        let packages = Packages::new(model.package().clone(), KeptPackages::of_user());
        let threads = options.common.threads();
        Ok(Self {
            model,
            packages,
            decoder,
            max_pixels,
            threads,
            sink,
            originals,
            lines,
            warned: false,
            totals: Arc::default(),
        })
    }

    /// Where it is found what came.
    pub(super) fn totals(&self) -> Arc<Mutex<Totals>> {
        Arc::clone(&self.totals)
    }

    fn decoding(&self, package: Package) -> Result<Decoding> {
        let decoding = Decoding::new(self.model.with_package(package).decoder(self.decoder)?);
        Ok(match self.sink {
            Sink::Folder(_) => decoding,
            Sink::Video(_) => decoding.with_ycbcr420(Range::Limited),
        })
    }

    /// The package that a broadcast is decoded with.
    fn wanted(&self, announced: &Announcement) -> Wanted {
        let (model, hash) = (announced.model, announced.package.0);
        Wanted { model, hash, networks: self.decoder == Transform::Deep }
    }

    fn psnr(&mut self, id: u64, picture: &Picture) -> Option<f64> {
        let count = self.originals.len() as u64;
        let at = usize::try_from(id.checked_rem(count)?).ok()?;
        let original = &self.originals[at];
        let alike = (original.size(), original.channels()) == (picture.size(), picture.channels());
        if !alike && !self.warned {
            self.warned = true;
            files::note("what is sent has another size or other colours than --original: no PSNR is measured");
        }
        alike.then(|| metrics::psnr(original, picture))
    }

    fn put(&mut self, id: u64, picture: &Picture) -> Result<()> {
        match &mut self.sink {
            Sink::Folder(folder) => {
                let path = folder.join(format!("frame-{id:08}.png"));
                Ok(files::output(&path, &[])?.write_frame(&encode_png(picture)?)?)
            }
            Sink::Video(Some(writer)) => writer.write(picture).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => error.into(),
                _ => nestcast_media::output::Error::of_standard(error).into(),
            }),
            Sink::Video(None) => Ok(()),
        }
    }
}

impl Viewer for Screen {
    type Error = anyhow::Error;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>> {
        let pixels = announced.size.pixels() as u64;
        let what = "the sender's pictures have";
        ensure!(pixels <= self.max_pixels, "{what} {pixels} pixels: raise --max-pixels if you trust it");
        if let Sink::Video(writer @ None) = &mut self.sink {
            let rate = Rate::new(announced.rate.0, announced.rate.1)?;
            *writer = Some(Writer::new(io::stdout(), rate));
        }
        if announced.video.is_some() {
            let decoding = Decoding::video(announced, self.threads);
            let what = "the sender's video needs tables that this version lacks: update nestcast at the older end";
            return decoding.context(what).map(Some);
        }
        self.packages.find(&self.wanted(announced)).map(|package| self.decoding(package)).transpose()
    }

    fn handle_package(&mut self, announced: &Announcement, archive: Bytes) -> Result<Option<Decoding>> {
        let package = self.wanted(announced).open(&archive)?;
        let decoding = self.decoding(package.clone())?;
        if let Err(error) = self.packages.keep(&package) {
            let error = anyhow::Error::from(error);
            files::note(&format!("the fetched model is used, but not kept: {error:#}"));
        }
        Ok(Some(decoding))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<()> {
        self.put(shown.id, shown.picture)?;
        if let Some(lines) = self.lines {
            let psnr = self.psnr(shown.id, shown.picture);
            lines.print(&Line::from((shown, psnr)))?;
        }
        Ok(())
    }

    fn conceal(&mut self, concealed: &Concealed<'_>) -> Result<()> {
        self.hold(concealed.picture)?;
        if let Some(lines) = self.lines {
            let (id, psnr_db) = (concealed.id, self.psnr(concealed.id, concealed.picture));
            lines.print(&Line::Concealed { id, psnr_db })?;
        }
        Ok(())
    }

    fn hold(&mut self, picture: &Picture) -> Result<()> {
        match self.sink {
            // It keeps what came.
            Sink::Folder(_) => Ok(()),
            Sink::Video(_) => self.put(0, picture),
        }
    }

    fn report(&mut self, totals: &Totals) -> Result<()> {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = *totals;
        if let Some(lines) = self.lines {
            lines.print(&Line::from(totals))?;
        }
        Ok(())
    }
}
