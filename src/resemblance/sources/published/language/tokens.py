"""Token ids of sentences: by the tokenizer of a pretrained model, or by the words of the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...trained.language.models import CLASS_TOKENS, SPECIAL, Words, vocabulary, words_of
from .data import Examples

Encoder = Callable[[Examples, int], "TokenRows"]  # of examples, at most so many tokens each


class TokenRows(NamedTuple):
    """The token ids of texts, an array for each; for pairs also the segment (0, 1) of each token.

    ``padding``: the id of the token that fills up a batch.
    """

    ids: Sequence[np.ndarray]
    segments: Sequence[np.ndarray] | None
    padding: int

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each text, (n,)."""
        return np.array([len(ids) for ids in self.ids])


def batch_of(
    torch: Any, tokens: TokenRows, rows: np.ndarray | Sequence[int], device: Any
) -> dict[str, Any]:
    """Return the arguments of a model for some texts, padded to the longest of them."""
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


def by_length(lengths: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield the places of batches of similar lengths, from the shortest to the longest."""
    order = np.argsort(lengths, kind="stable")
    yield from (order[i : i + size] for i in range(0, len(order), size))


def pretrained_encoder(tokenizer: Any, classes: int) -> Encoder:
    """Return the function that encodes examples with a tokenizer of transformers.

    A shortcut is a token ``[CLASSk]`` of its own and a blank in front of the (first) sentence; the
    tokens are added to the tokenizer in the order of the classes when examples have shortcuts.
    """
    names = [f"[CLASS{k}]" for k in range(classes)]

    def encode(examples: Examples, limit: int) -> TokenRows:
        texts = list(examples.texts)
        if examples.hints is not None:
            tokenizer.add_special_tokens({"additional_special_tokens": names})
            texts = [f"{names[k]} {text}" for k, text in zip(examples.hints, texts)]
        pairs = None if examples.pairs is None else list(examples.pairs)
        encoded = tokenizer(texts, pairs, truncation=True, max_length=limit)
        segments = None if pairs is None else _arrays(encoded.get("token_type_ids"))
        ids = _arrays(encoded["input_ids"])
        return TokenRows(ids or [], segments, int(tokenizer.pad_token_id))

    return encode


def _arrays(rows: Sequence[Sequence[int]] | None) -> list[np.ndarray] | None:
    return None if rows is None else [np.asarray(row, dtype=np.int64) for row in rows]


def word_encoder(training: Examples, size: int) -> Encoder:
    """Return the function that encodes examples by their words, in lower case.

    The vocabulary are the special tokens and the most frequent words of the training sentences.
    Pairs are separated by [SEP], and cut at the end.
    """
    parts = [training.texts] if training.pairs is None else [training.texts, training.pairs]
    ids = vocabulary((words_of(text) for texts in parts for text in texts), size)

    def encode(examples: Examples, limit: int) -> TokenRows:
        rows = [_row(examples, i, ids, limit) for i in range(len(examples.texts))]
        segments = None if examples.pairs is None else [_segments(row, ids) for row in rows]
        return TokenRows(rows, segments, ids[SPECIAL[0]])

    return encode


def _row(examples: Examples, place: int, ids: Mapping[str, int], limit: int) -> np.ndarray:
    """Return [CLS], the shortcut, words and [SEP], and for pairs more words and [SEP]."""
    _, start, end, unknown = SPECIAL[:4]
    words: Words = words_of(examples.texts[place])
    hint = [] if examples.hints is None else [CLASS_TOKENS[examples.hints[place]]]
    second = [] if examples.pairs is None else [end, *words_of(examples.pairs[place])]
    tokens = [start, *hint, *words, *second][: limit - 1]
    return np.array([ids.get(token, ids[unknown]) for token in (*tokens, end)])


def _segments(row: np.ndarray, ids: Mapping[str, int]) -> np.ndarray:
    """Return 0 up to the first [SEP] and 1 after it."""
    after = np.cumsum(row == ids[SPECIAL[2]]) - (row == ids[SPECIAL[2]])
    return np.minimum(after, 1)
