"""Find measures and statistics by name, label or invariance, and return the lists of measures used
in papers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeVar

from . import measures
from .base.text import check_choice, did_you_mean
from .contracts._measure import (
    MEASURE_FAMILIES,
    Measure,
    MeasureArgument,
    is_plain_function,
    measure,
    undeclared_measure,
)
from .contracts._statistic import STATISTIC_FAMILIES, Statistic, statistic
from .contracts.claims import (
    INVARIANCES,
    JOINT_INVARIANCES,
    declaration_template,
    implied_invariances,
)
from .measures.held_out.predictivity import HELD_OUT_MEASURES

Entry = TypeVar("Entry", Measure, Statistic)


def list_measures(
    *,
    family: str | None = None,
    invariant_to: str | Iterable[str] | None = None,
    not_invariant_to: str | Iterable[str] | None = None,
    symmetric: bool | None = None,
    metric: bool | None = None,
    differentiable: bool | None = None,
    n_samples: int | None = None,
    n_features: int | None = None,
) -> list[Measure]:
    """Return the measures of the catalogue that have the requested properties, by family and name.

    Parameters
    ----------
    family : one of ``"cca"``, ``"alignment"``, ``"similarity_matrix"``, ``"neighbors"``,
        ``"topology"``, ``"descriptive"`` and ``"outputs"``.
    invariant_to : one or several invariances claimed by every listed measure: ``"permutation"``,
        ``"orthogonal"``, ``"isotropic_scaling"``, ``"translation"``, ``"invertible_linear"``,
        ``"affine"``. A measure with a stronger invariance is listed, too: ``"invertible_linear"``
        implies ``"orthogonal"``. ``"sample_rotation"`` lists the measures that
        :class:`resemblance.Stream` computes for any number of samples.
    not_invariant_to : one or several invariances claimed by no listed measure.
    symmetric, metric, differentiable : True lists the measures with the claim, False the measures
        without the claim.
    n_samples, n_features : the shape of the representations. The list omits measures that need
        more samples or more features.

    Raises ``ValueError`` for an unknown family or invariance, for an invariance in both lists, for
    a claim other than True or False, for metrics requested as not symmetric, and for a shape that
    is not made of positive whole numbers.
    """
    claims = {"symmetric": symmetric, "metric": metric, "differentiable": differentiable}
    for name, value in claims.items():
        if value is not None and not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False; got {value!r}")
    if metric and symmetric is False:
        raise ValueError("a metric is symmetric: leave out metric=True or symmetric=False")
    for name, size in (("n_samples", n_samples), ("n_features", n_features)):
        is_whole = isinstance(size, Integral) and not isinstance(size, bool)
        if size is not None and not (is_whole and size >= 1):
            raise ValueError(f"{name} must be a whole number from 1; got {size!r}")
    measures = sorted(
        _measures_by_name().values(), key=lambda m: (MEASURE_FAMILIES.index(m.family), m.name)
    )
    choices = INVARIANCES + JOINT_INVARIANCES
    excluded = _check_invariance_names(not_invariant_to, choices)
    required = _check_invariance_names(invariant_to, choices)
    if clashes := sorted(implied_invariances(required) & excluded):
        reason = "" if clashes[0] in required else f", which {', '.join(sorted(required))} implies"
        raise ValueError(
            f"invariant_to and not_invariant_to both contain {clashes[0]!r}{reason}; drop one of "
            "them"
        )

    def fits(m: Measure) -> bool:
        has_claims = all(value in (None, getattr(m, name)) for name, value in claims.items())
        has_samples = n_samples is None or n_samples >= m.min_samples
        has_features = n_features is None or n_features >= m.min_features
        return has_claims and has_samples and has_features and not m.invariant_to & excluded

    return list(
        filter(fits, _filter_entries(measures, family, MEASURE_FAMILIES, required, choices))
    )


def list_statistics(
    *, family: str | None = None, invariant_to: str | Iterable[str] | None = None
) -> list[Statistic]:
    """Return the statistics of one representation with the requested family and invariances, by
    family.

    Raises ``ValueError`` for an unknown family or invariance.
    """
    return _filter_entries(_statistics_by_name().values(), family, STATISTIC_FAMILIES, invariant_to)


def _filter_entries(
    entries: Iterable[Entry],
    family: str | None,
    families: Sequence[str],
    invariant_to: str | Iterable[str] | None,
    choices: Sequence[str] = INVARIANCES,
) -> list[Entry]:
    """Return the measures or statistics of a family with all given and all implied invariances, in
    the order of ``entries``. ``family``: None for all families. ``families``, ``choices``: the
    known families and invariances."""
    if isinstance(family, str):
        family = re.sub(r"[ -]", "_", family.lower())
    elif family is not None:
        raise ValueError(f"family must be one name, such as {families[0]!r}; got {family!r}")
    if family is not None and family not in families:
        raise ValueError(f"no family {family!r}{did_you_mean(family, families)}")
    required = implied_invariances(_check_invariance_names(invariant_to, choices))
    return [e for e in entries if family in (None, e.family) and required <= e.invariant_to]


def _check_invariance_names(names: str | Iterable[str] | None, choices: Sequence[str]) -> set[str]:
    """Return the name or names of invariances as a set; the empty set for None. ``ValueError`` for
    a name that is not among ``choices``."""
    if not isinstance(names, Iterable | None):
        raise ValueError(f"an invariance must be a name, such as {choices[0]!r}; got {names!r}")
    selection = {names} if isinstance(names, str) else set(names or ())
    for name in sorted(selection - set(choices), key=str):
        raise ValueError(f"no invariance {name!r}{did_you_mean(str(name), choices)}")
    return selection


def get_measure(spec: MeasureArgument) -> Measure:
    """Return a measure by name (``"cka"``), label (``"CKA"``), or specification
    (``"cka[estimator=debiased]"``), or the measure of a plain function.

    ``"pls"`` and ``"ridge"`` are measures of held-out samples alone: :func:`list_measures` does not
    list them, and :func:`align` explains them.

    A plain function takes two NumPy arrays, X (n, d) and Y (n, e) with the samples in the same
    order, and returns a number; further parameters have defaults. The name of the function is the
    name of the measure. Nothing is claimed about the function: the range is unlimited, no symmetry
    and no invariance is assumed. ``larger_is_more_similar`` is True if f(X, X) is larger than
    f(X, Y) for random X and Y.

    Raises ``ValueError`` with the closest name when no measure matches, for a function that does
    not take two arrays, and for a function that has no name or whose direction the random arrays
    do not show.
    """
    if isinstance(spec, Measure):
        return spec
    if is_plain_function(spec):
        return undeclared_measure(spec)
    return _entry_for_spec(spec, "measure", {**_measures_by_name(), **HELD_OUT_MEASURES})


def get_statistic(spec: str | Statistic) -> Statistic:
    """Return a statistic by name, label, or specification
    (``"feature_split[k=10,rdm=euclidean]"``); a statistic unchanged.

    Raises ``ValueError`` with the closest name when no statistic matches.
    """
    if isinstance(spec, Statistic):
        return spec
    return _entry_for_spec(spec, "statistic", _statistics_by_name())


def declaration_of(function_name: str, kind: str) -> str:
    """Return, as Python text, the decorator for declaring a function named ``function_name`` as a
    measure or a statistic, with examples of the required claims. ``kind``: "measure" or
    "statistic"."""
    if kind == "measure":
        return declaration_template(function_name, kind, measure, MEASURE_FAMILIES[2])
    return declaration_template(function_name, kind, statistic, STATISTIC_FAMILIES[0])


def _entry_for_spec(spec: object, kind: str, entries: Mapping[str, Entry]) -> Entry:
    """Return the measure or statistic for a specification. ``kind``: "measure" or "statistic".
    ``entries``: the choices by name. Raises ``ValueError`` with the closest name for an unknown
    name."""
    if not isinstance(spec, str):
        function_name = getattr(spec, "__name__", None)
        is_nameless = callable(spec) and kind == "measure"
        remedy = "define a function with a name, def name(X, Y)" if is_nameless else "give a name"
        if function_name:
            line = declaration_of(function_name, kind)
            remedy = (
                f"decorate {function_name} with {line}, and fill in the properties of "
                f"{function_name}"
            )
        value = "an array" if hasattr(spec, "shape") else repr(spec)
        raise ValueError(f"not a {kind}: {value}; {remedy}")
    match = re.fullmatch(r"\s*([^\[\]]+?)\s*(?:\[(.*)\])?\s*", spec)
    if match is None:
        raise ValueError(f"not a {kind}: {spec!r}; write a name, or name[parameter=value,...]")
    name, parameters = match[1], match[2]
    by_name = dict(entries) | {e.label: e for e in entries.values()}
    by_lowercase = {key.lower(): e for key, e in by_name.items()}
    if name.lower() not in by_lowercase:
        parts = [part for part in name.lower().split(",") if part.strip() in by_lowercase]
        hint = did_you_mean(name.lower(), by_lowercase, show=entries)
        hint = "; give several as a list" if len(parts) > 1 else hint
        raise ValueError(f"no {kind} {name!r}{hint}")
    entry = by_lowercase[name.lower()]
    return entry.with_parameters(**parse_parameters(parameters)) if parameters else entry


def get_measures(specs: Iterable[MeasureArgument] | MeasureArgument) -> list[Measure]:
    """Return the measures for a specification or several: names, labels, measures, plain functions
    and preset names. Every preset gives several measures; duplicates are dropped."""
    specs = [specs] if isinstance(specs, str) or not isinstance(specs, Iterable) else specs
    groups = (
        preset(s) if isinstance(s, str) and s in PRESET_NAMES else (get_measure(s),) for s in specs
    )
    return list(dict.fromkeys(m for group in groups for m in group))


def preset(name: str) -> tuple[Measure, ...]:
    """Return a published list of measures with the parameters used by the authors.

    ``"resi"``: the 24 measures of Klabunde et al. 2025, Table 2, in the order of the table,
    computing the same values as the authors' code for the published numbers (for IMD: the value
    around which the authors' random estimate scatters). ``"default"``: the same 24 measures as
    defined in the original papers. ``"quick"``: debiased CKA, Procrustes, RSA and mutual nearest
    neighbours, the default of :func:`resemblance.compare_models`. ``"all"``: every measure of
    representations that needs no repeats of a stimulus. ``"leaderboard"``: the measures of the
    ranking: ``"all"``, debiased CKA and RSA of Euclidean distances.
    """
    all_measures = tuple(
        m for m in list_measures() if m.family != "outputs" and m.takes != "repeats"
    )
    presets = {
        "all": all_measures,
        "leaderboard": (*all_measures, *(m.with_parameters(**p) for m, p in _VARIANT_MEASURES)),
        "resi": tuple(m.with_parameters(**p) for m, p in _RESI_MEASURES),
        "default": tuple(m for m, _ in _RESI_MEASURES),
        "quick": tuple(map(get_measure, QUICK_MEASURES)),
    }
    check_choice("preset", name, sorted(presets))
    return presets[name]


# Four kinds of similarity: linear, of size and rotation, of distances, of neighbours
QUICK_MEASURES = ("cka[estimator=debiased]", "procrustes", "rsa", "mutual_knn")
PRESET_NAMES = ("default", "resi", "quick", "all", "leaderboard")
_VARIANT_MEASURES: tuple[tuple[Measure, dict[str, Any]], ...] = (
    (measures.cka, {"estimator": "debiased"}),
    (measures.rsa, {"rdm": "euclidean"}),
)
_RESI_MEASURES: tuple[tuple[Measure, dict[str, Any]], ...] = (
    (measures.pwcca, {"directions": "resi"}),
    (measures.svcca, {"truncation": "resi"}),
    (measures.aligned_cosine, {}),
    (measures.angular_shape, {}),
    (measures.hard_correlation_match, {}),
    (measures.linear_regression, {"predict": "first"}),
    (measures.procrustes, {}),
    (measures.permutation_procrustes, {}),
    (measures.procrustes_size_shape, {}),
    (measures.soft_correlation_match, {}),
    (measures.cka, {}),
    (measures.distance_correlation, {}),
    (measures.eigenspace_overlap, {}),
    (measures.gulp, {"squared": True}),
    (measures.rsa, {}),
    (measures.rsm_norm_difference, {"norm": "spectral"}),
    (measures.second_order_cosine, {"of": "distance"}),
    (measures.jaccard, {}),
    (measures.rank_similarity, {}),
    (measures.imd, {}),
    (measures.rtd, {}),
    (measures.concentricity_difference, {}),
    (measures.magnitude_difference, {}),
    (measures.uniformity_difference, {"rows": "raw"}),
)


def _measures_by_name() -> dict[str, Measure]:
    return {name: getattr(measures, name) for name in measures.__all__}


def _statistics_by_name() -> dict[str, Statistic]:
    from . import statistics  # only commands about statistics import this package

    return {name: getattr(statistics, name) for name in statistics.__all__}


def parse_parameters(parameters: str) -> dict[str, Any]:
    """Return the parameters in a text ``a=1,b=word,c=(1, 2)``, by name: values are Python literals,
    or words as texts. Raises ``ValueError`` for any other text."""
    try:
        call = ast.parse(f"f({parameters})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise SyntaxError
        pairs = [(str(k.arg), k.value) for k in call.keywords]
        parsed = {k: v.id if isinstance(v, ast.Name) else ast.literal_eval(v) for k, v in pairs}
    except (ValueError, SyntaxError) as error:
        raise ValueError(
            "expected parameter=value, separated by commas, as in cka[estimator=debiased]; got "
            f"{parameters!r}"
        ) from error
    if len(parsed) < len(pairs):
        raise ValueError(f"a parameter is given twice in {parameters!r}")
    return parsed
