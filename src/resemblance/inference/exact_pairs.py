"""Which pairs have a chance level by exact moments, and why the others are permuted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import get_args

import numpy as np

from ..base.arrays import to_numpy
from ..contracts._measure import Measure
from ..data.representation import Representation
from ..significance.orders import Design
from .bench import Bench, Wanted
from .layout import Layout, Pair
from .moments import PROBES, Profile, Side, is_trusted, takes_few_values
from .permuted import NO_GUARDS, PROBE, draw_tasks, draws_of, missing_draws
from .reordered_views import moves_of
from .tasks import PROFILE, Profiles, profile_from

MOST_SAMPLES = 5000  # for exact moments, whose matrices are n x n
WORTH_SAYING = 5000  # values in permutations, from where they are announced without a cause
VISIBLE = 2  # times its even share of the variance: from there on that share is the one to name

ProfilesOfPairs = dict[Pair, tuple[Profile, Profile]]


@dataclass(frozen=True)
class MomentChoice:
    """The pairs of one measure whose moments describe the tail, and the other pairs by cause.

    ``profiles``: of both sides of the pairs with exact moments. ``dominated``: those of the pairs
    both of whose sides one sample dominates. ``coarse``: pairs whose value is one of few.
    ``without``: pairs of which a side has no profile.
    """

    profiles: ProfilesOfPairs = field(default_factory=dict)
    dominated: ProfilesOfPairs = field(default_factory=dict)
    coarse: Sequence[Pair] = ()
    without: Sequence[Pair] = ()


def can_be_exact(design: Design, exact: bool) -> bool:
    """Say whether a design lets exact moments take the place of permutations."""
    is_free = design.is_free and design.count > max(design.draws, PROBES)
    return exact and is_free and design.n <= MOST_SAMPLES


def exact_pairs(
    bench: Bench, pairs: Wanted, design: Design, exact: bool
) -> dict[Measure, MomentChoice]:
    """Return which pairs of each measure with an inner product have exact moments.

    The choice depends on each side of a pair by itself, never on which samples belong together, so
    it changes no error rate. A pair whose moments say too little is permuted, and no other pair.
    """
    usable = [m for m in pairs if m.product and can_be_exact(design, exact)]
    for side in get_args(Side):
        ends = {m: _ends(m, pairs[m], side) for m in usable}
        missing = bench.missing(ends, f"{PROFILE} {side}")
        bench.run(bench.tasks(missing, partial(Profiles, side), blocks=bench.pieces))
    choices = {m: _trusted(bench, m, pairs[m]) for m in usable}
    return _without_coarse(bench, choices, design)


def _trusted(bench: Bench, m: Measure, pairs: Sequence[Pair]) -> MomentChoice:
    """Divide pairs by whether one sample dominates both sides."""
    choice, without = MomentChoice(), list[Pair]()
    for pair in pairs:
        left, right = (
            _profile(bench, m, position, _side(m, side))
            for position, side in zip(pair, get_args(Side))
        )
        if left is None or right is None:
            without.append(pair)
        else:
            is_exact = is_trusted(left, right, bench.layout.n)
            (choice.profiles if is_exact else choice.dominated)[pair] = left, right
    return replace(choice, without=without)


def _without_coarse(
    bench: Bench, choices: Mapping[Measure, MomentChoice], design: Design
) -> dict[Measure, MomentChoice]:
    """Leave out pairs whose value is one of few, as a few orders show of pairs that are clumped.

    Views are carried into these orders without a guard, as nothing but the number of values counts;
    where they cannot be, orders are drawn for the p-value itself.
    """
    clumped = {m: clumps for m, of in choices.items() if (clumps := _clumped(of.profiles))}
    tried = {m: clumps for m, clumps in clumped.items() if moves_of(m).of_view is not None}
    coarse = {m: clumps for m, clumps in clumped.items() if m not in tried}

    def takes_few(m: Measure, pair: Pair, probes: Design) -> bool:
        drawn = draws_of(bench, m, pair, probes, PROBE)
        return takes_few_values(m, drawn, *choices[m].profiles[pair], design.n)

    for draws in (PROBES // 2, PROBES):  # half of them show of most values that they are many
        probes = replace(design, draws=draws)
        missing = missing_draws(bench, tried, probes, PROBE)
        bench.run(draw_tasks(bench, missing, probes, NO_GUARDS, PROBE), lent=True)
        for m, clumps in tried.items():
            tried[m] = [pair for pair in clumps if takes_few(m, pair, probes)]
        tried = {m: clumps for m, clumps in tried.items() if clumps}
    coarse |= tried
    return {m: _leave_out(of, coarse.get(m, [])) for m, of in choices.items()}


def _leave_out(choice: MomentChoice, coarse: Sequence[Pair]) -> MomentChoice:
    out = set(coarse)
    profiles = {pair: sides for pair, sides in choice.profiles.items() if pair not in out}
    return replace(choice, profiles=profiles, coarse=coarse)


def _ends(m: Measure, pairs: Sequence[Pair], side: Side) -> list[Pair]:
    """Return each representation whose profile is of this side, with itself."""
    ends = {end for pair in pairs for end, of in zip(pair, get_args(Side)) if _side(m, of) == side}
    return [(end, end) for end in sorted(ends)]


def _side(m: Measure, side: Side) -> Side:
    """Return the side whose matrix a representation has: the left one if both are the same."""
    return side if m.product and m.product.right else "left"


def _clumped(profiles: ProfilesOfPairs) -> list[Pair]:
    """Return the pairs whose matrices both have entries in clumps: others take many values."""
    return [pair for pair, (x, y) in profiles.items() if x.is_clumped and y.is_clumped]


def _profile(bench: Bench, m: Measure, position: int, side: Side) -> Profile | None:
    return profile_from(bench.vector(m, (position, position), f"{PROFILE} {side}"))


# --------------------------------------------------------------------------------------- in words


def permutations_in_words(
    layout: Layout, m: Measure, choice: MomentChoice | None, permuted: int, design: Design
) -> str:
    """Say how many pairs of a measure are permuted how often, and why, before it begins.

    Empty for little work that follows from the measure and the design, and not from the data.
    """
    causes, values = "; ".join(_causes(layout, m, choice, design)), permuted * design.total
    if not causes and values < WORTH_SAYING:
        return ""
    pairs = len(layout.pairs(m))
    of = f"all {pairs} pairs" if permuted == pairs else f"{permuted} of {pairs} pairs"
    of = "the pair" if pairs == 1 else of
    kind = "shifts" if design.shifts else "permutations"
    product = f" = {values:,} values" if permuted > 1 else ""
    return f"{m}: {of} x {design.total:,} {kind}{product}" + (f": {causes}" if causes else "")


def _causes(
    layout: Layout, m: Measure, choice: MomentChoice | None, design: Design
) -> Iterator[str]:
    """Yield why a measure that has exact moments is permuted."""
    if choice is None:
        if m.product and design.is_free and design.n > MOST_SAMPLES:
            yield f"exact moments are for at most {MOST_SAMPLES:,} samples"
        return
    if choice.dominated:
        yield _dominance(layout, choice.dominated)
    if choice.coarse:
        yield f"{_pairs(len(choice.coarse))} whose value is one of few"
    if choice.without:
        yield f"{_pairs(len(choice.without))} whose entries cannot be squared"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _dominance(layout: Layout, dominated: ProfilesOfPairs) -> str:
    """Say which sample dominates which representation most, and of how many pairs both sides."""
    of_end = {end: side for pair, sides in dominated.items() for end, side in zip(pair, sides)}
    worst = max(of_end, key=lambda end: of_end[end].share)
    x, sample, share = layout.all[worst], of_end[worst].sample, of_end[worst].share
    variance, what = _share_of_variance(x, sample), "the similarities"
    if variance * layout.n > VISIBLE:
        share, what = variance, "the variance"
    number = len(dominated)
    those = (
        "such samples are on both sides of" if number > 1 else "such a sample is on each side of"
    )
    return (
        f"sample {sample} holds {100 * share:.2g} % of {what} of {x.name}; {those} {_pairs(number)}"
    )


def _share_of_variance(x: Representation, sample: int) -> float:
    """Return the share that a sample has of the squared distances from the mean."""
    rows = to_numpy(x.source).astype(np.float64)
    squares = np.square(rows - rows.mean(axis=0)).sum(axis=1)
    return float(squares[sample] / squares.sum())
