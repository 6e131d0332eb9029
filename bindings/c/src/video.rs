//! Video by frames.

use std::sync::{Arc, Mutex};

use nestcast_codec::{
    Bitrate, CodedFrame, DEFAULT_MAX_PIXELS, DecodedPart, FrameRate, Population, Size, VideoDecoder, VideoEncoder,
    VideoModel, VideoSettings,
};

use crate::boundary::{Out, borrowed, bytes, exclusive, free, guard, optional};
use crate::model::{NestcastModel, count};
use crate::picture::{NestcastCanvas, NestcastPicture};
use crate::status::{NestcastStatus, Result, argument};

/// What a video is made for.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastVideoSettings {
    /// Pixels from left to right, 1 to 16384.
    pub width: u32,
    /// Pixels from top to bottom, 1 to 16384.
    pub height: u32,
    /// Frames in `rate_seconds`, for example 30000.
    pub rate_frames: u32,
    /// Seconds, for example 1001.
    pub rate_seconds: u32,
    /// The slowest receiver's bits a second; 0 for the usual ones of the size and rate, then `fastest` is 0 too.
    pub slowest: u64,
    /// The fastest receiver's bits a second.
    pub fastest: u64,
    /// Threads that may work during a call, at least 1; the bytes do not depend on them.
    pub threads: u32,
}

/// One coded frame. Every prefix of at least `base` bytes decodes without lasting harm.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastFrame {
    /// The bytes, which are valid until the next call with the encoder.
    pub bytes: *const u8,
    /// Their number.
    pub length: usize,
    /// Bytes that every receiver needs before any later frame.
    pub base: usize,
    /// Bytes from which later frames are predicted.
    pub enhancement_reference: usize,
    /// Whether a decoder can begin with this frame.
    pub key: bool,
}

/// How much of a frame arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestcastArrived {
    /// Less than its head and motion, or its motion copies that of a frame before which was not decoded: the frame was
    /// skipped, and the picture before stays.
    Nothing = 0,
    /// Less than the base: later frames are damaged until a key frame, or for 128 frames and more.
    Part = 1,
    /// The base or more.
    Base = 2,
    /// All bytes from which later frames are predicted, or more.
    EnhancementReference = 3,
}

/// Encodes the frames of one video, one after another.
pub struct NestcastVideoEncoder(Mutex<State>);

struct State {
    encoder: VideoEncoder,
    /// The frame whose bytes the caller reads.
    lent: Option<CodedFrame>,
}

/// Decodes the frames of one video, one after another.
pub struct NestcastVideoDecoder(Mutex<VideoDecoder>);

fn population(slowest: u64, fastest: u64) -> Result<Population> {
    if slowest == 0 || slowest > fastest {
        return Err(argument("the slowest receiver has 1 bit a second or more, and the fastest not fewer"));
    }
    Ok(Population::log_uniform(Bitrate::from_bits(slowest)..=Bitrate::from_bits(fastest)))
}

fn settings(given: &NestcastVideoSettings) -> Result<VideoSettings> {
    let size = Size::new(given.width, given.height)?;
    let rate = FrameRate::new(given.rate_frames, given.rate_seconds).map_err(|error| argument(error.to_string()))?;
    let [slowest, fastest] = match [given.slowest, given.fastest] {
        [0, 0] => Population::usual_bitrates(size, rate).map(Bitrate::bits),
        rates => rates,
    };
    let population = population(slowest, fastest)?;
    Ok(VideoSettings { size, rate, population, threads: count(given.threads)? })
}

/// Returns the tables of key frames and of residuals.
fn model(key: Option<&NestcastModel>, residual: Option<&NestcastModel>) -> Result<VideoModel> {
    match (key, residual) {
        (None, None) => Ok(VideoModel::built_in()),
        (Some(key), Some(residual)) => Ok(VideoModel::new(Arc::clone(&key.0), Arc::clone(&residual.0))),
        _ => Err(argument("give both models of a video, or none")),
    }
}

fn lend(frame: &CodedFrame) -> NestcastFrame {
    let CodedFrame { bytes, base, enhancement_reference, key, .. } = frame;
    NestcastFrame {
        bytes: bytes.as_ptr(),
        length: bytes.len(),
        base: *base,
        enhancement_reference: *enhancement_reference,
        key: *key,
    }
}

/// Makes an encoder of video.
///
/// # Safety
/// `settings` refers to settings; `encoder` refers to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_encoder_new(
    settings: *const NestcastVideoSettings,
    encoder: *mut *mut NestcastVideoEncoder,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, given) = unsafe { (Out::new(encoder, "encoder")?, borrowed(settings, "settings")?) };
        let encoder = VideoEncoder::new(VideoModel::built_in(), self::settings(given)?);
        out.put_handle(NestcastVideoEncoder(Mutex::new(State { encoder, lent: None })));
        Ok(())
    })
}

/// Encodes the next frame, of a format of YCbCr with 8 to 16 bits a sample. Frames are exact to 11 bits. They do not say
/// how many the source has: tell those who decode them.
///
/// # Safety
/// `encoder` is an encoder that is not freed during the call; `picture` refers to a picture whose planes have the
/// memory that it says; `frame` refers to memory for a frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_encoder_encode(
    encoder: *const NestcastVideoEncoder,
    picture: *const NestcastPicture,
    frame: *mut NestcastFrame,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (encoder, picture) = unsafe { (borrowed(encoder, "encoder")?, borrowed(picture, "picture")?.view()?) };
        // SAFETY: this function's contract.
        let out = unsafe { Out::new(frame, "frame")? };
        let mut state = exclusive(&encoder.0)?;
        let State { encoder, lent } = &mut *state;
        *lent = None;
        out.put(lend(lent.insert(encoder.encode(picture)?)));
        Ok(())
    })
}

/// Returns a frame of about `max_bytes` with which a new receiver can begin, in place of the last one.
///
/// # Safety
/// `encoder` is an encoder that is not freed during the call; `frame` refers to memory for a frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_encoder_join(
    encoder: *const NestcastVideoEncoder,
    max_bytes: usize,
    frame: *mut NestcastFrame,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (encoder, out) = unsafe { (borrowed(encoder, "encoder")?, Out::new(frame, "frame")?) };
        let mut state = exclusive(&encoder.0)?;
        let State { encoder, lent } = &mut *state;
        *lent = None;
        out.put(lend(lent.insert(encoder.join(max_bytes))));
        Ok(())
    })
}

/// Sets the slowest and the fastest receiver's bits a second, from the next frame on.
///
/// # Safety
/// `encoder` is an encoder that is not freed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_encoder_set_bitrates(
    encoder: *const NestcastVideoEncoder,
    slowest: u64,
    fastest: u64,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let encoder = unsafe { borrowed(encoder, "encoder")? };
        let population = population(slowest, fastest)?;
        exclusive(&encoder.0)?.encoder.set_population(population);
        Ok(())
    })
}

/// Frees an encoder of video, and the bytes that it lent.
///
/// # Safety
/// `encoder` is NULL, or was returned by nestcast_video_encoder_new and not freed before, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_encoder_free(encoder: *mut NestcastVideoEncoder) {
    // SAFETY: this function's contract.
    unsafe { free(encoder) }
}

/// Makes a decoder of video. `key` and `residual` are the models of frames predicted from nothing and of residuals, or
/// both NULL. Frames of more than `max_pixels` are refused before memory is taken; 0 is 100 million. A decoder needs
/// about 69 bytes a pixel.
///
/// # Safety
/// `key` and `residual` are NULL or models that are not freed during the call; `decoder` refers to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_decoder_new(
    key: *const NestcastModel,
    residual: *const NestcastModel,
    width: u32,
    height: u32,
    threads: u32,
    max_pixels: u64,
    decoder: *mut *mut NestcastVideoDecoder,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (key, residual) = unsafe { (optional(key, "key")?, optional(residual, "residual")?) };
        // SAFETY: this function's contract.
        let out = unsafe { Out::new(decoder, "decoder")? };
        let (model, size) = (model(key, residual)?, Size::new(width, height)?);
        let max_pixels = if max_pixels == 0 { DEFAULT_MAX_PIXELS } else { max_pixels };
        let decoder = VideoDecoder::new(model, size, count(threads)?).with_max_pixels(max_pixels);
        out.put_handle(NestcastVideoDecoder(Mutex::new(decoder)));
        Ok(())
    })
}

/// Decodes the next frame, or a prefix of it. `arrived` may be NULL.
///
/// # Safety
/// `decoder` is a decoder that is not freed during the call; `data` refers to `length` bytes; `arrived` is NULL or
/// refers to memory for its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_decoder_decode(
    decoder: *const NestcastVideoDecoder,
    data: *const u8,
    length: usize,
    arrived: *mut NestcastArrived,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (decoder, data) = unsafe { (borrowed(decoder, "decoder")?, bytes(data, length)?) };
        let reached = match exclusive(&decoder.0)?.decode(data)? {
            DecodedPart::Nothing => NestcastArrived::Nothing,
            DecodedPart::Part => NestcastArrived::Part,
            DecodedPart::Base => NestcastArrived::Base,
            DecodedPart::EnhancementReference => NestcastArrived::EnhancementReference,
        };
        if !arrived.is_null() {
            // SAFETY: this function's contract.
            unsafe { Out::new(arrived, "arrived")? }.put(reached);
        }
        Ok(())
    })
}

/// Renders the last frame, in a format of YCbCr with 8 to 16 bits a sample, whatever the source had; grey before the first
/// frame.
///
/// # Safety
/// `decoder` is a decoder that is not freed during the call; `canvas` refers to a canvas whose planes have the memory
/// that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_decoder_render(
    decoder: *const NestcastVideoDecoder,
    canvas: *const NestcastCanvas,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (decoder, canvas) = unsafe { (borrowed(decoder, "decoder")?, borrowed(canvas, "canvas")?.view()?) };
        exclusive(&decoder.0)?.render_into(canvas)?;
        Ok(())
    })
}

/// Renders a picture for the `frames`th missing frame after the last one: the last one with its motion continued. If
/// nothing moves, `moved` is false and the canvas stays as it is. `moved` may be NULL.
///
/// # Safety
/// As nestcast_video_decoder_render; `moved` is NULL or refers to memory for its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_decoder_conceal(
    decoder: *const NestcastVideoDecoder,
    canvas: *const NestcastCanvas,
    frames: u32,
    moved: *mut bool,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (decoder, canvas) = unsafe { (borrowed(decoder, "decoder")?, borrowed(canvas, "canvas")?.view()?) };
        let moves = exclusive(&decoder.0)?.conceal_into(canvas, frames)?;
        if !moved.is_null() {
            // SAFETY: this function's contract.
            unsafe { Out::new(moved, "moved")? }.put(moves);
        }
        Ok(())
    })
}

/// Frees a decoder of video.
///
/// # Safety
/// `decoder` is NULL, or was returned by nestcast_video_decoder_new and not freed before, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_video_decoder_free(decoder: *mut NestcastVideoDecoder) {
    // SAFETY: this function's contract.
    unsafe { free(decoder) }
}
