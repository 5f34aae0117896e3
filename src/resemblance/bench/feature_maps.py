"""Layers that are maps of channels: the comparisons that they need, merged into one.

Measures see maps in one of two ways, by their ``rows_of_maps``. For "samples", each map is one row,
flattened, whatever its size. For "positions", the two maps of a pair are brought to the smaller
height and the smaller width of both, and each position is a row with the channels as its columns.
So a pair of layers has its size, and all pairs of one size are a comparison.

Of more than ``MAX_COMPARED_POSITIONS`` rows, every (rows // ``MAX_COMPARED_POSITIONS``)-th is
compared, from the first on. For 5,000 maps of 7 x 7 the step is 49, so that it is the top left
position of every map; Appendix B.1 of the ReSi paper calls it "every 49th value". The paper's text
and the authors' code agree in this, so both protocols do it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..comparison.comparison import Comparison, measure_info
from ..comparison.provenance import comparison_provenance, fingerprints_by_name
from ..comparison.scores import ScoreBatch, ScoreMatrix
from ..contracts._measure import Measure
from ..data.layouts import map_positions
from ..data.model_features import MapShape
from ..data.representation import Representation, fingerprint
from .case import Part

MAX_COMPARED_POSITIONS = 5000  # rows above which every (rows // MOST)-th is compared
N_MAPS_PER_BLOCK = 64  # samples whose maps are brought to another size at a time
MapSize = tuple[int, int]  # height and width


class ComparisonChunk(NamedTuple):
    """A comparison that a part of a case needs: its rows and columns by name, and measures.

    ``counted``: of several pieces, the pairs of positions in the part whose values this one gives.
    """

    rows: Mapping[str, Representation]
    measures: tuple[Measure, ...]
    columns: Mapping[str, Representation] | None = None
    counted: frozenset[tuple[int, int]] = frozenset()


def split_by_map_size(
    part: Part, measures: Sequence[Measure], folder: Path | None = None
) -> tuple[ComparisonChunk, ...]:
    """Return the comparisons that a part of a case needs, which :func:`merge_chunks` makes one of.

    That is one for the measures of samples, and one per size of maps for those of positions; a
    layer that is no map is one of 1 x 1 positions in a pair with a map. Without maps it is one
    comparison of the part as it is. ``folder``: where rows that are positions are kept, to be read
    when they are needed; without it they stay in memory.
    """
    if not part.maps:
        return (ComparisonChunk(part.rows, tuple(measures), part.columns),)
    names, chunks = list(part.rows), list[ComparisonChunk]()
    if sample_measures := tuple(m for m in measures if m.rows_of_maps == "samples"):
        all_pairs = frozenset((i, j) for i in range(len(names)) for j in range(len(names)))
        chunks.append(ComparisonChunk(part.rows, sample_measures, counted=all_pairs))
    position_measures = tuple(m for m in measures if m.rows_of_maps == "positions")
    shapes = [part.maps.get(name) for name in names]
    for size, pairs in layer_pairs_by_map_size(shapes).items() if position_measures else ():
        rows = {
            names[i]: _positions_as_rows(part.rows[names[i]], shapes[i], size, folder)
            for i in sorted({i for i, _ in pairs})
        }
        chunks.append(ComparisonChunk(rows, position_measures, counted=pairs))
    return tuple(chunks)


def layer_pairs_by_map_size(
    shapes: Sequence[MapShape | None],
) -> dict[MapSize | None, frozenset[tuple[int, int]]]:
    """Return the pairs of layers by the size at which they are compared; None: both are no maps."""
    pairs: dict[MapSize | None, set[tuple[int, int]]] = {}
    for i, x in enumerate(shapes):
        for j, y in enumerate(shapes):
            (_, *size_x), (_, *size_y) = x or (0, 1, 1), y or (0, 1, 1)
            height, width = map(min, zip(size_x, size_y))
            pairs.setdefault((height, width) if x or y else None, set()).add((i, j))
    return {size: frozenset(members) for size, members in pairs.items()}


# -------------------------------------------------------------------------------- rows of positions


def _positions_as_rows(
    x: Representation, map_shape: MapShape | None, size: MapSize | None, folder: Path | None
) -> Representation:
    """Return the positions of maps brought to a size as rows, all or every (rows // MOST)-th."""
    n, width = x.shape
    shape = map_shape or (width, 1, 1)
    if size is None or (position_step(n, size) == 1 and shape[1:] == size == (1, 1)):
        return x
    make_representation = partial(
        Representation, name=x.name, dtype=x.requested_dtype, ids=_position_ids(x, size)
    )
    file = folder and folder / f"{fingerprint(x)}-{'x'.join(map(str, (*shape, *size)))}.npy"
    if file is None:
        return make_representation(_resized_map_rows(x, shape, size))
    if not file.exists():
        np.save(file, _resized_map_rows(x, shape, size), allow_pickle=False)
    return make_representation(file)


def position_step(n: int, size: MapSize) -> int:
    """Return the step between the positions of n maps that are compared."""
    height, width = size
    return max(1, n * height * width // MAX_COMPARED_POSITIONS)


def _resized_map_rows(x: Representation, shape: MapShape, size: MapSize) -> np.ndarray:
    """Return the rows in the precision of the data, in blocks of samples."""
    n, n_positions, source = x.shape[0], size[0] * size[1], to_numpy(x.source)
    indices = np.arange(0, n * n_positions, position_step(n, size))
    rows = np.empty((len(indices), shape[0]), np.promote_types(source.dtype, np.float32))
    for start in range(0, n, N_MAPS_PER_BLOCK):
        maps = source[start : start + N_MAPS_PER_BLOCK].reshape(-1, *shape)
        first, last = np.searchsorted(
            indices, [start * n_positions, (start + len(maps)) * n_positions]
        )
        positions = map_positions(maps, size)
        rows[first:last] = positions[indices[first:last] - start * n_positions]
    return rows


def _position_ids(x: Representation, size: MapSize) -> list[tuple[Any, int]] | None:
    """Return (id of the sample, number of the position) for each row."""
    if x.ids is None:
        return None
    n, n_positions = x.shape[0], size[0] * size[1]
    return [
        (x.ids[row // n_positions], row % n_positions)
        for row in range(0, n * n_positions, position_step(n, size))
    ]


@contextmanager
def scratch_folder(save: str | Path | None) -> Iterator[Path | None]:
    """Yield a folder beside the file of a comparison, while it is needed; None without a file.

    It lies there because workers on other machines read it, too.
    """
    if save is None:
        yield None
        return
    folder = Path(save).resolve().with_name(f".rows-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ----------------------------------------------------------------------------------- one of several


def merge_chunks(
    part: Part,
    chunks: Sequence[ComparisonChunk],
    comparisons: Sequence[Comparison],
    measures: Sequence[Measure],
) -> Comparison:
    """Return the comparison of a part that the comparisons of its pieces make.

    Values, failures and diagnostics are of the pairs that count in each piece; seconds are the
    share of these pairs. The provenance is that of the layers as they are stored.
    """
    if not part.maps:
        return comparisons[0]
    names, infos, provenance = (
        tuple(part.rows),
        tuple(map(measure_info, measures)),
        _part_provenance(part.rows),
    )
    data, _ = sides = fingerprints_by_name(names, names, provenance)
    matrices = {m.spec: ScoreMatrix(m.spec, m.version, m.symmetric, *sides) for m in infos}
    for chunk, comparison in zip(chunks, comparisons, strict=True):
        pairs = sorted(chunk.counted)
        share, (x, y) = len(pairs) / len(comparison.rows) ** 2, np.array(pairs).T
        indices = {name: index for index, name in enumerate(comparison.rows)}
        i, j = (np.array([indices[names[k]] for k in side]) for side in (x, y))
        reasons, caveats = (
            {tuple(entry[:3]): str(entry[-1]) for entry in entries}
            for entries in (comparison.failures, comparison.pair_caveats)
        )
        for spec, values in comparison.values.items():
            keys = [(spec, names[k], names[l]) for k, l in pairs]
            matrices[spec].put(
                ScoreBatch(
                    spec,
                    matrices[spec].version,
                    tuple(data),
                    x,
                    y,
                    values[i, j],
                    comparison.seconds[spec] * share,
                    {entry: reasons[key] for entry, key in enumerate(keys) if key in reasons},
                    {name: numbers[i, j] for name, numbers in comparison.numbers[spec].items()},
                    {entry: caveats[key] for entry, key in enumerate(keys) if key in caveats},
                )
            )
    return Comparison(names, names, infos, matrices, provenance)


def _part_provenance(rows: Mapping[str, Representation]) -> dict[str, Any]:
    """Return the provenance of a comparison of these representations by their names."""
    layers = list(rows.values())
    identities = {name: comparison_provenance([r], [])["rows"][r.name] for name, r in rows.items()}
    return {**comparison_provenance(layers, []), "rows": identities, "columns": identities}
