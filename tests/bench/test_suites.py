"""Every suite does what all suites do: it runs, continues, repeats itself and names mistakes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from factories.models import write_finetuned, write_models
from factories.synthetic import noise_walk, tight_groups

import resemblance as rs
from resemblance.bench.manifolds.suite import SIZES
from resemblance.bench.packs import Pack, open_pack
from resemblance.bench.pinned import build_pack
from resemblance.checks import check_suite


def packed(study: Path, folder: Path) -> Pack:
    archive, _ = build_pack(study, folder)
    return open_pack(archive, cache=folder / "cache")


def models_for_resi(folder):
    groups = tight_groups(setting="labels", groups=2, members=3)
    return write_models(folder, [*groups, *noise_walk(models=2)])


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


FEW_CLOUDS = {"roll": 60, "rs": (0.0, 0.5), "spots": (60,), "d_spots": (2,)}
FEW_CLOUDS |= {"cubes": (30,), "d_cubes": (2,), "ks": (5,)}


@pytest.mark.parametrize("name", rs.bench.SUITES)
def test_a_suite_does_what_all_suites_do(name, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "small", SIZES["small"]._replace(**FEW_CLOUDS))
    outcomes = check_suite(partial(rs.bench.run, name), **OPTIONS[name](tmp_path / "models"))
    assert [outcome for outcome in outcomes if outcome.holds is not True] == []
