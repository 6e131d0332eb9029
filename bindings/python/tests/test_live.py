"""Broadcasts: sent by one thread and received by another."""

import itertools
import json
import os
import re
import subprocess
import threading
import time
import urllib.request

import numpy
import pytest

import nestcast
from conftest import drawn


def frames(count: int | None = None):
    picture = drawn(48, 64)
    numbers = itertools.count() if count is None else range(count)
    return (nestcast.to_ycbcr(numpy.roll(picture, 2 * number, axis=1)) for number in numbers)


def test_frames_that_are_sent_arrive_in_order():
    found: list[nestcast.Broadcast] = []
    ready, enough = threading.Event(), threading.Event()

    def until_enough():
        for frame in frames():
            if enough.is_set():
                return
            yield frame

    def open_door(broadcast: nestcast.Broadcast) -> None:
        found.append(broadcast)
        ready.set()

    counts: list[int] = []
    sender = threading.Thread(
        target=lambda: counts.append(nestcast.send(until_enough(), rate=60, listen="127.0.0.1:0", ready=open_door))
    )
    sender.start()
    assert ready.wait(60)
    broadcast = found[0]
    assert len(broadcast.fingerprint.replace(":", "")) == 64
    ids = []
    for frame in nestcast.receive(broadcast.address, broadcast.fingerprint, keep=64):
        ids.append(frame.id)
        assert frame.shape == (48, 64, 3)
        luma, cb, cr = frame.picture()
        assert (luma.shape, cb.shape, cr.shape) == ((48, 64), (24, 32), (24, 32))
        assert frame.rgb().shape == (48, 64, 3)
        if not frame.concealed:
            assert 0 < frame.bytes <= frame.full and frame.latency >= 0
        if len(ids) == 10:
            assert broadcast.receivers == 1
            enough.set()
    # The loop ends with the broadcast.
    sender.join(60)
    assert not sender.is_alive()
    assert ids == sorted(ids) and len(ids) >= 10
    assert counts[0] > 0 and broadcast.frames > 0
    with pytest.raises(nestcast.SessionError, match="the broadcast is over"):
        broadcast.write(next(frames()))


def test_a_receiver_leaves_and_the_sender_goes_on():
    picture = drawn(48, 64)
    with nestcast.Broadcast(64, 48, listen="127.0.0.1:0", full_range=True) as broadcast:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                broadcast.write(picture)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with nestcast.receive(broadcast.address, broadcast.fingerprint) as reception:
                frame = next(reception)
                assert numpy.abs(frame.rgb().astype(int) - picture).mean() < 60
                out = [numpy.zeros(shape, numpy.uint8) for shape in ((48, 64), (24, 32), (24, 32))]
                assert frame.picture(out) is out and out[0].any()
                with pytest.raises(nestcast.ArgumentError):
                    frame.picture(numpy.empty((48, 64, 3), numpy.uint8))
            reception.close()
            again = next(nestcast.receive(broadcast.address, broadcast.fingerprint))
            assert again.id >= frame.id
        finally:
            stop.set()
            writer.join(60)
        broadcast.close(at_once=True)
        with pytest.raises(nestcast.SessionError, match="over|closed"):
            broadcast.write(picture)


def test_a_broadcast_of_10_bits_is_received_in_8_or_10():
    planes = [numpy.full(shape, value, numpy.uint16) for shape, value in (((48, 64), 401), ((24, 32), 512), ((24, 32), 512))]
    with nestcast.Broadcast(64, 48, listen="127.0.0.1:0", bits=10) as broadcast:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                broadcast.write(planes)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with pytest.raises(nestcast.ArgumentError, match="has arrays of uint16, not of uint8"):
                broadcast.write([plane.astype(numpy.uint8) for plane in planes])
            for as_sent, bits, samples, luma in ((True, 10, numpy.uint16, 401), (False, 8, numpy.uint8, 100)):
                with nestcast.receive(broadcast.address, broadcast.fingerprint, as_sent=as_sent) as reception:
                    frame = next(reception)
                    shown = frame.picture()
                    assert frame.bits == bits and shown[0].dtype == samples
                    assert abs(float(shown[0].mean()) - luma) < 2 * 2 ** (bits - 8)
                    assert frame.rgb().dtype == samples
                    if as_sent:
                        with pytest.raises(nestcast.ArgumentError, match="has arrays of uint16"):
                            frame.picture([plane.astype(numpy.uint8) for plane in planes])
        finally:
            stop.set()
            writer.join(60)


def test_a_broadcast_is_asked_for_by_its_name():
    if "NESTCAST_SEVERAL" not in os.environ:
        pytest.skip("skipped: NESTCAST_SEVERAL names no program with two broadcasts: run `cargo xtask bindings`")
    with subprocess.Popen([os.environ["NESTCAST_SEVERAL"], "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdout is not None
        try:
            for width, height in ((64, 48), (96, 80)):
                found = re.search(r"(\S+:\d+/cam\d) --fingerprint (\S+)", sender.stdout.readline())
                assert found
                with nestcast.receive(found[1], found[2]) as reception:
                    assert next(reception).shape == (height, width, 3)
            with pytest.raises(nestcast.SessionError, match="no broadcast of this name"):
                next(nestcast.receive(found[1].replace("cam2", "cam3"), found[2]))
        finally:
            sender.kill()


def test_browsers_get_a_page_at_the_link():
    with nestcast.Broadcast(64, 48, listen="127.0.0.1:0") as broadcast:
        assert broadcast.link is None
    with nestcast.Broadcast(64, 48, listen="127.0.0.1:0", web="127.0.0.1:0") as broadcast:
        page, _, source = broadcast.link.partition("#")
        assert source.startswith(f"src=https://{broadcast.address}/&fingerprint=")
        with urllib.request.urlopen(page) as answer:
            assert b"nestcast-player" in answer.read()
        with urllib.request.urlopen(f"{page}certificate.json") as answer:
            facts = json.load(answer)
        assert f"fingerprint={facts['fingerprint']}" in source and broadcast.address.endswith(f":{facts['port']}")
    # The page ends with the broadcast.
    ends = time.monotonic() + 60
    with pytest.raises(OSError):
        while time.monotonic() < ends:
            urllib.request.urlopen(page, timeout=60).close()


def bytes_of_frames(broadcast: nestcast.Broadcast, **options) -> float:
    """Returns the mean bytes of frames that a receiver gets. Their noise changes, so a whole frame has many bytes."""
    noisy = [nestcast.to_ycbcr(drawn(240, 320, seed)) for seed in range(8)]
    stop = threading.Event()

    def write() -> None:
        for frame in itertools.cycle(noisy):
            if stop.is_set():
                return
            broadcast.write(frame)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with nestcast.receive(broadcast.address, broadcast.fingerprint, latency=0.2, keep=64, **options) as reception:
            shown = list(itertools.islice((frame for frame in reception if not frame.concealed), 40))
        assert all(frame.latency >= 0.15 for frame in shown[5:])
        return sum(frame.bytes for frame in shown[20:]) / len(shown[20:])
    finally:
        stop.set()
        writer.join(60)


def test_a_receiver_has_a_cap_and_a_latency():
    with nestcast.Broadcast(320, 240, listen="127.0.0.1:0") as broadcast:
        whole, capped = (bytes_of_frames(broadcast, max_bitrate=cap) for cap in (None, 200_000))
    assert capped < whole / 2


def test_a_broadcast_limits_what_each_receiver_gets():
    means = []
    for limit in (None, 200_000):
        with nestcast.Broadcast(320, 240, listen="127.0.0.1:0", max_bitrate=limit) as broadcast:
            means.append(bytes_of_frames(broadcast))
    whole, limited = means
    assert limited < whole / 2


def test_senders_and_receivers_refuse_bad_arguments():
    for address, options in (
        ("nowhere", {"fingerprint": "ab" * 32}),
        ("127.0.0.1:4433", {}),
        ("127.0.0.1:4433", {"fingerprint": "ab"}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "authorities": "file.pem"}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "retry": -1.0}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "threads": 0}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "keep": 0}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "max_bitrate": 0}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "latency": 0.5}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "latency": -0.1}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "threads": -1}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "keep": -1}),
        ("127.0.0.1:4433", {"fingerprint": "ab" * 32, "token": "text"}),
    ):
        with pytest.raises(nestcast.ArgumentError):
            nestcast.receive(address, **options)
    with pytest.raises(nestcast.SessionError, match="missing.pem cannot be used: .*No such file"):
        next(nestcast.receive("127.0.0.1:4433", authorities="missing.pem"))
    for options in (
        {"rate": (0, 1)},
        {"rate": -1},
        {"rate": 10**12},
        {"listen": "here"},
        {"web": "here"},
        {"threads": 0},
        {"threads": -1},
        {"matrix": "2020"},
        {"bits": 17},
        {"token": "text"},
        {"max_bitrate": 0},
    ):
        with pytest.raises(nestcast.ArgumentError):
            nestcast.Broadcast(64, 48, **{"listen": "127.0.0.1:0", **options})
    with pytest.raises(nestcast.ArgumentError, match="token is bytes, not str"):
        nestcast.send(frames(1), listen="127.0.0.1:0", token="text")
    with pytest.raises(nestcast.ArgumentError, match="at least one frame"):
        nestcast.send([])
    with pytest.raises(nestcast.ArgumentError, match="I420 or grey"):
        nestcast.send([numpy.zeros((48, 64), numpy.uint8)], listen="127.0.0.1:0")
    with pytest.raises(nestcast.ArgumentError, match="has planes of the shapes"):
        nestcast.send([numpy.zeros((48, 64), numpy.uint8)], listen="127.0.0.1:0", size=(64, 48))
    assert nestcast.send([numpy.zeros((72, 64), numpy.uint8)], listen="127.0.0.1:0", size=(64, 48)) == 1
    with nestcast.Broadcast(64, 48, listen="127.0.0.1:0") as broadcast:
        with pytest.raises(nestcast.ArgumentError, match="has planes of the shapes"):
            broadcast.write(numpy.zeros((10, 10), numpy.uint8))
        with pytest.raises(nestcast.SessionError, match="cannot listen on"):
            nestcast.Broadcast(64, 48, listen=broadcast.address)
    with nestcast.Broadcast(64, 48, listen="127.0.0.1:0", web="127.0.0.1:0") as broadcast:
        taken = broadcast.link.split("/")[2]
        with pytest.raises(nestcast.SessionError, match=f"cannot listen on {taken}"):
            nestcast.Broadcast(64, 48, listen="127.0.0.1:0", web=taken)


def test_an_iterator_that_raises_ends_the_broadcast():
    def broken():
        yield next(frames())
        raise ZeroDivisionError

    found: list[nestcast.Broadcast] = []
    with pytest.raises(ZeroDivisionError):
        nestcast.send(broken(), listen="127.0.0.1:0", ready=found.append)
    with pytest.raises(nestcast.SessionError, match="over|closed"):
        found[0].write(next(frames()))


def test_a_callback_that_raises_ends_the_broadcast():
    found: list[nestcast.Broadcast] = []

    def refuse(broadcast: nestcast.Broadcast) -> None:
        found.append(broadcast)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nestcast.send(frames(), listen="127.0.0.1:0", ready=refuse)
    with pytest.raises(nestcast.SessionError, match="over|closed"):
        found[0].write(next(frames()))


def watch(broadcast: nestcast.Broadcast) -> tuple[threading.Thread, list[object]]:
    """Receives on another thread: frames' numbers, then how the broadcast ended."""
    heard: list[object] = []

    def receive() -> None:
        try:
            heard.extend(frame.id for frame in nestcast.receive(broadcast.address, broadcast.fingerprint, keep=64))
            heard.append("end")
        except nestcast.SessionError as error:
            heard.append(str(error))

    watching = threading.Thread(target=receive)
    watching.start()
    return watching, heard


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, None])
@pytest.mark.parametrize("by", ["send", "with"])
def test_receivers_learn_that_the_source_broke_off(error, by):
    found: list[nestcast.Broadcast] = []
    watchers: list[tuple[threading.Thread, list[object]]] = []

    def begin(broadcast: nestcast.Broadcast) -> None:
        # `receivers` counts from the first frame on.
        assert broadcast.receivers == 0
        found.append(broadcast)
        watchers.append(watch(broadcast))

    def source():
        for frame in frames():
            yield frame
            if found[0].receivers and found[0].frames > 10:
                break
        if error:
            raise error

    def broadcast_all() -> None:
        if by == "send":
            nestcast.send(source(), listen="127.0.0.1:0", ready=begin)
            return
        with nestcast.Broadcast(64, 48, listen="127.0.0.1:0") as broadcast:
            begin(broadcast)
            for frame in source():
                broadcast.write(frame)

    if error:
        with pytest.raises(error):
            broadcast_all()
    else:
        broadcast_all()
    ((watching, heard),) = watchers
    watching.join(60)
    assert not watching.is_alive()
    if error is ZeroDivisionError:
        assert "the sender lost its source" in heard[-1], heard
        with pytest.raises(nestcast.SessionError, match="its source broke off"):
            found[0].write(next(frames()))
    else:
        assert heard[-1] == "end", heard
        with pytest.raises(nestcast.SessionError, match="over|closed"):
            found[0].write(next(frames()))
    found[0].close()
