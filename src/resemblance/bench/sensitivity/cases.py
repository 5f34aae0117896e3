"""The four benchmarks of Ding et al. 2021 as tasks: the models to compare, the expected order of
distances from the best model, and the resampling design."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.json_files import read_document, write_atomically
from resemblance.base.rng import generator
from resemblance.comparison.comparison import Comparison
from resemblance.data.model_features import ModelFeatures
from resemblance.data.representation import Representation
from resemblance.significance import known_mean

from ...base.exceptions import UndefinedError
from ..case import Case, Part, ReducedPart, task_name
from ..grounding import Block, ExpectedBlocks, Rule, kendall, spearman
from ..reliability import reliability
from ..study_models import ModelFamily
from .models import (
    SensitivitySize,
    drop_settings_with_nan,
    functionalities,
    have_same_layers,
    missing_accuracies,
    models_by_family,
    probed_model_key,
    right_answers,
)
from .operators import delete_principal_components, normalize, numbers_to_delete
from .probing import (
    PROBE_VERSION,
    class_numbers,
    mean_accuracy,
    probe_answers,
    stratified_divisions,
)
from .procedure import expected_differences, reference_of

RELATIVE_PRECISION = 1e-12  # relative to the largest difference; smaller is rounding
# Representations have unit norm, so smaller differences are rounding error, however small the
# largest difference.
ABSOLUTE_PRECISION = 1e-14
SLOW_SENSITIVITY_MEASURES = frozenset({"rtd"})  # compared only below a number of samples
MIN_MODELS_PER_PARENT = 3  # fine-tuned models of a pretrained model
# By layer and number of deleted components.
ProbeAnswers = Mapping[str, Mapping[str, Sequence[str]]]


class RepresentationSet(NamedTuple):
    """A set S of the paper: representations to compare, and the functionality of every
    representation.

    ``columns``: all representations, by name. ``rows``: column positions of the possible
    references. ``functionality``: by name, an array with a number per column. ``answers``: by name,
    the mean correctness for every input, (columns, inputs), if known. ``units``: of every column,
    the seed of the model; for benchmark 4 the pretrained model.
    """

    columns: Mapping[str, Representation]
    rows: tuple[int, ...]
    functionality: Mapping[str, np.ndarray]
    answers: Mapping[str, np.ndarray] = {}
    units: tuple[str, ...] = ()

    def best_without(self, name: str, unit: str) -> int | None:
        """Return the position of the best reference for the functionality ``name``, outside the
        seed ``unit``; None if no other seed has a reference."""
        rows = np.array([i for i in self.rows if self.units[i] != unit], int)
        return reference_of(self.functionality[name], rows) if len(rows) else None

    def references(self) -> list[int]:
        """Return the sorted positions of the best reference for every functionality that varies,
        and of the best reference without the seed of the best."""
        found = set[int]()
        for name, f in self.functionality.items():
            if np.ptp(f.round(12)) > 0:
                best = reference_of(f, np.array(self.rows))
                second = self.best_without(name, self.units[best]) if self.units else None
                found |= {best} if second is None else {best, second}
        return sorted(found)


class FamilySets(NamedTuple):
    """The representation sets of a benchmark for a family of models: a set for every layer.

    ``drawn``: the dependence between models for the bootstrap, as for
    :func:`resemblance.bench.sensitivity.bootstrap_counts`. ``exchanged``: the dependence for
    permutations, as for :func:`resemblance.bench.sensitivity.exchanges`. ``reasons``: why models or
    accuracies are left out. ``absent``: why the family takes no part.
    """

    family: ModelFamily
    sets: Mapping[str, RepresentationSet] = {}
    drawn: Mapping[str, Any] = {}
    exchanged: Mapping[str, Any] = {}
    reasons: Mapping[str, str] = {}
    absent: str = ""

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Pairs (layer, functionality), as names, in which the functionality varies."""
        return [
            (layer, name)
            for layer, members in self.sets.items()
            for name, f in members.functionality.items()
            if np.ptp(f.round(12)) > 0
        ]


SetsWithExclusions = tuple[dict[str, RepresentationSet], dict[str, Any], dict[str, Any]]


class Benchmark(NamedTuple):
    """A benchmark of the paper.

    ``setting``: the setting of its models. ``choose``: selects the models of a family, or returns
    the reason why the family has none. ``sets``: returns the representation sets by layer, and the
    designs for bootstrap and permutations.
    """

    name: str
    title: str
    about: str
    setting: str
    choose: Callable[[Sequence[ModelFeatures]], tuple[ModelFeatures, ...] | str]
    sets: Callable[[Sequence[ModelFeatures], SensitivitySize], SetsWithExclusions]


def sets_by_family(
    benchmark: Benchmark, model_features: Iterable[ModelFeatures], size: SensitivitySize
) -> list[FamilySets]:
    """Return the representation sets of a benchmark for every family of models; a family without
    suitable models has only the reason."""
    family_sets = []
    for family, members in models_by_family(model_features).items():
        finite_models, reasons = drop_settings_with_nan(members, benchmark.setting)
        selection = benchmark.choose(finite_models)
        if isinstance(selection, str):
            family_sets.append(FamilySets(family, reasons=reasons, absent=selection))
            continue
        sets = benchmark.sets(selection, size)
        family_sets.append(FamilySets(family, *sets, reasons | missing_accuracies(selection)))
    return family_sets


# -------------------------------------------------------------------------------------------- cases


def round_differences(differences: np.ndarray) -> np.ndarray:
    """Round differences, an array of any shape, to multiples of 1e-12 of the largest magnitude, but
    at least of 1e-14; NaN values stay."""
    step = max(
        RELATIVE_PRECISION * float(np.nanmax(np.abs(differences), initial=0.0)), ABSOLUTE_PRECISION
    )
    return np.round(differences / step) * step + 0.0


def blocks_from_best(
    expected: tuple[int, np.ndarray], *, both_orders: bool = False
) -> ExpectedBlocks:
    """Return one block: the best representation against all n columns.

    ``expected``: the row of the best representation in the matrix of differences, and the expected
    differences (n,). ``both_orders`` has no effect.
    """
    row, differences = expected
    columns = np.arange(len(differences))
    return (Block(np.full_like(columns, row), columns, differences),)


BEST_ORDER_RULES: Mapping[str, Rule] = {  # correlation of distances with lost functionality
    name: Rule(blocks_from_best, quality, is_complete=True, rounded=round_differences)
    for name, quality in (("spearman", spearman), ("kendall", kendall))
}


def cases_of_family(
    benchmark: str,
    family_sets: FamilySets,
    size: SensitivitySize | None = None,
    facts: Mapping[str, float] = {},
) -> Iterator[Case]:
    """Yield the tasks for a family: the order of distances from the best representation, for every
    functionality and both correlations.

    ``benchmark``: the name. ``family_sets``: the sets of the family. ``size``: of a study, which
    compares all possible references with all representations, on a limited number of samples;
    without ``size`` only the best representations are references. ``facts``: reliabilities by
    benchmark and task (:func:`reliability_key`), if the models do not determine them.
    """
    parts, repeats = defaultdict[str, list[Part]](list), defaultdict[str, list[float]](list)
    for layer, name in family_sets.cells:
        members = family_sets.sets[layer]
        best_index = reference_of(members.functionality[name], np.array(members.rows))
        part, rows = all_references_part(members), list(members.rows)
        if size is None:
            rows, columns = members.references(), list(members.columns.items())
            part = Part(dict(columns[i] for i in rows), None, members.columns)
        expected = _expected_from(members, name, best_index, rows)
        without = _parts_without_seeds(members, name, rows)
        parts[name].append(part._replace(expected=expected, name=name, without=without))
        repeats[name].append(_best_order_reliability(members, name, best_index))
    for name, layer_parts in parts.items():
        samples = next(iter(layer_parts[0].rows.values())).shape[0]
        mean_reliability = float(known_mean(repeats[name]))
        for quality, rule in BEST_ORDER_RULES.items():
            case = Case(
                benchmark,
                (*filter(None, family_sets.family), name, quality),
                rule,
                tuple(layer_parts),
                family_sets.family.title,
                left_out=SLOW_SENSITIVITY_MEASURES if size and samples > size.slow else frozenset(),
                reliability=None if np.isnan(mean_reliability) else mean_reliability,
            )
            yield case._replace(reliability=facts.get(reliability_key(case), case.reliability))


def _expected_from(
    members: RepresentationSet, name: str, reference: int, rows: Sequence[int]
) -> tuple[int, np.ndarray]:
    """Return the position of ``reference`` in ``rows``, and the expected differences of all columns
    from the reference, (columns,). ``name``: of the functionality."""
    return rows.index(reference), expected_differences(members.functionality[name], reference)


def _parts_without_seeds(
    members: RepresentationSet, name: str, rows: Sequence[int]
) -> dict[str, ReducedPart | None]:
    """Return, by seed, the order of distances without the models of the seed; None without another
    reference.

    ``members``: the set of representations. ``name``: of the functionality. ``rows``: the compared
    references, as positions among the columns. A reference is dropped with its seed; the next best
    reference takes its place.
    """
    parts: dict[str, ReducedPart | None] = {}
    for unit in dict.fromkeys(members.units):
        reference = members.best_without(name, unit)
        kept = [i for i, other in enumerate(members.units) if other != unit]
        if reference is None:
            parts[unit] = None
            continue
        row, differences = _expected_from(members, name, reference, rows)
        parts[unit] = ReducedPart(range(len(rows)), kept, (row, differences[kept]))
    return parts


def reliability_key(case: Case) -> str:
    """Return the key of a task's reliability in the manifest of a pack."""
    return task_name(case.key)


def all_references_part(members: RepresentationSet) -> Part:
    """Return a part that compares all possible references of a set with all representations."""
    columns = list(members.columns.items())
    is_square = members.rows == tuple(range(len(columns)))
    rows = dict(columns[i] for i in members.rows)
    return Part(rows, None, None if is_square else members.columns)


def rounded_differences(comparison: Comparison) -> dict[str, np.ndarray]:
    """Return the matrices of differences, (rows, columns), by specification of a measure, rounded
    so that equal differences stay equal."""
    return {
        m.spec: round_differences(comparison.dissimilarity(m.spec)) for m in comparison.measures
    }


def _best_order_reliability(members: RepresentationSet, name: str, best_index: int) -> float:
    """Return the reliability, at most 1, of the order of differences in a functionality from the
    best representation, at position ``best_index``; NaN if unknown. ``members``: the set of
    representations. ``name``: of the functionality.

    The difference of the best representation from itself, always 0, is left out.
    """
    answers = members.answers.get(name, np.empty((len(members.columns), 0)))
    answers = answers[:, ~np.isnan(answers).any(axis=0)]
    value = reliability(
        answers, lambda means: np.delete(abs(means - means[best_index]), best_index)
    )
    return np.nan if value is None else value


def normalized_samples(values: Any, name: str, max_samples: int) -> Representation:
    """Return a representation called ``name`` of at most ``max_samples`` samples of ``values`` (n,
    d), centred and of unit norm; a constant representation is not normalised. All models have the
    same samples."""
    points = np.asarray(values, float)
    # The same inputs for all models.
    if len(points) > max_samples:
        random = generator(0, "sensitivity", "samples", len(points))
        points = points[np.sort(random.choice(len(points), max_samples, replace=False))]
    try:
        return Representation(normalize(points), name)
    except UndefinedError:
        # Every measure reports that a constant representation has no value.
        return Representation(points, name)


# ------------------------------------------------------------ benchmarks 1 and 2: what probes lose


def labeled_models(model_features: Sequence[ModelFeatures]) -> tuple[ModelFeatures, ...] | str:
    """Return the normal models if there are at least two, with labels and the same three or more
    layers; otherwise the reason."""
    normal = tuple(s for s in model_features if s.traits["setting"] == "normal")
    if len(normal) < 2:
        return f"{len(normal)} models of the setting 'normal'; at least 2 seeds are needed"
    for s in normal:
        if s.labels is None:
            return "labels for the probes are unknown: labels.npy is missing"
        try:
            stratified_divisions(class_numbers(s.labels))
        except ValueError as error:
            return f"{s.name}: {error}"
    if not have_same_layers(normal) or len(normal[0].layers) < 3:
        return "the models need the same three or more layers"
    return normal


def all_layers_set(
    model_features: Sequence[ModelFeatures], size: SensitivitySize
) -> SetsWithExclusions:
    """Return all layers of all models as a single set, called "all", and the designs for bootstrap
    and permutations: three mappings. The bootstrap draws seeds as blocks. Permutations stay within
    seeds and within layers."""
    pairs = [(s, name) for s in model_features for name in s.layers]
    columns = {
        f"{s.name}/{name}": normalized_samples(
            s.layers[name].source, f"{s.name}/{name}", size.samples
        )
        for s, name in pairs
    }
    seeds, layers = tuple(s.name for s, _ in pairs), tuple(name for _, name in pairs)
    accuracies = _accuracies_by_place([(s, name, 0) for s, name in pairs])
    units = tuple(str(s.traits["seed"]) for s, _ in pairs)
    members = RepresentationSet(columns, tuple(range(len(pairs))), *accuracies, units=units)
    return {"all": members}, {"blocks": seeds}, {"within": (seeds, layers)}


def models_with_components(
    model_features: Sequence[ModelFeatures],
) -> tuple[ModelFeatures, ...] | str:
    """Return the models of benchmark 2 if the last layer has components to delete; otherwise the
    reason."""
    normal = labeled_models(model_features)
    if isinstance(normal, str):
        return normal
    widths = {s.last.shape[1] for s in normal}
    if len(widths) > 1 or min(widths) <= 3:
        return "the last layers need one width of four or more"
    return normal


def deletion_sets(
    model_features: Sequence[ModelFeatures], size: SensitivitySize
) -> SetsWithExclusions:
    """Return a set for each of the last layers, all seeds with all deletions, and the designs for
    bootstrap (seeds as blocks) and permutations (within seeds and within numbers of deleted
    components): three mappings. The undeleted representations are the possible references.

    Layers whose number of deletions differs from the last layer are left out.
    """
    last_layers = list(model_features[0].layers)[-size.layers :]
    widths = {name: {s.layers[name].shape[1] for s in model_features} for name in last_layers}
    steps = {name: len(numbers_to_delete(min(w))) for name, w in widths.items() if len(w) == 1}
    number = list(steps.values())[-1]
    # Keep layers with the same number of deletions, so that all layers share a design.
    names = [name for name in steps if steps[name] == number]
    seeds = tuple(s.name for s in model_features for _ in range(number))
    n_deleted = tuple(k for _ in model_features for k in range(number))
    sets = {name: _deletions_of_layer(model_features, name, size) for name in names}
    return sets, {"blocks": seeds}, {"within": (seeds, n_deleted)}


def _deletions_of_layer(
    model_features: Sequence[ModelFeatures], layer: str, size: SensitivitySize
) -> RepresentationSet:
    columns, places = dict[str, Representation](), list[tuple[ModelFeatures, str, int]]()
    for s in model_features:
        x = s.layers[layer]
        for k in numbers_to_delete(x.shape[1]):
            name = f"{s.name}/{layer} without {k}"
            columns[name] = normalized_samples(
                delete_principal_components(x, k), name, size.samples
            )
            places.append((s, layer, k))
        x.clear_cache()
    rows = tuple(i for i, (_, _, k) in enumerate(places) if k == 0)
    units = tuple(str(s.traits["seed"]) for s, _, _ in places)
    return RepresentationSet(columns, rows, *_accuracies_by_place(places), units=units)


def _accuracies_by_place(
    places: Iterable[tuple[ModelFeatures, str, int]],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the probe accuracy at every place, (places,), and the correctness per input, (places,
    inputs), both under the name "probe"; the second mapping is empty for models in a pack, which
    have accuracies only.

    ``places``: triples (model, layer, number of deleted components).
    """
    entries = [s.traits["probes"][layer][str(k)] for s, layer, k in places]
    if not all(isinstance(entry, list) for entry in entries):
        return {"probe": np.array(entries, float)}, {}
    answers = [_parse_answers(entry) for entry in entries]
    shares = np.array([known_mean(row) for row in answers])
    return {"probe": np.array(list(map(mean_accuracy, answers)))}, {"probe": shares}


def probe_accuracies(features: ModelFeatures) -> dict[str, dict[str, float]]:
    """Return the probe accuracies of a model, by layer, then by number of deleted components as a
    text."""
    return {
        layer: {k: mean_accuracy(_parse_answers(words)) for k, words in divisions.items()}
        for layer, divisions in features.traits["probes"].items()
    }


def _parse_answers(words: Iterable[str]) -> np.ndarray:
    """Parse answers into numbers (divisions, inputs). ``words``: a word per division of the inputs,
    such as "10."; a sign per input, "1" becomes 1, "0" becomes 0 and "." becomes NaN."""
    signs = {"0": 0.0, "1": 1.0, ".": np.nan}
    return np.array([[signs[sign] for sign in word] for word in words])


def add_probe_answers(
    features: ModelFeatures, size: SensitivitySize, folder: Path
) -> ModelFeatures:
    """Return a copy of the model with the answers of probes for benchmarks 1 and 2 in the trait
    "probes", cached in a file in the folder.

    A probe reads principal coordinates, so probes differ only by the deletion.
    """
    file = folder / f"{probed_model_key(features, size.layers, size.splits, PROBE_VERSION)}.json"
    try:
        probes: ProbeAnswers = read_document(file, dict, "what probes answer")
    except ValueError:
        probes = _fit_probes(features, size)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(probes))
    return replace(features, traits={**features.traits, "probes": probes})


def _fit_probes(features: ModelFeatures, size: SensitivitySize) -> dict[str, dict[str, list[str]]]:
    probes: dict[str, dict[str, list[str]]] = {}
    last_layers = list(features.layers)[-size.layers :]
    for layer, x in features.layers.items():
        steps = numbers_to_delete(x.shape[1]) if layer in last_layers and x.shape[1] > 3 else (0,)
        probes[layer] = {}
        for k in dict.fromkeys((0, *steps)):
            coordinates = delete_principal_components(x, k)
            answers = probe_answers(coordinates, features.labels, splits=size.splits)
            probes[layer][str(k)] = [
                "".join("." if np.isnan(a) else str(int(a)) for a in row) for row in answers
            ]
        x.clear_cache()
    return probes


# ------------------------------------------------ benchmarks 3 and 4: accuracy on shifted inputs


def models_of_one_parent(
    model_features: Sequence[ModelFeatures],
) -> tuple[ModelFeatures, ...] | str:
    """Return the fine-tuned models of the pretrained model with the most fine-tuned models; the
    reason if there are too few."""
    groups = group_by_pretraining(model_features)
    if isinstance(groups, str):
        return groups
    group = max(groups.values(), key=len)
    if len(group) < MIN_MODELS_PER_PARENT:
        return f"{len(group)} models of one pretrained model; {MIN_MODELS_PER_PARENT} are needed"
    return tuple(group)


def group_by_pretraining(
    model_features: Sequence[ModelFeatures],
) -> dict[int, list[ModelFeatures]] | str:
    """Return lists of fine-tuned models by the seed of the pretrained model; the reason, as a text,
    if the models are not suited."""
    members = [s for s in model_features if s.traits["setting"] == "finetuned"]
    groups = defaultdict[int, list[ModelFeatures]](list)
    for s in members:
        groups[s.traits.get("pretrain", 0)].append(s)
    if not members:
        return "no models of the setting 'finetuned'"
    if not functionalities(members):
        return "no accuracy on other inputs that all models have: 'accuracies' in traits.json"
    return dict(groups) if have_same_layers(members) else "the models need the same layers"


def layer_sets(
    model_features: Sequence[ModelFeatures], size: SensitivitySize
) -> SetsWithExclusions:
    """Return a set for every layer, with all models as possible references, and two empty designs:
    the models are independent."""
    rows = tuple(range(len(model_features)))
    units = tuple(str(s.traits["seed"]) for s in model_features)
    models = RepresentationSet(
        {}, rows, functionalities(model_features), right_answers(model_features), units
    )
    sets = {}
    for layer in model_features[0].layers:
        columns = {
            s.name: normalized_samples(s.layers[layer].source, s.name, size.samples)
            for s in model_features
        }
        sets[layer] = models._replace(columns=columns)
    return sets, {}, {}


def models_of_several_parents(
    model_features: Sequence[ModelFeatures],
) -> tuple[ModelFeatures, ...] | str:
    """Return models of all pretrained models, equally many per pretrained model, with common
    fine-tuning seeds if there are at least two; otherwise the reason."""
    groups = group_by_pretraining(model_features)
    if isinstance(groups, str):
        return groups
    members = [sorted(group, key=lambda s: s.traits["seed"]) for group in groups.values()]
    seeds = set.intersection(*({s.traits["seed"] for s in group} for group in members))
    if len(seeds) > 1:
        members = [[s for s in group if s.traits["seed"] in seeds] for group in members]
    n_each = min(map(len, members))
    if len(groups) < 2 or n_each < 2:
        return (
            f"{len(groups)} pretrained models with {n_each} or more fine-tuned ones; at least 2 of "
            "2 are needed"
        )
    return tuple(s for group in members for s in group[:n_each])


def crossed_or_nested_sets(
    model_features: Sequence[ModelFeatures], size: SensitivitySize
) -> SetsWithExclusions:
    """Return three mappings: a set for every layer, and twice the same dependence between models,
    for bootstrap and permutations.

    The design is crossed if all pretrained models were fine-tuned with the same seeds, because
    models then also share examples, order and head. Otherwise the design is nested. The units of
    the sets are the pretrained models.
    """
    parents, seeds = (
        tuple(s.traits.get(name, 0) for s in model_features) for name in ("pretrain", "seed")
    )
    n_pairs = len(set(zip(parents, seeds)))
    is_crossed = n_pairs == len(set(parents)) * len(set(seeds)) == len(model_features)
    design = {"crossed": (parents, seeds)} if is_crossed else {"nested": parents}
    units = tuple(map(str, parents))
    sets = {
        layer: members._replace(units=units)
        for layer, members in layer_sets(model_features, size)[0].items()
    }
    return sets, design, design


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
        choose=labeled_models,
        sets=all_layers_set,
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
        sets=deletion_sets,
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
        sets=layer_sets,
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
        sets=crossed_or_nested_sets,
    ),
)
