"""The citation and the workflows fit the project."""

from __future__ import annotations

import re
from pathlib import Path

import resemblance as rs

ROOT = Path(__file__).parent.parent


def test_the_citation_names_the_version():
    assert f"version: {rs.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_workflows_call_commands_that_are_in_the_makefile(subtests):
    targets = re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    names = {name for line in targets for name in line.split()}
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert len(workflows) == 3
    for workflow in workflows:
        with subtests.test(workflow.name):
            assert set(re.findall(r"run: make (\S+)", workflow.read_text())) <= names
