"""Numbers of a run of the manifold suite in words, and the measures of the MKA paper by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from resemblance.suites.manifolds.curves import NAMES as NAMES

Values = Mapping[float, float]
MKA, MKA_15, KCKA, KCKA_CODE, CKA = "mka", "mka[k=15]", "kcka", "kcka[variant=code]", "cka"
RBF, RBF_45, RBF_20 = (
    "cka[kernel=rbf]",
    "cka[bandwidth=0.45,kernel=rbf]",
    "cka[bandwidth=0.2,kernel=rbf]",
)
SVCCA, RTD, IMD = "svcca", "rtd", "imd"


def listed(taus: Mapping[str, float]) -> str:
    """Write the tau of every measure."""
    return ", ".join(f"{NAMES[m]} {two(t)}" for m, t in taus.items())


def runs(taus: Mapping[int, float]) -> str:
    """Write values by number of neighbours, neighbours with the same value together: 1.00 (k
    5–100), 0.80 (k 150)."""
    groups: list[tuple[str, list[int]]] = []
    for k, value in taus.items():
        text = two(value)
        if not groups or groups[-1][0] != text:
            groups.append((text, []))
        groups[-1][1].append(k)
    return ", ".join(f"{text} (k\u00a0{_from_to(ks)})" for text, ks in groups)


def _from_to(ks: list[int]) -> str:
    return f"{ks[0]}–{ks[-1]}" if len(ks) > 1 else f"{ks[0]}"


def ends(curves: Mapping[str, Values], name: str) -> str:
    """Write how every measure begins and ends along something."""
    written = []
    for m, curve in curves.items():
        low, high = min(curve), max(curve)
        written.append(
            f"{NAMES[m]} {curve[low]:.3f} ({name} {low:g}) → {curve[high]:.3f} ({name} {high:g})"
        )
    return "; ".join(written)


def first(curve: Values) -> float:
    """Return the value at the smallest number."""
    return curve[min(curve)]


def last(curve: Values) -> float:
    """Return the value at the largest number."""
    return curve[max(curve)]


def width(curve: Values) -> float:
    """Return the difference between the largest and the smallest value."""
    return max(curve.values()) - min(curve.values())


def span(values: Iterable[float]) -> str:
    """Write the smallest and the largest value."""
    numbers = list(values)
    return f"{min(numbers):.3f}–{max(numbers):.3f}"


def two(value: float) -> str:
    """Write a number with two decimals and a real minus sign."""
    if math.isnan(value):
        return "no value"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
