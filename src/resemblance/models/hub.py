"""Models by name from transformers, timm and torchvision, with the preparation of samples."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.extras import import_optional
from .preparing import count_word_vectors
from .transformer_files import read_pretrained_model as read_weights
from .transformer_files import read_pretrained_part, silence_transformers

UNUSED_HEAD = "pooler"  # a head on the last hidden state; some checkpoints lack the head
PROCESSORS = {
    "texts": "AutoTokenizer",
    "images": "AutoImageProcessor",
    "arrays": "AutoFeatureExtractor",
}
PROCESSOR_FILES = {"texts": "tokenizer_config.json", "images": "preprocessor_config.json"}
SOUND_INPUT_NAMES = ("input_values", "input_features")  # input names of audio models
HUB_READ_OPTIONS: dict[str, Any] = {"caller": "load_model: ", "trust_remote_code": False}
INCOMPLETE_WEIGHTS_REMEDY = (
    "missing weights would be random: get the whole checkpoint, or load "
    "the model in a function and pass file.py:function"
)
DOWNLOAD_REMEDY = "download the model on a machine with a network, and pass the folder"
HUB_TIMEOUT_SECONDS = 10  # longest wait for an answer of the hub
# Files of tokenizers, besides the files that tokenizer classes declare
TOKENIZER_FILES = ("tokenizer*", "tekken.json")
# Smallest number of tokenizer entries per word vector; a model may pad its word vectors
MIN_TOKENIZER_COVERAGE = 0.5
# Files of sentence-transformers
SENTENCE_LIMITS_FILE, SENTENCE_POOLING_FILE = "sentence_bert_config.json", "1_Pooling/config.json"
SENTENCE_POOLINGS = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "lasttoken": "last",
}
TOWER_BY_KIND = {"texts": "text_model", "images": "vision_model"}


def read_hub_model(name: str, kind: str | None) -> tuple[Any, Any, dict[str, Any]]:
    """Return a transformers model in evaluation mode, its processor, and recorded facts.

    ``name``: a folder, or a name in the hub. ``kind``: the kind of the samples, such as "texts" or
    "images"; None if unknown. A model of texts and images gives only the tower for the samples, and
    an encoder-decoder model only the encoder. The processor is None if the samples need none. Code
    in a repository never runs. Raises ``ValueError`` when the files cannot be read, or lack
    weights.
    """
    transformers = import_optional("transformers")
    is_folder = Path(name).is_dir()
    remedy = "check its files" if is_folder else DOWNLOAD_REMEDY
    if not is_folder:
        _check_model_exists(name)
    model, fresh = read_weights(
        transformers.AutoModel,
        name,
        remedy,
        lambda key: UNUSED_HEAD in key.split("."),
        incomplete=INCOMPLETE_WEIGHTS_REMEDY,
        **HUB_READ_OPTIONS,
    )
    commit = getattr(model.config, "_commit_hash", None)
    facts: dict[str, Any] = {"revision": commit} if commit else {}
    facts |= {"weights drawn at random": fresh} if fresh else {}
    processor, processor_facts = read_sample_processor(transformers, name, kind, model)
    facts |= processor_facts
    # Return only the part for the samples: a tower, or the encoder
    tower = TOWER_BY_KIND.get(kind or "")
    if tower and all(hasattr(model, name) for name in TOWER_BY_KIND.values()):
        return getattr(model, tower), processor, facts | {"part": tower}
    if getattr(model.config, "is_encoder_decoder", False) and hasattr(model, "get_encoder"):
        return model.get_encoder(), processor, facts | {"part": "encoder"}
    return model, processor, facts


def _check_model_exists(name: str) -> None:
    """Raise ``ValueError`` for a model in neither the cache nor the hub, or if the hub does not
    answer.

    The hub is asked only once.
    """
    # Only one request, because the reader of files would try for half a minute
    hub = import_optional("huggingface_hub")
    try:
        if hub.try_to_load_from_cache(name, "config.json") is None:
            hub.model_info(name, timeout=HUB_TIMEOUT_SECONDS)
    except Exception as error:  # no network, an unknown name, no permission
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"load_model: hf:{name} is not in the cache and cannot be found ({reason}); "
            f"{DOWNLOAD_REMEDY}"
        ) from error


def read_sample_processor(
    transformers: Any, name: str, kind: str | None, model: Any
) -> tuple[Any, dict[str, Any]]:
    """Return the processor for samples of a kind ("texts", "images" or "arrays" of sound), and
    recorded facts; (None, {}) if the model needs no processor for the kind.

    If the kind is None, the files in the folder show the kind: texts, or images. For texts, the
    function checks the tokenizer, and applies the length limit of sentence-transformers. The facts
    then name the pooling of sentence-transformers, if declared.
    """
    if kind is None:
        kind = next(
            (k for k, file in PROCESSOR_FILES.items() if (Path(name) / file).is_file()), None
        )
    if kind not in PROCESSORS or (
        kind == "arrays" and model.main_input_name not in SOUND_INPUT_NAMES
    ):
        return None, {}
    remedy = f"it may not be a model of {kind}; choose other data, or pass (model, processor)"
    processor = read_pretrained_part(
        getattr(transformers, PROCESSORS[kind]), name, remedy, **HUB_READ_OPTIONS
    )
    if kind != "texts":
        return processor, {}
    _check_tokenizer(name, processor, model)
    limit = _read_settings_file(transformers, name, SENTENCE_LIMITS_FILE).get("max_seq_length")
    if isinstance(limit, int) and limit > 0:
        processor.model_max_length = min(limit, processor.model_max_length)
    modes = _read_settings_file(transformers, name, SENTENCE_POOLING_FILE)
    poolings = [
        pooling for mode, pooling in SENTENCE_POOLINGS.items() if modes.get(f"pooling_mode_{mode}")
    ]
    return processor, {"its pooling": " and ".join(poolings)} if poolings else {}


def _check_tokenizer(name: str, tokenizer: Any, model: Any) -> None:
    """Raise ``ValueError`` for a folder ``name`` without tokenizer files, and for a tokenizer with
    fewer entries than half of the word vectors of the model. A ``name`` that is no folder has no
    check of files."""
    folder, vectors, entries = Path(name), count_word_vectors(model), len(tokenizer)
    remedy = (
        f"save the tokenizer of the model there with tokenizer.save_pretrained({name!r}), or pass "
        f"({folder.name!r}, (model, tokenizer)), on the command line by file.py:function"
    )
    patterns = (*TOKENIZER_FILES, *getattr(tokenizer, "vocab_files_names", {}).values())
    if folder.is_dir() and not any(file for p in patterns for file in folder.glob(p)):
        raise ValueError(f"load_model: {name} holds no tokenizer; {remedy}")
    if vectors is not None and entries < MIN_TOKENIZER_COVERAGE * vectors:
        raise ValueError(
            f"load_model: the tokenizer of {name} has {entries} entries, and the model {vectors} "
            f"word vectors: the tokenizer belongs to another model, or files are missing; {remedy}"
        )


def _read_settings_file(transformers: Any, name: str, file: str) -> dict[str, Any]:
    """Return the settings in a JSON file of a folder or repository ``name``; {} if the file is
    missing or holds no JSON object. ``transformers``: the module."""
    try:
        with silence_transformers():
            path = transformers.utils.cached_file(name, file)
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):  # missing, or not JSON
        return {}
    return content if isinstance(content, dict) else {}


LoadedHubModel = tuple[Any, Any, dict[str, Any]]


def load_timm_model(name: str, kind: str | None) -> LoadedHubModel:
    """Return a pretrained timm model, the function that makes a batch tensor from a list of images,
    and recorded facts. ``kind`` is ignored."""
    model = _create_pretrained_model("timm", "create_model", name, pretrained=True)
    data = importlib.import_module("timm.data")
    transform = data.create_transform(**data.resolve_data_config({}, model=model))
    return (
        model,
        _batch_image_transform(transform),
        {"weights": "pretrained", "transform": repr(transform)},
    )


def load_torchvision_model(name: str, kind: str | None) -> LoadedHubModel:
    """Return a torchvision model with its default weights, the function that makes a batch tensor
    from a list of images, and recorded facts. ``kind`` is ignored."""
    model = _create_pretrained_model("torchvision.models", "get_model", name, weights="DEFAULT")
    weights = importlib.import_module("torchvision.models").get_model_weights(name).DEFAULT
    transform = weights.transforms()
    return (
        model,
        _batch_image_transform(transform),
        {"weights": str(weights), "transform": repr(transform)},
    )


def _create_pretrained_model(package: str, function: str, name: str, **options: Any) -> Any:
    """Return ``function(name, **options)`` of ``package``, a module of timm or torchvision; raise
    ``ValueError`` with the remedy for any failure of the function, and ``ImportError`` without the
    package."""
    hub = package.partition(".")[0]
    try:
        create = getattr(importlib.import_module(package), function)
    except ImportError as error:
        raise ImportError(f"{hub} is not installed: pip install {hub}") from error
    try:
        return create(name, **options)
    except Exception as error:  # unknown names, missing files, no network
        raise ValueError(
            f"load_model: {hub} cannot load {name!r} ({type(error).__name__}: {error}); check the "
            "name, and download its weights once where there is a network"
        ) from error


def _batch_image_transform(transform: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    return lambda images: import_optional("torch").stack([transform(image) for image in images])
