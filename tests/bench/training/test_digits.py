"""The demonstration: small networks on handwritten digits, the same in every run."""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from factories.output import on_terminal

import resemblance as rs
from resemblance import cli
from resemblance.bench.training.vision import digits as source
from resemblance.cli import models as demo

COMPARE = import_module("resemblance.engine._compare")
TINY = {"seeds": 2, "shuffled": 1, "epochs": 1, "images": 80}


@pytest.fixture(scope="module")
def tiny():
    return source.train_on_digits(**TINY)


def test_runs_are_identical_and_networks_do_not_depend_on_how_many_there_are(tiny):
    again, alone = (
        source.train_on_digits(**TINY | {"seeds": n, "shuffled": n - 1}) for n in (2, 1)
    )
    assert again.accuracies == tiny.accuracies
    for name, representation in tiny.representations.items():
        assert np.array_equal(representation.source, again.representations[name].source)
    first, second = (tiny.representations[f"seed {k}/linear"].source for k in (0, 1))
    assert np.array_equal(alone.representations["seed 0/linear"].source, first)
    assert not np.array_equal(first, second)


def test_the_split_is_fixed_and_has_no_overlap():
    split, again = source.split_digits(300), source.split_digits(300)
    assert np.array_equal(split.test, again.test)
    assert len(split.train) + len(split.test) == 1797
    assert split.test.shape == (300, 1, 8, 8)
    assert (split.train.min(), split.train.max(), split.train.dtype) == (0, 1, np.float32)
    assert {row.tobytes() for row in split.test}.isdisjoint(row.tobytes() for row in split.train)
    for images in (0, 1797, -5):
        with pytest.raises(ValueError, match="images must be between 1 and 1796"):
            source.train_on_digits(images=images)


def test_networks_learn_to_read_unless_their_labels_are_shuffled():
    found = source.train_on_digits(seeds=1, shuffled=1, epochs=10, images=500)
    assert found.accuracies["seed 0"] > 0.9
    assert found.accuracies["shuffled 0"] < 0.25


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install .*\[torch\]"'):
        source.train_on_digits(images=10)


@pytest.fixture
def small(monkeypatch):
    """The demonstration with tiny networks."""
    few = TINY | {"epochs": 2, "images": 60}
    monkeypatch.setattr(source, "train_on_digits", partial(source.train_on_digits, **few))
    monkeypatch.setattr(demo, "DEMO_SIZES", {False: {}, True: {}})


def compare_with(monkeypatch, progress):
    """Let comparisons report to something else than the terminal."""
    compare = COMPARE.compare

    def reporting(*args, **named):
        return compare(*args, **(named | {"progress": progress}))

    monkeypatch.setattr(COMPARE, "compare", reporting)


def test_the_command_writes_a_page_and_continues_from_what_it_saved(
    small, tmp_path, call, monkeypatch
):
    code, out, _ = call("demo", "--output", tmp_path / "demo")
    assert code == 0
    assert "seed 0: " in out
    assert "index.html" in out
    text = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    assert "How to read the maps" in text
    sentence = next(line for line in out.splitlines() if "differs most" in line)
    assert sentence in text.replace("&#x27;", "'")
    assert all(m.label in text for m in rs.preset("default"))
    computed = []
    compare_with(monkeypatch, lambda done, total: computed.append(total))
    assert call("demo", "--output", tmp_path / "demo", "--small")[0] == 0
    assert computed == []
    assert rs.load(tmp_path / "demo" / "comparison.db").rows[0] == "seed 0/conv1"


def test_training_shows_its_progress(small, tmp_path, monkeypatch):
    told = []
    compare_with(monkeypatch, False)
    source.train_on_digits(progress=lambda *state: told.append(state))
    assert told == [("training", done, 6) for done in range(1, 7)]
    shown = on_terminal(lambda: cli.run(["demo", "--output", str(tmp_path)]), 80, "stderr")
    assert re.search(r"training .* 6/6 ", shown)
