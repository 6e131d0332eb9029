"""Compares the sink with `nestcast send -`: the processor's time of each, and the pictures that it skips.

Both broadcast one y4m file of 8 bits at its rate, in turn, on as many threads, each to one receiver on this machine. After
`cargo build --release -p nestcast -p nestcast-gstreamer`:

    python3 bindings/gstreamer/load.py target/release CLIP.y4m [ROUNDS]
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

THREADS = 2


def header(clip: Path) -> tuple[int, int, str, int]:
    """Returns width, height, rate and number of frames of a y4m file."""
    with clip.open("rb") as file:
        line = file.readline()
    words = {word[:1]: word[1:] for word in line.decode().split()[1:]}
    width, height = int(words["W"]), int(words["H"])
    frame = len(b"FRAME\n") + width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    return width, height, words["F"].replace(":", "/"), (clip.stat().st_size - len(line)) // frame


def raw(clip: Path, folder: Path) -> Path:
    """Writes the frames without their lines, which GStreamer's parser reads."""
    width, height, _, count = header(clip)
    samples = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    out = folder / "clip.yuv"
    with clip.open("rb") as source, out.open("wb") as target:
        source.readline()
        for _ in range(count):
            assert source.readline() == b"FRAME\n"
            target.write(source.read(samples))
    return out


def run(command: list[str], found: Callable[[str], str | None], target: Path, **options: object) -> tuple[float, str, int]:
    """Runs a sender with a receiver. Returns its seconds of processor, what it said, and the frames that arrived."""
    with tempfile.TemporaryFile("w+") as said:
        sender = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, **options)  # type: ignore[call-overload]
        fingerprint = None
        while fingerprint is None:
            time.sleep(0.05)
            assert sender.poll() is None, said.seek(0) or said.read()
            said.seek(0)
            fingerprint = found(said.read())
        receive = [str(target / "nestcast"), "receive", "127.0.0.1:4455", "--fingerprint", fingerprint, "-o", "-"]
        receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert receiver.stdout is not None
        frames = 0
        while piece := receiver.stdout.read(1 << 20):
            frames += piece.count(b"FRAME\n")
        _, _, usage = os.wait4(sender.pid, 0)
        receiver.wait()
        said.seek(0)
        return usage.ru_utime + usage.ru_stime, said.read(), frames


def program(target: Path, clip: Path) -> tuple[float, int, int]:
    """Broadcasts by `nestcast send -`."""
    command = [str(target / "nestcast"), "send", "-", "--listen", "127.0.0.1:4455", "--threads", str(THREADS), "--json"]
    with clip.open("rb") as file:
        seconds, said, frames = run(command, fingerprint, target, stdin=file)
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    skipped = [event["skipped"] for event in events if "skipped" in event]
    return seconds, skipped[-1], frames


def sink(target: Path, clip: Path, samples: Path) -> tuple[float, int, int]:
    """Broadcasts by the sink."""
    width, height, rate, _ = header(clip)
    command = ["gst-launch-1.0", "-v", "-m", "filesrc", f"location={samples}", "!", "rawvideoparse", "format=i420"]
    command += [f"width={width}", f"height={height}", f"framerate={rate}", "!", "nestcastsink"]
    command += ["listen=127.0.0.1:4455", f"threads={THREADS}"]
    environment = {**os.environ, "GST_PLUGIN_PATH": str(target)}
    seconds, said, frames = run(command, fingerprint, target, env=environment)
    dropped = re.findall(r"dropped=\(guint64\)(\d+)", said)
    return seconds, int(dropped[-1]) if dropped else 0, frames


def fingerprint(said: str) -> str | None:
    """Returns the 64 digits that a sender says when it listens."""
    digits = re.search(r"\b([0-9a-f]{64})\b", said)
    return digits[1] if digits and ("listen" in said or "address" in said) else None


def main() -> None:
    target, clip, rounds = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), int((sys.argv[3:] or ["3"])[0])
    width, height, rate, count = header(clip)
    print(f"{clip.name}: {width}x{height}, {count} frames at {rate}, {THREADS} threads, {os.cpu_count()} processors")
    times: dict[str, list[float]] = {"send": [], "sink": []}
    with tempfile.TemporaryDirectory() as folder:
        samples = raw(clip, Path(folder))
        for number in range(rounds):
            for name, one in (("send", program(target, clip)), ("sink", sink(target, clip, samples))):
                seconds, skipped, frames = one
                # A busy machine skips more: what counts is the time of a picture that was encoded.
                milliseconds = 1e3 * seconds / (count - skipped)
                times[name].append(milliseconds)
                print(f"round {number + 1}, {name}: {milliseconds:.1f} ms of processor a frame, {skipped} of {count} skipped, {frames} received")
    least = {name: min(each) for name, each in times.items()}
    median = {name: statistics.median(each) for name, each in times.items()}
    print(f"sink / send: {least['sink'] / least['send']:.3f} of the least, {median['sink'] / median['send']:.3f} of the medians")


if __name__ == "__main__":
    main()
