"""A word means one thing: in every option, and in every parameter of Python."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from factories.commands import command_leaves

# By word with one meaning: the meaning, and the options, functions and records that may have the
# word. The other meanings have other words: packs, time_series, whole_blocks, within, mask, search,
# purpose, citation, reinitialized, max_samples, against, n_permutations, confidence_level.
ONE_MEANING: Mapping[str, tuple[str, set[str]]] = {
    "against": (
        "what else is compared with",
        {"--compare", "--evidence", "--rank", "bench.rank", "compare", "evidence", "plan",
         "plot.layers"},
    ),
    "blocks": ("the blocks of a product of matrices", {"Product"}),
    "draws": ("how many values a result is made of", {"stability.Interval", "stability.Null"}),
    "executor": ("", set()),
    "groups": (
        "groups of samples, such as queries, that are shown or judged apart",
        {"--upgrade-index", "upgrade_index", "IndexUpgrade", "plot.rdm", "--bench run"},
    ),
    "index": (
        "stored vectors that queries search",
        {"--upgrade-index", "upgrade_index", "DriftReport"},
    ),
    "level": ("", set()),
    "limit": ("", set()),
    "map": ("a map between the vectors of two models", {"--upgrade-index", "DriftReport"}),
    "other": ("a second thing of the same kind", {"Evidence.difference", "Stream.merge"}),
    "place": ("", set()),
    "reference": ("the version that drift compares with", {"drift"}),
    "rows": (
        "the names or the values of the rows of a table or a matrix",
        {"Comparison", "stability.Perturbations", "uniformity_difference"},
    ),
    "series": ("", set()),
    "spread": ("", set()),
    "subjects": (
        "persons or animals whose brains are measured",
        {"ModelScores", "TimeCourses", "score_models", "score_models_over_time"},
    ),
    "tile": ("", set()),
    "views": ("", set()),
}  # fmt: skip


@functools.cache
def names_by_word() -> Mapping[str, set[str]]:
    """Return the commands, functions and records with an option or a parameter, by its name; the
    signatures of all public names are those that a test compares with the package."""
    names: dict[str, set[str]] = {}
    for command, leaf in command_leaves().items():
        for parameter in leaf.params:
            if parameter.param_type_name == "option":
                word = max(parameter.opts, key=len).removeprefix("--").replace("-", "_")
                names.setdefault(word, set()).add(f"--{command}")
    pins = Path(__file__).parents[1] / "pins" / "names.json"
    for name, text in json.loads(pins.read_text(encoding="utf-8"))["names"].items():
        for word in re.findall(r"[(\s*](\w+)(?=[,=)])", text) if text.startswith("(") else ():
            names.setdefault(word, set()).add(name.removeprefix("resemblance."))
    return names


@pytest.mark.parametrize("word", ONE_MEANING)
def test_a_word_has_one_meaning(word):
    meaning, owners = ONE_MEANING[word]
    found = names_by_word().get(word, set())
    assert found == owners, f"{word!r} means {meaning or 'nothing here'}; use another word"


def test_an_option_has_one_meaning_for_its_letter():
    letters: dict[str, set[str]] = {}
    for command in command_leaves().values():
        for parameter in command.params:
            for spelling in parameter.opts:
                if len(spelling) == 2:
                    letters.setdefault(spelling, set()).add(max(parameter.opts, key=len))
    assert letters == {
        "-m": {"--measures", "--measure"},
        "-s": {"--statistics"},
        "-o": {"--output"},
        "-j": {"--jobs"},
        "-q": {"--quiet"},
    }
