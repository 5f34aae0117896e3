"""Models of transformers with their tokenizers and processors, from folders and the hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...extras import need
from ..training.transformer_files import silent
from .preparing import word_vectors

SHOWN = 3  # names of weights in an error
UNUSED = "pooler"  # a head on the last hidden state, which other checkpoints do not have
PROCESSORS = {
    "texts": "AutoTokenizer",
    "images": "AutoImageProcessor",
    "arrays": "AutoFeatureExtractor",
}
FILES = {"texts": "tokenizer_config.json", "images": "preprocessor_config.json"}
SOUNDS = ("input_values", "input_features")  # what models of sound call their input
DOWNLOAD = "download it where there is a network, and name its folder"
LONGEST = 300  # letters of a reason that are shown
TOKENIZERS = ("tokenizer*", "tekken.json")  # files of tokenizers, besides those of their classes
FEWEST = 0.5  # entries of a tokenizer for each word vector of its model, which may be padded
LIMITS, OWN_POOLING = "sentence_bert_config.json", "1_Pooling/config.json"  # sentence-transformers
POOLINGS = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max", "lasttoken": "last"}
TOWERS = {"texts": "text_model", "images": "vision_model"}


def read_model(name: str, kind: str | None) -> tuple[Any, Any, dict[str, Any]]:
    """Return a model of transformers in evaluation mode, its processor, and facts.

    ``name``: of a folder, or in the hub; ``kind``: of the samples. Nothing that a repository holds
    as code is run. Raises ``ValueError`` when the files cannot be read, or lack weights.
    """
    transformers = need("transformers")
    remedy = "check its files" if Path(name).is_dir() else DOWNLOAD
    model, report = _read(transformers.AutoModel, name, remedy, output_loading_info=True)
    fresh = _drawn(name, model, report)
    commit = getattr(model.config, "_commit_hash", None)
    facts: dict[str, Any] = {"revision": commit} if commit else {}
    facts |= {"weights drawn at random": fresh} if fresh else {}
    processor, about = _processor(transformers, name, kind, model)
    facts |= about
    model, part = _part_for(model, kind)
    facts |= {"part": part} if part else {}
    return model, processor, facts


def _read(kind: Any, name: str, remedy: str, **keywords: Any) -> Any:
    """Return what a class of transformers reads; ``ValueError`` for whatever goes wrong."""
    try:
        with silent():
            return kind.from_pretrained(name, trust_remote_code=False, **keywords)
    except Exception as error:  # a damaged file, an unknown name, no network
        reason = " ".join(str(error).split()) or type(error).__name__
        reason = reason if len(reason) < LONGEST else f"{reason[:LONGEST]} ..."
        raise ValueError(
            f"load_model: {name} cannot be read by transformers.{kind.__name__} ({reason}); "
            f"{remedy}"
        ) from error


def _drawn(name: str, model: Any, report: Any) -> list[str]:
    """Return the weights that are drawn at random because they are unused by any block.

    Raises ``ValueError`` if others are missing or have another shape.
    """
    names = {str(key) for key in report["missing_keys"]}
    names |= {str(entry[0]) for entry in report["mismatched_keys"]}
    fresh = sorted(key for key in names if UNUSED in key.split("."))
    lacking = sorted(names - set(fresh))
    if lacking:
        shown = ", ".join(lacking[:SHOWN]) + (", ..." if len(lacking) > SHOWN else "")
        raise ValueError(
            f"load_model: {name} lacks {len(lacking)} weights of a {type(model).__name__}, or has "
            f"them in another shape ({shown}); they would be random: get the whole checkpoint, or "
            "load it in a function and pass file.py:function"
        )
    return fresh


def _part_for(model: Any, kind: str | None) -> tuple[Any, str | None]:
    """Return the part of a model that sees the samples: one of its towers, or the encoder."""
    tower = TOWERS.get(kind or "")
    if tower and all(hasattr(model, name) for name in TOWERS.values()):
        return getattr(model, tower), tower
    if getattr(model.config, "is_encoder_decoder", False) and hasattr(model, "get_encoder"):
        return model.get_encoder(), "encoder"
    return model, None


def _processor(
    transformers: Any, name: str, kind: str | None, model: Any
) -> tuple[Any, dict[str, Any]]:
    """Return the processor for samples, and what is recorded of it.

    Where the samples are not known, it is the one that the folder has.
    """
    if kind is None:
        kind = next((k for k, file in FILES.items() if (Path(name) / file).is_file()), None)
    if kind not in PROCESSORS or (kind == "arrays" and model.main_input_name not in SOUNDS):
        return None, {}
    remedy = f"it may not be a model of {kind}; choose other data, or pass (model, processor)"
    processor = _read(getattr(transformers, PROCESSORS[kind]), name, remedy)
    if kind != "texts":
        return processor, {}
    _check_tokenizer(name, processor, model)
    limit = _settings(transformers, name, LIMITS).get("max_seq_length")
    if isinstance(limit, int) and limit > 0:
        processor.model_max_length = min(limit, processor.model_max_length)
    modes = _settings(transformers, name, OWN_POOLING)
    words = [word for mode, word in POOLINGS.items() if modes.get(f"pooling_mode_{mode}")]
    return processor, {"its pooling": " and ".join(words)} if words else {}


def _check_tokenizer(name: str, tokenizer: Any, model: Any) -> None:
    """Raise ``ValueError`` for the tokenizer of another model, or one made of no file."""
    folder, vectors, entries = Path(name), word_vectors(model), len(tokenizer)
    remedy = (
        f"write that of the model there by tokenizer.save_pretrained({name!r}), or pass "
        f"({folder.name!r}, (model, tokenizer)), on the command line by file.py:function"
    )
    patterns = (*TOKENIZERS, *getattr(tokenizer, "vocab_files_names", {}).values())
    if folder.is_dir() and not any(file for p in patterns for file in folder.glob(p)):
        raise ValueError(f"load_model: {name} holds no tokenizer; {remedy}")
    if vectors is not None and entries < FEWEST * vectors:
        raise ValueError(
            f"load_model: the tokenizer of {name} has {entries} entries, and the model {vectors} "
            f"word vectors: it is that of another model, or lacks files; {remedy}"
        )


def _settings(transformers: Any, name: str, file: str) -> dict[str, Any]:
    """Return the settings in a file of a folder or a repository; none where it has no such file."""
    try:
        with silent():
            path = transformers.utils.cached_file(name, file)
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):  # not there, or not JSON
        return {}
    return content if isinstance(content, dict) else {}
