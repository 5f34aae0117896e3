"""The data, the machine and the library versions behind a run."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..base.arrays import array_library
from ..base.formatting import count_with_noun
from ..data.representation import Representation, data_key

MEASURE_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
RUN_LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "transformers",
    "torch-geometric",
    "numba",
)


def describe_machine() -> str:
    """Return the processor, the number of cores, and the system: "AMD EPYC 7B13, 2 cores, Linux 6.1
    x86_64"."""
    cores = os.cpu_count() or 1
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return f"{processor_name()}, {count_with_noun(cores, 'core')}, {system}"


def processor_name(info: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor in the file ``info``, or the architecture if the system has
    no name."""
    try:
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, [*names, platform.processor()]), platform.machine())


def environment_versions(modules: Iterable[str] = ()) -> dict[str, Any]:
    """Return the versions of this library, Python, the installed libraries behind measures, and
    the imported modules with the names ``modules``; and the architecture."""
    installed = library_versions()
    libraries = {name: installed[name] for name in MEASURE_LIBRARIES if name in installed}
    for name in set(modules) - set(libraries):
        libraries[name] = str(getattr(sys.modules[name], "__version__", "unknown"))
    return {
        "resemblance": installed["resemblance"],
        "python": installed["python"],
        "machine": platform.machine(),
        "libraries": libraries,
    }


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """Return the versions, by name, of this library, Python, and the installed libraries used by
    runs."""
    from .. import __version__

    versions = {"resemblance": __version__, "python": platform.python_version()}
    for name in RUN_LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def comparison_provenance(
    rows: Sequence[Representation], columns: Sequence[Representation]
) -> dict[str, Any]:
    """Return the provenance of a comparison: for each representation by name its fingerprint,
    number of features and precision; the number of samples; and the versions of libraries."""
    modules = {array_library(r.source) for r in [*rows, *columns]}
    return {
        **environment_versions(modules),
        "n_samples": rows[0].n_samples,
        "rows": {r.name: _data_identity(r) for r in rows},
        "columns": {r.name: _data_identity(r) for r in columns},
    }


def _data_identity(x: Representation) -> dict[str, Any]:
    return {
        "fingerprint": data_key(x),
        "n_features": x.shape[1],
        "dtype": x.origin.dtype if x.origin else str(x.source.dtype).removeprefix("torch."),
        "computed_in": x.dtype,
    }


def fingerprints_by_name(
    rows: Iterable[str], columns: Iterable[str], provenance: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the fingerprints, in ``provenance``, of the data with the names ``rows`` and of the
    data with the names ``columns``."""
    first, second = provenance["rows"], provenance["columns"]
    row_fingerprints = [first[name]["fingerprint"] for name in rows]
    return row_fingerprints, [second[name]["fingerprint"] for name in columns]
