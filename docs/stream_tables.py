"""The table of the measures that stream, with what a stream adds up for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import resemblance as rs
from resemblance.streamed import needs_of

NEEDS = {
    "": "products",
    "squares": "products and squared lengths, which all streams keep",
    "directions": "products of directions: ``directions=True``",
}
VARIANTS = ("cka[estimator=debiased]", "cka[estimator=lange]", "cka[kernel=cosine]")


def stream_rows() -> Iterator[tuple[rs.Measure, str, str]]:
    """Yield each measure that streams, what it needs, and whether it whitens."""
    for m in [*rs.list_measures(), *map(rs.get_measure, VARIANTS)]:
        needs = needs_of(m)
        if needs is not None:
            yield m, NEEDS[needs], "yes" if _whitens(m) else ""


def _whitens(m: rs.Measure) -> bool:
    """Say whether a stream records how rounding is magnified: seen on a small one."""
    stream = rs.Stream("qr", directions=True)
    x = np.random.default_rng(0).standard_normal((40, 6))
    stream.update({"x": x[:, :3], "y": x[:, 2:]})
    return bool(m.diagnostics(*stream.representations().values()))
