"""What every measure sees and ignores: its values under the same changes of one representation."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from pieces import number

import resemblance as rs

SAMPLES, FEATURES, CLASSES, DRAWS = 200, 16, 8, 5
FARTHEST = 1.0  # of a position: what lies beyond is drawn at the end, with an arrow
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


class Row(NamedTuple):
    """A change of X: its group, its words, the claim that says it is ignored, and the change."""

    group: str
    words: str
    invariance: str
    change: Change


class Profile(NamedTuple):
    """Values of a measure between X and changes of X; ``unrelated`` is a mean over draws."""

    itself: float
    unrelated: float
    values: tuple[float, ...]
    claimed: tuple[bool, ...]

    def positions(self) -> np.ndarray:
        """Return each value as a place between X itself, 0, and an unrelated representation, 1."""
        width = self.unrelated - self.itself
        if not abs(width) > 1e-9:
            return np.full(len(self.values), np.nan)
        return (np.array(self.values) - self.itself) / width


# ---------------------------------------------------------------------------------------- the data


def representation(rng: np.random.Generator) -> np.ndarray:
    """Draw classes around centres, with a decaying spectrum and an offset of random length."""
    mixing = rng.standard_normal((FEATURES, FEATURES)) * np.logspace(0, -1, FEATURES)
    centers = rng.standard_normal((CLASSES, FEATURES)) @ mixing
    rows = centers[classes()] + 0.7 * rng.standard_normal((SAMPLES, FEATURES)) @ mixing
    return rows + rng.uniform(0.2, 1) * rng.standard_normal(FEATURES)


def unrelated(rng: np.random.Generator) -> np.ndarray:
    """Draw another representation, whose classes are those of other samples."""
    return rng.permutation(representation(rng))


def classes() -> np.ndarray:
    return np.arange(SAMPLES) % CLASSES


def size(X: np.ndarray) -> float:
    """Return the root mean square of the centred entries."""
    return float(np.std(X - X.mean(axis=0)))


def noisy(share: float) -> Change:
    return lambda X, rng: X + share * size(X) * rng.standard_normal(X.shape)


def one_class_moved(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    step = 3 * size(X) * rng.standard_normal(X.shape[1])
    return X + (classes() == 0)[:, None] * step


def exchanged_within_classes(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    order = np.arange(len(X))
    for label in range(CLASSES):
        members = np.flatnonzero(classes() == label)
        order[members] = rng.permutation(members)
    return X[order]


def half_shuffled(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    order = np.arange(len(X))
    half = rng.permutation(len(X))[: len(X) // 2]
    order[half] = rng.permutation(half)
    return X[order]


def without_leading_direction(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    mean = X.mean(axis=0)
    direction = np.linalg.svd(X - mean, full_matrices=False)[2][0]
    return X - np.outer((X - mean) @ direction, direction)


def one_outlier(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.vstack([X[:1] + 30 * size(X) * rng.standard_normal(X.shape[1]) / 2, X[1:]])


def with_noise_columns(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.hstack([X, size(X) * rng.standard_normal(X.shape)])


def rotated(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]


UNITS, SIGNAL, SAMPLE = "Other coordinates", "Features lost or added", "Samples moved"
ROWS = (
    Row(UNITS, "columns permuted", "permutation", lambda X, rng: X[:, rng.permutation(X.shape[1])]),
    Row(UNITS, "rotated", "orthogonal", rotated),
    Row(UNITS, "multiplied by 2", "isotropic_scaling", lambda X, rng: 2 * X),
    Row(
        UNITS,
        "shifted by one vector",
        "translation",
        lambda X, rng: X + 2 * size(X) * rng.standard_normal(X.shape[1]),
    ),
    Row(
        UNITS,
        "mapped by an invertible matrix",
        "invertible_linear",
        lambda X, rng: X @ rng.standard_normal((X.shape[1], X.shape[1])),
    ),
    Row(UNITS, "rectified (ReLU)", "", lambda X, rng: np.maximum(X, 0)),
    Row(SIGNAL, "noise of 10 % added", "", noisy(0.1)),
    Row(SIGNAL, "noise of 50 % added", "", noisy(0.5)),
    Row(SIGNAL, "one column dropped", "", lambda X, rng: X[:, 1:]),
    Row(SIGNAL, "leading direction removed", "", without_leading_direction),
    Row(SIGNAL, "as many columns of noise added", "", with_noise_columns),
    Row(SAMPLE, "one sample far away", "", one_outlier),
    Row(SAMPLE, "one class of eight moved", "", one_class_moved),
    Row(SAMPLE, "samples exchanged within classes", "", exchanged_within_classes),
    Row(SAMPLE, "half of the samples exchanged", "", half_shuffled),
)


@cache
def profiles() -> dict[str, Profile]:
    """Return the profile of every measure of the catalogue."""
    X = representation(np.random.default_rng(2025))
    representations = {"itself": X}
    for position, row in enumerate(ROWS):
        representations[row.words] = row.change(X, np.random.default_rng([2025, position]))
    for draw in range(DRAWS):
        representations[f"unrelated {draw}"] = unrelated(np.random.default_rng([2026, draw]))
    measures = [_complete(m, X) for m in rs.list_measures()]
    single_measures = [m for m in measures if m.takes != "repeats"]
    result = rs.compare({"X": X}, representations, measures=single_measures, progress=False)
    profile_by_name = {m.name: _profile(m, result[m][0]) for m in single_measures}
    repeat_measures = [m for m in measures if m.takes == "repeats"]
    repeat_data = {name: rs.Representation(x, ids=classes()) for name, x in representations.items()}
    X = rs.Representation(X, ids=classes())
    result = rs.compare({"X": X}, repeat_data, measures=repeat_measures, progress=False)
    return profile_by_name | {m.name: _profile(m, result[m][0]) for m in repeat_measures}


def _complete(m: rs.Measure, X: np.ndarray) -> rs.Measure:
    """Give the accuracy difference the labels without which it has no value."""
    blurred = X + size(X) * np.random.default_rng(7).standard_normal(X.shape)
    labels = tuple(blurred.argmax(axis=1).tolist())
    return m.with_parameters(labels=labels) if m.name == "accuracy_difference" else m


def _profile(m: rs.Measure, values: np.ndarray) -> Profile:
    is_claimed = tuple(row.invariance in m.invariant_to for row in ROWS)
    changed_values = tuple(values[1 : len(ROWS) + 1].tolist())
    return Profile(
        float(values[0]), float(values[len(ROWS) + 1 :].mean()), changed_values, is_claimed
    )


def alike(name: str, count: int = 3) -> list[str]:
    """Return the measures that react most alike to the changes, the most alike first."""
    positions = {m: np.clip(p.positions(), -0.2, FARTHEST) for m, p in profiles().items()}
    distances = {
        m: _apart(positions[name], position) for m, position in positions.items() if m != name
    }
    return sorted((m for m in distances if distances[m] < math.inf), key=lambda m: distances[m])[
        :count
    ]


def _apart(left: np.ndarray, right: np.ndarray) -> float:
    is_finite = np.isfinite(left) & np.isfinite(right)
    return (
        float(np.abs(left - right)[is_finite].mean())
        if is_finite.sum() > len(ROWS) / 2
        else math.inf
    )


# ----------------------------------------------------------------------------------------- the page


def chart(m: rs.Measure) -> str:
    """Return the strip chart of a measure as HTML, a line for each change."""
    profile = profiles()[m.name]
    label = html.escape(m.label)
    ends = '<div class="ends"><span>X itself</span><span>unrelated</span></div>'
    lines = [
        '<table class="profile">',
        f"<thead><tr><th>Y is X ...</th><th>{ends}</th><th>{label}</th></tr></thead>",
        "<tbody>",
        _line("itself", 0.0, profile.itself, "end"),
        *_changes(profile),
        _line("unrelated: drawn anew", 1.0, profile.unrelated, "end"),
        "</tbody></table>",
    ]
    return "\n".join(lines)


def _changes(profile: Profile) -> Iterator[str]:
    group, positions = "", profile.positions()
    for row, value, position, claimed in zip(
        ROWS, profile.values, positions, profile.claimed, strict=True
    ):
        if row.group != group:
            group = row.group
            yield f'<tr class="group"><th colspan="3">{group}</th></tr>'
        yield _line(row.words, float(position), value, "claimed" if claimed else "seen")


def _line(title: str, position: float, value: float, kind: str) -> str:
    return f"<tr><th>{title}</th><td>{_track(position, kind)}</td><td>{number(value)}</td></tr>"


def _track(position: float, kind: str) -> str:
    """Return the mark of a value on its line; without a place there is the line alone."""
    if not math.isfinite(position):
        return '<div class="track"></div>'
    percent = 100 * min(max(position, 0.0), FARTHEST)
    modifier = " beyond" if position > FARTHEST + 0.02 else ""
    bar = f'<b style="width:{percent:.1f}%"></b>' if percent > 0.05 else ""
    return (
        f'<div class="track">{bar}<i class="{kind}{modifier}" '
        f'style="left:{percent:.1f}%"></i></div>'
    )
