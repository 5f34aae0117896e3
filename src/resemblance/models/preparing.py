"""Prepare samples as batches of a model: with a tokenizer, with a processor, or as tensors."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..base.extras import import_optional
from .batches import as_tensor, find_model_inputs, weight_precision
from .samples import Samples

BatchPreparation = tuple[Callable[[Any], Any] | None, dict[str, Any]]
MAX_TOKEN_LIMIT = 10**6  # tokenizers without a limit declare a larger number of tokens
TEXTS_PER_READ = 1000  # texts read at a time
# A larger share of unknown tokens means another language, or another tokenizer
MAX_UNKNOWN_TOKEN_SHARE = 0.5
OFFSET_POSITION_MODELS = (
    "roberta",
    "xlm-roberta",
    "camembert",
    "longformer",
    "mpnet",
    "xlm-roberta-xl",
)
PROCESSOR_PARTS = {"texts": "tokenizer", "images": "image_processor", "arrays": "feature_extractor"}
MODEL_PAIR_FORMS = {"texts": "(model, tokenizer)", "images": "(model, image_processor)"}


def find_batch_preparation(
    module: Any, processor: Any, samples: Samples | None, name: str
) -> BatchPreparation:
    """Return the function that makes a batch from a list of samples, and the facts to record;
    (None, {}) for batches and graphs.

    ``processor``: a tokenizer, a processor, or a function; None for none. ``samples``: None if
    unknown. ``name``: the model in messages. Raises ``ValueError`` for samples that the processor
    cannot read, for texts or images without processor, and for a tokenizer with ids unknown to the
    model. Warns about texts if the tokenizer does not know most of their tokens.
    """
    kind = None if samples is None else samples.kind
    if kind in ("batches", "graph"):
        return None, {}
    processor = getattr(processor, PROCESSOR_PARTS.get(kind or "", ""), processor)
    is_texts = is_tokenizer(processor)
    # transformers processors of images or sound
    names = getattr(processor, "model_input_names", ()) if callable(processor) else ()
    is_processor = not is_texts and bool(names) and hasattr(processor, "to_dict")
    readable_kinds = (None, "texts") if is_texts else (None, "images", "arrays")
    if (is_texts or is_processor) and kind not in readable_kinds:
        noun = "a tokenizer" if is_texts else "a processor"
        raise ValueError(
            f"load_model: {name} comes with {noun}, which cannot read {kind}; choose other data, "
            "or pass (model, prepare) with a function that makes a batch of a list of samples"
        )
    if is_texts:
        return _prepare_by_tokenizer(module, processor, samples, name)
    if is_processor and kind == "arrays" and "pixel_values" in names:
        return _prepare_arrays(module), {}
    if is_processor:
        return _prepare_by_processor(module, processor)
    if callable(processor):
        return processor, {
            "processor": getattr(processor, "__qualname__", type(processor).__name__)
        }
    if processor is not None:
        raise ValueError(
            f"load_model: the processor of {name} must be a tokenizer, a processor of images, or a "
            f"function of a list of samples; got {type(processor).__name__}"
        )
    if kind in MODEL_PAIR_FORMS:
        raise ValueError(
            f"load_model: {name} has no processor for {kind}; pass {MODEL_PAIR_FORMS[kind]}, "
            "or (model, prepare) with a function that makes a batch of a list of samples"
        )
    return _prepare_arrays(module), {}


def is_tokenizer(value: Any) -> bool:
    """Return whether a value is a transformers tokenizer."""
    return (
        callable(value) and hasattr(value, "pad_token") and hasattr(value, "convert_ids_to_tokens")
    )


def count_word_vectors(module: Any) -> int | None:
    """Return the number of word vectors of a transformers model; None if unknown."""
    try:
        return int(module.get_input_embeddings().num_embeddings)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _prepare_by_tokenizer(
    module: Any, tokenizer: Any, samples: Samples | None, name: str
) -> BatchPreparation:
    """Return the function that makes a batch (tensors by input name) of a list of texts, and the
    facts to record. ``tokenizer``: of transformers. ``samples``: the texts, read once to count cut
    texts; None if unknown. ``name``: the model in messages.

    Texts are padded on the right to the longest text of a batch, and cut at the limit of the model.
    Raises ``ValueError`` for a tokenizer without a token to pad with.
    """
    facts: dict[str, Any] = {}
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise ValueError(
                "load_model: the tokenizer has no token to pad with; set tokenizer.pad_token"
            )
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.pad_token = tokenizer.eos_token
        facts["padded with"] = tokenizer.eos_token
    max_tokens = _find_token_limit(module, tokenizer)
    names = set(find_model_inputs(module).names)
    options = {"padding": True, "padding_side": "right", "truncation": max_tokens is not None}
    options |= {"max_length": max_tokens, "return_attention_mask": True}

    def prepare(texts: list[str]) -> dict[str, Any]:
        return _accepted_entries(tokenizer(list(texts), return_tensors="pt", **options), names)

    facts |= {"processor": type(tokenizer).__name__, **options}
    if samples is not None:
        facts |= _count_cut_texts(tokenizer, samples, max_tokens, count_word_vectors(module), name)
    return prepare, facts


def _count_cut_texts(
    tokenizer: Any, samples: Samples, max_tokens: int | None, vectors: int | None, name: str
) -> dict[str, Any]:
    """Read all texts once; return {"texts cut": number} for texts with more than ``max_tokens``
    tokens, or {}.

    Raises ``ValueError`` for ids above the ``vectors`` word vectors of the model. Warns if more
    than half of the tokens are unknown.
    """
    special_ids = [i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id]
    n_cut, n_tokens, n_unknown, max_id = 0, 0, 0, 0
    for start in range(0, len(samples), TEXTS_PER_READ):
        texts = list(samples.batch(start, start + TEXTS_PER_READ))
        lists = tokenizer(texts, truncation=False, padding=False, verbose=False)["input_ids"]
        n_cut += sum(max_tokens is not None and len(ids) > max_tokens for ids in lists)
        ids = np.concatenate([np.asarray(text_ids[:max_tokens], np.int64) for text_ids in lists])
        max_id = max(max_id, int(ids.max(initial=0)))
        n_tokens += int((~np.isin(ids, special_ids)).sum())
        n_unknown += int((ids == tokenizer.unk_token_id).sum())
    if vectors is not None and max_id >= vectors:
        raise ValueError(
            f"load_model: the tokenizer of {name} gives ids up to {max_id}, the model has "
            f"{vectors} word vectors; pass (model, tokenizer) with the tokenizer of the model"
        )
    if n_unknown > MAX_UNKNOWN_TOKEN_SHARE * n_tokens:
        warnings.warn(
            f"load_model: the tokenizer of {name} does not know {n_unknown} of {n_tokens} tokens "
            f"of {samples.name}; check that the tokenizer belongs to the model, and check the "
            "language",
            stacklevel=4,
        )
    return {"texts cut": n_cut} if n_cut else {}


def _find_token_limit(module: Any, tokenizer: Any) -> int | None:
    config = getattr(module, "config", None)
    positions = getattr(config, "max_position_embeddings", None)
    if positions is not None and getattr(config, "model_type", "") in OFFSET_POSITION_MODELS:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    limits = [tokenizer.model_max_length, positions]
    usable = [limit for limit in limits if isinstance(limit, int) and 0 < limit < MAX_TOKEN_LIMIT]
    return min(usable, default=None)


def _prepare_by_processor(module: Any, processor: Any) -> BatchPreparation:
    """Return the function that makes a batch (tensors by input name) of a list of images, or of
    sounds at the sampling rate of the processor, and the facts to record. ``processor``: of
    transformers."""
    names = set(find_model_inputs(module).names)
    rate = getattr(processor, "sampling_rate", None)
    sound_options = {} if rate is None else {"sampling_rate": rate, "padding": True}

    def prepare(values: Any) -> dict[str, Any]:
        return _accepted_entries(
            processor(list(values), return_tensors="pt", **sound_options), names
        )

    return prepare, {"processor": type(processor).__name__, **sound_options}


def _accepted_entries(batch: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    entries = dict(batch)
    return {k: v for k, v in entries.items() if k in names} if names & set(entries) else entries


def _prepare_arrays(module: Any) -> Callable[[Any], Any]:
    """Return the function that turns arrays into tensors; floating tensors get the precision of the
    model, other tensors keep their dtype."""
    torch = import_optional("torch")
    precision = weight_precision(module) or torch.get_default_dtype()
    return lambda array: as_tensor(torch, array, precision)
