"""Sends and receives broadcasts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from . import _nestcast
from ._errors import argument, check
from .video import _fraction, _planes, _size_of_first, _usual, planes_of, to_rgb

if TYPE_CHECKING:
    from .pictures import Pixels, Samples
    from .video import Matrix, Planes, Rate


class ReceivedFrame:
    """A frame of a broadcast, as it was shown."""

    def __init__(self, native: _nestcast.ReceivedFrame) -> None:
        self._native = native

    @property
    def id(self) -> int:
        """The frame's number; the same as before if more of a picture that stays has arrived."""
        return self._native.id

    @property
    def bytes(self) -> int:
        """Bytes that arrived in time; 0 for a concealed frame."""
        return self._native.bytes

    @property
    def full(self) -> int:
        """Bytes of the whole frame."""
        return self._native.full

    @property
    def latency(self) -> float | None:
        """Seconds from capture to the end of decoding; None for a concealed frame."""
        return self._native.latency

    @property
    def concealed(self) -> bool:
        """Whether the frame is missing: the picture is the last one, moved by its own motion."""
        return self._native.latency is None

    @property
    def dropped(self) -> int:
        """Frames before this one that were dropped because nobody took them."""
        return self._native.dropped

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `rgb`, or of the picture if it is grey."""
        return self._native.shape

    @property
    def bits(self) -> int:
        """Bits of a sample of the planes; 8 unless you received with `as_sent`."""
        return self._native.bits

    def picture(self, out: Any = None) -> Planes | Pixels:
        """Copies the picture into `out` or into new arrays: three planes of a video's frame, else grey or RGB.

        Planes of more than 8 `bits` are uint16.
        """
        import numpy

        if out is None and self._native.matrix is not None:
            height, width = self.shape[:2]
            out = planes_of(width, height, self.bits)
        elif out is None:
            out = numpy.empty(self.shape, numpy.uint8)
        self._native.copy_into(out)
        return out

    def rgb(self) -> Samples:
        """Returns the picture as RGB of the shape (height, width, 3), or grey; with more than 8 bits, white is 65535."""
        matrix = self._native.matrix
        picture: Any = self.picture()
        if matrix is None:
            return picture
        return to_rgb(picture, matrix=matrix, full_range=self._native.full_range, bits=self.bits)


class Reception:
    """A broadcast as an iterator of frames. Use it in a `with` statement, or call `close`."""

    def __init__(self, native: _nestcast.Reception) -> None:
        self._native = native

    def __iter__(self) -> Iterator[ReceivedFrame]:
        return self

    def __next__(self) -> ReceivedFrame:
        frame = self._native.next()
        if frame is None:
            raise StopIteration
        return ReceivedFrame(frame)

    def close(self) -> None:
        """Leaves the broadcast."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def receive(
    address: str,
    fingerprint: str | None = None,
    *,
    authorities: str | os.PathLike[str] | None = None,
    token: bytes = b"",
    max_bitrate: float | None = None,
    latency: float | None = None,
    wait: bool = False,
    retry: float = 0.0,
    threads: int = 1,
    keep: int = 8,
    as_sent: bool = False,
) -> Reception:
    """Receives a broadcast, `address` as in "example.org:4433", or "example.org:4433/cam1" if the broadcast has a name.

    The receiver trusts the sender with this `fingerprint`, or one whose name a PEM file of `authorities` certifies. It
    receives at most `max_bitrate` bits a second, and delays frames by `latency` seconds, 0 to 0.4; without it, by as
    little as shows them evenly. It retries for `retry` seconds; with `wait` it also waits for the next broadcast. If your
    loop is late, the newest `keep` frames stay. The iterator ends with the broadcast, and raises `SessionError` if it
    broke off. Frames have 8 bits a sample; with `as_sent`, those of a video of more have all of them, in uint16.
    """
    check(token=token, threads=threads, keep=keep)
    native = _nestcast.Reception(
        address, fingerprint, authorities, token, max_bitrate, latency, wait, retry, threads, keep, as_sent
    )
    return Reception(native)


class Broadcast:
    """Broadcasts frames that you write, encoded once for all receivers. Use it in a `with` statement, or call `close`.

    `listen` is an IP address and a port; port 0 is any free one, and `address` says which. `certificate` are the PEM
    files of a chain and its key; without it, receivers pin `fingerprint`. `token` admits receivers. With `web`, an IP
    address and a TCP port, browsers can watch: `link` opens the viewer there. Each receiver gets at most `max_bitrate`
    bits a second. Samples have `bits` bits: 8 in arrays of uint8, or 9 to 16 in the lowest bits of uint16; larger values
    are refused.

    If an exception leaves the `with` statement, receivers learn that the source broke off. After Ctrl-C and other
    exceptions that are no `Exception`, the broadcast ends as usual, at once.
    """

    def __init__(
        self,
        width: int,
        height: int,
        *,
        rate: Rate = 30,
        listen: str = "127.0.0.1:4433",
        certificate: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
        token: bytes | None = None,
        web: str | None = None,
        max_bitrate: float | None = None,
        threads: int = 1,
        matrix: Matrix | None = None,
        full_range: bool = False,
        bits: int = 8,
    ) -> None:
        check(width=width, height=height, token=token, threads=threads, bits=bits)
        self._native = _nestcast.Broadcast(
            width,
            height,
            _fraction(rate),
            listen,
            certificate,
            token,
            web,
            max_bitrate,
            threads,
            matrix,
            full_range,
            bits,
        )
        self._colours = matrix or _usual(height), full_range, bits

    @property
    def address(self) -> str:
        """The IP address and port on which it listens."""
        return self._native.address

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its certificate, 64 hexadecimal digits."""
        return self._native.fingerprint

    @property
    def link(self) -> str | None:
        """The link that opens the viewer in a browser; None without `web`.

        Its certificate is replaced while the broadcast runs, so a program that runs for days reads it again. Append
        "&token=" and the token if there is one.
        """
        return self._native.link

    @property
    def receivers(self) -> int:
        """The number of receivers at the moment. Each counts from its first frame on, so there are none before you write."""
        return self._native.receivers

    @property
    def frames(self) -> int:
        """The number of frames that were encoded."""
        return self._native.frames

    def write(self, frame: Any) -> None:
        """Hands over the next frame: three planes, one I420 array, or RGB of the shape (height, width, 3).

        An I420 array has the shape (3 height / 2, width); any other array of two dimensions is refused. The broadcast has
        its own frame rate: the call waits until the frame before was taken.
        """
        self._native.write(_planes(frame, *self._colours))

    def close(self, *, at_once: bool = False) -> None:
        """Ends the broadcast: after the receivers have the last frame, or at once."""
        self._native.close(at_once)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """Ends the broadcast after the last frame, or because of an error. Ctrl-C is no fault of the source."""
        if isinstance(error, Exception):
            self._native.break_off()
        self.close(at_once=error is not None)


def send(
    frames: Iterable[Any],
    *,
    rate: Rate = 30,
    listen: str = "127.0.0.1:4433",
    certificate: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
    token: bytes | None = None,
    web: str | None = None,
    max_bitrate: float | None = None,
    threads: int = 1,
    matrix: Matrix | None = None,
    full_range: bool = False,
    bits: int = 8,
    size: tuple[int, int] | None = None,
    ready: Callable[[Broadcast], None] | None = None,
) -> int:
    """Broadcasts the frames of an iterator at their rate, and returns their number after the last.

    The first frame fixes the size. I420 frames need `size`, (width, height): without it, they may be grey pictures.
    `ready` is called with the broadcast before the first frame is sent: print its `address` and `fingerprint`, or its
    `link`. Receivers can connect from then on, and `receivers` counts them from the first frame on. If the iterator or
    `ready` raises, receivers learn that the source broke off. `Broadcast` says what the other arguments mean.
    """
    count = 0
    broadcast = None
    try:
        for frame in frames:
            if broadcast is None:
                width, height = size or _size_of_first(frame)
                broadcast = Broadcast(
                    width,
                    height,
                    rate=rate,
                    listen=listen,
                    certificate=certificate,
                    token=token,
                    web=web,
                    max_bitrate=max_bitrate,
                    threads=threads,
                    matrix=matrix,
                    full_range=full_range,
                    bits=bits,
                )
                if ready is not None:
                    ready(broadcast)
            broadcast.write(frame)
            count += 1
    except BaseException as error:
        if broadcast is not None:
            broadcast._end(error)
        raise
    if broadcast is None:
        raise argument("a broadcast has at least one frame")
    broadcast.close()
    return count
