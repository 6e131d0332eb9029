"""Rate and distortion, beside the codecs of Pillow."""

import json
import math
import sys

import numpy
import pytest

import nestcast
from conftest import drawn
from nestcast.evaluate import RIVALS, ms_ssim, psnr

pytest.importorskip("PIL", reason="skipped: no Pillow")


@pytest.fixture(scope="module")
def result() -> nestcast.Evaluation:
    pictures = [("first", drawn(176, 192)), ("grey", drawn(170, 165, seed=2)[..., 0])]
    return nestcast.evaluate(pictures, [2.0, 0.5, 0.05])


def test_every_codec_keeps_to_its_rate(result):
    assert [name for name in result.codecs() if name in ("nestcast", "jpeg", "webp")] == ["nestcast", "jpeg", "webp"]
    for point in result.points:
        assert 0 < point.bpp <= point.rate
        assert point.encode_seconds > 0 and point.decode_seconds > 0
        assert 5 < point.psnr < 60 and 0 < point.ms_ssim <= 1
    ours = [point for point in result.points if point.codec == "nestcast" and point.picture == "first"]
    assert [point.rate for point in ours] == [0.05, 0.5, 2.0]
    assert ours[0].psnr < ours[1].psnr < ours[2].psnr
    assert ours[1].bytes == 176 * 192 // 16
    # A JPEG has more bytes of tables than that.
    assert "jpeg cannot encode first in 0.05 bits per pixel" in result.notes


def test_a_curve_has_the_rates_that_all_pictures_reach(result):
    curve = result.curve("nestcast")
    assert [point["rate"] for point in curve] == [0.05, 0.5, 2.0]
    points = [point for point in result.points if point.codec == "nestcast" and point.rate == 0.5]
    assert curve[1]["psnr"] == pytest.approx(sum(point.psnr for point in points) / 2)
    assert [point["rate"] for point in result.curve("jpeg")][-1] == 2.0
    assert 0.05 not in [point["rate"] for point in result.curve("jpeg")]
    text = str(result)
    assert text.splitlines()[0].split()[:2] == ["codec", "bpp"] and text.count("\nnestcast ") == 3


def test_results_are_those_that_compressai_reads(result, tmp_path):
    for file in result.save_compressai(tmp_path / "curves"):
        read = json.loads(file.read_text())
        assert read["name"] == file.stem and set(read) == {"name", "description", "results"}
        results = read["results"]
        assert {"bpp", "psnr-rgb", "ms-ssim-rgb", "encoding_time", "decoding_time"} == set(results)
        assert len({len(column) for column in results.values()}) == 1
        assert results["bpp"] == sorted(results["bpp"])


def test_without_pillow_a_note_says_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    result = nestcast.evaluate([("grey", numpy.full((16, 16), 90, numpy.uint8))], rates=[1.0], rivals=("jpeg",))
    assert result.notes == ["jpeg left out: it needs `pip install pillow`"]


def test_results_become_a_frame(result):
    pandas = pytest.importorskip("pandas", reason="skipped: no pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(result.points)
    means = frame[frame.codec == "nestcast"].groupby("rate").psnr.mean()
    assert means.tolist() == pytest.approx([point["psnr"] for point in result.curve("nestcast")])


def test_results_are_drawn(result, tmp_path):
    pytest.importorskip("matplotlib", reason="skipped: no matplotlib")
    for metric in ("psnr", "ms_ssim"):
        axes = result.plot(metric=metric)
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert set(lines) == set(result.codecs())
        assert len(lines["nestcast"].get_xdata()) == 3
        axes.figure.savefig(tmp_path / f"{metric}.svg")
        assert (tmp_path / f"{metric}.svg").stat().st_size > 1000
    with pytest.raises(nestcast.ArgumentError):
        result.plot(metric="taste")


def test_files_and_folders_are_read(tmp_path):
    from PIL import Image

    Image.fromarray(drawn(20, 30)).save(tmp_path / "b.png")
    Image.fromarray(drawn(20, 30)[..., 0]).save(tmp_path / "a.png")
    by_folder = nestcast.evaluate(tmp_path, [1.0], rivals=[])
    assert [point.picture for point in by_folder.points] == ["a.png", "b.png"]
    assert by_folder.points[0].ms_ssim is None  # too small for it
    assert "ms-ssim-rgb" not in by_folder.to_compressai()["results"]
    by_file = nestcast.evaluate([tmp_path / "b.png"], [1.0], rivals=[])
    assert by_file.points[0].psnr == by_folder.points[1].psnr


def test_opacity_is_over_white_for_all_codecs():
    picture = drawn(40, 48)
    half = numpy.full((40, 48, 1), 128, numpy.uint8)
    white = ((picture.astype(int) * 128 + 255 * 127 + 127) // 255).astype(numpy.uint8)
    for colours, over_white in ((picture, white), (picture[..., :1], white[..., 0])):
        clear = nestcast.evaluate([numpy.concatenate([colours, half], axis=2)], [6.0])
        opaque = nestcast.evaluate([over_white], [6.0])
        assert [(point.codec, point.bytes, point.psnr) for point in clear.points] == [
            (point.codec, point.bytes, point.psnr) for point in opaque.points
        ]
        assert {"nestcast", "jpeg", "webp"} <= set(clear.codecs())
    # One channel is grey, with or without a dimension of its own.
    flat, deep = (nestcast.evaluate([grey], [2.0], rivals=[]) for grey in (picture[..., 0], picture[..., :1]))
    assert flat.points[0].psnr == deep.points[0].psnr


def test_files_show_as_they_do_elsewhere(tmp_path):
    from PIL import Image

    picture = drawn(40, 48)
    opacity = numpy.full((40, 48, 1), 128, numpy.uint8)
    Image.fromarray(numpy.concatenate([picture, opacity], axis=2)).save(tmp_path / "clear.png")
    wide = picture[..., 0].astype(numpy.uint16) * 257
    Image.fromarray(wide).save(tmp_path / "wide.png")
    by_file = nestcast.evaluate([tmp_path / "clear.png", tmp_path / "wide.png"], [2.0], rivals=[])
    by_array = nestcast.evaluate([numpy.concatenate([picture, opacity], axis=2), picture[..., 0]], [2.0], rivals=[])
    assert [point.psnr for point in by_file.points] == [point.psnr for point in by_array.points]


def test_quality_is_that_of_the_published_definitions():
    # The pictures and figures of `lab/src/metrics`: a double-precision script that spells out pytorch_msssim.
    for height, width, expected_psnr, expected_ms_ssim in (
        (176, 192, 16.658365486, 0.802078536),
        (203, 181, 16.652345854, 0.802476426),
    ):
        y, x, c = numpy.mgrid[0:height, 0:width, 0:3]
        pattern = (x * (3 + c) + y * (5 - c) + x * y * (c + 1) // 64) % 256
        faded = numpy.minimum(pattern // 2 + 64 + (x * 31 + y * 17) % 23 - 11, 255)
        assert psnr(pattern, faded) == pytest.approx(expected_psnr, abs=1e-6)
        assert ms_ssim(pattern, faded) == pytest.approx(expected_ms_ssim, abs=1e-6)
    a, b = numpy.full((8, 8), 100, numpy.uint8), numpy.full((8, 8), 110, numpy.uint8)
    assert psnr(a, b) == pytest.approx(28.130803608) and psnr(a, a) == math.inf
    big = drawn(181, 203)
    assert ms_ssim(big, big) == pytest.approx(1.0)
    assert ms_ssim(big[:160], big[:160]) is None
    assert ms_ssim(big, 255 - big) < 0.2


def test_arguments_that_do_not_fit_are_refused(tmp_path):
    picture = drawn(8, 8)
    for pictures, rates, options in (
        ([picture], [], {}),
        ([picture], [0.0], {}),
        ([picture], [math.inf], {}),
        ([], [1.0], {}),
        (tmp_path, [1.0], {}),
        ([("a", picture), ("a", picture)], [1.0], {}),
        ([picture], [1.0], {"rivals": ["vvc"]}),
    ):
        with pytest.raises(nestcast.ArgumentError, match="^invalid argument: "):
            nestcast.evaluate(pictures, rates, **options)
    for array, words in (
        (picture.astype(float), "float64"),
        (picture.astype(numpy.uint16), "uint16: evaluate compares arrays of uint8"),
        (picture[0, 0], r"picture 0 has the shape \(3,\)"),
        (picture[:0], r"has the shape \(0, 8, 3\)"),
        (numpy.zeros((8, 8, 5), numpy.uint8), "1 to 4 channels"),
        (numpy.zeros((8, 8, 3, 1), numpy.uint8), "1 to 4 channels"),
    ):
        for rivals in ([], ["jpeg"]):
            with pytest.raises(nestcast.ArgumentError, match=words):
                nestcast.evaluate([array], [1.0], rivals=rivals)
    assert set(RIVALS) == {"jpeg", "webp", "avif"}
