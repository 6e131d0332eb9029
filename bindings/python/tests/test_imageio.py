"""The plugin of imageio."""

import numpy
import pytest

pytest.importorskip("imageio", reason="skipped: no imageio")

import imageio.v3 as imageio  # noqa: E402

import nestcast  # noqa: E402
import nestcast.imageio  # noqa: E402


@pytest.mark.parametrize("channels", [1, 3])
def test_any_prefix_of_a_picture_is_read(picture, channels, tmp_path):
    array = picture if channels == 3 else numpy.ascontiguousarray(picture[..., 0])
    stream = nestcast.encode(array)
    file = tmp_path / "picture.nst"
    for count in (stream.header.length, 100, len(stream)):
        file.write_bytes(stream[:count])
        read = imageio.imread(file)
        assert (read == nestcast.decode(stream[:count])).all()
        assert (imageio.imread(bytes(stream[:count]), extension=".nst") == read).all()
        assert imageio.improps(file).shape == array.shape
        assert imageio.immeta(file) == {"model": stream.header.model}
    # Other plugins do not know the bytes, so this one is found without an extension too.
    assert (imageio.imread(bytes(stream)) == nestcast.decode(stream)).all()
    with pytest.raises(IndexError, match="no frame 1"):
        imageio.imread(file, index=1)


def test_frames_of_a_video_are_read(picture, tmp_path):
    frames = [numpy.roll(picture, 4 * number, axis=1) for number in range(5)]
    video = nestcast.encode_video(frames, rate=25, bitrates=(100_000, 1_600_000))
    file = tmp_path / "video.nst"
    file.write_bytes(video)
    expected = list(nestcast.open_video(video).rgb())
    assert (imageio.imread(file) == numpy.stack(expected)).all()
    assert (imageio.imread(file, index=3) == expected[3]).all()
    assert [(frame == other).all() for frame, other in zip(imageio.imiter(file), expected, strict=True)] == [True] * 5
    assert imageio.immeta(file) == {"fps": 25.0}
    properties = imageio.improps(file)
    assert (properties.shape, properties.n_images) == ((5, *picture.shape), 5)
    assert imageio.improps(file, index=0).shape == picture.shape
    slow = list(nestcast.open_video(video, bitrate=150_000).rgb())
    assert (imageio.imread(file, index=2, bitrate=150_000) == slow[2]).all()
    with pytest.raises(IndexError, match="no frame 5"):
        imageio.imread(file, index=5)
    # A video whose writer was killed.
    for length in (len(video) // 2, len(video) // 10, 60):
        file.write_bytes(video[:length])
        count = len(list(imageio.imiter(file)))
        assert count < 5 and imageio.improps(file).n_images == count


def test_a_picture_of_pillow_in_another_mode_is_not_written(picture, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="skipped: no Pillow").fromarray(picture)
    imageio.imwrite(tmp_path / "rgb.nst", image, plugin="nestcast")
    assert (tmp_path / "rgb.nst").read_bytes() == nestcast.encode(picture)
    with pytest.raises(OSError, match="cannot write mode HSV"):
        imageio.imwrite(tmp_path / "hsv.nst", image.convert("HSV"), plugin="nestcast")


def test_properties_decode_nothing_and_heed_a_limit(picture, tmp_path, monkeypatch):
    file = tmp_path / "video.nst"
    file.write_bytes(nestcast.encode_video([picture] * 3, rate=25))

    def decode(*_):
        raise AssertionError("a frame was decoded")

    monkeypatch.setattr(nestcast.VideoReader, "read_into", decode)
    assert imageio.improps(file).n_images == 3
    pixels = picture.shape[0] * picture.shape[1]
    with imageio.imopen(file, "r") as opened:
        assert opened.properties(max_pixels=pixels).n_images == 3
        for index in (None, 0):
            with pytest.raises(OSError, match="limit"):
                opened.properties(index, max_pixels=pixels - 1)


def test_pictures_are_written(picture, tmp_path):
    file = tmp_path / "written.nst"
    imageio.imwrite(file, picture, max_bytes=300)
    assert file.read_bytes() == nestcast.encode(picture, max_bytes=300)
    assert imageio.imwrite("<bytes>", picture, extension=".nst") == nestcast.encode(picture)
    with pytest.raises(OSError, match="one picture"):
        imageio.imwrite(file, [picture, picture])


def test_what_is_no_stream_is_refused(picture, tmp_path):
    file = tmp_path / "wrong.nst"
    for data in (b"", b"nst\x01", b"GIF89a" + bytes(40)):
        file.write_bytes(data)
        with pytest.raises(OSError):
            imageio.imread(file, plugin="nestcast")
    unknown = bytearray(nestcast.encode(picture))
    unknown[7] ^= 1  # the model's name
    with pytest.raises(OSError, match="unsupported model"):
        imageio.imread(bytes(unknown), extension=".nst")
