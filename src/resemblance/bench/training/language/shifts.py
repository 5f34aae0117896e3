"""Changes to the words of sentences: stress tests at five severities, and easy data augmentation
(EDA)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..corruption import Shift, check_shift

TAUTOLOGY_WORDS = ("and", "true", "is", "true")
WordList = Sequence[str]
CueWords = Sequence[Sequence[str]]  # the words that indicate each class, the strongest first


def stress_sentences(
    sentences: Sequence[WordList],
    labels: np.ndarray,
    name: str,
    severity: int,
    cues: CueWords,
    random: np.random.Generator,
) -> list[list[str]]:
    """Return sentences after a stress test.

    ``sentences``: lists of words. ``labels``: the class of every sentence. ``name`` is a key of
    :data:`TEXT_STRESSES`; ``severity`` is 1 to 5, and 0 returns the sentences unchanged. ``cues``:
    see :func:`cue_words`. Reference: Naik et al. (COLING 2018), for the kinds of tests: noise
    (deletion, typos, order), distraction (tautology) and misleading words, as in HANS (McCoy et
    al., ACL 2019). The reference tests have pairs of sentences and no severities.

    Raises ``ValueError`` for an unknown test or severity, a sentence without words, labels that do
    not fit the sentences or the cues, and for ``"misleading"`` with a single class, or with a class
    without cues.
    """
    check_shift("stress_sentences", "stress test", name, TEXT_STRESSES, severity)
    _check_task(sentences, labels, name, cues)
    if severity == 0:
        return [list(words) for words in sentences]
    change, amounts = TEXT_STRESSES[name]
    pairs = zip(sentences, labels.tolist(), strict=True)
    return [change(words, amounts[severity - 1], label, cues, random) for words, label in pairs]


def _check_task(
    sentences: Sequence[WordList], labels: np.ndarray, name: str, cues: CueWords
) -> None:
    indices = [i for i, words in enumerate(sentences) if not len(words)]
    if indices:
        raise ValueError(
            f"stress_sentences: sentence {indices[0]} has no words; leave such sentences out"
        )
    if len(labels) != len(sentences):
        raise ValueError(
            f"stress_sentences: one label per sentence is needed; got {len(labels)} for "
            f"{len(sentences)}"
        )
    if name in ("misleading", "masking") and any(not 0 <= int(k) < len(cues) for k in labels):
        raise ValueError(
            f"stress_sentences: labels must be from 0 to {len(cues) - 1}, the classes that have "
            "cues"
        )
    if name == "misleading" and (len(cues) < 2 or not all(map(len, cues))):
        counts = [len(words) for words in cues]
        raise ValueError(
            "stress_sentences: 'misleading' needs cues of two or more classes; numbers of cues are "
            f"{counts}"
        )


def cue_words(
    sentences: Sequence[WordList], labels: np.ndarray, classes: int, number: int
) -> list[list[str]]:
    """Return, for each of ``classes`` classes, the ``number`` words that indicate the class most
    strongly, the strongest first.

    A word occurs in ``a`` sentences of the class and in ``b`` sentences of other classes. The
    strength is log((a + 1) / (b + 1)) + log(n_b / n_a), with n_a and n_b the numbers of all
    sentences of the class and of other classes. Words in fewer than three sentences do not count.
    Words of equal strength are in alphabetical order.
    """
    counts = [Counter[str]() for _ in range(classes)]
    for words, label in zip(sentences, labels, strict=True):
        counts[int(label)].update(set(words))
    totals = sum(counts, Counter[str]())
    candidates = {word: total for word, total in totals.items() if total >= 3}
    sizes = np.bincount(labels, minlength=classes)
    result = []
    for class_counts, size in zip(counts, sizes):
        base = np.log((len(labels) - size) / max(size, 1))
        scores = {}
        for word, total in candidates.items():
            count = class_counts[word]
            scores[word] = np.log((count + 1) / (total - count + 1)) + base
        result.append(sorted(scores, key=lambda word: (-scores[word], word))[:number])
    return result


def add_typos(
    words: WordList, share: float, label: int, cues: CueWords, random: np.random.Generator
) -> list[str]:
    """Return the words with typos: in each word, with probability ``share``, two neighbouring
    letters are swapped. ``label`` and ``cues`` have no effect."""
    result = []
    for word, hit in zip(words, random.random(len(words)) < share):
        result.append(_add_typo(word, random) if hit and len(word) > 1 else word)
    return result


def _add_typo(word: str, random: np.random.Generator) -> str:
    i = int(random.integers(len(word) - 1))
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def add_tautology(
    words: WordList, times: float, label: int, cues: CueWords, random: np.random.Generator
) -> list[str]:
    """Return the words after ``times`` repetitions of "and true is true", which carry no
    information. ``label``, ``cues`` and ``random`` have no effect.

    Naik et al. append the repetitions at the end, where truncation to the length limit of a model
    would remove the repetitions from long sentences.
    """
    return [*TAUTOLOGY_WORDS * int(times), *words]


def add_misleading_words(
    words: WordList, number: float, label: int, cues: CueWords, random: np.random.Generator
) -> list[str]:
    """Return the words after ``number`` words drawn from the ten strongest cues of a random wrong
    class. ``label``: the true class. ``cues``: a list of words per class, the strongest first."""
    other_classes = [k for k in range(len(cues)) if k != label]
    wrong_cues = cues[other_classes[int(random.integers(len(other_classes)))]][:10]
    return [*(wrong_cues[i] for i in random.integers(len(wrong_cues), size=int(number))), *words]


def mask_words(
    words: WordList, number: float, label: int, cues: CueWords, random: np.random.Generator
) -> list[str]:
    """Return the words without the ``number`` strongest cues of the class ``label``. At least one
    word always stays. ``cues``: a list of words per class, the strongest first."""
    strong_cues = set(cues[label][: int(number)])
    return [word for word in words if word not in strong_cues] or [words[0]]


SynonymsByWord = Mapping[str, Sequence[str]]
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")


def eda(
    words: Sequence[str],
    share: float,
    random: np.random.Generator,
    *,
    others: Sequence[str] = (),
    synonyms: SynonymsByWord | None = None,
) -> list[str]:
    """Return the words of a sentence after one operation of EDA (easy data augmentation), drawn
    uniformly.

    With n = max(1, int(share * number of words)), the operations are deletion of every word with
    probability ``share`` (a random word stays if all words would go), n swaps of two words, n
    insertions at random positions and, given ``synonyms``, replacement of n words by a synonym. An
    inserted word is a synonym of a word of the sentence. Without synonyms the function draws
    inserted words from ``others``, words of the same language, and without ``others`` from the
    sentence. ``share`` 0 returns the sentence unchanged.

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
        return delete_words(words, share, random)
    if operation == 1:
        return swap_words(words, times, random)
    if operation == 2:
        return insert_synonyms(words, times, random, others=others, synonyms=synonyms)
    return replace_with_synonyms(words, times, random, synonyms or {})


def delete_words(words: Sequence[str], share: float, random: np.random.Generator) -> list[str]:
    """Return the words with every word deleted with probability ``share``. At least one word always
    stays."""
    draws = random.random(len(words))
    result = [word for word, draw in zip(words, draws) if draw >= share]
    return result or [words[int(random.integers(len(words)))]]


def swap_words(words: Sequence[str], times: int, random: np.random.Generator) -> list[str]:
    """Return the words after ``times`` swaps of two random words."""
    result = list(words)
    for i, j in random.integers(len(words), size=(times, 2)):
        result[i], result[j] = result[j], result[i]
    return result


def insert_synonyms(
    words: Sequence[str],
    times: int,
    random: np.random.Generator,
    *,
    others: Sequence[str] = (),
    synonyms: SynonymsByWord | None = None,
) -> list[str]:
    """Return the words with ``times`` new words at random positions: synonyms of the words, or
    without ``synonyms`` words from ``others``, or without both the words themselves.

    With ``synonyms``, a sentence without any synonym stays unchanged.
    """
    source: Sequence[str] = others or words
    if synonyms is not None:
        source = [synonym for word in words for synonym in synonyms.get(word, ())]
    result = list(words)
    for _ in range(times if source else 0):
        result.insert(
            int(random.integers(len(result) + 1)), source[int(random.integers(len(source)))]
        )
    return result


def replace_with_synonyms(
    words: Sequence[str], times: int, random: np.random.Generator, synonyms: SynonymsByWord
) -> list[str]:
    """Return the words with up to ``times`` words replaced by a random synonym, among the words
    with synonyms."""
    result = list(words)
    places = [i for i, word in enumerate(words) if synonyms.get(word)]
    for i in random.permutation(len(places))[:times]:
        choices = synonyms[words[places[i]]]
        result[places[i]] = choices[int(random.integers(len(choices)))]
    return result


def load_synonyms(folder: str | Path) -> dict[str, tuple[str, ...]]:
    """Read the synonyms of all single words from the folder of a WordNet 3.0 database.

    Two words are synonyms if the words share a synonym set of any part of speech. All words are
    lower case. Compounds ("ice_cream") are left out. The function reads only the plain files
    ``data.noun``, ``data.verb``, ``data.adj`` and ``data.adv``.

    Raises ``ValueError`` when a file is missing or has other content.
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
                is_license = line.startswith("  ")
                members = [] if is_license else synonym_set(line, path)
                for word in members:
                    synonyms.setdefault(word, set()).update(members)
    sorted_synonyms = {word: tuple(sorted(members - {word})) for word, members in synonyms.items()}
    return {word: words for word, words in sorted_synonyms.items() if words}


def synonym_set(line: str, path: Path | str = "line") -> list[str]:
    """Return the single words in one line of a WordNet data file, in lower case; ``ValueError`` for
    any other line. ``path``: the file in errors.

    The fields of a line are offset, file number, type, number of words in hexadecimal, then every
    word with a sense number. An adjective may have a marker of position, as in ``galore(ip)``.
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


TEXT_STRESSES: Mapping[str, Shift] = {
    "deletion": Shift(
        lambda words, share, label, cues, random: delete_words(words, share, random),
        (0.1, 0.2, 0.3, 0.45, 0.6),
    ),
    "typos": Shift(add_typos, (0.1, 0.2, 0.3, 0.45, 0.6)),
    "order": Shift(
        lambda words, share, label, cues, random: swap_words(
            words, math.ceil(share * len(words)), random
        ),
        (0.1, 0.25, 0.5, 1.0, 2.0),
    ),
    "tautology": Shift(add_tautology, (1, 2, 3, 4, 5)),
    "misleading": Shift(add_misleading_words, (1, 2, 3, 4, 5)),
    "masking": Shift(mask_words, (10, 20, 40, 80, 160)),
}
