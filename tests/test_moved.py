"""Names of the version before lead to where things are now, and say so."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from resemblance.results import result
from resemblance.suites import joint, manifolds, resi, sensitivity, stability
from resemblance.suites.experiments import RunConfig

OLD = "resemblance.benchmarks"


@pytest.mark.parametrize(
    ("module", "name", "value", "place"),
    [
        (OLD, "run", resi.run, "resemblance.suites.resi.run"),
        (OLD, "evaluate", resi.evaluate, "resemblance.suites.resi.evaluate"),
        (OLD, "Result", result.Result, "resemblance.results.Result"),
        (OLD, "load_result", result.load_result, "resemblance.results.load_result"),
        (OLD, "manifolds", manifolds, "resemblance.suites.manifolds"),
        (OLD, "sensitivity", sensitivity, "resemblance.suites.sensitivity"),
        (OLD, "stability", stability, "resemblance.suites.stability"),
        (OLD, "joint", joint, "resemblance.suites.joint"),
        (f"{OLD}.joint", "joint", joint.joint, "resemblance.suites.joint.joint"),
        (f"{OLD}.findings", "Findings", result.Result, "resemblance.results.Result"),
        (f"{OLD}.findings", "load_findings", result.load_result, "resemblance.results.load_result"),
        (f"{OLD}.manifolds", "run", manifolds.run, "resemblance.suites.manifolds.run"),
        (f"{OLD}.stability", "run", stability.run, "resemblance.suites.stability.suite.run"),
        (f"{OLD}.sensitivity", "SIZES", None, "resemblance.suites.sensitivity.suite.SIZES"),
        (f"{OLD}.experiments", "Setting", RunConfig, "resemblance.suites.experiments.RunConfig"),
        ("resemblance.sensitivity", "agreement", None, "resemblance.suites.sensitivity.agreement"),
        (
            "resemblance.sensitivity.operators",
            "depth",
            sensitivity.depth,
            "resemblance.suites.sensitivity.operators.depth",
        ),
    ],
)
def test_an_old_name_leads_to_the_new_place(module, name, value, place):
    names = {}
    with pytest.warns(DeprecationWarning, match=f"{module}.{name} is now {place}$") as warned:
        exec(f"from {module} import {name}", names)
    assert value is None or names[name] is value
    assert warned[0].filename == "<string>"  # where the old name is written


def test_modules_are_found_that_nobody_imported_before():
    code = "from resemblance.benchmarks import joint, stability; print(joint.joint, stability.run)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize("module", [OLD, f"{OLD}.published"])
def test_what_left_for_papers_says_where_it_is(module):
    with pytest.raises(ImportError, match=r"published is no longer .* papers/published.py of the"):
        exec(f"from {module} import published")


def test_what_never_was_is_no_attribute():
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec(f"from {OLD} import nothing")
    assert not hasattr(importlib.import_module("resemblance.sensitivity"), "nothing")
