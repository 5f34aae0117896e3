"""The blocks of models return what their architectures call the hidden states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

from resemblance.models.hooks import extract_module_features
from resemblance.models.modules import block_names

SIZES = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
}  # fmt: skip
WORDS = {"vocab_size": 30, **SIZES}
FEW = {**WORDS, "num_key_value_heads": 1}
GPT = {"vocab_size": 30, "n_embd": 8, "n_layer": 2, "n_head": 2}
PIXELS = {"image_size": 16, "patch_size": 8}
STAGES = {"hidden_sizes": [8, 16], "depths": [2, 1]}
DISTIL = {"vocab_size": 30, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12}
BLOOM = {"vocab_size": 30, "hidden_size": 8, "n_layer": 2, "n_head": 2}
TOKENS = {"pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}
LAYERS = ["layers.0", "layers.1"]
ENCODER = ["embeddings", "encoder.layer.0", "encoder.layer.1"]
# The config, its sizes, the blocks, and whether the last hidden state is normalised after them
TEXTS = {
    "Bert": (WORDS, ENCODER, False),
    "Roberta": (WORDS, ENCODER, False),
    "DistilBert": (DISTIL, ["embeddings", "transformer.layer.0", "transformer.layer.1"], False),
    "Electra": ({**WORDS, "embedding_size": 4}, ["embeddings_project", *ENCODER[1:]], False),
    "DebertaV2": (WORDS, ENCODER, False),
    "ModernBert": ({**WORDS, **TOKENS}, ["embeddings", *LAYERS], True),
    "GPT2": (GPT, ["drop", "h.0", "h.1"], True),
    "GPTNeoX": (WORDS, ["emb_dropout", *LAYERS], True),
    "Bloom": (BLOOM, ["word_embeddings_layernorm", "h.0", "h.1"], True),
    "Llama": (FEW, ["embed_tokens", *LAYERS], True),
    "Qwen2": (FEW, ["embed_tokens", *LAYERS], True),
    "Mistral": (FEW, ["embed_tokens", *LAYERS], True),
    "Phi": (WORDS, ["embed_dropout", *LAYERS], True),
}
IMAGES = {
    "ViT": {**SIZES, **PIXELS},
    "Dinov2": {name: SIZES[name] for name in SIZES if name[0] != "i"} | PIXELS,
    "CLIPVision": {**SIZES, **PIXELS},
    "ResNet": {"embedding_size": 8, "layer_type": "basic", **STAGES},
    "ConvNextV2": {**STAGES, "num_stages": 2},
    "Swin": {
        "image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [2, 1],
        "num_heads": [2, 2], "window_size": 4,
    },
}  # fmt: skip


def tiny(architecture, sizes):
    config = getattr(transformers, f"{architecture}Config")(**sizes)
    return transformers.AutoModel.from_config(config).eval()


def check_hidden_states(model, batch, names, is_normalized):
    """Each block returns the hidden state of its depth; a final norm only changes the last."""
    with torch.no_grad():
        hidden = model(**batch, output_hidden_states=True).hidden_states
    features = extract_module_features(model, [batch], "blocks", pool="flatten", outputs=False)
    assert list(features.layers) == list(names)
    assert len(hidden) == len(names)
    for i, (name, state) in enumerate(zip(names, hidden)):
        returned = np.asarray(features.layers[name].source)
        assert returned.shape == (len(state), state[0].numel())
        if i < len(names) - 1 or not is_normalized:
            np.testing.assert_allclose(returned, state.flatten(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", TEXTS)
def test_models_of_texts(architecture):
    sizes, names, is_normalized = TEXTS[architecture]
    model = tiny(architecture, sizes)
    assert block_names(model) == tuple(names)
    words = torch.arange(10).reshape(2, 5) % 20 + 5
    check_hidden_states(model, {"input_ids": words}, names, is_normalized)


@pytest.mark.parametrize("architecture", IMAGES)
def test_models_of_images(architecture):
    sizes = IMAGES[architecture]
    model, size = tiny(architecture, sizes), sizes.get("image_size", 32)
    names = block_names(model)
    assert len(names) == 3
    check_hidden_states(model, {"pixel_values": torch.randn(2, 3, size, size)}, names, False)


def test_a_shared_block_is_called_once_for_each_layer():
    model = tiny("Albert", {**WORDS, "embedding_size": 4})
    shared = "encoder.albert_layer_groups.0"
    assert block_names(model) == ("encoder.embedding_hidden_mapping_in", shared)
    words = {"input_ids": torch.arange(10).reshape(2, 5)}
    features = extract_module_features(model, [words], "blocks", pool="flatten", outputs=False)
    assert list(features.layers)[1:] == [f"{shared}#1", f"{shared}#2"]
    with torch.no_grad():
        hidden = model(**words, output_hidden_states=True).hidden_states
    for layer, state in zip(features.layers.values(), hidden):
        np.testing.assert_allclose(layer.source, state.flatten(1), rtol=1e-4, atol=1e-5)


def test_blocks_inside_a_classifier_have_its_prefix():
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**WORDS))
    assert block_names(model) == tuple(f"bert.{name}" for name in ENCODER)


def test_positions_added_after_the_embeddings_leave_them_out():
    model = tiny("OPT", {**{k: v for k, v in WORDS.items() if k[0] != "i"}, "ffn_dim": 12})
    assert block_names(model) == ("decoder.layers.0", "decoder.layers.1")
