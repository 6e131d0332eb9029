"""What codes.html says; numbers are read from the tables."""

from __future__ import annotations

from nestcast_research.pages import learned
from nestcast_research.pages.findings import rows
from nestcast_research.pages.page import Section

ABOUT = (
    "Three more papers on codes whose near neighbours mean the same, beside ordered codes, on one collection: 50,000 digits of MNIST are searched for the first "
    "1,000 of its test part, and nearest neighbours found among 60,000 for all of it. Settings were chosen on 10,000 other digits. <code>python -m nestcast_research.pages.make codes --data DIR</code> measures all of it with the "
    "committed weights, and with <code>--train</code> trains them before, which takes some 100 minutes of one processor thread."
)
BERNOULLI, GAUSSIAN, NESTED = "Bernoulli VAE", "Gaussian VAE", "Bernoulli VAE, nested"
CLASSED, CLASSED_NESTED = "NCA, bits", "NCA, bits, nested"


def scores(column: str = "MAP") -> dict[tuple[str, int], float]:
    """By code and bits."""
    return {(row["code"], int(row["bits"])): float(row[column]) for row in rows("codes-table.csv")}


def variational() -> Section:
    found = scores()
    ladder = sorted(bits for code, bits in found if code == GAUSSIAN)
    won = [bits for bits in ladder if found[BERNOULLI, bits] > found[GAUSSIAN, bits]]
    return Section(
        "Bernoulli against Gaussian latents",
        "Bernoulli latents, sampled by the binary concrete relaxation, give a better ranking than Gaussian ones thresholded at the median, on MNIST at all lengths.",
        f"MAP of the Bernoulli code against the Gaussian one: {against(BERNOULLI, GAUSSIAN)}. Bernoulli latents are ahead at {len(won)} of {len(ladder)} lengths. "
        f"ITQ, which turns the same 64 axes and trains in seconds, against Bernoulli latents: {against('ITQ', BERNOULLI)}.",
        "Digits' pixels are given along 64 principal axes; for features of a convolutional network, as the paper has them, see the next section. The reconstruction's noise is normal. Both latents "
        "have the same layers, 64-256-K and back, the same steps and the same weight of the divergence. The temperature falls from 1 to 0.3. One run each.",
        (
            (
                "codes-lengths.svg",
                "MAP and precision of the first 100, by the length of a code; NCA alone knows the classes.",
            ),
            (
                "codes-balls.svg",
                "Ball search with 32 bits: all codes within a Hamming distance of the query's, what share of them is of its class, and what share of its class they are.",
            ),
        ),
    )


def collection(table: str, code: str, column: str = "MAP") -> dict[int, str]:
    """By bits."""
    return {int(row["bits"]): row[column] for row in rows(table) if row["code"] == code}


def measures(
    table: str, columns: tuple[str, ...] = ("MAP",), names: tuple[str, ...] = (BERNOULLI, GAUSSIAN, "ITQ", "LSH")
) -> str:
    """What these codes have at all lengths that were trained, by column."""
    lengths = tuple(collection(table, GAUSSIAN))
    of = lambda code, column: ", ".join(collection(table, code, column)[bits] for bits in lengths)
    said = (
        f"{column} at {', '.join(map(str, lengths))} bits: " + "; ".join(f"{code} {of(code, column)}" for code in names)
        for column in columns
    )
    return ". ".join(one[0].upper() + one[1:] for one in said)


def ahead(table: str, rival: str = GAUSSIAN) -> str:
    """At which lengths Bernoulli latents are ahead in MAP."""
    own, other = collection(table, BERNOULLI), collection(table, rival)
    lengths = tuple(collection(table, GAUSSIAN))
    won = [bits for bits in lengths if float(own[bits]) > float(other[bits])]
    return (
        "at no length"
        if not won
        else "at all lengths"
        if len(won) == len(lengths)
        else f"at {' and '.join(map(str, won))} bits alone"
    )


def convolved() -> Section:
    table = "codes-features.csv"
    lengths = tuple(collection(table, GAUSSIAN))

    def risen(code: str, column: str) -> str:
        pixels, found = scores(column), collection(table, code, column)
        return f"{code} " + ", ".join(f"{pixels[code, bits]:.3f} to {found[bits]}" for bits in lengths)

    told = lambda column: "; ".join(risen(code, column) for code in (BERNOULLI, GAUSSIAN, "ITQ"))
    return Section(
        "Features of a convolutional network (Tables 2, 3 and 4)",
        "On MNIST, features of a network that was trained on photos with their classes (VGG) give codes of higher precision than pixels do, at all lengths and for either latents; of such features "
        "Bernoulli latents are ahead of Gaussian ones in MAP at all lengths.",
        f"<strong>Both are seen: of features Bernoulli latents are ahead of Gaussian ones {ahead(table)} in MAP</strong>, and of ITQ {ahead(table, 'ITQ')}.\n"
        f"From pixels to features, at {', '.join(map(str, lengths))} bits, MAP: {told('MAP')}. Precision at 100: {told('precision at 100')}.",
        "The network is our own: the second layer of 32 filters, 2,048 numbers a digit, of the one whose softmax features are under <em>pictures of CIFAR-10</em> below. "
        "<strong>It learned with labels, those of 3,500 pictures of CIFAR-10; no label of a digit was used, nor any digit.</strong> "
        "Of its layers the second was chosen by what ITQ's codes find among held-out digits: its hidden units, which know most of pictures' classes, are worse than pixels. Codes are then trained as those of pixels, along 64 principal axes, by the same settings; one run each.",
        (),
        table,
        "1,000 test digits among 50,000, by length and MAP: codes of what a convolutional network makes of them.",
    )


def cifar() -> Section:
    table = "codes-cifar.csv"
    return Section(
        "Pictures of CIFAR-10 (Table 4)",
        "Of features of a network that was trained on photos, Bernoulli latents are ahead of Gaussian ones in MAP at all lengths.",
        f"{measures(table)}. <strong>Bernoulli latents are ahead of Gaussian ones {ahead(table)}</strong>, and level with ITQ; by any order of the pictures MAP is 0.1.",
        "Pixels in place of such features, along 64 principal axes: the one network of ours that sees pictures learned from these, with their classes. 3,500 pictures to learn from and to search, 500 to ask for. Settings are those of digits; one run each.",
        (),
        table,
        "500 pictures among 3,500, by length and MAP.",
    )


def activations() -> Section:
    return Section(
        "Activations before and behind the threshold (Figures 6 and 7)",
        "Activations of a Bernoulli model crowd at 0 and 1, so that the threshold changes little; means of a Gaussian one crowd around it.",
        f"The same at {rows('codes-balls.csv')[0]['bits']} bits. A Gaussian bit is a one for half of the digits by the choice of its threshold, the median; a Bernoulli one need not be.",
        "Bits' shares of ones are over the 50,000 digits that are searched.",
        (
            (
                "codes-activations.svg",
                "Left: activations of all bits and digits, sigmoids of logits (Bernoulli) or means (Gaussian). Right: for how many digits each bit is a one.",
            ),
        ),
    )


def against(own: str, rival: str) -> str:
    """MAP at every length that both have."""
    found = scores()
    lengths = sorted(bits for code, bits in found if code == own and (rival, bits) in found)
    return ", ".join(f"{bits} bits {found[own, bits]:.3f} against {found[rival, bits]:.3f}" for bits in lengths)


def quantisation() -> Section:
    found = {row["code"]: row for row in rows("codes-classifier.csv")}
    columns = ("before the threshold", "behind it", "trained before, tested behind")
    told = lambda name: ", ".join(found[name][column] for column in columns)
    return Section(
        "What the threshold costs a classifier (Table 8)",
        "On MNIST and six other collections: before the threshold Gaussian representations of 32 numbers are the better ones, behind it those of Bernoulli latents, which the threshold "
        "hardly changes.",
        "The same. A classifier with a hidden layer of 256 is right about these shares of digits, before the threshold, behind it, and trained before and tested behind: "
        f"Bernoulli {told(BERNOULLI)}; Gaussian {told(GAUSSIAN)}.",
        "600 steps of 256 digits for each classifier.",
        (),
        "codes-classifier.csv",
        "Share of 10,000 test digits that the classifier is right about.",
    )


def documents() -> Section:
    table = "codes-texts.csv"
    return Section(
        "Texts (Tables 3, 4 and 7)",
        "On four collections of texts Bernoulli latents are ahead of Gaussian ones in most cases, and bits can be told by the words that they make likely.",
        f"What some 24,000 packages of Debian 12 say of themselves, classed by the 26 sections that they are in; 1,000 are asked for. {measures(table, ('MAP', 'precision at 100'))}. "
        f"<strong>Bernoulli latents are ahead of Gaussian ones {ahead(table)} in MAP</strong>, and of ITQ {ahead(table, 'ITQ')}.",
        "None of the papers' collections was to be had under terms that allow it. Words are weighed by how rare they are, 2,000 of them, along 64 principal axes; the reconstruction's noise is normal, not "
        "a choice of words, so that a bit's words are those whose weight rises most. <code>codes-texts.csv</code> has all measures.",
        (),
        "codes-words.csv",
        "The words that each bit of a Bernoulli code of 32 adds most, the strongest first.",
    )


def nested() -> Section:
    return Section(
        "One code of any length: nested Bernoulli latents and nested NCA",
        "In none of the papers. Nested dropout over the bits of either: the latents behind a drawn length are dropped from the reconstruction and from the divergence, "
        "so that the loss is the bound of a shorter model; in NCA a point sees only its own first bits in all others. Every first so many bits are then a code.",
        f"MAP of one model of 512 bits, cut, against a model trained for that length. Bernoulli latents: {against(NESTED, BERNOULLI)}. "
        f"NCA, which is trained with the classes: {against(CLASSED_NESTED, CLASSED)}.",
        "Lengths are drawn log-uniformly. A nested model has as many steps as each of those that it is measured against, and all of a kind the same hidden layer.",
    )


def neighbours() -> Section:
    told, deep, shallow, split = told_errors, "nonlinear NCA", "NCA, one hidden layer", "NCA, one hidden layer, split"
    return Section(
        "Nearest neighbours: nonlinear NCA",
        "Salakhutdinov and Hinton: 784-500-500-2000-30, pretrained as Boltzmann machines, errs on 1.08, 1.00, 1.03 and 1.01 % of MNIST's test part by 1, 3, 5 and 7 "
        "neighbours; with split codes and reconstruction on 1.00, 0.97, 0.98 and 0.97 %, and on 4.3 % by 3 neighbours in the units outside the objective.",
        f"By 1, 3, 5 and 7 neighbours, <strong>their network, from the pretrained machines: NCA alone {told(deep, 1, 3, 5, 7)} %, regularised {told(deep + ', regularised', 1, 3, 5, 7)} %, "
        f"regularised with split codes {told(deep + ', split', 1, 3, 5, 7)} %</strong>; in the 20 units outside the objective {told(deep + ', split, the other 20 units', 3)} % by 3. Chance moves each by 0.12 (one standard error).\n"
        f"<strong>The same machines by log likelihood (Equation 6), from a code scaled for digits to have neighbours, over all 60,000: {told(deep + ', by log likelihood', 1, 3, 5, 7)} %.</strong>\n"
        f"<strong>The same network by what is known today {told(deep + ', as of today', 1, 3, 5, 7)} %.</strong>\n"
        f"With one hidden layer of 500, pretrained, 1,500 steps of 500 digits for each, lambda = 0.999: NCA alone {told(shallow, 1, 3, 5, 7)} %, regularised {told(shallow + ', regularised', 1, 3, 5, 7)} %, "
        f"regularised with split codes {told(split, 1, 3, 5, 7)} %, and in the 20 units outside the objective {told(split + ', the other 20 units', 3)} % by 3.\n"
        f"One layer of rectified units, no pretraining and 600 steps {told('NCA, rectified, along 64 axes', 1, 3, 5, 7)} %; 30 principal axes, with no training, {told('principal axes', 1, 3, 5, 7)} %.",
        "<strong>By the paper's own form its errors are not reached.</strong> Pretraining is 20, 20, 15 and 15 passes over 50,000 digits for the four machines, where the paper has 50 over 60,000; then come 80 passes in batches of 2,000 by Adam, "
        "where it has 50 in batches of 5,000 by conjugate gradients, three line searches each; one run of each, with no setting chosen. "
        "Fine-tuning stops before it fits what it learns from: as it starts, the machines' code is so wide that the median digit chooses among 1.00 others, and only 1 % of digits have a gradient by Equation 5; in the end 0.96 % of 5,000 that it learned from still lie nearest to another class. Regularised and split codes have the paper's lambda, 0.99, and bfloat16, which NCA alone has not. "
        "<em>By log likelihood</em> the pretrained code is made narrower at the start, until the median digit chooses among 30 others, and 30 passes in batches of 500 fit every one of 5,000 digits that it learned from. The number of passes is of a run that learned from 50,000 and "
        "erred on 1.34 % of the other 10,000 by 3 neighbours, where Equation 5 has 1.49 %; then it learned from all 60,000, and the test part was looked at once. So what was short was the fit; what is left is that nothing holds such a network back from the digits that it knows.\n"
        "The free units of the split code begin at random, since the machines end in 30; they tell classes less than the paper's, which is what they are for.\n"
        "<em>As of today</em>: the same layers and 30 units, but rectified units without pretraining, the log likelihood (Equation 6) in place of "
        "Equation 5, every digit turned, scaled, slanted, moved and bent at random in each of 100 passes in batches of 1,000, an average of the weights, bfloat16. With Equation 5 such a network had stopped at an expected share of 0.6 right. On the "
        "10,000 digits that nothing learns from, which are searched in the end, it erred on 0.68 % by 3 neighbours, the paper's form on 1.49 %; the test part was looked at once. Trained a second time from nothing, by 1, 3 and 10 neighbours of the test part it erred on 0.76, 0.73 and 0.69 %, the paper's form on 1.60, 1.49 and 1.58 %: so far do runs differ.\n"
        "<strong>Which orders hold, by 3 neighbours, judged by the digits that one of two codes alone gets wrong: four layers are better than one (152 errors and 180, chance moves the difference by 11), and what is known today is better than the paper's form (64 errors). "
        "The paper's order of the variants, by which reconstruction and split codes help a little, cannot be told.</strong> With four layers they err on 152, 157 and 155 test digits: 5 and 3 more, where chance moves the difference by 9 and 10; and on 149, 136 and 138 of the 10,000 digits that nothing learns from, 13 and 11 fewer, chance 9. "
        "With one layer on 180, 193 and 183, chance 10. The paper's own order is one of 100 and 97 errors; to see 3 of 100 would take some 45 times as many digits, or as many seeds.\n"
        "With one layer lambda is 0.999, chosen on the 10,000 digits, as the paper chose 0.99 for its network of four: by 3 neighbours NCA alone erred on 1.76 % of them, regularised on 1.95 % with 0.99 and on 1.83 % with 0.999, "
        "split on 2.00 and 1.88 %. It is not for want of steps: 1,000 more of the split code with 0.99 left 1.99 %, while of 4,000 digits that it learns from 1.45 % lay nearest to another class in place of 1.72 %. With 0.99 the reconstruction, some 70 nats, counts 0.7, and what NCA could "
        "still gain 0.03: thirty units of one layer serve it at the classes' cost.",
        (),
        "codes-neighbours.csv",
        "Errors in % of 10,000 test digits, by the vote of so many nearest neighbours; one standard error is 0.08 of 0.6 %, 0.12 of 1.5 %, 0.4 of 20 %. <em>Labels</em>: whether classes were used in training.",
    )


def few_labels() -> Section:
    plain, regularised, pixels = (few_errors(name) for name in FEW.values())
    told = "; ".join(
        f"{share} % of labels {plain[share]:.2f} %, with reconstruction {regularised[share]:.2f} %, pixels {pixels[share]:.2f} %"
        for share in plain
    )
    chance = {share: 100 * (2 * error / 100 * (1 - error / 100) / 10_000) ** 0.5 for share, error in plain.items()}
    better = [share for share in plain if regularised[share] < plain[share] - 2 * chance[share]]
    level = [share for share in plain if abs(regularised[share] - plain[share]) <= 2 * chance[share]]
    percents = lambda shares: " and ".join(map(str, shares)) + " %"
    return Section(
        "Few labels (Figure 5 of Salakhutdinov and Hinton)",
        "With labels for 1, 5 and 10 % of the digits, a code that reconstructs all of them too (lambda = 0.99, chosen among 0.5, 0.9, 0.99 and 0.999) is better than one of NCA alone, and the more so the fewer there are.",
        f"By 1 neighbour among the digits whose class is known: {told}. <strong>Reconstruction helps at {percents(better)}; at {percents(level)} both are level</strong> (within two standard deviations by chance).",
        "784-500-30, pretrained, in place of the deep network; 500 steps of 500 digits each; the autoencoder without labels is not shown. Lambda is 0.99 at 1 and 5 %, as in the paper, and 0.999 at 10 %, chosen on the 10,000 digits "
        "that nothing learns from: of these, by 1 neighbour, codes err from three seeds on 3.78, 3.50 and 3.68 % by NCA alone and on 3.82, 3.48 and 3.64 % with 0.999, from two on 4.15 and 3.69 % with 0.99. So <strong>at 10 % the paper's gain is not seen</strong>.",
        (("codes-few-labels.svg", "Errors by 1 neighbour over the share of digits whose class is known."),),
    )


FEW = {
    "NCA": "NCA, one hidden layer, {} % of labels",
    "NCA and reconstruction": "NCA, one hidden layer, {} % of labels, regularised",
    "pixels": "pixels, {} % of labels",
}


def few_errors(name: str) -> dict[int, float]:
    """By per cent of labels, those by 1 neighbour."""
    known = [round(100 * share) for share in learned.KNOWN]
    return {share: float(told_errors(name.format(share), 1)) for share in known}


def styles() -> Section:
    return Section(
        "What units outside the objective hold (Figure 6 of Salakhutdinov and Hinton)",
        "Units of a split code that the objective does not see take up what does not tell classes apart: slant, width, thickness.",
        "Three blocks of columns, one for each of the three free units that vary most. A row is a test digit, on the left of each block, and what its own code decodes to as that unit alone moves from two "
        "standard deviations below its mean to two above.",
        "The free units begin at random, since the pretrained machines end in 30 units. Moving one alone changes little: thickness, the ends and the closing of strokes; the class stays.",
        (
            (
                "codes-styles.png",
                "Test digits (first column of each block) and what their codes decode to as one free unit moves; a block for each of three units.",
            ),
        ),
    )


def pictures() -> Section:
    found = {row["points"]: row for row in rows("codes-pictures.csv")}
    told = lambda name: ", ".join(found[name][f"{count}-NN"] for count in (1, 10))
    return Section(
        "The same on pictures of CIFAR-10 (Table II of Ren et al.)",
        "Ren et al. train on the 50,000 pictures and report 78.3 % right, so errors of 21.7 %.",
        f"Errors by 1 and 10 neighbours: convolutional NCA {told('convolutional NCA')} %, softmax features {told('softmax features of the same network')} %, 64 principal axes {told('principal axes')} %, "
        f"pixels {told('pixels')} %. <strong>NCA learns little here</strong>, by settings that were chosen on digits.",
        "3,500 pictures to train on and to search, 500 to ask for: no claim about the paper's figure. Both networks have 1,200 steps of 200 pictures; steps and rate were changed once after these 500 had been seen. Differences of 4 points in 100 may be chance.",
        (),
        "codes-pictures.csv",
        "Errors in % of 500 pictures, by the vote of so many nearest neighbours among 3,500.",
    )


def told_errors(name: str, *counts: int) -> str:
    """Per cent of test digits that the vote of neighbours gives another class, by their number."""
    found = {row["points"]: row for row in rows("codes-neighbours.csv")}
    return ", ".join(found[name][f"{count}-NN"] for count in counts)


def convolutional() -> Section:
    own, today, rival = "convolutional NCA", "convolutional NCA, as of today", "softmax features of the same network"
    return Section(
        "Convolutional NCA against softmax features, and its filters (Table I and Figure 2)",
        "Ren, Yu, Zhang and Huang: three convolutions of 32 filters, 128 and 64 units, trained by NCA, err on 0.83 % of MNIST's test part by 1 neighbour and on 0.75 % by 10; features of "
        "the same network trained by the softmax on 1.28 % by 1.",
        f"By 1, 3, 5, 7 and 10 neighbours: NCA {told_errors(own, 1, 3, 5, 7, 10)} %, softmax features {told_errors(rival, 1, 3, 5, 7, 10)} %; <strong>NCA as of today {told_errors(today, 1, 3, 5, 7, 10)} %</strong>. The filters are those of NCA's first layer, trained as the paper has it, "
        "each in the range of its own largest weight, which is white or black. <strong>NCA reaches about what the paper reports; softmax features, trained as long, are ahead of it</strong>, "
        "which the paper did not find: its own are worse than these.",
        "Both networks have 5,000 steps of 200 digits, 20 passes over 50,000, by Adam and an average of the weights in place of stochastic gradient descent with "
        "momentum 0.9; neighbours are found among 60,000. The code of NCA is linear; softmax features are behind a tanh, as in the paper. One run each; a second one of NCA from nothing erred on 1.10, 1.02 and 0.92 % by 1, 3 and 10. <em>As of today</em>: the "
        "log likelihood in place of the expected share, digits deformed at random, an average of the weights, bfloat16, 3,000 steps; on the 10,000 digits that nothing learns from 0.43 % by 10 "
        "neighbours, where NCA as before erred on 0.99 %. The softmax was not trained with deformed digits.",
        (("codes-filters.png", "The 32 filters of 5x5 of convolutional NCA's first layer."),),
    )


def scatter() -> Section:
    return Section(
        "Digits in a plane (Figure 4 of Salakhutdinov and Hinton, Figure 3 of Ren et al.)",
        "Both train codes of two units, whose ten classes lie apart in the plane where PCA and LDA leave them on top of each other; Ren et al. show linear NCA and LMNN beside them.",
        f"{len(rows('codes-scatter.csv')):,} test digits. The last three are codes of two units, trained as such: linear NCA along 64 principal axes, one hidden layer of 512 rectified "
        "units on the same, and the convolutions.",
        "LMNN is found on 3,000 digits along the 64 axes, by Adam from the discriminants; axes and discriminants on 50,000. The dense code has one hidden layer in place of three.",
        (("codes-scatter.png", "1,000 test digits in six planes; axes have no unit."),),
    )


SURE = 0.95  # of changed photos' originals that the default is to find first


def sure_of_photos() -> list[dict[str, str]]:
    """Codes of packages that were trained on photos, without classes, and find enough originals."""
    trained = (row for row in rows("codes-photographs.csv") if row["package"] and row["trained on"] == "photos")
    return [row for row in trained if float(row["originals first of neighbourhoods"]) >= SURE]


def best_for_photos() -> dict[str, str]:
    """The one of these with the best precision by folders."""
    return max(sure_of_photos(), key=lambda row: float(row["precision at 10"]))


def found_photos() -> str:
    found, best, sure = rows("codes-photographs.csv"), best_for_photos(), sure_of_photos()
    called = lambda row: f"<code>{row['package']}</code> at {row['bits']} bits"
    share = lambda row, which="neighbourhoods": f"{100 * float(row[f'originals first of {which}']):.1f} %"
    others = "; ".join(f"{called(row)} {share(row)} and {row['precision at 10']}" for row in sure if row != best)
    packages = [row for row in found if row["package"] and row["trained on"] == "photos"]
    (plain,) = (row for row in found if (row["code"], row["bits"]) == ("ITQ", "64"))
    most = max(packages, key=lambda row: float(row["precision at 10"]))
    return (
        f"646 photos, each asked for among the others: how many of the ten nearest are of its own folder, one of four, each folder counting alike; any order has {found[0]['precision at 10']}. And 816 changed photos, a twentieth or tenth of a side cut off, "
        "halved, JPEG at quality 30, a fifth lighter or darker, asked for by the 19 codes of <code>nestcast search</code>: whether the original is first, of all photos and of the neighbourhoods of 10 of these codes, a 64th, as <code>search</code> ranks 16,384 "
        f"of a million; the mean over the changes, and the least. <strong>The default is, of packages trained on photos without labels that find {100 * SURE:.0f} % of originals first in the index, the one with the best precision by folders: {called(best)}, {share(best)} "
        f"(at least {share(best, 'neighbourhoods, least')}; of all photos {share(best, 'all')} and {share(best, 'all, least')}) and {best['precision at 10']}</strong>. The others: {others}. Plain ITQ at 64 bits, {share(plain)} and {plain['precision at 10']}, comes near. Folders tell codes apart little: {most['precision at 10']}, by {called(most)}, is the most, {most['difference to the default']} more than the default "
        f"has, with a standard deviation of {most['deviation of the difference']}. That code finds {share(most, 'all')} of originals of all photos, and {share(most)} in the index: its first bits change with brightness and crops. <strong>Among no more than 16,384 pictures, where <code>search</code> ranks all, it would be the better one.</strong>"
    )


def of_photographs() -> Section:
    return Section(
        "Photographs: what the default follows from",
        "None: no paper has these.",
        found_photos(),
        "A folder is a collection as one project chose it, not a class: two of desktop wallpapers, one of wallpapers by a community's photographers, and the 500 of the Berkeley segmentation data set, which nothing is trained on; models of photos know 137 of the other 146. "
        "Changed are every fifth of the 509 photos that nothing is trained on; <a href=\"index.html\">the paper's page</a> has all of them for <code>thumb</code>. Plain projections are found along <code>thumb</code>'s 192 axes. Models of digits see a photo as a digit in grey. "
        "Bernoulli latents have as many steps as <code>thumb</code>, on the same near-duplicates, and else the settings of digits; one run each. The difference to the default is to its precision at 512 bits, its deviation by chance of the photos.",
        (),
        "codes-photographs.csv",
        "646 photos by folder, and the originals of 816 changed ones: shares in 0..1. <em>Difference</em>: of precision to that of the default; <em>least</em>: of the changes, the one that does worst.",
    )


def everything() -> Section:
    return Section(
        "All codes in one table",
        "None: the papers measure against others' figures.",
        "Classes are used in training where <em>labels</em> says so. LSH: signs of random projections; ITQ: principal axes, turned.",
        "Principal axes and ITQ have at most the 64 axes that digits are given along; the ordered code of <code>digits</code> has 128 bits. The time of a query is that of the "
        "index for codes of this length, by any of these families (codes of 8 bits are not in that table; in order they take half to seven tenths of the time of 16): microseconds among 100,000 independent codes in order (R = 32) and one by one, of "
        '<code>benches/results/retrieval/queries.csv</code>; Figure 3 of <a href="index.html">the paper\'s page</a>. MAP and precision are those of the ranking one by one. '
        "<code>python -m nestcast_research.pages.packages OUT</code> makes of each model of a binary code a package that <code>nestcast index DIR --model OUT/NAME</code> takes. None of digits is built in: they know digits alone. "
        "For photos see the table above.\nTimes are of today's index, among codes of no model, all in one run at real-time priority on one of the two threads of a processor's core, the other one busy "
        '(<a href="../../docs/measurements.md#search">docs/measurements.md</a>).\n'
        "NCA's bits are better neighbours the more there are, but rank worse by MAP from 32 on: the objective asks for near neighbours of a class, not for one place of it, and 10,000 digits have 181, 1,882, 6,710 and 9,678 different codes at 8, 16, 32 and 64 "
        "bits. At 8 a digit shares its code with some 500 of 10,000, of which 78 % are of its class; all are equally near, so that the vote of 3 errs on 17 % of held-out digits and the whole code's majority on 15 %. So neighbours say little of so short a code, and the whole ranking does.",
        (),
        "codes-table.csv",
        "1,000 test digits among 50,000, by length and MAP; times of a query in microseconds.",
    )


def sections() -> list[Section]:
    return [
        variational(),
        convolved(),
        cifar(),
        activations(),
        quantisation(),
        documents(),
        nested(),
        neighbours(),
        few_labels(),
        styles(),
        convolutional(),
        pictures(),
        scatter(),
        of_photographs(),
        everything(),
    ]
