"""The command that compares layers of any number of samples, batch by batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from ..comparison import Comparison
from ..progress import counted, reporting
from ..sources.files import read_files
from ..stream import Stream
from .comparing import ROWS
from .declaring import Measures, commands_of, writing
from .options import check_choice, chosen_measures, own_function

STREAM = (
    "stream layers/ -m cka,procrustes",
    "stream monday/ tuesday/ --parts --state days.npz",
    "stream --merge rank0.npz --merge rank1.npz -m mean_cca -o values.csv",
    "stream loader.py:batches --method qr --state all.npz",
)

Batches = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files and folders as for compare, one layer each, or file.py:function, which is run "
        "and returns mappings from layers to arrays."
    ),
]
Kind = Annotated[
    str,
    typer.Option(help="gram, or qr: slower, for measures that whiten nearly dependent columns."),
]
Directions = Annotated[
    bool, typer.Option("--directions", help="Also keep the sums that measures of directions need.")
]
Parts = Annotated[
    bool, typer.Option("--parts", help="Each input holds the same layers for different samples.")
]
BatchSize = Annotated[int, typer.Option(min=1, help="Samples read from files at a time.")]
Kept = Annotated[Path | None, typer.Option(help="Save the state to this .npz file.")]
States = Annotated[
    list[Path] | None, typer.Option("--merge", help="Add the state of other samples (repeatable).")
]


@writing(files=("inputs", "merge"), save="state", page="Write a page with heat maps.")
def stream_command(
    progress: bool,
    inputs: Batches = None,
    measures: Measures = None,
    method: Kind = "gram",
    directions: Directions = False,
    parts: Parts = False,
    rows: BatchSize = ROWS,
    merge: States = None,
    state: Kept = None,
) -> Comparison:
    """Compare layers of any number of samples, which are read in batches.

    Only sums are kept, and the sums of several workers can be merged. The values equal those of all
    samples in memory. Only measures that can be computed from sums have values: resemblance
    measures --invariant-to sample_rotation lists them.
    """
    check_choice("method", method, ("gram", "qr"))
    if not inputs and not merge:
        raise ValueError("nothing to stream: give files, folders, or states by --merge")
    stream = _merged(map(str, merge)) if merge else Stream(method, directions=directions)  # type: ignore[arg-type]
    batches = batches_of(list(inputs or ()), parts, rows)
    return streamed(batches, measures, stream, progress, state)


def streamed(
    batches: tuple[Iterable[Mapping[str, Any]], int | None],
    measures: list[str] | None,
    stream: Stream,
    progress: bool,
    state: Path | None = None,
) -> Comparison:
    """Return the comparison of the layers in batches, and save the state of a stream."""
    chosen = chosen_measures(measures)
    _read(stream, *batches, progress)
    if state:
        stream.save(state)
    return stream.compare(chosen, progress=progress)


def _read(
    stream: Stream, batches: Iterable[Mapping[str, Any]], total: int | None, progress: bool
) -> None:
    with reporting(progress, total, "streaming") as count:
        for batch in counted(batches, count):
            stream.update(batch)


def _merged(states: Iterable[str]) -> Stream:
    streams = map(Stream.load, states)
    first = next(iter(streams))
    for other in streams:
        first.merge(other)
    return first


def batches_of(
    inputs: list[str], parts: bool, rows: int
) -> tuple[Iterable[Mapping[str, Any]], int | None]:
    """Return the batches in files or from a user's function, and how many if that is known."""
    functions = [text for text in inputs if re.fullmatch(r".+\.py:\w+", text)]
    if functions and len(inputs) > 1:
        raise ValueError(f"{functions[0]} gives all layers; leave out the other inputs")
    if functions:
        batches: Iterable[Mapping[str, Any]] = own_function(functions[0])()
        return batches, None
    groups = [[text] for text in inputs] if parts else [inputs] * bool(inputs)
    layers = [read_files(group) for group in groups]
    sizes = list(map(_common_size, layers))
    blocks = (_blocks(part, n, rows) for part, n in zip(layers, sizes))
    return chain.from_iterable(blocks), sum(-(-n // rows) for n in sizes)


def _common_size(layers: Mapping[str, Any]) -> int:
    sizes = {name: int(r.shape[0]) for name, r in layers.items()}
    (first, n), *others = list(sizes.items())
    for name, size in others:
        if size != n:
            raise ValueError(
                f"{first!r} has {n} samples and {name!r} has {size}; give layers of the same "
                "samples, or --parts"
            )
    return n


def _blocks(layers: Mapping[str, Any], n: int, rows: int) -> Iterator[dict[str, Any]]:
    for start in range(0, n, rows):
        yield {name: r.source[start : start + rows] for name, r in layers.items()}


commands = commands_of(("stream", stream_command, STREAM))
