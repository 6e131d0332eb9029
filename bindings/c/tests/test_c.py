"""Compiles the C programs without a warning, runs them under valgrind, and compares with the frozen vectors."""

import hashlib
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from programs import HERE, STAGED, VECTORS, broadcast, checker, compiled, linked, run, static


@pytest.mark.skipif(checker() == "none", reason="skipped: neither valgrind nor a compiler with the address sanitiser")
def test_the_checker_finds_what_it_should(tmp_path):
    """A check that finds nothing in wrong programs says nothing of others."""
    source = tmp_path / "wrong.c"
    uses = {"overflow": "memory[size] = 1", "use after free": "free(memory); memory[0] = 1", "leak": "memory = NULL"}
    for name, use in uses.items():
        source.write_text(
            "#include <stdlib.h>\nint main(int argc, char **argv) { (void)argv; size_t size = 7 + (size_t)argc;\n"
            f"char *volatile memory = malloc(size); {use}; return 0; }}\n"
        )
        assert run(compiled(source, tmp_path, "-w")).returncode != 0, name


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    return compiled(HERE.parent / "examples" / "prefix.c", tmp_path_factory.mktemp("example"), *linked())


def rows(name: str | None = None) -> list[list[str]]:
    lines = (VECTORS / "manifest.tsv").read_text().splitlines()[1:]
    return [line.split("\t") for line in lines if name is None or line.startswith(f"{name}\t")]


def test_the_frozen_vectors_have_their_digests(tmp_path):
    program = static("vectors.c", tmp_path)
    lines = rows()
    request = "".join(f"{VECTORS / row[0]}.nst {row[7]}\n" for row in lines)
    done = run(program, VECTORS / "tables.bin", input=request.encode())
    assert done.returncode == 0, done.stderr.decode()
    rest = done.stdout
    for row in lines:
        count, _, rest = rest.partition(b"\n")
        samples, rest = rest[: int(count)], rest[int(count) :]
        assert hashlib.sha256(samples).hexdigest() == row[9], (row[0], row[7])
    assert rest == b"" and len(lines) > 20


def test_the_frozen_videos_have_their_digests(tmp_path):
    program = static("video_vectors.c", tmp_path)
    lines = [line.split("\t") for line in (VECTORS / "video.tsv").read_text().splitlines()[1:]]
    cuts: dict[tuple[str, str], list[list[str]]] = {}
    for line in lines:
        cuts.setdefault((line[0], line[2]), []).append(line)
    for (name, kind), frames in cuts.items():
        request = "".join(f"{frame[4]}\n" for frame in frames)
        done = run(program, VECTORS / "tables.bin", VECTORS / f"{name}.nst", input=request.encode())
        assert done.returncode == 0, done.stderr.decode()
        rest = done.stdout
        for frame in frames:
            count, _, rest = rest.partition(b"\n")
            samples, rest = rest[: int(count)], rest[int(count) :]
            assert hashlib.sha256(samples).hexdigest() == frame[7], (name, kind, frame[3])
        assert rest == b"" and len(frames) > 5
    assert len(cuts) >= 20


def test_pictures_and_video_go_there_and_back(tmp_path):
    done = run(static("pictures.c", tmp_path))
    assert done.returncode == 0, done.stderr.decode()


def test_bad_input_is_refused_by_name(tmp_path):
    for rounds, checked in ((20_000, False), (20, True)):
        done = run(static("bad_input.c", tmp_path, checked=checked), rounds, checked=checked)
        assert done.returncode == 0, done.stderr.decode()
        assert f"of {2 * rounds} calls of two threads".encode() in done.stdout


def test_streams_leave_no_memory_in_use(tmp_path):
    program = static("leaks.c", tmp_path, checked=False)
    # Freed memory that the allocator keeps for the next call would count as in use.
    plain = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
    count = int(os.environ.get("NESTCAST_STREAMS", "840"))
    done = run(program, count, checked=False, env=plain)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stderr.split(b" streams")[0]) >= count
    done = run(static("leaks.c", tmp_path), 84)
    assert done.returncode == 0, done.stderr.decode()


def test_the_example_decodes_a_prefix(example, tmp_path):
    nestcast = pytest.importorskip("nestcast", reason="skipped: the Python package is not there to encode")
    picture = bytes(number % 251 for number in range(40 * 30 * 3))
    encoded = nestcast.encode(memoryview(picture).cast("B", (30, 40, 3)))
    stream = tmp_path / "example.nst"
    stream.write_bytes(encoded)
    expected = nestcast.decode(encoded[:300]).tobytes()
    done = run(example, stream, 300)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"P6\n40 30\n255\n" + expected
    refused = run(example, HERE / "test_c.py", 300)
    assert refused.returncode == 1 and b'it does not begin with "nst"' in refused.stderr
    # The vectors have tables of their own.
    refused = run(example, VECTORS / "photo.nst", 300)
    assert refused.returncode == 1 and b"unsupported model" in refused.stderr


def test_the_header_is_one_for_c_plus_plus_too(tmp_path):
    if not shutil.which("c++"):
        pytest.skip("skipped: no C++ compiler")
    source = tmp_path / "only.cc"
    source.write_text("#include <nestcast.h>\nint main() { return nestcast_version() == nullptr; }\n")
    library = str(STAGED / "lib" / "libnestcast.a")
    words = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{STAGED / 'include'}", str(source), library]
    subprocess.run([*words, "-lpthread", "-ldl", "-lm", "-o", str(tmp_path / "only")], check=True)
    assert subprocess.run([str(tmp_path / "only")]).returncode == 0


def shown(done: subprocess.CompletedProcess[bytes]) -> tuple[list[list[str]], str]:
    """Returns the words of each picture's line, and the line of the end."""
    assert done.returncode == 0, done.stderr.decode()
    *pictures, end = done.stdout.decode().splitlines()
    return [picture.split() for picture in pictures], end


def test_a_receiver_calls_back_and_stops_when_a_callback_says_so(tmp_path):
    program = static("receive.c", tmp_path)
    with broadcast(matrix="709", full_range=True) as place:
        pictures, end = shown(run(program, *place, 5))
        assert len(pictures) == 5 and end == "end 0 "
        # Limited range, and the matrix of the sender: BT.709 of full range.
        assert all(picture[:2] == ["65x49", "5"] for picture in pictures)
        luma = 65 * 49
        assert all(90 * luma <= int(picture[2]) - 250 * 33 * 25 <= 98 * luma for picture in pictures[-1:])
        # Asked for more bits, it shows as many as the video has.
        pictures, end = shown(run(program, *place, 2, "bits", 12))
        assert len(pictures) == 2 and all(picture[1] == "5" for picture in pictures)
        # The callback frees its own receiver.
        pictures, end = shown(run(program, *place, 3, "free"))
        assert len(pictures) == 3 and end == "end 0 "


def test_another_thread_stops_a_receiver_that_waits(tmp_path):
    program = static("receive.c", tmp_path)
    with broadcast() as place:
        pictures, end = shown(run(program, *place, 3, "stop"))
        assert len(pictures) >= 3 and end == "end 0 "
    # Nothing listens at the port, and the receiver would wait for ever.
    pictures, end = shown(run(program, "127.0.0.1:9", "0" * 64, 0, "stop"))
    assert not pictures and end == "end 0 "


def test_a_broadcast_is_asked_for_by_its_name(tmp_path):
    if "NESTCAST_SEVERAL" not in os.environ:
        pytest.skip("skipped: NESTCAST_SEVERAL names no program with two broadcasts: run `cargo xtask bindings`")
    program = static("receive.c", tmp_path)
    with subprocess.Popen([os.environ["NESTCAST_SEVERAL"], "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdout is not None
        try:
            for size in ("64x48", "96x80"):
                found = re.search(r"(\S+:\d+/cam\d) --fingerprint (\S+)", sender.stdout.readline())
                assert found
                pictures, end = shown(run(program, found[1], found[2], 2))
                assert [picture[0] for picture in pictures] == [size] * 2 and end == "end 0 "
            pictures, end = shown(run(program, found[1].removesuffix("/cam2"), found[2], 2))
            assert not pictures and end.startswith("end 9 ") and "broadcasts have names" in end
        finally:
            sender.kill()


def test_a_receiver_shows_more_bits_if_it_is_asked_for_them(tmp_path):
    program = static("receive.c", tmp_path)
    with broadcast(bits=10) as place:
        for most, format in ((16, 2 + 10 * 256), (9, 2 + 9 * 256), (8, 2), (0, 2)):
            pictures, end = shown(run(program, *place, 2, "bits", most))
            assert [int(picture[1]) for picture in pictures] == [format] * 2 and end == "end 0 "
        # The mean of luma is that of 10 bits.
        pictures, _ = shown(run(program, *place, 2, "bits", 10))
        assert all(360 * 65 * 49 <= int(picture[2]) - 1000 * 33 * 25 <= 392 * 65 * 49 for picture in pictures[-1:])


def test_a_receiver_says_why_it_cannot_receive(tmp_path):
    program = static("receive.c", tmp_path)
    with broadcast(token=b"secret") as (address, fingerprint):
        pictures, end = shown(run(program, address, fingerprint, 2, "token", "secret"))
        assert len(pictures) == 2
        pictures, end = shown(run(program, address, fingerprint, 2))
        assert not pictures and end.startswith("end 9 ") and "token" in end
        pictures, end = shown(run(program, address, "0" * 64, 2))
        assert not pictures and end.startswith("end 9 ") and "fingerprint" in end
    pictures, end = shown(run(program, "host.invalid:1", "0" * 64, 2))
    assert not pictures and end.startswith("end 9 host.invalid:1 cannot be found")


def test_the_example_receives_until_the_end(tmp_path):
    program = compiled(HERE.parent / "examples" / "receive.c", tmp_path, *linked(), checked=False)
    with broadcast() as place:
        receiver = subprocess.Popen([str(program), *place], stdout=subprocess.PIPE)
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"YUV4MPEG2 W65 H49 F30:1 Ip A1:1 C420\n"
        frame = len(b"FRAME\n") + 65 * 49 + 2 * 33 * 25
        assert all(receiver.stdout.read(frame).startswith(b"FRAME\n") for _ in range(3))
        # The broadcast ends, and so does the receiver.
        threading.Thread(target=receiver.stdout.read).start()
    assert receiver.wait(60) == 0
