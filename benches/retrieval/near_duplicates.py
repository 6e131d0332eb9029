"""How often a changed picture finds its original: python near_duplicates.py NESTCAST PHOTOS [--model NAME] [--count N].

NESTCAST is the program with the feature `retrieval`, PHOTOS a folder. Every photo is indexed at half its size; of N of them a crop, a
small copy, a JPEG of quality 30, a brighter and a darker copy are searched. Prints the share of first places and of places among the
first ten, for each change. Needs `pip install pillow`.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageEnhance

SUFFIXES = {".jpg", ".jpeg", ".png"}


def cropped(image: Image.Image, before: float, behind: float) -> Image.Image:
    """Without these shares of its width and height at the left and the top, and at the right and the bottom."""
    width, height = image.size
    return image.crop((round(before * width), round(before * height), width - round(behind * width), height - round(behind * height)))


def recompressed(image: Image.Image) -> Image.Image:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=30)
    return Image.open(data)


CHANGES = {
    "the picture itself": lambda image: image,
    "64 pixels wide": lambda image: image.resize((64, max(1, round(64 * image.height / image.width))), Image.LANCZOS),
    "JPEG of quality 30": recompressed,
    "brighter by 20 %": lambda image: ImageEnhance.Brightness(image).enhance(1.2),
    "darker by 20 %": lambda image: ImageEnhance.Brightness(image).enhance(0.8),
    "5 % cropped, all around": lambda image: cropped(image, 0.025, 0.025),
    "10 % cropped, all around": lambda image: cropped(image, 0.05, 0.05),
    "10 % cropped, left and top": lambda image: cropped(image, 0.1, 0),
    "10 % cropped, right and bottom": lambda image: cropped(image, 0, 0.1),
    "20 % cropped, all around": lambda image: cropped(image, 0.1, 0.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nestcast", type=Path)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--model", default="thumb")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    photos = sorted(path for path in options.photos.rglob("*") if path.suffix.lower() in SUFFIXES)
    program, model = str(options.nestcast.resolve()), ["--model", str(options.model)]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "pictures"
        folder.mkdir()
        for number, path in enumerate(photos):
            with Image.open(path) as image:
                image.convert("RGB").reduce(2).save(folder / f"{number}.png")
        subprocess.run([program, "index", "pictures", "-o", "index", *model], cwd=work, check=True)
        asked = range(0, len(photos), max(1, len(photos) // options.count))
        for name, change in CHANGES.items():
            places = [place(work, program, model, change(Image.open(folder / f"{number}.png")), number) for number in asked]
            first, ten = (sum(at < most for at in places) for most in (1, 10))
            print(f"{name:<30} {first / len(places):>6.0%} {ten / len(places):>6.0%}", flush=True)


def place(work: str, program: str, model: list[str], image: Image.Image, number: int) -> int:
    """Where the original stands in what is found; 10 where it does not."""
    image.convert("RGB").save(Path(work) / "query.png")
    command = [program, "search", "index", "query.png", "--top", "10", "--json", *model]
    found = json.loads(subprocess.run(command, cwd=work, check=True, capture_output=True).stdout)["found"]
    names = [entry["picture"] for entry in found]
    return names.index(f"pictures/{number}.png") if f"pictures/{number}.png" in names else 10


if __name__ == "__main__":
    main()
