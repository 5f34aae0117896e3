"""Commands import what they need: help and version need neither NumPy nor a measure, and a command
of a suite imports no other suite."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from factories import HANG_SECONDS
from factories.commands import command_leaves

from resemblance.bench import SUITES, load_suite
from resemblance.bench.ranking.ranking import DEFAULT_PACK_SERIES
from resemblance.bench.resi.groups import GROUP_RULES
from resemblance.bench.resi.rules import FAILURE_RULES, PERMUTATION_UNITS, PROTOCOL_NAMES
from resemblance.bench.training import DOMAINS, HYPERPARAMETER_SOURCES
from resemblance.bench.training.loop import TRAINING_PRECISIONS
from resemblance.cli import choices
from resemblance.report.arranged import LAYOUTS
from resemblance.report.output import MARKUP_WRITERS, OUTPUT_FORMATS
from resemblance.significance.orders import DESIGN_PERMUTATIONS

HEAVY = {
    "numpy", "scipy", "sklearn", "pandas", "torch", "matplotlib", "numba", "jinja2",
    "resemblance.measures", "resemblance.bench", "resemblance.bench.ranking", "resemblance.report",
    "resemblance.catalogue", "resemblance.engine._compare", "resemblance.bench.packs",
    "resemblance.versions",
}  # fmt: skip
HELP_OF_ALL = """
import contextlib, io, json, sys
import typer
from resemblance.cli import commands, run

def below(command, *words):
    yield words
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from below(command.get_command(None, name), *words, name)

imported, before = {}, set()
for words in below(typer.main.get_command(commands())):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert run([*words, "--help"]) == 0
    assert "Usage" in text.getvalue()
    imported[" ".join(words)] = sorted(set(sys.modules) - before)
    before = set(sys.modules)
print(json.dumps(imported))
"""


def printed(code: str) -> str:
    """Return what a new process of Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_help_imports_numpy_a_measure_or_a_suite(subtests):
    imported = json.loads(printed(HELP_OF_ALL))
    assert imported.keys() > command_leaves().keys()
    for command, modules in imported.items():
        with subtests.test(f"{command} --help"):
            assert not HEAVY & set(modules)


def test_version_imports_nothing_of_the_command_line():
    code = (
        "import json, sys; from resemblance.cli import run; run(['--version'])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    version, modules = printed(code).splitlines()
    assert version.startswith("resemblance ")
    assert not (HEAVY | {"typer", "click", "rich"}) & set(json.loads(modules))


@pytest.mark.parametrize("suite", SUITES)
def test_a_command_of_a_suite_imports_no_other_suite(suite):
    code = (
        "import json, sys; from resemblance.cli.entries import DESCRIPTIONS\n"
        f"assert list(DESCRIPTIONS[{suite!r}].measures({{'study': 'none'}}))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    modules = set(json.loads(printed(code)))
    assert f"resemblance.bench.{suite}.suite" in modules
    assert not {f"resemblance.bench.{other}" for other in SUITES if other != suite} & modules


def test_the_choices_of_options_are_those_of_the_library():
    library = {
        "FORMATS": OUTPUT_FORMATS,
        "TEXT_FORMATS": ("table", *MARKUP_WRITERS),
        "LAYOUTS": LAYOUTS,
        "SERIES": DEFAULT_PACK_SERIES,
        "DRAWS": DESIGN_PERMUTATIONS,
        "DOMAINS": tuple(DOMAINS),
        "HYPERPARAMETERS": HYPERPARAMETER_SOURCES,
        "PRECISIONS": TRAINING_PRECISIONS,
        "GROUPS": GROUP_RULES,
        "FAILURES": FAILURE_RULES,
        "PERMUTATIONS": PERMUTATION_UNITS,
        "PROTOCOLS": PROTOCOL_NAMES,
        "SUITES": tuple(SUITES),
    }
    suites = {name: load_suite(name) for name in SUITES}
    library["SIZES"] = {name: tuple(suite.sizes) for name, suite in suites.items()}
    library["EXPERIMENTS"] = {name: tuple(suite.experiments) for name, suite in suites.items()}
    for name, values in library.items():
        assert getattr(choices, name) == values, name
