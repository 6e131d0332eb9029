"""The README's example runs, and the types name what is there."""

import ast
import contextlib
import doctest
import importlib.resources
import inspect
import json
import threading
from pathlib import Path

import pytest

import nestcast
from conftest import drawn
from nestcast import _nestcast

EMBED = Path(__file__).parents[3] / "docs" / "embed.md"
README = Path(__file__).parents[1] / "README.md"
NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_the_readmes_example_runs(tmp_path, monkeypatch, capsys):
    for package in ("PIL", "imageio", "matplotlib"):
        pytest.importorskip(package, reason=f"skipped: no {package}")
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(README)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert "nestcast" in capsys.readouterr().out
    assert {"curves.svg", "curves"} <= {path.name for path in tmp_path.iterdir()}


def blocks_of(document: Path) -> list[str]:
    return [block.split("```")[0] for block in document.read_text().split("```python\n")[1:]]


def test_the_code_of_the_page_on_embedding_runs(tmp_path, monkeypatch, capsys):
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image", reason="skipped: no Pillow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    picture = drawn(48, 64)
    image.fromarray(picture).save(tmp_path / "photos" / "drawn.png")
    ended, shown = threading.Event(), []

    def show(rgb: numpy.ndarray) -> None:
        shown.append(rgb.shape)
        if len(shown) == 3:
            ended.set()

    with contextlib.ExitStack() as stack:
        broadcast = stack.enter_context(nestcast.Broadcast(64, 48, listen="127.0.0.1:0"))

        def write() -> None:
            while not ended.is_set():
                broadcast.write(picture)
            # The loop over frames ends with the broadcast.
            broadcast.close()

        writer = threading.Thread(target=write)
        writer.start()
        stack.callback(writer.join, 60)
        stack.callback(ended.set)
        (block,) = blocks_of(EMBED)
        assert "example.org:4433" in block
        names = {
            "nestcast": nestcast,
            "picture": picture,
            "out": numpy.empty_like(picture),
            "frames": [picture, picture],
            "fingerprint": broadcast.fingerprint,
            "show": show,
        }
        exec(compile(block.replace("example.org:4433", broadcast.address), str(EMBED), "exec"), names)
    assert len(shown) >= 3 and shown[0] == (48, 64, 3)
    assert "nestcast" in capsys.readouterr().out


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_every_notebook_runs_from_its_first_cell_to_its_last(notebook, tmp_path, monkeypatch):
    for package in ("PIL", "matplotlib", "pandas"):
        pytest.importorskip(package, reason=f"skipped: no {package}")
    monkeypatch.chdir(tmp_path)
    cells = json.loads(notebook.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 3
    names: dict[str, object] = {}
    for cell in code:
        # Results would be out of date, and are large.
        assert cell["outputs"] == [] and cell["execution_count"] is None, f"{cell['id']}: clear the outputs"
        exec(compile("".join(cell["source"]), f"{notebook.name}, cell {cell['id']}", "exec"), names)


def test_the_modules_example_runs():
    assert doctest.testmod(nestcast).failed == 0


def test_the_types_are_those_of_the_native_module():
    stub = ast.parse(importlib.resources.files("nestcast").joinpath("_nestcast.pyi").read_text())
    named = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    public = {name for name in dir(_nestcast) if not name.startswith("_")}
    assert set(named) == public
    for name, node in named.items():
        found = getattr(_nestcast, name)
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == list(inspect.signature(found).parameters), name
            continue
        if issubclass(found, Exception):
            assert [base.id for base in node.bases] == [base.__name__ for base in found.__bases__]
            continue
        methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
        assert {method for method in methods if not method.startswith("_")} == {
            method for method in dir(found) if not method.startswith("_")
        }, name
        for method, defined in methods.items():
            is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in defined.decorator_list)
            if method == "__new__":
                assert parameters(defined)[1:] == list(inspect.signature(found).parameters), name
            elif not is_property:
                expected = list(inspect.signature(getattr(found, method)).parameters)
                assert parameters(defined) == expected, f"{name}.{method}"


def parameters(node: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in node.args.args]


def test_all_public_names_are_documented():
    assert importlib.resources.files("nestcast").joinpath("py.typed").is_file()
    for name in nestcast.__all__:
        found = getattr(nestcast, name)
        assert inspect.getdoc(found), name
        if inspect.isclass(found):
            for member, value in vars(found).items():
                if not member.startswith("_") and callable(value):
                    assert inspect.getdoc(value), f"{name}.{member}"
