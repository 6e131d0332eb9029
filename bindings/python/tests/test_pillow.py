"""The plugin of Pillow."""

import io

import numpy
import pytest

pytest.importorskip("PIL", reason="skipped: no Pillow")

from PIL import Image, UnidentifiedImageError  # noqa: E402

import nestcast  # noqa: E402
import nestcast.pillow  # noqa: E402


@pytest.mark.parametrize("channels", [1, 3])
def test_any_prefix_opens(picture, channels, tmp_path):
    array = picture if channels == 3 else numpy.ascontiguousarray(picture[..., 0])
    stream = nestcast.encode(array)
    file = tmp_path / "picture.nst"
    for count in (stream.header.length, 100, len(stream)):
        file.write_bytes(stream[:count])
        with Image.open(file) as image:
            assert (image.format, image.size) == ("NESTCAST", (128, 96))
            assert image.mode == ("RGB" if channels == 3 else "L")
            assert image.info["model"] == stream.header.model
            assert (numpy.asarray(image) == nestcast.decode(stream[:count])).all()
    # From memory, and twice.
    image = Image.open(io.BytesIO(stream))
    image.load()
    assert image.resize((64, 48)).size == (64, 48)
    assert (numpy.asarray(image) == nestcast.decode(stream)).all()


def test_pictures_are_saved_as_streams(picture, tmp_path):
    image = Image.fromarray(picture)
    image.save(tmp_path / "all.nst")
    image.save(tmp_path / "few.nst", max_bytes=200, model="photo-ssim")
    assert (tmp_path / "all.nst").read_bytes() == nestcast.encode(picture)
    assert (tmp_path / "few.nst").read_bytes() == nestcast.encode(picture, model="photo-ssim")[:200]
    # An array that numpy can take is a picture too.
    assert nestcast.encode(image) == nestcast.encode(picture)
    with pytest.raises(OSError, match="cannot write mode CMYK"):
        image.convert("CMYK").save(tmp_path / "ink.nst")
    # The grey of 16 bits that Pillow opens is encoded; other modes are refused by both, because their arrays look like
    # grey or RGB.
    deep = numpy.ascontiguousarray(picture[..., 0].astype(numpy.uint16) * 250)
    assert nestcast.encode(Image.fromarray(deep)) == nestcast.encode(deep)
    for mode in ("P", "CMYK", "YCbCr", "HSV", "LAB", "RGBX", "1", "I", "F", "PA"):
        other = image.convert("LAB") if mode == "LAB" else image.convert("L" if mode == "PA" else "RGB").convert(mode)
        message = f"cannot write mode {mode} as nestcast: convert it to L, RGB, LA, RGBA"
        with pytest.raises(OSError, match=message):
            other.save(tmp_path / "other.nst")
        for call in (nestcast.encode, lambda other: nestcast.encode_video([other])):
            with pytest.raises(nestcast.ArgumentError, match=message):
                call(other)
        with pytest.raises(nestcast.ArgumentError, match=message):
            nestcast.evaluate([other], rates=[1.0], rivals=[])
    with pytest.raises(OSError, match="there is no model"):
        image.save(tmp_path / "wrong.nst", model="nothing")


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_opacity_is_saved_and_opened(picture, mode, tmp_path):
    image = Image.fromarray(picture).convert(mode[:-1])
    image.putalpha(Image.fromarray(numpy.ascontiguousarray(picture[..., 0])))
    image.save(tmp_path / "alpha.nst")
    with Image.open(tmp_path / "alpha.nst") as opened:
        assert opened.mode == mode
        error = numpy.asarray(opened).astype(int) - numpy.asarray(image)
        assert abs(error).mean() < 2 and abs(error).max() < 16


def test_a_stream_of_16_bits_opens_in_8(picture):
    stream = nestcast.encode(picture.astype(numpy.uint16) * 257 + 1)
    assert stream.header.bits == 16
    image = Image.open(io.BytesIO(stream))
    assert image.mode == "RGB" and (numpy.asarray(image) == nestcast.decode(stream)).all()


def test_what_is_no_stream_does_not_open():
    video = nestcast.encode_video([numpy.zeros((48, 64, 3), numpy.uint8)])
    for data in (b"nst\x01", b"nst\x01\x00\x00\x00", video, b"nst\x09" + bytes(40)):
        with pytest.raises(UnidentifiedImageError):
            Image.open(io.BytesIO(data))
    unknown = bytearray(nestcast.encode(numpy.zeros((4, 4), numpy.uint8)))
    unknown[7] ^= 1  # the model's name
    with pytest.raises(OSError, match="unsupported model"):
        Image.open(io.BytesIO(unknown)).load()
