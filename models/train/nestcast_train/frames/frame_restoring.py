"""The task of the network for shown frames of video (frame_restorer.py), on parts that decoded_frames.py wrote.

The loss of a phase `squares` is the square error by what the post-filter leaves in that frame, with luma six times as
much as either colour difference, so that every rate and every frame counts alike. That of a phase `eye` is the
logarithm of what SSIMULACRA 2 lacks to 100, as for photos (perceptual.py), and a share of the first loss.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from nestcast_train.frames import decoded_frames
from nestcast_train.frames.frame_restorer import DIFFERENCE, LUMA, FrameRestorer
from nestcast_train.one_network import OneNetwork
from nestcast_train.settings import FrameSettings, Phase
from nestcast_train.synthesis.perceptual import missing
from nestcast_train.synthesis.ssimulacra import ssimulacra2

WEIGHTS = torch.tensor([6.0, 1.0, 1.0]) / 8
LEAST_ERROR = 0.1  # what mean squares count at least: rounding to 8 bits alone adds 0.08
RECEIVERS, POPULATIONS = 5, 3
SQUARES, EYE = "squares", "eye"  # stages
# ITU-R BT.601-7, of limited range: the luma of black, the factors of luma and of colour differences, and red, green and
# blue of a blue and of a red difference.
BLACK, LUMA_FACTOR, DIFFERENCE_FACTOR = 16.0, 255 / 219, 255 / 224
COLOURS = ((0.0, 1.402), (-0.344136, -0.714136), (1.772, 0.0))
VALIDATED = 2  # parts at most of each held-out clip and rate


class Parts:
    """Records, drawn by step: the same ones whether a run was interrupted or not."""

    def __init__(self, file: Path, settings: FrameSettings):
        self.records, self.settings = decoded_frames.read(file), settings

    def batch(self, step: int) -> dict[str, torch.Tensor]:
        random = np.random.default_rng([self.settings.seed, step])
        return stacked([self.records[i] for i in random.integers(len(self.records), size=self.settings.batch)])


def stacked(records: list[np.void]) -> dict[str, torch.Tensor]:
    """blocks and told: the network's inputs; frame: after the post-filter; target: the original; error: by plane."""
    filtered = np.stack([decoded_frames.of(record, "filtered") for record in records]) / np.float32(64)
    added = filtered - np.stack([decoded_frames.of(record, "predicted") for record in records]) / np.float32(8)
    known = np.stack([decoded_frames.known(record) for record in records])
    target = np.stack([decoded_frames.of(record, "original") for record in records]) - np.float32(128)
    told = np.array(
        [[record[name] for name in ("shown", "enhanced", "floor", "key")] for record in records], np.float32
    )
    error = np.stack([record["error"] for record in records])
    out = {
        "blocks": np.concatenate([filtered, added, known], 1),
        "frame": filtered,
        "target": target,
        "told": told,
        "error": error,
    }
    last = torch.channels_last
    return {
        name: torch.from_numpy(value).contiguous(memory_format=last if value.ndim == 4 else torch.contiguous_format)
        for name, value in out.items()
    }


def by_plane(squares: torch.Tensor) -> torch.Tensor:
    """(B, 24, h, w) -> (B, 3): means of luma and of both differences."""
    return torch.stack([part.mean((1, 2, 3)) for part in squares.split((LUMA, DIFFERENCE, DIFFERENCE), 1)], 1)


def to_rgb(frame: torch.Tensor) -> torch.Tensor:
    """(B, 24, h, w) -> (B, 3, 4 h, 4 w), neither clamped nor rounded; a difference applies to its 2 x 2 pixels."""
    luma, *differences = frame.split((LUMA, DIFFERENCE, DIFFERENCE), 1)
    planes = torch.cat([F.pixel_shuffle(part, 2) for part in differences], 1).repeat_interleave(2, 2)
    colours = torch.einsum("ij,bjhw->bihw", torch.tensor(COLOURS), planes.repeat_interleave(2, 3))
    return LUMA_FACTOR * (F.pixel_shuffle(luma, 4) + 128 - BLACK) + DIFFERENCE_FACTOR * colours


def shown(frame: torch.Tensor) -> torch.Tensor:
    """The planes rounded to samples of 8 bits."""
    return (frame + 128).round().clamp(0, 255) - 128


class Task(OneNetwork):
    """The network in training (train.py)."""

    def __init__(self, settings: FrameSettings, folder: Path | None):
        if folder is None:
            raise SystemExit("name the folder that decoded_frames.py wrote with --data")
        for stage in {phase.stage for phase in settings.phases} - {SQUARES, EYE}:
            raise SystemExit(f"stage = {stage!r} in a phase: not {SQUARES!r} or {EYE!r}")
        self.settings = settings
        self.parts = Parts(folder / "training.bin", settings)
        self.held_out = groups(decoded_frames.read(folder / "held-out.bin"))
        self.model = FrameRestorer(settings).to(memory_format=torch.channels_last)

    def batch(self, step: int) -> dict[str, torch.Tensor]:
        return self.parts.batch(step)

    def loss(self, batch: dict[str, torch.Tensor], phase: Phase) -> torch.Tensor:
        restored = batch["frame"] + self.model(batch["blocks"], batch["told"])
        error = by_plane((restored - batch["target"]).square()) / (batch["error"] + LEAST_ERROR)
        lost = (error * WEIGHTS).sum(1)
        if phase.stage == SQUARES:
            return lost.mean()
        with torch.autocast(restored.device.type, enabled=False):  # bfloat16 is too coarse for the comparison
            lacks = missing(to_rgb(restored), to_rgb(batch["target"]))
            return (lacks.log() + self.settings.fidelity * lost).mean()

    def validate(self, model: nn.Module) -> list[dict]:
        return gains(model, self.held_out)

    def export(self, model: nn.Module, out: Path) -> None:
        from nestcast_train.frames import frame_package

        frame_package.write(model, self.parts, out / "package")


def groups(records: np.ndarray) -> dict[tuple[int, int], list[np.ndarray]]:
    """By population and receiver: some records of each held-out clip, spread over its frames, without key frames."""
    out: dict[tuple[int, int], list[np.ndarray]] = {}
    names = np.stack([records[name] for name in ("population", "receiver", "clip", "key")], 1).astype(int)
    for population, receiver, clip in np.unique(names[names[:, 3] == 0, :3], axis=0).tolist():
        places = np.flatnonzero((names == (population, receiver, clip, 0)).all(1))
        chosen = places[np.linspace(0, len(places) - 1, min(VALIDATED, len(places))).astype(int)]
        out.setdefault((population, receiver), []).append(records[chosen])
    return out


@torch.no_grad()
def gains(model: nn.Module, held_out: dict[tuple[int, int], list[np.ndarray]]) -> list[dict]:
    """Gains over the post-filter in dB, and in points of SSIMULACRA 2, by rate: means over held-out clips, each clip's
    squares taken together."""
    rows = []
    for (population, receiver), clips in sorted(held_out.items()):
        before, gained, looks = [], [], []
        for records in clips:
            batch = stacked(list(records))
            restored = batch["frame"] + model(batch["blocks"], batch["told"])
            filtered, deep = (
                by_plane((shown(frame) - batch["target"]).square()).mean(0).clamp(min=1e-3)
                for frame in (batch["frame"], restored)
            )
            looks.append(
                [
                    ssimulacra2(to_rgb(shown(frame)).clamp(0, 255).round(), to_rgb(batch["target"])).mean()
                    for frame in (batch["frame"], restored)
                ]
            )
            before.append(10 * torch.log10(255**2 / filtered))
            gained.append(10 * torch.log10(filtered / deep))
        linear, gain = (torch.stack(values).mean(0) for values in (before, gained))
        look, deep_look = np.mean(looks, 0)
        least = min(values[0].item() for values in gained)
        rows.append(
            {
                "population": population,
                "receiver": receiver,
                "luma": round(linear[0].item(), 2),
                "gain": round(gain[0].item(), 4),
                "weighted": round((gain * WEIGHTS).sum().item(), 4),
                "least": round(least, 4),
                "ssimulacra2": round(float(look), 2),
                "ssimulacra2_gain": round(float(deep_look - look), 3),
            }
        )
    return rows
