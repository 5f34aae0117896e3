"""Small transformers for sentences: vocabulary, token batches, networks and hidden states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional

N_CLASS_TOKENS = 10
PADDING_TOKEN, START_TOKEN, END_TOKEN, UNKNOWN_TOKEN = "[PAD]", "[CLS]", "[SEP]", "[UNK]"
CLASS_TOKENS = tuple(f"[CLASS{k}]" for k in range(N_CLASS_TOKENS))
SPECIAL_TOKENS = (PADDING_TOKEN, START_TOKEN, END_TOKEN, UNKNOWN_TOKEN, *CLASS_TOKENS)
HUGGING_FACE_ARCHITECTURES = ("bert", "albert", "llama")
Vocabulary = Mapping[str, int]
WordSequence = Sequence[str]


def split_words(text: str) -> list[str]:
    """Return words, numbers and punctuation marks in lower case; underscores are separators."""
    return re.findall(r"[^\W\d_]+|\d+|[^\w\s]", text.lower())


def build_vocabulary(sentences: Iterable[WordSequence], size: int) -> dict[str, int]:
    """Return the ids of ``size`` tokens by token: first the special tokens, then the most frequent
    words of the sentences.

    Equally frequent words come in alphabetical order, so the ids do not depend on the order of
    sentences.
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    words = sorted(counts, key=lambda word: (-counts[word], word))[: size - len(SPECIAL_TOKENS)]
    return {token: i for i, token in enumerate([*SPECIAL_TOKENS, *words])}


class TokenRows(NamedTuple):
    """The token ids of texts, one array per text; for pairs also the segment (0, 1) of every token.

    ``padding``: the id of the token that pads a batch.
    """

    ids: Sequence[np.ndarray]
    segments: Sequence[np.ndarray] | None = None
    padding: int = 0

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of every text, (n,)."""
        return np.array([len(ids) for ids in self.ids])


def encode_sentences(sentences: Sequence[WordSequence], ids: Vocabulary, tokens: int) -> TokenRows:
    """Return the tokens of sentences: [CLS], the words, with [UNK] for unknown words, and [SEP].
    ``ids``: of the tokens, by token. ``tokens``: the largest number of tokens per sentence; more
    words are cut off."""
    start, end, unknown_id = (ids[token] for token in (START_TOKEN, END_TOKEN, UNKNOWN_TOKEN))
    rows = [[ids.get(word, unknown_id) for word in words[: tokens - 2]] for words in sentences]
    return TokenRows([np.array([start, *row, end]) for row in rows], padding=ids[PADDING_TOKEN])


def padded_batch(
    torch: Any, tokens: TokenRows, rows: np.ndarray | Sequence[int], device: Any
) -> dict[str, Any]:
    """Return the model inputs for the texts at the indices ``rows``, as tensors (rows, longest) on
    the device, padded to the longest of the selected texts: "input_ids", "attention_mask" and, if
    the tokens have segments, "token_type_ids". ``torch``: the module PyTorch."""
    places = np.asarray(rows).tolist()
    longest = max(len(tokens.ids[i]) for i in places)
    ids = np.full((len(places), longest), tokens.padding, dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, i in enumerate(places):
        length = len(tokens.ids[i])
        ids[row, :length], mask[row, :length] = tokens.ids[i], 1
        if tokens.segments is not None:
            segments[row, :length] = tokens.segments[i]
    arrays = {"input_ids": ids, "attention_mask": mask}
    if tokens.segments is not None:
        arrays["token_type_ids"] = segments
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def batches_by_length(lengths: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield batches of ``size`` indices of texts with similar lengths, from the shortest to the
    longest; the last batch may have fewer. ``lengths``: the numbers of tokens, (n,)."""
    order = np.argsort(lengths, kind="stable")
    yield from (order[i : i + size] for i in range(0, len(order), size))


def build_text_network(architecture: str, classes: int, options: Mapping[str, Any]) -> Any:
    """Return Hugging Face's BERT, ALBERT or Llama for classification into ``classes`` classes, with
    random weights.

    ``options``: vocabulary, tokens, width, inner (the width of the feed-forward layers), layers,
    heads, dropout, and init, the standard deviation of the initial weights. Raises ``ValueError``
    for another architecture.
    """
    transformers = import_optional("transformers")
    shape = {
        "vocab_size": options["vocabulary"],
        "max_position_embeddings": options["tokens"],
        "hidden_size": options["width"],
        "intermediate_size": options["inner"],
        "num_hidden_layers": options["layers"],
        "num_attention_heads": options["heads"],
        "initializer_range": options["init"],
        "num_labels": classes,
        "pad_token_id": SPECIAL_TOKENS.index(PADDING_TOKEN),
        "bos_token_id": SPECIAL_TOKENS.index(START_TOKEN),
        "eos_token_id": SPECIAL_TOKENS.index(END_TOKEN),
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
        f"language: architecture must be one of {', '.join(HUGGING_FACE_ARCHITECTURES)}; got "
        f"{architecture!r}"
    )


def _mean_of_tokens(states: Any, mask: Any) -> Any:
    return (states * (mask / mask.sum(dim=1, keepdim=True)).unsqueeze(2)).sum(dim=1)


TEXT_POOLINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "cls": lambda states, mask: states[:, 0],
    "mean": _mean_of_tokens,
    "last": lambda states, mask: states[range(len(states)), mask.sum(dim=1) - 1],
}


def hidden_states(
    model: Any,
    tokens: TokenRows,
    poolings: Sequence[str],
    batches: Iterable[np.ndarray],
    device: Any = "cpu",
) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the hidden states of texts, pooled, (n, width) by pooling and layer, and the logits
    (n, outputs), in the order of the texts.

    Poolings: "cls", the first token; "mean", the mean over all real tokens including [CLS] and
    [SEP]; "last", the last real token. Layers: "embedding", the input of the first block, and
    "block1" onwards; Llama's last block is taken after the final normalisation. For a language
    model with logits (n, tokens, vocabulary), the function returns the logits of the last real
    token.

    ``model``: a transformer in evaluation mode on ``device``. ``batches``: the indices of the texts
    in every batch, every text once; a batch is padded to the longest text.
    """
    torch, order = import_optional("torch"), []
    layers: dict[str, dict[str, list[np.ndarray]]] = {pooling: {} for pooling in poolings}
    outputs = []
    for rows in batches:
        order.append(rows)
        batch = padded_batch(torch, tokens, rows, device)
        with torch.no_grad():
            result = model(**batch, output_hidden_states=True)
        mask, logits = batch["attention_mask"], result.logits
        logits = TEXT_POOLINGS["last"](logits, mask) if logits.ndim == 3 else logits
        outputs.append(logits.float().cpu().numpy())
        for pooling in poolings:
            for i, states in enumerate(result.hidden_states):
                vectors = TEXT_POOLINGS[pooling](states, mask).float().cpu().numpy().copy()
                layers[pooling].setdefault(f"block{i}" if i else "embedding", []).append(vectors)
    places = np.argsort(np.concatenate(order))
    arrays = {
        pooling: {name: np.concatenate(parts)[places] for name, parts in parts_by_layer.items()}
        for pooling, parts_by_layer in layers.items()
    }
    return arrays, np.concatenate(outputs)[places]
