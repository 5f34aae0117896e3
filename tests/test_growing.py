"""Arrays that grow on disk, whatever was cut short: the same bytes as of one run."""

from __future__ import annotations

import os

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


def begun(folder):
    """Write two of three batches to a folder, and return the file of an array and the journal."""
    with GrowingArrays(folder) as arrays:
        for k in (0, 1):
            arrays.append(batch(PARTS[k]), str(k))
    return folder / "mean.a.npy", folder / JOURNAL


def flipped(path, place):
    """Write a file with other bits in one byte."""
    content = bytearray(path.read_bytes())
    content[place] ^= 255
    path.write_bytes(content)


def with_line(journal, k, line):
    """Write a journal with another line."""
    lines = journal.read_bytes().splitlines()
    lines[k] = line
    journal.write_bytes(b"\n".join(lines) + b"\n")


ROW = 4 * 4
DAMAGE = {  # what happens to an array and its journal, and how many batches are whole then
    "nothing": (lambda array, journal: None, 2),
    "more rows": (lambda array, journal: array.write_bytes(array.read_bytes() + b"\1"), 2),
    "a line cut short": (lambda array, journal: journal.write_text(journal.read_text()[:-4]), 1),
    "a file cut short": (lambda array, journal: array.write_bytes(array.read_bytes()[:-30]), 1),
    "another byte": (lambda array, journal: flipped(array, -3 * ROW), 1),
    "another first byte": (lambda array, journal: flipped(array, -15 * ROW), 0),
    "a journal of nothing": (lambda array, journal: journal.write_text(""), 0),
    "no journal": (lambda array, journal: journal.unlink(), 0),
    "an array gone": (lambda array, journal: array.unlink(), 0),
    "no head": (lambda array, journal: array.write_bytes(b"\x93NUM"), 0),
    "objects": (
        lambda array, journal: np.save(array, np.array([{}] * 20)[:, None], allow_pickle=True), 0,
    ),
    "one axis": (lambda array, journal: np.save(array, np.zeros(80, np.float32)), 0),
    "no UTF-8": (lambda array, journal: with_line(journal, 1, b"\xff\xfe\xfd"), 1),
    "deep JSON": (lambda array, journal: with_line(journal, 1, b"[" * 10**5), 1),
    "another line": (lambda array, journal: with_line(journal, 1, b"7"), 1),
    **{
        f"{rows} rows": (
            lambda array, journal, rows=rows: with_line(journal, 1, b'[%s, "1", "1"]' % rows), 1,
        )
        for rows in (b"-10", b"0", b"1e400", b"10.0", b"true", b"9" * 30, b"9" * 18, b"NaN")
    },
}  # fmt: skip


def test_what_was_cut_short_or_changed_is_written_again(tmp_path, subtests):
    whole = write(tmp_path / "whole")
    for k, (case, (damage, count)) in enumerate(DAMAGE.items()):
        with subtests.test(case):
            folder = tmp_path / str(k)
            damage(*begun(folder))
            with GrowingArrays(folder) as arrays:
                assert len(arrays.batches) == count
            files = write(folder)
            check(files)
            for name, path in whole.items():
                assert files[name].read_bytes() == path.read_bytes()


def test_a_kill_at_opening_keeps_the_batches(tmp_path, monkeypatch):
    begun(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt), GrowingArrays(tmp_path):
            pass
    with GrowingArrays(tmp_path) as arrays:
        assert len(arrays.batches) == 2


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
