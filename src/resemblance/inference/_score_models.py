"""Score models on several subjects, with errors for sampling of stimuli and subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UndefinedError
from ..base.formatting import list_names
from ..base.progress import Progress, progress_reporter
from ..base.text import check_choice
from ..catalogue import get_measure
from ..comparison.comparison import Failure
from ..comparison.provenance import environment_versions
from ..contracts._measure import Measure
from ..contracts.claims import matrix_cosine
from ..data.caveats import chance_caveats, refuse_dissimilarities, shared_data_caveats
from ..data.inputs import check_label_order, holds_named_arrays, is_single_input
from ..data.representation import Representation, representation_title
from ..engine.arguments import named_representations
from ..engine.jobs import Jobs, open_executor
from ..engine.workers import WorkerCall, check_picklable, count_workers, run_calls, single_threaded
from ..intermediates.missing_pairs import has_missing_pairs
from ..measures.inner_products import constant_zero
from ..significance.labels import label_codes
from ..significance.multiple_testing import MIN_RELATIVE_SPREAD, AdjustMethod, adjust_pvalues
from ..significance.resampling import check_confidence_level
from .answers import Difference
from .ceilings import pairwise_comparison_name, pairwise_noise_ceilings, rank_comparison_name
from .crossed import crossed_covariances, standard_errors
from .fitting import (
    FitMethod,
    FittedPart,
    RsaModelFit,
    build_rsa_model_fit,
    cosine_noise_ceiling,
    describe_fitted_parts,
    stimulus_folds,
)
from .jackknife import leave_group_out_values, leave_one_out_values
from .own_conditions import (
    align_to_all_conditions,
    check_model_has_all_pairs,
    columns_by_subject,
    missing_pair_notes,
    no_ceiling_reason,
)
from .several_models import (
    ALL_MODELS,
    NONNEGATIVE_SCORES,
    SCORE_RANGES,
    ModelScore,
    check_independent_models,
    check_model_score,
    joint_scores,
)
from .subject_scores import SubjectScores

MIN_STIMULI = 6  # stimuli, or blocks of stimuli
CALLS_PER_WORKER = 4


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ModelScores(SubjectScores):
    """Scores of models, averaged over subjects: the return value of :func:`score_models`.

    Standard errors account for sampling both subjects and stimuli. ``values`` (subjects, models)
    has the score of each subject; ``mean``, ``standard_error``, ``low`` and ``high`` (models,)
    describe the means over subjects. ``ceiling`` is a tuple: the mean score of the subjects with
    the other subjects (a lower bound of the score of the true model), its standard error, and the
    highest mean score that any model can reach (for rank comparisons: the score of the pooled
    subjects). ``ceiling`` is None for a measure that is neither a cosine nor a rank comparison.
    ``score`` is the kind of score. ``folds`` (stimuli,) is the fold of each stimulus; None without
    fitted models. ``fitted_parts`` has the weight of each part of a fitted model, for each subject
    and fold. ``failures`` has the reason for each excluded subject. Intervals are clipped to the
    range of the measure; ``caveats`` name the models with clipped intervals, and doubts about the
    data.
    """

    ceiling: tuple[float, float, float] | None
    larger_is_more_similar: bool
    # (3, columns, columns): subjects, stimuli, both; the last column is the ceiling
    covariances: np.ndarray
    folds: np.ndarray | None = None
    fitted_parts: tuple[FittedPart, ...] = ()

    def summary(self) -> str:
        """Return one line per model, the most similar first, then the ceiling and notes.

        The notes list excluded subjects and caveats.
        """
        lines = [f"ModelScores {len(self.subjects)} subjects by {self.title}"]
        width = max(map(len, self.models))
        rows = [(self.models[i], self.mean[i], self.low[i], self.high[i]) for i in self.order]
        lines += [
            f"  {name:{width}}  {m:.3f}  {low:.3f} to {high:.3f}" for name, m, low, high in rows
        ]
        if self.ceiling:
            lines.append(f"  ceiling {self.ceiling[0]:.3f} to {self.ceiling[2]:.3f}")
        lines += [f"  {line}" for line in describe_fitted_parts(self.fitted_parts)]
        return "\n".join([*lines, *self._notes()])

    @property
    def order(self) -> np.ndarray:
        """The indices of the models, in order of decreasing similarity."""
        return np.argsort(-self.mean if self.larger_is_more_similar else self.mean, kind="stable")

    def above_0(self, adjust: AdjustMethod = "familywise") -> np.ndarray:
        """Return the one-sided p-values of scores above 0, (models,).

        Raises ``ValueError`` unless an unrelated model scores 0 on average, as with correlations of
        dissimilarities (``compare=pearson``, ``whitened_pearson``, ranks) and with CKA without
        bias. With cosines an unrelated model scores higher, because all dissimilarities of features
        are positive. Unique variance and non-negative weights are never below 0.
        """
        if self.score in NONNEGATIVE_SCORES:
            signed = "semipartial" if self.score == "unique_variance" else "regression"
            raise ValueError(
                f"above_0: {self.score} is at least 0, also of an unrelated model; test "
                f"score={signed!r} instead"
            )
        if not self.is_0_by_chance:
            raise ValueError(
                f"above_0: an unrelated model does not score 0 by {self.measure}; compare models "
                "with a random one by difference, or take compare=whitened_pearson"
            )
        return adjust_pvalues(self._p(np.eye(len(self.mean)), self.mean), adjust)

    def below_ceiling(self, adjust: AdjustMethod = "familywise") -> np.ndarray:
        """Return the one-sided p-values of scores below the lower ceiling, (models,).

        Raises ``ValueError`` for a measure without a ceiling.
        """
        if self.ceiling is None:
            raise ValueError(f"below_ceiling: {self.measure} has no ceiling")
        contrasts = np.pad(-np.eye(len(self.mean)), ((0, 0), (0, 1)), constant_values=1.0)
        return adjust_pvalues(self._p(contrasts, self.ceiling[0] - self.mean), adjust)

    def difference(self, a: str, b: str) -> Difference:
        """Return the score of model ``a`` minus the score of model ``b``, with a two-sided p-value.

        Raises ``KeyError`` for an unknown name.
        """
        from scipy.special import stdtrit

        i, j = self._column(a), self._column(b)
        contrast = np.eye(len(self.mean))[[i]] - np.eye(len(self.mean))[[j]]
        value = float(self.mean[i] - self.mean[j])
        half = float(
            stdtrit(self.freedom, (1 + self.confidence_level) / 2) * self._errors(contrast)[0]
        )
        p = float(2 * self._p(contrast, np.array([abs(value)]))[0])
        return Difference(value, value - half, value + half, min(p, 1.0))

    def pairs(self, adjust: AdjustMethod = "familywise") -> np.ndarray:
        """Return the two-sided p-values of all differences between models, (models, models).

        The diagonal is NaN.
        """
        m = len(self.mean)
        first, second = np.triu_indices(m, 1)
        names = ((self.models[i], self.models[j]) for i, j in zip(first, second))
        p = np.array([self.difference(*pair).pvalue for pair in names])
        table = np.full((m, m), np.nan)
        table[first, second] = table[second, first] = adjust_pvalues(p, adjust)
        return table

    def records(self) -> list[dict[str, Any]]:
        """Return a record per model: measure, score, model, value, error, interval, p-values.

        The value is the mean score over subjects. The p-values, ``pvalue_above_0`` and
        ``pvalue_below_ceiling``, are adjusted for the number of models; None for an undefined
        p-value.
        """
        empty = [None] * len(self.mean)
        p_above = self.above_0() if self.is_0_by_chance else empty
        p_below = self.below_ceiling() if self.ceiling else empty
        columns = (
            self.models,
            self.mean,
            self.standard_error,
            self.low,
            self.high,
            p_above,
            p_below,
        )
        names = (
            "model",
            "value",
            "standard_error",
            "low",
            "high",
            "pvalue_above_0",
            "pvalue_below_ceiling",
        )
        first = {"measure": self.measure, "score": self.score}
        return [{**first, **dict(zip(names, row))} for row in zip(*columns)]

    def _errors(self, contrasts: np.ndarray) -> np.ndarray:
        missing = self.covariances.shape[1] - contrasts.shape[1]
        errors = standard_errors(np.pad(contrasts, ((0, 0), (0, missing))), self.covariances)
        return np.where(errors > MIN_RELATIVE_SPREAD * np.abs(self.values).max(), errors, 0.0)

    def _p(self, contrasts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return one-sided p-values of ``values``, contrasts of the means, above 0, (contrasts,);
        1/2 for values with an error of 0, which give no evidence. ``contrasts``: the weights of the
        means, (contrasts, models)."""
        from scipy.special import stdtr

        errors = self._errors(contrasts)
        t = np.divide(values, errors, out=np.zeros_like(values), where=errors > 0)
        return np.asarray(stdtr(self.freedom, -t))


def score_models(
    models: Mapping[str, Any],
    subjects: Mapping[str, Any],
    *,
    measure: str | Measure = "rsa[rdm=sqeuclidean,compare=whitened_cosine]",
    score: ModelScore = "similarity",
    fit: FitMethod | None = None,
    folds: Any = None,
    whole_blocks: Any = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: Jobs = None,
    progress: Progress = True,
) -> ModelScores:
    r"""Score models on several subjects, for conclusions about other subjects and other stimuli.

    .. math:: V = V_{\text{subjects}} + V_{\text{stimuli}} - V_{\text{both}}, \qquad
        V_{\text{subjects}} = \tfrac{1}{S} \operatorname{var}_s m_s, \quad V_{\text{stimuli}} =
        \tfrac{1}{n} \operatorname{var}_j \bar p_j, \quad p_{js} = n m_s - (n - 1) m_{s(-j)}

    with :math:`m_s` the score of subject s of S, :math:`m_{s(-j)}` the score without stimulus j of
    n, and :math:`V_{\text{both}}` the variance of the residuals of p after subtracting row and
    column means, divided by n S. V is the variance of a crossed design (Cornfield and Tukey 1956),
    and at least the variance of either factor alone. A t-test over subjects alone holds only for
    the same stimuli: in 15 % of experiments with 24 stimuli such a test finds a difference between
    two equal models. Intervals and p-values use Student's t with min(S, n) - 1 degrees of freedom.
    With ``whole_blocks`` (a label for each stimulus), stimuli with equal labels are left out
    together, and n is the number of blocks.

    ``models`` and ``subjects``: mappings of (n, d) arrays or representations, of features or
    dissimilarities, of the same stimuli. A measure that is a cosine (RSA, CKA) has a noise ceiling:
    with g the scores of the subjects with each other, the upper end is :math:`\sqrt{\sum g} / S`,
    and the lower end is the mean over s of :math:`\sum_{t \ne s} g_{ts} / \sqrt{\sum_{t, u \ne s}
    g_{tu}}` (Nili et al. 2014). For rank comparisons the ceiling is the score of subjects with the
    mean ranks of the other subjects, and with the mean ranks of all subjects, ranked again.

    A model that is a list of arrays or representations is fitted: its dissimilarities are
    :math:`\sum_k w_k d_k` with weights w >= 0. The weights maximise the cosine with the sum of the
    other subjects, each of length 1, on the stimuli of the other folds. ``fit``: ``"weights"`` of
    all parts (default), ``"one"`` part, or two adjacent ``"neighbors"`` of the list, such as
    layers. ``folds`` is the number of folds (by default 2, 3, 4 or 5, from 12, 24 and 40 stimuli
    on), drawn at random from stimuli or blocks with ``seed``, or a label for each stimulus; 1 fits
    on all stimuli. ``fitted_parts`` of the result has the weights of each subject and fold. With
    fitted models, or with ``folds``, the scores of all models and the ceiling are means over the
    folds. Few stimuli in a fold make errors too large (2.3 times the variance with 24 stimuli, 1.5
    times with 60), not too small. Fitting needs ``rsa`` with ``compare`` cosine, pearson,
    whitened_cosine or whitened_pearson. A fit in which all weights are 0 scores 0.

    ``score``: the score of a model alone, ``"similarity"``, or of a model beside the other models,
    for a measure that is a cosine and models without folds. With y the dissimilarities of a subject
    and :math:`d_k` those of model k, prepared by the comparison (centred for ``pearson``, ranks for
    ``spearman``, whitened) and scaled to length 1:

    - ``"regression"``: the weights b that minimise :math:`\|y - \sum_k b_k d_k\|^2`, in units of
      lengths (standardised); ``"nonnegative_regression"``: the same with weights of at least 0.
    - ``"partial"``: the correlation of y with :math:`d_k`, both without the part that the other
      models explain; ``"semipartial"``: only :math:`d_k` is without this part.
    - ``"unique_variance"``: the share of the squared length of y that all models explain together
      minus the share that the models but k explain: the squared semi-partial correlation. A last
      row, "all models", has the share of all models.

    These scores have no noise ceiling. Leaving out a stimulus repeats the regression without the
    stimulus. mne-rsa returns weights in the units of the dissimilarities, which differ between
    subjects; weights here do not depend on the units.

    ``jobs`` and ``progress``: as in :func:`compare`. The result does not depend on ``jobs`` or the
    order of subjects.

    With ``rsa`` and a comparison without whitening, a subject may lack stimuli: rows of NaN, or ids
    that are a subset of the ids of the models (then models need ids). Such a subject is compared on
    its available pairs of stimuli; ``caveats`` give the number of pairs. Leaving out a stimulus
    that a subject lacks does not change the score of the subject, so the variance is computed from
    the means without each stimulus over the subjects with the stimulus. The ceiling is then the
    score of subjects with the mean of the other subjects, and with the mean of all subjects, on the
    available pairs: the mean for a pair is over the subjects with the pair, of ranks for rank
    comparisons, and otherwise of dissimilarities in units of their root mean square. The upper end
    is no bound then. Whitened comparisons need all pairs, because the weights come from the
    covariance of the dissimilarities of all stimuli.

    A subject without a value for a model or for another subject is excluded, with the reason.
    Raises ``ValueError`` for fewer than two subjects, fewer than six stimuli or blocks, different
    stimuli, a matrix of dissimilarities passed as features, a level outside (0, 1), a fold with
    fewer than three stimuli after leaving out a stimulus or block, and a measure that cannot be
    fitted; ``UndefinedError`` when fewer than two subjects have values, for a model without a
    value, for dissimilarities that are all equal in a fold, and for a score of several models whose
    dissimilarities are linearly dependent.

    Reference: Nili et al. 2014; Schütt et al. 2023, with a corrected bootstrap that estimates the
    same variance by resampling; Khaligh-Razavi and Kriegeskorte 2014 for weights of parts that are
    fitted to other stimuli; Legendre et al. 1994 for regression on several dissimilarities; Nimon
    and Oswald 2013 for unique variance.
    """
    check_confidence_level("score_models: confidence_level", confidence_level)
    if fit is not None:
        check_choice("score_models: fit", fit, get_args(FitMethod))
    if not isinstance(measure, str | Measure):
        remedy = "; declare the function with @rs.measure" if callable(measure) else ""
        raise ValueError(f"score_models: measure is one measure; got {measure!r}{remedy}")
    if is_single_input(subjects) or is_single_input(models):
        raise ValueError(
            "score_models: subjects and models are mappings of names to arrays: {'A': x}"
        )
    m = get_measure(measure) if isinstance(measure, str) else measure
    subjects = align_to_all_conditions(subjects, models, m)
    models, owners = _split_fitted_models(models)
    if fit is not None and not owners:
        raise ValueError(
            f"score_models: fit={fit!r} fits the parts of a model that is a list, and no model is "
            "a list; pass models={'name': [part, part]}, or leave fit= out"
        )
    part_names = {name: name[len(owner) + 1 :] for name, owner in owners.items()}
    rows, columns = named_representations(
        subjects, {} if models is None else models, "score_models"
    )
    columns = columns or []
    refuse_dissimilarities("score_models", rows + columns)
    _check_ids_on_both_sides(rows, columns)
    for x in rows + columns:
        check_label_order(
            "score_models", representation_title(x), x.order, whole_blocks=whole_blocks, folds=folds
        )
    if len(rows) < 2:
        raise ValueError("score_models: two or more subjects are needed; for one use rs.evidence")
    n = rows[0].n_samples
    groups = (
        None
        if whole_blocks is None
        else label_codes("score_models", whole_blocks, n, "whole_blocks")
    )
    count = n if groups is None else int(groups.max()) + 1
    if count < MIN_STIMULI:
        units_noun = "stimuli" if groups is None else "different labels of blocks"
        raise ValueError(f"score_models: it takes at least {MIN_STIMULI} {units_noun}; got {count}")
    parts_of_models: dict[str, list[str]] = {}
    for y in columns:
        parts_of_models.setdefault(owners.get(y.name, y.name), []).append(
            part_names.get(y.name, y.name)
        )
    has_folds = bool(owners) or folds is not None
    check_model_score(score, m, tuple(parts_of_models), has_folds=has_folds)
    numbers, parts, upper, fitted = None, list[np.ndarray](), None, tuple[FittedPart, ...]()
    if has_folds:
        units = np.arange(n) if groups is None else groups
        left_out = [np.flatnonzero(units == unit) for unit in range(count)]
        parts = stimulus_folds(folds, n, groups, left_out, seed)
        numbers = np.select([np.isin(np.arange(n), part) for part in parts], range(len(parts)))
    with single_threaded(), open_executor("score_models", jobs) as executor:
        for y in columns:
            m.evaluate(y, y)  # raises for a model without a value
            if parts:
                check_model_has_all_pairs(y)
        rows, failures = _self_comparable_subjects(m, rows)
        if parts:
            fitting = build_rsa_model_fit(
                m, rows, columns, [*map(len, parts_of_models.values())], fit or "weights", parts
            )
            tables, upper = _fitted_tables(fitting, left_out, executor, progress)
            fitted = fitting.fitted_parts(parts_of_models)
        else:
            rows, tables, upper = _subject_score_tables(
                m, rows, columns, groups, failures, executor, progress, score
            )
    names = [*parts_of_models, *([ALL_MODELS] if score == "unique_variance" else [])]
    result = _summarize_score_tables(m, rows, names, tables, upper, confidence_level, count, score)
    doubts = *shared_data_caveats(rows, columns), *chance_caveats(rows + columns, groups)
    caveats = *missing_pair_notes(rows), *doubts, *result.caveats
    lost_subjects = tuple(Failure(m.spec, name, "", reason) for name, reason in failures.items())
    return replace(
        result, folds=numbers, fitted_parts=fitted, failures=lost_subjects, caveats=caveats
    )


def _summarize_score_tables(
    measure: Measure,
    rows: Sequence[Representation],
    models: Sequence[str],
    tables: np.ndarray,
    upper: float | None,
    confidence_level: float,
    count: int,
    score: ModelScore,
) -> ModelScores:
    """Return means, errors and intervals of score tables, (1 + stimuli, subjects, models): the
    scores on all stimuli, then without each stimulus.

    ``rows``: the subjects. ``models``: the names of the models. ``upper``: the upper ceiling, None
    without a ceiling. With a ceiling, the tables have a last column more than ``models``, the lower
    ceiling. ``count``: the number of stimuli or blocks.
    """
    from scipy.special import stdtrit

    values, covariances = tables[0], crossed_covariances(tables[0], tables[1:])
    mean, error = values.mean(axis=0), standard_errors(np.eye(values.shape[1]), covariances)
    k, freedom = len(models), min(count, len(rows)) - 1
    half = float(stdtrit(freedom, (1 + confidence_level) / 2)) * error[:k]
    low, high = mean[:k] - half, mean[:k] + half
    start, stop = SCORE_RANGES.get(score, measure.range)
    cut = [name for name, a, b in zip(models, low, high) if a < start or b > stop]
    noun = "measure" if score == "similarity" else "score"
    note = (
        f"the intervals of {', '.join(cut)} end at the range of the {noun}, {start:g} to {stop:g}:"
        f" Student's t would go beyond the range (degrees of freedom: {freedom})"
    )
    return ModelScores(
        measure=measure.spec,
        subjects=tuple(r.name for r in rows),
        models=tuple(models),
        values=values[:, :k],
        mean=mean[:k],
        standard_error=error[:k],
        low=np.maximum(low, start),
        high=np.minimum(high, stop),
        ceiling=None if upper is None else (float(mean[k]), float(error[k]), upper),
        freedom=freedom,
        confidence_level=confidence_level,
        larger_is_more_similar=measure.larger_is_more_similar,
        is_0_by_chance=_has_zero_chance_level(measure) and score not in NONNEGATIVE_SCORES,
        covariances=covariances,
        score=score,
        caveats=tuple([note] * bool(cut) + [no_ceiling_reason(rows, score)] * (upper is None)),
        provenance=environment_versions(),
    )


def _has_zero_chance_level(measure: Measure) -> bool:
    """Return whether unrelated representations are known to score 0 on average by the measure."""
    if getattr(measure.chance, "func", None) is constant_zero:  # the claim, with its parameters
        return True
    if measure.name == "rsa":
        return "cosine" not in dict(measure.parameters).get("compare", "")
    return ("estimator", "debiased") in measure.parameters


def _jackknife_values(
    measure: Measure, x: Representation, y: Representation, groups: np.ndarray | None
) -> np.ndarray:
    """Return the score on all stimuli, then the scores without each stimulus, (1 + n,); with
    ``groups``, (n,) numbers from 0, the scores without each group, (1 + groups,)."""
    value = scalar(measure.evaluate(x, y))
    if groups is None:
        return np.append(value, leave_one_out_values(measure, x, y))
    parts = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]
    return np.append(value, leave_group_out_values(measure, x, y, parts))


def _split_fitted_models(models: Any) -> tuple[Any, dict[str, str]]:
    """Return ``models`` with every fitted model, a list of parts, replaced by a mapping from part
    names to parts; and a mapping from every part ("model/part") to the name of the model.

    ``models``: a mapping by name, or pairs (name, model). The value of a fitted model is a list or
    tuple of representations, arrays or files. Other ``models`` are returned unchanged, with {}.
    Raises ``ValueError`` for an empty list of parts.
    """
    if not isinstance(models, Mapping) and not holds_named_arrays(models):
        return models, {}
    models_by_name, owners = dict(models), dict[str, str]()
    for name, parts in models_by_name.items():
        if isinstance(parts, list | tuple) and all(map(_is_model_part, parts)):
            if not parts:
                raise ValueError(f"score_models: the model {name!r} is a list without parts")
            models_by_name[name] = dict(zip(_unique_part_names(parts), parts))
            owners |= {f"{name}/{number}": str(name) for number in models_by_name[name]}
    return models_by_name, owners


def _unique_part_names(parts: Sequence[Any]) -> list[str]:
    """Return the names of representations and the stems of files; or the numbers of the parts, as
    text, unless all parts have different names."""
    names = [
        part.name if isinstance(part, Representation) else Path(part).stem
        for part in parts
        if isinstance(part, Representation | str | Path)
    ]
    is_named = len({*filter(None, names)}) == len(parts)
    return names if is_named else [str(number) for number in range(len(parts))]


def _is_model_part(value: Any) -> bool:
    return isinstance(value, Representation | str | Path) or np.ndim(value) == 2


def _check_ids_on_both_sides(
    rows: Sequence[Representation], columns: Sequence[Representation]
) -> None:
    """Raise ``ValueError`` if the subjects ``rows`` have row ids and some model in ``columns`` has
    none.

    The order of rows may differ then, because :func:`dissimilarities` sorts the names of
    conditions.
    """
    labeled = next((x for x in rows if x.ids is not None), None)
    unlabeled = next((y for y in columns if y.order is None), None)
    if labeled and unlabeled and labeled.ids != tuple(range(labeled.n_samples)):
        raise ValueError(
            f"score_models: {unlabeled.name!r} has no ids, and the rows of {labeled.name!r} are "
            f"{list_names(labeled.ids or (), 3)}; name the rows of models, too: "
            "rs.Representation(x, ids=labels), or a data frame with an index"
        )


def _self_comparable_subjects(
    measure: Measure, rows: list[Representation]
) -> tuple[list[Representation], dict[str, str]]:
    """Return the subjects with a score with themselves, and the reasons for the other subjects, by
    name. ``rows``: the subjects. Raises ``UndefinedError`` if fewer than two subjects are left."""
    valid_subjects, failures = [], {}
    for x in rows:
        try:
            measure.evaluate(x, x)
            valid_subjects.append(x)
        except UndefinedError as error:
            failures[x.name] = str(error)
    _check_two_subjects_remain(len(valid_subjects), failures)
    return valid_subjects, failures


def _check_two_subjects_remain(count: int, failures: Mapping[str, str]) -> None:
    if count < 2:
        reason = next(iter(failures.values()))
        raise UndefinedError(
            f"score_models: fewer than two subjects have values; the first: {reason}"
        )


def _subject_score_tables(
    measure: Measure,
    rows: list[Representation],
    columns: list[Representation],
    groups: np.ndarray | None,
    failures: dict[str, str],
    executor: Executor | None,
    progress: Progress,
    score: ModelScore,
) -> tuple[list[Representation], np.ndarray, float | None]:
    """Return the subjects with scores, their score tables, and the upper ceiling, None without a
    ceiling.

    ``rows``: the subjects. ``columns``: the models. ``groups``: (n,), numbers of the blocks of
    stimuli to leave out, or None. The tables are (1 + stimuli or blocks, subjects, models), with
    the lower ceiling as the last model, if there is a ceiling. The function adds the reasons for
    excluded subjects to ``failures``, in place.
    """
    has_other_models = score != "similarity"
    product = measure.product
    is_cosine = product is not None and product.value is matrix_cosine and not product.root
    is_by_pairs = rank_comparison_name(measure) or any(map(has_missing_pairs, rows))
    has_ceiling = is_cosine and not is_by_pairs and not has_other_models
    columns_of_subjects = columns_by_subject(rows, columns, measure) if has_other_models else {}
    n_calls = len(rows) * (1 + has_ceiling) + len(columns) * len(columns_of_subjects)
    if executor is not None:
        check_picklable([measure], executor)
    with progress_reporter(progress, n_calls, "score_models") as advance:
        calls = [
            WorkerCall(x.name, _jackknife_values_by_column, (measure, x, columns, groups))
            for x in rows
        ]
        tables, valid_subjects = [], []
        for x, future in zip(rows, _wait_for_calls(calls, executor, advance)):
            try:
                tables.append(future.result())
                valid_subjects.append(x)
            except UndefinedError as error:
                failures[x.name] = str(error)
        _check_two_subjects_remain(len(valid_subjects), failures)
        table = np.moveaxis(np.array(tables), 2, 0)
        if has_other_models:
            squares = {
                name: _square_tables(measure, models, groups, len(table), executor, advance)
                for name, models in columns_of_subjects.items()
            }
            by_subject = [squares.get(x.name, squares.get("")) for x in valid_subjects]
            between = np.stack([square for square in by_subject if square is not None], axis=1)
            check_independent_models(between, tuple(y.name for y in columns))
            return valid_subjects, joint_scores(table, between, score), None
        bounds = None
        if is_by_pairs and pairwise_comparison_name(measure):
            bounds = pairwise_noise_ceilings(measure, valid_subjects, groups)
        if bounds:
            return valid_subjects, *_append_noise_ceiling(table, bounds)
        if not has_ceiling:
            return valid_subjects, table, None
        squares_of_subjects = _square_tables(
            measure, valid_subjects, groups, len(table), executor, advance
        )
    return valid_subjects, *_append_noise_ceiling(
        table, [cosine_noise_ceiling(square) for square in squares_of_subjects]
    )


def _square_tables(
    measure: Measure,
    representations: Sequence[Representation],
    groups: np.ndarray | None,
    count: int,
    executor: Executor | None,
    advance: Callable[[int], None],
) -> np.ndarray:
    """Return the cosines between representations on all stimuli, then without each stimulus or
    group, (count, representations, representations). ``count``: 1 + the number of stimuli or
    groups. ``advance`` counts the ended calls."""
    calls = [
        WorkerCall(x.name, _jackknife_values_by_column, (measure, x, representations[i:], groups))
        for i, x in enumerate(representations, 1)
    ]
    squares = np.tile(np.eye(len(representations)), (count, 1, 1))
    for i, future in enumerate(_wait_for_calls(calls, executor, advance)):
        values = np.transpose(future.result())
        squares[:, i, i + 1 :] = squares[:, i + 1 :, i] = values
    return squares


def _append_noise_ceiling(
    table: np.ndarray, bounds: Sequence[tuple[np.ndarray, float]]
) -> tuple[np.ndarray, float]:
    """Return the table (1 + stimuli, subjects, models) with the lower ceilings as an additional
    model, and the upper ceiling on all stimuli. ``bounds``: the lower ceilings (subjects,) and the
    upper ceiling, on all stimuli, then without each stimulus."""
    lower = np.array([low for low, _ in bounds])
    return np.concatenate([table, lower[:, :, None]], axis=2), bounds[0][1]


def _fitted_tables(
    fitting: RsaModelFit,
    left_out: Sequence[np.ndarray],
    executor: Executor | None,
    progress: Progress,
) -> tuple[np.ndarray, float]:
    """Return the score tables of fitted models, and the upper ceiling.

    The tables have the form of :func:`_subject_score_tables`. ``left_out``: the stimuli of each
    part to leave out.
    """
    sets = [np.arange(0), *left_out]
    count = len(sets) if executor is None else CALLS_PER_WORKER * count_workers(executor)
    pieces = np.array_split(np.arange(len(sets)), min(count, len(sets)))
    calls = [
        WorkerCall(
            f"part {i + 1} of {len(pieces)}", _fitted_scores, (fitting, [sets[k] for k in piece])
        )
        for i, piece in enumerate(pieces)
    ]
    with progress_reporter(progress, len(calls), "score_models") as advance:
        table = np.concatenate(
            [future.result() for future in _wait_for_calls(calls, executor, advance)]
        )
    return table[..., :-1], float(table[0, 0, -1])


def _fitted_scores(fitting: RsaModelFit, sets: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([fitting.scores(left_out) for left_out in sets])


def _jackknife_values_by_column(
    measure: Measure,
    x: Representation,
    columns: Sequence[Representation],
    groups: np.ndarray | None,
) -> list[np.ndarray]:
    return [_jackknife_values(measure, x, y, groups) for y in columns]


def _wait_for_calls(
    calls: Sequence[WorkerCall], executor: Executor | None, advance: Callable[[int], None]
) -> Iterable[Future[Any]]:
    """Wait for all calls; return their finished futures in the order of the calls. ``advance``
    receives 1 for every ended call."""
    futures = {}
    for call, future in run_calls(calls, executor):
        futures[call.name] = future
        advance(1)
    return [futures[call.name] for call in calls]
