"""Check the first batch: whether rows depend on more than their samples, and which axis is the
sample axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.extras import import_optional
from ..base.text import warn
from .axes import AxisError, SampleAxes
from .batches import Batch, last_samples_of_batch
from .one_batch import BatchResult

RERUN_SAMPLES = 2  # samples in the second run
# Relative changes above rounding errors, in a batch of the same size and of another size
CHANGE_TOLERANCE, SIZE_CHANGE_TOLERANCE = 0.02, 0.1
MAX_COMPARED_ROWS = 1000  # compared rows per layer
CHANCE_CAUSE, OTHER_SAMPLES_CAUSE = "chance", "the other samples of a batch"
DEPENDENCE_CAUSES = {
    CHANCE_CAUSE: "a second run on the same samples gives different values; likely causes are "
    "random numbers outside of modules (functional dropout needs training=self.training) and state "
    "kept between calls",
    OTHER_SAMPLES_CAUSE: "the same samples give different values in a smaller batch; likely causes "
    "are batch normalisation without running statistics, dynamic quantisation with a scale per "
    "batch, and a recurrent or attention module without batch_first=True",
}


def run_first_batch(
    title: str, batch: Batch, run: Callable[[Batch], BatchResult], axes: SampleAxes, device: Any
) -> tuple[BatchResult, str]:
    """Run the first batch; return two values: its rows, and the cause if rows depend on more than
    their samples ("chance" or "the other samples of a batch"), otherwise "".

    ``title``: the model in warnings. ``run``: the function that runs the model on a batch.
    ``axes``: updated in place. ``device``: of PyTorch. The last two samples of the batch run again
    alone. If this second run fails, the whole batch runs again. The sample axis of a result is the
    axis with the number of samples in both runs. Warns about such dependence, and about layers with
    uncertain axes. Raises ``ValueError`` for a layer without a sample axis.
    """
    # Not the first samples: a recurrent network that mistakes samples for steps gives the first
    # samples equal rows
    small_batch = last_samples_of_batch(batch, min(RERUN_SAMPLES, batch.samples - 1))
    full_batch = (
        batch if small_batch is None else last_samples_of_batch(batch, batch.samples) or batch
    )
    first_result, second_result = run(batch), None
    # Keep the random numbers of PyTorch for later batches
    with import_optional("torch").random.fork_rng(
        devices=[device] if device.type == "cuda" else []
    ):
        versions = [] if small_batch is None else _tensor_versions(small_batch)
        if small_batch is not None:
            axes.few = small_batch.samples
            try:
                second_result = run(small_batch)
            except AxisError:
                raise
            except ValueError:  # the model may accept only one batch size
                pass
        if axes.end_first():
            first_result = run(full_batch)
        for note in first_result.notes:
            warn(f"{title}: {note}")
        if small_batch is None or second_result is None:
            versions, second_result = _tensor_versions(batch), None
            try:
                second_result = run(batch)
            except ValueError:
                return first_result, ""
            checked_batch = batch
        else:
            checked_batch = small_batch
        if _tensor_versions(checked_batch) != versions or not _first_changed_layer(
            first_result, second_result, CHANGE_TOLERANCE
        ):
            # A model that works in place changes the samples of a second run
            return first_result, ""
        return first_result, _warn_of_dependence(
            title, first_result, second_result, run, checked_batch, checked_batch is small_batch
        )


def _warn_of_dependence(
    title: str,
    first_result: BatchResult,
    second_result: BatchResult,
    run: Callable[[Batch], BatchResult],
    checked_batch: Batch,
    is_smaller: bool,
) -> str:
    cause = CHANCE_CAUSE
    layer = _first_changed_layer(second_result, run(checked_batch), CHANGE_TOLERANCE)
    if not layer and is_smaller:
        cause = OTHER_SAMPLES_CAUSE
        layer = _first_changed_layer(first_result, second_result, SIZE_CHANGE_TOLERANCE)
    if layer:
        warn(f"{title}: its layer {layer!r} depends on {cause}: {DEPENDENCE_CAUSES[cause]}")
    return cause if layer else ""


def _tensor_versions(batch: Batch) -> list[int]:
    """Return the number of in-place changes of each tensor of a batch."""
    values = (*batch.arguments, *batch.keywords.values())
    return [v._version for v in values if hasattr(v, "layout") and not v.is_inference()]


def _first_changed_layer(
    first_result: BatchResult, second_result: BatchResult, limit: float
) -> str:
    """Return the first layer whose rows in the second result differ from the last rows in the first
    result; "" without such a layer.

    Rows differ if the norm of the difference is more than ``limit`` times the larger of the norms
    of the rows.
    """
    first_rows, second_rows = map(_rows_by_layer_and_pool, (first_result, second_result))
    for key in (key for key in second_rows if key in first_rows):
        y = to_numpy(second_rows[key][-MAX_COMPARED_ROWS:]).astype(np.float64)
        x = to_numpy(first_rows[key][-len(y) :]).astype(np.float64)
        if x.shape == y.shape:
            size = max(np.linalg.norm(x), np.linalg.norm(y))
            if np.linalg.norm(x - y) > limit * size:
                return str(key[0])
    return ""


def _rows_by_layer_and_pool(result: BatchResult) -> dict[tuple[Any, ...], Any]:
    rows = {(*key, pool): x for pool, layers in result.rows.items() for key, x in layers.items()}
    return rows if result.logits is None else {**rows, ("outputs",): result.logits}
