"""Do the tests notice a fault? Put faults into copies of the tree, one at a time, and run the tests
that should fail.

``make mutants`` runs all faults; ``make mutants ARGS="cka versions/"`` runs the faults with one of
the words in their name or file; ``make mutants ARGS="--draw 10 --seed 3"`` runs ten random faults.
There are three kinds of faults. First, a replaced line (``mutant_table.py``). Second, a measure or
statistic with a value that is a thousandth too large; the test that proves the value
(``tests/measures/test_values.py``) must notice. Third, with ``--new 100``, 100 faults of one
expression, sampled over all rooms (``faults.py``); the tests that reach the line must notice, so
run ``make coverage`` first. ``--results FILE`` stores every outcome, and the same command resumes
from the file. The exit code is 1 when a fault survives, or when a line to replace is no longer
there.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from faults import Fault, draw_faults, tests_that_reach
from mutant_table import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent
LEFT_BEHIND = (".*", "demo", "_build", "__pycache__", "*.egg-info", "shared")
FAILED = re.compile(r"^(?:FAILED|SUBFAILED|ERROR)\S*(?: \[.*\])? tests/([^\s[]+)", re.MULTILINE)
OPTIONS = ("-x", "-p", "no:cacheprovider", "--no-header")
PATIENCE = 900  # time limit in seconds for the tests of one fault


class Outcome(NamedTuple):
    """The outcome of a fault: "killed", "survived", or the reason why the fault was not tested; and
    the test that noticed the fault."""

    what: str
    test: str = ""


Trial = Callable[[Path], Outcome]  # tests one fault in a copy of the tree


def main(arguments: Sequence[str]) -> int:
    """Test the selected faults; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("words", nargs="*", help="parts of names or files; all faults without one")
    parser.add_argument("--draw", type=int, metavar="N", help="try N of them, drawn at random")
    parser.add_argument("--new", type=int, metavar="N", help="try N new faults of expressions")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep outcomes, and go on")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="faults at a time")
    options = parser.parse_args(arguments)
    trials = {
        name: trial
        for name, trial in (new_trials(options) if options.new else all_trials()).items()
        if not options.words or any(word in name for word in options.words)
    }
    if options.draw is not None:
        names = random.Random(options.seed).sample(list(trials), min(options.draw, len(trials)))
        trials = {name: trials[name] for name in names}
    outcomes = tried(trials, max(1, options.jobs), options.results)
    killed = sum(outcome.what == "killed" for outcome in outcomes.values())
    print(f"\n{table(outcomes)}\n\n{killed} of {len(outcomes)} killed")
    return int(killed < len(outcomes))


def all_trials() -> dict[str, Trial]:
    """Return the trial of every fault, by the file and name of a mutant or by the name of a
    value."""
    lines = {f"{m.file}: {m.name}": functools.partial(of_line, m) for m in MUTANTS}
    values = {f"value of {n}": functools.partial(of_value, n, t) for n, t in proofs().items()}
    return {**lines, **values}


def new_trials(options: argparse.Namespace) -> dict[str, Trial]:
    """Return the trials of random faults of expressions, sampled over all rooms."""
    faults = draw_faults(options.new, options.seed)
    tests = tests_that_reach(faults)
    return {f.name: functools.partial(of_fault, f, t) for f, t in zip(faults, tests)}


def tried(trials: Mapping[str, Trial], jobs: int, file: Path | None = None) -> dict[str, Outcome]:
    """Test faults, print a line for every fault, and return the outcomes in the order of the
    faults.

    Every job has a copy of the tree. Faults with an outcome in the file are not tested again.
    """
    jobs = min(jobs, len(trials)) or 1
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    outcomes = {name: Outcome(*row) for name, *row in map(json.loads, lines) if name in trials}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies = SimpleQueue[Path]()
        for job in range(jobs):
            copy = Path(folder) / str(job)
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
            copies.put(copy)

        def in_a_copy(trial: Trial) -> Outcome:
            copy = copies.get()
            try:
                return trial(copy)
            finally:
                copies.put(copy)

        remaining = {name: trial for name, trial in trials.items() if name not in outcomes}
        running = {pool.submit(in_a_copy, trial): name for name, trial in remaining.items()}
        for future in as_completed(running):
            name = running[future]
            outcomes[name] = future.result()
            if file:
                with file.open("a", encoding="utf-8") as log:
                    log.write(json.dumps([name, *outcomes[name]]) + "\n")
            print(f"{outcomes[name].what:<10}{name}", flush=True)
    return {name: outcomes[name] for name in trials}


def table(outcomes: Mapping[str, Outcome]) -> str:
    """Return a table of faults and the tests that noticed the faults; faults that survived come
    last."""
    rows = sorted(outcomes.items(), key=lambda row: row[1].what != "killed")
    width = max(map(len, outcomes), default=0)
    return "\n".join(f"{name:<{width}}  {outcome.test or outcome.what}" for name, outcome in rows)


def of_line(mutant: Mutant, copy: Path) -> Outcome:
    """Replace a line in the copy, run the tests, and restore the line."""
    path = copy / "src/resemblance" / mutant.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(mutant.old) != 1:
        return Outcome("gone")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        tests = [f"tests/{test}" for test in mutant.tests.split()]
        return outcome_of(["-m", "pytest", *tests, *OPTIONS], copy)
    finally:
        path.write_text(text, encoding="utf-8")


def of_fault(fault: Fault, tests: Sequence[str], copy: Path) -> Outcome:
    """Put a fault into the copy, run the tests that reach its line, and restore the file."""
    if not tests:  # a constant of a module, or compiled code: the tests of the room
        tests = [f"tests/{Path(fault.file).parent}"]
        if not (copy / tests[0]).is_dir():
            return Outcome("survived", "no test reaches it")
    path, names = copy / "src/resemblance" / fault.file, copy / "tests_of_fault.txt"
    text = path.read_text(encoding="utf-8")
    names.write_text("\n".join(tests), encoding="utf-8")
    path.write_text(fault.put_into(text), encoding="utf-8")
    try:
        return outcome_of(["-m", "pytest", f"@{names}", *OPTIONS], copy)
    finally:
        path.write_text(text, encoding="utf-8")


def of_value(name: str, proof: str, copy: Path) -> Outcome:
    """Run the test that proves a value, with the value a thousandth too large."""
    module, _, test = proof.partition(".")
    (path,) = (copy / "tests").rglob(f"{module}.py")
    test_id = f"{path.relative_to(copy)}::{test}"
    return outcome_of(["scripts/mutants.py", "--wrong", name, test_id], copy)


def outcome_of(arguments: Sequence[str], copy: Path) -> Outcome:
    """Run tests in the copy until a test fails, and return the outcome."""
    variables = {
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    try:
        process = subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return Outcome("hangs")
    if process.returncode == 0:
        return Outcome("survived")
    failed = FAILED.search(process.stdout)  # also a file of tests that cannot be imported
    return Outcome("killed", failed[1]) if failed else Outcome(f"broken ({process.returncode})")


def proofs() -> dict[str, str]:
    """Return the test that proves the value of every measure and statistic, by name."""
    sys.path.insert(0, str(ROOT / "tests/measures"))
    import test_values

    default_proof = "test_values.test_values_are_those_of_the_definitions"
    rows = {**test_values.MEASURES, **test_values.STATISTICS}
    return {name: row if isinstance(row, str) else default_proof for name, row in rows.items()}


def test_wrong(name: str, test: str) -> int:
    """Run a test while a measure or statistic returns a value that is a thousandth too large."""
    import pytest

    import resemblance as rs

    (measure,) = [m for m in (*rs.list_measures(), *rs.list_statistics()) if m.name == name]
    original = measure.function

    @functools.wraps(original)
    def function(*arguments: Any, **parameters: Any) -> Any:
        return 1.001 * original(*arguments, **parameters)

    object.__setattr__(measure, "function", function)
    return int(pytest.main([test, *OPTIONS]))


if __name__ == "__main__":
    sys.exit(test_wrong(*sys.argv[2:]) if sys.argv[1:2] == ["--wrong"] else main(sys.argv[1:]))
