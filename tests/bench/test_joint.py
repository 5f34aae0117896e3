"""One ranking over several suites: ranks that can be worked out by hand, intervals, claims, and
what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from factories.output import assert_fits

from resemblance import cli
from resemblance.bench import combine
from resemblance.sections.claims import NO_DATA, NOT_REPRODUCED, Claim
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

LABELS = {"a": "A", "b": "B", "c": "C"}


CLAIM = Claim("S1", "it holds", "1", "2", NOT_REPRODUCED)


def study(folder, suite, cells, labels=LABELS, size="default"):
    """A folder with findings in which measures have these scores."""
    folder.mkdir()
    part = Section("part", "Part", "about", scores=cells, claims=(CLAIM,))
    Result(suite, size, (part,), labels).save(folder / "result.json")
    return folder


@pytest.fixture
def two(tmp_path):
    one = study(
        tmp_path / "one",
        "stability",
        {"x/1": {"a": 3.0, "b": 2.0, "c": 1.0}, "x/2": {"a": 1, "b": 2, "c": 0}},
    )
    other = study(tmp_path / "other", "sensitivity", {"y": {"a": 0.5, "b": 0.5, "c": None}})
    return one, other


def combined(tmp_path, **cells):
    """The joint ranking of suites with these scores."""
    return combine(*(study(tmp_path / suite, suite, of) for suite, of in cells.items()))


def rows_of(found):
    """The rows of the table of places, by the label of a measure."""
    return {row[0]: row for row in table(found, "standing", "places").rows}


def table(findings, section, name):
    (found,) = [t for t in findings[section].tables if t.name == name]
    return found


def test_a_suite_counts_as_much_as_another_however_many_cells_it_has(two):
    found = rows_of(combine(*two))
    # stability: a 1 and 2, b 2 and 1, c 3 and 3; sensitivity: a and b share 1 and 2, c without a
    # value is last
    assert [found[m][1] for m in "ABC"] == [1.5, 1.5, 3.0]
    assert [found[m][2] for m in "ABC"] == ["1 to 3"] * 3
    assert found["B"][4] == "100 %"
    assert found["C"][4] is None
    # three cells tell nothing apart, so there are no intervals, and no diagram
    assert [found[m][3] for m in "ABC"] == ["tied with the leader"] * 3
    assert [found[m][5] for m in "ABC"] == ["all others"] * 3
    (bars,) = combine(*two)["standing"].figures
    assert {bar.low for bar in bars.bars} == {None}
    guess = np.mean([bar.value for bar in bars.bars])
    assert bars.note == f"A measure that guesses has a mean rank of {guess:g}."


def test_cells_in_which_all_are_equal_do_not_count(tmp_path):
    cells = {"x": {"a": 3, "b": 2, "c": 1}}
    tied = {"tied": {"a": 1, "b": 1, "c": 1 + 1e-12}}
    found = combined(tmp_path, stability=cells | tied, sensitivity=cells)
    assert [row[1] for row in rows_of(found).values()] == [1.0, 2.0, 3.0]
    assert "Cells: 1 (in 1 more all measures are equal)." in found["stability"].about
    flat = study(tmp_path / "flat", "stability", tied | {"empty": {"a": None}})
    with pytest.raises(ValueError, match="no cell of the stability study tells the measures apart"):
        combine(flat, tmp_path / "sensitivity")


def test_equal_measures_have_equal_places_whatever_the_order_of_suites(tmp_path):
    found = rows_of(
        combined(
            tmp_path,
            stability={"x": {"a": 3, "b": 3, "c": 1}},
            sensitivity={"x": {"a": 3, "b": 1, "c": 2}},
            resi={"x": {"a": 1, "b": 3, "c": 2}},
        )
    )
    assert found["A"][1:3] == found["B"][1:3]


def test_ranks_are_among_the_measures_that_all_suites_have(tmp_path):
    more = {**LABELS, "d": "D"}
    one = study(tmp_path / "one", "stability", {"x": {"a": 1, "b": 3, "c": 2, "d": 9}}, more)
    other = study(tmp_path / "other", "sensitivity", {"y": {"a": 1, "b": 3, "c": 2}})
    found = combine(one, other)
    assert {label: row[1] for label, row in rows_of(found).items()} == {"B": 1, "C": 2, "A": 3}
    assert found["standing"].reasons == {"D (d)": "takes no part in sensitivity"}


def test_agreement_of_suites(tmp_path):
    found = combined(
        tmp_path,
        stability={"x": {"a": 3, "b": 2, "c": 1}},
        sensitivity={"y": {"a": 1, "b": 2, "c": 3}},
    )
    rows = table(found, "agreement", "agreement").rows
    assert [row[1:] for row in rows] == [(1.0, pytest.approx(-1)), (pytest.approx(-1), 1.0)]


def test_labels_are_those_of_the_catalogue_whatever_a_suite_calls_a_measure(tmp_path):
    labels = {"cka": "CKA", "cka[kernel=rbf]": "CKA", "procrustes": "Procrustes", "mine": "Mine"}
    cells = {"x": {"cka": 1.0, "cka[kernel=rbf]": 2.0, "procrustes": 3.0, "mine": 4.0}}
    folders = [study(tmp_path / s, s, cells, labels) for s in ("stability", "sensitivity")]
    assert set(rows_of(combine(*folders))) == {"CKA", "CKA [kernel=rbf]", "OrthProc", "Mine"}


SURE = {f"x/{i}": {"a": 3.0, "b": 2.0, "c": 1.0} for i in range(6)}


def test_a_joint_ranking_says_first_who_leads_and_where_suites_disagree(tmp_path):
    one = study(tmp_path / "one", "stability", SURE)
    other = study(tmp_path / "other", "sensitivity", {"y": {"a": 1.0, "b": 2.0, "c": 3.0}})
    third = study(tmp_path / "third", "manifolds", SURE)
    found = combine(one, other, third)
    assert found.summary().startswith(
        "A leads with a mean rank of 1.00 among 3 measures over 12 cells; every other "
    )
    assert "The leader without stability: A; without manifolds: A." in found.summary()
    assert "Not counted, for fewer than 6 cells: sensitivity." in found.summary()
    assert [row[2] for row in table(found, "standing", "places").rows] == ["1", "2", "3"]
    assert (
        "The suites have different leaders: A in stability, C in sensitivity, A in manifolds."
        in found.summary()
    )
    assert (
        "stability and sensitivity agree the least on the order (correlation −1.00)."
        in found.summary()
    )
    assert found.facts["studies"].startswith("stability, default: small models on data")
    same = combine(one, third).summary()
    assert "The same measure leads in every suite." in same


def test_a_trial_is_left_out_of_a_joint_ranking_and_named(tmp_path):
    one, third = (study(tmp_path / s, s, SURE) for s in ("stability", "manifolds"))
    trial = study(
        tmp_path / "trial", "sensitivity", {"y": {"a": 1.0, "b": 2.0, "c": 3.0}}, size="small"
    )
    found = combine(one, trial, third)
    assert found.caveats == (
        "Left out of the ranking: sensitivity, small: for trying out, which is a trial.",
    )
    assert [s.name for s in found.sections] == ["standing", "agreement", "stability", "manifolds"]
    assert not found.is_trial


def test_with_fewer_than_two_others_the_whole_ranking_is_a_trial(tmp_path):
    one = study(tmp_path / "one", "stability", SURE)
    trial = study(tmp_path / "trial", "sensitivity", SURE, size="small")
    found = combine(one, trial)
    assert found.is_trial
    assert found.summary().startswith("Trial run: the scores mean nothing.")
    (ranks,) = found["standing"].tables
    assert ranks.columns == ("measure", "mean rank", "stability", "sensitivity")
    assert [row[0] for row in ranks.rows] == ["A", "B", "C"]
    assert found["standing"].figures == ()
    assert {c.verdict for c in found.claims} == {NO_DATA}


def test_mistakes_are_named(two, tmp_path):
    with pytest.raises(ValueError, match="at least two suites"):
        combine(*two[:1])
    with pytest.raises(ValueError, match="one of each suite"):
        combine(two[0], two[0])
    with pytest.raises(ValueError, match="has no results yet"):
        combine(two[0], tmp_path / "nothing")
    lone = study(tmp_path / "lone", "manifolds", {"y": {"z": 0.5}}, {"z": "Z"})
    with pytest.raises(ValueError, match="common --measures"):
        combine(two[0], lone)


def test_the_table_fits_the_terminal_and_has_no_none(tmp_path, capsys, monkeypatch):
    labels = {f"measure_{i}": f"A measure {i}" for i in range(9)}
    cells = {
        f"cell/{c}": {m: float((7 * c + 3 * i) % 11) for i, m in enumerate(labels)}
        for c in range(5)
    }
    suites = ("stability", "sensitivity")
    folders = [str(study(tmp_path / s, s, cells, labels)) for s in suites]
    monkeypatch.chdir(tmp_path)
    shown = assert_fits(lambda: cli.run(["bench", "combine", *folders, "--html", "j.html"]), capsys)
    assert "None" not in shown
