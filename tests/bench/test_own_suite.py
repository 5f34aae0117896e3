"""The example of a suite of one's own: networks whose weights are rounded."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from resemblance.bench.page import result_of_cases
from resemblance.bench.reliability import is_reliable
from resemblance.report import write_page

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "suite_of_quantisation.py"


@pytest.fixture(scope="module")
def suite():
    spec = importlib.util.spec_from_file_location("suite_of_quantisation", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def networks(suite):
    return suite.networks(range(5))


def test_it_is_one_short_file():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 120


def test_rounding_to_fewer_bits_loses_accuracy(networks):
    accuracy = {bits: np.mean([n.right[bits].mean() for n in networks]) for bits in (32, 8, 2)}
    assert abs(accuracy[32] - accuracy[8]) < 0.02 < accuracy[32] - accuracy[2]


def test_measures_see_the_bits_and_find_the_network(suite, networks):
    cases = suite.cases(networks)
    scores = suite.score(cases, suite.get_measures(["procrustes", "mutual_knn"]))
    by_cell = {(s.test, *s.cell, s.measure): s for s in scores}
    assert len(by_cell) == len(scores) == 2 * len(cases) == 18
    for measure in ("procrustes", "mutual_knn"):
        assert by_cell["bits", "order", measure].value > 0.9
        assert by_cell["identity", "8 bits", measure].value == 1
    harmed = by_cell["accuracy", "2 bits", "procrustes"]
    assert harmed.pairs == len(networks)
    assert -1 <= harmed.value <= 1


def test_only_measured_expectations_have_a_reliability(suite, networks):
    cases = suite.cases(networks)
    assert all(c.reliability is None for c in cases if c.test != "accuracy")
    (few,) = (c for c in cases if c.test == "accuracy" and c.cell == ("2 bits",))
    assert 0.5 < few.reliability <= 1


def test_its_page_ranks_by_what_is_no_noise(suite, networks, tmp_path):
    cases = suite.cases(networks)
    result = result_of_cases("Quantisation", cases, ["procrustes", "mutual_knn"])
    assert result.title == "Quantisation"
    noise = {c.key for c in cases if not is_reliable(c.reliability)}
    assert noise
    ranked = {"/".join(c.key) for c in cases if c.key not in noise}
    assert {cell for _, cell in result.ranks()} == ranked
    (remark,) = result.caveats
    assert all("/".join(key) in remark for key in noise)
    (table,) = result["scores"].tables
    rows = suite.score(cases, suite.get_measures(["procrustes"]))
    scores = {s.key: s.value for s in rows}
    (row,) = (row for row in table.rows if row[0] == "OrthProc")
    assert row[1:] == tuple(scores[case.key] for case in cases)
    write_page(result, tmp_path / "page.html")
    assert "Quantisation" in (tmp_path / "page.html").read_text(encoding="utf-8")
