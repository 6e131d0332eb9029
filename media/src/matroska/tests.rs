use std::io;
use std::time::Duration;

use nestcast_codec::{Display, Format, Matrix, Picture, Range, Scan, Siting, Ycbcr};
use proptest::prelude::*;

use super::*;

/// A length that the writer did not know.
const UNKNOWN: [u8; 8] = [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];

/// Writes an element.
fn element(id: u32, content: &[u8]) -> Vec<u8> {
    [&begun(id)[..], &(1 << 56 | content.len() as u64).to_be_bytes(), content].concat()
}

/// Writes the beginning of an element without its length.
fn begun(id: u32) -> Vec<u8> {
    id.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect()
}

fn number(id: u32, number: u64) -> Vec<u8> {
    element(id, &number.to_be_bytes())
}

/// Writes a track of pictures of 4x2 pixels at 25 a second, with more fields.
fn pictures(code: &[u8], fields: &[u8]) -> Vec<u8> {
    let video = [number(0xB0, 4), number(0xBA, 2), element(0x2E_B524, code), fields.to_vec()].concat();
    let parts = [number(0xD7, 1), number(0x83, 1), element(0x86, b"V_UNCOMPRESSED"), number(0x23_E383, 40_000_000)];
    element(0xAE, &[parts.concat(), element(0xE0, &video)].concat())
}

/// Writes a track of sound.
fn sound(codec: &[u8], bits: u64) -> Vec<u8> {
    let audio = [number(0x9F, 2), element(0xB5, &48_000_f64.to_be_bytes()), number(0x6264, bits)].concat();
    element(0xAE, &[number(0xD7, 2), number(0x83, 2), element(0x86, codec), element(0xE1, &audio)].concat())
}

/// Writes all that comes before the first cluster.
fn head(tracks: &[Vec<u8>]) -> Vec<u8> {
    let info = element(0x1549_A966, &number(0x2A_D7B1, 1_000_000));
    let void = element(0xEC, &[0; 30]);
    [
        element(0x1A45_DFA3, b"anything"),
        begun(0x1853_8067),
        UNKNOWN.to_vec(),
        void,
        info,
        element(0x1654_AE6B, &tracks.concat()),
    ]
    .concat()
}

fn block(track: u8, time: i16, content: &[u8]) -> Vec<u8> {
    element(0xA3, &[&[0x80 | track][..], &time.to_be_bytes(), &[0x80], content].concat())
}

fn cluster(time: u64, blocks: &[Vec<u8>]) -> Vec<u8> {
    element(0x1F43_B675, &[number(0xE7, time), blocks.concat()].concat())
}

/// A part, with the samples of a picture.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    Picture(u64, Vec<u8>),
    Sound(u64, Vec<u8>),
}

/// Reads all parts, with their milliseconds, and why the stream ended.
fn parts(input: impl io::Read) -> (Vec<Came>, Result<(), Error>) {
    let mut came = Vec::new();
    let mut reader = match Reader::new(input, 100) {
        Ok(reader) => reader,
        Err(error) => return (came, Err(error)),
    };
    let mut picture = Picture::zero(reader.size(), reader.format());
    let millis = |at: Duration| u64::try_from(at.as_millis()).expect("short");
    loop {
        match reader.next(&mut picture) {
            Ok(Some(Part::Sound(at, bytes))) => came.push(Came::Sound(millis(at), bytes.to_vec())),
            Ok(Some(Part::Picture(at))) => came.push(Came::Picture(millis(at), picture.samples().to_vec())),
            Ok(None) => return (came, Ok(())),
            Err(error) => return (came, Err(error)),
        }
    }
}

const SAMPLES: &[u8; 12] = b"lumaLUMAbBrR";

fn both() -> Vec<u8> {
    head(&[pictures(b"I420", &[]), sound(b"A_PCM/INT/LIT", 16)])
}

#[test]
fn pictures_and_sound_come_in_the_order_of_the_pipe_with_their_times() {
    let first = cluster(0, &[block(1, 7, SAMPLES), block(2, 0, b"abcd"), block(9, 0, b"of no track")]);
    // A group, which has more than its block, and a cluster whose length the writer did not know.
    let group = element(0xA0, &[element(0xA1, &[&[0x81, 0, 40, 0][..], SAMPLES].concat()), number(0x9B, 40)].concat());
    let live = [begun(0x1F43_B675), UNKNOWN.to_vec(), number(0xE7, 7), group, block(2, 30, b"efgh")].concat();
    let last = cluster(88, &[block(1, -1, SAMPLES)]);
    let stream = [both(), first, live, element(0x1C53_BB6B, b"cues"), last].concat();
    let (came, ended) = parts(&stream[..]);
    let picture = |at| Came::Picture(at, SAMPLES.to_vec());
    let heard = |at, bytes: &[u8]| Came::Sound(at, bytes.to_vec());
    assert_eq!(came, [picture(7), heard(0, b"abcd"), picture(47), heard(37, b"efgh"), picture(87)]);
    assert!(ended.is_ok(), "{ended:?}");
}

#[test]
fn times_of_pictures_are_those_of_the_rate_where_rounding_explains_the_rest() {
    let at = |time| block(1, time, SAMPLES);
    let track = |interval| {
        let mut track = pictures(b"I420", &[]);
        let place = track.windows(3).position(|id| id == [0x23, 0xE3, 0x83]).expect("it is there");
        track[place + 11..place + 19].copy_from_slice(&u64::to_be_bytes(interval));
        track
    };
    let times = |interval, times: &[i16]| {
        let stream =
            [head(&[track(interval)]), cluster(0, &times.iter().map(|time| at(*time)).collect::<Vec<_>>())].concat();
        let mut reader = Reader::new(&stream[..], 100).expect("tracks");
        let mut picture = Picture::zero(reader.size(), reader.format());
        let mut times = Vec::new();
        while let Some(Part::Picture(at)) = reader.next(&mut picture).expect("pictures") {
            times.push(at.as_micros());
        }
        times
    };
    assert_eq!(times(33_366_667, &[0, 33, 67, 100, 133]), [0, 33_366, 66_733, 100_100, 133_466]);
    // One comes late, and one is missing.
    assert_eq!(times(40_000_000, &[3, 43, 99, 163]), [3000, 43_000, 99_000, 163_000]);
}

#[test]
fn layouts_of_4_2_0_are_read_and_what_the_file_says_of_colours_is_kept() {
    for (code, samples) in [(b"I420", b"lumaLUMAbBrR"), (b"YV12", b"lumaLUMArRbB"), (b"NV12", b"lumaLUMAbrBR")] {
        let stream = [head(&[pictures(code, &[])]), cluster(0, &[block(1, 0, samples)])].concat();
        assert_eq!(parts(&stream[..]).0, [Came::Picture(0, SAMPLES.to_vec())], "{code:?}");
    }
    let says = |fields: &[Vec<u8>]| {
        let reader = Reader::new(io::Cursor::new(head(&[pictures(b"I420", &fields.concat())])), 100).expect("tracks");
        (reader.format(), reader.display())
    };
    let (format, display) = says(&[]);
    assert_eq!((format, display), (Format::Ycbcr420(Ycbcr::BT601), Display::default()));
    let colour = [number(0x55B1, 1), number(0x55B9, 2), number(0x55B7, 1)].concat();
    let shape = [number(0x54B0, 16), number(0x54BA, 9), number(0x54B2, 3)].concat();
    let (format, display) = says(&[element(0x55B0, &colour), shape, number(0x9A, 1), number(0x9D, 6)]);
    assert_eq!(format, Format::Ycbcr420(Ycbcr { range: Range::Full, matrix: Matrix::Bt709 }));
    assert_eq!((display.siting, display.scan, display.aspect), (Siting::Left, Scan::BottomFirst, [8, 9]));
    let reader = Reader::new(io::Cursor::new(both()), 100).expect("tracks").with_matrix(Some(Matrix::Bt709));
    assert_eq!(reader.format(), Format::Ycbcr420(Ycbcr::BT709));
}

#[test]
fn colours_beyond_bt_709_are_refused_with_what_converts_them() {
    let refusal = |fields: &[Vec<u8>]| {
        let stream = head(&[pictures(b"I420", &element(0x55B0, &fields.concat()))]);
        parts(&stream[..]).1.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let [matrix, primaries] = [number(0x55B1, 9), number(0x55BB, 9)];
    for (code, name) in [(16, "PQ"), (18, "HLG")] {
        let said = refusal(&[matrix.clone(), number(0x55BA, code), primaries.clone()]);
        assert!(said.contains(name) && said.contains("tonemap"), "{said}");
        assert_eq!(refusal(&[number(0x55BA, code)]), said, "the curve alone says it");
    }
    for fields in [&[matrix.clone(), number(0x55BA, 14)][..], &[primaries], &[number(0x55B1, 10)]] {
        let said = refusal(fields);
        assert!(said.contains("BT.2020") && said.contains("-vf zscale=p=bt709"), "{said}");
    }
    assert_eq!(refusal(&[number(0x55B1, 1), number(0x55BA, 1), number(0x55BB, 1)]), "");
    assert_eq!(refusal(&[number(0x55B1, 2), number(0x55BA, 2), number(0x55BB, 2)]), "", "they are unspecified");
}

#[test]
fn sound_is_samples_or_opus_and_its_delay_is_known() {
    let read =
        |track: &[u8]| Reader::new(&head(&[pictures(b"I420", &[]), track.to_vec()])[..], 100).map(|it| it.sound());
    let samples = |bits, is_float| SoundFormat::Samples { rate: 48_000, channels: 2, bits, is_float };
    for (codec, bits, format) in [
        (&b"A_PCM/INT/LIT\0"[..], 24, samples(24, false)),
        (b"A_PCM/FLOAT/IEEE", 32, samples(32, true)),
        (b"A_OPUS", 16, SoundFormat::Opus { channels: 2 }),
    ] {
        let track = read(&sound(codec, bits)).expect("sound").expect("a track");
        assert_eq!(track, SoundTrack { format, delay: Duration::ZERO });
    }
    let opus =
        [element(0x86, b"A_OPUS"), number(0x83, 2), number(0x56AA, 6_500_000), element(0x63A2, b"OpusHead\x01\x01")];
    let track = read(&element(0xAE, &opus.concat())).expect("sound").expect("a track");
    assert_eq!((track.format, track.delay.as_micros()), (SoundFormat::Opus { channels: 1 }, 6500));
}

#[test]
fn what_cannot_be_read_is_refused_with_what_to_give_ffmpeg() {
    let refusal = |tracks: &[Vec<u8>], more: &[u8]| {
        let stream = [&head(tracks)[..], more].concat();
        parts(&stream[..]).1.expect_err("it is refused").to_string()
    };
    let compressed = [number(0x83, 1), element(0x86, b"V_MPEG4/ISO/AVC")].concat();
    let said = refusal(&[element(0xAE, &compressed)], &[]);
    assert!(said.contains("V_MPEG4/ISO/AVC") && said.contains("-c:v rawvideo -pix_fmt yuv420p"), "{said}");
    let said = refusal(&[pictures(b"444P", &[])], &[]);
    assert!(said.contains("raw 444P") && said.contains("-pix_fmt yuv420p"), "{said}");
    let said = refusal(&[pictures(b"I420", &[]), sound(b"A_VORBIS", 0)], &[]);
    assert!(said.contains("A_VORBIS") && said.contains("-c:a pcm_s16le"), "{said}");
    let said = refusal(&[pictures(b"I420", &[]), sound(b"A_PCM/INT/LIT", 8)], &[]);
    assert!(said.contains("8 bits"), "{said}");
    assert!(refusal(&[sound(b"A_OPUS", 0)], &[]).contains("no pictures"));
    let laced = element(0xA3, &[&[0x81, 0, 0, 0x02][..], SAMPLES].concat());
    assert!(refusal(&[pictures(b"I420", &[])], &cluster(0, &[laced])).contains("-c copy"));
    let short = cluster(0, &[block(1, 0, SAMPLES), block(1, 40, b"short")]);
    assert!(refusal(&[pictures(b"I420", &[])], &short).contains("picture 1 has 5 bytes, and its size needs 12"));
    let encoded = [number(0x83, 1), element(0x86, b"V_UNCOMPRESSED"), element(0x6D80, b"")].concat();
    assert!(refusal(&[element(0xAE, &encoded)], &[]).contains("-c copy"));
}

#[test]
fn sizes_over_the_limit_and_false_lengths_take_no_memory() {
    let wide = |side| {
        let video = [number(0xB0, side), number(0xBA, side), element(0x2E_B524, b"I420")].concat();
        let entry = [number(0x83, 1), element(0x86, b"V_UNCOMPRESSED"), element(0xE0, &video)].concat();
        head(&[element(0xAE, &entry)])
    };
    for (side, part) in [(16_384, "limit"), (0, "a side is 0"), (u64::MAX, "no size"), (u64::from(u32::MAX), "limit")] {
        let said = parts(&wide(side)[..]).1.expect_err("it is refused").to_string();
        assert!(said.contains(part), "{side}: {said}");
    }
    // An element of 2^55 bytes, and a packet of 2 MiB.
    let huge = [
        both(),
        begun(0x1F43_B675),
        UNKNOWN.to_vec(),
        begun(0xA3),
        (1_u64 << 56 | 1 << 55).to_be_bytes().to_vec(),
        vec![0x82, 0, 0, 0],
    ];
    let long = [both(), cluster(0, &[block(2, 0, &vec![0; 2 << 20])])];
    for stream in [huge.concat(), long.concat()] {
        let taken = allocation_counter::measure(|| {
            assert!(parts(&stream[..]).1.expect_err("it is refused").to_string().contains("1 MiB"));
        });
        assert!(taken.bytes_max < 100_000, "{taken:?}");
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_keeps_what_came() {
    let parts_of =
        |from: usize| cluster(40 * from as u64, &[block(1, 0, SAMPLES), block(2, 0, b"abcd"), block(2, 20, b"efgh")]);
    let whole = [both(), parts_of(0), parts_of(1)].concat();
    let (all, ended) = parts(&whole[..]);
    assert!(ended.is_ok() && all.len() == 6);
    let mut counts = Vec::new();
    for length in 0..whole.len() {
        let (came, ended) = parts(&whole[..length]);
        assert_eq!(came, all[..came.len()], "{length} bytes");
        assert!(ended.is_err() || came.len() % 3 == 0, "{length} bytes: it may end between clusters");
        counts.push(came.len());
    }
    assert!(counts.is_sorted() && counts.last() == Some(&5));
}

/// Gives a few bytes at a time, as a pipe may.
struct Trickle<'a>(&'a [u8]);

impl io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(3);
        self.0.read(&mut buffer[..count])
    }
}

proptest! {
    #[test]
    fn damage_anywhere_is_refused_or_read_and_costs_little(at in 0..1000_usize, bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
        let mut stream = [both(), cluster(0, &[block(1, 0, SAMPLES), block(2, 0, b"abcd")])].concat();
        let at = at % stream.len();
        stream.splice(at..(at + bytes.len()).min(stream.len()), bytes);
        let (one, one_end) = parts(&stream[..]);
        let (other, other_end) = parts(Trickle(&stream));
        prop_assert_eq!(one, other);
        prop_assert_eq!(one_end.map_err(|error| error.to_string()), other_end.map_err(|error| error.to_string()));
    }
}
