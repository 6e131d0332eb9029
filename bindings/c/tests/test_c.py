"""Compiles the C programs without a warning, runs them under valgrind, and compares with the frozen vectors.

NESTCAST_C is the folder that `cargo xtask bindings` stages: include/, lib/ and lib/pkgconfig/.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VECTORS = HERE.parents[2] / "spec" / "vectors"
STAGED = Path(os.environ["NESTCAST_C"])
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]


def compiled(source: Path, folder: Path, *options: str) -> Path:
    program = folder / source.stem
    command = [os.environ.get("CC", "cc"), *FLAGS, f"-I{STAGED / 'include'}", str(source), "-o", str(program), *options]
    subprocess.run(command, check=True)
    return program


def static(source: str, folder: Path) -> Path:
    """Returns a test program that contains the library."""
    library = STAGED / "lib" / "libnestcast.a"
    return compiled(HERE / source, folder, str(library), "-lpthread", "-ldl", "-lm")


def run(*command: object, checked: bool = True, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Runs a program, under valgrind if that is there."""
    words = [str(word) for word in command]
    if checked and shutil.which("valgrind"):
        words = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99", *words]
    return subprocess.run(words, capture_output=True, timeout=600, **options)


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    """The example, linked with the shared library as pkg-config says."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(STAGED / "lib" / "pkgconfig")}
    options = [f"-L{STAGED / 'lib'}", "-lnestcast"]
    if shutil.which("pkg-config"):
        words = ["pkg-config", "--cflags", "--libs", "nestcast"]
        options = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout.split()
        assert "-lnestcast" in options
    folder = tmp_path_factory.mktemp("example")
    return compiled(HERE.parent / "examples" / "prefix.c", folder, *options, f"-Wl,-rpath,{STAGED / 'lib'}")


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


def test_pictures_and_video_go_there_and_back(tmp_path):
    done = run(static("pictures.c", tmp_path))
    assert done.returncode == 0, done.stderr.decode()


def test_bad_input_is_refused_by_name(tmp_path):
    program = static("bad_input.c", tmp_path)
    for rounds, checked in ((20_000, False), (20, True)):
        done = run(program, rounds, checked=checked)
        assert done.returncode == 0, done.stderr.decode()
        assert f"of {2 * rounds} calls of two threads".encode() in done.stdout


def test_streams_leave_no_memory_in_use(tmp_path):
    program = static("leaks.c", tmp_path)
    # Freed memory that the allocator keeps for the next call would count as in use.
    plain = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
    count = int(os.environ.get("NESTCAST_STREAMS", "2000"))
    done = run(program, count, checked=False, env=plain)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.startswith(f"{count} streams".encode())
    done = run(program, 20)
    # valgrind has an allocator of its own, which does not count.
    lost = [line for line in done.stderr.splitlines() if b"lost" in line]
    assert not lost and done.returncode != 99, done.stderr.decode()


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
