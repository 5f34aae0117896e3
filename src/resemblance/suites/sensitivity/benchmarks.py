"""The four benchmarks of Ding et al. 2021, as literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...subject import Subject
from .facts import FamilyFacts
from .finetuned_models import (
    crossed_or_nested,
    models_of_one_parent,
    models_of_several_parents,
    one_set_a_layer,
)
from .normal_models import (
    all_layers,
    deleted_components,
    labelled_models,
    models_with_components,
    with_deletion_curves,
    with_specificity,
)
from .sets import Effort, Measured, RepresentationSet, Sets

Observe = Callable[[FamilyFacts, Mapping[str, RepresentationSet], Measured], FamilyFacts]


class Benchmark(NamedTuple):
    """One of the four benchmarks.

    ``setting``: of the models that it takes. ``choose``: the models of a family that take part, or
    why there are none. ``sets``: what is compared, by layer, and what is shared; it may store
    probes in the folder. ``observe``: adds to the facts what else follows from the comparisons.
    """

    name: str
    title: str
    about: str
    setting: str
    choose: Callable[[Sequence[Subject]], tuple[Subject, ...] | str]
    sets: Callable[[Sequence[Subject], Path | None, Effort], Sets]
    observe: Observe | None = None


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        name="layers",
        title="Benchmark 1: random starts and layers",
        about=(
            "Every layer of every model trained from another random start is one representation; "
            "its functionality is the accuracy of a linear probe. Distances from the layer with "
            "the best probe should grow as probes get worse: small between seeds, large between "
            "layers. Layers of a model share its seed, so pairs are not independent, and layers "
            "are not exchangeable: depth is the same in all models. Permuted p-values exchange "
            "whole seeds and leave layers in place, so they test whether distances follow the "
            "differences between seeds, beyond depth."
        ),
        setting="normal",
        choose=labelled_models,
        sets=all_layers,
        observe=with_specificity,
    ),
    Benchmark(
        name="deletion",
        title="Benchmark 2: principal components deleted",
        about=(
            "From the last layers of every model the principal components of least variance are "
            "deleted, up to all but one. Linear probes read less from what remains, and distances "
            "from the undeleted representation of the best seed should grow with that loss. A "
            "measure detects a deletion if it moves a representation farther than another random "
            "start does. Permuted p-values exchange whole seeds and leave the shares deleted in "
            "place."
        ),
        setting="normal",
        choose=models_with_components,
        sets=deleted_components,
        observe=with_deletion_curves,
    ),
    Benchmark(
        name="finetuning",
        title="Benchmark 3: fine-tuning seeds",
        about=(
            "One pretrained model is fine-tuned many times with other seeds. All are about equally "
            "accurate on the inputs of the task but not on shifted inputs, and the distance of a "
            "layer from that of the most robust model should reflect the difference. These models "
            "share nothing that only some of them share, so they are resampled and permuted one by "
            "one."
        ),
        setting="finetuned",
        choose=models_of_one_parent,
        sets=one_set_a_layer,
    ),
    Benchmark(
        name="pretraining",
        title="Benchmark 4: pretraining and fine-tuning seeds",
        about=(
            "Several models are pretrained from other random starts and each is fine-tuned several "
            "times. The distance of a layer from that of the most robust model should grow with "
            "the difference in accuracy on shifted inputs. Models with one pretrained parent are "
            "alike and so are those with one fine-tuning seed: both are resampled and permuted as "
            "wholes."
        ),
        setting="finetuned",
        choose=models_of_several_parents,
        sets=crossed_or_nested,
    ),
)
