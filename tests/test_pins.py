"""What the package answers is what it answered: see ``tests/pins``."""

from __future__ import annotations

import pins
import pytest
from pins.pages import pinned_parts, results_of_arrays

ON_PACKS = ("packs", "pages")  # twelve measures on the packs that ship: minutes


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
@pytest.mark.parametrize(
    "section",
    [pytest.param(s, marks=pytest.mark.long) if s in ON_PACKS else s for s in pins.SECTIONS],
)
def test_nothing_that_is_pinned_has_changed(section, tmp_path):
    changes = sorted(pins.differences(pins.pinned(section), pins.answers(section, tmp_path)))
    assert not changes, f"{len(changes)} of {section} changed, such as {changes[:20]}"


def test_pages_of_arrays_are_as_pinned(tmp_path):
    answers = pinned_parts(tmp_path, results_of_arrays())
    pinned = pins.pinned("pages")
    for part, pages in answers.items():
        pinned[part] = {name: pinned[part][name] for name in pages}
    answers["machine"] = pins.machine()
    assert not list(pins.differences(pinned, answers))
