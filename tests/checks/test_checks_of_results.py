"""Every class of results does what all results do: words, tables, a page, figures and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from factories.boards import scores_of
from test_results import FINDINGS

import resemblance as rs
from resemblance.base.results import BaseResult, MappingResult
from resemblance.bench.loading import RESULT_MODULES, load
from resemblance.bench.ranking import board_of
from resemblance.bench.ranking.verdicts import RankedMeasures, verdicts_on_board
from resemblance.checks import check_result

RANDOM = np.random.default_rng(0)
SHARED = RANDOM.standard_normal((60, 6))
LAYERS = {name: SHARED + RANDOM.standard_normal((60, 6)) for name in "abc"}
FLAT = {"flat": np.ones((60, 6))}
OLD, QUERIES = RANDOM.standard_normal((400, 8)), RANDOM.standard_normal((30, 8))
TURN = np.linalg.qr(RANDOM.standard_normal((8, 8)))[0]
PERTURBED = np.repeat(["control", "x", "y"], [30, 25, 5])
BENCHMARK = replace(FINDINGS, caveats=("Few models: at most 3 are compared.",))
CLASSES = LAYERS["a"].argmax(1) // 2
QUIET: dict[str, Any] = {"progress": False}


def compared() -> rs.Comparison:
    return rs.compare({**LAYERS, **FLAT}, measures=["cka", "procrustes"], **QUIET)


def evident() -> rs.Evidence:
    twice = {"twice": np.repeat(SHARED[:30], 2, axis=0)}
    return rs.evidence(
        {**LAYERS, **twice}, measures=["cka", "mutual_knn"], n_permutations=19, **QUIET
    )


def compared_with_evidence() -> rs.Comparison:
    found = rs.evidence(LAYERS, measures=["cka"], **QUIET)
    return replace(found.comparison, evidence=found)


def patched() -> BaseResult:
    nets = [torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)) for _ in range(2)]
    return rs.patch_models(*nets, SHARED.astype("float32"), **QUIET)


def ranked() -> RankedMeasures:
    scores = scores_of()
    return verdicts_on_board(board_of(scores), [rs.cka, rs.procrustes], scores[:2])


RESULTS: dict[str, Callable[[], BaseResult]] = {
    "Comparison": compared,
    "Comparison with evidence": compared_with_evidence,
    "Evidence": evident,
    "ErrorConsistency": lambda: rs.error_consistency(
        {**LAYERS, "right": np.eye(6)[CLASSES], "right too": CLASSES}, CLASSES
    ),
    "ModelScores": lambda: rs.score_models(
        {"m": SHARED, "n": SHARED**2}, {**LAYERS, **FLAT}, **QUIET
    ),
    "TimeCourses": lambda: rs.score_models_over_time(
        {"m": SHARED[:12], "n": SHARED[:12] ** 2},
        {name: x[:48].reshape(12, 4, 6) for name, x in {**LAYERS, "d": SHARED}.items()},
        axes="trials bins units",
        **QUIET,
    ),
    "DriftReport": lambda: rs.drift(
        OLD, OLD @ TURN, n_resamples=10, labels=np.arange(400) % 3, **QUIET
    ),
    "DriftReport of batches": lambda: rs.drift(OLD, OLD[:200] + 1, paired=False, **QUIET),
    "IndexUpgrade": lambda: rs.upgrade_index(
        OLD, OLD @ TURN, QUERIES, QUERIES @ TURN, groups=np.arange(30) % 2, **QUIET
    ),
    "Forecast": lambda: replace(rs.plan(LAYERS, measures=["cka", "rsa"]), available=10),
    "ScaleCurve": lambda: rs.scale_curve(SHARED, LAYERS["a"], k=[1, 5, 59, 60]),
    "Perturbations": lambda: rs.stability.perturbations(
        SHARED, np.where(np.arange(60) % 20 == 1, None, PERTURBED)
    ),
    "Clusters": lambda: compared().clusters("procrustes", 2),
    "Permanova": lambda: compared().permanova("procrustes", [1, 1, 2, 2]),
    "Interval": lambda: rs.stability.interval("feature_split", OLD, k=4, n_resamples=10),
    "Null": lambda: rs.stability.permutation_null("centroid_drift", OLD, n_permutations=20),
    "LayerPatches": patched,
    "Leaderboard": rs.leaderboard,
    "RankedMeasures": ranked,
    "Result": lambda: BENCHMARK,
}


@cache
def made(name: str) -> BaseResult:
    return RESULTS[name]()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_does_what_all_results_do(name):
    result: Any = made(name)
    assert type(result).__name__ == name.partition(" ")[0]
    outcomes = check_result(result)
    assert [outcome for outcome in outcomes if outcome.holds is not True] == []
    assert ("a mapping" in {o.check for o in outcomes}) == isinstance(result, MappingResult)
    if name in (
        "ErrorConsistency",
        "IndexUpgrade",
        "ModelScores",
        "TimeCourses",
    ):  # the estimates have the columns of a comparison
        for record in result.records():
            assert {"measure", "value", "low", "high"} <= set(record)
            assert not {"mean", "recall", "truth", "numbers"} & set(record)


def test_a_comparison_holds_its_measures_and_pairs_of_names():
    found = made("Comparison")
    keys = ("cka", "CKA", ("cka", "a", "b"), "rsa", 0)
    assert [key in found for key in keys] == [True, True, True, False, False]


def test_every_class_that_is_saved_has_an_instance_here():
    classes = {name.partition(" ")[0] for name in RESULTS}
    assert classes == {*RESULT_MODULES, "Comparison", "Evidence", "Result"}
    for name, module in RESULT_MODULES.items():
        kind = getattr(import_module(f"resemblance.{module}"), name)
        assert issubclass(kind, BaseResult)


def test_what_is_no_result_is_refused():
    with pytest.raises(TypeError, match="ndarray is no class of results"):
        check_result(SHARED)


class Silent(BaseResult):
    """A result that lacks nearly everything."""

    caveats, failures = (), ()

    def summary(self) -> str:
        return ""

    def records(self) -> list[dict[str, Any]]:
        return []


def test_a_result_that_lacks_something_fails_the_checks():
    outcomes = {o.check: o.holds for o in check_result(Silent())}
    assert not any(outcomes.values())


# ------------------------------------------------------------------------------------- saved files


def test_pvalues_and_intervals_of_evidence_are_read_again(tmp_path):
    evidence = made("Evidence")
    again = saved_and_loaded(evidence, tmp_path)
    for name in ("pvalue", "low", "high", "chance", "above_chance"):
        for spec in evidence:
            np.testing.assert_array_equal(getattr(again, name)(spec), getattr(evidence, name)(spec))
    kept = made("Comparison with evidence")
    pvalues = saved_and_loaded(kept, tmp_path).evidence.pvalue("cka")
    np.testing.assert_array_equal(pvalues, kept.evidence.pvalue("cka"))


def saved_and_loaded(result: Any, folder: Path) -> Any:
    result.save(folder / "saved")
    return load(folder / "saved")


def test_numbers_and_maps_are_read_again_to_the_last_bit(tmp_path):
    for name, fields in {
        "ModelScores": ("values", "covariances", "low"),
        "Permanova": ("differences",),
        "Interval": ("draws",),
    }.items():
        again = saved_and_loaded(made(name), tmp_path)
        for field in fields:
            np.testing.assert_array_equal(getattr(again, field), getattr(made(name), field))
    upgrade: Any = made("IndexUpgrade")
    mapped = saved_and_loaded(upgrade, tmp_path).map()(QUERIES)
    np.testing.assert_array_equal(mapped, upgrade.map()(QUERIES))
    groups: Any = made("Permanova")
    assert saved_and_loaded(groups, tmp_path).pairs() == groups.pairs()


def test_the_suffix_of_a_table_warns_and_is_read_again(tmp_path):
    for name in ("Comparison", "DriftReport"):
        with pytest.warns(UserWarning, match=r"to_table\(path\) writes a table"):
            made(name).save(tmp_path / f"{name}.csv")
        assert type(load(tmp_path / f"{name}.csv")).__name__ == name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "saved result that can be read"),
        ("[1, 2]", "saved result that can be read"),
        ('{"format": 4}', "its format is 4"),
        ('{"format": "resemblance ModelScores 99"}', "version 99 of the format"),
        ('{"format": "resemblance Path 1"}', "no class 'Path' of results"),
        ('{"format": "resemblance Null 1", "value": "x"}', "saved result that can be read"),
        ('{"format": "resemblance Null 1", "code": "x"}', "saved result that can be read"),
    ],
)
def test_other_files_are_refused_with_a_remedy(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        load(path)
    assert str(path) in str(error.value)
    assert "save" in str(error.value)


def test_paths_without_a_result_are_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        load(tmp_path / "none")
    with pytest.raises(ValueError, match="has no results yet"):
        load(tmp_path)
    made("Comparison").save(tmp_path / "layers.comparison")
    with pytest.raises(ValueError, match=r"it has .*layers\.comparison"):
        load(tmp_path)


def test_the_folder_of_a_study_gives_its_result(tmp_path):
    BENCHMARK.save(tmp_path / "result.json")
    assert load(tmp_path) == load(tmp_path / "result.json") == BENCHMARK
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ValueError, match="run the suite again"):
        load(tmp_path)
