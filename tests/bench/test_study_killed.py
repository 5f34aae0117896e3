"""Studies of manifolds and stability that are killed at several moments, and continued: the same
scores, and nothing done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import resemblance as rs
from resemblance.bench import manifolds
from resemblance.bench.stability.suite import run as run_stability
from resemblance.bench.status import status

MEASURES = ("mka", "procrustes")


def started(suite, study):
    """The process that runs a suite in a study."""
    words = [
        "bench",
        "run",
        suite,
        str(study),
        "--size",
        "small",
        "-q",
        "-j",
        "1",
        "-m",
        ",".join(MEASURES),
    ]
    code = f"import sys; from resemblance.cli import app; app({words!r})"
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True)


def killed_when(condition, suite, study):
    """Kill a run once a condition holds, unless it ends before; return whether it was killed."""
    process = started(suite, study)
    while process.poll() is None and not condition():
        time.sleep(0.01)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def times(study, pattern):
    return {path: path.stat().st_mtime_ns for path in study.glob(pattern)}


@pytest.mark.parametrize("suite", ["manifolds", "stability"])
def test_killed_and_continued_gives_the_same_scores(suite, tmp_path):
    study, run = tmp_path / "study", {"manifolds": manifolds.run, "stability": run_stability}[suite]
    whole = run(tmp_path / "whole", size="small", measures=MEASURES).scores()
    moments = {
        "manifolds": [
            lambda: (study / "study.json").exists(),
            lambda: any(study.glob(".rows-*/clouds/*/*.npy")),
            lambda: (study / "comparisons.db").exists() and status(study).comparisons > 20,
        ],
        "stability": [
            lambda: any(study.glob("models/**/.partial-*")),
            lambda: len(times(study, "canary/*.json")) >= 2,
            lambda: (study / "comparisons.db").exists() and status(study).comparisons > 20,
        ],
    }
    killed = [killed_when(moment, suite, study) for moment in moments[suite]]
    assert sum(killed) >= 2
    kept = times(study, "canary/*.json") | times(study, "models/**/traits.json")
    assert run(study, size="small", measures=MEASURES).scores() == whole
    assert (
        kept.items()
        <= (times(study, "canary/*.json") | times(study, "models/**/traits.json")).items()
    )
    assert rs.load(study).scores() == whole
    assert not [*study.glob(".rows-*"), *study.glob("canary/.*"), *study.glob("**/.partial-*")]
