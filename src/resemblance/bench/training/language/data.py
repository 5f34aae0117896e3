"""Readers for SST-2 and MNLI in several file formats, and the corruptions of the ReSi paper."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.formatting import list_names
from resemblance.base.rng import generator
from resemblance.base.text import check_choice
from resemblance.models.published_files import (
    DatasetOrigin,
    find_dataset_folder,
    require_dataset_folder,
)
from resemblance.models.recipe import Recipe
from resemblance.models.tables import read_parquet, read_rows

from ..corruption import draw_any_class, draw_wrong_class, replace_labels, shortcut_labels
from .shifts import SynonymsByWord, eda, load_synonyms

# There are no checksums, because the files come in several formats.
CHECKSUMS: Mapping[str, Mapping[str, str]] = {}


class Examples(NamedTuple):
    """Sentences, or pairs of sentences, with classes (n,).

    ``pairs``: the second sentences, None for single sentences. ``hints``: the class named by the
    shortcut of every example, (n,); None without shortcuts.
    """

    texts: Sequence[str]
    pairs: Sequence[str] | None
    labels: np.ndarray
    hints: np.ndarray | None = None

    def take(self, places: np.ndarray) -> Examples:
        """Return the examples at the indices ``places``, in the given order."""
        pairs = None if self.pairs is None else [self.pairs[i] for i in places]
        hints = None if self.hints is None else self.hints[places]
        return Examples([self.texts[i] for i in places], pairs, self.labels[places], hints)


class TextTask(NamedTuple):
    """The training and the validation examples of a data set, and the number of classes."""

    train: Examples
    validation: Examples
    classes: int


class TextSource(NamedTuple):
    """The origin and the file layout of a data set.

    ``splits``: the names of the training and validation files, without suffix. ``columns``: for
    every role of a column, the column names in the releases of GLUE and Hugging Face. ``classes``:
    the class names in the order of the class numbers. ``counts``: the number of training and of
    validation examples, per class or in total.
    """

    origin: DatasetOrigin
    splits: tuple[tuple[str, ...], tuple[str, ...]]
    columns: Mapping[str, tuple[str, ...]]
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], tuple[int, ...]]


TEXT_SOURCES: Mapping[str, TextSource] = {
    "sst2": TextSource(
        DatasetOrigin(
            "SST-2",
            "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip",
            ("language/sst2", "language/SST-2", "sst2", "SST-2"),
        ),
        (("train",), ("validation", "dev")),
        {"text": ("sentence",), "label": ("label",)},
        ("negative", "positive"),
        ((29_780, 37_569), (428, 444)),
    ),
    "mnli": TextSource(
        DatasetOrigin(
            "MNLI",
            "https://dl.fbaipublicfiles.com/glue/data/MNLI.zip",
            ("language/mnli", "language/MNLI", "mnli", "MNLI"),
        ),
        (("train",), ("validation_matched", "dev_matched")),
        {
            "text": ("premise", "sentence1"),
            "pair": ("hypothesis", "sentence2"),
            "label": ("label", "gold_label"),
        },
        ("entailment", "neutral", "contradiction"),
        ((392_702,), (9_815,)),
    ),
}
TEXT_FILE_SUFFIXES = (".tsv", ".parquet", ".jsonl", ".csv")


def read(dataset: str, folder: Path, download: bool = False, strict: bool = True) -> TextTask:
    """Return a data set of sentences, "sst2" or "mnli", read from the files in a folder.

    The files lie in ``folder/language/sst2`` (or ``folder/sst2``; likewise ``mnli``). The file
    names are ``train`` and ``validation`` (GLUE: ``dev``; MNLI: ``validation_matched`` or
    ``dev_matched``), with the suffix ``.tsv``, ``.parquet``, ``.jsonl`` or ``.csv``. Columns have
    the names of GLUE or Hugging Face. Sentences stay as in the files; sentences of SST-2 end with a
    blank.

    ``download``: whether the package ``datasets``, if installed, may fetch a missing data set and
    write the data set into the folder. ``strict``: whether the number of examples, for SST-2 also
    per class, must equal the original.

    Raises ``ValueError`` with the file and the remedy for files that are missing, of another kind,
    damaged, without labels (the test sets of GLUE, with label -1), or of another size. Reference:
    Socher et al. (EMNLP 2013); Williams et al. (NAACL 2018); Wang et al. (ICLR 2019).
    """
    source = TEXT_SOURCES[dataset]
    note = ""
    if download and find_dataset_folder(folder, source.origin) is None:
        note = _download_sentences(dataset, folder)
    place = require_dataset_folder(folder, source.origin, note)
    examples = [
        _read_examples(source, _find_split_file(source, place, names)) for names in source.splits
    ]
    if strict:
        for split, part, counts in zip(("training", "validation"), examples, source.counts):
            _check_counts(source, place, f"{split} examples", part.labels, counts)
    return TextTask(examples[0], examples[1], len(source.classes))


def _check_counts(
    source: TextSource, place: Path, kind: str, labels: np.ndarray, counts: Sequence[int]
) -> None:
    """Raise ``ValueError`` unless the numbers of examples equal ``counts``: a number per class, or
    a single number for all classes.

    ``labels``: the classes of the examples, (n,). ``place``: the file or folder in errors.
    ``kind``: the noun for examples, in errors.
    """
    facts = [(kind, sum(counts), len(labels))]
    if len(counts) == len(source.classes):
        by_class = np.bincount(labels, minlength=len(counts)).tolist()
        names = (f"{kind} of {name}" for name in source.classes)
        facts += list(zip(names, counts, by_class))
    for name, expected, n in facts:
        if n != expected:
            raise ValueError(
                f"{place} is not {source.origin.title}: expected {expected} {name}, got {n}; get "
                f"it from {source.origin.url}"
            )


def _download_sentences(dataset: str, folder: Path) -> str:
    """Write a data set into a folder with the package ``datasets``, and return ""; return a remedy,
    for an error message, if the package is not installed."""
    source = TEXT_SOURCES[dataset]
    if importlib.util.find_spec("datasets") is None:
        return ", or install the package datasets, which can download it"
    splits = importlib.import_module("datasets").load_dataset("nyu-mll/glue", dataset)
    place = folder / source.origin.folders[0]
    place.mkdir(parents=True)
    for names in source.splits:
        splits[names[0]].to_parquet(place / f"{names[0]}.parquet")
    return ""


def _find_split_file(source: TextSource, place: Path, names: Iterable[str]) -> Path:
    """Return the file of a split in the folder ``place``, also if the file is named as a single
    Hugging Face shard. ``names``: possible names without suffix. Raises ``ValueError`` without a
    file."""
    names = list(names)
    for name in names:
        for ending in TEXT_FILE_SUFFIXES:
            for path in (place / f"{name}{ending}", place / f"{name}-00000-of-00001{ending}"):
                if path.is_file():
                    return path
    raise ValueError(
        f"{place / names[0]}{TEXT_FILE_SUFFIXES[0]} does not exist (nor with "
        f"{', '.join(TEXT_FILE_SUFFIXES[1:])}): get {source.origin.title} from {source.origin.url}"
    )


def _read_examples(source: TextSource, path: Path) -> Examples:
    columns = _read_text_columns(source, path)
    labels = [
        _parse_class_label(source, path, i, value)
        for i, value in enumerate(columns.pop("label"), 1)
    ]
    for name, texts in columns.items():
        for i, text in enumerate(texts, 1):
            if not isinstance(text, str):
                column = source.columns[name][0]
                raise ValueError(f"{path}: the {column} of example {i} is no text; got {text!r}")
    return Examples(columns["text"], columns.get("pair"), np.array(labels))


def _read_text_columns(source: TextSource, path: Path) -> dict[str, list[Any]]:
    """Return the columns of a table by role ("text", "pair", "label"), without blank lines."""
    if path.suffix == ".parquet":
        values = read_parquet(
            path, lambda fields: [*_column_names_in_file(source, path, [*fields]).values()]
        )
        return {
            role: values[name]
            for role, name in _column_names_in_file(source, path, [*values]).items()
        }
    if b"\0" in path.read_bytes():
        raise ValueError(f"{path} is not a text file: it has zero bytes; copy it again")
    names, rows, _ = read_rows(path)
    column_names = _column_names_in_file(source, path, names)
    rows = [row for row in rows if any(row)]
    if not rows:
        raise ValueError(f"{path} has no rows; copy it again")
    return {role: [row[names.index(name)] for row in rows] for role, name in column_names.items()}


def _column_names_in_file(source: TextSource, path: Path, names: Sequence[str]) -> dict[str, str]:
    column_names = {}
    for role, aliases in source.columns.items():
        if not set(aliases) & set(names):
            listing = list_names(names, 5)
            raise ValueError(
                f"{path} has no column {' or '.join(aliases)}; its columns are {listing}"
            )
        column_names[role] = next(name for name in aliases if name in names)
    return column_names


def _parse_class_label(source: TextSource, path: Path, place: int, value: Any) -> int:
    """Return the number of a class, from 0, from the number or the name in a file, ``value``; raise
    ``ValueError`` for any other value. ``source``: the classes of the data set. ``place``: the
    number of the example, in errors."""
    text = str(value)
    if text in source.classes:
        return source.classes.index(text)
    if text in {str(k) for k in range(len(source.classes))}:
        return int(text)
    choices = f"0 to {len(source.classes) - 1} or {', '.join(source.classes)}"
    if text == "-1":
        raise ValueError(
            f"{path}: example {place} has label -1, which marks a test set without labels; give "
            f"the training and validation files of {source.origin.title}, with labels {choices}"
        )
    raise ValueError(f"{path}: the label of example {place} must be {choices}; got {text[:40]!r}")


def corrupt_examples(
    recipe: Recipe, examples: Examples, split: str, classes: int, synonyms: SynonymsByWord | None
) -> Examples:
    """Return the examples of a split ("train" or "validation") after the corruption of a recipe.

    ``classes``: the number of classes of the data set. ``synonyms``: for augmentation, see
    :func:`load_needed_synonyms`. With ``options["drawn"][setting]`` "once", all models of a group
    share the random draws, as in the authors' code (seed 0); with "by-model", the draws vary with
    the seed.

    Raises ``ValueError`` for another setting.
    """
    setting, options = recipe.setting, recipe.options
    if setting == "normal":
        return examples
    check_choice(f"{recipe.name}: setting", setting, ("normal", *options["drawn"]))
    seed = 0 if options["drawn"][setting] == "once" else recipe.seed
    random = generator(seed, "published", recipe.dataset, setting, f"{recipe.strength:g}", split)
    if setting == "labels":
        # Random labels are new classes, absent from the data set.
        draw_class = draw_any_class(options["new_classes"], random)
        new_labels = replace_labels(
            examples.labels, recipe.strength, lambda labels: classes + draw_class(labels), random
        )
        return examples._replace(labels=new_labels)
    if setting == "shortcut":
        return _add_shortcut_hints(examples, recipe.strength, classes, random)
    return augment_examples(examples, recipe.strength, random, synonyms)


def load_needed_synonyms(recipe: Recipe, folder: Path) -> SynonymsByWord | None:
    """Return the synonyms for augmentation from ``folder/language/wordnet``; None if the recipe
    needs no synonyms.

    Raises ``ValueError`` when ``options["synonyms"]`` is set and the folder is missing.
    """
    if recipe.setting != "augmentation" or not recipe.options["synonyms"]:
        return None
    place = folder / "language" / "wordnet"
    if not place.is_dir():
        raise ValueError(
            f"{place} does not exist: put data.noun, data.verb, data.adj and data.adv of WordNet "
            "3.0 there, from https://wordnet.princeton.edu or the package wordnet-base of Debian"
        )
    return load_synonyms(place)


def validation_examples(recipe: Recipe, examples: Examples, classes: int) -> Examples:
    """Return the validation examples for computing representations.

    For models with shortcuts, every example has a shortcut. The shortcut is right at the rate
    ``options["shown"]``, which carries almost no information about the class. The shortcuts are
    drawn once for all models. The authors' code adds shortcuts only for the first model loaded in a
    process; here shortcuts are always added.
    """
    if recipe.setting != "shortcut":
        return examples
    random = generator(0, "published", recipe.dataset, "shown shortcuts")
    return _add_shortcut_hints(examples, recipe.options["shown"], classes, random)


def _add_shortcut_hints(
    examples: Examples, rate: float, classes: int, random: np.random.Generator
) -> Examples:
    """Return examples with shortcuts (``hints``) that name the true class with probability
    ``rate``, otherwise a wrong class."""
    draw_other = draw_wrong_class(classes, random)
    return examples._replace(hints=shortcut_labels(examples.labels, rate, draw_other, random))


def augment_examples(
    examples: Examples, share: float, random: np.random.Generator, synonyms: SynonymsByWord | None
) -> Examples:
    """Return examples after one operation of EDA on every (first) sentence, applied once.
    ``share``: of the words that change.

    See :func:`.shifts.eda`. The authors use TextAttack, which draws the result of one of the same
    four operations. TextAttack deletes a fixed number of words instead of deleting every word at
    random, and inserted words are always synonyms. Without ``synonyms``, no word is replaced, and
    inserted words come from other sentences. Reference: Wei and Zou (EMNLP 2019).
    """
    words = [text.split() for text in examples.texts]
    other_words = [word for sentence in words for word in sentence] if synonyms is None else []
    change = partial(eda, share=share, random=random, others=other_words, synonyms=synonyms)
    return examples._replace(texts=[" ".join(change(sentence)) for sentence in words])
