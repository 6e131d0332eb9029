//! One broadcast over one link in virtual time: nestcast or a rival.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nestcast_codec::FrameRate;
use nestcast_codec::{Picture, VideoDecoder, VideoModel};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::bottleneck::{Bottleneck, Passage};
use nestcast_lab::clip::Clip;
use nestcast_lab::ffmpeg::Ffmpeg;
use nestcast_lab::link::Link;
use nestcast_lab::metrics::luma_psnr;
use nestcast_lab::motion_jpeg::MotionJpeg;
use nestcast_lab::scalable::{LayerEncoder, Program};
use nestcast_lab::video_frames::VideoFrames;
use nestcast_lab::x264::X264;
use nestcast_sender::FrameSource;
use nestcast_tests::network::{self, Viewer, broadcast_from};

use crate::jpeg_frames::{self, JpegFrames};
use crate::links::Scenario;
use crate::playout::{Presented, present};
use crate::recorder::{Recorded, Recorder};
use crate::rival_frames::{Coder, RivalFrames};
use crate::svc_frames::decodable;

/// The fraction of a link's mean rate that a rival is made for: headers and larger pictures need the rest.
const RATE_SHARE: f64 = 0.9;
/// Bits a second of the ladder's rungs, and of layers with those below them.
const RUNG_BITS_PER_SECOND: [f64; 3] = [255e3, 850e3, 3.4e6];

/// The broadcast's codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Video, cut to the link.
    Nestcast,
    /// x264 at the link's mean rate, which it knows.
    X264,
    /// Simulcast: three renditions by x264, with a keyframe wherever the receiver changes to another; it knows the
    /// link's rate.
    Ladder,
    /// One encode in three layers of quality, of which the receiver gets those that the link carries; it knows the
    /// link's rate.
    Layers(Program),
    /// Motion JPEG at the best quality for the link's mean rate, which it knows.
    Jpeg,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 6] =
        [Self::Nestcast, Self::X264, Self::Ladder, Self::Layers(Program::Av1), Self::Layers(Program::Vp9), Self::Jpeg];

    /// Returns the name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nestcast => "nestcast",
            Self::X264 => "x264",
            Self::Ladder => "x264-ladder-3",
            Self::Layers(Program::Av1) => "av1-svc-3",
            Self::Layers(Program::Vp9) => "vp9-svc-3",
            Self::Jpeg => "mjpeg",
        }
    }
}

/// A frame that was due.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// When it was captured, on the link's clock.
    pub captured: Duration,
    /// When it was shown, if it was, and how it was shown.
    pub shown: Option<Presented>,
    /// Bytes that arrived in time; zero if it was not shown.
    pub bytes: usize,
    /// PSNR of luma, in dB, of the picture on the screen: where the frame was not shown, the picture before.
    pub psnr: f64,
}

/// The result of a broadcast.
pub struct Outcome {
    /// Frames that were due, from the first that was shown on.
    pub seen: Vec<Seen>,
    /// Packets on the link.
    pub passages: Vec<Passage>,
}

/// The coders and the clip of broadcasts.
pub struct Studio {
    clip: Arc<Clip>,
    jpegs: Arc<MotionJpeg>,
    x264: X264,
    coder: Arc<Coder<X264>>,
    ffmpeg: Ffmpeg,
    /// Bits a second of the ladder's rungs.
    rungs: [f64; 3],
    /// The installed programs for layers.
    layers: Vec<(Program, Arc<Coder<LayerEncoder>>)>,
}

impl Studio {
    /// Uses this clip, at `frames_per_second` in place of its own rate if that is given. The rungs of rivals have
    /// `times` their rate.
    ///
    /// # Errors
    /// If `ffmpeg` is missing.
    pub fn new(clip: Clip, frames_per_second: Option<u32>, times: u32) -> Result<Self> {
        let rate = frames_per_second.map_or(Ok(clip.rate()), |frames| FrameRate::new(frames, 1))?;
        let (clip, x264) = (Arc::new(clip.at_rate(rate)), X264::find()?);
        let jpegs = Arc::new(MotionJpeg::new(Arc::clone(&clip)));
        let coder = Arc::new(Coder::new(x264.clone(), &clip));
        let search = std::env::var_os("PATH");
        let found = Program::ALL.into_iter().filter_map(|program| program.find(search.as_deref()));
        let layers = found.map(|encoder| (encoder.program(), Arc::new(Coder::new(encoder, &clip)))).collect();
        let rungs = RUNG_BITS_PER_SECOND.map(|rate| rate * f64::from(times));
        Ok(Self { clip, jpegs, x264, coder, ffmpeg: Ffmpeg::find()?, rungs, layers })
    }

    /// Returns the name of a program that a scheme needs and that is not on the search path.
    #[must_use]
    pub fn missing(&self, scheme: Scheme) -> Option<&'static str> {
        match scheme {
            Scheme::Layers(program) if self.layers(program).is_err() => Some(program.name()),
            _ => None,
        }
    }

    fn layers(&self, program: Program) -> Result<&Arc<Coder<LayerEncoder>>> {
        let found = self.layers.iter().find(|(of, _)| *of == program);
        found.map(|(_, coder)| coder).with_context(|| format!("{} is not on the search path", program.name()))
    }

    /// Broadcasts over the link of `scenario`.
    ///
    /// # Errors
    /// If an encoder or decoder fails or is [missing](Self::missing), or nothing arrives.
    pub fn run(&self, scheme: Scheme, scenario: &Scenario) -> Result<Outcome> {
        let time = Duration::from_secs(scenario.seconds.into());
        let mean = scenario.link.capacity(Duration::ZERO, time) / time.as_secs_f64();
        let x264 = |rates: &[f64]| RivalFrames::new(&self.coder, rates, &scenario.link);
        let links = std::slice::from_ref(&scenario.link);
        let came = match scheme {
            Scheme::Nestcast => broadcast(links, time, self.video(RenditionLimit::default())),
            Scheme::X264 => broadcast(links, time, x264(&[mean * RATE_SHARE])),
            Scheme::Ladder => broadcast(links, time, x264(&self.rungs)),
            Scheme::Layers(program) => {
                let coder = self.layers(program)?;
                broadcast(links, time, RivalFrames::new(coder, &self.rungs, &scenario.link))
            }
            Scheme::Jpeg => broadcast(links, time, JpegFrames::new(&self.clip, &self.jpegs, mean * RATE_SHARE)?),
        };
        let (recorded, passages) = came.into_iter().next().context("there is one receiver")?;
        Ok(Outcome { seen: self.look(scheme, &recorded)?, passages })
    }

    /// Broadcasts video to one receiver over each of `links`, from the beginning on.
    ///
    /// # Errors
    /// If a decoder fails, or nothing arrives at one of them.
    pub fn run_together(&self, limit: RenditionLimit, links: &[Link], time: Duration) -> Result<Vec<Outcome>> {
        let came = broadcast(links, time, self.video(limit));
        let look = |(recorded, passages): (Vec<_>, _)| {
            let seen = self.look(Scheme::Nestcast, &recorded)?;
            Ok(Outcome { seen, passages })
        };
        came.into_iter().map(look).collect()
    }

    fn video(&self, limit: RenditionLimit) -> VideoFrames {
        let clip = Arc::clone(&self.clip);
        let format = PictureFormat::of(clip.at(0), clip.rate());
        VideoFrames::new(format, (2, limit), move |id| clip.at(id).clone())
    }

    /// Decodes the received frames, and compares every frame that was due.
    fn look(&self, scheme: Scheme, frames: &[Recorded]) -> Result<Vec<Seen>> {
        let decodable = match scheme {
            Scheme::Layers(program) => Cow::Owned(decodable(frames, |bytes| program.is_key(bytes))),
            _ => Cow::Borrowed(frames),
        };
        let frames = &decodable[..];
        let presented = present(frames, self.clip.rate().interval());
        let mut eye = Eye { clip: &self.clip, frames, presented, seen: Vec::new(), last: None };
        match scheme {
            Scheme::Nestcast => {
                let mut decoder = VideoDecoder::new(VideoModel::built_in(), self.clip.size(), 1);
                let mut picture = Picture::zero(self.clip.size(), self.clip.at(0).format());
                for (place, frame) in frames.iter().enumerate() {
                    decoder.decode(&frame.prefix)?;
                    decoder.render_into(&mut picture)?;
                    eye.look(place, &picture);
                }
            }
            Scheme::X264 | Scheme::Ladder => {
                let units = frames.iter().map(|frame| &frame.prefix[..]);
                self.x264.decode(units, |place, picture| {
                    eye.look(place, picture);
                    Ok(())
                })?;
            }
            Scheme::Layers(program) => {
                let units = frames.iter().map(|frame| &frame.prefix[..]);
                program.decode((&self.ffmpeg, self.clip.size(), self.clip.rate()), units, |place, picture| {
                    eye.look(place, picture);
                    Ok(())
                })?;
            }
            Scheme::Jpeg => {
                for (place, frame) in frames.iter().enumerate() {
                    eye.look(place, &jpeg_frames::decode(&self.clip, &self.jpegs, frame.id, &frame.prefix)?);
                }
            }
        }
        if eye.seen.is_empty() {
            bail!("{} showed nothing", scheme.name());
        }
        Ok(eye.seen)
    }
}

/// Compares the picture on the screen with what was captured.
struct Eye<'a> {
    clip: &'a Clip,
    frames: &'a [Recorded],
    /// How each of them was shown.
    presented: Vec<Presented>,
    seen: Vec<Seen>,
    last: Option<(u64, Picture)>,
}

impl Eye<'_> {
    /// Shows a frame; those between the one before and it were not shown.
    fn look(&mut self, place: usize, picture: &Picture) {
        let Recorded { id, captured, ref prefix, .. } = self.frames[place];
        if let Some((last, before)) = &self.last {
            let interval = self.clip.rate().interval();
            for missing in last + 1..id {
                let psnr = luma_psnr(self.clip.at(missing), before);
                let captured =
                    captured.saturating_sub(interval.saturating_mul(u32::try_from(id - missing).unwrap_or(0)));
                self.seen.push(Seen { captured, shown: None, bytes: 0, psnr });
            }
        }
        let psnr = luma_psnr(self.clip.at(id), picture);
        self.seen.push(Seen { captured, shown: Some(self.presented[place]), bytes: prefix.len(), psnr });
        self.last = Some((id, picture.clone()));
    }
}

/// Returns the frames that each link's receiver got, and the packets on the link.
fn broadcast(links: &[Link], time: Duration, source: impl FrameSource) -> Vec<(Vec<Recorded>, Vec<Passage>)> {
    let outcome = broadcast_from(links, network::Scenario::lasting(time), source, |network| {
        let recorder = |network: Bottleneck| Recorder::new(move || network.now());
        let viewer = |link| Viewer { joins: Duration::ZERO, link, cap: None, sink: recorder(network.clone()) };
        (0..links.len()).map(viewer).collect()
    });
    let of = |link| outcome.passages.iter().filter(move |passage| passage.link == link).copied().collect();
    outcome.receivers.into_iter().enumerate().map(|(link, recorder)| (recorder.frames, of(link))).collect()
}
