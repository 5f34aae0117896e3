"""Stores of features that are cut short, moved or damaged, and models and samples that are odd."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import resemblance as rs
from resemblance.cli import run
from resemblance.models import features
from resemblance.models.two_models import SCORES_FILE, model_folder_name

SAMPLES = np.random.default_rng(0).standard_normal((11, 4)).astype(np.float32)


class Net(nn.Module):
    """Two blocks in a list, of which one part may be unused, and a head that may fail."""

    def __init__(self, seed=0, spoilt=False):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
            self.head, self.unused = nn.Linear(4, 3), nn.Linear(2, 2)
        self.spoilt, self.calls = spoilt, 0

    def forward(self, x):
        self.calls += 1
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(x * float("nan") if self.spoilt else x)


def extract(model, folder, data=SAMPLES, **options):
    return rs.extract_features(model, data, folder, progress=False, batch_size=4, **options)


@pytest.mark.parametrize("stop", [0, 1, 2, 5])
def test_a_kill_while_complete_arrays_are_moved(tmp_path, monkeypatch, stop):
    whole = extract(Net(), tmp_path / "whole")
    moves = []

    def move(source, target):
        if target.parent == tmp_path / "store" and source.parent != target.parent:
            moves.append(target)
            if len(moves) > stop:
                raise KeyboardInterrupt
        source.rename(target)

    with monkeypatch.context() as patch:
        patch.setattr(features.os, "replace", move)
        with suppress(KeyboardInterrupt):
            extract(Net(), tmp_path / "store")
    model = Net()
    subject = extract(model, tmp_path / "store")
    assert model.calls == 0
    assert list(subject.layers) == list(whole.layers) == ["blocks.0", "blocks.1", "head"]
    for layer, r in whole.layers.items():
        assert (np.asarray(subject.layers[layer].source) == np.asarray(r.source)).all()
    assert not list((tmp_path / "store").glob(".pass-*"))


def test_outputs_that_are_not_numbers_are_left_out_and_layers_fail_with_a_reason(tmp_path):
    scores = rs.compare_models(
        {"a": Net(spoilt=True), "b": Net(1)}, SAMPLES, measures="cka", save=tmp_path,
        progress=False,
    )  # fmt: skip
    assert "NaN" in scores.provenance["models"]["a"]["outputs"]
    spoilt = scores.rows.index("a/head")
    assert np.isnan(scores["cka"][spoilt]).all()
    assert {"a/head"} <= {f.x for f in scores.failures} | {f.y for f in scores.failures}
    assert rs.open_features(tmp_path / "a").outputs is None


class Texts:
    """A data set without a fingerprint of its own."""

    def __init__(self, texts):
        self.texts = texts

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.texts[index]


def letters(width):
    def prepare(texts):
        codes = [[ord(letter) for letter in text.ljust(width)[:width]] for text in texts]
        return torch.tensor(codes, dtype=torch.float32)

    return prepare


def test_samples_are_the_same_whatever_a_tokenizer_makes_of_them(tmp_path):
    texts = Texts([f"text {k}" for k in range(9)])
    a, b = (nn.Linear(8, 3), letters(8)), (nn.Linear(6, 3), letters(6))
    one = rs.extract_features(a, texts, tmp_path / "a", batch_size=4, progress=False)
    two = rs.extract_features(b, texts, tmp_path / "b", batch_size=3, progress=False)
    assert one.last.ids == two.last.ids
    assert rs.compare([one, two], measures="cka", progress=False)["cka"].shape == (2, 2)
    others = Texts([f"word {k}" for k in range(9)])
    with pytest.raises(ValueError, match="another data"):
        rs.extract_features(a, others, tmp_path / "a", batch_size=4, progress=False)


@pytest.mark.parametrize("name", ["..", ".", ".x", SCORES_FILE, "x" * 300, "日" * 120])
def test_any_name_of_a_model_is_a_folder_inside(tmp_path, name):
    place = model_folder_name(name)
    (tmp_path / "in" / place).mkdir(parents=True)
    assert (tmp_path / "in" / place).resolve().parent == (tmp_path / "in").resolve()
    assert place not in (SCORES_FILE, model_folder_name(name + "2"))
    assert model_folder_name("bert-base.v1") == "bert-base.v1"


class Frame:
    """An object with a slow dictionary, of no package that is known."""

    def to_dict(self):
        raise AssertionError


ODD: dict = {"frame": Frame()}
ODD["itself"] = [ODD]


def test_globals_of_a_preparation_may_hold_themselves_and_be_of_any_class(tmp_path):
    Frame.__module__ = "numpy"  # of an installed package

    def prepare(rows):
        return torch.from_numpy(rows) if ODD else None

    model = nn.Linear(4, 4)
    for _ in range(2):
        extract((model, prepare), tmp_path)


REFUSED = [
    ({"pool": []}, SAMPLES, "must be"),
    ({"batch_size": "3"}, SAMPLES, "must be"),
    ({"batch_size": 2.5}, SAMPLES, "must be"),
    ({"layers": ["head", "unused"]}, SAMPLES, "'unused' was never called"),
    ({}, DataLoader(TensorDataset(torch.from_numpy(SAMPLES)), shuffle=True), "shuffle=False"),
]


def test_what_cannot_be_extracted_is_refused_before_the_run(tmp_path, subtests):
    for options, data, words in REFUSED:
        with subtests.test(words), pytest.raises(ValueError, match=words):
            rs.extract_features(Net(), data, tmp_path, progress=False, **options)
    for key in ("a/b", "a\nb", "a" * 300):
        model = nn.Sequential()
        model.add_module("list", nn.ModuleDict({key: nn.Linear(4, 2)}))
        with subtests.test(key), pytest.raises(ValueError, match="cannot be the name of a file"):
            extract(model, tmp_path, layers="list.*")
    once = iter(torch.from_numpy(SAMPLES).split(4))
    with pytest.raises(ValueError, match="pass a list or a loader"):
        rs.compare_models([Net(), Net(1)], once, progress=False)


def test_a_changed_or_deleted_layer_is_computed_again(tmp_path, subtests):
    extract(Net(), tmp_path)
    array = tmp_path / "mean.blocks.0.npy"
    content = array.read_bytes()
    array.write_bytes(content[:-8] + b"\0" * 8)
    extract(Net(), tmp_path)
    assert array.read_bytes() == content
    array.unlink()
    with pytest.raises(ValueError, match=r"mean\.blocks\.0\.npy is missing"):
        rs.open_features(tmp_path)
    extract(Net(), tmp_path)
    assert array.read_bytes() == content


def not_moved(monkeypatch, folder, **options):
    """Extract features into a folder, but die before the complete arrays are moved."""
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(features.os, "replace", only_inside)
        extract(Net(), folder, **options)
    (place,) = folder.glob(".pass-*")
    return place


def only_inside(source, target):
    if source.parent != target.parent:
        raise KeyboardInterrupt
    source.rename(target)


def test_a_complete_pass_is_taken_in_whatever_is_asked_for_next(tmp_path, monkeypatch):
    not_moved(monkeypatch, tmp_path, layers=["blocks.0"])
    extract(Net(), tmp_path, layers=["head"])
    model = Net()
    for layer in ("blocks.0", "head"):
        assert list(extract(model, tmp_path, layers=[layer]).layers) == [layer]
    assert model.calls == 0


def test_damaged_facts_are_refused_with_the_file_and_the_remedy(tmp_path, subtests):
    extract(Net(), tmp_path)
    traits = tmp_path / "traits.json"
    content = traits.read_text()
    good = json.loads(content)
    others = [{**good, name: [3]} for name in good] + [{**good, "layers": {"mean": 3}}, [], 3]
    others += [{**good, "layers": 3}, {**good, "layers": {"last": ["head"]}}]
    others += [{**good, "layers": {"mean": [3]}}, {**good, "layers": {}}, {**good, "more": 1}]
    others += [{k: v for k, v in good.items() if k != name} for name in ("layers", "format")]
    for text in [*map(json.dumps, others), "[" * 10**5, "", "\ud800", '{"a": 1}']:
        with subtests.test(ascii(text[:100])):
            traits.write_text(text, encoding="utf-8", errors="surrogatepass")
            calls = [lambda folder: extract(Net(), folder), rs.open_features]
            for call in calls[: 1 if text == '{"a": 1}' else 2]:  # that is a model of one's own
                with pytest.raises(ValueError, match=r"traits\.json|is missing|interrupted"):
                    call(tmp_path)
            traits.write_text(content)
    assert list(rs.open_features(tmp_path).layers) == ["blocks.0", "blocks.1", "head"]


def test_a_model_whose_extraction_was_cut_short_is_not_left_out(tmp_path, capsys, monkeypatch):
    extract(Net(), tmp_path / "a")
    not_moved(monkeypatch, tmp_path / "b")
    with pytest.raises(ValueError, match=r"b has no complete layers yet"):
        rs.read_models(tmp_path)
    assert run(["compare", str(tmp_path), "-m", "cka"]) == 2
    assert "no complete layers yet" in capsys.readouterr().err
