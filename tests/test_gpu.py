"""``benchmarks/gpu.py``, here on the CPU: it checks every measure, times, and writes what it
found."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest
import torch
from factories.files import GOLDEN

import resemblance as rs

CPU = torch.device("cpu")
SMALL = "gpu.py --device cpu --samples 30 --features 5 --count 3 --memory 1GB --only cka rsa --out"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(GOLDEN.parents[1] / "benchmarks"))
    import gpu

    return gpu


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_it_checks_every_measure_and_writes_what_it_timed(script, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", [*SMALL.split(), str(tmp_path / "gpu.csv")])
    script.main()
    said = capsys.readouterr().out
    count = len(rs.list_measures())
    assert f"float64: {count} measures, 0 failures" in said
    assert f"float32: {count} measures, 0 failures" in said
    with (tmp_path / "gpu.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["measure"], row["pairs"], row["how"]) for row in rows] == [
        ("cka", "3", "measured"),
        ("rsa", "3", "measured"),
    ]
    assert all(float(row["seconds"]) > 0 for row in rows)
    assert all(float(row["difference in float32"]) < 1e-2 for row in rows)


def test_a_measure_over_the_limit_is_scaled(script, monkeypatch, tmp_path):
    words = [*SMALL.split(), str(tmp_path / "gpu.csv"), "--count", "6", "--limit", "0"]
    monkeypatch.setattr(sys, "argv", words)
    timings = list(script.timed(CPU, script.parse()))
    assert [(t.pairs, t.how) for t in timings] == [(15, "scaled from 4 representations")] * 2


def test_a_measure_that_differs_or_fails_is_reported(script, capsys):
    @rs.measure(
        label="X",
        family="statistic",
        larger_is_more_similar=True,
        range=(0, 1),
        symmetric=True,
        reference="klabunde2025similarity",
    )
    def of_tensors(x, y):
        """One for tensors, zero for arrays."""
        return float(isinstance(x.source, torch.Tensor))

    pair = [np.eye(3), np.eye(3)]
    differs = script.check(of_tensors, pair, "float64", CPU)
    assert (differs.difference, differs.problem) == (1, "differs")
    fails = script.check(rs.cka, [np.ones((3, 2)), np.eye(3)], "float64", CPU)
    assert "Undefined" in fails.problem
    script.report([differs, fails, differs._replace(precision="float32", problem="")])
    assert "float64: 2 measures, 2 failures" in capsys.readouterr().out
