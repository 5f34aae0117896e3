"""Compute values with chance levels, p-values and intervals in a single call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from ..base.progress import Progress, progress_announcer, progress_reporter
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure, MeasureArgument, measure_caveats
from ..contracts.folds import check_folds
from ..contracts.streamed import require_samples
from ..data.caveats import chance_caveats, equal_data_caveats
from ..data.inputs import check_label_order
from ..data.representation import Representation, representation_title
from ..engine._compare import compare_many
from ..engine.arguments import named_representations, select_measures
from ..engine.inputs import ComparisonInputs
from ..engine.intermediate_sizes import representation_cache_bytes
from ..engine.jobs import Jobs, open_executor
from ..engine.options import RunOptions, check_run_options
from ..intermediates.neighbors import reuse_neighbors_in_subsets
from ..significance.labels import label_codes
from ..significance.orders import DESIGN_PERMUTATIONS, Design, design_of
from ..significance.resampling import check_confidence_level
from .evidence_file import restrict_to_measures
from .exact_pairs import has_exact_moments
from .intervals import (
    JACKKNIFE_MEMORY_FACTOR,
    compute_resampled_scores,
    interval_kind,
    interval_step_count,
)
from .layout import InferencePairs, make_inference_pairs
from .nulls import compute_null_cells
from .permuted import draw_chunks
from .result import Evidence, EvidenceInputs
from .run import InferenceRun

NullMethod = Literal["auto", "moments", "permutations"]
# Three kinds of similarity, all with exact moments: linear, distances, neighbours.
DEFAULT_EVIDENCE_MEASURES = ("cka[estimator=debiased]", "rsa", "mutual_knn")


def evidence(
    representations: Any,
    against: Any = None,
    *,
    measures: Iterable[MeasureArgument] | MeasureArgument | None = None,
    held_out: Any = None,
    within: Any = None,
    whole_blocks: Any = None,
    time_series: bool = False,
    max_shift: int | None = None,
    n_permutations: int = DESIGN_PERMUTATIONS,
    confidence_level: float = 0.95,
    seed: int = 0,
    null: NullMethod = "auto",
    jobs: Jobs = None,
    memory: int | str = "half",
    progress: Progress = True,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
) -> Evidence:
    r"""Compare representations; return every score with a chance level, a p-value and an interval.

    .. math:: p = \frac{1 + \#\{\pi : m(X, Y_\pi) \ge m(X, Y)\}}{1 + \mathrm{n\_permutations}},
        \qquad \text{above chance} = \frac{m - \mathbb{E}_\pi m}{m_{\text{best}} - \mathbb{E}_\pi m}

    The null hypothesis is that the samples of X and Y are unrelated: every permutation of the
    samples of Y that the design allows is equally likely. Measures that are linear in an inner
    product of two n x n matrices have exact moments over all permutations. For these measures no
    permutations are drawn, and p is the upper tail of the Pearson type III distribution with the
    three moments, not reported below 1e-4. Other measures are computed for ``n_permutations``
    permutations. Intermediates are permuted instead of recomputed, wherever the result is the same
    (for two permutations, the function computes the score with permuted and with recomputed
    intermediates).

    Parameters
    ----------
    representations, against, jobs, memory, progress, save, spill : as in :func:`compare`. All pairs
        of one list, or the pairs of two lists. The file of ``save`` keeps values, permuted values,
        and values on parts of the samples; the same call continues the file, and
        :func:`resemblance.load` reads the file.
    measures : as in :func:`compare`. Default: debiased CKA, RSA and mutual nearest neighbours. A
        plain function gets no interval, because nothing is known about the function.
    held_out : folds, as in :func:`compare`: every value, also of permuted samples, is the mean
        score of test samples with maps fitted to the training samples. A number of folds keeps
        the samples of a block of ``whole_blocks`` in one fold. Intervals come from leaving out 20
        groups of samples, with the folds of the remaining samples unchanged; in simulations
        intervals of 95 % contained the expected value in 97 to 100 % of the cases.
    within : a label for each sample; samples are permuted only within groups of equal labels. Use
        ``within`` for classes that X and Y share: the test asks for similarity beyond the classes.
    whole_blocks : a label for each sample, such as a document, subject or trial; blocks are
        permuted as wholes. Use ``whole_blocks`` for samples that are not independent. All blocks
        need the same size.
    time_series : the samples are in the order of time and depend on earlier samples. Windows are
        shifted relative to each other (Harris 2020).
    max_shift : the largest shift of a time series. Default: n // 4 steps.
    n_permutations : number of permutations for measures without exact moments. If no more
        permutations exist, all are visited, and p is exact.
    confidence_level : of the intervals.
    seed : of the permutations.
    null : ``"permutations"`` permutes the samples for all measures; ``"moments"`` refuses measures
        without exact moments; ``"auto"`` permutes the samples only for measures without exact
        moments.

    Returns
    -------
    :class:`Evidence`. An interval describes the value that other samples of the same number would
    give: Student's t times a standard error. The standard error comes from leave-one-out values if
    the measure has a closed form, from leaving out 20 groups in succession (of blocks, or of
    stretches of time), or, for topology and neighbours (with k at most n / 4), from 40 random
    halves. A biased measure has an interval around the biased value. P-values are one-sided, in the
    direction of similarity, and ``evidence.min_pvalue`` is the smallest p-value of the design.
    ``evidence.caveats`` warns of duplicate samples (:func:`duplicate_labels` returns blocks of
    duplicates), and of samples that dominate both sides of a pair.

    Raises ``ValueError`` as :func:`compare` does, for a confidence level outside 0 to 1, for labels
    that allow only one permutation, and for labels with an index in another order of the samples.
    Results do not depend on the executor, the memory or the order of work.

    Reference: Phipson and Smyth 2010 (p-values), Kazi-Aoual et al. 1995 (three moments), Westfall
    and Young 1993 (maps), Efron 1982 (jackknife, halves).
    """
    check_confidence_level("evidence: confidence_level", confidence_level)
    if null not in get_args(NullMethod):
        raise ValueError(f"evidence: null is {', '.join(get_args(NullMethod))}; got {null!r}")
    rows, columns = named_representations(representations, against, "evidence")
    if whole_blocks is not None:
        label_codes("evidence", whole_blocks, rows[0].n_samples, "whole_blocks")
    folds = check_folds("evidence", held_out, rows[0], whole_blocks)
    if isinstance(folds, tuple) and len(folds) == 1:
        raise ValueError(
            "evidence: held_out has one fold, and an interval leaves out groups of samples, which "
            "may be all test samples; give two or more folds, such as held_out=5"
        )
    default = DEFAULT_EVIDENCE_MEASURES if folds is None else None
    selected, uninstalled = select_measures(
        default if measures is None else measures, folds, "evidence"
    )
    selected = [_with_folds_of_labels(m, rows[0], whole_blocks) for m in selected]
    layout = _pairs_for_evidence(rows, columns, within, whole_blocks)
    design = design_of(
        layout.n,
        within=within,
        whole_blocks=whole_blocks,
        time_series=time_series,
        max_shift=max_shift,
        n_permutations=n_permutations,
        seed=seed,
    )
    use_moments = null != "permutations"
    if null == "moments":
        _check_measures_have_moments(selected, design)
    with open_executor("evidence", jobs) as executor:
        options = check_run_options(executor, memory, save=save, spill=spill, progress=progress)
        inputs = ComparisonInputs.of_checked(layout.rows, layout.columns, selected, uninstalled)
        result = _compute_evidence(
            layout, selected, design, options, confidence_level, use_moments, inputs
        )
    result = replace(result, inputs=_evidence_inputs(rows, columns or rows, selected))
    if save is not None:
        result.save(save)
    return result


def evidence_from_comparison(
    comparison: Comparison,
    representations: Any,
    measures: Sequence[Measure],
    design: Mapping[str, Any],
    confidence_level: float,
    options: RunOptions,
) -> Evidence:
    """Return evidence for ``measures`` of a comparison of all pairs of ``representations``,
    without recomputing the scores.

    ``design``: labels, draws and seed, with the names of :func:`evidence`. The file ``save`` of the
    options keeps permuted values and values on parts; the caller saves the comparison with the
    result.
    """
    rows, _ = named_representations(representations, None, "evidence")
    layout = _pairs_for_evidence(rows, None, design["within"], design["whole_blocks"])
    orders = design_of(layout.n, **design)
    values = restrict_to_measures(comparison, (m.spec for m in measures))
    result = _compute_evidence(layout, measures, orders, options, confidence_level, True, values)
    return replace(result, inputs=_evidence_inputs(rows, rows, measures))


def _check_measures_have_moments(measures: Iterable[Measure], design: Design) -> None:
    """Raise ``ValueError`` if a measure has no exact moments of the null distribution under the
    design."""
    if specs := [m.spec for m in measures if not has_exact_moments(m, design)]:
        raise ValueError(
            f"evidence: no exact moments of the null distribution of {', '.join(specs)} with "
            "these samples; pass null='auto' to permute the samples for these measures"
        )


def _evidence_inputs(
    rows: Sequence[Representation], columns: Sequence[Representation], measures: Iterable[Measure]
) -> EvidenceInputs:
    row_inputs, column_inputs = ({r.name: r for r in side} for side in (rows, columns))
    return EvidenceInputs(row_inputs, column_inputs, {m.spec: m for m in measures})


def _with_folds_of_labels(m: Measure, x: Representation, labels: Any) -> Measure:
    """Return the measure with its number of folds replaced by rows of folds, which keep samples
    with equal ``labels`` (by default repeated ids of x) together; other measures unchanged.

    A number of folds becomes rows, because a part of the samples must keep the folds.
    """
    if not isinstance(m.held_out, int):
        return m
    return m.with_parameters(held_out=check_folds("evidence", m.held_out, x, labels))


def _pairs_for_evidence(
    rows: Sequence[Representation],
    columns: Sequence[Representation] | None,
    within: Any,
    whole_blocks: Any,
) -> InferencePairs:
    representations = [*rows, *(columns or [])]
    require_samples("evidence", *representations)
    for r in representations:
        check_label_order(
            "evidence", representation_title(r), r.order, within=within, whole_blocks=whole_blocks
        )
    return make_inference_pairs(rows, columns)


def _compute_evidence(
    layout: InferencePairs,
    measures: Sequence[Measure],
    design: Design,
    options: RunOptions,
    confidence_level: float,
    use_moments: bool,
    scores: Comparison | ComparisonInputs,
) -> Evidence:
    """Compute the null distributions and the intervals of scores, and return the evidence without
    inputs. If ``scores`` are inputs of a comparison, the function computes the scores first.
    ``use_moments``: whether exact moments may replace permutations."""
    intermediates = representation_cache_bytes(tuple(measures), layout.n, layout.widest) * len(
        layout.all
    )
    options = replace(options, keep=JACKKNIFE_MEMORY_FACTOR * intermediates <= options.memory)
    pairs = {m: len(layout.pairs(m)) for m in measures}
    null_steps = 1 + len(draw_chunks(design))
    kinds = {m: interval_kind(m, design, layout.widest) for m in measures}
    steps = sum(pairs[m] * (null_steps + interval_step_count(kinds[m], design)) for m in measures)
    are_kept = options.keep and options.executor is None
    with progress_reporter(options.progress, steps, "evidence") as advance, ExitStack() as caches:
        for r in layout.all:
            caches.callback(r.clear_cache)
        run = InferenceRun(
            layout, options, advance, progress_announcer(options.progress, "evidence")
        )
        if isinstance(scores, ComparisonInputs):
            with reuse_neighbors_in_subsets(are_kept and "halves" in kinds.values()):
                (scores,) = compare_many([scores], replace(options, progress=False))
        advance(sum(pairs.values()))
        run.read_file()
        # Leave-one-out values come first, because their pass leaves sums for the exact moments.
        parts = compute_resampled_scores(run, scores, measures, design)
        nulls = compute_null_cells(run, scores, measures, design, use_moments)
    pairs_tested = [(i, j) for j in layout.movable for i in range(len(layout.rows)) if i != j]
    caveats = equal_data_caveats(layout.all)
    caveats += chance_caveats(layout.all, design.whole_blocks, pairs_tested)
    caveats += measure_caveats(measures, layout.n)
    return Evidence(scores, design, confidence_level, nulls, parts, layout.is_square, caveats)
