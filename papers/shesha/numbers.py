"""Numbers in the sentences of claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def number(value: float, digits: int = 3) -> str:
    """Write a number with a real minus sign."""
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Write mean and deviation."""
    return f"{number(float(np.mean(values)), digits)} ± {number(float(np.std(values)), digits)}"


def with_interval(values: Sequence[float], digits: int = 3) -> str:
    """Write a value and the ends of its interval."""
    value, low, high = (number(v, digits) for v in values)
    return f"{value} [{low}, {high}]"


def as_printed(ours: float, printed: float, digits: int = 3) -> bool:
    """Whether a number is the printed one at the precision of print."""
    return number(ours, digits) == number(printed, digits)


def count(answers: Iterable[bool]) -> str:
    """Write how many of all are true."""
    known = list(answers)
    return f"{sum(known)} of {len(known)}"
