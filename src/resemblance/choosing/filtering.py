"""Which measures cannot be recommended, with every reason why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from ..boards import Board
from ..engine.forecast import duration
from ..measure import Measure, require
from .needs import Needs
from .questions import SIGHTS, Sight, skill
from .sizes import seconds_of

OUTPUTS = "compares predictions of models, not representations"


def reasons_against(measure: Measure, needs: Needs, board: Board) -> tuple[str, ...]:
    """Return every reason why a measure is not what a user needs; none for one that is."""
    return (*_claims(measure, needs), *_sizes(measure, needs), *_scores(measure, needs, board))


def _claims(measure: Measure, needs: Needs) -> Iterator[str]:
    if measure.family == "outputs":
        yield OUTPUTS
    if changed := needs.invariant_to - measure.invariant_to:
        yield f"changes under {_words(changed)}"
    if ignored := measure.invariant_to & set(needs.must_see):
        yield f"ignores {_words(ignored)}"
    for claim, words in (
        ("metric", "is not a metric"),
        ("differentiable", "is not differentiable"),
        ("symmetric", "is not symmetric"),
    ):
        if getattr(needs, claim) and not getattr(measure, claim):
            yield words
    try:
        require(measure)
    except ImportError as error:
        yield f"needs the extra {measure.extra}: {error}"


def _sizes(measure: Measure, needs: Needs) -> Iterator[str]:
    if needs.n is not None and needs.n < measure.min_samples:
        yield f"needs at least {measure.min_samples} samples"
    if needs.budget is None or needs.size is None:
        return
    seconds = seconds_of([measure], *needs.size, needs.pairs)
    if seconds is not None and seconds > needs.budget:
        pairs = "a pair" if needs.pairs == 1 else f"{needs.pairs:,} pairs"
        yield f"takes about {duration(seconds)} for {pairs}"


def _scores(measure: Measure, needs: Needs, board: Board) -> Iterator[str]:
    if measure.family == "outputs":
        return
    if absent := [suite for suite, files in board.files.items() if measure.spec not in files]:
        yield f"has no scores in {', '.join(absent)}"
        return
    for word in needs.must_see:
        if word in SIGHTS and (blindness := blind(measure.spec, SIGHTS[word], board)):
            yield blindness


def blind(spec: str, sight: Sight, board: Board) -> str:
    """Return why a measure does not see a change, or an empty string.

    It sees one if its median score, over the cells that show the change, is above chance.
    """
    skills = list(_skills(spec, sight, board))
    if not skills:
        return f"has no score that shows whether it sees {sight.name}"
    middle = median(skills)
    if middle > 0:
        return ""
    cells = f"{len(skills)} cell{'s' if len(skills) > 1 else ''}"
    return f"does not see {sight.name}: median skill {middle:.2f} over {cells}"


def _skills(spec: str, sight: Sight, board: Board) -> Iterator[float]:
    for suite, result in board.results.items():
        for (test, cell), scores in result.scores().items():
            score = scores.get(spec)
            is_shown = (suite, test) in sight.tests and sight.word in cell
            if is_shown and score is not None and (test, cell) not in board.unranked[suite]:
                yield skill(cell, score)


def _words(names: Iterable[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in sorted(names))
