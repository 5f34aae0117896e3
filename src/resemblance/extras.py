"""Optional dependencies: imported when they are needed, and named with the extra that installs them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

EXTRA = {
    "anndata": "bio",
    "faiss": "neighbours",
    "jinja2": "report",
    "matplotlib": "report",
    "matplotlib.figure": "report",
    "numba": "topology",
    "pandas": "frames",
    "pyarrow": "frames",
    "torch": "torch",
    "torch_geometric.nn": "resi",
    "transformers": "resi",
    "xarray": "frames",
}


def need(package: str) -> Any:
    """Import an optional package, or raise ``ImportError`` naming the extra that installs it."""
    check(package)
    return importlib.import_module(package)


def check(package: str) -> None:
    """Raise the ``ImportError`` of :func:`need` without importing the package."""
    if importlib.util.find_spec(package.partition(".")[0]) is None:
        raise ImportError(f'{package.partition(".")[0]} is not installed: pip install "resemblance[{EXTRA[package]}]"')
