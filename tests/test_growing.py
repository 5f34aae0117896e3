"""Arrays that grow on disk, whatever was cut short: the same bytes as of one run."""

from __future__ import annotations

import numpy as np
import pytest

from resemblance.sources.growing import JOURNAL, GrowingArrays

ROWS = np.random.default_rng(0).standard_normal((23, 4)).astype(np.float32)
PARTS = [slice(0, 10), slice(10, 20), slice(20, 23)]


def batch(part):
    return {"mean.a": ROWS[part], "cls.b": ROWS[part, :2].astype(np.float64)}


def write(folder, parts=PARTS):
    with GrowingArrays(folder) as arrays:
        for k, part in enumerate(parts):
            if k >= len(arrays.batches):
                arrays.append(batch(part), str(k))
        return arrays.finish()


def check(files):
    a = np.load(files["mean.a"])
    assert (a == ROWS).all()
    assert a.dtype == np.float32
    assert (np.load(files["cls.b"], mmap_mode="r") == ROWS[:, :2]).all()


def test_arrays_of_all_batches(tmp_path):
    check(write(tmp_path / "x"))


@pytest.mark.parametrize("torn", ["rows", "line", "file", "nothing"])
def test_what_was_cut_short_is_written_again(tmp_path, torn):
    whole = write(tmp_path / "whole")
    folder = tmp_path / "x"
    with GrowingArrays(folder) as arrays:
        for k in (0, 1):
            arrays.append(batch(PARTS[k]), str(k))
    array, journal = folder / "mean.a.npy", folder / JOURNAL
    if torn == "rows":  # of a third batch, killed before its line
        array.write_bytes(array.read_bytes() + b"\1\2\3\4\5")
    elif torn == "line":
        journal.write_text(journal.read_text()[:-4])
    elif torn == "file":  # lost with the power
        array.write_bytes(array.read_bytes()[:-30])
    with GrowingArrays(folder) as arrays:
        assert len(arrays.batches) == (1 if torn in ("line", "file") else 2)
    files = write(folder)
    check(files)
    for name, path in whole.items():
        assert files[name].read_bytes() == path.read_bytes()


def test_a_file_without_a_head_begins_again(tmp_path):
    (tmp_path / "mean.a.npy").write_bytes(b"\x93NUM")
    (tmp_path / JOURNAL).write_text('[10, "0"]\n')
    check(write(tmp_path))


def test_batches_must_be_alike(tmp_path):
    with GrowingArrays(tmp_path) as arrays:
        arrays.append(batch(PARTS[0]), "0")
        for other in (
            {"mean.a": ROWS[:3]},
            {"mean.a": ROWS[:3, :3], "cls.b": ROWS[:3, :2].astype(float)},
            {"mean.a": ROWS[:3], "cls.b": ROWS[:4, :2].astype(float)},
        ):
            with pytest.raises(ValueError, match=r"all batches|values of|rows"):
                arrays.append(other, "1")
        for k in (1, 2):
            arrays.append(batch(PARTS[k]), str(k))
        check(arrays.finish())
