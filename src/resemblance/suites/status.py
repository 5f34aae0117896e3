"""How far a study is: its models, finished parts, comparisons and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..engine.store import Store
from ..sources.model_folder import TRAITS
from ..sources.recipe import Recipe
from . import load_result
from .study import Purpose, is_running, purpose
from .training import model_folder


class StudyStatus(NamedTuple):
    """How far a study is.

    ``planned``: how many models it needs; 0 when that is not known. ``parts``: of experiments
    that are finished. ``alone``: how many of the ``comparisons`` are of a
    representation with itself; a page counts the others only. ``scores``: of measures in cells, in
    the result. ``last``: line of the log.
    """

    suite: str
    size: str
    models: str | None
    running: bool
    trained: int
    planned: int
    parts: int
    comparisons: int
    alone: int
    scores: int
    last: str


def status(
    folder: str | Path, plan: Callable[[Purpose], Sequence[Recipe]] | None = None
) -> StudyStatus:
    """Return how far a study is; ``plan`` says which models are needed for its purpose.

    Raises ``ValueError`` for a folder that is no study.
    """
    path, known = Path(folder), purpose(folder)
    recipes = plan(known) if plan and known.models is None else ()
    comparisons, itself = _count_comparisons(path / "comparisons.db")
    has_result, lines = (path / "result.json").exists(), _lines(path / "log.txt")
    return StudyStatus(
        known.suite,
        known.size,
        known.models,
        is_running(path),
        _count_trained(path, recipes),
        len(recipes),
        sum(1 for _ in path.glob("parts/*/*.json")),
        comparisons,
        itself,
        sum(map(len, load_result(path).scores().values())) if has_result else 0,
        lines[-1] if lines else "",
    )


def _count_trained(folder: Path, recipes: Sequence[Recipe]) -> int:
    """Return how many of these models are trained; how many of all, where there are none."""
    if recipes:
        return sum((model_folder(folder, recipe) / TRAITS).exists() for recipe in recipes)
    return sum(1 for _ in folder.glob(f"subjects/**/seed*/{TRAITS}"))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def _count_comparisons(path: Path) -> tuple[int, int]:
    """Return how many comparisons a file has, and how many of them are of a representation with
    itself."""
    if not path.exists() or not path.stat().st_size:  # nothing was written yet
        return 0, 0
    with Store(path, read_only=True) as store:
        return store.count(), store.count(alone=True)
