//! Writes the sound of a broadcast: to a WAV file in step with the pictures, or as raw samples to a player.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nestcast_codec::FrameRate;
use nestcast_media::is_standard;
use nestcast_media::output::{Error, Output};
use nestcast_proto::Sound;
use nestcast_receiver::{SoundBlock, SoundMode};
use nestcast_sound::{SoundRenderer, SoundTrack};

use crate::files;

/// The target of sound.
pub(super) struct Speaker {
    path: PathBuf,
    /// For a file.
    track: SoundTrack<BufWriter<File>>,
    /// For a player.
    renderer: Option<(SoundRenderer, Sound)>,
}

impl Speaker {
    pub(super) fn new(path: &Path, pictures: &Path) -> Result<Self> {
        if !is_standard(path) {
            Output::wav(path, &[pictures])?;
        }
        Ok(Self { path: path.to_owned(), track: SoundTrack::default(), renderer: None })
    }

    pub(super) fn mode(&self) -> SoundMode {
        if is_standard(&self.path) { SoundMode::Live } else { SoundMode::Recorded }
    }

    /// Begins with the sound of a connection, or notes that it has none. A file keeps the channels of the first.
    pub(super) fn begin(&mut self, sound: Option<Sound>) -> Result<()> {
        let Some(sound) = sound else {
            files::note_once("the broadcast has no sound, so --sound writes nothing: ask the sender for sound");
            return Ok(());
        };
        if self.mode() == SoundMode::Live {
            self.renderer = Some((SoundRenderer::new(sound)?, sound));
            return Ok(());
        }
        let begun = self.track.begin(sound, || File::create(&self.path).map(BufWriter::new));
        begun.with_context(|| self.failed())
    }

    /// Returns how often the picture before this one is written again first, so that both files stay in step; `None` if
    /// this one is left out.
    pub(super) fn frame(&mut self, captured: u64, rate: FrameRate) -> Option<u64> {
        if self.mode() == SoundMode::Live { Some(0) } else { self.track.frame(captured, rate) }
    }

    pub(super) fn play(&mut self, block: &SoundBlock) -> Result<()> {
        let Some((renderer, sound)) = &mut self.renderer else {
            return self.track.play(block).with_context(|| self.failed());
        };
        // A player has no way to learn the number of channels.
        let copies = if *sound == Sound::Mono { 2 } else { 1 };
        let samples = renderer.block(block)?;
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes().repeat(copies)).collect();
        let mut output = io::stdout().lock();
        Ok(output.write_all(&bytes).and_then(|()| output.flush()).map_err(Error::of_standard)?)
    }

    /// Completes the file for what was written so far.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.track.flush().with_context(|| self.failed())
    }

    fn failed(&self) -> String {
        format!("{} cannot be written", self.path.display())
    }
}
