"""A plain function of two arrays as a measure, of which nothing is claimed."""

from __future__ import annotations

import functools
import gc
import itertools
import pickle
import time
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from scipy.spatial import procrustes

import resemblance as rs


def row_cosine(X, Y):
    """Row cosine: the mean cosine between corresponding rows."""
    lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(Y, axis=1)
    return float(np.mean(np.sum(X * Y, axis=1) / lengths))


def disparity(X, Y, *, power: int = 1):
    """Disparity of SciPy, to a power."""
    return procrustes(X, Y)[2] ** power


def halved(function):
    @functools.wraps(function)
    def half(X, Y):
        return function(X, Y) / 2

    return half


@halved
@halved
def quarter(X, Y):
    """Quarter of the row cosine, by two decorators."""
    return row_cosine(X, Y)


def size_ratio(X: np.ndarray, Y: np.ndarray):
    """Size ratio, which is not symmetric and writes into its arguments."""
    X -= X.mean(axis=0)
    Y -= Y.mean(axis=0)
    return np.linalg.norm(X - Y) / np.linalg.norm(Y)


class Distance:
    """A callable object, and an object with a method, without annotations."""

    __name__ = "Distance"

    def __call__(self, X, Y, *, power: int = 1):
        return float(np.abs(X - Y).sum()) ** power

    def method(self, X, Y, *, power: int = 1):
        return self(X, Y, power=power)


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    x, noise = np.random.default_rng(0).standard_normal((2, 40, 6))
    return x, x + noise


def test_values_are_those_of_the_function(pair):
    x, y = pair
    result = rs.compare(x, y, measures=[row_cosine, disparity, size_ratio], progress=False)
    assert result["row_cosine"][0, 0] == row_cosine(x, y)
    assert result["disparity"][0, 0] == disparity(x, y)
    assert result["size_ratio"][0, 0] == size_ratio(x.copy(), y.copy())
    square = rs.compare({"x": x, "y": y}, measures=size_ratio, progress=False)["size_ratio"]
    assert square[0, 1] != square[1, 0]
    squared = rs.get_measure(disparity).with_parameters(power=2)
    assert squared(x, y) == disparity(x, y) ** 2
    assert rs.compare(x, y, measures=squared, progress=False)["disparity[power=2]"].shape == (1, 1)
    with pytest.raises(ValueError, match="disparity: power must be of type int"):
        squared.with_parameters(power="2")


def test_objects_built_in_functions_and_two_settings_of_one_function_are_measures(pair):
    x, y = pair
    assert rs.compare(x, y, measures=np.vdot, progress=False)["vdot"][0, 0] == np.vdot(x, y)
    one, other = Distance(), Distance()
    for function in (disparity, one, one.method):
        name, squared = function.__name__, rs.get_measure(function).with_parameters(power=2)
        for compute in (rs.compare, rs.evidence):
            result = compute(x, y, measures=[function, squared], progress=False)
            assert [m.spec for m in result.measures] == [name, f"{name}[power=2]"]
    with pytest.raises(ValueError, match="a name that is taken"):
        rs.compare(x, y, measures=[one.method, other.method], progress=False)


def test_nothing_is_claimed_but_the_direction_of_random_data(pair):
    for function, is_similarity in ((row_cosine, True), (disparity, False), (size_ratio, False)):
        m = rs.get_measure(function)
        assert (m.larger_is_more_similar, m.symmetric, m.invariant_to) == (
            is_similarity, False, frozenset(),
        )  # fmt: skip
        assert m.range == (-np.inf, np.inf)
        assert m not in rs.list_measures()
        assert m == rs.get_measure(function)
    assert rs.get_measure(lambda X, Y: -np.abs(X - Y).sum()).larger_is_more_similar
    result = rs.compare(*pair, measures=disparity, progress=False)
    words = "disparity is a function without declared properties: larger values count as less sim"
    assert [c for c in result.caveats if words in c]
    assert words in str(result)


def test_the_null_is_of_permutations_alone(pair):
    x, y = pair
    calls = []

    def counted(X, Y):
        calls.append(Y)
        return row_cosine(X, Y)

    evidence = rs.evidence(x, y, measures=counted, n_permutations=50, progress=False)
    assert len(calls) >= 2 + 2 + 50  # the probe, the value, and every permutation
    for rows in calls[4:]:
        assert np.array_equal(np.sort(rows, axis=0), np.sort(y, axis=0))
    assert evidence.null_method("counted") == "50 permutations"
    drawn = evidence.nulls["counted"].drawn[0, 0]
    exceeding = np.sum(drawn >= row_cosine(x, y))
    assert evidence.pvalue("counted")[0, 0] == (1 + exceeding) / 51
    assert np.isnan([evidence.low("counted"), evidence.high("counted")]).all()
    assert "nothing is declared about the function" in evidence.failures[0].reason
    assert "larger values count as more similar" in str(evidence)
    distance = rs.evidence(x, y, measures=disparity, n_permutations=50, progress=False)
    assert distance.pvalue("disparity")[0, 0] == 1 / 51
    with pytest.raises(ValueError, match="no exact moments of the null distribution of disparity"):
        rs.evidence(x, y, measures=disparity, null="moments", progress=False)
    with pytest.raises(ValueError, match="score_models: measure is one measure"):
        rs.score_models({"x": x}, {"y": y}, measure=row_cosine)


def test_workers_and_files_know_the_function_by_its_code(pair, tmp_path):
    x, y = pair
    m = rs.get_measure(disparity).with_parameters(power=2)
    assert pickle.loads(pickle.dumps(m)) == m
    with ProcessPoolExecutor(1) as pool:
        result = rs.compare(x, y, measures=[row_cosine, quarter], jobs=pool, progress=False)
    assert result["row_cosine"][0, 0] == row_cosine(x, y)
    assert result["quarter"][0, 0] == row_cosine(x, y) / 4
    file = tmp_path / "own.scores"
    versions = []
    for power in (1, 2):  # two functions of one name, as in two versions of a notebook
        code = f"def measured(X, Y):\n    return float(abs(X - Y).sum()) ** {power}\n"
        space: dict = {"__name__": "notebook"}
        exec(code, space)
        saved = rs.compare(x, y, measures=space["measured"], save=file, progress=False)
        assert saved["measured"][0, 0] == np.abs(x - y).sum() ** power
        assert rs.load(file)["measured"][0, 0] == saved["measured"][0, 0]
        versions.append(saved.measures[0].version)
    assert versions[0] != versions[1]


def test_functions_that_no_file_can_name_are_refused(pair, tmp_path):
    x, y = pair
    in_memory = rs.compare(x, y, measures=lambda X, Y: float((X * Y).sum()), progress=False)
    assert in_memory["<lambda>"][0, 0] == pytest.approx((x * y).sum())
    with pytest.raises(ValueError, match=r"cannot name a lambda: define the function with def"):
        in_memory.save(tmp_path / "a.scores")
    factor = 2.0

    def scaled(X, Y):
        return factor * float((X * Y).sum())

    @functools.wraps(row_cosine)
    def times(X, Y):
        return factor * row_cosine(X, Y)

    assert rs.compare(x, y, measures=scaled, progress=False)["scaled"][0, 0] > 0
    for function, message in (
        (lambda X, Y: float((X * Y).sum()), "a file cannot name a lambda"),
        (scaled, r"scaled uses factor of an enclosing function.*def scaled\(X, Y, \*, factor="),
        (times, "row_cosine uses factor of an enclosing function"),
    ):
        for compute in (rs.compare, rs.evidence):
            with pytest.raises(ValueError, match=message):
                compute(x, y, measures=function, save=tmp_path / "b.scores", progress=False)
    assert not list(tmp_path.iterdir())


def test_functions_that_are_no_measures_are_refused_with_a_remedy(pair):
    x, y = pair

    def cka(X, Y):
        return float((X * Y).sum())

    def one_array(X):
        return 1.0

    def pair_of(X, Y):
        return X.sum(), Y.sum()

    def half(X, Y):
        return 0.5

    def needs_labels(X, Y, labels):
        return 0.5

    no_hash = type("NoHash", (Distance,), {"__hash__": None})()

    for functions, message in [
        ([cka], "has a measure called 'cka', a name that is taken; rename the function"),
        ([row_cosine, pickle.loads(pickle.dumps(rs.cka)).with_parameters], "cannot be a measure"),
        ([one_array], r"one_array\(X\) cannot be a measure: a measure takes two arrays"),
        ([needs_labels], r"needs_labels\(X, Y, labels\) cannot be a measure"),
        ([half], r"half returns equal values for random arrays X \(250, 40\) .*decorate half"),
        ([pair_of], r"pair_of must return one number; it returned \("),
        ([lambda X, Y: np.nan], "<lambda> returns NaN or infinity for random arrays"),
        ([lambda X, Y: X @ Y], "<lambda> raises ValueError: matmul.* correct <lambda>"),
        ([type(rs.cka)], "not a measure"),
        ([no_hash], r"Distance is a NoHash without a hash .*@dataclass\(frozen=True\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            rs.compare(x, y, measures=functions, progress=False)


def test_unequal_widths_are_recorded_and_other_errors_name_the_function_and_the_shapes(pair):
    x, y = pair
    wide = np.hstack([y, y])
    result = rs.compare(x, [y, wide], measures=[row_cosine, "cka"], progress=False)
    assert result["row_cosine"][0, 0] == row_cosine(x, y)
    assert np.isfinite(result["cka"]).all()
    (failure,) = result.failures
    assert "row_cosine: no value for X (40, 6) and Y (40, 12), arrays of diff" in failure.reason

    def picky(X, Y):
        return {6: 0.0, 40: -np.abs(X - Y).sum()}[X.shape[1]]

    with pytest.raises(KeyError) as caught:
        rs.compare(wide, wide, measures=picky, progress=False)
    assert caught.value.__notes__[0].startswith("picky was called with X (40, 12) and Y (40, 12);")


def test_an_exception_in_one_thread_waits_for_the_others_and_releases_caches(pair):
    calls = itertools.count()

    def failing(X, Y):
        if (call := next(calls)) == 5:  # after the arrays that show the direction
            raise KeyError("a mistake")
        time.sleep(0.3 * (call > 2))
        return row_cosine(X, Y)

    layers = [rs.Representation(pair[0] + k, f"{k}") for k in range(6)]
    with ThreadPoolExecutor(3) as pool, pytest.raises(KeyError):
        rs.compare(layers, measures=[failing, "rsa"], jobs=pool, block_size=1, progress=False)
    sizes = [np.size(value) for layer in layers for value in layer.cache.values()]
    assert max(sizes, default=0) <= 1


def test_a_check_tells_what_to_declare():
    outcomes = rs.check_measure(row_cosine)
    by_name = {o.check: o for o in outcomes}
    held = {o.check for o in outcomes if o.claimed == "unknown" and o.holds}
    assert held == {"invariant to isotropic scaling", "symmetric"}
    assert outcomes[0].check == "declaration"
    line = outcomes[0].detail
    declared = eval(line.removeprefix("@"), {"rs": rs, "np": np})(
        lambda x, y: row_cosine(np.asarray(x.array), np.asarray(y.array))
    )
    assert (declared.range, declared.symmetric) == ((-np.inf, np.inf), True)
    assert declared.invariant_to == {"isotropic_scaling"}
    assert not by_name["hostile: zeros"].holds  # 0 / 0
    distance = rs.check_measure(disparity)[0].detail
    assert "invariant_to={'orthogonal', 'isotropic_scaling', 'translation'}" in distance
    assert "larger_is_more_similar=False, range=(0, np.inf)" in distance
    assert not [o for o in rs.check_measure(rs.cka) if o.claimed == "unknown"]


def test_no_cache_keeps_a_function_after_its_last_use(pair):
    def distance(X, Y, power: int = 1):
        return float(np.linalg.norm(X - Y)) ** power

    def declared_distance(x, y):
        return float(np.linalg.norm(np.asarray(x.array) - np.asarray(y.array)))

    claims = {"label": "Distance", "family": "descriptive", "citation": "", "range": (0, np.inf)}
    declared = rs.measure(**claims, larger_is_more_similar=False)(declared_distance)
    references = weakref.ref(distance), weakref.ref(declared_distance)
    for m in (distance, declared):
        rs.compare(*pair, measures=m, progress=False)
        rs.evidence(*pair, measures=m, progress=False)
    assert rs.check_measure(distance)
    assert rs.get_measure(distance) == rs.get_measure(distance)
    del distance, declared, declared_distance, m
    gc.collect()
    assert [reference() for reference in references] == [None, None]
