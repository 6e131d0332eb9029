//! What hostile senders of video do after their welcome.

use std::time::Duration;

use nestcast_codec::{
    Bitrate, CodedFrame, Format, FrameRate, ModelId, Picture, Population, Size, VideoEncoder, VideoModel,
    VideoSettings, Ycbcr,
};
use nestcast_proto::{Code, FrameHeader, LateHeader, StreamHead};
use quinn::{Connection, SendStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::hostile_sender::{Ended, SIZE};

/// Frames of each attack.
const FRAMES: u64 = 30;
/// The time from one frame to the next.
const FRAME_PAUSE: Duration = Duration::from_millis(20);
/// The time until everything in flight is shown.
const SHOWN_TIME: Duration = Duration::from_millis(300);
const RATE: FrameRate = match FrameRate::new(30, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};

/// What a sender of video does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostileVideo {
    /// Frames with eight changed bytes each: in heads, motion, floors and what refers to them.
    Damaged,
    /// Frames after a first good one: each announces a base of all its bytes, and a hundred bytes follow.
    NoBases,
    /// Frame numbers that leap, counts of skipped frames that rise and fall, clocks that jump by 70,000 years, and
    /// announced lengths a megabyte too long. The frames themselves are good.
    Leaps,
    /// A frame of another video, predicted from nothing, in the middle of a scene.
    ForeignRandomAccess,
    /// Floors and enhanced pictures of no bytes, of 2^28 bytes each, and of more than the announced base.
    Prefixes,
    /// Frames whose references never existed: none is predicted from nothing, and all say that blocks may have two
    /// references.
    Unfounded,
    /// Frames of two renditions in turn, with no random-access frame between them.
    MixedRenditions,
    /// Late bytes, which only pictures have.
    LateBytes,
}

/// The tables of video that receivers know.
#[must_use]
pub fn models() -> [ModelId; 2] {
    VideoModel::built_in().ids()
}

/// Carries out the attack, and ends the broadcast.
pub(crate) async fn attack(connection: &Connection, attack: HostileVideo) -> Result<(), Ended> {
    match attack {
        HostileVideo::Damaged => damaged(connection).await?,
        HostileVideo::NoBases => no_bases(connection).await?,
        HostileVideo::Leaps => leaps(connection).await?,
        HostileVideo::ForeignRandomAccess => foreign_random_access(connection).await?,
        HostileVideo::Prefixes => prefixes(connection).await?,
        HostileVideo::Unfounded => unfounded(connection).await?,
        HostileVideo::MixedRenditions => mixed_renditions(connection).await?,
        HostileVideo::LateBytes => {
            let late = StreamHead::Late(LateHeader { id: 0, offset: 10, full: 100 });
            let mut stream = connection.open_uni().await?;
            stream.write_all(&late.encode()).await?;
            stream.finish()?;
            connection.closed().await;
        }
    }
    // The receiver shows what is in flight before the end.
    sleep(SHOWN_TIME).await;
    connection.close(Code::Done.number().into(), b"");
    Ok(())
}

async fn damaged(connection: &Connection) -> Result<(), Ended> {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for (id, frame) in (0..).zip(frames(0, FRAMES).await?) {
        let mut bytes = frame.bytes.to_vec();
        // Half of the damage is at the beginning, where the head and the motion are.
        for within in [16, 64, 256, 1024, usize::MAX, usize::MAX, usize::MAX, usize::MAX] {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            let [value, place @ ..] = random.to_be_bytes();
            let place = usize::from_be_bytes([0, place[0], place[1], place[2], place[3], place[4], place[5], place[6]]);
            let place = place % bytes.len().min(within);
            bytes[place] = value;
        }
        // Every second frame copies no vectors, so that it is decoded whatever became of those before.
        if id % 2 == 1 {
            bytes[0] &= 0xE0;
        }
        send(connection, header(id, &frame), &bytes).await?.finish()?;
        sleep(FRAME_PAUSE).await;
    }
    Ok(())
}

async fn no_bases(connection: &Connection) -> Result<(), Ended> {
    let good = frames(0, 1).await?.remove(0);
    let mut open = JoinSet::new();
    let sending = async {
        for id in 0..FRAMES {
            let honest = header(id, &good);
            if id == 0 {
                send(connection, honest, &good.bytes).await?.finish()?;
            } else {
                let header = FrameHeader { full: 60_000, base: 60_000, ..honest };
                let stream = send(connection, header, &good.bytes[..good.bytes.len().min(100)]).await?;
                // The stream does not end while the connection lives.
                let connection = connection.clone();
                open.spawn(async move {
                    connection.closed().await;
                    drop(stream);
                });
            }
            sleep(FRAME_PAUSE).await;
        }
        Ok::<_, Ended>(())
    };
    // The receiver grants only as many streams as it can hold.
    timeout(Duration::from_secs(3), sending).await.unwrap_or(Ok(()))?;
    open.detach_all();
    Ok(())
}

async fn leaps(connection: &Connection) -> Result<(), Ended> {
    for (at, frame) in (0..).zip(frames(0, FRAMES).await?) {
        let id = at << 50;
        let skipped = if at % 3 == 0 { id } else { id / 7 };
        let captured = if at % 2 == 0 { 0 } else { (1 << 61) + at };
        let honest = header(id, &frame);
        let header = FrameHeader { skipped, captured, full: honest.full + 1_000_000, ..honest };
        send(connection, header, &frame.bytes).await?.finish()?;
        sleep(FRAME_PAUSE).await;
    }
    Ok(())
}

async fn foreign_random_access(connection: &Connection) -> Result<(), Ended> {
    let foreign = frames(77, 1).await?;
    for (id, frame) in (0..).zip(frames(0, FRAMES).await?) {
        let join = FRAMES / 2;
        let frame = if id == join { foreign[0].clone() } else { frame };
        send(connection, header(id, &frame), &frame.bytes).await?.finish()?;
        // Even a busy machine then shows a picture before it, the frame itself, and one after it.
        sleep(if id + 1 == join || id == join { SHOWN_TIME } else { FRAME_PAUSE }).await;
    }
    Ok(())
}

/// Sends good frames whose capture times move years apart, forwards and backwards in turn; then ends the broadcast.
pub(crate) async fn clock_that_jumps(connection: &Connection, from: u64) -> Result<(), Ended> {
    const YEAR_MICROSECONDS: u64 = 365 * 86_400 * 1_000_000;
    for (id, frame) in (0..).zip(frames(0, FRAMES).await?) {
        let captured = if id % 2 == 0 {
            from.saturating_sub(id * YEAR_MICROSECONDS)
        } else {
            (from + id * YEAR_MICROSECONDS).min((1 << 62) - 1)
        };
        send(connection, FrameHeader { captured, ..header(id, &frame) }, &frame.bytes).await?.finish()?;
        sleep(FRAME_PAUSE).await;
    }
    sleep(SHOWN_TIME).await;
    connection.close(Code::Done.number().into(), b"");
    Ok(())
}

async fn prefixes(connection: &Connection) -> Result<(), Ended> {
    const MAX_BYTES: usize = (1 << 28) - 1;
    for (id, frame) in (0..).zip(frames(0, FRAMES).await?) {
        let honest = header(id, &frame);
        let (bytes, base) = match id % 5 {
            _ if id == 0 => (frame.bytes.to_vec(), honest.base),
            0 => (with_prefixes(&frame, 0, 0), honest.base),
            1 => (with_prefixes(&frame, MAX_BYTES, MAX_BYTES), honest.base),
            2 => (with_prefixes(&frame, 0, MAX_BYTES), honest.base),
            // The whole frame arrives, but the stated base is shorter than its floor.
            3 => (frame.bytes.to_vec(), 1),
            _ => (with_prefixes(&frame, frame.bytes.len(), 0), 0),
        };
        let header = FrameHeader { full: bytes.len() as u64, base, ..honest };
        send(connection, header, &bytes).await?.finish()?;
        sleep(FRAME_PAUSE).await;
    }
    Ok(())
}

/// Returns the frame with other numbers of bytes for its floor and, past that, for the enhanced picture.
fn with_prefixes(frame: &CodedFrame, base_reference: usize, beyond: usize) -> Vec<u8> {
    let number = |bytes: &[u8]| 1 + bytes.iter().take_while(|byte| **byte >= 0x80).count();
    let (fixed, rest) = frame.bytes.split_at(2);
    let (side, mut rest) = rest.split_at(number(rest));
    let mut bytes = [fixed, side].concat();
    for value in [base_reference, beyond] {
        rest = &rest[number(rest)..];
        let digits = (0..4).map(|at| u8::try_from(value >> (7 * at) & 0x7F).expect("seven bits"));
        bytes.extend(digits.enumerate().map(|(at, digit)| if at < 3 { digit | 0x80 } else { digit }));
    }
    bytes.extend(rest);
    bytes
}

async fn unfounded(connection: &Connection) -> Result<(), Ended> {
    // Up to the first one that copies no vectors, frames are left out.
    for (id, frame) in (0..).zip(frames(0, FRAMES + 32).await?.into_iter().skip(1)) {
        let mut bytes = frame.bytes.to_vec();
        bytes[1] |= 0x10;
        send(connection, header(id, &frame), &bytes).await?.finish()?;
        sleep(FRAME_PAUSE).await;
    }
    Ok(())
}

async fn mixed_renditions(connection: &Connection) -> Result<(), Ended> {
    let renditions = [frames(0, FRAMES).await?, frames_for(0, FRAMES, 40_000).await?];
    for id in 0..FRAMES {
        let [one, other] = renditions.each_ref().map(|frames| &frames[usize::try_from(id).expect("few")]);
        let frame = if id % 2 == 0 { one } else { other };
        send(connection, header(id, frame), &frame.bytes).await?.finish()?;
        sleep(FRAME_PAUSE).await;
    }
    Ok(())
}

fn header(id: u64, frame: &CodedFrame) -> FrameHeader {
    FrameHeader { id, skipped: 0, captured: 0, full: frame.bytes.len() as u64, base: frame.base as u64 }
}

async fn send(connection: &Connection, header: FrameHeader, bytes: &[u8]) -> Result<SendStream, Ended> {
    let mut stream = connection.open_uni().await?;
    stream.write_all(&StreamHead::Frame(header).encode()).await?;
    stream.write_all(bytes).await?;
    Ok(stream)
}

/// Returns `count` frames of a good video, encoded on another thread than the one that answers the receiver.
async fn frames(seed: u32, count: u64) -> Result<Vec<CodedFrame>, Ended> {
    frames_for(seed, count, 100_000).await
}

/// Does the same for receivers of `slowest` bits a second and up to sixteen times that.
async fn frames_for(seed: u32, count: u64, slowest: u64) -> Result<Vec<CodedFrame>, Ended> {
    Ok(tokio::task::spawn_blocking(move || encoded(seed, count, slowest)).await?)
}

/// Encodes a grating that moves over a slope.
fn encoded(seed: u32, count: u64, slowest: u64) -> Vec<CodedFrame> {
    let size = Size::new(SIZE.0, SIZE.1).expect("a valid size");
    let population = Population::log_uniform(Bitrate::from_bits(slowest)..=Bitrate::from_bits(16 * slowest));
    let settings = VideoSettings { size, rate: RATE, population, threads: 1 };
    let mut encoder = VideoEncoder::new(VideoModel::built_in(), settings);
    let frame = |time| {
        let mut picture = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601));
        for (at, sample) in (0..).zip(picture.samples_mut()) {
            let (x, y) = (at % SIZE.0, at / SIZE.0);
            let bar = (x + 3 * time + seed) / 16 % 2 * 60;
            *sample = u8::try_from(40 + bar + y % 97).expect("a sample");
        }
        encoder.encode(&picture).expect("its size")
    };
    (0..u32::try_from(count).expect("few frames")).map(frame).collect()
}
