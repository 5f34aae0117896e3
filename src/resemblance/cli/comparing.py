"""The commands that compare representations, and check, list, explain and cite measures."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..catalogue import list_measures
from ..checks import check_measure, check_statistic
from ..citations import SOFTWARE, cite, keys_of
from ..compare import compare
from ..comparison import Comparison
from ..engine.forecast import Forecast, plan
from ..engine.memory import parse_bytes
from ..measure import Measure
from ..report.output import Output, deliver, show
from ..report.outputs import CHECK_FORMATS, checks_output, forecast_output
from ..report.references import reference
from .declaring import (
    Inputs,
    Jobs,
    Measures,
    Memory,
    Planned,
    Pool,
    Save,
    Scheduler,
    TableOrJson,
    commands_of,
    writing,
)
from .executors import executors
from .options import check_choice, check_inputs, chosen_entries, chosen_measures, rewording
from .progress import bars

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
MEASURES = ("measures --family cca", "measures --invariant-to orthogonal")
EXPLAIN = ("explain cka", 'explain "cka[estimator=debiased]"', "explain feature_split")
CHECK = (
    "check mine.py:my_measure",
    'check "mine.py:my_measure[power=2]" cka --format markdown -o checks.md',
)
CITE = ("cite", "cite cka procrustes rsa", "cite resi --format text", "cite cka > references.bib")

Streamed = Annotated[
    bool, typer.Option("--stream", help="Read the samples in batches, as resemblance stream does.")
]


@writing(files=("inputs",), save="save", page="Write a page with heat maps.", resumed="results")
def compare_command(
    inputs: Inputs,
    progress: bool,
    measures: Measures = None,
    pool: Pool = "",
    save: Save = None,
    memory: Memory = "half",
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    planned: Planned = False,
    streamed: Streamed = False,
) -> Comparison | Output:
    """Compare representations (samples, features) of the same samples by many measures.

    Results go to standard output, progress to standard error.
    """
    if streamed:
        refused = {"--save": save, "--jobs": jobs, "--scheduler": scheduler, "--plan": planned}
        return _streamed(inputs, measures, {**refused, "--pool": pool}, progress)
    parse_bytes(memory)
    work: dict[str, Any] = {"measures": chosen_measures(measures), "memory": memory, "save": save}
    representations = _read(inputs, pool)
    with executors(jobs, scheduler, usual=1) as (executor, _):
        work["executor"] = executor
        if planned:
            return forecast_output(plan(representations, **work))
        if progress:
            announce(plan(representations, **work))
        return compare(representations, progress=progress, **work)


def _streamed(
    inputs: list[str], measures: list[str] | None, refused: Mapping[str, Any], progress: bool
) -> Comparison:
    """Do what the command ``stream`` does; ``ValueError`` for an option that it does not have."""
    from ..stream import Stream
    from .stream import batches_of, streamed

    if present := [name for name, value in refused.items() if value]:
        raise ValueError(
            f"{present[0]} does not go with --stream, which reads everything once; `resemblance "
            "stream` has options to keep the sums, and to merge those of workers"
        )
    return streamed(batches_of(inputs, False, ROWS), measures, Stream(), progress)


def _read(inputs: list[str], pool: str) -> Mapping[str, Any]:
    """Return the representations in files; ``ValueError`` for fewer than two."""
    check_inputs(inputs)
    representations = read_inputs(inputs, pool)
    if len(representations) < 2:
        raise ValueError(f"a comparison needs two representations; {inputs[0]} is one")
    return representations


def read_inputs(inputs: list[str], pool: str) -> dict[str, Any]:
    """Return the representations in files; a refusal names --pool where pooling would help."""
    from ..sources.files import read_files

    with rewording(lambda text: OF_PYTHON.sub("--pool mean", text).replace("pool=", "--pool ")):
        return dict(read_files(inputs, pool=pool))


def announce(forecast: Forecast) -> None:
    """Say on standard error what a long comparison will take."""
    if forecast.seconds > LONG:
        print(f"{forecast.line}; --plan shows more", file=sys.stderr)


# ----------------------------------------------------------------------------------------- measures


@writing(CHECK_FORMATS)
def check_command(
    measures: Annotated[
        list[str],
        typer.Argument(
            help="FILE.py:NAME, which is run, or names, labels and specifications of the catalogue."
        ),
    ],
    progress: bool,
) -> Output:
    """Check measures and statistics against what they claim, on small data: invariances, range,
    hostile input.

    Exit code 1 if a check fails.
    """
    with bars(not progress) as shown:
        return checks_output(
            {
                entry.spec: check_measure(entry, progress=shown)
                if isinstance(entry, Measure)
                else check_statistic(entry, progress=shown)
                for entry in chosen_entries(measures)
            }
        )


def measures_command(
    family: Annotated[str | None, typer.Option(help="Only measures of this family.")] = None,
    invariant_to: Annotated[
        list[str] | None, typer.Option(help="Only measures invariant to this (repeatable).")
    ] = None,
    format: TableOrJson = "table",
) -> None:
    """List the measures with their claims, all of which are tested."""
    from ..report.explain import measure_legend, measure_record, measure_table

    check_choice("format", format, ("table", "json"))
    measures = list_measures(family=family, invariant_to=set(invariant_to or ()))
    if format == "json":
        records = [measure_record(m) for m in measures]
        deliver(json.dumps(records, ensure_ascii=False, indent=1, allow_nan=False) + "\n", None)
    else:
        show([measure_table(measures), measure_legend()])


def explain_command(
    measure: Annotated[str, typer.Argument(help="Name, label, or specification.")],
) -> None:
    """Explain a measure or a statistic: definition, claims, parameters."""
    from ..report.explain import explain

    for entry in chosen_entries([measure]):
        show(explain(entry))


def cite_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Measures and statistics (names, labels, specifications), suites, or resemblance."
        ),
    ] = None,
    format: Annotated[str, typer.Option(help="bibtex or text.")] = "bibtex",
) -> None:
    """Print what to cite: the papers of measures, statistics and suites, or this software.

    Each entry is printed once. Without a name it is the entry of the software.
    """
    check_choice("format", format, ("bibtex", "text"))
    chosen = names or [SOFTWARE]
    if format == "text":
        keys = dict.fromkeys(key for name in chosen for key in keys_of(name))
        show([reference(key) for key in keys])
    else:
        deliver(f"{cite(*chosen)}\n", None)


commands = commands_of(
    ("compare", compare_command, COMPARE),
    ("check", check_command, CHECK),
    ("measures", measures_command, MEASURES),
    ("explain", explain_command, EXPLAIN),
    ("cite", cite_command, CITE),
)
