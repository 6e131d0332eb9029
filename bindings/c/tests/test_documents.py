"""The code of the README and of docs/embed.md compiles, and decodes a stream."""

import re
from pathlib import Path

import pytest

from programs import HERE, compiled, linked, run

DOCUMENTS = [HERE.parent / "README.md", HERE.parents[2] / "docs" / "embed.md"]
#: What a reader has already, where a block does not declare it.
DECLARATIONS = {
    "decoder": "NestcastDecoder *decoder = NULL;",
    "header": "NestcastHeader header;",
    "digits": "const char *digits = argv[1];",
    "window": "void *window = NULL;",
    "bytes": "static uint8_t bytes[1 << 16];",
    "count": "size_t count = argc > 1 ? fread(bytes, 1, sizeof bytes, stdin) : 0;",
    "samples": "static uint8_t samples[1 << 16];",
    "stride": "size_t stride = 120;",
}
START = """#include <nestcast.h>
#include <stdio.h>
#include <stdlib.h>

static inline void draw(void *user, const NestcastPicture *picture) { (void)user, (void)picture; }
"""


def blocks(document: Path) -> list[str]:
    """Returns the blocks of C in a document."""
    return [block.split("```")[0] for block in document.read_text().split("```c\n")[1:]]


def program(block: str) -> str:
    """Makes a program of a block: its functions, and a main function with its statements."""
    parts = block.split("\n\n")
    functions = [part for part in parts if part.startswith("static ")]
    statements = "\n".join(part for part in parts if not part.startswith("static "))

    def is_missing(name: str) -> bool:
        declared = re.search(rf"^Nestcast\w+ \*?{name}\b", statements, re.MULTILINE)
        return not declared and re.search(rf"(?<![.\w]){name}\b", statements) is not None

    declared = "\n".join(declaration for name, declaration in DECLARATIONS.items() if is_missing(name))
    writes = "fwrite(samples, 120, 30, stdout);" if "samples" in statements else ""
    main = f"int main(int argc, char **argv) {{\n(void)argc, (void)argv;\n{declared}\n{statements}\n{writes}\nreturn 0; }}\n"
    return START + "\n\n".join(functions) + "\n" + main


def test_every_block_of_c_compiles_and_the_decoders_decode(tmp_path):
    nestcast = pytest.importorskip("nestcast", reason="skipped: the Python package is not there to encode")
    picture = bytes(number % 251 for number in range(40 * 30 * 3))
    stream = nestcast.encode(memoryview(picture).cast("B", (30, 40, 3))).cut(600)
    counts = []
    for document in DOCUMENTS:
        found = blocks(document)
        counts.append(len(found))
        for number, block in enumerate(found):
            source = tmp_path / f"{document.stem}_{number}.c"
            source.write_text(program(block))
            built = compiled(source, tmp_path, *linked())
            if "nestcast_decoder_render" in block:
                done = run(built, "read", input=bytes(stream))
                assert done.returncode == 0, done.stderr.decode()
                assert done.stdout == nestcast.decode(stream).tobytes(), f"{document.name}: {block}"
    assert counts == [2, 1]
