//! Raw video in GStreamer's buffers: read and written by the strides and planes that the buffers state.

use gst_video::{VideoFormat, VideoFrameExt as _, VideoFrameRef};
use nestcast_codec::{Error, Picture, Plane, View};
use nestcast_encode::{RawError, RawPicture};

use crate::raw_format::RawFormat;

/// Borrows the picture of a mapped buffer, in a layout of this plugin.
pub(crate) fn borrow<'a>(
    frame: &'a VideoFrameRef<&gst::BufferRef>,
    format: &RawFormat,
) -> Result<RawPicture<'a>, RawError> {
    let &RawFormat { size, colours, bits, .. } = format;
    let planes = planes(frame);
    match frame.format() {
        VideoFormat::Nv12 => RawPicture::nv12(size, colours, planes[0], planes[1]),
        VideoFormat::P01010le | VideoFormat::P012Le => RawPicture::p010(size, (colours, bits), planes[0], planes[1]),
        VideoFormat::I42010le | VideoFormat::I42012le => RawPicture::i420_deep(size, (colours, bits), planes),
        _ => RawPicture::i420(size, colours, planes),
    }
}

/// Borrows the picture of a mapped buffer as the codec reads it; `None` in a layout that must be converted first.
pub(crate) fn view<'a>(
    frame: &'a VideoFrameRef<&gst::BufferRef>,
    format: &RawFormat,
) -> Option<Result<View<'a>, Error>> {
    let is_planar = matches!(frame.format(), VideoFormat::I420 | VideoFormat::I42010le | VideoFormat::I42012le);
    is_planar.then(|| View::new(format.size, format.samples(), &planes(frame)))
}

/// Writes a picture of planar YCbCr, or a grey one of 8 bits, into a mapped buffer of its size, in a layout of its bits.
pub(crate) fn write(picture: &Picture, frame: &mut VideoFrameRef<&mut gst::BufferRef>) {
    let size = picture.size();
    let planar = picture.format().ycbcr420();
    let bits = planar.map_or(8, |(_, bits)| bits);
    let [columns, rows] = [size.width().div_ceil(2), size.height().div_ceil(2)];
    let sample = if bits > 8 { 2 } else { 1 };
    let (luma, differences) = picture.samples().split_at(sample * size.pixels());
    // The format of planar pictures has all of them; a grey one has luma alone.
    let grey;
    let differences = if planar.is_none() {
        grey = vec![128; 2 * columns * rows];
        &grey[..]
    } else {
        differences
    };
    let (blue, red) = differences.split_at(sample * columns * rows);
    let (layout, strides) = (frame.format(), [0, 1, 2].map(|plane| stride(frame.plane_stride(), plane)));
    let [to_luma, to_blue, to_red, _] = frame.planes_data_mut();
    copy(luma, to_luma, sample * size.width(), strides[0]);
    match layout {
        VideoFormat::Nv12 => interleave::<1>(blue, red, to_blue, columns, strides[1]),
        VideoFormat::P01010le | VideoFormat::P012Le => {
            interleave::<2>(blue, red, to_blue, columns, strides[1]);
            raise(to_luma, bits);
            raise(to_blue, bits);
        }
        _ => {
            copy(blue, to_blue, sample * columns, strides[1]);
            copy(red, to_red, sample * columns, strides[2]);
        }
    }
}

/// Returns the planes of a mapped buffer; empty ones where the layout has fewer than three.
fn planes<'a>(frame: &'a VideoFrameRef<&gst::BufferRef>) -> [Plane<'a>; 3] {
    let (data, strides) = (frame.planes_data(), frame.plane_stride());
    [0, 1, 2].map(|index| Plane { samples: data[index], stride: stride(strides, index) })
}

/// Returns a plane's stride; 0, which no picture has, for a plane that the layout lacks.
fn stride(strides: &[i32], plane: usize) -> usize {
    strides.get(plane).and_then(|&stride| usize::try_from(stride).ok()).unwrap_or(0)
}

fn copy(from: &[u8], to: &mut [u8], row: usize, stride: usize) {
    for (from, to) in from.chunks_exact(row).zip(to.chunks_mut(stride.max(row))) {
        to[..row].copy_from_slice(from);
    }
}

/// Writes blue and red differences of `BYTES` bytes by turns.
fn interleave<const BYTES: usize>(blue: &[u8], red: &[u8], to: &mut [u8], columns: usize, stride: usize) {
    let row = BYTES * columns;
    let rows = blue.chunks_exact(row).zip(red.chunks_exact(row));
    for ((blue, red), to) in rows.zip(to.chunks_mut(stride.max(2 * row))) {
        let pairs = blue.as_chunks::<BYTES>().0.iter().zip(red.as_chunks::<BYTES>().0);
        for ((blue, red), to) in pairs.zip(to.as_chunks_mut::<BYTES>().0.as_chunks_mut::<2>().0) {
            *to = [*blue, *red];
        }
    }
}

/// Moves the values of samples from the lowest `bits` bits to the highest.
fn raise(samples: &mut [u8], bits: u8) {
    for sample in samples.as_chunks_mut().0 {
        *sample = (u16::from_le_bytes(*sample) << (16 - bits)).to_le_bytes();
    }
}
