"""Clips that the tables of video are trained on: python -m nestcast_train.frames.clips --videos DIR --photos DIR --out
DIR.

Every video of DIR at half its size, so that the traces of its first coding are gone, and clips made of photos: slow
pans, zooms and turns of one photo, pieces of others that move over it, noise, light that changes. All are y4m, planar
YCbCr 4:2:0, limited range (ITU-R BT.601). Needs ffmpeg, of any version. Clips that exist stay.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

FRAMES = 60  # at most, of a video
MADE_FRAMES = 30  # of a clip made of photos
MADE = 32  # such clips
SIZES = ((320, 180), (352, 288), (400, 224), (480, 270))
PHOTOS = ("aosc_open", "budgie", "elementary")
TEST_CLIPS = ("asl_book",)  # never trained on
MARGIN = 1.35  # a photo's working size over the frame's
PIECES = 4  # that move over the photo, at most
LUMA, BLUE, RED = (
    np.array(row) / 255 for row in ((65.481, 128.553, 24.966), (-37.797, -74.203, 112.0), (112.0, -93.786, -18.214))
)


def shrink(video: Path, out: Path) -> None:
    """Writes the first frames at half the size."""
    command = ["ffmpeg", "-loglevel", "error", "-i", video, "-vf", "scale=iw/2:ih/2", "-frames:v", str(FRAMES)]
    subprocess.run([*command, "-pix_fmt", "yuv420p", "-y", out], check=True)


def planes(rgb: np.ndarray) -> bytes:
    """(h, w, 3) 0..255, even sides -> three planes, 4:2:0."""
    small = rgb.reshape(rgb.shape[0] // 2, 2, rgb.shape[1] // 2, 2, 3).mean((1, 3))
    parts = (16 + rgb @ LUMA, 128 + small @ BLUE, 128 + small @ RED)
    return b"".join(np.clip(part + 0.5, 0, 255).astype(np.uint8).tobytes() for part in parts)


class Motion:
    """Where a frame looks at a layer, frame by frame: a place, a turn and a scale that change slowly."""

    def __init__(self, random: np.random.Generator, speed: float) -> None:
        self.velocity = random.normal(0, speed, 2)
        self.bend = random.normal(0, speed / 40, 2)
        self.spin = random.choice([0, random.normal(0, 0.004)])
        self.zoom = random.choice([0, random.normal(0, 0.005)])
        self.shake = random.choice([0, 0, 0.4])

    def at(self, time: float, random: np.random.Generator) -> tuple[np.ndarray, float, float]:
        """Displacement in samples, angle, and scale."""
        moved = self.velocity * time + self.bend * time * time / 2 + random.normal(0, 1, 2) * self.shake
        return moved, self.spin * time, float(np.exp(self.zoom * time))


def look(layer: Image.Image, size: tuple[int, int], motion: tuple[np.ndarray, float, float]) -> Image.Image:
    """The frame's view of a layer that has the frame in its middle."""
    moved, angle, scale = motion
    cos, sin = np.cos(angle) / scale, np.sin(angle) / scale
    centre, middle = np.array(layer.size) / 2 + moved, np.array(size) / 2
    offset = centre - np.array([[cos, sin], [-sin, cos]]) @ middle
    return layer.transform(
        size, Image.Transform.AFFINE, (cos, sin, offset[0], -sin, cos, offset[1]), Image.Resampling.BICUBIC
    )


def opened(photo: Path, least: tuple[int, int]) -> Image.Image:
    """A photo, shrunk to what covers `least`."""
    image = Image.open(photo).convert("RGB")
    scale = max(least[0] / image.width, least[1] / image.height)
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)


def piece(photo: Path, size: tuple[int, int], random: np.random.Generator) -> Image.Image:
    """Part of a photo with soft edges, transparent around it, on a layer larger than the frame."""
    layer = opened(photo, tuple(round(side * 3) for side in size)).crop((0, 0, size[0] * 3, size[1] * 3))
    mask = Image.new("L", layer.size)
    middle = np.array(layer.size) / 2 + (random.random(2) - 0.5) * size * np.array([0.8, 0.8])
    radius = random.uniform(0.08, 0.3) * min(size)
    angles = np.sort(random.uniform(0, 2 * np.pi, 9))
    corners = middle + (radius * random.uniform(0.6, 1.4, 9))[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)
    ImageDraw.Draw(mask).polygon([tuple(corner) for corner in corners], fill=255)
    layer.putalpha(mask.filter(ImageFilter.GaussianBlur(random.uniform(0.5, 1.5))))
    return layer


def made(number: int, photos: list[Path], out: Path) -> None:
    """A clip of moving photos, the same on every run."""
    random = np.random.default_rng(number)
    size, speed = SIZES[number % len(SIZES)], random.choice([0.3, 1.0, 2.5])
    chosen = [photos[(number * 4 + i) * 7 % len(photos)] for i in range(1 + PIECES)]
    ground = opened(chosen[0], tuple(round(side * MARGIN * (1 + speed / 5)) for side in size))
    layers = [(ground.convert("RGBA"), Motion(random, speed * random.choice([0.2, 1])))]
    for photo in chosen[1 : 1 + random.integers(0, PIECES + 1)]:
        layers.append((piece(photo, size, random), Motion(random, 2 * speed)))
    noise, flicker = random.choice([0, 1, 2, 4]), random.choice([0, 0, 0.002])
    with open(out, "wb") as file:
        file.write(f"YUV4MPEG2 W{size[0]} H{size[1]} F25:1 Ip A1:1 C420jpeg\n".encode())
        for frame in range(MADE_FRAMES):
            picture = Image.new("RGBA", size)
            for layer, motion in layers:
                picture.alpha_composite(look(layer, size, motion.at(frame - MADE_FRAMES / 2, random)))
            rgb = (
                np.asarray(picture)[..., :3] * (1 + flicker * frame)
                + random.normal(0, 1, (size[1], size[0], 1)) * noise
            )
            file.write(b"FRAME\n" + planes(np.clip(rgb, 0, 255)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("videos", "photos", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="DIR")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    videos = sorted(
        path for path in given.videos.iterdir() if path.suffix in (".mkv", ".mp4") and path.stem not in TEST_CLIPS
    )
    photos = sorted(path for folder in PHOTOS for path in (given.photos / folder).iterdir() if path.suffix == ".jpg")
    if not videos or not photos:
        raise SystemExit("no videos (.mkv, .mp4) or no photos (.jpg) where they should be")
    jobs = [(given.out / f"{video.stem}.y4m", shrink, (video,)) for video in videos]
    jobs += [(given.out / f"made_{number:02}.y4m", made, (number, photos)) for number in range(MADE)]
    for path, make, of in jobs:
        if not path.exists():
            make(*of, path.with_suffix(".part.y4m"))
            path.with_suffix(".part.y4m").rename(path)
            print(path.name)


if __name__ == "__main__":
    main()
