"""Models by their folder, name or file, ready to run on samples."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn

from resemblance.models import LoadedModel, load_model, load_samples
from resemblance.models.hooks import extract_module_features
from resemblance.models.loading import make_untrained_copy

TEXTS = ["a film", "a very good film", "no"]
SIZES = {
    "vocab_size": 12,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
}


def tokenizer(**special):
    words = ["[UNK]", "[PAD]", "[END]", "a", "very", "good", "film"]
    backend = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]", **special
    )


@pytest.fixture(scope="module")
def bert():
    return transformers.BertModel(transformers.BertConfig(**SIZES))


@pytest.fixture(scope="module")
def folder(bert, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny-bert"
    bert.save_pretrained(path)
    tokenizer(pad_token="[PAD]").save_pretrained(path)
    return path


def layers_of(loaded, samples):
    batches = [loaded.prepare(samples.batch(i, i + 2)) for i in range(0, len(samples), 2)]
    return extract_module_features(loaded.module, batches, loaded.blocks, outputs=False).layers


# ------------------------------------------------------------------------------------- transformers


def test_a_folder_of_transformers(folder, bert):
    samples = load_samples(TEXTS)
    loaded = load_model(folder, samples=samples, device="cpu")
    assert loaded.name == "tiny-bert"
    assert loaded.blocks == ("embeddings", "encoder.layer.0", "encoder.layer.1")
    assert not loaded.module.training
    batch = loaded.prepare(TEXTS)
    assert batch["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    assert batch["input_ids"][1].tolist() == [3, 4, 5, 6]
    layers = layers_of(loaded, samples)
    assert [layer.shape for layer in layers.values()] == [(3, 8)] * 3
    with torch.no_grad():
        alone = bert.eval()(torch.tensor([[3, 6]])).last_hidden_state.mean(1)
    row = np.asarray(layers["encoder.layer.1"].source)[0]
    np.testing.assert_allclose(row, alone[0], rtol=1e-4, atol=1e-5)
    assert load_model(f"hf:{folder}", samples=samples).blocks == loaded.blocks


def test_what_is_recorded(folder, bert):
    facts = load_model(folder, samples=load_samples(TEXTS), device="cpu").facts
    json.dumps(facts)
    assert facts["source"] == str(folder)
    assert facts["class"].endswith("BertModel")
    assert facts["parameters"] == sum(p.numel() for p in bert.parameters())
    assert (facts["dtype"], facts["device"], facts["max_length"]) == ("float32", "cpu", 16)
    assert facts["versions"]["transformers"] == transformers.__version__
    assert facts["sha256"] == load_model(bert).facts["sha256"]
    other = copy.deepcopy(bert)
    assert facts["sha256"] == load_model(other).facts["sha256"]
    with torch.no_grad():
        next(other.parameters())[0, 0] += 1
    assert facts["sha256"] != load_model(other).facts["sha256"]


def test_what_does_not_fit_the_samples_is_refused(folder, bert, subtests):
    texts, images = load_samples(TEXTS), load_samples([Image.new("RGB", (4, 4))])
    for model, samples, message in (
        (bert, texts, r"has no processor for texts; pass \(model, tok"),
        ((bert, tokenizer()), images, "comes with a tokenizer, which cannot read images"),
        (folder, images, "it may not be a model of images; choose other data"),
        ((bert, 1, 2), None, "3 objects are no model"),
        ((bert, 1), None, "must be a tokenizer, a processor .*; got int"),
        ("no/such/folder", None, "'no/such/folder' is no model; model may be a folder with confi"),
        ("timm:", None, "'timm:' is no model"),
        ("model.onnx", None, "'model.onnx' is no model"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            load_model(model, samples=samples)


def test_a_decoder_without_padding_is_padded_by_its_end():
    sizes = {"vocab_size": 12, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 3}
    gpt = transformers.GPT2Model(transformers.GPT2Config(**sizes))
    words = tokenizer(eos_token="[END]", padding_side="left")
    loaded = load_model((gpt, words), samples=load_samples(TEXTS))
    batch = loaded.prepare(TEXTS)
    assert batch["input_ids"].tolist() == [[3, 6, 2], [3, 4, 5], [0, 2, 2]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0]]
    assert loaded.facts["padded with"] == "[END]"
    assert loaded.facts["max_length"] == 3
    assert words.pad_token is None  # that of the caller is as it was
    last = extract_module_features(gpt, [batch], "blocks", pool="last", outputs=False).last
    with torch.no_grad():
        alone = gpt.eval().h[0](gpt.drop(gpt.wte.weight[None, [3, 6]] + gpt.wpe.weight[None, :2]))
    alone = alone[0] if isinstance(alone, tuple) else alone
    np.testing.assert_allclose(np.asarray(last.source)[0], alone[0, -1], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"no token to pad with"):
        load_model((gpt, tokenizer()))


def test_a_model_of_images_with_its_processor(tmp_path):
    sizes = {key: value for key, value in SIZES.items() if key[0] not in "vm"}
    config = transformers.ViTConfig(**sizes, image_size=8, patch_size=4)
    transformers.ViTModel(config).save_pretrained(tmp_path)
    about = {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(about))
    samples = load_samples([Image.new("RGB", (12, 10), (i, 0, 0)) for i in (0, 90, 250)])
    loaded = load_model(tmp_path, samples=samples)
    assert loaded.prepare(samples.batch(0, 3))["pixel_values"].shape == (3, 3, 8, 8)
    assert [layer.shape for layer in layers_of(loaded, samples).values()] == [(3, 8)] * 3
    arrays = load_model(tmp_path, samples=load_samples(np.zeros((2, 3, 8, 8))))
    assert arrays.prepare(np.zeros((2, 3, 8, 8))).dtype == torch.float32


def test_a_tokenizer_that_is_not_that_of_the_model(tmp_path, subtests):
    samples, words = load_samples(TEXTS), tokenizer(pad_token="[PAD]")

    def saved(name, vectors, write=True):
        config = transformers.BertConfig(**{**SIZES, "vocab_size": vectors})
        transformers.BertModel(config).save_pretrained(tmp_path / name)
        if write:
            words.save_pretrained(tmp_path / name)
        return tmp_path / name

    folders = {
        saved("none", 400, write=False): r"holds no tokenizer; .*tokenizer.save_pretrained",
        saved("other", 400): r"has 7 entries, and the model 400 word vectors.*save_pretrained",
        saved("few", 5): r"ids up to 6, the model has 5 word vectors",
    }
    for folder, message in folders.items():
        with subtests.test(folder.name), pytest.raises(ValueError, match=message):
            load_model(folder, samples=samples)
    pair = (transformers.BertModel.from_pretrained(tmp_path / "other"), words)
    assert load_model(("mine", pair), samples=samples).name == "mine"
    with pytest.warns(UserWarning, match=r"mine does not know 3 of 4 tokens"):
        load_model(("mine", pair), samples=load_samples(["ein guter film", "nein"]))


def test_texts_that_are_cut_are_counted(folder, tmp_path):
    texts = load_samples(["a very good film " * 5, "a film", "film " * 16])
    facts = load_model(folder, samples=texts).facts
    assert (facts["texts cut"], facts["max_length"]) == (1, 16)
    assert "texts cut" not in load_model(folder, samples=load_samples(TEXTS)).facts
    offset = transformers.RobertaModel(transformers.RobertaConfig(**SIZES))  # from pad + 1 on
    pair = offset, tokenizer(pad_token="[PAD]")
    assert load_model(("offset", pair), samples=texts).facts["max_length"] == 14
    shutil.copytree(folder, tmp_path / "st")
    (tmp_path / "st" / "sentence_bert_config.json").write_text('{"max_seq_length": 3}')
    (tmp_path / "st" / "1_Pooling").mkdir()
    modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (tmp_path / "st" / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    facts = load_model(tmp_path / "st", samples=texts).facts
    assert (facts["texts cut"], facts["max_length"], facts["its pooling"]) == (2, 3, "cls")


def test_folders_that_cannot_be_read(folder, tmp_path):
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    with pytest.raises(ValueError, match=r"cannot be read by transformers.AutoModel .*; check its"):
        load_model(tmp_path)
    weights = load_file(folder / "model.safetensors")
    few = {name: weight for name, weight in weights.items() if "encoder" not in name}
    save_file(few, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks \d+ weights of a BertModel.*would be random"):
        load_model(tmp_path)


def test_a_head_that_a_checkpoint_lacks_is_recorded(tmp_path):
    model = transformers.BertForMaskedLM(transformers.BertConfig(**SIZES))
    model.save_pretrained(tmp_path)
    facts = load_model(tmp_path).facts
    assert facts["weights drawn at random"] == ["pooler.dense.bias", "pooler.dense.weight"]


def test_of_an_encoder_and_a_decoder_the_encoder(tmp_path):
    sizes = {"vocab_size": 12, "d_model": 8, "num_layers": 1, "num_heads": 2, "d_kv": 4, "d_ff": 8}
    transformers.T5Model(transformers.T5Config(**sizes)).save_pretrained(tmp_path)
    tokenizer(pad_token="[PAD]").save_pretrained(tmp_path)
    loaded = load_model(tmp_path, samples=load_samples(TEXTS))
    assert loaded.facts["part"] == "encoder"
    assert list(layers_of(loaded, load_samples(TEXTS))) == ["embed_tokens", "block.0"]


def trained(module):
    """Change all weights of a module, as a training does."""
    with torch.no_grad():
        for weights in module.parameters():
            weights += torch.randn_like(weights)
    return module


def test_untrained_copies(folder, subtests):
    """No weight stays; a seed draws the same; what cannot be drawn is refused."""
    sizes = {"vocab_size": 12, "d_model": 8, "num_layers": 1, "num_heads": 2, "d_kv": 4, "d_ff": 8}
    models = {
        "BERT": transformers.BertModel.from_pretrained(folder),
        "T5": transformers.T5Model(transformers.T5Config(**sizes)).get_encoder(),
        "attention": nn.TransformerEncoderLayer(8, 2, 16),
        "maps": nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)),
    }
    for name, module in models.items():
        with subtests.test(name):
            loaded = load_model(trained(module))
            one, same, other = (make_untrained_copy(loaded, "new", seed) for seed in (0, 0, 1))
            assert one.facts["sha256"] == same.facts["sha256"]
            assert one.facts["sha256"] not in (loaded.facts["sha256"], other.facts["sha256"])
            weights = dict(one.module.named_parameters())
            for key, before in module.named_parameters():
                assert not torch.equal(weights[key], before), key
    drawn = make_untrained_copy(load_model(models["BERT"]), "new", 0).module
    assert float(drawn.pooler.dense.weight.detach().std()) < 0.1  # as the configuration has it
    bare = nn.Linear(2, 2)
    bare.scale = nn.Parameter(torch.randn(3))
    with pytest.raises(ValueError, match=r"Linear cannot be re-initialised.* scale; pass"):
        make_untrained_copy(load_model(bare), "new", 0)


# --------------------------------------------------------------------------------- files and others


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.act = nn.Linear(3, 3), nn.ReLU()

    def forward(self, x):
        return self.act(self.linear(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def test_modules_and_arrays():
    model, samples = Network().train(), load_samples(np.arange(12.0).reshape(4, 3))
    loaded = load_model(model, samples=samples)
    assert (loaded.name, loaded.blocks) == ("Network", ("blocks.0", "blocks.1"))
    assert model.training  # it is the caller's
    assert loaded.prepare(samples.batch(0, 2)).dtype == torch.float32
    assert load_model(model.double()).prepare(np.zeros((1, 3), ">f4")).dtype == torch.float64
    assert load_model(model).prepare(np.zeros((1, 3), np.uint8)).dtype == torch.uint8
    assert load_model(model, samples=load_samples([torch.eye(3)])).prepare is None
    pair = load_model(
        (model, lambda texts: torch.zeros(len(texts), 3)), samples=load_samples(["a"])
    )
    assert pair.prepare(["a", "b"]).shape == (2, 3)


class Code:
    """An object whose pickle makes a folder when it is read."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def write_changed(source, target, change):
    """Copy an archive with other entries: ``change`` maps names to bytes, and returns the same."""
    with zipfile.ZipFile(source) as good, zipfile.ZipFile(target, "w") as bad:
        entries = {name: good.read(name) for name in good.namelist()}
        for name, content in change(entries).items():
            bad.writestr(name, content)
    return target


def test_an_exported_program_runs_no_code(tmp_path, monkeypatch, subtests):
    x, pickled = torch.randn(4, 3), io.BytesIO()
    torch.export.save(torch.export.export(Network().eval(), (x,)), tmp_path / "net.pt2")
    torch.save(((Code(tmp_path / "ran"),), {}), pickled)
    names = ("data/sample_inputs/model.pt", "data/constants/opaque_obj_0", "data/aotinductor/a.so")
    for number, name in enumerate(names):
        added = {f"net/{name}": pickled.getvalue()}
        file = tmp_path / f"bad{number}.pt2"
        write_changed(tmp_path / "net.pt2", file, lambda old, added=added: old | added)
        monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", str(number % 2))
        with subtests.test(name), pytest.raises(ValueError, match=r"cannot be read .*tensors only"):
            load_model(file)
        assert not (tmp_path / "ran").exists()
        assert os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == str(number % 2)
    assert load_model(tmp_path / "net.pt2").blocks == ("blocks.0", "blocks.1")


def test_expressions_in_an_exported_program_are_arithmetic(tmp_path, subtests):
    class Halved(nn.Module):
        def forward(self, x, y):
            both = torch.cat([x, y])
            return both[: both.shape[0] // 2]

    x, rows = torch.randn(4, 3), [{0: torch.export.Dim(name)} for name in ("n", "m")]
    program = torch.export.export(Halved(), (x, torch.randn(6, 3)), dynamic_shapes=tuple(rows))
    torch.export.save(program, tmp_path / "net.pt2")
    assert load_model(tmp_path / "net.pt2").module(x, torch.randn(6, 3)).shape == (5, 3)
    run = f"__import__('os').mkdir({str(tmp_path / 'ran')!r})"
    texts = (run, f'Max("{run}")', "Symbol.__mro__", "(lambda: 1)()", "f(1)", "\xe9", "1\f")
    for text in texts:
        quoted = json.dumps(text).encode().replace(b"\\", rb"\\")

        def with_text(entries, quoted=quoted):
            (name,) = (name for name in entries if name.endswith("model.json"))
            changed = re.sub(rb'(?<="expr_str": )"[^"]*"', quoted, entries[name])
            return entries | {name: changed}

        file = write_changed(tmp_path / "net.pt2", tmp_path / "bad.pt2", with_text)
        with subtests.test(text), pytest.raises(ValueError, match=r"expr_str .*may run code"):
            load_model(file)
        assert not (tmp_path / "ran").exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_files_that_cannot_be_watched_or_may_run_code(tmp_path, subtests):
    script = torch.jit.trace(Network().eval(), torch.randn(2, 3))
    torch.jit.save(script, tmp_path / "net.ts")
    torch.save(Network().state_dict(), tmp_path / "net.pt")
    (tmp_path / "net.pkl").write_bytes(pickle.dumps(3))
    for model, message in (
        (tmp_path / "net.ts", "is TorchScript, which does not show .* as file.py:fun"),
        (tmp_path / "net.pt", "is a pickle, which may run code .*; write a"),
        (tmp_path / "net.pkl", "is a pickle"),
        (script, r"ScriptModule|cannot be read: it is TorchScript"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            load_model(model)


def test_functions_in_files(tmp_path):
    file = tmp_path / "nets.py"
    file.write_text(
        "import torch\ndef plain():\n    return torch.nn.Linear(3, 2)\n"
        "def pair():\n    return plain(), lambda texts: torch.ones(len(texts), 3)\n"
        "def word():\n    return 'x'\ndef nothing():\n    return None\n"
    )
    plain = load_model(f"{file}:plain")
    assert (plain.name, plain.blocks, plain.module.training) == ("plain", ("model",), False)
    assert plain.facts["source"] == f"{file}:plain"
    pair = load_model(f"{file}:pair", samples=load_samples(TEXTS), name="two")
    assert (pair.name, pair.prepare(TEXTS).shape) == ("two", (3, 3))
    assert load_model(pair) == pair
    for function, message in {
        "word": r"returns 'x'; name that as the model",
        "nothing": r"is a NoneType, not a torch.nn.Module",
        "other": r"has no function 'other'",
    }.items():
        with pytest.raises(ValueError, match=message):
            load_model(f"{file}:{function}")


NEIGHBORS = {
    "net.py": "from torch import nn\nfrom parts.sizes import WIDTH\n\n"
    "class Net(nn.Linear):\n    def __init__(self):\n        super().__init__(4, WIDTH)\n",
    "parts/__init__.py": "",
    "parts/sizes.py": "WIDTH = {width}\n",
    "late.py": "from net import Net\n\ndef made():\n    return Net()\n",
    "types.py": "raise AssertionError('a module of Python')\n",
    "resemblance/__init__.py": "raise AssertionError('the name of this package')\n",
    "models.py": "import types\nimport resemblance.data.joining\nfrom net import Net\n\n"
    "def direct():\n    return Net()\n\n"
    "def inside():\n    import late\n    model = late.made()\n    assert isinstance(model, Net)\n"
    "    return model\n",
}


@pytest.mark.parametrize("function", ["direct", "inside"])
def test_a_file_imports_its_own_neighbors(tmp_path, function):
    sys.modules["net"] = elsewhere = ModuleType("net")
    elsewhere.__file__ = str(tmp_path / "net.py")
    before = list(sys.path), list(sys.meta_path)
    try:
        for width in (2, 3):
            folder = tmp_path / str(width)
            for name, text in NEIGHBORS.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text.replace("{width}", str(width)))
            loaded = load_model(f"{folder}/models.py:{function}")
            assert loaded.module.out_features == width
            assert list(loaded.blocks) == ["model"]
            assert not list(folder.rglob("*.pyc"))
        assert (sys.path, sys.meta_path) == before
        assert sys.modules["net"] is elsewhere
        assert not {"parts", "parts.sizes", "late"} & sys.modules.keys()
    finally:
        del sys.modules["net"]


def test_a_measure_in_a_file_has_neighbors_in_every_process(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from shifts import SHIFT\n\ndef shifted(x, y):\n    return x + SHIFT\n"
    )
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/run.py").write_text(
        "import sys, pickle, resemblance.base.user_modules as u\n"
        "m = u.load_user_file(sys.argv[1], u.user_module_name(sys.argv[1]))\n"
        "print(u.function_version(m.shifted), m.shifted(1, 1), 'shifts' in sys.modules)\n"
    )
    call = [sys.executable, str(tmp_path / "elsewhere/run.py"), str(tmp_path / "mine.py")]
    versions = []
    for shift in ("2.0", "3.0"):
        (tmp_path / "shifts.py").write_text(f"SHIFT = {shift}\n")
        run = subprocess.run(call, capture_output=True, text=True, cwd="/", check=True)
        version, *values = run.stdout.split()
        versions.append(version)
        assert values == [str(1 + float(shift)), "False"]
    assert versions[0] != versions[1]


def test_folders_near_a_model_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkpoints" / "final").mkdir(parents=True)
    (tmp_path / "checkpoints" / "final" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"did you mean checkpoints/final\?"):
        load_model("checkpoint/final")
    with pytest.raises(ValueError, match=r"no config.json, but checkpoints/final does"):
        load_model("checkpoints")
    for content, base in (('{"base_model_name_or_path": "org/base"}', "org/base"), ("{", "its")):
        (tmp_path / "checkpoints" / "adapter_config.json").write_text(content)
        with pytest.raises(ValueError, match=rf"adapter of PEFT for {base}.*merge_and_unload\(\)"):
            load_model("checkpoints")


# --------------------------------------------------------------- timm and torchvision, as stand-ins


def transform(image):
    return torch.from_numpy(np.array(image)).float().mean((0, 1))


def module(name, **content):
    created = ModuleType(name)
    vars(created).update(content, __version__="0")
    return created


def test_timm(monkeypatch):
    def create_model(model_name, pretrained=False, **kwargs):
        if model_name != "tiny":
            raise RuntimeError("Unknown model")
        return Network() if pretrained else Network().double()

    def resolve_data_config(args=None, pretrained_cfg=None, model=None):
        assert model is not None
        return {"input_size": (3, 4, 4)}

    data = module(
        "timm.data",
        resolve_data_config=resolve_data_config,
        create_transform=lambda input_size, is_training=False: transform,
    )
    monkeypatch.setitem(sys.modules, "timm", module("timm", create_model=create_model, data=data))
    monkeypatch.setitem(sys.modules, "timm.data", data)
    samples = load_samples([Image.new("RGB", (4, 4), (i, 1, 2)) for i in range(3)])
    loaded = load_model("timm:tiny", samples=samples)
    assert (loaded.name, loaded.blocks) == ("tiny", ("blocks.0", "blocks.1"))
    assert loaded.prepare(samples.batch(0, 3)).tolist() == [[i, 1, 2] for i in range(3)]
    assert next(make_untrained_copy(loaded, "new", 0).module.parameters()).dtype == torch.float64
    with pytest.raises(ValueError, match=r"timm cannot load 'huge' .*Unknown model.*; check the"):
        load_model("timm:huge")


def test_torchvision(monkeypatch):
    def get_model(name, **config):
        return {"DEFAULT": Network(), None: Network().double()}[config["weights"]]

    weights = SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: transform))
    models_ = module("models", get_model=get_model, get_model_weights=lambda name: weights)
    monkeypatch.setitem(sys.modules, "torchvision", module("torchvision", models=models_))
    monkeypatch.setitem(sys.modules, "torchvision.models", models_)
    samples = load_samples([Image.new("RGB", (4, 4), (9, 1, 2))])
    loaded = load_model("torchvision:resnet18", samples=samples, name="net")
    assert (loaded.name, loaded.facts["source"]) == ("net", "torchvision:resnet18")
    assert next(make_untrained_copy(loaded, "new", 0).module.parameters()).dtype == torch.float64
    assert [layer.shape for layer in layers_of(loaded, samples).values()] == [(1, 3)] * 2
    assert isinstance(loaded, LoadedModel)
