//! Models: the tables with which streams are coded.

use std::sync::Arc;

use nestcast_codec::{Codec, Linear, Model};

use crate::boundary::{Out, bytes, free, guard};
use crate::status::{NestcastStatus, Result, argument};

/// The tables of a model. It never changes, so any number of threads may share it. Where a function takes a model, NULL
/// is the built-in one: `photo` for pictures, `video` for video.
pub struct NestcastModel(pub(crate) Arc<Model>);

/// Reads a model's tables: the `tables.bin` of a model package.
///
/// # Safety
/// `tables` refers to `length` bytes, and `model` to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_model_new(
    tables: *const u8,
    length: usize,
    model: *mut *mut NestcastModel,
) -> NestcastStatus {
    guard(|| {
        // SAFETY: this function's contract.
        let (out, tables) = unsafe { (Out::new(model, "model")?, bytes(tables, length)?) };
        out.put_handle(NestcastModel(Arc::new(Model::from_bytes(tables)?)));
        Ok(())
    })
}

/// Frees a model. Encoders and decoders that use it go on.
///
/// # Safety
/// `model` is NULL, or was returned by nestcast_model_new and not freed before, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nestcast_model_free(model: *mut NestcastModel) {
    // SAFETY: this function's contract.
    unsafe { free(model) }
}

/// Returns the linear codec of a model.
pub(crate) fn codec(model: Option<&NestcastModel>, threads: u32) -> Result<Codec> {
    let tables = model.map_or_else(Model::photo, |model| Arc::clone(&model.0));
    Ok(Codec::with(Linear::new(tables).with_threads(count(threads)?)))
}

/// Checks a number of threads.
pub(crate) fn count(threads: u32) -> Result<usize> {
    let threads = usize::try_from(threads).unwrap_or(usize::MAX);
    if threads == 0 { Err(argument("at least one thread is needed")) } else { Ok(threads) }
}
