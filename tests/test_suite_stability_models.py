"""The stability suite on a trained model."""

from __future__ import annotations

import pytest
from factories.disturbed_models import WATCHED

from resemblance.results.result import load_result
from resemblance.suites.experiments import RunConfig
from resemblance.suites.stability import models, weights
from resemblance.suites.stability.models import plain_models
from resemblance.suites.stability.suite import run


def test_models_of_missing_packages_are_left_out_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr(
        models, "find_spec", lambda name: None if name == "transformers" else object()
    )
    config = RunConfig(tmp_path, "default", WATCHED)
    assert {r.domain for r in plain_models(config)} == {"vision", "graphs"}
    assert models.absent_of(config) == {"models of language": "transformers is not installed"}
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    result = run(tmp_path, size="small", measures=WATCHED, only=["canary"])
    assert result["canary"].reasons == {"models of vision": "torch is not installed"}
    assert not result["canary"].scores


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stability")
    return folder, run(folder, size="small", measures=WATCHED, only=["canary"])


def test_a_run_without_noise_differs_by_nothing_at_all(study):
    table = study[1]["canary"].tables[0]
    assert table.columns[0] == "α"
    assert table.rows[0] == ("0", *[0.0] * (len(table.columns) - 1))
    assert table.rows[-1][table.columns.index("RDM drift")] > 0.05


def test_the_result_can_be_kept(study):
    folder, result = study
    assert load_result(folder / "result.json") == result
    assert all(cell.values() for cell in result["canary"].scores.values())
    assert not result.claims


def test_what_is_done_is_not_done_again(study, monkeypatch):
    folder, result = study
    monkeypatch.setattr(weights, "_seen", None)
    assert run(folder, size="small", measures=WATCHED, only=["canary"]) == result


def test_sizes(tmp_path):
    for size, count in (("small", 1), ("default", 6), ("paper", 30)):
        assert len(plain_models(RunConfig(tmp_path, size, ()))) == count
    assert len(weights.LEVELS["paper"].noise) == 51
    with pytest.raises(ValueError, match="no size"):
        plain_models(RunConfig(tmp_path, "huge", ()))
