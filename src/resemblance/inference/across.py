"""Models against several subjects: what other stimuli and other subjects would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..arguments import sides_of
from ..arrays import scalar
from ..catalogue import get_measure
from ..claims import cosine
from ..measure import Measure
from ..representation import Representation, Undefined
from ..significance.labels import numbers_of
from ..significance.multiple_testing import holm
from .jackknife import left_out_values, values_without
from .result import Difference

FEWEST = 6  # stimuli, or blocks of them
Adjust = Literal["holm", "fdr"] | None


@dataclass(frozen=True, repr=False)
class Across:
    """Scores of models, averaged over subjects, with errors that allow for other subjects and other
    stimuli: what :func:`across` returns.

    ``values`` (subjects, models) has the score of each subject; ``mean``, ``error``, ``low`` and
    ``high`` (models,) are of their means. ``ceiling`` is the mean score of the subjects with the
    others (a lower bound of what the true model would reach), its standard error, and the highest
    mean that any model can reach; None for a measure that is no cosine. ``failures`` has the reason
    for each subject that was left out.
    """

    measure: str
    subjects: tuple[str, ...]
    models: tuple[str, ...]
    values: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ceiling: tuple[float, float, float] | None
    freedom: int
    level: float
    failures: Mapping[str, str]
    covariances: np.ndarray  # (3, columns, columns): of subjects, stimuli, both; the ceiling last

    def __repr__(self) -> str:
        lines = [f"Across {len(self.subjects)} subjects by {self.measure}"]
        wide = max(map(len, self.models))
        rows = sorted(zip(self.mean, self.models, self.low, self.high), reverse=True)
        lines += [
            f"  {name:{wide}}  {m:.3f}  {low:.3f} to {high:.3f}" for m, name, low, high in rows
        ]
        if self.ceiling:
            lines.append(f"  ceiling {self.ceiling[0]:.3f} to {self.ceiling[2]:.3f}")
        return "\n".join(lines)

    def above_0(self, adjust: Adjust = "holm") -> np.ndarray:
        """Return the one-sided p-value that each model scores above 0, (models,)."""
        return _adjusted(self._p(np.eye(len(self.mean)), self.mean), adjust)

    def below_ceiling(self, adjust: Adjust = "holm") -> np.ndarray:
        """Return the one-sided p-value that each model scores below the lower ceiling, (models,).

        Raises ``ValueError`` for a measure without a ceiling.
        """
        if self.ceiling is None:
            raise ValueError(f"below_ceiling: {self.measure} is no cosine, so it has no ceiling")
        contrasts = np.pad(-np.eye(len(self.mean)), ((0, 0), (0, 1)), constant_values=1.0)
        return _adjusted(self._p(contrasts, self.ceiling[0] - self.mean), adjust)

    def difference(self, a: str, b: str) -> Difference:
        """Return how much higher model ``a`` scores than ``b``, with a two-sided p-value.

        Raises ``KeyError`` for a name that no model has.
        """
        from scipy.special import stdtrit

        i, j = (self._place(name) for name in (a, b))
        contrast = np.eye(len(self.mean))[[i]] - np.eye(len(self.mean))[[j]]
        value = float(self.mean[i] - self.mean[j])
        half = float(stdtrit(self.freedom, (1 + self.level) / 2) * self._errors(contrast)[0])
        p = float(2 * self._p(contrast, np.array([abs(value)]))[0])
        return Difference(value, value - half, value + half, min(p, 1.0))

    def pairs(self, adjust: Adjust = "holm") -> np.ndarray:
        """Return the two-sided p-value of the difference of each pair of models, (models, models),
        NaN on the diagonal."""
        m = len(self.mean)
        first, second = np.triu_indices(m, 1)
        names = ((self.models[i], self.models[j]) for i, j in zip(first, second))
        p = np.array([self.difference(*pair).p for pair in names])
        table = np.full((m, m), np.nan)
        table[first, second] = table[second, first] = _adjusted(p, adjust)
        return table

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each model: its mean, error, interval and p-values."""
        below = self.below_ceiling() if self.ceiling else [None] * len(self.mean)
        columns = (self.models, self.mean, self.error, self.low, self.high, self.above_0(), below)
        names = ("model", "mean", "error", "low", "high", "above_0", "below_ceiling")
        return [{"measure": self.measure, **dict(zip(names, row))} for row in zip(*columns)]

    def to_pandas(self) -> Any:
        """Return :meth:`records` as a DataFrame."""
        import pandas

        return pandas.DataFrame(self.records())

    def _place(self, name: str) -> int:
        if name not in self.models:
            raise KeyError(f"no model {name!r}; there are {', '.join(self.models)}")
        return self.models.index(name)

    def _errors(self, contrasts: np.ndarray) -> np.ndarray:
        missing = self.covariances.shape[1] - contrasts.shape[1]
        return _standard_errors(np.pad(contrasts, ((0, 0), (0, missing))), self.covariances)

    def _p(self, contrasts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return one-sided p-values; 1/2 for values without an error, which says nothing."""
        from scipy.special import stdtr

        errors = self._errors(contrasts)
        t = np.divide(values, errors, out=np.zeros_like(values), where=errors > 0)
        return np.asarray(stdtr(self.freedom, -t))


def across(
    subjects: Mapping[str, Any],
    models: Mapping[str, Any],
    *,
    measure: str | Measure = "rsa[rdm=sqeuclidean,compare=whitened_cosine]",
    blocks: Any = None,
    level: float = 0.95,
) -> Across:
    r"""Score models on several subjects, for conclusions about other subjects and other stimuli.

    .. math:: V = V_{\text{subjects}} + V_{\text{stimuli}} - V_{\text{both}}, \qquad
        V_{\text{subjects}} = \tfrac{1}{S} \operatorname{var}_s m_s, \quad V_{\text{stimuli}} =
        \tfrac{1}{n} \operatorname{var}_j \bar p_j, \quad p_{js} = n m_s - (n - 1) m_{s(-j)}

    with :math:`m_s` the score of subject s of S, :math:`m_{s(-j)}` that without stimulus j of n,
    and :math:`V_{\text{both}}` the variance of what is left of p after the means of its rows and
    columns, over n S: the variance of a crossed design (Cornfield and Tukey 1956), at least that of
    either factor alone. A t-test over subjects alone is of these stimuli only, and calls two equal
    models different in 15 % of experiments with 24 stimuli. Intervals and p-values are Student's
    with min(S, n) - 1 degrees of freedom; n counts ``blocks`` (a label for each stimulus, of which
    all of one label are left out together) where these are given.

    ``subjects`` and ``models``: mappings of (n, d) arrays or representations, of features or
    dissimilarities, of the same stimuli. The ceiling is of a measure that is a cosine (RSA, CKA):
    with g the scores of the subjects with each other, its upper end is :math:`\sqrt{\sum g} / S`,
    and its lower one the mean over s of :math:`\sum_{t \ne s} g_{ts} / \sqrt{\sum_{t, u \ne s}
    g_{tu}}` (Nili et al. 2014). For ranks the upper end is above the highest that ranks can reach.

    A subject for which a model or another subject has no value is left out, with the reason. Raises
    ``ValueError`` for fewer than two subjects, fewer than six stimuli or blocks, stimuli that
    differ, and a level outside (0, 1); ``Undefined`` when fewer than two subjects have values.

    Reference: Nili et al. 2014; Schütt et al. 2023, whose corrected bootstrap estimates the same
    variance by drawing.
    """
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"across: level must be between 0 and 1; got {level}")
    rows, columns = sides_of(subjects, models)
    columns = columns or []
    if len(rows) < 2:
        raise ValueError("across: it takes two subjects or more; for one use rs.evidence")
    m, n = get_measure(measure) if isinstance(measure, str) else measure, rows[0].n_samples
    groups = None if blocks is None else numbers_of("across", blocks, n, "blocks")
    count = n if groups is None else int(groups.max()) + 1
    if count < FEWEST:
        raise ValueError(f"across: other stimuli need at least {FEWEST} of them; got {count}")
    rows, tables, failures = _tables(m, rows, columns, groups)
    upper = None
    if m.product is not None and m.product.value is cosine and not m.product.root:
        squares = _squares(m, rows, groups)
        bounds = np.array([_lower_bounds(g) for g in squares])
        tables = np.concatenate([tables, bounds[:, :, None]], axis=2)
        upper = float(np.sqrt(squares[0].sum())) / len(rows)
    values, covariances = tables[0], two_factors(tables[0], tables[1:])
    mean, error = values.mean(axis=0), _standard_errors(np.eye(values.shape[1]), covariances)
    k, freedom = len(columns), min(count, len(rows)) - 1
    half = float(stdtrit(freedom, (1 + level) / 2)) * error[:k]
    return Across(
        measure=m.spec,
        subjects=tuple(r.name for r in rows),
        models=tuple(c.name for c in columns),
        values=values[:, :k],
        mean=mean[:k],
        error=error[:k],
        low=mean[:k] - half,
        high=mean[:k] + half,
        ceiling=None if upper is None else (float(mean[k]), float(error[k]), upper),
        freedom=freedom,
        level=level,
        failures=failures,
        covariances=covariances,
    )


def two_factors(values: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Return the covariances of the means over subjects that come from subjects, from stimuli, and
    from both, (3, m, m).

    ``values``: (subjects, m); ``without``: (stimuli, subjects, m), each left out. The spread of
    subjects is that of their values: that of their pseudo-values is a quarter too large.
    """
    n, count, m = without.shape
    pseudo = n * values - (n - 1) * without
    of_stimuli = pseudo.mean(axis=1)
    rest = pseudo - pseudo.mean(axis=0) - of_stimuli[:, None] + pseudo.mean(axis=(0, 1))
    both = np.einsum("psi,psj->ij", rest, rest) / ((n - 1) * (count - 1)) / (n * count)
    parts = [np.cov(values.T) / count, np.cov(of_stimuli.T) / n, both]
    return np.array([np.reshape(part, (m, m)) for part in parts])


def _standard_errors(contrasts: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    one, other, both = np.einsum("ci,fij,cj->fc", contrasts, covariances, contrasts)
    return np.asarray(np.sqrt(np.maximum.reduce([one + other - both, one, other])))


def _values(
    measure: Measure, x: Representation, y: Representation, groups: np.ndarray | None
) -> np.ndarray:
    """Return the value of all stimuli, and those without each, or without each group."""
    value = scalar(measure.evaluate(x, y))
    if groups is None:
        return np.append(value, left_out_values(measure, x, y))
    parts = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]
    return np.append(value, values_without(measure, x, y, parts))


def _tables(
    measure: Measure,
    rows: list[Representation],
    columns: list[Representation],
    groups: np.ndarray | None,
) -> tuple[list[Representation], np.ndarray, dict[str, str]]:
    """Return the subjects with values, these (1 + stimuli, subjects, models), and why others have
    none."""
    tables, usable, failures = [], [], {}
    for x in rows:
        try:
            measure.evaluate(x, x)
            tables.append([_values(measure, x, y, groups) for y in columns])
            usable.append(x)
        except Undefined as error:
            failures[x.name] = str(error)
    if len(usable) < 2:
        reasons = "; ".join(failures.values())
        raise Undefined(f"across: fewer than two subjects have values: {reasons}")
    return usable, np.moveaxis(np.array(tables), 2, 0), failures


def _squares(measure: Measure, rows: list[Representation], groups: np.ndarray | None) -> np.ndarray:
    """Return the scores of the subjects with each other, with all stimuli and without each,
    (1 + stimuli, subjects, subjects)."""
    count = len(rows)
    upper = {
        (i, j): _values(measure, rows[i], rows[j], groups)
        for i in range(count)
        for j in range(i + 1, count)
    }
    squares = np.ones((len(next(iter(upper.values()))), count, count))
    for (i, j), values in upper.items():
        squares[:, i, j] = squares[:, j, i] = values
    return squares


def _lower_bounds(square: np.ndarray) -> np.ndarray:
    """Return the cosine of each subject with the sum of the others, (subjects,)."""
    with_others = square.sum(axis=1) - np.diagonal(square)
    lengths = square.sum() - 2 * with_others - np.diagonal(square)
    return np.asarray(with_others / np.sqrt(np.maximum(lengths, np.finfo(float).tiny)))


def _adjusted(p: np.ndarray, adjust: Adjust) -> np.ndarray:
    """Return p-values adjusted for their number: by Holm, to false discovery rates, or not."""
    if adjust not in ("holm", "fdr", None):
        raise ValueError(f"adjust is holm, fdr or None; got {adjust!r}")
    if adjust is None or not p.size:
        return p
    if adjust == "holm":
        return holm(p)
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p))
