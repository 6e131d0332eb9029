"""Measures rate and distortion of pictures, next to JPEG, WebP and AVIF as Pillow has them."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import argument
from .pictures import Decoder, Encoder, _exported

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

#: The codecs next to nestcast, by Pillow's names, with the highest quality that is tried. For JPEG, Pillow advises 95.
RIVALS = {"jpeg": 95, "webp": 100, "avif": 100}
#: The taps and the standard deviation of the window of MS-SSIM, its exponents from the finest scale on, and its constants.
_TAPS, _SIGMA = 11, 1.5
_EXPONENTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


@dataclass(frozen=True)
class Point:
    """One picture by one codec at one rate."""

    picture: str
    codec: str
    #: The rate asked for, in bits per pixel.
    rate: float
    #: The rate used.
    bpp: float
    bytes: int
    #: PSNR over all samples in dB; infinite for a picture without error.
    psnr: float
    #: MS-SSIM, the mean over channels; None if a side is shorter than 161 pixels.
    ms_ssim: float | None
    encode_seconds: float
    decode_seconds: float


@dataclass(frozen=True)
class Evaluation:
    """The points of all pictures and codecs, by picture, then codec, then rate."""

    points: list[Point]
    #: Codecs that Pillow lacks, and rates that a codec cannot reach with a picture.
    notes: list[str] = field(default_factory=list)

    def codecs(self) -> list[str]:
        """Returns the codecs with points."""
        return list(dict.fromkeys(point.codec for point in self.points))

    def curve(self, codec: str) -> list[dict[str, float]]:
        """Returns means over pictures by rising rate, of the rates that the codec reaches with every picture.

        `psnr` is the mean over pictures that have an error, and infinite if none has.
        """
        pictures = len({point.picture for point in self.points})
        rates = sorted({point.rate for point in self.points if point.codec == codec})
        curve = []
        for rate in rates:
            points = [point for point in self.points if point.codec == codec and point.rate == rate]
            if len(points) < pictures:
                continue
            means = {"rate": rate, "pictures": float(len(points))}
            for name in ("bpp", "psnr", "ms_ssim", "encode_seconds", "decode_seconds"):
                values = [value for point in points if (value := getattr(point, name)) is not None]
                finite = [value for value in values if math.isfinite(value)]
                means[name] = sum(finite) / len(finite) if finite else (math.inf if values else math.nan)
            curve.append(means)
        return curve

    def to_pandas(self) -> Any:
        """Returns the points as a `pandas.DataFrame`, a row for each."""
        import pandas

        return pandas.DataFrame([asdict(point) for point in self.points])

    def to_compressai(self, codec: str = "nestcast") -> dict[str, Any]:
        """Returns a codec's curve as CompressAI's plots read it: rates and qualities as lists, by rising rate."""
        curve = self.curve(codec)
        columns = {
            "bpp": "bpp",
            "psnr-rgb": "psnr",
            "ms-ssim-rgb": "ms_ssim",
            "encoding_time": "encode_seconds",
            "decoding_time": "decode_seconds",
        }
        results = {theirs: [point[ours] for point in curve] for theirs, ours in columns.items()}
        # JSON has no infinity and no NaN: a column without all its figures is left out.
        results = {name: column for name, column in results.items() if all(map(math.isfinite, column))}
        return {"name": codec, "description": "nestcast.evaluate: means over pictures", "results": results}

    def save_compressai(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes a JSON file for each codec into a folder, as CompressAI's plots read it, and returns the files."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = []
        for codec in self.codecs():
            files.append(folder / f"{codec}.json")
            files[-1].write_text(json.dumps(self.to_compressai(codec), indent=2) + "\n")
        return files

    def plot(self, axes: Any = None, *, metric: str = "psnr") -> Any:
        """Draws rate and `psnr` or `ms_ssim` of every codec with matplotlib, and returns the axes.

        MS-SSIM is drawn as -10 log10(1 - value), in dB.
        """
        if metric not in ("psnr", "ms_ssim"):
            raise argument(f"the metric is psnr or ms_ssim, not {metric}")
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure(layout="constrained").add_subplot()
        for codec in self.codecs():
            pairs = [(point["bpp"], point[metric]) for point in self.curve(codec)]
            if metric == "ms_ssim":
                pairs = [(bpp, -10 * math.log10(1 - value)) for bpp, value in pairs if value < 1]
            pairs = [(bpp, value) for bpp, value in pairs if math.isfinite(value)]
            axes.plot([bpp for bpp, _ in pairs], [value for _, value in pairs], marker=".", label=codec)
        axes.set_xlabel("bits per pixel")
        axes.set_ylabel("PSNR in dB" if metric == "psnr" else "MS-SSIM in dB")
        axes.grid(alpha=0.3)
        axes.legend()
        return axes

    def __str__(self) -> str:
        """The means as a table, a line for each codec and rate."""
        lines = [f"{'codec':<10}{'bpp':>8}{'PSNR dB':>9}{'MS-SSIM':>9}{'encode ms':>11}{'decode ms':>11}"]
        for codec in self.codecs():
            for point in self.curve(codec):
                times = (1e3 * point["encode_seconds"], 1e3 * point["decode_seconds"])
                similarity = "-" if math.isnan(point["ms_ssim"]) else f"{point['ms_ssim']:.4f}"
                lines.append(
                    f"{codec:<10}{point['bpp']:>8.3f}{point['psnr']:>9.2f}{similarity:>9}{times[0]:>11.1f}{times[1]:>11.1f}"
                )
        return "\n".join(lines + self.notes)


def evaluate(
    pictures: Iterable[Any] | str | os.PathLike[str],
    rates: Sequence[float],
    *,
    model: Any = "photo",
    threads: int = 1,
    deep: bool = False,
    rivals: Sequence[str] = tuple(RIVALS),
) -> Evaluation:
    """Measures pictures at rates in bits per pixel.

    `pictures` is a folder of PNG files, or an iterable of files, arrays of uint8, or pairs of a name and one of these.
    Arrays have the shape (height, width) or (height, width, channels); 2 or 4 channels have opacity. All codecs get what
    shows: opacity over white, and 8 bits of a file that has 16. nestcast encodes each picture once and cuts the stream.
    A rival uses the highest quality whose file fits the rate; the time to find it does not count. A rival that Pillow
    lacks is left out with a note.
    """
    rates = sorted(float(rate) for rate in rates)
    if not rates or not all(0 < rate < math.inf for rate in rates):
        raise argument("rates are numbers of bits per pixel above 0")
    unknown = [rival for rival in rivals if rival not in RIVALS]
    if unknown:
        raise argument(f"the rivals are {', '.join(RIVALS)}, not {', '.join(unknown)}")
    encoder = Encoder(model, threads=threads, deep=deep)
    decoder = Decoder(model, threads=threads, deep=deep)
    lacking = "this Pillow has no encoder for it" if _has_pillow() else "it needs `pip install pillow`"
    notes = [f"{rival} left out: {lacking}" for rival in rivals if not _has(rival)]
    points: list[Point] = []
    names: set[str] = set()
    for name, picture in _named(pictures):
        if name in names:
            raise argument(f"two pictures have the name {name}")
        names.add(name)
        measure = _Measure(name, picture)
        start = time.perf_counter()
        stream = encoder.encode(picture)
        encoding = time.perf_counter() - start
        for rate in rates:
            prefix = stream.cut(bpp=rate)
            start = time.perf_counter()
            decoder.reset()
            decoded = decoder.push(prefix).render()
            points.append(measure.point("nestcast", rate, len(prefix), decoded, encoding, time.perf_counter() - start))
        for rival in filter(_has, rivals):
            for rate in rates:
                found = _rival(rival, picture, rate)
                if found is None:
                    notes.append(f"{rival} cannot encode {name} in {rate} bits per pixel")
                else:
                    points.append(measure.point(rival, rate, *found))
    if not points:
        raise argument("there are no pictures")
    return Evaluation(points, notes)


class _Measure:
    """Compares pictures with one original."""

    def __init__(self, name: str, original: NDArray[numpy.uint8]) -> None:
        self._name, self._original = name, original

    def point(self, codec: str, rate: float, size: int, decoded: Any, encoding: float, decoding: float) -> Point:
        height, width = self._original.shape[:2]
        return Point(
            picture=self._name,
            codec=codec,
            rate=rate,
            bpp=8 * size / (width * height),
            bytes=size,
            psnr=psnr(self._original, decoded),
            ms_ssim=ms_ssim(self._original, decoded),
            encode_seconds=encoding,
            decode_seconds=decoding,
        )


def _named(pictures: Iterable[Any] | str | os.PathLike[str]) -> Iterator[tuple[str, NDArray[numpy.uint8]]]:
    """Returns each picture as an array, with its name."""
    import numpy

    if isinstance(pictures, str | os.PathLike):
        folder = Path(pictures)
        pictures = sorted(folder.glob("*.png"))
        if not pictures:
            raise argument(f"{folder} has no PNG files")
    for number, picture in enumerate(pictures):
        name = f"picture {number}"
        if isinstance(picture, tuple):
            name, picture = picture
        elif isinstance(picture, str | os.PathLike):
            name = Path(picture).name
        if isinstance(picture, str | os.PathLike):
            picture = _read(picture)
        yield name, _shown(name, numpy.asarray(_exported(picture)))


def _read(file: str | os.PathLike[str]) -> NDArray[numpy.uint8]:
    """Reads a file with Pillow, with its opacity if it has some."""
    import numpy
    from PIL import Image

    with Image.open(file) as image:
        if image.mode.startswith("I"):
            # Pillow would cut off what is above 255.
            grey = numpy.asarray(image).astype(numpy.int64)
            if grey.min() < 0 or grey.max() > 65535:
                raise argument(f"{os.fspath(file)} has samples outside 0 to 65535")
            return ((grey + 128) // 257).astype(numpy.uint8)
        grey = image.mode in ("1", "L", "LA", "La")
        clear = image.has_transparency_data
        return numpy.asarray(image.convert(("LA" if clear else "L") if grey else ("RGBA" if clear else "RGB")))


def _shown(name: str, picture: NDArray[Any]) -> NDArray[numpy.uint8]:
    """Returns the picture as it shows: opacity over white, of the shape (height, width) or (height, width, 3)."""
    import numpy

    if picture.dtype != numpy.uint8:
        raise argument(f"{name} is an array of {picture.dtype}: evaluate compares arrays of uint8")
    channels = picture.shape[2] if picture.ndim == 3 else 1
    if picture.ndim not in (2, 3) or not 1 <= channels <= 4 or picture.size == 0:
        raise argument(
            f"{name} has the shape {picture.shape}: a picture has (height, width) or (height, width, channels) with 1 to 4 "
            "channels"
        )
    if channels in (2, 4):
        colours, opacity = picture[..., :-1].astype(numpy.uint32), picture[..., -1:].astype(numpy.uint32)
        picture = ((colours * opacity + 255 * (255 - opacity) + 127) // 255).astype(numpy.uint8)
    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[..., 0]
    return numpy.ascontiguousarray(picture)


def _has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


def _has(rival: str) -> bool:
    if not _has_pillow():
        return False
    from PIL import Image, features

    Image.init()
    return rival.upper() in Image.SAVE and (rival != "avif" or bool(features.check("avif")))


def _rival(rival: str, picture: Any, rate: float) -> tuple[int, Any, float, float] | None:
    """Encodes with the highest quality that fits: bytes, decoded picture, and the seconds of both; None if none fits."""
    import numpy
    from PIL import Image

    image = Image.fromarray(picture)
    budget = rate * picture.shape[0] * picture.shape[1] / 8
    quality = _highest(RIVALS[rival], lambda quality: len(_saved(rival, image, quality)) <= budget)
    if quality is None:
        return None
    start = time.perf_counter()
    data = _saved(rival, image, quality)
    encoding = time.perf_counter() - start
    start = time.perf_counter()
    with Image.open(BytesIO(data)) as decoded:
        pixels = numpy.asarray(decoded.convert(image.mode))
    return len(data), pixels, encoding, time.perf_counter() - start


def _saved(rival: str, image: Any, quality: int) -> bytes:
    file = BytesIO()
    # JPEG and WebP at their best effort; AVIF at Pillow's own, because its best takes many times as long.
    efforts: dict[str, dict[str, Any]] = {"jpeg": {"optimize": True, "progressive": True}, "webp": {"method": 6}}
    effort = efforts.get(rival, {})
    image.save(file, rival.upper(), quality=quality, **effort)
    return file.getvalue()


def _highest(most: int, fits: Callable[[int], bool]) -> int | None:
    """Returns the highest quality from 0 to `most` that fits; sizes grow with quality."""
    low, high = -1, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low if low >= 0 else None


def psnr(original: Any, decoded: Any) -> float:
    """Returns the PSNR over all samples in dB; infinite for equal pictures."""
    import numpy

    error = numpy.square(original.astype(numpy.int32) - decoded.astype(numpy.int32)).mean()
    return 10 * math.log10(255**2 / error) if error else math.inf


def ms_ssim(original: Any, decoded: Any) -> float | None:
    """Returns MS-SSIM by Wang, Simoncelli and Bovik (2003), as the mean over channels; None for small pictures."""
    import numpy

    if min(original.shape[:2]) <= (_TAPS - 1) * 16:
        return None
    pictures = [numpy.atleast_3d(picture).astype(numpy.float64) for picture in (original, decoded)]
    channels = range(pictures[0].shape[2])
    values = [_ms_ssim_of_channel(*(picture[..., channel] for picture in pictures)) for channel in channels]
    return float(sum(values) / len(values))


def _ms_ssim_of_channel(a: Any, b: Any) -> float:
    product = 1.0
    for exponent in _EXPONENTS:
        structure, similarity = _ssim(a, b)
        coarsest = exponent == _EXPONENTS[-1]
        product *= max(similarity if coarsest else structure, 0.0) ** exponent
        a, b = _halved(a), _halved(b)
    return product


def _ssim(a: Any, b: Any) -> tuple[float, float]:
    """Returns the means of the contrast-structure term, and of that times the luminance term."""
    mean_a, mean_b = _blurred(a), _blurred(b)
    variances = _blurred(a * a) + _blurred(b * b) - mean_a**2 - mean_b**2
    structure = (2 * (_blurred(a * b) - mean_a * mean_b) + _C2) / (variances + _C2)
    luminance = (2 * mean_a * mean_b + _C1) / (mean_a**2 + mean_b**2 + _C1)
    return structure.mean(), (structure * luminance).mean()


def _blurred(plane: Any) -> Any:
    """Returns the Gaussian mean around every pixel whose whole window is inside."""
    import numpy

    window = numpy.exp(-((numpy.arange(_TAPS) - _TAPS // 2) ** 2) / (2 * _SIGMA**2))
    window /= window.sum()
    rows, columns = (side + 1 - _TAPS for side in plane.shape)
    plane = sum(weight * plane[tap : tap + rows] for tap, weight in enumerate(window))
    return sum(weight * plane[:, tap : tap + columns] for tap, weight in enumerate(window))


def _halved(plane: Any) -> Any:
    """Returns means of 2x2 pixels; an odd side gets zeros before its beginning, as in pytorch_msssim."""
    import numpy

    height, width = plane.shape
    plane = numpy.pad(plane, ((height % 2, 0), (width % 2, 0)))
    return plane.reshape(-(-height // 2), 2, -(-width // 2), 2).mean(axis=(1, 3))
