"""Models in files of PyTorch: exported programs, and why others are refused."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...extras import need

PICKLES = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".pickle", ".ts", ".torchscript")
SUFFIXES = (".pt2", *PICKLES)
CODE = ("aotinductor", "opaque_obj", "custom_obj")  # parts of an export that are libraries, pickles
FORCED, FORBIDDEN = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
BY_CODE = (
    "write a function that builds the model and loads its weights (torch.load with "
    "weights_only=True), and name it as file.py:function"
)


def read_exported(file: str, kind: str | None) -> tuple[Any, None, dict[str, Any]]:
    """Return the model in a file of ``torch.export.save``, with its modules as they were.

    Raises ``ValueError`` for another file: TorchScript does not show what its layers return, and
    pickles, of whole models or of weights, would run code or lack the model. An export with
    compiled libraries or with pickled objects is refused for the same reason.
    """
    path = Path(file)
    if path.suffix != ".pt2":
        raise ValueError(f"load_model: {path} {_problem(path)}; {BY_CODE}")
    torch = need("torch")
    try:
        with warnings.catch_warnings(), _without_pickles(path):
            warnings.simplefilter("ignore")  # of PyTorch about its inner parts
            # The flat module of a program has no layers that can be watched
            return torch.export.unflatten(torch.export.load(path)), None, {"file": path.name}
    except Exception as error:  # whatever a damaged file causes
        reason = str(error).partition(". ")[0]  # then PyTorch recommends to run the pickle
        raise ValueError(
            f"load_model: {path} cannot be read by torch.export.load ({reason}); save it by "
            "torch.export.save, with the same version of PyTorch and tensors only"
        ) from error


@contextmanager
def _without_pickles(path: Path) -> Iterator[None]:
    """Have PyTorch refuse pickles that may run code, which it would read where tensors fail."""
    with zipfile.ZipFile(path) as archive:
        parts = {part for name in archive.namelist() for part in Path(name).parts}
    if any(part.startswith(CODE) for part in parts):
        raise ValueError("it holds compiled libraries or pickled objects, which may run code")
    before = {name: os.environ.pop(name, None) for name in (FORCED, FORBIDDEN)}
    os.environ[FORCED] = "1"
    try:
        yield
    finally:
        del os.environ[FORCED]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def check_hooks(torch: Any, module: Any, name: str) -> None:
    """Raise ``ValueError`` for a model with a part in TorchScript, whose layers show nothing."""
    for part, inner in module.named_modules():
        if isinstance(inner, torch.jit.ScriptModule):
            where = f"its part {part!r}" if part else "it"
            raise ValueError(
                f"load_model: {name} cannot be watched: {where} is TorchScript, which does not "
                "show what its layers return; pass the model before torch.jit.script or "
                "torch.jit.trace, or save it by torch.export"
            )


def _problem(path: Path) -> str:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(Path(name).name == "constants.pkl" for name in archive.namelist()):
                return (
                    "is TorchScript, which does not show what its layers return; save the model by "
                    "torch.export.save as .pt2, or"
                )
    return "is a pickle, which may run code when it is read, or holds weights without a model"
