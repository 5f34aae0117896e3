"""Easy data augmentation: what every operation may and may not change, and the reading of
WordNet."""

from __future__ import annotations

import numpy as np
import pytest

from resemblance.base.rng import generator
from resemblance.bench.training.language.shifts import (
    delete_words,
    eda,
    insert_synonyms,
    load_synonyms,
    replace_with_synonyms,
    swap_words,
    synonym_set,
)

WORDS = ["the", "parser", "reads", "a", "line", "of", "the", "file", "and", "gives", "one", "tree"]
SYNONYMS = {"line": ("row",), "file": ("record", "document"), "gives": ("yields",)}
LICENSE = "  1 This software and database is being provided to you\n"


def draws(label, count=200):
    return (generator(i, label) for i in range(count))


def test_share_zero_and_empty_sentences_stay():
    assert eda(WORDS, 0.0, generator(0, "test")) == WORDS
    assert eda([], 1.0, generator(0, "test")) == []


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        eda(WORDS, share, generator(0, "test"))


def test_the_same_generator_gives_the_same_sentence_and_the_input_stays():
    words = list(WORDS)
    first = [eda(words, 0.4, random, synonyms=SYNONYMS) for random in draws("same")]
    assert first == [eda(words, 0.4, random, synonyms=SYNONYMS) for random in draws("same")]
    assert words == WORDS
    assert len({tuple(sentence) for sentence in first}) > 50


def test_delete_keeps_the_order_and_the_share_on_average():
    lengths = []
    for random in draws("delete", 500):
        kept = delete_words(WORDS, 0.25, random)
        rest = iter(WORDS)
        assert all(word in rest for word in kept)
        lengths.append(len(kept))
    assert np.mean(lengths) == pytest.approx(0.75 * len(WORDS), rel=0.03)


def test_delete_leaves_one_word_and_any_of_them():
    left = {tuple(delete_words(["a", "b", "c"], 1.0, random)) for random in draws("all")}
    assert left == {("a",), ("b",), ("c",)}


def test_swap_changes_places_only():
    for random in draws("swap"):
        swapped = swap_words(WORDS, 1, random)
        assert sorted(swapped) == sorted(WORDS)
        assert sum(a != b for a, b in zip(swapped, WORDS)) in (0, 2)
    assert any(swap_words(WORDS, 3, random) != WORDS for random in draws("swap", 3))


def test_insert_adds_words_of_others_or_synonyms_of_the_sentence():
    for random in draws("insert"):
        assert sorted(set(insert_synonyms(WORDS, 3, random, others=["new"])) - set(WORDS)) == [
            "new"
        ]
        added = set(insert_synonyms(WORDS, 3, random, others=["new"], synonyms=SYNONYMS)) - set(
            WORDS
        )
        assert added <= {"row", "record", "document", "yields"}
        longer = insert_synonyms(WORDS, 2, random)
        assert len(longer) == len(WORDS) + 2
        assert set(longer) == set(WORDS)
    words = ["no", "synonym"]
    assert insert_synonyms(words, 2, generator(0, "test"), synonyms=SYNONYMS) == words


def test_replace_touches_words_with_synonyms_only():
    for random in draws("replace"):
        changed = replace_with_synonyms(WORDS, 2, random, SYNONYMS)
        pairs = [(a, b) for a, b in zip(WORDS, changed) if a != b]
        assert len(pairs) == 2
        assert all(b in SYNONYMS[a] for a, b in pairs)
    changed = replace_with_synonyms(WORDS, 9, generator(0, "test"), SYNONYMS)
    assert sum(a != b for a, b in zip(WORDS, changed)) == 3


def test_the_strength_is_the_number_of_changes():
    """A tenth of 12 words is one change, a quarter three; without synonyms nothing is replaced."""
    one = [eda(WORDS, 0.1, random, others=["new"]) for random in draws("tenth")]
    three = [eda(WORDS, 0.25, random, others=["new"]) for random in draws("quarter")]
    assert {sentence.count("new") for sentence in one} == {0, 1}
    assert {sentence.count("new") for sentence in three} == {0, 3}


def test_all_four_operations_are_drawn():
    sentences = [eda(WORDS, 0.25, random, synonyms=SYNONYMS) for random in draws("four")]
    fresh = {word for words in SYNONYMS.values() for word in words}
    longer = [s for s in sentences if len(s) > len(WORDS)]
    replaced = [s for s in sentences if len(s) == len(WORDS) and fresh & set(s)]
    swapped = [s for s in sentences if sorted(s) == sorted(WORDS) and s != WORDS]
    shorter = [s for s in sentences if len(s) < len(WORDS)]
    assert all(30 <= len(kind) <= 70 for kind in (longer, replaced, swapped, shorter))


def write_wordnet(folder):
    lines = {
        "noun": "00001 06 n 03 line 0 row 0 dress_circle 0 001 @ 00002 n 0000 | a queue\n",
        "verb": "00001 30 v 02 return 0 yield 1 000 01 + 08 00 | give back\n"
        "00002 30 v 01 wait 0 000 | stay\n",
        "adj": "00001 00 s 02 Abounding 0 galore(ip) 0 000 | plentiful\n",
        "adv": "00001 02 r 0b a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 line 0 "
        "000 | eleven, in hexadecimal\n",
    }
    for part, text in lines.items():
        (folder / f"data.{part}").write_text(LICENSE + text)


def test_synonyms_are_read_from_the_files_of_wordnet(tmp_path):
    write_wordnet(tmp_path)
    synonyms = load_synonyms(tmp_path)
    assert synonyms["return"] == ("yield",)
    assert synonyms["galore"] == ("abounding",)
    assert synonyms["row"] == ("line",)
    assert synonyms["line"] == ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "row")
    assert not {"wait", "dress_circle", "This"} & set(synonyms)


def test_a_folder_without_wordnet_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"data\.noun does not exist: give the folder of WordNet"):
        load_synonyms(tmp_path)
    write_wordnet(tmp_path)
    (tmp_path / "data.adv").write_text("something else\n")
    with pytest.raises(ValueError, match=r"data\.adv is not a data file of WordNet"):
        load_synonyms(tmp_path)


def test_synonym_set_reads_words_only():
    line = "00001 06 n 02 line 0 ice_cream 0 001 @ 00002 n 0000 | words words\n"
    assert synonym_set(line) == ["line"]
