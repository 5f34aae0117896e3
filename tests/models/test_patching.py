"""Layers of one model inside another: predictions equal those of the stitched network."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import resemblance as rs
from resemblance.cli import run

X = torch.randn(60, 6, generator=torch.Generator().manual_seed(1))
QUIET = {"progress": False}


def network(seed, width=8, out=3):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(6, width), nn.ReLU(inplace=True), nn.Linear(width, width), nn.ReLU(inplace=True),
        nn.Linear(width, out),
    )  # fmt: skip


def classes(model):
    with torch.no_grad():
        return model(X.clone()).argmax(1).numpy()


def test_patched_predictions_are_those_of_the_stitched_network():
    one, other = network(0), network(1)
    result = rs.patch_models(("one", one), ("other", other), X, batch_size=25, **QUIET)
    ours, theirs = classes(one), classes(other)
    differs = ours != theirs
    assert (result.n_samples, result.n_different) == (60, differs.sum())
    assert [layer.layer for layer in result.layers] == ["0", "1", "2", "3", "4"]
    for k, layer in enumerate(result.layers):
        stitched = classes(nn.Sequential(*other[: k + 1], *one[k + 1 :]))
        np.testing.assert_array_equal(result.predictions[layer.layer], stitched)
        assert layer.moved == (stitched == theirs)[differs].mean()
        assert layer.low <= layer.moved <= layer.high
    assert result.layers[-1].moved == 1
    np.testing.assert_array_equal(classes(one), ours)  # the hooks are gone
    features = [rs.extract_features(m, X, layers="2", **QUIET).last for m in (one, other)]
    assert result.layers[2].similarity == pytest.approx(rs.cka(*features, estimator="debiased"))
    assert result.summary().startswith(
        f"one and other predict different classes for {differs.sum()}"
    )
    assert result.to_pandas().shape == (5, 6)
    assert result.verdict.endswith("; the layer that moves the largest share is layer 4, 100 %.")
    first, *_, last = result.layers
    tied = replace(result, layers=(last._replace(layer="stem"), last))
    assert tied.verdict.endswith("the largest share are stem and layer 4, 100 % each.")
    none = replace(result, layers=(first._replace(moved=0.0),))
    assert none.verdict.endswith("; no layer moves any of these predictions.")


def test_intervals_are_those_of_a_bootstrap_of_samples():
    one, other = network(0), network(1)
    result = rs.patch_models(one, other, X, layers="2", **QUIET)
    theirs, differs = classes(other), classes(one) != classes(other)
    follows = differs & (result.predictions["2"] == theirs)
    draws = np.random.default_rng(5).integers(60, size=(4000, 60))
    shares = follows[draws].sum(1) / differs[draws].sum(1)
    (layer,) = result.layers
    np.testing.assert_allclose(
        (layer.low, layer.high), np.quantile(shares, (0.025, 0.975)), atol=0.05
    )


def test_a_layer_without_a_similarity_keeps_its_share():
    one, other = network(0), network(1)
    with torch.no_grad():
        one[0].weight.zero_()
    result = rs.patch_models(("one", one), other, X, layers="0", measure="rsa", **QUIET)
    ((measure, layer, _, reason),) = result.failures
    assert (measure, layer) == ("rsa", "0")
    assert reason in result.summary()
    assert result.records()[0]["similarity"] is None
    assert np.isfinite([r.moved for r in result.layers]).all()


def test_all_outputs_of_a_layer_are_replaced_in_each_call():
    class Twice(nn.Module):
        def __init__(self, seed):
            super().__init__()
            torch.manual_seed(seed)
            self.pair, self.head = Pair(), nn.Linear(6, 3)

        def forward(self, x):
            first, second = self.pair(x)
            third, fourth = self.pair(second)
            return self.head(first + third * fourth)

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            return self.one(x), self.two(x)

    one, other = Twice(0), Twice(1)
    result = rs.patch_models(one, other, X, layers=["pair"], **QUIET)
    stitched = Twice(0)
    stitched.pair = other.pair
    np.testing.assert_array_equal(result.predictions["pair"], classes(stitched))


class Growing(nn.Module):
    """A model with a layer of a shape that an option decides."""

    def __init__(self, length):
        super().__init__()
        self.length, self.spread, self.head = length, nn.Identity(), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.spread(x[:, None].repeat(1, self.length, 1)).mean(1))


def test_models_that_do_not_fit_are_refused(tmp_path, subtests):
    one = network(0)
    onnx_file = tmp_path / "m.onnx"
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Relu", ["x"], ["y"])
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ("n", 6)) for n in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, ir_version=10), onnx_file)
    for models, options, message in (
        (
            (one, network(1, 9)),
            {},
            r"different architectures: 0\.weight \(weights\) is \(8, 6\) and",
        ),
        ((one, nn.Sequential(nn.Linear(6, 8))), {}, "1 is ReLU and missing"),
        ((one, f"onnx:{onnx_file}"), {}, "m is an ONNX file, whose layers can be read and not"),
        ((one, one), {}, "predict the same classes for all 60 samples"),
        (
            (Growing(2), Growing(3)),
            {"layers": "spread"},
            r"'spread' gives \(32, 2, 6\) in one model",
        ),
        ((one, network(1)), {"layers": "7"}, "has no layer '7'"),
        ((one, network(1)), {"layers": 2}, "layers are names .* got int: 2"),
        ((network(0, out=1), network(1, out=1)), {}, r"returns \(32, 1\), one logit z of each"),
        ((("a", one), ("a", network(1))), {}, "patch_models: two models are called 'a'; give"),
        ((one, network(1)), {"batch_size": 0}, "patch_models: batch_size must be a whole"),
        ((one, network(1)), {"confidence_level": 2}, "must be between 0 and 1"),
        ((one, network(1)), {"measure": ["cka", "rsa"]}, "are 2 measures; name one"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            rs.patch_models(*models, X, **options, **QUIET)
    images = [nn.Conv2d(1, 2, 1), nn.Conv2d(1, 2, 1)]
    with pytest.raises(ValueError, match=r"returns no logits \(n_samples, n_classes\)"):
        rs.patch_models(*images, torch.randn(4, 1, 3, 3), **QUIET)


@pytest.mark.filterwarnings("default:the patches")
def test_the_command_prints_the_shares_of_two_models(tmp_path, capsys):
    (tmp_path / "nets.py").write_text(
        "import torch\n"
        "def net(seed):\n"
        "    torch.manual_seed(seed)\n"
        "    layers = torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)\n"
        "    return torch.nn.Sequential(*layers)\n"
        "def one():\n    return net(0)\n"
        "def two():\n    return net(1)\n"
    )
    np.save(tmp_path / "x.npy", X.numpy())
    models = [f"{tmp_path}/nets.py:{name}" for name in ("one", "two")]
    options = ["--data", str(tmp_path / "x.npy"), "--patch", "--quiet"]
    assert run(["compare-models", *models, *options]) == 0
    lines = capsys.readouterr().out
    assert "one and two predict different classes for" in lines
    assert re.search(r"^2 +1\.00 +1\.00 to 1\.00", lines, flags=re.MULTILINE)
    texts = []
    for suffix in ("html", "json", "tex"):
        place = ["--html" if suffix == "html" else "-o", str(tmp_path / f"out.{suffix}")]
        assert run(["compare-models", *models, *options, *place]) == 0
        texts.append((tmp_path / f"out.{suffix}").read_text())
    for word in ("Layers of two in one", "share moved", "vig2020investigating"):
        assert word in texts[0]
    document = json.loads(texts[1])
    assert {record["measure"] for record in document["records"]} > {"procrustes"}
    rows = {row.pop("layer"): row for row in document["patches"]["records"]}
    assert list(rows) == ["0", "1", "2"]
    assert rows["2"] | {"similarity": 0} == {
        "moved": 1, "low": 1, "high": 1, "measure": "CKA", "similarity": 0,
    }  # fmt: skip
    pairs = {(r["measure"], r["x"], r["y"]): r["value"] for r in document["records"]}
    alike = pairs["cka[estimator=debiased]", "one/1", "two/1"]
    assert rows["1"]["similarity"] == pytest.approx(alike)
    heading = "layer & share moved &"
    assert texts[2].count(heading) == 1
    call = ["compare-models", *models, *options, "-o"]
    for name, words in (("depth.tex", ("--layout", "depth")), ("x.tex", ("--columns", "x"))):
        assert run([*call, str(tmp_path / name), *words]) == 0
        assert (tmp_path / name).read_text().count(heading) == 1
    call.remove("--quiet")
    assert run([*call, str(tmp_path / "out.csv")]) == 0
    assert "the patches are in .json, .txt, .md, .tex" in capsys.readouterr().err
    assert run(["compare-models", *models, models[0], *options]) != 0
    assert "--patch is for two models" in capsys.readouterr().err
