"""Error consistency: whether classifiers err on the same samples more often than their accuracies
give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.formatting import count_with_noun, format_level
from ..base.results import BaseResult
from ..base.rng import generator
from ..comparison.comparison import Failure
from ..data.inputs import check_sample_order, is_single_input, sample_order
from ..data.representation import as_representation, check_all_finite
from ..intermediates.predictions import predicted_classes
from ..significance.labels import label_codes
from ..significance.resampling import (
    BOOTSTRAP_SAMPLES,
    bootstrap_counts,
    check_confidence_level,
    percentile_interval,
)

NAME = "error_consistency"


class ErrorPair(NamedTuple):
    """Two classifiers, their error consistency with the ends of its interval, and the observed and
    the expected share of samples for which both are right or both are wrong.

    ``value``, ``low`` and ``high`` are NaN if the error consistency is undefined.
    """

    x: str
    y: str
    value: float
    low: float
    high: float
    observed: float
    expected: float


@dataclass(frozen=True, eq=False, repr=False)
class ErrorConsistency(BaseResult):
    """The error consistency of all pairs: the result of :func:`resemblance.error_consistency`.

    ``accuracies``: the share of correct predictions, by classifier. ``pairs``: an ``ErrorPair`` for
    each two classifiers. ``failures``: the pairs with an undefined value, with the reasons.
    """

    n_samples: int
    confidence_level: float
    accuracies: Mapping[str, float]
    pairs: tuple[ErrorPair, ...]
    caveats: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    def summary(self) -> str:
        """Return the accuracies in one line, a line for each pair, and the caveats."""
        shares = ", ".join(f"{name} {share:.3g}" for name, share in self.accuracies.items())
        level = f"{format_level(self.confidence_level)} interval"
        lines = [f"accuracies on {count_with_noun(self.n_samples, 'sample')}: {shares}"]
        lines += [
            f"error consistency of {p.x} and {p.y}: {p.value:.3f}, {level} {p.low:.3f} to "
            f"{p.high:.3f} (right or wrong together: {p.observed:.3g}, expected {p.expected:.3g})"
            for p in self.pairs
            if not np.isnan(p.value)
        ]
        lines += [f"no value for {f.x} and {f.y}: {f.reason}" for f in self.failures]
        return "\n".join([*lines, *self.caveats])

    def records(self) -> list[dict[str, Any]]:
        """Return one record per pair: measure, x, y, value, low, high, observed, expected,
        accuracies.

        Undefined numbers are None.
        """
        return [
            {
                "measure": NAME,
                **{k: None if v != v else v for k, v in pair._asdict().items()},
                "accuracy_x": self.accuracies[pair.x],
                "accuracy_y": self.accuracies[pair.y],
            }
            for pair in self.pairs
        ]


def error_consistency(
    outputs: Mapping[str, Any],
    labels: Any,
    *,
    whole_blocks: Any = None,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> ErrorConsistency:
    r"""Compare classifiers by the samples on which they err, beyond their accuracies.

    .. math:: \kappa = \frac{c_{obs} - c_{exp}}{1 - c_{exp}}, \qquad
        c_{exp} = p_x p_y + (1 - p_x)(1 - p_y)

    with :math:`c_{obs}` the share of samples for which both classifiers are right or both are
    wrong, and :math:`p` the accuracies. The value is Cohen's kappa of right and wrong, in [-1, 1].
    0: the classifiers err independently; 1: on the same samples; below 0: on other samples than
    independent classifiers.

    Parameters
    ----------
    outputs : a mapping of names to outputs (n, classes), logits or probabilities, or to decisions
        (n,), whole numbers or words, for example of human observers. All are for the same samples.
        Ties of outputs go to the first class.
    labels : the true class of each sample, (n,). For outputs, whole numbers from 0 that index the
        columns.
    whole_blocks : a label for each sample; samples with the same label are drawn together.
    confidence_level : level of the intervals.
    seed : seed of the bootstrap.

    The interval is the percentile interval of a bootstrap over samples, with the same draws for all
    pairs. A draw without a value is left out.

    Returns the :class:`~resemblance.inference.ErrorConsistency` of all pairs. A pair of classifiers
    that are both right, or both wrong, for all samples has no value, because
    :math:`c_{exp} = 1`; ``failures`` has the reason. Raises ``ValueError`` for fewer than two
    classifiers or samples, for different samples, for labels that do not fit, and for a level
    outside (0, 1).

    Reference: Geirhos, Meding and Wichmann 2020. The paper compares the value with binomial draws
    of independent classifiers; here the interval is for other samples.
    """
    check_confidence_level(f"{NAME}: confidence_level", confidence_level)
    if is_single_input(outputs) or not isinstance(outputs, Mapping) or len(outputs) < 2:
        raise ValueError(
            f"{NAME}: outputs is a mapping of two or more classifiers, such as {{'a': X, 'b': Y}}"
        )
    names = [*map(str, outputs)]
    if len(set(names)) < len(names):
        raise ValueError(f"{NAME}: two classifiers have one name, {sorted(names)}; rename one")
    truth = _class_vector(labels, "labels")
    n = len(truth)
    if n < 2:
        raise ValueError(f"{NAME}: two or more samples are needed; got {n}")
    _check_orders(outputs, labels=labels, whole_blocks=whole_blocks)
    columns = [_decisions(name, x, truth) == truth for name, x in zip(names, outputs.values())]
    blocks = None if whole_blocks is None else label_codes(NAME, whole_blocks, n, "whole_blocks")
    if blocks is not None and blocks.max() < 1:
        raise ValueError(f"{NAME}: whole_blocks must name two or more blocks; got one")
    return _consistency_of_pairs(names, np.stack(columns, axis=1), blocks, confidence_level, seed)


def _check_orders(outputs: Mapping[str, Any], **labels: Any) -> None:
    """Raise ``ValueError`` if ids or an index show that outputs and labels differ in samples or in
    the order of samples.

    ``outputs``: by name of the classifier, decisions (n,) or outputs (n, classes). ``labels``:
    label vectors (n,) by the name of the parameter; None is ignored.
    """
    orders = {f"{role}=": sample_order(values, role) for role, values in labels.items()}
    for name, x in outputs.items():
        is_vector = len(getattr(x, "shape", np.shape(x))) == 1
        order = sample_order(x, name) if is_vector else as_representation(x, name).order
        for other, other_order in orders.items():
            check_sample_order(NAME, str(name), order, other, other_order)
        orders[str(name)] = order


def _class_vector(values: Any, role: str) -> np.ndarray:
    """Return ``values``, labels or decisions (n,) in a list or an array of any library, as a NumPy
    array of classes, (n,). ``role``: the name in errors.

    Raises ``ValueError`` for missing classes, and for classes of several types.
    """
    array = np.asarray(to_numpy(values) if hasattr(values, "__dlpack__") else values)
    label_codes(NAME, values if np.ma.isMaskedArray(values) else array, array.size, role)
    return np.array(array.tolist()) if array.dtype == object else array


def _decisions(name: str, x: Any, labels: np.ndarray) -> np.ndarray:
    """Return the decided classes (n,) of classifier ``name``: the decisions ``x`` (n,), or the
    column with the largest output of ``x`` (n, classes).

    Raises ``ValueError`` unless the classes are of the kind of ``labels`` (n,), and for another
    number of samples.
    """
    shape = tuple(getattr(x, "shape", np.shape(x)))
    if len(shape) == 1:
        classes = _class_vector(x, repr(name))
        kinds = {"U": "words", "i": "whole numbers", "u": "whole numbers", "b": "True and False"}
        expected, got = (kinds.get(v.dtype.kind, v.dtype.name) for v in (labels, classes))
        if got not in kinds.values() or got != expected:
            raise ValueError(
                f"{NAME}: {name!r} {shape} must be classes of the kind of labels, {expected}; got "
                f"{got}; for right and wrong pass labels=np.ones(n, int) and x.astype(int)"
            )
    else:
        representation = as_representation(x, name)
        check_all_finite(representation)
        classes = to_numpy(predicted_classes(representation))
        count = representation.shape[1]
        is_whole = labels.dtype.kind in "iu"
        if not is_whole or labels.min() < 0 or labels.max() >= count:
            got = f"{labels.min()} to {labels.max()}" if is_whole else labels.dtype.name
            raise ValueError(
                f"{NAME}: labels must be whole numbers from 0 to {count - 1}, the columns of "
                f"{name!r} {shape}; got {got}"
            )
    if len(classes) != len(labels):
        raise ValueError(
            f"{NAME}: {name!r} {shape} and labels {labels.shape} must have the same samples"
        )
    return np.asarray(classes)


def _consistency_of_pairs(
    names: Sequence[str],
    is_correct: np.ndarray,
    blocks: np.ndarray | None,
    confidence_level: float,
    seed: int,
) -> ErrorConsistency:
    """Return the error consistency of all pairs of columns of ``is_correct``, booleans (n,
    classifiers).

    ``names``: of the classifiers. ``blocks``: (n,), the number of the block of every sample, drawn
    as wholes; None for single samples.
    """
    n, tail = len(is_correct), (1 - confidence_level) / 2
    patterns, pattern_of_sample = np.unique(is_correct, axis=0, return_inverse=True)
    counts = np.bincount(pattern_of_sample.ravel())
    drawn = _drawn_patterns(pattern_of_sample.ravel(), counts, blocks, seed)
    table = np.concatenate([counts[None], drawn])
    totals = table.sum(axis=1)
    n_right = table @ patterns.astype(int)  # whole numbers, so that 0 and all are exact
    accuracies = n_right / totals[:, None]
    pairs, failures = [], []
    for i, j in combinations(range(len(names)), 2):
        observed = table @ (patterns[:, i] == patterns[:, j]) / totals
        p, q = accuracies[:, i], accuracies[:, j]
        expected = p * q + (1 - p) * (1 - q)
        sums = n_right[:, i] + n_right[:, j]
        is_defined = (sums > 0) & (sums < 2 * totals)
        kappa = np.full(len(table), np.nan)
        np.divide(observed - expected, 1 - expected, out=kappa, where=is_defined)
        low, high = (np.nan, np.nan)
        if is_defined[0]:
            low, high = percentile_interval(kappa[1:], (tail, 1 - tail))
        else:
            verdict = "right" if p[0] else "wrong"
            reason = f"both are {verdict} for all {n} samples, so the expected agreement is 1"
            failures.append(Failure(NAME, names[i], names[j], reason))
        numbers = (kappa[0], low, high, observed[0], expected[0])
        pairs.append(ErrorPair(names[i], names[j], *map(float, numbers)))
    by_name = dict(zip(names, accuracies[0].tolist()))
    caveats = tuple(
        f"{name} is {'right' if share else 'wrong'} for all samples, so its error consistency with "
        "any other classifier is 0 or undefined"
        for name, share in by_name.items()
        if share in (0, 1)
    )
    return ErrorConsistency(n, confidence_level, by_name, tuple(pairs), caveats, tuple(failures))


def _drawn_patterns(
    pattern_of_sample: np.ndarray, counts: np.ndarray, blocks: np.ndarray | None, seed: int
) -> np.ndarray:
    """Return how often each pattern of right and wrong is in each bootstrap sample, (draws,
    patterns).

    ``pattern_of_sample``: (n,), the number of the pattern. ``counts``: (patterns,), how often each
    pattern occurs. ``blocks``: (n,), block numbers, or None. A bootstrap over samples is a
    multinomial draw of patterns.
    """
    n = len(pattern_of_sample)
    if blocks is None:
        return generator(seed, NAME, n).multinomial(n, counts / n, size=BOOTSTRAP_SAMPLES)
    table = np.zeros((blocks.max() + 1, len(counts)), dtype=int)
    np.add.at(table, (blocks, pattern_of_sample), 1)
    return bootstrap_counts(len(table), seed=seed) @ table
