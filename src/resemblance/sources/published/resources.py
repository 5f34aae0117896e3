"""What a training on real data needs besides its recipe: where the data are, what it runs on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PRECISIONS = ("float32", "bfloat16", "float16")


class Resources(NamedTuple):
    """What a training on real data needs besides its recipe, and what no recipe depends on.

    ``data``: the folder with all data sets and pretrained weights. ``download``: whether a library
    that can download a data set may do so into that folder. ``device``: of PyTorch, such as "cpu"
    or "cuda:1"; None for the first accelerator there is, otherwise the processor. ``precision``: of
    the products of matrices in vision and language models, with weights in float32.
    ``checkpoints``: the folder where a training keeps its state, every ``every`` seconds; None for
    nowhere. ``archive``: the folder of the authors' trained models, where these take the place of
    training.
    """

    data: Path
    download: bool = False
    device: str | None = None
    precision: str = "float32"
    checkpoints: Path | None = None
    every: float = 600.0
    archive: Path | None = None
