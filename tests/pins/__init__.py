"""Pins: the present results of the package, computed through public names only, so that a correct
number cannot change unnoticed.

``scripts/pin.py`` writes a JSON file per section, and the text of pages (``pages.py``);
``tests/test_pins.py`` computes the results again and compares. Floats must agree to 1e-9
relatively, results in single precision to 1e-5, results that depend on the signs that LAPACK
chooses for singular vectors to 2 %, everything else exactly. Trained weights depend on processors
and versions, so digests of weights are compared only on a machine like the machine of the writer;
elsewhere norms of weights are compared, to 5 %.

A pin changes only in a commit that says why.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SECTIONS: Mapping[str, str] = {  # the name of a file, and the module whose function writes it
    "measures": "values",
    "hostile": "values",
    "statistics": "values",
    "comparisons": "values",
    "evidence": "certainty",
    "streams": "certainty",
    "drift": "certainty",
    "board": "rankings",
    "packs": "rankings",
    "papers": "rankings",
    "weights": "trainings",
    "names": "names",
}
TOLERANCE, SINGLE, SIGNS, TRAINED = 1e-9, 1e-5, 0.02, 0.05
ZERO = 1e-12  # what is zero but for rounding


def answers(section: str, scratch: Path) -> Any:
    """Ask the package, and return what JSON can hold. ``scratch``: a folder for files."""
    module = import_module(f"{__name__}.{SECTIONS[section]}")
    function: Callable[[Path], Any] = getattr(module, section)
    table = json.loads(json.dumps(function(scratch)))
    return table | {"machine": machine()} if "digests" in table else table


def machine() -> str:
    """What last bits depend on: the processor, and the versions of the libraries that compute."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else [platform.processor()]
    facts = [" ".join(line.split()) for line in lines if re.match("cpu family|model|^flags", line)]
    chip = hashlib.sha256("; ".join(sorted(set(facts))).encode()).hexdigest()[:16]
    names = ("numpy", "scipy", "torch", "torch_geometric", "transformers", "jinja2")
    return "; ".join([f"processor {chip}", *(f"{name} {version(name)}" for name in names)])


def file_of(section: str) -> Path:
    return FOLDER / f"{section}.json"


def pinned(section: str) -> Any:
    return json.loads(file_of(section).read_text())


def differences(expected: Any, actual: Any, where: str = "") -> Iterator[str]:
    """Yield a line for every entry that is not as pinned."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        elsewhere = {"machine"}
        if expected.get("machine") != actual.get("machine"):
            elsewhere.add("digests")
        for name in (expected.keys() | actual.keys()) - elsewhere:
            if name not in actual or name not in expected:
                yield f"{where}/{name}: {'gone' if name in expected else 'new'}"
            else:
                yield from differences(expected[name], actual[name], f"{where}/{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for i, (a, b) in enumerate(zip(expected, actual)):
            yield from differences(a, b, f"{where}/{i}")
    elif not is_equal(expected, actual, tolerance_of(where)):
        yield f"{where}: {expected!r} was pinned; got {actual!r}"


def tolerance_of(where: str) -> float:
    if "/pwcca[directions=resi]/" in where:
        return SIGNS
    return SINGLE if "/float32/" in where else TRAINED if "/norms/" in where else TOLERANCE


def is_equal(expected: Any, actual: Any, tolerance: float) -> bool:
    numbers = (int, float)
    if type(expected) is bool or not isinstance(expected, numbers):
        return bool(expected == actual)
    return isinstance(actual, numbers) and (
        math.isclose(expected, actual, rel_tol=tolerance, abs_tol=ZERO)
        or (math.isnan(expected) and math.isnan(actual))
    )
