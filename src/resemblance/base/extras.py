"""Optional dependencies: import packages on demand, or report the install command."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from .formatting import join_words

EXTRA_OF_PACKAGE = {
    "anndata": "bio",
    "distributed": "scale",
    "faiss": "neighbors",
    "jinja2": "report",
    "matplotlib": "plot",
    "matplotlib.pyplot": "plot",
    "numba": "topology",
    "onnx": "onnx",
    "onnxruntime": "onnx",
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
CONTAINED_EXTRAS = {  # extras included in a larger extra
    "models": ("torch", "report"),
    "onnx": ("torch",),
    "resi": ("models", "torch", "topology", "report", "frames"),
}
DISTRIBUTION_NAMES = {
    "PIL": "pillow",
    "faiss": "faiss-cpu",
    "ot": "POT",
    "torch_geometric": "torch-geometric",
}
# The start of the reason why a measure was skipped
MISSING_DEPENDENCY = "needs an optional dependency"


def import_optional(package: str) -> Any:
    """Import an optional package and return the module, or raise ``ImportError`` with the install
    command. ``package``: a key of ``EXTRA_OF_PACKAGE``, or a module of an installed package."""
    require_package(package)
    return importlib.import_module(package)


def require_package(package: str) -> None:
    """Raise the ``ImportError`` of :func:`import_optional` if the package is not installed, without
    importing the package."""
    name = package.partition(".")[0]
    if not _is_package_installed(name):
        raise ImportError(
            f"{name} is not installed: {install_hint(EXTRA_OF_PACKAGE[package], name)}"
        )


def require_packages(*packages: str, also: tuple[str, ...] = ()) -> None:
    """Raise a single ``ImportError`` with a single install command for all packages not installed;
    otherwise do nothing.

    ``packages``: keys of ``EXTRA_OF_PACKAGE``. ``also``: packages needed later by the same task.
    The error names the missing packages of ``also`` only if a package of ``packages`` is missing.
    """
    modules = _missing_packages(packages)
    if not modules:
        return
    modules = _missing_packages((*packages, *also))
    names = [package.partition(".")[0] for package in modules]
    if len(modules) == 1:
        require_package(modules[0])
    extras = dict.fromkeys((*EXTRA_OF_PACKAGE.values(), *CONTAINED_EXTRAS))
    candidates = [extra for extra in extras if set(names) <= set(packages_in_extra(extra))]
    separate = ",".join(sorted({EXTRA_OF_PACKAGE[package] for package in modules}))
    extra = min(candidates, key=lambda name: len(packages_in_extra(name)), default=separate)
    raise ImportError(f"{join_words(names)} are not installed: {install_hint(extra, *names)}")


def _missing_packages(packages: tuple[str, ...]) -> list[str]:
    parts = {package.partition(".")[0]: package for package in reversed(packages)}
    return [package for name, package in reversed(parts.items()) if not _is_package_installed(name)]


def packages_in_extra(extra: str) -> tuple[str, ...]:
    """Return the import names of the packages in an extra, such as "plot", and in the extras that
    it contains."""
    extras = (extra, *CONTAINED_EXTRAS.get(extra, ()))
    modules = [module for module, candidate in EXTRA_OF_PACKAGE.items() if candidate in extras]
    return tuple(dict.fromkeys(module.partition(".")[0] for module in modules))


def install_hint(extra: str, *packages: str) -> str:
    """Return the shell command to install an extra, or only the given packages of the extra.

    With a source folder of this package, the command installs the whole extra from the folder.
    Without a folder, the command installs ``packages`` (import names), by default the missing
    packages of the extra. The command never names this package: another package could own the name
    in a package index.
    """
    folder, editable = _source_checkout()
    if folder:
        return f'pip install {"-e " if editable else ""}"{folder}[{extra}]"'
    contents = packages_in_extra(extra)
    modules = packages or [name for name in contents if not _is_package_installed(name)] or contents
    return f"pip install {' '.join(DISTRIBUTION_NAMES.get(name, name) for name in modules)}"


def _is_package_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _source_checkout() -> tuple[Path | None, bool]:
    """Return the source folder of this package, and whether the installation is editable; (None,
    False) without a folder."""
    root = Path(__file__).resolve().parents[2]
    if _is_resemblance_project(root):
        return root, True
    try:
        text = importlib.metadata.distribution("resemblance").read_text("direct_url.json")
        url = urlsplit(json.loads(text or "{}").get("url", ""))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None, False
    folder = Path(unquote(url.path))
    if url.scheme == "file" and _is_resemblance_project(folder):
        return folder, False
    return None, False


def _is_resemblance_project(folder: Path) -> bool:
    try:
        return 'name = "resemblance"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
