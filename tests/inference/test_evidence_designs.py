"""Evidence where orders are few, samples have labels or blocks, and measures behave badly."""

from __future__ import annotations

import math
import re
import sqlite3
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import product
from multiprocessing import get_context

import numpy as np
import pytest
from factories.files import forging
from factories.measures import declared

import resemblance as rs
from resemblance.inference.intervals import interval_parts
from resemblance.inference.nulls import EXACT_MOMENTS

N = 24


def related(noise: float = 0.3, count: int = 3, n: int = N) -> dict[str, np.ndarray]:
    """Representations that share three dimensions, called A, B, ..."""
    rng = np.random.default_rng(1)
    shared = rng.standard_normal((n, 3))
    return {
        "ABCDEF"[i]: np.hstack([shared, np.zeros((n, 4))]) + noise * rng.standard_normal((n, 7))
        for i in range(count)
    }


def found(*sides, **options) -> rs.Evidence:
    return rs.evidence(*sides, **{"n_permutations": 99, "progress": False} | options)


# ---------------------------------------------------------------------------------- few orders


def test_a_square_of_few_orders_tests_pairs_against_each_other():
    """All orders of both sides at once would leave every pair as it is."""
    arrays, blocks = related(0.6, n=20), np.repeat(np.arange(5), 4)
    options = {"measures": ["cka"], "whole_blocks": blocks, "n_permutations": 199}
    square = found(arrays, **options)
    rectangle = found({"A": arrays["A"]}, {k: arrays[k] for k in "BC"}, **options)
    assert rectangle.null_method("cka") == "all 120 permutations of 5 blocks"
    assert square.null_method("cka") == "all 120 permutations of 5 blocks"
    for face in ("pvalue", "chance", "chance_std"):
        of_square, exact = (getattr(e, face)("cka")[0] for e in (square, rectangle))
        np.testing.assert_allclose(of_square[1:], exact)
    assert square.min_pvalue == pytest.approx(1 / 120)
    assert (square.pvalue("cka")[0, 1:] < 0.05).all()


def test_exact_moments_say_no_less_than_one_order_can():
    X = np.random.default_rng(0).standard_normal((7, 4))
    some = found([X, X], measures=["cka"])  # whose tail says a fifth of that
    assert some.null_method("cka") == EXACT_MOMENTS
    assert some.nulls["cka"].pvalue[0, 1] == 1 / 5040


# ------------------------------------------------------------------------------- seeds and files


def test_designs_in_one_file_do_not_mix(tmp_path):
    arrays, path = related(), tmp_path / "e.db"
    groups = np.repeat([0, 1], N // 2)
    designs = [
        {},
        {"seed": 1},
        {"within": groups},
        {"within": 1 - groups},
        {"within": groups[::2].repeat(2)[::-1]},
        {"whole_blocks": np.repeat(np.arange(8), 3)},
        {"time_series": True, "max_shift": 3},
        {"n_permutations": 20},
        {"null": "permutations"},
    ]
    sides = (arrays,), ({"A": arrays["A"]}, {k: arrays[k] for k in "BC"})
    options = {"measures": ["cka[estimator=debiased]", "procrustes"], "n_permutations": 30}
    for design in designs:
        for side in sides:
            saved, alone = (found(*side, **options | design, save=s) for s in (path, None))
            for name in options["measures"]:
                for face in ("pvalue", "chance", "low"):
                    one, other = (getattr(e, face)(name) for e in (saved, alone))
                    np.testing.assert_array_equal(one, other, err_msg=f"{design} {face}")


def test_repeated_ids_change_no_pvalue_of_a_time_series():
    arrays = related(2.0)
    named = {k: rs.Representation(a, k, ids=[i // 2 for i in range(N)]) for k, a in arrays.items()}
    options = {"measures": ["mutual_knn", "cka"], "time_series": True, "max_shift": 3}
    one, other = (found(r, **options) for r in (arrays, named))
    for name in options["measures"]:
        np.testing.assert_array_equal(one.pvalue(name), other.pvalue(name))


@pytest.mark.parametrize("kept", ["AB", "CAB"])
def test_other_representations_change_no_pvalue(kept):
    arrays = related(2.0)
    measures = ["procrustes", "cycle_knn", "mutual_knn"]
    whole = found(arrays, measures=measures)
    part = found({k: arrays[k] for k in kept}, measures=measures)
    for name, face in product(measures, ("pvalue", "chance", "low")):
        values = [getattr(e, face)(name)[e._place("A", "B")] for e in (whole, part)]
        np.testing.assert_equal(*values)


def test_a_damaged_file_is_refused_and_not_locked(tmp_path, subtests):
    """What was raised keeps no statement open: the same process can write the file."""
    table = "WHERE json_extract(facts, '$.table') ="
    seven = f"UPDATE results SET numbers = x'0000000000001c40' {table}"
    entry = "UPDATE header SET description = json_set(description, '$.evidence"
    damages = {
        "a pvalue outside 0 to 1": f"{seven} 'pvalue'",
        "a chance outside 0 to 1": f"{seven} 'chance'",
        "design of 1000000000": f"{entry}.n', 1000000000)",
        "level is 3": f"{entry}.confidence_level', 3)",
        "caveats are no list of texts: 'few'": f"{entry}.caveats', 'few')",
        "cka has 99 permutations; 99 draws in a design of 5": f"{entry}.n_permutations', 5)",
        "buffer size": f"UPDATE results SET numbers = x'00' {table} 'parts'",
    }
    path, tracebacks = tmp_path / "e.db", []
    for message, statement in damages.items():
        found(*related(count=2).values(), measures="cka", save=path)
        with forging(path) as database:
            database.execute(statement)
        with subtests.test(message):
            with pytest.raises(ValueError, match=f"e.db.*{message}") as error:
                rs.load(path)
            tracebacks.append(error.tb)
        with closing(sqlite3.connect(path, timeout=0.1)) as database, database:
            database.executescript("DELETE FROM scores; DELETE FROM results")


# -------------------------------------------------------------------------------- measures


def test_labels_of_samples_go_with_parts_and_windows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, N)
    logits = {k: 2 * np.eye(4)[labels] + rng.standard_normal((N, 4)) for k in "AB"}
    arrays = {k: np.exp(v) / np.exp(v).sum(axis=1, keepdims=True) for k, v in logits.items()}
    measure = rs.get_measure("accuracy_difference").with_parameters(labels=tuple(labels.tolist()))
    for design in (
        {"whole_blocks": np.repeat(np.arange(8), 3)},
        {"time_series": True, "max_shift": 4},
    ):
        some = found(arrays, measures=[measure], **design)
        assert not some.failures
        assert some.parts[measure.spec].kind == "groups"
        correct = [a.argmax(axis=1) == labels for a in arrays.values()]
        gaps = [
            abs(np.diff([c[rows].mean() for c in correct]))
            for rows in interval_parts("groups", some.design)
        ]
        np.testing.assert_allclose(
            some.parts[measure.spec].values[0, 1], np.ravel(gaps), atol=1e-12
        )
    points = some.curve(measure, "A", "B", fractions=(0.5, 1.0), n_resamples=3)
    assert points[-1].value == pytest.approx(some[measure][0, 1])


@rs.cached("anew")
def running(x):
    return np.cumsum(x.array, axis=0)[:, :2]


@declared("Running sums", range=(-1, 1))
def running_sums(x, y):
    """An intermediate that depends on the order of the samples."""
    return float(np.corrcoef(running(x).ravel(), running(y).ravel())[0, 1])


@declared("One way", range=(-1, 1), symmetric=False)
def one_way(x, y):
    """It is not symmetric."""
    return float(np.corrcoef(x.array[:, 0], y.array.sum(axis=1))[0, 1])


@declared("Shy", range=(-1, 1))
def shy(x, y):
    """It has no value in some orders."""
    value = float(np.corrcoef(x.array[:, 0], y.array[:, 0])[0, 1])
    if -0.1 < value < 0.05:
        raise rs.UndefinedError("too near to zero")
    return value


def test_measures_of_users_are_the_same_in_other_processes():
    measures = [running_sums, one_way, shy]
    here = found(related(), measures=measures, n_permutations=49)
    with ProcessPoolExecutor(2, get_context("fork")) as executor:
        there = found(related(), measures=measures, n_permutations=49, jobs=executor)
    for m, face in product(measures, ("pvalue", "chance", "low")):
        np.testing.assert_array_equal(getattr(here, face)(m), getattr(there, face)(m))
    assert here.null_method("running_sums") == "49 permutations"
    assert (here.pvalue("one_way") != here.pvalue("one_way").T).any()
    null = here.nulls["shy"]
    missing = np.isnan(null.drawn[0, 1]).sum()
    assert 0 < missing < 49
    assert null.pvalue[0, 1] == pytest.approx((1 + missing) / 50), "as large as the value"
    assert f"{missing} without a value" in null.how[0][1]


def test_a_pair_of_a_square_is_one_test_though_it_has_two_cells():
    square = found(related(2.0, count=4), measures=["cka"])
    assert square.null_method("cka") == EXACT_MOMENTS
    p = np.sort(square.pvalue("cka")[np.triu_indices(4, 1)])
    assert 1e-4 < p[0] < p[1] < 1 / 12
    assert np.nanmin(square.pvalue("cka", adjust="familywise")) == pytest.approx(6 * p[0])


def test_intermediates_without_axes_are_computed_anew():
    """Of equal numbers the first comes first: with another order they change places."""

    @rs.cached
    def places(x):
        return np.argsort(np.argsort(x.array[:, 0], kind="stable"))

    @declared("Places", range=(-1, 1))
    def same_places(x, y):
        """The correlation of places in the order of the first feature."""
        return float(np.corrcoef(places(x), places(y))[0, 1])

    a, b = np.random.default_rng(0).integers(0, 2, (2, N, 1)).astype(float)
    with pytest.warns(UserWarning, match="intermediate places declares no axes"):
        evidence = found({"A": a}, {"B": b}, measures=[same_places])
    orders = (evidence.design.order(draw, "") for draw in range(99))
    expected = [same_places(a, b[order]) for order in orders]
    assert evidence.nulls["same_places"].drawn[0, 0] == pytest.approx(expected)


def test_a_measure_of_a_user_may_read_the_source():
    @declared("Product", range=(-np.inf, np.inf))
    def source_product(x, y):
        """The product of the first features, as they were given."""
        return float(x.source[:, 0] @ y.source[:, 0])

    a, b = related(count=2).values()
    evidence = found({"A": a}, {"B": b}, measures=[source_product])
    orders = (evidence.design.order(draw, "") for draw in range(99))
    expected = [source_product(a, b[order]) for order in orders]
    assert evidence.nulls["source_product"].drawn[0, 0] == pytest.approx(expected)


def test_a_new_version_of_a_measure_reuses_nothing(tmp_path):
    def correlation(x, y):
        """A correlation."""
        return float(abs(np.corrcoef(x.array[:, 0], y.array[:, 0])[0, 1]))

    def changing(x, y):
        """A power of a correlation."""
        return correlation(x, y) ** 2

    correlation.__name__ = correlation.__qualname__ = "changing"
    first, second = declared("A")(correlation), declared("A", version=2)(changing)
    found(related(), measures=[first], save=tmp_path / "e.db")
    saved = found(related(), measures=[second], save=tmp_path / "e.db")
    alone = found(related(), measures=[second])
    for face in ("chance", "chance_std", "pvalue", "low"):
        one, other = (getattr(e, face)("changing") for e in (saved, alone))
        np.testing.assert_array_equal(one, other)


def test_a_lack_of_memory_is_no_draw():
    """A pair without memory for one order has no p-value that a file could keep."""
    calls = []

    @declared("Greedy")
    def greedy(x, y):
        """It needs more memory with time."""
        calls.append(x.array.sum())
        if len(calls) > 40:
            raise MemoryError
        return 0.5

    with pytest.raises(MemoryError):
        found(related(), measures=[greedy])


def test_the_memory_budget_bounds_what_draws_take():
    """Intermediates of pairs of samples are moved from square matrices of twice their size."""
    rng = np.random.default_rng(0)
    arrays = {str(i): rng.standard_normal((600, 4)) for i in range(8)}
    options = {"measures": ["rsa"], "null": "permutations", "n_permutations": 1}
    found({k: a[:40] for k, a in arrays.items()}, **options)  # imports
    tracemalloc.start()
    found(arrays, **options, memory="24MB")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32e6


# --------------------------------------------------------------------- intervals and differences


def test_few_blocks_are_left_out_one_by_one():
    arrays = related(1.0, n=200)
    few, many = np.repeat(np.arange(8), 25), np.repeat(np.arange(50), 4)
    assert (
        found(arrays, measures=["mutual_knn"], whole_blocks=many).parts["mutual_knn"].kind
        == "halves"
    )
    some = found(arrays, measures=["mutual_knn"], whole_blocks=few).parts["mutual_knn"]
    assert (some.kind, some.values.shape[-1]) == ("groups", 8)


def test_a_difference_of_rounding_is_none():
    arrays = related()
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((7, 7)))[0]
    columns = {"B": arrays["B"], "turned": arrays["B"] @ turn}
    some = found({"A": arrays["A"]}, columns, measures=["procrustes"], n_permutations=9)
    assert some.difference("procrustes", ("A", "B"), ("A", "turned")).pvalue == 1


@pytest.mark.parametrize("measure", ["cka[estimator=debiased]", "procrustes", "mutual_knn"])
def test_rows_and_columns_may_share_data_and_names(measure):
    arrays = related(1.0)
    one = rs.Representation(arrays["A"], "A")
    shared = found([one, arrays["B"]], [one, arrays["C"]], measures=[measure])
    apart = found({"A": arrays["A"]}, {"C": arrays["C"]}, measures=[measure])
    assert shared.pvalue(measure)[0, 0] <= 0.01
    assert shared.pvalue(measure)[0, 1] == apart.pvalue(measure)[0, 0]
    assert shared.chance(measure)[0, 1] == apart.chance(measure)[0, 0]


# ------------------------------------------------------- pairs that are permuted beside exact ones


DEBIASED = "cka[estimator=debiased]"


def with_far_samples(
    count: int, far: int, n: int = 120, share: float = 0.0
) -> dict[str, np.ndarray]:
    """Return ``count`` representations with a common part of size ``share``. Each of the first
    ``far`` representations has an outlier, a different sample in each, scaled by 9."""
    rng = np.random.default_rng(7)
    common = rng.standard_normal((n, 12))
    arrays = {}
    for k in range(count):
        x = share * common + rng.standard_normal((n, 12))
        x[k if k < far else slice(0, 0)] *= 9
        arrays[f"h.{k}"] = x
    return arrays


def test_only_pairs_with_far_samples_on_both_sides_are_permuted():
    arrays = with_far_samples(5, 2)
    square = found(arrays, measures=[DEBIASED, "rsa"])
    (null, _) = square.nulls.values()
    expected = np.ones((5, 5), bool)
    expected[[0, 1], [1, 0]] = False
    np.testing.assert_array_equal(null.is_exact | np.eye(5, dtype=bool), expected)
    assert square.null_method(DEBIASED) == "99 permutations; exact moments"
    assert square.adjust_method(DEBIASED) == "step-down maxT and Holm"
    without = found({k: arrays[k] for k in ("h.0", "h.2", "h.3", "h.4")}, measures=[DEBIASED])
    for face in (
        "pvalue",
        "chance",
        "chance_std",
        "low",
    ):  # other representations change none of them
        values = [getattr(e, face)(DEBIASED)[e._place("h.2", "h.0")] for e in (square, without)]
        assert values[0] == values[1]
    alone = found({k: arrays[k] for k in ("h.0", "h.1")}, measures=[DEBIASED])
    assert alone.pvalue(DEBIASED)[0, 1] == square.pvalue(DEBIASED)[0, 1]
    assert alone.adjust_method(DEBIASED) == "step-down maxT"


@pytest.mark.parametrize("far", [2, 9])
def test_permuted_pairs_among_many_can_be_significant(far):
    """Holm over 45 pairs with 399 permutations gives 0.11 at best."""
    square = found(with_far_samples(10, far, share=1.5), measures=[DEBIASED], n_permutations=399)
    (null,) = square.nulls.values()
    above = np.triu_indices(10, 1)
    permuted, adjusted = ~null.is_exact[above], square.pvalue(DEBIASED, adjust="familywise")[above]
    assert permuted.sum() == far * (far - 1) / 2
    assert adjusted.max() < 0.05
    assert (adjusted >= square.pvalue(DEBIASED)[above] * (1 - 1e-12)).all()
    assert (adjusted[permuted] >= 1 / 400).all()


@pytest.mark.parametrize(
    ("arrays", "measure", "cause"),
    [
        (
            with_far_samples(5, 2),
            DEBIASED,
            r"1 of 10 pairs x 99 permutations: sample 1 holds 64 % of the",
        ),
        (
            {
                k: np.eye(2)[(np.arange(14) * s % 7 < 3).astype(int)]
                for k, s in (("a", 1), ("b", 3))
            },
            DEBIASED,
            "the pair x 99 permutations: 1 pair whose value is one of few",
        ),
    ],
)
def test_permutations_that_the_data_need_are_announced_with_their_cause(
    arrays, measure, cause, capsys
):
    found(arrays, measures=[measure], progress=True)
    line = capsys.readouterr().err
    assert re.search(rf"^evidence: {re.escape(measure)}: .*{cause}", line), line
    found(arrays, measures=[measure], progress=False)
    assert capsys.readouterr().err == ""


# --------------------------------------------------------------- values that no pairing can change


@pytest.mark.parametrize("design", [{}, {"time_series": True}, {"within": np.arange(N) % 2}])
def test_a_null_that_cannot_move_is_no_result(design, tmp_path):
    """Two clouds that differ by one standard deviation in all columns."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((N, 6)), rng.standard_normal((N, 6)) + 1
    measures = ["mmd", "imd", "magnitude_difference", "sliced_wasserstein", "cka"]
    evidence = found(
        {"night 0": a}, {"night 1": b}, measures=measures, save=tmp_path / "e", **design
    )
    for e in (evidence, rs.load(tmp_path / "e")):
        for name in measures:
            pair = e.pair(name, "night 0", "night 1")
            missing = [
                math.isnan(v)
                for v in (pair.chance, pair.above_chance, pair.pvalue, pair.pvalue_familywise)
            ]
            assert missing == [name != "cka"] * 4
            assert ("does not depend on the pairing of samples" in pair.reason) == (name != "cka")
            assert math.isfinite(pair.value)
    records = [r for r in evidence.records() if r["measure"] == "mmd"]
    assert (records[0]["pvalue"], records[0]["chance"]) == (None, None)
    assert records[0]["how"] == "does not depend on the pairing"


def test_an_inner_product_that_no_order_changes_has_no_chance_level():
    constant = {"A": np.ones((9, 2)), "B": np.random.default_rng(0).standard_normal((9, 3))}
    pair = found(constant, measures=["rsm_norm_difference"]).pair("rsm_norm_difference", "A", "B")
    assert math.isnan(pair.pvalue)
    assert pair.how == "does not depend on the pairing"
