"""Encodes and decodes video: frame by frame for sessions of your own, or as stored videos."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from . import _nestcast
from ._errors import argument, check
from ._nestcast import VideoFrame
from .pictures import MAX_PIXELS, _exported

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Buffer

    #: Samples of 8 bits, or of 9 to 16 bits in the lowest bits of uint16.
    Plane: TypeAlias = NDArray[numpy.uint8] | NDArray[numpy.uint16]
    #: Luma, blue difference and red difference; the differences have half the width and height, rounded up.
    Planes: TypeAlias = tuple[Plane, Plane, Plane]
    #: Frames a second, or frames in a number of seconds.
    Rate: TypeAlias = int | float | Fraction | tuple[int, int]
    Matrix: TypeAlias = Literal["601", "709"]


class VideoEncoder:
    """Encodes the frames of one video, one after another. One thread at a time may use it.

    `rate` is frames a second: 30, `Fraction(30000, 1001)` or (30000, 1001). `bitrates` are the slowest and the fastest
    receiver's bits a second; without them they are the usual ones of the size and rate. `threads` does not change the
    result. Samples have `bits` bits: 8 in arrays of uint8, or 9 to 16 in the lowest bits of uint16; larger values are
    refused. Frames are exact to 11 bits, and do not say how many the source has.
    """

    def __init__(
        self,
        width: int,
        height: int,
        *,
        rate: Rate = 30,
        bitrates: tuple[float, float] | None = None,
        threads: int = 1,
        bits: int = 8,
    ) -> None:
        check(width=width, height=height, threads=threads, bits=bits)
        self._native = _nestcast.VideoEncoder(width, height, _fraction(rate), bitrates, threads, bits)
        self._bits = bits

    def encode(self, frame: Any) -> VideoFrame:
        """Encodes the next frame, planar YCbCr 4:2:0: three arrays, or one I420 array of the shape (3 height / 2, width).

        Every prefix of the result from `base` bytes on decodes without lasting harm.
        """
        return self._native.encode(_planes(frame, bits=self._bits))

    def join(self, max_bytes: int) -> VideoFrame:
        """Returns a frame of at most about `max_bytes` with which a new receiver can begin, in place of the last one."""
        check(max_bytes=max_bytes)
        return self._native.join(max_bytes)

    def set_bitrates(self, slowest: float, fastest: float) -> None:
        """Sets the slowest and the fastest receiver's bits a second, from the next frame on."""
        self._native.set_bitrates(slowest, fastest)


class VideoDecoder:
    """Decodes the frames of one video, one after another. One thread at a time may use it.

    It renders `bits` bits a sample, 8 to 16, whatever the source had.
    """

    def __init__(
        self, width: int, height: int, *, threads: int = 1, max_pixels: int = MAX_PIXELS, bits: int = 8
    ) -> None:
        check(width=width, height=height, threads=threads, max_pixels=max_pixels, bits=bits)
        self._native = _nestcast.VideoDecoder(width, height, threads, max_pixels, bits)
        self._size, self._bits = (width, height), bits

    def decode(self, data: Buffer) -> Literal["nothing", "part", "base", "enhancement_reference"]:
        """Decodes the next frame, or a prefix of it, and returns how far it reached.

        After "nothing" the picture before stays. "part" is less than the base: later frames are damaged until the
        encoder has refreshed their blocks.
        """
        return self._native.decode(data)

    def render(self, out: Any = None) -> Planes:
        """Renders the last frame into `out` (three arrays, or one I420 array) or into new arrays, and returns them.

        New arrays are uint16 if `bits` is more than 8. Arrays of uint8 get 8 bits in any case.
        """
        out = planes_of(*self._size, self._bits) if out is None else out
        self._native.render(out)
        return out

    def conceal(self, frames: int, out: Any) -> bool:
        """Renders a picture for the `frames`th missing frame after the last one: the last one with its motion continued.

        Returns whether anything moves; if not, `out` stays as it is.
        """
        check(frames=frames)
        return self._native.conceal(out, frames)


class VideoWriter:
    """Encodes frames as a stored video in memory; `finish` returns its bytes.

    `renditions`, 1 to 3, is the number of versions for receivers of similar bandwidth. `VideoEncoder` says what the
    other arguments mean. Without `matrix`, luma is that of BT.601 below 720 lines and of BT.709 from there. The video says
    its `bits`.
    """

    def __init__(
        self,
        width: int,
        height: int,
        *,
        rate: Rate = 30,
        bitrates: tuple[float, float] | None = None,
        threads: int = 1,
        renditions: int = 1,
        matrix: Matrix | None = None,
        full_range: bool = False,
        bits: int = 8,
    ) -> None:
        check(width=width, height=height, threads=threads, renditions=renditions, bits=bits)
        self._native = _nestcast.VideoWriter(
            width, height, _fraction(rate), bitrates, threads, renditions, matrix, full_range, bits
        )
        self._colours = matrix or _usual(height), full_range, bits

    def write(self, frame: Any) -> None:
        """Encodes the next frame: three planes, one I420 array, or RGB of the shape (height, width, 3).

        An I420 array has the shape (3 height / 2, width); any other array of two dimensions is refused.
        """
        self._native.write(_planes(frame, *self._colours))

    def finish(self) -> bytes:
        """Ends the video and returns its bytes. The writer takes no further frames."""
        return self._native.finish()


class VideoReader:
    """Reads a stored video, or any prefix of one that contains its header: `IncompleteHeaderError` says that it does not.

    Iterate over it for the frames' planes, or over `rgb()`. It reads the frames once: a second loop goes on after the
    first, and has no frames after the last one. To begin again, open the video again.

    Frames have 8 bits a sample. With `as_stored` they have all `bits` of the video, in uint16 if these are more than 8.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Buffer,
        *,
        bitrate: float | None = None,
        threads: int = 1,
        max_pixels: int = MAX_PIXELS,
        start: int = 0,
        stop: int | None = None,
        as_stored: bool = False,
    ) -> None:
        check(threads=threads, max_pixels=max_pixels, start=start, stop=stop)
        self._native = _nestcast.StoredVideo(source, bitrate, threads, max_pixels, start, stop)
        self._shown_bits = self.bits if as_stored else 8

    @property
    def width(self) -> int:
        """Pixels from left to right."""
        return self._native.width

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return self._native.height

    @property
    def rate(self) -> Fraction:
        """Frames a second."""
        return Fraction(*self._native.rate)

    @property
    def matrix(self) -> Matrix:
        """How red, green and blue make luma: "601" or "709"."""
        return self._native.matrix

    @property
    def full_range(self) -> bool:
        """Whether luma uses 0 to 255, as in JPEG, and not 16 to 235."""
        return self._native.full_range

    @property
    def bits(self) -> int:
        """Bits of a sample of the video's source, 8 to 16."""
        return self._native.bits

    @property
    def fault(self) -> str | None:
        """The first place so far where the video is cut or damaged."""
        return self._native.fault

    def read_into(self, out: Any) -> int | None:
        """Decodes the next frame into three arrays or one I420 array. Returns its number, or None after the last.

        Arrays of uint8 get 8 bits, and those of uint16 the video's `bits` if these are more than 8.
        """
        return self._native.next_into(out)

    def __iter__(self) -> Iterator[Planes]:
        while True:
            planes = planes_of(self.width, self.height, self._shown_bits)
            if self.read_into(planes) is None:
                return
            yield planes

    def rgb(self) -> Iterator[Plane]:
        """Returns the frames as RGB arrays of the shape (height, width, 3); with more than 8 bits, white is 65535."""
        for planes in self:
            yield to_rgb(planes, matrix=self.matrix, full_range=self.full_range, bits=self._shown_bits)


def open_video(
    source: str | os.PathLike[str] | Buffer,
    *,
    bitrate: float | None = None,
    threads: int = 1,
    max_pixels: int = MAX_PIXELS,
    start: int = 0,
    stop: int | None = None,
    as_stored: bool = False,
) -> VideoReader:
    """Opens a stored video: a file, or its bytes. `start` and `stop` count frames; after the last one there are none.

    With `bitrate`, it decodes the bytes that a receiver of that rate gets of each frame. With `as_stored`, frames of a
    video of more than 8 bits a sample have all of them, in uint16.
    """
    return VideoReader(
        source,
        bitrate=bitrate,
        threads=threads,
        max_pixels=max_pixels,
        start=start,
        stop=stop,
        as_stored=as_stored,
    )


def encode_video(
    frames: Iterable[Any],
    *,
    rate: Rate = 30,
    bitrates: tuple[float, float] | None = None,
    threads: int = 1,
    renditions: int = 1,
    matrix: Matrix | None = None,
    full_range: bool = False,
    bits: int = 8,
    size: tuple[int, int] | None = None,
) -> bytes:
    """Encodes frames as a stored video and returns its bytes; see `VideoWriter`.

    The first frame fixes the size. I420 frames need `size`, (width, height): without it, they may be grey pictures.
    """
    writer = None
    for frame in frames:
        if writer is None:
            width, height = size or _size_of_first(frame)
            writer = VideoWriter(
                width,
                height,
                rate=rate,
                bitrates=bitrates,
                threads=threads,
                renditions=renditions,
                matrix=matrix,
                full_range=full_range,
                bits=bits,
            )
        writer.write(frame)
    if writer is None:
        raise argument("a video has at least one frame")
    return writer.finish()


def planes_of(width: int, height: int, bits: int = 8) -> Planes:
    """Returns new arrays for the planes of a frame: of uint8, or of uint16 for more than 8 bits."""
    import numpy

    samples = numpy.uint16 if bits > 8 else numpy.uint8
    half = (height + 1) // 2, (width + 1) // 2
    luma, blue, red = (numpy.empty(shape, samples) for shape in ((height, width), half, half))
    return luma, blue, red


def to_rgb(
    planes: Any, *, matrix: Matrix | None = None, full_range: bool = False, bits: int = 8, out: Any = None
) -> Plane:
    """Converts planes of YCbCr 4:2:0 to RGB of the shape (height, width, 3), in `out` or in a new array.

    Planes are three arrays, or one I420 array, never a grey picture. RGB is uint8. With planes of more than 8
    `bits`, which are uint16, it is uint16 with white at 65535.
    """
    check(bits=bits)
    width, height = _size(planes)
    if out is None:
        import numpy

        out = numpy.empty((height, width, 3), numpy.uint16 if bits > 8 else numpy.uint8)
    _nestcast.planar_to_rgb(planes, out, matrix or _usual(height), full_range, bits)
    return out


def to_ycbcr(rgb: Any, *, matrix: Matrix | None = None, full_range: bool = False, bits: int = 8) -> Planes:
    """Converts RGB of the shape (height, width, 3) to planes of YCbCr 4:2:0. Differences are means of 2x2 pixels.

    RGB is uint8, or uint16 with white at 65535. Planes of more than 8 `bits`, up to 16, are uint16: the scale is that of
    8 bits, so a luma of 235 is 940 in 10 bits.
    """
    import numpy

    rgb = numpy.asarray(rgb)
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype not in (numpy.uint8, numpy.uint16) or 0 in rgb.shape:
        raise argument("an RGB picture is an array of uint8 or uint16 of the shape (height, width, 3)")
    if not 8 <= bits <= 16:
        raise argument(f"samples of a video have 8 to 16 bits, not {bits}")
    height, width, _ = rgb.shape
    matrix = matrix or _usual(height)
    if matrix not in _LUMA:
        raise argument(f'the matrix is "601" or "709", not {matrix!r}')
    red_weight, blue_weight = _LUMA[matrix]
    pixels = rgb.astype(numpy.float32) / (257 if rgb.dtype == numpy.uint16 else 1)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    luma = red_weight * red + (1 - red_weight - blue_weight) * green + blue_weight * blue
    scale, black, chroma = (1.0, 0.0, 1.0) if full_range else (219 / 255, 16.0, 224 / 255)
    differences = ((blue - luma) / (2 * (1 - blue_weight)), (red - luma) / (2 * (1 - red_weight)))
    cb, cr = (_rounded(chroma * _halved(difference) + 128, bits) for difference in differences)
    return _rounded(scale * luma + black, bits), cb, cr


#: What red and blue weigh in luma.
_LUMA = {"601": (0.299, 0.114), "709": (0.2126, 0.0722)}


def _rounded(samples: NDArray[Any], bits: int) -> Plane:
    """Rounds samples on the scale of 8 bits to `bits` bits."""
    import numpy

    rounded = numpy.clip(numpy.rint(samples * 2 ** (bits - 8)), 0, 2**bits - 1)
    return rounded.astype(numpy.uint16 if bits > 8 else numpy.uint8)


def _halved(plane: NDArray[Any]) -> NDArray[Any]:
    """Returns means of 2x2 pixels; an odd side repeats its last row or column."""
    import numpy

    height, width = plane.shape
    plane = numpy.pad(plane, ((0, height % 2), (0, width % 2)), mode="edge")
    return plane.reshape((height + 1) // 2, 2, (width + 1) // 2, 2).mean(axis=(1, 3))


def _usual(height: int) -> Matrix:
    """Returns the matrix that players assume of a video that does not say."""
    return "601" if height < 720 else "709"


def _planes(frame: Any, matrix: Matrix = "601", full_range: bool = False, bits: int = 8) -> Any:
    """Returns the planes of a frame; RGB becomes YCbCr."""
    if isinstance(frame, tuple | list):
        return tuple(_exported(plane) for plane in frame)
    frame = _exported(frame)
    if len(memoryview(frame).shape or ()) == 3:
        return to_ycbcr(frame, matrix=matrix, full_range=full_range, bits=bits)
    return frame


def _size(frame: Any) -> tuple[int, int]:
    """Returns the width and height of a frame: of planes, RGB, or I420."""
    if isinstance(frame, tuple | list) and len(frame) != 3:
        raise argument(f"a frame has three planes, not {len(frame)}")
    shape = memoryview(_exported(frame[0] if isinstance(frame, tuple | list) else frame)).shape or ()
    if len(shape) == (2 if isinstance(frame, tuple | list) else 3):
        height, width = shape[:2]
    elif len(shape) == 2 and shape[0] % 3 == 0:
        height, width = shape[0] // 3 * 2, shape[1]
    else:
        raise argument("a frame is three planes, an I420 array, or RGB of the shape (height, width, 3)")
    return width, height


def _size_of_first(frame: Any) -> tuple[int, int]:
    """Returns the width and height of a frame of planes or RGB. I420 and a grey picture have the same shapes."""
    frame = frame if isinstance(frame, tuple | list) else _exported(frame)
    if not isinstance(frame, tuple | list) and len(memoryview(frame).shape or ()) == 2:
        raise argument(
            "a frame of two dimensions is I420 or grey: state size=(width, height) for I420, and make RGB of grey, for "
            "example with numpy.stack([grey] * 3, axis=2)"
        )
    return _size(frame)


def _fraction(rate: Rate) -> tuple[int, int]:
    if isinstance(rate, float) and not rate.is_integer():
        raise argument("give a rate as a fraction, for example (30000, 1001)")
    frames, seconds = rate if isinstance(rate, tuple) else Fraction(rate).as_integer_ratio()
    if not (0 <= frames < 2**32 and 0 <= seconds < 2**32):
        raise argument(f"rate is a positive number of frames a second, of at most 32 bits, not {rate!r}")
    return frames, seconds
