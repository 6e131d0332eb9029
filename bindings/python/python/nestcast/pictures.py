"""Encodes, cuts and decodes pictures."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _nestcast
from ._errors import argument, check
from ._nestcast import Header, IncompleteHeaderError, cut_video, parse_header

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Buffer

    Pixels: TypeAlias = NDArray[numpy.uint8]
    #: Samples of 8 or 16 bits.
    Samples: TypeAlias = NDArray[numpy.uint8] | NDArray[numpy.uint16]

#: Pixels that a decoder agrees to hold, unless told otherwise. It needs up to 50 bytes a pixel.
MAX_PIXELS = 100_000_000
#: Modes of Pillow whose arrays are pictures. `nestcast.pillow` opens and saves the first four, which have 8 bits a sample.
MODES = ("L", "RGB", "LA", "RGBA", "I;16")


class Stream(bytes):
    """A picture's stream, or a prefix of one that contains its header. It is `bytes` with the header's facts.

    Raises `CorruptError`, `VersionError` or `LimitError` if the bytes are no stream, `IncompleteHeaderError` if they end
    inside the header.
    """

    def __new__(cls, data: Buffer = b"") -> Stream:
        stream = super().__new__(cls, data)
        if parse_header(stream) is None:
            # The decoder's message says how many bytes are missing.
            native = _nestcast.Decoder(None, 1, False, MAX_PIXELS)
            native.push(stream)
            native.shape  # noqa: B018
        return stream

    @cached_property
    def header(self) -> Header:
        """Width, height, channels, bits a sample, opacity and model."""
        header = parse_header(self)
        if header is None:
            raise IncompleteHeaderError("the stream ends inside its header")
        return header

    def __reduce__(self) -> tuple[type[Stream], tuple[bytes]]:
        # Without the facts that were read: they are in the bytes.
        return type(self), (bytes(self),)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the decoded array without opacity: (height, width), or (height, width, 3)."""
        return self.header.shape

    @property
    def bpp(self) -> float:
        """Bits per pixel of all bytes."""
        return 8 * len(self) / (self.header.width * self.header.height)

    def cut(self, max_bytes: int | None = None, *, bpp: float | None = None) -> Stream:
        """Returns the first bytes, but at least the header: `max_bytes`, or as many as `bpp` bits per pixel allow."""
        if (max_bytes is None) == (bpp is None):
            raise argument("give either max_bytes or bpp")
        check(max_bytes=max_bytes, bpp=bpp)
        if max_bytes is None:
            max_bytes = int(bpp * self.header.width * self.header.height / 8)  # type: ignore[operator]
        return Stream(self[: max(max_bytes, self.header.length)])

    def __repr__(self) -> str:
        return f"Stream({len(self)} bytes, {self.header!r})"


class Encoder:
    """Encodes pictures one after another in the same memory. One thread at a time may use it.

    `model` is the name of a built-in model (`nestcast.models()`), the folder of a model package, or the bytes of a
    model's tables. `threads` does not change the result. With `deep`, networks help the analysis; they need the package
    `onnxruntime`. `max_bytes` stops early. Without `rotations`, an RGB picture is encoded a third faster and usually
    needs 1 to 8 % more bytes. `activity_masking` (0 to 1) gives smooth regions finer steps than texture, which hides
    errors; without it the model decides, 0.35 for "photo-ssim" and 0 for "photo".
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Buffer = "photo",
        *,
        threads: int = 1,
        deep: bool = False,
        max_bytes: int | None = None,
        rotations: bool = True,
        activity_masking: float | None = None,
    ) -> None:
        check(threads=threads, max_bytes=max_bytes)
        self._native = _nestcast.Encoder(model, threads, deep, max_bytes, rotations, activity_masking)

    def encode(self, picture: Any, *, max_bytes: int | None = None) -> Stream:
        """Encodes an array of the shape (height, width) or (height, width, 3), RGB.

        Samples are uint8, or uint16 with white at 65535. In an array of the shape (height, width, 2) or (height, width, 4)
        the last channel is opacity, from 0 for a pixel that does not show to the largest value. Colours are not
        multiplied by it.

        Rows may have any distance, so a part of a larger array is not copied. An array with gaps between samples is
        copied. Any object that numpy takes as an array will do, for example a picture of Pillow in a mode of grey or RGB:
        L, RGB, LA, RGBA, or I;16.
        """
        check(max_bytes=max_bytes)
        return Stream(self._native.encode(_exported(picture), max_bytes))


class Decoder:
    """Decodes streams one after another in the same memory. One thread at a time may use it.

    Without `model` the decoder uses the built-in model that the stream names. With `deep`, networks improve the picture;
    they need the package `onnxruntime`. Pictures of more than `max_pixels` are refused before memory is taken; opacity
    counts as half a pixel, and more than 8 bits a sample as an eighth.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Buffer | None = None,
        *,
        threads: int = 1,
        deep: bool = False,
        max_pixels: int = MAX_PIXELS,
    ) -> None:
        check(threads=threads, max_pixels=max_pixels)
        self._native = _nestcast.Decoder(model, threads, deep, max_pixels)

    def push(self, data: Buffer) -> Decoder:
        """Takes the next bytes of the stream, any number of them, and returns the decoder."""
        self._native.push(data)
        return self

    def render(self, out: Any = None, *, as_stored: bool = False) -> Samples:
        """Renders the picture of the bytes that have arrived, into `out` or into a new array, and returns it.

        A new array is uint8, and shows opacity over white. With `as_stored` it has all that the stream has: it is uint16
        if the stream has more than 8 bits a sample, and its last channel is opacity if the stream has some.

        `out` decides by its own type and shape: uint8 or uint16, and the shape `Decoder.shape`, or one channel more for
        opacity. Its rows may have any distance. Raises `IncompleteHeaderError` before the header is complete.
        """
        if out is None:
            import numpy

            shape, is_deep = self._native.stored if as_stored else (self._native.shape, False)
            out = numpy.empty(shape, numpy.uint16 if is_deep else numpy.uint8)
        elif as_stored:
            raise argument("give either out or as_stored: an array decides by its own type and shape")
        self._native.render(out)
        return out

    def reset(self) -> None:
        """Forgets the stream and keeps the memory: the next byte begins another stream."""
        self._native.reset()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the picture without opacity. Raises `IncompleteHeaderError` before the header is complete."""
        return self._native.shape

    @property
    def complete(self) -> bool:
        """Whether all of the stream has arrived: further bytes change nothing."""
        return self._native.complete

    @property
    def position(self) -> float | None:
        """Bit planes that are still missing, those below the finest step included; 0.0 for all of the stream.

        None before the header is complete.
        """
        return self._native.position


def encode(
    picture: Any,
    *,
    model: str | os.PathLike[str] | Buffer = "photo",
    threads: int = 1,
    deep: bool = False,
    max_bytes: int | None = None,
    rotations: bool = True,
    activity_masking: float | None = None,
) -> Stream:
    """Encodes one picture; `Encoder` says what the arguments mean, and encodes several in the same memory."""
    encoder = Encoder(
        model,
        threads=threads,
        deep=deep,
        max_bytes=max_bytes,
        rotations=rotations,
        activity_masking=activity_masking,
    )
    return encoder.encode(picture)


def decode(
    data: Buffer,
    *,
    model: str | os.PathLike[str] | Buffer | None = None,
    threads: int = 1,
    deep: bool = False,
    max_pixels: int = MAX_PIXELS,
    out: Any = None,
    as_stored: bool = False,
) -> Samples:
    """Decodes one stream, or any prefix of one that contains its header, into an array of numpy or into `out`.

    `Decoder` and `Decoder.render` say what the arguments mean.
    """
    decoder = Decoder(model, threads=threads, deep=deep, max_pixels=max_pixels)
    return decoder.push(data).render(out, as_stored=as_stored)


def cut(
    data: Buffer,
    max_bytes: int | None = None,
    *,
    bpp: float | None = None,
    bitrate: float | None = None,
) -> bytes:
    """Cuts a picture's stream to `max_bytes` or to `bpp` bits per pixel, or a stored video to `bitrate` bits a second.

    A video needs `bitrate`: every frame keeps the bytes that a receiver of that rate would get.
    """
    if bitrate is not None:
        if max_bytes is not None or bpp is not None:
            raise argument("give max_bytes, bpp or bitrate")
        return cut_video(data, bitrate)
    return Stream(data).cut(max_bytes, bpp=bpp)


def refused_mode(mode: str) -> str:
    """Returns why a picture of Pillow in this mode is not written."""
    return f"cannot write mode {mode} as nestcast: convert it to {', '.join(MODES[:4])}"


def _exported(picture: Any) -> Any:
    """Returns an object with a buffer: the picture itself, or numpy's array of it."""
    try:
        memoryview(picture)
    except TypeError:
        pass
    else:
        return picture
    if hasattr(picture, "getbands") and picture.mode not in MODES:
        # Pillow's arrays of other modes have the shapes of grey or RGB, and other colours.
        raise argument(refused_mode(picture.mode))
    refused = argument(f"give an array, not {type(picture).__name__}: open a file first, for example with Pillow")
    if picture is None or isinstance(picture, str | os.PathLike):
        raise refused
    import numpy

    array = numpy.asarray(picture)
    if array.dtype.kind in "OSU":
        raise refused
    return array
