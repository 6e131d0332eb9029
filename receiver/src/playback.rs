//! Frames from the mailbox to a viewer, on the thread that decodes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{ModelId, Picture, Range, Size};
use nestcast_proto::{Arrived, FrameHeader, More, Welcome};

use crate::concealment::Concealment;
use crate::decoding::Decoding;
use crate::latency;
use crate::mailbox::{Answer, Mailbox};
use crate::player::{Cause, MAX_CORRUPT_FRAMES, PlayError};
use crate::sink::Readiness;
use crate::viewer::{AnnouncedVideo, Announcement, Concealed, Shown, Totals, Viewer};

/// Between two reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// What the thread works with.
pub(crate) struct Playback<'a, V> {
    viewer: V,
    mailbox: &'a Mailbox,
    announced: Option<Announcement>,
    /// The time from one frame to the next.
    interval: Duration,
    decoding: Option<Decoding>,
    /// The frame that was decoded last, while more of it may come.
    last: Option<Last>,
    /// The picture that was shown last; the next is decoded into it.
    picture: Option<Picture>,
    concealment: Concealment,
    totals: Totals,
    corrupt: Corrupt,
    reported: Instant,
}

impl<'a, V: Viewer> Playback<'a, V> {
    pub(crate) fn new(viewer: V, mailbox: &'a Mailbox) -> Self {
        let (totals, interval, reported) = (Totals::default(), REPORT_INTERVAL, Instant::now());
        Self {
            viewer,
            mailbox,
            announced: None,
            interval,
            decoding: None,
            last: None,
            picture: None,
            concealment: Concealment::default(),
            totals,
            corrupt: Corrupt(0),
            reported,
        }
    }

    /// Shows until the last mail came or the viewer cannot go on.
    pub(crate) fn run(mut self) -> Result<(), PlayError> {
        let mut patience = self.interval * 3 / 2;
        loop {
            let mail = self.mailbox.take(patience);
            // What is concealed or held is shown as often as frames are.
            patience = if mail.is_empty() { self.interval } else { self.interval * 3 / 2 };
            self.count();
            if mail.is_empty() {
                if mail.last {
                    self.viewer.report(&self.totals).map_err(failed)?;
                    return self.viewer.finish().map_err(failed);
                }
                self.go_on()?;
            }
            self.show(mail.frames)?;
            if let Some(more) = mail.more {
                self.show_more(&more)?;
            }
            if let Some((welcome, answer)) = mail.welcome {
                self.announce(&welcome, answer)?;
            }
            if let Some((package, answer)) = mail.package {
                self.package(package, answer)?;
            }
            if self.reported.elapsed() >= REPORT_INTERVAL {
                self.reported = Instant::now();
                self.viewer.report(&self.totals).map_err(failed)?;
            }
        }
    }

    fn count(&mut self) {
        let counts = self.mailbox.counts();
        let (received, undecoded, reconnects) = (counts.received, counts.replaced, counts.reconnects);
        self.totals = Totals { received, undecoded, reconnects, ..self.totals };
    }

    /// Nothing came for an interval: shows how the last frame moves on, or its picture again.
    fn go_on(&mut self) -> Result<(), PlayError> {
        let (Some(decoding), Some(picture)) = (&mut self.decoding, &mut self.picture) else { return Ok(()) };
        if let Some((id, frames)) = self.concealment.handle_interval() {
            match decoding.conceal(picture, frames) {
                Ok(true) => {
                    self.concealment.handle_concealed(id);
                    self.totals.concealed += 1;
                    return self.viewer.conceal(&Concealed { id, picture }).map_err(failed);
                }
                Ok(false) => {}
                Err(why) => self.corrupt.note(&mut self.totals, why)?,
            }
        }
        self.totals.held += 1;
        self.viewer.hold(picture).map_err(failed)
    }

    fn announce(&mut self, welcome: &Welcome, answer: Answer<Readiness>) -> Result<(), PlayError> {
        let size = Size::new(welcome.width, welcome.height).map_err(|error| PlayError::Size(error.into()))?;
        let (model, package, rate) = (ModelId(welcome.model), welcome.package, welcome.rate);
        let video = welcome.video.map(|video| AnnouncedVideo {
            residual: ModelId(video.residual),
            range: if video.full_range { Range::Full } else { Range::Limited },
        });
        let announced = Announcement { model, package, size, rate, video };
        (self.announced, self.interval) = (Some(announced), welcome.interval());
        (self.last, self.concealment) = (None, Concealment::default());
        // One of another size is held no longer.
        self.picture = self.picture.take().filter(|picture| picture.size() == size);
        self.decoding = self.viewer.handle_announcement(&announced).map_err(failed)?;
        // Whoever asked may have gone with its connection.
        let _ = answer.send(if self.decoding.is_some() { Readiness::Ready } else { Readiness::NeedsPackage });
        Ok(())
    }

    fn package(&mut self, package: Bytes, answer: Answer<()>) -> Result<(), PlayError> {
        let Some(announced) = &self.announced else { return Ok(()) };
        let decoding = self.viewer.handle_package(announced, package).map_err(failed)?;
        self.decoding = Some(decoding.ok_or(PlayError::PackageRefused)?);
        let _ = answer.send(());
        Ok(())
    }

    /// Decodes all frames, in their order, and shows the last one that can be decoded.
    fn show(&mut self, frames: impl IntoIterator<Item = Arrived>) -> Result<(), PlayError> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(()) };
        let start = Instant::now();
        let mut last = None;
        for arrived in frames {
            let id = arrived.header.id;
            if let Err(why) = decoding.decode(announced.size, &arrived.prefix) {
                tracing::debug!(frame = id, "not shown: {why}");
                self.corrupt.note(&mut self.totals, why)?;
                continue;
            }
            let due = announced.video.is_none() || self.concealment.handle_decoded(id);
            last = Some((arrived, due));
        }
        let Some((arrived, due)) = last else { return Ok(()) };
        let receiving = arrived.shown.saturating_sub(arrived.first);
        let FrameHeader { id, captured, full, .. } = arrived.header;
        let last = Last { id, captured, full, bytes: arrived.prefix.len(), receiving };
        self.last = Some(last);
        if due && self.draw(last, start)? {
            self.totals.latency.note(latency::since(captured, self.mailbox.ahead()));
        }
        Ok(())
    }

    /// Takes more of the picture that is shown, and shows it anew.
    fn show_more(&mut self, more: &More) -> Result<(), PlayError> {
        let start = Instant::now();
        let (Some(decoding), Some(last)) = (&mut self.decoding, &mut self.last) else { return Ok(()) };
        if last.id != more.frame {
            return Ok(());
        }
        if let Err(why) = decoding.append(&more.bytes) {
            self.last = None;
            return self.corrupt.note(&mut self.totals, why);
        }
        (last.bytes, last.full) = (last.bytes + more.bytes.len(), more.full.max(last.full));
        let last = *last;
        self.draw(last, start).map(drop)
    }

    /// Draws what was decoded and shows it; gives whether it could be drawn. `start`: when decoding began.
    fn draw(&mut self, last: Last, start: Instant) -> Result<bool, PlayError> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(false) };
        let picture = match decoding.draw(announced.size, &mut self.picture) {
            Ok(picture) => picture,
            Err(why) => return self.corrupt.note(&mut self.totals, why).map(|()| false),
        };
        self.corrupt = Corrupt(0);
        self.mailbox.was_useful();
        let Last { id, captured, full, bytes, receiving } = last;
        let latency = latency::since(captured, self.mailbox.ahead());
        let shown = Shown { id, bytes, full, latency, receiving, decoding: start.elapsed(), picture };
        self.viewer.show(&shown).map_err(failed).map(|()| true)
    }
}

/// A frame that was decoded, as [`Shown`] has it.
#[derive(Debug, Clone, Copy)]
struct Last {
    id: u64,
    captured: u64,
    full: u64,
    bytes: usize,
    receiving: Duration,
}

/// Frames since the last picture that could not be decoded.
struct Corrupt(u32);

impl Corrupt {
    /// Another one: fails if they are too many.
    fn note(&mut self, totals: &mut Totals, why: Cause) -> Result<(), PlayError> {
        totals.corrupt += 1;
        self.0 += 1;
        if self.0 >= MAX_CORRUPT_FRAMES { Err(PlayError::Undecodable(why)) } else { Ok(()) }
    }
}

fn failed(error: impl Into<Cause>) -> PlayError {
    PlayError::View(error.into())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use nestcast_codec::{
        DecodedFrame, Format, FrameRate, Population, Restoration, TransformError, VideoEncoder, VideoModel,
        VideoSettings, ViewMut,
    };
    use nestcast_proto::{PackageHash, Video};

    use super::*;

    const SIDES: [u32; 2] = [96, 64];

    /// What the viewer is given: frames by number, concealed ones by number, and held pictures.
    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Given {
        Shown(u64),
        Concealed(u64),
        Held,
    }

    /// Notes what it is given, with its picture.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<(Given, Picture)>>>, Option<Arc<dyn Restoration>>);

    impl Notes {
        fn note(&self, given: Given, picture: &Picture) {
            self.0.lock().expect("no panic").push((given, picture.clone()));
        }

        fn take(&self) -> (Vec<Given>, Vec<Picture>) {
            std::mem::take(&mut *self.0.lock().expect("no panic")).into_iter().unzip()
        }
    }

    impl Viewer for Notes {
        type Error = Cause;

        fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Cause> {
            let decoding = Decoding::video(announced, 1);
            Ok(match &self.1 {
                Some(restoration) => decoding.map(|decoding| decoding.with_restoration(Arc::clone(restoration))),
                None => decoding,
            })
        }

        fn show(&mut self, shown: &Shown<'_>) -> Result<(), Cause> {
            self.note(Given::Shown(shown.id), shown.picture);
            Ok(())
        }

        fn conceal(&mut self, concealed: &Concealed<'_>) -> Result<(), Cause> {
            self.note(Given::Concealed(concealed.id), concealed.picture);
            Ok(())
        }

        fn hold(&mut self, picture: &Picture) -> Result<(), Cause> {
            self.note(Given::Held, picture);
            Ok(())
        }
    }

    /// Waves that move by two samples a frame.
    fn frames(count: u32) -> Vec<Arrived> {
        let [width, height] = SIDES;
        let (size, format) = (Size::new(width, height).expect("a valid size"), Format::Ycbcr420(Range::Limited));
        let settings = VideoSettings {
            size,
            rate: FrameRate { frames: 30, seconds: 1 },
            population: Population::log_uniform(40_000.0..=640_000.0),
            threads: 1,
        };
        let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
        let frame = |number: u32| {
            let wave = |at: u32, of: u32| (at % of).abs_diff(of / 2) * 90 / of;
            let sample = |x: u32, y: u32| 60 + wave(x + 2 * number, 46) + wave(3 * y + x + 2 * number, 58);
            let luma = (0..height).flat_map(|y| (0..width).map(move |x| u8::try_from(sample(x, y)).expect("a byte")));
            let samples = luma.chain(std::iter::repeat_n(128, format.bytes(size) - size.pixels())).collect();
            let frame = encoder.encode(&Picture::new(size, format, samples).expect("all samples")).expect("a frame");
            let (full, base) = (frame.bytes.len() as u64, frame.base as u64);
            let header = FrameHeader { id: number.into(), skipped: 0, captured: 0, full, base };
            Arrived { header, prefix: frame.bytes, first: Duration::ZERO, shown: Duration::ZERO }
        };
        (0..count).map(frame).collect()
    }

    fn playback<'a>(notes: &Notes, mailbox: &'a Mailbox) -> Playback<'a, Notes> {
        let [key, residual] = VideoModel::built_in().ids();
        let video = Some(Video { residual: residual.0, full_range: false });
        let [width, height] = SIDES;
        let welcome = Welcome { model: key.0, package: PackageHash([0; 32]), width, height, rate: (30, 1), video };
        let mut playback = Playback::new(notes.clone(), mailbox);
        playback.announce(&welcome, tokio::sync::oneshot::channel().0).expect("a video");
        playback
    }

    /// Shows every frame in this grey.
    struct Grey(u8);

    impl Restoration for Grey {
        fn restore(&self, _: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError> {
            out.into_planes().into_iter().for_each(|plane| plane.samples.fill(self.0));
            Ok(())
        }
    }

    #[test]
    fn what_restores_frames_makes_what_is_shown_of_them() {
        let (notes, mailbox) = (Notes(Arc::default(), Some(Arc::new(Grey(77)))), Mailbox::default());
        let mut playback = playback(&notes, &mailbox);
        frames(3).into_iter().for_each(|frame| playback.show([frame]).expect("a frame"));
        let (given, pictures) = notes.take();
        assert_eq!(given, [0, 1, 2].map(Given::Shown));
        assert!(pictures.iter().all(|picture| picture.samples().iter().all(|sample| *sample == 77)));
    }

    #[test]
    fn a_picture_of_another_size_is_not_held_behind_an_announcement() {
        let (notes, mailbox) = (Notes::default(), Mailbox::default());
        let mut playback = playback(&notes, &mailbox);
        frames(1).into_iter().for_each(|frame| playback.show([frame]).expect("a frame"));
        let [key, residual] = VideoModel::built_in().ids();
        let [width, height] = SIDES;
        for (height, held) in [(height, 1), (height / 2, 0)] {
            notes.take();
            let video = Some(Video { residual: residual.0, full_range: false });
            let welcome = Welcome { model: key.0, package: PackageHash([0; 32]), width, height, rate: (30, 1), video };
            playback.announce(&welcome, tokio::sync::oneshot::channel().0).expect("a video");
            playback.go_on().expect("nothing came yet");
            assert_eq!(notes.take().0, vec![Given::Held; held], "{width}x{height}");
        }
    }

    #[test]
    fn missing_frames_are_concealed_and_those_that_come_late_are_decoded_all_the_same() {
        use Given::{Concealed, Held, Shown};
        let (notes, mailbox, frames) = (Notes::default(), Mailbox::default(), frames(14));
        let (mut playback, mut undisturbed) = (playback(&notes, &mailbox), playback(&notes, &mailbox));
        playback.go_on().expect("nothing came yet");
        frames[..8].iter().for_each(|frame| playback.show([frame.clone()]).expect("a frame"));
        assert_eq!(notes.take().0, (0..8).map(Shown).collect::<Vec<_>>());
        (0..6).for_each(|_| playback.go_on().expect("a picture"));
        let (given, pictures) = notes.take();
        assert_eq!(given, [Concealed(8), Concealed(9), Concealed(10), Concealed(11), Held, Held]);
        assert!(pictures[..4].windows(2).all(|pair| pair[0] != pair[1]), "motion goes on");
        assert!(pictures[4] == pictures[3], "and then what stands is held");
        frames[8..].iter().for_each(|frame| playback.show([frame.clone()]).expect("a frame"));
        let (given, pictures) = notes.take();
        assert_eq!(given, [Shown(11), Shown(12), Shown(13)], "no picture goes back");
        frames.iter().for_each(|frame| undisturbed.show([frame.clone()]).expect("a frame"));
        assert!(notes.take().1[11..] == pictures, "frames that come late are decoded as ever");
        let Totals { concealed, held, latency, .. } = playback.totals;
        assert_eq!((concealed, held), (4, 2));
        assert_eq!(latency.classes().map(|(_, frames)| frames).sum::<u64>(), 11, "concealed ones are none of these");
    }

    #[test]
    fn behind_frames_that_waited_for_the_decoder_the_next_is_concealed_as_soon() {
        use Given::{Concealed, Shown};
        let (notes, mailbox, frames) = (Notes::default(), Mailbox::default(), frames(8));
        let mut playback = playback(&notes, &mailbox);
        frames[..4].iter().for_each(|frame| playback.show([frame.clone()]).expect("a frame"));
        playback.show(frames[4..].to_vec()).expect("frames");
        playback.go_on().expect("a picture");
        assert_eq!(notes.take().0[4..], [Shown(7), Concealed(8)]);
    }

    #[test]
    fn behind_a_key_frame_that_comes_late_what_was_concealed_last_is_held() {
        let (notes, mailbox) = (Notes::default(), Mailbox::default());
        let mut playback = playback(&notes, &mailbox);
        frames(8).into_iter().for_each(|frame| playback.show([frame]).expect("a frame"));
        (0..4).for_each(|_| playback.go_on().expect("a picture"));
        let concealed = notes.take().1.pop().expect("a picture");
        let mut key = frames(1).remove(0);
        key.header.id = 8;
        playback.show([key]).expect("a frame");
        (0..4).for_each(|_| playback.go_on().expect("a picture"));
        assert!(notes.take() == (vec![Given::Held; 4], vec![concealed; 4]));
    }

    #[test]
    fn what_cannot_be_concealed_is_held_and_counts_as_corrupt() {
        let (notes, mailbox) = (Notes::default(), Mailbox::default());
        let mut playback = playback(&notes, &mailbox);
        frames(8).into_iter().for_each(|frame| playback.show([frame]).expect("a frame"));
        playback.picture = Some(Picture::zero(Size::new(8, 8).expect("a valid size"), Format::Grey));
        playback.go_on().expect("a picture");
        assert_eq!(notes.take().0.pop(), Some(Given::Held));
        assert_eq!((playback.totals.corrupt, playback.totals.concealed), (1, 0));
    }
}
