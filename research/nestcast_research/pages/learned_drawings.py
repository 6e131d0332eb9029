"""The figures of codes.html, drawn from the tables and, of filters, from the committed weights."""

from __future__ import annotations

from nestcast_research import stored
from nestcast_research.pages import figures, learned
from nestcast_research.pages.findings import rows
from nestcast_research.pages.learned_findings import BERNOULLI, FEW, GAUSSIAN, few_errors, scores
from nestcast_train.slim import read_weights


def draw() -> None:
    draw_lengths()
    draw_balls()
    draw_activations()
    draw_filters()
    draw_scatter()
    draw_few_labels()


def draw_lengths() -> None:
    figure, axes = figures.panels(1, 2, (9, 3.4))
    for axis, column in zip(axes, ("MAP", "precision at 100")):
        found = scores(column)
        for name in dict.fromkeys(code for code, _ in found):
            points = sorted((bits, value) for (code, bits), value in found.items() if code == name)
            axis.semilogx(*zip(*points), "o-", base=2, ms=3, label=name)
        axis.set(
            xlabel="bits of a code", ylabel=column, ylim=(0, 1), xticks=learned.LENGTHS, xticklabels=learned.LENGTHS
        )
        axis.grid(alpha=0.3)
    axes[1].legend(fontsize=7, loc="lower right")
    figures.save(figure, "codes-lengths.svg")


def draw_balls() -> None:
    figure, axes = figures.panels(1, 2, (9, 3.2))
    for axis, column in zip(axes, ("precision", "recall")):
        found = rows("codes-balls.csv")
        for name in dict.fromkeys(row["code"] for row in found):
            own = [(int(row["radius"]), float(row[column])) for row in found if row["code"] == name]
            axis.plot(*zip(*own), "o-", ms=3, label=f"{name}, {found[0]['bits']} bits")
        axis.set(xlabel="radius, bits", ylabel=column, ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figures.save(figure, "codes-balls.svg")


def draw_activations() -> None:
    found = rows("codes-activations.csv")
    figure, axes = figures.panels(2, 2, (9, 5.2))
    for i, name in enumerate((BERNOULLI, GAUSSIAN)):
        own = [row for row in found if row["code"] == name]
        for axis, (at, share) in zip(
            axes[2 * i : 2 * i + 2], (("activation", "share"), ("share of ones", "share of bits"))
        ):
            places = [float(row[at]) for row in own]
            axis.bar(places, [float(row[share]) for row in own], width=places[1] - places[0])
            of = "before the threshold" if at == "activation" else "behind it"
            axis.set(
                title=f"{name}, {of}",
                xlabel="activation" if at == "activation" else "share of digits for which a bit is one",
                ylabel="share of activations" if at == "activation" else "share of bits",
            )
    figures.save(figure, "codes-activations.svg")


def draw_filters() -> None:
    """The 32 filters of 5x5 of convolutional NCA's first layer, grey where they are 0."""
    (own,) = (one for one in learned.POINTS if one.settings == "nca-convolutional")
    weights = read_weights(stored.weights(own.name))["encoder.filters.0.weight"]
    filters = 0.5 + 0.5 * weights / weights.abs().amax((1, 2, 3), keepdim=True)
    figures.save_tiles(filters.permute(0, 2, 3, 1).expand(-1, -1, -1, 3).numpy(), 16, "codes-filters.png", 8)


def draw_scatter() -> None:
    found = rows("codes-scatter.csv")
    names = [column.removesuffix(", x") for column in found[0] if column.endswith(", x")]
    figure, axes = figures.panels(2, -(-len(names) // 2), (10, 7))
    for axis, name in zip(axes, names):
        x, y = ([float(row[f"{name}, {coordinate}"]) for row in found] for coordinate in "xy")
        points = axis.scatter(x, y, c=[int(row["class"]) for row in found], cmap="tab10", s=3)
        axis.set(title=name, xticks=[], yticks=[])
    figure.legend(*points.legend_elements(), title="digit", loc="outside right center", frameon=False)
    figures.save(figure, "codes-scatter.png")


def draw_few_labels() -> None:
    figure, (axis,) = figures.panels(1, 1, (4.5, 3))
    for label, name in FEW.items():
        axis.plot(*zip(*few_errors(name).items()), "o-", ms=3, label=label)
    axis.set(xlabel="labels, %", ylabel="errors by 1 neighbour, %", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figures.save(figure, "codes-few-labels.svg")
