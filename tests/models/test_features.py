"""Stores of features: what is run, resumed, added and refused, and what every command reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import resemblance as rs
from resemblance.base.locks import lock_folder
from resemblance.cli import run
from resemblance.engine.forecast import forecast_facts
from resemblance.models import load_samples
from resemblance.models.variation import RERUN_SAMPLES

SAMPLES = np.random.default_rng(0).standard_normal((23, 6)).astype(np.float32)


class Counting(nn.Module):
    """A network of three blocks that counts its calls, and can be interrupted at a given call."""

    def __init__(self, seed=0, fail_at=None):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.blocks = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
            self.head = nn.Linear(6, 2)
        self.calls = 0
        self.left = -1 if fail_at is None else fail_at

    def forward(self, x):
        if len(x) > RERUN_SAMPLES:  # not some of the samples once more
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            self.calls += 1
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(x)


def extract(model, folder, data=SAMPLES, **options):
    return rs.extract_features(model, data, folder, batch_size=5, progress=False, **options)


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.glob("*.npy"))}


@pytest.mark.parametrize("stop", [0, 1, 3, 4])
@pytest.mark.parametrize("as_loader", [False, True])
def test_an_interrupted_run_goes_on_and_gives_the_same_bytes(tmp_path, stop, as_loader):
    data = [torch.from_numpy(SAMPLES[i : i + 5]) for i in range(0, 23, 5)] if as_loader else SAMPLES
    whole = extract(Counting(), tmp_path / "whole", data)
    with pytest.raises(KeyboardInterrupt):
        extract(Counting(fail_at=stop), tmp_path / "store", data)
    if stop:
        with pytest.raises(ValueError, match="interrupted"):
            rs.open_features(tmp_path / "store")
    model = Counting()
    features = extract(model, tmp_path / "store", data)
    assert model.calls == 5 - stop
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")
    assert features.last.ids == whole.last.ids
    assert not list((tmp_path / "store").glob(".pass-*"))


def test_a_store_has_one_writer_at_a_time(tmp_path):
    with lock_folder(tmp_path), pytest.raises(ValueError, match="another process is working on"):
        extract(Counting(), tmp_path)
    assert extract(Counting(), tmp_path).layers


def test_several_poolings_in_one_run(tmp_path):
    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.block, self.calls = nn.Identity(), 0

        def forward(self, x):
            self.calls += len(x) > RERUN_SAMPLES
            return {"tokens": self.block(x.reshape(-1, 3, 2))}

    model = Tokens()
    extract(model, tmp_path, layers="block", pool=["mean", "last"])
    assert model.calls == 5
    mean, last = (rs.open_features(tmp_path, pool=pool) for pool in ("mean", "last"))
    tokens = SAMPLES.reshape(-1, 3, 2)
    np.testing.assert_allclose(mean.last.source, tokens.mean(1), atol=1e-7)
    assert (np.asarray(last.last.source) == tokens[:, -1]).all()
    with pytest.raises(ValueError, match="several poolings"):
        rs.open_features(tmp_path)


class Dropping(Counting):
    """A network whose dropout does not end with training."""

    def forward(self, x):
        return super().forward(nn.functional.dropout(x, 0.3))


def test_what_a_model_depends_on_besides_its_samples_stays_known(tmp_path):
    torch.manual_seed(0)
    models = ("drop", Dropping()), ("plain", Counting(1))
    options = {"measures": "cka", "n_permutations": 19, "progress": False, "save": tmp_path}
    with pytest.warns(UserWarning, match="drop: its layer 'blocks.0' depends on chance"):
        first = rs.compare_models(models, SAMPLES, **options)
    again = rs.compare_models(models, SAMPLES, **options)  # of the features that are kept
    for result in (first, again):
        assert result.provenance["inputs"].endswith("; drop depends on chance")


def test_another_model_other_data_and_other_batches_are_refused(tmp_path):
    extract(Counting(), tmp_path, name="net")
    with pytest.raises(ValueError, match=r"another model .*choose another name"):
        extract(Counting(seed=1), tmp_path)
    with pytest.raises(ValueError, match="another data"):
        extract(Counting(), tmp_path, SAMPLES[::-1].copy())
    for size, words in ((7, "batch_size=5"), (0, "at least 1")):
        with pytest.raises(ValueError, match=words):
            rs.extract_features(Counting(), SAMPLES, tmp_path, batch_size=size, progress=False)


def test_a_loader_that_gives_other_batches_is_noticed(tmp_path):
    batches = [torch.from_numpy(SAMPLES[i : i + 5]) for i in range(0, 20, 5)]
    with pytest.raises(KeyboardInterrupt):
        extract(Counting(fail_at=2), tmp_path, batches)
    with pytest.raises(ValueError, match="the first 2 batches differ from"):
        extract(Counting(), tmp_path, batches[::-1])
    extract(Counting(), tmp_path, batches)
    with pytest.raises(ValueError, match="another data"):
        extract(Counting(), tmp_path, batches[::-1])


def test_models_are_compared_in_one_call(tmp_path):
    a, b = Counting(), Counting(seed=1)
    options = {"layers": "blocks.*", "batch_size": 5, "n_permutations": 9, "progress": False}
    scores = rs.compare_models(
        {"a": a, "b": b}, SAMPLES, measures=["cka", "procrustes"], save=tmp_path, **options
    )
    assert scores.rows == tuple(f"{m}/blocks.{i}" for m in "ab" for i in range(3))
    assert "pooling" not in scores.provenance["models"]["a"]  # vectors need none
    assert scores.provenance["data"]["n_samples"] == 23
    assert rs.load(tmp_path / "scores.comparison").provenance == scores.provenance
    three = {"a": a, "b": b, "c": Counting(seed=2)}
    again = rs.compare_models(three, SAMPLES, measures=["cka"], save=tmp_path, **options)
    assert a.calls == b.calls == 5
    assert (again["cka"][:6, :6] == scores["cka"]).all()
    assert len(again.rows) == 9
    twice = rs.compare_models([a, b], SAMPLES, measures="cka", **options)
    assert twice.rows[3] == "Counting 2/blocks.0"
    for one in ([a], "hf:bert-base-uncased"):
        with pytest.raises(ValueError, match="pass two or more models"):
            rs.compare_models(one, SAMPLES, progress=False)


def test_models_take_the_design_of_evidence(tmp_path):
    labels = np.arange(23) % 3
    options = {"measures": "rsa", "layers": "blocks.*", "progress": False}
    design = {"within": labels, "n_permutations": 49, "confidence_level": 0.9}
    models = ("a", Counting()), ("b", Counting(seed=1))
    sure = rs.compare_models(models, SAMPLES, save=tmp_path, **design, **options).evidence
    opened = {m: rs.open_features(tmp_path / m).layers for m in "ab"}
    arrays = {f"{m}/{name}": layer.source for m in "ab" for name, layer in opened[m].items()}
    same = rs.evidence(arrays, measures="rsa", progress=False, **design)
    assert sure.design.words == same.design.words
    assert sure.confidence_level == 0.9
    np.testing.assert_array_equal(sure.pvalue("rsa"), same.pvalue("rsa"))
    np.testing.assert_array_equal(sure.low("rsa"), same.low("rsa"))
    limited = {"max_samples": 12, "seed": 3}
    drawn = list(load_samples(SAMPLES, **limited).places)
    rows = [0, 2, 3, 5, 6, 7, 8, 9, 10, 11]
    same = [
        rs.compare_models(
            models, SAMPLES, **limited, **options, mask=rows, within=of, n_permutations=49
        )
        for of in (labels, labels[drawn], labels[drawn][rows])
    ]
    assert len({str(one.evidence.pvalue("rsa")) for one in same}) == 1
    for wrong, words in (
        ({"within": "labels"}, "comes with none"),
        ({"whole_blocks": labels[1:]}, "22 labels for 23 samples"),
        ({"confidence_level": 95}, "confidence_level must be between 0 and 1"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"reinitialized": 3}, "reinitialized must be True or False"),
    ):
        for function in (rs.compare_models, rs.plan_models):
            with pytest.raises(ValueError, match=f"^{function.__name__}: .*{words}"):
                function(models, SAMPLES, **wrong, **options)
    with pytest.raises(ValueError, match="plan_models: two models are called 'a'"):
        rs.plan_models([models[0]] * 2, SAMPLES)


def test_a_plan_runs_one_batch_of_each_model():
    models = Counting(), Counting(seed=1)
    options = {"layers": "blocks.*", "batch_size": 5, "reinitialized": True}
    planned = rs.plan_models(models, SAMPLES, measures=["cka", "rsa"], **options)
    assert [model.calls for model in models] == [1, 1]
    assert (planned.samples, planned.features, planned.representations) == (23, (6, 6), 9)
    assert planned.disk == 9 * 23 * 6 * 4
    assert planned.models > 0
    assert (planned.permutations, planned.permuted) == (0, 36 * 999)
    assert "exact moments; 35,964 permuted values" in forecast_facts(planned)["evidence"]
    drawn = rs.plan_models(models, SAMPLES, measures=["procrustes"], n_permutations=9999, **options)
    assert drawn.permutations == drawn.permuted == 36 * 9999
    assert forecast_facts(drawn)["evidence"] == "359,964 permuted values"
    within = rs.plan_models(models, SAMPLES, measures=["cka"], within=[0, 1] * 11 + [0], **options)
    assert within.permutations == within.permuted
    whole = DataLoader(TensorDataset(torch.from_numpy(SAMPLES)), batch_size=5)
    assert rs.plan_models(models, whole, measures="cka").samples == 23
    with pytest.raises(ValueError, match="number of samples"):
        rs.plan_models(models, [torch.from_numpy(SAMPLES)], measures="cka")


def test_an_untrained_copy_of_the_first_model(tmp_path):
    models = ("a", Counting()), ("b", Counting(seed=1))
    options = {"measures": "cka", "n_permutations": 9, "save": tmp_path, "progress": False}
    scores = rs.compare_models(models, SAMPLES, reinitialized=True, seed=3, **options)
    assert scores.provenance["reinitialized"] == "reinitialized-3"
    assert scores.rows[-1].startswith("reinitialized-3/")
    assert "reinitialized-3 is a with re-initialised weights" in scores.provenance["inputs"]
    assert scores.provenance["models"]["reinitialized-3"]["weights"] == "untrained, seed=3"
    again = rs.compare_models(models, SAMPLES, reinitialized=True, seed=3, **options)
    assert (again["cka"] == scores["cka"]).all()
    assert np.diag(again["cka"], 2 * len(again.rows) // 3).max() < 1
    for wrong in ("untrained", "seed=3", 3, None):
        with pytest.raises(ValueError, match="reinitialized must be True or False"):
            rs.compare_models(models, SAMPLES, reinitialized=wrong, **options)


MODELS = """
import numpy as np, torch
from torch import nn

def net(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4))

def one(): return net(0)
def other(): return net(1)
"""


def test_two_models_one_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MODELS)
    np.save("inputs.npy", SAMPLES)
    call = ["compare-models", "mine.py:one", "two=mine.py:other", "--data", "inputs.npy"]
    assert run([*call, "--save", "run", "--html", "page.html"]) == 0
    printed, line = capsys.readouterr(), "23 rows (inputs.npy), 3 layers each"
    assert "wrote page.html, run" in printed.err
    assert printed.out.splitlines()[0] == line
    assert line in Path("page.html").read_text()
    assert rs.open_features("run/one").layers["2"].shape == (23, 4)
    assert rs.open_features("run/two").traits["model"]["source"] == "mine.py:other"
    assert run([*call, "-m", "cka", "--format", "csv", "--layers", "0", "--max-samples", "20"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1 + 4
    assert "20 rows (drawn from 23, inputs.npy), 1 layer each" in printed.err
    both = [*call, "-m", "cka", "--layers", "0", "--pool", "mean, max", "--format", "csv"]
    assert run(both) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1 + 16
    assert "two mean/0" in printed
    missing = ["compare-models", "mine.py:one", "hf:nowhere/none", "--data", "n.npy"]
    assert run([*missing, "--save", "no"]) == 2
    assert not Path("no").exists()


def test_mistakes_are_one_line(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MODELS)
    np.save("inputs.npy", SAMPLES)
    np.save("one.npy", SAMPLES[:1])
    pair = "compare-models mine.py:one mine.py:other --data inputs.npy"
    refused(f"""
        compare-models mine.py:one --data inputs.npy | error: a comparison needs two models
        compare-models mine.py:one mine.py:none --data inputs.npy | no function 'none'
        compare-models mine.py:one nowhere --data inputs.npy | error: 'nowhere' is no
        compare-models mine.py:one mine.py:other --data one.npy | has one sample
        {pair} --save mine.py | a folder
        {pair} --layers [ | no layer '['
        {pair} --device foo | device='foo'
        {pair} --device cuda:99 | cuda:99
        {pair} --pool best | pool must
    """)


def test_every_model_that_is_saved_reads_back_as_it_is(tmp_path, subtests):
    values, logits, labels = SAMPLES[:12], SAMPLES[:12, :2], np.arange(12) % 2
    layer = rs.Representation(values, ids=range(100, 112))
    names = ["outputs", "labels", "samples", "traits", "features", "a.b", "..", "é"]
    names += ["", "a/b", "a\\b", "a\nb", "x" * 200, "x" * 220, "日" * 80, 1]
    poolings = ["", "mean", "a/b", "a.b", "y" * 60, "y" * 199, "y" * 250, "outputs", 5, None, "\0"]
    traits = [
        {"setting": "sparse"}, {"setting": "labels", "strength": 0.5}, {"strength": 2},
        {"seed": "a"}, {"domain": "a\nb"}, {"accuracy": float("nan")}, {"accuracies": {"": 1}},
        {"accuracy": 0.25}, {"name": "b"}, {"layers": ["b"]}, {"maps": {}}, {"mine": (1, 2)},
        {"mine": {1: 2}}, {"mine": [1, {"a": None}]}, {"mine": print}, {1: 2},
        {"pretrain": 3, "dataset": "own data"},
    ]  # fmt: skip
    others = [
        rs.ModelFeatures("net one", {"l0": layer}, logits, {"seed": 3, "dataset": "mine"}, labels),
        rs.ModelFeatures("", {"a": layer}),
        rs.ModelFeatures("m\n", {"a": layer}, logits, {}, labels, {"a": (3, 2, 1)}),
        rs.ModelFeatures("m", {"a": layer, "b": rs.Representation(values)}),
        rs.ModelFeatures("m", {"a": rs.Representation(values, ids=[0.5] * 12)}),
        rs.ModelFeatures("m", {"a": layer}, labels=np.array(["cat"] * 12)),
        rs.ModelFeatures("m", {"a": layer}, labels=labels - 1),
        rs.ModelFeatures("m", {"a": layer}, logits, labels=labels + 1),
        rs.ModelFeatures("m", {"a": layer}, logits * np.nan),
        rs.ModelFeatures("m", {"a": layer}, logits[:, 0]),
        rs.ModelFeatures("m", {"a": layer}, np.array([None] * 12)[:, None]),
        rs.ModelFeatures(
            "m", {"a": rs.Representation(torch.from_numpy(values), ids=list("abcdefghijkl"))}
        ),
    ]
    model_features = [
        rs.ModelFeatures("m", {"first": layer, name: layer}, logits) for name in names
    ]
    model_features += [
        rs.ModelFeatures("m", {name: layer}, logits, {"pooling": pooling})
        for pooling in poolings for name in ("outputs", "z" * 150)
    ]  # fmt: skip
    model_features += [rs.ModelFeatures("m", {"a": layer}, traits=of) for of in traits]
    saved = 0
    for k, features in enumerate([*model_features, *others]):
        with subtests.test(f"{features.name} {list(features.layers)} {features.traits}"):
            place = tmp_path / str(k)
            place.mkdir()
            try:
                rs.save_features(features, place / "m")
            except ValueError:
                assert not list(place.iterdir())
                continue
            (same,) = rs.read_models(place)
            check_same(features, same)
            saved += 1
    assert saved == 24
    with pytest.raises(ValueError, match="exists"):
        rs.save_features(features, tmp_path / str(k))


def check_same(features, same):
    """Two models are the same, but for the traits that reading adds."""
    assert (same.name, list(same.layers)) == (features.name, list(features.layers))
    assert dict(same.maps) == dict(features.maps)
    assert {name: same.traits[name] for name in features.traits} == dict(features.traits)
    for layer, r in features.layers.items():
        assert same.layers[layer].ids == r.ids
        assert (np.asarray(same.layers[layer].source) == np.asarray(r.source)).all()
    for answer in ("outputs", "labels"):
        a, b = getattr(features, answer), getattr(same, answer)
        assert (a is None) == (b is None)
        assert a is None or (a == b).all()


class Tokens(nn.Module):
    """A model of three tokens, of which the first embedding is the same for all samples."""

    def __init__(self):
        super().__init__()
        self.embed, self.block = nn.Identity(), nn.Linear(2, 2)

    def forward(self, x):
        x = x.reshape(len(x), -1, 2).clone()
        x[:, 0] = 1
        x = self.embed(x)
        return self.block(x + x.mean(1, keepdim=True))


def test_what_was_done_to_the_inputs_is_one_line(tmp_path):
    data = np.concatenate([SAMPLES, SAMPLES[:4]])
    models = ("a", Tokens()), ("b", Tokens())
    options = {"layers": ["embed", "block"], "measures": "cka", "progress": False}
    mean = rs.compare_models(models, data, save=tmp_path / "run", **options)
    line = "27 rows, mean over tokens, 2 layers each; 4 of the samples are duplicates"
    assert mean.provenance["inputs"].startswith(line)
    again = rs.compare_models(models, data, save=tmp_path / "run", **options)
    assert again.provenance["inputs"] == mean.provenance["inputs"]
    first = rs.compare_models(models, data, pool="cls", unique=True, **options)
    assert first.rows == ("a/block", "b/block")
    words = ("23 rows, first token, 1 layer each; 4 copies left out", "a/embed is the same for")
    assert all(word in first.provenance["inputs"] for word in words)
    assert first.provenance["models"]["a"]["layers left out"] == ["embed"]
    with pytest.raises(ValueError, match="all layers of a are the same for all samples"):
        rs.compare_models(models, data, pool="cls", **{**options, "layers": "embed"})


def test_nodes_are_said_to_depend_on_each_other():
    data = pytest.importorskip("torch_geometric.data")
    graph = data.Data(x=torch.from_numpy(SAMPLES), edge_index=torch.zeros(2, 0, dtype=torch.long))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 4)

        def forward(self, x, edge_index):
            return self.first(x)

    models = ("a", Network()), ("b", Network())
    options = {"layers": "first", "measures": "cka", "n_permutations": 9, "progress": False}
    scores = rs.compare_models(models, graph, **options)
    assert scores.provenance["inputs"].startswith("23 nodes")
    assert "nodes of a graph depend on each other" in scores.provenance["inputs"]
    graph.test_mask = torch.arange(23) < 9
    some = rs.compare_models(models, graph, mask="test_mask", **options)
    arrays = [model(torch.from_numpy(SAMPLES), None).detach()[:9] for _, model in models]
    direct = rs.compare(arrays, measures="cka")["cka"]
    assert some["cka"] == pytest.approx(direct, abs=1e-12)
    assert some.provenance["inputs"].startswith("9 of 23 nodes")
    assert some.provenance["mask"] == "test_mask"
    for rows, remedy in (("train_mask", "test_mask"), ([23], "mask must be")):
        with pytest.raises(ValueError, match=remedy):
            rs.compare_models(models, graph, mask=rows, **options)
    planned = rs.plan_models(models, graph, mask="test_mask", layers="first", measures="cka")
    assert (planned.samples, planned.features, planned.disk) == (9, (4, 4), 2 * 23 * 4 * 4)


OTHERS = """
import functools
import sys
import numpy as np

class Fails(nn.Module):
    def forward(self, x): sys.exit(0)

class Maps(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
    def forward(self, x): return self.conv(x.reshape(-1, 1, 2, 3).repeat(1, 1, 3, 3))

def narrow(): return nn.Linear(3, 2)
def leaves(): return Fails()
def broken(): return 1 / 0
def maps(): return Maps()
def joins(): return nn.Linear(6, 2), functools.partial(np.concatenate, axis=5)
def batches():
    yield torch.ones(4, 6)
    sys.exit(0)
"""


def test_what_fails_inside_a_model_is_the_models(tmp_path, capsys, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MODELS + OTHERS)
    np.save("inputs.npy", SAMPLES)
    mistakes = {
        ("mine.py:narrow", "inputs.npy", "mean"): (2, "narrow: the forward pass of Linear fails"),
        ("mine.py:leaves", "inputs.npy", "mean"): (3, "the forward pass of Fails fails"),
        ("mine.py:broken", "inputs.npy", "mean"): (3, "broken failed: ZeroDivisionError"),
        ("mine.py:joins", "inputs.npy", "mean"): (2, "joins: preparing a batch of"),
        ("mine.py:one", "mine.py:batches", "mean"): (3, "SystemExit"),
        ("mine.py:maps", "inputs.npy", "cls"): (2, "maps: layer 'conv'"),
    }
    for (model, data, pool), (code, words) in mistakes.items():
        with subtests.test(model):
            assert run(["compare-models", model, model, "--data", data, "--pool", pool]) == code
            assert words in capsys.readouterr().err


@pytest.mark.parametrize(("as_loader", "pool"), [(False, None), (True, {"blocks.0": "max"})])
def test_features_in_memory_are_those_of_a_folder(tmp_path, as_loader, pool):
    data = [torch.from_numpy(SAMPLES[i : i + 5]) for i in range(0, 23, 5)] if as_loader else SAMPLES
    kept = np.arange(23) % 2 == 0
    for options in ({}, {"layers": ["head", "blocks.*"], "outputs": False}, {"mask": kept}):
        options = {"pool": pool, "name": "net", **options}
        stored = extract(Counting(), tmp_path / str(len(options)), data, **options)
        features = extract(Counting(), None, data, **options)
        assert type(features) is type(stored) is rs.ModelFeatures
        assert (features.name, list(features.layers)) == (stored.name, list(stored.layers))
        assert (features.outputs is None) == (stored.outputs is None) == ("outputs" in options)
        if features.outputs is not None:
            np.testing.assert_array_equal(features.outputs, stored.outputs)
        for layer, r in stored.layers.items():
            np.testing.assert_array_equal(features.layers[layer].source, r.source)
            assert features.layers[layer].ids == (None if as_loader else r.ids)
    rs.save_features(features, tmp_path / "saved")
    with pytest.raises(ValueError, match=r"pool must be one word.*with a folder"):
        extract(Counting(), None, pool=["mean", "max"])


class Recurrent(nn.Module):
    """A network with a layer whose results are (time, samples, features)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x.transpose(0, 1)).mean(0)


def test_a_folder_knows_by_which_options_it_was_extracted(tmp_path):
    x = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(1))
    options = {"layers": "inner", "time_first": "inner"}
    stored = extract(Recurrent(), tmp_path, [x], **options)
    features = extract(Recurrent(), None, [x], **options)
    np.testing.assert_array_equal(stored.last.source, features.last.source)
    assert stored.last.shape == (6, 3)
    for other in ({"layers": "inner"}, {**options, "outputs": False}):
        with pytest.raises(ValueError, match=r"was extracted with .*; pass the same"):
            extract(Recurrent(), tmp_path, [x], **other)
    with pytest.raises(ValueError, match="no layer 'z'"):
        extract(Recurrent(), tmp_path, [x], layers="inner", time_first="z")


def test_a_saved_model_is_opened_as_an_extracted_one(tmp_path, capsys):
    features = extract(Counting(), None, layers="blocks.*", name="net")
    folder = rs.save_features(features, tmp_path / "models" / "net")
    for place in (folder, folder.parent):
        opened = rs.open_features(place)
        assert isinstance(opened, rs.ModelFeatures)
        check_same(features, opened)
    assert run(["compare", str(folder), "-m", "cka", "--format", "json"]) == 0
    names = json.loads(capsys.readouterr().out)["rows"]
    assert names == [f"net/blocks.{i}" for i in range(3)]
    extract(Counting(), tmp_path / "models" / "other")
    with pytest.raises(ValueError, match="several models: net, other"):
        rs.open_features(tmp_path / "models")
    with pytest.raises(ValueError, match=r"save_features wrote; open them with rs\.open_features"):
        extract(Counting(), folder)
    with pytest.raises(ValueError, match=r"folder must be a path; .* layers=\[\.\.\.\]"):
        rs.extract_features(Counting(), [torch.ones(2, 3)], ["head"])
    with pytest.raises(ValueError, match=r"open them with rs\.open_features"):
        rs.load(folder)
