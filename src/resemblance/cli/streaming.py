"""Streams for ``compare --stream``: read layers in batches, with any number of samples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ..base.text import check_choice
from .ending import try_to_write
from .inputs import (
    ColumnChoice,
    check_input_files,
    error_with_option_names,
    load_user_function,
    reworded_errors,
)

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from ..contracts._measure import Measure
    from ..stream import Stream

FILE_BATCH_SAMPLES = 4096  # samples per batch from files
# Options of compare that streams do not support, with the remedy.
UNSUPPORTED_STREAM_OPTIONS = {
    "--against": "leave out --against; a stream compares all layers with each other",
    "--jobs": "stream each part in a command with --save, and add the sums with --merge",
    "--scheduler": "stream each part in a command with --save, and add the sums with --merge",
    "--plan": "leave out --plan; the memory of a stream does not grow with the samples",
    "--pool": "save arrays (samples, features), such as those of rs.from_tokens",
}


class StreamOptions(NamedTuple):
    """The options of ``compare --stream``; ``None``, false or empty without the option."""

    merge: Sequence[Path] | None
    parts: bool
    batch_size: int | None
    method: str | None
    directions: bool


def check_stream_options(
    is_stream: bool, options: StreamOptions, compare_options: Mapping[str, Any]
) -> None:
    """Raise ``ValueError`` for an option of streams without ``--stream``, for a given option in
    ``compare_options`` with ``--stream``, and for another method.

    ``compare_options``: the values by option, such as "--jobs".
    """
    stream_options = [name for name, value in options._asdict().items() if value]
    if stream_options and not is_stream:
        raise ValueError(
            f"--{stream_options[0].replace('_', '-')} is an option of streams: add --stream"
        )
    conflicts = [name for name, value in compare_options.items() if value]
    if conflicts and is_stream:
        raise ValueError(
            f"{conflicts[0]} cannot be combined with --stream: "
            f"{UNSUPPORTED_STREAM_OPTIONS[conflicts[0]]}"
        )
    if options.method is not None:
        check_choice("--method", options.method, ("gram", "qr"))


def stream_files(
    context: typer.Context,
    inputs: Sequence[str],
    choice: ColumnChoice,
    measures: Sequence[Measure] | None,
    options: StreamOptions,
    save: Path | None,
    memory: str,
    progress: bool,
) -> Comparison:
    """Stream layers in batches and compare the layers.

    ``inputs``: files or folders, or one ``FILE.py:FUNCTION`` that yields batches; may be empty if
    ``options`` name saved sums. ``measures``: None for the default measures. ``save``: the file for
    the sums; None writes no file. Raises ``ValueError`` without input, and for incompatible layers.
    """
    from ..base.progress import count_items, progress_reporter

    if not inputs and not options.merge:
        raise ValueError("nothing to stream: give files or folders, or saved sums with --merge")
    check_input_files(inputs, choice)
    stream = _initial_stream(options)
    batches, count = stream_batches(inputs, choice, options)
    with progress_reporter(progress, count, "streaming") as report:
        for batch in count_items(batches, report):
            stream.update(batch)
    if save is not None:
        try_to_write(context, "state", save, lambda: stream.save(save))
    return stream.compare(measures, progress=progress, memory=memory)


def _initial_stream(options: StreamOptions) -> Stream:
    """Return an empty stream, or the merged saved sums.

    Raises ``ValueError`` for saved sums of another method, or without the requested directions.
    """
    from ..stream import Stream

    if not options.merge:
        return Stream(options.method or "gram", directions=options.directions)  # type: ignore[arg-type]
    stream = Stream.load(options.merge[0])
    method, place = options.method or stream.method, options.merge[0]
    if method != stream.method:
        raise ValueError(
            f"{place} was made with --method {stream.method}; leave out --method {method}"
        )
    if options.directions and not stream.directions:
        raise ValueError(f"{place} was made without --directions; leave out --directions")
    for path in options.merge[1:]:
        stream.merge(Stream.load(path))
    return stream


def stream_batches(
    inputs: Sequence[str], choice: ColumnChoice, options: StreamOptions
) -> tuple[Iterable[Mapping[str, Any]], int | None]:
    """Return two values: the batches from files or from a user's function, mappings from layer to
    rows; and the number of batches, None if unknown. ``inputs``: files or folders, or one
    ``FILE.py:FUNCTION``."""
    from ..models.file_batches import read_file_batches

    functions = [text for text in inputs if re.fullmatch(r".+\.py:\w+", text)]
    if functions and len(inputs) > 1:
        raise ValueError(f"{functions[0]} returns all layers; leave out the other inputs")
    if functions:
        batches: Iterable[Mapping[str, Any]] = load_user_function(functions[0])()
        return batches, None
    with reworded_errors(_error_with_stream_options):
        file_batches = read_file_batches(
            inputs,
            parts=options.parts,
            batch_size=options.batch_size or FILE_BATCH_SAMPLES,
            column=choice.column,
            ids=choice.ids,
        )
    return file_batches, len(file_batches)


def _error_with_stream_options(text: str) -> str:
    text = text.replace("parts=True for files of other samples", "--parts")
    return error_with_option_names(text)
