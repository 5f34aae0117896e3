"""The command that compares representations, and the commands about measures."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.text import check_choice
from ..engine.memory import parse_bytes
from .choices import LAYOUTS
from .ending import progress_bars
from .executors import open_executors
from .inputs import (
    AGAINST_HELP,
    ColumnChoice,
    check_input_files,
    parse_measures,
    parse_measures_and_statistics,
    read_representations,
    read_rows_and_columns,
    split_commas,
)
from .options import SHARED_HELP, HelpTexts, command_group, output_command
from .streaming import FILE_BATCH_SAMPLES, StreamOptions, check_stream_options, stream_files

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from ..engine.forecast import Forecast
    from ..report.output import Output

STREAM_HELP_PANEL = "Streams"  # panel of the help
COMPARE_EXAMPLES = (
    "compare layer1.npy layer2.npy -m cka,procrustes",
    'compare run1/ run2/ -m "cka[estimator=debiased]" -o values.csv --html page.html',
    'compare layers.npz -m "default,mine.py:my_measure[power=2]" --save run.comparison',
    "compare tokens1.npy tokens2.npy --pool mean --html page.html --open",
    "compare run1/ --against run2/ -m cka -o values.csv",
    "compare layers.npz --plan",
    "compare --stream layers/ -m cka,procrustes",
    "compare --stream monday/ tuesday/ --parts --save days.npz",
    "compare --stream --merge rank0.npz --merge rank1.npz -m mean_cca -o values.csv",
    "compare --stream loader.py:batches --method qr --save all.npz",
)
MEASURES_EXAMPLES = (
    "measures --family cca",
    "measures --invariant-to orthogonal,translation --metric",
    "measures --not-invariant-to invertible_linear --n-samples 50 --n-features 768",
)
EXPLAIN_EXAMPLES = ("explain cka", 'explain "cka[estimator=debiased]"', "explain feature_split")
CHECK_EXAMPLES = (
    "check mine.py:my_measure",
    'check "mine.py:my_measure[power=2]" cka --format markdown -o checks.md',
)
CITE_EXAMPLES = (
    "cite",
    "cite cka procrustes rsa",
    "cite resi --format text",
    "cite cka > references.bib",
)


@output_command(
    files=("inputs", "against", "merge"),
    save="save",
    page="Write a page with heat maps to this file.",
    resumed="results",
    layouts=LAYOUTS,
    can_refuse=True,
)
def compare_command(
    context: typer.Context,
    progress: bool,
    inputs: list[str] | None = None,
    measures: list[str] | None = None,
    against: list[str] | None = None,
    pool: str = "",
    column: str = "",
    ids: str = "",
    save: Path | None = None,
    memory: str = "half",
    jobs: int | None = None,
    scheduler: str | None = None,
    planned: bool = False,
    streamed: bool = False,
    merge: list[Path] | None = None,
    parts: bool = False,
    batch_size: int | None = None,
    method: str | None = None,
    directions: bool = False,
) -> Comparison | Forecast | Output:
    """Compare representations (samples, features) of the same samples with many measures.

    Results go to standard output, progress to standard error. With --stream the command reads the
    samples in batches and keeps only running sums, so the number of samples is not limited. The
    values are the same as for all samples in memory. Only measures that can be computed from sums
    have values; list these measures with: resemblance measures --invariant-to sample_rotation
    """
    from ..engine._compare import compare
    from ..engine.forecast import plan

    options = StreamOptions(merge, parts, batch_size, method, directions)
    compare_options = {
        "--against": against,
        "--jobs": jobs,
        "--scheduler": scheduler,
        "--plan": planned,
    }
    check_stream_options(streamed, options, {**compare_options, "--pool": pool})
    parse_bytes(memory)
    paths = list(inputs or ())
    choice = ColumnChoice(column, ids)
    parsed_measures = parse_measures(measures)
    if streamed:
        return stream_files(
            context, paths, choice, parsed_measures, options, save, memory, progress
        )
    work: dict[str, Any] = {"measures": parsed_measures, "memory": memory, "save": save}
    sides = _read_sides(paths, list(against or ()), pool, choice)
    with open_executors(jobs, scheduler) as (executor, _):
        work["jobs"] = executor
        if planned:
            return plan(*sides, **work)
        return compare(*sides, progress=progress, **work)


def _read_sides(
    inputs: list[str], against: list[str], pool: str, choice: ColumnChoice
) -> list[Mapping[str, Any]]:
    """Return a list with one mapping of the representations in files, by name, or with ``against``
    a list of two mappings, rows and columns; raise ``ValueError`` for fewer than two
    representations.

    ``inputs``, ``against``: files and folders. ``pool``: "" for no pooling.
    """
    if not inputs:
        raise ValueError("nothing to compare: give files or folders")
    if against:
        return read_rows_and_columns(inputs, against, pool, choice)
    check_input_files(inputs, choice)
    representations = read_representations(inputs, pool, choice)
    if len(representations) < 2:
        raise ValueError(
            f"a comparison needs two representations; {inputs[0]} is one: name another file"
        )
    return [representations]


# ----------------------------------------------------------------------------------------- measures


@output_command(page="Write a page with the checks.", can_refuse=True)
def check_command(measures: list[str], progress: bool) -> Output:
    """Test the declared properties of measures and statistics on small data: invariances, range,
    hostile input.

    The exit code is 1 if a check fails.
    """
    from ..checks import check_measure, check_statistic
    from ..contracts._measure import Measure
    from ..report.outputs import checks_output

    with progress_bars(not (progress and sys.stderr.isatty())) as report:
        return checks_output(
            {
                entry.spec: check_measure(entry, progress=report)
                if isinstance(entry, Measure)
                else check_statistic(entry, progress=report)
                for entry in parse_measures_and_statistics(measures)
            }
        )


@output_command()
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
    """List the measures that have the requested properties, with all declared properties."""
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
    if not measures:
        none = "no measure has all these properties; leave out one of the options"
        warnings.warn(none, stacklevel=2)
    records = [measure_record(m) for m in measures]
    return Output([measure_table(measures), measure_legend()], records, records)


def explain_command(measure: str) -> None:
    """Explain a measure or a statistic: definition, declared properties, parameters."""
    from ..report.explain import explain
    from ..report.output import print_tables

    for entry in parse_measures_and_statistics([measure]):
        print_tables(explain(entry))


def cite_command(names: list[str] | None = None, format: str = "bibtex") -> None:
    """Print the references of measures, statistics and suites, or of this software.

    Each reference is printed once. Without a name the command prints the reference of the software.
    """
    from ..citations import SOFTWARE_KEY, citation_keys, cite
    from ..report.citing import format_reference
    from ..report.output import print_tables, write_text

    check_choice("--format", format, ("bibtex", "text"))
    cited_names = names or [SOFTWARE_KEY]
    if format == "text":
        keys = dict.fromkeys(key for name in cited_names for key in citation_keys(name))
        print_tables([format_reference(key) for key in keys])
    else:
        write_text(f"{cite(*cited_names)}\n", None)


HELP: HelpTexts = {
    "compare.inputs": typer.Argument(
        help=f"{SHARED_HELP['inputs']} With --stream also FILE.py:FUNCTION (the file is executed): "
        "the function returns mappings from layers to arrays."
    ),
    "check.measures": "FILE.py:NAME (the file is executed), or a name or label of the catalogue, "
    "with parameters if needed.",
    "streamed": typer.Option(
        "--stream",
        rich_help_panel=STREAM_HELP_PANEL,
        help="Read the samples in batches and keep only running sums.",
    ),
    "against": AGAINST_HELP,
    "compare.save": "Save each result to this file as soon as it is computed; an interrupted run "
    "can resume. With --stream: the file for the sums.",
    "merge": typer.Option(
        rich_help_panel=STREAM_HELP_PANEL, help="Add the saved sums of other samples (repeatable)."
    ),
    "parts": typer.Option(
        "--parts",
        rich_help_panel=STREAM_HELP_PANEL,
        help="The inputs contain the same layers for different samples.",
    ),
    "batch_size": typer.Option(
        min=1,
        rich_help_panel=STREAM_HELP_PANEL,
        help=f"Number of samples to read from files at a time; default: {FILE_BATCH_SAMPLES}.",
    ),
    "method": typer.Option(
        rich_help_panel=STREAM_HELP_PANEL,
        help="gram (default), or qr: slower, but accurate for measures that whiten nearly "
        "dependent columns.",
    ),
    "directions": typer.Option(
        "--directions",
        rich_help_panel=STREAM_HELP_PANEL,
        help="Also keep the sums for measures of the directions of samples, such as aligned "
        "cosine.",
    ),
    "family": "Only the measures of this family.",
    "invariant_to": "Only measures invariant to this; several with commas or repeated.",
    "not_invariant_to": "Only measures not invariant to this; several with commas or repeated.",
    "symmetric": "Only measures that are, or are not, symmetric in X and Y.",
    "metric": "Only measures that satisfy, or do not satisfy, the triangle inequality.",
    "differentiable": "Only measures with, or without, gradients for tensors.",
    "n_samples": typer.Option(
        min=1, help="Only measures that are defined for this number of samples."
    ),
    "n_features": typer.Option(
        min=1, help="Only measures that are defined for this number of features."
    ),
    "cite.format": "Format: bibtex or text.",
    "measure": "A name (cka), a label (CKA), or a name with parameters "
    "(cka\\[estimator=debiased]).",
    "names": typer.Argument(
        help="resemblance, measures and statistics (names, labels, specifications), suites, "
        "evidence, score_models, or keys of references.bib."
    ),
}


commands = command_group(
    ("compare", compare_command, COMPARE_EXAMPLES),
    ("check", check_command, CHECK_EXAMPLES),
    ("measures", measures_command, MEASURES_EXAMPLES),
    ("explain", explain_command, EXPLAIN_EXAMPLES),
    ("cite", cite_command, CITE_EXAMPLES),
    help=HELP,
)
