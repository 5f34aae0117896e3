"""What the rows of the first batch depend on, and which of their axes has the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.extras import need
from ..base.text import warn
from .axes import AxisError, SampleAxes
from .batches import Batch, last_of
from .one_batch import BatchResult

AGAIN = 2  # samples that run again
# Of the length of rows: rounding changes less in a batch of one size, and of another one
CHANGED, CHANGED_BY_SIZE = 0.02, 0.1
ROWS = 1000  # that are compared
CHANCE, OTHERS = "chance", "the other samples of a batch"
CAUSES = {
    CHANCE: "the same samples give other values when they run again; evaluation mode does not "
    "reach what draws random numbers (functional dropout needs training=self.training) or keeps a "
    "state between calls",
    OTHERS: "the same samples give other values in a smaller batch; usual causes are batch "
    "normalisation without running statistics, and a recurrent or attention module without "
    "batch_first=True",
}


def run_first(
    called: str, batch: Batch, run: Callable[[Batch], BatchResult], axes: SampleAxes, device: Any
) -> tuple[BatchResult, str]:
    """Run the first batch, and return its rows, and on what they depend besides its samples.

    The last samples run again alone: the last, because a recurrent network that takes samples for
    steps gives the first ones the same. The axis of a result that has their number is the one with
    the samples. Warns where rows depend on more, and of layers whose axes may be others.

    Raises ``ValueError`` for a layer that has no such axis.
    """
    few = last_of(batch, min(AGAIN, batch.samples - 1))
    whole = batch if few is None else last_of(batch, batch.samples) or batch
    first, again = run(batch), None
    # What PyTorch draws for later batches stays as it is
    with need("torch").random.fork_rng(devices=[device] if device.type == "cuda" else []):
        written = [] if few is None else _written(few)
        if few is not None:
            axes.few = few.samples
            try:
                again = run(few)
            except AxisError:
                raise
            except ValueError:  # of a model that takes batches of one size
                pass
        if axes.end_first():
            first = run(whole)
        for note in first.notes:
            warn(f"{called}: {note}")
        if few is None or again is None:
            written, again = _written(batch), None
            try:
                again = run(batch)
            except ValueError:
                return first, ""
            part = batch
        else:
            part = few
        if _written(part) != written or not _changed(first, again, CHANGED):
            return first, ""  # a model that works in place has other samples when it runs again
        return first, _warned(called, first, again, run, part, part is few)


def _warned(
    called: str,
    first: BatchResult,
    again: BatchResult,
    run: Callable[[Batch], BatchResult],
    part: Batch,
    is_smaller: bool,
) -> str:
    what, layer = CHANCE, _changed(again, run(part), CHANGED)
    if not layer and is_smaller:
        what, layer = OTHERS, _changed(first, again, CHANGED_BY_SIZE)
    if layer:
        warn(f"{called}: its layer {layer!r} depends on {what}: {CAUSES[what]}")
    return what if layer else ""


def _written(batch: Batch) -> list[int]:
    """Return how often each tensor of a batch was written."""
    values = (*batch.arguments, *batch.keywords.values())
    return [v._version for v in values if hasattr(v, "layout") and not v.is_inference()]


def _changed(before: BatchResult, after: BatchResult, limit: float) -> str:
    """Return the first layer whose last rows differ by more than a share of their length."""
    old, new = map(_by_layer, (before, after))
    for key in (key for key in new if key in old):
        y = to_numpy(new[key][-ROWS:]).astype(np.float64)
        x = to_numpy(old[key][-len(y) :]).astype(np.float64)
        if x.shape == y.shape:
            size = max(np.linalg.norm(x), np.linalg.norm(y))
            if np.linalg.norm(x - y) > limit * size:
                return str(key[0])
    return ""


def _by_layer(result: BatchResult) -> dict[tuple[Any, ...], Any]:
    rows = {(*key, pool): x for pool, layers in result.rows.items() for key, x in layers.items()}
    return rows if result.logits is None else {**rows, ("outputs",): result.logits}
