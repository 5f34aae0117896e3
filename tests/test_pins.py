"""Results of the package, and the text of pages, are unchanged: see ``tests/pins``."""

from __future__ import annotations

import pins
import pytest
from pins import pages


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
@pytest.mark.parametrize(
    "section",  # twelve measures on the packs that ship take minutes
    [pytest.param(s, marks=pytest.mark.long) if s == "packs" else s for s in pins.SECTIONS],
)
def test_nothing_that_is_pinned_has_changed(section, tmp_path):
    changes = sorted(pins.differences(pins.pinned(section), pins.answers(section, tmp_path)))
    assert not changes, f"{len(changes)} of {section} changed, such as {changes[:20]}"


@pytest.mark.filterwarnings("ignore")
def test_pages_read_as_in_their_snapshots(subtests):
    for name, lines in pages.snapshots():
        with subtests.test(name):
            changes = "\n".join(pages.changes(name, lines))
            assert not changes, f"{changes}\nIf this is as it should be: scripts/pin.py pages"
    assert {file.stem for file in pages.FOLDER.iterdir()} == set(pages.PAGES)


def test_a_changed_sentence_is_a_difference_and_a_last_digit_is_none():
    alike = pages.are_alike
    assert alike("CKA 0.52, chance 0.1", "CKA 0.53, chance 0.1")
    assert not alike("CKA 0.52", "CKA 0.54")
    assert not alike("3 of 9 cells", "4 of 9 cells")
    assert not alike("CKA 0.5", "RSA 0.5")
