"""The result of the ReSi suite: its sections, its page, and the page in a browser."""

from __future__ import annotations

import io
from types import MappingProxyType

import numpy as np
import pytest
from factories.resi_models import MEASURES, models, small_evaluation

import resemblance as rs
from resemblance.bench.case import Score
from resemblance.bench.page import column_letter, times_section
from resemblance.bench.ranks import summarize_scores
from resemblance.bench.reliability import LEAST_RELIABILITY
from resemblance.bench.resi import Evaluation, result_of
from resemblance.bench.resi.cases import QUALITY_TITLES, TEST_TITLES, SkippedTask
from resemblance.bench.resi.groups import ModelGroup
from resemblance.bench.resi.matrices import common_prefix, difference_limits
from resemblance.bench.resi.page import add_judged_claims
from resemblance.bench.resi.rules import ScoringOptions
from resemblance.bench.study_models import ModelFamily
from resemblance.comparison.comparison import measure_info
from resemblance.data.model_features import ModelFeatures
from resemblance.report import write_page
from resemblance.report.output import print_tables
from resemblance.sections.figures import Bars, Boxes, Choice, Strips
from resemblance.sections.ranks import average_readings, mean_ranks, summarize


@pytest.fixture(scope="module")
def facts():
    return small_evaluation()


@pytest.fixture(scope="module")
def result(facts):
    return result_of(facts)


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


def printed(*parts):
    target = io.StringIO()
    print_tables(parts, target)
    return target.getvalue()


def written(result, folder, **options):
    write_page(result, folder / "resi.html", **options)
    return (folder / "resi.html").read_text(encoding="utf-8")


def table(result, section, name=None):
    return next(t for t in result[section].tables if name in (None, t.name))


def figure(result, section, kind):
    return next((f for f in result[section].figures if isinstance(f, kind)), None)


def rows_of(table):
    """The rows of a table by their first entry, as dictionaries."""
    return {row[0]: dict(zip(table.columns, row)) for row in table.rows}


# -------------------------------------------------------------------------------------------- ranks


def test_counts_are_of_models_and_of_every_comparison_once(result):
    graphs = (
        9 * 8 // 2 + 3
    ) + 4 * 6  # three groups of three, the fourth normal model with three, layers
    language = 2 * (6 + 4 * 6)  # two poolings
    counts = {
        "measures": "3",
        "ranked tasks": f"{len(average_readings(result.ranks()))} (means of 11 readings)",
        "comparisons of different representations": str(3 * (graphs + language)),
    }
    assert {name: result.facts[name] for name in counts} == counts
    assert result.facts["models"].startswith("14 compared: ")


def test_the_table_of_ranks_is_that_of_the_ranking(facts, result):
    rows, labels = rows_of(table(result, "ranking")), result.labels
    ranks = average_readings(facts.ranks())
    assert result.mean_ranks() == mean_ranks(facts.ranks())
    for expected in summarize(ranks):
        row = rows[labels[expected.measure]]
        assert row["mean rank"] == expected.mean
        assert (row["median"], row["tasks"]) == (expected.median, len(expected.ranks))
    for domain in ("graphs", "language"):
        cells = {cell: ranks for cell, ranks in facts.ranks().items() if cell[2] == domain}
        for expected in summarize(average_readings(cells)):
            assert rows[labels[expected.measure]][domain] == expected.mean
    means = [row["mean rank"] for row in rows.values()]
    assert means == sorted(means)
    bars = figure(result, "ranking", Bars)
    for bar in bars.bars:
        assert bar.value == pytest.approx(rows[bar.name]["mean rank"])


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


def test_cells_in_which_what_is_expected_is_noise_are_named_and_not_ranked(facts):
    noise = {cell for cell, r in facts.reliabilities().items() if r < LEAST_RELIABILITY}
    assert noise
    assert not noise & set(facts.ranks())
    (remark,) = result_of(facts._replace(size="mini")).caveats
    assert remark.startswith("Not ranked, because")
    assert all(" · ".join(family) in remark for _, _, *family in noise)
    as_code = facts._replace(size="mini", options=ScoringOptions("resi-code"))
    assert noise & set(as_code.ranks())
    assert result_of(as_code).caveats == ()


# ------------------------------------------------------------------------------------------- scores


def cells_of(facts, result):
    """Every cell of the table of scores: score or None, entry, and its signs."""
    scores = {(*s.cell, s.measure): s for s in facts.scores}
    specs = {label: spec for spec, label in result.labels.items()}
    shown = table(result, "scores")
    signs = {(s.row, s.column): s for s in shown.signs}
    words = {
        (TEST_TITLES[t], w): (t, q) for t, known in QUALITY_TITLES.items() for q, w in known.items()
    }
    for r, row in enumerate(shown.rows):
        for c, entry in list(enumerate(row))[1:]:
            what, _, family = shown.hints[c].partition(": ")
            test, quality = words[tuple(what.split(", "))]
            family = family.partition(";")[0]
            score = scores.get((test, quality, *family.split(" · "), specs[row[0]]))
            yield score, entry, signs.get((r, c))


def test_the_table_has_every_score_and_a_reason_for_every_empty_cell(facts, result):
    reasons, seen = result["scores"].terms, 0
    for score, entry, sign in cells_of(facts, result):
        if entry is None:
            assert reasons[sign.text] == f"no score: {sign.note}"
            assert sign.note
            assert score is None or np.isnan(score.value)
        else:
            seen += 1
            assert entry == score.value
            assert ("†" in sign.text if sign else False) == bool(score.failed)
            assert (sign.note if sign else "") == (score.reason or "" if score.failed else "")
    assert seen == sum(np.isfinite(s.value) for s in facts.scores)
    assert "no score: no models of the setting 'shortcut'" in reasons.values()
    assert table(result, "scores").note.startswith("† some comparisons failed")


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


def test_empty_cells_share_a_letter_when_they_share_a_reason():
    reason = "3 comparisons failed; most often: all rows are equal"
    result = result_of(made_up({"a": [np.nan, 0.1], "b": [np.nan, 0.2]}, failed={("b", 0): reason}))
    assert set(result["scores"].terms.values()) == {
        "no score: no value",
        "no score: all rows are equal",
    }
    assert [column_letter(i) for i in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


# ----------------------------------------------------------------------------------------- matrices


def maps_of(result, test, **wanted):
    """The maps and the line of the first option of a test with these choices."""
    choice = figure(result, test, Choice)
    for option in choice.options:
        choices = dict(zip(choice.selectors, option.choices))
        if all(choices[name] == value for name, value in wanted.items()):
            return [choice.maps[i] for i in option.maps], option.note
    raise AssertionError(wanted)


def test_maps_are_differences_with_short_labels(facts, result):
    (given,) = [p for p in facts.parts() if (p.test, p.family.domain) == ("labels", "graphs")]
    (expected, measured), _ = maps_of(result, "labels", measure="CKA")
    difference = 1 - given.comparison.values["cka"]
    shown = np.array(measured.values, float)
    assert np.allclose(shown, difference, rtol=1e-3, atol=1e-12, equal_nan=True)
    assert measured.rows[0] == "normal-0/seed0"
    assert (expected.title, measured.title) == ("expected", "measured by CKA")
    assert expected.values[0][0] == 0
    assert expected.is_reversed
    assert measured.is_reversed  # what is alike is dark
    assert measured.span == tuple(float(f"{end:.17g}") for end in difference_limits(difference))
    options = figure(result, "layers", Choice).options
    bert = [o for o in options if o.choices[0].endswith("bert · cls")]
    assert list(dict.fromkeys(o.choices[1] for o in bert)) == [
        f"normal-0/seed{i}" for i in range(4)
    ]
    (expected, _), _ = maps_of(result, "layers", quality="Spearman", measure="CKA")
    assert expected.rows == ("l3", "l2", "l1", "last")
    assert expected.values[0] == (0, 1, 2, 3)


def test_every_case_part_quality_and_measure_can_be_chosen(facts, result):
    for test in TEST_TITLES:
        maps = [p for p in facts.parts() if p.test == test]
        if not maps:
            assert figure(result, test, Choice) is None
            continue
        choice = figure(result, test, Choice)
        assert len(choice.options) == sum(
            len(p.comparison.measures) * len(p.by_quality) for p in maps
        )
        assert len({o.choices for o in choice.options}) == len(choice.options)
        assert len(choice.maps) < len(choice.options) * 2  # none is there twice
        assert len(set(choice.maps)) == len(choice.maps)


def test_a_score_stands_below_the_maps_and_the_best_measure_is_the_example(facts, result):
    choice = figure(result, "accuracy", Choice)
    scores = {
        result.labels[s.measure]: s.value
        for s in facts.scores
        if s.cell[:3] == ("accuracy", "spearman_accuracy", "graphs")
    }
    option = choice.options[choice.static[0]]
    assert scores[option.choices[3]] == max(scores.values())
    note = f"{option.choices[3]}: Spearman {max(scores.values()):.2f}".replace("-", "−")
    assert option.note == note


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["a/b/x", "a/b/y"], ["a", "b"]),
        (["a/b", "a"], []),
        (["x", "y"], []),
        (["a/b/c"], ["a", "b"]),
    ],
)
def test_common_start(names, start):
    assert common_prefix(names) == start


def test_the_colors_of_a_map_are_of_different_representations():
    values = np.array([[0, 0.2, np.nan], [0.2, 0, 0.6], [np.nan, 0.6, 0]])
    assert difference_limits(values) == (0.2, 0.6)
    assert difference_limits(np.array([[1.0]])) == (0.0, 1.0)


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


def test_an_earlier_claim_is_judged_where_it_is_handed_in(facts):
    from resemblance.sections.claims import REPRODUCED, Claim

    def judge(evaluation):
        return [Claim("X1", "it holds", "1", str(len(evaluation.scores)), REPRODUCED)]

    small = facts._replace(size="mini")
    found = add_judged_claims(result_of(small), small, {"ranking": judge})
    assert [c.ours for c in found["ranking"].claims] == [str(len(facts.scores))]
    assert result_of(facts).claims == ()


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
    for _, entry, sign in cells_of(facts, result):
        assert entry is not None or sign.note


# ------------------------------------------------------------------------------------------ browser


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
