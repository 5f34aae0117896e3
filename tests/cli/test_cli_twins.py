"""Options have the words of Python: each option of a command is a parameter of the Python function
that does the same, and a word means one thing."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

import resemblance as rs
from resemblance import bench
from resemblance.bench import packs
from resemblance.bench.manifolds import suite as manifolds
from resemblance.bench.packs.opening import find_pack
from resemblance.bench.pinned import build_pack
from resemblance.bench.ranking.subsets import select_measure_subset, select_task_subset
from resemblance.bench.resi import suite as resi
from resemblance.bench.resi.paper import paper_run, paper_subset_for
from resemblance.bench.resi.rules import ScoringOptions
from resemblance.bench.sensitivity import suite as sensitivity
from resemblance.bench.stability import suite as stability
from resemblance.checks import check_measure
from resemblance.cli import commands
from resemblance.models.file_batches import read_file_batches
from resemblance.models.files import read_files
from resemblance.report.output import write_output
from resemblance.stability import perturbations, transformation_study, transformations

SUITES = (bench.run, resi.run, sensitivity.run, manifolds.run, stability.run)
# By command, the functions and methods that do its work in Python. An option is a parameter of one
# of them, or the name of one.
TWINS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "compare": (
        rs.compare,
        rs.plan,
        read_files,
        read_file_batches,
        rs.Stream,
        rs.Stream.merge,
        rs.stream_from_model,
    ),
    "compare-models": (rs.compare_models, rs.plan),
    "statistic": (
        rs.Statistic,
        read_files,
        transformation_study,
        transformations,
        perturbations,
        *(entry.function for entry in rs.list_statistics()),
    ),
    "evidence": (rs.evidence, read_files),
    "score-models": (rs.score_models, read_files, rs.dissimilarities),
    "drift": (rs.drift,),
    "upgrade-index": (rs.upgrade_index, rs.IndexUpgrade.map),
    "bench run": (*SUITES, paper_run, paper_subset_for, ScoringOptions, rs.plan),
    "bench status": (),
    "bench results": (),
    "bench report": (rs.list_measures,),
    "bench combine": (rs.bench.combine,),
    "pack list": (find_pack,),
    "pack show": (find_pack,),
    "pack verify": (find_pack,),
    "pack get": (packs.get_pack,),
    "pack build": (build_pack,),
    "leaderboard": (rs.leaderboard, select_task_subset, select_measure_subset),
    "rank": (rs.bench.rank,),
    "check": (check_measure,),
    "measures": (rs.list_measures,),
    "explain": (),
    "cite": (rs.cite,),
}
COMMANDS_WITHOUT_PYTHON = {"demo"}  # which only shows what the library does
# Options that have no parameter of the same words in Python, and why.
EXCEPTIONS: Mapping[tuple[str, ...], str] = {
    ("format",): "a file's suffix decides in Python; standard output has no suffix",
    ("html", "open"): "Python calls a function with the result",
    ("quiet",): "means progress=False, and no messages",
    ("exit-zero",): "only a process has an exit code",
    ("scheduler", "gpu-resource"): "Python passes an executor as jobs= or trainer=",
    ("add-measure",): "Python adds to a list of measures",
    ("fitted",): "Python passes a list of representations as one model",
}
WITHOUT_TWIN = {option for options in EXCEPTIONS for option in options}
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
    "subjects": ("persons or animals whose brains are measured", {"ModelScores", "score_models"}),
    "tile": ("", set()),
    "views": ("", set()),
}  # fmt: skip


def leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands below a group, with their names."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from leaves(command.get_command(None, name), f"{path} {name}".strip())


def options_of_commands() -> Iterator[tuple[str, str]]:
    """Yield the name of each command with each of its options, without dashes."""
    for path, command in leaves(typer.main.get_command(commands())):
        for parameter in command.params:
            if parameter.param_type_name == "option":
                yield path, max(parameter.opts, key=len).removeprefix("--")


def words_in_python(functions: tuple[Callable[..., Any], ...]) -> set[str]:
    """Return the names of functions, and of their parameters."""
    words = {function.__name__.lower() for function in functions}
    for function in functions:
        words |= set(inspect.signature(function).parameters)
    return words


@pytest.fixture(scope="module")
def options():
    return list(options_of_commands())


def test_each_option_has_the_words_of_its_parameter_in_python(options, subtests):
    """A repeatable option may be the singular of a parameter: --domain of domains."""
    for command, option in options:
        if command in COMMANDS_WITHOUT_PYTHON or option in WITHOUT_TWIN:
            continue
        words = words_in_python((*TWINS[command], write_output))
        name = option.replace("-", "_")
        with subtests.test(f"{command} --{option}"):
            assert {name, f"{name}s"} & words


def test_every_command_has_a_twin_and_every_exception_is_an_option(options):
    assert {command for command, _ in options} <= {*TWINS, *COMMANDS_WITHOUT_PYTHON}
    assert len(WITHOUT_TWIN) <= 10
    for option in WITHOUT_TWIN:
        commands_with = [command for command, other in options if other == option]
        assert any(
            option.replace("-", "_") not in words_in_python(TWINS[command])
            for command in commands_with
            if command in TWINS
        ), f"--{option} is no exception"


def names_with_word(options: list[tuple[str, str]], word: str) -> set[str]:
    """Return the commands, functions and records with an option or a parameter of this name."""
    names = {f"--{command}" for command, option in options if option.replace("-", "_") == word}
    for name, text in pinned_names().items():
        parameters = re.findall(r"[(\s*](\w+)(?=[,=)])", text) if text.startswith("(") else ()
        if word in parameters:
            names.add(name.removeprefix("resemblance."))
    return names


@functools.cache
def pinned_names() -> Mapping[str, str]:
    """Return the signatures of all public names, which a test compares with the package."""
    path = Path(__file__).parents[1] / "pins" / "names.json"
    return json.loads(path.read_text(encoding="utf-8"))["names"]


@pytest.mark.parametrize("word", ONE_MEANING)
def test_a_word_has_one_meaning(options, word):
    meaning, owners = ONE_MEANING[word]
    found = names_with_word(options, word)
    assert found == owners, f"{word!r} means {meaning or 'nothing here'}; use another word"


def test_an_option_has_one_meaning_for_its_letter(options):
    letters: dict[str, set[str]] = {}
    for _, command in leaves(typer.main.get_command(commands())):
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
