"""The example of a suite of one's own: networks whose weights are rounded."""

import importlib.util
from functools import partial
from pathlib import Path

import pytest

import resemblance as rs
from resemblance.bench.reliability import is_reliable
from resemblance.checks import check_suite
from resemblance.report import write_page

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "suite_of_quantisation.py"
MEASURES = ("procrustes", "mutual_knn")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("suite_of_quantisation", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def networks(example):
    return [example.train_network(seed) for seed in range(5)]


@pytest.fixture(scope="module")
def suite(example, networks):
    """The suite of the example, on networks that are trained already."""
    return example.QUANTISATION._replace(prepare=lambda run: networks)


def test_measures_see_the_bits_and_find_the_network(example, suite, networks, tmp_path):
    result = rs.bench.run(suite, tmp_path / "study", measures=MEASURES, size="small")
    scores = result["scores"].scores
    for measure in MEASURES:
        assert scores["bits/order"][measure] > 0.9
        assert scores["identity/8 bits"][measure] == 1
        assert -1 <= scores["accuracy/2 bits"][measure] <= 1
    cases = list(example.tasks(networks))
    noise = {c.key for c in cases if not is_reliable(c.reliability)}
    assert noise
    assert {cell for _, cell in result.ranks()} == {
        "/".join(c.key) for c in cases if c.key not in noise
    }
    (remark,) = result.caveats
    assert all("/".join(key) in remark for key in noise)
    write_page(result, tmp_path / "page.html")
    assert result.title in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert rs.load(tmp_path / "study") == result


def test_a_suite_of_ones_own_does_what_all_suites_do(suite):
    outcomes = check_suite(partial(rs.bench.run, suite), measures=MEASURES, size="small")
    assert [o for o in outcomes if not o.holds] == []
