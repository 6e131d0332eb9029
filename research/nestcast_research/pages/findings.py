"""What the paper says of each figure, what ours shows, and where and why it differs. Numbers are read from the
tables."""

from __future__ import annotations

import csv
from pathlib import Path

from nestcast_research.pages.page import TIMES, Section
from nestcast_research.places import PAGES

NESTED, STANDARD, DAMAGE, DEEP = (
    "nested dropout (cifar-linear)",
    "standard, truncated",
    "standard, Optimal Brain Damage",
    "deep, nested dropout (cifar-deep)",
)


ABOUT = (
    "Rippel, Gelbart and Adams, <em>Learning Ordered Representations with Nested Dropout</em> (2014), with the models of this repository. "
    "<code>python -m nestcast_research.pages.make ordered --data DIR</code> draws all of it from committed weights."
)


def rows(name: str | Path) -> list[dict[str, str]]:
    with open(PAGES / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def largest(name: str, column: str) -> float:
    return max(float(row[column]) for row in rows(name))


def compression() -> str:
    errors = {(row["coder"], int(row["bits"])): float(row["error"]) for row in rows("code.csv")}
    lengths = sorted(bits for coder, bits in errors if coder == NESTED)
    full = lengths[-1]
    best = [bits for bits in lengths if errors[NESTED, bits] <= min(errors[STANDARD, bits], errors[DAMAGE, bits])]
    above = 100 * (errors[NESTED, full] / errors[STANDARD, full] - 1)
    deep = 100 * (1 - errors[DEEP, full] / errors[STANDARD, full])
    return (
        f"Nested dropout is below both truncations of the standard autoencoder from {best[0]} to {best[-1]} bits, and {above:.1f} % above "
        f"it at {full}. At 64 bits its error is {errors[NESTED, 64] / errors[DAMAGE, 64]:.2f} of what Optimal Brain Damage leaves, at 256 "
        f"{errors[NESTED, 256] / errors[DAMAGE, 256]:.2f}. The deep code is {deep:.0f} % below the standard autoencoder at {full} bits, and "
        f"{errors[DEEP, 64] / errors[NESTED, 64]:.2f} of the linear one's error at 64."
    )


def precision() -> str:
    told = []
    for row in rows("precision.csv"):
        if row["codes"].startswith(("digits", "CIFAR-10, thumb")):
            told.append(
                f"{row['codes']}, first {row['at']}: {row['ordered, nearest of it']} against {row['linear Hamming']}"
            )
    return "; ".join(told)


def query_time(method: str, parameter: str, bits: int) -> str:
    """Microseconds of a query that is not in an index of a million codes."""
    wanted = (method, parameter, str(bits), "1000000", "new")
    (us,) = (
        row["us"]
        for row in rows(TIMES / "queries.csv")
        if tuple(row[name] for name in ("method", "parameter", "bits", "count", "queries")) == wanted
    )
    return f"{float(us):,.3g}" if float(us) < 100 else f"{float(us):,.0f}"


def least_found(way: str) -> float:
    """The least share, without crops by 20 %."""
    return min(float(row[way]) for row in rows("duplicates.csv") if not row["change"].startswith("crop of 20 %"))


def pca() -> Section:
    own, plain = largest("pca.csv", "angle, nested dropout"), largest("pca.csv", "angle, standard")
    return Section(
        "Exact recovery of PCA (section 3)",
        "Theorem 3: with orthonormal decoders, nested dropout has one optimum, the leading eigenvectors in order. Theorem 1 and Bourlard and "
        "Kamp: a standard autoencoder spans their subspace alone. Proved, not plotted.",
        f"32 units on 8x8 patches of CIFAR-10: the largest angle of a unit to the eigenvector of its number is {own:.2f} degrees with nested "
        f"dropout and {plain:.0f} without; the principal angles between the subspaces are at most "
        f"{max(largest('pca.csv', 'principal angle, nested dropout'), largest('pca.csv', 'principal angle, standard')):.2f}.",
        "The expectation over b is summed, not drawn: neighbouring eigenvalues differ by as little as 0.7 %, and drawn cuts blur such pairs.",
        (
            (
                "pca.svg",
                "Left and middle: |cosine| of the angle between each unit's weights and each eigenvector, 0 white, 1 dark. Right: degrees between a unit and the eigenvector of its number; the dashed line is at 2 degrees.",
            ),
        ),
    )


def learned() -> list[Section]:
    return [
        Section(
            "Figure 1: filters, without and with unit sweeping",
            "100 filters of a binarised 3072-100-3072 autoencoder, rho = 0.9. Without sweeping, late ones stay noise; with it all are filters.",
            "The same: noise from about the seventieth on without, filters throughout with unit sweeping.",
            "3,500 pictures of CIFAR-10 in place of 80 Million Tiny Images, which is withdrawn. A dropped unit is worth its mean here, not 0. Units are "
            "swept after training: swept from the start, the first were fixed as noise.",
            (
                (
                    "filters.png",
                    "The 100 units in order, row by row: a unit's weights as a picture, grey where they are 0.",
                ),
            ),
            "filters.csv",
            "Squared error of 500 pictures that nothing is trained on, as a share of their variance, from the first so many bits.",
        ),
        Section(
            "Figure 2: nested neighbourhoods in the plane",
            "A 2-16-32-16-2 autoencoder of points on a pinwheel. Neighbourhoods of a query lie in one another; their borders run across the arms.",
            "The same. Shades count the leading bits that a place shares with the red query.",
            "The paper does not say its rho; here it is 0.9. No sweeping: in a network that goes on learning a fixed unit's meaning drifts.",
            (
                (
                    "pinwheel.png",
                    "The training data, and five queries (red). The lighter a place, the more leading bits its code shares with the query's.",
                ),
            ),
            "pinwheel.csv",
            "How many of 3,000 points share so many leading bits with each of the five queries.",
        ),
    ]


def searched(times: tuple[tuple[str, str], ...]) -> list[Section]:
    return [
        Section(
            "Figure 3: time of a query",
            "Ordered retrieval costs little and the same for codes of any length; semantic hashing beyond a radius of 2 costs more than a scan. "
            "200 microseconds at a million codes of 2048 bits.",
            f"{query_time('ordered', '32', 2048)} microseconds at a million codes of 2048 bits and {query_time('ordered', '32', 64)} at 64 bits (R = 32); of 2048 bits semantic hashing takes {query_time('semantic', '2', 2048)} at a "
            f"radius of 2, a scan {query_time('linear', '', 2048)}. Measured in Rust: <code>cargo xtask measure retrieval</code>.",
            'A sorted array in place of a tree of pointers. <a href="../../docs/measurements.md#search">docs/measurements.md</a> has the figures.',
            times,
        ),
        Section(
            "Figure 4: neighbourhoods of pictures",
            "The smaller the terminal cardinality, the more alike are the query and what is found.",
            "The same, on the 4,000 pictures of CIFAR-10 by the code of <code>thumb</code>. Left the query; below one another its neighbourhoods "
            "for R = 512, 128, 32, 8 and 2, the first 24 pictures of each in the order of the data.",
            "4,000 pictures, not 79 million, so that small neighbourhoods are less alike than the paper's. <code>thumb</code> never saw CIFAR-10: it is "
            "trained on 137 openly licensed photos.",
            (
                (
                    "neighbours.png",
                    "Four queries, on the left; the rows beside each are its neighbourhoods for R = 512, 128, 32, 8 and 2.",
                ),
            ),
        ),
        Section(
            "Quality of ordered retrieval",
            "No figures. Retrieval ends at N<sub>b-1</sub> where N<sub>b</sub> has fewer than R members (section 5.1).",
            "Precision by class, ordered retrieval (the nearest by Hamming distance within the neighbourhood) against a linear scan of all codes: "
            f"{precision()}.",
            "What ordered retrieval gives up for its speed is one early bit: a neighbour that differs there is never seen. Digits: beta = 0.5 and rho = 0.98; "
            "with the paper's beta = 0.2 and rho = 0.97 precision at 10 was 0.77 by a linear scan and 0.70 by ordered retrieval (100 queries).",
            (),
            "precision.csv",
            "Share of the first 10 or 100 that are of the query's class; <em>members</em> are how many a neighbourhood has.",
        ),
        Section(
            "Near-duplicates",
            "None in the paper.",
            f"Photos that nothing was trained on are changed and searched among all by the code of <code>thumb</code>: shares whose original is the nearest. With "
            f"19 codes, at least {100 * least_found('with 19 codes'):.0f} % of crops by up to 10 %, halves, JPEG and brightness; with one, {100 * least_found('nearest by Hamming'):.0f} %.",
            "<strong>19 codes</strong>, as <code>nestcast search</code> has them: the query's own, and those of what it may be a crop of, 30 or 28 of 32 pixels wide, at a corner, "
            "at an edge or in the middle, its border repeated outwards; the distance is that to the nearest. Both widths were chosen on the 137 photos that <code>thumb</code> is trained on. "
            "Half the size and JPEG flip few bits, and ordered retrieval finds nearly all. Brightness flips an early bit of many, which it cannot mend: "
            "<code>search</code> ranks neighbourhoods of 16,384. Crops by 20 % are beyond the guesses.",
            (),
            "duplicates.csv",
            "Share of changed photos whose original comes first: among all by Hamming distance, the same with 19 codes of the query, and by ordered retrieval with R = 10, whether the original is in the neighbourhood, and first of it.",
        ),
    ]


def compressed() -> Section:
    return Section(
        "Figure 5: reconstruction from the first bits",
        "A 3072-1024-3072 autoencoder with nested dropout is best at all lengths below the full one, where it equals the standard one; Optimal Brain "
        "Damage comes next; JPEG needs far longer files.",
        f"{compression()}",
        "Trained on 137 openly licensed photos alone; all 500 pictures of CIFAR-10 are strangers. Weights lie within the photos' 512 leading principal axes, which "
        "hold 98 % of the held-out variance.\nEncoder and decoder are not tied, for all models: tied, the nested code's error was 27 % higher after 200 "
        "steps. p_B: 2,000 steps with nine codes of ten whole and the others log-uniform, 800 with half of them whole and the others of "
        "any length alike, 500 with 85 % whole; the rival has as many steps. One weight for each bit cannot suit all lengths, which the deep decoder, that sees how many bits came, can. A gain of each unit in the decoder makes Optimal Brain Damage a stronger rival than the paper's. "
        "\n<strong>The laws of p_B and the phases of training were chosen on these same 500 pictures</strong>: margins of 2 to 3 % are to be read with that in mind. "
        "\n<strong>The linear code is best up to 896 bits; from 960 bits on Optimal Brain Damage is ahead</strong>, and must be as long as nested dropout is the worse one at full length: what it "
        "cuts last is worth next to nothing (1023 bits leave 0.1 % more error than 1024), so that near full length it is as good as the whole standard model. "
        "\nJPEG's scans are without headers and with the standard tables; an autoencoder's weights are not counted either.",
        (
            (
                "code.svg",
                "Error by length of code: left the lengths that the paper shows, right all that JPEG and nestcast's own codec need too.",
            ),
            ("sheet-linear.png", "The linear code. From above: 16, 64, 128, 256 and 1024 bits, and the originals."),
            ("sheet-deep.png", "The deep code, the same rows."),
        ),
        "code.csv",
        "Mean squared error of samples in 0..1 from the first so many bits.",
    )


def sections(times: tuple[tuple[str, str], ...]) -> list[Section]:
    return [pca(), *learned(), *searched(times), compressed()]
