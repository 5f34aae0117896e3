"""Optional dependencies: imported when needed, or named with the command that installs them."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

EXTRA = {
    "anndata": "bio",
    "distributed": "scale",
    "faiss": "neighbours",
    "jinja2": "report",
    "matplotlib": "plot",
    "matplotlib.pyplot": "plot",
    "numba": "topology",
    "ot": "transport",
    "pandas": "frames",
    "PIL.Image": "models",
    "PIL.ImageEnhance": "models",
    "PIL.ImageOps": "models",
    "pyarrow": "frames",
    "pyarrow.parquet": "frames",
    "safetensors": "models",
    "torch": "torch",
    "torch_geometric.data": "models",
    "torch_geometric.datasets": "models",
    "torch_geometric.nn": "models",
    "torch_geometric.utils": "models",
    "transformers": "models",
    "xarray": "frames",
}
CONTAINED = {  # extras that another includes
    "models": ("torch", "report"),
    "resi": ("models", "torch", "topology", "report", "frames"),
}
INSTALLED_AS = {
    "PIL": "pillow",
    "faiss": "faiss-cpu",
    "ot": "POT",
    "torch_geometric": "torch-geometric",
}
NEEDS = "needs an optional dependency"  # the start of the reason why a measure was left out


def need(package: str) -> Any:
    """Import an optional package, or raise ``ImportError`` with the command that installs it."""
    check(package)
    return importlib.import_module(package)


def check(package: str) -> None:
    """Raise the ``ImportError`` of :func:`need` without importing the package."""
    name = package.partition(".")[0]
    if not _is_installed(name):
        raise ImportError(f"{name} is not installed: {install_hint(EXTRA[package], name)}")


def check_together(*packages: str, also: tuple[str, ...] = ()) -> None:
    """Raise one ``ImportError`` for all packages that are not installed, with one command.

    ``also``: packages that the same work needs later, named if another one is missing.
    """
    absent = _absent(packages)
    if not absent:
        return
    absent = _absent((*packages, *also))
    names = [package.partition(".")[0] for package in absent]
    if len(absent) == 1:
        check(absent[0])
    extras = dict.fromkeys((*EXTRA.values(), *CONTAINED))
    fitting = [extra for extra in extras if set(names) <= set(packages_of(extra))]
    separate = ",".join(sorted({EXTRA[package] for package in absent}))
    extra = min(fitting, key=lambda name: len(packages_of(name)), default=separate)
    raise ImportError(
        f"{', '.join(names[:-1])} and {names[-1]} are not installed: {install_hint(extra, *names)}"
    )


def _absent(packages: tuple[str, ...]) -> list[str]:
    parts = {package.partition(".")[0]: package for package in reversed(packages)}
    return [package for name, package in reversed(parts.items()) if not _is_installed(name)]


def packages_of(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra, by the names that are imported."""
    extras = (extra, *CONTAINED.get(extra, ()))
    modules = [module for module, its_extra in EXTRA.items() if its_extra in extras]
    return tuple(dict.fromkeys(module.partition(".")[0] for module in modules))


def install_hint(extra: str, *packages: str) -> str:
    """Return the command that installs an extra, or only these packages of it.

    It names this package only by the folder it was installed from, never by its name, which may be
    that of another package in an index.
    """
    folder, editable = _checkout()
    if folder:
        return f'pip install {"-e " if editable else ""}"{folder}[{extra}]"'
    contents = packages_of(extra)
    absent = packages or [name for name in contents if not _is_installed(name)] or contents
    return f"pip install {' '.join(INSTALLED_AS.get(name, name) for name in absent)}"


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _checkout() -> tuple[Path | None, bool]:
    """Return the folder of the source if it still exists, and whether the package runs from it."""
    here = Path(__file__).resolve().parents[2]
    if _is_ours(here):
        return here, True
    try:
        text = importlib.metadata.distribution("resemblance").read_text("direct_url.json")
        url = urlsplit(json.loads(text or "{}").get("url", ""))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None, False
    folder = Path(unquote(url.path))
    return (folder, False) if url.scheme == "file" and _is_ours(folder) else (None, False)


def _is_ours(folder: Path) -> bool:
    try:
        return 'name = "resemblance"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
