"""Commands for a new version of a model: report drift, and decide about an index."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import typer

from ..base.text import check_choice, replace_undecodable
from .choices import FORMATS
from .ending import run_provenance, try_to_write
from .inputs import load_user_function, read_label_file, reworded_errors, split_commas
from .options import HelpTexts, command_group, output_command

if TYPE_CHECKING:
    from ..data.representation import Representation
    from ..report.output import Output
    from ..versions import DriftReport, IndexUpgrade

DRIFT_EXAMPLES = (
    "drift old.npy new.npy",
    "drift old.npy new.npy --purpose head --labels classes.npy --html drift.html --open",
    "drift old.npy new.npy --threshold 0.05 -o drift.json --quiet",
    "drift monday.npy tuesday.npy --unpaired",
    "drift features/old features/new --html layers.html",
)


@output_command(
    FORMATS,
    files=("reference", "current", "labels"),
    page="Write a page about the changes to this file.",
    can_refuse=True,
)
def drift_command(
    reference: Path,
    current: Path,
    context: typer.Context,
    progress: bool,
    purpose: str = "index",
    threshold: str = "calibrated",
    tolerance: float = 0.05,
    labels: Path | None = None,
    paired: bool = True,
    batch_labels: Path | None = None,
    max_samples: int = 1000,
    k: int = 10,
    n_resamples: int = 50,
    seed: int = 0,
) -> DriftReport | Output:
    """Report whether, how much and how a representation changed between two versions of a model.

    The exit code is 0 without drift above the threshold, 1 with drift, 2 for a mistake in the call.
    Two folders of features are compared layer by layer; the code is 1 if one layer drifted.
    --purpose sets which changes count: with "geometry" a pure rotation counts as no drift, although
    old and new vectors are no longer comparable. Drift measures are averages and can miss a change
    in a few samples. Rows in another order always count as drift.
    """
    from ..report.of_drift_layers import layers_output
    from ..versions import drift
    from ..versions.verdict import SIDES_BY_PURPOSE, DriftPurpose

    check_choice("--purpose", purpose, tuple(SIDES_BY_PURPOSE))
    check_batch_label_options(labels, batch_labels, paired)
    sides = read_layer_versions(reference, current)
    options: dict[str, Any] = {
        "purpose": cast(DriftPurpose, purpose),
        "threshold": _parse_threshold(threshold),
        "labels": read_label_file(labels, "--labels"),
        "batch_labels": read_label_file(batch_labels, "--batch-labels"),
        "paired": paired,
        "tolerance": tolerance,
        "k": k,
        "n_resamples": n_resamples,
        "seed": seed,
        "max_samples": max_samples,
        "progress": progress,
    }
    reports = {
        layer: replace(report, provenance=_drift_provenance(report, reference, current, context))
        for layer, pair in sides.layers.items()
        for report in (drift(*pair, **options),)
    }
    if sides.is_one:
        return reports[""]
    return layers_output(reports, sides.left_out, run_provenance(context))


def check_batch_label_options(labels: Path | None, batch_labels: Path | None, paired: bool) -> None:
    """Raise ``ValueError`` unless the two unpaired batches have labels, or neither batch has
    labels; and for labels of a second batch if the versions are paired."""
    if batch_labels is not None and paired:
        raise ValueError("--batch-labels is for --unpaired; the same samples have one --labels")
    if not paired and (labels is None) != (batch_labels is None):
        raise ValueError("--unpaired needs --labels and --batch-labels, or neither")


class LayerVersions(NamedTuple):
    """Pairs of versions (reference, current) by layer name ("" for two files with a single array),
    and a sentence on layers of only one side, or ""."""

    layers: dict[str, tuple[Representation, Representation]]
    left_out: str = ""

    @property
    def is_one(self) -> bool:
        return list(self.layers) == [""]


def read_layer_versions(reference: Path, current: Path) -> LayerVersions:
    """Return the arrays of two files, or the common layers of two folders or files with several
    arrays, by name: pairs (reference, current). Raises ``ValueError`` without common layers."""
    from ..base.formatting import list_names
    from ..models.files import read_files

    old_arrays, new_arrays = (read_files([path]) for path in (reference, current))
    if len(old_arrays) == len(new_arrays) == 1:
        return LayerVersions({"": (*old_arrays.values(), *new_arrays.values())})  # type: ignore[dict-item]
    old_layers, new_layers = (
        _strip_common_model_name(arrays) for arrays in (old_arrays, new_arrays)
    )
    names = [name for name in old_layers if name in new_layers]
    if not names:
        sides = ((reference, old_layers), (current, new_layers))
        words = " and ".join(f"{path} contains {len(a)} arrays" for path, a in sides if len(a) > 1)
        raise ValueError(
            f"{words}; give a file with one, or two folders with layers of the same names; these "
            f"are {list_names(sorted(old_layers), 5)}; and {list_names(sorted(new_layers), 5)}"
        )
    unmatched = [
        (reference, old_layers.keys() - new_layers.keys()),
        (current, new_layers.keys() - old_layers.keys()),
    ]
    words = "; ".join(
        f"only {path} has {list_names(sorted(layers), 5)}" for path, layers in unmatched if layers
    )
    left_out = f"Left out: {words}." if words else ""
    return LayerVersions({name: (old_layers[name], new_layers[name]) for name in names}, left_out)


def _strip_common_model_name(arrays: dict[str, Representation]) -> dict[str, Representation]:
    """Return the layers ``arrays``, by name, without the model name before the first slash, if all
    layers belong to the same model; otherwise unchanged."""
    starts = {name.partition("/")[0] for name in arrays}
    if len(starts) > 1 or not all("/" in name for name in arrays):
        return arrays
    return {name.partition("/")[2]: array for name, array in arrays.items()}


def _drift_provenance(
    report: DriftReport, reference: Path, current: Path, context: typer.Context
) -> dict[str, Any]:
    """Return the provenance of a report with the command, the date, the machine and the two files
    as passed."""
    files = {"reference": reference, "current": current}
    sides = {
        side: report.provenance[side] | {"file": replace_undecodable(str(file))}
        for side, file in files.items()
    }
    return report.provenance | sides | run_provenance(context)


def read_version(path: Path) -> Representation:
    """Return the single array of a file; raise ``ValueError`` for a file with several arrays."""
    from ..models.files import read_files

    arrays = list(read_files([path]).values())
    if len(arrays) != 1:
        raise ValueError(f"{path} contains {len(arrays)} arrays; give a file with a single array")
    return arrays[0]


def _parse_threshold(text: str) -> float | str:
    if text == "calibrated":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--threshold must be a number or calibrated; got {text!r}") from None


UPGRADE_INDEX_EXAMPLES = (
    "upgrade-index old.npy new.npy old_queries.npy new_queries.npy",
    "upgrade-index old.npy new.npy old_queries.npy new_queries.npy --groups classes.csv "
    "--map map.npz",
    "upgrade-index old.npy new.npy old_queries.npy new_queries.npy --index all.npy "
    "--embed embed.py:vectors --html upgrade.html --open",
)


@output_command(
    FORMATS,
    files=("old", "new", "old_queries", "new_queries", "index", "groups", "relevant"),
    save="map_file",
    page="Write a page with the recalls to this file.",
    can_refuse=True,
)
def upgrade_index_command(
    old: Path,
    new: Path,
    old_queries: Path,
    new_queries: Path,
    context: typer.Context,
    progress: bool,
    index: Path | None = None,
    embed: str = "",
    k: int = 10,
    groups: Path | None = None,
    target: str = "new_model",
    metric: str = "euclidean",
    relevant: Path | None = None,
    min_recall: float = 0.9,
    map_file: Path | None = None,
    cost_per_document: float | None = None,
    cost_per_miss: float | None = None,
    maps: list[str] | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> IndexUpgrade:
    """Decide what to do with an index under a new embedding model: keep, map, re-rank or re-embed.

    Exit code 0: no document has to be re-embedded (keep the old model or the index; normalise, cut
    or map the stored vectors; map the queries; re-rank candidates). 1: some or all documents must
    be re-embedded. 4: the data do not decide. 2: a mistake in the call.
    """
    from ..versions import upgrade_index
    from ..versions.index_options import TRUTH_PHRASES, Goal
    from ..versions.index_search import SEARCH_METRICS, SearchMetric

    check_choice("--target", target, tuple(TRUTH_PHRASES))
    check_choice("--metric", metric, SEARCH_METRICS)
    if map_file is not None and map_file.suffix != ".npz":
        raise ValueError(f"--map needs a file name that ends in .npz; got {map_file}")
    classes = read_label_file(groups, "--groups")
    embed_function = load_user_function(embed) if embed else None
    arrays = [read_version(path) for path in (old, new, old_queries, new_queries)]
    query_ids, document_ids = (set(arrays[i].ids or ()) for i in (2, 0))
    with reworded_errors(_upgrade_error_with_options):
        result = upgrade_index(
            *arrays,
            index=None if index is None else read_version(index),
            embed=embed_function,
            k=k,
            groups=classes,
            target=cast(Goal, target),
            metric=cast(SearchMetric, metric),
            relevant=read_relevant(relevant, query_ids, document_ids),
            min_recall=min_recall,
            cost_per_document=cost_per_document,
            cost_per_miss=cost_per_miss,
            confidence_level=confidence_level,
            seed=seed,
            progress=progress,
            **({"maps": split_commas(maps)} if maps else {}),
        )
    if map_file is not None:
        try_to_write(context, "map", map_file, lambda: _save_chosen_map(result, map_file))
    return replace(result, provenance={**result.provenance, **run_provenance(context)})


def _save_chosen_map(result: IndexUpgrade, path: Path) -> None:
    """Write the map of the chosen option, or of the option whose candidates are re-ranked, to a
    file; raise ``ValueError`` if the decision has no map."""
    option = next((o for o in result.options if o.name == result.option), None)
    name = "" if option is None else option.base if option.candidates else option.name
    if name not in result.maps:
        raise ValueError(f"the decision is {result.decision}, which uses no map")
    result.map(name).save(path)


def read_relevant(
    path: Path | None, queries: set[Any], documents: set[Any]
) -> dict[Any, list[Any]] | None:
    """Return the relevant documents of every query, as lists by query, from a file with a pair of
    ids per line: query id, document id. None without a file.

    A whole number that is not among the ids ``queries`` or ``documents`` is a position. Raises
    ``ValueError``, naming the line, for anything else.
    """
    if path is None:
        return None
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise ValueError(
            f"--relevant {path}: pairs are read from .csv, .tsv or .txt files, with a query and a "
            "document on each line"
        )
    from ..models.tables import read_csv_rows

    relevant: dict[Any, list[Any]] = {}
    with reworded_errors(lambda text: f"--relevant: {text}"):
        rows = list(read_csv_rows(path, "," if path.suffix.lower() == ".csv" else "\t"))
    for number, row in rows:
        if not any(row) or (number == 1 and row == ["query", "document"]):
            continue
        if len(row) != 2:
            raise ValueError(
                f"--relevant {path}, line {number}: {len(row)} columns; give a query and a document"
            )
        query, document = (
            _parse_document_id(w.strip(), ids) for w, ids in zip(row, (queries, documents))
        )
        relevant.setdefault(query, []).append(document)
    return relevant


def _parse_document_id(word: str, ids: set[Any]) -> int | str:
    return int(word) if word.isdecimal() and word not in ids else word


def _upgrade_error_with_options(text: str) -> str:
    for name in (
        "index",
        "embed",
        "groups",
        "cost_per_document",
        "cost_per_miss",
        "min_recall",
        "target",
        "relevant",
        "maps",
        "confidence_level",
    ):
        option = f"--{name.replace('_', '-')}"
        text = re.sub(rf"^upgrade_index: {name} ", f"{option} ", text)
        text = text.replace(f"pass {name}", option)
    return text


HELP: HelpTexts = {
    "reference": "The old version: a .npy file (samples, features), or a folder of features.",
    "current": "The new version, for the same samples in the same order (with --unpaired: other "
    "samples).",
    "purpose": typer.Option(
        "--purpose",
        help="Which changes count as drift. index (the strictest): every change that harms a "
        "search for old vectors with new queries. head: every change that harms a classifier "
        "trained on the old version. geometry: only changes that no rotation, translation or "
        "rescaling can undo; exit code 0 then says nothing about old vectors or heads.",
    ),
    "threshold": '"calibrated" (default: from noise of size --tolerance), or one cut-off below 1 '
    "for all drifts on a 0-1 scale; 5 % is 0.05.",
    "tolerance": "Size of the noise of a calibrated threshold, in radii of the reference.",
    "labels": "A file with the class of each sample (.npy, .npz, .csv, .txt).",
    "paired": typer.Option(
        "--paired/--unpaired",
        help="--unpaired: the files contain different samples embedded by one model, such as the "
        "traffic of two days; test whether the distributions differ.",
    ),
    "batch_labels": "With --unpaired: the class of each sample of the current batch.",
    "max_samples": typer.Option(
        min=20,
        help="Number of samples to use, drawn at random; nearest neighbours are searched among all "
        "samples.",
    ),
    "k": typer.Option("--k", min=1, help="Number of nearest neighbours."),
    "n_resamples": typer.Option(
        min=10, help="Number of random halves for intervals and thresholds."
    ),
    "old": "Document vectors of the old model, a .npy file (documents, features).",
    "new": "Vectors of the same documents by the new model, in the same order.",
    "old_queries": "Query vectors of the old model.",
    "new_queries": "Vectors of the same queries by the new model, in the same order.",
    "index": "All vectors of the old index, if the documents above are only a sample.",
    "embed": "FILE.py:FUNCTION (the file is executed): the function takes positions in the index "
    "and returns the new vectors of these documents, for some thousands of documents.",
    "groups": "A file with the group of each query (.npy, .npz, .csv, .txt).",
    "metric": "The metric of the index: euclidean, cosine, or inner (the inner product).",
    "relevant": "A file (.csv, .tsv, .txt) with a query and a relevant document on each line, as "
    "ids or as positions from 0. If the new model does not find significantly more of the relevant "
    "documents, the decision is to stay with the old model.",
    "target": "The correct documents: new_model for the documents that the new model finds after "
    "re-embedding, old_model for the documents that the old model finds.",
    "min_recall": "The smallest acceptable recall, between 0 and 1.",
    "maps": "Maps from new to old vectors to try, orthogonal or affine (several with commas or "
    "repeated); default: both.",
    "map_file": typer.Option(
        "--map",
        help="Save the chosen map to this .npz file, for rs.load(FILE)(rows). The file says "
        "whether the map is for queries or for documents.",
    ),
    "cost_per_document": "Cost of embedding one document.",
    "cost_per_miss": "Cost of missing one document for one query, in the unit of "
    "--cost-per-document.",
}


commands = command_group(
    ("drift", drift_command, DRIFT_EXAMPLES),
    ("upgrade-index", upgrade_index_command, UPGRADE_INDEX_EXAMPLES),
    help=HELP,
)
