"""A mistake has one message in C and in Python."""

import ctypes
from collections.abc import Callable

import pytest

from programs import STAGED

nestcast = pytest.importorskip("nestcast", reason="skipped: the Python package is not there to compare with")
numpy = pytest.importorskip("numpy", reason="skipped: numpy is not there to make arrays")

LIBRARY = ctypes.CDLL(str(STAGED / "lib" / "libnestcast.so"))
LIBRARY.nestcast_last_message.restype = ctypes.c_char_p
GREY, RGB, YCBCR = 0, 1, 2
#: The exceptions, by the status of C.
EXCEPTIONS = {
    1: nestcast.CorruptError,
    2: nestcast.VersionError,
    3: nestcast.ModelError,
    4: nestcast.LimitError,
    5: nestcast.ArgumentError,
    6: nestcast.IncompleteHeaderError,
    9: nestcast.SessionError,
}


class Picture(ctypes.Structure):
    _fields_ = [
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("planes", ctypes.c_void_p * 3),
        ("strides", ctypes.c_size_t * 3),
    ]


class VideoSettings(ctypes.Structure):
    _fields_ = [
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("rate_frames", ctypes.c_uint32),
        ("rate_seconds", ctypes.c_uint32),
        ("slowest", ctypes.c_uint64),
        ("fastest", ctypes.c_uint64),
        ("threads", ctypes.c_uint32),
    ]


class ReceiverSettings(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_char_p),
        ("fingerprint", ctypes.c_char_p),
        ("authorities", ctypes.c_char_p),
        ("token", ctypes.c_void_p),
        ("token_length", ctypes.c_size_t),
        ("max_bitrate", ctypes.c_uint64),
        ("latency_ms", ctypes.c_int32),
        ("retry_ms", ctypes.c_uint32),
        ("wait", ctypes.c_bool),
        ("threads", ctypes.c_uint32),
        ("max_bits", ctypes.c_uint32),
    ]


SHOW = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
END = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class Callbacks(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("show", SHOW), ("end", END)]


def handle(make: Callable[..., int], *arguments: object) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    assert make(*arguments, ctypes.byref(made)) == 0, LIBRARY.nestcast_last_message()
    return made


def new(make: Callable[..., int], *arguments: object) -> int:
    """Returns the status of a call that makes no handle."""
    made = ctypes.c_void_p()
    status = make(*arguments, ctypes.byref(made))
    assert not made
    return status


def encode(width: int, height: int, stride: int) -> int:
    encoder = handle(LIBRARY.nestcast_encoder_new, None, 1)
    samples = ctypes.create_string_buffer(stride)
    picture = Picture(width, height, GREY, (ctypes.addressof(samples), 0, 0), (stride, 0, 0))
    stream, length = ctypes.c_void_p(), ctypes.c_size_t()
    status = LIBRARY.nestcast_encoder_encode(
        encoder, ctypes.byref(picture), ctypes.c_size_t(0), ctypes.byref(stream), ctypes.byref(length)
    )
    LIBRARY.nestcast_encoder_free(encoder)
    return status


def decode(data: bytes, max_pixels: int = 0) -> int:
    decoder = handle(LIBRARY.nestcast_decoder_new, None, 1, ctypes.c_uint64(max_pixels))
    status = LIBRARY.nestcast_decoder_push(decoder, data, ctypes.c_size_t(len(data)), None)
    if status == 0:
        samples = ctypes.create_string_buffer(64)
        canvas = Picture(8, 8, GREY, (ctypes.addressof(samples), 0, 0), (8, 0, 0))
        status = LIBRARY.nestcast_decoder_render(decoder, ctypes.byref(canvas))
    LIBRARY.nestcast_decoder_free(decoder)
    return status


def video(**changes: int) -> int:
    good = {"width": 16, "height": 16, "rate_frames": 30, "rate_seconds": 1, "threads": 1}
    return new(LIBRARY.nestcast_video_encoder_new, ctypes.byref(VideoSettings(**{**good, **changes})))


def video_of_bits(bits: int) -> int:
    good = VideoSettings(width=16, height=16, rate_frames=30, rate_seconds=1, threads=1)
    encoder = handle(LIBRARY.nestcast_video_encoder_new, ctypes.byref(good))
    samples = ctypes.create_string_buffer(1024)
    planes = (ctypes.addressof(samples),) * 3
    picture = Picture(16, 16, YCBCR | bits << 8, planes, (32, 16, 16))
    frame = ctypes.create_string_buffer(64)
    status = LIBRARY.nestcast_video_encoder_encode(encoder, ctypes.byref(picture), frame)
    LIBRARY.nestcast_video_encoder_free(encoder)
    return status


def frame(data: bytes) -> int:
    decoder = handle(LIBRARY.nestcast_video_decoder_new, None, None, 64, 48, 1, ctypes.c_uint64(0))
    status = LIBRARY.nestcast_video_decoder_decode(decoder, data, ctypes.c_size_t(len(data)), None)
    LIBRARY.nestcast_video_decoder_free(decoder)
    return status


def receiver(**changes: object) -> int:
    good = {"address": b"127.0.0.1:1", "fingerprint": b"0" * 64, "latency_ms": -1, "threads": 1}
    settings = ReceiverSettings(**{**good, **changes})
    callbacks = Callbacks(None, SHOW(lambda user, shown: True), END())
    made = ctypes.c_void_p()
    status = LIBRARY.nestcast_receiver_new(ctypes.byref(settings), ctypes.byref(callbacks), ctypes.byref(made))
    if status == 0:
        status = LIBRARY.nestcast_receiver_wait(made)
    message = LIBRARY.nestcast_last_message()
    LIBRARY.nestcast_receiver_free(made)
    assert LIBRARY.nestcast_last_message() == message
    return status


def receive(address: str = "127.0.0.1:1", fingerprint: str | None = "0" * 64, **options: object) -> None:
    next(nestcast.receive(address, fingerprint, **options))


STREAM = bytes(nestcast.encode(numpy.zeros((8, 8), numpy.uint8)))
OTHER_MODEL = STREAM[:7] + bytes([STREAM[7] ^ 1]) + STREAM[8:]
MISTAKES: list[tuple[str, int, Callable[[], int], Callable[[], object]]] = [
    (
        "an encoder without a thread",
        5,
        lambda: new(LIBRARY.nestcast_encoder_new, None, 0),
        lambda: nestcast.Encoder(threads=0),
    ),
    (
        "a decoder without a thread",
        5,
        lambda: new(LIBRARY.nestcast_decoder_new, None, 0, ctypes.c_uint64(0)),
        lambda: nestcast.Decoder(threads=0),
    ),
    ("no pixel", 5, lambda: encode(0, 4, 4), lambda: nestcast.encode(numpy.zeros((4, 0), numpy.uint8))),
    (
        "a long side",
        4,
        lambda: encode(16385, 1, 16385),
        lambda: nestcast.encode(numpy.zeros((1, 16385), numpy.uint8)),
    ),
    ("no stream", 1, lambda: decode(b"GIF89a"), lambda: nestcast.decode(b"GIF89a")),
    ("another version", 2, lambda: decode(b"nst\x09"), lambda: nestcast.decode(b"nst\x09")),
    ("part of a header", 6, lambda: decode(STREAM[:6]), lambda: nestcast.decode(STREAM[:6])),
    ("another model", 3, lambda: decode(OTHER_MODEL), lambda: nestcast.decode(OTHER_MODEL)),
    ("many pixels", 4, lambda: decode(STREAM, 63), lambda: nestcast.decode(STREAM, max_pixels=63)),
    (
        "no tables",
        1,
        lambda: new(LIBRARY.nestcast_model_new, b"tables", ctypes.c_size_t(6)),
        lambda: nestcast.Encoder(b"tables"),
    ),
    ("no second", 5, lambda: video(rate_seconds=0), lambda: nestcast.VideoEncoder(16, 16, rate=(30, 0))),
    ("a fast video", 5, lambda: video(rate_frames=1001), lambda: nestcast.VideoEncoder(16, 16, rate=1001)),
    (
        "rates in the wrong order",
        5,
        lambda: video(slowest=2, fastest=1),
        lambda: nestcast.VideoEncoder(16, 16, bitrates=(2, 1)),
    ),
    ("a video without a thread", 5, lambda: video(threads=0), lambda: nestcast.VideoEncoder(16, 16, threads=0)),
    ("a video of no pixel", 5, lambda: video(width=0), lambda: nestcast.VideoEncoder(0, 16)),
    ("a wide video", 4, lambda: video(width=16385), lambda: nestcast.VideoEncoder(16385, 16)),
    ("a video of 7 bits", 5, lambda: video_of_bits(7), lambda: nestcast.VideoEncoder(16, 16, bits=7)),
    ("a video of 17 bits", 5, lambda: video_of_bits(17), lambda: nestcast.VideoEncoder(16, 16, bits=17)),
    ("no frame", 1, lambda: frame(b"\xff" * 64), lambda: nestcast.VideoDecoder(64, 48).decode(b"\xff" * 64)),
    ("no address", 5, lambda: receiver(address=b"nowhere"), lambda: receive("nowhere")),
    ("a short fingerprint", 5, lambda: receiver(fingerprint=b"12"), lambda: receive(fingerprint="12")),
    ("nobody to trust", 5, lambda: receiver(fingerprint=None), lambda: receive(fingerprint=None)),
    ("two to trust", 5, lambda: receiver(authorities=b"file"), lambda: receive(authorities="file")),
    ("a receiver without a thread", 5, lambda: receiver(threads=0), lambda: receive(threads=0)),
    ("an unknown host", 9, lambda: receiver(address=b"host.invalid:1"), lambda: receive("host.invalid:1")),
]


@pytest.mark.parametrize(("status", "by_c", "by_python"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_a_mistake_has_one_message(status, by_c, by_python):
    assert by_c() == status, LIBRARY.nestcast_last_message()
    message = LIBRARY.nestcast_last_message().decode()
    with pytest.raises(EXCEPTIONS[status]) as raised:
        by_python()
    assert type(raised.value) is EXCEPTIONS[status] and str(raised.value) == message
