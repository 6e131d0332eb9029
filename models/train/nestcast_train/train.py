"""Trains a model and exports it: python -m nestcast_train.train settings/photo.toml --data DIR --out RUN [--resume].

The settings name the task, and a task (photo.py, synthesis.py, vectors.py) knows its model, its data and its loss; the
loop below is the same for all. You can stop a run at any time: it saves every few minutes and at SIGTERM. With --resume
it goes on as if it had not been interrupted, because what a step draws depends on the seed and the step alone.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from nestcast_train.settings import TASKS, Phase, Settings, load, phase_at

STEPS_A_SEED = 10**9  # so that no two steps of two seeds draw the same


class Task(Protocol):
    """What the loop asks of a task."""

    settings: Settings
    model: nn.Module

    def groups(self) -> list[dict]:
        """Parameters by what they are: name, params, base (the learning rate)."""

    def trained(self, stage: str) -> tuple[str, ...]:
        """Names of the groups that a phase trains."""

    def batch(self, step: int) -> Any:
        """The examples of a step; called ahead of it, in another thread."""

    def loss(self, batch: Any, phase: Phase) -> torch.Tensor: ...

    def before_step(self) -> None:
        """Between `backward` and the optimiser's step."""

    def after_step(self) -> None:
        """After the optimiser's step."""

    def validate(self, model: nn.Module) -> list[dict]: ...

    def begin(self, start: dict) -> None:
        """Takes the weights of the checkpoint that the settings start from."""

    def state(self) -> dict: ...

    def load_state(self, saved: dict) -> None: ...

    def export(self, model: nn.Module, out: Path) -> None: ...


class Run:
    """A task in training, and all that a checkpoint holds."""

    def __init__(self, task: Task, out: Path, resume: bool):
        self.task, self.settings, self.out = task, task.settings, out
        self.checkpoint, self.step, self.seconds = out / "checkpoint.pt", 0, 0.0
        self.average: dict[str, torch.Tensor] = {}
        saved = read(self.checkpoint) if resume else None
        if self.settings.start and not saved:
            start = read(self.settings.path(self.settings.start))
            task.begin({**start, "model": floats(start["model"])})
        self.adam = torch.optim.Adam(task.groups(), foreach=True)
        if saved:
            self.load(saved)
        elif self.settings.average:
            self.average = {name: value.detach().clone() for name, value in task.model.state_dict().items()}

    def load(self, saved: dict) -> None:
        self.task.model.load_state_dict(floats(saved["model"]))
        if self.settings.average:
            average = floats(saved.get("average", saved["model"]))
            self.average = {name: value.to(torch.get_default_device()) for name, value in average.items()}
        if "adam" in saved:  # what slim.py wrote has none
            self.adam.load_state_dict(saved["adam"])
        for group, own in zip(self.adam.param_groups, self.task.groups()):
            group.update(name=own["name"], base=own["base"])  # the settings' rates, not those of the run that saved it
        self.step, self.seconds = saved["step"], saved.get("seconds", 0.0)
        self.task.load_state(saved)

    def save(self) -> None:
        state = {"model": self.task.model.state_dict(), "adam": self.adam.state_dict(), **self.task.state()}
        if self.average:
            state["average"] = self.average
        write(self.checkpoint, {**state, "step": self.step, "seconds": self.seconds})

    def learn(self, batch: Any) -> float:
        phase, share = phase_at(self.settings, self.step)
        trained = self.task.trained(phase.stage)
        torch.manual_seed(STEPS_A_SEED * self.settings.seed + self.step)
        for group in self.adam.param_groups:
            group["lr"] = group["base"] * share
            for parameter in group["params"]:
                parameter.requires_grad_(group["name"] in trained)
        with torch.autocast(torch.get_default_device().type, torch.bfloat16, enabled=self.settings.bf16):
            loss = self.task.loss(batch, phase)
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.task.before_step()
        if self.settings.clip:
            for group in self.adam.param_groups:
                nn.utils.clip_grad_norm_(group["params"], self.settings.clip)
        self.adam.step()
        self.task.after_step()
        self.step += 1
        self.update_average()
        return loss.item()

    @torch.no_grad()
    def update_average(self) -> None:
        """Younger weights count more at the start."""
        share = 1 - min(self.settings.average, (1 + self.step) / (10 + self.step))
        for name, value in self.task.model.state_dict().items() if self.average else ():
            self.average[name].lerp_(value, share) if value.is_floating_point() else self.average[name].copy_(value)

    def averaged(self) -> nn.Module:
        """The model that is validated and exported. The run does not go on with it."""
        if not self.average:
            return self.task.model
        model = copy.deepcopy(self.task.model)
        model.load_state_dict(self.average)
        return model


def task_of(settings: Settings) -> type[Task]:
    """The task that the settings name."""
    return importlib.import_module(TASKS[settings.task].module).Task


def read(checkpoint: Path) -> dict:
    return torch.load(checkpoint, weights_only=True, map_location="cpu")


def write(checkpoint: Path, state: dict) -> None:
    """Replaces the checkpoint in one step."""
    torch.save(state, checkpoint.with_suffix(".tmp"))
    checkpoint.with_suffix(".tmp").replace(checkpoint)


def floats(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights of a checkpoint that may be in half precision."""
    return {name: value.float() if value.dtype == torch.half else value for name, value in weights.items()}


def train(run: Run, ended: list | None = None) -> None:
    """Runs to the end of the settings' phases, or until `ended` has something in it."""
    task, settings, smooth = run.task, run.settings, None
    with open(run.out / "log.jsonl", "a", buffering=1, encoding="utf-8") as log, ThreadPoolExecutor(1) as ahead:

        def report() -> None:
            told = {"step": run.step, "seconds": round(run.seconds), "loss": smooth and round(smooth, 4)}
            for row in task.validate(run.averaged()):
                log.write(json.dumps({**told, **row}) + "\n")

        if run.step == 0:
            report()
        following, saved = ahead.submit(task.batch, run.step), time.monotonic()
        while run.step < settings.steps and not ended:
            began, batch = time.monotonic(), following.result()
            following = ahead.submit(task.batch, run.step + 1)
            loss = run.learn(batch)
            smooth = loss if smooth is None else smooth + 0.01 * (loss - smooth)
            run.seconds += time.monotonic() - began
            if run.step % 50 == 0:
                print(f"{run.step} of {settings.steps}: loss {smooth:.4f}, {run.seconds:.0f} s", flush=True)
            if run.step % settings.validate_every == 0 or run.step == settings.steps:
                report()
            if time.monotonic() - saved > 60 * settings.checkpoint_minutes:
                run.save()
                saved = time.monotonic()
    run.save()


def to_its_end(run: Run) -> bool:
    """Trains until the run's end, or until SIGTERM or SIGINT asks for an earlier one; whether it came to its own."""
    ended: list = []
    before = [
        (number, signal.signal(number, lambda *_: ended.append(True))) for number in (signal.SIGTERM, signal.SIGINT)
    ]
    try:
        train(run, ended)
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    return not ended


def start(settings: Settings, data: Path | None, out: Path, resume: bool = False) -> Run:
    """A run that is ready for `train`."""
    torch.manual_seed(settings.seed)
    torch.set_flush_denormal(True)  # the inverse wavelet matrices decay into denormals
    out.mkdir(parents=True, exist_ok=True)
    task = task_of(settings)(settings, data)
    return Run(task, out, resume)


def complete(settings: Settings, data: Path, out: Path) -> None:
    """Trains a model from nothing and exports it. What several models of one process learn from is read once."""
    began = time.process_time()
    run = start(settings, data, out)
    train(run)
    run.task.export(run.averaged(), out)
    print(f"{settings.name}: {time.process_time() - began:.0f} s of processor time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=Path)
    parser.add_argument("--data", type=Path, help="folder of the task's data; README.md says which")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint, log and package")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt")
    parser.add_argument("--steps", type=int, help="about so many steps in all, for a dry run")
    parser.add_argument("--threads", type=int, help="of PyTorch; default: one a core")
    parser.add_argument("--device", default="cpu", help="cuda is for the tasks of gains/ alone")
    arguments = parser.parse_args()
    torch.set_default_device(arguments.device)
    settings = load(arguments.settings)
    if arguments.steps:
        settings = settings.shortened(arguments.steps)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    run = start(settings, arguments.data, arguments.out, arguments.resume)
    if not to_its_end(run):
        return
    if arguments.device != "cpu":  # what an export looks at is drawn on the CPU
        torch.set_default_device("cpu")
        run = start(settings, arguments.data, arguments.out, resume=True)
    run.task.export(run.averaged(), arguments.out)


if __name__ == "__main__":
    main()
