"""A plugin of Pillow. After `import nestcast.pillow`, `Image.open` reads any prefix of a stream that contains its header,
and `Image.save` writes streams.
"""

from __future__ import annotations

from io import BytesIO
from typing import IO, Any

import numpy
from PIL import Image, ImageFile

from . import Decoder, Error, encode
from ._nestcast import parse_header
from .pictures import refused_mode

FORMAT = "NESTCAST"
#: The first bytes of streams of both versions, and the longest header.
_MAGICS = (b"nst\x01", b"nst\x02")
_MAX_HEADER = 22
#: The modes by the number of channels and opacity. They have 8 bits a sample: Pillow has none of 16 for colours.
_MODES = {(1, False): "L", (3, False): "RGB", (1, True): "LA", (3, True): "RGBA"}


class NestcastImageFile(ImageFile.ImageFile):
    """A stream, or a prefix of one."""

    format = FORMAT
    format_description = "nestcast stream"

    def _open(self) -> None:
        assert self.fp is not None
        try:
            header = parse_header(self.fp.read(_MAX_HEADER))
        except Error as error:
            raise SyntaxError(str(error)) from error
        if header is None:
            raise SyntaxError("the stream ends inside its header")
        self.fp.seek(0)
        self._size = header.width, header.height
        self._mode = _MODES[header.channels, header.alpha]
        self.info["model"] = header.model

    def load(self) -> Any:
        if self.fp is not None and not self.tile and self._im is None:
            # Pillow has checked the size against its own limit. Opacity and more bits count for less than once more.
            decoder = Decoder(max_pixels=2 * self.width * self.height)
            canvas = numpy.empty((self.height, self.width, len(self.mode)), numpy.uint8)
            try:
                samples = decoder.push(self.fp.read()).render(canvas)
            except Error as error:
                raise OSError(str(error)) from error
            if self._exclusive_fp:
                self.fp.close()
            self.fp = BytesIO(samples.tobytes())
            self.tile = [ImageFile._Tile("raw", (0, 0, *self.size), 0, (self.mode, 0, 1))]
        return super().load()


def _save(image: Image.Image, file: IO[bytes], filename: str | bytes) -> None:
    """Writes a stream. `image.save(..., max_bytes=, model=, threads=, deep=)` are those of `nestcast.encode`."""
    if image.mode not in _MODES.values():
        raise OSError(refused_mode(image.mode))
    known = ("max_bytes", "model", "threads", "deep", "rotations", "activity_masking")
    options = {name: image.encoderinfo[name] for name in known if name in image.encoderinfo}
    try:
        file.write(encode(image, **options))
    except Error as error:
        raise OSError(str(error)) from error


Image.register_open(FORMAT, NestcastImageFile, lambda prefix: prefix[:4] in _MAGICS and prefix[4:5] in (b"\0", b"\1"))
Image.register_save(FORMAT, _save)
Image.register_extension(FORMAT, ".nst")
Image.register_mime(FORMAT, "image/x-nestcast")
