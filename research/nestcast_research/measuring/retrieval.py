"""Figure 4 and the quality of retrieval: what ordered retrieval (section 5.1) gives up against a linear scan of the
same codes.

Classes: digits of MNIST (digits.toml), 60,000 to search; the 4,000 pictures of CIFAR-10 by the packages' codes.
Near-duplicates: photos that nothing was trained on, changed, and searched among all photos by the code of `thumb`.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageEnhance

from nestcast_research import stored
from nestcast_research.data import mnist
from nestcast_research.data.uncropped import uncropped
from nestcast_research.measuring.neighbours import distances, nearest, neighbourhood, shared_bits
from nestcast_research.pages import figures
from nestcast_research.places import SETTINGS, package_folder
from nestcast_train.codes import code_package, pictures
from nestcast_train.codes.pictures import SIDE
from nestcast_train.data import photos as photo_data
from nestcast_train.settings import load

DEPTHS = (10, 100)  # of precision
QUERIES = 500
SIZES = (512, 128, 32, 8, 2)  # terminal cardinalities of Figure 4
SHOWN = 24  # pictures of a neighbourhood
SAMPLES = (3, 29, 58, 107)  # of the held-out pictures, the queries of Figure 4
RESEARCH = "bsds500"  # photos that are searched, and never trained on


def precisions(
    codes_: torch.Tensor, labels: torch.Tensor, queries: torch.Tensor, wanted: torch.Tensor, own: torch.Tensor
) -> dict[str, float]:
    """Shares of the same class. codes_ (N, K), labels (N,); queries (Q, K), wanted (Q,); own: (Q,) the query's index in
    the codes, or -1."""
    sums: dict[str, float] = {}
    for query, label, itself in zip(queries, wanted, own.tolist()):
        others = torch.arange(len(codes_)) != itself
        there, same = codes_[others], (labels[others] == label).float()
        shared, distance = shared_bits(there, query), distances(there, query)
        for depth in DEPTHS:
            found = neighbourhood(shared, depth)
            row = {
                f"ordered, whole neighbourhood, {depth}": same[found].mean(),
                f"members, {depth}": float(len(found)),
                f"ordered, {depth} nearest of it, {depth}": same[found[nearest(distance[found], depth)]].mean(),
                f"linear Hamming, {depth}": same[nearest(distance, depth)].mean(),
            }
            for name, value in row.items():
                sums[name] = sums.get(name, 0.0) + float(value) / len(queries)
    return sums


def rows(name: str, found: dict[str, float]) -> list[dict]:
    table = []
    for depth in DEPTHS:
        ways = ("ordered, whole neighbourhood", f"ordered, {depth} nearest of it", "linear Hamming")
        table.append(
            {
                "codes": name,
                "at": depth,
                **{way.replace(f"{depth} ", ""): f"{found[f'{way}, {depth}']:.3f}" for way in ways},
                "members": f"{found[f'members, {depth}']:.0f}",
            }
        )
    return table


@torch.no_grad()
def digits(folder: Path) -> list[dict]:
    model, frame = code_package.read(load(SETTINGS / "digits.toml"), stored.weights("digits"))
    encode = lambda images: model.encode(frame.coordinates(torch.from_numpy(images / np.float32(255)))) > 0
    (images, labels), (asked, wanted) = mnist.digits(folder, "train"), mnist.digits(folder, "t10k")
    found = precisions(
        encode(images),
        torch.from_numpy(labels.copy()),
        encode(asked[:QUERIES]),
        torch.from_numpy(wanted[:QUERIES].copy()),
        torch.full((QUERIES,), -1),
    )
    return rows(f"digits, {model.settings.widths[-1]} bits", found)


def cifar(name: str, codes_: torch.Tensor, labels: torch.Tensor) -> list[dict]:
    own = torch.arange(len(codes_) - QUERIES, len(codes_))
    return rows(f"CIFAR-10, {name}, {codes_.shape[1]} bits", precisions(codes_, labels, codes_[own], labels[own], own))


def sheet(images: np.ndarray, codes_: torch.Tensor) -> None:
    """Figure 4: a query, and the first pictures of its neighbourhoods, from large ones to small ones."""
    held_out = len(images) - QUERIES
    shown = images.transpose(0, 2, 3, 1) / 255
    lines = []
    for sample in SAMPLES:
        query = held_out + sample
        shared = shared_bits(codes_, codes_[query])
        for row, size in enumerate(SIZES):
            found = neighbourhood(shared, size)[:SHOWN].numpy()
            blank = np.ones((SHOWN - len(found), SIDE, SIDE, 3))
            first = shown[query] if row == 0 else np.ones((SIDE, SIDE, 3))
            lines.append(np.concatenate([first[None], shown[found], blank]))
    figures.save_tiles(np.concatenate(lines), 1 + SHOWN, "neighbours.png")


def variants(picture: Image.Image) -> dict[str, Image.Image]:
    """What `nestcast search` has to find the original of."""
    width, height = picture.size
    crop = lambda before, behind: picture.crop(
        (round(before * width), round(before * height), width - round(behind * width), height - round(behind * height))
    )
    compressed = io.BytesIO()
    picture.save(compressed, "JPEG", quality=30)
    return {
        "crop of 5 %, left and top": crop(0.05, 0),
        "crop of 10 %, left and top": crop(0.10, 0),
        "crop of 10 %, right and bottom": crop(0, 0.10),
        "crop of 10 %, all around": crop(0.05, 0.05),
        "crop of 20 %, all around": crop(0.10, 0.10),
        "half the size": picture.resize((width // 2, height // 2), Image.BICUBIC),
        "JPEG at quality 30": Image.open(compressed),
        "brightness + 20 %": ImageEnhance.Brightness(picture).enhance(1.2),
        "brightness - 20 %": ImageEnhance.Brightness(picture).enhance(0.8),
    }


def duplicates(folder: Path, package: code_package.Package) -> list[dict]:
    """The share of changed photos whose original is the nearest by Hamming distance, to the photo's code and to that
    and those of what it may be a crop of, as `nestcast search` has them; is in the neighbourhood of 10; and is the
    nearest of these."""
    open_ = photo_data.photos(folder / "photos")
    unseen = [*open_[:: photo_data.HELD_OUT], *sorted((folder / "photos" / RESEARCH).glob("*.jpg"))]
    searched = [*unseen, *(file for file in open_ if file not in unseen)]
    encode = lambda thumbnails: torch.from_numpy(package.encode(np.stack(thumbnails)) > 0)
    database = encode([pictures.stretched(Image.open(file)) for file in searched])
    hits: dict[str, np.ndarray] = {}
    for index, file in enumerate(unseen):
        for name, picture in variants(Image.open(file).convert("RGB")).items():
            own, *others = encode([pictures.stretched(picture), *uncropped(picture)])
            distance, found = distances(database, own), neighbourhood(shared_bits(database, own), 10)
            least = torch.stack([distance, *(distances(database, other) for other in others)]).min(0).values
            first = found[nearest(distance[found], 1)].item()
            told = [
                nearest(distance, 1).item() == index,
                nearest(least, 1).item() == index,
                index in found.tolist(),
                first == index,
            ]
            hits[name] = hits.get(name, np.zeros(len(told))) + told
    ways, known = (
        ("nearest by Hamming", "with 19 codes", "in the neighbourhood of 10", "nearest of it"),
        {"photos": len(unseen), "searched": len(searched)},
    )
    return [
        {"change": name, **known, **{way: f"{hit / len(unseen):.3f}" for way, hit in zip(ways, own)}}
        for name, own in hits.items()
    ]


def draw(folder: Path) -> None:
    flat, classes = pictures.cifar(folder)
    images, labels = flat.reshape(-1, 3, SIDE, SIDE), torch.from_numpy(classes.copy())
    table = digits(folder)
    for name in ("thumb", "cifar-deep"):
        package = code_package.Package(package_folder(name))
        codes_ = torch.from_numpy(package.encode(images) > 0)
        table += cifar(name, codes_, labels)
        if name == "thumb":
            sheet(images, codes_)
            figures.write_table("duplicates.csv", duplicates(folder, package))
    figures.write_table("precision.csv", table)
