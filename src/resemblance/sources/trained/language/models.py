"""Small transformers for sentences, with their vocabulary, training and hidden states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....extras import need

CLASSES = 10
PADDING, START, END, UNKNOWN = "[PAD]", "[CLS]", "[SEP]", "[UNK]"
CLASS_TOKENS = tuple(f"[CLASS{k}]" for k in range(CLASSES))
SPECIAL = (PADDING, START, END, UNKNOWN, *CLASS_TOKENS)
ARCHITECTURES = ("bert", "albert", "llama")
ROWS = 256  # sentences that go through a network at once when it is not trained
Vocabulary = Mapping[str, int]
Words = Sequence[str]


class Activations(NamedTuple):
    """Logits (n, classes) of sentences, and an array (n, features) by pooling and layer."""

    outputs: np.ndarray
    layers: dict[str, dict[str, np.ndarray]]


def words_of(text: str) -> list[str]:
    """Return words, numbers and punctuation marks in lower case; underscores are separators."""
    return re.findall(r"[^\W\d_]+|\d+|[^\w\s]", text.lower())


def vocabulary(sentences: Iterable[Words], size: int) -> dict[str, int]:
    """Return the ids of ``size`` tokens: the special ones, then the most frequent words.

    Equally frequent words come in alphabetical order, so the ids do not depend on the order of
    sentences.
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: size - len(SPECIAL)]
    return {token: i for i, token in enumerate([*SPECIAL, *frequent])}


def encode(sentences: Sequence[Words], ids: Vocabulary, tokens: int) -> np.ndarray:
    """Return token ids, (n, tokens): [CLS], the words that fit or [UNK], [SEP], and padding."""
    rows = np.full((len(sentences), tokens), ids[PADDING], dtype=np.int64)
    for row, sentence in zip(rows, sentences):
        words = [ids.get(word, ids[UNKNOWN]) for word in sentence[: tokens - 2]]
        row[: len(words) + 2] = [ids[START], *words, ids[END]]
    return rows


def build(architecture: str, classes: int, options: Mapping[str, Any]) -> Any:
    """Return Hugging Face's BERT, ALBERT or Llama for classification, with random weights.

    ``options``: vocabulary, tokens, width, inner (of the feed-forward layers), layers, heads,
    dropout, and init, the standard deviation of the initial weights.
    """
    transformers = need("transformers")
    shape = {
        "vocab_size": options["vocabulary"],
        "max_position_embeddings": options["tokens"],
        "hidden_size": options["width"],
        "intermediate_size": options["inner"],
        "num_hidden_layers": options["layers"],
        "num_attention_heads": options["heads"],
        "initializer_range": options["init"],
        "num_labels": classes,
        "pad_token_id": SPECIAL.index(PADDING),
        "bos_token_id": SPECIAL.index(START),
        "eos_token_id": SPECIAL.index(END),
        "attn_implementation": "sdpa",
    }
    dropout = options["dropout"]
    if architecture == "llama":
        config = transformers.LlamaConfig(**shape, attention_dropout=dropout)
        return transformers.LlamaForSequenceClassification(config)
    shape |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    if architecture == "bert":
        return transformers.BertForSequenceClassification(transformers.BertConfig(**shape))
    if architecture == "albert":
        shape |= {"embedding_size": options["width"], "classifier_dropout_prob": dropout}
        return transformers.AlbertForSequenceClassification(transformers.AlbertConfig(**shape))
    raise ValueError(
        f"language: architecture must be one of {', '.join(ARCHITECTURES)}; got {architecture!r}"
    )


def learn(
    torch: Any,
    model: Any,
    epochs: Iterable[np.ndarray],
    labels: np.ndarray,
    options: Mapping[str, Any],
) -> None:
    """Train a network with AdamW and cross-entropy on the token ids (n, tokens) of each epoch.

    The learning rate rises over the first tenth of the steps and then falls to zero, both linearly.
    Gradients are scaled down to a norm of ``options["clip"]``: otherwise a small model sometimes
    collapses to a single class. Other ``options``: epochs, batch, rate (the
    largest), decay (of weights).
    """
    steps = options["epochs"] * -(-len(labels) // options["batch"])
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options["rate"], weight_decay=options["decay"], fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / max(1, steps // 10), (steps - step) / steps)
    )
    targets = torch.from_numpy(labels)
    model.train()
    for ids in epochs:
        for rows in batches(torch, ids, options["batch"]):
            logits = model(**inputs(torch, ids[rows.numpy()])).logits
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, targets[rows]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip"])
            optimizer.step()
            schedule.step()


def batches(torch: Any, ids: np.ndarray, size: int) -> Iterator[Any]:
    """Yield the rows of each batch in random order, with similar lengths to save padding."""
    lengths = torch.from_numpy((ids != SPECIAL.index(PADDING)).sum(axis=1))
    shuffled = torch.randperm(len(ids))
    parts = shuffled[lengths[shuffled].argsort(stable=True)].split(size)
    yield from (parts[i] for i in torch.randperm(len(parts)))


def inputs(torch: Any, ids: np.ndarray) -> dict[str, Any]:
    """Return the token ids and the mask of sentences, as long as the longest of them."""
    real = ids != SPECIAL.index(PADDING)
    longest = int(real.sum(axis=1).max())
    return {
        "input_ids": torch.from_numpy(np.ascontiguousarray(ids[:, :longest])),
        "attention_mask": torch.from_numpy(real[:, :longest].astype(np.int64)),
    }


def logits_of(torch: Any, model: Any, ids: np.ndarray) -> np.ndarray:
    """Return the logits of a network for encoded sentences, (n, classes)."""
    with torch.no_grad():
        parts = [model(**inputs(torch, block)).logits for block in _blocks(ids)]
    return torch.cat(parts).numpy()


def activations(torch: Any, model: Any, ids: np.ndarray, architecture: str) -> Activations:
    """Return logits and hidden states of encoded sentences.

    Poolings of BERT and ALBERT: "cls", the first token, and "mean" over all real tokens with [CLS]
    and [SEP]; of Llama, which only looks back: "last", the last real token. Layers are "embedding",
    with positions added where the architecture adds them there, and "block1" onwards, the last one
    of Llama after its final normalisation. "cls" and "last" have no "embedding": there, this token
    is the same in every sentence.
    """
    parts = [_activations(torch, model, block, architecture) for block in _blocks(ids)]
    layers: dict[str, dict[str, np.ndarray]] = {}
    for pooling, arrays in parts[0].layers.items():
        layers[pooling] = {}
        for name in arrays:
            rows = [part.layers[pooling][name] for part in parts]
            layers[pooling][name] = np.concatenate(rows)
    return Activations(np.concatenate([part.outputs for part in parts]), layers)


def _blocks(ids: np.ndarray) -> Iterator[np.ndarray]:
    return (ids[i : i + ROWS] for i in range(0, len(ids), ROWS))


def _activations(torch: Any, model: Any, ids: np.ndarray, architecture: str) -> Activations:
    """Return the activations of one block of sentences."""
    arguments = inputs(torch, ids)
    with torch.no_grad():
        result = model(**arguments, output_hidden_states=True)
    mask = arguments["attention_mask"]
    end = (torch.arange(len(ids)), mask.sum(dim=1) - 1)
    weight = (mask / mask.sum(dim=1, keepdim=True)).unsqueeze(2)
    pools: dict[str, Callable[[Any], Any]] = {"last": lambda state: state[end]}
    if architecture != "llama":
        pools = {
            "cls": lambda state: state[:, 0],
            "mean": lambda state: (state * weight).sum(dim=1),
        }
    layers: dict[str, dict[str, np.ndarray]] = {pooling: {} for pooling in pools}
    for pooling, pool in pools.items():
        for i, state in enumerate(result.hidden_states):
            if i or pooling == "mean":  # the embeddings of the first and last token are constant
                name = f"block{i}" if i else "embedding"
                layers[pooling][name] = pool(state).numpy().copy()
    return Activations(result.logits.numpy(), layers)
