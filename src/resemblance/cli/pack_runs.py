"""Runs of a suite on a pack: the option ``--pack``, and what does not go together with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import Parameter
from typing import Any

from ..packs import open_pack
from ..suites import run
from .parameters import COMMON, CONTEXT, OPEN, option

PACK = option(
    "pack", str | None, "Use the features of this pack, NAME@VERSION; nothing is trained."
)
TOGETHER = {"study", "pack"} | {p.name for p in (CONTEXT, OPEN, *COMMON)} - {"claims"}


def pack_options(
    words: Mapping[str, Any], parameters: Iterable[Parameter], suite: str
) -> dict[str, object]:
    """Return the options of a run on a pack as :func:`resemblance.suites.run` takes them.

    Raises ``ValueError`` for options that choose what a pack has settled, and for the pack of
    another suite.
    """
    for parameter in parameters:
        name = parameter.name
        if name not in TOGETHER and words[name] != parameter.default:
            raise ValueError(
                f"--{name.replace('_', '-')} and --pack exclude each other: what a suite runs on, "
                "and how, is settled by the pack"
            )
    pack = open_pack(words["pack"])
    if pack.manifest.suite != suite:
        raise ValueError(
            f"{pack.manifest.identity} is a pack of {pack.manifest.suite}, not of {suite}: "
            f"resemblance {pack.manifest.suite} run --pack {words['pack']}"
        )
    return {"pack": pack}


def runner(suite: str, options: Mapping[str, object]) -> Any:
    """Return what runs a suite on the pack among the options; None without one."""
    return partial(run, suite) if "pack" in options else None
