"""What is under the title of every page: what the run is of, and that a trial is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..extras import need
from ..results.headlines import TRIAL


def strip(facts: Mapping[str, str], *, is_trial: bool, remarks: Iterable[str] = ()) -> Any:
    """Return the facts of a run, the banner of a trial, and remarks, as escaped markup."""
    markup = need("markupsafe")
    pairs = "".join(
        f"<div><dt>{markup.escape(k)}</dt><dd>{markup.escape(v)}</dd></div>"
        for k, v in facts.items()
    )
    line = f'<dl class="strip">{pairs}</dl>' if pairs else ""
    banner = f'<p class="trial" role="note">{markup.escape(TRIAL)}</p>' if is_trial else ""
    notes = "".join(f'<p class="remark">{markup.escape(remark)}</p>' for remark in remarks)
    return markup.Markup(f"{line}{banner}{notes}")
