"""The presentation of evidence: its text, its maps in a notebook, its page and its files."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from factories.evidence import N, arrays, compared, made_evidence
from factories.output import emitted

import resemblance as rs
from resemblance.inference.nulls import PAIRING_INDEPENDENT
from resemblance.report import write_page
from resemblance.report.comparing.tables import failures_table
from resemblance.report.evidence_words import (
    ALPHA,
    PairResult,
    describe_null_hypothesis,
    describe_pair_result,
    describe_significance,
    design_facts,
    design_line,
    format_evidence_scores,
    measure_results,
)
from resemblance.report.of_comparison import result_from_evidence
from resemblance.report.output import write_output

LABELS = [i % 10 for i in range(N)]
MEASURES = ("cka", "procrustes", "mutual_knn")


@pytest.fixture(scope="module")
def square():
    """A, B and C are related, D, E and F are not; CKA has exact moments."""
    comparison = compared(arrays("ABCDEF", related=3), measures=MEASURES)
    return made_evidence(comparison, within=LABELS, exact=("cka",))


@pytest.fixture(scope="module")
def pair():
    two = arrays("AB")
    comparison = compared({"A": two["A"]}, {"B": two["B"]}, measures=MEASURES)
    return made_evidence(comparison, within=LABELS, exact=("cka",))


@pytest.fixture(scope="module")
def failing():
    three = arrays("ABC") | {"flat": np.ones((N, 3))}
    return made_evidence(compared(three, measures=("cka",)))


def spoken(evidence):
    return describe_significance(evidence, measure_results(evidence))


# -------------------------------------------------------------------------------------------- words


def test_the_pointer_reads_everything_about_a_pair(square):
    cka, procrustes, _ = measure_results(square)
    one = cka.cells[0][1]
    numbers = [f"{number:.2f}" for number in (one.value, one.low, one.high, one.chance, one.above)]
    words = describe_pair_result(one)
    assert re.findall(r"[\d.]+\d(?= |,|\))", words.partition(", p")[0] + " ") == numbers
    assert words.endswith("p < 1e-4, exact moments")
    orders = describe_pair_result(procrustes.cells[0][1])
    assert orders.endswith("p = 0.01, 99 permutations within 10 groups")
    assert "not tested against itself" in describe_pair_result(cka.cells[0][0])


def test_a_pair_without_a_value_or_without_chance_says_so(failing, square):
    flat = measure_results(failing)[0].cells[0][3]
    assert describe_pair_result(flat) == f"no value: {flat.reason}"
    assert "constant" in flat.reason
    one = measure_results(square)[0].cells[0][1]._replace(low=np.nan, chance=np.nan, above=np.nan)
    unknown = one._replace(pvalue=np.nan, how="")
    assert describe_pair_result(unknown) == f"{one.value:.2f}, chance unknown"
    fixed = one._replace(chance=one.value, pvalue=1.0, how=PAIRING_INDEPENDENT)
    words = f"{one.value:.2f}, chance {one.value:.2f}, {PAIRING_INDEPENDENT}"
    assert describe_pair_result(fixed) == words


def test_sentences_say_how_many_pairs_are_beyond_chance(square, pair, failing):
    first, *each = spoken(square)
    assert re.match(
        r"\d+ of 15 pairs are significantly above chance with at least one of 3 measures, 3 with",
        first,
    )
    beyond = (square.pvalue("cka", adjust="familywise") <= ALPHA).sum() // 2
    best = square.best("cka")
    assert each[0].startswith(f"CKA: {beyond} of 15, furthest {best.x} and {best.y}: ")
    assert spoken(pair)[0] == "A and B are significantly above chance with 2 of 3 measures."
    assert spoken(failing)[0].startswith(
        "All 3 pairs are significantly above chance with CKA; furthest are "
    )
    two = arrays("AB", related=2) | {"flat": np.ones((N, 3))}
    for measures in (["cka"], ["cka", "procrustes"]):
        first, *_ = spoken(made_evidence(compared(two, measures=measures)))
        assert first.startswith("A and B, the only pair that could be tested, are significantly")
    directed = made_evidence(compared(arrays("ABC"), measures=("cka", "pwcca")))
    assert " of 6, " in spoken(directed)[2]  # each direction is a test of its measure
    flat = {"a": np.ones((N, 3)), "b": np.ones((N, 2))}
    untested = made_evidence(compared(flat, measures=("cka",)))
    assert spoken(untested) == ("No pair could be tested.",)
    assert "constant" in emitted(untested, "table")


def test_a_measure_that_the_pairing_does_not_matter_for_counts_as_no_test():
    evidence = rs.evidence(arrays("ABC"), measures=["cka", "mmd"], n_permutations=9, progress=False)
    assert evidence.null_method("mmd") == PAIRING_INDEPENDENT
    (sentence,) = spoken(evidence)
    assert "significantly above chance with CKA" in sentence
    rows = result_from_evidence(evidence)["beyond"].tables[0].rows
    assert [row[2] == "not tested" for row in rows] == [False, True]
    assert "does not depend on the pairing" in repr(evidence)


def test_the_design_is_said_in_words(subtests):
    comparison, blocks = compared(arrays("AB"), measures=["cka"]), [i // 4 for i in range(N)]
    designs = [
        ({}, "the samples of one representation are permuted."),
        (
            {"within": LABELS},
            "permuted within 10 groups; differences between groups count as chance",
        ),
        ({"whole_blocks": blocks}, "10 blocks of samples of one representation"),
        ({"time_series": True}, "windows of 20 samples that are shifted against each other by"),
    ]
    for options, words in designs:
        with subtests.test(words):
            assert words in describe_null_hypothesis(made_evidence(comparison, **options))


def test_the_facts_of_the_design(square):
    facts = design_facts(square)
    assert facts["smallest possible p"] == "0.01 with permutations, < 1e-4 with exact moments"
    assert facts["adjusted p"] == "Holm (CKA); step-down maxT (OrthProc, MutualKNN)"
    comparison = compared(arrays("AB"), measures=["cka"])
    halves = made_evidence(comparison, kind="halves", confidence_level=0.9, exact=("cka",))
    assert design_line(halves).endswith("90 % intervals: 20 random halves of the samples")
    runs = made_evidence(comparison, kind="groups", time_series=True)
    assert "jackknife over 20 runs in time" in design_line(runs)
    few = {name: x[:8] for name, x in arrays("AB").items()}
    undefined = rs.evidence(few, measures=["jaccard"], n_permutations=9, progress=False)
    reason = "none: jaccard needs at least 11 samples; got 7"
    assert design_facts(undefined)["95 % intervals"] == reason
    constant = made_evidence(compared({"a": np.ones((N, 3)), "b": np.ones((N, 2))}))
    assert design_facts(constant)["95 % intervals"].partition(":")[0] == "none"
    half = {"a": np.ones((N, 3)), **arrays("A")}
    measures = ["cka", "rsa", "procrustes", "gulp"]
    four = rs.evidence(half, measures=measures, n_permutations=9, progress=False)
    assert "  1 further reason: see evidence.failures" in repr(four)


# ------------------------------------------------------------------------------------- result, page


def test_maps_can_be_switched_and_hatch_what_is_not_beyond_chance(square):
    choice, *rest = result_from_evidence(square)["similarity"].figures
    assert choice.selectors == ("measure", "show")
    assert [figure.choices for figure in rest] == [("CKA", "OrthProc", "MutualKNN")] * 2
    for i, info in enumerate(square.measures):
        options = choice.options[2 * i : 2 * i + 2]
        shown = [option.choices for option in options]
        assert shown == [(info.label, "value"), (info.label, "above chance")]
        value, above = choice.maps[2 * i : 2 * i + 2]
        assert np.allclose(np.array(value.values, float), square[info.spec], rtol=0, atol=1e-12)
        shares = np.round(square.above_chance(info.spec), 3)
        assert np.array_equal(np.array(above.values, float), shares, equal_nan=True)
        unsure = np.argwhere(square.pvalue(info.spec, adjust="familywise") > ALPHA)
        assert value.hatched == above.hatched == tuple(map(tuple, unsure.tolist()))
        assert value.titles == above.titles
        assert not above.is_reversed


def test_too_many_values_are_left_to_files(square, monkeypatch):
    monkeypatch.setattr("resemblance.report.comparing.tables.MAX_PAGE_TABLE_ROWS", 44)
    section = result_from_evidence(square)["values"]
    assert not section.tables
    assert section.about.startswith("45 values are too many for a page")


def test_a_measure_without_a_most_similar_value_has_only_values(square):
    info = square.measures[0]._replace(range=(0.0, np.inf))
    changed = replace(square.comparison, measures=(info, *square.measures[1:]))
    evidence = replace(square, comparison=changed)
    assert "above chance" not in describe_pair_result(measure_results(evidence)[0].cells[0][1])
    choice = result_from_evidence(evidence)["similarity"].figures[0]
    names = [option.choices[0] for option in choice.options]
    assert [names.count(info.label) for info in evidence.measures] == [1, 2, 2]
    assert evidence.records()[1]["above_chance"] is None


# ------------------------------------------------------------------------------------------ browser

SWITCH = """<script>addEventListener("load", () => {
  const figure = document.querySelector("figure.linked");
  const svg = () => figure.querySelector(".maps svg");
  const [measure, show] = figure.querySelectorAll("select");
  const take = (select, text) => {
    select.value = [...select.options].find(option => option.text === text).value;
    select.dispatchEvent(new Event("change"));
  };
  const shown = () => [...document.querySelectorAll(".view:not([hidden])")];
  const views = () => shown().map(view => view.dataset.view);
  const told = { before: views() };
  take(measure, "OrthProc");
  take(show, "above chance");
  told.after = views();
  told.hatched = svg().querySelectorAll(".unsure").length;
  svg().dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  told.read = figure.querySelector(".readout").textContent;
  document.body.dataset.told = JSON.stringify(told);
});</script></body>"""


def test_one_selector_changes_all_figures_and_keys_read_cells(square, tmp_path, open_page):
    page = write_page(square, tmp_path / "page.html")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    page.write_text(text.replace("</body>", SWITCH), encoding="utf-8")
    shown = open_page(page)
    assert "data-errors" not in shown
    told = json.loads(re.search(r"data-told='?\"?(\{.*?\})['\"]", _plain(shown))[1])
    assert told["before"] == ["CKA"] * 2
    assert told["after"] == ["OrthProc"] * 2
    assert told["hatched"] > 0
    words = describe_pair_result(measure_results(square)[1].cells[0][1])
    assert told["read"] == f"A  and  B:  {words}"


def _plain(text):
    return text.replace("&quot;", '"').replace("&lt;", "<").replace("&nbsp;", " ")


# -------------------------------------------------------------------------------------------- files


def test_many_pairs_have_a_line_per_measure_in_a_terminal_and_one_per_pair_in_a_file(
    monkeypatch, tmp_path, capsys
):
    """Found with 15 x 15 layers: the file of a paper had one row."""
    monkeypatch.setattr("resemblance.report.terminal.MAX_TABLE_LINES", 44)
    known = rs.evidence(arrays("ABCDEFGHIJK"), measures=["cka"], n_permutations=20, progress=False)
    write_output(known, "table", None)
    shown = capsys.readouterr().out
    assert len([line for line in shown.splitlines() if line.startswith(" cka ")]) == 1
    assert "Every value: --format csv or json, --html FILE" in shown
    for name in ("table.tex", "table.md", "table.txt"):
        known.to_table(tmp_path / name)
        text = (tmp_path / name).read_text()
        assert sum("CKA" in line and "to" in line for line in text.splitlines()) >= 55, name
        assert "--format" not in text
    known.comparison.to_table(tmp_path / "values.tex")
    rows = (tmp_path / "values.tex").read_text().splitlines()
    assert sum(line.endswith(r"\\") for line in rows) == 1 + 55  # a heading, and 11 x 10 / 2


def test_scores_have_the_decimals_that_their_interval_needs(subtests):
    table = {
        (0.9377, 0.9512): ("0.944", "0.938 to 0.951", "0.031", "0.940"),
        (-0.0226, 0.9744): ("0.94", "−0.02 to 0.97", "0.03", "0.94"),
        (math.nan, math.nan): ("0.94", "", "0.03", "0.94"),
    }
    for ends, texts in table.items():
        with subtests.test(str(ends)):
            reading = PairResult("x", "y", 0.9441, *ends, 0.0314, 0.9402, 0.01, 0.01, "")
            assert format_evidence_scores(reading) == texts
            assert format_evidence_scores(reading._replace(value=-1e-4, chance=0.0))[2] == "0"


def test_two_forms_of_one_measure_are_told_apart(tmp_path):
    rng = np.random.default_rng(0)
    x, y, z = rng.standard_normal((3, 30, 4))
    measures = ["cka", "cka[estimator=debiased]", "rsa"]
    evidence = rs.evidence({"x": x, "y": y}, {"z": z}, measures=measures, progress=False)
    labels = ["CKA", "CKA (debiased)", "RSA"]
    assert [line.partition(":")[0] for line in spoken(evidence)[1:]] == labels
    page = write_page(evidence, tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f">{name}</" in page for name in ("CKA", measures[1], "RSA"))


def test_names_of_measures_tell_the_number_of_given_folds_and_no_hash(tmp_path):
    arrays = np.random.default_rng(0).standard_normal((5, 30, 4))
    arrays[4] = 0  # without a value
    rows, regression = np.arange(30), rs.get_measure("linear_regression")
    folds = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    given = folds, folds[:2], folds[1:], folds[:1]
    measures = [regression.with_parameters(held_out=f) for f in given]
    options = {"measures": measures, "n_permutations": 19, "progress": False}
    evidence = rs.evidence(dict(zip("abcde", arrays)), **options)
    comparison = evidence.comparison
    names = [
        f"linear_regression[held_out={words}"
        for words in ("3 given folds]", "2 given folds] (1 of 2)", "2 given folds] (2 of 2)",
                      "1 given fold]")
    ]  # fmt: skip
    page = write_page(evidence, tmp_path / "page.html").read_text(encoding="utf-8")
    for text in (str(evidence), comparison.summary(), page):
        assert all(name in text for name in names)
        assert not re.search(r"\d values [0-9a-f]{8}", text)
    assert [comparison.info(name).spec for name in names] == [m.spec for m in measures]
    assert len({record["label"] for record in comparison.records()}) == len(measures)
    table = failures_table(comparison)
    assert table.rows
    assert "values" not in str(table.rows)
    with pytest.raises(ValueError, match=re.escape(", ".join(names))):
        evidence.plot()
