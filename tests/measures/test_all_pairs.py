"""Measures of many pairs in blocks of samples: equal to the plain functions, without their
matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from factories.measures import declared, with_each

import resemblance as rs
from resemblance.base.exceptions import UndefinedError
from resemblance.contracts._measure import Measure
from resemblance.contracts.claims import AllPairs, Product, Scores
from resemblance.data.representation import Representation, pair_cache
from resemblance.intermediates import rank_bins, rectangles
from resemblance.intermediates.matrices import centered_gram


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Any number of samples counts as many."""
    monkeypatch.setattr(rectangles, "MAX_STORED_SAMPLES", 0)


def variants() -> list[Measure]:
    """Every measure of the catalogue, with all values of its choices, that is computed in blocks
    for many samples."""
    blocked = []
    for m in rs.list_measures():
        choices = m.choices | ({"squared": (False, True)} if "squared" in m.defaults else {})
        values = itertools.product(*choices.values())
        for variant in with_each(m, (tuple(zip(choices, v)) for v in values)):
            if variant.all_pairs and variant.all_pairs.above is not None:
                blocked.append(variant)
    return blocked


BLOCKED = variants()


def latent(n: int, *widths: int, noise: float = 0.1) -> list[np.ndarray]:
    """Non-linear intermediates of one latent space."""
    rng = np.random.default_rng(n)
    points = rng.standard_normal((n, 4))
    return [
        np.tanh(points @ rng.standard_normal((4, d))) + noise * rng.standard_normal((n, d))
        for d in widths
    ]


def data(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two representations of a kind."""
    rng = np.random.default_rng(1)
    x, y = latent(30, 6, 9)
    match kind:
        case "wide":
            return tuple(latent(20, 50, 70))  # type: ignore[return-value]
        case "ties":
            return rng.integers(2, size=(30, 5)) + 0.0, rng.integers(2, size=(30, 7)) + 0.0
        case "duplicates":
            return x[np.arange(30) // 3], y[np.arange(30) // 3]
        case "nearly equal":
            return x, x * (1 + 1e-6 * rng.standard_normal(x.shape))
        case "turned":
            (x,) = latent(40, 6)
            return x, x @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
        case "outlier":
            return np.concatenate([x[:-1], 1e4 * x[-1:]]), y
        case "offset":
            return x + 100, y - 50
        case "huge and tiny":
            return 1e100 * x, 1e-100 * y
        case "few":
            return x[:5], y[:5]
        case "constant":
            return np.ones((30, 3)), y
        case "one cluster":
            return np.repeat(x[:2], [26, 4], axis=0), y
    return x, y


KINDS = (
    "usual", "wide", "ties", "duplicates", "nearly equal", "outlier", "offset", "huge and tiny",
    "few", "constant", "one cluster", "turned",
)  # fmt: skip


def plain(m: Measure, x: Representation, y: Representation) -> float:
    """The value of the plain function, which takes any number of samples for few."""
    with pytest.MonkeyPatch.context() as few, pair_cache(x, y):
        few.setattr(rectangles, "MAX_STORED_SAMPLES", 4096)
        return float(m.function(x, y, **dict(m.parameters)))


def outcome(function, *args) -> tuple[object, str]:
    """What a function returns, and the reason where it is undefined."""
    try:
        return function(*args), ""
    except UndefinedError as error:
        return None, str(error)


def pair(kind: str) -> tuple[Representation, Representation]:
    x, y = data(kind)
    return Representation(x, "X"), Representation(y, "Y")


def test_values_are_those_of_the_plain_function(small_blocks, monkeypatch, subtests):
    cases = [  # each choice of a parameter meets each kind
        (m, kind)
        for (i, m), (j, kind) in itertools.product(enumerate(BLOCKED), enumerate(KINDS))
        if (i + i // 4 + j) % 2 == 0
    ]
    plainly = {(m, kind): outcome(plain, m, *pair(kind)) for m, kind in cases}
    small_blocks()
    for m, kind in cases:
        with subtests.test(f"{m} {kind}"):
            expected, reason = plainly[m, kind]
            scores, blocked_reason = outcome(m.all_pairs, *([r] for r in pair(kind)))
            assert blocked_reason == reason
            if not reason:
                (value,) = scores.values.ravel()
                bound = m.diagnostics(*pair(kind)).get("rank_error", 0)
                assert value == pytest.approx(expected, rel=1e-10, abs=1e-10 + bound)
                is_coarse = kind in ("few", "one cluster", "outlier") or "kendall" in m.spec
                assert bound < 0.01 or is_coarse


def test_values_do_not_depend_on_other_pairs(monkeypatch, subtests):
    for m in BLOCKED:
        with subtests.test(str(m)):
            monkeypatch.setattr(rank_bins, "CONCORDANCE_BINS_PER_SIDE", 64)
            x, y, z, w = (Representation(a) for a in latent(40, 6, 9, 50, 6))
            table = m.all_pairs([x, y, z], [y, w])
            square = m.all_pairs([x, y, z, w], [x, y, z, w])
            assert (square.values == square.values.T).all()
            for (i, a), (j, b) in itertools.product(enumerate([x, y, z]), enumerate([y, w])):
                alone = m.all_pairs([Representation(a.source)], [Representation(b.source)])
                if a is not b:  # one array, or two that are equal
                    assert alone.values[0, 0] == table.values[i, j]
                assert table.values[i, j] == square.values[i, [1, 3][j]]


def test_tensors_and_single_precision(monkeypatch, subtests):
    monkeypatch.setattr(rank_bins, "CONCORDANCE_BINS_PER_SIDE", 64)
    x, y = latent(40, 6, 9)
    for m in BLOCKED:
        expected = m.all_pairs([Representation(x)], [Representation(y)]).values
        tensors = [[Representation(torch.tensor(a))] for a in (x, y)]
        single = [[Representation(a.astype("float32"), dtype="float32")] for a in (x, y)]
        with subtests.test(str(m)):
            assert m.all_pairs(*tensors).values == pytest.approx(expected, abs=1e-10, rel=1e-10)
            assert m.all_pairs(*single).values == pytest.approx(expected, rel=2e-4)


MANY = 4200


def test_the_bound_of_ranks_is_recorded_of_many_samples(monkeypatch):
    monkeypatch.setattr(rectangles, "MAX_STORED_SAMPLES", 4096)
    x, y = latent(MANY, 3, 4)
    (record,) = rs.compare({"x": x}, {"y": y}, measures=["rsa"], progress=False).records()
    assert 0 < record["rank_error"] < 1e-4
    (few,) = rs.compare({"x": x[:99]}, {"y": y[:99]}, measures=["rsa"], progress=False).records()
    assert "rank_error" not in few


@pytest.mark.parametrize("shape", ["normal", "heavy tails", "two clusters", "integers"])
def test_few_bins_have_a_bound_that_holds(shape, monkeypatch):
    for name, number in (("MAX_RANK_BINS", 64), ("DENSITY_CELLS", 16), ("DENSITY_SAMPLES", 10)):
        monkeypatch.setattr(rank_bins, name, number)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((30, 4))
        if shape == "heavy tails":
            x = rng.standard_cauchy((30, 4))
        elif shape == "two clusters":
            x[:15] += 100
        elif shape == "integers":
            x = rng.integers(3, size=(30, 4)) + 0.0
        y = x + 0.3 * rng.standard_normal(x.shape)
        for kind in ("euclidean", "cosine"):
            m = rs.rsa.with_parameters(rdm=kind)
            sides = Representation(x), Representation(y)
            scores = m.all_pairs(*([side] for side in sides))
            bound = m.diagnostics(*sides)["rank_error"]
            error = abs(scores.values[0, 0] - plain(m, Representation(x), Representation(y)))
            assert 0 < error <= bound
            assert bound < 1.5


# --------------------------------------------------------------------------------- eigenvalues, MMD


def mmd_of_matrix(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """The formula, from the matrix of all distances."""
    width = max(x.shape[1], y.shape[1])
    both = np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in (x, y)])
    distances = np.linalg.norm(both[:, None] - both[None], axis=2)
    n = len(x)
    sigma = bandwidth * np.median(distances[np.triu_indices(2 * n, 1)])
    kernel = np.exp(-((distances / sigma) ** 2) / 2)
    within = kernel[:n, :n].sum() + kernel[n:, n:].sum() - 2 * n
    return float(np.sqrt(max(0, within / (n * (n - 1)) - 2 * kernel[:n, n:].mean())))


@pytest.mark.parametrize("kind", ["usual", "wide", "ties", "duplicates", "outlier", "few"])
def test_mmd_is_that_of_the_matrix(kind, monkeypatch):
    monkeypatch.setattr(rectangles, "MAX_SORTED_VALUES", 100)
    x, y = data(kind)
    y = y[:, : x.shape[1]] + 0.5
    assert rs.mmd(x, y, bandwidth=0.7) == pytest.approx(mmd_of_matrix(x, y, 0.7), abs=1e-8)
    tensors = torch.tensor(x), torch.tensor(y)
    of_tensors = float(rs.mmd(*tensors, bandwidth=0.7))
    assert of_tensors == pytest.approx(rs.mmd(x, y, bandwidth=0.7), rel=1e-12)


def test_the_middle_of_numbers_up_to_the_bound(monkeypatch):
    monkeypatch.setattr(rectangles, "MAX_SORTED_VALUES", 100)
    numbers = np.random.default_rng(0).permutation(np.arange(201.0))
    middle = rectangles.order_statistics(lambda: iter([numbers]), 201, (100, 101), numbers.max())
    assert middle.tolist() == [100, 101]


def test_mmd_needs_a_median():
    x = np.zeros((20, 2))
    with pytest.raises(UndefinedError, match="the kernel has no width"):
        rs.mmd(x, x + np.eye(20, 2))


SIZES: list[tuple[int, int]] = []


def means_apart(xs, ys) -> Scores:
    SIZES.append((len(xs), len(ys)))
    if any(np.ptp(r.array) == 0 for r in (*xs, *ys)):
        raise UndefinedError("it is constant")
    means = [np.array([float(np.mean(r.array)) for r in side]) for side in (xs, ys)]
    apart = np.abs(means[0][:, None] - means[1])
    return Scores(apart, {"twice": 2 * apart})


def test_rows_of_a_product_need_a_function_that_computes_them():
    half = Product(centered_gram, by_rows=lambda x, y, partners: True)
    with pytest.raises(ValueError, match="Product: by_rows and rows_of belong together"):

        @declared("Half", compares=half)
        def half_declared(x, y):
            """Half: never computed."""


@declared("Apart", range=(0, np.inf), all_pairs=AllPairs(means_apart, above=10))
def apart(x, y) -> float:
    """Apart: the difference of two means."""
    raise AssertionError("the blocks serve all of these pairs")


def test_pairs_without_a_value_are_computed_alone_and_the_others_together_once(subtests):
    reps = dict(zip("abcdef", latent(20, 3, 4, 5, 6, 7, 8)))
    plain = rs.compare(reps, measures=apart, progress=False)
    bad = {
        "nan": np.where(np.arange(20)[:, None] == 3, np.nan, reps["a"]),
        "flat": np.ones((20, 2)),
    }
    for sides in ((bad | reps,), (reps | bad, reps), (reps, bad | reps)):
        with subtests.test(rows=len(sides[0]), columns=len(sides[-1])):
            SIZES.clear()
            compared = rs.compare(*sides, measures=apart, progress=False)
            pairs = np.ix_(
                *([side.index(n) for n in reps] for side in (compared.rows, compared.columns))
            )
            assert np.array_equal(compared["apart"][pairs], plain["apart"])
            assert np.array_equal(compared.numbers["apart"]["twice"][pairs], 2 * plain["apart"])
            assert len(compared.failures) == compared["apart"].size - 36
            for failure in compared.failures:
                assert ("NaN" if "nan" in failure[1:3] else "constant") in failure.reason
            assert SIZES.count((6, 6)) == 1
            assert sum(rows * columns for rows, columns in SIZES if rows * columns != 36) < 80
