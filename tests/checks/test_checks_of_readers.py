"""Every format that the package reads gives its value, or an error with the path and a remedy."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from anndata import AnnData
from factories.graph_data import write_cora
from factories.packs import manifolds_pack
from PIL import Image
from safetensors.numpy import save_file
from torch import nn

import resemblance as rs
from resemblance.bench.packs import open_pack
from resemblance.bench.ranking import score_file
from resemblance.checks import check_reader
from resemblance.cli.inputs import LABEL_ARRAY_SUFFIXES, LABEL_TEXT_SUFFIXES, read_label_file
from resemblance.models import load_model, load_samples
from resemblance.models.files import ARRAY_SUFFIXES, READABLE_SUFFIXES, read_files
from resemblance.models.sample_sources import IMAGE_SUFFIXES
from resemblance.models.scripts import MODEL_FILE_SUFFIXES, PICKLE_SUFFIXES
from resemblance.models.tables import TEXT_SUFFIXES

NUMBERS = np.random.default_rng(0).standard_normal((40, 5))
TEXTS = [f"text {number}." for number in range(40)]
LABELS = np.arange(40) % 3
LINE_SUFFIXES = (".csv", ".jsonl", ".ndjson", ".tsv", ".txt")  # any lines are such a file


class Row(NamedTuple):
    """A reader, and a function that writes a good file below a folder."""

    read: Callable[[Any], Any]
    write: Callable[[Path], tuple[Path, Any]]
    has_lines: bool = False


# ------------------------------------------------------------------------------- files of values

WRITERS: dict[str, Callable[[Path, Any], object]] = {
    ".npy": np.save,
    ".npz": lambda path, values: np.savez(path, only=values),
    ".safetensors": lambda path, values: save_file({"only": values}, path),
    ".parquet": lambda path, values: frame_of(values).to_parquet(path),
    ".jsonl": lambda path, values: write_lines(path, map(json.dumps, np.asarray(values).tolist())),
    ".ndjson": lambda path, values: WRITERS[".jsonl"](path, values),
    ".csv": lambda path, values: write_lines(path, ["text"] * isinstance(values, list) + [*values]),
    ".tsv": lambda path, values: WRITERS[".csv"](path, values),
    ".txt": lambda path, values: write_lines(path, values),
}


def frame_of(values):
    return pd.DataFrame(values, columns=["text"] if isinstance(values, list) else list("abcde"))


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def read_arrays(path):
    return [np.asarray(r.source) for r in read_files([path]).values()]


def read_samples(path):
    samples = load_samples(path)
    return [np.asarray(sample) for sample in samples.batch(0, len(samples))]


def read_labels(path):
    return read_label_file(Path(path), "--labels")


def value_row(read, suffix, values, expected):
    def write(folder):
        WRITERS[suffix](folder / f"file{suffix}", values)
        return folder / f"file{suffix}", expected

    return Row(read, write, suffix in LINE_SUFFIXES)


VALUE_ROWS = {
    "a representation .npy": value_row(
        lambda path: rs.Representation(Path(path)).array, ".npy", NUMBERS, NUMBERS
    ),
    **{f"arrays {s}": value_row(read_arrays, s, NUMBERS, [NUMBERS]) for s in READABLE_SUFFIXES},
    **{f"samples {s}": value_row(read_samples, s, TEXTS, TEXTS) for s in TEXT_SUFFIXES},
    **{f"samples {s}": value_row(read_samples, s, NUMBERS, [*NUMBERS]) for s in ARRAY_SUFFIXES},
    **{f"labels {s}": value_row(read_labels, s, LABELS, LABELS) for s in LABEL_ARRAY_SUFFIXES},
    **{
        f"labels {s}": value_row(read_labels, s, LABELS, LABELS.astype(str))
        for s in LABEL_TEXT_SUFFIXES
    },
}

# ------------------------------------------------------------- models, folders and saved results


def read_weights(path):
    return {name: w.numpy() for name, w in load_model(path).module.state_dict().items()}


def write_exported_model(folder):
    model = nn.Sequential(nn.Linear(5, 5), nn.Tanh()).eval()
    torch.export.save(torch.export.export(model, (torch.zeros(2, 5),)), folder / "model.pt2")
    return folder / "model.pt2", {k: w.numpy() for k, w in model.state_dict().items()}


def write_images(folder):
    place, images = folder / "images", []
    place.mkdir()
    for number, suffix in enumerate(IMAGE_SUFFIXES):
        pixels = np.random.default_rng(number).integers(0, 255, (24, 24), dtype=np.uint8)
        Image.fromarray(pixels).save(place / f"{number}{suffix}")
        with Image.open(place / f"{number}{suffix}") as image:
            images.append(np.asarray(image.convert("RGB")))
    return place, images


def read_features(path):
    return {name: np.asarray(r.source) for name, r in rs.open_features(path).layers.items()}


def write_features(folder):
    layers = {"first": NUMBERS, "last": NUMBERS**2}
    features = rs.ModelFeatures("mine", {k: rs.Representation(x) for k, x in layers.items()})
    rs.save_features(features, folder / "mine")
    return folder / "mine", layers


def write_store(folder):
    model = nn.Sequential(nn.Linear(5, 3), nn.Tanh())
    features = rs.extract_features(model, NUMBERS, folder / "store", progress=False)
    return folder / "store", {name: np.asarray(r.source) for name, r in features.layers.items()}


def write_graph(folder):
    words = write_cora(folder / "cora").words
    return folder / "cora", [words]


def read_graph(path):
    return [next(load_samples(path).batches()).x.numpy()]


def read_records(path):
    return rs.load(path).records()


def saved(make, name):
    def write(folder):
        result = make()
        result.save(folder / name)
        return folder / name, result.records()

    return Row(read_records, write)


def compare():
    return rs.compare({"a": NUMBERS, "b": NUMBERS**2}, measures="cka", progress=False)


def evidence():
    return rs.evidence({"a": NUMBERS, "b": NUMBERS**2}, measures="cka", progress=False)


def write_stream(folder):
    stream = rs.Stream()
    stream.update({"a": NUMBERS, "b": NUMBERS**2})
    stream.save(folder / "stream.npz")
    return folder / "stream.npz", len(NUMBERS)


def write_pack(folder):
    pack = manifolds_pack(folder)
    return next(folder.rglob("*.tar.xz")), pack.manifest.identity


def read_pack(path):
    with tempfile.TemporaryDirectory() as cache:
        return open_pack(path, cache=Path(cache)).manifest.identity


def write_scores(folder):
    board = Path(score_file.__file__).with_name("scores.jsonl").read_text().splitlines(True)
    path = folder / "scores.jsonl"
    path.write_text("".join(board[:8]))
    return path, score_file.read_scores(path)


def write_annotated(folder):
    names = pd.Index([f"cell{number}" for number in range(40)], dtype=object)
    kinds = pd.Categorical.from_codes(LABELS, pd.Index(["control", "x", "y"], dtype=object))
    data = AnnData(NUMBERS, pd.DataFrame({"perturbation": kinds}, names))
    data.var_names = data.var_names.astype(object)
    data.write_h5ad(folder / "cells.h5ad")
    return folder / "cells.h5ad", rs.stability.perturbations(data).records()


def read_annotated(path):
    return rs.stability.perturbations(path).records()


ROWS = {
    **VALUE_ROWS,
    "model .pt2": Row(read_weights, write_exported_model),
    "images": Row(read_samples, write_images),
    "features": Row(read_features, write_features),
    "extracted features": Row(read_features, write_store),
    "Cora": Row(read_graph, write_graph),
    "pack": Row(read_pack, write_pack),
    "scores of the leaderboard": Row(score_file.read_scores, write_scores, has_lines=True),
    "stream": Row(lambda path: rs.load(path).n_samples, write_stream),
    "stream by its class": Row(lambda path: rs.Stream.load(path).n_samples, write_stream),
    "result as JSON": saved(compare, "result.json"),
    "comparison": saved(compare, "result.comparison"),
    "evidence": saved(evidence, "evidence"),
    "annotated data": Row(read_annotated, write_annotated),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_reader_does_what_all_readers_do(name, tmp_path):
    read, write, has_lines = ROWS[name]
    path, expected = write(tmp_path)
    outcomes = check_reader(read, path, expected, has_lines=has_lines)
    assert [outcome for outcome in outcomes if outcome.holds is False] == []
    undecided = {outcome.check for outcome in outcomes if outcome.holds is None}
    assert undecided <= {"no permission", *["half of a file", "another format"] * has_lines}


def test_every_suffix_of_models_is_read_here_or_refused_as_a_pickle():
    assert {".pt2", *PICKLE_SUFFIXES} == set(MODEL_FILE_SUFFIXES)


# --------------------------------------------------------------- users without rights, and faults


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Have no rights of root, who may read every file."""
    is_root = os.name == "posix" and os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="permissions")
@pytest.mark.parametrize("name", [*VALUE_ROWS, "stream", "result as JSON", "comparison"])
def test_a_file_that_may_not_be_read_is_refused(name, open_folder):
    read, write, has_lines = ROWS[name]
    path, expected = write(open_folder)
    path.chmod(0o644)
    read(path)  # which imports what it needs
    with ordinary_user():
        *_, outcome = check_reader(read, path, expected, has_lines=has_lines)
    assert (outcome.check, outcome.holds, outcome.detail) == ("no permission", True, "")


def read_list(path):
    """Return a list in a file of JSON, as a reader without faults does."""
    try:
        return list(json.loads(Path(path).read_text()))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} holds no list; write one") from error


def size_of(path):
    return Path(path).stat().st_size if Path(path).is_file() else -1


def is_unreadable(path):
    return size_of(path) >= 0 and not os.access(path, os.R_OK, effective_ids=True)


GOOD_LIST = "[1, 2, 3, 4]"
FAULTS: dict[str, Callable[[Any], bool]] = {  # when a reader returns the list nevertheless
    "nothing there": lambda path: not Path(path).exists(),
    "a folder for a file": lambda path: Path(path).is_dir(),
    "an empty file": lambda path: size_of(path) == 0,
    "half of a file": lambda path: size_of(path) == len(GOOD_LIST) // 2,
    "another format": lambda path: size_of(path) > len(GOOD_LIST),
    "no permission": is_unreadable,
}
GOOD_CHECKS = {"the value", "a path as text", "reading twice"}
CHECKS = {*GOOD_CHECKS, *FAULTS}


def failed_checks(read, folder):
    path = folder / "list.json"
    path.write_text(GOOD_LIST)
    with ordinary_user():
        outcomes = check_reader(read, path, [1, 2, 3, 4])
    assert {outcome.check for outcome in outcomes} == CHECKS
    assert all(outcome.detail for outcome in outcomes if not outcome.holds)
    return {outcome.check for outcome in outcomes if outcome.holds is False}


def test_a_reader_without_faults_passes(open_folder):
    assert failed_checks(read_list, open_folder) == set()


@pytest.mark.parametrize("check", FAULTS)
def test_a_reader_that_accepts_what_is_no_file_fails(check, open_folder):
    accepts = FAULTS[check]
    assert failed_checks(
        lambda path: [1, 2, 3, 4] if accepts(path) else read_list(path), open_folder
    ) == {check}


def test_a_reader_of_other_values_fails(open_folder):
    assert failed_checks(lambda path: read_list(path)[1:], open_folder) == GOOD_CHECKS
    seen = set()

    def read_once(path):
        values = read_list(path)[str(path) in seen :]
        seen.add(str(path))
        return values

    assert failed_checks(read_once, open_folder) == {"reading twice"}
    assert "a path as text" in failed_checks(
        lambda path: read_list(path.with_name(path.name)), open_folder
    )


@pytest.mark.parametrize("message", ["list.json holds no list; write one", "{path} holds no list"])
def test_an_error_without_the_path_or_the_remedy_fails(message, open_folder):
    def read(path):
        try:
            return read_list(path)
        except ValueError as error:
            raise ValueError(message.format(path=path)) from error

    assert failed_checks(read, open_folder) == set(FAULTS)


def test_other_errors_than_those_of_values_fail(open_folder):
    failed = failed_checks(lambda path: list(json.loads(Path(path).read_text())), open_folder)
    assert {"a folder for a file", "half of a file", "no permission"} <= failed
    assert "nothing there" not in failed  # where FileNotFoundError is allowed


def leave_a_file(path):
    Path(path).with_name("partial").write_text("")


def set_the_time(path):
    os.utime(Path(path), (1, 1))


@pytest.mark.parametrize("change", [leave_a_file, set_the_time])
def test_a_reader_that_changes_the_folder_fails(change, open_folder):
    def read(path):
        values = read_list(path)
        change(path)
        return values

    assert failed_checks(read, open_folder) == GOOD_CHECKS


def test_what_is_left_by_a_refusal_fails(open_folder):
    def read(path):
        try:
            return read_list(path)
        except ValueError:
            leave_a_file(path)
            raise

    assert failed_checks(read, open_folder) == set(FAULTS)


def test_each_file_of_a_folder_is_damaged_in_turn(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(GOOD_LIST)
    both = [[1, 2, 3, 4]] * 2
    found = check_reader(
        lambda path: [read_list(Path(path) / name) for name in "ab"], tmp_path, both
    )
    assert {outcome.check for outcome in found} == CHECKS - {"a folder for a file"} | {
        "a file for a folder"
    }
    assert not [outcome for outcome in found if outcome.holds is False]
    found = check_reader(lambda path: [read_list(Path(path) / "a")] * 2, tmp_path, both)
    details = {outcome.check: outcome.detail for outcome in found if outcome.holds is False}
    assert details.keys() == {"an empty file", "half of a file", "another format"}
    assert all(" b: it returns" in detail for detail in details.values())
