"""Readers of SST-2 and MNLI: the layouts in which users have them, files that are none, and what
the settings do to the examples."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from factories.text_data import sentences, write_mnli, write_sst2
from pyarrow import parquet

from resemblance.bench.training.language import data, paper
from resemblance.bench.training.language.data import Examples, TextTask, read
from resemblance.bench.training.language.pretrained import word_encoder
from resemblance.models.recipe import Recipe

ROWS = [('warm , "rich" film ', 1), ("dull plot ", 0), ("it 's flat\u2028stale ", 0)]


def written(folder, ending):
    """Write both splits of SST-2 in one format."""
    place = folder / "sst2"
    place.mkdir(parents=True)
    for name in ("train", "validation"):
        path = place / f"{name}{ending}"
        if ending == ".tsv":
            lines = [f"{text}\t{label}" for text, label in ROWS]
            path.write_bytes("\r\n".join(["sentence\tlabel", *lines, ""]).encode())
        elif ending == ".csv":
            lines = ['"' + text.replace('"', '""') + f'",{label}' for text, label in ROWS]
            path.write_text("\n".join(["sentence,label", *lines, ""]), "utf-8")
        elif ending == ".jsonl":
            lines = [json.dumps({"idx": 1, "sentence": t, "label": y}) for t, y in ROWS]
            path.write_text("\n".join([*lines, ""]), "utf-8")
        else:
            texts, labels = zip(*ROWS)
            parquet.write_table(pa.table({"sentence": texts, "label": labels}), path)
    return folder


@pytest.mark.parametrize("ending", data.TEXT_FILE_SUFFIXES)
def test_every_format_holds_the_same_examples(tmp_path, ending):
    task = read("sst2", written(tmp_path, ending), strict=False)
    assert task.classes == 2
    assert list(task.train.texts) == [text for text, _ in ROWS]
    assert task.validation.labels.tolist() == [1, 0, 0]
    assert task.train.pairs is None


def test_folders_and_names_of_glue_and_of_hugging_face(tmp_path):
    place = write_sst2(tmp_path, 6, 4)
    (place / "validation.tsv").rename(place / "dev.tsv")
    place.rename(place.parent / "SST-2")
    assert len(read("sst2", tmp_path, strict=False).validation.labels) == 4
    place = written(tmp_path / "shards", ".parquet") / "sst2"
    for name in ("train", "validation"):
        (place / f"{name}.parquet").rename(place / f"{name}-00000-of-00001.parquet")
    assert len(read("sst2", tmp_path / "shards", strict=False).train.labels) == 3


def test_pairs_of_sentences_with_named_classes(tmp_path):
    write_mnli(tmp_path, 6, 4)
    train = read("mnli", tmp_path, strict=False).train
    assert train.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert (train.texts[0], train.pairs[0]) == (sentences(6, 2)[0][0], sentences(6, 12)[0][0])
    assert train.take(np.array([2, 0])).labels.tolist() == [2, 0]


def test_the_numbers_of_examples_and_classes_are_those_of_the_original(tmp_path, monkeypatch):
    assert [sum(counts) for counts in data.TEXT_SOURCES["sst2"].counts] == [67_349, 872]
    write_sst2(tmp_path, 6, 4)
    with pytest.raises(ValueError, match=r"not SST-2: expected 67349 training examples, got 6; ge"):
        read("sst2", tmp_path)
    labels = read("sst2", tmp_path, strict=False).train.labels
    right = (int((labels == 0).sum()), int((labels == 1).sum()))
    for counts, problem in ((right, "872 validation"), (right[::-1], r"\d training .* negative")):
        made = data.TEXT_SOURCES["sst2"]._replace(counts=(counts, (428, 444)))
        monkeypatch.setattr(data, "TEXT_SOURCES", {"sst2": made})
        with pytest.raises(ValueError, match=f"not SST-2: expected {problem}"):
            read("sst2", tmp_path)


TABLE = b"sentence\tlabel\n"
BROKEN = [
    (".tsv", b"", "no column sentence"),
    (".tsv", TABLE, "has no rows"),
    (".tsv", b"text\tlabel\nfine\t1\n", "no column sentence"),
    (".tsv", TABLE + b"fine\n", "line 2 of .* has 1 cells, and the header 2"),
    (".tsv", TABLE + b"fine\t-1\n", "label -1, which marks a test set"),
    (".tsv", TABLE + b"fine\t2\n", "example 1 must be 0 to 1 or negative, positive; got '2'"),
    (".tsv", TABLE + b"fi\0ne\t1\n", "zero bytes"),
    (".tsv", TABLE + b"caf\xe9\t1\n", "is not UTF-8"),
    (".jsonl", b'{"sentence": "fine", "label": 1}\n[1]\n', "line 2 of .* must be an object"),
    (".jsonl", b'{"sentence": "fine"\n', "line 1 of .* is no JSON"),
    (".jsonl", b'{"sentence": "fine"}\n', "no column label"),
    (".jsonl", b'{"sentence": null, "label": 1}\n', "sentence of example 1 is no text"),
    (".csv", b'sentence,label\n"fine,1\n', "is no CSV"),
    (".parquet", b"PAR1 but not really", "cannot be read"),
]


def test_files_that_are_no_table_of_sentences(tmp_path, subtests):
    for i, (ending, content, problem) in enumerate(BROKEN):
        path = written(tmp_path / str(i), ending) / "sst2" / f"train{ending}"
        path.write_bytes(content)
        with subtests.test(problem):
            with pytest.raises(ValueError, match=problem) as error:
                read("sst2", tmp_path / str(i), strict=False)
            assert str(path) in str(error.value)


def test_missing_files_are_named_with_their_origin(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"language/mnli is missing: .*MNLI\.zip"):
        read("mnli", tmp_path)
    monkeypatch.setattr(data.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"sst2 is missing: .* the package datasets"):
        read("sst2", tmp_path, download=True)
    (write_sst2(tmp_path, 6, 4) / "validation.tsv").unlink()
    with pytest.raises(ValueError, match=r"validation\.tsv does not exist \(nor with \.parquet"):
        read("sst2", tmp_path, download=True, strict=False)


# ------------------------------------------------------------------------------------- settings


@pytest.fixture(scope="module")
def examples() -> Examples:
    texts, labels = zip(*sentences(400, 5))
    return Examples(texts, None, np.array(labels))


def recipe_of(setting, strength, seed=0, hyperparameters="resi-code"):
    options = paper.options("sst2", "bert", hyperparameters, True)
    return Recipe("language", "sst2", "bert", setting, strength, seed, options)


def corrupted(recipe, examples, synonyms=None):
    return data.corrupt_examples(recipe, examples, "train", 2, synonyms)


def test_a_group_shares_what_was_drawn_as_in_the_code_or_not_as_in_the_paper(examples):
    for hyperparameters, is_shared in (("resi-code", True), ("paper", False)):
        first, other = (
            corrupted(recipe_of("shortcut", 0.558, seed, hyperparameters), examples).hints
            for seed in (0, 3)
        )
        assert np.array_equal(first, other) == is_shared


def test_all_models_with_shortcuts_are_compared_on_the_same_sentences(examples):
    shown = [
        data.validation_examples(recipe_of("shortcut", rate, seed), examples, 2).hints
        for rate, seed in ((0.558, 0), (1.0, 4))
    ]
    assert (shown[0] == shown[1]).all()
    assert (shown[0] == examples.labels).mean() == pytest.approx(0.558, abs=0.08)


def test_normal_models_get_the_data_as_they_are_and_other_settings_are_refused(examples):
    assert corrupted(recipe_of("normal", 0.0), examples) is examples
    assert data.validation_examples(recipe_of("labels", 1.0), examples, 2) is examples
    with pytest.raises(ValueError, match="must be one of 'normal', 'labels', 'shortcut', 'augm"):
        corrupted(recipe_of("layers", 0.0), examples)


def test_synonyms_come_from_a_wordnet_folder(examples, tmp_path):
    recipe = recipe_of("augmentation", 1.0)
    assert data.load_needed_synonyms(recipe, tmp_path) is None
    recipe = recipe._replace(options={**recipe.options, "synonyms": True})
    with pytest.raises(ValueError, match=r"language/wordnet does not exist: put data\.noun"):
        data.load_needed_synonyms(recipe, tmp_path)
    place = tmp_path / "language" / "wordnet"
    place.mkdir(parents=True)
    for part in ("noun", "verb", "adj", "adv"):
        (place / f"data.{part}").write_text("1 03 n 02 film 0 movie 0 000 | a thing\n")
    synonyms = data.load_needed_synonyms(recipe, tmp_path)
    assert synonyms == {"film": ("movie",), "movie": ("film",)}
    assert any("movie" in text for text in corrupted(recipe, examples, synonyms).texts)


def test_words_of_pairs_have_segments_and_unseen_ones_no_number(examples):
    pairs = examples._replace(pairs=[*examples.texts[1:], "rich"])
    encode = word_encoder(TextTask(pairs, pairs, 2).train, 60)
    tokens = encode(pairs._replace(hints=pairs.labels), 40)
    row, segments = tokens.ids[0], tokens.segments[0]
    before = len(examples.texts[0].split()) + 3  # [CLS], shortcut, [SEP]
    assert segments.tolist() == [0] * before + [1] * (len(row) - before)
    assert row[-1] == row[before - 1] != row[0]
    assert max(len(ids) for ids in encode(pairs, 7).ids) == 7
    (unseen,) = word_encoder(examples, 20)(Examples(["unseen film"], None, np.zeros(1, int)), 9).ids
    assert (len(unseen), unseen[1]) == (4, 3)  # [UNK]
