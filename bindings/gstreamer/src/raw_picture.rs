//! Raw video in GStreamer's buffers: read and written by the strides and planes that the buffers state.

use gst_video::{VideoFormat, VideoFrameExt as _, VideoFrameRef};
use nestcast_codec::{Format, Picture, Plane, Size, Ycbcr};
use nestcast_encode::{RawError, RawPicture};

/// Borrows the picture of a mapped buffer, I420 or NV12.
pub(crate) fn borrow<'a>(
    frame: &'a VideoFrameRef<&gst::BufferRef>,
    size: Size,
    colours: Ycbcr,
) -> Result<RawPicture<'a>, RawError> {
    let data = frame.planes_data();
    let strides = frame.plane_stride();
    let plane = |index: usize| Plane { samples: data[index], stride: stride(strides, index) };
    match frame.format() {
        VideoFormat::Nv12 => RawPicture::nv12(size, colours, plane(0), plane(1)),
        _ => RawPicture::i420(size, colours, [0, 1, 2].map(plane)),
    }
}

/// Writes a planar picture, or a grey one, into a mapped buffer of its size, I420 or NV12.
pub(crate) fn write(picture: &Picture, frame: &mut VideoFrameRef<&mut gst::BufferRef>) {
    let size = picture.size();
    let [columns, rows] = [size.width().div_ceil(2), size.height().div_ceil(2)];
    let (luma, differences) = picture.samples().split_at(size.pixels());
    // The format of planar pictures has all of them; a grey one has luma alone.
    let grey;
    let differences = if matches!(picture.format(), Format::Grey) {
        grey = vec![128; 2 * columns * rows];
        &grey[..]
    } else {
        differences
    };
    let (blue, red) = differences.split_at(columns * rows);
    let (layout, strides) = (frame.format(), [0, 1, 2].map(|plane| stride(frame.plane_stride(), plane)));
    let [to_luma, to_blue, to_red, _] = frame.planes_data_mut();
    copy(luma, to_luma, size.width(), strides[0]);
    if layout == VideoFormat::Nv12 {
        interleave(blue, red, to_blue, columns, strides[1]);
    } else {
        copy(blue, to_blue, columns, strides[1]);
        copy(red, to_red, columns, strides[2]);
    }
}

/// Returns a plane's stride; 0, which no picture has, for a plane that the layout lacks.
fn stride(strides: &[i32], plane: usize) -> usize {
    strides.get(plane).and_then(|&stride| usize::try_from(stride).ok()).unwrap_or(0)
}

fn copy(from: &[u8], to: &mut [u8], width: usize, stride: usize) {
    for (from, to) in from.chunks_exact(width).zip(to.chunks_mut(stride.max(width))) {
        to[..width].copy_from_slice(from);
    }
}

fn interleave(blue: &[u8], red: &[u8], to: &mut [u8], columns: usize, stride: usize) {
    let rows = blue.chunks_exact(columns).zip(red.chunks_exact(columns));
    for ((blue, red), to) in rows.zip(to.chunks_mut(stride.max(2 * columns))) {
        for ((blue, red), to) in blue.iter().zip(red).zip(to.as_chunks_mut::<2>().0) {
            *to = [*blue, *red];
        }
    }
}
