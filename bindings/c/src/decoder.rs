//! The decoder of pictures.

use std::sync::Mutex;

use nestcast_codec::{Channels, DEFAULT_MAX_PIXELS, DecodeError, Decoder, Header, Parsed, Progress};

use crate::boundary::{Out, borrowed, bytes, exclusive, free, guard, optional};
use crate::model::{NestcastModel, codec};
use crate::picture::{
    NESTCAST_FORMAT_GREY, NESTCAST_FORMAT_GREY_ALPHA, NESTCAST_FORMAT_GREY_ALPHA16, NESTCAST_FORMAT_GREY16,
    NESTCAST_FORMAT_RGB, NESTCAST_FORMAT_RGB16, NESTCAST_FORMAT_RGBA, NESTCAST_FORMAT_RGBA16, NestcastCanvas,
};
use crate::status::NestcastStatus;

/// What the first bytes of a stream say.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastHeader {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// NESTCAST_FORMAT_GREY or NESTCAST_FORMAT_RGB: a format to decode into, opaque and of 8 bits a sample. The picture
    /// is shown over white. An RGB stream also decodes into the formats of YCbCr.
    pub format: u32,
    /// The format that keeps all that the stream has: `format`, or one with opacity, of 16 bits a sample, or both.
    pub stored_format: u32,
    /// The first bytes of the SHA-256 of the model's tables.
    pub model: [u8; 6],
}

/// The most bit planes that a stream can have: 15, and 6 below the finest step.
const MOST_PLANES: f32 = 21.0;

/// How far a stream has arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NestcastProgress {
    /// Bytes that the header still needs, at least; 0 if it is complete.
    pub missing_header_bytes: usize,
    /// Bit planes that are still missing, those below the finest step included; 0 for all of the stream.
    pub position: f32,
    /// Whether all of the stream has arrived: further bytes change nothing.
    pub complete: bool,
}

/// Decodes streams one after another in the same memory.
pub struct NestcastDecoder(Mutex<Decoder>);

fn header_of(header: &Header) -> NestcastHeader {
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let (format, [opaque, alpha]) = match (header.channels, header.is_deep()) {
        (Channels::Grey, false) => (NESTCAST_FORMAT_GREY, [NESTCAST_FORMAT_GREY, NESTCAST_FORMAT_GREY_ALPHA]),
        (Channels::Grey, true) => (NESTCAST_FORMAT_GREY, [NESTCAST_FORMAT_GREY16, NESTCAST_FORMAT_GREY_ALPHA16]),
        (Channels::Rgb, false) => (NESTCAST_FORMAT_RGB, [NESTCAST_FORMAT_RGB, NESTCAST_FORMAT_RGBA]),
        (Channels::Rgb, true) => (NESTCAST_FORMAT_RGB, [NESTCAST_FORMAT_RGB16, NESTCAST_FORMAT_RGBA16]),
    };
    NestcastHeader {
        width: side(header.size.width()),
        height: side(header.size.height()),
        format,
        stored_format: if header.alpha.is_some() { alpha } else { opaque },
        model: header.model.0,
    }
}

fn progress_of(decoder: &Decoder) -> NestcastProgress {
    let progress = decoder.progress();
    let missing_header_bytes = if let Progress::NeedMore(count) = progress { count } else { 0 };
    let position = decoder.planes_left().unwrap_or(MOST_PLANES);
    NestcastProgress { missing_header_bytes, position, complete: progress == Progress::Complete }
}

/// Reads the header of a stream, or of any part from its beginning.
///
/// # Safety
/// `data` refers to `length` bytes, and `header` to memory for a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_header_parse(
    data: *const u8,
    length: usize,
    header: *mut NestcastHeader,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, data) = unsafe { (Out::new(header, "header")?, bytes(data, length)?) };
        match Header::parse(data)? {
            Parsed::Complete(header, _) => out.put(header_of(&header)),
            Parsed::NeedMore(missing) => return Err(DecodeError::IncompleteHeader { missing }.into()),
        }
        Ok(())
    })
}

/// Makes a decoder. `model` may be NULL; up to `threads` threads work during a call, and the picture does not depend on
/// them. Pictures of more than `max_pixels` are refused before memory is taken; 0 is 100 million. A decoder needs up to
/// 50 bytes a pixel.
///
/// # Safety
/// `model` is NULL or a model that is not freed during the call; `decoder` refers to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_decoder_new(
    model: *const NestcastModel,
    threads: u32,
    max_pixels: u64,
    decoder: *mut *mut NestcastDecoder,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, model) = unsafe { (Out::new(decoder, "decoder")?, optional(model, "model")?) };
        let max_pixels = if max_pixels == 0 { DEFAULT_MAX_PIXELS } else { max_pixels };
        let decoder = codec(model, threads)?.decoder().with_max_pixels(max_pixels);
        out.put_handle(NestcastDecoder(Mutex::new(decoder)));
        Ok(())
    })
}

/// Takes the next bytes of the stream, any number of them. `progress` may be NULL. A refused stream stays refused until
/// nestcast_decoder_reset; the bytes before the fault still render.
///
/// # Safety
/// `decoder` is a decoder that is not freed during the call; `data` refers to `length` bytes; `progress` is NULL or
/// refers to memory for its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_decoder_push(
    decoder: *const NestcastDecoder,
    data: *const u8,
    length: usize,
    progress: *mut NestcastProgress,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (decoder, data) = unsafe { (borrowed(decoder, "decoder")?, bytes(data, length)?) };
        let mut decoder = exclusive(&decoder.0)?;
        decoder.push(data)?;
        if !progress.is_null() {
            // SAFETY: this function's contract.
            unsafe { Out::new(progress, "progress")? }.put(progress_of(&decoder));
        }
        Ok(())
    })
}

/// Returns the stream's header, NESTCAST_STATUS_INCOMPLETE_HEADER before it has arrived.
///
/// # Safety
/// `decoder` is a decoder that is not freed during the call; `header` refers to memory for a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_decoder_header(
    decoder: *const NestcastDecoder,
    header: *mut NestcastHeader,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, decoder) = unsafe { (Out::new(header, "header")?, borrowed(decoder, "decoder")?) };
        let decoder = exclusive(&decoder.0)?;
        let missing = progress_of(&decoder).missing_header_bytes.max(1);
        let header = decoder.header().ok_or(DecodeError::IncompleteHeader { missing })?;
        out.put(header_of(&header));
        Ok(())
    })
}

/// Renders the picture of the bytes that have arrived. The canvas has the header's size, and the colours of its format.
/// Without opacity it shows the picture over white.
///
/// # Safety
/// `decoder` is a decoder that is not freed during the call; `canvas` refers to a canvas whose planes have the memory
/// that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_decoder_render(
    decoder: *const NestcastDecoder,
    canvas: *const NestcastCanvas,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (decoder, canvas) = unsafe { (borrowed(decoder, "decoder")?, borrowed(canvas, "canvas")?.view()?) };
        exclusive(&decoder.0)?.render_into(canvas)?;
        Ok(())
    })
}

/// Forgets the stream and keeps the memory: the next byte begins another stream.
///
/// # Safety
/// `decoder` is a decoder that is not freed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_decoder_reset(decoder: *const NestcastDecoder) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let decoder = unsafe { borrowed(decoder, "decoder")? };
        exclusive(&decoder.0)?.reset();
        Ok(())
    })
}

/// Frees a decoder.
///
/// # Safety
/// `decoder` is NULL, or was returned by nestcast_decoder_new and not freed before, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_decoder_free(decoder: *mut NestcastDecoder) {
    // SAFETY: this function's contract.
    unsafe { free(decoder) }
}
