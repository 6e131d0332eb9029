"""Compares the package's time for a picture with that of the Rust crate, in turn in one process, on one thread.

The Rust time is that of the C library, which adds a few checks of pointers to each call. After `cargo xtask bindings`,
which builds both alike, this measures a picture of 768x512 that it draws, or files that Pillow reads:

    PYTHONPATH=target/bindings/packages python3 bindings/python/timing.py target/bindings/c/lib/libnestcast.so [FILES]
"""

import ctypes
import statistics
import sys
import time
from collections.abc import Callable

import numpy

import nestcast

ROUNDS = 40
WIDTH, HEIGHT, RGB = 768, 512, 1
#: Bits per pixel of the prefixes that are decoded; the last one is more than a stream has.
RATES = (0.5, 1.0, 2.0, 24.0)


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


def opened(file: str) -> numpy.ndarray:
    """Returns a file's picture as RGB."""
    from PIL import Image

    with Image.open(file) as image:
        return numpy.asarray(image.convert("RGB")).copy()


def measured(calls: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Returns each call's least and median seconds of this thread's processor, of calls in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            seconds[name].append(time.thread_time() - start)
    return {name: (min(times), statistics.median(times)) for name, times in seconds.items()}


def compare(library: ctypes.CDLL, name: str, pixels: numpy.ndarray) -> None:
    """Prints the times of one picture."""
    height, width, _ = pixels.shape
    out = numpy.empty_like(pixels)
    describe = [
        Picture(width, height, RGB, (array.ctypes.data, None, None), (3 * width, 0, 0)) for array in (pixels, out)
    ]
    encoder, decoder = ctypes.c_void_p(), ctypes.c_void_p()
    data, length = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nestcast_encoder_new(None, 1, ctypes.byref(encoder)) == 0
    assert library.nestcast_decoder_new(None, 1, ctypes.c_uint64(0), ctypes.byref(decoder)) == 0

    def rust_encodes() -> None:
        found = ctypes.byref(data), ctypes.byref(length)
        assert library.nestcast_encoder_encode(encoder, ctypes.byref(describe[0]), ctypes.c_size_t(0), *found) == 0

    ours, theirs = nestcast.Encoder(), nestcast.Decoder()
    report(f"{name}: encode", measured({"python": lambda: ours.encode(pixels), "rust": rust_encodes}))
    stream = ours.encode(pixels)
    assert ctypes.string_at(data, length.value) == stream

    for rate in RATES:
        prefix = stream.cut(bpp=rate)

        def rust_decodes(prefix: bytes = prefix) -> None:
            assert library.nestcast_decoder_reset(decoder) == 0
            assert library.nestcast_decoder_push(decoder, prefix, ctypes.c_size_t(len(prefix)), None) == 0
            assert library.nestcast_decoder_render(decoder, ctypes.byref(describe[1])) == 0

        def python_decodes(prefix: bytes = prefix) -> numpy.ndarray:
            theirs.reset()
            return theirs.push(prefix).render(out)

        report(f"{name}: decode {prefix.bpp:.2f} bpp", measured({"python": python_decodes, "rust": rust_decodes}))
    library.nestcast_encoder_free(encoder)
    library.nestcast_decoder_free(decoder)


def report(name: str, seconds: dict[str, tuple[float, float]]) -> None:
    python, rust = seconds["python"], seconds["rust"]
    least, median = (ours / theirs for ours, theirs in zip(python, rust, strict=True))
    print(
        f"{name}: Python {1e3 * python[0]:.2f} ms, Rust {1e3 * rust[0]:.2f} ms, "
        f"ratio of the least {least:.3f}, of the medians {median:.3f}"
    )


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    for name in ("encoder_free", "decoder_free"):
        getattr(library, f"nestcast_{name}").argtypes = [ctypes.c_void_p]
    pictures = {file.rsplit("/", 1)[-1]: opened(file) for file in sys.argv[2:]} or {"drawn": drawn()}
    for name, pixels in pictures.items():
        compare(library, name, pixels)


if __name__ == "__main__":
    main()
