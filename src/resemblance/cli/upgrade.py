"""The command that says whether an index can be kept under a new embedding model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from ..drift import Upgrade, upgrade
from ..drift.advice import TRUTHS, Goal
from ..json_files import replacing
from ..report.of_upgrade import output_of
from ..report.output import Output
from .declaring import Seed, commands_of, run_provenance, writing
from .drift import Neighbours, read_version
from .labels import read_labels
from .options import check_choice, own_function, rewording

UPGRADE = (
    "upgrade old.npy new.npy old_queries.npy new_queries.npy",
    "upgrade old.npy new.npy old_queries.npy new_queries.npy --groups classes.csv --map map.npz",
    "upgrade old.npy new.npy old_queries.npy new_queries.npy --index all.npy "
    "--embed embed.py:vectors --html upgrade.html --open",
)

Old = Annotated[
    Path, typer.Argument(help="Documents by the old model, a .npy file (documents, features).")
]
New = Annotated[
    Path, typer.Argument(help="The same documents by the new model, in the same order.")
]
OldQueries = Annotated[Path, typer.Argument(help="Queries by the old model.")]
NewQueries = Annotated[Path, typer.Argument(help="The same queries by the new model.")]
Index = Annotated[
    Path | None,
    typer.Option(help="All old vectors, where the documents above are a sample of them."),
]
Embed = Annotated[
    str,
    typer.Option(
        help="FILE.py:FUNCTION, which is run: it takes positions in the index and returns their "
        "new vectors, for some thousands of documents."
    ),
]
Groups = Annotated[
    Path | None, typer.Option(help="A file with the group of each query (.npy, .npz, .csv, .txt).")
]
GoalName = Annotated[
    str,
    typer.Option(
        "--goal",
        help="as_new: find what the new model would find. as_before: find what the old one did.",
    ),
]
Accept = Annotated[float, typer.Option(help="The recall that is enough, between 0 and 1.")]
MapFile = Annotated[
    Path | None,
    typer.Option("--map", help="Save the map of queries that is chosen to this .npz file."),
]
Price = Annotated[float | None, typer.Option(help="What embedding one document costs.")]
Loss = Annotated[
    float | None,
    typer.Option(help="What one lost document of one query costs, in the unit of --price."),
]


@writing(
    ("table", "json", "csv", "markdown", "latex"),
    files=("old", "new", "old_queries", "new_queries", "index", "groups"),
    page="Write a page with the recalls.",
)
def upgrade_command(
    old: Old,
    new: New,
    old_queries: OldQueries,
    new_queries: NewQueries,
    context: typer.Context,
    progress: bool,
    index: Index = None,
    embed: Embed = "",
    k: Neighbours = 10,
    groups: Groups = None,
    goal: GoalName = "as_new",
    accept: Accept = 0.9,
    map_file: MapFile = None,
    price: Price = None,
    loss: Loss = None,
    seed: Seed = 0,
) -> Output:
    """Say whether an index can be kept under a new embedding model: keep, bridge or embed again.

    The exit code is 0 if the old index can be kept, with queries as they are or mapped; 1 if all
    documents must be embedded again, or if the data do not decide; 2 for a mistake in the call.
    """
    check_choice("goal", goal, tuple(TRUTHS))
    if map_file is not None and map_file.suffix != ".npz":
        raise ValueError(f"--map writes a .npz file; got {map_file}")
    options: dict[str, Any] = {"groups": read_labels(groups, "--groups"), "accept": accept, "k": k}
    options |= {"embed": own_function(embed) if embed else None, "price": price, "loss": loss}
    with rewording(_for_terminals):
        result = upgrade(
            read_version(old),
            read_version(new),
            (read_version(old_queries), read_version(new_queries)),
            index=None if index is None else read_version(index),
            goal=cast(Goal, goal),
            seed=seed,
            progress=progress,
            **options,
        )
    if map_file is not None:
        _save_map(result, map_file)
    return output_of(result, run_provenance(context))


def _save_map(result: Upgrade, path: Path) -> None:
    if result.option not in result.maps:
        way = result.option or result.decision
        raise ValueError(f"--map: there is no map to save; the decision is {way}")
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **result.map()._asdict())


def _for_terminals(text: str) -> str:
    for name in ("index", "embed", "groups", "price", "loss", "accept", "goal"):
        text = text.replace(f"upgrade: {name} ", f"--{name} ").replace(f"pass {name}", f"--{name}")
    return text


commands = commands_of(("upgrade", upgrade_command, UPGRADE))
