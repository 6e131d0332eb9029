"""Pictures: arrays in, bytes out, any prefix back."""

import copy
import hashlib
import pickle
import threading
from pathlib import Path

import numpy
import pytest

import nestcast
from conftest import drawn

VECTORS = Path(__file__).parents[3] / "spec" / "vectors"


def test_every_prefix_decodes_and_the_error_falls(picture):
    stream = nestcast.encode(picture)
    assert isinstance(stream, bytes)
    assert stream.shape == picture.shape
    errors = []
    for count in (stream.header.length, 200, 1000, len(stream)):
        decoded = nestcast.decode(stream.cut(count))
        errors.append(numpy.square(picture.astype(int) - decoded).mean())
    assert errors == sorted(errors, reverse=True) and errors[-1] < errors[0] / 50


def test_the_frozen_vectors_have_their_digests():
    tables = (VECTORS / "tables.bin").read_bytes()
    decoder = nestcast.Decoder(tables)
    lines = (VECTORS / "manifest.tsv").read_text().splitlines()[1:]
    for line in lines:
        name, kind, width, height, model, _, _, cut, _, digest = line.split("\t")
        stream = (VECTORS / f"{name}.nst").read_bytes()[: int(cut)]
        decoder.reset()
        samples = decoder.push(stream).render(as_stored=True)
        channels = {"grey": 1, "grey-alpha": 2, "rgb": 3, "rgba": 4}[kind.removesuffix("16")]
        assert samples.shape == (int(height), int(width), *([channels] if channels > 1 else [])), name
        assert samples.dtype == (numpy.uint16 if kind.endswith("16") else numpy.uint8), name
        assert 0 <= decoder.position <= 21, (name, cut)
        assert hashlib.sha256(samples.tobytes()).hexdigest() == digest, (name, cut)
        assert nestcast.Stream(stream).header.model == model
    assert len(lines) > 20


def test_bytes_in_pieces_give_the_picture_of_the_whole(picture):
    stream = nestcast.encode(picture)
    decoder = nestcast.Decoder()
    assert decoder.position is None
    for at in range(len(stream)):
        decoder.push(stream[at : at + 1])
    assert decoder.complete and decoder.position == 0.0
    assert (decoder.render() == nestcast.decode(stream)).all()
    # The next stream, after a reset, in the same decoder.
    decoder.reset()
    grey = numpy.ascontiguousarray(picture[..., 0])
    assert decoder.push(bytearray(nestcast.encode(grey))).render().shape == grey.shape


def test_layouts_of_one_picture_give_one_stream(picture):
    stream = nestcast.encode(picture)
    wide = numpy.zeros((picture.shape[0], picture.shape[1] + 7, 3), numpy.uint8)
    wide[:, 3:-4] = picture
    layouts = {
        "a part of a wider array": wide[:, 3:-4],
        "Fortran's order": numpy.asfortranarray(picture),
        "channels first": numpy.ascontiguousarray(picture.transpose(2, 0, 1)).transpose(1, 2, 0),
        "rows that run backwards": numpy.ascontiguousarray(picture[::-1])[::-1],
        "columns that run backwards": numpy.ascontiguousarray(picture[:, ::-1])[:, ::-1],
        "swapped channels": numpy.ascontiguousarray(picture[..., ::-1])[..., ::-1],
        "every second sample": numpy.repeat(picture, 2, axis=1)[:, ::2],
        "bytes": memoryview(picture.tobytes()).cast("B", picture.shape),
    }
    for name, layout in layouts.items():
        assert nestcast.encode(layout) == stream, name
    grey = numpy.ascontiguousarray(picture[..., 1])
    assert nestcast.encode(picture[..., 1]) == nestcast.encode(grey) == nestcast.encode(grey[..., None])


def test_rendering_fills_the_callers_array_and_nothing_around_it(picture):
    stream = nestcast.encode(picture)
    expected = nestcast.decode(stream)
    height, width, _ = picture.shape
    canvas = numpy.full((height + 2, width + 5, 3), 7, numpy.uint8)
    part = canvas[1:-1, 2:-3]
    decoder = nestcast.Decoder().push(stream)
    assert decoder.render(part) is part
    assert (part == expected).all()
    around = numpy.ones(canvas.shape, bool)
    around[1:-1, 2:-3] = False
    assert (canvas[around] == 7).all()
    for out in (numpy.empty_like(picture)[::-1], numpy.empty((3, height, width), numpy.uint8).transpose(1, 2, 0)):
        assert (decoder.render(out) == expected).all()
    raw = bytearray(expected.size)
    decoder.render(memoryview(raw).cast("B", expected.shape))
    assert raw == expected.tobytes()


def test_limits_and_threads_do_not_change_the_bytes(picture):
    stream = nestcast.encode(picture)
    assert nestcast.encode(picture, threads=2) == stream
    assert nestcast.encode(picture, max_bytes=300) == stream[:300]
    encoder = nestcast.Encoder(max_bytes=100)
    assert encoder.encode(picture) == stream[:100]
    assert encoder.encode(picture, max_bytes=50) == stream[:50]
    assert encoder.encode(picture) == stream[:100]
    assert stream.cut(bpp=1.0) == stream[: picture.shape[0] * picture.shape[1] // 8]
    assert abs(stream.cut(bpp=1.0).bpp - 1.0) < 1e-9
    assert nestcast.cut(stream, 64) == stream[:64]
    assert len(stream.cut(0)) == stream.header.length


def test_another_model_is_found_by_the_stream(picture):
    assert "photo" in nestcast.models()
    stream = nestcast.encode(picture, model="photo-ssim")
    assert stream.header.model != nestcast.encode(picture).header.model
    assert nestcast.decode(stream).shape == picture.shape
    with pytest.raises(nestcast.ModelError, match="unsupported model .* the stream needs it"):
        nestcast.decode(stream, model="photo")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (numpy.zeros((4, 4), numpy.float32), "an array of uint8 or uint16 is needed, not of float32"),
        (numpy.zeros((4, 4), numpy.int8), "an array of uint8 or uint16 is needed, not of int8"),
        (numpy.zeros((4, 4), bool), "an array of uint8 or uint16 is needed, not of bool"),
        ([[1, 2], [3, 4]], "an array of uint8 or uint16 is needed, not of int64"),
        (numpy.zeros(4, numpy.uint8), r"not \(4,\)"),
        (numpy.zeros((4, 4), ">u2"), "an array of uint8 or uint16 is needed, not of .*>H"),
        (numpy.zeros((4, 4, 0), numpy.uint8), r"not \(4, 4, 0\)"),
        (numpy.zeros((4, 4, 5), numpy.uint8), r"not \(4, 4, 5\)"),
        (numpy.zeros((2, 4, 4, 3), numpy.uint8), r"not \(2, 4, 4, 3\)"),
        (numpy.zeros((), numpy.uint8), "the array cannot be used"),
        (numpy.zeros((0, 4), numpy.uint8), "a picture needs at least one pixel"),
        (numpy.zeros((4, 0, 3), numpy.uint8), "a picture needs at least one pixel"),
    ],
)
def test_arrays_that_are_no_picture_are_refused(array, message):
    with pytest.raises(nestcast.ArgumentError, match=message):
        nestcast.encode(array)


@pytest.fixture(scope="module")
def deep(picture) -> numpy.ndarray:
    """Returns colours and opacity of 12 bits, on the scale of 16."""
    ramp = numpy.linspace(0, 4095, picture.shape[1]).astype(int) + numpy.zeros((picture.shape[0], 1), int)
    waves = [2048 + 2000 * numpy.sin(ramp / (300 + 90 * channel)) for channel in range(3)]
    samples = numpy.stack([*waves, ramp], axis=2).astype(int)
    return (samples << 4 | samples >> 8).astype(numpy.uint16)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_more_bits_and_opacity_come_back_as_stored(deep, channels):
    chosen = {1: [0], 2: [0, 3], 3: [0, 1, 2], 4: [0, 1, 2, 3]}[channels]
    array = numpy.ascontiguousarray(deep[..., chosen])
    stream = nestcast.encode(array)
    header = stream.header
    assert (header.bits, header.alpha, header.channels) == (16, channels in (2, 4), 1 if channels < 3 else 3)
    stored = nestcast.decode(stream, as_stored=True)
    assert stored.dtype == numpy.uint16
    assert stored.shape == (array.shape if channels > 1 else array.shape[:2])
    # Rounding to 8 bits is an error of 64 in the mean.
    assert abs(stored.reshape(array.shape).astype(int) - array).mean() < 16
    # By default 8 bits over white.
    shown = nestcast.decode(stream)
    assert shown.dtype == numpy.uint8 and shown.shape == stream.shape
    colours, opacity = array[..., : header.channels] / 257, array[..., -1:] / 65535 if header.alpha else 1
    white = colours * opacity + 255 * (1 - opacity)
    assert abs(white.reshape(shown.shape) - shown).mean() < 0.6
    # The header alone, as any prefix.
    assert nestcast.decode(stream.cut(0), as_stored=True).shape == stored.shape


def test_an_array_decides_what_is_drawn_into_it(deep, picture):
    stream = nestcast.encode(deep)
    stored = nestcast.decode(stream, as_stored=True)
    decoder = nestcast.Decoder().push(stream)
    height, width, _ = deep.shape
    wide = numpy.full((height, width + 3, 4), 7, numpy.uint16)
    assert (decoder.render(wide[:, 1:-2]) == stored).all() and (wide[:, [0, -2, -1]] == 7).all()
    # With gaps between samples, so by a copy.
    assert (decoder.render(numpy.empty((4, height, width), numpy.uint16).transpose(1, 2, 0)) == stored).all()
    few = decoder.render(numpy.empty(deep.shape, numpy.uint8))
    assert abs(few.astype(int) * 257 - stored).max() <= 257
    # An opaque stream of 8 bits in an array of 16 with opacity.
    whole = nestcast.decode(nestcast.encode(picture), out=numpy.empty((*picture.shape[:2], 4), numpy.uint16))
    assert (whole[..., 3] == 65535).all()
    assert abs(whole[..., :3] / 257 - nestcast.decode(nestcast.encode(picture))).max() <= 1
    assert nestcast.decode(nestcast.encode(picture), as_stored=True).dtype == numpy.uint8
    with pytest.raises(nestcast.ArgumentError, match="either out or as_stored"):
        decoder.render(wide[:, 1:-2], as_stored=True)
    with pytest.raises(nestcast.LimitError, match="with its opacity and its bits a sample"):
        nestcast.decode(stream, max_pixels=height * width)
    # Layouts of uint16 give one stream, and samples that 8 bits hold give that of 8 bits.
    assert nestcast.encode(numpy.asfortranarray(deep)) == stream
    assert nestcast.encode(picture.astype(numpy.uint16) * 257) == nestcast.encode(picture)


def test_a_side_has_a_limit():
    with pytest.raises(nestcast.LimitError, match="the picture's longer side in pixels is 16385, over the limit of 16384"):
        nestcast.encode(numpy.zeros((1, 16385), numpy.uint8))
    with pytest.raises(nestcast.LimitError, match="over the limit of 10"):
        nestcast.decode(nestcast.encode(numpy.zeros((4, 4), numpy.uint8)), max_pixels=10)


def test_arrays_that_cannot_be_drawn_into_are_refused(picture):
    decoder = nestcast.Decoder().push(nestcast.encode(picture))
    frozen = numpy.empty_like(picture)
    frozen.flags.writeable = False
    wrong = [numpy.empty(picture.shape[:2], numpy.uint8), numpy.empty((96, 127, 3), numpy.uint8), frozen]
    wrong += [numpy.empty(picture.shape, numpy.float32), bytes(picture.size)]
    wrong += [numpy.empty((*picture.shape[:2], 2), numpy.uint8), numpy.empty(picture.shape[:2], numpy.uint16)]
    for out in wrong:
        with pytest.raises(nestcast.ArgumentError):
            decoder.render(out)
    with pytest.raises(nestcast.ArgumentError, match=r"has the shape \(96, 128, 3\)"):
        decoder.render(wrong[0])
    with pytest.raises(nestcast.ArgumentError, match="read-only"):
        decoder.render(frozen)
    with pytest.raises(TypeError):
        decoder.render("text")
    # One dimension of stride 0: every row is the same memory.
    with pytest.raises(nestcast.ArgumentError):
        decoder.render(numpy.broadcast_to(numpy.zeros((1, 128, 3), numpy.uint8), picture.shape))


def test_bytes_that_are_no_stream_are_refused():
    with pytest.raises(nestcast.CorruptError, match='it does not begin with "nst"'):
        nestcast.decode(b"GIF89a")
    with pytest.raises(nestcast.VersionError, match="unsupported stream version 9"):
        nestcast.decode(b"nst\x09")
    decoder = nestcast.Decoder()
    with pytest.raises(nestcast.IncompleteHeaderError, match="more bytes are needed"):
        decoder.push(b"nst").render()
    with pytest.raises(nestcast.IncompleteHeaderError):
        decoder.shape  # noqa: B018
    with pytest.raises(nestcast.IncompleteHeaderError):
        nestcast.Stream(b"nst\x01")
    with pytest.raises(nestcast.ArgumentError, match="not one piece"):
        decoder.push(memoryview(bytes(8))[::2])
    with pytest.raises(TypeError):
        decoder.push("text")
    for error in (nestcast.CorruptError, nestcast.LimitError, nestcast.ArgumentError, nestcast.IncompleteHeaderError):
        assert issubclass(error, nestcast.Error)


def test_a_decoder_goes_on_after_a_reset_with_streams_of_any_model(picture):
    decoder = nestcast.Decoder()
    streams = [nestcast.encode(picture, model=model) for model in ("photo", "photo-ssim")]
    for stream in (streams[0], streams[0][:400], streams[1], streams[0][:3], streams[1]):
        decoder.reset()
        decoder.push(stream)
        if len(stream) > 3:
            assert (decoder.render() == nestcast.decode(stream)).all()
    decoder.reset()
    with pytest.raises(nestcast.IncompleteHeaderError):
        decoder.render()
    with pytest.raises(nestcast.CorruptError):
        decoder.push(b"GIF89a")
    decoder.reset()
    assert (decoder.push(streams[0]).render() == nestcast.decode(streams[0])).all()


def test_arguments_out_of_range_are_refused(picture):
    with pytest.raises(nestcast.ArgumentError, match="at least one thread"):
        nestcast.encode(picture, threads=0)
    with pytest.raises(nestcast.ArgumentError, match="at least one thread"):
        nestcast.Decoder(threads=0)
    with pytest.raises(nestcast.ModelError, match="there is no model and no folder called nothing"):
        nestcast.encode(picture, model="nothing")
    with pytest.raises(nestcast.CorruptError):
        nestcast.encode(picture, model=b"no tables")
    with pytest.raises(nestcast.ArgumentError):
        nestcast.encode(picture).cut()
    with pytest.raises(nestcast.ArgumentError):
        nestcast.encode(picture).cut(-1)
    stream = nestcast.encode(picture)
    for call in (nestcast.encode, nestcast.Encoder().encode):
        with pytest.raises(nestcast.ArgumentError, match="max_bytes is a whole number from 0 on, not -1"):
            call(picture, max_bytes=-1)
    for options in ({"threads": -1}, {"threads": 1.5}, {"threads": 2**64}, {"max_pixels": -1}, {"max_pixels": "7"}):
        (name,) = options
        with pytest.raises(nestcast.ArgumentError, match=f"{name} is a whole number from 0 on, not"):
            nestcast.decode(stream, **options)
    for bpp in (float("nan"), float("inf"), -1, "1"):
        with pytest.raises(nestcast.ArgumentError, match="bpp is a number from 0 on, not"):
            nestcast.cut(stream, bpp=bpp)
    assert nestcast.decode(stream, threads=numpy.int64(2)).shape == picture.shape


def test_what_is_no_array_is_refused_with_advice(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG")
    with file.open("rb") as opened:
        for given in (None, "a.png", file, opened, ["a.png"], {}):
            with pytest.raises(nestcast.ArgumentError, match="give an array, not .*: open a file first"):
                nestcast.encode(given)
            with pytest.raises(nestcast.ArgumentError, match="give an array, not .*: open a file first|has three planes"):
                nestcast.encode_video([given])


def test_streams_and_headers_are_copied_and_compared(picture):
    stream = nestcast.encode(picture)
    for _ in range(2):
        for made in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
            assert type(made) is nestcast.Stream and made == stream and made.header == stream.header
        # Once more, when its facts were read.
        assert stream.shape == picture.shape
    header = stream.header
    assert pickle.loads(pickle.dumps(header)) == copy.copy(header) == header
    assert hash(nestcast.Stream(stream[:100]).header) == hash(header)
    assert nestcast.encode(picture[..., 0]).header != header and header != 1


def test_a_decoder_used_from_two_threads_is_refused_and_stays_whole():
    picture = drawn(1024, 1024)
    stream = nestcast.encode(picture)
    expected = nestcast.decode(stream)
    decoder = nestcast.Decoder().push(stream)
    begin, refused, wrong = threading.Barrier(2), [], []

    def render() -> None:
        begin.wait()
        for _ in range(10):
            try:
                if not (decoder.render() == expected).all():
                    wrong.append("another picture")
            except nestcast.ArgumentError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=render) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    # Calls overlap, because the lock of the interpreter is released.
    message = "invalid argument: another thread uses this decoder: each thread needs its own"
    assert refused and set(refused) == {message}
    assert (decoder.render() == expected).all()


def test_two_decoders_do_not_draw_into_one_array_at_once():
    stream = nestcast.encode(drawn(1024, 1024))
    out = numpy.empty((1024, 1024, 3), numpy.uint8)
    begin, refused = threading.Barrier(2), []

    def render() -> None:
        decoder = nestcast.Decoder().push(stream)
        begin.wait()
        for _ in range(10):
            try:
                decoder.render(out)
            except nestcast.ArgumentError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=render) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused and all("uses this array" in message for message in refused)
    assert (nestcast.Decoder().push(stream).render(out) == nestcast.decode(stream)).all()


def test_an_array_is_not_encoded_while_another_thread_draws_into_it():
    """Neither call has a copy of a contiguous array: the second one is refused."""
    stream = nestcast.encode(drawn(1024, 1024))
    shared = nestcast.decode(stream)
    begin, done, refused = threading.Barrier(2), threading.Event(), []

    def attempt(call) -> None:
        try:
            call()
        except nestcast.ArgumentError as error:
            refused.append(str(error))

    def draw() -> None:
        decoder = nestcast.Decoder().push(stream)
        begin.wait()
        while not done.is_set():
            attempt(lambda: decoder.render(shared))

    drawing = threading.Thread(target=draw)
    drawing.start()
    encoder = nestcast.Encoder()
    begin.wait()
    try:
        for _ in range(10):
            attempt(lambda: encoder.encode(shared))
    finally:
        done.set()
        drawing.join()
    assert refused and all("another thread's call uses this array" in message for message in refused)
    assert nestcast.encode(shared) == encoder.encode(shared)


def test_networks_need_onnx_runtime_and_improve_the_picture(picture, monkeypatch):
    stream = nestcast.encode(picture)
    try:
        deep = nestcast.decode(stream.cut(bpp=0.5), deep=True)
    except nestcast.NetworkError as error:
        assert "ONNX Runtime" in str(error) and "`pip install onnxruntime`" in str(error)
        pytest.skip("skipped: no ONNX Runtime")
    linear = nestcast.decode(stream.cut(bpp=0.5))
    assert deep.shape == linear.shape and (deep != linear).any()


def test_tables_have_no_networks(picture):
    with pytest.raises(nestcast.ArgumentError, match="tables have no networks"):
        nestcast.Decoder((VECTORS / "tables.bin").read_bytes(), deep=True)
