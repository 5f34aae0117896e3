"""What every measure copies from a device to the host, found by watching it compute on tensors.

``python docs/_scripts/write_tables.py devices`` writes the table of the page about GPUs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

import resemblance as rs
from resemblance.base import arrays
from resemblance.checks.data import with_repeats
from resemblance.data import representation
from resemblance.data.representation import check_all_finite

TABLE = Path(__file__).parents[1] / "_generated" / "devices.md"
SAMPLES, FEATURES, OTHERS, CLASSES = 61, 14, 17, 5
NEIGHBORS, DRAWN = 2, 20
MORE = 11  # samples beyond the nearest that are looked at, at most

# From the least to the most. Numbers are never more than one for every sample or feature.
KINDS = (
    "numbers",
    "lists of neighbours",
    "a matrix of features by features",
    "the samples drawn",
    "the array",
    "a matrix of samples by samples",
)
VARIANTS = (
    "cka[kernel=rbf]",
    "hard_correlation_match[matching=greedy]",
    "jaccard[search=hnsw]",
    "rsa[compare=kendall]",
    "rsm_norm_difference[norm=spectral]",
)


def devices() -> dict[str, str]:
    """Return what leaves the device, one of ``KINDS``, for every measure and some variants."""
    return {m.spec: largest_that_leaves(m) for m in (*rs.list_measures(), *variants())}


def variants() -> list[rs.Measure]:
    return [rs.get_measure(spec) for spec in VARIANTS]


def largest_that_leaves(m: rs.Measure) -> str:
    """Return the kind of the largest array that a measure copies from tensors to the host."""
    x, y = (with_repeats(m, rs.Representation(data)) for data in data_for(m))
    for r in (x, y):
        check_all_finite(r)  # that the data are numbers is no part of a measure
    with watching() as shapes:
        for_few(m)(x, y)
    return max((kind_of(shape) for shape in shapes), key=KINDS.index, default=KINDS[0])


def kind_of(shape: tuple[int, ...]) -> str:
    """Return the kind of an array, by its shape: the numbers of samples and features differ."""
    if len(shape) < 2 and sum(shape) <= SAMPLES:
        return "numbers"
    if shape in ((SAMPLES, SAMPLES), (SAMPLES * (SAMPLES - 1) // 2,)):
        return "a matrix of samples by samples"
    rows, columns = shape
    if columns in (FEATURES, OTHERS, CLASSES):
        row_kinds = {SAMPLES: "the array", DRAWN: "the samples drawn"}
        return row_kinds.get(rows, "a matrix of features by features")
    if rows <= SAMPLES and columns <= NEIGHBORS + MORE:
        return "lists of neighbours"
    raise ValueError(f"devices: an array of shape {shape} leaves the device: what is it?")


def data_for(m: rs.Measure) -> tuple[Any, Any]:
    """Return two tensors; of outputs they are logits of the same classes."""
    rng = np.random.default_rng(0)
    if m.family == "outputs":
        a, b = np.log(rng.dirichlet(np.ones(CLASSES), size=(2, SAMPLES)))
    else:
        a = rng.standard_normal((SAMPLES, FEATURES))
        width = FEATURES if m.needs_equal_columns else OTHERS
        b = np.tanh(a @ rng.standard_normal((FEATURES, width)))
    return torch.asarray(a), torch.asarray(b)


def for_few(m: rs.Measure) -> rs.Measure:
    """Return the measure with parameters for few samples."""
    small_values = {"k": NEIGHBORS, "subsample": DRAWN, "repeats": 1}
    if m.name == "accuracy_difference":
        return m.with_parameters(labels=tuple(i % CLASSES for i in range(SAMPLES)))
    fits = m.name != "subspace_overlap"  # whose k counts directions
    return m.with_parameters(
        **{name: small_values[name] for name in small_values.keys() & m.defaults.keys() if fits}
    )


@contextmanager
def watching() -> Iterator[list[tuple[int, ...]]]:
    """Yield the shapes of all that is copied from tensors to the host in this block.

    Raises ``TypeError`` for a copy by any other way than ``to_numpy``, as a tensor on a device
    would.
    """
    shapes: list[tuple[int, ...]] = []
    door: list[bool] = []  # holds something while to_numpy copies
    copy, convert = arrays.to_numpy, torch.Tensor.__array__

    def watched(array: Any) -> np.ndarray:
        if not isinstance(array, np.ndarray):
            shapes.append(tuple(array.shape))
        door.append(True)
        try:
            return copy(array)
        finally:
            door.pop()

    def as_on_a_device(tensor: Any, *args: Any, **keywords: Any) -> np.ndarray:
        if not door:
            raise TypeError("can't convert a tensor on a device to NumPy; use to_numpy")
        return convert(tensor, *args, **keywords)

    with ExitStack() as stack:
        # Tensors on an accelerator are not hashed to notice a change.
        stack.enter_context(patch.object(representation, "content_version", id))
        for module in users(copy):
            stack.enter_context(patch.object(module, "to_numpy", watched))
        stack.enter_context(patch.object(torch.Tensor, "__array__", as_on_a_device))
        yield shapes


def users(copy: Any) -> list[ModuleType]:
    """Return the modules of the library that use the function ``to_numpy``."""
    modules = [module for name, module in sys.modules.items() if name.startswith("resemblance.")]
    return [module for module in modules if getattr(module, "to_numpy", None) is copy]


def table() -> str:
    """Return the table of the kinds, with the measures of each."""
    kinds = devices()
    rows = []
    for kind in KINDS:
        names = [f"`{spec}`" for spec, leaves in kinds.items() if leaves == kind]
        rows.append(f"| {kind} | {', '.join(names)} |")
    return "\n".join(["| leaves the device | measures |", "|---|---|", *rows]) + "\n"
