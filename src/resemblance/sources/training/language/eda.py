"""Easy data augmentation (EDA): small random changes to the words of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

Synonyms = Mapping[str, Sequence[str]]
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")


def eda(
    words: Sequence[str],
    share: float,
    random: np.random.Generator,
    *,
    others: Sequence[str] = (),
    synonyms: Synonyms | None = None,
) -> list[str]:
    """Return the words of a sentence after one operation of EDA, drawn uniformly.

    With n = max(1, int(share * number of words)), the operations are deletion of each word with
    probability ``share`` (a random word stays if all would go), n swaps of two words, n insertions
    at random places and, given ``synonyms``, replacement of n words by a synonym. An inserted word
    is a synonym of a word of the sentence; without synonyms it is drawn from ``others``, words of
    the same language, and without these from the sentence. ``share`` 0 leaves the sentence as it
    is.

    Raises ``ValueError`` for a share outside 0 to 1. Reference: Wei and Zou (EMNLP 2019), who also
    train on the original sentences, and never replace stop words.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"eda: share must be between 0 and 1; got {share!r}")
    if not words or share == 0:
        return list(words)
    times = max(1, int(share * len(words)))
    operation = random.integers(4 if synonyms is not None else 3)
    if operation == 0:
        return delete(words, share, random)
    if operation == 1:
        return swap(words, times, random)
    if operation == 2:
        return insert(words, times, random, others=others, synonyms=synonyms)
    return replace(words, times, random, synonyms or {})


def delete(words: Sequence[str], share: float, random: np.random.Generator) -> list[str]:
    """Return the words without each with probability ``share``; one of them always stays."""
    draws = random.random(len(words))
    remaining = [word for word, draw in zip(words, draws) if draw >= share]
    return remaining or [words[int(random.integers(len(words)))]]


def swap(words: Sequence[str], times: int, random: np.random.Generator) -> list[str]:
    """Return the words after ``times`` swaps of two that are drawn at random."""
    result = list(words)
    for i, j in random.integers(len(words), size=(times, 2)):
        result[i], result[j] = result[j], result[i]
    return result


def insert(
    words: Sequence[str],
    times: int,
    random: np.random.Generator,
    *,
    others: Sequence[str] = (),
    synonyms: Synonyms | None = None,
) -> list[str]:
    """Return the words with ``times`` more at random places, synonyms or words from ``others``.

    With ``synonyms``, a sentence none of whose words has one stays as it is.
    """
    source: Sequence[str] = others or words
    if synonyms is not None:
        source = [other for word in words for other in synonyms.get(word, ())]
    result = list(words)
    for _ in range(times if source else 0):
        result.insert(
            int(random.integers(len(result) + 1)), source[int(random.integers(len(source)))]
        )
    return result


def replace(
    words: Sequence[str], times: int, random: np.random.Generator, synonyms: Synonyms
) -> list[str]:
    """Return the words with up to ``times`` of those that have synonyms replaced by one of them."""
    result = list(words)
    places = [i for i, word in enumerate(words) if synonyms.get(word)]
    for i in random.permutation(len(places))[:times]:
        choices = synonyms[words[places[i]]]
        result[places[i]] = choices[int(random.integers(len(choices)))]
    return result


def load_synonyms(folder: str | Path) -> dict[str, tuple[str, ...]]:
    """Read the synonyms of all single words from the folder of a WordNet 3.0 database.

    Two words are synonyms when they share a synonym set, whatever its part of speech; both are
    lower case. Words of several parts ("ice_cream") are left out. Only the plain files
    ``data.noun``, ``data.verb``, ``data.adj`` and ``data.adv`` are read.

    Raises ``ValueError`` when a file is missing or holds something else.
    """
    synonyms: dict[str, set[str]] = {}
    for part in PARTS_OF_SPEECH:
        path = Path(folder) / f"data.{part}"
        if not path.is_file():
            raise ValueError(
                f"{path} does not exist: give the folder of WordNet 3.0 that holds data.noun, or "
                "None"
            )
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                is_licence = line.startswith("  ")
                members = [] if is_licence else synonym_set(line, path)
                for word in members:
                    synonyms.setdefault(word, set()).update(members)
    others = {word: tuple(sorted(members - {word})) for word, members in synonyms.items()}
    return {word: words for word, words in others.items() if words}


def synonym_set(line: str, path: Path | str = "line") -> list[str]:
    """Return the single words of one line of a WordNet data file.

    Its fields are offset, file number, type, number of words in hexadecimal, then each word with
    its sense number. An adjective may carry a marker of its place, as in ``galore(ip)``.
    """
    fields = line.split(" ")
    try:
        count = int(fields[3], 16)
        words = [field.partition("(")[0].lower() for field in fields[4 : 4 + 2 * count : 2]]
    except (IndexError, ValueError):
        raise ValueError(
            f"{path} is not a data file of WordNet 3.0: cannot read {line[:40]!r}"
        ) from None
    return [word for word in words if word.isalpha()]
