"""The command that computes statistics of single representations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .ending import print_error, progress_bars
from .inputs import (
    ColumnChoice,
    check_input_files,
    check_label_count,
    load_user_function,
    parse_statistics,
    read_label_file,
    read_representations,
)
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..contracts._statistic import Statistic
    from ..data.representation import Representation
    from ..report.output import Output

STATISTIC_EXAMPLES = (
    "statistic layer1.npy -s feature_split,participation_ratio",
    "statistic layers/ -s variance_ratio,silhouette --labels classes.csv -o values.csv",
    'statistic session1.npy -s "replicate[compare=pearson]" --replicate session2.npy',
    "statistic layer1.npy --transformations",
)
STATISTIC_COLUMNS = ("representation", "statistic", "label", "value", "reason")
TRANSFORMATION_COLUMNS = (
    "representation",
    "transformation",
    "regime",
    "features",
    "feature_split",
    "basis_split",
    "cka",
    "cka_without_itself",
)
TRANSFORMATION_NOTE = (
    "cka: mean of linear CKA with the original, its first 100 components and its z-scores."
)


@output_command(
    files=("inputs", "labels", "conditions", "replicate", "control", "projection", "classifier"),
    page="Write a page with the values to this file.",
    can_refuse=True,
)
def statistic_command(
    inputs: list[str],
    progress: bool,
    statistics: list[str] | None = None,
    labels: Path | None = None,
    conditions: Path | None = None,
    replicate: Path | None = None,
    control: Path | None = None,
    encoder: str | None = None,
    projection: Path | None = None,
    classifier: Path | None = None,
    transformations: bool = False,
    pool: str = "",
    column: str = "",
    ids: str = "",
    seed: int | None = None,
) -> Output:
    """Compute statistics of each representation: stability, separation of classes, dimension,
    transferability.

    Some statistics need labels or a second array: see resemblance explain NAME. The exit code is 1
    if a value is undefined; the output then contains the reason.
    """
    choice = ColumnChoice(column, ids)
    check_input_files(inputs, choice)
    if bool(statistics) == transformations:
        raise ValueError("name statistics, such as -s feature_split, or give --transformations")
    needs = {
        "labels": labels,
        "conditions": conditions,
        "replicate": replicate,
        "control": control,
        "encoder": encoder,
        "projection": projection,
        "classifier": classifier,
    }
    entries = [_seeded(entry, seed) for entry in parse_statistics(statistics or [])]
    _check_needed_options(entries, needs)
    arrays = read_representations(inputs, pool, choice)
    if transformations:
        return _transformation_output(arrays, seed, progress)
    data = _read_needed_files(needs, choice, next(iter(arrays.values())).shape[0])
    return _statistic_output(_statistic_records(arrays, entries, data, progress), entries)


def _seeded(statistic: Statistic, seed: int | None) -> Statistic:
    """Return a random statistic with the command's seed, unless the specification has a seed; other
    statistics are returned unchanged, and so are all statistics if ``seed`` is None."""
    is_free = "seed" in statistic.defaults and "seed" not in dict(statistic.parameters)
    return statistic.with_parameters(seed=seed) if is_free and seed is not None else statistic


def _check_needed_options(statistics: Sequence[Statistic], needs: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a missing option of one of ``statistics``, and for an option without
    a statistic that needs the option. ``needs``: the values of the options by name, None if not
    given."""
    statistics_by_need = {name: str(entry) for entry in statistics for name in entry.needs}
    for name, statistic in statistics_by_need.items():
        if needs[name] is None:
            raise ValueError(f"{statistic} needs --{name}")
    for name, value in needs.items():
        if value is not None and name not in statistics_by_need:
            raise ValueError(f"no statistic of this call uses --{name}; leave out the option")


def _read_needed_files(
    needs: Mapping[str, Any], choice: ColumnChoice, n_samples: int
) -> dict[str, Any]:
    """Return the additional inputs of statistics, by option name; an option that was not given has
    no entry.

    ``needs``: the files, or the function, by option name; None if not given. Raises ``ValueError``
    for another number of labels than ``n_samples``.
    """
    data: dict[str, Any] = {}
    for name in ("labels", "conditions"):
        if (path := needs[name]) is not None:
            data[name] = read_label_file(path, f"--{name}")
            check_label_count(data[name], n_samples, path, f"--{name}")
    for name in ("replicate", "control", "projection"):
        if (path := needs[name]) is not None:
            arrays = read_representations([str(path)], "", choice)
            if len(arrays) != 1:
                raise ValueError(
                    f"--{name} {path} contains {len(arrays)} arrays; give a file with a single "
                    "array"
                )
            data[name] = arrays.popitem()[1]
    if needs["encoder"] is not None:
        data["encoder"] = load_user_function(needs["encoder"])
    if (path := needs["classifier"]) is not None:
        data["classifier"] = _read_classifier(path)
    return data


def _read_classifier(path: Path) -> Any:
    """Return a weight matrix from a ``.npy`` file, or the pair (weight, bias) from an ``.npz``
    file; the bias is None if missing."""
    import numpy as np

    from ..data.array_files import name_file_in_errors, npy_path, open_npy

    if path.suffix != ".npz":
        return open_npy(npy_path(path))
    with name_file_in_errors(str(path)), np.load(path, allow_pickle=False) as archive:
        if "weight" not in archive or not {*archive} <= {"weight", "bias"}:
            raise ValueError(
                f"got {', '.join(archive) or 'no array'}; save the last layer with "
                "np.savez(path, weight=..., bias=...), of shapes (classes, features) and (classes,)"
            )
        return archive["weight"], archive.get("bias")


def _statistic_records(
    arrays: Mapping[str, Representation],
    statistics: Sequence[Statistic],
    data: Mapping[str, Any],
    progress: bool,
) -> list[dict[str, Any]]:
    """Return a record, entries by column, for every pair of representation and statistic; an
    undefined value is None with the reason. ``arrays``: the representations by name. ``data``: the
    additional inputs by name."""
    from ..base.exceptions import UndefinedError

    records: list[dict[str, Any]] = []
    total = len(arrays) * len(statistics)
    with progress_bars(not progress) as report:
        for name, array in arrays.items():
            for statistic in statistics:
                value, reason = None, ""
                try:
                    value = statistic(array, **{need: data[need] for need in statistic.needs})
                except UndefinedError as error:
                    reason = str(error)
                entry = (name, statistic.spec, statistic.label, value, reason)
                records.append(dict(zip(STATISTIC_COLUMNS, entry)))
                if report and total > 1:
                    report("statistics", len(records), total)
    return records


def _statistic_output(records: list[dict[str, Any]], statistics: Sequence[Statistic]) -> Output:
    from ..base.formatting import format_number
    from ..report.output import Output
    from ..report.outputs import page_of_records
    from ..report.terminal import plain_table

    directions = {True: "larger", False: "smaller", None: ""}
    traits = {s.spec: (s.range, directions[s.larger_is_more_stable]) for s in statistics}
    rows = [
        (
            r["label"],
            r["statistic"],
            r["representation"],
            "–" if r["value"] is None else format_number(r["value"]),
            f"{traits[r['statistic']][0][0]:.4g} to {traits[r['statistic']][0][1]:.4g}",
            traits[r["statistic"]][1],
        )
        for r in records
    ]
    header = ("label", "statistic", "representation", "value", "range", "more stable is")
    problems = [
        f"{r['statistic']} of {r['representation']}: {r['reason']}" for r in records if r["reason"]
    ]
    code = 0
    if problems:
        code = print_error(
            f"{len(problems)} of {len(records)} values could not be computed; first: {problems[0]}",
            code=1,
        )
    return Output(
        [plain_table(header, rows, right=(3, 4)), *problems],
        {"records": records},
        records,
        page=page_of_records("statistic", records, "Statistics of representations"),
        code=code,
    )


def _transformation_output(
    arrays: Mapping[str, Representation], seed: int | None, progress: bool
) -> Output:
    """Return the output with the stability and the similarity of transformed representations.
    ``arrays``: the representations by name. ``seed``: None for the usual seed."""
    from ..base.formatting import format_number
    from ..report.output import Output
    from ..report.outputs import page_of_records
    from ..report.terminal import plain_table
    from ..stability import transformation_study

    records: list[dict[str, Any]] = []
    with progress_bars(not progress) as report:
        for number, (name, array) in enumerate(arrays.items(), 1):
            study = transformation_study(array, **({} if seed is None else {"seed": seed}))
            records += [dict(zip(TRANSFORMATION_COLUMNS, (name, *row))) for row in study]
            if report and len(arrays) > 1:
                report("transformations", number, len(arrays))
    rows = [
        [v if isinstance(v, str) else format_number(float(v)) for v in record.values()]
        for record in records
    ]
    right = range(3, len(TRANSFORMATION_COLUMNS))
    table = plain_table(TRANSFORMATION_COLUMNS, rows, right=right)
    page = page_of_records("statistic", records, "Transformations of representations")
    return Output([table, "", TRANSFORMATION_NOTE], {"records": records}, records, page=page)


HELP: HelpTexts = {
    "statistics": typer.Option(
        "--statistics",
        "-s",
        help="Statistics to compute, separated by commas: a name (feature_split), a label, a name "
        "with parameters (feature_split\\[k=10]), or FILE.py:NAME (the file is executed).",
    ),
    "labels": "A file with the class of each sample (.npy, .npz, .csv, .txt).",
    "conditions": "A file with the condition of each trial (.npy, .npz, .csv, .txt).",
    "replicate": "A file with a second representation of the same samples in the same order.",
    "control": "A file with the representation of control samples, with the same features.",
    "encoder": "FILE.py:FUNCTION (the file is executed): the function takes inputs and returns the "
    "representation.",
    "projection": "A file with a projection of the same samples, such as 2-D coordinates.",
    "classifier": "A file with the last layer: .npz with weight and bias, or .npy with the "
    "weights.",
    "transformations": typer.Option(
        "--transformations",
        help="Transform each representation as Raju (2026) does, and compute the feature split, "
        "the basis split and CKA of each result.",
    ),
    "seed": typer.Option(
        min=0, help="Random seed of random statistics; default: the seed of each statistic."
    ),
}


commands = command_group(("statistic", statistic_command, STATISTIC_EXAMPLES), help=HELP)
