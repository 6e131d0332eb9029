"""Train the second synthesis: python train_restorer.py restorer.toml --packed DIR --out RUN [--resume].

The coder is frozen: photos were coded once (pack.py), and every crop is what a decoder has of one at a cut of its own. The loss
is the square error by what the coder alone leaves in that photo at that cut, so that every rate and every photo counts alike.
A run may be killed at any time: it saves every few minutes, and when it is told to end (SIGTERM), and goes on with --resume.
A snapshot (--snapshot) is a checkpoint too, though the optimiser begins anew.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

import coder
import pack
from filters import Filters
from model import PASSES, PLANE_SCALE
from restorer import Restorer, maps
from settings import Restoration, load
from train import save

HERE = Path(__file__).parent
VALIDATION_CUTS = (0.8, 2.0, 2.8, 3.5, 4.4, 5.5)
VALIDATION_SIDE = 320

# Share of all coefficients that is in the units before each, and behind the last.
SIZES = np.cumsum([0.0, *(0.25 ** coder.level_of(unit) for unit in range(coder.UNITS))])
SIZES /= SIZES[-1]


@dataclasses.dataclass
class Window:
    """A part of a packed photo, as the linear decoder has it at a cut."""

    planes: np.ndarray  # (3, side, side)
    target: np.ndarray  # the photo's
    known: list[coder.Known]
    cut: float
    told: np.ndarray
    error: float  # that counts as one
    axes: np.ndarray


class Packed:
    """Windows of packed photos, drawn by step: the same ones whether a run was interrupted or not."""

    def __init__(self, folder: Path, settings: Restoration, tables: coder.Tables):
        self.settings, self.tables = settings, tables
        self.training, self.held_out = (sorted((folder / part).glob("*.npz")) for part in ("training", "held-out"))
        if not self.training:
            raise SystemExit(f"{folder}: no packed photos; pack.py makes them")
        with np.load(self.training[0]) as told:
            if str(told["tables"]) != tables.id:
                raise SystemExit(f"{folder}: packed with other tables ({told['tables']}, not {tables.id})")
        self.filters = Filters.read(HERE / settings.filters) if settings.filters else None

    def cut(self, random: np.random.Generator) -> float:
        """Uniform in planes; within a pass, some by units and some by coefficients, which is where most bytes are."""
        low, high = self.settings.cut_range
        cut = random.uniform(low, high)
        if random.random() >= self.settings.by_size:
            return cut
        at = (math.ceil(cut) - cut) * PASSES
        unit = np.interp(at - math.floor(at), SIZES, np.arange(coder.UNITS + 1))
        return min(max(math.ceil(cut) - (math.floor(at) + unit / coder.UNITS) / PASSES, low), high)

    def crop(self, random: np.random.Generator) -> Window:
        """One of the training windows."""
        pixels, coded = pack.read(self.training[random.integers(len(self.training))])
        crop, tries = min(self.settings.crop, *pixels.shape[:2]), []
        for _ in range(3):
            y, x = (coder.palette.SIDE * random.integers((n - crop) // coder.palette.SIDE + 1) for n in pixels.shape[:2])
            tries.append((pixels[y : y + crop : 4, x : x + crop : 4].var(), int(y), int(x)))
        _, y, x = sorted(tries)[random.choice((1, 2, 2))]
        return self.window(pixels, coded, self.cut(random), y, x, crop)

    def window(self, pixels: np.ndarray, coded: coder.Coded, cut: float, y: int, x: int, side: int) -> Window:
        planes, known = coder.window(coded, cut, self.tables, y, x, (side, side))
        if self.filters:
            planes = self.filters.apply(planes, known, cut)
        samples = pixels[y : y + side, x : x + side].astype(np.float32) - 128
        target = np.einsum("ij,hwj->ihw", coded.axes.astype(np.float32), samples) / np.float32(PLANE_SCALE)
        error = math.exp(np.interp(cut, np.arange(len(coded.errors)), np.log(coded.errors)))
        return Window(planes, target, known, cut, coder.told(coded, cut), error, coded.axes)

    def batch(self, step: int) -> dict[str, object]:
        random = np.random.default_rng([self.settings.seed, step])
        return stacked([self.crop(random) for _ in range(self.settings.batch)])

    def validation(self) -> list[tuple[str, float, dict[str, object]]]:
        """(half or full, cut, the middle of all held-out photos of that kind)."""
        out = []
        for kind in ("half", "full"):
            files = [file for file in self.held_out if file.stem.endswith(kind)]
            for cut in VALIDATION_CUTS:
                windows = []
                for pixels, coded in map(pack.read, files):
                    if min(pixels.shape[:2]) >= VALIDATION_SIDE:
                        y, x = ((n - VALIDATION_SIDE) // 64 * 32 for n in pixels.shape[:2])
                        windows.append(self.window(pixels, coded, cut, y, x, VALIDATION_SIDE))
                if windows:
                    out.append((kind, cut, stacked(windows)))
        return out


def stacked(windows: list[Window]) -> dict[str, object]:
    names = ("planes", "target", "cut", "told", "error", "axes")
    out = {name: torch.from_numpy(np.stack([getattr(one, name) for one in windows]).astype(np.float32)) for name in names}
    levels = zip(*(maps(one.known) for one in windows))
    out["known"] = [torch.stack(level).contiguous(memory_format=torch.channels_last) for level in levels]
    return out


def restored(model: Restorer, one: dict[str, object]) -> torch.Tensor:
    return one["planes"] + model.restore(one["planes"], one["cut"], one["told"], one["known"])


def psnr(planes: torch.Tensor, one: dict[str, object]) -> torch.Tensor:
    """(B,) of the pictures in 8 bits."""

    def rgb(planes: torch.Tensor) -> torch.Tensor:
        return (torch.einsum("bij,bihw->bjhw", one["axes"], planes) * PLANE_SCALE + 128).clamp(0, 255).round()

    error = (rgb(planes) - rgb(one["target"])).square().mean((1, 2, 3))
    return 10 * torch.log10(255**2 / error.clamp(min=1e-3))


@torch.no_grad()
def validate(model: Restorer, validation: list) -> list[dict]:
    """Gains over the linear decoder in dB, means over the held-out photos."""
    rows = []
    for kind, cut, one in validation:
        linear, deep = [], []
        for i in range(len(one["cut"])):
            single = {k: [m[i : i + 1] for m in v] if k == "known" else v[i : i + 1] for k, v in one.items()}
            linear.append(psnr(single["planes"], single).item())
            deep.append(psnr(restored(model, single), single).item())
        gain = np.mean(deep) - np.mean(linear)
        rows.append({"kind": kind, "cut": cut, "linear": round(float(np.mean(linear)), 3), "gain": round(float(gain), 4)})
    return rows


class Average:
    """An exponential average of the weights, in a model of its own; younger ones weigh more at the start."""

    def __init__(self, settings: Restoration, model: Restorer):
        self.decay = settings.average
        self.model = Restorer(settings).to(memory_format=torch.channels_last)
        self.model.load_state_dict(model.state_dict())

    @torch.no_grad()
    def update(self, model: Restorer, step: int) -> None:
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), share)


def rate_at(settings: Restoration, step: int) -> float:
    """The learning rate: a short rise, then one cosine to 1 %."""
    cosine = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / settings.steps))
    return settings.learning_rate * cosine * min(1, (step + 1) / settings.rise)


class Run:
    """A model on its way, and all that a checkpoint holds."""

    def __init__(self, settings: Restoration, out: Path, resume: bool):
        self.settings, self.checkpoint, self.step, self.seconds = settings, out / "checkpoint.pt", 0, 0.0
        torch.manual_seed(settings.seed)
        self.model = Restorer(settings).to(memory_format=torch.channels_last)
        saved = torch.load(self.checkpoint, weights_only=True, map_location="cpu") if resume else None
        if settings.start and not saved:
            self.begin(torch.load(HERE / settings.start, weights_only=True, map_location="cpu"))
        self.average = Average(settings, self.model)
        self.adam = torch.optim.Adam(self.model.parameters(), foreach=True)
        if saved:
            self.model.load_state_dict(floats(saved["model"]))
            self.average.model.load_state_dict(floats(saved["average"]))
            if "adam" in saved:
                self.adam.load_state_dict(saved["adam"])
            self.step, self.seconds = saved["step"], saved["seconds"]

    def begin(self, start: dict) -> None:
        """With the averaged weights of another such run, or with the synthesis of a checkpoint of train.py."""
        if "average" in start:
            self.model.load_state_dict(floats(start["average"]))
        else:
            prefix, weights = "synthesis.", start["model"]
            self.model.load_first({k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)})

    def save(self) -> None:
        state = {"model": self.model.state_dict(), "average": self.average.model.state_dict(), "adam": self.adam.state_dict()}
        save(self.checkpoint, {**state, "step": self.step, "seconds": self.seconds})

    def snapshot(self, path: Path) -> None:
        """Enough to go on from, in half precision and without the optimiser's state."""
        halves = {"model": self.model, "average": self.average.model}
        state = {name: {key: value.half() for key, value in one.state_dict().items()} for name, one in halves.items()}
        save(path, {**state, "step": self.step, "seconds": self.seconds})

    def learn(self, one: dict[str, object]) -> float:
        for group in self.adam.param_groups:
            group["lr"] = rate_at(self.settings, self.step)
        error = (restored(self.model, one) - one["target"]).square().sum(1).mean((1, 2))
        loss = (error / one["error"]).mean()
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.adam.step()
        self.step += 1
        self.average.update(self.model, self.step)
        return loss.item()


def floats(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Of a checkpoint that may be in half precision."""
    return {name: value.float() for name, value in weights.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", type=Path)
    parser.add_argument("--packed", type=Path, required=True, help="what pack.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint and log")
    parser.add_argument("--model", type=Path, default=HERE / "../artifacts/photo", help="package whose tables are the coder's")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt")
    parser.add_argument("--steps", type=int, help="stop after so many steps in all, for a dry run")
    parser.add_argument("--snapshot", type=Path, help="write OUT's weights there in half precision, and stop")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    settings = load(arguments.settings, Restoration)
    if arguments.snapshot:
        return Run(settings, arguments.out, resume=True).snapshot(arguments.snapshot)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    packed = Packed(arguments.packed, settings, coder.Tables.read(arguments.model / "tables.bin"))
    run = Run(settings, arguments.out, arguments.resume)
    ended = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.append(True))
    train(run, packed, arguments.out / "log.jsonl", min(arguments.steps or settings.steps, settings.steps), ended)


def train(run: Run, packed: Packed, log_file: Path, last: int, ended: list) -> None:
    settings, smooth, first = run.settings, None, run.step
    validation = packed.validation()
    with open(log_file, "a", buffering=1, encoding="utf-8") as log, ThreadPoolExecutor(1) as ahead:

        def report() -> None:
            seen = run.step * settings.batch * settings.crop**2
            told = {"step": run.step, "pixels": seen, "seconds": round(run.seconds), "loss": smooth and round(smooth, 4)}
            for row in validate(run.average.model, validation):
                log.write(json.dumps({**told, **row}) + "\n")

        if run.step == 0:
            report()
        following, saved = ahead.submit(packed.batch, run.step), time.monotonic()
        while run.step < last and not ended:
            began, one = time.monotonic(), following.result()
            following = ahead.submit(packed.batch, run.step + 1)
            loss = run.learn(one)
            share = max(0.005, 1 / (run.step - first))  # a plain mean at the start
            smooth = loss if smooth is None else smooth + share * (loss - smooth)
            run.seconds += time.monotonic() - began
            if run.step % 50 == 0:
                print(f"{run.step} loss {smooth:.4f} {run.seconds:.0f} s", flush=True)
            if run.step % settings.validate_every == 0:
                report()
            if time.monotonic() - saved > 60 * settings.checkpoint_minutes:
                run.save()
                saved = time.monotonic()
    run.save()


if __name__ == "__main__":
    main()
