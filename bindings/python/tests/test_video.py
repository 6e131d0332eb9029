"""Video: frame by frame, and stored."""

import errno
import hashlib
import os
from fractions import Fraction
from pathlib import Path

import numpy
import pytest

import nestcast
from conftest import drawn

VECTORS = Path(__file__).parents[3] / "spec" / "vectors"


def clip(count: int = 6, height: int = 48, width: int = 64) -> list[tuple[numpy.ndarray, ...]]:
    """Returns frames of a picture that moves."""
    picture = drawn(height, width)
    return [nestcast.to_ycbcr(numpy.roll(picture, 2 * number, axis=1)) for number in range(count)]


def error(a, b) -> float:
    return float(numpy.mean([numpy.square(x.astype(int) - y).mean() for x, y in zip(a, b, strict=True)]))


def test_frames_decode_from_their_base_and_better_from_all_bytes():
    encoder = nestcast.VideoEncoder(64, 48, rate=30, bitrates=(50_000, 2_000_000))
    slow, fast = nestcast.VideoDecoder(64, 48), nestcast.VideoDecoder(64, 48)
    for number, frame in enumerate(clip()):
        coded = encoder.encode(frame)
        assert coded.key == (number == 0)
        assert 0 < coded.base <= coded.enhancement_reference <= len(coded) == len(coded.data)
        assert slow.decode(coded.data[: coded.base]) in ("base", "enhancement_reference")
        assert fast.decode(coded.data) == "enhancement_reference"
        assert error(fast.render(), frame) < error(slow.render(), frame)


def test_i420_is_the_same_as_three_planes():
    (luma, cb, cr), *_ = clip(1)
    i420 = numpy.concatenate([luma.ravel(), cb.ravel(), cr.ravel()]).reshape(72, 64)
    frames = [nestcast.VideoEncoder(64, 48).encode(frame).data for frame in ((luma, cb, cr), i420, [luma, cb, cr])]
    assert frames[0] == frames[1] == frames[2]
    wide = [numpy.pad(plane, ((0, 0), (0, 5)))[:, :-5] for plane in (luma, cb, cr)]
    assert nestcast.VideoEncoder(64, 48).encode(wide).data == frames[0]
    gaps = [numpy.repeat(plane, 2, axis=1)[:, ::2] for plane in (luma, cb, cr)]
    assert nestcast.VideoEncoder(64, 48).encode(gaps).data == frames[0]
    decoder = nestcast.VideoDecoder(64, 48)
    decoder.decode(frames[0])
    out = numpy.empty((72, 64), numpy.uint8)
    assert decoder.render(out) is out
    planes = decoder.render()
    assert out.tobytes() == b"".join(plane.tobytes() for plane in planes)
    gaps = [numpy.empty((plane.shape[0], 2 * plane.shape[1]), numpy.uint8)[:, ::2] for plane in planes]
    decoder.render(gaps)
    assert all((a == b).all() for a, b in zip(gaps, planes, strict=True))


def ramp(bits: int, height: int = 48, width: int = 64) -> tuple[numpy.ndarray, ...]:
    """Returns a frame whose luma rises by a step of `bits` bits every other pixel."""
    rows, columns = numpy.mgrid[0:height, 0:width]
    luma = (100 * 2 ** (bits - 8) + columns // 2 + rows // 3).astype(numpy.uint16)
    neutral = numpy.full((height // 2, width // 2), 128 * 2 ** (bits - 8), numpy.uint16)
    return luma, neutral, neutral


@pytest.mark.parametrize("bits", [9, 10, 12, 16])
def test_frames_of_more_than_8_bits_come_back_in_all_of_them(bits):
    frame = ramp(bits)
    encoder = nestcast.VideoEncoder(64, 48, bitrates=(100_000, 16_000_000), bits=bits)
    deep, shallow = nestcast.VideoDecoder(64, 48, bits=bits), nestcast.VideoDecoder(64, 48)
    for _ in range(4):
        coded = encoder.encode(frame)
        assert deep.decode(coded.data) == shallow.decode(coded.data) == "enhancement_reference"
    planes, rounded = deep.render(), shallow.render()
    assert [plane.dtype for plane in planes] == [numpy.uint16] * 3 and rounded[0].dtype == numpy.uint8
    scale = 2 ** (bits - 8)
    assert max(int(plane.max()) for plane in planes) < 256 * scale
    assert error(planes, frame) < max(0.5, (scale / 16) ** 2)
    assert numpy.abs(planes[0] / scale - rounded[0]).max() <= 0.5 + 1 / scale
    # Arrays decide: uint8 gets 8 bits, an I420 array or one with gaps gets the same samples.
    out = tuple(numpy.empty_like(plane) for plane in rounded)
    deep.render(out)
    assert all((a == b).all() for a, b in zip(out, rounded, strict=True))
    i420 = numpy.empty((72, 64), numpy.uint16)
    deep.render(i420)
    assert i420.tobytes() == b"".join(plane.tobytes() for plane in planes)
    gaps = [numpy.empty((plane.shape[0], 2 * plane.shape[1]), numpy.uint16)[:, ::2] for plane in planes]
    deep.render(gaps)
    assert all((a == b).all() for a, b in zip(gaps, planes, strict=True))
    flat = numpy.concatenate([plane.ravel() for plane in frame]).reshape(72, 64)
    wide = [numpy.pad(plane, ((0, 0), (0, 5)))[:, :-5] for plane in frame]
    spread = [numpy.repeat(plane, 2, axis=1)[:, ::2] for plane in frame]
    coded = [nestcast.VideoEncoder(64, 48, bits=bits).encode(given).data for given in (frame, flat, wide, spread)]
    assert len(set(coded)) == 1


def test_a_video_of_10_bits_is_stored_and_read_in_8_or_10():
    frames = [tuple(plane + number for plane in ramp(10)) for number in range(4)]
    video = nestcast.encode_video(frames, bitrates=(100_000, 16_000_000), bits=10)
    assert video[:4] == b"nst\x02"
    reader = nestcast.open_video(video, as_stored=True)
    assert reader.bits == 10
    deep, shallow = list(reader), list(nestcast.open_video(video))
    assert deep[3][0].dtype == numpy.uint16 and shallow[3][0].dtype == numpy.uint8
    assert error(deep[3], frames[3]) < 0.5 < error([4 * plane.astype(int) for plane in shallow[3]], frames[3])
    rgb = next(nestcast.open_video(video, as_stored=True).rgb())
    assert rgb.dtype == numpy.uint16 and rgb.shape == (48, 64, 3)
    white = next(nestcast.open_video(video).rgb())
    assert numpy.abs(rgb / 257 - white).max() < 2
    out = numpy.empty((72, 64), numpy.uint16)
    assert nestcast.open_video(video).read_into(out) == 0
    assert out[:48].tobytes() == deep[0][0].tobytes()
    # RGB becomes planes of the video's bits.
    picture = drawn(48, 64)
    from_8 = nestcast.encode_video([picture] * 2, bits=10)
    from_16 = nestcast.encode_video([picture.astype(numpy.uint16) * 257] * 2, bits=10)
    assert from_8 == from_16 and nestcast.open_video(from_8).bits == 10
    assert nestcast.open_video(nestcast.encode_video([picture])).bits == 8


def test_types_that_do_not_fit_the_bits_are_refused_by_name():
    deep, shallow = ramp(10), clip(1)[0]
    for bits in (0, 7, 17, 300):
        for make in (nestcast.VideoEncoder, nestcast.VideoDecoder, nestcast.VideoWriter):
            with pytest.raises(nestcast.ArgumentError, match="8 to 16 bits"):
                make(64, 48, bits=bits)
        with pytest.raises(nestcast.ArgumentError, match="8 to 16 bits"):
            nestcast.to_rgb(shallow, bits=bits)
        with pytest.raises(nestcast.ArgumentError, match="8 to 16 bits"):
            nestcast.to_ycbcr(drawn(48, 64), bits=bits)
    for given, bits, words in (
        (deep, 8, "state bits, 9 to 16"),
        (shallow, 10, "has arrays of uint16, not of uint8"),
        ((deep[0], shallow[1], deep[2]), 10, "of one type"),
        ((deep[0].astype(numpy.float32), *deep[1:]), 10, "uint8 or uint16 is needed, not of float32"),
        ((deep[0].astype(">u2"), *deep[1:]), 10, "uint8 or uint16 is needed"),
        ((deep[0].astype(numpy.int16), *deep[1:]), 10, "uint8 or uint16 is needed, not of int16"),
        (deep[:2], 10, "has planes of the shapes"),
        ((deep[0][1:], *deep[1:]), 10, "has planes of the shapes"),
    ):
        with pytest.raises(nestcast.ArgumentError, match=words):
            nestcast.VideoEncoder(64, 48, bits=bits).encode(given)
        with pytest.raises(nestcast.ArgumentError, match=words):
            nestcast.VideoWriter(64, 48, bits=bits).write(given)
    with pytest.raises(nestcast.ArgumentError, match="state bits, 9 to 16"):
        nestcast.VideoDecoder(64, 48).render(tuple(numpy.empty_like(plane) for plane in deep))
    with pytest.raises(nestcast.ArgumentError, match="state bits, 9 to 16"):
        nestcast.to_rgb(deep)
    with pytest.raises(nestcast.ArgumentError, match="three channels of uint16"):
        nestcast.to_rgb(deep, bits=10, out=numpy.empty((48, 64, 3), numpy.uint8))


def test_a_receiver_joins_with_a_frame_of_its_own():
    encoder = nestcast.VideoEncoder(64, 48, bitrates=(100_000, 1_600_000))
    frames = clip()
    for frame in frames[:3]:
        encoder.encode(frame)
    joined = encoder.join(2000)
    assert joined.key
    decoder = nestcast.VideoDecoder(64, 48)
    assert decoder.decode(joined.data) != "nothing"
    encoder.set_bitrates(200_000, 800_000)
    assert decoder.decode(encoder.encode(frames[3]).data) == "enhancement_reference"
    assert error(decoder.render(), frames[3]) < 600
    out = decoder.render()
    assert decoder.conceal(1, out) in (True, False)


def test_stored_videos_are_read_cut_and_sought(tmp_path):
    frames = clip(8)
    video = nestcast.encode_video(frames, rate=Fraction(30000, 1001), bitrates=(100_000, 3_200_000))
    reader = nestcast.open_video(video)
    assert (reader.width, reader.height, reader.rate) == (64, 48, Fraction(30000, 1001))
    assert (reader.matrix, reader.full_range) == ("601", False)
    whole = list(reader)
    assert len(whole) == 8 and reader.fault is None
    assert max(error(a, b) for a, b in zip(whole, frames, strict=True)) < 100

    slow = nestcast.cut(video, bitrate=100_000)
    assert len(slow) < 0.6 * len(video)
    assert error(list(nestcast.open_video(slow))[7], frames[7]) > error(whole[7], frames[7])
    assert len(list(nestcast.open_video(video, bitrate=100_000))) == 8

    file = tmp_path / "clip.nst"
    file.write_bytes(video)
    part = list(nestcast.open_video(file, start=5, stop=7))
    assert len(part) == 2 and error(part[0], whole[5]) == 0
    shape = next(iter(nestcast.open_video(file).rgb())).shape
    assert shape == (48, 64, 3)


def test_any_prefix_of_a_stored_video_is_a_video():
    video = nestcast.encode_video(clip(5))
    counts = []
    for end in (len(video), len(video) - 60, len(video) // 2, 60):
        reader = nestcast.open_video(video[:end])
        counts.append(len(list(reader)))
        assert (reader.fault is None) == (end == len(video))
    assert counts == sorted(counts, reverse=True) and counts[0] == 5


def test_a_video_that_ends_inside_its_header_needs_more_bytes():
    for bits in (8, 10):
        video = nestcast.encode_video([drawn(48, 64)] * 2, bits=bits)
        ended = 0
        for end in range(60):
            try:
                assert len(list(nestcast.open_video(video[:end]))) == 0
                break
            except nestcast.IncompleteHeaderError as error:
                assert ("ends inside its header" if end else "is empty") in str(error)
                ended += 1
                with pytest.raises(nestcast.IncompleteHeaderError):
                    nestcast.cut(video[:end], bitrate=100_000)
        assert 20 < ended < 60


def test_a_reader_reads_its_frames_once():
    video = nestcast.encode_video(clip(3))
    reader = nestcast.open_video(video)
    next(iter(reader))
    assert (len(list(reader)), len(list(reader))) == (2, 0)
    assert list(nestcast.open_video(video, start=7)) == []


def test_a_grey_picture_is_not_taken_as_i420():
    grey = drawn(48, 64)[..., 0]
    for rows in (48, 49):
        with pytest.raises(nestcast.ArgumentError, match=r"state size=\(width, height\) for I420, and make RGB of grey"):
            nestcast.encode_video([numpy.resize(grey, (rows, 64))])
    for write in (
        nestcast.VideoWriter(64, 48).write,
        nestcast.VideoEncoder(64, 48).encode,
        lambda frame: nestcast.encode_video([frame], size=(64, 48)),
    ):
        with pytest.raises(nestcast.ArgumentError, match=r"has planes of the shapes \(72, 64\), not \(48, 64\)"):
            write(grey)
    assert nestcast.encode_video([numpy.stack([grey] * 3, axis=2)])
    planes = clip(1)[0]
    i420 = numpy.concatenate([plane.ravel() for plane in planes]).reshape(72, 64)
    assert nestcast.encode_video([i420] * 2, size=(64, 48)) == nestcast.encode_video([planes] * 2)
    for frame in ((), (grey,), (grey[0],) * 3, grey[0]):
        with pytest.raises(nestcast.ArgumentError, match="three planes"):
            nestcast.encode_video([frame])


def test_samples_of_more_than_their_bits_are_refused():
    luma, cb, cr = ramp(10)
    too_large = luma.copy()
    too_large[47, 63] = 1024
    message = "a sample is 1024, but samples of 10 bits are at most 1023: .* P010, right by 6"
    flat = numpy.concatenate([plane.ravel() for plane in (too_large, cb, cr)]).reshape(72, 64)
    gaps = numpy.repeat(too_large, 2, axis=1)[:, ::2]
    for frame in ((too_large, cb, cr), flat, (gaps, cb, cr)):
        with pytest.raises(nestcast.ArgumentError, match=message):
            nestcast.VideoEncoder(64, 48, bits=10).encode(frame)
        with pytest.raises(nestcast.ArgumentError, match=message):
            nestcast.encode_video([frame], bits=10, size=(64, 48))
        with pytest.raises(nestcast.ArgumentError, match=message):
            nestcast.to_rgb(frame, bits=10)
    with pytest.raises(nestcast.ArgumentError, match="a sample is 32768"):
        nestcast.encode_video([(luma, cb << 6, cr)], bits=10)
    # The largest value, values between rows, and all values of 16 bits are allowed.
    too_large[47, 63] = 1023
    wide = numpy.full((48, 70), 65535, numpy.uint16)
    wide[:, 3:67] = too_large
    same = [nestcast.encode_video([(plane, cb, cr)], bits=10) for plane in (too_large, wide[:, 3:67])]
    assert same[0] == same[1]
    assert nestcast.encode_video([(numpy.full_like(luma, 65535), cb, cr)], bits=16)


def test_rgb_frames_and_several_renditions_are_stored():
    picture = drawn(48, 64)
    video = nestcast.encode_video([picture] * 4, renditions=2, full_range=True, matrix="709")
    reader = nestcast.open_video(video)
    assert (reader.matrix, reader.full_range) == ("709", True)
    decoded = list(reader.rgb())[-1]
    assert numpy.abs(decoded.astype(int) - nestcast.to_rgb(
        nestcast.to_ycbcr(picture, matrix="709", full_range=True), matrix="709", full_range=True
    )).mean() < 8


def test_colours_go_to_planes_and_back():
    colours = numpy.array([[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [90, 160, 30]], numpy.uint8)
    for matrix in ("601", "709"):
        for full_range in (False, True):
            for colour in colours:
                picture = numpy.broadcast_to(colour, (5, 3, 3))
                planes = nestcast.to_ycbcr(picture, matrix=matrix, full_range=full_range)
                back = nestcast.to_rgb(planes, matrix=matrix, full_range=full_range)
                assert numpy.abs(back.astype(int) - picture).max() <= 3, (matrix, full_range, colour)
    # The bars of SMPTE in BT.601.
    red = nestcast.to_ycbcr(numpy.full((2, 2, 3), (255, 0, 0), numpy.uint8), matrix="601")
    assert [int(plane[0, 0]) for plane in red] == [81, 90, 240]


def test_the_frozen_videos_are_refused_by_name():
    # They have tables of their own.
    with pytest.raises(nestcast.ModelError, match="it needs the models"):
        nestcast.open_video(VECTORS / "video.nst")


@pytest.mark.parametrize(
    "frame",
    [
        (numpy.zeros((48, 64), numpy.uint8),) * 3,
        numpy.zeros((48, 64), numpy.uint8),
        (numpy.zeros((48, 64), numpy.uint8),),
        (),
        numpy.zeros((72, 64), numpy.float32),
        numpy.zeros((72, 0), numpy.uint8),
    ],
)
def test_frames_of_another_shape_are_refused(frame):
    with pytest.raises(nestcast.ArgumentError):
        nestcast.VideoEncoder(64, 48).encode(frame)
    with pytest.raises(nestcast.ArgumentError):
        nestcast.VideoDecoder(64, 48).render(frame)


def test_bad_arguments_and_bytes_are_refused(tmp_path):
    with pytest.raises(nestcast.ArgumentError, match="at least one pixel"):
        nestcast.VideoEncoder(0, 48)
    with pytest.raises(nestcast.ArgumentError, match="a frame rate has 1 to 1000000 frames"):
        nestcast.VideoEncoder(64, 48, rate=0)
    with pytest.raises(nestcast.ArgumentError, match="the slowest receiver has 1 bit a second or more"):
        nestcast.VideoEncoder(64, 48, bitrates=(2, 1))
    with pytest.raises(nestcast.ArgumentError, match="at least one frame"):
        nestcast.encode_video([])
    with pytest.raises(nestcast.ArgumentError, match="matrix"):
        nestcast.VideoWriter(64, 48, matrix="2020")
    with pytest.raises(nestcast.ArgumentError, match="three renditions"):
        nestcast.VideoWriter(64, 48, renditions=4)
    with pytest.raises(nestcast.CorruptError):
        nestcast.open_video(b"no video")
    missing = tmp_path / "missing.nst"
    for given, number in ((missing, errno.ENOENT), (str(missing), errno.ENOENT), (tmp_path, errno.EISDIR)):
        with pytest.raises(OSError) as raised:
            nestcast.open_video(given)
        found = raised.value
        assert (found.errno, found.strerror, found.filename) == (number, os.strerror(number), os.fspath(given))
        assert type(found) is (FileNotFoundError if number == errno.ENOENT else IsADirectoryError)
    for options, message in (
        ({"start": -1}, "start is a whole number from 0 on, not -1"),
        ({"stop": -1}, "stop is"),
        ({"threads": -1}, "threads is"),
        ({"max_pixels": -1}, "max_pixels is"),
    ):
        with pytest.raises(nestcast.ArgumentError, match=message):
            nestcast.open_video(b"", **options)
    for rate in (-1, 10**12, (1, 10**12), Fraction(-1, 2)):
        with pytest.raises(nestcast.ArgumentError, match="rate is a positive number of frames a second"):
            nestcast.VideoEncoder(64, 48, rate=rate)
    for options in ({"bits": -1}, {"threads": -1}, {"renditions": -1}):
        with pytest.raises(nestcast.ArgumentError, match=f"{next(iter(options))} is a whole number from 0 on, not -1"):
            nestcast.encode_video(clip(1), **options)
    with pytest.raises(nestcast.ArgumentError, match="width is"):
        nestcast.VideoDecoder(-1, 48)
    with pytest.raises(nestcast.ArgumentError, match="8 to 16 bits"):
        nestcast.VideoDecoder(64, 48, bits=2**40)
    with pytest.raises(nestcast.LimitError):
        nestcast.open_video(nestcast.encode_video(clip(1)), max_pixels=100)
    with pytest.raises(nestcast.ArgumentError, match="a bit rate is 1 or more"):
        nestcast.cut(nestcast.encode_video(clip(1)), bitrate=0)
    writer = nestcast.VideoWriter(64, 48)
    writer.write(clip(1)[0])
    assert hashlib.sha256(writer.finish()).digest()
    for call in (writer.finish, lambda: writer.write(clip(1)[0])):
        with pytest.raises(nestcast.ArgumentError, match="the video is finished"):
            call()
    decoder = nestcast.VideoDecoder(64, 48)
    with pytest.raises(nestcast.CorruptError):
        decoder.decode(b"\xff" * 64)
    with pytest.raises(nestcast.LimitError):
        nestcast.VideoDecoder(64, 48, max_pixels=10).decode(nestcast.VideoEncoder(64, 48).encode(clip(1)[0]).data)
