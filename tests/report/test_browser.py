"""Tests that open a page: which browser they use, and what is said where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import browser
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """``machine(name, does)``: a machine with no programs but these."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser, "MACOS", ())
    for name in ("BROWSER_BIN", "CI"):
        monkeypatch.delenv(name, raising=False)

    def program(name: str, does: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)
        return str(path)

    return program


def test_the_first_browser_that_works_is_taken(machine, monkeypatch):
    assert browser.find() is None
    machine("chromium", "exit 1")
    machine("google-chrome", "echo no window")
    assert browser.find() is None
    edge = machine("microsoft-edge", "echo '<p>42</p>'")
    assert browser.find() == edge
    mine = machine("mine", "echo '<p>42</p>'")
    monkeypatch.setenv("BROWSER_BIN", "mine")
    assert browser.find() == mine
    monkeypatch.setenv("BROWSER_BIN", "none")
    assert browser.find() is None
    machine("broken", "exit 1")
    for chosen in ("absent", "broken"):
        monkeypatch.setenv("BROWSER_BIN", chosen)
        with pytest.raises(ValueError, match=f"BROWSER_BIN='{chosen}' is no browser"):
            browser.find()


def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    chosen = ["tests/report/test_pages.py", "-k", "phone and drift or names_alone"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen, *options]
    given = {name: value for name, value in os.environ.items() if name not in ("CI", "BROWSER_BIN")}
    return subprocess.run(
        command, cwd=ROOT, env=given | environment, capture_output=True, text=True, check=False
    )
