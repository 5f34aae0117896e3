"""The tables of docs/measures.md: what is claimed of each measure, by family."""

from __future__ import annotations

from pieces import FAMILY_TITLES, interval, markdown, short_invariances

import resemblance as rs
from resemblance.measure import FAMILIES

HEAD = ("measure", "label", "in short", "more similar", "range", "ignores", "also", "samples")


def all_measures() -> str:
    """Return a table for each family, below its heading, and the pages of its measures."""
    return "\n\n".join(
        f"### {FAMILY_TITLES[f]}\n\n{family_table(f)}\n\n{family_pages(f)}" for f in FAMILIES
    )


def family_table(family: str) -> str:
    return markdown(HEAD, map(row, rs.list_measures(family=family)))


def family_pages(family: str) -> str:
    """Return the pages of a family as entries of the sidebar, which the page does not show."""
    pages = "\n".join(f"{m.label} <measures/{m.name}>" for m in rs.list_measures(family=family))
    return f"```{{toctree}}\n:hidden:\n:caption: {FAMILY_TITLES[family]}\n\n{pages}\n```"


def row(m: rs.Measure) -> tuple[str, ...]:
    """Return the claims of a measure with its default parameters."""
    also = {
        "symmetric": m.symmetric,
        "metric": m.metric,
        "gradients": m.differentiable,
        "streams": "sample_rotation" in m.invariant_to,
    }
    return (
        f"`{m.name}`",
        m.label,
        (m.summary.partition(": ")[2] or m.summary).rstrip("."),
        "larger" if m.larger_is_more_similar else "smaller",
        interval(m.range),
        short_invariances(m.invariant_to),
        ", ".join(word for word, holds in also.items() if holds),
        f"≥ {m.min_samples}",
    )
