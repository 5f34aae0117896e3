"""Equal data have one fingerprint, wherever they lie; changed data never give old scores."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
import torch

import resemblance as rs
from resemblance.data.representation import data_key, fingerprint

G = np.random.default_rng(0)
X, Y = G.standard_normal((40, 9)), G.standard_normal((40, 6))


def hashed(data, **options):
    return fingerprint(rs.Representation(data, **options))


def write(path, array, seconds=0):
    """Write a file as if at a later time, because the times of some file systems are coarse."""
    np.save(path, array)
    os.utime(path, ns=(10**9 * seconds, 10**9 * seconds))
    return path


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
def test_a_fingerprint_depends_on_values_and_precision_alone(dtype, tmp_path):
    x = X > 0 if dtype == "bool" else (9 * X).astype(dtype)
    apart = np.repeat(x, 2, axis=1)[:, ::2]  # has gaps in memory
    read_only = x.copy()
    read_only.flags.writeable = False
    np.save(tmp_path / "x.npy", x)
    same = [x, np.asfortranarray(x), apart, read_only, torch.from_numpy(x), torch.from_numpy(x.T).T]
    same += [tmp_path / "x.npy", np.load(tmp_path / "x.npy", mmap_mode="r")]
    assert len(set(map(hashed, same))) == 1
    other = x.copy()
    other[3, 4] = 0 if other[3, 4] else 1
    widened = x.astype("float32" if dtype == "float64" else "float64")
    assert len(set(map(hashed, (x, other, x[::-1], x[:, ::-1], x.reshape(60, 6), widened)))) == 6


def test_a_fingerprint_reads_bits():
    """Equal numbers with other bits cost a second computation, never a wrong score."""
    zeros, minus = np.zeros((2, 2)), -np.zeros((2, 2))
    nan = np.array([[0x7FF8 << 48, 0x7FF8 << 48]] * 2, np.uint64)
    assert hashed(zeros) != hashed(minus)
    assert hashed(nan.view(float)) != hashed((nan + 1).view(float))
    half = torch.from_numpy(X).bfloat16()
    assert hashed(half) != hashed(half.float())  # the stored precision decides which values tie
    assert hashed(half) == hashed(half.clone().requires_grad_())


@pytest.mark.parametrize("kind", ["array", "float32", "view", "tensor", "memory map"])
def test_an_array_changed_after_wrapping_gives_the_new_scores(kind, tmp_path):
    owner = X.astype("float32") if kind == "float32" else X.copy()
    data = {"view": owner.view(), "tensor": torch.from_numpy(owner)}.get(kind, owner)
    other = Y if kind != "tensor" else torch.from_numpy(Y)
    if kind == "view":
        data.flags.writeable = False
    if kind == "memory map":
        data = np.load(write(tmp_path / "x.npy", X), mmap_mode="r")
        owner = np.load(tmp_path / "x.npy", mmap_mode="r+")
    x, y, file = rs.Representation(data, "x"), rs.Representation(other, "y"), tmp_path / "scores"
    measures = ["cka", "procrustes", "magnitude_difference"]
    options = {"measures": measures, "progress": False}
    before = rs.compare([x, y], **options, save=file)
    old = rs.cka(x, y)
    owner[7, 3] += 100
    if kind == "memory map":
        owner.flush()
    changed = torch.tensor(owner) if kind == "tensor" else np.array(owner)
    fresh = rs.compare({"x": changed, "y": other}, **options)
    assert rs.cka(x, y) == rs.cka(changed, other) != old
    for after in (rs.compare([x, y], **options), rs.compare([x, y], **options, save=file)):
        for name in measures:
            assert after[name, "x", "y"] == fresh[name, "x", "y"] != before[name, "x", "y"]


def test_the_shape_of_a_representation_is_for_reading():
    x = rs.Representation(X)
    assert x.shape == X.shape
    with pytest.raises(AttributeError, match="shape"):
        x.shape = (1, 1)


def test_a_changed_file_is_refused(tmp_path):
    path = write(tmp_path / "x.npy", X)
    x, sent = rs.Representation(path), pickle.dumps(rs.Representation(path))
    value = rs.cka(x, Y)
    assert rs.cka(x, Y) == value == rs.cka(pickle.loads(sent), Y)
    write(path, X + Y[:, :1], seconds=5)
    for stale in (x, pickle.loads(sent)):
        with pytest.raises(ValueError, match=r"'x': the file .* changed .* open it again"):
            rs.cka(stale, Y)
    path.unlink()
    again = rs.Representation(write(path, X, seconds=7))
    path.unlink()  # the memory map stays readable
    assert rs.cka(again, Y) == value


def test_values_replaced_through_another_memory_map_are_noticed(tmp_path):
    """Such writes may keep the time of modification for half a minute."""
    path = write(tmp_path / "x.npy", X)
    opened, mapped = rs.Representation(path), rs.Representation(np.load(path, mmap_mode="r"))
    old = rs.cka(opened, Y)
    assert rs.cka(mapped, Y) == old
    np.load(path, mmap_mode="r+")[:] = X[::-1]
    os.utime(path, ns=(0, 0))
    assert rs.cka(mapped, Y) == rs.cka(X[::-1].copy(), Y) != old
    with pytest.raises(ValueError, match=r"'x': the file .* changed .* open it again"):
        rs.cka(opened, Y)


def test_reordered_columns_are_other_data():
    names = [f"unit {i}" for i in range(9)]
    x = rs.Representation(X, "x", features=names)
    y = rs.Representation(X[:, ::-1], "y", features=names[::-1])
    keys = data_key(x), data_key(y)
    assert keys[0] == hashed(X, features=names) != keys[1]
    entries = rs.compare([x, y], measures="cka", progress=False).provenance["rows"]
    assert {entry["fingerprint"] for entry in entries.values()} == {keys[0]}


def test_values_on_an_accelerator_are_copied_only_for_a_file(monkeypatch, tmp_path):
    """With a CPU that passes for a device, a comparison in memory may hash nothing."""
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    changed = x.clone()
    changed[39, 8] += 1  # not among the few values that are looked at first
    monkeypatch.setattr("resemblance.data.representation.is_on_cpu", lambda array: False)
    monkeypatch.setattr("resemblance.data.array_files.is_on_cpu", lambda array: False)
    layers = {"x": x, "copy": x.clone(), "changed": changed, "y": y}
    with monkeypatch.context() as patch:
        patch.setattr("resemblance.data.representation.hash_values", None)
        c = rs.compare(layers, measures="cka", progress=False)
    keys = {name: entry["fingerprint"] for name, entry in c.provenance["rows"].items()}
    assert keys["x"] == keys["copy"]
    assert len(set(keys.values())) == 3
    assert keys["x"].startswith("unread ")
    assert c["cka", "x", "copy"] == pytest.approx(1) != c["cka", "x", "changed"]
    wrapped = {name: rs.Representation(layer, name) for name, layer in layers.items()}
    rs.compare(wrapped, measures="cka", progress=False)
    saved = rs.compare(wrapped, measures="cka", progress=False, save=tmp_path / "scores")
    assert saved.provenance["rows"]["x"]["fingerprint"] == hashed(X)
    monkeypatch.undo()
    forecast = rs.plan({"x": X, "y": Y}, measures="cka", save=tmp_path / "scores").measures[0]
    assert (forecast.values, forecast.stored) == (0, 3)  # found from the CPU
    r, s = wrapped["x"], wrapped["y"]
    monkeypatch.setattr("resemblance.data.array_files.is_on_cpu", lambda array: False)
    old = rs.cka(r, s)
    x[3] *= -5
    assert rs.cka(r, s) == rs.cka(x, y) != old  # PyTorch counts the changes


def test_a_file_that_was_replaced_has_the_key_of_its_values(tmp_path):
    path = tmp_path / "w.npy"
    first, second = np.random.default_rng(0).standard_normal((2, 30, 4))
    np.save(path, first)
    opened = rs.Representation(path)
    key = fingerprint(opened)
    sent = pickle.dumps(opened)
    np.save(tmp_path / "other.npy", second)
    (tmp_path / "other.npy").replace(path)
    # The map of the opened file has the first values; a new process opens the second values.
    assert fingerprint(rs.Representation(first)) == key
    received = pickle.loads(sent)
    assert data_key(received) == fingerprint(rs.Representation(second)) != key
