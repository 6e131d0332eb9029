//! Frames of video, and stored videos.

use std::sync::LazyLock;

use bytes::Bytes;
use nestcast_codec::{
    DecodedPart, Error, Format, FrameResidualDecoder, FrameResiduals, Picture, Size, VideoDecoder, VideoFile,
    VideoModel, Ycbcr,
};
use nestcast_media::stored::Reader;
use nestcast_reference::{Fault, StoredVideo, VideoReference};

use crate::bounded;
use crate::header::fault;
use crate::stream::{MODEL, TABLES};

/// The longest side: a few blocks, each with neighbours.
const MAX_SIDE: u8 = 40;
/// The most frames of an input.
const MAX_FRAMES: usize = 6;
const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);
/// The bits of a sample in which frames are shown a second time.
const DEEP_BITS: u8 = 10;
/// The memory that a decoder needs for frames of any size: tables, probabilities, windows.
const FIXED_BYTES: usize = 1_500_000;
/// The codec's own limit, in bytes.
const BYTES_PER_PIXEL: usize = 60;
/// The same limit for pictures that continue by 32 samples on every side.
const BYTES_PER_PIXEL_WITH_BORDERS: usize = 24;
/// The most pixels that a decoder of stored videos accepts.
const MAX_PIXELS: u64 = 4096;

static VIDEO_MODEL: LazyLock<VideoModel> = LazyLock::new(|| VideoModel::new(MODEL.clone(), MODEL.clone()));

/// Returns the most bytes that a decoder of frames of this size may hold.
const fn most(size: Size) -> usize {
    let with_borders = (size.width() + 64) * (size.height() + 64);
    FIXED_BYTES + BYTES_PER_PIXEL * size.width() * size.height() + BYTES_PER_PIXEL_WITH_BORDERS * with_borders
}

/// Checks any bytes as frames. The decoder shows what the reference decoder shows, and refuses what that refuses. A
/// frame that is refused or left out changes nothing. Memory stays within the limit for the size.
///
/// So are those of a decoder that takes residuals from another one.
///
/// The input: width, height, then frames, each a byte that states its length, and its bytes.
pub fn video_frame(data: &[u8]) {
    let Some((&[width, height], mut rest)) = data.split_first_chunk::<2>() else { return };
    let size = Size::new(u32::from(width % MAX_SIDE) + 1, u32::from(height % MAX_SIDE) + 1).expect("within the limits");
    let mut reference = VideoReference::new(TABLES, TABLES, size.width(), size.height()).expect("valid tables");
    let most = most(size) + 4 * data.len();
    let mut expected = Vec::new();
    let mut frames = Vec::new();
    while let Some((&length, after)) = rest.split_first().filter(|_| frames.len() < MAX_FRAMES) {
        let (frame, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        frames.push(frame);
        let decoded = reference.decode(frame);
        expected.push((decoded, reference.shown(), reference.shown_deep(DEEP_BITS.into())));
    }
    bounded::within(most, "decoding frames", || {
        let mut decoder = VideoDecoder::new(VIDEO_MODEL.clone(), size, 1);
        let mut picture = Picture::zero(size, FORMAT);
        let mut deep = Picture::zero(size, Format::planar(Ycbcr::BT601, DEEP_BITS));
        for (number, (frame, (expected, shown, shown_deep))) in frames.iter().zip(&expected).enumerate() {
            let taken = decoder.decode(frame).map(|arrived| arrived != DecodedPart::Nothing).map_err(fault);
            assert_eq!(taken, *expected, "frame {number}");
            decoder.render_into(&mut picture).expect("its size and format");
            assert!(picture.samples() == shown, "frame {number} is not the reference's");
            decoder.render_into(&mut deep).expect("its size and format");
            assert!(deep.samples() == shown_deep, "frame {number} in {DEEP_BITS} bits is not the reference's");
        }
    });
    let (mut residual_decoder, mut residuals) =
        (FrameResidualDecoder::new(VIDEO_MODEL.clone(), size, 1), FrameResiduals::default());
    let mut decoder = VideoDecoder::new(VIDEO_MODEL.clone(), size, 1);
    let mut picture = Picture::zero(size, FORMAT);
    for (number, (frame, (_, shown, _))) in frames.iter().zip(&expected).enumerate() {
        let are_there = residual_decoder.decode(frame, &mut residuals);
        if decoder.predict(frame).is_ok_and(|arrived| arrived != DecodedPart::Nothing) {
            assert_eq!(are_there, Ok(true), "frame {number}");
            decoder.complete_with(&mut residuals).expect("residuals of this frame");
        }
        decoder.render_into(&mut picture).expect("its size and format");
        assert!(picture.samples() == shown, "frame {number} of two decoders is not the reference's");
    }
}

/// Returns the frames that a reader of files finds, and the lengths of the packets of sound between them, if it keeps
/// these.
fn read(bytes: &[u8], keeps_sound: bool) -> Option<(Vec<Bytes>, Vec<usize>)> {
    let mut reader = Reader::new(bytes, MAX_PIXELS).ok()?;
    if keeps_sound && reader.begin_sound().is_err() {
        return None;
    }
    let (mut frames, mut packets) = (Vec::new(), Vec::new());
    while let Ok(Some(frame)) = reader.next_frame() {
        frames.push(frame);
        packets.extend(reader.take_sound().map(|packet| packet.bytes.len()));
    }
    packets.extend(reader.take_sound().map(|packet| packet.bytes.len()));
    Some((frames, packets))
}

/// Checks that any bytes are a stored video, cut or not, or are refused, as the reference decoder decides, one frame
/// after another. A reader that keeps sound finds the same frames, and packets within their limit. An index leads to
/// records or nowhere. Sizes over the limit allocate no memory.
///
/// The input: the place that a reader seeks, then the video.
pub fn video_file(data: &[u8]) {
    let Some((&to, bytes)) = data.split_first() else { return };
    let expected = StoredVideo::read(bytes);
    let owned = Bytes::copy_from_slice(bytes);
    let mut file = match bounded::within(4096, "reading a header", || VideoFile::new(owned)) {
        Ok(file) => file,
        Err(error) => return assert_eq!(Err(fault(error)), expected.map(|_| ())),
    };
    let (mut frames, mut times) = (Vec::new(), Vec::new());
    let end = loop {
        match file.next_frame() {
            Ok(Some(frame)) => {
                frames.push(frame);
                times.push(file.captured());
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(fault(error)),
        }
    };
    assert_eq!(end, expected.as_ref().map(|_| ()).map_err(|fault: &Fault| *fault));
    if let Ok(expected) = &expected {
        assert!(frames.iter().eq(expected.frames.iter()), "the frames are the reference's");
        assert_eq!(times, expected.times);
        assert_eq!((file.header().size.width(), file.header().bits), (expected.width, expected.bits));
    }
    let most_read = 100_000 + 40 * bytes.len();
    if let Some((with_sound, packets)) = bounded::within(most_read, "keeping sound", || read(bytes, true)) {
        assert!(packets.iter().all(|length| (1..=1276).contains(length)), "{packets:?}");
        let alone = bounded::within(most_read, "skipping sound", || read(bytes, false));
        assert!(alone.is_some_and(|(frames, packets)| frames == with_sound && packets.is_empty()));
    }
    // A reader holds its index, which needs 16 bytes for every two bytes of the file, and the memory from which the
    // index grew.
    let found = bounded::within(4096 + 24 * bytes.len(), "seeking", || file.seek(to.into()));
    assert!(found.is_ok_and(|key| key <= to.into()) || found.is_err());
    let key_frame = file.next_frame();
    let size = file.header().size;
    let most = if size.pixels() as u64 > MAX_PIXELS { FIXED_BYTES } else { most(size) } + 4 * bytes.len();
    let mut decoder = VideoDecoder::new(VIDEO_MODEL.clone(), size, 1).with_max_pixels(MAX_PIXELS);
    bounded::within(most, "decoding a stored video", || {
        for frame in frames.iter().take(MAX_FRAMES).chain(key_frame.iter().flatten()) {
            let refused = matches!(decoder.decode(frame), Err(Error::Limit { .. }));
            assert_eq!(refused, decoder.size().pixels() as u64 > MAX_PIXELS);
        }
    });
}
