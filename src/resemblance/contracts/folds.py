"""Values of held-out samples: maps fitted to some samples, and scored on the other samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import detach, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, representation_title

HELD_OUT = "held_out"  # the parameter of every measure with a fit
# A number of folds, or the rows of the training samples and of the test samples of each fold
Folds = int | tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
# Claims that hold for the value of all samples, and not for the value of held-out samples
IN_SAMPLE_CLAIMS = (
    "compares", "product", "all_pairs", "leave_one_out", "chance", "diagnostics", "uninformative",
    "streams_with",
)  # fmt: skip


class Maps(NamedTuple):
    """Linear maps of two representations into one space, fitted to training samples.

    ``x`` is (d, r) and ``y`` is (e, r). ``space``: ``"shared"`` if x and y are mapped into a space
    of r columns; ``"y"`` if ``x @ y.T`` maps x into the space of y; ``"rotated"`` if ``x @ y.T``
    rotates x onto y and keeps the units of x. ``score`` returns the value of the measure for the
    points of any samples.
    """

    x: np.ndarray
    y: np.ndarray
    score: Callable[[np.ndarray, np.ndarray], float]
    space: Literal["shared", "y", "rotated"]


class Fit(NamedTuple):
    """The claim that training samples determine maps, which give the value of other samples.

    ``function`` receives the points of x (n, d) and of y (n, e), and the parameters of the measure
    in its signature; the result is :class:`Maps`. ``range`` is the range of the value of held-out
    samples. With ``centers`` the means of the training samples are subtracted from all points. The
    points are divided by a power of two against overflow; with ``keeps_units`` x and y share the
    divisor, and the value is multiplied by the divisor. Without ``divides`` the points keep their
    units, for a parameter in the units of the data. ``identity``: X compared with X gives the most
    similar end of the range, also for fewer samples than features.
    """

    function: Callable[..., Maps]
    range: tuple[float, float]
    centers: bool = True
    keeps_units: bool = False
    divides: bool = True
    identity: bool = False

    def __call__(self, x: np.ndarray, y: np.ndarray) -> FittedMaps:
        """Return the maps fitted to training samples x (n, d) and y (n, e)."""
        x_mean, y_mean = (_mean(a) if self.centers else np.zeros(a.shape[1]) for a in (x, y))
        a, b = x - x_mean, y - y_mean
        s, t = (_power_of_two(a), _power_of_two(b)) if self.divides else (1.0, 1.0)
        if self.keeps_units:
            s = t = max(s, t)
        maps = self.function(a / s, b / t)
        return FittedMaps(maps, x_mean, y_mean, s, t, s if self.keeps_units else 1.0)


@dataclass(frozen=True, eq=False)
class FittedMaps:
    """Maps with the means and the divisors (``x_scale``, ``y_scale``) of the training samples.
    ``unit``: the factor of the value, 1 without ``keeps_units``."""

    maps: Maps
    x_mean: np.ndarray
    y_mean: np.ndarray
    x_scale: float
    y_scale: float
    unit: float

    def score(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the value of samples x (n, d) and y (n, e), in the units of the data with
        ``keeps_units``."""
        points = (x - self.x_mean) / self.x_scale, (y - self.y_mean) / self.y_scale
        return self.unit * float(self.maps.score(*points))


def float64_points(x: Representation) -> np.ndarray:
    """Return the values of a representation as a NumPy array (n, d) in float64."""
    return to_numpy(detach(x.array)).astype(np.float64, copy=False)


def held_out_value(
    caller: str, fit: Fit, x: Representation, y: Representation, folds: Folds
) -> float:
    """Return the mean, over folds, of the value of the test samples, with maps fitted to the
    training samples. ``caller``: the measure in errors.

    Raises :class:`UndefinedError` if a fold has no value, and ``ValueError`` for folds of other
    samples.
    """
    pairs = list(fold_rows(caller, folds, x))
    points, others = float64_points(x), float64_points(y)
    values = []
    for number, (train, test) in enumerate(pairs, start=1):
        try:
            maps = fit(points[train], others[train])
            values.append(maps.score(points[test], others[test]))
        except UndefinedError as error:
            raise UndefinedError(f"{caller}: fold {number} of {len(pairs)}: {error}") from None
    return float(np.mean(values))


def fold_rows(
    caller: str, folds: Folds, x: Representation
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (training rows, test rows), arrays of row numbers, of each fold.

    A number of folds gives :func:`consecutive_folds`, with equal ids in one fold. ``caller``: the
    measure in errors. Raises ``ValueError`` for a row beyond the samples of x.
    """
    if isinstance(folds, int):
        yield from consecutive_folds(x.n_samples, folds, x.ids)
        return
    last = max(max(map(max, fold)) for fold in folds)
    if last >= x.n_samples:
        raise ValueError(
            f"{caller}: held_out has row {last}, and {representation_title(x)} {x.shape} has rows "
            f"0 to {x.n_samples - 1}; make the folds of these samples"
        )
    for train, test in folds:
        yield np.array(train), np.array(test)


def consecutive_folds(
    n: int, count: int, labels: Sequence[Hashable] | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (training rows, test rows) of ``count`` folds of n samples: the test rows are
    stretches of successive samples, as ``KFold`` of scikit-learn. Samples with equal ``labels``,
    (n,), are in the same fold.

    Raises :class:`UndefinedError` for fewer samples, or different labels, than folds.
    """
    places = {label: i for i, label in enumerate(dict.fromkeys(labels or range(n)))}
    if len(places) < count:
        raise UndefinedError(
            f"held_out={count} needs at least {count} different samples; got {len(places)}"
        )
    groups = np.array([places[label] for label in labels or range(n)])
    for part in np.array_split(np.arange(len(places)), count):
        is_test = np.isin(groups, part)
        yield np.flatnonzero(~is_test), np.flatnonzero(is_test)


def check_folds(
    caller: str, held_out: Any, x: Representation | None = None, labels: Any = None
) -> Folds | None:
    """Return the folds ``held_out``, a number from 2, a splitter of scikit-learn, or pairs (train,
    test) of row numbers, as a number or as pairs of tuples of rows; None for None.

    ``x``, a representation of the samples, is needed for a splitter, and for the check of the rows.
    With ``labels``, by default repeated ids of x, a number of folds becomes tuples of rows, with
    equal labels in one fold. ``caller``: the function in errors. Raises ``ValueError`` for anything
    else.
    """
    if held_out is None:
        return None
    if isinstance(held_out, int | np.integer) and not isinstance(held_out, bool) and held_out >= 2:
        if labels is None and x is not None and x.ids and len(set(x.ids)) < len(x.ids):
            labels = x.ids
        if labels is None or x is None:
            return int(held_out)
        held_out = consecutive_folds(x.n_samples, int(held_out), np.asarray(labels).tolist())
    if hasattr(held_out, "split") and not isinstance(held_out, str) and x is not None:
        held_out = _split(caller, held_out, x.n_samples)
    if not isinstance(held_out, Iterable) or isinstance(held_out, str):
        raise ValueError(
            f"{caller}: held_out must be a number of folds from 2, or pairs (train, test) of row "
            f"numbers, such as KFold(5).split(X); got {held_out!r}"
        )
    folds = [_check_fold(caller, fold) for fold in held_out]
    if not folds:
        raise ValueError(f"{caller}: held_out has no fold; give a number of folds such as 5")
    if x is not None:
        deque(fold_rows(caller, tuple(folds), x), maxlen=0)
    return tuple(folds)


def _split(caller: str, splitter: Any, n: int) -> list[Any]:
    """Return the folds (train, test) of a splitter of scikit-learn for n samples; ``ValueError`` if
    the splitter fails. ``caller``: the function in the error."""
    remedy = "pass the pairs: held_out=list(splitter.split(X, y, groups))"
    if isinstance(splitter, type):
        remedy = f"make a splitter first, {splitter.__name__}(5)"
    try:
        return list(splitter.split(np.zeros((n, 1))))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{caller}: held_out={splitter!r:.80} does not split {n} samples: {error}; {remedy}"
        ) from None


def _check_fold(caller: str, fold: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a fold (train, test) as tuples of rows; ``ValueError`` for anything but two disjoint,
    nonempty sets of rows."""
    parts = [np.asarray(part) for part in fold] if isinstance(fold, Iterable) else []
    if len(parts) != 2 or not all(
        part.ndim == 1 and part.size and part.dtype.kind in "iu" and part.min() >= 0
        for part in parts
    ):
        raise ValueError(
            f"{caller}: a fold of held_out is a pair (train, test) of row numbers from 0, at least "
            f"one of each; got {fold!r:.80}"
        )
    train, test = (tuple(map(int, part)) for part in parts)
    if shared := set(train) & set(test):
        raise ValueError(
            f"{caller}: row {min(shared)} is in the training samples and in the test samples of a "
            "fold of held_out; leave it out of one of them"
        )
    return train, test


def untested_samples_caveat(folds: Folds | None, n: int) -> str:
    """Return a sentence that says how many of n samples no fold tests; an empty string if the
    folds test all samples."""
    if not isinstance(folds, tuple):  # a number of folds tests every sample
        return ""
    untested = sorted(set(range(n)).difference(*(test for _, test in folds)))
    if not untested:
        return ""
    return (
        f"no fold of held_out tests {len(untested)} of {n} samples, such as row {untested[0]}; the "
        "value is the mean over the folds of the other samples; a number of folds such as "
        "held_out=5 tests every sample"
    )


def restrict_folds(folds: Folds, rows: np.ndarray, x: Representation) -> Folds:
    """Return the folds of the samples of ``x``, cut to the samples ``rows``, as pairs (train,
    test); a row becomes its position in ``rows``.

    A fold left without training or test samples is left out.
    """
    places = {int(row): i for i, row in enumerate(rows)}
    parts = [
        tuple(tuple(places[int(r)] for r in part if int(r) in places) for part in fold)
        for fold in fold_rows("held_out", folds, x)
    ]
    return tuple((train, test) for train, test in parts if train and test)


def held_out_claims(claims: Mapping[str, Any], folds: Folds) -> dict[str, Any]:
    """Return ``claims`` changed for a measure of held-out samples: claims about the samples of a
    fit are dropped, and range and identity come from ``fit``."""
    kept = {name: claim for name, claim in claims.items() if name not in IN_SAMPLE_CLAIMS}
    fewest = folds if isinstance(folds, int) else 2
    return kept | {
        "range": claims["fit"].range,
        "metric": False,
        "identity": claims["fit"].identity,
        "differentiable": False,
        "invariant_to": set(claims["invariant_to"]) - {"sample_rotation"},
        "min_samples": max(fewest, claims.get("min_samples", 2)),
    }


def _mean(points: np.ndarray) -> np.ndarray:
    # The computed mean of equal numbers is inexact, so subtract a row first.
    first = points[0]
    return np.asarray(first + (points - first).mean(axis=0))


def _power_of_two(points: np.ndarray) -> float:
    """Return the largest power of two up to the largest magnitude of an entry of ``points``; 1 if
    all entries are zero."""
    largest = np.abs(points).max(initial=0.0)
    return float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest else 1.0
