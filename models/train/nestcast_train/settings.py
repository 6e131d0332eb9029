"""Every number of a training run, in one dataclass a task, read from one TOML file."""

from __future__ import annotations

import dataclasses
import math
import tomllib
import typing
from pathlib import Path

DRY_CALIBRATION = 4  # training crops that a dry run's export looks at


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of a run: what it trains, for how long, along one cosine."""

    steps: int
    stage: str = "all"  # what is trained; photo.py: core, synthesis or joint; frame_restoring.py: squares or eye
    rate: float = 1.0  # share of the learning rates


@dataclasses.dataclass(frozen=True)
class Settings:
    """What every run has. Lengths are in optimiser steps unless said otherwise."""

    task: str
    name: str
    seed: int = 1
    start: str = ""  # checkpoint whose weights the run starts from, relative to the settings' file; none: untrained
    phases: tuple[Phase, ...] = ()
    batch: int = 4  # examples to a step
    learning_rate: float = 1e-3
    rise: int = 200  # of the learning rate at the start of a phase
    floor: float = 0.03  # share of the learning rate at the end of a phase's cosine
    clip: float = 1.0  # largest norm of a parameter group's gradient; 0: any
    # whether the loss is worked out in bfloat16, where PyTorch says that this is safe; weights stay in floats
    bf16: bool = False
    average: float = 0.0  # decay of the weights' running average, which is validated and exported; 0: none
    validate_every: int = 1000
    checkpoint_minutes: float = 10
    folder: str = "."  # of the settings' file

    @property
    def steps(self) -> int:
        return sum(phase.steps for phase in self.phases)

    def shortened(self, steps: int) -> Settings:
        """About `steps` steps in all, at least one in every phase: a dry run."""
        share = steps / self.steps
        phases = tuple(dataclasses.replace(phase, steps=max(1, round(share * phase.steps))) for phase in self.phases)
        return dataclasses.replace(self, phases=phases)

    def path(self, name: str) -> Path:
        """A file that the settings name."""
        return Path(self.folder) / name


@dataclasses.dataclass(frozen=True)
class PhotoSettings(Settings):
    """A photo model: transforms, quantiser, entropy coder's tables (photo.py, model.py)."""

    # Transform.
    levels: int = 6  # wavelet decomposition levels
    step: float = 4.0  # finest quantiser step, in 8-bit RGB levels, for a basis function of norm 1
    planes: int = 12  # bit planes above the finest step that a cut may fall in
    # Networks: channels at 1/4, 1/8 and 1/16 of the resolution, bottleneck blocks at each.
    analysis_channels: tuple[int, int, int] = (48, 64, 96)
    analysis_blocks: tuple[int, int, int] = (1, 1, 1)
    synthesis_channels: tuple[int, int, int] = (64, 96, 128)
    synthesis_blocks: tuple[int, int, int] = (2, 2, 2)
    # p_B: how the position that a stream is cut at is drawn, Equation 16.
    cuts: str = "log-uniform"  # in rate | "geometric" in passes, the paper's law | "table" of bandwidths
    cut_range: tuple[float, float] = (0.0, 7.0)  # in bit planes; 0: the whole stream
    rho: float = 0.98  # geometric: chance of each further pass of a subband
    bandwidths: str = ""  # table: kbps and share, as benches/data/bandwidths.csv
    interval: float = 0.04  # table: seconds that a receiver has for a picture
    pixels: int = 768 * 512  # table: of that picture
    # Objective.
    slope: float = 0.27  # dD/dR at the end of a plane, in squared steps per bit
    least_rate: float = 0.1  # bits per pixel; cuts below weigh no more than this one
    similarity: float = 0.0  # share of 1 - MS-SSIM in the distortion; the rest is squared error
    similarity_worth: float = 3500.0  # squared error, summed over R, G and B, that 1 - MS-SSIM = 1 is worth
    linear_weight: float = 0.3  # weight of the linear decoder's distortion, where the deep one's is 1
    # Optimiser: `learning_rate` is that of the networks.
    crop: int = 192  # pixels, a multiple of 64
    core_rate: float = 3e-4  # wavelet taps
    step_rate: float = 2e-3  # logarithms of the quantiser steps
    table_rate: float = 5e-3  # rate model and reconstruction points
    # Package. In real bytes the analysis's whole correction and all that the steps' ratios learned were too much
    # (docs/experiments/learned-shares.md).
    calibration: int = 96  # training crops that the ranges of the networks in int8 come from
    analysis_share: float = 0.5  # of the analysis's correction
    step_share: float = 1.0  # of the steps' learned ratios
    step_tilt: float = 0.0  # octaves that steps are finer for each level above the finest, beyond what they learned
    step_chroma: float = 0.0  # octaves that steps of the second and third component are wider
    package: dict = dataclasses.field(default_factory=dict)  # what the manifest says of the model

    def shortened(self, steps: int) -> Settings:
        return dataclasses.replace(super().shortened(steps), calibration=min(self.calibration, DRY_CALIBRATION))


@dataclasses.dataclass(frozen=True)
class SynthesisSettings(Settings):
    """The synthesis networks of a photo model, trained on with its coder frozen (synthesis.py). A phase's `stage` is
    the number of its network."""

    coder: str = (
        "../../artifacts/photo"  # the package whose tables photos were packed with; relative to the settings' file
    )
    step: float = 4.0  # as in PhotoSettings
    channels: tuple[int, int, int] = (64, 96, 128)
    blocks: tuple[int, int, int] = (2, 2, 2)
    # the least, those at which one network follows another, the greatest; network 0 is that of the least
    cuts: tuple[float, ...] = (0.0, 7.0)
    margin: float = 0.0  # planes beyond its range that a network is trained for too
    focus: tuple[float, float] = (0.0, 7.0)  # cuts that matter most,
    focused: float = 0.0  # and the share of cuts that are drawn from them alone, where a network's range has any
    by_size: float = 0.5  # share of cuts that fall into subbands in proportion to their size, as the ends of bytes do
    crop: int = 256  # pixels, a multiple of 32
    calibration: int = 96  # windows that the ranges of each network in int8 come from

    def ranges(self) -> list[tuple[float, float]]:
        """The cuts of each network."""
        return list(zip(self.cuts, self.cuts[1:]))

    def within(self, network: int) -> tuple[float, float]:
        """The cuts that a network is trained for: its own and the margin."""
        (low, high), (least, *_, most) = self.ranges()[network], self.cuts
        return max(low - self.margin, least), min(high + self.margin, most)

    def shortened(self, steps: int) -> Settings:
        return dataclasses.replace(super().shortened(steps), calibration=min(self.calibration, DRY_CALIBRATION))


@dataclasses.dataclass(frozen=True)
class PerceptualSettings(SynthesisSettings):
    """The same, trained for the eye (perceptual.py)."""

    fidelity: float = 0.25  # weight of the squared error, where SSIMULACRA 2's is 1


@dataclasses.dataclass(frozen=True)
class GainSettings(Settings):
    """The network that chooses the gains of regions (gains/gains.py)."""

    coder: str = "../../artifacts/photo-ssim"  # the package whose tables are the coder's
    model: str = "photo-ssim.toml"  # the settings of that model,
    rates: str = "../../checkpoints/photo-ssim.pt"  # and its checkpoint, which has the rate model
    synthesis: str = "../../checkpoints/photo-ssim-synthesis.pt"  # checkpoint of what decodes
    deep: float = 0.5  # share of steps whose pictures are decoded with that network; the others, by the linear decoder
    cuts: tuple[float, float] = (1.0, 5.5)
    rates_that_count: tuple[float, float] = (0.08, 1.3)  # bits per pixel; cuts of a picture beyond count for little
    strength: float = 0.35  # of the rule that the network is compared with, and starts as
    crop: int = 384  # pixels, a multiple of 64
    # of the gains that it learned, in the package: SSIMULACRA 2 asks for more than Butteraugli bears
    share: float = 0.57


@dataclasses.dataclass(frozen=True)
class MaskedSettings(PerceptualSettings):
    """The same, for streams with gains, with the coder at work (gains/synthesis.py)."""

    model: str = "photo-ssim.toml"  # as GainSettings
    rates: str = "../../checkpoints/photo-ssim.pt"
    # gains in training: those of the rule, of a strength drawn from here, and as much of noise, in octaves
    strengths: tuple[float, float] = (0.0, 0.8)
    noise: float = 0.2


@dataclasses.dataclass(frozen=True)
class FrameSettings(Settings):
    """The network for shown frames of video (frame_restorer.py)."""

    step: float = 4.0  # of the photo model that it starts from, as in PhotoSettings
    channels: tuple[int, int, int] = (64, 96, 128)  # at 1/4, 1/8 and 1/16 of the resolution
    blocks: tuple[int, int, int] = (2, 2, 2)  # bottleneck blocks at each
    fidelity: float = 2.0  # phases for the eye: weight of the squared error, where SSIMULACRA 2's is 1
    calibration: int = 96  # batches that the ranges of the network in int8 come from

    def shortened(self, steps: int) -> Settings:
        return dataclasses.replace(super().shortened(steps), calibration=min(self.calibration, DRY_CALIBRATION))


@dataclasses.dataclass(frozen=True)
class NestedSettings(Settings):
    """Codes that nested dropout may order."""

    widths: tuple[int, ...] = (3072, 100)  # of the layers, from the input to the code
    cuts: str = "geometric"  # p_B: geometric | log-uniform | uniform | whole
    rho: float = 0.9
    whole: float = 0.0  # share of examples that are not cut, whatever `cuts` says of the others


@dataclasses.dataclass(frozen=True)
class AutoencoderSettings(NestedSettings):
    """The paper's autoencoders (autoencoder.py, vectors.py)."""

    data: str = "cifar"  # one of vectors.DATA
    axes: int = 0  # principal axes that inputs are given along; 0: inputs are elements, each of variance 1
    tied: bool = True  # the decoder's weights are the encoder's
    skip: bool = False  # a linear layer in parallel to the hidden ones, in the encoder and in the decoder
    gain_rate: float = 0.0  # learning rate of the logarithms of the units' gains in the decoder; 0: there are none
    beta: float = 0.0  # share of ones of a binary code, section 4.3; 0: a real code
    corruption: float = 0.1  # share of inputs set to 0, section 4
    hidden_dropout: float = 0.2  # in all layers but the code, section 4
    decay: float = 0.0  # L1 weight decay: its gradient's norm relative to the reconstruction's, section 4.2
    invariance: float = 0.0  # weight of Equation 14
    noise: float = 0.1  # of Equation 14, standard deviation; inputs have variance 1
    sweep_window: int = 0  # steps of unit sweeping's window, section 4.1; 0: no sweeping
    sweep_tolerance: float = 0.01  # relative change in a window below which a unit has converged
    sweep_patience: int = 4  # windows after which it counts as converged
    # version, licence, data and whether it has a decoder (code_package.py)
    package: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of training: its settings, and the module that has its `Task`."""

    settings: type[Settings]
    module: str


TASKS = {
    "photo": Kind(PhotoSettings, "nestcast_train.photo.photo"),
    "synthesis": Kind(SynthesisSettings, "nestcast_train.synthesis.synthesis"),
    "perceptual": Kind(PerceptualSettings, "nestcast_train.synthesis.perceptual"),
    "gains": Kind(GainSettings, "nestcast_train.gains.gains"),
    "masked": Kind(MaskedSettings, "nestcast_train.gains.synthesis"),
    "frames": Kind(FrameSettings, "nestcast_train.frames.frame_restoring"),
    "autoencoder": Kind(AutoencoderSettings, "nestcast_train.codes.vectors"),
}  # another package adds its own


def phase_at(settings: Settings, step: int) -> tuple[Phase, float]:
    """The phase of a step, and the share of the learning rates: a short rise, then a cosine to `floor`."""
    for phase in settings.phases:
        if step < phase.steps:
            cosine = settings.floor + (1 - settings.floor) * 0.5 * (1 + math.cos(math.pi * step / phase.steps))
            return phase, phase.rate * cosine * min(1, (step + 1) / settings.rise)
        step -= phase.steps
    raise SystemExit("all steps are done")


def load(path: str | Path) -> Settings:
    """Reads settings of the task that the file names; unknown keys are an error."""
    with open(path, "rb") as file:
        values = tomllib.load(file)
    if values.get("task") not in TASKS:
        raise SystemExit(f"{path}: task = {values.get('task')!r}: not one of {', '.join(TASKS)}")
    kind = TASKS[values["task"]].settings
    unknown = set(values) - {field.name for field in dataclasses.fields(kind)} | set(values) & {"folder"}
    if unknown:
        raise SystemExit(f"{path}: unknown settings {sorted(unknown)}")
    values["phases"] = [Phase(**phase) for phase in values.get("phases", [])]
    hints = typing.get_type_hints(kind)
    lists = {name: tuple(value) for name, value in values.items() if typing.get_origin(hints[name]) is tuple}
    return kind(**{**values, **lists, "folder": str(Path(path).parent)})
