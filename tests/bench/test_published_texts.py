"""Readers of SST-2 and MNLI: the layouts in which users have them, and files that are none."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from factories.text_data import sentences, write_mnli, write_sst2
from pyarrow import parquet

from resemblance.bench.training.language import data
from resemblance.bench.training.language.data import read

ROWS = [('warm , "rich" film ', 1), ("dull plot ", 0), ("it 's flat\u2028stale ", 0)]


def written(folder, ending, rows=ROWS):
    """Write both splits in one format."""
    place = folder / "sst2"
    place.mkdir(parents=True)
    for name in ("train", "validation"):
        path = place / f"{name}{ending}"
        if ending == ".tsv":
            lines = [f"{text}\t{label}" for text, label in rows]
            path.write_bytes("\r\n".join(["sentence\tlabel", *lines, ""]).encode())
        elif ending == ".csv":
            lines = ['"' + text.replace('"', '""') + f'",{label}' for text, label in rows]
            path.write_text("\n".join(["sentence,label", *lines, ""]), "utf-8")
        elif ending == ".jsonl":
            lines = [json.dumps({"idx": 1, "sentence": t, "label": y}) for t, y in rows]
            path.write_text("\n".join([*lines, ""]), "utf-8")
        else:
            texts, labels = zip(*rows)
            columns = {"sentence": texts, "label": labels, "idx": range(len(rows))}
            parquet.write_table(pa.table(columns), path)
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
    written(tmp_path / "shards", ".parquet")
    place = tmp_path / "shards" / "sst2"
    for name in ("train", "validation"):
        (place / f"{name}.parquet").rename(place / f"{name}-00000-of-00001.parquet")
    assert len(read("sst2", tmp_path / "shards", strict=False).train.labels) == 3


def test_pairs_of_sentences_with_named_classes(tmp_path):
    write_mnli(tmp_path, 6, 4)
    task = read("mnli", tmp_path, strict=False)
    assert task.train.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert task.train.texts[0] == sentences(6, 2)[0][0]
    assert task.train.pairs is not None
    assert task.train.pairs[0] == sentences(6, 12)[0][0]
    assert task.train.take(np.array([2, 0])).labels.tolist() == [2, 0]


def test_the_numbers_of_examples_are_those_of_the_original(tmp_path):
    write_sst2(tmp_path, 6, 4)
    with pytest.raises(ValueError, match=r"not SST-2: expected 67349 training examples, got 6; ge"):
        read("sst2", tmp_path)


def test_the_classes_are_those_of_the_original(tmp_path, monkeypatch):
    assert [sum(counts) for counts in data.TEXT_SOURCES["sst2"].counts] == [67_349, 872]
    write_sst2(tmp_path, 6, 4)
    labels = read("sst2", tmp_path, strict=False).train.labels
    right = (int((labels == 0).sum()), int((labels == 1).sum()))
    for counts, problem in ((right, "872 validation"), (right[::-1], r"\d training .* negative")):
        made = data.TEXT_SOURCES["sst2"]._replace(counts=(counts, (428, 444)))
        monkeypatch.setattr(data, "TEXT_SOURCES", {"sst2": made})
        with pytest.raises(ValueError, match=f"not SST-2: expected {problem}"):
            read("sst2", tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no column sentence"),
        (b"sentence\tlabel\n", "has no rows"),
        (b"text\tlabel\nfine\t1\n", "no column sentence"),
        (b"sentence\tlabel\nfine\n", "line 2 of .* has 1 cells, and the header 2"),
        (b"sentence\tlabel\nfine\t-1\n", "label -1, which marks a test set"),
        (b"sentence\tlabel\nfine\t2\n", "example 1 must be 0 to 1 or negative, positive; got '2'"),
        (b"sentence\tlabel\nfi\0ne\t1\n", "zero bytes"),
        (b"sentence\tlabel\ncaf\xe9\t1\n", "is not UTF-8"),
        ("sentence\tlabel\nfine\t1\n".encode("utf-16"), "zero bytes"),
    ],
)
def test_files_that_are_no_table_of_sentences(tmp_path, content, problem):
    path = write_sst2(tmp_path, 6, 4) / "train.tsv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=problem) as error:
        read("sst2", tmp_path, strict=False)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("ending", "content", "problem"),
    [
        (".jsonl", b'{"sentence": "fine", "label": 1}\n[1]\n', "line 2 of .* must be an object"),
        (".jsonl", b'{"sentence": "fine"\n', "line 1 of .* is no JSON"),
        (".jsonl", b'{"sentence": "fine"}\n', "no column label"),
        (".jsonl", b'{"sentence": null, "label": 1}\n', "sentence of example 1 is no text"),
        (".csv", b'sentence,label\n"fine,1\n', "is no CSV"),
        (".parquet", b"PAR1 but not really", "cannot be read"),
    ],
)
def test_damaged_files_of_other_formats(tmp_path, ending, content, problem):
    path = written(tmp_path, ending) / "sst2" / f"train{ending}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=problem) as error:
        read("sst2", tmp_path, strict=False)
    assert str(path) in str(error.value)


def test_a_parquet_file_that_ends_too_early(tmp_path):
    path = written(tmp_path, ".parquet") / "sst2" / "validation.parquet"
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(ValueError, match=r"validation\.parquet cannot be read"):
        read("sst2", tmp_path, strict=False)


def test_missing_files_are_named_with_their_origin(tmp_path):
    with pytest.raises(ValueError, match=r"language/mnli is missing: .*MNLI\.zip"):
        read("mnli", tmp_path)
    (write_sst2(tmp_path, 6, 4) / "validation.tsv").unlink()
    with pytest.raises(ValueError, match=r"validation\.tsv does not exist \(nor with \.parquet"):
        read("sst2", tmp_path, strict=False)


def test_a_download_needs_the_package_that_does_it(tmp_path, monkeypatch):
    monkeypatch.setattr(data.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"sst2 is missing: .* the package datasets"):
        read("sst2", tmp_path, download=True)
    write_sst2(tmp_path, 6, 4)
    assert len(read("sst2", tmp_path, download=True, strict=False).train.labels) == 6
