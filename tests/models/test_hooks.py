"""What the layers of a PyTorch model give for fixed inputs, compared with calling the layers by
hand."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader as GraphLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool
from torch_geometric.nn import Sequential as GraphSequential
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

import resemblance as rs
from resemblance.models.hooks import extract_module_features
from resemblance.models.modules import watched_modules

IMAGES = torch.linspace(-1, 1, 7 * 3 * 8 * 8).reshape(7, 3, 8, 8).sin()
WORDS = torch.arange(30).reshape(5, 6) % 19
MASK = torch.tensor([[1] * 6, [1, 1, 0, 0, 0, 0], [1] * 6, [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1]])
BATCHES = [
    {"input_ids": WORDS[i : i + 2], "attention_mask": MASK[i : i + 2], "labels": WORDS[:2, 0]}
    for i in (0, 2)
]
BATCHES.append({"input_ids": WORDS[4:], "attention_mask": MASK[4:]})


@pytest.fixture
def images():
    """A small convolutional network: a map, its normalisation, a map again, and features."""
    parts = {
        "conv": nn.Conv2d(3, 4, 3), "norm": nn.BatchNorm2d(4), "act": nn.ReLU(inplace=True),
        "pool": nn.AdaptiveAvgPool2d(2), "flat": nn.Flatten(), "drop": nn.Dropout(0.5),
        "head": nn.Linear(16, 3),
    }  # fmt: skip
    return nn.Sequential(OrderedDict(parts)).train()


@pytest.fixture
def config():
    return BertConfig(
        vocab_size=20, max_position_embeddings=8, num_labels=3, hidden_size=16,
        num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
    )  # fmt: skip


def numbers(features, layer):
    return np.asarray(features.layers[layer].source)


class Shared(nn.Module):
    """Calls one layer twice, never calls another, and returns a tuple."""

    def __init__(self):
        super().__init__()
        self.first, self.again, self.unused = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.alias = self.first
        self.lstm = nn.LSTM(3, 2, batch_first=True)

    def forward(self, x):
        y = self.again(self.again(self.first(x)))
        return y, self.lstm(x[:, None])[0]


class Sometimes(nn.Module):
    """Calls a layer only for batches of two."""

    def __init__(self):
        super().__init__()
        self.always, self.pairs = nn.Linear(3, 2), nn.Linear(2, 2)

    def forward(self, x):
        x = self.always(x)
        if len(x) == 2:
            self.pairs(x)
        return x


# ------------------------------------------------------------------------------------------- layers


def test_all_layers_in_the_order_of_execution(images):
    features = extract_module_features(images, IMAGES.split(3), name="small")
    assert list(features.layers) == ["conv", "norm", "act", "pool", "flat", "drop", "head"]
    assert (features.name, dict(features.traits)) == ("small", {})
    assert all(
        isinstance(r, rs.Representation) and r.name == layer for layer, r in features.layers.items()
    )
    with torch.no_grad():
        maps = images.eval().conv(IMAGES)
        normed = images.norm(maps)
        logits = images(IMAGES)
    np.testing.assert_allclose(numbers(features, "conv"), maps.mean((2, 3)), rtol=1e-5, atol=1e-6)
    # The ReLU after it works in place: what the layer itself returned has negative numbers
    np.testing.assert_allclose(numbers(features, "norm"), normed.mean((2, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(numbers(features, "head"), logits, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(features.outputs, numbers(features, "head"))


def test_a_star_stays_between_dots_and_two_do_not(config):
    model = BertModel(config)
    layers = ["encoder.layer.0", "encoder.layer.1"]
    assert list(watched_modules(model, ["encoder.layer.*"])) == layers
    assert list(watched_modules(model, ["encoder.layer.[1-9]"])) == layers[1:]
    assert list(watched_modules(model, ["encoder.layer.[!0]"])) == layers[1:]
    assert list(watched_modules(model, ["*.layer.?"])) == layers
    assert list(watched_modules(model, ["e*"])) == ["embeddings", "encoder"]
    below = [name for name, _ in model.named_modules() if name.startswith("encoder.")]
    assert list(watched_modules(model, ["encoder.**"])) == below
    dense = [*(name for name in below if name.endswith(".dense")), "pooler.dense"]
    assert list(watched_modules(model, ["**.dense"])) == dense
    with pytest.raises(ValueError, match=r"no layer"):
        watched_modules(model, ["[!]"])  # an exclamation mark
    with pytest.raises(ValueError, match=r"'\[9-0\]' is no pattern: bad character range"):
        watched_modules(model, ["[9-0]"])


def test_a_layer_called_twice_and_a_tuple():
    model, x = Shared(), torch.eye(3)
    features = extract_module_features(model, [x, 2 * x], ["alias", "again", "lstm"])
    assert list(features.layers) == ["alias", "again#1", "again#2", "lstm"]
    once = model.again(model.first(torch.cat([x, 2 * x])))
    np.testing.assert_allclose(numbers(features, "again#1"), once.detach(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        numbers(features, "again#2"), model.again(once).detach(), rtol=1e-5, atol=1e-6
    )
    assert features.layers["lstm"].shape == (6, 2)
    np.testing.assert_array_equal(features.outputs, numbers(features, "again#2"))
    assert "first" in extract_module_features(model, [x]).layers


def test_batches_may_be_anything_that_begins_with_the_input(images):
    expected = extract_module_features(images, [IMAGES]).outputs
    labels = torch.arange(7)
    loaders = [
        DataLoader(TensorDataset(IMAGES, labels), batch_size=3),
        [(IMAGES, labels)],
        [[IMAGES[:6]], [IMAGES[6:]]],
        [IMAGES.numpy().astype(float)],
        [(IMAGES.numpy(), labels.numpy())],
        [({"input": IMAGES.numpy()}, labels.numpy())],
    ]
    for loader in (*loaders, [{"input": IMAGES, "label": labels}]):
        np.testing.assert_allclose(
            extract_module_features(images, loader).outputs, expected, rtol=1e-5, atol=1e-6
        )


# ------------------------------------------------------------------------------------------ pooling


def test_a_pooling_per_layer(images):
    with torch.no_grad():
        maps = images.eval().conv(IMAGES)
    features = extract_module_features(images, IMAGES.split(2), "conv", pool="max")
    np.testing.assert_allclose(numbers(features, "conv"), maps.amax((2, 3)), rtol=1e-5, atol=1e-6)
    features = extract_module_features(
        images, [IMAGES], ["conv", "pool", "head"], pool={"conv": "flatten"}
    )
    assert [r.shape[1] for r in features.layers.values()] == [4 * 6 * 6, 4, 3]
    for pool in ("cls", "first", "last"):  # maps have no such token
        with pytest.raises(ValueError, match=rf"'conv'.*\(7, 4, 6, 6\).*{pool}.*'mean', 'max'"):
            extract_module_features(images, [IMAGES], ["conv", "head"], pool=pool)
    assert extract_module_features(images, [IMAGES], "head", pool="cls").last.shape == (7, 3)
    twice = extract_module_features(Shared(), [torch.ones(2, 3)], "again", pool={"again#2": "max"})
    assert list(twice.layers) == ["again#1", "again#2"]


def test_other_shapes_need_flatten():
    model = nn.Sequential(nn.Unflatten(1, (2, 2, 2, 2)))
    batches = [torch.ones(3, 16)]
    with pytest.raises(ValueError, match=r"'0': shape \(3, 2, 2, 2, 2\) is neither tokens nor"):
        extract_module_features(model, batches, "0", outputs=False)
    flat = extract_module_features(model, batches, "0", pool="flatten", outputs=False)
    assert flat.last.shape == (3, 16)
    single = extract_module_features(nn.Flatten(0), [torch.ones(3, 1)], outputs=False)
    assert single.last.shape == (3, 1)


@pytest.mark.parametrize("pool", ["cls", "last", "mean", "max"])
def test_tokens_of_a_language_model(config, pool):
    model = BertModel(config).eval()
    with torch.no_grad():
        hidden = model(input_ids=WORDS, attention_mask=MASK).last_hidden_state
    rows = [h[m.bool()] for h, m in zip(hidden, MASK)]
    pooled = {
        "cls": [r[0] for r in rows],
        "last": [r[-1] for r in rows],
        "mean": [r.mean(0) for r in rows],
        "max": [r.amax(0) for r in rows],
    }
    layer = "encoder.layer.1.output"
    features = extract_module_features(model, BATCHES, layer, pool=pool, outputs=False)
    expected = torch.stack(pooled[pool])
    np.testing.assert_allclose(numbers(features, layer), expected, rtol=1e-4, atol=1e-5)


def test_tokens_without_a_mask_and_flattened(config):
    model, options = BertModel(config), {"layers": "encoder", "pool": "flatten", "outputs": False}
    features = extract_module_features(model, [WORDS[:3], WORDS[3:]], **options)
    with torch.no_grad():
        expected = model.eval()(WORDS).last_hidden_state.flatten(1)
    np.testing.assert_allclose(numbers(features, "encoder"), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"layer 'encoder': from_tokens: pool=\"flatten\""):
        extract_module_features(model, BATCHES, **options)
    with pytest.raises(ValueError, match="encoder gives 64 to 96 values per row"):
        extract_module_features(model, [WORDS, WORDS[:, :4]], **options)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_precisions(dtype):
    model, x = nn.Sequential(nn.Linear(3, 2)).to(dtype), torch.ones(4, 3, dtype=dtype)
    features = extract_module_features(model, [x])
    expected = np.float64 if dtype == torch.float64 else np.float32
    assert features.outputs.dtype == numbers(features, "0").dtype == expected
    np.testing.assert_array_equal(features.outputs, model(x).detach().to(torch.float64))


# -------------------------------------------------------------------------- the model is left alone


def test_modes_hooks_and_random_state_come_back_after_an_error_too(images):
    images.norm.eval()
    modes = [module.training for module in images.modules()]
    state = torch.random.get_rng_state()
    extract_module_features(images, DataLoader(TensorDataset(IMAGES), batch_size=4))
    with pytest.raises(ValueError, match="the forward pass of Sequential fails"):
        extract_module_features(images, [torch.ones(2, 3)])
    assert [module.training for module in images.modules()] == modes
    assert not any(module._forward_hooks for module in images.modules())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert int(images.norm.num_batches_tracked) == 0


# ------------------------------------------------------------ rows that depend on more than samples


class Made(nn.Module):
    """A network whose one block is followed by a function of it and of the module."""

    def __init__(self, function, block=None):
        super().__init__()
        self.function, self.state = function, None
        self.block = nn.Linear(6, 8) if block is None else block
        self.after = nn.Identity()

    def forward(self, x):
        return self.after(self.function(self, self.block(x)))


def kept(module, x):
    """Add what was there before, as a recurrent network that keeps its state."""
    module.state = 1 + (module.state or 0)
    return x + module.state


OTHERS = "the other samples of a batch"
STEPS = torch.linspace(-2, 2, 12 * 4 * 6).reshape(12, 4, 6).mul(7).sin()


def shifted_models():
    """Models whose results for a sample depend on chance or on other samples."""
    torch.manual_seed(0)
    return {
        "dropout": (Made(lambda _, x: nn.functional.dropout(x, 0.5)), STEPS[:, 0], "chance"),
        "dropout in tokens": (Made(lambda _, x: nn.functional.dropout(x, 0.5)), STEPS, "chance"),
        "one sample": (Made(lambda _, x: x + torch.rand(8)), STEPS[:1, 0], "chance"),
        "a state": (Made(kept), STEPS[:, 0], "chance"),
        "no running statistics": (
            nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, track_running_stats=False)),
            STEPS[:, 0], OTHERS,
        ),
        "centred": (Made(lambda _, x: x - x.mean(0)), STEPS[:, 0], OTHERS),
        "steps first": (Made(lambda _, x: x[0], nn.LSTM(6, 8)), STEPS, OTHERS),
        "attention": (nn.Sequential(nn.TransformerEncoderLayer(6, 2, 8)), STEPS, OTHERS),
    }  # fmt: skip


def test_layers_that_depend_on_chance_or_on_other_samples_are_named(subtests):
    for name, (model, batch, what) in shifted_models().items():
        with subtests.test(name), pytest.warns(UserWarning, match=f"' depends on {what}: "):
            extract_module_features(model, [batch])


def test_nothing_is_said_of_rounding(images, config, subtests):
    steps = STEPS.bfloat16()
    lstm = Made(lambda _, x: x[0], nn.LSTM(6, 8, batch_first=True))
    whole = Made(lambda _, x: x, nn.Identity())
    whole.function = lambda _, x: x[:, :, 0] @ torch.ones(4, 6) if len(x) == 12 else 1 / 0
    graph = Data(x=STEPS[:, 0], edge_index=torch.tensor([[*range(11)], [*range(1, 12)]]))
    cases = {
        "maps": (images, [IMAGES]),
        "padding": (BertModel(config), BATCHES),
        "half precision": (BertModel(config).bfloat16(), BATCHES),
        "float16": (nn.Sequential(nn.Linear(6, 8), nn.ReLU()).half(), [STEPS[:, 0].half()]),
        "bfloat16": (nn.TransformerEncoderLayer(6, 2, 8, batch_first=True).bfloat16(), [steps]),
        "samples first": (lstm, [STEPS]),
        "batches of one size": (whole, [STEPS]),
        "a graph": (GCNConv(6, 4), [graph]),
        "zeros": (nn.Linear(6, 8, bias=False), [torch.zeros(5, 6)]),
        "NaN": (nn.Linear(6, 8), [torch.full((5, 6), torch.nan)]),
        "in place": (Scaling(), [STEPS[:, 0].clone()]),
        "a set": (Pooling(), [{"x": STEPS[:, 0], "batch": torch.arange(12) // 4}]),
    }
    for name, (model, batches) in cases.items():
        with subtests.test(name):
            extract_module_features(model, batches)
    given = STEPS[:, 0].clone()
    extract_module_features(Scaling(), [given])
    assert torch.equal(given, STEPS[:, 0] - 0.5)  # the model ran once on the rows of the user


class Scaling(nn.Module):
    """A network that works in place on its input."""

    def __init__(self):
        super().__init__()
        self.block = nn.Linear(6, 8)

    def forward(self, x):
        return self.block(x.sub_(0.5))


class Pooling(nn.Module):
    """A network of sets, each row with the mean of its set."""

    def __init__(self):
        super().__init__()
        self.block = nn.Linear(6, 8)

    def forward(self, x, batch):
        sums = torch.zeros(int(batch.max()) + 1, 6).index_add(0, batch, x)
        return self.block(sums[batch])


# ---------------------------------------------------------------------------------------- bad input


def test_a_layer_that_some_batches_do_not_reach():
    batches = [torch.ones(2, 3), torch.ones(3, 3)]
    with pytest.raises(ValueError, match="layer 'pairs' is called less often for some batches"):
        extract_module_features(Sometimes(), batches, ["always", "pairs"])
    with pytest.warns(UserWarning, match="some batches call less often .* left out: 'pairs'"):
        assert list(extract_module_features(Sometimes(), batches).layers) == ["always"]


def refused_calls(images, config):
    """Models, batches and options that are refused, with words of the message."""
    bert = BertModel(config)
    x, flat = torch.ones(2, 3), nn.Sequential(nn.Flatten())
    whole = nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (2, 3)))
    sampler = BatchSampler(RandomSampler(IMAGES), 2, drop_last=False)
    shuffled = DataLoader(TensorDataset(IMAGES), shuffle=True)
    return [
        (bert, BATCHES, {"layers": "encoder.layers.*"}, r"did you mean 'encoder\.layer\.\*'\?"),
        (bert, BATCHES, {"layers": "1"}, r"did you mean 'encoder\.layer\.1'\?"),
        (images, [IMAGES], {"layers": ["conv", "haed"]}, r"no layer 'haed', .* 'head'\? it has h"),
        (images, [IMAGES], {"layers": "z*"}, r"no layer 'z\*'; it has conv"),
        (images, [IMAGES], {"layers": []}, "layers is empty"),
        (images, [IMAGES], {"pool": "median"}, "'first', 'last'; got 'median'"),
        (images, [IMAGES], {"pool": {"conv": "token"}}, "pool must be one of"),
        (images, [IMAGES], {"pool": ["mean", "max"]}, r"must be one word.*rs\.extract_features"),
        (images, [IMAGES], {"layers": "head", "pool": {"cnov": "max"}}, "pool names 'cnov'"),
        (images, shuffled, {}, "make the loader with shuffle=False"),
        (images, DataLoader(IMAGES, batch_sampler=sampler), {}, "make the loader with "
        "shuffle=False"),
        (images, iter([]), {}, "the loader returned no batch"),
        (images, IMAGES, {}, r"pass \[batch\]"),
        (images, ["word"], {}, "batches must be tensors or NumPy"),
        (Shared(), [x], {"layers": ["first", "unused"]}, "layer 'unused' was never called"),
        (whole, [x], {"layers": "0"}, r"layer '0' returns \(6,\), not one row for each of 2"),
        (flat, [x.long()], {"layers": "0"}, r"'0' returns Tensor .* of torch.int64, not a"),
        (flat, [x.long()], {}, "no module of the model returns one floating tensor"),
    ]  # fmt: skip


def test_what_has_no_rows_is_refused_with_the_remedy(images, config, subtests):
    for model, batches, options, message in refused_calls(images, config):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            extract_module_features(model, batches, **{"outputs": False, **options})


def test_logits_are_kept_if_there_are_any(config):
    assert extract_module_features(BertModel(config), BATCHES, "encoder").outputs is None
    sizes = {"vocab_size": 20, "n_positions": 8, "n_embd": 16, "n_layer": 1, "n_head": 2}
    causal = GPT2LMHeadModel(GPT2Config(**sizes))
    assert extract_module_features(causal, [WORDS], "transformer.h.0").outputs is None
    assert extract_module_features(nn.Conv2d(3, 4, 3), [IMAGES]).outputs is None
    head, rows = nn.Linear(3, 2), [torch.ones(4, 3)]
    assert extract_module_features(head, rows, outputs=False).outputs is None
    features = extract_module_features(head, rows)
    assert (features.name, list(features.layers)) == ("Linear", ["model"])
    assert features.outputs.shape == (4, 2)
    with pytest.raises(ValueError, match=r"for some batches only; pass outputs=False"):
        extract_module_features(Moody(), [torch.ones(2, 3), torch.ones(3, 3)])


class Moody(nn.Module):
    """Returns logits for batches of two, and maps for others."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        logits = self.head(x)
        return logits if len(x) == 2 else logits[:, :, None, None]


# ------------------------------------------------------------------------------------------- graphs


class Graphs(nn.Module):
    """Two convolutions and a head for nodes; ``pooled`` has one row per graph."""

    def __init__(self, whole=False, pooled=False):
        super().__init__()
        self.convs = nn.ModuleList([GATConv(4, 3, heads=2), GCNConv(6, 5)])
        self.head, self.whole, self.pooled = nn.Linear(5, 2), whole, pooled

    def forward(self, x, edge_index, batch=None):
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.head(global_mean_pool(x, batch) if self.pooled else x)


class OfGraphs(nn.Module):
    """The same, called with a graph."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, data):
        return self.model(data.x, data.edge_index, data.batch)


def graph(seed=0, nodes=9):
    g = torch.Generator().manual_seed(seed)
    links = torch.randint(0, nodes, (2, 20), generator=g)
    return Data(x=torch.randn(nodes, 4, generator=g), edge_index=links, y=torch.zeros(1).long())


def test_a_graph_in_any_form():
    model, data = Graphs().eval(), graph()
    expected = model(data.x, data.edge_index).detach()
    loaders = {
        "graphs": [data],
        "a loader": GraphLoader([data]),
        "tuples": [(data.x, data.edge_index)],
        "dicts": [{"x": data.x, "edge_index": data.edge_index}],
        "turned": [{"edge_index": data.edge_index, "x": data.x}],
        "named": [{"edge_index": data.edge_index, "x": data.x, "batch": torch.zeros(9).long()}],
    }
    for name, loader in loaders.items():
        for own in (model, OfGraphs(model)) if name in ("graphs", "a loader") else (model,):
            features = extract_module_features(own, loader)
            np.testing.assert_allclose(features.outputs, expected, rtol=1e-5, atol=1e-6)
            names = [layer.removeprefix("model.") for layer in features.layers]
            assert names == ["convs.0", "convs.1", "head"]


def test_convolutions_and_not_their_parts_are_layers():
    data = graph()
    assert list(extract_module_features(GCNConv(4, 3), [data]).layers) == ["model"]
    # It can be named, though.
    assert list(extract_module_features(Graphs(), [data], "convs.0.lin").layers) == ["convs.0.lin"]
    parts = [(GCNConv(4, 3), "x, edge_index -> x"), nn.ReLU(), nn.Linear(3, 2)]
    own = GraphSequential("x, edge_index", parts)
    for loader in ([data], [(data.x, data.edge_index)]):
        names = list(extract_module_features(own, loader).layers)
        assert names == ["module_0", "module_1", "module_2"]


def test_several_graphs_with_a_label_each():
    model = Graphs(pooled=True).eval()
    loader = GraphLoader([graph(seed) for seed in range(5)], batch_size=2)
    left_out = r"are left out: 'convs.0' \(18, 6\), 'convs.1' \(18, 5\)"
    with pytest.warns(UserWarning, match=left_out):
        features = extract_module_features(model, loader, samples="y")
    assert features.outputs.shape == (5, 2)
    assert list(features.layers) == ["head"]
    with pytest.raises(ValueError, match=r"'head' returns \(2, 2\), not one .* 18; .*samples="):
        extract_module_features(model, loader, "head")
    with pytest.raises(
        ValueError, match="samples='label' is not an entry of the batches; the entries are batch"
    ):
        extract_module_features(model, loader, samples="label")


@pytest.mark.parametrize("form", [torch.as_tensor, np.asarray, list])
def test_some_nodes_only(form):
    model, data = Graphs().eval(), graph()
    mask = np.arange(9) % 3 == 0
    whole = extract_module_features(model, [data])
    options = {"layers": ["convs.0", "convs.1"], "progress": False}
    for rows in (mask, np.flatnonzero(mask)):
        features = rs.extract_features(model, [data], mask=form(rows), **options)
        assert {r.shape[0] for r in features.layers.values()} == {3}
        np.testing.assert_array_equal(features.outputs, whole.outputs[mask])
        np.testing.assert_array_equal(numbers(features, "convs.1"), numbers(whole, "convs.1")[mask])
    for bad in (mask[:5], [0, 9], [-1], [0.5], [[0]], []):
        with pytest.raises(ValueError, match="mask must be 9 booleans or numbers of rows from 0"):
            rs.extract_features(model, [data], mask=bad, **options)
