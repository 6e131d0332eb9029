"""The task of the network for gains: points of SSIMULACRA 2 at equal bits, whatever the cut.

A step looks at crops at cuts drawn from p_B (Equation 16 of Rippel, Gelbart and Adams, 2014), works out what the gain
of each region is worth there (slopes.py), and moves the network's gains that way. The first phase learns the rule.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from nestcast_train.coded.coder import Tables
from nestcast_train.coded.windows import to_rgb
from nestcast_train.export import graph, manifest
from nestcast_train.gains import network, slopes
from nestcast_train.gains.coder import Coder
from nestcast_train.gains.pictures import Crops, Pictures
from nestcast_train.one_network import OneNetwork
from nestcast_train.photo.model import PLANE_SCALE, SIDE, Codec, Correction
from nestcast_train.settings import GainSettings, Phase, load
from nestcast_train.synthesis.ssimulacra import ssimulacra2
from nestcast_train.train import floats, read

FOUND = "found.npz"  # beside `photos` in the folder of the data
VALIDATION_SIZE = 384, 576  # middles of held-out pictures
VALIDATION_RATES = (0.1, 0.2, 0.3, 0.5, 1.0)  # bits per pixel
HALVINGS = 12  # of the interval of cuts that a rate's is looked for in
GAINS = "gains.onnx"
PORTS = """[networks.gains]
planes = "planes"
activity = "activity"
"""
MAX_DIFFERENCE = 1e-3  # of the exported network from the trained one
SELDOM = 0.2  # weight of a cut whose rate does not count


def frozen_coder(settings, size: tuple[int, int]) -> Coder:
    """The coder of the settings' package, for crops of this size, on the default device."""
    of_model = load(settings.path(settings.model))
    codec = Codec(of_model)
    codec.load_state_dict(floats(read(settings.path(settings.rates))["model"]))
    tables = Tables.read(manifest.file(settings.path(settings.coder), "tables.bin"))
    return Coder(codec, tables, size).requires_grad_(False).to(torch.get_default_device())


def frozen_synthesis(settings: GainSettings) -> Correction:
    of_model = load(settings.path(settings.model))
    synthesis = Correction(of_model.synthesis_channels, of_model.synthesis_blocks, of_model.step, cut=True)
    weights, prefix = floats(read(settings.path(settings.synthesis))["model"]), "networks.0."
    synthesis.load_state_dict({name.removeprefix(prefix): value for name, value in weights.items()})
    return synthesis.requires_grad_(False).to(torch.get_default_device())


def planes_of(crops: Crops) -> torch.Tensor:
    return torch.einsum("bij,bjhw->bihw", crops.axes, crops.rgb - 128) / PLANE_SCALE


class Task(OneNetwork):
    """The network in training (train.py)."""

    def __init__(self, settings: GainSettings, folder: Path | None):
        if folder is None:
            raise SystemExit(f"name the folder with `photos` and {FOUND} (gains/pictures.py) with --data")
        self.settings, device = settings, torch.get_default_device()
        self.pictures = Pictures(folder / "photos", folder / FOUND, device, settings.crop)
        self.model = network.GainNetwork().to(device)
        self.coder = frozen_coder(settings, (settings.crop, settings.crop))
        self.wide = frozen_coder(settings, VALIDATION_SIZE)
        self.synthesis = frozen_synthesis(settings)

    def batch(self, step: int) -> Crops:
        return self.pictures.crops(
            self.settings.batch, self.settings.crop, random.Random(f"{self.settings.seed} {step}")
        )

    def loss(self, batch: Crops, phase: Phase) -> torch.Tensor:
        settings, planes = self.settings, planes_of(batch)
        gains = network.gains(self.model(planes))
        bands = self.coder.decompose(planes, batch.rotations)
        if phase.stage == "rule":
            return (gains - network.ruled(self.coder.rule(bands), settings.strength)).square().mean()
        low, high = settings.cuts
        cut = low + (high - low) * torch.rand(len(planes))
        deep = torch.rand((), device="cpu").item() < settings.deep

        def show(bands: list[torch.Tensor]) -> torch.Tensor:
            linear = self.coder.compose(bands, batch.rotations)
            return to_rgb(self.decoded(linear, cut) if deep else linear, batch.axes)

        with torch.autocast(planes.device.type, enabled=False):
            worth, _, bits = slopes.worth(self.coder, bands, gains.detach(), cut, show, batch.rgb)
        rate = bits / planes[0, 0].numel()
        least, most = settings.rates_that_count
        weight = torch.where((rate > least) & (rate < most), 1.0, SELDOM).view(-1, 1, 1)
        return -(gains * worth * weight).sum((1, 2)).mean()

    def decoded(self, linear: torch.Tensor, cut: torch.Tensor) -> torch.Tensor:
        with torch.autocast(linear.device.type, torch.bfloat16):
            return linear + self.synthesis(linear, cut).float()

    @torch.no_grad()
    def validate(self, model: network.GainNetwork) -> list[dict]:
        """SSIMULACRA 2 of the linear decoder at equal bits, the map's not counted: without gains, and what those of the
        rule and the network add; means over the held-out pictures."""
        sums = torch.zeros(3, len(VALIDATION_RATES))
        middles = self.pictures.middles(VALIDATION_SIZE)
        for one in middles:
            planes = planes_of(one)
            bands = self.wide.decompose(planes, one.rotations)
            ruled = network.ruled(self.wide.rule(bands), self.settings.strength)
            for row, gains in zip(sums, (torch.zeros_like(ruled), ruled, network.gains(model(planes)))):
                row += self.scores(one, bands, gains)
        none, ruled, learned = (sums / len(middles)).tolist()
        return [
            {"bpp": bpp, "none": round(a, 2), "rule": round(b - a, 3), "network": round(c - a, 3)}
            for bpp, a, b, c in zip(VALIDATION_RATES, none, ruled, learned)
        ]

    def scores(self, one: Crops, bands: list[torch.Tensor], gains: torch.Tensor) -> torch.Tensor:
        count = len(VALIDATION_RATES)
        bands = [band.expand(count, -1, -1, -1) for band in bands]
        rotations, gains = one.rotations.expand(count, -1, -1, -1, -1), gains.expand(count, -1, -1)
        wanted = torch.tensor(VALIDATION_RATES) * one.rgb[0, 0].numel()
        low, high = torch.zeros(count), torch.full((count,), 8.0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            more = self.wide.code(bands, gains, middle).bits > wanted
            low, high = torch.where(more, middle, low), torch.where(more, high, middle)
        decoded = to_rgb(
            self.wide.compose(self.wide.code(bands, gains, high).bands, rotations), one.axes.expand(count, -1, -1)
        )
        return ssimulacra2(decoded.clamp(0, 255).round(), one.rgb.expand(count, -1, -1, -1))

    def export(self, model: network.GainNetwork, out: Path) -> None:
        """Writes the coder's package with this network."""
        settings, package = self.settings, out / "package"
        manifest.copy(settings.path(settings.coder), package)
        write_package(model.cpu(), package, settings.strength / settings.share)


@torch.no_grad()
def write_package(model: network.GainNetwork, package: Path, strength: float) -> None:
    """Puts the network into a package. strength: of the masking that has the gains that it learned."""
    graph.write_gains(model, package / GAINS, strength)
    planes = torch.from_numpy(np.load(package / "golden/planes.npy"))[None]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(package / GAINS, options, providers=["CPUExecutionProvider"])
    blocks = torch.nn.functional.pixel_unshuffle(planes, SIDE).permute(0, 2, 3, 1).contiguous()
    (exported,) = session.run(["activity"], {"planes": blocks.numpy()})
    trained = model(planes)[0]
    of_export = torch.from_numpy(exported)[0].permute(2, 0, 1)
    of_export = torch.stack([strength * of_export[0], torch.sigmoid(of_export[1])])
    if (of_export - trained).abs().max() > MAX_DIFFERENCE:
        raise SystemExit(f"{GAINS} is apart from the trained network: {of_export} and {trained}")
    np.save(package / "golden/activity.npy", exported[0])  # (2, 2, 2)
    text = (package / manifest.MANIFEST).read_text(encoding="utf-8")
    head, _, _ = text.partition(f"\n{manifest.FILES}\n")
    if PORTS not in head:
        head = head.replace("\n[encoder]\n", f"\n{PORTS}\n[encoder]\n")
    manifest.write(package, head)
