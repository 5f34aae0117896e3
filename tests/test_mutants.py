"""The faults of ``scripts/mutant_table.py`` are of this tree: their lines and their tests exist."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import resemblance

TESTS = Path(__file__).parent
PACKAGE = Path(resemblance.__file__).parent


def test_the_line_and_the_tests_of_each_mutant_exist(subtests, monkeypatch):
    monkeypatch.syspath_prepend(str(TESTS.parent / "scripts"))
    monkeypatch.delitem(sys.modules, "mutant_table", raising=False)
    from mutant_table import MUTANTS

    for mutant in MUTANTS:
        with subtests.test(mutant.name):
            assert (PACKAGE / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
            for place in mutant.tests.split():
                file, _, test = place.partition("::")
                text = (TESTS / file).read_text(encoding="utf-8")
                assert f"def {test.partition('[')[0]}(" in text if test else text
    assert not [name for name, count in Counter(m.name for m in MUTANTS).items() if count > 1]
