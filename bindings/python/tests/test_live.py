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


def test_a_receiver_has_a_cap_and_a_latency():
    picture = drawn(480, 640)
    with nestcast.Broadcast(640, 480, listen="127.0.0.1:0") as broadcast:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                broadcast.write(picture)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            received = {}
            for cap in (None, 200_000):
                place = (broadcast.address, broadcast.fingerprint)
                with nestcast.receive(*place, max_bitrate=cap, latency=0.2, keep=64) as reception:
                    shown = list(itertools.islice((frame for frame in reception if not frame.concealed), 30))
                assert all(frame.latency >= 0.15 for frame in shown[5:])
                received[cap] = sum(frame.bytes for frame in shown[10:]) / len(shown[10:])
            assert received[200_000] < received[None] / 2
        finally:
            stop.set()
            writer.join(60)


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
    ):
        with pytest.raises(nestcast.ArgumentError):
            nestcast.receive(address, **options)
    with pytest.raises(nestcast.SessionError, match="missing.pem cannot be used: .*No such file"):
        next(nestcast.receive("127.0.0.1:4433", authorities="missing.pem"))
    for options in ({"rate": (0, 1)}, {"listen": "here"}, {"web": "here"}, {"threads": 0}, {"matrix": "2020"}, {"bits": 17}):
        with pytest.raises(nestcast.ArgumentError):
            nestcast.Broadcast(64, 48, **{"listen": "127.0.0.1:0", **options})
    with pytest.raises(nestcast.ArgumentError, match="at least one frame"):
        nestcast.send([])
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
