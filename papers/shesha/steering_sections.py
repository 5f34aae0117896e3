"""Steering as tables, figures and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, judged, number
from resemblance.results.figures import Bar, Bars, Chart, Line
from resemblance.results.sections import Section, Table
from resemblance.results.values import known
from resemblance.suites.experiments import Part

from .cells import Cell, enough, gathered, is_small, over_cells, said
from .partial_correlation import partial_rank_correlation, partial_raw_correlation, rank_correlation
from .statistics import titles

ABOUT = (
    "Steering adds α times a direction to every representation of a network, here the direction "
    "that a logistic probe reads a label from, and asks how far that can lower the accuracy of "
    "the probe (max_drop). Statistics of stability are measured on one half of the samples, "
    "steering is tried on the other. Every layer of a network under every pooling is one "
    "embedding, its rows at unit length. Do embeddings with more stable geometry yield more? And "
    "is that more than the plain separation of the classes, which decides how much accuracy there "
    "is to lose?"
)
TITLE = "Steering along a probe's direction"
FREE, SPHERE, ACCURACY, RANDOM, SHUFFLED = "free", "sphere", "accuracy", "random", "shuffled"
CONTROLS = ("fisher_discriminant", "silhouette")
ALIGNMENT, SPLIT = "supervised_alignment", "feature_split[k=10]"


class Facts(NamedTuple):
    """The cells of a run, its number of bootstrap samples, and the statistics of either kind."""

    cells: tuple[Cell, ...]
    draws: int
    supervised: tuple[str, ...]
    unsupervised: tuple[str, ...]


def conclude(
    done: Sequence[tuple[Part, Any]],
    alphas: Sequence[float],
    supervised: Sequence[str],
    unsupervised: Sequence[str],
    draws: int,
    absent: Mapping[str, str] | None = None,
) -> Section:
    """Return the section that follows from all parts.

    ``absent``: models that could not be trained, and why.
    """
    facts = Facts(gathered(done, _quantities), draws, tuple(supervised), tuple(unsupervised))
    reasons = {
        f"{part['model']}: {spec}": why
        for part, value in done
        for spec, why in value["reasons"].items()
    }
    if not done:
        return Section(
            "steering", TITLE, ABOUT, claims=judged(_CLAIMS, facts), reasons=absent or {}
        )
    names = titles((*supervised, *unsupervised))
    foretold = {
        s: over_cells(names[s], facts.cells, (s, FREE), rank_correlation, draws) for s in names
    }
    return Section(
        "steering",
        TITLE,
        ABOUT,
        (_effects(facts), _foretold(facts, names, foretold), _partial(facts, names)),
        (_curves(done, alphas), _scatter(facts), _bars(foretold)),
        judged(_CLAIMS, facts),
        {},
        {**(absent or {}), **reasons},
    )


def _quantities(case: Mapping[str, Any]) -> dict[str, float | None]:
    drops = {kind: case[kind][FREE] for kind in (RANDOM, SHUFFLED)}
    return {
        FREE: case["probe"][FREE],
        SPHERE: case["probe"][SPHERE],
        ACCURACY: case["accuracy"],
        **drops,
        **case["statistics"],
    }


# ------------------------------------------------------------------------------------------- tables


def _effects(facts: Facts) -> Table:
    rows = tuple(
        (
            cell.name,
            float(len(cell.embeddings)),
            *(float(cell.columns[q].mean()) for q in (ACCURACY, FREE, SPHERE, RANDOM, SHUFFLED)),
            known(rank_correlation(cell.columns[ACCURACY], cell.columns[FREE])),
        )
        for cell in facts.cells
    )
    columns = (
        "models, task", "embeddings", "accuracy", "max_drop", "on the sphere", "random direction",
        "shuffled labels",
        "Spearman of accuracy and max_drop",
    )  # fmt: skip
    note = (
        "Means over embeddings and splits. A probe that is pushed far answers with one class, "
        "whatever the embedding, so what it can lose is nearly its accuracy: the last column says "
        "how much of max_drop that is."
    )
    return Table("steering_effects", "How far accuracy can be pushed", columns, rows, note)


def _foretold(facts: Facts, names: Mapping[str, str], foretold: Mapping[str, Bar | None]) -> Table:
    rows = []
    for spec, label in names.items():
        correlations = [
            known(rank_correlation(cell.columns[spec], cell.columns[FREE])) for cell in facts.cells
        ]
        sphere = over_cells(label, facts.cells, (spec, SPHERE), rank_correlation, 0)
        kind = "supervised" if spec in facts.supervised else "unsupervised"
        rows.append(
            (
                label,
                kind,
                said(foretold[spec]),
                known(sphere.value) if sphere else None,
                *correlations,
            )
        )
    columns = (
        "statistic",
        "kind",
        "mean [95 %]",
        "on the sphere",
        *(cell.name for cell in facts.cells),
    )
    note = (
        "Spearman of the statistic on one half of the samples with max_drop on the other, over "
        "embeddings."
    )
    return Table(
        "steering_foretold", "Which statistics foretell max_drop?", columns, tuple(rows), note
    )


def _partial(facts: Facts, names: Mapping[str, str]) -> Table:
    rows = []
    for spec, label in names.items():
        if spec in CONTROLS:
            continue
        plan = (
            (partial_rank_correlation, CONTROLS), (partial_raw_correlation, CONTROLS),
            (partial_rank_correlation, (ACCURACY,)),
        )  # fmt: skip
        rows.append(
            (label, *(said(_partly(facts, spec, value, controls)) for value, controls in plan))
        )
    columns = (
        "statistic",
        "ranks | Fisher, silhouette",
        "raw values | Fisher, silhouette",
        "ranks | accuracy",
    )
    note = (
        "Partial correlations with max_drop, mean over cells [95 %]. With ranks, what any "
        "monotone function of the controls explains is taken out; the scripts of the paper take "
        "out a linear function of raw values and correlate the ranks of the rest. The last column "
        "holds the accuracy of the probe before steering fixed."
    )
    return Table(
        "steering_partial", "More than separation of the classes?", columns, tuple(rows), note
    )


def _partly(
    facts: Facts, spec: str, value: Callable[..., float], controls: Sequence[str]
) -> Bar | None:
    return over_cells(spec, facts.cells, (spec, FREE, *controls), value, facts.draws)


# ------------------------------------------------------------------------------------------ figures


def _curves(done: Sequence[tuple[Part, Any]], alphas: Sequence[float]) -> Chart:
    cases = [case for _, value in done for case in value["cases"]]
    titles = {
        "probe": "direction of the probe",
        RANDOM: "random directions",
        SHUFFLED: "probes of shuffled labels",
    }
    lines = []
    for kind, title in titles.items():
        means = np.mean([case[kind]["curve"] for case in cases], axis=0)
        lines.append(Line(title, tuple((a, float(v)) for a, v in zip(alphas, means))))
    note = "Means over all embeddings, tasks and splits, without the return to the sphere."
    return Chart("steering_curves", "Accuracy against α", "α", "accuracy", tuple(lines), note)


def _scatter(facts: Facts) -> Chart:
    lines = []
    for cell in facts.cells:
        pairs = zip(cell.columns[ALIGNMENT], cell.columns[FREE])
        lines.append(
            Line(cell.name, tuple((float(x), float(y)) for x, y in pairs if not np.isnan(x)))
        )
    note = "One point for each embedding, the mean over splits."
    title = "max_drop against supervised alignment"
    return Chart(
        "steering_alignment", title, "supervised alignment", "max_drop", tuple(lines), note, False
    )


def _bars(foretold: Mapping[str, Bar | None]) -> Bars:
    bars = sorted((bar for bar in foretold.values() if bar), key=lambda bar: -bar.value)
    note = "Mean over models and tasks, with the 95 % interval over embeddings."
    return Bars(
        "steering_bars", "Spearman of a statistic and max_drop", "Spearman", tuple(bars), note
    )


# ------------------------------------------------------------------------------------------- claims


def _there(bar: Bar | None) -> Bar:
    if bar is None:
        raise NoData("too few embeddings")
    return bar


def _supervised(facts: Facts) -> Evidence:
    enough(facts.cells)
    bar = _there(
        over_cells(ALIGNMENT, facts.cells, (ALIGNMENT, FREE), rank_correlation, facts.draws)
    )
    correlations = [
        rank_correlation(cell.columns[ALIGNMENT], cell.columns[FREE]) for cell in facts.cells
    ]
    least = float(np.nanmin(correlations))
    note = "layers of small networks; theirs are 35 to 69 embedding models"
    return Evidence(
        f"supervised alignment: mean ρ {said(bar)}, least {number(least, 2)}",
        (bar.value > 0.8, least > 0.5),
        note,
    )


def _beyond(facts: Facts) -> Evidence:
    enough(facts.cells)
    ranks, raw = (
        _there(_partly(facts, ALIGNMENT, value, CONTROLS))
        for value in (partial_rank_correlation, partial_raw_correlation)
    )
    said_ = f"supervised alignment: by ranks {said(ranks)}, by raw values {said(raw)}"
    note = (
        "max_drop is nearly the accuracy of the probe, which is what separation of the classes "
        "decides"
    )
    return Evidence(said_, (ranks.value > 0.4 and (ranks.low or 0) > 0, raw.value > 0.4), note)


def _unsupervised(facts: Facts) -> Evidence:
    enough(facts.cells)
    bar = _there(over_cells(SPLIT, facts.cells, (SPLIT, FREE), rank_correlation, facts.draws))
    note = "real tasks of the paper; layers of one network differ in depth, on which both depend"
    return Evidence(f"feature split: mean ρ {said(bar)}", (is_small(bar),), note)


def _controls(facts: Facts) -> Evidence:
    enough(facts.cells)
    probe, random, shuffled = (
        float(np.mean(np.concatenate([cell.columns[q] for cell in facts.cells])))
        for q in (FREE, RANDOM, SHUFFLED)
    )
    note = (
        "directions of shuffled labels lie where points vary most, and α = 2 is twice the length "
        "of a point"
    )
    text = f"max_drop {probe:.2f}; random directions {random:.2f}, shuffled labels {shuffled:.2f}"
    return Evidence(text, (random < probe / 2, shuffled < probe / 2), note)


_CLAIMS: tuple[tuple[str, str, str, Callable[[Facts], Evidence]], ...] = (
    ("8 supervised", "Supervised stability foretells steerability", "ρ = 0.89 to 0.96",
    _supervised),
    ("8 beyond", "… beyond what separates the classes (Fisher and silhouette held fixed)",
    "partial ρ = 0.62 to 0.76",
     _beyond),
    ("8 unsupervised", "Unsupervised stability does not, on real tasks", "ρ ≈ 0.10", _unsupervised),
    ("8 controls", "Random directions and probes of shuffled labels steer much less",
    "controls of 20 directions",
     _controls),
)  # fmt: skip
