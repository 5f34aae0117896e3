"""The stability suite on a trained model."""

from __future__ import annotations

import pytest
from factories.disturbed_models import WATCHED

import resemblance as rs
from resemblance.bench.stability import models, weights
from resemblance.bench.stability.models import plain_models
from resemblance.bench.stability.suite import run


def test_models_of_missing_packages_are_left_out_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr(
        models, "find_spec", lambda name: None if name == "transformers" else object()
    )
    assert {r.domain for r in plain_models("default")} == {"vision", "graphs"}
    absent = models.untrainable_domains(models.stability_recipes("default").domains)
    assert absent == {"models of language": "transformers is not installed"}
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
    assert rs.load(folder / "result.json") == result
    assert all(cell.values() for cell in result["canary"].scores.values())
    assert not result.claims
    assert not result.caveats  # all losses repeat
    (scores,) = (table for table in result["canary"].tables if table.name == "scores")
    assert min(row[scores.columns.index("reliability")] for row in scores.rows) > 0.5


def test_what_is_done_is_not_done_again(study, monkeypatch):
    folder, result = study
    monkeypatch.setattr(weights, "_outputs_with_weights", None)
    again = run(folder, size="small", measures=WATCHED, only=["canary"])
    assert again["canary"] == result["canary"]


def test_damaged_arrays_are_made_again(study, monkeypatch):
    folder, result = study
    files = sorted((folder / weights.COPIES_FOLDER).glob("*.*"))
    arrays = [file for file in files if file.suffix == ".npy"]
    assert len(files) == 2 * len(arrays) == 10
    arrays[0].write_bytes(arrays[0].read_bytes()[:100])
    arrays[1].with_suffix(".json").write_text("{")
    arrays[2].with_suffix(".json").write_text(arrays[3].with_suffix(".json").read_text())
    (folder / weights.COPIES_FOLDER / f".{'a' * 24}.npy-1").touch()
    stages = []
    again = run(
        folder, size="small", measures=WATCHED, only=["canary"],
        progress=lambda *step: stages.append(step),
    )  # fmt: skip
    assert [step for step in stages if step[0] == "disturbing"] == [
        ("disturbing", done, 5) for done in (2, 3, 4, 5)
    ]
    assert again["canary"] == result["canary"]
    assert sorted((folder / weights.COPIES_FOLDER).glob("*.*")) == files


def test_sizes():
    for size, count in (("small", 1), ("default", 6), ("paper", 30)):
        assert len(plain_models(size)) == count
        parts = [part for _, part in weights.planned_perturbations(size)]
        assert len({str(part) for part in parts}) == len(parts) == 5 * count
    assert len(weights.LEVELS_BY_SIZE["paper"].noise) == 51
    with pytest.raises(ValueError, match="size must be"):
        plain_models("huge")
