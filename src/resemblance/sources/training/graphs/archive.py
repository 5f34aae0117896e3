"""The graph models that the authors of ReSi trained and published, in place of a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....extras import need
from ...recipe import Recipe
from ..loop import Resources
from ..released import released, weights_in
from .paper import new_network

ARCHITECTURES = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "PGNN"}
SETTINGS = {"normal": "Normal", "layers": "MultiLayer"}
GROUPS = {"labels": "RandomLabels", "shortcut": "Shortcut", "augmentation": "Augmentation"}


def load(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Return the weights of the authors' model of a recipe, by the names that
    :func:`.train.extract` expects.

    The file is ``models/graphs/<data>/<architecture>/<setting>/model_s<seed>.pt`` below the archive
    or a folder ``experiments`` in it: ``models/graphs/cora/GAT/RandomLabels_25/model_s0.pt``. It is
    read as :func:`.weights_in` does, which runs no code of the file.

    PyTorch Geometric before 2.5 stores the one matrix of a GAT layer twice, as ``lin_src`` and
    ``lin_dst``; the authors' P-GNN its first layer, as ``init_conv`` and ``convs.0``. One of the
    two is taken, and must be equal to the other. The files hold no anchor sets, so a P-GNN only
    gives representations with ``anchors="redrawn"``, as in the authors' code.

    Raises ``ValueError`` that names the file if it is missing, damaged, or of another network.
    """
    if recipe.options.get("anchors") == "of training":
        raise ValueError(
            f"{recipe.name}: the archive has no anchor sets of P-GNN; choose the hyperparameters "
            "resi-code, with which they are redrawn"
        )
    path = released(recipe, resources, _place(recipe))
    weights = {name: value.detach().numpy() for name, value in weights_in(path).items()}
    state = _renamed(weights, path)
    with need("torch").device("meta"):  # names and shapes, without drawing any numbers
        network = new_network(recipe, resources)
    expected = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    shapes = {name: values.shape for name, values in state.items()}
    wrong = [name for name in expected | shapes if expected.get(name) != shapes.get(name)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{path} is not the {recipe.architecture} of this recipe: {name} is "
            f"{shapes.get(name, 'missing')}, expected {expected.get(name, 'none')}"
        )
    return state


def _place(recipe: Recipe) -> Path:
    """Return the file of a recipe, below the archive."""
    setting = SETTINGS.get(recipe.setting)
    if setting is None:
        setting = f"{GROUPS[recipe.setting]}_{round(100 * recipe.strength)}"
    folder = Path("models", "graphs", recipe.dataset, ARCHITECTURES[recipe.architecture], setting)
    return folder / f"model_s{recipe.seed}.pt"


def _renamed(state: dict[str, np.ndarray], path: Path) -> dict[str, np.ndarray]:
    """Return weights with today's names, without those that are stored twice."""
    result: dict[str, np.ndarray] = {}
    for name, values in state.items():
        today = name.replace("lin_src.", "lin.").replace("lin_dst.", "lin.")
        today = (
            f"convs.0.{today.removeprefix('init_conv.')}"
            if name.startswith("init_conv.")
            else today
        )
        if not np.array_equal(result.setdefault(today, values), values):
            raise ValueError(f"{path} has two different {today}, one of them as {name}")
    return result
