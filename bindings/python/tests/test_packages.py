"""What the package needs of others: nothing for pictures in memory of the caller's, and `onnxruntime` for networks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nestcast

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import nestcast
samples = bytes(number % 251 for number in range(30 * 40 * 3))
stream = nestcast.encode(memoryview(samples).cast("B", (30, 40, 3)))
out = memoryview(bytearray(len(samples))).cast("B", (30, 40, 3))
assert nestcast.decode(stream.cut(300), out=out) is out
assert nestcast.Decoder().push(stream).render(out) is out and any(bytes(out))
"""
DEEP = """
import nestcast
from nestcast import _onnxruntime
print(_onnxruntime.library())
samples = bytes(range(240)) * 5
out = memoryview(bytearray(1200)).cast("B", (30, 40))
nestcast.decode(nestcast.encode(memoryview(samples).cast("B", (30, 40))), deep=True, out=out)
print(open("/proc/self/maps").read())
"""


def run(program: str, *folders: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a Python of its own, which finds packages in these folders first."""
    paths = [*map(str, folders), str(Path(nestcast.__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
    environment = {name: value for name, value in environment.items() if value}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=600)


def test_pictures_need_no_numpy():
    done = run(WITHOUT_NUMPY)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="skipped: the list of loaded libraries is Linux's")
def test_networks_use_the_library_of_the_package_onnxruntime(tmp_path):
    library = os.environ.get("ORT_DYLIB_PATH")
    if not library:
        pytest.skip("skipped: ORT_DYLIB_PATH names no library")
    package = tmp_path / "onnxruntime"
    (package / "capi").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('the package is found, and not imported')\n")
    installed = package / "capi" / "libonnxruntime.so.1.24.4"
    shutil.copyfile(library, installed)
    done = run(DEEP, tmp_path, ORT_DYLIB_PATH="")
    assert done.returncode == 0, done.stderr
    found, _, loaded = done.stdout.partition("\n")
    assert found == str(installed) and str(installed) in loaded
    # What the user names comes first.
    done = run(DEEP, tmp_path, ORT_DYLIB_PATH=library)
    assert done.returncode == 0, done.stderr
    found, _, loaded = done.stdout.partition("\n")
    assert found == "None" and str(installed) not in loaded
    # A package without the library is as none.
    installed.unlink()
    done = run("from nestcast import _onnxruntime; print(_onnxruntime.library())", tmp_path, ORT_DYLIB_PATH="")
    assert done.stdout == "None\n", done.stderr


def test_an_error_of_the_library_says_what_a_user_of_python_does(tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    done = run(DEEP, ORT_DYLIB_PATH=str(broken))
    assert f"NetworkError: ONNX Runtime cannot be loaded from {broken}" in done.stderr
    assert "run `pip install onnxruntime`" in done.stderr and "cargo" not in done.stderr


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert nestcast.__version__ == version("nestcast")
