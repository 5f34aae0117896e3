"""The report of a benchmark: the data behind it, the page, and the page in a browser."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import resemblance as rs
from resemblance.comparison import info_of
from resemblance.report import (
    resi_cells,
    resi_data,
    resi_figures,
    resi_page,
    resi_terminal,
    write_resi_page,
)
from resemblance.report.output import show
from resemblance.representation import Undefined
from resemblance.significance import places
from resemblance.subject import Subject
from resemblance.suites.published import RankRow
from resemblance.suites.resi.evaluation import Failed, ResiResult, evaluate
from resemblance.suites.resi.grading import Score
from resemblance.suites.resi.groups import Group
from resemblance.suites.resi.ranking import ranking
from resemblance.suites.resi.tests import Absence

HOSTILE = "<script>alert(1)</script>"
SAYS = {"larger_is_more_similar": False, "symmetric": True, "reference": "none"}


@rs.measure(label="Mine", family="statistic", range=(0, np.inf), **SAYS)
def mine(x, y):
    """Difference of the norms."""
    return abs(float(np.linalg.norm(x.array)) - float(np.linalg.norm(y.array)))


@rs.measure(label=HOSTILE, family="statistic", range=(0, np.inf), **SAYS)
def seldom(x, y):
    """No value but for pairs with the first model."""
    if "seed0" not in x.name + y.name:
        raise Undefined(f"no value for {HOSTILE} & others")
    return abs(float(x.array.sum()) - float(y.array.sum()))


MEASURES = [rs.get_measure("cka"), rs.get_measure("procrustes"), mine]


def models(
    domain, architecture, pooling, settings, *, dead=None, name="{setting}-{strength:g}/seed{seed}"
):
    """Small subjects: ``settings`` is a list of (setting, strength, how many)."""
    g = np.random.default_rng(len(domain + architecture + pooling))
    base, found = g.normal(size=(20, 4)), []
    for setting, strength, count in settings:
        shift = 3 * strength * g.normal(size=base.shape)
        for seed in range(count):
            last = (
                np.ones_like(base)
                if (setting, seed) == dead
                else base + shift + 0.3 * g.normal(size=base.shape)
            )
            layers = {f"l{k}": base + k * g.normal(size=base.shape) for k in (3, 2, 1)} | {
                "last": last
            }
            traits = {
                "domain": domain, "dataset": "toy", "architecture": architecture,
                "pooling": pooling,
                "setting": setting, "strength": strength, "seed": seed,
                "accuracy": 0.9 - 0.3 * strength - 0.01 * seed,
            }  # fmt: skip
            traits["accuracies"] = {"test": traits["accuracy"]}
            title = f"{domain}/toy/{architecture}/" + name.format(**traits)
            layers = {k: rs.Representation(v, f"{title}/{k}") for k, v in layers.items()}
            found.append(Subject(title, layers, last[:, :3] + 0.1 * g.normal(size=(20, 3)), traits))
    return found


@pytest.fixture(scope="module")
def result():
    """Two domains, two poolings, a failure, absent tests, a measure of the user."""
    settings = [("normal", 0.0, 4), ("labels", 0.5, 3), ("labels", 1.0, 3)]
    subjects = models("graphs", "sage", "node", settings, dead=("normal", 1))
    for pooling in ("cls", "mean"):
        subjects += models("language", "bert", pooling, [("normal", 0.0, 4)])
    return evaluate(subjects, measures=MEASURES)


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    return written(result, tmp_path_factory.mktemp("page"))


def made_up(values, *, failed=(), test="accuracy", quality="spearman_accuracy", **parts):
    """A result with these scores: by measure, one value per architecture, all in one domain."""
    infos = tuple(
        info_of(m)._replace(spec=s, label=s) for m, s in zip([MEASURES[0]] * len(values), values)
    )
    scores = [
        Score(
            test,
            quality,
            "vision",
            "toy",
            f"net{i}",
            "mean",
            spec,
            spec,
            value,
            (value,),
            0.03,
            6,
            int((spec, i) in failed),
            "2 comparisons failed" if (spec, i) in failed else None,
        )
        for spec, own in values.items()
        for i, value in enumerate(own)
    ]
    empty = {"groups": (), "absent": (), "maps": (), "failed": (), "seconds": {}, "provenance": {}}
    options = {"protocol": "paper", "permute": "models", "failures": "last"}
    return ResiResult(**{**options, "measures": infos, "scores": tuple(scores), **empty, **parts})


def printed(*parts):
    target = io.StringIO()
    show(parts, target)
    return target.getvalue()


def written(result, folder, **options):
    write_resi_page(result, folder / "resi.html", **options)
    return (folder / "resi.html").read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------- ranks


def test_measures_are_called_by_label_and_those_of_a_user_stand_out(result):
    names = resi_data.names_of(result)
    assert names["cka"] == ("cka", "CKA", False)
    assert names["mine"] == ("mine", "Mine", True)
    twins = evaluate([], measures=["cka", "cka[estimator=debiased]"])
    assert [n.text for n in resi_data.names_of(twins).values()] == [
        "cka",
        "cka[estimator=debiased]",
    ]
    assert [n.is_added for n in resi_data.names_of(twins).values()] == [False, True]


def test_headline_counts_models_and_every_comparison_once(result):
    found = resi_data.headline(result)
    assert found.models == 10 + 4
    assert (found.measures, found.cells) == (3, len(result.ranks()))
    graphs = (
        9 * 8 // 2 + 3
    ) + 4 * 6  # three groups of three, the fourth normal model with three, layers
    language = 2 * (6 + 4 * 6)  # two poolings
    assert found.comparisons == 3 * (graphs + language)


def test_standings_are_those_of_the_ranking(result):
    rows = {row.name.spec: row for row in resi_data.standings(result)}
    found = {p.measure: p for p in places({"resi": result.ranks()}).rows}
    for expected in ranking(result.ranks()):
        row, place = rows[expected.measure], found[expected.measure]
        assert (row.mean, row.median, row.cells) == (
            expected.mean,
            expected.median,
            len(expected.ranks),
        )
        assert (row.low, row.high, row.is_tied) == (place.low, place.high, place.is_tied)
        assert row.behind == (place.behind_low, place.behind_high)
    for domain in ("graphs", "language"):
        for expected in ranking(result.ranks(), domain):
            assert rows[expected.measure].by_domain[domain] == expected.mean
    means = [row.mean for row in resi_data.standings(result)]
    assert means == sorted(means)


def test_a_measure_without_a_rank_stands_last():
    found = made_up({"a": [0.1, 0.2], "b": [np.nan, np.nan]}, failures="unranked")
    assert [(r.name.spec, r.mean, r.cells) for r in resi_data.standings(found)] == [
        ("a", 1.0, 2),
        ("b", None, 0),
    ]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "No measure has a rank"),
        ({"a": [0.5]}, "the only measure with a rank"),
        ({"a": [0.5], "b": [0.1]}, "1 cell does not settle the order of 2 measures"),
        (
            {"a": [0.5] * 5, "b": [0.1] * 5},
            "5 cells do not settle the order of 2 measures: with fewer than 6, even",
        ),
        (
            {"a": [0.5] * 9, "b": [0.1] * 9, "c": [0.0] * 9},
            "a leads with a mean rank of 1.00 among 3 measures over 9 cells; every other measure "
            "is behind it, the next being b 2.00.",
        ),
        (
            {"a": [0.5, 0.1, 0.5] * 4, "b": [0.1, 0.5, 0.1] * 4, "c": [0.0] * 12},
            "a leads with a mean rank of 1.33 among 3 measures over 12 cells; b cannot be told "
            "from it.",
        ),
        ({"a": [0.5, 0.1, 0.5] * 2, "b": [0.1, 0.5, 0.1] * 2}, "6 cells; b cannot be told from it"),
        (
            {"a": [0.5] * 6, "b": [0.5] * 6, "c": [0.1] * 6},
            "a and b lead together with a mean rank of 1.00",
        ),
    ],
)
def test_the_verdict_claims_no_more_than_the_differences_allow(values, words):
    assert words in resi_data.verdict(made_up(values))


def test_intervals_that_overlap_do_not_make_a_tie():
    """In every cell b is just behind a, and both vary much from cell to cell: only the difference
    is sure."""
    others = {key: [0.9, 0.1, 0.1] * 4 for key in "cde"}
    found = made_up({"a": [0.5] * 12, "b": [0.4] * 12, **others})
    rows = {row.name.spec: row for row in resi_data.standings(found)}
    assert rows["a"].high > rows["b"].low
    assert [spec for spec, row in rows.items() if row.is_tied and spec in "ab"] == ["a"]
    assert rows["b"].behind == (1.0, 1.0)
    assert "b" not in resi_data.verdict(found).partition("; ")[2].split()


def test_few_cells_and_trials_have_no_intervals(tmp_path):
    few = made_up({"a": [0.5] * 4, "b": [0.1] * 4})
    trial = made_up({"b": [0.1] * 9, "a": [0.5] * 9}, suite="slice")
    for found in (few, trial):
        assert {
            (row.low, row.high, row.behind, row.is_tied) for row in resi_data.standings(found)
        } == {(None, None, None, False)}
        assert resi_data.before(found) == {}
        assert "95 %" not in printed(resi_terminal.ranking_table(found))
    assert [row.name.spec for row in resi_data.standings(trial)] == [
        "b",
        "a",
    ]  # as they were given, in no order
    assert [box.name.spec for box in resi_data.boxes(trial, trial.scores[0].domain)] == ["b", "a"]
    assert not any(e.is_best for _, entries in resi_cells.score_table(trial).rows for e in entries)
    page = written(trial, tmp_path)
    assert "Trial run: the scores mean nothing." in page
    assert "leads" not in page
    assert 'id="verdict"' not in page
    assert 'id="duels"' not in page


def test_the_page_and_the_terminal_say_what_was_evaluated(result, tmp_path):
    whole = replace(result, suite="mini", left_out={"odd": "no traits.json beside its arrays"})
    page, lines = written(whole, tmp_path), resi_terminal.headline_lines(whole)
    for words in (
        "mini: small stand-in models; not the paper",
        "14: sage, bert",
        "Left out: odd (no traits.json",
    ):
        assert words in page
        assert words in "\n".join(lines)
    assert resi_data.remarks(result)[0].startswith(
        "Few models: at most 9 are compared with each other"
    )
    assert resi_data.facts(result)["suite"] == "models of your own"
    assert resi_data.remarks(replace(result, suite="mini")) == ()


def test_boxes_have_quartiles_and_whiskers():
    own = {
        "a": [0.9] * 8 + [0.1],
        "b": [0.5] * 9,
        "c": [0.2] * 9,
    }  # a: eight times first, once third
    (a, b, c) = resi_data.boxes(made_up(own), "vision")
    assert a[1:7] == (1.0, pytest.approx(11 / 9), 1.0, 1.0, 1.0, 1.0)
    assert sorted(a.ranks) == [1.0] * 8 + [3.0]
    assert (b.median, c.median) == (2.0, 3.0)
    assert resi_data.boxes(made_up(own), "elsewhere") == ()


def test_wins_count_cells():
    found = resi_data.wins(made_up({"a": [0.9, 0.1, 0.3], "b": [0.5, 0.5, 0.3]}))
    assert found["a", "b"] == (1, 1, 3)


# ------------------------------------------------------------------------------------------- scores


def test_the_table_has_every_score_and_a_reason_for_every_empty_cell(result):
    table = resi_cells.score_table(result)
    scores = {(*s.cell, s.measure): s for s in result.scores}
    found = 0
    for name, entries in table.rows:
        for column, entry in zip(table.columns, entries, strict=True):
            score = scores.get((column.test, column.quality, *column.family, name.spec))
            if entry.value is None:
                assert table.notes[entry.mark] == entry.reason
                assert entry.reason
                assert score is None or np.isnan(score.value)
            else:
                found += 1
                assert entry.value == score.value
                assert bool(entry.reason) == bool(score.failed)
    assert found == sum(np.isfinite(s.value) for s in result.scores)
    assert "no models of the setting 'shortcut'" in table.notes.values()
    assert table.is_partial


def test_columns_shown_at_first_are_one_per_test_and_domain(result):
    shown = [c for c in resi_cells.score_table(result).columns if c.is_shown]
    assert [(c.test, c.family.domain, c.family.pooling) for c in shown[:3]] == [
        ("accuracy", "graphs", "node"),
        ("accuracy", "language", "cls"),
        ("output", "graphs", "node"),
    ]
    assert len(shown) == 6 * 2
    assert {c.quality for c in shown} == {"spearman_accuracy", "spearman_jsd", "auprc", "spearman"}


def test_the_best_of_a_column_is_complete_unless_failures_do_not_count():
    values = {"a": [0.9, 0.3], "b": [0.5, 0.3 - 1e-16], "c": [np.nan, 0.1]}
    for failures, best in (
        ("last", {("b", 0), ("a", 1), ("b", 1)}),
        ("unranked", {("a", 0), ("a", 1), ("b", 1)}),
    ):
        table = resi_cells.score_table(made_up(values, failed={("a", 0)}, failures=failures))
        marked = {
            (n.spec, i) for n, entries in table.rows for i, e in enumerate(entries) if e.is_best
        }
        assert marked == best
    entry = {n.spec: e for n, e in table.rows}["a"][0]
    assert (entry.value, entry.stars, entry.mark, entry.reason) == (
        0.9,
        "*",
        "†",
        "2 comparisons failed",
    )


def test_empty_cells_share_a_letter_when_they_share_a_reason():
    reason = Failed("b", "accuracy", "vision", "toy", "net0", "mean", 3, "all rows are equal")
    found = made_up({"a": [np.nan, 0.1], "b": [np.nan, 0.2]}, failed={("b", 0)}, failures="last")
    table = resi_cells.score_table(ResiResult(**{**vars(found), "failed": (reason,)}))
    marks = {n.spec: e[0].mark for n, e in table.rows}
    assert {table.notes[marks["a"]], table.notes[marks["b"]]} == {"no value", "all rows are equal"}
    assert [resi_cells._letter(i) for i in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


def test_exhibits_are_differences_with_short_labels(result):
    found = {(e.test, e.family.pooling): e for e in resi_cells.exhibits(result)}
    (part,) = found["labels", "node"].parts
    (given,) = [m for m in result.maps if (m.test, m.domain) == ("labels", "graphs")]
    assert np.array_equal(part.measured["cka"], 1 - np.array(given.values["cka"]), equal_nan=True)
    assert np.array_equal(part.measured["mine"], np.array(given.values["mine"]))
    assert part.labels[0] == "normal-0/seed0"
    assert part.expected["auprc"][0, 0] == 0
    layers = found["layers", "cls"]
    assert [p.title for p in layers.parts] == [f"normal-0/seed{i}" for i in range(4)]
    assert layers.parts[0].labels == ("l3", "l2", "l1", "last")
    assert layers.parts[0].expected["spearman"].tolist()[0] == [0, 1, 2, 3]


def test_an_example_is_the_measure_that_does_best(result):
    exhibit = next(e for e in resi_cells.exhibits(result) if e.test == "accuracy")
    part, quality, measure = resi_cells.example(exhibit)
    known = part.scores["spearman_accuracy"]
    assert quality == "spearman_accuracy"
    assert known[measure] == max(known.values())


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
    assert resi_data.common_start(names) == start


def test_matrices_are_packed_without_loss_of_four_digits(result):
    data = resi_page.matrices(resi_cells.exhibits(result), ["cka", "procrustes", "mine"])
    exhibits = resi_cells.exhibits(result)
    for case, exhibit in zip(data["cases"], exhibits, strict=True):
        for given, part in zip(case["parts"], exhibit.parts, strict=True):
            upper = part.measured["cka"][np.triu_indices(len(part.labels))]
            packed = np.array(data["values"][given["values"]]["0"], float)
            assert np.allclose(packed, upper, rtol=1e-3, atol=1e-12, equal_nan=True)
    places = {(c["test"], c["family"]): c["parts"][0]["values"] for c in data["cases"]}
    family = "language · toy · bert · cls"
    assert (
        places["accuracy", family] == places["output", family]
    )  # what was measured twice is there once
    assert json.loads(json.dumps(data, allow_nan=False)) is not None


def test_an_asymmetric_matrix_is_packed_whole():
    assert resi_page._packed(np.array([[0, 1], [2.00001, np.nan]])) == [0, 1, 2, None]
    assert resi_page._packed(np.array([[0, 0.12345], [0.12345, 0]])) == [0, 0.1235, 0]


# ------------------------------------------------------------------ groups, failures, times, claims


def test_groups_become_panels_and_poolings_with_accuracies_of_their_own_more():
    def group(name, value, criterion="clean"):
        return Group("labels", "vision", "toy", "net", name, 0.5, (value,), criterion, True, "")

    found = made_up(
        {}, groups=(group("normal", 1), group("50%", 0.5), group("normal", 0.9), group("50%", 0.4))
    )
    assert [[g.accuracies[0] for g in p.groups] for p in resi_data.panels(found)] == [
        [1, 0.5],
        [0.9, 0.4],
    ]


def test_failures_are_grouped_by_measure_and_reason():
    def failed(measure, test, count, reason="r"):
        return Failed(measure, test, "vision", "toy", "net", "mean", count, reason)

    some = (
        failed("a", "accuracy", 2),
        failed("a", "output", 3),
        failed("a", "layers", 1, "s"),
        failed("b", "labels", 9),
    )
    rows = resi_data.failure_rows(
        ResiResult(**{**vars(made_up({"a": [1.0], "b": [1.0]})), "failed": some})
    )
    assert [(r.name.spec, r.reason, r.comparisons) for r in rows] == [
        ("b", "r", 9),
        ("a", "r", 5),
        ("a", "s", 1),
    ]
    assert rows[1].places == (
        "vision · toy · net · mean: Accuracy correlation, Output correlation",
    )


def test_times_are_milliseconds_and_the_fastest_comes_first():
    found = made_up(
        {"a": [1.0], "b": [1.0]},
        seconds={"vision": {"a": 0.002, "b": 0.001}, "graphs": {"a": 0.004}},
    )
    assert [(n.spec, t) for n, t in resi_data.times(found)] == [
        ("b", {"vision": 1.0}),
        ("a", {"vision": 2.0, "graphs": 4.0}),
    ]


def test_only_measures_of_the_catalogue_have_claims(result):
    found = {c.name.spec: c for c in resi_data.claims(result)}
    assert found["cka"].found == rs.get_measure("cka")
    assert found["mine"].found is None
    namesake = made_up({"cka": [1.0]})  # its label is not that of the catalogue
    assert resi_data.claims(namesake)[0].found is None


# ------------------------------------------------------------------------------------------ figures


def test_ticks_are_round():
    assert resi_figures.ticks(0.31, 0.93) == [0.4, 0.6, 0.8]
    assert resi_figures.ticks(1, 24) == [5, 10, 15, 20]
    assert resi_figures.ticks(0.5, 0.5) == [0.5]


def test_alike_is_the_last_colour_and_nothing_has_none():
    values = np.array([[0, 0.2, np.nan], [0.2, 0, 0.6], [np.nan, 0.6, 0]])
    last = resi_figures.LEVELS - 1
    assert resi_figures.limits(values) == (0.2, 0.6)
    assert resi_figures.levels(values).tolist() == [
        [last, last, -1],
        [last, last, 0],
        [-1, 0, last],
    ]
    assert resi_figures.levels(np.zeros((2, 2))).tolist() == [[last, last]] * 2
    assert resi_figures.limits(np.array([[1.0]])) == (0.0, 1.0)


def test_figures_escape_names():
    name = resi_data.Name("s", HOSTILE, True)
    box = resi_data.Box(name, 1, 1, 1, 1, 1, 1, (1.0,))
    svg = resi_figures.boxes([box], 3, HOSTILE) + resi_figures.matrix(
        [HOSTILE], np.zeros((1, 1)), HOSTILE
    )
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


def test_labels_of_a_crowded_scatter_do_not_overlap():
    rows = [RankRow(label, 5.0, 5.0 + i / 1000, 1, 1) for i, label in enumerate("abc")]
    svg = resi_figures.scatter(rows)
    assert svg.count("<circle") == 3
    assert [label for label in "abc" if f">{label}</text>" in svg] == ["a"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.126, "0.13"),
        (-0.126, "−0.13"),
        (-0.001, "0.00"),
        (None, "–"),
        (12345.6, "12\u202f345.60"),
    ],
)
def test_two_decimals(value, text):
    assert resi_page.two(value) == text


# --------------------------------------------------------------------------------------------- page


class Page(HTMLParser):
    """The tags of a page, and its tables by id: rows of (text, attributes) of their cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.rows, self.cell = [], {}, None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        if tag == "table":
            self.rows = self.tables.setdefault(found.get("id"), [])
        elif tag == "tr" and self.rows is not None:
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.cell = ["", found]
            self.rows[-1].append(self.cell)

    def handle_endtag(self, tag):
        self.cell = None if tag in ("td", "th") else self.cell
        self.rows = None if tag == "table" else self.rows

    def handle_data(self, data):
        if self.cell is not None:
            self.cell[0] += data


def test_numbers_on_the_page_are_the_scores(result, page):
    head, columns, *rows = Page(page).tables["scores"]
    scores = {(*s.cell, s.measure): s for s in result.scores}
    qualities = {(t, w): q for t, known in resi_cells.QUALITIES.items() for q, w in known.items()}
    seen = 0
    for (_, naming), *cells in rows:
        for (_, about), (text, attributes) in zip(columns, cells, strict=True):
            quality = qualities[about["data-test"], about["data-word"]]
            assert quality == about["data-quality"]
            family = about["data-family"].split(" · ")
            score = scores.get(
                (about["data-test"], quality, *family, naming["title"].split(":")[0])
            )
            if attributes["data-v"] == "":
                assert attributes["title"]
                assert text.startswith("–")
            else:
                assert float(attributes["data-v"]) == score.value
                assert text.startswith(resi_page.two(score.value))
                seen += 1
    assert seen == sum(np.isfinite(s.value) for s in result.scores)
    assert head[0][0] == "measure"


def test_ranks_on_the_page_are_those_of_the_result(result, page):
    rows = Page(page).tables["ranking"][1:]
    found = {row[0][1]["title"].split(":")[0]: float(row[1][1]["data-v"]) for row in rows}
    assert found == {r.measure: r.mean for r in ranking(result.ranks())}
    times = {row[0][1]["title"].split(":")[0]: row[1:] for row in Page(page).tables["seconds"][1:]}
    assert float(times["cka"][0][1]["data-v"]) == 1000 * result.seconds["graphs"]["cka"]


def test_the_page_loads_nothing(page):
    assert not re.search(
        r"https?:|//cdn|@import|url\((?!#)", page.replace("http://www.w3.org/2000/svg", "")
    )
    for tag, attributes in Page(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base")
        assert attributes.get("href", "#").startswith("#")
        assert "src" not in attributes


def test_what_is_linked_is_there(page):
    tags = Page(page).tags
    names = {a["id"] for _, a in tags if "id" in a}
    assert {a["href"][1:] for tag, a in tags if tag == "a"} <= names
    assert len([a for _, a in tags if "id" in a]) == len(names)


def test_measures_of_the_user_stand_out(page):
    assert page.count('<span class="chip">added</span>') == page.count(
        'title="mine: not one of the'
    )


def test_names_are_text_and_never_markup(tmp_path):
    subjects = models(
        HOSTILE,
        HOSTILE,
        HOSTILE,
        [("normal", 0.0, 3), ("labels", 1.0, 2)],
        name=HOSTILE + "{setting}-seed{seed}",
    )
    found = evaluate(subjects, measures=["cka", seldom])
    text = written(found, tmp_path, title=HOSTILE)
    assert text.count("<script") == 2  # the data and the program of the page
    assert text.count("</script") == 2
    data = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    )
    assert data["measures"][1][0] == HOSTILE
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_a_page_without_failures_and_absent_tests(tmp_path):
    text = written(made_up({"a": [0.5, 0.2], "b": [0.1, 0.3]}), tmp_path)
    assert "Every comparison has a value." in text
    assert "Tests that could not be made" not in text
    assert 'class="footnotes"' not in text


@pytest.mark.parametrize(
    "found",
    [
        made_up({}),
        made_up({"a": [0.5]}),
        made_up({"a": [0.5, 0.4]}),
        made_up({"a": [0.5], "b": [np.nan]}),
        made_up({"a": [np.nan, np.nan], "b": [np.nan, np.nan]}),
        made_up({"a": [0.5], "b": [np.nan]}, failures="unranked"),
        made_up({"a": [0.5, 0.4], "b": [0.2, 0.6]}, protocol="resi-code"),
        made_up(
            {"a": [0.5]},
            groups=(Group("labels", "v", "d", "a", "50%", 0.5, (), "none", True, "unknown"),),
        ),
        made_up(
            {"a": [0.5]},
            absent=(Absence("layers", "v", "d", "a", "p", "no model with at least 3 layers"),),
        ),
    ],
    ids=[
        "nothing",
        "one cell",
        "one measure",
        "one value",
        "no value",
        "unranked",
        "code",
        "unchecked",
        "absent",
    ],
)
def test_pages_of_odd_results(found, tmp_path):
    page = Page(written(found, tmp_path))
    assert len(page.tables["ranking"]) == 1 + len(found.measures)
    assert all(
        a["title"] for row in page.tables["scores"][2:] for _, a in row if a.get("data-v") == ""
    )


def test_published_ranks_stand_beside_ours(tmp_path):
    found, rows = (
        made_up({"a": [0.5, 0.2]}),
        [RankRow("A", 1.5, 2.25, 1, 2), RankRow("B", 2.5, 1.25, 2, 1)],
    )
    assert 'id="published"' not in written(found, tmp_path)
    assert 'id="published"' not in written(found, tmp_path, published=[])
    table = Page(written(found, tmp_path, published=rows)).tables["ours"]
    assert [cell[0] for cell in table[1]] == ["A", "1.50", "2.25", "1", "2"]


def test_equal_results_are_equal_pages_and_nothing_else_is_left(result, page, tmp_path):
    assert written(result, tmp_path) == page
    assert [p.name for p in tmp_path.iterdir()] == ["resi.html"]


def test_jinja_that_is_missing_names_the_extra(result, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install .*\[report\]"'):
        written(result, tmp_path)


# ------------------------------------------------------------------------------------------ browser


def first_column(dom, table):
    rows = filter(None, Page(dom).tables[table])
    return [row[0][1]["title"].split(":")[0] for row in rows if row[0][1].get("scope") == "row"]


def test_the_page_in_a_browser(result, open_page, tmp_path):
    write_resi_page(result, tmp_path / "resi.html")
    dom = open_page(tmp_path / "resi.html", "#sort=ranking:1:descending")
    tags = Page(dom).tags
    assert "data-errors" not in tags[0][1]
    assert tags[0][1]["data-ready"] == "yes"
    best_first = [row.name.spec for row in resi_data.standings(result)]
    assert first_column(dom, "ranking") == best_first[::-1]
    (sorted_by,) = [a for tag, a in tags if tag == "th" and "aria-sort" in a]
    assert (sorted_by["aria-sort"], sorted_by["data-col"]) == ("descending", "1")
    assert (
        len([tag for tag, a in tags if a.get("class") == "chart matrix" and "tabindex" in a]) == 2
    )
    assert [a for tag, a in tags if tag == "div" and a.get("id") == "maps" and "hidden" not in a]


def test_every_choice_can_be_made(result, page, open_page, tmp_path):
    """Choose every option of every list, then read a cell: the last choice is what is shown."""
    choose = """<script>
    for (const list of document.querySelectorAll("select"))
      for (let i = 0; i < list.options.length; i++) {
      list.selectedIndex = i; list.dispatchEvent(new Event("change")); }
    const map = document.querySelector("#maps svg");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"])
      map.dispatchEvent(new KeyboardEvent("keydown", { key }));
    </script>"""
    (tmp_path / "resi.html").write_text(
        page.replace("</body>", choose + "</body>"), encoding="utf-8"
    )
    dom = open_page(tmp_path / "resi.html")
    tags = Page(dom).tags
    assert (tags[0][1].get("data-ready"), tags[0][1].get("data-errors")) == ("yes", None)
    shown = {
        (a["data-quality"], a["data-family"])
        for _, a in tags
        if "data-quality" in a and "hidden" not in a
    }
    assert {quality for quality, _ in shown} == {
        "spearman_accuracy",
        "spearman_disagreement",
        "conformity",
    }
    assert len({family for _, family in shown}) == 3  # "all" is the last choice for language
    exhibit = resi_cells.exhibits(result)[-1]
    part = exhibit.parts[-1]
    found = re.search(
        r'id="maps-readout"[^>]*><b>(.*?)</b>: expected (.*?), measured by (.*?)</p>', dom
    )
    last = resi_data.standings(result)[-1].name
    value = f"{last.text} {float(f'{part.measured[last.spec][2, 1]:.3g}'):g}"
    assert found.groups() == (f"{part.labels[2]} and {part.labels[1]}", "1", value)


def test_a_hostile_page_in_a_browser_runs_nothing_else(open_page, tmp_path):
    subjects = models(HOSTILE, HOSTILE, HOSTILE, [("normal", 0.0, 3)], name=HOSTILE + "seed{seed}")
    write_resi_page(
        evaluate(subjects, measures=["cka", seldom]), tmp_path / "resi.html", title=HOSTILE
    )
    dom = open_page(tmp_path / "resi.html")
    tags = Page(dom).tags
    assert (tags[0][1].get("data-ready"), tags[0][1].get("data-errors")) == ("yes", None)
    assert [tag for tag, _ in tags].count("script") == 2


@pytest.mark.parametrize(
    ("values", "fragment", "order"),
    [
        ({}, "", []),
        ({"a": [0.2], "b": [np.nan], "c": [-0.5]}, "#sort=scores:1", ["c", "a", "b"]),
        ({"a": [0.2], "b": [np.nan], "c": [-0.5]}, "#sort=scores:1:descending", ["a", "c", "b"]),
    ],
)
def test_sorting_puts_what_has_no_value_last(values, fragment, order, open_page, tmp_path):
    write_resi_page(made_up(values), tmp_path / "resi.html")
    dom = open_page(tmp_path / "resi.html", fragment)
    root = Page(dom).tags[0][1]
    assert (root.get("data-ready"), root.get("data-errors")) == ("yes", None)
    assert first_column(dom, "scores") == order


def test_what_the_pointer_reads(result, tmp_path, look):
    rows = [RankRow("A", 1.5, 2.25, 1, 2), RankRow("B", 2.5, 1.25, 2, 1)]
    write_resi_page(result, tmp_path / "resi.html", published=rows)
    marks = {
        "#ranking .interval circle": r"\S+: mean rank [\d.]+, 95 % interval [\d.]+ to [\d.]+",
        "#distribution path.median": r"\S+: median rank [\d.]+, mean [\d.]+, \d+ cells?",
        "#distribution circle.point": r"\S+: rank [\d.]+ in .+ correlation.*, "
        r"graphs · toy · sage · node",
        "#maps svg path": r".+ and .+: expected [\d.]+, measured by \S+ .+",
        "#groups circle.dot": r".+: accuracy 0\.\d{3}.*",
        "#duels rect": r"\S+ before \S+ in \d+% of the samples of the cells; "
        r"ranked before it in \d+ of \d+ cells \(\d+ tied\)",
        "#published circle.dot": "A: mean rank 1.50 here, 2.25 published",
    }
    seen = look(tmp_path / "resi.html", tmp_path, list(marks))
    for (mark, expected), said in zip(marks.items(), seen.said, strict=True):
        assert re.fullmatch(expected, said), (mark, said)
    assert seen.hidden == []


def test_no_row_of_a_long_table_is_out_of_sight(tmp_path, look):
    write_resi_page(made_up({f"m{i}": [0.1 * i] for i in range(60)}), tmp_path / "resi.html")
    assert look(tmp_path / "resi.html", tmp_path).hidden == []


def test_every_point_of_a_box_says_its_measure_test_and_models(result):
    for box in resi_data.boxes(result, "language"):
        ranks = {
            cell: own[box.name.spec]
            for cell, own in result.ranks().items()
            if cell[2] == "language"
        }
        assert list(box.ranks) == list(ranks.values())
        assert len(set(box.cells)) == len(box.cells) == len(ranks)
        assert all(cell[4] in text and cell[5] in text for cell, text in zip(ranks, box.cells))


def test_the_page_is_no_wider_than_a_phone(page, tmp_path, look):
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert look(tmp_path / "page.html", tmp_path, width=390).wide <= 390


def test_labels_are_spelled_out(result, page):
    assert "<dt>OrthProc</dt><dd>Orthogonal Procrustes distance" in page
    assert f'title="procrustes: {rs.get_measure("procrustes").summary[:20]}' in page


def test_matrices_show_the_numbers_of_their_colours():
    values = np.array([[0, 0.2, 0.4], [0.2, 0, 0.6], [0.4, 0.6, 0]])
    svg = resi_figures.matrix(["a", "b", "c"], values, "differences")
    assert [number for number in ("0.2", "0.4", "0.6") if f">{number}</text>" in svg] == [
        "0.2",
        "0.4",
        "0.6",
    ]


def test_what_a_notebook_shows(result):
    text = repr(result)
    assert len(text) < 1000
    assert text == (
        "<Result of ReSi: protocol paper, measures 3, scores "
        f"{len(result.scores)}, domains graphs and language, failed comparisons "
        f"{sum(f.comparisons for f in result.failed)}>"
    )
    assert "<td style='text-align:left'>graphs and language</td>" in result._repr_html_()


def test_a_subject_is_printed_as_what_it_is():
    (found,) = models("vision", "net", "mean", [("normal", 0.0, 1)])
    assert "4: l3 (4), l2 (4), l1 (4), last (4); known: outputs; traits: domain vision" in repr(
        found
    )
    deep = {f"<layer{i}>": np.random.default_rng(i).normal(size=(500, 64)) for i in range(200)}
    large = Subject(
        "deep", {k: rs.Representation(v, k) for k, v in deep.items()}, traits={"note": "x" * 9999}
    )
    assert len(repr(large)) < 1000
    assert "200: <layer0> (64)" in repr(large)
    assert "..., <layer199> (64)" in repr(large)
    assert "&lt;layer0&gt;" in large._repr_html_()
