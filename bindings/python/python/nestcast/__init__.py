"""Pictures and video as one embedded stream: every prefix, cut at any byte, decodes.

>>> import numpy, nestcast
>>> picture = numpy.arange(60 * 80, dtype=numpy.uint8).reshape(60, 80)
>>> stream = nestcast.encode(picture)
>>> nestcast.decode(stream[:60]).shape
(60, 80)
"""

from ._nestcast import (
    ArgumentError,
    CorruptError,
    Error,
    Header,
    IncompleteHeaderError,
    LimitError,
    ModelError,
    NetworkError,
    SessionError,
    VersionError,
    VideoFrame,
    __version__,
    models,
)
from .evaluate import Evaluation, Point, evaluate
from .live import Broadcast, ReceivedFrame, Reception, receive, send
from .pictures import Decoder, Encoder, Stream, cut, decode, encode
from .video import (
    VideoDecoder,
    VideoEncoder,
    VideoReader,
    VideoWriter,
    encode_video,
    open_video,
    to_rgb,
    to_ycbcr,
)

__all__ = [
    "ArgumentError",
    "Broadcast",
    "CorruptError",
    "Decoder",
    "Encoder",
    "Error",
    "Evaluation",
    "Header",
    "IncompleteHeaderError",
    "LimitError",
    "ModelError",
    "NetworkError",
    "Point",
    "ReceivedFrame",
    "Reception",
    "SessionError",
    "Stream",
    "VersionError",
    "VideoDecoder",
    "VideoEncoder",
    "VideoFrame",
    "VideoReader",
    "VideoWriter",
    "__version__",
    "cut",
    "decode",
    "encode",
    "encode_video",
    "evaluate",
    "models",
    "open_video",
    "receive",
    "send",
    "to_rgb",
    "to_ycbcr",
]
