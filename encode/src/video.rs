//! Encodes pictures as frames of video, each once for all current receivers.

use std::collections::BTreeSet;
use std::time::Duration;

use nestcast_codec::{
    Bitrate, CodedFrame as Coded, Effort, Error, FrameRate, MAX_RENDITIONS, MIN_RANDOM_ACCESS_BYTES, Picture,
    Population, Switch, VideoModel, VideoRenditions, VideoSettings, Ycbcr,
};
use nestcast_proto::{
    BroadcastFrame, Captured, Demand, Frame, FrameEncoder, MAX_FRAME, PackageHash, RandomAccessFrame, ReceiverDemand,
    Rendition, SourceError, Video, Welcome,
};

use crate::base_rate::{BaseRate, Path};
use crate::demand_rate::rate_of;
use crate::effort::EffortLadder;
use crate::error::PictureError;
use crate::format::{PictureFormat, Samples};
use crate::random_access_budget::RandomAccessBudget;
use crate::renditions::{Change, Receiver, RenditionLimit, Renditions, State, Switching};

/// The base layer of a random-access frame has what the slowest path carries in this many frame intervals, but at least
/// [`MIN_RANDOM_ACCESS_BYTES`].
const RANDOM_ACCESS_INTERVALS: f64 = 2.0;
/// A switching frame has this part of what the slowest path carries in a frame interval, and at most the bytes of a
/// base layer that may be sent again.
const SWITCH_INTERVALS: f64 = 0.75;
const MAX_SWITCH_BYTES: usize = 65_536;
/// Bits for each pixel before the first receiver connects.
const BITS_PER_PIXEL: f64 = 0.1;
/// The weight of a rate that only sets a bound.
const NO_WEIGHT: f64 = 1e-9;

/// Encodes pictures as frames of video, for the receivers of a [`Demand`].
#[derive(Debug)]
pub struct VideoEncoding {
    welcome: Welcome,
    encoder: VideoRenditions,
    effort: EffortLadder,
    rate: FrameRate,
    renditions: Renditions,
    /// The rate of each rendition's base layers.
    bases: Vec<BaseRate>,
    /// The most bytes of a frame that a receiver in each rendition can use.
    useful: Vec<usize>,
    joins: RandomAccessBudget,
    /// Encodes the frames of receivers on their way to another rendition.
    switch: Option<Switch>,
    /// The capture time of the last frame, in microseconds since 1970-01-01 UTC.
    captured: Option<u64>,
    /// Whether the last picture was the one before.
    stayed: bool,
}

/// The picture's part of a frame's header.
#[derive(Clone, Copy)]
struct Place {
    id: u64,
    skipped: u64,
    captured: u64,
}

impl VideoEncoding {
    /// Encodes pictures of this format, on `threads` threads.
    ///
    /// # Errors
    /// [`PictureError::NotPlanar`] if the format is not YCbCr 4:2:0, [`PictureError::Renditions`] if `limit` is zero or
    /// more than [`MAX_RENDITIONS`].
    pub fn new(format: PictureFormat, threads: usize, limit: RenditionLimit) -> Result<Self, PictureError> {
        let meaning = format.ycbcr420().ok_or_else(|| not_planar(format.samples))?;
        if let RenditionLimit::AtMost(given) = limit
            && !(1..=MAX_RENDITIONS).contains(&given)
        {
            return Err(PictureError::Renditions { given });
        }
        let rate = format.rate.most();
        let frames_a_second = rate.per_second();
        let samples = format.size.pixels() as f64 * frames_a_second;
        let base = BaseRate::new(samples * BITS_PER_PIXEL);
        let population = population(&[base.bits()], base.bits());
        let settings = VideoSettings { size: format.size, rate, population, threads };
        let effort = EffortLadder::new(samples, frames_a_second);
        let encoder = VideoRenditions::new(&VideoModel::built_in(), settings, 1).expect("one rendition");
        Ok(Self {
            welcome: welcome(&format, meaning),
            encoder: encoder.with_effort(effort.effort()).with_known_receivers(true),
            effort,
            rate,
            renditions: Renditions::new(limit, frames_a_second),
            bases: vec![base],
            useful: vec![0],
            joins: RandomAccessBudget::default(),
            switch: None,
            captured: None,
            stayed: false,
        })
    }

    /// Keeps this effort of the motion search. With `None`, the encoder chooses it: by the samples a second at first,
    /// then by the time that frames take, see [`FrameEncoder::handle_encode_time`].
    #[must_use]
    pub fn with_effort(mut self, effort: Option<Effort>) -> Self {
        if let Some(effort) = effort {
            self.effort.pin(effort);
            self.encoder.set_effort(effort);
        }
        self
    }

    /// Encodes the next frame. It has a random-access frame ([`RandomAccessFrame`]) in each rendition in which a
    /// receiver asks for one, unless too many were made recently: the receiver then asks again.
    fn frame(&mut self, picture: &Picture, place: Place, demand: &Demand) -> Result<BroadcastFrame, Error> {
        self.joins.handle_frame();
        let interval = self.interval(place.captured);
        self.follow(demand, interval)?;
        let coded = self.encoder.encode(picture)?;
        self.stayed = coded.iter().all(|frame| frame.stays);
        // Key frames answer the requests too: a receiver that waits for a random-access frame can begin with one.
        let wanted = demand.take_random_access_requests();
        let slowest = self.renditions.slowest();
        let switching = self.switching_rendition(place);
        let on_the_way = switching.as_ref().map_or(&[][..], |switching| &switching.receivers);
        let mut renditions: Vec<Rendition> = Vec::with_capacity(coded.len() + 1);
        for (at, coded) in coded.into_iter().enumerate() {
            let newcomers = at == slowest && wanted.contains(&None);
            let join = self.join(at, &coded, newcomers, &wanted);
            renditions.push(self.rendition(at, place, coded, join, on_the_way));
        }
        renditions.swap(0, slowest);
        renditions.extend(switching);
        let first = renditions[0].frame.clone();
        let renditions = self.renditions.may_branch().then(|| renditions.into());
        Ok(BroadcastFrame { renditions, ..first.into() })
    }

    /// Makes the frame of the rendition at this place, for its receivers except those that are `on_the_way` to it.
    fn rendition(
        &mut self,
        at: usize,
        place: Place,
        coded: Coded,
        join: Option<RandomAccessFrame>,
        on_the_way: &[u64],
    ) -> Rendition {
        let State { number, follows, .. } = self.renditions.all()[at];
        self.renditions.handle_base(at, coded.base, self.bases[at].bits());
        let mut receivers = self.renditions.receivers(at);
        receivers.retain(|receiver| on_the_way.binary_search(receiver).is_err());
        Rendition { number, follows, receivers, frame: place.frame(coded, join) }
    }

    /// Makes the frame for receivers on their way to another rendition, if there are any; it replaces that rendition's
    /// frame.
    fn switching_rendition(&mut self, place: Place) -> Option<Rendition> {
        let Some(Switching { number, from, to, receivers, .. }) = self.renditions.switching() else {
            self.switch = None;
            return None;
        };
        let number = *number;
        let follows = *from;
        let receivers = receivers.clone();
        let carried = Bitrate::rounded(self.renditions.switching_rate() * SWITCH_INTERVALS);
        let most = carried.bytes_per_frame(self.rate).min(MAX_SWITCH_BYTES);
        let switch = self.switch.as_mut();
        let at = self.renditions.place(*to);
        let coded = switch.zip(at).and_then(|(switch, at)| self.encoder.switch_to(at, switch, most));
        let Some(coded) = coded else {
            // A scene begins for them too, or that rendition was removed.
            self.renditions.end_switching();
            return None;
        };
        if follows.is_none() {
            // The first was counted when they left.
            self.joins.spend();
        }
        if self.switch.as_ref().is_some_and(Switch::arrived) {
            self.renditions.handle_arrived();
        }
        Some(Rendition { number, follows, receivers, frame: place.frame(coded, None) })
    }

    /// Makes the random-access frame of the rendition at this place, if a receiver needs one; `newcomers` says whether
    /// receivers without a rendition ask.
    fn join(
        &mut self,
        at: usize,
        coded: &Coded,
        newcomers: bool,
        wanted: &BTreeSet<Option<u64>>,
    ) -> Option<RandomAccessFrame> {
        if coded.key {
            return Some(RandomAccessFrame { base: coded.base, bytes: coded.bytes.clone() });
        }
        let State { number, joined, .. } = self.renditions.all()[at];
        let asked = newcomers || wanted.contains(&Some(number));
        if !(joined || asked && self.joins.take()) {
            return None;
        }
        let most = usize::try_from(MAX_FRAME).unwrap_or(usize::MAX);
        let slowest = self.bases[at].slowest().unwrap_or_default();
        let carried = Bitrate::rounded(slowest * RANDOM_ACCESS_INTERVALS);
        let base = carried.bytes_per_frame(self.rate).clamp(MIN_RANDOM_ACCESS_BYTES, most);
        // If a path carries more bytes in time, the base-layer reference of a new receiver is closer to the others'.
        let Coded { bytes, side, .. } = self.encoder.join(at, base.max(self.useful[at]))?;
        Some(RandomAccessFrame { base: (side + base / 2).max(base).min(bytes.len()), bytes })
    }

    /// Returns the seconds since the frame before: as its capture time says, but at least those of the highest frame
    /// rate, and at most one.
    fn interval(&mut self, captured: u64) -> f64 {
        let before = self.captured.replace(captured).unwrap_or(captured);
        let interval = Duration::from_micros(captured.saturating_sub(before));
        interval.max(self.rate.interval()).as_secs_f64().min(1.0)
    }

    /// Adapts the renditions to the current receivers, `interval` seconds after the frame before.
    fn follow(&mut self, demand: &Demand, interval: f64) -> Result<(), Error> {
        let useful = demand.take_useful_bytes().min(MAX_FRAME);
        let receivers = demand.receivers();
        let known = |&(number, wanted): &(u64, ReceiverDemand)| {
            let ReceiverDemand { owed_frames, needs_random_access, .. } = wanted;
            Receiver { number, rate: rate_of(&wanted), owed_frames, needs_random_access }
        };
        let known: Vec<Receiver> = receivers.iter().map(known).collect();
        for change in self.renditions.handle_frame(&known, &mut self.joins) {
            self.apply(change)?;
        }
        for at in 0..self.bases.len() {
            let inside = self.renditions.receivers(at);
            let is_in = |(number, _): &&(u64, ReceiverDemand)| inside.binary_search(number).is_ok();
            let inside: Vec<_> = receivers.iter().filter(is_in).collect();
            let wanted = inside.iter().map(|(_, wanted)| wanted.useful_bytes).max().filter(|_| self.bases.len() > 1);
            self.follow_rendition(at, &inside, interval, wanted.map_or(useful, |wanted| wanted.min(useful)));
        }
        Ok(())
    }

    fn apply(&mut self, change: Change) -> Result<(), Error> {
        match change {
            Change::Switch { from } => self.switch = Some(self.encoder.switch_from(from)?),
            Change::Branch { from } => {
                self.encoder.branch(from)?;
                self.bases.push(self.bases[from].branch());
                self.useful.push(self.useful[from]);
            }
            Change::Remove { at } => {
                self.encoder.remove(at);
                self.bases.remove(at);
                self.useful.remove(at);
            }
        }
        Ok(())
    }

    /// Adapts the rendition at this place to these receivers, which can use `useful` bytes of a frame.
    fn follow_rendition(&mut self, at: usize, receivers: &[&(u64, ReceiverDemand)], interval: f64, useful: u64) {
        let most = most_bits(self.rate);
        let path = |&&(receiver, wanted): &&(u64, ReceiverDemand)| {
            let ReceiverDemand { needs_random_access: waits, .. } = wanted;
            Path { receiver, rate: rate_of(&wanted).min(most), waits }
        };
        let paths: Vec<Path> = receivers.iter().map(path).collect();
        self.bases[at].handle_frame(&paths, interval);
        let rates: Vec<f64> = paths.iter().map(|path| path.rate).collect();
        let rates = population(&rates, self.bases[at].bits());
        self.useful[at] = usize::try_from(useful).unwrap_or(usize::MAX);
        self.encoder.set_population(at, rates, self.useful[at]);
    }
}

impl FrameEncoder for VideoEncoding {
    type Picture = Picture;

    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    /// Also returns the picture: the encoder keeps its own copy.
    fn encode(
        &mut self,
        captured: Captured<Picture>,
        skipped: u64,
        demand: &Demand,
    ) -> Result<(BroadcastFrame, Option<Picture>), SourceError> {
        let Captured { id, at, picture } = captured;
        let frame = self.frame(&picture, Place { id, skipped, captured: at }, demand).map_err(SourceError::failed)?;
        Ok((frame, Some(picture)))
    }

    /// Learns how long a frame took to encode. If frames take more than eight tenths of their interval, the next ones are
    /// encoded with less effort, from `normal` to `fast` to `realtime`; it rises again while there is time. If frames
    /// take half of their interval, no rendition is added; above nine tenths with the least effort, one is removed.
    /// Without this call the encoder assumes that it has enough time. A picture that stays takes little time, so it says
    /// nothing about those that follow.
    fn handle_encode_time(&mut self, took: Duration) {
        if self.stayed {
            return;
        }
        let seconds = took.as_secs_f64();
        if self.effort.handle_encoded(seconds) {
            self.encoder.set_effort(self.effort.effort());
            self.renditions.handle_effort_changed();
        } else {
            self.renditions.handle_encoded(seconds, self.effort.may_fall());
        }
    }
}

impl Place {
    fn frame(self, coded: Coded, join: Option<RandomAccessFrame>) -> Frame {
        let Self { id, skipped, captured } = self;
        Frame { id, skipped, captured, since: id, base: coded.base, bytes: coded.bytes, join }
    }
}

pub(crate) fn welcome(format: &PictureFormat, (colours, bits): (Ycbcr, u8)) -> Welcome {
    let [key, residual] = VideoModel::built_in().ids();
    let display = format.display;
    let video = Video { residual: residual.0, signal: display.signal(colours), aspect: display.aspect, bits };
    format.welcome(key, PackageHash([0; 32]), Some(video))
}

const fn not_planar(samples: Samples) -> PictureError {
    let announced = match samples {
        Samples::Fixed(format) => Some(format),
        Samples::RgbOrGrey => None,
    };
    PictureError::NotPlanar { announced }
}

/// Returns the rate in bits a second at which a frame reaches its largest size: no link counts as faster.
fn most_bits(rate: FrameRate) -> f64 {
    ((MAX_FRAME * 8) as f64 * rate.per_second()).floor()
}

/// Makes a population of receivers of these rates, none of them slower than the base layers' rate.
fn population(rates: &[f64], bases: f64) -> Population {
    let receivers = rates.iter().map(|rate| (rate.max(bases), 1.0)).chain([(bases, NO_WEIGHT)]);
    Population::new(receivers.map(|(rate, weight)| (Bitrate::rounded(rate), weight)))
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{DecodedPart, Display, Format, Scan, Size, VideoDecoder};
    use nestcast_proto::DemandEntry;

    use super::*;
    use crate::source::Pictures;

    const RATE: FrameRate = match FrameRate::new(30, 1) {
        Ok(rate) => rate,
        Err(_) => panic!("a rate"),
    };

    fn encoding(size: Size, limit: RenditionLimit) -> VideoEncoding {
        let format = PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT601), RATE);
        VideoEncoding::new(format, 1, limit).expect("planar")
    }

    /// Encodes [`picture`] number `id`.
    fn encode(encoding: &mut VideoEncoding, size: Size, id: u8, demand: &Demand) -> BroadcastFrame {
        let captured = Captured { id: id.into(), at: 0, picture: picture(size, id) };
        encoding.encode(captured, 0, demand).expect("its size").0
    }

    /// Returns a pattern that gets brighter with `id`.
    fn picture(size: Size, id: u8) -> Picture {
        let samples = (0..7).cycle().take(size.pixels() * 3 / 2).map(|at| at * 9 + id).collect();
        Picture::new(size, Format::Ycbcr420(Ycbcr::BT601), samples).expect("a picture")
    }

    /// States a receiver with a cap of `bits` a second, on a path that carries more.
    fn state(entry: &DemandEntry, bits: u64) {
        let bandwidth = Bitrate::from_bits(1 << 30);
        let max_bitrate = Some(Bitrate::from_bits(bits));
        entry.set(ReceiverDemand { bandwidth, max_bitrate, useful_bytes: bits / 240, ..ReceiverDemand::default() });
    }

    #[test]
    fn no_link_counts_as_faster_than_the_longest_frames_take() {
        for rate in [RATE, FrameRate::new(1, 3600).expect("a rate"), FrameRate::new(30_000, 1001).expect("a rate")] {
            let bytes = Bitrate::rounded(most_bits(rate)).bytes_per_frame(rate) as u64;
            // A bitrate is whole: less than a bit a second is left out.
            let left_out = rate.interval().as_secs() / 8 + 2;
            assert!(bytes <= MAX_FRAME && bytes > MAX_FRAME - left_out, "{bytes}");
        }
    }

    #[test]
    fn video_announces_what_its_samples_mean_and_refuses_what_is_not_planar() {
        let size = Size::new(32, 32).expect("a size");
        let rate = FrameRate::new(30, 1).expect("a rate");
        let of = |pictures: &Pictures| VideoEncoding::new(pictures.format(), 1, RenditionLimit::default());
        for colours in [Ycbcr::BT601_FULL, Ycbcr::BT601, Ycbcr::BT709] {
            let grey = Picture::zero(size, Format::Ycbcr420(colours));
            let camera = Pictures::from_fn(PictureFormat::of(&grey, rate), |_| Ok(None));
            for pictures in [camera, Pictures::still(grey, rate)] {
                let video = of(&pictures).expect("planar").welcome().video.expect("of video");
                assert_eq!(Display::of_signal(video.signal), Some((colours, Display::default())));
            }
        }
        let wide = Display { scan: Scan::TopFirst, aspect: [16, 11], ..Display::default() };
        let format = PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT709), rate).with_display(wide);
        let video = VideoEncoding::new(format, 1, RenditionLimit::default()).expect("planar").welcome().video;
        let told = video.map(|video| (Display::of_signal(video.signal).expect("known").1.scan, video.aspect));
        assert_eq!(told, Some((Scan::TopFirst, [16, 11])));
        for bits in [8, 10, 16] {
            let format = PictureFormat::new(size, Format::planar(Ycbcr::BT709, bits), rate);
            let video = VideoEncoding::new(format, 1, RenditionLimit::default()).expect("planar").welcome().video;
            assert_eq!(video.map(|video| video.bits), Some(bits));
        }
        let refused = of(&Pictures::still(Picture::zero(size, Format::Rgb), rate)).expect_err("RGB").to_string();
        assert!(refused.contains("RGB") && refused.contains("must convert"), "{refused}");
        let planar = PictureFormat::new(size, Format::Ycbcr420(Ycbcr::BT601_FULL), rate);
        let none = VideoEncoding::new(planar, 1, RenditionLimit::AtMost(0));
        assert!(matches!(none, Err(PictureError::Renditions { given: 0 })));
    }

    #[test]
    fn the_slowest_rendition_goes_with_its_receivers_and_others_and_new_ones_go_on() {
        let size = Size::new(32, 32).expect("a size");
        let mut encoding = encoding(size, RenditionLimit::AtMost(2));
        let demand = Demand::default();
        let mut slow = Some(demand.register());
        slow.iter().for_each(|slow| state(slow, 30_000));
        let fast = demand.register();
        state(&fast, 600_000);
        let [mut stays, mut comes] = [(); 2].map(|()| VideoDecoder::new(VideoModel::built_in(), size, 1));
        for id in 0..90_u8 {
            if id == 60 {
                slow = None;
            }
            if id == 70 {
                demand.register().request_random_access(None);
            }
            let broadcast = encode(&mut encoding, size, id, &demand);
            let BroadcastFrame { frame, renditions, .. } = &broadcast;
            let renditions = renditions.as_ref().expect("there may be several");
            let own = broadcast.rendition_of(fast.receiver()).expect("a rendition");
            match slow {
                Some(_) if id >= 45 => assert_eq!((renditions.len(), renditions[0].receivers.clone()), (2, vec![0])),
                Some(_) => {}
                None => assert_eq!((renditions.len(), own.number, &own.frame), (1, 1, frame)),
            }
            assert!(stays.decode(&own.frame.bytes).expect("a frame") >= DecodedPart::Base);
            if id >= 70 {
                let joined = frame.join.as_ref().filter(|_| id == 70).map_or(&frame.bytes, |join| &join.bytes);
                assert!(comes.decode(joined).expect("a frame") >= DecodedPart::Base);
            }
        }
        let luma = |decoder: &mut VideoDecoder| {
            let mut shown = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
            decoder.render_into(&mut shown).expect("a picture");
            let last = picture(size, 89);
            let apart = shown.samples().iter().zip(last.samples()).map(|(a, b)| a.abs_diff(*b));
            apart.take(size.pixels()).max()
        };
        assert!(luma(&mut stays) <= Some(4) && luma(&mut comes) <= Some(4));
    }

    #[test]
    fn a_receiver_whose_rate_falls_goes_on_in_the_slower_rendition_without_a_picture_coded_alone() {
        let size = Size::new(32, 32).expect("a size");
        let mut encoding = encoding(size, RenditionLimit::AtMost(2));
        let demand = Demand::default();
        let [slow, fast, falls] = [(); 3].map(|()| demand.register());
        state(&slow, 30_000);
        state(&fast, 600_000);
        state(&falls, 600_000);
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
        let mut numbers = Vec::new();
        let mut before = None;
        for id in 0..200_u8 {
            if id == 60 {
                state(&falls, 30_000);
            }
            let frame = encode(&mut encoding, size, id, &demand);
            let own = frame.rendition_of(falls.receiver()).expect("a rendition");
            // It has the frames from which this one is predicted.
            assert!(before.is_none_or(|before| own.number == before || own.follows == Some(before)), "frame {id}");
            let bytes = &own.frame.bytes;
            assert!(id == 0 || !nestcast_codec::FrameHead::parse(bytes).expect("a head").expect("whole").key);
            before = Some(own.number);
            numbers.push(own.number);
            assert!(decoder.decode(bytes).expect("a frame") >= DecodedPart::Base);
        }
        numbers.dedup();
        assert_eq!(numbers, [0, 1, 2, 0], "renditions 0 and 1, and the way back");
        let mut shown = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
        decoder.render_into(&mut shown).expect("a picture");
        let last = picture(size, 199);
        let apart = shown.samples().iter().zip(last.samples()).map(|(a, b)| a.abs_diff(*b)).take(size.pixels());
        assert!(apart.max() <= Some(12));
    }

    #[test]
    fn a_random_access_frame_has_bytes_enough_for_a_picture_however_slow_the_path_is() {
        let size = Size::new(96, 64).expect("a size");
        let mut encoding = encoding(size, RenditionLimit::AtMost(1));
        let demand = Demand::default();
        let entry = demand.register();
        state(&entry, 10_000);
        (0..30).for_each(|_| drop(encode(&mut encoding, size, 0, &demand)));
        entry.request_random_access(None);
        let join = encode(&mut encoding, size, 0, &demand).frame.join.expect("it asked for one");
        assert_eq!(join.base, join.bytes.len().min(MIN_RANDOM_ACCESS_BYTES));
        assert!((MIN_RANDOM_ACCESS_BYTES / 2..=MIN_RANDOM_ACCESS_BYTES).contains(&join.base), "{} bytes", join.base);
    }

    #[test]
    fn who_asks_for_a_join_with_every_frame_gets_one_with_every_fourth_once_a_crowd_could_have_come() {
        let size = Size::new(32, 32).expect("a size");
        let mut encoding = encoding(size, RenditionLimit::AtMost(1));
        let demand = Demand::default();
        let entry = demand.register();
        let joins: Vec<bool> = (0..80_u8)
            .map(|id| {
                entry.request_random_access(None);
                encode(&mut encoding, size, id, &demand).frame.join.is_some()
            })
            .collect();
        assert_eq!(joins[..30], [true; 30], "a crowd");
        assert!(joins[45..].windows(4).all(|four| four.iter().filter(|joins| **joins).count() == 1), "{joins:?}");
    }
}
