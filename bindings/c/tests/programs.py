"""Compiles programs of C, runs them under a checker of memory, and broadcasts to them.

Without valgrind, the programs are compiled with the address sanitiser, if the compiler has it. NESTCAST_C is the folder
that `cargo xtask bindings` stages: include/, lib/ and lib/pkgconfig/. NESTCAST_CHECKER chooses `valgrind`, `asan` or
`none`.
"""

import functools
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VECTORS = HERE.parents[2] / "spec" / "vectors"
STAGED = Path(os.environ["NESTCAST_C"])
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pedantic", "-g"]


SANITISED = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
LEAKS = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]
VALGRIND = ["valgrind", "-q", *LEAKS, "--error-exitcode=99", f"--suppressions={HERE / 'valgrind.supp'}"]


@functools.cache
def checker() -> str:
    """Returns what finds wrong uses of memory: valgrind, the sanitiser, or nothing."""
    if chosen := os.environ.get("NESTCAST_CHECKER"):
        return chosen
    if shutil.which("valgrind"):
        return "valgrind"
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "try.c", Path(folder) / "try"
        source.write_text("int main(void) { return 0; }\n")
        command = [os.environ.get("CC", "cc"), *SANITISED, str(source), "-o", str(program)]
        has = subprocess.run(command, capture_output=True).returncode == 0 and subprocess.run([str(program)]).returncode == 0
    return "asan" if has else "none"


def compiled(source: Path, folder: Path, *options: str, checked: bool = True) -> Path:
    program = folder / (source.stem if checked else f"{source.stem}-plain")
    sanitised = SANITISED if checked and checker() == "asan" else []
    flags = [*FLAGS, *sanitised, f"-I{STAGED / 'include'}", f"-I{HERE}"]
    command = [os.environ.get("CC", "cc"), *flags, str(source), "-o", str(program), *options]
    subprocess.run(command, check=True)
    return program


def static(source: str, folder: Path, *, checked: bool = True) -> Path:
    """Returns a test program that contains the library."""
    library = STAGED / "lib" / "libnestcast.a"
    return compiled(HERE / source, folder, str(library), "-lpthread", "-ldl", "-lm", checked=checked)


def run(*command: object, checked: bool = True, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Runs a program, under valgrind if that is the checker."""
    words = [str(word) for word in command]
    if checked and checker() == "valgrind":
        words = [*VALGRIND, *words]
    return subprocess.run(words, capture_output=True, timeout=600, **options)


def linked() -> list[str]:
    """Returns what links the shared library, as pkg-config says."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(STAGED / "lib" / "pkgconfig")}
    options = [f"-L{STAGED / 'lib'}", "-lnestcast"]
    if shutil.which("pkg-config"):
        words = ["pkg-config", "--cflags", "--libs", "nestcast"]
        options = subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout.split()
        assert "-lnestcast" in options
    return [*options, f"-Wl,-rpath,{STAGED / 'lib'}"]


@contextmanager
def broadcast(**options: object) -> Iterator[tuple[str, str]]:
    """Broadcasts a test picture by the Python package, and returns its address and fingerprint."""
    nestcast = pytest.importorskip("nestcast", reason="skipped: the Python package is not there to send")
    numpy = pytest.importorskip("numpy", reason="skipped: numpy is not there to draw")
    scale, samples = (4, numpy.uint16) if options.get("bits") == 10 else (1, numpy.uint8)
    values = (((49, 65), 90), ((25, 33), 100), ((25, 33), 150))
    planes = [numpy.full(shape, scale * value, samples) for shape, value in values]
    ended = threading.Event()
    with nestcast.Broadcast(65, 49, rate=30, listen="127.0.0.1:0", **options) as sender:

        def write() -> None:
            number = 0
            while not ended.is_set():
                planes[0][:, :] = scale * (90 + number % 8)
                number += 1
                sender.write(planes)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield sender.address, sender.fingerprint
        finally:
            ended.set()
            writer.join(60)
