"""The identity of a model is all that runs: hooks, modes, replaced functions, any values."""

from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

import resemblance as rs
from resemblance.models import load_model
from resemblance.models.identity import feature_identity, model_facts

SAMPLES = np.random.default_rng(0).standard_normal((9, 6)).astype(np.float32)
ONES, ZEROS = torch.ones(16), torch.zeros(16)


def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))


class Steering:
    """A hook that adds a vector, counts its calls, and stores the outputs of the module."""

    def __init__(self, vector):
        self.vector, self.calls, self.seen = vector, 0, []

    def add(self, module, inputs, output):
        self.calls += 1
        self.note(output)
        return output + self.vector

    def note(self, output):
        self.seen.append(output)

    def __call__(self, module, inputs, output):
        return self.add(module, inputs, output)


class Scale:
    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, module, inputs, output):
        return output * self.factor


def add(module, inputs, output, vector):
    return output + vector


def adding(vector):
    return lambda module, inputs, output: output + vector


def hooked(make, kind="forward_hook", part=0, **options):
    def model():
        module = net()
        getattr(module[part], f"register_{kind}")(make(), **options)
        return module

    return model


def having(name, make):
    def model():
        module = net()
        setattr(module[0], name, make())
        return module

    return model


class Scaled(nn.Module):
    """A model with an option and a function, which records what it runs on."""

    def __init__(self, scale=2.0, function=torch.tanh):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.block = nn.Linear(6, 6)
        self.scale, self.function, self.calls, self.inputs = scale, function, 0, []
        self.counts = {"rows": 0}
        self.register_buffer("rows", torch.zeros(1), persistent=False)

    def set_scale(self, scale):
        self.scale = scale
        return self

    def forward(self, x):
        self.calls += 1
        self.inputs.append(x)
        self.counts["rows"] += len(x)
        self.rows += len(x)
        return self.function(self.block(x)) * self.scale


def sequence(*parts):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 4), *parts)


def attending(**options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        options = {"nhead": 2, "dim_feedforward": 8, "batch_first": True} | options
        return nn.TransformerEncoderLayer(4, **options)


def times(factor):
    return lambda rows: torch.from_numpy(rows) * factor


NOTEBOOK = """
import torch
from torch import nn
SHIFT = 1

def bent(x):
    return torch.relu(x) + SHIFT

class Net(nn.Module):
    def forward(self, x):
        return [bent(part) for part in [x]][0]

class Preparation:
    def __init__(self, size):
        self.size = size
    def sized(self, size):
        self.size = size
        return self
    def __call__(self, rows):
        return torch.stack([bent(torch.tensor(row)) for row in rows]) * self.size

def prepare(rows, size=3):
    return Preparation(size)(rows)

"""


def of_notebook(end, old="", new=""):
    names = {"__name__": "notebook"}
    exec(NOTEBOOK.replace(old, new), names)
    return eval(end, names)


class Ordered(nn.Module):
    """Calls its parts in the order of a list."""

    def __init__(self, turned):
        super().__init__()
        self.parts = nn.ModuleList([net(), net()])
        self.order = [self.parts[1], self.parts[0]] if turned else [*self.parts]


OTHERS = {
    "plain": net,
    "ablation": hooked(lambda: lambda m, i, o: o * 0),
    "another factor": hooked(lambda: lambda m, i, o: o * 1),
    "another layer": hooked(lambda: lambda m, i, o: o * 0, part=1),
    "pre-hook": hooked(lambda: lambda m, i: (i[0] * 2,), "forward_pre_hook"),
    "another pre-hook": hooked(lambda: lambda m, i: (i[0] * 3,), "forward_pre_hook"),
    "keywords": hooked(lambda: lambda m, a, k, o=None: None, with_kwargs=True),
    "always": hooked(lambda: lambda m, a, k, o=None: None, always_call=True),
    "partial": hooked(lambda: functools.partial(add, vector=ONES)),
    "another partial": hooked(lambda: functools.partial(add, vector=ZEROS)),
    "closure": hooked(lambda: adding(ONES)),
    "another closure": hooked(lambda: adding(ZEROS)),
    "bound method": hooked(lambda: Steering(ONES).add),
    "another bound method": hooked(lambda: Steering(ZEROS).add),
    "object": hooked(lambda: Steering(ONES)),
    "another object": hooked(lambda: Steering(ZEROS)),
    "slots": hooked(lambda: Scale(2)),
    "another in slots": hooked(lambda: Scale(3)),
    "forward of an instance": having("forward", lambda: lambda x: x.new_ones(len(x), 16)),
    "another forward": having("forward", lambda: lambda x: x.new_zeros(len(x), 16)),
    "tensor": having("vector", lambda: torch.ones(3)),
    "another tensor": having("vector", lambda: torch.zeros(3)),
    "list of tensors": having("vector", lambda: [torch.ones(3)]),
    "another list": having("vector", lambda: [torch.zeros(3)]),
    "sparse": having("vector", lambda: torch.eye(3).to_sparse()),
    "another sparse": having("vector", lambda: (2 * torch.eye(3)).to_sparse()),
    "method of a tensor": having("function", lambda: torch.ones(3).add),
    "of another tensor": having("function", lambda: torch.zeros(3).add),
    "object of a package": having("function", lambda: np.vectorize(lambda x: x)),
    "another of a package": having("function", lambda: np.vectorize(lambda x: -x)),
    "order": lambda: Ordered(False),
    "another order": lambda: Ordered(True),
    "layer": lambda: sequence(nn.ReLU()),
    "another class of layer": lambda: sequence(nn.Tanh()),
    "options in the repr": lambda: sequence(nn.LayerNorm(4, eps=0.1)),
    "other options in the repr": lambda: sequence(nn.LayerNorm(4, eps=0.2)),
    "attention": attending,
    "one head": lambda: attending(nhead=1),
    "another activation": lambda: attending(activation=torch.nn.functional.gelu),
    "option": Scaled,
    "another option": lambda: Scaled(3.0),
    "an option that is set": lambda: Scaled().set_scale(4.0),
    "function of a user": lambda: Scaled(function=lambda x: x),
    "another function of a user": lambda: Scaled(function=lambda x: -x),
    "forward of a notebook": lambda: of_notebook("Net()"),
    "another forward of a notebook": lambda: of_notebook("Net()", "[0]", "[-1] + 1"),
    "a function that forward names": lambda: of_notebook("Net()", "relu", "tanh"),
    "a constant that it names": lambda: of_notebook("Net()", "SHIFT = 1", "SHIFT = 2"),
    "no preparation": sequence,
    "preparation by PyTorch": lambda: (sequence(), torch.tensor),
    "preparation by two": lambda: (sequence(), times(2)),
    "preparation by three": lambda: (sequence(), times(3)),
    "function that prepares": lambda: (sequence(), of_notebook("prepare")),
    "other code that it calls": lambda: (sequence(), of_notebook("prepare", "* self", "+ self")),
    "other default": lambda: (sequence(), of_notebook("prepare", "size=3", "size=4")),
    "object that prepares": lambda: (sequence(), of_notebook("Preparation(1)")),
    "another object that prepares": lambda: (sequence(), of_notebook("Preparation(2)")),
    "its method": lambda: (sequence(), of_notebook("Preparation(2).__call__")),
    "its attribute": lambda: (sequence(), of_notebook("Preparation(2).sized(5)")),
}


def identity(make):
    model = make()
    return feature_identity(*model) if isinstance(model, tuple) else feature_identity(model, None)


def test_each_thing_that_runs_is_another_identity():
    found = {name: str(identity(make)) for name, make in OTHERS.items()}
    assert len(set(found.values())) == len(OTHERS)
    assert found == {name: str(identity(make)) for name, make in OTHERS.items()}


def test_another_process_gives_the_same_identities():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_model_identity import OTHERS, identity\n"
        "print([identity(make) for make in OTHERS.values()])"
    )
    call = [sys.executable, "-W", "ignore", "-c", code, __file__.rpartition("/")[0]]
    found = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    assert found.strip() == str([identity(make) for make in OTHERS.values()])


def test_modes_and_replaced_functions_are_another_identity(monkeypatch):
    found = [identity(net)]
    for register in (register_module_forward_hook, register_module_forward_pre_hook):
        handle = register(lambda module, *arguments: None)
        found.append(identity(net))
        handle.remove()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found.append(identity(net))
    with monkeypatch.context() as patch:
        forward = nn.Linear.forward
        patch.setattr(nn.Linear, "forward", lambda self, x: 2 * forward(self, x))
        found.append(identity(net))
    with monkeypatch.context() as patch:
        relu = torch.nn.functional.relu
        patch.setattr(torch.nn.functional, "relu", lambda *x, **options: 2 * relu(*x, **options))
        found.append(identity(net))
    assert len({str(words) for words in found}) == len(found)
    assert found[1]["hooks"] == ["all modules: <lambda>"]
    assert found[3]["context"] == ["autocast of cpu torch.bfloat16"]
    assert identity(net) == found[0]


def by_entry(model, seen):
    def hook(module, inputs, output):
        seen[f"{module} {len(seen)}"] = output.detach()

    return hook


def by_method(model, seen):
    return lambda module, inputs, output: seen.setdefault("all", []).append(output)


def by_attribute(model, seen):
    model.features, model.calls = [], 0

    def hook(module, inputs, output):
        model.features.append(output)
        model.calls += 1
        module.last = output

    return hook


def by_object(model, seen):
    recorder = Steering(0)
    return lambda module, inputs, output: recorder.note(output)


def by_itself(model, seen):
    def hook(module, inputs, output):
        hook.calls += 1

    hook.calls = 0
    return hook


def by_global(model, seen):
    def hook(module, inputs, output):
        global HOOK_CALLS
        HOOK_CALLS += 1

    return hook


HOOK_CALLS = 0


@pytest.mark.parametrize(
    "make", [by_entry, by_method, by_attribute, by_object, by_itself, by_global]
)
def test_what_a_hook_records_is_no_part_of_the_identity(make):
    model = net()
    model[0].register_forward_hook(make(model, {}))
    before = feature_identity(model, None)
    model(torch.from_numpy(SAMPLES))
    assert feature_identity(model, None) == before


def test_a_store_refuses_a_model_with_other_hooks(tmp_path):
    plain = rs.extract_features(net(), SAMPLES, tmp_path / "a", progress=False)
    ablated = net()
    loaded = load_model(ablated)
    ablated[0].register_forward_hook(lambda module, inputs, output: torch.sin(5 * output))
    for model in (ablated, loaded):
        with pytest.raises(ValueError, match=r"another model \(hooks None.*hooks run with it"):
            rs.extract_features(model, SAMPLES, tmp_path / "a", progress=False)
    other = rs.extract_features(ablated, SAMPLES, tmp_path / "b", progress=False)
    assert not np.array_equal(other.last.source, plain.last.source)
    models = [("plain", net()), ("ablated", ablated)]
    inputs = rs.compare_models(models, SAMPLES, measures="cka", progress=False).provenance["inputs"]
    assert "; ablated runs with 1 hook (0: " in inputs


def test_the_state_of_a_model_is_no_part_of_its_identity(tmp_path):
    model, options = Scaled(), {"layers": ["block"], "progress": False}
    rs.extract_features(model, SAMPLES, tmp_path, **options)
    assert model.calls > 0
    rs.extract_features(model, SAMPLES, tmp_path, pool=["mean", "flatten"], **options)
    model.note = "after"
    with pytest.raises(ValueError, match="options or code changed since"):
        rs.extract_features(model, SAMPLES, tmp_path, **options)


def test_an_edited_file_is_another_model_where_the_model_runs_the_edited_lines(tmp_path):
    file = tmp_path / "mine.py"
    text = f"{NOTEBOOK}def pair():\n    torch.manual_seed(0)\n"
    text += "    return nn.Sequential(Net(), nn.Linear(6, 2)), prepare\n"
    call = (f"{file}:pair", SAMPLES, tmp_path / "store")
    for unchanged in (text, text, f"{text}\ndef unrelated():\n    return 1\n"):
        file.write_text(unchanged)
        rs.extract_features(*call, progress=False)
    file.write_text(text.replace("relu", "tanh"))
    with pytest.raises(ValueError, match=r"another model .*choose another name or folder"):
        rs.extract_features(*call, progress=False)


@pytest.mark.filterwarnings("ignore:torch\\.")
def test_weights_of_quantised_layers_count():
    engine = torch.ao.nn.quantized.dynamic.Linear
    layers = [engine(4, 3) for _ in range(2)]
    for factor, layer in enumerate(layers, 1):
        weight = torch.quantize_per_tensor(torch.eye(4)[:3] * factor / 2, 0.1, 0, torch.qint8)
        layer.set_weight_bias(weight, torch.zeros(3))
    assert len({model_facts(layer)["sha256"] for layer in layers}) == 2
