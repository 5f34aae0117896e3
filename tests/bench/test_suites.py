"""Every suite does what all suites do: it runs, continues, repeats itself and names mistakes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from factories.models import write_finetuned, write_models
from factories.synthetic import noise_walk, tight_groups

import resemblance as rs
from resemblance.bench.packs import Pack, open_pack
from resemblance.bench.pinned import build_pack
from resemblance.checks import check_suite


def packed(study: Path, folder: Path) -> Pack:
    archive, _ = build_pack(study, folder)
    return open_pack(archive, cache=folder / "cache")


def models_for_resi(folder):
    return write_models(folder, [*tight_groups(setting="labels", groups=2), *noise_walk()])


def models_for_sensitivity(folder):
    return write_finetuned(folder, [{"fog": 0.5 + seed / 10} for seed in range(4)])


OPTIONS = {
    "resi": lambda folder: {"models": models_for_resi(folder)},
    "sensitivity": lambda folder: {
        "models": models_for_sensitivity(folder), "size": "small", "only": ["finetuning"]
    },
    "manifolds": lambda folder: {"size": "small", "write_pack": packed},
    "stability": lambda folder: {"size": "small", "only": ["spectral"]},
}  # fmt: skip


@pytest.mark.parametrize("name", rs.bench.SUITES)
def test_a_suite_does_what_all_suites_do(name, tmp_path):
    outcomes = check_suite(partial(rs.bench.run, name), **OPTIONS[name](tmp_path / "models"))
    assert [outcome for outcome in outcomes if outcome.holds is not True] == []
