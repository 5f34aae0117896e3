"""A measure as a curve over its scale: the number of neighbours, or the width of a kernel."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import full_precision, scalar
from ..base.exceptions import UndefinedError
from ..base.formatting import count_with_noun, format_number
from ..base.results import BaseResult
from ..catalogue import get_measure
from ..contracts._measure import Measure, MeasureArgument
from ..contracts.claims import as_argument
from ..data.inputs import check_label_order
from ..data.representation import Representation, pair_cache, representation_title, without_gradient
from ..intermediates.grams import GramKernel, share_distances
from ..intermediates.neighbors import search_most_neighbors

EXAMPLE_SCALES = {"k": "range(1, 51)", "bandwidth": "[0.25, 0.5, 1, 2]", "width": "[1.0, 2.0, 4.0]"}


class ScalePoint(NamedTuple):
    """The value of a measure at one scale, and the mean over all permutations of the samples.

    NaN where there is no value or no closed form of the mean. ``reason``: why there is no value.
    ``caveat``: why the value says little, whatever the data.
    """

    scale: float
    value: float
    chance: float
    reason: str = ""
    caveat: str = ""


@dataclass(frozen=True, repr=False)
class ScaleCurve(BaseResult):
    """A measure of two representations over a scale: the return value of
    :func:`resemblance.scale_curve`.

    ``points`` holds a ``ScalePoint`` for each scale, the smallest scale first. ``measure`` is
    the specification without the scale, ``parameter`` the name of the scale.
    """

    measure: str
    title: str
    larger_is_more_similar: bool
    parameter: str
    x: str
    y: str
    n_samples: int
    points: tuple[ScalePoint, ...]

    @property
    def scales(self) -> np.ndarray:
        """The scales, shape (m,), smallest first."""
        return np.array([point.scale for point in self.points])

    @property
    def values(self) -> np.ndarray:
        """The values, shape (m,); NaN where a scale has no value."""
        return np.array([point.value for point in self.points])

    @property
    def chance(self) -> np.ndarray:
        """The mean over all permutations of the samples, shape (m,); NaN without a closed form."""
        return np.array([point.chance for point in self.points])

    @property
    def mean(self) -> float:
        """The mean of the values over the scales; NaN if a scale has no value."""
        return float(np.mean(self.values))

    @property
    def failures(self) -> tuple[ScalePoint, ...]:
        """The scales without a value, with reasons."""
        return tuple(point for point in self.points if point.reason)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why values say little: values fixed whatever the data, or equal at all scales."""
        doubtful, words = [p for p in self.points if p.caveat], []
        if doubtful:
            words.append(
                f"{len(doubtful)} of {count_with_noun(len(self.points), 'scale')} says little, "
                f"such as {self.parameter} = {doubtful[-1].scale:g}: {doubtful[-1].caveat}"
            )
        values = self.values[~np.isnan(self.values)]
        if len(values) > 1 and (values == values[0]).all():
            words.append(
                f"all values are equal: {self.parameter} has no effect on {self.measure} of "
                f"{self.x} and {self.y}"
            )
        return tuple(words)

    def summary(self) -> str:
        """Describe the curve in one line, then add a line for each caveat.

        The line has the measure, the scales, the mean value, and the smallest and the largest value
        with their scales. If a scale has no value, the line has the number of such scales and the
        first reason, in place of the mean.
        """
        values, name = self.values, self.parameter
        scales = f"{name} = {self.points[0].scale:g} to {self.points[-1].scale:g}"
        line = (
            f"{self.title} of {self.x} and {self.y}, {self.n_samples} samples, "
            f"{count_with_noun(len(self.points), 'scale')}, {scales}"
        )
        if self.failures:
            first = self.failures[0]
            line += f"; {len(self.failures)} without a value: {name} = {first.scale:g}: "
            line += first.reason
        else:
            line += f": mean {format_number(self.mean)}"
        if not np.isnan(values).all():
            low, high = (self.points[find(values)] for find in (np.nanargmin, np.nanargmax))
            line += f", smallest {format_number(low.value)} at {low.scale:g}"
            line += f", largest {format_number(high.value)} at {high.scale:g}"
        return "\n".join((line, *(f"  {caveat}" for caveat in self.caveats)))

    def records(self) -> list[dict[str, Any]]:
        """Return one record per scale: the scale by name, the value and the chance level."""
        return [
            {
                "measure": self.measure,
                "x": self.x,
                "y": self.y,
                self.parameter: point.scale,
                "value": None if math.isnan(point.value) else point.value,
                "chance": None if math.isnan(point.chance) else point.chance,
            }
            for point in self.points
        ]


def scale_curve(
    X: Any,
    Y: Any,
    *,
    measure: MeasureArgument = "mutual_knn",
    k: Iterable[int] | None = None,
    bandwidth: Iterable[float] | None = None,
    width: Iterable[float] | None = None,
) -> ScaleCurve:
    r"""Return a measure as a curve over its scale: the number of neighbours, or the width of a
    kernel.

    .. math:: s \mapsto m_s(X, Y), \qquad \text{mean} = \frac{1}{|S|} \sum_{s \in S} m_s(X, Y)

    Each value equals the value of a single call with this scale. The neighbours are searched once,
    for the largest k, and the values for smaller k take the first of them. Up to 4096 samples,
    kernels of all widths share the distances, in one more n x n matrix per representation. So m
    scales need O(n^2 d) time once and O(m n k log k) time for neighbours, or O(m n^2) time for
    kernels.

    Parameters
    ----------
    X, Y : (n, d) and (n, e) arrays of any library, or representations, of the same samples.
    measure : a measure with the parameter of the scale, such as ``"mutual_knn"``, ``"jaccard"``,
        ``"cka[kernel=rbf]"`` or ``"mmd"``, or a plain function with this parameter.
    k : numbers of neighbours, each below n.
    bandwidth : widths of the kernel in medians of the distances.
    width : widths of the kernel in the units of the activations.

    Returns
    -------
    :class:`ScaleCurve`, with ``values``, ``mean``, ``chance`` and ``plot()``. The mean has equal
    weights for all scales, so a grid with equal ratios (``numpy.geomspace``) weighs small scales
    more than a grid with equal steps. A scale without a value, such as k of n or more, is NaN with
    a reason, and then the mean is NaN.

    Raises ``ValueError`` unless exactly one of ``k``, ``bandwidth`` and ``width`` is given, for
    scales that are not different numbers, for a measure without this parameter or with a value for
    this parameter, and for two representations that cannot be compared.
    """
    parameter, scales = _only_scale({"k": k, "bandwidth": bandwidth, "width": width})
    m = get_measure(measure)
    if parameter not in m.defaults:
        names = ", ".join(n for n in EXAMPLE_SCALES if n in m.defaults) or "no scale"
        raise ValueError(f"scale_curve: {m.spec} has no parameter {parameter!r}; it has {names}")
    if parameter in dict(m.parameters):
        value = dict(m.parameters)[parameter]
        raise ValueError(
            f"scale_curve: {m.spec} fixes {parameter}={value!r}; leave it out of the measure"
        )
    measures = [m.with_parameters(**{parameter: scale}) for scale in scales]
    x = without_gradient(as_argument(X, "X"))
    check_label_order("scale_curve", representation_title(x), x.order)
    y = x if Y is X else without_gradient(m.in_order_of(x, as_argument(Y, "Y")))
    x, y = (copy(x), copy(y)) if y is not x else (copy(x),) * 2  # with caches of their own
    with ExitStack() as stack:
        if not isinstance(x.source, np.ndarray):
            stack.enter_context(full_precision())
        if parameter == "k":
            fitting = [scale for scale in scales if scale < x.n_samples]
            stack.enter_context(search_most_neighbors(int(max(fitting, default=0))))
        else:
            stack.enter_context(share_distances())
        points = _scale_points(measures, x, y, scales)
    return ScaleCurve(
        m.spec,
        m.label,
        m.larger_is_more_similar,
        parameter,
        x.name or "X",
        y.name or "Y",
        x.n_samples,
        points,
    )


def _only_scale(given: Mapping[str, Iterable[float] | None]) -> tuple[str, tuple[float, ...]]:
    """Return the name of the given scale and its sorted values. ``given``: the values by name,
    None for a scale that is not given. Raises ``ValueError`` unless exactly one scale is given,
    with different finite numbers."""
    names = [name for name, scales in given.items() if scales is not None]
    if len(names) != 1:
        problem = " and ".join(f"{name}=" for name in names) or "none"
        raise ValueError(
            f"scale_curve: give one of k=, bandwidth= and width=, the scales of the curve; got "
            f"{problem}"
        )
    (name,), scales = names, given[names[0]]
    values = np.asarray(list(scales) if isinstance(scales, Iterable) else scales)
    is_list = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iuf"
    if not is_list or len(np.unique(values)) < len(values) or not np.isfinite(values).all():
        raise ValueError(
            f"scale_curve: {name} must be different numbers, such as {EXAMPLE_SCALES[name]}; got "
            f"{scales!r} (np.unique drops repeats)"
        )
    if name == "k" and (values == values.astype(int)).all():
        values = values.astype(int)
    return name, tuple(np.sort(values).tolist())


def _scale_points(
    measures: Sequence[Measure], x: Representation, y: Representation, scales: Sequence[float]
) -> tuple[ScalePoint, ...]:
    """Return the points of the curve in the order of ``scales``, ascending. ``measures``: the
    measure at each scale. The function computes the largest scale first, and then drops
    intermediates that belong to a single width."""
    points, kept = list[ScalePoint](), dict[int, list[Hashable]]()
    with pair_cache(x, y):
        for m, scale in zip(reversed(measures), reversed(scales)):
            points.append(_scale_point(m, x, y, scale))
            for r in (x, y):
                if not (points[-1].reason or id(r) in kept):
                    kept[id(r)] = [key for key in r.cache if not _has_width(key)]
                r.clear_cache(keep=kept.get(id(r), ()))
    return tuple(reversed(points))


def _has_width(key: Any) -> bool:
    """Return whether a key of a cache belongs to an intermediate of a kernel with one width."""
    return any(isinstance(value, GramKernel) for _, value in key[1])


def _scale_point(m: Measure, x: Representation, y: Representation, scale: float) -> ScalePoint:
    """Return the value, the chance level and the caveat of a measure at a scale; NaN and the reason
    if there is no value."""
    try:
        value = scalar(m.evaluate(x, y))
    except UndefinedError as error:
        return ScalePoint(scale, math.nan, math.nan, str(error))
    chance = math.nan
    if m.chance and x is not y:
        with suppress(UndefinedError):
            chance = float(m.chance(x, y))
    return ScalePoint(scale, value, chance, caveat=m.caveat(x, y))
