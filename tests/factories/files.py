"""Files of the tests: golden numbers, and code that is not in its file."""

from __future__ import annotations

import importlib.util
import marshal
import os
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def hide(code: str, path: Path) -> None:
    """Compile another code than its own for a file, as Python keeps it beside: so that it is not
    compared with the file."""
    compiled = Path(importlib.util.cache_from_source(str(path)))
    compiled.parent.mkdir(exist_ok=True)
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    compiled.write_bytes(head + marshal.dumps(compile(code, path.name, "exec")))


class Touching:
    """Code in a pickle, which makes a file when it runs."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.marker}",)
