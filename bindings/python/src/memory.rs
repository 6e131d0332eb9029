//! Memory that Python objects lend for the time of a call: the only file with `unsafe`.
//!
//! A call works on it without the interpreter's lock, so other Python threads run meanwhile. Two calls of this module
//! never share memory that one of them writes: [`lend`] refuses the second. If Python code itself writes to an array
//! while a call reads it, the result is a stream of the mixture, as with numpy's own functions.
#![expect(unsafe_code, reason = "slices of memory that Python owns; each block has its proof")]

use std::ffi::CStr;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::errors::{Raised, Result, argument};

/// A part of memory, and whether a call writes to it.
type Loan = (Range<usize>, bool);

/// What calls of this module use at the moment.
static MEMORY_LOANS: Mutex<Vec<Loan>> = Mutex::new(Vec::new());

/// Ends a loan when it is dropped.
struct Lent(Loan);

fn lend(range: Range<usize>, written: bool) -> Result<Lent> {
    let loan = (range, written);
    let mut loans = MEMORY_LOANS.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = |other: &Loan| other.0.start < loan.0.end && loan.0.start < other.0.end && (other.1 || written);
    if loans.iter().any(shared) {
        return Err(argument("another thread's call uses this array, and one of the two writes to it"));
    }
    loans.push(loan.clone());
    Ok(Lent(loan))
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut loans = MEMORY_LOANS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = loans.iter().position(|loan| *loan == self.0) {
            loans.swap_remove(at);
        }
    }
}

/// An array of uint8 or uint16 that a Python object exports; it cannot be resized or freed meanwhile.
pub(crate) struct Array(PyUntypedBuffer);

/// The bytes that rows use, from the first to the last, and the step from row to row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) length: usize,
    pub(crate) stride: usize,
}

impl Array {
    /// Exports an object's memory, an array of uint8.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Result<Self> {
        let array = Self::export(object)?;
        if array.is_uint8() { Ok(array) } else { Err(array.refused("uint8")) }
    }

    /// Exports an object's memory, an array of uint8 or uint16.
    pub(crate) fn of_samples(object: &Bound<'_, PyAny>) -> Result<Self> {
        let array = Self::export(object)?;
        if array.is_uint8() || array.is_uint16() { Ok(array) } else { Err(array.refused("uint8 or uint16")) }
    }

    fn export(object: &Bound<'_, PyAny>) -> Result<Self> {
        let py = object.py();
        let buffer = PyUntypedBuffer::get(object).map_err(|error| {
            let refused = error.is_instance_of::<PyBufferError>(py);
            if refused { argument(format!("the array cannot be used: {}", error.value(py))) } else { error.into() }
        })?;
        // None, or an entry for each dimension: pointers to rows somewhere else.
        if buffer.suboffsets().is_some_and(|offsets| offsets.iter().any(|&offset| offset >= 0)) {
            return Err(argument("an array with pointers to rows is not supported: copy it into one piece"));
        }
        Ok(Self(buffer))
    }

    fn is_uint8(&self) -> bool {
        self.0.item_size() == 1 && matches!(self.0.format().to_bytes(), b"B" | b"@B" | b"=B")
    }

    /// Returns whether samples have two bytes, the lower one first, as the codec's have.
    pub(crate) fn is_uint16(&self) -> bool {
        let is_named = matches!(self.0.format().to_bytes(), b"H" | b"@H" | b"=H" | b"<H");
        self.0.item_size() == 2 && is_named && cfg!(target_endian = "little")
    }

    fn refused(&self, needed: &str) -> Raised {
        argument(format!("an array of {needed} is needed, not of {}", named(self.0.format())))
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Returns how rows lie if each is one piece and follows the one before: a row is the first dimension of several.
    pub(crate) fn rows(&self) -> Option<Rows> {
        let (shape, strides) = (self.0.shape(), self.0.strides());
        let (&[rows, ref inner @ ..], &[stride, ref inner_strides @ ..]) = (shape, strides) else { return None };
        let mut bytes = self.0.item_size();
        for (&count, &step) in inner.iter().zip(inner_strides).rev() {
            // A dimension of one has any stride.
            if count != 1 && usize::try_from(step) != Ok(bytes) {
                return None;
            }
            bytes = count.checked_mul(bytes)?;
        }
        let stride = if rows > 1 { usize::try_from(stride).ok()? } else { bytes };
        let length = stride.checked_mul(rows.checked_sub(1)?)?.checked_add(bytes)?;
        (stride >= bytes).then_some(Rows { length, stride })
    }

    /// Returns a copy of the bytes without gaps, row by row.
    pub(crate) fn to_vec(&self, py: Python<'_>) -> Result<Vec<u8>> {
        if self.is_uint16() {
            let samples = self.0.as_typed::<u16>()?.to_vec(py)?;
            return Ok(samples.into_iter().flat_map(u16::to_le_bytes).collect());
        }
        Ok(self.0.as_typed::<u8>()?.to_vec(py)?)
    }

    /// Copies the bytes into `to`, which has no gaps and has room for all, row by row.
    pub(crate) fn copy_into(&self, py: Python<'_>, to: &mut [u8]) -> Result<()> {
        let Some(rows) = self.rows() else {
            to.copy_from_slice(&self.to_vec(py)?);
            return Ok(());
        };
        let row = self.row_bytes(to.len());
        self.read(rows, |from| {
            py.detach(|| {
                let from = from.chunks(rows.stride);
                to.chunks_exact_mut(row).zip(from).for_each(|(to, from)| to.copy_from_slice(&from[..row]));
            });
            Ok(())
        })
    }

    /// Writes the bytes of samples without gaps, row by row.
    pub(crate) fn fill(&self, py: Python<'_>, bytes: &[u8]) -> Result<()> {
        self.check_writable()?;
        if let Some(rows) = self.rows() {
            let row = self.row_bytes(bytes.len());
            return self.write(rows, |to| {
                let to = to.chunks_mut(rows.stride);
                bytes.chunks_exact(row).zip(to).for_each(|(from, to)| to[..row].copy_from_slice(from));
                Ok(())
            });
        }
        if self.is_uint16() {
            let samples: Vec<_> = bytes.as_chunks().0.iter().map(|&sample| u16::from_le_bytes(sample)).collect();
            return Ok(self.0.as_typed::<u16>()?.copy_from_slice(py, &samples)?);
        }
        Ok(self.0.as_typed::<u8>()?.copy_from_slice(py, bytes)?)
    }

    /// Returns the bytes of a row of `bytes` bytes.
    fn row_bytes(&self, bytes: usize) -> usize {
        bytes / self.shape().first().copied().unwrap_or(1).max(1)
    }

    fn check_writable(&self) -> Result<()> {
        if self.0.readonly() { Err(argument("the array to write to is read-only")) } else { Ok(()) }
    }

    /// Lends the bytes of rows to `work`.
    pub(crate) fn read<T>(&self, rows: Rows, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let (start, _lent) = self.lend(rows, false)?;
        // SAFETY: `lend` returns the start of `rows.length` bytes of one block that the exporter keeps while `self`
        // lives, and `self` outlives the slice. Bytes need no alignment and have no invalid value. No call of this
        // module writes to them while `_lent` lives.
        work(unsafe { std::slice::from_raw_parts(start, rows.length) })
    }

    /// Lends the bytes of rows to `work`, for writing.
    pub(crate) fn write<T>(&self, rows: Rows, work: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
        self.check_writable()?;
        let (start, _lent) = self.lend(rows, true)?;
        // SAFETY: as in `read`; the exporter says that the memory may be written, and no other call of this module
        // reads or writes it while `_lent` lives.
        work(unsafe { std::slice::from_raw_parts_mut(start, rows.length) })
    }

    /// Returns where the rows begin. `rows` comes from [`Array::rows`], which follows the exporter's shape and strides:
    /// by the buffer protocol all items of an export without suboffsets lie in one block, so the bytes from the first
    /// to the last item do, gaps included.
    fn lend(&self, rows: Rows, written: bool) -> Result<(*mut u8, Lent)> {
        let start = self.0.buf_ptr().cast::<u8>();
        if start.is_null() || rows.length == 0 {
            return Err(argument("the array is empty"));
        }
        Ok((start, lend(start as usize..start as usize + rows.length, written)?))
    }
}

/// Returns numpy's name of an item format, as far as arrays of pixels have such.
fn named(format: &CStr) -> String {
    let letters = format.to_string_lossy();
    let known = [
        ("?", "bool"),
        ("b", "int8"),
        ("H", "uint16"),
        ("h", "int16"),
        ("I", "uint32"),
        ("i", "int32"),
        ("L", "uint64"),
        ("l", "int64"),
        ("e", "float16"),
        ("f", "float32"),
        ("d", "float64"),
    ];
    let name = known.iter().find(|(letter, _)| letters.trim_start_matches(['@', '=', '<']) == *letter);
    name.map_or_else(|| format!("format {letters:?}"), |(_, name)| (*name).to_owned())
}

/// Lends an object's bytes, one piece of any length, to `work`.
pub(crate) fn with_bytes<T>(object: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let array = Array::of(object)?;
    let length: usize = array.shape().iter().product();
    if length == 0 {
        return work(&[]);
    }
    match array.rows().filter(|rows| rows.length == length) {
        Some(rows) => array.read(rows, work),
        None => Err(argument("the bytes are not one piece")),
    }
}
