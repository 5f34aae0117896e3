"""Small transformers for sentences, with their vocabulary, training and hidden states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

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


def activations(
    model: Any, ids: np.ndarray, architecture: str
) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the hidden states of encoded sentences, (n, features) by pooling and layer, and their
    logits, (n, classes).

    Poolings of BERT and ALBERT: "cls", the first token, and "mean" over all real tokens with [CLS]
    and [SEP]; of Llama, which only looks back: "last", the last real token. Layers are "embedding",
    with positions added where the architecture adds them there, and "block1" onwards, the last one
    of Llama after its final normalisation. "cls" and "last" have no "embedding": there, this token
    is the same in every sentence.
    """
    torch, poolings = need("torch"), ("last",) if architecture == "llama" else ("cls", "mean")
    blocks = (inputs(torch, ids[i : i + ROWS]) for i in range(0, len(ids), ROWS))
    layers, logits = hidden_states(model, blocks, poolings)
    for pooling in set(layers) - {"mean"}:
        del layers[pooling]["embedding"]
    return layers, logits


def _mean(states: Any, mask: Any) -> Any:
    return (states * (mask / mask.sum(dim=1, keepdim=True)).unsqueeze(2)).sum(dim=1)


POOLINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "cls": lambda states, mask: states[:, 0],
    "mean": _mean,
    "last": lambda states, mask: states[range(len(states)), mask.sum(dim=1) - 1],
}


def hidden_states(
    model: Any, batches: Iterable[Mapping[str, Any]], poolings: Sequence[str]
) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the hidden states of texts, (n, width) by pooling and layer, and the logits, in the
    order of the batches.

    ``batches``: the arguments of the model, with their ``attention_mask``. Logits of a model that
    continues texts, (n, tokens, vocabulary), are those of the last real token.
    """
    torch = need("torch")
    layers: dict[str, dict[str, list[np.ndarray]]] = {pooling: {} for pooling in poolings}
    outputs = []
    for batch in batches:
        with torch.no_grad():
            result = model(**batch, output_hidden_states=True)
        mask, logits = batch["attention_mask"], result.logits
        logits = POOLINGS["last"](logits, mask) if logits.ndim == 3 else logits
        outputs.append(logits.float().cpu().numpy())
        for pooling in poolings:
            for i, states in enumerate(result.hidden_states):
                rows = POOLINGS[pooling](states, mask).float().cpu().numpy().copy()
                layers[pooling].setdefault(f"block{i}" if i else "embedding", []).append(rows)
    joined = {of: {name: np.concatenate(x) for name, x in layers[of].items()} for of in layers}
    return joined, np.concatenate(outputs)
