//! The encoder of pictures.

use std::sync::Mutex;

use nestcast_codec::{Encoder, Stream};

use crate::boundary::{Out, borrowed, exclusive, free, guard, optional};
use crate::model::{NestcastModel, codec};
use crate::picture::NestcastPicture;
use crate::status::NestcastStatus;

/// Encodes pictures one after another in the same memory.
pub struct NestcastEncoder(Mutex<State>);

struct State {
    encoder: Encoder,
    /// The stream whose bytes the caller reads.
    lent: Option<Stream>,
}

/// Makes an encoder. `model` may be NULL; up to `threads` threads work during a call, and the bytes do not depend on
/// them.
///
/// # Safety
/// `model` is NULL or a model that is not freed during the call; `encoder` refers to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_encoder_new(
    model: *const NestcastModel,
    threads: u32,
    encoder: *mut *mut NestcastEncoder,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, model) = unsafe { (Out::new(encoder, "encoder")?, optional(model, "model")?) };
        let state = State { encoder: codec(model, threads)?.encoder(), lent: None };
        out.put_handle(NestcastEncoder(Mutex::new(state)));
        Ok(())
    })
}

/// Encodes a picture. `bytes` and `length` are set to the stream, which is valid until the next call with this encoder.
/// With `max_bytes` it stops early, but not inside the header; 0 is no limit.
///
/// # Safety
/// `encoder` is an encoder that is not freed during the call; `picture` refers to a picture whose planes have the
/// memory that it says; `bytes` and `length` refer to memory for their values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_encoder_encode(
    encoder: *const NestcastEncoder,
    picture: *const NestcastPicture,
    max_bytes: usize,
    bytes: *mut *const u8,
    length: *mut usize,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (encoder, picture) = unsafe { (borrowed(encoder, "encoder")?, borrowed(picture, "picture")?.view()?) };
        // SAFETY: this function's contract.
        let (bytes, length) = unsafe { (Out::new(bytes, "bytes")?, Out::new(length, "length")?) };
        let mut state = exclusive(&encoder.0)?;
        let State { encoder, lent } = &mut *state;
        // The encoder can use the memory again.
        *lent = None;
        encoder.set_max_bytes(if max_bytes == 0 { usize::MAX } else { max_bytes });
        let stream = lent.insert(encoder.encode(picture)?);
        bytes.put(stream.bytes().as_ptr());
        length.put(stream.len());
        Ok(())
    })
}

/// Frees an encoder, and the bytes that it lent.
///
/// # Safety
/// `encoder` is NULL, or was returned by nestcast_encoder_new and not freed before, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_encoder_free(encoder: *mut NestcastEncoder) {
    // SAFETY: this function's contract.
    unsafe { free(encoder) }
}
