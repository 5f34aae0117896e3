"""Choose the pairs with a null distribution from exact moments, and explain the permuted pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import get_args

import numpy as np

from ..base.arrays import to_numpy
from ..base.formatting import count_with_noun, format_percent
from ..contracts._measure import Measure
from ..data.representation import Representation
from ..significance.orders import Design
from .job_results import SideMoments
from .layout import IndexPair, InferencePairs
from .moments import (
    PROBE_PERMUTATIONS,
    MatrixSide,
    MomentProfile,
    has_continuous_tail,
    takes_few_values,
)
from .permuted import PROBE_USE, draw_blocks, missing_draws, values_in_draws
from .run import InferenceRun, RequiredPairs
from .tasks import MomentJob

MAX_EXACT_SAMPLES = 5000  # exact moments need n x n matrices
MIN_ANNOUNCED_VALUES = 5000  # permuted values; more are announced even without a cause
# Times the even share 1 / n of the variance; a larger share is reported as the cause.
MIN_DOMINANCE_RATIO = 2

ProfilesByPair = dict[IndexPair, tuple[MomentProfile, MomentProfile]]


@dataclass(frozen=True)
class MomentChoice:
    """The pairs of a measure with exact moments, and the permuted pairs by cause.

    ``profiles``: the profiles (left, right) of the pairs with exact moments. ``dominated``: the
    profiles of the pairs in which one sample dominates both sides. ``coarse``: pairs with few
    distinct values. ``without``: pairs in which a side has no profile.
    """

    profiles: ProfilesByPair = field(default_factory=dict)
    dominated: ProfilesByPair = field(default_factory=dict)
    coarse: Sequence[IndexPair] = ()
    without: Sequence[IndexPair] = ()


def allows_exact_moments(design: Design, use_moments: bool) -> bool:
    """Return whether exact moments may replace permutations under a design: ``use_moments``, and a
    free design of more permutations than are drawn and of at most ``MAX_EXACT_SAMPLES`` samples."""
    is_free = design.is_free and design.count > max(design.n_permutations, PROBE_PERMUTATIONS)
    return use_moments and is_free and design.n <= MAX_EXACT_SAMPLES


def has_exact_moments(measure: Measure, design: Design, use_moments: bool = True) -> bool:
    """Return whether the null distribution of a measure has exact moments under a design:
    :func:`allows_exact_moments`, and a measure with the claim ``product``."""
    return measure.product is not None and allows_exact_moments(design, use_moments)


def exact_pairs(
    run: InferenceRun, pairs: RequiredPairs, design: Design, use_moments: bool
) -> dict[Measure, MomentChoice]:
    """Choose the pairs with exact moments among ``pairs``, and return the choice for every measure
    with an inner product.

    The choice depends on x alone and on y alone, never on the pairing of samples, so the choice
    changes no error rate. If moments describe the null distribution of a pair badly, only this pair
    is permuted.
    """
    with_moments = [m for m in pairs if has_exact_moments(m, design, use_moments)]
    for side in get_args(MatrixSide):
        ends = {m: _profiled_representations(m, pairs[m], side) for m in with_moments}
        missing = run.missing(ends, SideMoments, side=side)
        run.compute(run.blocks(missing, partial(MomentJob, side), groups=run.n_chunks))
    choices = {m: _split_by_dominance(run, m, pairs[m]) for m in with_moments}
    return _exclude_few_valued_pairs(run, choices, design)


def _split_by_dominance(run: InferenceRun, m: Measure, pairs: Sequence[IndexPair]) -> MomentChoice:
    """Return ``pairs`` in two groups: ``profiles``, or ``dominated`` if one sample dominates the
    matrices of both sides.

    Pairs in which a side has no moment profile are in ``without``; ``coarse`` stays empty.
    """
    choice, incomplete = MomentChoice(), list[IndexPair]()
    for pair in pairs:
        left, right = (
            _stored_profile(run, m, position, _profile_side(m, side))
            for position, side in zip(pair, get_args(MatrixSide))
        )
        if left is None or right is None:
            incomplete.append(pair)
        else:
            is_exact = has_continuous_tail(left, right, run.layout.n)
            (choice.profiles if is_exact else choice.dominated)[pair] = left, right
    return replace(choice, without=incomplete)


def _exclude_few_valued_pairs(
    run: InferenceRun, choices: Mapping[Measure, MomentChoice], design: Design
) -> dict[Measure, MomentChoice]:
    """Return the choices with pairs of few distinct values under permutation moved from
    ``profiles`` to ``coarse``.

    Only pairs with clumped entries are tested.
    """
    candidates = {
        m: clumps
        for m, choice in choices.items()
        if (clumps := _pairs_with_clumped_entries(choice.profiles))
    }

    def takes_few(m: Measure, pair: IndexPair, probes: Design) -> bool:
        values = values_in_draws(run, m, pair, probes, PROBE_USE)
        return takes_few_values(m, values, *choices[m].profiles[pair], design.n)

    # Half of the permutations suffice for most pairs with many distinct values.
    for n_permutations in (PROBE_PERMUTATIONS // 2, PROBE_PERMUTATIONS):
        probes = replace(design, n_permutations=n_permutations)
        missing = missing_draws(run, candidates, probes, PROBE_USE)
        run.compute(draw_blocks(run, missing, probes, PROBE_USE), shared=True)
        for m, clumps in candidates.items():
            candidates[m] = [pair for pair in clumps if takes_few(m, pair, probes)]
        candidates = {m: clumps for m, clumps in candidates.items() if clumps}
    return {m: _exclude_from_exact(choice, candidates.get(m, [])) for m, choice in choices.items()}


def _exclude_from_exact(choice: MomentChoice, coarse: Sequence[IndexPair]) -> MomentChoice:
    excluded = set(coarse)
    profiles = {pair: sides for pair, sides in choice.profiles.items() if pair not in excluded}
    return replace(choice, profiles=profiles, coarse=coarse)


def _profiled_representations(
    m: Measure, pairs: Sequence[IndexPair], side: MatrixSide
) -> list[IndexPair]:
    """Return (i, i) for each representation i, in ascending order, whose ``side`` matrix ("left" or
    "right") occurs in ``pairs``, (x, y) positions."""
    ends = {
        end
        for pair in pairs
        for end, matrix_side in zip(pair, get_args(MatrixSide))
        if _profile_side(m, matrix_side) == side
    }
    return [(end, end) for end in sorted(ends)]


def _profile_side(m: Measure, side: MatrixSide) -> MatrixSide:
    """Return the side under which a profile is stored: ``side``, or "left" if both sides of the
    measure use the same matrix."""
    return side if m.product and m.product.right else "left"


def _pairs_with_clumped_entries(profiles: ProfilesByPair) -> list[IndexPair]:
    """Return the pairs with clumped entries in both matrices; any other pair has many values."""
    return [pair for pair, (x, y) in profiles.items() if x.is_clumped and y.is_clumped]


def _stored_profile(
    run: InferenceRun, m: Measure, position: int, side: MatrixSide
) -> MomentProfile | None:
    return run.result(m, (position, position), SideMoments, side=side).profile


# --------------------------------------------------------------------------------------- in words


def format_permutation_notice(
    layout: InferencePairs, m: Measure, choice: MomentChoice | None, n_permuted: int, design: Design
) -> str:
    """Return a notice before the work: permuted pairs of a measure, permutations, and causes.
    ``n_permuted``: the number of permuted pairs. ``choice``: None for a measure without exact
    moments.

    Return "" for little work without a cause in the data.
    """
    causes, values = (
        "; ".join(_permutation_causes(layout, m, choice, design)),
        n_permuted * design.total,
    )
    if not causes and values < MIN_ANNOUNCED_VALUES:
        return ""
    pairs = len(layout.pairs(m))
    subject = f"all {pairs} pairs" if n_permuted == pairs else f"{n_permuted} of {pairs} pairs"
    subject = "the pair" if pairs == 1 else subject
    kind = "shifts" if design.shifts else "permutations"
    product = f" = {values:,} values" if n_permuted > 1 else ""
    return f"{m}: {subject} x {design.total:,} {kind}{product}" + (f": {causes}" if causes else "")


def _permutation_causes(
    layout: InferencePairs, m: Measure, choice: MomentChoice | None, design: Design
) -> Iterator[str]:
    """Yield the reasons, in words, why pairs of a measure with exact moments are permuted. Yield
    nothing for other measures."""
    if choice is None:
        if m.product and design.is_free and design.n > MAX_EXACT_SAMPLES:
            yield f"exact moments are for at most {MAX_EXACT_SAMPLES:,} samples"
        return
    if choice.dominated:
        yield _format_dominance(layout, choice.dominated)
    if choice.coarse:
        yield f"{count_with_noun(len(choice.coarse), 'pair')} whose value is one of few"
    if choice.without:
        yield f"{count_with_noun(len(choice.without), 'pair')} whose entries cannot be squared"


def _format_dominance(layout: InferencePairs, profiles: ProfilesByPair) -> str:
    """Return text that names the most dominating sample and the number of dominated pairs.

    ``profiles``: of the dominated pairs only, at least one pair. The sample is the sample with the
    largest share of its representation, over both sides of all these pairs. The text gives the
    share of the sample in the variance if this share is more than ``MIN_DOMINANCE_RATIO`` / n,
    otherwise the share in the similarities.
    """
    profile_by_end = {
        end: side for pair, sides in profiles.items() for end, side in zip(pair, sides)
    }
    worst = max(profile_by_end, key=lambda end: profile_by_end[end].share)
    x, sample, share = layout.all[worst], profile_by_end[worst].sample, profile_by_end[worst].share
    variance, quantity = _share_of_variance(x, sample), "the similarities"
    if variance * layout.n > MIN_DOMINANCE_RATIO:
        share, quantity = variance, "the variance"
    number = len(profiles)
    clause = (
        "such samples are on both sides of" if number > 1 else "such a sample is on each side of"
    )
    return (
        f"sample {sample} holds {format_percent(share)} of {quantity} of {x.name}; {clause} "
        f"{count_with_noun(number, 'pair')}"
    )


def _share_of_variance(x: Representation, sample: int) -> float:
    """Return the share of sample ``sample``, a row number, in the sum of squared distances from
    the mean row."""
    rows = to_numpy(x.source).astype(np.float64)
    squares = np.square(rows - rows.mean(axis=0)).sum(axis=1)
    return float(squares[sample] / squares.sum())
