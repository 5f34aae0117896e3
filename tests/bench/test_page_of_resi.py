"""The page of the ReSi suite on made-up scores; a snapshot in tests/pages shows a whole study."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest
from factories.resi_models import MEASURES, models, small_evaluation

import resemblance as rs
from resemblance.bench.case import Score
from resemblance.bench.page import times_section
from resemblance.bench.ranks import summarize_scores
from resemblance.bench.resi import Evaluation, result_of
from resemblance.bench.resi.cases import SkippedTask
from resemblance.bench.resi.groups import ModelGroup
from resemblance.bench.resi.matrices import difference_limits
from resemblance.bench.resi.rules import ScoringOptions
from resemblance.bench.study_models import ModelFamily
from resemblance.comparison.comparison import measure_info
from resemblance.data.model_features import ModelFeatures
from resemblance.report import write_page
from resemblance.sections.figures import Bars, Boxes, Choice, Strips


def made_up(
    values, *, failed=MappingProxyType({}), test="accuracy", quality="spearman_accuracy", **parts
):
    """An evaluation with scores by measure: one value per architecture, all in one domain."""
    infos = tuple(
        measure_info(m)._replace(spec=s, label=s)
        for m, s in zip([MEASURES[0]] * len(values), values)
    )
    scores = [
        Score(
            test,
            (test, quality, "vision", "toy", f"net{i}", "mean"),
            spec,
            spec,
            value,
            (value,),
            0.03,
            6,
            int((spec, i) in failed),
            failed.get((spec, i)),
        )
        for spec, own in values.items()
        for i, value in enumerate(own)
    ]
    options = {name: parts.pop(name) for name in ("protocol", "failures") if name in parts}
    return Evaluation(ScoringOptions(**options), infos, tuple(scores), **parts)


def written(result, folder, **options):
    write_page(result, folder / "resi.html", **options)
    return (folder / "resi.html").read_text(encoding="utf-8")


def table(result, section, name=None):
    return next(t for t in result[section].tables if name in (None, t.name))


def figure(result, section, kind):
    return next((f for f in result[section].figures if isinstance(f, kind)), None)


# -------------------------------------------------------------------------------------------- ranks


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "No measure has a rank"),
        ({"a": [0.5]}, "the only measure with a rank"),
        ({"a": [0.5], "b": [0.1]}, "a has the best mean rank, 1.00, among 2 measures over 1 task."),
        ({"a": [0.5] * 6, "b": [0.5] * 6, "c": [0.1] * 6}, "a and b have the best mean rank"),
    ],
)
def test_the_verdict_claims_no_more_than_the_differences_allow(values, words):
    assert words in result_of(made_up(values)).summary()


def test_a_trial_has_no_order(tmp_path):
    trial = result_of(made_up({"b": [0.1] * 9, "a": [0.5] * 9}, size="slice"))
    assert [row[0] for row in table(trial, "ranking").rows] == ["b", "a"]  # as they were given
    assert [bar.name for bar in figure(trial, "ranking", Bars).bars] == ["b", "a"]
    assert [box.name for box in figure(trial, "distribution", Boxes).boxes] == ["b", "a"]
    assert table(trial, "scores").framed == ()
    page = written(trial, tmp_path)
    assert "Trial run" in page
    assert "best mean rank" not in page


# ------------------------------------------------------------------------------------------- scores


def test_the_best_of_a_column_is_complete_unless_failures_do_not_count():
    values = {"a": [0.9, 0.3], "b": [0.5, 0.3 - 1e-16], "c": [np.nan, 0.1]}
    for failures, best in (
        ("last", {("b", 0), ("a", 1), ("b", 1)}),
        ("unranked", {("a", 0), ("a", 1), ("b", 1)}),
    ):
        result = result_of(
            made_up(values, failed={("a", 0): "2 comparisons failed"}, failures=failures)
        )
        shown = table(result, "scores")
        assert {(shown.rows[row][0], column - 1) for row, column in shown.framed} == best
    row = next(i for i, entries in enumerate(shown.rows) if entries[0] == "a")
    sign = next(s for s in shown.signs if (s.row, s.column) == (row, 1))
    assert (shown.rows[row][1], sign.text, sign.note) == (0.9, "*†", "2 comparisons failed")


# ----------------------------------------------------------------------------------------- matrices


def test_the_best_measure_is_the_example_of_the_maps():
    facts = small_evaluation()
    result = result_of(facts)
    choice = figure(result, "accuracy", Choice)
    scores = {
        result.labels[s.measure]: s.value
        for s in facts.scores
        if s.cell[:3] == ("accuracy", "spearman_accuracy", "graphs")
    }
    example = choice.options[choice.static[0]].choices[3]
    assert scores[example] == max(scores.values())


def test_the_colors_of_a_map_are_of_different_representations():
    values = np.array([[0, 0.2, np.nan], [0.2, 0, 0.6], [np.nan, 0.6, 0]])
    assert difference_limits(values) == (0.2, 0.6)
    assert difference_limits(np.array([[1.0]])) == (0, 1)


# ------------------------------------------------------------------ groups, failures, times, claims


def test_groups_become_strips_and_poolings_with_accuracies_of_their_own_more():
    def group(name, value, kept=True, note=""):
        return ModelGroup(
            "labels", "vision", "toy", "net", name, 0.5, (value,), "clean", kept, note
        )

    found = made_up(
        {"a": [0.5]},
        groups=(
            group("normal", 1),
            group("50%", 0.5),
            group("normal", 0.9),
            group("50%", 0.4, False, "left out: why"),
        ),
    )
    figures = [f for f in result_of(found)["labels"].figures if isinstance(f, Strips)]
    assert [[s.values[0] for s in f.strips] for f in figures] == [[1, 0.5], [0.9, 0.4]]
    assert [f.x for f in figures] == ["accuracy on clean inputs"] * 2
    assert figures[1].note == "50%: left out: why."
    assert [s.is_used for s in figures[1].strips] == [True, False]
    rows = table(result_of(found), "labels", "groups").rows
    left_out = ("50%", 0.4, 0.4, 0.4, "clean", "left out: why")
    assert rows[3] == ("Label randomization", "vision net", *left_out)


def test_times_are_milliseconds_and_the_fastest_comes_first():
    made = made_up({"a": [1.0], "b": [1.0]})
    overview = summarize_scores("resi", made.scores, made.measures, {}, [], is_trial=False)
    seconds = {"vision": {"a": 0.002, "b": 0.001}, "graphs": {"a": 0.004}}
    (times,) = times_section(overview, seconds).tables
    assert times.columns == ("measure", "vision", "graphs")
    assert times.rows == (("b", 1.0, None), ("a", 2.0, 4.0))
    (some,) = times_section(overview, {"vision": {"b": 0.001}}).tables
    assert some.rows == (("b", 1.0), ("a", None))
    assert times.shades == ((None, 0.0, None), (None, 0.5, 1.0))


# --------------------------------------------------------------------------------------------- page


ODD = {
    "nothing": made_up({}),
    "one cell": made_up({"a": [0.5]}),
    "one measure": made_up({"a": [0.5, 0.4]}),
    "one value": made_up({"a": [0.5], "b": [np.nan]}),
    "no value": made_up({"a": [np.nan, np.nan], "b": [np.nan, np.nan]}),
    "unranked": made_up({"a": [0.5], "b": [np.nan]}, failures="unranked"),
    "code": made_up({"a": [0.5, 0.4], "b": [0.2, 0.6]}, protocol="resi-code"),
    "unchecked": made_up(
        {"a": [0.5]},
        groups=(ModelGroup("labels", "v", "d", "a", "50%", 0.5, (), "none", True, "unknown"),),
    ),
    "absent": made_up(
        {"a": [0.5]},
        absent=(SkippedTask("layers", ModelFamily("v", "d", "a", "p"), "no model has 3 layers"),),
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_pages_of_odd_results(name, tmp_path):
    facts = ODD[name]
    result = result_of(facts)
    assert len(table(result, "ranking").rows) == len(facts.measures)
    assert written(result, tmp_path)
    shown = table(result, "scores")
    explained = {(s.row, s.column) for s in shown.signs if s.note}
    for r, row in enumerate(shown.rows):
        assert {(r, c) for c, entry in enumerate(row) if entry is None} <= explained


def test_a_subject_is_printed_as_what_it_is():
    (found,) = models("vision", "net", "mean", [("normal", 0.0, 1)])
    assert "4: l3 (4), l2 (4), l1 (4), last (4); known: outputs; traits: domain vision" in repr(
        found
    )
    deep = {f"<layer{i}>": np.random.default_rng(i).normal(size=(500, 64)) for i in range(200)}
    large = ModelFeatures(
        "deep", {k: rs.Representation(v, k) for k, v in deep.items()}, traits={"note": "x" * 9999}
    )
    assert len(repr(large)) < 1000
    assert "200: <layer0> (64)" in repr(large)
    assert "and 192 more" in repr(large)
    assert "&lt;layer0&gt;" in large._repr_html_()
