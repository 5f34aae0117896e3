"""Synthetic data (Raju 2026, Section 7.1), with the random numbers of the author's scripts.

The experiments are recovery of a known stability, values without structure, pairs in four
quadrants, and invariances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count as counting
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from papers.judging import Evidence, as_printed, count, number, spread
from papers.published import printed
from resemblance.base.rng import generator
from resemblance.bench.grounding import spearman
from resemblance.bench.stability.spectral import N_HARMONIC_FEATURES, N_HARMONIC_SAMPLES
from resemblance.measures import cka
from resemblance.statistics.rdm import RdmKind, mean_rdm_agreement
from resemblance.statistics.splits import basis_split, feature_halves, feature_split
from resemblance.statistics.supervised import variance_ratio

from .models import Experiment, Run

SEED, SPLITS, HIDDEN = 320, 50, 50  # constants of the author's scripts
DRAWS = {"small": 1, "default": 5, "paper": 30}  # random data sets, by size


def mixture(share: float, seed: int, scale: str = "deviation") -> np.ndarray:
    """Return a mixture (200, 256) of a share α of signal with 50 hidden dimensions and a share 1 -
    α of noise.

    The signal Z W has deviation 1, as in the author's script. ``scale="norm"`` divides the signal
    by its Frobenius norm instead, as in the formula of Section 7.1.1; then the signal is 1/226 of
    the noise.
    """
    random = np.random.default_rng(seed)
    signal = random.standard_normal((N_HARMONIC_SAMPLES, HIDDEN)) @ random.standard_normal(
        (HIDDEN, N_HARMONIC_FEATURES)
    )
    size = np.std(signal) + 1e-9 if scale == "deviation" else np.linalg.norm(signal)
    mixed: np.ndarray = share * (signal / size) + (1 - share) * random.standard_normal(
        (N_HARMONIC_SAMPLES, N_HARMONIC_FEATURES)
    )
    return mixed


def split_score(
    points: np.ndarray, seeds: int | Iterator[int], *, k: int = SPLITS, rdm: RdmKind = "correlation"
) -> float:
    """Return the feature-split stability with the splits of the author's scripts.

    The splits are successive permutations of one ``default_rng(seed)``; an iterator of seeds gives
    every split a separate seed. ``resemblance.statistics.feature_split`` is the same with other
    splits.
    """
    arranged = np.asfortranarray(points)
    streams = (
        repeat(np.random.default_rng(seeds))
        if isinstance(seeds, int)
        else map(np.random.default_rng, seeds)
    )
    orders = (random.permutation(points.shape[1]) for random, _ in zip(streams, range(k)))
    return mean_rdm_agreement(
        (feature_halves(arranged, order) for order in orders), rdm, "spearman"
    )


# ----------------------------------------------------------------------------------------- recovery


def recovery(run: Run) -> dict[str, np.ndarray]:
    """Return the shares of signal, and the scores of the mixtures by four ways of splitting or
    mixing."""
    shares = {SEED + i: share for i, share in enumerate(np.linspace(0, 1, 21))}
    mixtures = {seed: mixture(share, seed) for seed, share in shares.items()}
    scores = {
        "share": list(shares.values()),
        "author": [split_score(x, seed) for seed, x in mixtures.items()],
        "ours": [feature_split(x, k=SPLITS, rdm="correlation") for x in mixtures.values()],
        "default": [feature_split(x) for x in mixtures.values()],
        "formula": [split_score(mixture(a, seed, "norm"), seed) for seed, a in shares.items()],
    }
    return {name: np.array(values) for name, values in scores.items()}


RECOVERY = Experiment(
    name="recovery",
    title="Recovery of a known stability",
    about=(
        "How stable a representation is can be set by hand: mix a signal that all features "
        "share, in the share α, with noise that each has for itself. A statistic of stability "
        "must then rise with α. Each of 21 representations of 200 samples and 256 features is "
        "drawn, and split, with the seeds of the author's script (320 and following)."
    ),
    facts=recovery,
)


@RECOVERY.claim(
    "S1", "The scores of 21 mixtures", "authors' code: 0.0037 (α = 0), 0.3642 (0.5), 0.7080 (1) ..."
)
def scores_of_mixtures(scores: Mapping[str, np.ndarray]) -> Evidence:
    theirs = [row.value for row in printed("test1")]
    same = [as_printed(a, b, 4) for a, b in zip(scores["author"], theirs, strict=True)]
    away = float(np.abs(scores["ours"] - scores["author"]).max())
    text = f"{count(same)} equal to four decimals; with our own splits within {number(away, 4)}"
    return Evidence(text, (all(same),))


@RECOVERY.claim(
    "S1",
    "The scores rise with the share of signal",
    "ρ = 0.987, 0.990 or 0.997; authors' code 0.9896",
)
def rising_scores(scores: Mapping[str, np.ndarray]) -> Evidence:
    rho, ours, default, formula = (
        spearman(scores["share"], scores[name]).value
        for name in ("author", "ours", "default", "formula")
    )
    note = (
        "the texts contradict each other: 0.997 in 2.2, with p < 1e-86 that 21 points cannot "
        "have, 0.987 in 7.1.1 and 7.2, 0.990 in Figure 7; the last is what the script gives. The "
        "printed formula divides the signal by its Frobenius norm, which leaves no signal to find "
        f"(ρ = {number(formula)}); the script divides by the standard deviation, and so do we"
    )
    text = f"ρ = {number(rho, 4)}; {number(ours)} with our splits, {number(default)} by default"
    return Evidence(text, (as_printed(rho, 0.990),), note)


# ------------------------------------------------------------------------------------------- chance

TABLE_10 = {"feature_split": 0.0027, "variance_ratio": 0.0192, "z_score": 0.0060}


def chance(run: Run) -> dict[str, Any]:
    """Return scores of two independent noise arrays, and the scores of Table 10; the first draw of
    Table 10 uses the author's random numbers."""
    random = np.random.default_rng(SEED)
    x = random.standard_normal((N_HARMONIC_SAMPLES, N_HARMONIC_FEATURES))
    y = random.standard_normal((N_HARMONIC_SAMPLES, N_HARMONIC_FEATURES))
    pair = {
        "author": split_score(x, SEED + 100),
        "ours": feature_split(x),
        "biased": float(cka(x, y)),
        "debiased": float(cka(x, y, estimator="debiased")),
    }
    return {"pair": pair, "baselines": [_baseline(draw) for draw in range(DRAWS[run.size] + 1)]}


def _baseline(draw: int) -> dict[str, float]:
    """Return scores of 500 random samples in 10 random classes. Draw 0 uses the author's random
    numbers."""
    random = np.random.default_rng(SEED + 1010) if draw == 0 else generator(SEED, "baseline", draw)
    points, labels = random.standard_normal((500, 128)), random.integers(0, 10, 500)
    return {
        "feature_split": split_score(points, counting(SEED), k=30, rdm="cosine"),
        "variance_ratio": variance_ratio(points, labels),
        "z_score": z_score(points, labels),
    }


def z_score(points: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean over classes of (b - w) / (b + w), the "Shesha-Z" of Tables 4 to 7 and 10.

    w is the mean distance of the samples of a class to the class mean, b to the mean of all other
    samples. Points are (n, d), labels (n,).
    """
    scores = []
    for c in np.unique(labels):
        inside = points[labels == c]
        within = np.linalg.norm(inside - inside.mean(axis=0), axis=1).mean()
        between = np.linalg.norm(inside - points[labels != c].mean(axis=0), axis=1).mean()
        scores.append((between - within) / (between + within + 1e-8))
    return float(np.mean(scores))


CHANCE = Experiment(
    name="chance",
    title="Without structure",
    about=(
        "Noise has no geometry, so a statistic of stability should be 0, and two independent "
        "noises have nothing in common, so a measure should say so. Biased estimators do not: "
        "linear CKA of 200 samples with 256 features is about 0.56."
    ),
    facts=chance,
)


@CHANCE.claim("S2", "Debiased CKA of two independent noises is 0", "−0.006; authors' code −0.0056")
def similarity_of_noise(facts: Mapping[str, Any]) -> Evidence:
    debiased, biased = facts["pair"]["debiased"], facts["pair"]["biased"]
    note = (
        "the package of the author calls an estimator debiased that is not: it keeps the diagonal"
    )
    text = f"{number(debiased, 4)}; biased {number(biased)}"
    return Evidence(text, (as_printed(debiased, -0.006),), note)


@CHANCE.claim("S2", "The feature split of noise is 0", "−0.010; authors' code −0.0108")
def stability_of_noise(facts: Mapping[str, Any]) -> Evidence:
    author, ours = facts["pair"]["author"], facts["pair"]["ours"]
    text = f"{number(author, 4)}; with our splits {number(ours, 4)}"
    note = "the script gives −0.011 at the precision of print; the paper says −0.010"
    return Evidence(text, (abs(author + 0.010) <= 0.001, abs(author) < 0.05), note)


@CHANCE.claim(
    "S12",
    "Random baseline (Table 10)",
    "FS 0.0027, variance 0.0192, z-score 0.0060; authors' code the same",
)
def random_baseline(facts: Mapping[str, Any]) -> Evidence:
    first, *others = facts["baselines"]
    same = tuple(as_printed(first[name], value, 4) for name, value in TABLE_10.items())
    more = "; ".join(f"{name} {spread([o[name] for o in others], 4)}" for name in TABLE_10)
    text = ", ".join(f"{name} {number(first[name], 5)}" for name in TABLE_10)
    return Evidence(f"{text}; {len(others)} other draws: {more}", same)


# ---------------------------------------------------------------------------------------- quadrants

THRESHOLD, PAIRS = 0.4, 15
# By quadrant: title, seeds, and the paper's mean and deviation of stability and of similarity.
PRINTED: Mapping[str, tuple[str, tuple[int, int], tuple[float, ...], tuple[float, ...]]] = {
    "Q1": ("stable, similar", (1000, 1000), (0.701, 0.003), (0.998, 0.000)),
    "Q2": ("stable, not similar", (2000, 3000), (0.701, 0.004), (0.001, 0.010)),
    "Q3": ("not stable, not similar", (4000, 5000), (0.001, 0.003), (-0.001, 0.010)),
    "Q4": ("not stable, similar", (6000, 6000), (-0.001, 0.005), (0.978, 0.000)),
}
Pairs = Mapping[str, Sequence[tuple[float, float]]]  # stability and similarity, by quadrant


def quadrants(run: Run) -> Pairs:
    """Return the stability and the similarity of the pairs in every quadrant."""
    pairs = range(2 if run.size == "small" else PAIRS)
    return {
        name: [pair_scores(name, SEED + first + i, SEED + second + i) for i in pairs]
        for name, (_, (first, second), *_) in PRINTED.items()
    }


def pair_scores(name: str, first: int, second: int) -> tuple[float, float]:
    """Return the mean stability of the two representations of a pair, and the debiased CKA of the
    pair. In Q1 the stability is that of the first representation, as in the script."""
    x, y = _pair(name, first, second)
    stability = split_score(x, first)
    if name != "Q1":
        stability = (stability + split_score(y, second)) / 2
    return stability, float(cka(x, y, estimator="debiased"))


def _pair(name: str, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(first)
    if name == "Q4":
        x = random.standard_normal((N_HARMONIC_SAMPLES, N_HARMONIC_FEATURES))
        return x, x + 0.15 * random.standard_normal(x.shape)
    if name == "Q1":
        x = mixture(0.9, first)
        return x, x + 0.1 * random.standard_normal(x.shape)
    share = 0.9 if name == "Q2" else 0.1
    return mixture(share, first), mixture(share, second)


def quadrant(name: str, pairs: Pairs) -> Evidence:
    """Return the evidence that mean and deviation of stability and similarity equal the printed
    values.

    For Q4, the evidence also covers whether a threshold on similarity accepts pairs that the
    threshold on stability rejects.
    """
    same, written = [], []
    for values, (mean, deviation) in zip(np.transpose(pairs[name]), PRINTED[name][2:]):
        same += [as_printed(float(values.mean()), mean), as_printed(float(values.std()), deviation)]
        written.append(spread(values))
    if name == "Q4":
        accepted = [a < THRESHOLD < b for a, b in pairs[name]]
        same.append(all(accepted))
        written[-1] += f"; {count(accepted)} accepted"
    return Evidence(" / ".join(written), tuple(same))


QUADRANTS = Experiment(
    name="quadrants",
    title="Stability without similarity",
    about=(
        "If stability were similarity by another name, one could not have either without the "
        "other. Pairs are made of all four kinds: a stable representation and a copy with little "
        "noise; two unrelated stable ones; two unrelated noises; a noise and a copy of it. Their "
        "seeds are those of the author's script, and each has 200 samples, 256 features."
    ),
    facts=quadrants,
)


for _number, (_name, (_title, _, *_of_both)) in enumerate(PRINTED.items(), 7):
    _means = " / ".join(f"{number(mean)} ± {number(deviation)}" for mean, deviation in _of_both)
    QUADRANTS.claim(
        f"S{_number}",
        f"{_name}, {_title}: stability / debiased CKA",
        paper=f"{_means}; authors' code the same",
    )(partial(quadrant, _name))


@QUADRANTS.claim(
    "S11",
    "Stability and similarity go apart over all quadrants",
    "ρ = 0.204, 0.22 or 0.087; authors' code 0.204",
)
def dissociation(pairs: Pairs) -> Evidence:
    both = np.array([pair for of in pairs.values() for pair in of])
    rho = spearman(*both.T).value
    note = (
        "the texts contradict each other: 0.204 in 7.1.4, 0.22 in 2.2, 0.20 in Figure 6, 0.087 in "
        "7.2"
    )
    return Evidence(f"ρ = {number(rho)} over {len(both)} pairs", (as_printed(rho, 0.204),), note)


# -------------------------------------------------------------------------------------- invariances

SHARES, NOISES, ROTATIONS = (0.3, 0.5, 0.7, 0.9), (0.0, 0.5, 1.0, 2.0, 4.0), 3


def invariances(run: Run) -> dict[str, Any]:
    """Return the changes of the scores of four mixtures, by kind of change, and the scores of
    independent axes before and after a rotation."""
    changes = [changes_of(mixture(share, SEED)) for share in SHARES]
    return {**{name: [c[name] for c in changes] for name in changes[0]}, "axes": axes()}


def changes_of(points: np.ndarray, k: int = SPLITS) -> dict[str, Any]:
    """Return the change of the score under every kind of change, with fixed splits, and the scores
    under growing noise."""
    score = partial(split_score, seeds=SEED, k=k)
    random = generator(SEED, "shift")
    shift, noise = random.standard_normal(N_HARMONIC_FEATURES), random.standard_normal(points.shape)
    before = score(points)
    return {
        "rotation": max(abs(score(points @ _rotation(i)) - before) for i in range(ROTATIONS)),
        "scaling": abs(score(7.3 * points) - before),
        "constant": abs(score(points + 0.5) - before),
        "shift": abs(score(points + shift) - before),
        "noise": [score(points + amount * noise) for amount in NOISES],
    }


def axes(k: int = SPLITS) -> dict[str, tuple[float, float]]:
    """Return feature split and basis split of independent features with variances 1/i², before and
    after a rotation."""
    points = generator(SEED, "power law").standard_normal((N_HARMONIC_SAMPLES, N_HARMONIC_FEATURES))
    points /= np.arange(1, N_HARMONIC_FEATURES + 1)
    both = points, points @ _rotation(0)
    feature, basis = [split_score(x, SEED, k=k) for x in both], [basis_split(x) for x in both]
    return {"feature split": (feature[0], feature[1]), "basis split": (basis[0], basis[1])}


def _rotation(draw: int) -> np.ndarray:
    q, r = np.linalg.qr(
        generator(SEED, "rotation", draw).standard_normal(
            (N_HARMONIC_FEATURES, N_HARMONIC_FEATURES)
        )
    )
    turned: np.ndarray = q * np.sign(np.diag(r))
    return turned


def _changes(values: Sequence[float]) -> str:
    return ", ".join(number(v, 4) for v in values)


ALPHAS = "(α = 0.3, 0.5, 0.7, 0.9)"


INVARIANCES = Experiment(
    name="invariances",
    title="Invariances",
    about=(
        "The paper says that stability does not change when the representation is rotated, "
        "scaled or shifted, and falls with noise. On its own mixtures of signal and noise that "
        "nearly holds: they look the same in all directions. Real representations do not. Here "
        "is one with independent features whose variances fall as 1/i²: on its own axes no half "
        "of the features knows of the other; after a rotation both hold a share of the few that "
        "matter. basis_split, which draws a random basis instead of features, says the same of "
        "both."
    ),
    facts=invariances,
)


@INVARIANCES.claim("S14", "A rotation changes the score by less than 0.003", "Δ < 0.003; no script")
def rotations(facts: Mapping[str, Any]) -> Evidence:
    (before, after), basis = facts["axes"]["feature split"], facts["axes"]["basis split"]
    text = (
        f"mixtures {_changes(facts['rotation'])} {ALPHAS}; independent axes with variances 1/i²: "
        f"{number(before, 4)} → {number(after)}, and basis_split "
        f"{number(basis[0])} → {number(basis[1])}"
    )
    note = (
        "holds for data that look the same in all directions only; version 4 of the paper no "
        "longer claims it, and says that the statistic is not invariant to rotations"
    )
    return Evidence(text, (max(facts["rotation"]) < 0.003, abs(after - before) < 0.003), note)


@INVARIANCES.claim("S14", "A scaling changes it by less than 0.002", "Δ < 0.002; no script")
def scalings(facts: Mapping[str, Any]) -> Evidence:
    return Evidence(f"{_changes(facts['scaling'])} {ALPHAS}", (max(facts["scaling"]) < 0.002,))


@INVARIANCES.claim("S14", "A translation changes it by less than 0.001", "Δ < 0.001; no script")
def translations(facts: Mapping[str, Any]) -> Evidence:
    constant, shift = facts["constant"], facts["shift"]
    text = f"{_changes(constant)} {ALPHAS}; a vector added to all samples: {_changes(shift)}"
    note = "holds for a constant added to all features under correlation distance, which removes it"
    return Evidence(text, (max(constant) < 0.001, max(*constant, *shift) < 0.001), note)


@INVARIANCES.claim("S14", "It falls as noise is added", "monotone; no script")
def noises(facts: Mapping[str, Any]) -> Evidence:
    first, *_, last = facts["noise"][-1]
    held = all(b < a + 0.01 for curve in facts["noise"] for a, b in pairwise(curve))
    rise = "it never rises by more than 0.01" if held else "it rises somewhere"
    text = f"α = 0.9: {number(first)} → {number(last)} as noise grows from 0 to 4; {rise}"
    return Evidence(text, (held, last < first))


EXPERIMENTS = (RECOVERY, CHANCE, QUADRANTS, INVARIANCES)
