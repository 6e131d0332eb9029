use std::sync::Arc;

use bytes::Bytes;
use nestcast_codec::{
    Bitrate, Codec, DecodedFrame, Format, FrameRate, Population, Restoration, Size, TransformError, VideoEncoder,
    VideoModel, VideoSettings, ViewMut, Ycbcr,
};
use nestcast_proto::{FrameHeader, PackageHash, Video};

use super::*;
use crate::corrupt::MAX_CORRUPT_FRAMES;

const SIDES: [u32; 2] = [96, 64];
/// When the first frame was captured, in microseconds.
const EPOCH: u64 = 1_795_000_000_000_000;

/// What is shown: frames by number, concealed frames by number, and repeated pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    Shown(u64),
    Concealed(u64),
    Held,
}
use Given::{Concealed, Held, Shown};

/// Drives a player and records what it shows, with the picture.
struct Screen {
    playout: Playout,
    now: Duration,
    notes: Vec<(Given, Picture)>,
}

impl Screen {
    /// Makes a player that shows frames at once.
    fn new() -> Self {
        Self::with_latency(Latency::Min)
    }

    fn with_latency(latency: Latency) -> Self {
        let mut screen = Self { playout: Playout::new(), now: Duration::from_secs(1), notes: Vec::new() };
        screen.playout.set_latency(latency);
        screen.announce(&welcome(), |announced| Decoding::video(announced, 1));
        screen
    }

    fn announce(&mut self, welcome: &Welcome, decoding: impl FnOnce(&Announcement) -> Option<Decoding>) {
        let announced = self.playout.handle_welcome(welcome).expect("a size that pictures have");
        self.playout.handle_decoding(self.now, decoding(&announced).expect("tables of this build"));
    }

    /// Passes frames to the player and shows them.
    fn show(&mut self, frames: &[ReceivedFrame]) {
        self.now += welcome().interval();
        frames.iter().for_each(|frame| self.playout.handle_frame(self.now, frame.clone()).expect("a frame"));
        self.look();
    }

    /// Passes nothing until the player has output.
    fn wait(&mut self) {
        self.now = self.playout.poll_timeout().expect("a picture is on the screen");
        self.look();
    }

    /// Records what to show now.
    fn look(&mut self) {
        if self.playout.waiting.is_some() {
            assert!(self.playout.handle_time(self.now).expect("a picture").is_none(), "it is ready a moment later");
        }
        let Some(present) = self.playout.handle_time(self.now).expect("a picture") else { return };
        let (note, is_frame) = match present {
            Present::Show { id, picture, .. } => ((Shown(id), picture.clone()), true),
            Present::Conceal { id, picture } => ((Concealed(id), picture.clone()), false),
            Present::Hold { picture } => ((Held, picture.clone()), false),
        };
        self.notes.push(note);
        if is_frame {
            self.playout.handle_shown(Duration::from_millis(50));
        }
    }

    fn take(&mut self) -> (Vec<Given>, Vec<Picture>) {
        std::mem::take(&mut self.notes).into_iter().unzip()
    }
}

fn welcome() -> Welcome {
    let [key, residual] = VideoModel::built_in().ids();
    let video = Some(Video::new(residual.0));
    let [width, height] = SIDES;
    Welcome {
        model: key.0,
        package: PackageHash([0; 32]),
        width,
        height,
        rate: FrameRate::new(30, 1).expect("a rate"),
        video,
    }
}

fn arrived(id: u64, prefix: &Bytes, base: usize, full: usize) -> ReceivedFrame {
    let captured = EPOCH + id * 1_000_000 / 30;
    let header = FrameHeader { id, skipped: 0, captured, full: full as u64, base: base as u64 };
    let first = Duration::from_millis(2);
    let shown = Duration::from_millis(9);
    ReceivedFrame { header, prefix: prefix.clone(), first, shown }
}

/// Returns waves that move by two samples a frame.
fn frames(count: u32) -> Vec<ReceivedFrame> {
    let [width, height] = SIDES;
    let size = Size::new(width, height).expect("a valid size");
    let format = Format::Ycbcr420(Ycbcr::BT601);
    let settings = VideoSettings {
        size,
        rate: FrameRate::new(30, 1).expect("a rate"),
        population: Population::log_uniform(Bitrate::from_bits(40_000)..=Bitrate::from_bits(640_000)),
        threads: 1,
    };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let frame = |number: u32| {
        let wave = |at: u32, of: u32| (at % of).abs_diff(of / 2) * 90 / of;
        let sample = |x: u32, y: u32| 60 + wave(x + 2 * number, 46) + wave(3 * y + x + 2 * number, 58);
        let luma = (0..height).flat_map(|y| (0..width).map(move |x| u8::try_from(sample(x, y)).expect("a byte")));
        let samples = luma.chain(std::iter::repeat_n(128, format.bytes(size) - size.pixels())).collect();
        let frame = encoder.encode(&Picture::new(size, format, samples).expect("all samples")).expect("a frame");
        arrived(number.into(), &frame.bytes, frame.base, frame.bytes.len())
    };
    (0..count).map(frame).collect()
}

/// A restoration that makes every frame this grey.
struct Grey(u8);

impl Restoration for Grey {
    fn restore(&self, _: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError> {
        out.into_planes().into_iter().for_each(|plane| plane.samples.fill(self.0));
        Ok(())
    }
}

#[test]
fn what_restores_frames_makes_what_is_shown_of_them() {
    let mut screen = Screen::new();
    let restored =
        |announced: &_| Decoding::video(announced, 1).map(|video| video.with_restoration(Arc::new(Grey(77))));
    screen.announce(&welcome(), restored);
    frames(3).chunks(1).for_each(|frame| screen.show(frame));
    let (given, pictures) = screen.take();
    assert_eq!(given, [0, 1, 2].map(Shown));
    assert!(pictures.iter().all(|picture| picture.samples().iter().all(|sample| *sample == 77)));
}

#[test]
fn a_picture_of_another_size_is_not_held_after_an_announcement() {
    let mut screen = Screen::new();
    screen.show(&frames(1));
    let [_, height] = SIDES;
    for (height, repeated) in [(height, 1), (height / 2, 0)] {
        screen.take();
        let welcome = Welcome { height, ..welcome() };
        screen.playout.handle_welcome(&welcome).expect("a size that pictures have");
        assert_eq!(screen.playout.poll_timeout(), None, "the model may be on its way");
        screen.announce(&welcome, |announced| Decoding::video(announced, 1));
        assert_eq!(screen.playout.poll_timeout().is_some(), repeated > 0);
        screen.now += Duration::from_secs(1);
        screen.look();
        assert_eq!(screen.take().0, vec![Held; repeated], "of height {height}");
    }
}

#[test]
fn missing_frames_are_concealed_and_those_that_come_late_are_decoded_all_the_same() {
    let mut screen = Screen::new();
    let mut undisturbed = Screen::new();
    let frames = frames(14);
    screen.now += Duration::from_secs(1);
    screen.look();
    assert!(screen.playout.poll_timeout().is_none() && screen.notes.is_empty(), "nothing came yet");
    frames[..8].chunks(1).for_each(|frame| screen.show(frame));
    assert_eq!(screen.take().0, (0..8).map(Shown).collect::<Vec<_>>());
    (0..6).for_each(|_| screen.wait());
    let (given, pictures) = screen.take();
    assert_eq!(given, [Concealed(8), Concealed(9), Concealed(10), Concealed(11), Held, Held]);
    assert!(pictures[..4].windows(2).all(|pair| pair[0] != pair[1]), "motion goes on");
    assert!(pictures[4] == pictures[3], "and then what stands is held");
    frames[8..].chunks(1).for_each(|frame| screen.show(frame));
    let (given, pictures) = screen.take();
    assert_eq!(given, [Shown(11), Shown(12), Shown(13)], "no picture goes back");
    frames.chunks(1).for_each(|frame| undisturbed.show(frame));
    assert!(undisturbed.take().1[11..] == pictures, "frames that come late are decoded as ever");
    let PlayStats { shown, concealed, repeated, latency, .. } = screen.playout.totals();
    assert_eq!((shown, concealed, repeated), (11, 4, 2));
    assert_eq!(latency.classes().map(|(_, frames)| frames).sum::<u64>(), 11, "concealed ones are none of these");
}

#[test]
fn a_frame_is_missed_half_an_interval_after_it_was_due_and_again_after_each_interval() {
    let mut screen = Screen::new();
    let interval = welcome().interval();
    frames(4).chunks(1).for_each(|frame| screen.show(frame));
    screen.take();
    let shown = screen.now;
    screen.now += interval * 3 / 2 - Duration::from_nanos(1);
    screen.look();
    assert_eq!(screen.take().0, [], "it may be on its way");
    for intervals in 0..3 {
        screen.wait();
        assert_eq!(screen.now, shown + interval * 3 / 2 + interval * intervals);
    }
    assert_eq!(screen.take().0, [Concealed(4), Concealed(5), Concealed(6)]);
}

#[test]
fn after_frames_that_waited_for_the_decoder_the_next_is_concealed_as_soon() {
    let mut screen = Screen::new();
    let frames = frames(8);
    frames[..4].chunks(1).for_each(|frame| screen.show(frame));
    screen.show(&frames[4..]);
    screen.wait();
    assert_eq!(screen.take().0[4..], [Shown(7), Concealed(8)]);
}

#[test]
fn after_a_key_frame_that_comes_late_what_was_concealed_last_is_held() {
    let mut screen = Screen::new();
    frames(8).chunks(1).for_each(|frame| screen.show(frame));
    (0..4).for_each(|_| screen.wait());
    let concealed = screen.take().1.pop().expect("a picture");
    let mut key = frames(1).remove(0);
    key.header.id = 8;
    screen.show(&[key]);
    (0..4).for_each(|_| screen.wait());
    assert!(screen.take() == (vec![Held; 4], vec![concealed; 4]));
}

#[test]
fn what_cannot_be_concealed_is_held_and_counts_as_corrupt() {
    let mut screen = Screen::new();
    frames(8).chunks(1).for_each(|frame| screen.show(frame));
    screen.playout.picture = Some(Picture::zero(Size::new(8, 8).expect("a valid size"), Format::Grey));
    screen.wait();
    assert_eq!(screen.take().0.pop(), Some(Held));
    assert_eq!((screen.playout.totals().corrupt, screen.playout.totals().concealed), (1, 0));
    assert_eq!(screen.playout.poll_corrupt().map(|frame| frame.id), Some(8));
}

/// Returns pictures of noise, and a player of them.
fn pictures(count: u64) -> (Screen, Vec<ReceivedFrame>) {
    let (codec, [width, height]) = (Codec::photo(), SIDES);
    let size = Size::new(width, height).expect("a valid size");
    let picture = |id: u64| {
        let sample = |at: u64| (at + id).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0];
        let samples = (0..size.pixels() as u64).map(sample).collect();
        let picture = Picture::new(size, Format::Grey, samples).expect("all samples");
        let stream = codec.encode(&picture).expect("a picture");
        arrived(id, &stream.prefix(500), 64, stream.bytes().len())
    };
    let mut screen = Screen::new();
    screen.announce(&Welcome { video: None, ..welcome() }, |_| Some(Decoding::new(codec.decoder())));
    (screen, (0..count).map(picture).collect())
}

#[test]
fn the_newest_picture_is_decoded_and_more_of_it_is_shown_anew_and_measured_once() {
    let (mut screen, pictures) = pictures(3);
    screen.show(&pictures);
    let more = |frame| More { frame, bytes: Bytes::from_static(&[0x5A; 100]), full: 700 };
    for frame in [2, 1] {
        screen.playout.handle_more(screen.now, more(frame)).expect("bytes of a picture");
        assert_eq!(screen.playout.poll_timeout() == Some(Duration::ZERO), frame == 2, "others are not on the screen");
        screen.look();
    }
    let (given, seen) = screen.take();
    assert!(given == [Shown(2), Shown(2)] && seen[0] != seen[1], "{given:?}");
    screen.wait();
    assert_eq!(screen.take().0, [Held], "pictures do not move");
    let PlayStats { shown, undecoded, repeated, latency, .. } = screen.playout.totals();
    assert_eq!((shown, undecoded, repeated), (1, 2, 1));
    assert_eq!(latency.classes().map(|(_, frames)| frames).sum::<u64>(), 1);
}

#[test]
fn what_is_shown_is_described_as_it_came() {
    let (mut screen, pictures) = pictures(1);
    let full = pictures[0].header.full;
    screen.playout.handle_frame(screen.now, pictures[0].clone()).expect("a picture");
    let more = More { frame: 0, bytes: Bytes::from_static(&[0; 10]), full: 1 };
    screen.playout.handle_more(screen.now, more).expect("bytes of a picture");
    screen.now += Duration::from_millis(3);
    let shown = screen.playout.handle_time(screen.now).expect("a picture");
    let Some(Present::Show { id, bytes, full: said, receiving, .. }) = shown else { panic!("{shown:?}") };
    assert_eq!((id, bytes, said, receiving), (0, 510, full, Duration::from_millis(7)));
}

#[test]
fn frames_are_ignored_until_there_is_what_decodes_them() {
    let mut screen = Screen::new();
    let frame = frames(1);
    screen.playout.handle_welcome(&welcome()).expect("a size that pictures have");
    screen.show(&frame);
    assert!(screen.take().0.is_empty() && screen.playout.totals() == PlayStats::default());
    let none = Welcome { width: 0, ..welcome() };
    assert!(matches!(screen.playout.handle_welcome(&none), Err(PlayError::Size(_))));
}

#[test]
fn frames_that_cannot_be_decoded_end_the_playing_unless_pictures_come_between() {
    let junk = |id| arrived(id, &Bytes::from_static(b"junk"), 4, 4);
    let (video, (stills, stream)) = ((Screen::new(), frames(1)), pictures(1));
    for (mut screen, sound) in [video, (stills, stream)] {
        let mut play = |frame: ReceivedFrame| {
            screen.playout.handle_frame(screen.now, frame)?;
            let is_shown = screen.playout.handle_time(screen.now)?.is_some();
            Ok::<bool, PlayError>(is_shown || screen.playout.handle_time(screen.now)?.is_some())
        };
        let patience = u64::from(MAX_CORRUPT_FRAMES) - 1;
        assert!((0..patience).all(|id| matches!(play(junk(id)), Ok(false))));
        assert!(matches!(play(sound[0].clone()), Ok(true)), "it begins anew");
        assert!((0..patience).all(|id| matches!(play(junk(id)), Ok(false))));
        let ended = play(junk(patience)).expect_err("too many").to_string();
        assert!(ended.starts_with("none of the sender's last 100 frames can be decoded: "), "{ended}");
        assert_eq!(screen.playout.totals().corrupt, 2 * patience + 1);
    }
}

/// Passes frames to a player, each when it is ready, and notes when each is shown, in microseconds.
fn showings(screen: &mut Screen, frames: &[ReceivedFrame], ready: impl Fn(u64) -> Duration) -> Vec<(Given, Duration)> {
    let mut given = Vec::new();
    let mut frames = frames.iter().peekable();
    while let Some(due) = frames.peek().map(|frame| ready(frame.header.id)) {
        match screen.playout.poll_timeout().filter(|at| *at < due) {
            Some(at) => screen.now = screen.now.max(at),
            None => {
                screen.now = due;
                screen.playout.handle_frame(due, frames.next().expect("it was there").clone()).expect("a frame");
            }
        }
        screen.look();
        given.extend(screen.notes.drain(..).map(|(note, _)| (note, screen.now)));
    }
    given
}

fn captured(id: u64) -> Duration {
    Duration::from_micros(id * 1_000_000 / 30)
}

#[test]
fn frames_that_come_unevenly_are_shown_as_they_were_captured() {
    let mut screen = Screen::with_latency(Latency::Smooth);
    let frames = frames(150);
    // Every fourth frame takes 60 ms longer, so that the next one may be here before it is shown.
    let ready = |id: u64| {
        let late = Duration::from_millis(if id % 4 == 3 { 60 } else { 5 * (id % 4) });
        Duration::from_secs(2) + captured(id) + late
    };
    let given = showings(&mut screen, &frames, ready);
    let settled: Vec<_> = given.iter().filter(|(note, _)| matches!(note, Shown(id) if *id >= 30)).collect();
    assert!(settled.len() >= 115, "{}", settled.len());
    for pair in settled.windows(2) {
        assert!(pair[1].1 - pair[0].1 >= Duration::from_millis(32), "{pair:?}");
        assert!(pair[1].1 - pair[0].1 <= Duration::from_millis(35), "{pair:?}");
    }
    let PlayStats { shown, concealed, late, waited, unevenness, .. } = screen.playout.totals();
    assert!(shown >= 145 && concealed <= 3 && late <= 3, "{shown} {concealed} {late}");
    assert_eq!(unevenness.classes().map(|(_, frames)| frames).sum::<u64>(), shown - 1);
    let mean = screen.playout.totals().mean_wait();
    assert!(mean > Duration::from_millis(30) && mean < Duration::from_millis(50), "{mean:?} of {waited:?}");
}

#[test]
fn pictures_that_wait_are_those_of_their_frames() {
    let mut at_once = Screen::new();
    let frames = frames(20);
    for frame in &frames {
        at_once.show(std::slice::from_ref(frame));
    }
    let at_once = at_once.take();
    for latency in [150, 400].map(Duration::from_millis) {
        let mut delayed = Screen::with_latency(Latency::Fixed(latency));
        for frame in &frames {
            let now = Duration::from_secs(2) + captured(frame.header.id);
            while let Some(at) = delayed.playout.poll_timeout().filter(|at| *at < now) {
                delayed.now = delayed.now.max(at);
                delayed.look();
            }
            delayed.now = now;
            delayed.playout.handle_frame(now, frame.clone()).expect("a frame");
            assert!(delayed.playout.next_frame_at().is_some(), "it waits");
            delayed.look();
        }
        while delayed.playout.next_frame_at().is_some() {
            delayed.wait();
        }
        assert!(delayed.take() == at_once);
        let waited = delayed.playout.totals().waited / 20;
        // The first is shown at once.
        assert!(waited > latency.mul_f64(0.94) && waited <= latency, "{waited:?} of {latency:?}");
    }
}

#[test]
fn of_frames_that_wait_there_are_never_more_than_a_few() {
    let mut screen = Screen::with_latency(Latency::Fixed(Duration::from_millis(400)));
    for frame in frames(120) {
        // They come much faster than they were captured.
        screen.now += Duration::from_millis(4);
        screen.playout.handle_frame(screen.now, frame).expect("a frame");
        screen.look();
    }
    let (given, _) = screen.take();
    assert!(given.len() >= 120 - 64 - 3, "{given:?}");
    assert!(given.windows(2).all(|pair| matches!(pair, [Shown(a), Shown(b)] if a < b)), "{given:?}");
}

#[test]
fn the_time_of_decoding_is_a_part_of_what_frames_wait_for() {
    let mut screen = Screen::with_latency(Latency::Smooth);
    for frame in frames(90) {
        let came = Duration::from_secs(2) + captured(frame.header.id);
        let decoding = Duration::from_millis(if frame.header.id % 2 == 0 { 3 } else { 25 });
        screen.playout.handle_frame(came, frame).expect("a frame");
        screen.now = came + decoding;
        screen.look();
        while let Some(at) = screen.playout.next_frame_at() {
            screen.now = screen.now.max(at);
            screen.look();
        }
    }
    let PlayStats { late, waited, .. } = screen.playout.totals();
    assert!(
        late <= 1 && waited > Duration::from_millis(40 * 20),
        "every other frame waits for 22 ms: {late} {waited:?}"
    );
}

#[test]
fn a_picture_that_waits_is_drawn_with_all_that_came_of_it() {
    let (mut screen, pictures) = pictures(12);
    screen.playout.set_latency(Latency::Fixed(Duration::from_millis(100)));
    screen.announce(&Welcome { video: None, ..welcome() }, |_| Some(Decoding::new(Codec::photo().decoder())));
    for picture in &pictures {
        screen.now += Duration::from_millis(33);
        screen.playout.handle_frame(screen.now, picture.clone()).expect("a picture");
        screen.look();
    }
    let before = screen.take().0.len();
    assert!((7..12).contains(&before), "{before} of twelve: the others wait");
    let more = More { frame: 11, bytes: Bytes::from_static(&[0x5A; 100]), full: 700 };
    screen.playout.handle_more(screen.now, more).expect("bytes of a picture");
    while screen.playout.next_frame_at().is_some() {
        screen.wait();
    }
    let given = screen.take().0;
    assert_eq!((before + given.len(), given.last()), (12, Some(&Shown(11))), "{given:?}");
}

#[test]
fn after_a_stall_held_up_frames_are_decoded_and_the_newest_is_shown_once() {
    let mut screen = Screen::with_latency(Latency::Smooth);
    let frames = frames(240);
    // Nothing comes for more than three seconds. Then the frames of the first of them come, and those after it in time,
    // the first of which copies no vectors: the sender gave up the others.
    let lost = |id: u64| (90..160).contains(&id);
    let came: Vec<_> = frames.iter().filter(|frame| !lost(frame.header.id)).cloned().collect();
    let begin = Duration::from_secs(2);
    let ready = |id: u64| {
        let id = if (60..90).contains(&id) { 160 } else { id };
        begin + captured(id)
    };
    let given = showings(&mut screen, &came, ready);
    let back = ready(160);
    let shown: Vec<_> = given.iter().filter(|(note, at)| matches!(note, Shown(_)) && *at >= back).collect();
    let burst = shown.iter().filter(|(_, at)| *at < back + welcome().interval() / 2).count();
    assert!(burst <= 2, "{burst} frames at once: {shown:?}");
    let (Shown(last), at) = shown[shown.len() - 1] else { panic!("{shown:?}") };
    let delay = *at - begin - captured(*last);
    assert!(delay < Duration::from_millis(40), "{delay:?}");
    let late = |(note, at): &&&(Given, Duration)| matches!(note, Shown(id) if *at > ready(*id) + welcome().interval());
    let late = shown.iter().filter(late).count();
    assert!(shown.len() >= 78 && late <= 1, "{late} of {} are late", shown.len());
}

#[test]
fn a_capture_clock_that_is_set_by_an_hour_stops_no_picture_for_long() {
    for jump in [3_600_000_000_i64, -3_600_000_000] {
        let mut clock = PlayoutClock::new(Latency::Smooth, welcome().interval());
        let begin: u64 = 7_200_000_000;
        let mut before = Duration::ZERO;
        for id in 0..300 {
            let time = begin + id * 1_000_000 / 30;
            let captured = if id < 100 { time } else { time.saturating_add_signed(jump) };
            let now = Duration::from_micros(time + 20_000);
            let at = clock.handle_ready(now, captured).at;
            assert!(
                at >= before && at <= now + Duration::from_millis(40),
                "{jump}: frame {id} at {at:?}, ready {now:?}"
            );
            before = at;
        }
    }
}

#[test]
fn video_is_not_shown_before_a_frame_that_it_can_begin_with() {
    let mut screen = Screen::new();
    let frames = frames(6);
    let (first, others) = frames.split_first().expect("six");
    others.iter().take(3).for_each(|frame| screen.show(std::slice::from_ref(frame)));
    assert_eq!(screen.take().0, [], "the picture would be damaged for long");
    let corrupt = screen.playout.poll_corrupt().expect("the caller asks for a frame to begin with");
    assert_eq!((corrupt.id, corrupt.why), (3, FrameFault::NoBeginning));
    screen.show(std::slice::from_ref(first));
    screen.show(std::slice::from_ref(&others[0]));
    assert_eq!(screen.take().0, [Shown(0), Shown(1)]);
}

#[test]
fn a_sender_without_a_frame_to_begin_with_is_shown_all_the_same() {
    let mut screen = Screen::new();
    let frames = frames(36);
    frames[1..].iter().for_each(|frame| screen.show(std::slice::from_ref(frame)));
    assert_eq!(screen.take().0, [32, 33, 34, 35].map(Shown), "none before can be decoded alone");
}
