"""Support of measures for streams: whether a measure needs the samples, and how many digits
whitening leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import Array, to_numpy
from ..base.exceptions import UndefinedError
from ..data.representation import Representation, StreamSummary, cached_pair, representation_title
from ..intermediates.digits import resolution
from ..intermediates.points import column_norms
from ..intermediates.resi_code import resi_svcca_components
from ..intermediates.spectra import (
    component_count_with_ties,
    components_for_variance,
    decomposition,
)

# The claim of a measure that depends only on sums of products over the samples
SAMPLE_ROTATION_CLAIM = "sample_rotation"
MAX_WHITENING_ERROR = 1e-4  # relative; a larger error leaves the measure undefined
FLOAT64_EPSILON = float(np.finfo(np.float64).eps)
STREAMING_ANSWERS = {  # whether a measure works on a stream, by the sums that the measure needs
    None: "no: the measure needs the samples",
    "": "yes",
    "squares": "yes",
    "directions": "yes, with directions=True",
}
COMPARE_SAMPLES_REMEDY = "or compare the samples with rs.compare"


def as_surrogate(points: Array, name: str, origin: StreamSummary) -> Representation:
    """Return points as a representation of the stream ``origin``, called ``name``; the points have
    the inner products of the stream's samples."""
    x = Representation(points, name)
    x.origin, x._carry = origin, origin.intermediates
    return x


def stream_requirements(measure: Any) -> str | None:
    """Return the sums, besides products, that a measure needs from a stream: "squares",
    "directions", or "" for none; None if the measure needs the samples."""
    return "" if SAMPLE_ROTATION_CLAIM in measure.invariant_to else measure.streams_with


USE_RSA = "use rsa"


def require_samples(caller: str, *representations: Representation) -> None:
    """Raise :class:`~resemblance.UndefinedError` if any of the representations is of a stream."""
    for x in representations:
        if x.origin:
            raise UndefinedError(
                f"{caller} needs the samples, and {representation_title(x)} is of a stream"
            )


def require_features(caller: str, *representations: Representation) -> None:
    """Raise :class:`~resemblance.UndefinedError` for representations without features: streams and
    given dissimilarities."""
    require_samples(caller, *representations)
    for x in representations:
        if x.signed:
            raise UndefinedError(
                f"{caller} needs features, and {representation_title(x)} holds dissimilarities: "
                f"{USE_RSA}"
            )


def require_distances(caller: str, *representations: Representation) -> None:
    """Raise :class:`~resemblance.UndefinedError` for streams, and for given dissimilarities that
    are no squared Euclidean distances between points."""
    require_samples(caller, *representations)
    for x in representations:
        if x.signed and (x.signed.signs <= 0).any():
            raise UndefinedError(
                f"{caller} takes squared Euclidean distances, and the dissimilarities of "
                f"{representation_title(x)} are none: pairs are missing, or the Gram matrix has "
                "negative eigenvalues, as of cross-validated dissimilarities; leave out runs=, or "
                "take rsa"
            )


def check_stream_precision(measure: Any, x: Representation, y: Representation) -> None:
    """Raise an error if a measure has no value of x and y, or too few digits, on a stream.

    ``UndefinedError`` if the measure needs the samples or sums that were not accumulated, or has
    too large a whitening error; ``ValueError`` for representations of two streams.
    """
    if x.origin is None or y.origin is None or x.origin.stream != y.origin.stream:
        raise ValueError(
            f"{measure}: {representation_title(x)} and {representation_title(y)} come from "
            "different streams, so the sums of products are unknown; update one stream with both "
            "layers in each batch"
        )
    needs = stream_requirements(measure)
    if needs is None:
        raise UndefinedError(
            f"{measure} needs the samples, which a stream does not keep; use a measure of "
            f"rs.list_measures(invariant_to={SAMPLE_ROTATION_CLAIM!r}), {COMPARE_SAMPLES_REMEDY}"
        )
    if needs and needs not in x.origin.accumulated:
        raise UndefinedError(
            f"{measure} needs the {needs} of the rows; make the stream with directions=True"
        )
    measure.diagnostics(x, y)  # raises where whitening leaves too few digits


# -------------------------------------------------------------------------------------- whitening


@cached_pair(swap=lambda numbers: numbers)
def whitening_error(
    x: Representation, y: Representation, /, *, ridge: float = 0.0
) -> dict[str, float]:
    """Return the relative error of whitening on a stream as {"conditioning": error}; {} for
    representations with samples.

    The whitened matrices are Gram matrices of trace 1 plus ``ridge`` times the identity. Raises
    ``UndefinedError`` above 1e-4.
    """
    return _record_precision_loss(
        x, y, lambda r: _whitening_loss(r, decomposition(r).singular, ridge)
    )


@cached_pair(swap=lambda numbers: numbers)
def column_whitening_error(x: Representation, y: Representation, /) -> dict[str, float]:
    """Return the :func:`whitening_error` of uncentred columns."""
    return _record_precision_loss(
        x, y, lambda r: _whitening_loss(r, decomposition(r, centered=False).singular)
    )


def shrinkage_whitening_error(
    x: Representation, y: Representation, *, shrinkage: float
) -> dict[str, float]:
    """Return the :func:`whitening_error` of Gram matrices of mean eigenvalue 1 - shrinkage, plus
    shrinkage times the identity."""
    ridge = shrinkage / max(1 - shrinkage, FLOAT64_EPSILON) / x.n_samples
    return whitening_error(x, y, ridge=ridge)


@cached_pair(swap=lambda numbers: numbers)
def variance_whitening_error(
    x: Representation, y: Representation, *, explained_variance: float, truncation: str
) -> dict[str, float]:
    """Return the :func:`whitening_error` of the components with the fraction ``explained_variance``
    of the variance.

    ``truncation``: "variance" counts components by variance, and any other choice as ReSi does.
    """
    count = components_for_variance if truncation == "variance" else resi_svcca_components
    return _record_precision_loss(
        x, y, lambda r: _leading_component_error(r, count(r, explained_variance=explained_variance))
    )


@cached_pair(swap=lambda numbers: numbers)
def component_whitening_error(x: Representation, y: Representation, *, k: int) -> dict[str, float]:
    """Return the :func:`whitening_error` of the first k principal components."""
    return _record_precision_loss(x, y, lambda r: _leading_component_error(r, k))


def _record_precision_loss(x: Representation, y: Representation, loss: Any) -> dict[str, float]:
    if x.origin is None or y.origin is None:
        return {}
    error, title = max((loss(r), representation_title(r)) for r in (x, y))
    if error > MAX_WHITENING_ERROR:
        raise UndefinedError(
            f"whitening {title} would have an error of {min(error, 1.0):.0e}, because rounding "
            f"hides the directions of smallest variance; {_precision_remedy(x.origin.power)}"
        )
    return {"conditioning": error}


def _precision_remedy(power: int) -> str:
    if power == 2:
        return "make the stream with method='qr', or use fewer features"
    return "take fewer features"


def _leading_component_error(x: Representation, count: int) -> float:
    """Return the rounding error on a stream, relative, divided by the gap between the leading
    ``count`` components and the first omitted component.

    Ties of the last leading component are included. Rounding rotates components with a small gap
    into each other. With all components, return :func:`_whitening_loss`.
    """
    singular, power = to_numpy(decomposition(x).singular), _stream_accuracy_power(x)
    count = component_count_with_ties(x, count=count)
    if count == len(singular):
        return _whitening_loss(x, singular)
    shares = (singular / singular[0]) ** power
    return FLOAT64_EPSILON / float(shares[count - 1] - shares[count])


def _whitening_loss(x: Representation, singular: Array, ridge: float = 0.0) -> float:
    """Return the relative rounding error of a stream, magnified by the condition number of the
    kept directions. ``singular``: the kept singular values, largest first.

    Sums of squares cannot distinguish a direction without variance from a direction below the root
    of machine epsilon, unless the data are coarser or the column is constant.
    """
    values = to_numpy(singular)
    smallest = float(np.hypot(values[-1], ridge**0.5))
    if (
        _stream_accuracy_power(x) == 2
        and len(values) < np.count_nonzero(to_numpy(column_norms(x)))
        and resolution(x) < FLOAT64_EPSILON**0.5
    ):
        smallest = min(smallest, (FLOAT64_EPSILON + ridge) ** 0.5)
    return float(FLOAT64_EPSILON * (values[0] / smallest) ** _stream_accuracy_power(x))


def _stream_accuracy_power(x: Representation) -> int:
    return x.origin.power if x.origin else 1
