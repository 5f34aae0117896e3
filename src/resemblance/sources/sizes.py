"""A check that all sources of artificial data share."""

from __future__ import annotations

import numpy as np


def check_sizes(**sizes: tuple[int, int]) -> None:
    """Raise ``ValueError`` unless each size, a pair (size, smallest), is a large enough integer."""
    for name, (size, smallest) in sizes.items():
        if not isinstance(size, int | np.integer) or size < smallest:
            raise ValueError(f"{name} must be a whole number, at least {smallest}; got {size!r}")
