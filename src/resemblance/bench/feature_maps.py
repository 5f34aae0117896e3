"""Compare layers with feature maps (channels x height x width), and merge the partial comparisons.

A measure reads feature maps in either of two ways, declared by ``rows_of_maps``. With "samples", a
flattened map is a row, whatever the map size. With "positions", the two maps of a pair are resized
to the smaller height and the smaller width, and every position is a row with the channels as
columns. The size therefore depends on the pair of layers, and all pairs of the same size form a
comparison.

If a comparison has more than ``MAX_COMPARED_POSITIONS`` rows, only every (rows //
``MAX_COMPARED_POSITIONS``)-th row is compared, beginning with the first. For 5,000 maps of 7 x 7
the step is 49, so the comparison uses the top left position of every map; Appendix B.1 of the ReSi
paper calls the rule "every 49th value". The text of the paper and the authors' code agree here, so
the two protocols of the ReSi suite follow the rule.
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

MAX_COMPARED_POSITIONS = 5000  # larger comparisons are subsampled
N_MAPS_PER_BLOCK = 64  # samples per block for resizing maps
MapSize = tuple[int, int]  # height and width


class ComparisonChunk(NamedTuple):
    """A comparison of a part of a task: named rows and columns, and measures.

    Without ``columns``, all rows are compared with each other. ``counted``: the pairs of the part
    with values from this chunk, as positions (row, column) among the rows of the part.
    """

    rows: Mapping[str, Representation]
    measures: tuple[Measure, ...]
    columns: Mapping[str, Representation] | None = None
    counted: frozenset[tuple[int, int]] = frozenset()


def split_by_map_size(
    part: Part, measures: Sequence[Measure], folder: Path | None = None
) -> tuple[ComparisonChunk, ...]:
    """Return the comparisons for a part of a task; :func:`merge_chunks` merges their results.

    Without feature maps, the result is a single comparison of the whole part. With feature maps,
    the result is a comparison for the ``measures`` of samples, and a comparison per map size for
    the ``measures`` of positions; kinds without a measure have no comparison. Paired with a map, a
    layer without maps counts as a map of 1 x 1 positions. ``folder``: where position rows are
    stored as files, to be read when needed; without a folder the rows stay in memory.
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
    """Group the pairs of layers (i, j), in both orders and with i = j, by the map size of their
    comparison.

    ``shapes``: (channels, height, width) per layer, None for a layer without feature maps. The key
    None holds the pairs of two layers without feature maps.
    """
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
    """Return the positions of feature maps, resized to ``size``, as rows, subsampled by
    :func:`position_step`.

    ``x``: flattened maps (n, channels * height * width). ``map_shape``: (channels, height, width);
    None for a layer without maps, which counts as maps of 1 x 1. ``size``: None returns ``x``.
    ``folder``: where the rows are stored as a file; None keeps the rows in memory.
    """
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
    """Return the step between compared positions of n maps: n height width /
    ``MAX_COMPARED_POSITIONS``, rounded down, at least 1."""
    height, width = size
    return max(1, n * height * width // MAX_COMPARED_POSITIONS)


def _resized_map_rows(x: Representation, shape: MapShape, size: MapSize) -> np.ndarray:
    """Return the rows of every ``position_step``-th position, (rows, channels), in the precision of
    the data, at least float32; computed block by block of samples.

    ``x``: flattened maps of ``shape`` (channels, height, width). ``size``: the size to resize maps
    to.
    """
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
    """Return (sample id, position index) for each row of positions; None if ``x`` has no sample
    ids. ``size``: height and width of the resized maps."""
    if x.ids is None:
        return None
    n, n_positions = x.shape[0], size[0] * size[1]
    return [
        (x.ids[row // n_positions], row % n_positions)
        for row in range(0, n * n_positions, position_step(n, size))
    ]


@contextmanager
def scratch_folder(save: str | Path | None) -> Iterator[Path | None]:
    """Create a temporary folder beside the comparison file ``save``, and remove the folder at the
    end of the block; yield None without a file.

    The folder lies beside the file because workers on other machines read the folder too.
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
    """Merge the comparisons of the chunks of a part into a comparison of the part.

    ``chunks``: of :func:`split_by_map_size`. ``comparisons``: the result of every chunk, in the
    same order. ``measures``: all measures of the part. Without feature maps, the only comparison is
    returned. Values, failures and diagnostics come from the pairs that each chunk counts. Seconds
    are multiplied by the share of counted pairs. The provenance describes the layers as stored.
    """
    if not part.maps:
        return comparisons[0]
    names = tuple(part.rows)
    infos = tuple(map(measure_info, measures))
    provenance = _part_provenance(part.rows)
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
    """Return the provenance of a square comparison of ``rows``. The fingerprint of every
    representation has the key of ``rows``, which can differ from the name of the representation."""
    layers = list(rows.values())
    identities = {name: comparison_provenance([r], [])["rows"][r.name] for name, r in rows.items()}
    return {**comparison_provenance(layers, []), "rows": identities, "columns": identities}
