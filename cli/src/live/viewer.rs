//! Shows a broadcast: PNG pictures in a folder, or y4m on standard output.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nestcast_codec::{Display, FrameRate, Matrix, Picture, Restoration, Ycbcr};
use nestcast_lab::originals::Originals;
use nestcast_media::output::{self, FramePlace, FrameWriter, promised_format};
use nestcast_media::y4m::Note;
use nestcast_media::{Input, is_standard};
use nestcast_models::{KeptPackages, Package, Packages, Wanted};
use nestcast_proto::Sound;
use nestcast_receiver::{Announcement, Concealed, Decoding, PlayStats, Shown, SoundBlock, SoundMode, Totals, Viewer};

use super::lines::Line;
use super::process;
use super::sound::Speaker;
use crate::args::{Receive, Transform};
use crate::files::{self, Lines};
use crate::transforms::{self, Model};

/// The state with which a receiver shows frames.
pub(super) struct Screen {
    model: Model,
    packages: Packages,
    /// The decoder of pictures: the one that the user asked for, or the default one after a broadcast of pictures is
    /// announced.
    decoder: Option<Transform>,
    /// The restoration of video frames, if the linear decoder is not used alone.
    restoration: Option<Arc<dyn Restoration>>,
    place: FramePlace,
    /// The bits of a sample that the first announcement fixed, for all frames.
    bits: Option<u8>,
    /// The writer of frames, after their rate is known.
    frames: Option<FrameWriter>,
    /// The frame rate of the broadcast.
    rate: FrameRate,
    speaker: Option<Speaker>,
    /// The last picture, which is repeated until the next one's place in a recording.
    last: Option<Picture>,
    originals: Option<Originals>,
    /// The target of lines for programs, if any.
    lines: Option<Lines>,
    /// Whether a note has said that the originals differ from what is sent.
    warned: bool,
    /// The totals so far, for the task that waits for the end.
    pub(super) totals: Arc<Mutex<Totals>>,
}

impl Screen {
    pub(super) fn new(options: &Receive) -> Result<Self> {
        let model = Model::open(&options.common)?;
        let max_pixels = options.common.max_pixels;
        let read = |path: &PathBuf| Originals::read(Input::open(path)?, max_pixels);
        let originals = options.original.as_ref().map(read).transpose()?;
        let path = &options.output;
        if is_standard(path) {
            let what = "standard output is a terminal, which cannot show this: pipe it to a player, or name a folder";
            ensure!(!io::stdout().is_terminal(), what);
            let is_taken = options.sound.as_deref().is_some_and(is_standard);
            ensure!(!is_taken, "pictures and sound cannot both go to standard output: name a file for one of them");
        }
        let is_video = is_standard(path) || promised_format(path) == Some("y4m");
        let place = if is_video { FramePlace::new(path, &[])? } else { FramePlace::folder(path)? };
        let deep = options.decoder == Some(Transform::Deep);
        let restoration = deep.then(|| transforms::restoration(model.threads)).transpose()?;
        let shared = options.sound.as_deref().filter(|sound| is_standard(sound)).unwrap_or(path);
        let lines = options.json.then(|| Lines::next_to(shared));
        let packages = Packages::new(model.package.clone(), KeptPackages::of_user());
        Ok(Self {
            model,
            packages,
            decoder: options.decoder,
            restoration,
            place,
            bits: None,
            frames: None,
            rate: FrameRate::new(1, 1)?,
            speaker: options.sound.as_deref().map(|sound| Speaker::new(sound, path)).transpose()?,
            last: None,
            originals,
            lines,
            warned: false,
            totals: Arc::default(),
        })
    }

    fn decoder(&mut self) -> Transform {
        *self.decoder.get_or_insert_with(transforms::usual_decoder)
    }

    fn decoding(&mut self, package: Package, announced: &Announcement) -> Result<Decoding> {
        let decoder = self.decoder();
        let &Model { threads, max_pixels, .. } = &self.model;
        let decoding = Decoding::new(Model { package, threads, max_pixels }.decoder(decoder)?);
        process::note_connected(announced, self.lines.is_some());
        let colours = Ycbcr { matrix: Matrix::usual(announced.size), ..Ycbcr::BT601 };
        let is_video = matches!(self.place, FramePlace::Video(_));
        Ok(if is_video { decoding.with_ycbcr420(colours) } else { decoding })
    }

    /// Returns the package that decodes a broadcast.
    fn wanted(&mut self, announced: &Announcement) -> Wanted {
        let (model, hash) = (announced.model, announced.package.0);
        Wanted { model, hash, networks: self.decoder() == Transform::Deep }
    }

    /// Finishes the output, if any frame was shown.
    fn keep(&mut self) -> Result<()> {
        let frames = self.frames.take().filter(|frames| !frames.is_empty());
        Ok(frames.map_or(Ok(()), FrameWriter::finish)?)
    }

    /// Passes the frame writer to `put`. If a frame cannot be written, the frames before it stay a video.
    fn put(&mut self, put: impl FnOnce(&mut FrameWriter) -> Result<(), output::Error>) -> Result<()> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        let Err(error) = process::played(put(frames).map_err(Into::into)) else { return Ok(()) };
        let whole = frames.frames().filter(|frames| *frames > 0 && !self.place.is_standard());
        self.keep()?;
        if let Some(whole) = whole {
            files::note(&format!("nestcast keeps the video of the {whole} frames that it could write"));
        }
        Err(error)
    }

    fn psnr(&mut self, id: u64, picture: &Picture) -> Option<f64> {
        let measured = self.originals.as_ref()?.psnr(id, picture);
        if let Err(error) = &measured
            && !std::mem::replace(&mut self.warned, true)
        {
            files::note(&format!("--original: {error}: nestcast measures no PSNR"));
        }
        measured.ok()
    }
}

impl Viewer for Screen {
    type Error = anyhow::Error;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>> {
        let shows_8 = self.restoration.is_some() || self.originals.is_some();
        let given = announced.video.map_or(8, |video| video.bits);
        let bits = *self.bits.get_or_insert(if shows_8 { 8 } else { given });
        files::note_lost("the broadcast", Note::rounded(given, bits).as_slice());
        let pixels = announced.size.pixels() as u64;
        let what = "the sender's pictures have";
        ensure!(pixels <= self.model.max_pixels, "{what} {pixels} pixels: raise --max-pixels if you trust the sender");
        if let Some(frames) = &mut self.frames {
            if let Err(error) = frames.expect(announced.size, announced.rate) {
                self.keep()?;
                return Err(error.into());
            }
        } else {
            let display = announced.video.map_or_else(Display::default, |video| video.display);
            let lost = announced.video.map(|video| self.place.lost((video.colours, bits), announced.size, display));
            for lost in lost.into_iter().flatten() {
                files::note(&format!("the broadcast: {lost}"));
            }
            self.frames = Some(self.place.begin(announced.rate, display)?);
        }
        self.rate = announced.rate;
        if announced.video.is_some() {
            let decoding = Decoding::video(announced, self.model.threads);
            let what = "the sender's video needs tables that this version lacks: update nestcast at the older end";
            let decoding = decoding.context(what)?.with_bits(bits);
            process::note_connected(announced, self.lines.is_some());
            return Ok(Some(match &self.restoration {
                Some(restoration) => decoding.with_restoration(Arc::clone(restoration)),
                None => decoding,
            }));
        }
        let wanted = self.wanted(announced);
        self.packages.find(&wanted).map(|package| self.decoding(package, announced)).transpose()
    }

    fn handle_package(&mut self, announced: &Announcement, archive: Bytes) -> Result<Option<Decoding>> {
        let package = self.wanted(announced).open(&archive)?;
        let decoding = self.decoding(package.clone(), announced)?;
        if let Err(error) = self.packages.keep(&package) {
            let why = anyhow::Error::from(error);
            files::note(&format!("nestcast uses the fetched model, but cannot keep it: {why:#}"));
        }
        Ok(Some(decoding))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<()> {
        let repeated = self.speaker.as_mut().map_or(Some(0), |speaker| speaker.frame(shown.captured, self.rate));
        let Some(repeated) = repeated else { return Ok(()) };
        let last = self.last.take();
        self.put(|frames| {
            frames.repeat(last.as_ref().unwrap_or(shown.picture), repeated)?;
            frames.put(shown.id, shown.picture)
        })?;
        if self.sound_mode() == Some(SoundMode::Recorded) {
            self.last = Some(shown.picture.clone());
        }
        if let Some(lines) = self.lines {
            let psnr_db = self.psnr(shown.id, shown.picture);
            lines.print(&Line::Frame { shown, psnr_db })?;
        }
        Ok(())
    }

    fn conceal(&mut self, concealed: &Concealed<'_>) -> Result<()> {
        if self.sound_mode() != Some(SoundMode::Recorded) {
            self.put(|frames| frames.substitute(concealed.picture))?;
        }
        if let Some(lines) = self.lines {
            let (id, psnr_db) = (concealed.id, self.psnr(concealed.id, concealed.picture));
            lines.print(&Line::Concealed { id, psnr_db })?;
        }
        Ok(())
    }

    fn hold(&mut self, picture: &Picture) -> Result<()> {
        // The next picture of a recording fills the time before it.
        if self.sound_mode() == Some(SoundMode::Recorded) { Ok(()) } else { self.put(|frames| frames.hold(picture)) }
    }

    fn handle_disconnection(&mut self) -> Result<()> {
        Ok(self.frames.as_mut().map_or(Ok(()), FrameWriter::cut_held)?)
    }

    fn sound_mode(&self) -> Option<SoundMode> {
        self.speaker.as_ref().map(Speaker::mode)
    }

    fn handle_sound_announced(&mut self, sound: Option<Sound>) -> Result<()> {
        self.speaker.as_mut().map_or(Ok(()), |speaker| speaker.begin(sound))
    }

    fn play(&mut self, block: &SoundBlock) -> Result<()> {
        self.speaker.as_mut().map_or(Ok(()), |speaker| process::played(speaker.play(block)))
    }

    fn report(&mut self, totals: &Totals) -> Result<()> {
        let repeated = self.frames.as_ref().map_or(0, FrameWriter::repeated);
        let totals = Totals { played: PlayStats { repeated, ..totals.played }, ..*totals };
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = totals;
        self.speaker.as_mut().map_or(Ok(()), Speaker::flush)?;
        if let Some(lines) = self.lines {
            lines.print(&Line::Received(&totals))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.keep()
    }
}
