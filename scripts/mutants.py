"""Do the tests notice a fault? Put faults into a copy of the tree, one at a time, and run the tests
that should fail.

``make mutants`` runs all, ``make mutants ARGS="cka ranking"`` those whose name contains a word.
There are two kinds of faults: a line that is replaced (``MUTANTS``), and a measure or statistic
whose value is a thousandth too large, which the test that is said to prove its value
(``tests/test_values.py``) must notice. The exit code is 1 when a fault survives, or when a line to
replace is no longer there.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
LEFT_BEHIND = (".*", "demo", "_build", "__pycache__", "*.egg-info", "shared")


class Mutant(NamedTuple):
    """A fault: in this file of the package the old text, which occurs once, becomes the new one."""

    name: str
    file: str
    old: str
    new: str
    tests: str


# fmt: off
MUTANTS = (
    Mutant("HSIC with n - 1", "views/grams.py",
           "diagonal * n / (n - 2) +", "diagonal * n / (n - 1) +", "test_identities.py"),
    Mutant("rank similarity of squares", "measures/neighbours.py",
           "(1 + np.abs(r - s))", "(1 + np.abs(r - s) ** 2)", "test_identities.py"),
    Mutant("small distances by a difference of ones", "measures/alignment.py",
           "return residual() if scalar(squared) < epsilon(squared) ** 0.4 else root(squared)",
           "return root(squared)", "test_identities.py"),
    Mutant("duplicates are apart", "views/distances.py",
           "block <= 4 * epsilon(points) * both", "block < 0", "test_claims.py test_hostile.py"),
    Mutant("stochastic IMD is the largest repeat", "measures/topology.py",
           "np.mean(np.max(WEIGHT * difference, axis=1))",
           "np.max(WEIGHT * difference)", "test_blocks.py"),
    Mutant("mean without an offset", "views/points.py",
           "x.xp.mean(x.array - first, axis=0) + first[0, :]",
           "x.xp.mean(x.array, axis=0)", "test_identities.py"),
    Mutant("distances from the lengths of the first block", "views/distances.py",
           "both = squares[start:stop, None] +",
           "both = squares[: stop - start, None] +", "test_blocks.py"),
    Mutant("matrices centred by the first block", "views/distances.py",
           "a[i:j, :] - means[i:j, None]", "a[i:j, :] - means[: j - i, None]", "test_blocks.py"),
    Mutant("Spearman of two pairs undefined", "grounding.py",
           "    a, b = (ranks_of_rows(v) for",
           "    if len(measured) < 3:\n        return Agreement(np.nan)\n"
           "    a, b = (ranks_of_rows(v) for",
           "test_grounding.py"),
    Mutant("blocks weigh the same", "grounding.py",
           "weights=[a.weight for a in known]", "weights=[1 for a in known]", "test_grounding.py"),
    Mutant("equal correlations are no evidence", "significance/permutation.py",
           "(drawn >= observed - ROUNDING)",
           "(drawn > observed + ROUNDING)", "test_grounding.py test_suite_resi.py"),
    Mutant("rounding decides ranks", "significance/cell_ranks.py",
           "m: round(v, 9) for", "m: v for", "test_suite_resi.py"),
    Mutant("failures share the last rank", "significance/cell_ranks.py",
           "1.0 + len(complete))", "0.0 + len(complete))", "test_suite_resi.py"),
    Mutant("two stars below 0.01 only", "significance/permutation.py",
           '"**" if p_value <= 0.01',
           '"**" if p_value < 0.01', "test_suite_resi.py test_page_of_resi.py"),
    Mutant("ranking: interval of 90 %", "significance/estimates.py",
           "INTERVAL = (0.025, 0.975)", "INTERVAL = (0.05, 0.95)",
           "test_grounding.py test_suite_resi.py"),
    Mutant("ranking: of the architectures only the first", "suites/resi/ranking.py",
           "cell[:5] if is_code", "cell[:4] if is_code",
           "test_grounding.py test_suite_resi.py"),
    Mutant("ranking: conformity counts", "suites/resi/ranking.py",
           '"auprc", "spearman")', '"auprc", "spearman", "conformity")',
           "test_grounding.py test_suite_resi.py"),
)
# fmt: on


def main(words: list[str]) -> int:
    """Run the faults whose name contains one of the words, or all; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        faults = {m.name: functools.partial(outcome_of, m, copy) for m in MUTANTS}
        faults |= {
            f"value of {n}": functools.partial(outcome_of_value, n, test, copy)
            for n, test in proofs().items()
        }
        chosen = {
            name: run
            for name, run in faults.items()
            if not words or any(word in name for word in words)
        }
        outcomes = []
        for name, run in chosen.items():
            outcomes.append(run())
            print(f"{outcomes[-1]:<10}{name}", flush=True)
    killed = outcomes.count("killed")
    print(f"{killed} of {len(outcomes)} killed")
    return int(killed < len(outcomes))


def outcome_of(mutant: Mutant, copy: Path) -> str:
    """Replace the line in the copy, run the tests, put it back."""
    path = copy / "src/resemblance" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return "gone"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return outcome(["-m", "pytest", *(f"tests/{file}" for file in mutant.tests.split())], copy)
    finally:
        path.write_text(text, encoding="utf-8")


def outcome_of_value(name: str, proof: str, copy: Path) -> str:
    """Run the proof of a value with that value a thousandth too large."""
    module, _, test = proof.partition(".")
    return outcome(["scripts/mutants.py", "--wrong", name, f"tests/{module}.py::{test}"], copy)


def outcome(arguments: list[str], copy: Path) -> str:
    """Run tests in the copy until one fails: killed, survived, or broken when they could not be
    run."""
    options = ["-x", "-p", "no:cacheprovider", "--no-header"] if arguments[0] == "-m" else []
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, *arguments, *options],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return {0: "survived", 1: "killed"}.get(run.returncode, f"broken ({run.returncode})")


def proofs() -> dict[str, str]:
    """Return for every measure and statistic the test that proves its value."""
    sys.path.insert(0, str(ROOT / "tests"))
    import test_values

    return test_values.MEASURES | test_values.STATISTICS


def test_wrong(name: str, test: str) -> int:
    """Run a test while a measure or statistic returns a thousandth too much."""
    import pytest

    import resemblance as rs
    from resemblance import stability

    (wrong,) = [m for m in (*rs.list_measures(), *stability.list_statistics()) if m.name == name]
    right = wrong.function

    @functools.wraps(right)
    def function(*arguments: Any, **parameters: Any) -> Any:
        return 1.001 * right(*arguments, **parameters)

    object.__setattr__(wrong, "function", function)
    return int(pytest.main([test, "-x", "-p", "no:cacheprovider", "--no-header"]))


if __name__ == "__main__":
    sys.exit(test_wrong(*sys.argv[2:]) if sys.argv[1:2] == ["--wrong"] else main(sys.argv[1:]))
