"""The scores of a study of the paper's models next to those that the paper prints, test by test.

``python -m papers resi-published NAME=STUDY ...`` writes the agreement into
``results/published.json`` and ``published.md``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from papers.markdown import fixed, table
from papers.published import FEWEST, columns
from papers.resi.reproduction import groups_table
from resemblance.base.json_files import write_atomically
from resemblance.base.rng import generator
from resemblance.bench.case import Score
from resemblance.bench.grounding import Rule, apply, spearman
from resemblance.bench.resi import Evaluation, load_evaluation, result_of
from resemblance.bench.resi.cases import QUALITY_TITLES, TEST_TITLES
from resemblance.bench.resi.page import compared_models
from resemblance.bench.resi.rules import RULES_BY_PROTOCOL
from resemblance.bench.study_models import ModelFamily, display_names
from resemblance.comparison.comparison import MeasureInfo
from resemblance.sections.result import opening_sentences
from resemblance.sections.values import finite_or_none
from resemblance.significance import known_mean, percentile_interval

STORED = Path(__file__).parent / "results" / "published.json"
PAGE = "papers/resi/published.md"
MADE = (
    "<!-- made by `python -m papers resi-published NAME=STUDY`; change the code, not this file -->"
)
ABOUT = (
    "The correlation is Spearman's over the measures; the interval holds it in 95 % of samples of "
    "our models. *Two halves*: the mean correlation between the scores of two disjoint halves of "
    "our models, with the number of models (of each group) in a half; where it is low, the models "
    "are too few for any order of measures."
)
SPELT = {  # names in the paper's tables that differ from the names in its text
    "SST2": "SST-2", "IN100": "ImageNet-100", "SAGE": "GraphSAGE", "PGNN": "P-GNN",
    "RNet18": "ResNet18", "RNet34": "ResNet34", "RNet101": "ResNet101",
    "ViT_B32": "ViT-B/32", "ViT_L32": "ViT-L/32",
}  # fmt: skip
DRAWS, SHOWN = 200, 3
KINDS = {"accuracy": "prediction", "output": "prediction", "layers": "order"}
COLUMNS = (
    "models", "test", "quality", "measures", "correlation", "95 % of draws", "two halves",
    "mean difference", "most different: here, paper",
)  # fmt: skip
Values = Mapping[str, float]  # scores by the label of a measure


def agreements(evaluation: Evaluation, draws: int = DRAWS) -> list[dict[str, Any]]:
    """Return the agreement of a study's scores with the printed scores: a record for every column
    of the paper's tables with at least 12 values.

    ``correlation``: Spearman's correlation of the two scores over ``measures``; ``low``, ``high``:
    the range of the correlation in 95 % of the samples of models. ``halves``: the mean correlation
    between two halves of the models, with ``half`` models (of a group) in a half; None with too few
    models. ``difference``: the mean absolute difference. ``most``: the measures with the largest
    differences, with the two scores.

    Models are resampled, not pairs of models. A sample contains as many models of every group as
    there are, drawn with replacement; pairs of a model with itself are left out, and all scores are
    recomputed. Halves are drawn without replacement, so that no model is in two halves.
    """
    printed, records = printed_columns(), []
    for (test, quality, family), scores in _cells(evaluation).items():
        where = (*display_names(family.dataset, family.architecture), family.pooling, test, quality)
        theirs = printed.get(where) or printed.get((*where[:2], "", test, quality), {})
        ours = {s.label: s.value for s in scores if np.isfinite(s.value)}
        both = [label for label in ours if label in theirs]
        if len(both) < FEWEST:
            continue
        sampler = _sampler(evaluation, test, quality, family, scores)
        g = generator(0, "agreement with the paper", *where)
        samples = [
            _correlation(sampler.score(sampler.sample(g)), theirs, both) for _ in range(draws)
        ]
        low, high = percentile_interval(samples)
        halves = [
            _correlation(sampler.score(one), sampler.score(other), both)
            for _ in range(draws if sampler.half >= sampler.fewest else 0)
            for one, other in [sampler.halves(g)]
        ]
        difference = {label: abs(ours[label] - theirs[label]) for label in both}
        most = sorted(both, key=lambda label: -difference[label])[:SHOWN]
        records.append(
            {
                **dict(zip(("dataset", "architecture", "pooling", "test", "quality"), where)),
                "measures": len(both),
                "correlation": finite_or_none(_correlation(ours, theirs, both)),
                "low": finite_or_none(low),
                "high": finite_or_none(high),
                "halves": finite_or_none(float(known_mean(halves))),
                "half": sampler.half,
                "difference": float(np.mean(list(difference.values()))),
                "most": [(label, ours[label], theirs[label]) for label in most],
            }
        )
    return records


def printed_columns() -> dict[tuple[str, ...], Values]:
    """Return the readable printed scores by data set, architecture, pooling, test and quality, with
    the names of the paper's text."""
    spelt = dict[tuple[str, ...], Values]()
    for (test, quality, _, *models, pooling), values in columns().items():
        spelt[*(SPELT.get(word, word) for word in models), pooling, test, quality] = values
    return spelt


def _cells(evaluation: Evaluation) -> dict[tuple[str, str, ModelFamily], list[Score]]:
    cells: dict[tuple[str, str, ModelFamily], list[Score]] = {}
    for score in evaluation.scores:
        _, quality, *family = score.cell
        cells.setdefault((score.test, quality, ModelFamily(*family)), []).append(score)
    return cells


def _correlation(one: Values, other: Values, labels: Sequence[str]) -> float:
    """Return Spearman's correlation over the measures with two scores; NaN for fewer than two
    measures."""
    sides = ([side.get(label, np.nan) for label in labels] for side in (one, other))
    return spearman(*map(np.array, sides)).value


# ------------------------------------------------------------------------------ samples of models


class Sampler(NamedTuple):
    """How to sample and score models.

    ``groups``: positions of the models of every group. ``fewest``: the smallest number of models to
    score. ``score``: returns the scores by label for the models at given positions.
    """

    groups: tuple[np.ndarray, ...]
    fewest: int
    score: Callable[[np.ndarray], Values]

    @property
    def half(self) -> int:
        """Number of models of the smallest group in a half."""
        return min(map(len, self.groups)) // 2

    def sample(self, g: np.random.Generator) -> np.ndarray:
        """Return random positions with replacement, as many as every group has. At least two
        positions of a group are different, if the group has two models."""
        return np.concatenate([_drawn(group, g) for group in self.groups])

    def halves(self, g: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of two random halves of every group without a common model."""
        orders = [g.permutation(group) for group in self.groups]
        first = [order[: self.half] for order in orders]
        second = [order[self.half : 2 * self.half] for order in orders]
        return np.concatenate(first), np.concatenate(second)


def _drawn(group: np.ndarray, g: np.random.Generator) -> np.ndarray:
    while True:
        drawn = g.choice(group, len(group))
        if len(group) == 1 or len(set(drawn.tolist())) > 1:
            return drawn


def _sampler(
    evaluation: Evaluation, test: str, quality: str, family: ModelFamily, scores: Sequence[Score]
) -> Sampler:
    if test == "layers":
        parts = {s.label: np.array(s.parts) for s in scores}
        models = np.arange(max(map(len, parts.values())))
        return Sampler((models,), 2, lambda chosen: _means(parts, chosen))
    (part,) = [p for p in evaluation.parts() if (p.test, p.family) == (test, family)]
    expected = part.expected(quality)
    differences = [(info, part.comparison.dissimilarity(info.spec)) for info in evaluation.measures]
    kind = KINDS.get(test, "group")
    rule = RULES_BY_PROTOCOL[evaluation.options.protocol][kind, quality.partition("_")[0]]
    labels = expected.argmin(axis=1) if kind == "group" else np.zeros(len(expected), int)
    groups = tuple(np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist()))

    def score(chosen: np.ndarray) -> Values:
        wanted: Any = labels[chosen].tolist()
        if kind == "prediction":
            wanted = expected[np.ix_(chosen, chosen)]
        return {
            info.label: _value(rule, info, matrix, wanted, chosen) for info, matrix in differences
        }

    return Sampler(groups, 3 if kind == "prediction" else 2, score)


def _means(parts: Mapping[str, np.ndarray], chosen: np.ndarray) -> Values:
    return {
        label: float(known_mean(values[chosen].tolist()))
        for label, values in parts.items()
        if len(values) > chosen.max()
    }


def _value(
    rule: Rule, info: MeasureInfo, matrix: np.ndarray, wanted: Any, chosen: np.ndarray
) -> float:
    """Return the score of a measure on the chosen models. Pairs of a model with itself do not
    count."""
    rule = rule.of(info.larger_is_more_similar)
    blocks = rule.blocks(wanted, both_orders=not info.symmetric)
    different = []
    for block in blocks:
        counts = chosen[block.rows] != chosen[block.columns]
        different.append(block._replace(**{n: part[counts] for n, part in block._asdict().items()}))
    return apply(rule, matrix[np.ix_(chosen, chosen)], tuple(different))


# ---------------------------------------------------------------------------------------- documents


def page(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of stored studies."""
    parts = [part for document in documents for part in _of_study(document)]
    once = dict.fromkeys(parts)  # studies of the same models share parts
    heading = "# Studies of the paper's models next to its tables"
    return "\n\n".join([MADE, heading, ABOUT, *once]) + "\n"


def _of_study(document: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"**{document['name']}.** {document['models']} models, {document['measures']} measures, "
        f"protocol `{document['protocol']}`, hyperparameters `{document['hyperparameters']}`, "
        f"computed {document['date']}. {document['headline']}"
    )
    if document["agreements"]:
        yield table(COLUMNS, map(_line, document["agreements"]))
    if document["groups"]:
        yield "Accuracies of the groups, mean and range:"
        yield document["groups"]


def _line(of: Mapping[str, Any]) -> list[str]:
    interval = "–" if of["low"] is None else f"{fixed(of['low'])} to {fixed(of['high'])}"
    halves = "–" if of["halves"] is None else f"{fixed(of['halves'])} ({of['half']})"
    pooling = f", {of['pooling']}" if of["pooling"] not in ("", "node") else ""
    title = f"{of['dataset']} {of['architecture']}{pooling}"
    tested = TEST_TITLES[of["test"]], QUALITY_TITLES[of["test"]][of["quality"]], str(of["measures"])
    agreement = fixed(of["correlation"]), interval, halves, fixed(of["difference"])
    most = "; ".join(f"{label} {fixed(a)}, {fixed(b)}" for label, a, b in of["most"])
    return [title, *tested, *agreement, most]


def document_of(evaluation: Evaluation, name: str = "", draws: int = DRAWS) -> dict[str, Any]:
    """Return the agreements of a study and the origin of the study, as a document to store."""
    result = result_of(evaluation)
    has_groups = any(group.accuracies for group in evaluation.groups)
    return {
        "name": name,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "headline": opening_sentences(result),
        "groups": groups_table(result) if has_groups else "",
        "protocol": evaluation.options.protocol,
        "hyperparameters": evaluation.origin.get("hyperparameters", "unknown"),
        "size": evaluation.size,
        "models": len(compared_models(evaluation)),
        "measures": len(evaluation.measures),
        "draws": draws,
        "agreements": agreements(evaluation, draws),
    }


def stored_page() -> str:
    """Return the page of the stored documents."""
    return page(json.loads(STORED.read_text(encoding="utf-8")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare finished studies with the paper, store the agreements, and write the page."""
    parser = argparse.ArgumentParser("python -m papers resi-published", description=__doc__)
    parser.add_argument("study", nargs="+", help="a finished study and its heading: NAME=FOLDER")
    parser.add_argument("--draws", type=int, default=DRAWS, help="samples of models")
    parser.add_argument("--page", type=Path, default=Path(__file__).parents[2] / PAGE)
    parser.add_argument("--json", type=Path, default=STORED)
    options = parser.parse_args(arguments)
    studies = (named.partition("=") for named in options.study)
    documents = [document_of(load_evaluation(of), name, options.draws) for name, _, of in studies]
    text = json.dumps(documents, indent=1, ensure_ascii=False) + "\n"
    write_atomically(options.json, text)
    write_atomically(options.page, page(documents))
    return 0
