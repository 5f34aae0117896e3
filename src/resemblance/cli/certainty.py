"""Commands for the certainty of similarities, and for scoring models on several subjects."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..engine.memory import parse_bytes
from .choices import LAYOUTS, SCORE_LAYOUTS
from .ending import run_provenance
from .executors import open_executors
from .inputs import (
    AGAINST_HELP,
    ColumnChoice,
    check_input_files,
    check_label_count,
    parse_measures,
    read_label_file,
    read_representations,
    read_rows_and_columns,
    reworded_errors,
)
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    import numpy as np

    from ..data.representation import Representation
    from ..inference._score_models import ModelScores
    from ..inference._time_courses import TimeCourses
    from ..inference.result import Evidence

EVIDENCE_EXAMPLES = (
    "evidence layer1.npy layer2.npy -m cka,rsa",
    "evidence brain.npy --against layers/ -m cka --within conditions.csv --html page.html",
    'evidence a.npy b.npy -m "cka[estimator=debiased]" --whole-blocks documents.npy -o values.csv',
)

# Names of folders that do not identify a model.
GENERIC_FOLDER_NAMES = ("", "features", "fitted", "layers", "model", "models", "parts")
OPTION_NAMES = (
    "within", "whole_blocks", "time_series", "max_shift", "n_permutations", "confidence_level",
    "seed", "save", "memory",
)  # fmt: skip
FUNCTION_ARGUMENT = re.compile(rf"\b({'|'.join(OPTION_NAMES)})=(?=(\w?))")


@output_command(
    files=("inputs", "against", "within", "whole_blocks"),
    save="save",
    page="Write a page with heat maps to this file.",
    resumed="values and permutations",
    layouts=LAYOUTS,
    can_refuse=True,
)
def evidence_command(
    inputs: list[str],
    progress: bool,
    measures: list[str] | None = None,
    against: list[str] | None = None,
    pool: str = "",
    column: str = "",
    ids: str = "",
    within: Path | None = None,
    whole_blocks: Path | None = None,
    time_series: bool = False,
    max_shift: int | None = None,
    n_permutations: int = 999,
    confidence_level: float = 0.95,
    seed: int = 0,
    save: Path | None = None,
    memory: str = "half",
    jobs: int | None = None,
    scheduler: str | None = None,
) -> Evidence:
    """Compute intervals, chance levels and p-values of similarities.

    The null hypothesis is that the samples of two representations are unrelated. Use --within,
    --whole-blocks or --time-series for samples that are not exchangeable: samples share classes,
    depend on each other, or form a time series. Results go to standard output, progress to standard
    error.
    """
    from ..inference._evidence import evidence
    from ..significance.resampling import check_confidence_level

    if time_series and (within or whole_blocks):
        conflict = "--within" if within else "--whole-blocks"
        raise ValueError(f"--time-series shifts all samples together; leave out {conflict}")
    check_confidence_level("--confidence-level", confidence_level)
    options: dict[str, Any] = {
        "time_series": time_series,
        "max_shift": max_shift,
        "n_permutations": n_permutations,
        "confidence_level": confidence_level,
        "seed": seed,
    }
    parse_bytes(memory)
    options |= {"memory": memory, "measures": parse_measures(measures)}
    sides = read_rows_and_columns(inputs, list(against or ()), pool, ColumnChoice(column, ids))
    n = next(iter(sides[0].values())).shape[0]
    for option, path in (("within", within), ("whole_blocks", whole_blocks)):
        words = f"--{option.replace('_', '-')}"
        options[option] = labels = read_label_file(path, words)
        check_label_count(labels, n, path, words)
    options |= {"progress": progress, "save": save}
    with (
        open_executors(jobs, scheduler) as (executor, _),
        reworded_errors(
            lambda text: FUNCTION_ARGUMENT.sub(_option_of_argument, text.removeprefix("evidence: "))
        ),
    ):
        return evidence(*sides, jobs=executor, **options)


def _option_of_argument(match: re.Match[str]) -> str:
    """Return the option for a matched argument of a function: "--max-shift 3" for "max_shift=3"."""
    return f"--{match[1].replace('_', '-')}{' ' if match[2] else ''}"


SCORE_MODELS_EXAMPLES = (
    "score-models subjects/ --models layers/",
    'score-models subjects/ --models layers/ -m "rsa[compare=whitened_cosine]" '
    "--whole-blocks images.csv",
    "score-models rdms/ --models layers/ --dissimilarities -o scores.csv",
    "score-models subjects/ --models layers/ --columns model,mean,interval -o scores.tex",
    "score-models subjects/ --models layers/ --fitted layers/ --folds 4 --jobs 4",
)


@output_command(
    files=("inputs", "models", "fitted", "whole_blocks"),
    page="Write a page with the scores to this file.",
    layouts=SCORE_LAYOUTS,
)
def score_models_command(
    inputs: list[str],
    context: typer.Context,
    progress: bool,
    models: list[str] | None = None,
    fitted: list[str] | None = None,
    measure: str = "rsa[rdm=sqeuclidean,compare=whitened_cosine]",
    dissimilarities: bool = False,
    pool: str = "",
    column: str = "",
    ids: str = "",
    score: str = "similarity",
    fit: str | None = None,
    folds: int | None = None,
    whole_blocks: Path | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> ModelScores:
    """Score models on the recordings of several subjects, with a noise ceiling.

    Standard errors account for the sampling of subjects and of stimuli. Each file is one subject,
    (stimuli, units), and each of --models is one model, (stimuli, features), for the same stimuli
    in the same order. The files of a --fitted folder are the parts of one model: a weighted sum of
    the parts, with weights fitted to other subjects and other stimuli. With --fitted all models are
    scored on the stimuli of each fold. p-values are adjusted for the number of models with Holm's
    method.
    """
    from ..inference._score_models import score_models

    models, fitted = models or [], fitted or []
    if not models and not fitted:
        raise ValueError("no models: give --models FILE or --fitted FOLDER")
    choice = ColumnChoice(column, ids)
    check_input_files([*inputs, *models, *fitted], choice)
    entries = parse_measures([measure]) or []
    if len(entries) != 1:
        raise ValueError(f"--measure takes one measure; {measure!r} names {len(entries)}")
    subjects = read_representations(inputs, "" if dissimilarities else pool, choice)
    if dissimilarities:
        subjects = {name: _as_dissimilarities(name, x) for name, x in subjects.items()}
    layers: dict[str, Any] = read_representations(models, pool, choice) if models else {}
    for place in fitted:
        parts = read_representations([place], pool, choice)
        name = _fitted_model_name(Path(place), list(parts))
        if name in layers:
            raise ValueError(f"two models are called {name!r}; rename one of them")
        layers[name] = list(parts.values())
    labels = read_label_file(whole_blocks, "--whole-blocks")
    check_label_count(
        labels, next(iter(subjects.values())).shape[0], whole_blocks, "--whole-blocks"
    )
    options: dict[str, Any] = {
        "score": score,
        "fit": fit,
        "folds": folds,
        "whole_blocks": labels,
        "confidence_level": confidence_level,
    }
    with (
        open_executors(jobs, scheduler) as (executor, _),
        reworded_errors(_score_models_error_with_options),
    ):
        options |= {"seed": seed, "jobs": executor, "progress": progress}
        scores = score_models(layers, subjects, measure=entries[0], **options)
    return replace(scores, provenance=run_provenance(context))


OVER_TIME_EXAMPLES = (
    'score-models-over-time subjects/ --models layers/ --axes "trials bins units"',
    'score-models-over-time subjects/ --models layers/ --axes "trials units bins" '
    "--times times.txt --width 2 --html curves.html",
    'score-models-over-time subjects/ --models layers/ --axes "trials bins units" '
    "--conditions images.csv --runs runs.csv -o curves.csv",
)


@output_command(
    files=("inputs", "models", "times", "conditions", "runs", "whole_blocks"),
    page="Write a page with the curves to this file.",
)
def score_models_over_time_command(
    inputs: list[str],
    context: typer.Context,
    progress: bool,
    models: list[str],
    axes: str,
    times: Path | None = None,
    width: int = 1,
    step: int | None = None,
    conditions: Path | None = None,
    runs: Path | None = None,
    measure: str = "rsa[rdm=sqeuclidean,compare=whitened_pearson]",
    score: str = "similarity",
    whole_blocks: Path | None = None,
    cluster_alpha: float = 0.05,
    n_permutations: int = 9999,
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> TimeCourses:
    """Score models at every time of the recordings of several subjects.

    Each file is one subject, an array with three axes named by --axes, and each of --models is one
    model, (conditions, features). Without --conditions the trials are the conditions. Every time
    has the scores, intervals and noise ceiling of score-models; clusters of times above 0 have
    p-values for all times and models.
    """
    from ..inference._time_courses import score_models_over_time
    from ..models.files import read_recordings

    check_input_files([*inputs, *models], ColumnChoice())
    entries = parse_measures([measure]) or []
    if len(entries) != 1:
        raise ValueError(f"--measure takes one measure; {measure!r} names {len(entries)}")
    subjects = read_recordings(inputs)
    layers = read_representations(models, "", ColumnChoice())
    label_files = {
        "times": times, "conditions": conditions, "runs": runs, "whole_blocks": whole_blocks,
    }  # fmt: skip
    options: dict[str, Any] = {
        name: read_label_file(path, f"--{name.replace('_', '-')}")
        for name, path in label_files.items()
    }
    options["conditions"] = _conditions_like_ids(options["conditions"], layers)
    options |= {
        "axes": axes,
        "width": width,
        "step": step,
        "measure": entries[0],
        "score": score,
        "cluster_alpha": cluster_alpha,
        "n_permutations": n_permutations,
        "confidence_level": confidence_level,
        "seed": seed,
    }
    with (
        open_executors(jobs, scheduler) as (executor, _),
        reworded_errors(_over_time_error_with_options),
    ):
        _check_label_files(label_files, options, axes, subjects, layers)
        courses = score_models_over_time(
            layers, subjects, jobs=executor, progress=progress, **options
        )
    return replace(courses, provenance=run_provenance(context))


def _check_label_files(
    files: Mapping[str, Path | None],
    labels: Mapping[str, np.ndarray | None],
    axes: str,
    subjects: Mapping[str, np.ndarray],
    models: Mapping[str, Representation],
) -> None:
    """Raise ``ValueError``, naming the option, for another number of labels than of bins, trials or
    conditions, and for times that are no numbers.

    ``files`` and ``labels``: the file and the labels of "times", "conditions", "runs" and
    "whole_blocks", None if not given. ``axes``: the names of the axes of the subjects' arrays.
    ``subjects``: arrays with three axes, by name. ``models``: (conditions, features), by name.
    """
    from ..data.layouts import as_trials

    shapes = [as_trials(X, axes, "score_models_over_time")[0].shape for X in subjects.values()]
    for name, n, noun in (
        ("times", shapes[0][1], "bin"),
        *((name, shape[0], "trial") for name in ("conditions", "runs") for shape in shapes),
        ("whole_blocks", next(iter(models.values())).shape[0], "condition"),
    ):
        check_label_count(labels[name], n, files[name], f"--{name.replace('_', '-')}", noun)
    times = labels["times"]
    if times is not None and not all(map(_is_number, times)):
        word = next(time for time in times if not _is_number(time))
        raise ValueError(
            f"--times {files['times']} must have a number for each bin; got {str(word)!r}; save "
            "the time of each bin, such as 0.05"
        )


def _is_number(label: object) -> bool:
    try:
        return math.isfinite(float(str(label)))
    except ValueError:
        return False


def _conditions_like_ids(
    labels: np.ndarray | None, models: Mapping[str, Representation]
) -> np.ndarray | None:
    """Return labels of digits as whole numbers, unless a model has words as ids; other labels, and
    None, are returned unchanged. Models without ids have the conditions 0, 1, ..."""
    if labels is None or not all(str(label).isdecimal() for label in labels):
        return labels
    ids = [sample for model in models.values() for sample in model.ids or ()]
    return labels if any(isinstance(sample, str) for sample in ids) else labels.astype(int)


def _over_time_error_with_options(text: str) -> str:
    text = re.sub(r"^score_models(_over_time)?: (?=(score|axes|times) must\b)", "--", text)
    text = re.sub(r"^score_models(_over_time)?: ", "", text)
    python_remedy = "rs.Representation(x, ids=labels), or a data frame with an index"
    text = text.replace(python_remedy, 'np.savez("model.npz", x=x, ids=names)')
    return re.sub(
        r"\b(axes|times|width|step|score|cluster_alpha|n_permutations)=",
        lambda match: f"--{match[1].replace('_', '-')} ",
        text,
    )


def _fitted_model_name(place: Path, parts: list[str]) -> str:
    """Return the name of a fitted model: the common part before the last slash of the names
    ``parts``, otherwise the name of the file or folder ``place``; if this name is generic, such as
    "layers", the names of the parts."""
    labels = {name.rpartition("/")[0] for name in parts}
    name = labels.pop() if len(labels) == 1 else ""
    name = name or (place.stem if place.is_file() else place.resolve().name)
    if name.lower() not in GENERIC_FOLDER_NAMES:
        return name
    return " + ".join(parts if len(parts) <= 3 else [*parts[:2], f"{len(parts) - 2} more"])


def _score_models_error_with_options(text: str) -> str:
    text = text.replace("write rs.from_dissimilarities(D)", "of subjects add --dissimilarities")
    text = text.replace("models={'name': [part, part]}", "its parts as --fitted FOLDER")
    return text.replace("folds=", "--folds ").replace(": fit=", ": --fit ").replace("fit=", "--fit")


def _as_dissimilarities(name: str, x: Representation) -> Representation:
    import numpy as np

    from ..measures._dissimilarities import from_dissimilarities

    values = np.asarray(x.source)
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"{name}: --dissimilarities needs square matrices; got {values.shape}; leave it out "
            "for responses"
        )
    return from_dissimilarities(values, name)


HELP: HelpTexts = {
    "against": AGAINST_HELP,
    "score-models.whole_blocks": "A file with a label for each stimulus: stimuli with the same "
    "label are left out together.",
    "score-models-over-time.inputs": typer.Argument(
        help="Files (.npy, .npz), or folders of files, with an array of three axes per subject."
    ),
    "score-models-over-time.models": typer.Option(
        help="Files or folders with the models' features (repeatable)."
    ),
    "axes": typer.Option(
        help='The names of the three axes in their order: "trials bins units" in any order.'
    ),
    "times": "A file with the time of each bin; default: 0, 1, 2, ...",
    "width": typer.Option(min=1, help="Number of bins of a window."),
    "step": typer.Option(min=1, help="Number of bins between windows; default: 1."),
    "conditions": "A file with the condition of each trial.",
    "runs": "A file with the run of each trial, for cross-validated dissimilarities.",
    "cluster_alpha": "The level of the threshold that forms clusters, not of the test.",
    "score-models-over-time.n_permutations": typer.Option(
        min=1, help="Number of sign patterns of the cluster test."
    ),
    "score-models-over-time.whole_blocks": "A file with a label for each condition: conditions "
    "with the same label are left out together.",
    "time_series": "The samples are a time series: shift the series in time instead of permuting "
    "the samples.",
    "max_shift": typer.Option(
        min=1,
        help="With --time-series: the largest shift, in samples; default: a quarter of the "
        "samples.",
    ),
    "models": "Files or folders with the models' features (repeatable).",
    "fitted": "A folder or .npz file with the parts of one fitted model (repeatable).",
    "measure": typer.Option(
        "--measure",
        "-m",
        help="A measure of the catalogue, or FILE.py:NAME (the file is executed).",
    ),
    "dissimilarities": "The subjects' files contain square matrices of dissimilarities, not "
    "responses.",
    "score": "similarity of a model alone, or beside the other models: partial, semipartial, "
    "regression, nonnegative_regression or unique_variance.",
    "fit": "weights of all parts (default), one part, or two neighbors.",
    "folds": typer.Option(
        min=1, help="Folds of stimuli for fitted models; default: 2 to 5; 1: no folds."
    ),
}


commands = command_group(
    ("evidence", evidence_command, EVIDENCE_EXAMPLES),
    ("score-models", score_models_command, SCORE_MODELS_EXAMPLES),
    ("score-models-over-time", score_models_over_time_command, OVER_TIME_EXAMPLES),
    help=HELP,
)
