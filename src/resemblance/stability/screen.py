"""A screen: many perturbations against the same controls, from arrays or AnnData."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.results import MappingResult
from ..base.rng import generator
from ..base.text import did_you_mean
from ..catalogue import get_statistic
from ..comparison.comparison import Failure
from ..contracts._statistic import Statistic
from ..data.representation import Representation, check_all_finite
from ..statistics.perturbation import nearest_means, split_half_cosine
from ..statistics.rdm import double_precision_rows
from .annotated import LabelledRows, control_labels, open_labeled_rows

STATISTICS = (
    "perturbation_coherence", "perturbation_magnitude", "perturbation_spread",
    "perturbation_reproducibility",
)  # fmt: skip


class Perturbation(NamedTuple):
    """The values of one perturbation, in the order of the statistics, or the reasons for missing
    values."""

    name: str
    cells: int  # number of samples with this label
    unmatched: int  # number of samples without controls in the same stratum
    used: int  # number of samples used for the values
    values: tuple[float | None, ...]
    reasons: tuple[str, ...]  # one entry per statistic; empty if the value exists


@dataclass(frozen=True, eq=False, repr=False)
class Perturbations(MappingResult):
    """The statistics of every perturbation of a screen: ``found["perturbation_coherence"]`` is
    (n_perturbations,).

    A missing value is NaN in the array and None in ``records``, which give the reason. ``control``
    are the labels of the controls, ``controls`` is the number of control samples, ``used_controls``
    the number of control samples used for the values, and ``unlabeled`` the number of samples
    without a label.
    """

    rows: tuple[Perturbation, ...]
    statistics: tuple[str, ...]
    control: tuple[str, ...]
    controls: int
    used_controls: int
    unlabeled: int

    @property
    def caveats(self) -> tuple[str, ...]:
        """A sentence with the number of samples without a label, in a tuple; () if all samples have
        labels."""
        return (f"{self.unlabeled} samples have no label",) if self.unlabeled else ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The reasons for missing values of statistics, per perturbation."""
        return tuple(
            Failure(statistic, row.name, "", reason)
            for row in self.rows
            for statistic, reason in zip(self.statistics, row.reasons)
            if reason
        )

    def keys(self) -> tuple[str, ...]:
        """Return the specifications of the statistics."""
        return self.statistics

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the perturbations, in the order of the labels."""
        return tuple(row.name for row in self.rows)

    def __getitem__(self, statistic: str | Statistic) -> np.ndarray:
        if str(statistic) not in self.statistics:
            raise KeyError(
                f"no statistic {str(statistic)!r} "
                f"here{did_you_mean(str(statistic), self.statistics)}"
            )
        place = self.statistics.index(str(statistic))
        return np.array([row.values[place] for row in self.rows], dtype=float)

    def records(self) -> list[dict[str, Any]]:
        """Return one record per perturbation: the name, the counts, a value (or None) per
        statistic, and the reason for missing values."""
        return [
            {"perturbation": row.name}
            | {name: getattr(row, name) for name in ("cells", "unmatched", "used")}
            | dict(zip(self.statistics, row.values))
            | {"reason": "; ".join(dict.fromkeys(filter(None, row.reasons))) or None}
            for row in self.rows
        ]

    def summary(self) -> str:
        """Return the numbers of perturbations, controls and samples without a label."""
        n_missing = sum(None in row.values for row in self.rows)
        return (
            f"{len(self.rows)} perturbations by {', '.join(self.statistics)}; {self.controls} "
            f"controls ({', '.join(self.control)}); {n_missing} lack a value; {self.unlabeled} "
            "samples without a label"
        )


class _ScreenSettings(NamedTuple):
    """Settings that are the same for all perturbations."""

    statistics: tuple[Statistic, ...]
    min_samples: int
    max_samples: int | None
    seed: int


class _ScreenControls(NamedTuple):
    """The controls (``points``) and, if samples are matched, the controls relative to the stratum
    means."""

    points: Representation
    strata: np.ndarray  # numbers of the strata with enough controls
    stratum: np.ndarray  # index into ``strata`` for every control
    means: np.ndarray  # (strata, d)
    # Controls minus stratum means, scaled: dividing the scatter by n - 1 gives the covariance
    # within strata with divisor n - S.
    within: Representation | None


def perturbations(
    X: Any,
    labels: Any = "perturbation",
    *,
    control: Any = "control",
    match: Any = None,
    statistics: Sequence[str | Statistic] = STATISTICS,
    min_samples: int = 10,
    max_samples: int | None = None,
    seed: int = 0,
    layer: str | None = None,
    obsm: str | None = None,
) -> Perturbations:
    """Return the statistics of every perturbation of a screen against the controls.

    Parameters
    ----------
    X : (n_samples, n_features), of any library or sparse; or an ``AnnData``; or the path of an
        ``.h5ad`` file (extra ``bio``), whose dense ``X`` stays on disk. Sparse values become
        dense one label at a time.
    labels : one label per sample. For AnnData, the name of a column of ``obs``, or a Series with
        the names of the samples as index. Samples without a label (None, NaN) are ignored and
        counted. If unlabelled samples are your controls, label the samples first:
        ``obs["guide"].fillna("control")``.
    control : the exact label of the controls, or several labels. None looks for the only label
        that is a usual name of controls, ignoring case and punctuation ("non-targeting", "NT",
        "DMSO", ...).
    match : one stratum per sample, such as the batch. For AnnData, the name of a column of
        ``obs``. Every sample is then compared with the controls of the same stratum: the mean of
        the controls is subtracted, neighbours are controls of the stratum, and the covariance is
        the covariance within strata, with divisor m - S for m controls in S strata. A perturbed
        sample in a stratum with fewer than ``min_samples`` controls is left out and counted as
        ``unmatched``.
    statistics : names or specifications of statistics that need ``control``.
    min_samples : the fewest samples of a perturbation, and the fewest controls; the author's
        script uses 10.
    max_samples : the most samples of one label, and the most controls, to use; by default all.
        The choice of strata with enough controls does not depend on ``max_samples``:
        ``min_samples`` controls are drawn in every stratum, and the remaining controls from all
        strata.
    seed : the seed, combined with the label, of all random choices. A value depends neither on
        other perturbations nor on the order of perturbations.
    layer, obsm : for AnnData, the key of ``layers``, or of ``obsm`` ("X_pca"), to use instead of
        ``X``.

    Controls are matched in three ways, because the paper (Section 12.3) and the code of the author
    differ. *By label*: the author's script takes the first label in a list of keywords, then the
    first label that contains a keyword, then the most frequent label, which may be a perturbation.
    Here the label must exist exactly; the error lists the existing labels. *By neighbours*, as in
    the paper: ``perturbation_coherence[controls=neighbors]``. *By stratum*, as batches require:
    ``match``, which no code of the author has.

    Raises ``ValueError`` for labels, strata or statistics that do not fit, and for controls that
    are absent, too few, or not finite. A problem of a single perturbation is a reason in the
    result.

    Reference: Raju 2026, Section 12; ``compute_coherence``, ``compute_magnitude`` and
    ``split_half_reproducibility`` of shesha-geometry 0.3.0. These functions leave out small
    perturbations without a warning, and the last function treats missing labels as one label.
    """
    rules = _ScreenSettings(
        _requested_statistics(statistics),
        _check_sample_count("min_samples", min_samples),
        max_samples,
        seed,
    )
    if max_samples is not None and _check_sample_count("max_samples", max_samples) < min_samples:
        raise ValueError(
            f"perturbations: max_samples={max_samples} is less than min_samples={min_samples}"
        )
    with open_labeled_rows(X, labels, match, layer, obsm) as table:
        control_names = control_labels(control, table.labels)
        control_rows = np.sort(np.concatenate([table.rows_of(name) for name in control_names]))
        controls = _gather_controls(table, control_rows, rules, is_matched=match is not None)
        other_labels = [name for name in table.labels if name not in control_names]
        results = tuple(
            _evaluate_perturbation(table, name, controls, rules) for name in other_labels
        )
    specs = tuple(map(str, rules.statistics))
    return Perturbations(
        results,
        specs,
        control_names,
        len(control_rows),
        len(controls.stratum),
        int((table.label < 0).sum()),
    )


def _requested_statistics(statistics: Sequence[str | Statistic]) -> tuple[Statistic, ...]:
    entries = [statistics] if isinstance(statistics, str | Statistic) else statistics
    result = tuple(map(get_statistic, entries))
    for s in result:
        if s.needs != ("control",):
            raise ValueError(
                f"perturbations: {s} does not compare samples with controls; it needs "
                f"{s.needs or None}"
            )
    if not result or len(set(map(str, result))) < len(result):
        raise ValueError("perturbations: name at least one statistic, and each once")
    return result


def _check_sample_count(name: str, value: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 2:
        raise ValueError(f"perturbations: {name} must be an integer of at least 2; got {value!r}")
    return int(value)


def _limit_members(members: np.ndarray, rules: _ScreenSettings, label: str) -> np.ndarray:
    if rules.max_samples is None or len(members) <= rules.max_samples:
        return members
    random = generator(rules.seed, "perturbations", label)
    return np.sort(random.choice(members, rules.max_samples, replace=False))


def _select_control_rows(
    members: np.ndarray, stratum: np.ndarray, rules: _ScreenSettings
) -> np.ndarray:
    """Return the rows of the controls to use: all ``members``, or at most ``max_samples`` of them,
    with at least ``min_samples`` per stratum.

    ``members``: the rows of all controls. ``stratum``: the number of the stratum of every member.
    Raises ``ValueError`` if ``max_samples`` is too small for the strata.
    """
    strata = np.unique(stratum)
    if rules.max_samples is None or len(members) <= rules.max_samples or len(strata) == 1:
        return _limit_members(members, rules, "control")
    n_free = rules.max_samples - len(strata) * rules.min_samples
    if n_free < 0:
        raise ValueError(
            f"perturbations: max_samples={rules.max_samples} controls cannot be "
            f"min_samples={rules.min_samples} in each of {len(strata)} strata of match; raise "
            "max_samples"
        )
    random = generator(rules.seed, "perturbations", "control", "strata")
    base_rows = [
        random.choice(members[stratum == s], rules.min_samples, replace=False) for s in strata
    ]
    other_rows = np.setdiff1d(members, np.concatenate(base_rows))
    return np.sort(np.concatenate([*base_rows, random.choice(other_rows, n_free, replace=False)]))


def _gather_controls(
    table: LabelledRows, control_rows: np.ndarray, rules: _ScreenSettings, *, is_matched: bool
) -> _ScreenControls:
    if len(control_rows) < rules.min_samples:
        raise ValueError(
            f"perturbations: {len(control_rows)} controls are fewer than "
            f"min_samples={rules.min_samples}"
        )
    numbers, counts = np.unique(table.stratum[control_rows], return_counts=True)
    strata = numbers[counts >= rules.min_samples]
    if not len(strata):
        raise ValueError(
            f"perturbations: no stratum of match has min_samples={rules.min_samples} controls"
        )
    rows = control_rows[np.isin(table.stratum[control_rows], strata)]
    rows = _select_control_rows(rows, table.stratum[rows], rules)
    stratum = np.searchsorted(strata, table.stratum[rows])
    points = table.dense(rows, "the controls")
    check_all_finite(points)
    values = double_precision_rows(points)
    means = np.stack([values[stratum == place].mean(axis=0) for place in range(len(strata))])
    if not is_matched:
        return _ScreenControls(points, strata, stratum, means, None)
    residuals = (values - means[stratum]) * ((len(values) - 1) / (len(values) - len(strata))) ** 0.5
    return _ScreenControls(
        points, strata, stratum, means, Representation(residuals, "the controls")
    )


def _evaluate_perturbation(
    table: LabelledRows, name: str, controls: _ScreenControls, rules: _ScreenSettings
) -> Perturbation:
    cells = table.rows_of(name)
    matched_rows = cells[np.isin(table.stratum[cells], controls.strata)]
    rows = _limit_members(matched_rows, rules, name)
    counts = (len(cells), len(cells) - len(matched_rows))
    if len(rows) < rules.min_samples:
        suffix = " in strata with enough controls" if counts[1] else ""
        reason = f"{len(rows)} samples{suffix} are fewer than min_samples={rules.min_samples}"
        count = len(rules.statistics)
        return Perturbation(name, *counts, 0, (None,) * count, (reason,) * count)
    x, stratum = table.dense(rows, name), np.searchsorted(controls.strata, table.stratum[rows])
    outcomes = [
        _evaluate_statistic(s, _with_derived_seed(s, rules.seed, name), x, stratum, controls)
        for s in rules.statistics
    ]
    values, reasons = zip(*outcomes)
    return Perturbation(name, *counts, len(rows), values, reasons)


def _with_derived_seed(s: Statistic, seed: int, label: str) -> Statistic:
    """Return the statistic with a seed derived from the seed of the statistic, ``seed`` and the
    label.

    A statistic without a seed is returned unchanged.
    """
    if "seed" not in s.defaults:
        return s
    base = {**s.defaults, **dict(s.parameters)}["seed"]
    return s.with_parameters(
        seed=int(generator(seed, "perturbations", s.name, base, label).integers(2**31))
    )


def _evaluate_statistic(
    s: Statistic,
    statistic: Statistic,
    x: Representation,
    stratum: np.ndarray,
    controls: _ScreenControls,
) -> tuple[float | None, str]:
    try:
        check_all_finite(x)
        if controls.within is None:
            return statistic(x, controls.points), ""
        return _evaluate_within_strata(statistic, x, stratum, controls, controls.within), ""
    except UndefinedError as reason:
        return None, str(reason).replace(str(statistic), str(s))


def _evaluate_within_strata(
    s: Statistic,
    x: Representation,
    stratum: np.ndarray,
    controls: _ScreenControls,
    residuals: Representation,
) -> float:
    """Return the value of the statistic ``s``, comparing every sample of ``x``, of a perturbation,
    with the controls of the same stratum.

    ``stratum``: for each sample, the index of its stratum in ``controls.strata``. ``residuals``:
    the controls minus the means of their strata, scaled.
    """
    settings, points = {**s.defaults, **dict(s.parameters)}, double_precision_rows(x)
    offsets = Representation(points - controls.means[stratum], x.name)
    if settings.get("controls") == "halved":
        centered = double_precision_rows(controls.points) - controls.means[controls.stratum]
        strata = stratum, controls.stratum
        return split_half_cosine(
            double_precision_rows(offsets),
            centered,
            *strata,
            k=settings["k"],
            halved=True,
            seed=settings["seed"],
        )
    if settings.get("controls") != "neighbors":
        return s(offsets, residuals)
    shifts = np.empty_like(points)
    for place in np.unique(stratum):
        is_member = stratum == place
        control_points = double_precision_rows(controls.points)[controls.stratum == place]
        shifts[is_member] = points[is_member] - nearest_means(
            points[is_member], control_points, settings["k"], settings["neighbors"]
        )
    return s.with_parameters(controls="mean")(
        Representation(shifts, x.name), np.zeros((1, points.shape[1]))
    )
