"""ONNX files as models: their layers equal the same computation in NumPy."""

from __future__ import annotations

import importlib.util
import warnings
from math import erf

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

import resemblance as rs
from resemblance.models import load_model, load_samples

QUIET = {"progress": False, "outputs": False}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 5)).astype(np.float32)


def write_onnx(path, nodes, weights, inputs, output, *, opset=17):
    """Write a graph; ``inputs``: shapes by name, of floats, or of integers for names of tokens."""
    kinds = {True: TensorProto.INT64, False: TensorProto.FLOAT}
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(name, kinds[name.endswith(("ids", "mask"))], shape)
            for name, shape in inputs.items()
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.save(model, path)
    return f"onnx:{path}"


def draw(*shape):
    return (RNG.standard_normal(shape) / 3).astype(np.float32)


def arrays_of(features):
    return {name: np.asarray(layer.source) for name, layer in features.layers.items()}


def assert_layers(features, expected):
    layers = arrays_of(features)
    assert list(layers) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(layers[name], values, rtol=1e-5, atol=1e-6, err_msg=name)


# ------------------------------------------------------------------------------ names and defaults


@pytest.fixture
def residual(tmp_path):
    """A network of three residual blocks with the names that ``prefix`` gives to nodes."""

    def write(style="plain", first="x", shape=("n", 5)):
        weights = {"inp.weight": draw(5, 8), "head.weight": draw(8, 3)}
        nodes = [helper.make_node("MatMul", [first, "inp.weight"], ["v0"], name="/inp/MatMul")]
        stream, values = "v0", {"v0": X @ weights["inp.weight"]}
        for k in range(3):
            a, b = f"blocks.{k}.fc1.weight", f"blocks.{k}.fc2.weight"
            weights |= {a: draw(8, 16), b: draw(16, 8)}
            for operator, inputs, value, place in (
                ("MatMul", [stream, a], f"a{k}", "fc1/"),
                ("Relu", [f"a{k}"], f"r{k}", "act/"),
                ("MatMul", [f"r{k}", b], f"b{k}", "fc2/"),
                ("Add", [stream, f"b{k}"], f"s{k}", ""),
            ):
                node = helper.make_node(operator, inputs, [value], name=f"/blocks.{k}/{place}Op")
                nodes.append(node)
            values[f"s{k}"] = (
                values[stream] + np.maximum(values[stream] @ weights[a], 0) @ weights[b]
            )
            stream = f"s{k}"
        nodes.append(
            helper.make_node("MatMul", [stream, "head.weight"], ["y"], name="/head/MatMul")
        )
        for node in nodes:
            if style == "metadata":
                parts = node.name.strip("/").split("/")[:-1]
                names = ["", *(".".join(parts[: k + 1]) for k in range(len(parts))), "op_1"]
                entry = {"key": "pkg.torch.onnx.name_scopes", "value": str(names)}
                node.metadata_props.add(**entry)
            node.name = node.name if style == "slashes" else ""
        if style == "plain":
            for node in nodes:
                node.input[:] = [name.replace(".", "_") for name in node.input]
            weights = {name.replace(".", "_"): values for name, values in weights.items()}
        path = tmp_path / f"{style}.onnx"
        return write_onnx(path, nodes, weights, {first: shape}, "y"), values

    return write


@pytest.mark.parametrize("style", ["slashes", "metadata", "weights"])
def test_blocks_have_the_names_of_the_exported_modules(residual, style):
    file, values = residual(style)
    loaded = load_model(file)
    assert loaded.name == style
    assert loaded.facts["layers of the model"].startswith("blocks, without inp, head, by the names")
    expected = {f"blocks.{k}": values[f"s{k}"] for k in range(3)}
    assert_layers(rs.extract_features(file, X, batch_size=5, **QUIET), expected)
    inner = arrays_of(rs.extract_features(file, X, layers="blocks.*.fc2", **QUIET))
    for k, stream in enumerate(("v0", "s0", "s1")):
        difference = values[f"s{k}"] - values[stream]
        np.testing.assert_allclose(inner[f"blocks.{k}.fc2"], difference, rtol=1e-4, atol=1e-5)


def test_without_names_the_residual_stream_is_the_default(residual):
    file, values = residual("plain")
    assert "enter or leave residual connections" in load_model(file).facts["layers of the model"]
    assert_layers(rs.extract_features(file, X, **QUIET), values)
    c = rs.compare_models({"a": file, "b": residual("slashes")[0]}, X, progress=False)
    assert (
        "a: the values that enter or leave residual connections, as the file names no blocks"
        in (c.provenance["inputs"])
    )
    assert "b: blocks, without inp, head, by the names in the file" in c.provenance["inputs"]


def test_a_chain_has_its_products_and_convolutions(tmp_path):
    weights = {"w": draw(4, 3, 3, 3), "v": draw(4, 2)}
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["maps"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["maps"], ["positive"]),
        helper.make_node("GlobalAveragePool", ["positive"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "v"], ["y"]),
    ]
    images = draw(6, 3, 7, 7)
    file = write_onnx(tmp_path / "cnn.onnx", nodes, weights, {"image": ("n", 3, 7, 7)}, "y")
    maps = torch.nn.functional.conv2d(
        torch.from_numpy(images), torch.from_numpy(weights["w"]), padding=1
    ).numpy()
    means = np.maximum(maps, 0).mean((2, 3))
    expected = {"maps": maps.mean((2, 3)), "y": means @ weights["v"]}
    features = rs.extract_features(file, images, progress=False)
    assert_layers(features, expected)
    np.testing.assert_array_equal(features.outputs, arrays_of(features)["y"])
    asked = {"maps": maps.max((2, 3)), "flat": means}
    pool = {"maps": "max", "flat": "mean"}
    assert_layers(rs.extract_features(file, images, layers=[*asked], pool=pool, **QUIET), asked)


# --------------------------------------------------------------------------------- several inputs


def normalised(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.fixture
def encoder(tmp_path):
    """A file of a post-norm encoder in which weights alone have names, and its layers in NumPy."""
    weights = {"emb.embeddings.word.weight": draw(9, 6), "emb.embeddings.type.weight": draw(2, 6)}
    words, kinds = weights
    nodes = [
        helper.make_node("Gather", [words, "input_ids"], ["words"]),
        helper.make_node("Gather", [kinds, "token_type_ids"], ["kinds"]),
        helper.make_node("Add", ["words", "kinds"], ["sum"]),
        helper.make_node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "last"], ["column"]),
    ]
    weights |= {"last": np.array([-1])}
    stream = "sum"
    for k in range(2):
        name = f"emb.encoder.layer.{k}"
        weights |= {f"{name}.dense.weight": draw(6, 6)}
        for part in ("weight", "bias"):
            start = np.ones if part == "weight" else np.zeros
            weights[f"{name}.norm.{part}"] = start(6, np.float32)
        nodes += [
            helper.make_node("MatMul", [stream, f"{name}.dense.weight"], [f"m{k}"]),
            helper.make_node("Erf", [f"m{k}"], [f"e{k}"]),
            helper.make_node("Mul", [f"e{k}", "column"], [f"c{k}"]),
            helper.make_node("Add", [stream, f"c{k}"], [f"a{k}"]),
            helper.make_node(
                "LayerNormalization", [f"a{k}", f"{name}.norm.weight", f"{name}.norm.bias"],
                [f"layer_norm_{k}"],
            ),
        ]  # fmt: skip
        stream = f"layer_norm_{k}"
    nodes.append(helper.make_node("Mul", [stream, "column"], ["last_hidden_state"]))
    shape = ("n", "tokens")
    inputs = {"input_ids": shape, "attention_mask": shape, "token_type_ids": shape}
    file = write_onnx(tmp_path / "encoder.onnx", nodes, weights, inputs, "last_hidden_state")

    def layers(batch):
        x = weights[words][batch["input_ids"]] + weights[kinds][batch["token_type_ids"]]
        mask, states = batch["attention_mask"][..., None].numpy(), [x]
        for k in range(2):
            product = states[-1] @ weights[f"emb.encoder.layer.{k}.dense.weight"]
            states.append(normalised(states[-1] + np.vectorize(erf)(product) * mask))
        names = ["emb.embeddings", "emb.encoder.layer.0", "emb.encoder.layer.1"]
        return {n: (s * mask).sum(1) / mask.sum(1) for n, s in zip(names, states)}

    return file, layers


def test_several_inputs_by_name_with_a_mask(encoder):
    file, layers = encoder
    lengths = torch.tensor([3, 5, 1, 4])
    batch = {
        "input_ids": torch.randint(9, (4, 5)),
        "token_type_ids": torch.randint(2, (4, 5)),
        "attention_mask": (torch.arange(5) < lengths[:, None]).long(),
    }
    arrays = {name: tensor.numpy() for name, tensor in batch.items()}
    for one in (batch, arrays):
        assert_layers(rs.extract_features(file, [one], **QUIET), layers(batch))
    assert "by the names of its weights" in load_model(file).facts["layers of the model"]


def test_texts_by_the_tokenizer_beside_the_file(encoder, tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"[UNK]": 0, "[PAD]": 1, "a": 2, "film": 3}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip
    file, layers = encoder
    texts = ["a film", "film", "a a film a"]
    expected = layers(tokenizer(texts, return_tensors="pt", padding=True))
    with pytest.raises(ValueError, match="encoder has no processor for texts; pass"):
        rs.extract_features(file, texts, **QUIET)
    assert_layers(rs.extract_features((file, tokenizer), texts, **QUIET), expected)
    tokenizer.save_pretrained(tmp_path)
    assert_layers(rs.extract_features(file, texts, **QUIET), expected)
    models_of_texts = {"pair": (file, tokenizer), "folder": file}
    c = rs.compare_models(models_of_texts, texts * 4, measures="cka", progress=False)
    np.testing.assert_allclose(c["cka"].diagonal(3), 1, rtol=1e-6)


# ------------------------------------------------------------------------- quantised, stored, kept


def test_int8_keeps_the_names_and_moves_the_values(residual, tmp_path):
    file, _ = residual("slashes")
    path = tmp_path / "int8.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_dynamic(file.removeprefix("onnx:"), path, weight_type=QuantType.QInt8)
    models = {"float": file, "int8": f"onnx:{path}"}
    samples = np.vstack([100 * X[:2], X])  # one scale serves all samples of a batch
    with pytest.warns(UserWarning, match="other samples .* dynamic quantisation"):
        c = rs.compare_models(models, samples, measures="cka", progress=False)
    assert c.rows[3:] == ("int8/blocks.0", "int8/blocks.1", "int8/blocks.2")
    values = c["cka"]
    assert all(0.98 < values[k, k + 3] < 1 - 1e-7 for k in range(3))


def test_stored_features_belong_to_the_weights_and_the_graph(residual, tmp_path):
    file, values = residual("slashes")
    path = tmp_path / "slashes.onnx"
    model = onnx.load(path)
    kept = tmp_path / "kept"
    assert_layers(
        rs.extract_features(file, X, kept, batch_size=4, layers="blocks.1", **QUIET),
        {"blocks.1": values["s1"]},
    )
    first = (kept / "mean.blocks.1.npy").stat().st_mtime_ns
    more = rs.extract_features(file, X, kept, batch_size=4, layers=["blocks.1", "head"], **QUIET)
    assert list(more.layers) == ["blocks.1", "head"]
    assert (kept / "mean.blocks.1.npy").stat().st_mtime_ns == first
    assert more.traits["model"]["versions"]["onnxruntime"]
    for changed in ("weights", "graph"):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        if changed == "weights":
            weight = next(w for w in copy.graph.initializer if w.name == "blocks.0.fc1.weight")
            weight.CopyFrom(numpy_helper.from_array(draw(8, 16), weight.name))
        else:
            next(n for n in copy.graph.node if n.op_type == "Relu").op_type = "Tanh"
        onnx.save(copy, path)
        with pytest.raises(ValueError, match="holds features of another model"):
            rs.extract_features(file, X, kept, batch_size=4, layers="blocks.1", **QUIET)


def test_weights_beside_the_file(residual, tmp_path):
    file, values = residual("slashes")
    folder = tmp_path / "large"
    folder.mkdir()
    path = folder / "model.onnx"
    onnx.save_model(
        onnx.load(file.removeprefix("onnx:")), path,
        save_as_external_data=True, location="weights.bin", size_threshold=0,
    )  # fmt: skip
    digest = load_model(f"onnx:{path}").facts["sha256"]
    assert_layers(
        rs.extract_features(f"onnx:{path}", X, layers="blocks.2", **QUIET),
        {"blocks.2": values["s2"]},
    )
    weights = folder / "weights.bin"
    content = bytearray(weights.read_bytes())
    content[5] ^= 1
    weights.write_bytes(content)
    assert load_model(f"onnx:{path}").facts["sha256"] != digest
    weights.rename(tmp_path / "weights.bin")
    with pytest.raises(ValueError, match=r"has its weights in weights\.bin, which is missing"):
        load_model(f"onnx:{path}")
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = "../weights.bin" if entry.key == "location" else entry.value
    onnx.save(model, path)
    with pytest.raises(ValueError, match="names weights outside its folder"):
        load_model(f"onnx:{path}")


# ------------------------------------------------------------------------------------- bad inputs


def test_files_that_are_no_models_are_refused(tmp_path, residual, subtests):
    text = tmp_path / "text.onnx"
    text.write_text("no graph here")
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    for model, message in (
        (f"onnx:{text}", r"text\.onnx is not an ONNX file"),
        (f"onnx:{empty}", r"empty\.onnx is not an ONNX file, or its graph is empty"),
        (f"onnx:{tmp_path}/none.onnx", r"none\.onnx does not exist; name an ONNX file as onnx:"),
        (str(text), r"text\.onnx' is no model; write onnx:.*text\.onnx; model may be"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            load_model(model)
    custom = [helper.make_node("Mystery", ["x"], ["y"], domain="some.where")]
    file = write_onnx(tmp_path / "custom.onnx", custom, {}, {"x": ("n", 5)}, "y")
    with pytest.raises(ValueError, match=r"not valid: .* No opset import for domain some\.where"):
        load_model(file)
    model = onnx.load(tmp_path / "custom.onnx")
    model.opset_import.append(helper.make_opsetid("some.where", 1))
    onnx.save(model, tmp_path / "custom.onnx")
    with pytest.raises(
        ValueError, match=r"custom\.onnx cannot be run by onnxruntime .*some\.where"
    ):
        rs.extract_features(file, X, **QUIET)


def test_inputs_and_layers_that_do_not_fit_are_refused(residual, encoder, subtests):
    file, _ = residual("slashes")
    fixed, _ = residual("metadata", shape=(4, 5))
    ids = torch.zeros(3, 2, dtype=torch.long)
    options = {"layers": "head", **QUIET}
    for call, message in (
        (
            lambda: rs.extract_features(file, X, layers="blocks.7", **QUIET),
            r"the model has no layer 'blocks\.7', did you mean 'blocks\.2'",
        ),
        (
            lambda: rs.extract_features(file, X[:, :3], **options),
            r"takes x of the fixed shape \(any, 5\); got \(12, 3\); give inputs of this shape",
        ),
        (
            lambda: rs.extract_features(fixed, X, batch_size=5, **options),
            r"fixed shape \(4, 5\); got \(5, 5\); use batches of 4 \(batch_size=4, --batch-size 4",
        ),
        (
            lambda: rs.extract_features(file, [{"pixels": torch.from_numpy(X)}], **options),
            r"takes x \(any, 5\) of float32; the batch has pixels. Pass batches with these names",
        ),
        (
            lambda: rs.extract_features(file, np.ones((3, 5), int), **options),
            "takes x of float32; got int64",
        ),
        (
            lambda: rs.extract_features(encoder[0], [{"input_ids": ids}], **QUIET),
            "takes input_ids .* attention_mask .* the batch has input_ids",
        ),
        (
            lambda: rs.extract_features(file, X, device="cuda", **QUIET),
            "cannot be moved to device='cuda' \\(an ONNX file runs on the CPU\\)",
        ),
        (
            lambda: rs.compare_models([file, file], X, reinitialized=True, progress=False),
            "has no re-initialized copy: it has no weights in PyTorch",
        ),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            call()
    assert rs.extract_features(fixed, X, batch_size=4, **options).last.shape == (12, 3)


def test_a_missing_package_names_the_extra(residual, monkeypatch):
    file, _ = residual("slashes")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if "onnx" in name else find(name, *a)
    )
    with pytest.raises(ImportError, match=r"onnx and onnxruntime are not installed: .*\[onnx\]"):
        load_model(file)


def test_names_of_values_can_be_names_of_methods(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["float"]),
        helper.make_node("Relu", ["float"], ["model/type:0"]),
    ]
    weights = {"w": draw(5, 4)}
    file = write_onnx(tmp_path / "m.onnx", nodes, weights, {"x": ("n", 5)}, "model/type:0")
    expected = {"float": X @ weights["w"], "model.type": np.maximum(X @ weights["w"], 0)}
    assert_layers(rs.extract_features(file, X, layers=[*expected], **QUIET), expected)
    assert load_samples(X).count == 12
