//! The half of the viewer that decodes: mail in, pictures out.

use std::collections::VecDeque;

use bytes::Bytes;
use nestcast_codec::{Decoder, FrameResiduals, Linear};
use nestcast_player::{
    Announcement, Decoding, LatencyError, Picture, PlayError, PlayStats, Playout, Present, SoundContent, SoundMode,
};

use crate::mail::{Mail, MailError, Record};
use crate::milliseconds::{duration, milliseconds};
use crate::tables::{Tables, Wanted};

/// The most pixels of a broadcast's pictures: those of 4096x2160. A decoder of video needs 66 bytes for each.
pub(crate) const MAX_PIXELS: usize = 4096 * 2160;

/// How long before it is heard the page gets sound, in milliseconds: to decode it, and to hand it to the device.
const SOUND_LEAD: f64 = 100.0;

/// Why the screen can show nothing more.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The page mixed up messages.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// The broadcast cannot be played.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The pictures are too large for this viewer.
    #[error("the sender's pictures have {0} pixels, and this viewer shows {MAX_PIXELS} at most")]
    TooLarge(usize),
}

/// The result of mail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Presented {
    /// Nothing new.
    Nothing,
    /// These tables must be loaded first: call [`Screen::handle_tables`], then [`Screen::resume`].
    Wants(Wanted),
    /// The frame of this number is predicted: call [`Screen::complete`], then [`Screen::resume`].
    WantsResiduals(u64),
    /// A picture.
    Picture(Shown),
}

/// A picture for the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// The frame's number; `None` for one that was repeated because no new frame arrived.
    pub id: Option<u64>,
    /// Whether the frame did not arrive, and the picture extrapolates the last one.
    pub is_concealed: bool,
    /// The time of capture, in milliseconds since 1970 by the sender's clock; 0 for a frame that did not arrive.
    pub captured: f64,
    /// Bytes of the frame that arrived, and all its bytes.
    pub bytes: [u64; 2],
    /// The time from the first byte to the last, in milliseconds.
    pub receiving: f64,
}

/// Sound for the page to play.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// A packet of Opus; `None` if it is missing.
    pub packet: Option<Bytes>,
    /// How many samples it is to be stretched to.
    pub samples: usize,
    /// When it is to be heard, in milliseconds.
    pub at: f64,
}

/// Decodes frames for one canvas.
#[derive(Debug, Default)]
pub struct Screen {
    tables: Tables,
    playout: Playout,
    waiting: VecDeque<Record>,
    /// Whether another worker decodes the residuals of this mail's frames.
    is_shared: bool,
    /// Whether the sender that was announced last can be decoded; `None` until it is known.
    readiness: Option<bool>,
}

impl Screen {
    /// Reads the tables that were loaded.
    ///
    /// # Errors
    /// If the bytes are no tables.
    pub fn handle_tables(&mut self, wanted: Wanted, bytes: &[u8]) -> Result<(), nestcast_codec::Error> {
        self.tables.load(wanted, bytes)
    }

    /// Processes mail up to the first frame. If [`Screen::has_mail`], call [`Screen::resume`] for the rest, and then
    /// [`Screen::handle_time`]. If the mail `is_shared` with a worker that decodes residuals, frames wait for those.
    ///
    /// # Errors
    /// If the screen can show nothing more.
    pub fn handle_mail(&mut self, now: f64, mail: Bytes, is_shared: bool) -> Result<Presented, ScreenError> {
        (self.waiting, self.is_shared) = (Mail::open(mail)?.into(), is_shared);
        self.resume(now)
    }

    /// Processes mail up to the next frame, after the tables that it needs are loaded.
    ///
    /// # Errors
    /// If the screen can show nothing more.
    pub fn resume(&mut self, now: f64) -> Result<Presented, ScreenError> {
        let moment = duration(now);
        while let Some(record) = self.waiting.pop_front() {
            match record {
                Record::Welcome(welcome) => {
                    let announced = self.playout.handle_welcome(&welcome)?;
                    match self.decoding(&announced)? {
                        Ok(decoding) => {
                            self.readiness = Some(decoding.is_some());
                            if let Some(decoding) = decoding {
                                self.playout.handle_decoding(moment, decoding);
                            }
                        }
                        Err(wanted) => {
                            self.waiting.push_front(Record::Welcome(welcome));
                            return Ok(Presented::Wants(wanted));
                        }
                    }
                }
                Record::Frame(frame) if self.is_shared => {
                    let id = frame.header.id;
                    if self.playout.handle_frame_to_complete(moment, frame)? {
                        return Ok(Presented::WantsResiduals(id));
                    }
                    break;
                }
                Record::Frame(frame) => {
                    self.playout.handle_frame(moment, frame)?;
                    // The next call says when it was decoded.
                    break;
                }
                Record::More(more) => self.playout.handle_more(moment, more)?,
                Record::SoundAnnounced(_) => self.playout.set_sound(Some(SoundMode::Live)),
                Record::Sound(packet) => self.playout.handle_sound(duration(now + SOUND_LEAD), packet),
            }
        }
        Ok(Presented::Nothing)
    }

    /// Completes the frame that is predicted, and returns whether these residuals were of use. If not, or without any, it
    /// decodes them itself.
    pub fn complete(&mut self, residuals: Option<&mut FrameResiduals>) -> bool {
        self.playout.handle_residuals(residuals)
    }

    /// Returns whether there is mail that is not processed.
    #[must_use]
    pub fn has_mail(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sets how long frames are delayed, from the next welcome on: `min`, `smooth` or milliseconds.
    ///
    /// # Errors
    /// If the text is none of these.
    pub fn set_latency(&mut self, text: &str) -> Result<(), LatencyError> {
        self.playout.set_latency(text.parse()?);
        Ok(())
    }

    /// Returns what to show now. Call it at [`Screen::poll_timeout`].
    ///
    /// # Errors
    /// If the screen can show nothing more.
    pub fn handle_time(&mut self, now: f64) -> Result<Presented, ScreenError> {
        let Some(present) = self.playout.handle_time(duration(now))? else { return Ok(Presented::Nothing) };
        let missing = Shown { id: None, is_concealed: false, captured: 0.0, bytes: [0; 2], receiving: 0.0 };
        let shown = match present {
            Present::Show { id, captured, bytes, full, receiving, .. } => Shown {
                id: Some(id),
                is_concealed: false,
                captured: captured as f64 / 1e3,
                bytes: [bytes as u64, full],
                receiving: milliseconds(receiving),
            },
            Present::Conceal { id, .. } => Shown { id: Some(id), is_concealed: true, ..missing },
            Present::Hold { .. } => missing,
        };
        Ok(Presented::Picture(shown))
    }

    /// Returns the next sound to play, if the page should have it now. Call it until it returns `None`, and again at
    /// [`Screen::sound_timeout`].
    pub fn handle_sound_time(&mut self, now: f64) -> Option<Heard> {
        let block = self.playout.poll_sound(duration(now + SOUND_LEAD))?;
        let at = milliseconds(block.due);
        let packet = match block.content {
            SoundContent::Packet(bytes) => Some(bytes),
            SoundContent::Concealed | SoundContent::Silence => None,
        };
        Some(Heard { packet, samples: block.samples, at })
    }

    /// Returns when to call [`Screen::handle_sound_time`] if no mail arrives.
    #[must_use]
    pub fn sound_timeout(&self) -> Option<f64> {
        self.playout.poll_sound_timeout().map(|due| milliseconds(due) - SOUND_LEAD)
    }

    /// Returns whether the sender that was announced last can be decoded, once after each announcement.
    pub const fn poll_readiness(&mut self) -> Option<bool> {
        self.readiness.take()
    }

    /// Returns the newest frame of video that could not be decoded, once, for [`Network::handle_undecoded`].
    ///
    /// [`Network::handle_undecoded`]: crate::Network::handle_undecoded
    pub const fn poll_undecoded(&mut self) -> Option<u64> {
        self.playout.poll_undecoded()
    }

    /// Returns when to call [`Screen::handle_time`] if no mail arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<f64> {
        self.playout.poll_timeout().map(milliseconds)
    }

    /// Returns when the next frame is to be shown, if one is decoded.
    #[must_use]
    pub fn next_frame_at(&self) -> Option<f64> {
        self.playout.next_frame_at().map(milliseconds)
    }

    /// Notes that the picture is on the screen, this many milliseconds after its capture.
    pub fn handle_shown(&mut self, latency: f64) {
        self.playout.handle_shown(duration(latency));
    }

    /// Returns the picture to show.
    #[must_use]
    pub const fn picture(&self) -> Option<&Picture> {
        self.playout.picture()
    }

    /// Returns counts of what was shown, and of what was not.
    #[must_use]
    pub fn played(&self) -> PlayStats {
        self.playout.totals()
    }

    /// Returns how to decode what was announced; `None` if this viewer has other tables.
    fn decoding(&self, announced: &Announcement) -> Result<Result<Option<Decoding>, Wanted>, ScreenError> {
        let pixels = announced.size.pixels();
        if pixels > MAX_PIXELS {
            return Err(ScreenError::TooLarge(pixels));
        }
        if announced.video.is_some() {
            return Ok(self.tables.video().map(|model| Decoding::video_of(model, announced, 1)));
        }
        let of = |model| Decoding::new(Decoder::new(Linear::new(model)).with_max_pixels(MAX_PIXELS as u64));
        Ok(self.tables.photo().map(|model| (model.id() == announced.model).then(|| of(model))))
    }
}
