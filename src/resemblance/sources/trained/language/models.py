"""Small transformers for sentences: a vocabulary of words, random weights, training, and their
hidden states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....extras import need

CLASSES = 10
PADDING, START, END, UNKNOWN = "[PAD]", "[CLS]", "[SEP]", "[UNK]"
CLASS_TOKENS = tuple(f"[CLASS{k}]" for k in range(CLASSES))
SPECIAL = (PADDING, START, END, UNKNOWN, *CLASS_TOKENS)
ARCHITECTURES = ("bert", "albert", "llama")
ROWS = 256  # sentences that go through a network at once when it is only looked at
Vocabulary = Mapping[str, int]
Words = Sequence[str]


class Activations(NamedTuple):
    """What a network makes of sentences: logits (n, classes) and by pooling and layer an array (n,
    features)."""

    outputs: np.ndarray
    layers: dict[str, dict[str, np.ndarray]]


def words_of(text: str) -> list[str]:
    """Return the words, numbers and punctuation marks of a text in lower case; underscores only
    separate."""
    return re.findall(r"[^\W\d_]+|\d+|[^\w\s]", text.lower())


def vocabulary(sentences: Iterable[Words], size: int) -> dict[str, int]:
    """Return the id of every token: the special ones, then the most frequent words, ``size`` tokens
    in all.

    Words that are equally frequent come in alphabetical order, so the ids do not depend on the
    order of sentences.
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: size - len(SPECIAL)]
    return {token: i for i, token in enumerate([*SPECIAL, *frequent])}


def encode(sentences: Sequence[Words], known: Vocabulary, tokens: int) -> np.ndarray:
    """Return token ids, (n, tokens): [CLS], the words that fit, [SEP], then padding; unknown words
    are [UNK]."""
    ids = np.full((len(sentences), tokens), known[PADDING], dtype=np.int64)
    for row, sentence in zip(ids, sentences):
        inside = [known.get(word, known[UNKNOWN]) for word in sentence[: tokens - 2]]
        row[: len(inside) + 2] = [known[START], *inside, known[END]]
    return ids


def build(architecture: str, classes: int, options: Mapping[str, Any]) -> Any:
    """Return a network with random weights that classifies sentences: BERT, ALBERT or Llama of
    Hugging Face.

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
    dropout = {
        "hidden_dropout_prob": options["dropout"],
        "attention_probs_dropout_prob": options["dropout"],
    }
    if architecture == "bert":
        return transformers.BertForSequenceClassification(
            transformers.BertConfig(**shape, **dropout)
        )
    if architecture == "albert":
        dropout |= {
            "embedding_size": options["width"],
            "classifier_dropout_prob": options["dropout"],
        }
        return transformers.AlbertForSequenceClassification(
            transformers.AlbertConfig(**shape, **dropout)
        )
    if architecture == "llama":
        shape["attention_dropout"] = options["dropout"]
        return transformers.LlamaForSequenceClassification(transformers.LlamaConfig(**shape))
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
    """Train a network with AdamW and cross-entropy; ``epochs`` are the token ids (n, tokens) of
    every epoch.

    The learning rate rises over the first tenth of the steps and then falls to zero, both linearly.
    Gradients are scaled down to a norm of ``options["clip"]``: without that, a small model now and
    then ends up answering with a single class. Other ``options``: epochs, batch, rate (the
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
    """Yield the rows of every batch in random order; sentences of a batch have similar lengths,
    which saves padding."""
    lengths = torch.from_numpy((ids != SPECIAL.index(PADDING)).sum(axis=1))
    shuffled = torch.randperm(len(ids))
    parts = shuffled[lengths[shuffled].argsort(stable=True)].split(size)
    yield from (parts[i] for i in torch.randperm(len(parts)))


def inputs(torch: Any, ids: np.ndarray) -> dict[str, Any]:
    """Return what a network takes: token ids and mask, as long as the longest of these
    sentences."""
    real = ids != SPECIAL.index(PADDING)
    longest = int(real.sum(axis=1).max())
    return {
        "input_ids": torch.from_numpy(np.ascontiguousarray(ids[:, :longest])),
        "attention_mask": torch.from_numpy(real[:, :longest].astype(np.int64)),
    }


def logits_of(torch: Any, model: Any, ids: np.ndarray) -> np.ndarray:
    """Return what a network answers to encoded sentences, (n, classes)."""
    with torch.no_grad():
        parts = [model(**inputs(torch, ids[i : i + ROWS])).logits for i in range(0, len(ids), ROWS)]
    return np.asarray(torch.cat(parts).numpy())


def activations(torch: Any, model: Any, ids: np.ndarray, architecture: str) -> Activations:
    """Return logits and hidden states of encoded sentences.

    Poolings of BERT and ALBERT: "cls", the first token, and "mean" over all real tokens with [CLS]
    and [SEP]; of Llama, which only looks back: "last", the last real token. Layers are "embedding",
    with positions added where the architecture adds them there, and "block1" onwards, the last one
    of Llama after its final normalisation. "cls" and "last" have no "embedding": there, this token
    is the same in every sentence.
    """
    parts = [
        _pooled(torch, model, ids[i : i + ROWS], architecture) for i in range(0, len(ids), ROWS)
    ]
    outputs = np.concatenate([part.outputs for part in parts])
    names = {pooling: list(layers) for pooling, layers in parts[0].layers.items()}
    return Activations(
        outputs,
        {
            p: {n: np.concatenate([part.layers[p][n] for part in parts]) for n in names[p]}
            for p in names
        },
    )


def _pooled(torch: Any, model: Any, ids: np.ndarray, architecture: str) -> Activations:
    """Activations of one block of sentences."""
    given = inputs(torch, ids)
    with torch.no_grad():
        result = model(**given, output_hidden_states=True)
    names = ["embedding", *(f"block{i}" for i in range(1, len(result.hidden_states)))]
    states = dict(zip(names, result.hidden_states))
    blocks = {name: state for name, state in states.items() if name != "embedding"}
    mask = given["attention_mask"]
    if architecture == "llama":
        end = mask.sum(dim=1) - 1
        pools = {
            "last": {name: state[torch.arange(len(ids)), end] for name, state in blocks.items()}
        }
    else:
        weight = (mask / mask.sum(dim=1, keepdim=True)).unsqueeze(2)
        pools = {
            "cls": {name: state[:, 0] for name, state in blocks.items()},
            "mean": {name: (state * weight).sum(dim=1) for name, state in states.items()},
        }
    arrays = {
        pool: {name: value.numpy().copy() for name, value in layers.items()}
        for pool, layers in pools.items()
    }
    return Activations(result.logits.numpy(), arrays)
