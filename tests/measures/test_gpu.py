"""``benchmarks/gpu.py``, here on the CPU: it checks every measure, times, and writes what it
found."""

from __future__ import annotations

from pathlib import Path

import gpu
import pytest

import resemblance as rs

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
