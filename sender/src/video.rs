//! The source that encodes video: each frame once, for all receivers of now.

use std::collections::BTreeSet;
use std::time::Duration;

use nestcast_codec::{
    Effort, Error, FrameRate, MAX_LOOPS, Picture, Population, Size, Switch, VideoLoops, VideoModel, VideoSettings,
};
use nestcast_proto::{Frame, Join, LoopFrame, MAX_FRAME, PackageHash, Video};

use crate::capture::{Capture, Captured, MakeFrames, Pictures};
use crate::feedback::Feedback;
use crate::groups::{Change, Group, Groups, Known, Loops, Switching};
use crate::join_budget::JoinBudget;
use crate::source::SourceError;
use crate::statistics::ReceiverStatistics;

/// Share of what a path carries that is frames' bytes; the rest is headers.
const PAYLOAD: f64 = 0.9;
/// Share of the slowest receiver's rate that the bases of frames take. What a fall of the rate loses of bases comes again
/// before all else: so much less than all, and that is soon done.
const BASE_SHARE: f64 = 0.4;
/// A receiver of less than this share of the median's rate is not waited for: it gets a new beginning again and again, and
/// the others keep theirs.
const HOPELESS: f64 = 0.25;
/// How many times faster the slowest rate may be from frame to frame: it falls at once, and rises fivefold in a second.
const RISE: f64 = 1.05;
/// The base of a beginning for new receivers takes what the slowest carries in so many frame intervals, but no fewer bytes.
const JOIN_INTERVALS: f64 = 2.0;
const MIN_JOIN_BYTES: usize = 1000;
/// Share of what the slowest carries in a frame interval that a frame takes by which receivers change loops, and the most bytes,
/// those of a base that may be sent again.
const SWITCH_INTERVALS: f64 = 0.75;
const MAX_SWITCH_BYTES: usize = 65_536;
/// Bits for each pixel before the first receiver comes.
const BITS_PER_PIXEL: f64 = 0.1;
/// Luma samples a second from which on the search for motion is a short one: those of 640x360 at 30 frames a second.
const MANY_SAMPLES: f64 = 640.0 * 360.0 * 30.0;
/// Least weight of a rate that only sets a bound.
const NO_WEIGHT: f64 = 1e-9;

/// Encodes pictures as frames of video for the receivers that a [`Feedback`] knows.
#[derive(Debug)]
pub struct VideoEncoding {
    encoder: VideoLoops,
    rate: FrameRate,
    groups: Groups,
    /// The rate that each loop's bases are made for, bits a second.
    slowest: Vec<f64>,
    /// The most bytes of a frame that a receiver in each loop has use for.
    useful: Vec<usize>,
    joins: JoinBudget,
    /// Of the receivers that are on their way to another loop.
    switch: Option<Switch>,
}

impl VideoEncoding {
    /// For pictures of `size`, planar YCbCr 4:2:0, on so many threads.
    ///
    /// # Panics
    /// If `loops` says at most none, or more than [`nestcast_codec::MAX_LOOPS`].
    #[must_use]
    pub fn new(size: Size, rate: FrameRate, threads: usize, loops: Loops) -> Self {
        if let Loops::AtMost(most) = loops {
            assert!((1..=MAX_LOOPS).contains(&most), "a video has one to three loops");
        }
        let frames_a_second = f64::from(rate.frames) / f64::from(rate.seconds);
        let samples = size.pixels() as f64 * frames_a_second;
        let slowest = samples * BITS_PER_PIXEL;
        let population = population(&[slowest], slowest * BASE_SHARE);
        let settings = VideoSettings { size, rate, population, threads };
        let effort = if samples > MANY_SAMPLES { Effort::Fast } else { Effort::Normal };
        let encoder = VideoLoops::new(&VideoModel::built_in(), settings, 1).expect("one loop").with_effort(effort);
        let groups = Groups::new(loops, frames_a_second);
        Self {
            encoder,
            rate,
            groups,
            slowest: vec![slowest],
            useful: vec![0],
            joins: JoinBudget::default(),
            switch: None,
        }
    }

    /// Searches for motion as long as this says, not as long as the samples a second suggest.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { encoder: self.encoder.with_effort(effort), ..self }
    }

    /// The frame before took so long to encode: where frames take half of their interval no loop is added, and one is given up where
    /// they take more than nine tenths. Whoever never says so is taken to have all the time.
    pub fn handle_encoded(&mut self, took: Duration) {
        self.groups.handle_encoded(took.as_secs_f64());
    }

    /// The next frame, taken at a picture's number, pictures skipped and moment of capture, each as [`Frame`] has it; with a
    /// [`Join`] if a receiver asks for one, and there were not too many of late: it asks again then.
    ///
    /// # Errors
    /// If the picture has another size or format.
    pub fn encode(
        &mut self,
        picture: &Picture,
        (id, skipped, captured): (u64, u64, u64),
        feedback: &Feedback,
    ) -> Result<Frame, Error> {
        self.joins.handle_frame();
        self.follow(feedback)?;
        let coded = self.encoder.encode(picture)?;
        // Read for key frames too: who waited for a join has one in them.
        let wanted = feedback.take_join_requests();
        let slowest = self.groups.slowest();
        let switching = self.switching_frame();
        let mut loops: Vec<LoopFrame> = Vec::with_capacity(coded.len() + 1);
        for (at, frame) in coded.into_iter().enumerate() {
            let join = self.join(at, &frame, at == slowest && wanted.contains(&None), &wanted);
            let Group { number, follows, .. } = self.groups.groups()[at];
            let nestcast_codec::Frame { base, bytes, .. } = frame;
            self.groups.handle_base(at, base, self.slowest[at] * BASE_SHARE);
            let is_there = |receiver: &u64| switching.iter().all(|way| way.receivers.binary_search(receiver).is_err());
            let receivers = self.groups.receivers(at).into_iter().filter(is_there).collect();
            loops.push(LoopFrame { number, follows, receivers, base, bytes, join });
        }
        loops.swap(0, slowest);
        loops.extend(switching);
        let LoopFrame { base, bytes, join, .. } = loops[0].clone();
        let loops = self.groups.may_branch().then(|| loops.into());
        Ok(Frame { id, skipped, captured, since: id, base, bytes, join, loops })
    }

    /// What those get who are on their way to another loop, if there are any, in place of that one's frame.
    fn switching_frame(&mut self) -> Option<LoopFrame> {
        let Some(Switching { number, from, to, receivers, .. }) = self.groups.switching() else {
            self.switch = None;
            return None;
        };
        let (number, follows, receivers) = (*number, *from, receivers.clone());
        let most = self.rate.bytes(self.groups.switching_rate() * SWITCH_INTERVALS).min(MAX_SWITCH_BYTES);
        let (switch, at) = (self.switch.as_mut(), self.groups.place(*to));
        let frame = switch.zip(at).and_then(|(switch, at)| self.encoder.switch_to(at, switch, most));
        let Some(nestcast_codec::Frame { base, bytes, .. }) = frame else {
            // A scene begins, for them too; or that loop is gone.
            self.groups.end_switching();
            return None;
        };
        if follows.is_none() {
            // The first was taken when they left.
            self.joins.spend();
        }
        if self.switch.as_ref().is_some_and(Switch::arrived) {
            self.groups.handle_arrived();
        }
        Some(LoopFrame { number, follows, receivers, base, bytes, join: None })
    }

    /// What a receiver begins with in loop `at`, if somebody does.
    fn join(
        &mut self,
        at: usize,
        frame: &nestcast_codec::Frame,
        new: bool,
        wanted: &BTreeSet<Option<u64>>,
    ) -> Option<Join> {
        if frame.key {
            return Some(Join { base: frame.base, bytes: frame.bytes.clone() });
        }
        let Group { number, joined, .. } = self.groups.groups()[at];
        let asked = new || wanted.contains(&Some(number));
        if !(joined || asked && self.joins.take()) {
            return None;
        }
        let most = usize::try_from(MAX_FRAME).unwrap_or(usize::MAX);
        let base = self.rate.bytes(self.slowest[at] * JOIN_INTERVALS).clamp(MIN_JOIN_BYTES, most);
        // What else a link carries of it in time makes the floor that a receiver begins with more like the others'.
        let nestcast_codec::Frame { bytes, .. } = self.encoder.join(at, base.max(self.useful[at]))?;
        Some(Join { base: base.min(bytes.len()), bytes })
    }

    /// Encodes for the receivers of now.
    fn follow(&mut self, feedback: &Feedback) -> Result<(), Error> {
        let useful = feedback.take_useful_bytes().min(MAX_FRAME);
        let receivers = feedback.statistics().receivers;
        let known = |receiver: &ReceiverStatistics| {
            let &ReceiverStatistics { number, owed_frames, needs_join, .. } = receiver;
            Known { number, rate: rate_of(receiver), owed_frames, needs_join }
        };
        let known: Vec<Known> = receivers.iter().map(known).collect();
        for change in self.groups.handle_frame(&known, &mut self.joins) {
            match change {
                Change::Switch { from } => self.switch = Some(self.encoder.switch_from(from)?),
                Change::Branch { from } => {
                    self.encoder.branch(from)?;
                    self.slowest.push(f64::INFINITY);
                    self.useful.push(self.useful[from]);
                }
                Change::Remove { at } => {
                    self.encoder.remove(at);
                    self.slowest.remove(at);
                    self.useful.remove(at);
                }
            }
        }
        for at in 0..self.slowest.len() {
            let inside = self.groups.receivers(at);
            let is_in = |receiver: &&ReceiverStatistics| inside.binary_search(&receiver.number).is_ok();
            let inside: Vec<_> = receivers.iter().filter(is_in).collect();
            let wanted = inside.iter().map(|receiver| receiver.useful_bytes).max().filter(|_| self.slowest.len() > 1);
            self.follow_loop(at, &inside, wanted.map_or(useful, |wanted| wanted.min(useful)));
        }
        Ok(())
    }

    /// Encodes loop `at` for these receivers, who have use for so many bytes of a frame.
    fn follow_loop(&mut self, at: usize, receivers: &[&ReceiverStatistics], useful: u64) {
        let most = most_bits(self.rate);
        let rates: Vec<f64> = receivers.iter().map(|receiver| rate_of(receiver).min(most)).collect();
        let known = population(&rates, 0.0);
        if let (Some(slowest), Some(median)) = (known.slowest(), known.median()) {
            self.slowest[at] = slowest.max(median * HOPELESS).min(self.slowest[at] * RISE);
        }
        let rates = population(&rates, self.slowest[at] * BASE_SHARE);
        self.useful[at] = usize::try_from(useful).unwrap_or(usize::MAX);
        self.encoder.set_population(at, rates, self.useful[at]);
    }
}

/// The rate, in bits a second, at which a frame has as many bytes as one may have: no link counts as faster.
fn most_bits(rate: FrameRate) -> f64 {
    (MAX_FRAME * 8) as f64 * f64::from(rate.frames) / f64::from(rate.seconds)
}

/// What of a receiver's path is for frames, within what it asks for, bits a second.
fn rate_of(receiver: &ReceiverStatistics) -> f64 {
    let carried = receiver.carried_rate.bits() as f64 * PAYLOAD;
    receiver.max_bitrate.map_or(carried, |most| carried.min(most.bits() as f64))
}

/// Receivers of these rates, none of them slower than bases are made for.
fn population(rates: &[f64], bases: f64) -> Population {
    Population::new(rates.iter().map(|rate| (rate.max(bases), 1.0)).chain([(bases, NO_WEIGHT)]))
}

impl Capture {
    /// Pictures as frames of video, as of [`VideoEncoding::new`], with an effort if not the usual one.
    ///
    /// # Panics
    /// As [`VideoEncoding::new`] does.
    #[must_use]
    pub fn video(pictures: Pictures, threads: usize, loops: Loops, effort: Option<Effort>) -> Self {
        let rate = FrameRate { frames: pictures.rate().frames(), seconds: pictures.rate().seconds() };
        let [key, residual] = VideoModel::built_in().ids();
        let full_range = pictures.range() == nestcast_codec::Range::Full;
        let video = Video { residual: residual.0, full_range };
        let welcome = pictures.welcome(key, PackageHash([0; 32]), Some(video));
        let mut encoding = VideoEncoding::new(pictures.size(), rate, threads, loops);
        if let Some(effort) = effort {
            encoding = encoding.with_effort(effort);
        }
        Self::new(welcome, None, pictures, encoding)
    }
}

impl MakeFrames for VideoEncoding {
    fn make(
        &mut self,
        captured: Captured,
        skipped: u64,
        feedback: &Feedback,
    ) -> Result<(Frame, Option<Picture>), SourceError> {
        let Captured { id, at, picture } = captured;
        let frame = self.encode(&picture, (id, skipped, at), feedback).map_err(SourceError::failed)?;
        Ok((frame, Some(picture)))
    }

    fn handle_made(&mut self, took: Duration) {
        self.handle_encoded(took);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nestcast_codec::{Arrived, Format, VideoDecoder};
    use nestcast_proto::{Bitrate, PathStats, SendStats};

    use super::*;
    use crate::statistics::{Counters, Served};

    const RATE: FrameRate = FrameRate { frames: 30, seconds: 1 };

    /// A pattern that gets brighter.
    fn picture(size: Size, id: u8) -> Picture {
        let samples = (0..7).cycle().take(size.pixels() * 3 / 2).map(|at| at * 9 + id).collect();
        Picture::new(size, Format::Ycbcr420(nestcast_codec::Range::Limited), samples).expect("a picture")
    }

    /// A receiver that takes so many bits a second, on a path that carries more.
    fn receiver(counters: &Arc<Counters>, number: u64, bits: u64) -> Served {
        let rate = Bitrate::from_bits;
        let figures = ReceiverStatistics {
            number,
            address: ([127, 0, 0, 1], 4433).into(),
            in_loop: None,
            delivery_rate: rate(bits),
            carried_rate: rate(1 << 30),
            max_bitrate: Some(rate(bits)),
            useful_bytes: bits / 240,
            owed_frames: 0,
            needs_join: false,
            sent: SendStats::default(),
            path: PathStats::default(),
        };
        counters.serve(number, figures)
    }

    #[test]
    fn no_link_counts_as_faster_than_the_longest_frames_take() {
        for rate in [RATE, FrameRate { frames: 1, seconds: 3600 }, FrameRate { frames: 30_000, seconds: 1001 }] {
            let bytes = rate.bytes(most_bits(rate)) as u64;
            assert!(bytes <= MAX_FRAME && bytes > MAX_FRAME - 2, "{bytes}");
        }
    }

    #[test]
    fn the_slowest_loop_goes_with_its_receivers_and_who_is_in_another_or_new_goes_on() {
        let size = Size::new(32, 32).expect("a size");
        let mut encoding = VideoEncoding::new(size, RATE, 1, Loops::AtMost(2));
        let counters = Arc::new(Counters::default());
        let feedback = Feedback::new(Arc::clone(&counters));
        let mut slow = Some(receiver(&counters, 0, 30_000));
        let _fast = receiver(&counters, 1, 600_000);
        let [mut stays, mut comes] = [(); 2].map(|()| VideoDecoder::new(VideoModel::built_in(), size, 1));
        for id in 0..90_u8 {
            if id == 60 {
                slow = None;
            }
            if id == 70 {
                feedback.ask_join(None);
            }
            let frame = encoding.encode(&picture(size, id), (id.into(), 0, 0), &feedback).expect("its size");
            let loops = frame.loops.as_ref().expect("there may be several");
            let own = frame.loop_of(1).expect("a loop");
            match slow {
                Some(_) if id >= 45 => assert_eq!((loops.len(), loops[0].receivers.clone()), (2, vec![0])),
                Some(_) => {}
                None => assert_eq!((loops.len(), own.number, frame.bytes.clone()), (1, 1, own.bytes.clone())),
            }
            assert!(stays.decode(&own.bytes).expect("a frame") >= Arrived::Base);
            if id >= 70 {
                let joined = frame.join.as_ref().filter(|_| id == 70).map_or(&frame.bytes, |join| &join.bytes);
                assert!(comes.decode(joined).expect("a frame") >= Arrived::Base);
            }
        }
        let luma = |decoder: &mut VideoDecoder| {
            let mut shown = Picture::zero(size, Format::Ycbcr420(nestcast_codec::Range::Limited));
            decoder.render_into(&mut shown).expect("a picture");
            let last = picture(size, 89);
            let apart = shown.samples().iter().zip(last.samples()).map(|(a, b)| a.abs_diff(*b));
            apart.take(size.pixels()).max()
        };
        assert!(luma(&mut stays) <= Some(4) && luma(&mut comes) <= Some(4));
    }

    #[test]
    fn whose_rate_falls_goes_on_in_the_slower_loop_without_a_picture_coded_alone() {
        let size = Size::new(32, 32).expect("a size");
        let mut encoding = VideoEncoding::new(size, RATE, 1, Loops::AtMost(2));
        let counters = Arc::new(Counters::default());
        let feedback = Feedback::new(Arc::clone(&counters));
        let _slow = receiver(&counters, 0, 30_000);
        let _fast = receiver(&counters, 1, 600_000);
        let mut falls = Some(receiver(&counters, 2, 600_000));
        let mut decoder = VideoDecoder::new(VideoModel::built_in(), size, 1);
        let (mut numbers, mut before) = (Vec::new(), None);
        for id in 0..200_u8 {
            if id == 60 {
                falls.take();
                falls = Some(receiver(&counters, 2, 30_000));
            }
            let frame = encoding.encode(&picture(size, id), (id.into(), 0, 0), &feedback).expect("its size");
            let own = frame.loop_of(2).expect("a loop");
            // It has whatever the frame is predicted from.
            assert!(before.is_none_or(|before| own.number == before || own.follows == Some(before)), "frame {id}");
            assert!(id == 0 || !nestcast_codec::FrameHead::parse(&own.bytes).expect("a head").expect("whole").key);
            before = Some(own.number);
            numbers.push(own.number);
            assert!(decoder.decode(&own.bytes).expect("a frame") >= Arrived::Base);
        }
        numbers.dedup();
        assert_eq!(numbers, [0, 1, 2, 0], "loops 0 and 1, and the way back");
        let mut shown = Picture::zero(size, Format::Ycbcr420(nestcast_codec::Range::Limited));
        decoder.render_into(&mut shown).expect("a picture");
        let last = picture(size, 199);
        let apart = shown.samples().iter().zip(last.samples()).map(|(a, b)| a.abs_diff(*b)).take(size.pixels());
        assert!(apart.max() <= Some(12));
    }

    #[test]
    fn who_asks_for_a_join_with_every_frame_gets_one_with_every_fourth_once_a_crowd_could_have_come() {
        let size = Size::new(32, 32).expect("a size");
        let mut encoding = VideoEncoding::new(size, RATE, 1, Loops::AtMost(1));
        let feedback = Feedback::default();
        let joins: Vec<bool> = (0..80_u8)
            .map(|id| {
                feedback.ask_join(None);
                let place = (u64::from(id), 0, 0);
                encoding.encode(&picture(size, id), place, &feedback).expect("its size").join.is_some()
            })
            .collect();
        assert_eq!(joins[..30], [true; 30], "a crowd");
        assert!(joins[45..].windows(4).all(|four| four.iter().filter(|joins| **joins).count() == 1), "{joins:?}");
    }
}
