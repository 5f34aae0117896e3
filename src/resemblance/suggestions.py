"""What was probably meant by a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

ALIASES = {  # what others call things that have another name here
    "rotation": "orthogonal", "reflection": "orthogonal", "scale": "isotropic_scaling",
    "scaling": "isotropic_scaling",
    "linear": "invertible_linear", "shift": "translation", "offset": "translation",
    "cca": "mean_cca", "debiased_cka": "cka[estimator=debiased]",
    "debiased": "cka[estimator=debiased]",
    "unbiased": "cka[estimator=debiased]", "unbiased_cka": "cka[estimator=debiased]",
    "mantel": "rsa",
    "rbf_cka": "cka[kernel=rbf]", "kernel_cka": "cka[kernel=rbf]",
}  # fmt: skip


def did_you_mean(name: str, known: Iterable[str], show: Iterable[str] | None = None) -> str:
    """Return the end of an error message: the closest known name, or all of them (or those to
    ``show``)."""
    known = list(known)
    if ALIASES.get(name.lower(), "").partition("[")[0] in known:
        return f"; did you mean {ALIASES[name.lower()]!r}?"
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(known if show is None else show)}" if known else "; it has none"
