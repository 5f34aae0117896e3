"""Arrays that grow on disk, whatever was cut short: the same bytes as of one run."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest

from resemblance.models import features
from resemblance.models.features import PROGRESS_FILE, GrowingArrays

ROWS = np.random.default_rng(0).standard_normal((23, 4)).astype(np.float32)
PARTS = [slice(0, 10), slice(10, 20), slice(20, 23)]


def batch(part):
    return {"mean.a": ROWS[part], "cls.b": ROWS[part, :2].astype(np.float64)}


def write(folder, parts=PARTS):
    arrays = GrowingArrays(folder)
    for k in range(arrays.written.batches, len(parts)):
        arrays.append(batch(parts[k]), str(k), ["tokens"])
    return {name: arrays.path(name) for name in arrays.written.arrays}


def check(files):
    a = np.load(files["mean.a"])
    assert (a == ROWS).all()
    assert a.dtype == np.float32
    assert (np.load(files["cls.b"], mmap_mode="r") == ROWS[:, :2]).all()


def begun(folder):
    """Write two of three batches to a folder, and return the file of an array and the progress."""
    write(folder, PARTS[:2])
    return folder / "mean.a.npy", folder / PROGRESS_FILE


def flipped(path, place):
    """Write a file with other bits in one byte."""
    content = bytearray(path.read_bytes())
    content[place] ^= 255
    path.write_bytes(content)


def with_entry(file, **entries):
    """Write a file of progress with other entries."""
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))


ROW = 4 * 4
DAMAGE = {  # what happens to an array and the progress, and how many batches are whole then
    "nothing": (lambda array, progress: None, 2),
    "more rows": (lambda array, progress: array.write_bytes(array.read_bytes() + b"\1" * 100), 2),
    "a head of more rows": (lambda array, progress: flipped(array, 30), 2),
    "a file cut short": (lambda array, progress: array.write_bytes(array.read_bytes()[:-30]), 0),
    "another byte": (lambda array, progress: flipped(array, -3 * ROW), 0),
    "progress cut short": (lambda array, progress: progress.write_text("{"), 0),
    "no UTF-8": (lambda array, progress: progress.write_bytes(b"\xff\xfe\xfd"), 0),
    "deep JSON": (lambda array, progress: progress.write_bytes(b"[" * 10**5), 0),
    "no progress": (lambda array, progress: progress.unlink(), 0),
    "an array gone": (lambda array, progress: array.unlink(), 0),
    "no head": (lambda array, progress: array.write_bytes(b"\x93NUM"), 0),
    **{
        f"{name} {value}": (
            lambda array, file, name=name, value=value: with_entry(file, **{name: value}), 0,
        )
        for name, values in {
            "rows": (-10, 0, 1e9, True, 19, float("nan"), 10**40), "batches": (0, "2", -1),
            "arrays": ({}, [], {"mean.a": [4, "O", ""]}, {"mean.a": [10**30, "<f4", ""]}),
            "pooled": (3, [3]), "digest": (None,), "more": (1,),
        }.items() for value in values
    },
}  # fmt: skip


def test_what_was_cut_short_or_changed_is_written_again(tmp_path, subtests):
    whole = write(tmp_path / "whole")
    check(whole)
    for k, (case, (damage, count)) in enumerate(DAMAGE.items()):
        with subtests.test(case):
            folder = tmp_path / str(k)
            damage(*begun(folder))
            assert GrowingArrays(folder).written.batches == count
            files = write(folder)
            check(files)
            for name, path in whole.items():
                assert files[name].read_bytes() == path.read_bytes()


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_kill_between_two_writes_loses_the_batch(tmp_path, monkeypatch, stop):
    begun(tmp_path)
    arrays, heads = GrowingArrays(tmp_path), features._npy_header
    left = iter(range(1, stop))

    def head(*shape):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return heads(*shape)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(features, "_npy_header", head)
        patch.setattr(features, "write_atomically", lambda path, text: None)  # killed before it
        arrays.append(batch(PARTS[2]), "2", ["tokens"])
    again = GrowingArrays(tmp_path)
    assert (again.written.batches, again.written.rows, again.written.digest) == (2, 20, "1")
    check(write(tmp_path))


def test_batches_must_be_alike(tmp_path):
    write(tmp_path, PARTS[:1])
    for other in (
        {"mean.a": ROWS[:3]},
        {"mean.a": ROWS[:3, :3], "cls.b": ROWS[:3, :2].astype(float)},
        {"mean.a": ROWS[:3], "cls.b": ROWS[:4, :2].astype(float)},
    ):
        with pytest.raises(ValueError, match=r"all batches|values of|rows"):
            GrowingArrays(tmp_path).append(other, "1", ())
    check(write(tmp_path))
