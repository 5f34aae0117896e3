"""Scores as columns: taken in, kept in files by the tile, and put together."""

import os
import sqlite3
import tracemalloc
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

import resemblance as rs
from resemblance.comparison import scores, store
from resemblance.comparison.comparison import Comparison, Failure, measure_info
from resemblance.comparison.scores import (
    MAX_COALESCED_SCORES,
    NO_MEMORY_REASON,
    ScoreBatch,
    ScoreMatrix,
)
from resemblance.comparison.store import ScoreFile
from resemblance.engine.inputs import ComparisonInputs
from resemblance.engine.plan import ComparisonPlan
from resemblance.report.comparing.stats import failure_groups

DATA = ("a", "b", "c")


def column(values, x=(0, 0, 1), y=(0, 1, 1), **more) -> ScoreBatch:
    places = np.array(x, np.int32), np.array(y, np.int32)
    return ScoreBatch("m", 1, DATA, *places, np.array(values, float), 3.0, **more)


@pytest.fixture(scope="module")
def many() -> dict[str, np.ndarray]:
    """Enough representations for a tile, two of them of the same data and one without a shape."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((30, 6))
    reps = {f"r{i}": np.tanh(latent @ rng.standard_normal((6, 4 + i % 2))) for i in range(40)}
    return reps | {"again": reps["r3"], "flat": np.ones((30, 3))}


@pytest.fixture(scope="module")
def compared(many):
    return rs.compare(many, measures=["cka", "procrustes"], progress=False)


def test_large_matrices_are_in_files_that_nobody_sees(monkeypatch, tmp_path):
    monkeypatch.setattr(scores, "MAX_MATRIX_BYTES_IN_MEMORY", 100)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    matrix = scores.nan_matrix(20, 30)
    assert isinstance(matrix, np.memmap)
    assert np.isnan(matrix).all()
    assert os.listdir(tmp_path) == []
    arrays = np.random.default_rng(0).standard_normal((5, 9, 3))
    small = rs.compare(list(arrays), measures=["cka", "pwcca"], progress=False)
    assert np.isfinite(small["cka"]).all()


def test_a_large_matrix_is_in_memory_where_the_disk_is_full(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scores, "MAX_MATRIX_BYTES_IN_MEMORY", 100)
    monkeypatch.setattr(scores.os, "posix_fallocate", full)
    matrix = scores.nan_matrix(20, 30)
    assert not isinstance(matrix, np.memmap)
    assert np.isnan(matrix).all()


# ----------------------------------------------------------------------------------------- in files


def test_a_tile_is_one_row_and_comes_back(many, compared, tmp_path):
    path = tmp_path / "run.db"
    rs.compare(many, measures=["cka"], save=path, progress=False)
    with closing(sqlite3.connect(path)) as connection:
        ((largest,),) = connection.execute("SELECT max(size) FROM scores")
    assert largest > MAX_COALESCED_SCORES
    back = rs.load(path)
    assert np.array_equal(back["cka"], compared["cka"], equal_nan=True)
    back.save(tmp_path / "copy.db")
    again = rs.load(tmp_path / "copy.db")
    for found in (back, again):
        assert found.failures == tuple(f for f in compared.failures if f.measure == "cka")
        assert found.diagnostics == compared.diagnostics
    assert again.seconds == pytest.approx(back.seconds)


@pytest.mark.parametrize("executor", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_workers_write_a_tile_once_and_leave_one_file(executor, many, compared, tmp_path):
    path = tmp_path / "run.db"
    options = {"measures": "cka", "block_size": 30, "progress": False}
    with executor(2) as pool:
        found = rs.compare(many, jobs=pool, save=path, **options)
        assert list(tmp_path.iterdir()) == [path]
    assert np.array_equal(found["cka"], compared["cka"], equal_nan=True)
    distinct = len(many) - 1
    with ScoreFile(path, read_only=True) as file:
        assert any(column.size >= MAX_COALESCED_SCORES for column in file.columns())
        assert file.count() == distinct * (distinct + 1) // 2


def test_scores_written_one_by_one_are_joined_when_the_file_is_closed(tmp_path):
    """A value that came first stays first, also where a large row lies between."""
    path, names = tmp_path / "run.db", tuple(map(str, range(40)))
    x, y = (side.ravel().astype(np.int32) for side in np.indices((40, 40)))
    one_by_one = [
        ScoreBatch("m", 1, names, x[[k]], y[[k]], np.full(1, k + 0.5)) for k in range(700)
    ]
    place, reasons = np.zeros(1, np.int32), {0: NO_MEMORY_REASON}
    lacking = ScoreBatch("m", 1, names, place, place + 1, np.array([np.nan]), reasons=reasons)
    later = ScoreBatch("m", 1, names, x, y, np.zeros(x.size))
    last = ScoreBatch("m", 1, names, x[:20] + 20, y[:20], np.full(20, 9.5))
    for columns in ([lacking, *one_by_one], [later], [last, *one_by_one[:20]]):
        with ScoreFile(path) as file:
            for each in columns:
                file.put([each])
                file.flush()
    with ScoreFile(path, read_only=True) as file:
        values = list(file.columns())
        assert file.count() == len(set(zip(x.tolist(), y.tolist())))
        assert file.count(self_pairs=True) == 40
    assert len(values) < 10
    matrix = ScoreMatrix("m", 1, False, names, names)
    for each in values:
        matrix.put(each)
    assert matrix.values.ravel()[2:700].tolist() == (np.arange(2, 700) + 0.5).tolist()
    assert not matrix.values.ravel()[700:].any()
    assert not matrix.reasons


def test_what_is_put_is_on_disk_within_half_a_second(tmp_path, monkeypatch):
    path, now = tmp_path / "run.db", [100.0]
    monkeypatch.setattr(store, "time", SimpleNamespace(monotonic=lambda: now[0]))
    counts = []
    with ScoreFile(path) as file:
        for _ in range(30):
            now[0] += 0.1
            file.put([column([0.5], x=(0,), y=(1,))])
            counts.append(_count(path))
    assert max(put - count for put, count in enumerate(counts, 1)) <= 5
    assert len(set(counts)) < 15, "transactions for 30 values"


def test_damaged_rows_are_refused_and_the_others_stay(tmp_path):
    path = tmp_path / "run.db"
    with ScoreFile(path) as file:
        for k in range(30):
            file.put([ScoreBatch("m", 1, (str(k),), *np.zeros((2, 1), np.int32), np.ones(1))])
            file.flush()
        file._db.execute("UPDATE scores SET pairs = x'00' WHERE id = 7")
        file._db.commit()
    with ScoreFile(path, read_only=True) as file:
        assert len(list(file.columns(["3"]))) == 1
        with pytest.raises(ValueError, match="damaged"):
            list(file.columns(["6"]))
    with closing(sqlite3.connect(tmp_path / "empty.db")) as connection:
        connection.executescript("CREATE TABLE t (x); DROP TABLE t")
    with pytest.raises(ValueError, match="is empty: it holds no comparison"):
        ScoreFile(tmp_path / "empty.db", read_only=True)
    *row, _, numbers = store._row_from_batch(column([1, 2, 3]))
    with pytest.raises(ValueError, match=r"reshape|buffer|cannot"):  # unpacks to more than it says
        store._batch_from_row(*row, zlib.compress(bytes(10**6)), numbers)


def _count(path) -> int:
    try:
        with ScoreFile(path, read_only=True) as file:
            return sum(column.size for column in file.columns())
    except ValueError:
        return 0


def test_many_pairs_without_a_value_take_no_memory_each():
    names = tuple(map(str, range(300)))
    sides = {name: {"fingerprint": name} for name in names}
    provenance = {"rows": sides, "columns": sides}
    infos = measure_info(rs.cka), measure_info(rs.rtd)
    tracemalloc.start()
    absent = {"rtd": "it needs what is not installed"}
    matrices = {m.spec: ScoreMatrix(m.spec, m.version, m.symmetric, names, names) for m in infos}
    comparison = Comparison(names, names, infos, matrices, provenance, absent)
    groups = failure_groups(comparison)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6e6  # six matrices of values, and no object for each pair
    assert [group[:3] for group in groups] == [
        ("not computed", ("cka",), 300**2),
        (absent["rtd"], ("rtd",), 300**2),
    ]
    failures, last = comparison.failures, 2 * 300**2 - 1
    assert len(failures) == last + 1
    assert failures[300**2 + 1] == Failure("rtd", "0", "1", absent["rtd"])
    assert failures[-1] == failures[np.int64(last)] == Failure("rtd", "299", "299", absent["rtd"])
    assert [failure.y for failure in failures[np.int64(last - 1) :]] == ["298", "299"]
    assert failures[:3] == failures[: 3 - last - 1] == tuple(islice(failures, 3))
    for beyond in (last + 1, -last - 2):
        with pytest.raises(IndexError):
            failures[beyond]
    few = rs.compare([np.eye(4), np.ones((4, 2))], measures=["cka"]).failures
    assert few + few == (*few, *few)
    assert few[::-1] == tuple(few)[::-1]


def test_work_is_cut_into_parts_that_have_all_of_it(many):
    reps = tuple(rs.Representation(data, name) for name, data in list(many.items())[:11])
    measures = [rs.cka, rs.pwcca]
    for inputs in (
        ComparisonInputs.of(reps, measures),
        ComparisonInputs.of(reps[:4], measures, reps[4:]),
    ):
        missing = inputs.missing_pairs()
        plan = ComparisonPlan(inputs.rows, inputs.columns, measures, missing, 10**9)
        (task,) = plan.blocks()
        seen = {m.spec: set() for m in task.measures}
        for part in task.parts(3):
            assert max(len(part.rows), len(part.columns)) <= 3
            for p, m in enumerate(part.measures):
                for i, j in np.argwhere(part.forward[p]):
                    seen[m.spec].add((part.rows[i].name, part.columns[j].name))
                if part.backward is not None and not part.is_diagonal:
                    for j, i in np.argwhere(part.backward[p]):
                        seen[m.spec].add((part.columns[j].name, part.rows[i].name))
        assert {spec: len(pairs) for spec, pairs in seen.items()} == {
            spec: np.count_nonzero(mask) for spec, mask in missing.items()
        }
