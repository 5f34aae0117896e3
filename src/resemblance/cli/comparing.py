"""The commands that compare representations, at once or in batches, and those about measures."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..engine.memory import parse_bytes
from ..progress import counted, reporting
from .choices import CHECK_FORMATS
from .ending import attempt, bars
from .executors import executors
from .inputs import (
    Choice,
    check_choice,
    check_inputs,
    chosen_entries,
    chosen_measures,
    own_function,
    rewording,
    split_commas,
)
from .options import Help, commands_of, writing

if TYPE_CHECKING:
    from ..comparison import Comparison
    from ..engine.forecast import Forecast
    from ..report.output import Output
    from ..stream import Stream

OF_PYTHON = re.compile(r"rs\.from_(?:tokens|maps)\(.*?\)")  # advice that names a function
LONG = 60  # seconds of work that are announced
ROWS = 4096  # samples that a stream reads from files at a time
COMPARE = (
    "compare layer1.npy layer2.npy -m cka,procrustes",
    'compare run1/ run2/ -m "cka[estimator=debiased]" -o values.csv --html page.html',
    'compare layers.npz -m "default,mine.py:my_measure[power=2]" --save run.comparison',
    "compare tokens1.npy tokens2.npy --pool mean --html page.html --open",
    "compare layers.npz --plan",
)
MEASURES = (
    "measures --family cca",
    "measures --invariant-to orthogonal,translation --metric",
    "measures --not-invariant-to invertible_linear --n-samples 50 --n-features 768",
)
EXPLAIN = ("explain cka", 'explain "cka[estimator=debiased]"', "explain feature_split")
CHECK = (
    "check mine.py:my_measure",
    'check "mine.py:my_measure[power=2]" cka --format markdown -o checks.md',
)
CITE = ("cite", "cite cka procrustes rsa", "cite resi --format text", "cite cka > references.bib")


@writing(files=("inputs",), save="save", page="Write a page with heat maps.", resumed="results")
def compare_command(
    inputs: list[str],
    progress: bool,
    measures: list[str] | None = None,
    pool: str = "",
    column: str = "",
    ids: str = "",
    save: Path | None = None,
    memory: str = "half",
    jobs: int | None = None,
    scheduler: str | None = None,
    planned: bool = False,
    streamed: bool = False,
) -> Comparison | Output:
    """Compare representations (samples, features) of the same samples by many measures.

    Results go to standard output, progress to standard error.
    """
    from ..compare import compare
    from ..engine.forecast import plan
    from ..report.outputs import forecast_output

    if streamed:
        refused = {"--save": save, "--jobs": jobs, "--scheduler": scheduler, "--plan": planned}
        choice = Choice(column, ids)
        return _streamed(inputs, measures, choice, {**refused, "--pool": pool}, progress)
    parse_bytes(memory)
    work: dict[str, Any] = {"measures": chosen_measures(measures), "memory": memory, "save": save}
    representations = _read(inputs, pool, Choice(column, ids))
    with executors(jobs, scheduler, usual=1) as (executor, _):
        work["executor"] = executor
        if planned:
            return forecast_output(plan(representations, **work))
        if progress:
            announce(plan(representations, **work))
        return compare(representations, progress=progress, **work)


def _streamed(
    inputs: list[str],
    measures: list[str] | None,
    choice: Choice,
    refused: Mapping[str, Any],
    progress: bool,
) -> Comparison:
    """Do what the command ``stream`` does; ``ValueError`` for an option that it does not have."""
    from ..stream import Stream

    if present := [name for name, value in refused.items() if value]:
        raise ValueError(
            f"{present[0]} does not go with --stream, which reads everything once; `resemblance "
            "stream` has options to keep the sums, and to merge those of workers"
        )
    return streamed(batches_of(inputs, False, ROWS, choice), measures, Stream(), progress)


def _read(inputs: list[str], pool: str, choice: Choice) -> Mapping[str, Any]:
    """Return the representations in files; ``ValueError`` for fewer than two."""
    check_inputs(inputs, choice)
    representations = read_inputs(inputs, pool, choice)
    if len(representations) < 2:
        raise ValueError(f"a comparison needs two representations; {inputs[0]} is one")
    return representations


def read_inputs(inputs: list[str], pool: str, choice: Choice) -> dict[str, Any]:
    """Return the representations in files; a refusal names the options of the command."""
    from ..sources.files import read_files

    with rewording(in_options):
        return dict(read_files(inputs, pool=pool, column=choice.column, ids=choice.ids))


def in_options(text: str) -> str:
    """Return a refusal of files with the options of a command in place of those of functions."""
    text = OF_PYTHON.sub("--pool mean", text).replace("pool=", "--pool ")
    text = re.sub(r"rs\.Representation\(X, ids='?([^')]*)'?\)", r"--ids \1", text)
    text = re.sub(r"X\.set_index\('?([^')]*)'?\)", r"--ids \1", text)
    return re.sub(r"column='([^']*)'( to rs.Representation)?", r"--column \1", text)


def announce(forecast: Forecast) -> None:
    """Say on standard error what a long comparison will take."""
    if forecast.seconds > LONG:
        print(f"{forecast.line}; --plan shows more", file=sys.stderr)


# ----------------------------------------------------------------------------------------- measures


@writing(CHECK_FORMATS)
def check_command(measures: list[str], progress: bool) -> Output:
    """Check measures and statistics against what they claim, on small data: invariances, range,
    hostile input.

    Exit code 1 if a check fails.
    """
    from ..checks import check_measure, check_statistic
    from ..measure import Measure
    from ..report.outputs import checks_output

    with bars(not (progress and sys.stderr.isatty())) as shown:
        return checks_output(
            {
                entry.spec: check_measure(entry, progress=shown)
                if isinstance(entry, Measure)
                else check_statistic(entry, progress=shown)
                for entry in chosen_entries(measures)
            }
        )


@writing(("table", "json"))
def measures_command(
    family: str | None = None,
    invariant_to: list[str] | None = None,
    not_invariant_to: list[str] | None = None,
    symmetric: bool | None = None,
    metric: bool | None = None,
    differentiable: bool | None = None,
    n_samples: int | None = None,
    n_features: int | None = None,
) -> Output:
    """List the measures that have the requested properties, with their claims, which are tested."""
    from ..catalogue import list_measures
    from ..report.explain import measure_legend, measure_record, measure_table
    from ..report.output import Output

    measures = list_measures(
        family=family,
        invariant_to=split_commas(invariant_to),
        not_invariant_to=split_commas(not_invariant_to),
        symmetric=symmetric,
        metric=metric,
        differentiable=differentiable,
        n_samples=n_samples,
        n_features=n_features,
    )
    records = [measure_record(m) for m in measures]
    return Output([measure_table(measures), measure_legend()], records)


def explain_command(measure: str) -> None:
    """Explain a measure or a statistic: definition, claims, parameters."""
    from ..report.explain import explain
    from ..report.output import show

    for entry in chosen_entries([measure]):
        show(explain(entry))


def cite_command(names: list[str] | None = None, format: str = "bibtex") -> None:
    """Print what to cite: the papers of measures, statistics and suites, or this software.

    Each entry is printed once. Without a name it is the entry of the software.
    """
    from ..citations import SOFTWARE, cite, keys_of
    from ..report.citing import reference
    from ..report.output import deliver, show

    check_choice("format", format, ("bibtex", "text"))
    chosen = names or [SOFTWARE]
    if format == "text":
        keys = dict.fromkeys(key for name in chosen for key in keys_of(name))
        show([reference(key) for key in keys])
    else:
        deliver(f"{cite(*chosen)}\n", None)


STREAM = (
    "stream layers/ -m cka,procrustes",
    "stream monday/ tuesday/ --parts --state days.npz",
    "stream --merge rank0.npz --merge rank1.npz -m mean_cca -o values.csv",
    "stream loader.py:batches --method qr --state all.npz",
)


@writing(files=("inputs", "merge"), save="state", page="Write a page with heat maps.")
def stream_command(
    context: typer.Context,
    progress: bool,
    inputs: list[str] | None = None,
    measures: list[str] | None = None,
    column: str = "",
    ids: str = "",
    method: str = "gram",
    directions: bool = False,
    parts: bool = False,
    rows: int = ROWS,
    merge: list[Path] | None = None,
    state: Path | None = None,
) -> Comparison:
    """Compare layers of any number of samples, which are read in batches.

    Only sums are kept, and the sums of several workers can be merged. The values equal those of all
    samples in memory. Only measures that can be computed from sums have values: resemblance
    measures --invariant-to sample_rotation lists them.
    """
    from ..stream import Stream

    check_choice("method", method, ("gram", "qr"))
    if not inputs and not merge:
        raise ValueError("nothing to stream: give files, folders, or states by --merge")
    stream = _merged(map(str, merge)) if merge else Stream(method, directions=directions)  # type: ignore[arg-type]
    batches = batches_of(list(inputs or ()), parts, rows, Choice(column, ids))
    chosen = chosen_measures(measures)
    _update(stream, *batches, progress)
    if state:
        attempt(context, "state", state, lambda: stream.save(state))
    return stream.compare(chosen, progress=progress)


def streamed(
    batches: tuple[Iterable[Mapping[str, Any]], int | None],
    measures: list[str] | None,
    stream: Stream,
    progress: bool,
) -> Comparison:
    """Return the comparison of the layers in batches."""
    chosen = chosen_measures(measures)
    _update(stream, *batches, progress)
    return stream.compare(chosen, progress=progress)


def _update(
    stream: Stream, batches: Iterable[Mapping[str, Any]], total: int | None, progress: bool
) -> None:
    with reporting(progress, total, "streaming") as count:
        for batch in counted(batches, count):
            stream.update(batch)


def _merged(states: Iterable[str]) -> Stream:
    from ..stream import Stream

    streams = map(Stream.load, states)
    first = next(iter(streams))
    for other in streams:
        first.merge(other)
    return first


def batches_of(
    inputs: list[str], parts: bool, rows: int, choice: Choice
) -> tuple[Iterable[Mapping[str, Any]], int | None]:
    """Return the batches in files or from a user's function, and how many if that is known."""
    functions = [text for text in inputs if re.fullmatch(r".+\.py:\w+", text)]
    if functions and len(inputs) > 1:
        raise ValueError(f"{functions[0]} gives all layers; leave out the other inputs")
    if functions:
        batches: Iterable[Mapping[str, Any]] = own_function(functions[0])()
        return batches, None
    groups = [[text] for text in inputs] if parts else [inputs] * bool(inputs)
    layers = [read_inputs(group, "", choice) for group in groups]
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


HELP: Help = {
    "stream.inputs": typer.Argument(
        help="Files and folders as for compare, one layer each, or file.py:function, which is run "
        "and returns mappings from layers to arrays."
    ),
    "check.measures": "FILE.py:NAME, which is run, or names, labels and specifications of the "
    "catalogue.",
    "streamed": typer.Option(
        "--stream", help="Read the samples in batches, as resemblance stream does."
    ),
    "family": "Only measures of this family.",
    "invariant_to": "Only measures invariant to this; several with commas or repeated.",
    "not_invariant_to": "Only measures not invariant to this; several with commas or repeated.",
    "symmetric": "Only measures for which the order of X and Y does, or does not, matter.",
    "metric": "Only measures for which the triangle inequality holds, or does not.",
    "differentiable": "Only measures with, or without, gradients for tensors.",
    "n_samples": typer.Option(min=1, help="Only measures that so few samples are enough for."),
    "n_features": typer.Option(min=1, help="Only measures that so few features are enough for."),
    "cite.format": "bibtex or text.",
    "measure": "Name, label, or specification.",
    "names": typer.Argument(
        help="resemblance, measures and statistics (names, labels, specifications), suites, "
        "evidence, across, or keys of references.bib."
    ),
    "method": "gram, or qr: slower, for measures that whiten nearly dependent columns.",
    "directions": "Also keep the sums that measures of directions need.",
    "parts": "Each input holds the same layers for different samples.",
    "rows": typer.Option(min=1, help="Samples read from files at a time."),
    "merge": "Add the state of other samples (repeatable).",
    "state": "Save the state to this .npz file.",
}


commands = commands_of(
    ("compare", compare_command, COMPARE),
    ("check", check_command, CHECK),
    ("measures", measures_command, MEASURES),
    ("explain", explain_command, EXPLAIN),
    ("cite", cite_command, CITE),
    ("stream", stream_command, STREAM),
    help=HELP,
)
