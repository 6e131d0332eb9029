"""Compares the package's time for a picture of 768x512 with that of the Rust crate, in turn in one process.

The Rust time is that of the C library, which adds a few checks of pointers to each call. After `cargo xtask bindings`:

    PYTHONPATH=target/bindings/packages python3 bindings/python/timing.py target/bindings/c/lib/libnestcast.so
"""

import ctypes
import sys
import time
from collections.abc import Callable

import numpy

import nestcast

ROUNDS = 60
WIDTH, HEIGHT, RGB = 768, 512, 1


class Picture(ctypes.Structure):
    """`NestcastPicture` and `NestcastCanvas`."""

    _fields_ = [
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("format", ctypes.c_uint32),
        ("planes", ctypes.c_void_p * 3),
        ("strides", ctypes.c_size_t * 3),
    ]


def drawn() -> numpy.ndarray:
    """Returns a picture with edges, ramps and noise."""
    rows, columns = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    waves = 90 + 60 * numpy.sin(rows / 17) * numpy.cos(columns / 23) + 30 * ((rows // 64 + columns // 64) % 2)
    noise = numpy.random.default_rng(1).normal(0, 4, (HEIGHT, WIDTH, 3))
    return numpy.clip(waves[..., None] + [0, 12, 25] + noise, 0, 255).astype(numpy.uint8)


def least(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Returns each call's least seconds of this thread's processor, of calls in turn."""
    seconds = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            seconds[name] = min(seconds[name], time.thread_time() - start)
    return seconds


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    pixels, out = drawn(), numpy.empty((HEIGHT, WIDTH, 3), numpy.uint8)
    describe = [
        Picture(WIDTH, HEIGHT, RGB, (array.ctypes.data, None, None), (3 * WIDTH, 0, 0)) for array in (pixels, out)
    ]
    encoder, decoder = ctypes.c_void_p(), ctypes.c_void_p()
    data, length = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nestcast_encoder_new(None, 1, ctypes.byref(encoder)) == 0
    assert library.nestcast_decoder_new(None, 1, ctypes.c_uint64(0), ctypes.byref(decoder)) == 0

    def rust_encodes() -> None:
        found = ctypes.byref(data), ctypes.byref(length)
        assert library.nestcast_encoder_encode(encoder, ctypes.byref(describe[0]), ctypes.c_size_t(0), *found) == 0

    ours, theirs = nestcast.Encoder(), nestcast.Decoder()
    encoding = least({"python": lambda: ours.encode(pixels), "rust": rust_encodes})
    stream = ours.encode(pixels)
    assert ctypes.string_at(data, length.value) == stream

    for bpp in (0.5, 2.0, 24.0):
        prefix = stream.cut(bpp=bpp)

        def rust_decodes(prefix: bytes = prefix) -> None:
            assert library.nestcast_decoder_reset(decoder) == 0
            assert library.nestcast_decoder_push(decoder, prefix, ctypes.c_size_t(len(prefix)), None) == 0
            assert library.nestcast_decoder_render(decoder, ctypes.byref(describe[1])) == 0

        def python_decodes(prefix: bytes = prefix) -> numpy.ndarray:
            theirs.reset()
            return theirs.push(prefix).render(out)

        report(f"decode {prefix.bpp:.2f} bpp", least({"python": python_decodes, "rust": rust_decodes}))
    report(f"encode {stream.bpp:.2f} bpp", encoding)


def report(name: str, seconds: dict[str, float]) -> None:
    python, rust = 1e3 * seconds["python"], 1e3 * seconds["rust"]
    print(f"{name}: Python {python:.2f} ms, Rust {rust:.2f} ms, ratio {python / rust:.3f}")


if __name__ == "__main__":
    main()
