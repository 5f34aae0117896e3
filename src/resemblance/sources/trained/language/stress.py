"""Stress tests for classifiers of sentences at five severities: words lost, spoilt, misplaced,
added and misleading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..common import check_shift
from .augment import delete, swap

TAUTOLOGY = ("and", "true", "is", "true")
Words = Sequence[str]
Cues = Sequence[Sequence[str]]  # by class, words that speak for it, the strongest first


class Context(NamedTuple):
    """What a stress test may use: the class of the sentence, and the cues of all classes."""

    label: int
    cues: Cues


class Stress(NamedTuple):
    """``change(words, amount, context, random)``, and its amounts at the severities 1 to 5."""

    change: Callable[[Words, float, Context, np.random.Generator], list[str]]
    amounts: tuple[float, float, float, float, float]


def stressed(
    sentences: Sequence[Words],
    labels: np.ndarray,
    name: str,
    severity: int,
    cues: Cues,
    random: np.random.Generator,
) -> list[list[str]]:
    """Return sentences after a stress test.

    ``name`` is one of :data:`STRESSES`; ``severity`` 1 to 5, and 0 leaves the sentences as they
    are. ``cues``: see
    :func:`cue_words`. Reference: Naik et al. (COLING 2018), for the kinds: noise (deletion, typos,
    order), distraction (tautology) and words that mislead, as HANS does (McCoy et al., ACL 2019).
    Theirs are for pairs of sentences and have no severities.

    Raises ``ValueError`` for an unknown test or severity, a sentence without words, labels that do
    not fit the sentences or the cues, and for ``"misleading"`` when there is one class only, or one
    without cues.
    """
    check_shift("stressed", "stress test", name, STRESSES, severity)
    _check_task(sentences, labels, name, cues)
    if severity == 0:
        return [list(words) for words in sentences]
    change, amounts = STRESSES[name]
    amount = amounts[severity - 1]
    return [
        change(w, amount, Context(int(k), cues), random)
        for w, k in zip(sentences, labels, strict=True)
    ]


def _check_task(sentences: Sequence[Words], labels: np.ndarray, name: str, cues: Cues) -> None:
    empty = [i for i, words in enumerate(sentences) if not len(words)]
    if empty:
        raise ValueError(f"stressed: sentence {empty[0]} has no words; leave such sentences out")
    if len(labels) != len(sentences):
        raise ValueError(
            f"stressed: one label per sentence is needed; got {len(labels)} for {len(sentences)}"
        )
    if name in ("misleading", "masking") and any(not 0 <= int(k) < len(cues) for k in labels):
        raise ValueError(
            f"stressed: labels must be from 0 to {len(cues) - 1}, the classes that have cues"
        )
    if name == "misleading" and (len(cues) < 2 or not all(map(len, cues))):
        counts = [len(words) for words in cues]
        raise ValueError(
            "stressed: 'misleading' needs cues of two or more classes; numbers of cues are "
            f"{counts}"
        )


def cue_words(
    sentences: Sequence[Words], labels: np.ndarray, classes: int, number: int
) -> list[list[str]]:
    """Return by class the ``number`` words that speak most for it.

    Of a word that ``a`` sentences of the class and ``b`` others hold, that is log((a + 1) / (b +
    1)) + log(n_b / n_a), with n_a and n_b the numbers of these sentences; at least three sentences
    must hold it. Equals are in alphabetical order.
    """
    holding = [Counter[str]() for _ in range(classes)]
    for words, label in zip(sentences, labels, strict=True):
        holding[int(label)].update(set(words))
    every = sum(holding, Counter[str]())
    sizes = np.bincount(labels, minlength=classes)
    result = []
    for own, size in zip(holding, sizes):
        base = np.log((len(labels) - size) / max(size, 1))
        scores = {
            w: np.log((own[w] + 1) / (n - own[w] + 1)) + base for w, n in every.items() if n >= 3
        }
        result.append(sorted(scores, key=lambda word: (-scores[word], word))[:number])
    return result


def deletion(
    words: Words, share: float, context: Context, random: np.random.Generator
) -> list[str]:
    """Return the words without those deleted, each with probability ``share``; one always stays."""
    return delete(words, share, random)


def typos(words: Words, share: float, context: Context, random: np.random.Generator) -> list[str]:
    """Return the words, each with probability ``share`` with two neighbouring letters swapped."""
    hit = random.random(len(words)) < share
    return [
        _typo(word, random) if spoilt and len(word) > 1 else word
        for word, spoilt in zip(words, hit)
    ]


def _typo(word: str, random: np.random.Generator) -> str:
    i = int(random.integers(len(word) - 1))
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def order(words: Words, share: float, context: Context, random: np.random.Generator) -> list[str]:
    """Return the words after ``share`` times their number swaps of two of them, rounded up."""
    return swap(words, int(np.ceil(share * len(words))), random)


def tautology(
    words: Words, times: float, context: Context, random: np.random.Generator
) -> list[str]:
    """Return the words behind ``times`` "and true is true", which say nothing.

    Naik et al. put these at the end; there, long sentences would lose them when they are cut to the
    length of a model.
    """
    return [*TAUTOLOGY * int(times), *words]


def misleading(
    words: Words, number: float, context: Context, random: np.random.Generator
) -> list[str]:
    """Return the words behind ``number`` cues of one other class, drawn from its ten strongest."""
    others = [k for k in range(len(context.cues)) if k != context.label]
    cues = context.cues[others[int(random.integers(len(others)))]][:10]
    return [*(cues[i] for i in random.integers(len(cues), size=int(number))), *words]


def masking(
    words: Words, number: float, context: Context, random: np.random.Generator
) -> list[str]:
    """Return the words without those among the ``number`` strongest cues of the class; one always
    stays."""
    strongest = set(context.cues[context.label][: int(number)])
    return [word for word in words if word not in strongest] or [words[0]]


STRESSES: Mapping[str, Stress] = {
    "deletion": Stress(deletion, (0.1, 0.2, 0.3, 0.45, 0.6)),
    "typos": Stress(typos, (0.1, 0.2, 0.3, 0.45, 0.6)),
    "order": Stress(order, (0.1, 0.25, 0.5, 1.0, 2.0)),
    "tautology": Stress(tautology, (1, 2, 3, 4, 5)),
    "misleading": Stress(misleading, (1, 2, 3, 4, 5)),
    "masking": Stress(masking, (10, 20, 40, 80, 160)),
}
