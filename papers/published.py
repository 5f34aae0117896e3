"""Numbers that papers print for measures, the ranking that follows from the numbers, and a
comparison with another ranking."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from resemblance.bench.grounding import spearman
from resemblance.catalogue import list_measures

DATA = Path(__file__).parent / "data"
KEYS = {"resi": "label", "mka": "measure"}  # papers with columns to rank: key of a measure
PAPERS = (*KEYS, "ding")
DOMAINS = ("graphs", "language", "vision")
REPEATED = ("3_submission", "3_final", "30")  # examples repeated in other tables, and runtimes
# Quality to rank by; all other tests are ranked by AUPRC.
RANKED = {"accuracy": "spearman", "output": "spearman", "layers": "spearman"}
FEWEST = 12  # minimum number of values of a ranked column, half of the 24 measures


class PublishedValue(NamedTuple):
    """One cell of a table of the ReSi paper, the MKA paper or the paper of Ding et al.

    ``table``: number in the paper, with "a" and "b" for the halves of a table, and "3_submission"
    and "3_final" for the two versions of Table 3. ``source``: the version of the paper. ``test``:
    "accuracy", "output", "labels", "shortcut", "augmentation", "layers" or "runtime". ``quality``:
    "spearman_accuracy", "spearman_jsd", "spearman_disagreement", "auprc", "conformity", "spearman"
    or "seconds". ``pooling``: "cls", "mean", "last" or "node". ``dataset`` and ``pooling`` are
    empty where the table does not name a data set or pooling. ``measure``: name in the catalogue,
    with parameters in the MKA paper ("mka[k=15]"); ``label``: name in the paper. ``value``: None
    where the paper prints nan or a dash, or where the table could not be read. ``stars``: stars of
    significance, as printed. ``doubtful``: the paper may print another value. ``reason``: why a
    value is missing or doubtful, or another name of the measure in the table.
    """

    table: str
    title: str
    source: str
    test: str
    quality: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    measure: str
    label: str
    value: float | None
    stars: str
    doubtful: bool
    reason: str


class RankRow(NamedTuple):
    """Mean ranks of one measure, ours and published, and the positions of the measure among all
    measures with our rank and a published rank."""

    label: str
    ours: float
    published: float
    position: int
    position_published: int


def published(table: str | None = None, *, paper: str = "resi") -> list[PublishedValue]:
    """Return the published numbers of a paper, of all tables or of one table, in the order of the
    paper.

    ``paper="resi"``: every column of Tables 3 and 7 to 30 has one entry per measure, 24 in all,
    including entries without a value. Table 3 is available in two versions, all other tables only
    in the first version. The tables were read from the text of the papers, in which Table 17, a
    column of each half of Table 18 and parts of other tables are lost. A value is doubtful where
    its row has more or fewer values than the table has columns, where the table breaks off, or
    where Table 3 of the same version prints another value.

    ``paper="mka"``: Tables 1 to 17 of Appendix I, the six tests on ImageNet-100, MNLI and three
    graphs, with one entry for each of 32 measures: MKA at four numbers of neighbours, kCKA, CKA
    with four kernels, and the measures of ReSi. The values come from the authors' codes, which
    differ in places from the definitions in the paper. A value is doubtful where the row has a dash
    under one quality of a model and no dash under the other quality. Table 16 calls MKA with 100
    neighbours "UMAP"; ``reason`` says so.

    ``paper="ding"``: Tables 1, 3 to 14, 16 and 17 of Ding et al. ``test`` is the benchmark
    ("layers", "deletion", "finetuning", "pretraining", or "average" in Table 1), ``dataset`` the
    functionality, ``architecture`` the model and its layer, and ``stars`` the one-sided p-value as
    printed. In Table 1, the correlations of CIFAR-10C stand in the wrong columns, and the averages
    over vision inherit the error: the values are doubtful, with the right numbers in ``reason``.
    Where the printed p-value belongs to the opposite side, ``reason`` says so.

    Raises ``ValueError`` for an unknown paper or table.
    """
    if paper not in PAPERS:
        raise ValueError(f"no paper {paper!r}; known: {', '.join(PAPERS)}")
    names = {measure.label: measure.name for measure in list_measures()}
    cells = []
    for line in _lines(paper, table):
        facts = {
            "measure": line.get("measure") or names[line["label"]],
            "value": float(line["value"]) if line["value"] else None,
            "doubtful": line["doubtful"] == "1",
        }
        cells.append(PublishedValue(**{**line, **facts}))  # type: ignore[arg-type]
    return cells


def published_ranks(domain: str | None = None, *, paper: str = "resi") -> dict[str, float]:
    """Return the mean rank of every measure over the published tests of one domain, or of all
    domains. 1 is best; the best measure comes first.

    In every column of Tables 7 to 29 the measures are ranked from best (1) to worst: by AUPRC in
    the tests of labels, shortcuts and augmentation, and by Spearman's correlation in all other
    tests. So the test of outputs counts twice, for its two expectations. Values are printed with
    two decimals, and equal values share the best rank. Missing and doubtful values have no rank,
    and worse measures move up. A column in which fewer than 12 measures have a value is left out.
    No column remains for labels and shortcuts on language, or for shortcuts on graphs.

    ``paper="resi"``: keys are the labels of the paper; a measure without any value is missing.
    Difference from the paper: its Figure 3 ranks unrounded results of a later version, and the
    tables of that version are not available. ``paper="mka"``: keys are specifications
    ("mka[k=15]"), since labels differ from ours (CKA means the RBF kernel there), and the columns
    come from Tables 1 to 17. The tables of Ding et al. have too few measures for ranking.

    Raises ``ValueError`` for an unknown paper, and a domain other than "graphs", "language" and
    "vision".
    """
    if domain is not None and domain not in DOMAINS:
        raise ValueError(f"no domain {domain!r}; known: {', '.join(DOMAINS)}")
    ranks: defaultdict[str, list[float]] = defaultdict(list)
    for (test, quality, of_domain, *_), values in columns(paper).items():
        is_ranked = quality.partition("_")[0] == RANKED.get(test, "auprc")
        if is_ranked and domain in (None, of_domain) and len(values) >= FEWEST:
            # rankdata gives rank 1 to the smallest value, but the largest value is the best.
            for label, rank in zip(values, rankdata([-v for v in values.values()], method="min")):
                ranks[label].append(float(rank))
    means = {label: float(np.mean(of)) for label, of in ranks.items()}
    return dict(sorted(means.items(), key=lambda item: (item[1], item[0])))


def compare_published(
    ranks: Mapping[str, float], domain: str | None = None, *, paper: str = "resi"
) -> list[RankRow]:
    """Return mean ranks next to the published mean ranks, sorted by ours, best first.

    ``ranks``: mean rank by the label of a measure, or for ``paper="mka"`` by its specification;
    small is good. ``domain``, ``paper``: as in :func:`published_ranks`. Measures without one of the
    two ranks are left out. Positions, 1 for the best, count the remaining measures, and equal ranks
    share the best position.
    """
    theirs = published_ranks(domain, paper=paper)
    both = [label for label, rank in ranks.items() if label in theirs and np.isfinite(rank)]
    sides = [[float(side[label]) for label in both] for side in (ranks, theirs)]
    positions = (rankdata(values, method="min").astype(int).tolist() for values in sides)
    rows = map(RankRow, both, *sides, *positions)
    return sorted(rows, key=lambda row: (row.ours, row.published, row.label))


def order_agreement(rows: Sequence[RankRow]) -> float:
    """Return Spearman's correlation, in [-1, 1], between our mean ranks and the published mean
    ranks.

    NaN with fewer than three measures, or when all our ranks or all published ranks are equal.
    """
    if len(rows) < 3:
        return float("nan")
    ours, theirs = (np.array(side) for side in zip(*((row.ours, row.published) for row in rows)))
    return spearman(ours, theirs).value


def columns(paper: str = "resi") -> dict[tuple[str, ...], dict[str, float]]:
    """Return the readable values of a paper by column, and by measure within a column.

    The key of a column is (test, quality, domain, data set, architecture, pooling). The key of a
    measure is its label, or for ``paper="mka"`` its specification. Doubtful values, repeated
    examples and runtimes are left out.
    """
    readable: defaultdict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for cell in published(paper=paper):
        if cell.value is not None and not cell.doubtful and cell.table not in REPEATED:
            readable[cell[3:9]][getattr(cell, KEYS[paper])] = cell.value
    return dict(readable)


# ----------------------------------------------------------------------------- numbers of Raju 2026


class Printed(NamedTuple):
    """One printed number. ``at``: the row. ``quantity``: the column."""

    at: str
    quantity: str
    value: float


def printed(table: str, quantity: str | None = None) -> list[Printed]:
    """Return the numbers of one table of Raju 2026 on synthetic data, in the order of the table.

    Tables "11" (at 0, 1, 10, 30 and 50 of its 19 rows) and "12" have three decimals. "test1",
    "test3" and "test4" are the output of the author's script of Section 7.1: scores by share of
    signal, by components removed (seed 520), and of 60 pairs in four quadrants.

    Raises ``ValueError`` for an unknown table.
    """
    return [
        Printed(line["at"], line["quantity"], float(line["value"]))
        for line in _lines("stability", table)
        if quantity in (None, line["quantity"])
    ]


def _lines(paper: str, table: str | None) -> list[dict[str, str]]:
    """Return the lines of a paper's data file, or of one table; raise ``ValueError`` for an unknown
    table."""
    with gzip.open(DATA / f"{paper}_published.csv.gz", "rt", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    known = dict.fromkeys(line["table"] for line in lines)
    if table is not None and table not in known:
        raise ValueError(f"no published table {table!r}; known: {', '.join(known)}")
    return [line for line in lines if table in (None, line["table"])]
