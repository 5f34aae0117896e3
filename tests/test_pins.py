"""What the package answers is what it answered: see ``tests/pins``."""

from __future__ import annotations

import pins
import pytest


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
@pytest.mark.parametrize(
    "section",
    [pytest.param(s, marks=pytest.mark.long) if s == "packs" else s for s in pins.SECTIONS],
)
def test_nothing_that_is_pinned_has_changed(section, tmp_path):
    changes = sorted(pins.differences(pins.pinned(section), pins.answers(section, tmp_path)))
    assert not changes, f"{len(changes)} of {section} changed, such as {changes[:20]}"
