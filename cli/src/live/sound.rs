//! Writes the sound of a broadcast: to a WAV file in step with the pictures, or as raw samples to a player.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use nestcast_codec::FrameRate;
use nestcast_media::is_standard;
use nestcast_media::output::Error;
use nestcast_proto::Sound;
use nestcast_receiver::{Recording, SoundBlock, SoundContent, SoundMode};
use nestcast_sound::{SoundRenderer, WavFile};

/// The target of sound.
pub(super) struct Speaker {
    path: PathBuf,
    file: Option<WavFile<BufWriter<File>>>,
    sound: Sound,
    renderer: Option<SoundRenderer>,
    /// Where frames and sound go, for a file.
    recording: Option<Recording>,
}

impl Speaker {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, sound: Sound::Stereo, renderer: None, recording: None }
    }

    pub(super) fn mode(&self) -> SoundMode {
        if is_standard(&self.path) { SoundMode::Live } else { SoundMode::Recorded }
    }

    /// Begins with the sound of a connection. A file keeps the channels of the first.
    pub(super) fn begin(&mut self, sound: Sound) -> Result<()> {
        if self.file.is_none() && self.mode() == SoundMode::Recorded {
            let file = File::create(&self.path).with_context(|| self.failed())?;
            self.file = Some(WavFile::new(BufWriter::new(file), sound).with_context(|| self.failed())?);
        } else {
            let is_other = self.file.is_some() && sound != self.sound;
            ensure!(!is_other, "the broadcast's sound has other channels than before: {} ends", self.path.display());
        }
        self.sound = sound;
        self.renderer = Some(SoundRenderer::new(sound)?);
        Ok(())
    }

    /// Returns how often the picture before this one is written again first, so that both files stay in step; `None` if
    /// this one is left out.
    pub(super) fn frame(&mut self, captured: u64, rate: FrameRate) -> Option<u64> {
        match self.mode() {
            SoundMode::Recorded => self.recording.get_or_insert_with(|| Recording::new(rate)).handle_frame(captured),
            SoundMode::Live => Some(0),
        }
    }

    pub(super) fn play(&mut self, block: &SoundBlock) -> Result<()> {
        let Some(renderer) = &mut self.renderer else { return Ok(()) };
        let samples = match &block.content {
            SoundContent::Packet(bytes) => renderer.packet(bytes, block.samples)?,
            SoundContent::Concealed => renderer.conceal(block.samples)?,
            SoundContent::Silence => renderer.silence(block.samples),
        };
        let Some(file) = &mut self.file else {
            // A player has no way to learn the number of channels.
            let copies = if self.sound == Sound::Mono { 2 } else { 1 };
            let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes().repeat(copies)).collect();
            let mut output = io::stdout().lock();
            return Ok(output.write_all(&bytes).and_then(|()| output.flush()).map_err(Error::of_standard)?);
        };
        let place = self.recording.as_mut().and_then(|place| place.handle_sound(block.captured, block.samples));
        let Some(place) = place else { return Ok(()) };
        let channels = self.sound.channels();
        let silence = vec![0; place.silence * channels];
        let written = file.write(&silence).and_then(|()| file.write(&samples[place.skipped * channels..]));
        written.with_context(|| format!("{} cannot be written", self.path.display()))
    }

    /// Completes the file for what was written so far.
    pub(super) fn flush(&mut self) -> Result<()> {
        let failed = self.failed();
        self.file.as_mut().map_or(Ok(()), WavFile::flush).context(failed)
    }

    fn failed(&self) -> String {
        format!("{} cannot be written", self.path.display())
    }
}
