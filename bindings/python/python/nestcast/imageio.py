"""A plugin of imageio. After `import nestcast.imageio`, `imageio.v3` reads pictures and videos in `.nst` files, from any
prefix, and writes pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import EllipsisType
from typing import Any

import numpy
from imageio.config import FileExtension, PluginConfig, extension_list, known_extensions, known_plugins
from imageio.core.request import URI_BYTES, InitializationError, IOMode, Request
from imageio.core.v3_plugin_api import ImageProperties, PluginV3

from . import Decoder, Error, VideoReader, encode, open_video
from ._nestcast import count_frames, parse_header
from .pictures import MAX_PIXELS

NAME = "nestcast"
#: The first bytes of every file; the next one is 0 or 1 for pictures, and 2 or 3 for videos, all of version 1.
_MAGICS = (b"nst\x01", b"nst\x02")
_VIDEOS = (2, 3)


class NestcastPlugin(PluginV3):
    """Reads the picture or the frames of one resource as RGB or grey arrays.

    `read` and `iter` take `threads` and `max_pixels`, and for videos `bitrate`: then they decode the bytes that a receiver
    of that rate gets. `properties` and `metadata` take `max_pixels` too.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._data = b""
        if request.mode.io_mode == IOMode.write:
            if request.extension not in (None, ".nst"):
                raise InitializationError("nestcast writes .nst files")
            return
        file = request.get_file()
        start = file.read(len(_MAGICS[0]) + 1)
        if start[:-1] not in _MAGICS:
            raise InitializationError("the resource is no stream and no video of nestcast")
        self._data = start + file.read()
        self._is_video = start[-1] in _VIDEOS
        if not self._is_video and parse_header(self._data) is None:
            raise InitializationError("the stream ends inside its header")

    def read(self, *, index: int | EllipsisType | None = None, **options: Any) -> numpy.ndarray:
        """Returns the picture, or a video's frame. Without an index, it returns all frames of a video in one array."""
        if index is None or index is Ellipsis:
            frames = list(self.iter(**options))
            if not self._is_video:
                return frames[0]
            if not frames:
                raise OSError("the video ends before its first frame")
            return numpy.stack(frames)
        if index < 0:
            raise IndexError("frames are numbered from 0")
        frame = next(islice(self._frames(index, **options), 1), None)
        if frame is None:
            raise IndexError(f"there is no frame {index}")
        return frame

    def iter(self, **options: Any) -> Iterator[numpy.ndarray]:
        """Returns the frames one by one; a picture is one frame."""
        return self._frames(0, **options)

    def write(self, ndimage: Any, **options: Any) -> bytes | None:
        """Writes a picture. The options are those of `nestcast.encode`."""
        if isinstance(ndimage, list):
            if len(ndimage) != 1:
                raise OSError("a stream has one picture: write a video by nestcast.encode_video")
            ndimage = ndimage[0]
        try:
            stream = encode(ndimage, **options)
        except Error as error:
            raise OSError(str(error)) from error
        self.request.get_file().write(stream)
        return bytes(stream) if self.request._uri_type == URI_BYTES else None

    def properties(
        self, index: int | EllipsisType | None = None, *, max_pixels: int = MAX_PIXELS
    ) -> ImageProperties:
        """Returns shape and type. It decodes nothing: the size is in the header, and a video's frames are counted."""
        if not self._is_video:
            header = parse_header(self._data)
            assert header is not None
            return ImageProperties(shape=header.shape, dtype=numpy.dtype(numpy.uint8))
        video = self._video(max_pixels)
        shape: tuple[int, ...] = (video.height, video.width, 3)
        if index is None or index is Ellipsis:
            count = count_frames(self._data, max_pixels)
            return ImageProperties((count, *shape), numpy.dtype(numpy.uint8), n_images=count, is_batch=True)
        return ImageProperties(shape=shape, dtype=numpy.dtype(numpy.uint8))

    def metadata(
        self,
        index: int | EllipsisType | None = None,
        exclude_applied: bool = True,
        *,
        max_pixels: int = MAX_PIXELS,
    ) -> dict[str, Any]:
        """Returns a video's frame rate, or the model of a picture."""
        if self._is_video:
            return {"fps": float(self._video(max_pixels).rate)}
        header = parse_header(self._data)
        return {} if header is None else {"model": header.model}

    def _video(self, max_pixels: int) -> VideoReader:
        try:
            return open_video(self._data, max_pixels=max_pixels)
        except Error as error:
            raise OSError(str(error)) from error

    def _frames(
        self, start: int, *, bitrate: float | None = None, threads: int = 1, max_pixels: int = MAX_PIXELS
    ) -> Iterator[numpy.ndarray]:
        options = {"threads": threads, "max_pixels": max_pixels}
        try:
            if self._is_video:
                yield from open_video(self._data, bitrate=bitrate, start=start, **options).rgb()
            elif start == 0:
                yield Decoder(**options).push(self._data).render()
        except Error as error:
            raise OSError(str(error)) from error


def _register() -> None:
    known_plugins[NAME] = PluginConfig(name=NAME, class_name="NestcastPlugin", module_name="nestcast.imageio")
    extension = FileExtension(name="nestcast stream or video", extension=".nst", priority=[NAME])
    if not any(NAME in known.priority for known in known_extensions.get(".nst", [])):
        known_extensions.setdefault(".nst", []).append(extension)
        extension_list.append(extension)


_register()
