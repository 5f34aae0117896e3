"""Suggestions for a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

ALIASES = {  # names elsewhere in the field, and the name here
    "rotation": "orthogonal", "reflection": "orthogonal", "scale": "isotropic_scaling",
    "scaling": "isotropic_scaling",
    "linear": "invertible_linear", "shift": "translation", "offset": "translation",
    "cca": "mean_cca", "debiased_cka": "cka[estimator=debiased]",
    "debiased": "cka[estimator=debiased]",
    "unbiased": "cka[estimator=debiased]", "unbiased_cka": "cka[estimator=debiased]",
    "mantel": "rsa",
    "rbf_cka": "cka[kernel=rbf]", "kernel_cka": "cka[kernel=rbf]",
}  # fmt: skip


def did_you_mean(name: str, names: Iterable[str], show: Iterable[str] | None = None) -> str:
    """Return the end of an error message: the closest name, or all names (or those to ``show``)."""
    names = list(names)
    if ALIASES.get(name.lower(), "").partition("[")[0] in names:
        return f"; did you mean {ALIASES[name.lower()]!r}?"
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names if show is None else show)}" if names else "; it has none"
