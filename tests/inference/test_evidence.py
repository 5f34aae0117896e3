"""Evidence: the same numbers however they are computed, and numbers that mean what they say."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import permutations

import numpy as np
import pytest
from factories.measures import declared
from scipy.stats import t

import resemblance as rs
from resemblance.base.exceptions import BiasedDifferenceWarning
from resemblance.comparison.store import ScoreFile
from resemblance.inference.intervals import interval_parts
from resemblance.inference.nulls import EXACT_MOMENTS, MIN_TRUSTED_EXACT_P
from resemblance.report.output import content_to_json
from resemblance.report.terminal import evidence_tables
from resemblance.significance.multiple_testing import holm_adjust

N = 48
MEASURES = ["cka", "cycle_knn", "mean_cca", "imd", "cka[estimator=debiased]"]


def three(n: int = N) -> dict[str, np.ndarray]:
    """A and B share four dimensions; C is independent of both."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((n, 4))
    A = shared @ rng.standard_normal((4, 9)) + 0.5 * rng.standard_normal((n, 9))
    B = shared @ rng.standard_normal((4, 7)) + 0.5 * rng.standard_normal((n, 7))
    return {"A": A, "B": B, "C": rng.standard_normal((n, 8))}


def computed(**options) -> rs.Evidence:
    arrays = three()
    sides = (arrays,) if options.pop("square", True) else ({"A": arrays.pop("A")}, arrays)
    settings = {"measures": MEASURES, "n_permutations": 130, "progress": False}
    return rs.evidence(*sides, **settings | options)


@pytest.fixture(scope="module")
def square() -> rs.Evidence:
    return computed()


def assert_same(one: rs.Evidence, other: rs.Evidence) -> None:
    assert (one.rows, one.columns, one.is_square) == (other.rows, other.columns, other.is_square)
    assert one.design.key == other.design.key
    assert one.confidence_level == other.confidence_level
    assert [m.spec for m in one.measures] == [m.spec for m in other.measures]
    for m in one.measures:
        for name in ("chance", "chance_std", "pvalue", "low", "high", "above_chance"):
            got, expected = (getattr(e, name)(m.spec) for e in (one, other))
            np.testing.assert_array_equal(got, expected, err_msg=f"{m.spec} {name}")
        np.testing.assert_array_equal(one[m.spec], other[m.spec])
        assert one.null_method(m.spec) == other.null_method(m.spec)


# ------------------------------------------------------------------------- however it is computed


def test_executors_and_memory_give_the_same_bits(square):
    for pool in (ThreadPoolExecutor, ProcessPoolExecutor):
        with pool(2) as executor:
            assert_same(square, computed(jobs=executor))
    assert_same(square, computed(memory="1MB"))


def test_a_saved_result_is_read_and_continued(square, tmp_path):
    path = tmp_path / "evidence.db"
    assert_same(square, computed(save=path))
    assert_same(square, rs.load(path))
    with ScoreFile(path) as store:
        before = store.count()
    assert_same(square, computed(save=path))
    with ScoreFile(path) as store:
        assert store.count() == before
    rs.load(path).save(tmp_path / "again.db")
    assert_same(square, rs.load(tmp_path / "again.db"))


def test_more_draws_continue_those_of_a_file(tmp_path):
    path = tmp_path / "evidence.db"
    computed(save=path, n_permutations=100, measures=["cycle_knn"])
    assert_same(computed(save=path, measures=["cycle_knn"]), computed(measures=["cycle_knn"]))


def test_a_comparison_file_becomes_evidence(tmp_path):
    path = tmp_path / "values.db"
    rs.compare(three(), measures=["cycle_knn"], progress=False, save=path)
    assert isinstance(rs.load(path), rs.Comparison)
    assert_same(computed(save=path, measures=["cycle_knn"]), computed(measures=["cycle_knn"]))
    assert rs.load(path).rows == ("A", "B", "C")


def test_an_interrupted_run_is_continued(tmp_path):
    calls, steps = [], list[tuple[int, int]]()

    @declared("Counted", range=(-1, 1))
    def counted(x, y):
        """The correlation of the first columns."""
        calls.append(x.shape)
        return float(np.corrcoef(x.array[:, 0], y.array[:, 0])[0, 1])

    def run(**options) -> tuple[rs.Evidence, int]:
        calls.clear()
        return computed(measures=[counted], n_permutations=400, **options), len(calls)

    def stop_half_way(*step: int) -> None:
        steps.append(step)
        if step[0] > step[1] / 2:
            raise KeyboardInterrupt

    whole, needed = run()
    with pytest.raises(KeyboardInterrupt):
        run(save=tmp_path / "evidence.db", progress=stop_half_way)
    continued, rest = run(save=tmp_path / "evidence.db")
    assert_same(continued, whole)
    assert rest < 0.8 * needed
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    seen = list[tuple[int, int]]()
    computed(measures=["cka"], n_permutations=9, progress=lambda *step: seen.append(step))
    assert seen[-1][0] == seen[-1][1] > 0


# -------------------------------------------------------------------------------- what it means


def test_a_square_has_no_diagonal_and_is_symmetric_for_symmetric_measures(square):
    for table in (square.pvalue, square.chance, square.low, square.chance_std):
        assert np.isnan(np.diag(table("cycle_knn"))).all()
        np.testing.assert_array_equal(table("mean_cca"), table("mean_cca").T)
    assert (square["cycle_knn"] != square["cycle_knn"].T).any()


def test_all_orders_are_visited_if_they_are_few():
    X, Y = (np.random.default_rng(s).standard_normal((5, 3)) for s in (1, 2))
    found = rs.evidence(X, Y, measures=["procrustes", "cka"], n_permutations=999, progress=False)
    for name, sign in (("procrustes", -1), ("cka", 1)):
        measure = rs.get_measure(name)
        every = np.array([measure(X, Y[list(o)]) for o in permutations(range(5))])
        reached = sign * every >= sign * every[0] - 1e-12
        assert found.pvalue(name)[0, 0] == pytest.approx(reached.mean())
        assert found.chance(name)[0, 0] == pytest.approx(every.mean())
        assert found.pvalue(name, adjust="familywise")[0, 0] == found.pvalue(name)[0, 0]
    assert found.min_pvalue == pytest.approx(1 / 120)
    assert "all 120 permutations" in found.null_method("cka")


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_orders_inside_groups_ask_what_is_shared_beyond_them():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(5), 20)
    X, Y = (
        4 * rng.standard_normal((5, d))[labels] + rng.standard_normal((100, d)) for d in (20, 30)
    )
    free, inside = (
        rs.evidence(
            X, Y, measures=["cka", "procrustes"], within=w, n_permutations=99, progress=False
        )
        for w in (None, labels)
    )
    for measure in ("cka", "procrustes"):
        assert free.pvalue(measure)[0, 0] <= 0.01 < 0.05 < inside.pvalue(measure)[0, 0]
        assert abs(inside.above_chance(measure)[0, 0]) < 0.05
    assert "within 5 groups" in inside.null_method("cka")


def test_blocks_move_as_wholes_and_are_left_out_as_wholes():
    rng = np.random.default_rng(4)
    blocks = np.repeat(np.arange(20), 5)
    X, Y = (rng.standard_normal((20, 6))[blocks] + rng.standard_normal((100, 6)) for _ in range(2))
    options = {"measures": ["cka[estimator=debiased]"], "n_permutations": 99, "progress": False}
    free, whole = rs.evidence(X, Y, **options), rs.evidence(X, Y, whole_blocks=blocks, **options)
    assert free.pvalue("cka")[0, 0] < 0.05 < whole.pvalue("cka")[0, 0]
    assert whole.standard_error("cka")[0, 0] > 1.1 * free.standard_error("cka")[0, 0]


def test_a_series_is_compared_with_shifted_windows():
    rng = np.random.default_rng(5)
    steps = rng.standard_normal((2, 200, 4))
    X, Y = steps.copy()
    for series, noise in zip((X, Y), steps):
        for step in range(1, 200):
            series[step] = 0.9 * series[step - 1] + noise[step]
    options = {"measures": ["cka[estimator=debiased]"], "n_permutations": 99, "progress": False}
    free, shifted = rs.evidence(X, Y, **options), rs.evidence(X, Y, time_series=True, **options)
    related = rs.evidence(X, Y + 2 * X, time_series=True, **options)
    assert free.pvalue("cka")[0, 0] < 0.05 < shifted.pvalue("cka")[0, 0]
    assert related.pvalue("cka")[0, 0] == related.min_pvalue == pytest.approx(1 / 51)
    assert (related.pvalue("cka", adjust="familywise") == related.pvalue("cka")).all()


def test_adjusted_pvalues_are_never_smaller(square):
    for m in square.measures:
        tested = ~np.isnan(square.pvalue(m.spec))
        assert (square.pvalue(m.spec, adjust="familywise") >= square.pvalue(m.spec))[tested].all()
        assert (square.pvalue(m.spec, adjust="fdr") >= square.pvalue(m.spec) - 1e-12)[tested].all()
    assert square.null_method("cka") == EXACT_MOMENTS
    above = np.triu_indices(3, 1)  # each pair is one test of three
    expected = np.fmax(holm_adjust(square.nulls["cka"].pvalue[above]), MIN_TRUSTED_EXACT_P)
    np.testing.assert_allclose(square.pvalue("cka", adjust="familywise")[above], expected)
    assert square.pvalue("cka")[0, 1] == square.pvalue("cka", adjust="familywise")[0, 1] == 1e-4
    assert square.nulls["cka"].pvalue[0, 1] < 1e-4  # which is not said
    p = square.pvalue("cycle_knn")[~np.eye(3, dtype=bool)]
    rates = [min(1, *(q * 6 / (p <= q).sum() for q in p if q >= one)) for one in p]
    assert square.pvalue("cycle_knn", adjust="fdr")[~np.eye(3, dtype=bool)] == pytest.approx(rates)


def test_below_chance_the_best_pair_is_still_of_two_representations():
    """A distance of rounding to itself is at its chance, and so above all others."""
    x, y = np.random.default_rng(2).standard_normal((2, 40, 5))
    found = rs.evidence(
        {"x": x, "y": y}, measures=["procrustes"], n_permutations=19, progress=False
    )
    assert found["procrustes"][0, 1] > found.chance("procrustes")[0, 1]
    assert found.best("procrustes")[:2] == ("x", "y")
    assert "x and y are not significantly above chance" in found._repr_html_()


def test_a_pair_of_equal_data_is_tested_against_other_orders():
    X = three()["A"]
    found = rs.evidence([X, X], measures=["procrustes"], n_permutations=49, progress=False)
    assert found.pvalue("procrustes")[0, 1] == pytest.approx(1 / 50)


# ----------------------------------------------------------------------------------- differences


def test_a_difference_is_paired_over_samples(square):
    gap = square.difference("mean_cca", ("A", "B"), ("A", "C"))
    values = square["mean_cca"]
    assert gap.value == values[0, 1] - values[0, 2]
    assert gap.low < gap.value < gap.high
    same = square.difference("mean_cca", ("A", "B"), ("A", "B"))
    assert same[:3] == (0, 0, 0)
    assert same.pvalue == 1
    back = square.difference("mean_cca", ("A", "C"), ("A", "B"))
    assert (back.value, back.low, back.pvalue) == (-gap.value, -gap.high, gap.pvalue)


def test_a_difference_to_other_samples_adds_both_errors(square):
    """The degrees of freedom are those of the side of fewer parts."""
    spec = "cka[estimator=debiased]"
    other = rs.evidence(three(60), measures=[spec], n_permutations=9, progress=False)
    assert [e.parts[spec].values.shape[-1] for e in (square, other)] == [N, 60]
    error = math.hypot(*(e.standard_error(spec)[0, 1] for e in (square, other)))
    for mine, theirs in ((square, other), (other, square)):
        one = mine.difference(spec, ("A", "B"), ("A", "B"), of=theirs)
        assert one.high - one.value == pytest.approx(t.isf(0.025, N - 1) * error)
        assert one.pvalue == pytest.approx(2 * t.sf(abs(one.value) / error, N - 1))


def test_a_difference_that_means_little_is_refused_or_warned_of(square):
    with pytest.warns(BiasedDifferenceWarning, match="estimator=debiased"):
        square.difference("cka", ("A", "B"), ("A", "C"))
    with pytest.raises(KeyError, match="no 'D' in this evidence"):
        square.difference("mean_cca", ("A", "D"), ("A", "B"))
    with pytest.raises(ValueError, match="no interval for A and A"):
        square.difference("mean_cca", ("A", "A"), ("A", "B"))


# -------------------------------------------------------------------------- what makes it doubtful


def test_repeats_of_a_stimulus_are_said_unless_they_move_as_one():
    rng, stimuli = np.random.default_rng(0), np.repeat(np.arange(20), 5)
    X, Y = (rs.Representation(rng.standard_normal((100, 6)), ids=stimuli) for _ in range(2))
    options = {"measures": "cka[estimator=debiased]", "n_permutations": 99, "progress": False}
    apart = rs.evidence({"X": X}, {"Y": Y}, **options)
    assert "100 samples belong to 20 stimuli" in apart.caveats[0]
    assert "pass the stimulus of each sample as whole_blocks" in repr(apart)
    assert rs.evidence({"X": X}, {"Y": Y}, whole_blocks=stimuli, **options).caveats == ()
    ids = [(stimulus, i) for i, stimulus in enumerate(np.repeat([0, 1, 2], [40, 35, 25]))]
    X, Y = (rs.Representation(r.source, ids=ids) for r in (X, Y))
    uneven = rs.evidence({"X": X}, {"Y": Y}, **options).caveats[0]
    assert "100 samples belong to 3 stimuli" in uneven
    assert "blocks" not in uneven  # those of unequal size cannot change places


def test_equal_rows_are_said_and_offered_as_blocks(tmp_path):
    rng = np.random.default_rng(0)
    X, Y, Z = (rng.standard_normal((n, 30)) for n in (20, 20, 100))
    items = np.arange(100) % 20
    np.testing.assert_array_equal(rs.duplicate_labels(X[items]), items)
    np.testing.assert_array_equal(rs.duplicate_labels([[0.0], [1.0], [-0.0]]), [0, 1, 0])
    options = {"measures": "cka[estimator=debiased]", "n_permutations": 99, "progress": False}
    copies = rs.evidence({"X": X[items]}, {"Y": Y[items]}, **options, save=tmp_path / "e.db")
    repeats = rs.evidence({"X": X[items]}, {"Z": Z}, **options)
    blocks = rs.duplicate_labels(X[items])
    whole = rs.evidence({"X": X[items]}, {"Y": Y[items]}, whole_blocks=blocks, **options)
    assert "80 of 100 samples" in copies.caveats[0]
    assert "20 of X" in repeats.caveats[0]
    for e in (copies, rs.load(tmp_path / "e.db"), repeats):
        for text in (repr(e), e._repr_html_(), *evidence_tables(e)[2:3], content_to_json(e)):
            assert "duplicate_labels" in text
    assert whole.caveats == ()
    assert copies.pvalue("cka")[0, 0] < 0.01 < 0.05 < whole.pvalue("cka")[0, 0]
    assert computed(measures=["cka"]).caveats == ()


def test_classes_and_single_copies_are_no_repeats(subtests):
    g = np.random.default_rng(0)
    X, labels = g.standard_normal((100, 30)), np.arange(100) % 10
    once = X.copy()
    once[1] = once[0]
    sides = {
        "one-hot": (np.eye(10)[labels], X),
        "both": (np.eye(10)[labels], np.eye(4)[labels % 4]),
        "numbers": (labels[:, None], X),
        "ratings": (g.integers(1, 6, (100, 2)), g.integers(1, 6, (100, 2))),
        "one copy": (once, once + 0.0),
    }
    options = {"measures": "cka", "n_permutations": 9, "progress": False}
    for name, (a, b) in sides.items():
        with subtests.test(name):
            assert not any("rows" in c for c in rs.evidence({"a": a}, {"b": b}, **options).caveats)
    unequal = rs.evidence({"a": X[np.r_[:50, :25, :25]]}, {"b": X}, **options).caveats[0]
    assert "leave out duplicates" in unequal
    assert "whole_blocks" not in unequal
    many = {f"layer {i}": X[labels] + i for i in range(300)}
    assert "297 more" in rs.evidence({"b": X}, many, **options).caveats[0]


def test_a_sample_that_dominates_both_sides_is_named():
    X, Y, Z = three().values()
    for side in (X, Y):
        side[7] *= 30
    some = rs.evidence({"X": X}, {"Y": Y, "Z": Z}, measures="linear_regression", progress=False)
    alone = rs.evidence({"X": X}, {"Z": Z}, measures="linear_regression", progress=False)
    assert "sample 7" in some.caveats[0]
    assert "1 of 2 pairs" in repr(some)
    assert alone.caveats[0].startswith("sample 7 has 89 % of the variance of X: leave it out")


# ----------------------------------------------------------------------------------- what is wrong


def test_a_failed_pair_has_a_reason_and_no_pvalue():
    arrays = three()
    arrays["C"][0, 0] = np.nan
    found = rs.evidence(arrays, measures=["cka"], n_permutations=9, progress=False)
    assert np.isnan(found.pvalue("cka")[0, 2])
    assert not np.isnan(found.pvalue("cka")[0, 1])
    assert {(f.x, f.y) for f in found.failures} >= {("A", "C"), ("B", "C")}
    assert "NaN" in found.failures[0].reason
    assert found.best("cka").y == "B"


def test_values_on_parts_are_those_of_arrays_of_their_samples(subtests):
    measures = {"jaccard[k=3]": "halves", "riemannian": "groups"}
    found = rs.evidence(three(), measures=measures, n_permutations=9, progress=False)
    for spec, kind in measures.items():
        with subtests.test(spec):
            m, values = rs.get_measure(spec), found.parts[spec].values
            assert found.parts[spec].kind == kind
            for rows, value in zip(interval_parts(kind, found.design), values[0, 2], strict=True):
                assert value == m(three()["A"][rows], three()["C"][rows])
            assert np.isnan(values[1, 1]).all()
    arrays = {"A": three()["A"], "D": np.r_[np.zeros((N - 3, 2)), np.eye(3, 2)]}
    failing = rs.evidence(
        arrays, measures="jaccard[k=3]", n_permutations=9, progress=False
    ).failures
    assert [(f.x, f.y) for f in failing] == [("A", "D"), ("D", "A")]
    assert failing[0].reason.startswith("no interval by halves: representation 'D' is constant")


def test_parts_for_which_memory_was_short_are_tried_again(tmp_path):
    least, known = [N], []

    @declared("Short", family="topology")
    def short(x, y):
        """A correlation that takes too much memory for few samples."""
        if x.shape[0] < least[0]:
            raise MemoryError
        known.append(x.shape[0])
        return abs(float(np.corrcoef(x.array[:, 0], y.array[:, 0])[0, 1]))

    options = {"n_permutations": 9, "progress": False, "save": tmp_path / "evidence.db"}
    X, Y = three()["A"][:, :7], three()["B"]
    first = rs.evidence(X, Y, measures=short, **options)
    assert first.failures[0].reason.startswith("no interval by halves: not enough memory")
    least[0] = 0
    assert np.isfinite(rs.evidence(X, Y, measures=short, **options).low("short")).all()
    known.clear()
    rs.evidence(X, Y, measures=short, **options)
    assert N // 2 not in known  # all are in the file


def test_three_samples_have_no_interval():
    """Any two samples have the same value, so that an interval would have no width."""
    X, Y = (a[:3] for a in list(three().values())[:2])
    measures = ["cka", "procrustes", "mean_cca", "mutual_knn[k=1]"]
    some = rs.evidence(X, Y, measures=measures, n_permutations=9, progress=False)
    reasons = [f.reason for f in some.failures if f.reason.startswith("no interval")]
    assert len(reasons) == len(measures)
    for m in measures:
        assert np.isfinite(some[m]).all()
        assert np.isnan(some.low(m)).all()
    assert all("use more samples" in reason for reason in reasons)


def test_intervals_of_neighbors_follow_the_number_of_samples():
    """In halves of fewer samples than four times the neighbours nearly all are neighbours."""
    for n, kind in ((40, "halves"), (39, "groups")):
        A, B, _ = three(n).values()
        some = rs.evidence(A, B, measures=["mutual_knn"], n_permutations=9, progress=False)
        assert some.parts["mutual_knn"].kind == kind


def test_parts_that_do_not_vary_give_no_interval():
    """Any two samples, the halves of four, are each other's neighbours."""
    measures = ["mutual_knn[k=1]", "information_imbalance", "rtd_lite", "imd"]
    for n, without in ((4, measures[:3]), (12, measures[3:])):
        g = np.random.default_rng(n)
        X, Y = g.standard_normal((n, 6)), g.standard_normal((n, 4))
        some = rs.evidence(X, Y, measures=without, n_permutations=9, progress=False)
        for m in without:
            assert np.isnan(some.low(m)).all(), m
        assert {f.measure for f in some.failures} == set(without)
    same = rs.evidence(X, 2 * X, measures="cka", n_permutations=9, progress=False)
    assert same.high("cka")[0, 0] - same.low("cka")[0, 0] == pytest.approx(0)


def test_labels_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    X, Y = (pandas.DataFrame(a).add_prefix("c") for a in list(three().values())[:2])
    X.index = Y.index = [f"s{i}" for i in range(N)]
    labels = pandas.Series(np.arange(N) // 4, index=X.index)
    e = rs.evidence(X, Y, measures="cka", whole_blocks=labels, n_permutations=9, progress=False)
    for design in ({"within": labels[::-1]}, {"whole_blocks": labels[::-1]}):
        with pytest.raises(ValueError, match="in a different order"):
            rs.evidence(X, Y, measures="cka", n_permutations=9, progress=False, **design)
    with pytest.raises(ValueError, match="in a different order"):
        e.influence("cka", *e.rows, *e.columns, by=labels[::-1])
    with pytest.raises(ValueError, match="in a different order"):
        e.contributions("cka", *e.rows, *e.columns, labels[::-1])


def test_what_cannot_be_done_is_refused(subtests):
    refused = [
        ({"confidence_level": 1.0}, "confidence_level must be between 0 and 1"),
        ({"confidence_level": "x"}, "confidence_level must be between 0 and 1"),
        ({"null": "no"}, "null is auto, moments, permutations"),
        ({"null": "moments", "measures": ["procrustes"]}, "pass null='auto'"),
        ({"n_permutations": 0}, "n_permutations must be a whole number"),
        ({"within": [1, 2]}, r"shape \(48,\)"),
        ({"within": range(48)}, "only one permutation is possible"),
        ({"whole_blocks": np.arange(48) // 7}, "must have one size"),
        ({"time_series": True, "within": [0] * 48}, "shifted as a whole"),
        ({"time_series": True, "max_shift": 23}, "leave a window of 2"),
        ({"measures": []}, "measures is empty"),
    ]
    for options, message in refused:
        with subtests.test(str(options)), pytest.raises(ValueError, match=message):
            computed(**options)
    with pytest.raises(ValueError, match="two representations are needed"):
        rs.evidence(three()["A"], progress=False)


def test_records_hold_every_number(square):
    records = {(r["measure"], r["x"], r["y"]): r for r in square.records()}
    assert len(records) == 9 * len(square.measures) == len(square.to_pandas())
    assert records["mean_cca", "A", "B"]["pvalue"] == square.pvalue("mean_cca")[0, 1]
    assert records["mean_cca", "A", "B"]["how"] == "130 permutations"
    assert records["mean_cca", "A", "A"]["pvalue"] is None


# --------------------------------------------------------------------------------------- samples


def test_the_influence_of_samples_is_the_value_minus_that_without_each(square):
    arrays, labels = three(), np.array(["a", "b", "c"])[np.arange(N) % 3]
    for measure in ("cka[estimator=debiased]", "mean_cca"):
        for by, of, place, rows in (
            (None, tuple(range(N)), 5, [5]),
            (labels, ("a", "b", "c"), 1, np.flatnonzero(labels == "b")),
        ):
            influence = square.influence(measure, "A", "B", by=by)
            rest = [np.delete(arrays[name], rows, axis=0) for name in "AB"]
            expected = square[measure][0, 1] - rs.get_measure(measure)(*rest)
            assert influence.of == of
            assert influence.values[place] == pytest.approx(expected, abs=1e-10)


def test_contributions_of_classes_add_up_to_the_value(square):
    labels = np.arange(N) % 4
    shares = square.contributions("cka", "A", "B", labels)
    assert shares.values.shape == (4, 4) == 2 * (len(shares.classes),)
    assert shares.values.sum() == pytest.approx(square["cka"][0, 1])
    with pytest.raises(ValueError, match="mean_cca"):
        square.contributions("mean_cca", "A", "B", labels)


def test_a_curve_shows_the_bias_of_few_samples(square):
    points = square.curve("cka", "A", "C", fractions=(0.25, 1.0), n_resamples=5)
    assert [point.samples for point in points] == [N // 4, N]
    assert points[0].value > points[1].value == pytest.approx(square["cka"][0, 2])
    assert points[0].std > points[1].std == 0


def test_samples_for_a_width_follow_the_root_of_their_number(square):
    now = square.high("mean_cca") - square.low("mean_cca")
    needed = square.sample_size("mean_cca", width=now[0, 1] / 2)
    assert needed[0, 1] == pytest.approx(4 * N, abs=1)
    assert np.isnan(needed[0, 0])
    detected = square.sample_size("cka[estimator=debiased]", min_similarity=0.05)
    assert detected[0, 1] == rs.sample_size(min_similarity=0.05)
    with pytest.raises(ValueError, match="was not studied"):
        square.sample_size("mean_cca", min_similarity=0.05)
    with pytest.raises(ValueError, match="give width= or min_similarity="):
        square.sample_size("mean_cca")


def test_evidence_from_a_file_says_that_it_has_no_arrays(square, tmp_path):
    square.save(tmp_path / "evidence.db")
    read = rs.load(tmp_path / "evidence.db")
    with pytest.raises(ValueError, match="no arrays"):
        read.influence("cka", "A", "B")
    assert read.difference("mean_cca", ("A", "B"), ("A", "C")) == square.difference(
        "mean_cca", ("A", "B"), ("A", "C")
    )


@pytest.mark.parametrize("ids", [None, [f"image {i}" for i in range(N)]])
@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("call", [rs.compare, rs.evidence])
def test_no_representation_keeps_arrays_after_a_call_or_an_interrupt(ids, stopped, call):
    calls = []

    @declared("Interrupted", range=(0, math.inf))
    def interrupted(x, y):
        """Interrupted: by the keyboard, in the third call."""
        calls.append(rs.cka(x, y))
        if stopped and len(calls) == 3:
            raise KeyboardInterrupt
        return calls[0]

    reps = [rs.Representation(array, name, ids=ids) for name, array in three().items()]
    with pytest.raises(KeyboardInterrupt) if stopped else nullcontext():
        call(reps, measures=["cka[estimator=debiased]", interrupted], progress=False)
    assert not [v for r in reps for v in r.cache.values() if isinstance(v, np.ndarray)]
