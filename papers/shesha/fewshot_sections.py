"""Few-shot transfer as tables, figures and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from papers.judging import Evidence, NoData, judged
from resemblance.grounding import kendall
from resemblance.results.figures import Bar, Bars, Chart, Line
from resemblance.results.sections import Entry, Section, Table
from resemblance.results.values import known
from resemblance.suites.experiments import Part

from .cells import Cell, enough, gathered, is_small, over_cells, said
from .partial_correlation import rank_correlation
from .statistics import titles

ABOUT = (
    "Which of many representations will serve a new task, of which only a few samples are "
    "labelled? Networks that were trained to tell one thing are asked another about the same "
    "inputs: is the digit odd, has it a loop, how long is the sentence, how many neighbours has "
    "the function? A logistic probe, its penalty chosen on a quarter of the labelled samples, is "
    "trained on every layer and tested on all samples that had no label. Statistics of the same "
    "few samples should foretell its accuracy: of stability, of separation, and scores made for "
    "this purpose (LogME, H-score, GBC; LEEP and NCE look at the answers of the network instead "
    "of a layer, and cannot tell its layers apart)."
)
TITLE = "Transfer to new tasks with few labels"
ACCURACY, SPLIT = "accuracy", "feature_split[k=10]"


class Facts(NamedTuple):
    """The cells of a run, and how many bootstrap samples are drawn."""

    cells: tuple[Cell, ...]
    draws: int


def conclude(
    done: Sequence[tuple[Part, Any]],
    statistics: Sequence[str],
    draws: int,
    absent: Mapping[str, str] | None = None,
) -> Section:
    """Return the section that follows from all parts.

    ``absent``: models that could not be trained, and why.
    """
    cells = gathered(done, _quantities, lambda case: f"{case['task']}, {case['size']} labels")
    if not done:
        claims = judged(_CLAIMS, Facts(cells, draws))
        return Section("fewshot", TITLE, ABOUT, claims=claims, reasons=absent or {})
    names, reasons = titles(statistics), dict(absent or {})
    for part, value in done:
        reasons |= {f"{part['model']}: {spec}": why for spec, why in value["reasons"].items()}
    foretold = {
        s: over_cells(names[s], cells, (s, ACCURACY), rank_correlation, draws) for s in names
    }
    return Section(
        "fewshot",
        TITLE,
        ABOUT,
        (_foretold(cells, names, foretold), _tasks(cells, names)),
        (_bars(foretold), _scatter(cells)),
        judged(_CLAIMS, Facts(cells, draws)),
        {},
        reasons,
    )


def _quantities(case: Mapping[str, Any]) -> dict[str, float | None]:
    return {ACCURACY: case[ACCURACY], **case["statistics"]}


def _tau(a: np.ndarray, b: np.ndarray) -> float:
    return kendall(a, b).value


def _foretold(
    cells: Sequence[Cell], names: Mapping[str, str], foretold: Mapping[str, Bar | None]
) -> Table:
    groups, rows = _groups(cells), list[tuple[Entry, ...]]()
    for spec, label in names.items():
        tau = over_cells(label, cells, (spec, ACCURACY), _tau, 0)
        parts = [
            over_cells(label, group, (spec, ACCURACY), rank_correlation, 0)
            for group in groups.values()
        ]
        bar = foretold[spec]
        rows.append(
            (
                label,
                said(bar),
                known(tau.value) if tau else None,
                *(known(b.value) if b else None for b in parts),
            )
        )
    ordered = sorted(rows, key=lambda row: -float(row[2] if row[2] is not None else -2))
    note = (
        "Correlation of the statistic with the accuracy of the probe over embeddings, the mean "
        "over tasks and numbers of labels; [95 %] by bootstrap of the embeddings."
    )
    columns = ("statistic", "Spearman, mean [95 %]", "Kendall, mean", *groups)
    return Table(
        "fewshot_foretold", "Which statistics foretell transfer?", columns, tuple(ordered), note
    )


def _groups(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Cells by kind of model, and by number of labels."""
    groups: dict[str, list[Cell]] = {}
    for position in (0, 2):
        for cell in cells:
            groups.setdefault(cell.name.split(", ")[position], []).append(cell)
    return groups


def _tasks(cells: Sequence[Cell], names: Mapping[str, str]) -> Table:
    rows = []
    for cell in cells:
        accuracy = cell.columns[ACCURACY]
        correlations = {names[s]: rank_correlation(cell.columns[s], accuracy) for s in names}
        valid = {name: v for name, v in correlations.items() if not np.isnan(v)}
        best = max(valid, key=lambda name: valid[name], default="–")
        values = (
            float(len(accuracy)),
            float(accuracy.min()),
            float(accuracy.max()),
            known(valid.get(best, np.nan)),
        )
        rows.append((cell.name, *values[:3], best, values[3]))
    columns = (
        "models, task",
        "embeddings",
        "worst accuracy",
        "best accuracy",
        "best statistic",
        "Spearman",
    )
    return Table(
        "fewshot_tasks",
        "Tasks",
        columns,
        tuple(rows),
        "Accuracies are means over draws of the labelled samples.",
    )


def _bars(foretold: Mapping[str, Bar | None]) -> Bars:
    bars = sorted((bar for bar in foretold.values() if bar), key=lambda bar: -bar.value)
    return Bars(
        "fewshot_bars",
        "Spearman of a statistic and accuracy",
        "Spearman",
        tuple(bars),
        "Mean over tasks.",
    )


def _scatter(cells: Sequence[Cell]) -> Chart:
    lines = []
    for cell in cells:
        pairs = zip(cell.columns[SPLIT], cell.columns[ACCURACY])
        lines.append(
            Line(cell.name, tuple((float(x), float(y)) for x, y in pairs if not np.isnan(x)))
        )
    title = "Accuracy against feature-split stability"
    note = "One point for each embedding."
    return Chart(
        "fewshot_split", title, "feature-split stability", "accuracy", tuple(lines), note, False
    )


def _dissociates(facts: Facts) -> Evidence:
    enough(facts.cells)
    bar = over_cells(SPLIT, facts.cells, (SPLIT, ACCURACY), rank_correlation, facts.draws)
    if bar is None:
        raise NoData("too few embeddings")
    note = (
        "layers of small networks and questions about the same inputs; theirs are pre-trained "
        "models"
    )
    return Evidence(
        f"feature split: mean ρ {said(bar)} over {len(facts.cells)} tasks", (is_small(bar),), note
    )


def _tax(facts: Facts) -> Evidence:
    enough(facts.cells)
    below = [share for cell in facts.cells if (share := best_is_below(cell)) is not None]
    if not below:
        raise NoData("stability is not known, or equal for all embeddings")
    total = float(np.sum(below))
    note = "by chance it is half of the tasks; embeddings of equal accuracy share a task"
    return Evidence(f"in {total:.3g} of {len(below)} tasks", (total > 0.75 * len(below),), note)


def best_is_below(cell: Cell) -> float | None:
    """Return the share of the best embeddings of a task that are less stable than the median.

    None where all are equally good or stable: then none of them is the best, or less stable than
    most.
    """
    stability, accuracy = cell.columns[SPLIT], cell.columns[ACCURACY]
    if np.isnan(stability).any() or np.ptp(stability) == 0 or np.ptp(accuracy) == 0:
        return None
    best = stability[accuracy >= accuracy.max() - 1e-12]
    return float(np.mean(best < np.median(stability)))


_CLAIMS: tuple[tuple[str, str, str, Callable[[Facts], Evidence]], ...] = (
    ("11 dissociates", "Stability dissociates from transferability",
    "“dissociates”; no number for few-shot transfer",
     _dissociates),
    ("11 tax", "Geometric tax: the best embedding of a task is less stable than most",
     "“a geometric tax that transfer optimization incurs”", _tax),
)  # fmt: skip
