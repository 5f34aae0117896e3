"""Ranks of measures: two readings of one experiment are one result."""

from __future__ import annotations

import pytest

from resemblance.sections.ranks import average_readings


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("labels", "labels/auprc/bert/cls"), ("labels", "labels/auprc/bert/mean")),
        (("output", "output/spearman_jsd/gat"), ("output", "output/spearman_disagreement/gat")),
    ],
)
def test_readings_of_one_experiment_have_one_rank(first, second) -> None:
    ranks = {first: {"a": 1.0, "b": 2.0}, second: {"a": 2.0, "b": 2.0, "c": 3.0}}
    assert average_readings(ranks) == {first: {"a": 1.5, "b": 2.0, "c": 3.0}}


def test_other_tests_qualities_and_models_are_experiments_of_their_own() -> None:
    cells = [
        ("labels", "labels/auprc/graphs/sage/node"), ("labels", "labels/auprc/graphs/gat/node"),
        ("shortcut", "shortcut/auprc/graphs/sage/node"), ("rings", "tau"), ("swiss roll", "peak"),
        ("canary", "graphs/sage, noise: AUC"), ("canary", "graphs/sage, rounding: Spearman"),
    ]  # fmt: skip
    ranks = {cell: {"a": 1.0, "b": 2.0} for cell in cells}
    assert average_readings(ranks) == ranks
