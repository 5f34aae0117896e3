"""The severities that shifted inputs come in."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

SEVERITIES = (1, 2, 3, 4, 5)


def check_shift(
    function: str, what: str, name: str, known: Collection[str], severity: object
) -> None:
    """Raise ``ValueError`` unless a shift is known and its severity is a whole number from 0 to
    5."""
    if name not in known:
        raise ValueError(f"{function}: no {what} {name!r}; known: {', '.join(known)}")
    whole = isinstance(severity, int | np.integer) and not isinstance(severity, bool)
    if not whole or severity not in (0, *SEVERITIES):
        raise ValueError(f"{function}: severity must be 0 to 5; got {severity!r}")
