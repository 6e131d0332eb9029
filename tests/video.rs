//! Frames of video against the decoder written from the specification: any prefix of each, missing frames, damage.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nestcast_codec::{CodedFrame, DecodedPart, Format, Model, Picture, Size, VideoDecoder, VideoModel, Ycbcr};
use nestcast_media::y4m;
use nestcast_tests::clips::{self, CLIPS, Clip, FORMAT};
use nestcast_tests::reference::{Fault, Head, VideoReference};
use nestcast_tests::vectors;
use proptest::prelude::*;

/// A folder with clips of real video in y4m: the test also encodes some frames of each.
const CLIPS_VARIABLE: &str = "NESTCAST_CLIPS";

/// The bits of a sample in which frames are shown a second time.
const DEEP_BITS: u8 = 10;

/// The part of a frame that arrives.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// All.
    Whole,
    /// Only the base.
    Base,
    /// This share of its bytes, in 1/65536.
    Share(u16),
    /// The base, and this share of the bytes after it.
    Beyond(u16),
    /// Nothing: the frame was lost.
    Nothing,
}

impl Cut {
    fn of(self, frame: &CodedFrame) -> &[u8] {
        let share = |share: u16, of: usize| (usize::from(share) * (of + 1)) >> 16;
        let count = match self {
            Self::Whole => frame.bytes.len(),
            Self::Base => frame.base,
            Self::Share(part) => share(part, frame.bytes.len()),
            Self::Beyond(part) => frame.base + share(part, frame.bytes.len() - frame.base),
            Self::Nothing => 0,
        };
        &frame.bytes[..count]
    }
}

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        2 => Just(Cut::Whole),
        2 => Just(Cut::Base),
        3 => any::<u16>().prop_map(Cut::Share),
        6 => any::<u16>().prop_map(Cut::Beyond),
        1 => Just(Cut::Nothing),
    ]
}

/// Both decoders, at the same frame.
struct Both {
    codec: VideoDecoder,
    reference: VideoReference,
    picture: Picture,
    deep: Picture,
}

impl Both {
    fn new(size: Size) -> Self {
        let tables = vectors::tables();
        let reference = VideoReference::new(&tables, &tables, size.width(), size.height());
        Self {
            codec: VideoDecoder::new(model(), size, 2),
            reference: reference.expect("the tables are valid"),
            picture: Picture::zero(size, FORMAT),
            deep: Picture::zero(size, Format::planar(Ycbcr::BT601, DEEP_BITS)),
        }
    }

    /// Gives both the bytes, and checks that both accept or refuse them and show the same.
    fn take(&mut self, bytes: &[u8], what: &str) {
        let expected = self.reference.decode(bytes);
        match self.codec.decode(bytes) {
            Ok(arrived) => {
                assert_eq!(expected, Ok(arrived != DecodedPart::Nothing), "{what}: {arrived:?}");
                let head = Head::read(bytes).expect("it was taken");
                if let Some(head) = head.filter(|_| arrived != DecodedPart::Nothing) {
                    let string = bytes.len() - head.bytes - head.side;
                    let part = if string < head.base_reference { DecodedPart::Part } else { DecodedPart::Base };
                    assert_eq!(
                        arrived,
                        if string < head.enhancement_reference { part } else { DecodedPart::EnhancementReference },
                        "{what}"
                    );
                }
            }
            Err(error) => assert_eq!(expected, Err(Fault::Corrupt), "{what}: {error}"),
        }
        self.codec.render_into(&mut self.picture).expect("its size and format");
        let shown = self.reference.shown();
        let first = shown.iter().zip(self.picture.samples()).position(|(reference, codec)| reference != codec);
        assert_eq!(first, None, "{what}: the first sample that is not the reference's");
        self.codec.render_into(&mut self.deep).expect("its size and format");
        assert!(self.reference.shown_deep(DEEP_BITS.into()) == self.deep.samples(), "{what}: in {DEEP_BITS} bits");
    }
}

fn model() -> VideoModel {
    clips::model(&Arc::new(Model::from_bytes(&vectors::tables()).expect("the tables are valid")))
}

/// Checks that frames of these pictures with these cuts equal the reference's, and so do the whole frames that follow.
/// These show any error in the unseen parts of the floor and of the enhanced picture.
fn check(frames: &[CodedFrame], size: Size, cuts: &[Cut], what: &str) {
    let mut both = Both::new(size);
    for (number, (frame, cut)) in frames.iter().zip(cuts.iter().chain(std::iter::repeat(&Cut::Whole))).enumerate() {
        both.take(cut.of(frame), &format!("{what}, frame {number}, {cut:?}"));
    }
}

#[test]
fn every_clip_at_every_kind_of_cut_is_the_references() {
    let mut bipredicted = 0;
    for clip in &CLIPS {
        let all = clip.encode_on(2, &model());
        let heads = all.iter().flatten().map(|frame| Head::read(&frame.bytes).expect("valid").expect("whole"));
        bipredicted += heads.filter(|head| head.bipredicts).count();
        for number in 0..clip.renditions {
            let frames: Vec<CodedFrame> = all.iter().map(|frames| frames[number].clone()).collect();
            for cut in [Cut::Whole, Cut::Base, Cut::Beyond(0x8000), Cut::Share(0x4000)] {
                check(
                    &frames,
                    clip.size(),
                    &vec![cut; frames.len()],
                    &format!("{}, loop {number}, {cut:?}", clip.name),
                );
            }
        }
    }
    assert!(bipredicted > 0, "blocks of some frames are bi-predicted");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sizes_and_cuts_are_the_references(
        width in 1..70_u32,
        height in 1..50_u32,
        slowest in 12..120_u32,
        scene in 1..10_u32,
        renditions in 1..=3_usize,
        [stays, moves_again, joins] in [0..10_u32, 0..10_u32, 1..10_u32],
        knows_receivers: bool,
        bits in 8..=12_u8,
        cuts in prop::collection::vec(cut(), 6),
    ) {
        let clip = Clip {
            name: "any",
            width,
            height,
            frames: 9,
            cut: scene,
            begins_anew: false,
            is_timed: false,
            slowest,
            renditions,
            rises: clips::NEVER,
            joins: if renditions == 1 { joins } else { clips::NEVER },
            stays,
            moves_again,
            knows_receivers,
            bits,
        };
        let all = clip.encode_on(1, &model());
        for number in 0..renditions {
            let frames: Vec<CodedFrame> = all.iter().map(|frames| frames[number].clone()).collect();
            check(&frames, clip.size(), &cuts, &format!("{clip:?}, loop {number}"));
        }
    }

    #[test]
    fn damaged_frames_are_the_references(
        clip in 0..CLIPS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 4),
        number in 0..8_usize,
    ) {
        let clip = &CLIPS[clip];
        let mut frames = clip.fastest_on(1, &model());
        for (at, byte) in damage {
            let mut bytes = frames[number].bytes.to_vec();
            // Half of the damage hits the side information, where it matters most.
            let range = if byte % 2 == 0 { frames[number].side.min(bytes.len()) } else { bytes.len() };
            bytes[at.index(range)] = byte;
            frames[number].bytes = bytes.into();
        }
        check(&frames, clip.size(), &[], clip.name);
    }

    #[test]
    fn any_bytes_are_the_references(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..5)) {
        // Many blocks, so that side information may end before the last one.
        let mut both = Both::new(Size::new(128, 128).expect("a valid size"));
        for (number, mut bytes) in frames.into_iter().enumerate() {
            // Half of the frames follow those before, the others copy no vectors.
            if let Some(first) = bytes.first_mut() {
                let phase = if *first % 2 == 1 { number } else { 32 * (number % 4) };
                *first = *first & 0x80 | u8::try_from(phase).expect("at most 96");
            }
            // A quarter of the frames stay, with any number of planes. The others have few, so that there is a frame.
            let stays = bytes.get(1).is_some_and(|planes| planes & 0x30 == 0);
            if let Some(planes) = bytes.get_mut(1) {
                *planes = if stays { *planes & 0x8F | 0x40 } else { (*planes % 18) | (*planes & 0x80) };
            }
            if stays {
                // It is predicted from something, and the base-layer reference has most of its bytes.
                bytes[0] &= 0x7F;
                bytes.iter_mut().skip(2).take(2).for_each(|byte| *byte %= 100);
            } else {
                bytes.iter_mut().skip(2).take(3).for_each(|byte| *byte %= 24);
            }
            both.take(&bytes, &format!("frame {number}"));
        }
    }
}

/// Frames of several slices: their strings contain lengths.
#[test]
fn slices_are_the_references() {
    let clip = Clip {
        name: "slices",
        width: 640,
        height: 640,
        frames: 3,
        cut: u32::MAX,
        begins_anew: false,
        is_timed: false,
        slowest: 300,
        renditions: 1,
        joins: clips::NEVER,
        rises: clips::NEVER,
        stays: 1,
        moves_again: clips::NEVER,
        knows_receivers: false,
        bits: 8,
    };
    let frames = clip.fastest_on(2, &model());
    check(&frames, clip.size(), &[Cut::Beyond(0x7000), Cut::Share(0x6000)], clip.name);
}

#[test]
fn frames_of_real_video_are_the_references() {
    let Some(folder) = std::env::var_os(CLIPS_VARIABLE) else {
        return eprintln!("skipped: {CLIPS_VARIABLE} names no folder with clips in y4m");
    };
    let files = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut clips: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "y4m")).collect();
    clips.sort();
    assert!(!clips.is_empty(), "no y4m in {}", Path::new(&folder).display());
    for path in clips {
        let file = fs::File::open(&path).expect("a clip");
        let mut reader = y4m::Reader::new(file, 1 << 24).expect("a y4m");
        let mut pictures = Vec::new();
        while let Some(picture) = reader.read().expect("a frame").filter(|_| pictures.len() < 16) {
            assert!(matches!(picture.format(), Format::Ycbcr420(_)), "{}: 4:2:0", path.display());
            pictures.push(picture);
        }
        let size = pictures[0].size();
        let slowest = u32::try_from(size.pixels() / 80).expect("few");
        let frames = clips::encode(&pictures, slowest, 2, &model());
        let kinds = [Cut::Whole, Cut::Beyond(0x2000), Cut::Base, Cut::Beyond(0x9000), Cut::Share(0x3000), Cut::Nothing];
        let cuts: Vec<_> = (0..12).map(|number| kinds[number * 5 % 6]).collect();
        check(&frames, size, &cuts, &path.display().to_string());
    }
}
