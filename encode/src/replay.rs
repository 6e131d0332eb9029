//! Broadcasts a stored video without encoding it again.

pub(crate) mod archive;
mod base_layers;
mod placement;
mod schedule;

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{CodedFrame, FrameHead, MIN_RANDOM_ACCESS_BYTES, VideoHeader, VideoModel};
use nestcast_media::stored::{Error, Position, Reader, StoredSound};
use nestcast_proto::{
    Bitrate, BroadcastFrame, Demand, Frame, FrameStream, MAX_FRAME, RandomAccessFrame, ReceiverDemand, Rendition,
    Sound, SourceError, Welcome,
};

use self::base_layers::BaseLayers;
use self::placement::Placement;
use self::schedule::Schedule;
use crate::demand_rate::rate_of;
use crate::error::PictureError;
use crate::format::PictureFormat;
use crate::random_access_budget::RandomAccessBudget;
use crate::repeated::Again;
use crate::video;

/// The most base layers that are decoded when a frame is already due.
const MAX_LATE_BASE_LAYERS: usize = 4;
/// The base layer of a random-access frame has what the slowest path that asks carries in this many frame intervals, or
/// this many times the bytes of a base layer if no path is known, but at least [`MIN_RANDOM_ACCESS_BYTES`].
const RANDOM_ACCESS_INTERVALS: f64 = 2.0;
const RANDOM_ACCESS_BASES: usize = 4;

/// Broadcasts a stored video at its own pace, by its capture times if it has some. It encodes nothing: all receivers get
/// the frames that the file has, each as far as the receiver's path carries it, and its sound.
///
/// A receiver that joins late needs a random-access frame. For it, and only while a receiver asks, this decodes the base
/// layers of the last frames. It decodes them all the time in a recorded broadcast that nobody joined for
/// long.
///
/// ```
/// use std::io::Cursor;
/// use nestcast_codec::{Display, Format, FrameRate, Picture, Population, Size, VideoHeader, VideoModel, VideoRenditions, VideoSettings, Ycbcr};
/// use nestcast_encode::Replay;
/// use nestcast_media::stored::Writer;
/// use nestcast_proto::{Demand, FrameStream as _};
///
/// let (size, rate, model) = (Size::new(64, 48)?, FrameRate::new(30, 1)?, VideoModel::built_in());
/// let [least, most] = Population::usual_bitrates(size, rate);
/// let settings = VideoSettings { size, rate, population: Population::log_uniform(least..=most), threads: 1 };
/// let encoder = VideoRenditions::new(&model, settings, 1)?;
/// let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), encoder.rates());
/// let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
/// let mut writer = Writer::new(encoder, &header, Vec::new());
/// (0..3).try_for_each(|_| writer.write(&Picture::zero(size, Format::Ycbcr420(colours))))?;
/// let (film, _) = writer.finish()?;
///
/// // `PacedSource` of `nestcast-sender` does the rest of this.
/// let mut replay = Replay::new("film.nst", u64::MAX, Cursor::new(film), None)?;
/// let demand = Demand::default();
/// let mut frames = Vec::new();
/// while let Some(due) = replay.read()? {
///     let captured = 1_000_000 + due.as_micros() as u64;
///     frames.extend(replay.take(captured, &demand));
/// }
/// assert_eq!(frames.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replay<R> {
    name: String,
    max_pixels: u64,
    welcome: Welcome,
    reader: Reader<R>,
    again: Option<Again<R>>,
    base_layers: Vec<BaseLayers>,
    placement: Placement,
    schedule: Schedule,
    joins: RandomAccessBudget,
    /// The renditions in which receivers wait for a random-access frame; `None` for receivers without one.
    wanted: BTreeSet<Option<u64>>,
    /// The number of the next frame, over all repetitions, and how many before it were missing.
    next: u64,
    skipped: u64,
    /// Frames since the video began the last time.
    frames: u64,
    /// When the video began the last time, and how long after that its last frame was due, in microseconds.
    began: Duration,
    place: Arc<AtomicU64>,
    /// The frame that was read last, in all renditions, and when it is due.
    read: Option<(Vec<Stored>, Duration)>,
    sound: Option<Sound>,
    /// The packets of sound that were read and not taken yet, and when they are due.
    packets: VecDeque<(Duration, Bytes)>,
    /// The first fault of the video, and the frames before it.
    fault: Option<(String, u64)>,
    /// The video's first whole frame, in all renditions, until it is sent.
    first: Option<Vec<Stored>>,
}

/// A frame of one rendition.
#[derive(Debug)]
struct Stored {
    bytes: Bytes,
    base: usize,
    head: FrameHead,
}

impl<R> std::fmt::Debug for Replay<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<R: Read> Replay<R> {
    /// Reads the header and the first whole frame of a stored video, which messages call `name`. When the video ends,
    /// `again` reopens it.
    ///
    /// # Errors
    /// [`PictureError::StoredVideo`] if the input is no stored video, has no whole frame, its frames have more than
    /// `max_pixels`, or they need other tables than this build has.
    pub fn new(name: &str, max_pixels: u64, input: R, again: Option<Again<R>>) -> Result<Self, PictureError> {
        let refuse = |error| PictureError::StoredVideo { name: name.to_owned(), error };
        let (mut reader, model) = (Reader::new(input, max_pixels).map_err(refuse)?, VideoModel::built_in());
        reader.check_model(&model).map_err(refuse)?;
        let sound = sound(&mut reader).map_err(refuse)?;
        let VideoHeader { size, renditions, .. } = *reader.header();
        let welcome = welcome(reader.header());
        let mut replay = Self {
            name: name.to_owned(),
            max_pixels,
            schedule: Schedule::new(welcome.interval()),
            welcome,
            reader,
            again,
            base_layers: (0..renditions.count()).map(|_| BaseLayers::new(model.clone(), size)).collect(),
            placement: Placement::new(renditions),
            joins: RandomAccessBudget::default(),
            wanted: BTreeSet::new(),
            next: 0,
            skipped: 0,
            frames: 0,
            began: Duration::ZERO,
            place: Arc::default(),
            read: None,
            sound,
            packets: VecDeque::new(),
            fault: None,
            first: None,
        };
        // Nobody should wait for a broadcast that has nothing to send.
        replay.first = replay.next_whole().map_err(refuse)?;
        if replay.first.is_none() {
            return Err(refuse(replay.without_frame()));
        }
        Ok(replay)
    }

    /// Reads the next frame of all renditions; `None` at the end of the video or of its whole part.
    fn next_renditions(&mut self) -> Result<Option<Vec<Bytes>>, Error> {
        match self.reader.next_renditions() {
            Ok(None) if !self.reader.is_whole() => self.blame("it breaks off".to_owned()),
            Err(error @ (Error::Codec(_) | Error::Frame { .. })) => self.blame(error.to_string()),
            other => return other,
        }
        Ok(None)
    }

    /// Reads up to the next frame that can be decoded, in all renditions; `None` at the end.
    fn next_whole(&mut self) -> Result<Option<Vec<Stored>>, Error> {
        while let Some(frames) = self.next_renditions()? {
            self.next += 1;
            let stored: Option<Vec<Stored>> = frames.into_iter().map(Stored::new).collect();
            if stored.is_some() {
                return Ok(stored);
            }
            // The frame was lost, or is damaged: receivers show the one before it, as a decoder of the file does, until one
            // comes that copies no vectors.
            self.skipped += 1;
            self.schedule.handle_missing();
        }
        Ok(None)
    }

    /// Keeps a fault if it is the first.
    fn blame(&mut self, fault: String) {
        self.fault.get_or_insert((fault, self.frames));
    }

    /// Returns why a video without a whole frame cannot be sent.
    fn without_frame(&mut self) -> Error {
        let fault = self.fault.take().map(|(fault, _)| format!(": {fault}")).unwrap_or_default();
        io::Error::other(format!("it contains no whole frame{fault}: get the video again")).into()
    }

    /// Begins again; returns whether there is anything to begin again.
    fn begin_again(&mut self) -> Result<bool, Error> {
        let Some(again) = &mut self.again else { return Ok(false) };
        let mut reader = Reader::new(again()?, self.max_pixels)?;
        if reader.header() != self.reader.header() || sound(&mut reader)? != self.sound {
            return Err(replaced());
        }
        self.reader = reader;
        self.schedule.begin_again();
        self.frames = 0;
        Ok(true)
    }

    /// Reads up to the next frame that can be decoded, and returns when it is due. Leaves out sound that was not taken
    /// since the last call: the reader bounds what a call reads, and nothing bounds a pile of it.
    fn read_next(&mut self) -> Result<Option<Duration>, Error> {
        self.packets.clear();
        loop {
            let next = self.first.take().map_or_else(|| self.next_whole(), |first| Ok(Some(first)))?;
            let Some(stored) = next else {
                self.queue_sound();
                if self.frames == 0 {
                    return Err(self.without_frame());
                }
                if !self.begin_again()? {
                    return Ok(None);
                }
                continue;
            };
            self.frames += 1;
            for (base_layers, frame) in self.base_layers.iter_mut().zip(&stored) {
                base_layers.push(&frame.bytes[..frame.base], &frame.head);
            }
            let due = self.schedule.next(self.reader.captured());
            if self.frames == 1 {
                self.began = due;
            }
            self.read = Some((stored, due));
            self.queue_sound();
            return Ok(Some(due));
        }
    }

    /// Takes over the sound that was read up to the last frame. A video without capture times has no place for it.
    fn queue_sound(&mut self) {
        let Self { reader, schedule, packets, sound, .. } = self;
        for StoredSound { captured, bytes } in reader.take_sound() {
            packets.extend(schedule.due_of_sound(captured).filter(|_| sound.is_some()).map(|due| (due, bytes)));
        }
    }

    /// Returns whether a receiver waits for a random-access frame of this rendition.
    fn is_wanted(&self, rendition: usize) -> bool {
        let newcomers = rendition == 0 && self.wanted.contains(&None);
        newcomers || self.wanted.contains(&Some(rendition as u64))
    }

    /// Returns the random-access frame of a rendition, if a receiver waits for it.
    fn join(
        &mut self,
        rendition: usize,
        frame: &Stored,
        receivers: &[(u64, ReceiverDemand)],
    ) -> Option<RandomAccessFrame> {
        let waiting = receivers.iter().map(|(_, wanted)| wanted).filter(|wanted| wanted.needs_random_access);
        let slowest = waiting.clone().map(rate_of).filter(|rate| *rate > 0.0).min_by(f64::total_cmp);
        let carried = |rate| Bitrate::rounded(rate * RANDOM_ACCESS_INTERVALS).bytes_per_frame(self.welcome.rate);
        if frame.head.key {
            // All of a random-access frame of the file is base layer, and a slow path would need long for it.
            let is_all = frame.base == frame.bytes.len();
            let quick = slowest.map_or(RANDOM_ACCESS_BASES * MIN_RANDOM_ACCESS_BYTES, carried);
            let base = if is_all {
                frame.base.min((frame.head.side + quick / 2).max(quick).max(MIN_RANDOM_ACCESS_BYTES))
            } else {
                frame.base
            };
            self.forget(rendition);
            return Some(RandomAccessFrame { base, bytes: frame.bytes.clone() });
        }
        if !self.is_wanted(rendition)
            || self.base_layers[rendition].waiting() > MAX_LATE_BASE_LAYERS
            || !self.joins.take()
        {
            return None;
        }
        let base_layers = &mut self.base_layers[rendition];
        (0..base_layers.waiting()).for_each(|_| base_layers.decode());
        let base = slowest.map_or(frame.base.saturating_mul(RANDOM_ACCESS_BASES), carried);
        let most = usize::try_from(MAX_FRAME).unwrap_or(usize::MAX);
        let base = base.clamp(MIN_RANDOM_ACCESS_BYTES, most);
        let useful = waiting.map(|wanted| wanted.useful_bytes).max().unwrap_or(0);
        let useful = usize::try_from(useful).unwrap_or(usize::MAX).min(most);
        let CodedFrame { bytes, side, .. } = base_layers.random_access_frame(base.max(useful))?;
        self.forget(rendition);
        Some(RandomAccessFrame { base: (side + base / 2).max(base).min(bytes.len()), bytes })
    }

    /// Forgets who waits in this rendition: they have a frame to begin with.
    fn forget(&mut self, rendition: usize) {
        self.wanted.remove(&Some(rendition as u64));
        if rendition == 0 {
            self.wanted.remove(&None);
        }
    }
}

impl<R: Read + Seek> Replay<R> {
    /// Begins with the frame `shown`, as a random-access frame that this makes from the base layers from `first` on, or from
    /// the random-access frame that the file has in place of that one. Returns false if the receiver left before.
    fn begin_at(&mut self, first: &Position, shown: &Position, has_left: &AtomicBool) -> Result<bool, Error> {
        self.first = None;
        self.skipped = 0;
        if first.has_random_access() {
            self.reader.begin_at(first)?
        } else {
            self.reader.go_to(first)?
        }
        for _ in first.number..shown.number {
            if has_left.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let Some(frames) = self.reader.next_renditions()? else { break };
            for (base_layers, bytes) in self.base_layers.iter_mut().zip(frames) {
                if let Some(frame) = Stored::new(bytes) {
                    base_layers.push(&frame.bytes[..frame.base], &frame.head);
                }
            }
        }
        // Sound before the first frame has no place.
        drop(self.reader.take_sound());
        for base_layers in &mut self.base_layers {
            for _ in 0..base_layers.waiting() {
                if has_left.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                base_layers.decode();
            }
        }
        self.next = shown.number;
        self.wanted = (0..self.base_layers.len()).map(|number| Some(number as u64)).collect();
        Ok(true)
    }
}

impl<R: Read + Send> FrameStream for Replay<R> {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn sound(&self) -> Option<Sound> {
        self.sound
    }

    fn take_sound(&mut self) -> Option<(Duration, Bytes)> {
        self.packets.pop_front()
    }

    fn read(&mut self) -> Result<Option<Duration>, SourceError> {
        self.read_next()
            .map_err(|error| SourceError::broken_off(PictureError::StoredVideo { name: self.name.clone(), error }))
    }

    fn prepare(&mut self, demand: &Demand) -> bool {
        self.wanted.append(&mut demand.take_random_access_requests());
        let wanted = |rendition: &usize| self.is_wanted(*rendition) && self.base_layers[*rendition].waiting() > 0;
        let Some(rendition) = (0..self.base_layers.len()).find(wanted) else { return false };
        self.base_layers[rendition].decode();
        true
    }

    fn take(&mut self, captured: u64, demand: &Demand) -> Option<BroadcastFrame> {
        let (stored, due) = self.read.take()?;
        let place = due.saturating_sub(self.began).as_micros();
        self.place.store(u64::try_from(place).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.joins.handle_frame();
        self.wanted.append(&mut demand.take_random_access_requests());
        let receivers = demand.receivers();
        self.placement.follow(&receivers);
        let mut renditions = Vec::with_capacity(stored.len());
        for (number, stored) in stored.into_iter().enumerate() {
            let join = self.join(number, &stored, &receivers);
            let Stored { bytes, base, .. } = stored;
            let id = self.next - 1;
            let frame = Frame { id, skipped: self.skipped, captured, since: id, base, bytes, join };
            let receivers = self.placement.receivers(number);
            renditions.push(Rendition { number: number as u64, follows: None, receivers, frame });
        }
        let first = renditions.first()?.frame.clone();
        let renditions = (renditions.len() > 1).then(|| renditions.into());
        Some(BroadcastFrame { renditions, ..first.into() })
    }

    fn take_fault(&mut self) -> Option<String> {
        let (fault, frames) = self.fault.take()?;
        let s = if frames == 1 { "" } else { "s" };
        Some(format!("{}: {fault}: nestcast sends {frames} frame{s}; get the video again for the rest", self.name))
    }
}

impl Stored {
    /// Reads the head of a frame; `None` if it is too short for a decoder or damaged.
    fn new(bytes: Bytes) -> Option<Self> {
        let head = FrameHead::parse(&bytes).ok().flatten().filter(|head| head.side <= bytes.len())?;
        let most = usize::try_from(MAX_FRAME).unwrap_or(usize::MAX);
        let bytes = bytes.slice(..bytes.len().min(most));
        Some(Self { base: head.base.min(bytes.len()), head, bytes })
    }
}

/// Returns the sound of a video, if it has some.
fn sound<R: Read>(reader: &mut Reader<R>) -> Result<Option<Sound>, Error> {
    // A video that breaks a rule before its first frame says so when that is read.
    let channels = match reader.begin_sound() {
        Err(Error::Codec(_) | Error::Frame { .. }) => None,
        other => other?,
    };
    Ok(channels.and_then(Sound::with_channels))
}

fn replaced() -> Error {
    io::Error::other("it was replaced by another video while it was sent").into()
}

/// Returns what receivers learn of a stored video.
fn welcome(header: &VideoHeader) -> Welcome {
    let VideoHeader { size, rate, colours, bits, display, .. } = *header;
    let format = PictureFormat::new(size, nestcast_codec::Format::planar(colours, bits), rate).with_display(display);
    video::welcome(&format, (colours, bits))
}

#[cfg(test)]
mod tests;
