"""Read files of layers in batches of a few samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.representation import Representation, replace_rows
from .files import read_files


@dataclass(frozen=True)
class FileBatches:
    """Batches of layers in files, part after part. A batch maps layers to at most ``batch_size``
    rows, with the names of columns and the sample ids. ``len`` gives the number of batches."""

    parts: tuple[Mapping[str, Representation], ...]  # layers per part of the samples
    batch_size: int

    def __len__(self) -> int:
        return sum(-(-_common_sample_count(part) // self.batch_size) for part in self.parts)

    def __iter__(self) -> Iterator[dict[str, Representation]]:
        for layers in self.parts:
            for start in range(0, _common_sample_count(layers), self.batch_size):
                stop = start + self.batch_size
                yield {
                    name: replace_rows(r, r.source[start:stop], r.ids and r.ids[start:stop])
                    for name, r in layers.items()
                }


def read_file_batches(
    paths: Sequence[str | Path],
    *,
    batch_size: int,
    parts: bool = False,
    column: str = "",
    ids: str = "",
) -> FileBatches:
    """Return the layers in files and folders in batches, for :meth:`resemblance.Stream.update`.

    ``paths``: files and folders. ``batch_size``: samples per batch. ``parts``: whether each path
    holds all layers for a part of the samples; otherwise the paths together hold the layers for all
    samples. ``column`` and ``ids``: the columns of a table with the vectors and with the ids, ""
    for the usual columns. Raises ``ValueError`` for unreadable files, and for layers with different
    numbers of samples.
    """
    groups = [[path] for path in paths] if parts else [list(paths)] * bool(paths)
    layers = tuple(read_files(group, column=column, ids=ids) for group in groups)
    for part in layers:
        _common_sample_count(part)
    return FileBatches(layers, batch_size)


def _common_sample_count(layers: Mapping[str, Representation]) -> int:
    (first, n), *layer_sizes = [(name, r.shape[0]) for name, r in layers.items()]
    for name, size in layer_sizes:
        if size != n:
            raise ValueError(
                f"{first!r} has {n} samples and {name!r} has {size}; give layers of the same "
                "samples, or parts=True for files of other samples"
            )
    return n
