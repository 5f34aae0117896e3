"""``benchmarks/gpu.py``, here on the CPU: it checks every measure, times, and writes what it
found."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch
from factories.files import GOLDEN

import resemblance as rs

CPU = torch.device("cpu")
SMALL = {"device": "cpu", "samples": 30, "features": 5, "memory": "1GB", "only": ("cka", "rsa")}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(GOLDEN.parents[1] / "benchmarks"))
    import gpu

    return gpu


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_it_checks_every_measure_and_writes_what_it_timed(script, tmp_path, capsys):
    files = tmp_path / "all.csv", tmp_path / "scaled.csv"
    script.main(**SMALL, count=3, out=files[0])
    count = len(rs.list_measures())
    printed = capsys.readouterr().out
    assert f"float64: {count} measures, 0 failures" in printed
    assert f"float32: {count} measures, 0 failures" in printed
    script.main(**SMALL, count=6, limit=0.0, out=files[1])
    rows, scaled = (list(csv.DictReader(file.read_text().splitlines())) for file in files)
    for table, pairs, how in (
        (rows, "3", "measured"),
        (scaled, "15", "scaled from 4 representations"),
    ):
        expected = [("cka", pairs, how), ("rsa", pairs, how)]
        assert [(row["measure"], row["pairs"], row["how"]) for row in table] == expected
        assert all(float(row["seconds"]) > 0 for row in table)
        assert all(float(row["difference in float32"]) < 1e-2 for row in table)


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
