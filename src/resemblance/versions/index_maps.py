"""Maps between the vectors of two models, fitted to moments of the same documents."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.json_files import atomic_write
from ..data.array_files import name_file_in_errors
from .maps import AffineMap
from .retrieval import MAX_BLOCK_ROWS
from .stored import StoredRows, scale_to_unit_length

MAP_RIDGE_PENALTIES = np.logspace(-8, 1, 40)  # times the mean variance of a direction
MAX_FREEDOM_SHARE = 0.9  # share of the documents; a ridge with more degrees of freedom is not tried
MapSide = Literal["queries", "documents"]


class IndexMap(NamedTuple):
    """A map between the vectors of two models: ``after + factor * (rows - before) @ matrix``.

    ``side`` names the rows that the map accepts: "queries" by the new model, mapped to the space of
    the old index; or "documents" by the old model, mapped to the space of the new model. The two
    maps are not inverse to each other. ``normalize`` says whether calling the map first scales rows
    to length 1, as for the cosine metric. ``normalize_mapped`` says whether the call scales mapped
    rows to length 1: the recalls count mapped documents so if the new model normalises vectors.
    """

    before: np.ndarray
    matrix: np.ndarray
    factor: float
    after: np.ndarray
    side: MapSide
    normalize: bool
    normalize_mapped: bool

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return mapped rows, (n, width of the other model), in float64, as the recalls count the
        rows. ``rows``: (n, width) by the model of the vectors.

        Raises ``ValueError`` for rows of another width.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.before):
            model = "new" if self.side == "queries" else "old"
            raise ValueError(
                f"map: this map is for {self.side} by the {model} model, of shape (n, "
                f"{len(self.before)}); got {rows.shape}"
            )
        rows = scale_to_unit_length(rows) if self.normalize else rows
        mapped = self.after + self.factor * ((rows - self.before) @ self.matrix)
        return scale_to_unit_length(mapped) if self.normalize_mapped else mapped

    def save(self, path: str | Path) -> None:
        """Write the map to a file of ``numpy.savez``, one array per attribute.

        :func:`resemblance.load` returns the map.
        """
        with atomic_write(Path(path)) as partial, partial.open("wb") as file:
            np.savez(file, **self._asdict())


def is_index_map_file(path: Path) -> bool:
    """Return whether a file is an archive with the arrays of :meth:`IndexMap.save`."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {f"{name}.npy" for name in IndexMap._fields} <= set(archive.namelist())
    except zipfile.BadZipFile:
        return False


def load_index_map(path: Path) -> IndexMap:
    """Return the map in a file of :meth:`IndexMap.save`; raise ``ValueError`` for a damaged
    file."""
    with name_file_in_errors(str(path)), np.load(path, allow_pickle=False) as archive:
        arrays = [archive[name] for name in IndexMap._fields]
        if [array.ndim for array in arrays] != [1, 2, 0, 1, 0, 0, 0]:
            raise ValueError(f"the shapes are {[array.shape for array in arrays]}")
        index_map = IndexMap._make(array if array.ndim else array.item() for array in arrays)
        if index_map.side not in get_args(MapSide):
            raise ValueError(f"the map is for {index_map.side!r}")
        index_map(np.zeros((1, len(index_map.before))))  # raises for widths that differ
        return index_map


def make_index_map(
    fit: AffineMap,
    side: MapSide,
    units: tuple[float, float],
    normalize: bool = False,
    normalize_mapped: bool = False,
) -> IndexMap:
    """Return a fitted map for vectors in original units.

    ``fit``: a map between vectors divided by ``units``, the units of the rows and of the results;
    with ``normalize``, a map between vectors of length 1, and ``units`` has no effect. ``side``:
    the vectors to map, "queries" or "documents".
    """
    before, after = (1.0, 1.0) if normalize else units
    matrix = np.eye(len(fit.before)) if fit.matrix is None else fit.matrix
    factor = fit.factor * (after / before)
    normalizations = (normalize, normalize_mapped)
    return IndexMap(fit.before * before, matrix, factor, fit.after * after, side, *normalizations)


class DocumentMoments(NamedTuple):
    """Means of the document vectors x (the input of a map) and y (the target), covariance of x,
    cross-covariance of x and y, and total variance of y, over n documents."""

    n: int
    x: np.ndarray  # (e,)
    y: np.ndarray  # (d,)
    spread: np.ndarray  # (e, e)
    cross: np.ndarray  # (e, d)
    variance: float  # total variance of y


def compute_document_moments(
    x: StoredRows, y: StoredRows, rows: np.ndarray, models: tuple[str, str]
) -> DocumentMoments:
    """Return the moments of the documents at the positions ``rows``, read in blocks.

    ``models``: the names of the models of x and y in messages. Raises :class:`UndefinedError` if
    all documents are one point by one of the models.
    """
    starts = range(0, len(rows), MAX_BLOCK_ROWS)
    origins = [vectors.take(rows[:MAX_BLOCK_ROWS]).mean(axis=0) for vectors in (x, y)]
    means = [np.zeros_like(origin) for origin in origins]
    spread, cross, variance = 0.0, 0.0, 0.0
    for indices in (rows[start : start + MAX_BLOCK_ROWS] for start in starts):
        u, v = (vectors.take(indices) - origin for vectors, origin in zip((x, y), origins))
        spread, cross, variance = spread + u.T @ u, cross + u.T @ v, variance + (v**2).sum()
        means = [mean + z.sum(axis=0) / len(rows) for mean, z in zip(means, (u, v))]
    (u, v), n = means, len(rows)
    moments = DocumentMoments(
        n,
        origins[0] + u,
        origins[1] + v,
        spread / n - np.outer(u, u),
        cross / n - np.outer(u, v),
        float(variance / n - v @ v),
    )
    for name, size, mean in zip(
        models, (np.trace(moments.spread), moments.variance), (moments.x, moments.y)
    ):
        if size <= 1e-24 * (mean @ mean) or size <= 0:
            raise UndefinedError(
                f"upgrade_index: all documents are the same point by the {name} model"
            )
    return moments


def fit_orthogonal_map(m: DocumentMoments) -> AffineMap:
    """Return the rotation, reflections included, that brings x closest to y, with a shift and the
    ratio of the sizes. The rotation is the polar factor of the cross-covariance. ``m``: the moments
    of x and y."""
    u, _, vt = np.linalg.svd(m.cross, full_matrices=False)
    return AffineMap(m.x, u @ vt, float(np.sqrt(m.variance / np.trace(m.spread))), m.y)


def fit_affine_map(m: DocumentMoments) -> AffineMap:
    """Return the ridge regression of y on x, with the penalty that minimises generalised
    cross-validation (Golub, Heath and Wahba 1979), in closed form."""
    sizes, directions = np.linalg.eigh(m.spread)
    sizes = np.maximum(sizes, 0.0)
    weights = directions.T @ m.cross
    power = (weights**2).sum(axis=1)

    def error(ridge: float) -> float:
        """Return the generalised cross-validation error of a ridge, up to a factor that is equal
        for all ridges; infinite for too many degrees of freedom."""
        freedom = (sizes / (sizes + ridge)).sum() + 1
        explained = (power * (2 / (sizes + ridge) - sizes / (sizes + ridge) ** 2)).sum()
        residual = (m.variance - explained) / (1 - freedom / m.n) ** 2
        return float(residual) if freedom < MAX_FREEDOM_SHARE * m.n else np.inf

    ridge = min(sizes.mean() * MAP_RIDGE_PENALTIES, key=error)
    return AffineMap(m.x, directions @ (weights / (sizes + ridge)[:, None]), 1.0, m.y)


INDEX_MAP_FITS: Mapping[str, Callable[[DocumentMoments], AffineMap]] = {
    "orthogonal": fit_orthogonal_map,
    "affine": fit_affine_map,
}


def count_free_parameters(name: str, d: int, e: int) -> int:
    """Return the number of free parameters of an option's map, without shift and size; 0 for an
    option without a map. ``d``, ``e``: the widths of the old and of the new vectors."""
    rank = min(d, e)
    sizes = {"orthogonal": rank * (rank - 1) // 2, "affine": d * e}
    return sizes.get(name.removeprefix("documents_"), 0)


def fit_index_maps(
    names: tuple[str, ...], x: StoredRows, y: StoredRows, rows: np.ndarray, models: tuple[str, str]
) -> dict[str, AffineMap]:
    """Return maps from x to y by name, fitted to the documents at the positions ``rows``.
    ``names``: some of "orthogonal" and "affine". ``models``: the names of the models of x and y in
    messages."""
    if not names:
        return {}
    moments = compute_document_moments(x, y, rows, models)
    return {name: INDEX_MAP_FITS[name](moments) for name in names}


def too_few_documents_reasons(
    names: tuple[str, ...], widths: tuple[int, int], documents: int
) -> dict[str, str]:
    """Return why the affine maps of queries and of documents cannot be fitted to half of the
    documents, by option; {} if the maps can be fitted, or "affine" is not among ``names``.

    ``widths``: of the old and of the new vectors. ``documents``: the number of documents that are
    no queries.
    """
    min_documents = 2 * max(widths)
    if "affine" not in names or documents >= min_documents:
        return {}
    reason = (
        f"it needs {min_documents:,} documents by both models that are no queries; there are "
        f"{documents:,}"
    )
    return {"affine": reason, "documents_affine": reason}
