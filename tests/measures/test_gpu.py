"""``benchmarks/gpu.py``, here on the CPU: it checks every measure, times, and writes what it
found."""

from __future__ import annotations

from pathlib import Path

import gpu
import numpy as np
import pytest
import torch

import resemblance as rs
from resemblance.base import arrays
from resemblance.base.arrays import hash_on_device
from resemblance.data.representation import fingerprint
from resemblance.intermediates import rank_bins

SMALL = {"device": "cpu", "samples": 30, "features": 5, "count": 3, "layers": 2}
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")


@pytest.fixture
def run(tmp_path):
    """Run the script with these options; return the rows of its file."""

    def run(**options) -> list[tuple]:
        gpu.main(**{**SMALL, **options}, out=tmp_path / "gpu.csv")
        return gpu.stored(tmp_path / "gpu.csv", gpu.Row)

    return run


def test_it_checks_every_measure_and_writes_what_it_timed(run, capsys):
    rows = run(only="cka rsa")
    assert "0 values differ from the CPU" in capsys.readouterr().out
    checked = [row for row in rows if not row.pairs]
    assert len(checked) == 2 * len(rs.list_measures())
    assert all(row.difference < 1e-2 for row in checked)
    timed = [row for row in rows if row.pairs]
    assert [(r.library, r.precision, r.measure, r.pairs) for r in timed] == [
        ("NumPy", "float64", "cka", 3),
        ("NumPy", "float64", "rsa", 3),
        ("resemblance", "float64", gpu.LAYERS, 4),
        ("resemblance", "float32", gpu.LAYERS, 4),
        ("plain PyTorch", "float32", gpu.LAYERS, 4),
    ]
    assert all(row.seconds > 0 for row in timed)
    assert timed[-1].difference < 1e-3
    assert run(only="none", layers=0) != rows  # those of a device are replaced


def test_the_table_in_the_documentation_is_that_of_the_file():
    rows = gpu.stored(gpu.FILE, gpu.Row)
    assert Path(gpu.TABLE).read_text("utf-8") == gpu.tables(rows) + "\n"


# --------------------------------------------------------------------------- what stays on a device


def test_tensors_are_hashed_by_each_bit_and_its_place():
    x = torch.as_tensor(np.random.default_rng(0).standard_normal((40, 30)))
    same = [x, x.clone(), x.T.contiguous().T, x.clone().requires_grad_()]
    assert len({hash_on_device(tensor) for tensor in same}) == 1
    near, turned, moved = x.clone(), x.clone(), x.clone()
    near[3, 4] = torch.nextafter(near[3, 4], torch.tensor(9.0, dtype=torch.float64))
    turned[5, 5] *= -1
    moved[[0, 1]] = x[[1, 0]]
    others = [near, turned, moved, x.float(), x.half(), x.bfloat16(), x > 0, (9 * x).to(torch.int8)]
    bits = [torch.zeros(40 * 30, dtype=torch.int64) for _ in range(64)]
    for bit, tensor in enumerate(bits):
        tensor[bit % 7] = -(2**63) if bit == 63 else 2**bit
    assert len({hash_on_device(tensor) for tensor in (x, *others, *bits)}) == 1 + 8 + 64


def test_fingerprints_of_a_device_are_computed_there(monkeypatch):
    """With a CPU that passes for a device, nothing may reach NumPy."""
    monkeypatch.setattr("resemblance.data.representation.is_on_cpu", lambda array: False)
    monkeypatch.setattr("resemblance.data.representation.to_numpy", None)
    x = torch.arange(12.0)
    shapes = [(3, 4), (4, 3), (12, 1)]
    prints = {fingerprint(rs.Representation(x.reshape(shape))) for shape in shapes}
    assert len(prints) == 3
    assert fingerprint(rs.Representation(x.reshape(3, 4).clone())) in prints


def test_ranks_of_many_samples_are_counted_where_the_data_are(monkeypatch):
    """Of the dissimilarities themselves, none but those of a few samples leave."""
    g = np.random.default_rng(0)
    x = g.standard_normal((700, 6))
    y = np.round(x @ g.standard_normal((6, 4)), 1)
    many = {name: rs.rsa.with_parameters(rdm=name) for name in ("euclidean", "cosine")}
    sides = [[rs.Representation(side)] for side in (x, y)]
    there = [[rs.Representation(torch.as_tensor(side))] for side in (x, y)]
    expected = {name: m.all_pairs(*sides).values[0, 0] for name, m in many.items()}
    copied = []

    def watched(array):
        copied.append(array.shape)
        return arrays.to_numpy(array)

    monkeypatch.setattr(rank_bins, "to_numpy", watched)
    monkeypatch.setattr(rank_bins, "DENSITY_SAMPLES", 100)
    monkeypatch.setattr(
        rank_bins, "CROWDED_BIN_RATIO", np.inf
    )  # bins of ties are looked at on the CPU
    for name, m in many.items():
        assert m.all_pairs(*there).values[0, 0] == pytest.approx(expected[name], rel=1e-6)
    assert set(copied) == {(100, 100), (rank_bins.MAX_RANK_BINS,)}
