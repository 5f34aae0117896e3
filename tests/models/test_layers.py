"""Which modules of a model are its layers, and which axis of a layer has the samples."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm
from torch.nn.utils.rnn import pack_padded_sequence
from transformers import (
    BertConfig,
    BertModel,
    CLIPConfig,
    CLIPModel,
    T5Config,
    T5Model,
    Wav2Vec2Config,
    Wav2Vec2Model,
)

import resemblance as rs
from resemblance.models import load_model
from resemblance.models.hooks import extract_module_features
from resemblance.models.modules import block_names, describe_blocks

ROWS = torch.linspace(-2, 2, 12 * 6).reshape(12, 6).mul(7).sin()
STEPS = torch.linspace(-2, 2, 24 * 8 * 6).reshape(24, 8, 6).mul(7).sin()  # samples, time, features
CHOOSE = "choose with layers= (--layers)"
SIZES = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
}  # fmt: skip


def numbers(features, layer):
    return np.asarray(features.layers[layer].source)


def plain():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))


# ------------------------------------------------------------------------------- parts and wrappers


class Adapted(nn.Module):
    """A layer with an adapter, in the form of PEFT."""

    def __init__(self, layer):
        super().__init__()
        self.base_layer, self.lora_A = layer, nn.ModuleDict({"default": nn.Linear(6, 2)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(2, layer.out_features)})

    def forward(self, x):
        return self.base_layer(x) + self.lora_B["default"](self.lora_A["default"](x))


class Peft(nn.Module):
    """A model with adapters, in the form of PEFT."""

    def __init__(self, model):
        super().__init__()
        self.base_model, self.peft_config = nn.Module(), {}
        self.base_model.model = model

    def forward(self, x):
        return self.base_model.model(x)


class Holding(nn.Linear):
    """A layer with a part that is never called."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.holder = nn.Module()
        self.holder.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return super().forward(x) * self.holder.scale


def compiled(model, called=False):
    model = torch.compile(model, backend="eager")
    if called:
        model(ROWS)
    return model


FORMS = {
    "weight normalisation": lambda: nn.Sequential(
        weight_norm(nn.Linear(6, 8)), nn.ReLU(), weight_norm(nn.Linear(8, 4))
    ),
    "spectral, orthogonal": lambda: nn.Sequential(
        spectral_norm(nn.Linear(6, 8)), nn.ReLU(), orthogonal(nn.Linear(8, 4))
    ),
    "parts that are never called": lambda: nn.Sequential(
        Holding(6, 8), nn.ReLU(), Holding(8, 4)
    ),
    "data parallel": lambda: nn.DataParallel(plain()),
    "compiled": lambda: compiled(plain()),
    "compiled and called": lambda: compiled(plain(), called=True),
    "both": lambda: nn.DataParallel(compiled(plain(), called=True)),
    "an average of weights": lambda: torch.optim.swa_utils.AveragedModel(plain()),
    "adapters": lambda: Peft(nn.Sequential(Adapted(nn.Linear(6, 8)), nn.ReLU(), nn.Linear(8, 4))),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_model_changes_no_layer(form):
    model = FORMS[form]()
    features = extract_module_features(model, [ROWS])
    assert list(features.layers) == ["0", "1", "2"]
    np.testing.assert_allclose(numbers(features, "2"), model(ROWS).detach(), rtol=1e-5, atol=1e-6)
    for prefix in ("", "module.", "_orig_mod.", "base_model.model."):
        assert list(extract_module_features(model, [ROWS], f"{prefix}[02]").layers) == ["0", "2"]
    names = ("adapters", "both", "an average of weights")
    assert block_names(load_model(model).module) == ("0", "1", "2") or form in names


@pytest.mark.filterwarnings("ignore:torch", "ignore:Please use quant_min", "ignore:.*observer")
def test_quantised_layers():
    model = torch.ao.quantization.quantize_dynamic(plain(), {nn.Linear})
    assert list(extract_module_features(model, [ROWS]).layers) == ["0", "1", "2"]
    stubs = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
    model = nn.Sequential(stubs[0], *plain(), stubs[1]).eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(model)
    prepared(ROWS)
    assert list(extract_module_features(prepared, [ROWS]).layers) == ["0", "1", "2", "3", "4"]
    features = extract_module_features(torch.ao.quantization.convert(prepared), [ROWS])
    assert list(features.layers) == ["0", "1", "2", "3", "4"]
    np.testing.assert_array_equal(numbers(features, "3"), numbers(features, "4"))
    assert np.abs(numbers(features, "4") - model(ROWS).detach().numpy()).max() < 0.1


class Answering(nn.Linear):
    def forward(self, x):
        return SimpleNamespace(last_hidden_state=super().forward(x), loss=None)


def test_the_tensor_of_an_object_without_keys_is_taken():
    model = nn.ModuleDict({"block": Answering(6, 3)})
    model.forward = lambda x: model["block"](x).last_hidden_state
    features = extract_module_features(model, [ROWS], "block")
    np.testing.assert_allclose(numbers(features, "block"), model(ROWS).detach(), rtol=1e-6)


# --------------------------------------------------------------------------------------------blocks


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first, self.second = nn.Conv2d(size, size, 3, 1, 1), nn.Conv2d(size, size, 3, 1, 1)

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))) + x)


class Staged(nn.Module):
    def __init__(self, make=Block):
        super().__init__()
        self.stem, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)
        self.layer1, self.layer2, self.layer3 = make(4), make(4), make(4)

    def forward(self, x):
        return self.fc(self.layer3(self.layer2(self.layer1(self.stem(x)))).mean((2, 3)))


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = Staged(), nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


class Functional(nn.Module):
    """A convolutional network whose activations are functions."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.fc = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3), nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(torch.relu(self.conv2(torch.relu(self.conv1(x)))).mean((2, 3)))


class Featured(nn.Module):
    """Two plain lists, as in AlexNet, or a list and another part."""

    def __init__(self, classifier=None):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
        linear = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)
        self.classifier = classifier or nn.Sequential(*linear)


CLASSIFIER = tuple(f"classifier.{i}" for i in range(3))
STAGES = ("layer1", "layer2", "layer3")
BLOCKS = {
    "stages": (Staged, STAGES, f"blocks, without stem, fc; {CHOOSE}"),
    "stages that are lists": (
        lambda: Staged(lambda size: nn.Sequential(nn.Conv2d(size, size, 3, 1, 1), nn.ReLU())),
        STAGES, f"blocks, without stem, fc; {CHOOSE}",
    ),
    "stages inside": (
        Inside, tuple(f"backbone.{name}" for name in STAGES),
        f"blocks, without backbone.stem, backbone.fc, head; {CHOOSE}",
    ),
    "functions": (
        Functional, ("conv1", "conv2", "fc"),
        "every module without submodules, because no blocks were found, without activations "
        f"that are functions; {CHOOSE}",
    ),
    "two lists": (
        Featured, ("features.0", "features.1", "features.2", *CLASSIFIER),
        f"every module without submodules, because no blocks were found; {CHOOSE}",
    ),
    "a list and a part": (
        lambda: Featured(Block(4)),
        (*(f"features.{i}" for i in range(3)), "classifier.first", "classifier.second"),
        f"every module without submodules, because no blocks were found; {CHOOSE}",
    ),
    "sequence": (plain, ("0", "1", "2"), ""),
    "transformer": (
        lambda: BertModel(BertConfig(vocab_size=20, **SIZES)),
        ("embeddings", "encoder.layer.0", "encoder.layer.1"), f"blocks, without pooler; {CHOOSE}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BLOCKS)
def test_blocks_and_what_they_leave_out(case):
    make, names, words = BLOCKS[case]
    assert block_names(make()) == names
    assert describe_blocks(make()) == words


# ---------------------------------------------------------------------------------- axis of samples


class TimeFirst(nn.Module):
    """A model that takes samples first, around a part with time first."""

    def __init__(self, part, after=None):
        super().__init__()
        self.part, self.after = part, after or nn.Identity()

    def forward(self, x):
        result = self.part(x.transpose(0, 1))
        hidden = result[0] if isinstance(result, tuple) else result
        return self.after(hidden).mean(0)


RECURRENT = {
    "LSTM": lambda: nn.LSTM(6, 10), "GRU": lambda: nn.GRU(6, 10), "RNN": lambda: nn.RNN(6, 10),
    "layer": lambda: nn.TransformerEncoderLayer(6, 2, 8),
    "encoder": lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(6, 2, 8), 2, enable_nested_tensor=False
    ),
    "linear": lambda: nn.Linear(6, 10), "sequence": lambda: nn.Sequential(nn.Linear(6, 4)),
}  # fmt: skip


@pytest.mark.parametrize("size", [5, 1])
@pytest.mark.parametrize("part", RECURRENT)
def test_time_first_in_batches_of_any_size(part, size):
    model = TimeFirst(RECURRENT[part]()).eval()
    expected = torch.cat([model(batch) for batch in STEPS.split(size)]).detach()
    declared = {} if part not in ("linear", "sequence") else {"time_first": "part"}
    features = extract_module_features(model, STEPS.split(size), ["part"], **declared)
    np.testing.assert_allclose(numbers(features, "part"), expected, rtol=1e-4, atol=1e-6)
    if size > 1:  # else nothing proves it of what has no batch_first
        features = extract_module_features(model, STEPS.split(size), ["part", "after"])
        np.testing.assert_allclose(numbers(features, "after"), expected, rtol=1e-4, atol=1e-6)


class Positions(nn.Module):
    """Returns as many rows as there are steps, for any number of samples."""

    def __init__(self):
        super().__init__()
        self.inner, self.places = nn.Linear(6, 3), nn.Embedding(8, 3)

    def forward(self, x):
        return self.inner(x) + self.places(torch.arange(8))


def test_a_result_without_an_axis_of_samples_is_refused():
    assert list(extract_module_features(Positions(), STEPS.split(8)).layers) == ["inner"]
    for layer, time_first, message in (
        ("places", (), r"\(8, 3\) for 8 samples and \(8, 3\) for 2 .*no axis"),
        ("inner", "inner", "samples are the first axis; leave the layer out of time_first"),
        ("inner", "z", "no layer 'z'"),
    ):
        with pytest.raises(ValueError, match=message):
            extract_module_features(Positions(), STEPS.split(8), layer, time_first=time_first)


class Packed(nn.Module):
    """A recurrent network of sequences of several lengths."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 5, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1][0]


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_packed_sequences_are_pooled_over_their_steps(pool):
    model, x = Packed(), STEPS[:12]
    steps = [model.rnn(x[i : i + 1, : i % 4 + 2])[0][0] for i in range(12)]
    expected = torch.stack([part.mean(0) if pool == "mean" else part[-1] for part in steps])
    lengths = torch.arange(12) % 4 + 2
    features = extract_module_features(model, [(x, lengths)], pool=pool)
    np.testing.assert_allclose(numbers(features, "rnn"), expected.detach(), rtol=1e-4, atol=1e-6)


# ---------------------------------------------------------------------- channels, masks and pooling


def test_channels_of_one_dimensional_convolutions_are_no_tokens():
    model = nn.Sequential(
        nn.Conv1d(6, 5, 3), nn.BatchNorm1d(5), nn.ReLU(), nn.MaxPool1d(2), nn.AdaptiveAvgPool1d(2)
    ).eval()
    x = STEPS.transpose(1, 2)
    features = extract_module_features(model, [x])
    for i, name in enumerate(features.layers):
        expected = model[: i + 1](x).mean(2).detach()
        np.testing.assert_allclose(numbers(features, name), expected, rtol=1e-5, atol=1e-6)
    unclear = nn.Sequential(nn.Conv1d(6, 5, 3), nn.Identity(), nn.Flatten(), nn.Linear(30, 2))
    with pytest.warns(UserWarning, match=r"its layer '1' returns .*\(samples, channels, length\)"):
        extract_module_features(unclear, [x], "1")
    flat = extract_module_features(unclear, [x], "1", pool={"1": "flatten"})
    assert flat.last.shape == (24, 30)


WORDS = torch.arange(40).reshape(5, 8) % 19 + 1
MASK = (torch.arange(8) < torch.tensor([8, 3, 5, 8, 2])[:, None]).long()


def test_a_model_of_sound_reduces_its_mask():
    config = Wav2Vec2Config(
        **SIZES, conv_dim=(8, 8), conv_kernel=(5, 3), conv_stride=(4, 2), mask_time_prob=0.0,
        num_feat_extract_layers=2, feat_extract_norm="layer", num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    model = Wav2Vec2Model(config).eval()
    sound = torch.linspace(-9, 9, 4 * 160).reshape(4, 160).mul(5).sin()
    mask = (torch.arange(160) < torch.tensor([160, 80, 120, 50])[:, None]).long()
    batch = {"input_values": sound * mask, "attention_mask": mask}
    features = extract_module_features(model, [batch], "encoder.layers.*", outputs=False)
    with torch.no_grad():
        hidden = model(**batch, output_hidden_states=True).hidden_states[1]
    real = model._get_feature_vector_attention_mask(hidden.shape[1], mask)
    expected = (hidden * real[:, :, None]).sum(1) / real.sum(1)[:, None]
    np.testing.assert_allclose(
        numbers(features, "encoder.layers.0"), expected, rtol=1e-4, atol=1e-5
    )


def test_a_mask_belongs_to_its_own_tokens():
    config = T5Config(vocab_size=20, d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2)
    model = T5Model(config).eval()
    batch = {"input_ids": WORDS, "attention_mask": MASK, "decoder_input_ids": WORDS[:, :4]}
    layers = ["encoder.block.1", "decoder.block.1"]
    with pytest.warns(UserWarning, match="mask of 8 tokens does not apply to its layer 'decoder"):
        features = extract_module_features(model, [batch], layers, outputs=False)
    both = {**batch, "decoder_attention_mask": MASK[:, :4]}
    masked = extract_module_features(model, [both], layers, outputs=False)
    assert not np.allclose(numbers(masked, "decoder.block.1"), numbers(features, "decoder.block.1"))


def test_the_mask_of_texts_is_not_that_of_images():
    vision = {**SIZES, "image_size": 8, "patch_size": 4}
    text = {**SIZES, "vocab_size": 20, "max_position_embeddings": 8, "eos_token_id": 19}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=4)).eval()
    images = torch.linspace(-1, 1, 5 * 3 * 64).reshape(5, 3, 8, 8).sin()
    batch = {"input_ids": WORDS, "attention_mask": MASK, "pixel_values": images}
    layers = ["text_model.encoder.layers.1", "vision_model.encoder.layers.1"]
    with pytest.warns(UserWarning, match="mask of 8 tokens does not apply to its layer 'vision"):
        features = extract_module_features(model, [batch], layers, outputs=False)
    patches = model.vision_model.encoder(
        model.vision_model.pre_layrnorm(model.vision_model.embeddings(images))
    ).last_hidden_state
    np.testing.assert_allclose(
        numbers(features, layers[1]), patches.mean(1).detach(), rtol=1e-4, atol=1e-5
    )


def test_a_pooling_by_pattern(tmp_path):
    model = BertModel(BertConfig(vocab_size=20, **SIZES)).eval()
    batch = {"input_ids": WORDS, "attention_mask": MASK}
    pool = {"encoder.**": "cls", "encoder.layer.1": "last"}
    words = {"embeddings": "mean", "encoder.layer.0": "cls", "encoder.layer.1": "last"}
    direct = extract_module_features(model, [batch], "blocks", pool=pool, outputs=False)
    stored = rs.extract_features(model, [batch], tmp_path, pool=pool, progress=False)
    assert stored.traits["pooling by layer"] == words
    for layer, word in words.items():
        once = extract_module_features(model, [batch], layer, pool=word, outputs=False)
        np.testing.assert_array_equal(numbers(direct, layer), numbers(once, layer))
        np.testing.assert_array_equal(numbers(stored, layer), numbers(once, layer))
    with pytest.raises(ValueError, match=r"pool names 'encoder\.z', which is not among the layers"):
        rs.extract_features(model, [batch], tmp_path, pool={"encoder.z": "cls"}, progress=False)


def test_several_poolings_in_one_comparison():
    config = BertConfig(vocab_size=20, **SIZES)
    models = [(name, BertModel(config).eval()) for name in ("a", "b")]
    batches = [{"input_ids": WORDS, "attention_mask": MASK}]
    options = {"measures": "cka", "n_permutations": 9, "progress": False}
    result = rs.compare_models(models, batches, pool=["mean", "last"], **options)
    assert [name for name in result.rows if name.endswith("layer.1")] == [
        f"{model} {word}/encoder.layer.1" for model in "ab" for word in ("mean", "last")
    ]
    assert "mean over tokens and last token" in result.provenance["inputs"]
    once = rs.compare_models(models, batches, pool="last", **options)
    pair = [result.rows.index(f"{model} last/encoder.layer.1") for model in "ab"]
    same = [once.rows.index(f"{model}/encoder.layer.1") for model in "ab"]
    assert once["cka"][*same] == pytest.approx(result["cka"][*pair], abs=1e-12)
    with pytest.raises(ValueError, match="reinitialized needs a single pooling"):
        rs.compare_models(models, batches, pool=["mean", "last"], reinitialized=True)


class TwoInputs(nn.Module):
    """A layer of tokens; the model takes a mask beside them, by any name, and does not use it."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Linear(6, 5)

    def forward(self, x, attention_mask):
        return self.tokens(x)


class Masked(TwoInputs):
    def forward(self, x, **entries):
        return self.tokens(x)


@pytest.mark.parametrize(
    ("form", "shape"),
    [(tuple, (9,)), (dict, (9,)), (dict, (1, 1, 9)), (dict, (9, 1)), (dict, (1, 9))],
)
def test_a_mask_of_tokens_keeps_padding_out_by_name_and_by_place(form, shape):
    x, real = torch.randn(40, 9, 6), torch.arange(9) < torch.randint(2, 9, (40, 1))
    mask = real.reshape(40, *shape)
    batches = [{"x": x[i : i + 20], "attention_mask": mask[i : i + 20]} for i in (0, 20)]
    batches = [batch if form is dict else tuple(batch.values()) for batch in batches]
    model = TwoInputs()
    features = extract_module_features(model, batches, outputs=False)
    with torch.no_grad():
        tokens = (model.tokens(x) * real[..., None]).sum(1) / real.sum(1, keepdim=True)
    np.testing.assert_allclose(numbers(features, "tokens"), tokens, rtol=1e-4, atol=1e-6)


def test_what_tells_padding_and_keeps_none_out_is_named(subtests):
    x, mask = torch.randn(20, 9, 6), torch.arange(9) < torch.randint(2, 9, (20, 1))
    row, plain = mask[0], nn.Sequential(nn.Linear(6, 5))
    ungiven = "of the batch, which the model is not given,"
    for model, batch, words in (
        (Masked(), {"x": x, "padding_mask": mask}, "'padding_mask' .*"),
        (Masked(), {"x": x, "mask": mask}, "'mask' .*"),
        (Masked(), {"x": x, "lengths": mask.sum(1)}, "'lengths' .*"),
        (TwoInputs(), (x, row), r"'attention_mask' \(9,\) of the batch"),
        (TwoInputs(), {"x": x, "attention_mask": row}, r"'attention_mask' \(9,\) of the batch"),
        (TwoInputs(), {"x": x, "attention_mask": row[None]}, r"\(1, 9\) of the batch"),
        (plain, (x, row), rf"entry 1 \(9,\) {ungiven}"),
        (plain, (x, mask), rf"entry 1 \(20, 9\) {ungiven}"),
    ):
        said = f"{words} does not exclude padding from layer"
        with subtests.test(words), pytest.warns(UserWarning, match=said):
            extract_module_features(model, [batch], outputs=False)
    extract_module_features(plain, [(x, torch.arange(20) % 2)], outputs=False)  # labels


class Volumes(nn.Module):
    """A convolution of volumes, a layer of all positions, and a layer of samples."""

    def __init__(self):
        super().__init__()
        self.volumes, self.positions = nn.Conv3d(1, 3, 2), nn.Linear(3, 5)
        self.samples = nn.Linear(5, 4)

    def forward(self, x):
        maps = self.volumes(x)
        rows = self.positions(maps.flatten(2).transpose(1, 2).reshape(-1, 3))
        return self.samples(rows.reshape(len(x), -1, 5).mean(1))


def test_the_layers_that_the_default_leaves_out_are_named():
    torch.manual_seed(0)
    model, batch = Volumes(), torch.randn(10, 1, 4, 4, 4)
    with pytest.warns(UserWarning, match="left out") as said:
        features = extract_module_features(model, [batch], progress=False)
    assert list(features.layers) == ["samples"]
    volumes, positions = (str(warning.message) for warning in said)
    assert "left out, as 'volumes' (10, 3, 3, 3, 3) are neither tokens nor maps" in volumes
    assert "one row for each of 10 samples are left out: 'positions' (270, 5)" in positions
    options = {"layers": ["volumes"], "pool": "flatten"}
    assert "pass layers=['volumes'], pool=\"flatten\" for them" in volumes
    chosen = extract_module_features(model, [batch], **options, outputs=False, progress=False)
    assert chosen.layers["volumes"].shape == (10, 81)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch about its inner parts
def test_a_flat_exported_program_names_the_form_that_has_layers():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(6, 8), nn.ReLU()).eval(), torch.randn(30, 6)
    shapes = ({0: torch.export.Dim("samples", min=2)},)
    program = torch.export.export(net, (x,), dynamic_shapes=shapes)
    with pytest.raises(ValueError, match=r"pass torch\.export\.unflatten\(program\)"):
        extract_module_features(program.module(), [x], progress=False)
    features = extract_module_features(torch.export.unflatten(program), [x], progress=False)
    assert np.allclose(features.outputs, net(x).detach(), atol=1e-6)
    assert list(features.layers) == ["0", "1"]


def test_maps_of_a_linear_layer_have_their_channels_last():
    net = nn.Sequential(nn.Linear(3, 12), nn.Flatten(1))
    images = torch.randn(30, 16, 10, 3)
    with pytest.warns(UserWarning, match="layer '0' returns maps with channels last"):
        extract_module_features(net, [images], layers=["0"], outputs=False, progress=False)


def test_a_layer_is_kept_as_it_was_before_the_next_one_changes_it():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(inplace=True))
    features = extract_module_features(model, [ROWS])
    expected = model[0](ROWS).detach().numpy()
    np.testing.assert_allclose(numbers(features, "0"), expected, rtol=1e-5, atol=1e-6)
    assert (expected < 0).any()
