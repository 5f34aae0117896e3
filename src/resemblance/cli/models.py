"""The command that runs models over samples and compares all their layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..engine.memory import parse_bytes
from ..models import compare_models, plan_models
from ..report.of_comparison import result_of
from ..report.output import Output
from ..report.outputs import forecast_output
from ..significance.orders import DRAWS
from .declaring import Draws, Jobs, Level, Memory, Planned, Seed, commands_of, writing
from .declaring import Measures as MeasureNames
from .executors import executors
from .labels import read_labels
from .options import chosen_measures, rewording

MODELS = (
    "models base=hf:bert-base-uncased tuned=run/final --data sentences.txt --html page.html",
    "models resnet=torchvision:resnet18 vit=timm:vit_small_patch16_224 --data photos/ --save run",
    'models mine.py:small mine.py:large --data inputs.npy --layers "**.conv*" -m cka,procrustes',
)
CLASSES = "labels"  # those that come with the data
NAMED = re.compile(r"([\w.+-]+)=(.+)")

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]MODEL...",
        help="A folder of transformers or hf:NAME, timm:NAME, torchvision:NAME, a .pt2 "
        "file of torch.export, or file.py:function (runs it).",
    ),
]
Data = Annotated[
    str,
    typer.Option(
        help="Text file, .csv, .tsv, .jsonl, .parquet, .npy, .npz, folder of images or of a graph "
        "data set, or file.py:function (runs it)."
    ),
]
Column = Annotated[
    str | None, typer.Option(help="Column of a table, or array of an archive, with the samples.")
]
Limit = Annotated[
    int | None, typer.Option(min=2, help="Use only so many samples, drawn by --seed.")
]
Unique = Annotated[bool, typer.Option("--unique", help="Leave out copies of earlier samples.")]
Reference = Annotated[
    str | None,
    typer.Option(
        help="untrained, or seed=N: compare also a copy of the first model with weights that are "
        "drawn anew."
    ),
]
Rows = Annotated[
    str | None,
    typer.Option(help="Compare only the nodes of a graph in this mask, such as test_mask."),
]
Layers = Annotated[
    list[str] | None,
    typer.Option(
        help='Names or patterns of modules: "encoder.layer.*"; * does not cross dots, ** does '
        "(several with commas). Default: the blocks."
    ),
]
Pooling = Annotated[
    str, typer.Option(help="How tokens and maps become rows: mean, cls, last, max or flatten.")
]
OfLabels = Annotated[
    str | None,
    typer.Option(
        "--within",
        help="A file with a label per sample, or labels, the classes of the data: samples are "
        "permuted only within groups of equal labels.",
    ),
]
OfBlocks = Annotated[
    str | None,
    typer.Option(
        "--blocks", help="The same for samples that depend on each other and stay together."
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Samples in a batch.")]
Device = Annotated[str | None, typer.Option(help="Where the models run, such as cuda.")]
Folder = Annotated[
    Path | None,
    typer.Option(help="Folder that keeps features and scores; the same command resumes."),
]


@writing(folder="save", page="Write a page with heat maps.", resumed="scores")
def models_command(
    models: Models,
    data: Data,
    progress: bool,
    column: Column = None,
    limit: Limit = None,
    unique: Unique = False,
    reference: Reference = None,
    rows: Rows = None,
    layers: Layers = None,
    pool: Pooling = "mean",
    measures: MeasureNames = None,
    batch_size: BatchSize = 32,
    device: Device = None,
    save: Folder = None,
    within: OfLabels = None,
    blocks: OfBlocks = None,
    draws: Draws = DRAWS,
    level: Level = 0.95,
    seed: Seed = 0,
    memory: Memory = "half",
    jobs: Jobs = None,
    planned: Planned = False,
) -> Output:
    """Run two or more models over the same samples and compare all their layers.

    Default measures: debiased CKA, Procrustes, RSA and mutual nearest neighbours. The first one
    also gets chance levels, p-values and intervals. Results go to standard output, progress to
    standard error.
    """
    if len(models) < 2:
        raise ValueError("two models are needed for a comparison; name another one")
    parse_bytes(memory)
    first, second, *more = map(_model, models)
    options: dict[str, Any] = {"column": column, "limit": limit, "unique": unique, "save": save}
    options |= {"layers": _patterns(layers), "pool": pool, "measures": chosen_measures(measures)}
    options |= {"batch_size": batch_size, "device": device, "reference": reference, "seed": seed}
    options |= {"rows": rows, "more": more, "draws": draws, "level": level}
    for option, text in (("within", within), ("blocks", blocks)):
        path = None if text in (None, CLASSES) else Path(str(text))
        options[option] = text if path is None else read_labels(path, f"--{option}")
    with rewording(_for_terminals), executors(jobs, usual=1) as (executor, _):
        options |= {"executor": executor, "memory": memory, "progress": progress}
        if planned:
            return forecast_output(plan_models(first, second, data, **options))
        comparison = compare_models(first, second, data, **options)
    result = result_of(comparison)
    inputs = comparison.provenance["inputs"]
    return Output(of=comparison, page=result, shown=[inputs, "", *result.lead.splitlines(), ""])


def _for_terminals(text: str) -> str:
    return re.sub(r"compare_models: (?=(within|blocks|level)\b)", "--", text)


def _patterns(texts: Sequence[str] | None) -> Sequence[str]:
    return [part.strip() for text in texts or ["blocks"] for part in text.split(",")]


def _model(text: str) -> Any:
    """Return a model as the library takes it: ("name", model), or as it is."""
    match = None if Path(text).exists() else NAMED.fullmatch(text)
    return match.groups() if match else text


commands = commands_of(("models", models_command, MODELS))
