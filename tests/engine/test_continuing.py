"""Scores on disk: kept while they are computed, continued without repeating, and refused where
they are damaged or forged."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from multiprocessing import get_context

import numpy as np
import pytest
from factories import HANG_SECONDS
from factories.files import forging
from factories.measures import same_scores

import resemblance as rs
from resemblance.comparison.comparison import comparison_description, write_missing_scores
from resemblance.comparison.scores import ScoreBatch, ScoreMatrix
from resemblance.comparison.store import ScoreFile


def one_score(x: str, y: str) -> ScoreBatch:
    """Return a column of one value, that of the measure m for the data x and y."""
    return ScoreBatch("m", 1, (x, y), np.array([0]), np.array([1]), np.array([1.0]))


class Interrupted(Exception):
    pass


def test_an_interrupted_run_is_continued_without_repeating(reps, plain, tmp_path):
    path, seen = tmp_path / "run.db", []

    def stop_half_way(done: int, total: int) -> None:
        seen.append((done, total))
        if done > total / 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        rs.compare(reps, save=path, progress=stop_half_way)
    partial = rs.load(path)
    assert {f.reason for f in partial.failures} == {"not computed"}
    done_before = ScoreFile(path).count()
    assert done_before >= seen[-2][0]

    seen.clear()
    result = rs.compare(reps, save=path, progress=lambda done, total: seen.append((done, total)))
    asymmetric = 2 * 10 + 5  # ordered pairs of pwcca and linear_regression; the others have 15
    assert ScoreFile(path).count() == 22 * 15 + 2 * asymmetric
    assert seen[-1][0] == seen[-1][1] < 24 * 15
    assert same_scores(plain, result)

    seen.clear()
    assert same_scores(
        plain, rs.compare(reps, save=path, progress=lambda done, total: seen.append(done))
    )
    assert not seen


def test_what_was_not_computed_is_saved_as_missing_not_as_failed(reps, plain, tmp_path):
    def stop(done: int, total: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        rs.compare(reps, measures=["cka", "rsa"], save=tmp_path / "run.db", progress=stop)
    rs.load(tmp_path / "run.db").save(tmp_path / "copy.db")
    again = rs.compare(reps, measures=["cka", "rsa"], save=tmp_path / "copy.db", progress=False)
    assert not again.failures
    assert np.array_equal(again["rsa"], plain["rsa"])


def test_a_failure_names_the_representation_it_is_shown_for(reps, tmp_path):
    bad = {"good": reps["net/0"], "dead 1": np.zeros((40, 3)), "dead 2": np.zeros((40, 3))}
    for names in (bad, {name.upper(): data for name, data in bad.items()}):
        result = rs.compare(names, measures=["cka"], save=tmp_path / "run.db", progress=False)
        for f in result.failures:
            named = [name for name in (f.x, f.y) if "dead" in name.lower()]
            assert any(f"representation {name!r} is constant" in f.reason for name in named)


def test_a_new_version_of_a_measure_or_other_data_are_computed_again(reps, tmp_path):
    from dataclasses import replace

    path, seen = tmp_path / "run.db", []
    rs.compare(reps, measures=["cka"], save=path, progress=False)
    newer = replace(rs.cka, version=rs.cka.version + 1)
    rs.compare(reps, measures=[newer], save=path, progress=lambda done, total: seen.append(total))
    assert seen[-1] == 15
    other = {name: data + (1e-9 if name == "net/0" else 0) for name, data in reps.items()}
    rs.compare(other, measures=["cka"], save=path, progress=lambda done, total: seen.append(total))
    assert seen[-1] == 5


KILLED = """
import sys, numpy as np, resemblance as rs
rng = np.random.default_rng(0)
reps = {str(i): rng.standard_normal((200, 20)) for i in range(10)}
rs.compare(reps, measures=["imd", "cka", "rsa"], save=sys.argv[1], progress=False)
print("finished")
"""


def test_kill_minus_nine_loses_at_most_the_pair_in_flight(tmp_path):
    path = tmp_path / "killed.db"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)])
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.stat().st_size and _count(path) > 3:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = _count(path)
    assert before > 3
    uninterrupted = tmp_path / "whole.db"
    for file in (path, uninterrupted):
        command = [sys.executable, "-c", KILLED, str(file)]
        assert subprocess.run(command, capture_output=True, check=True).stdout == b"finished\n"
    assert same_scores(rs.load(path), rs.load(uninterrupted))
    assert not rs.load(path).failures


def _count(path) -> int:
    with suppress(ValueError), ScoreFile(path, read_only=True) as store:
        return store.count()
    return 0


def test_a_finished_comparison_is_one_plain_file(plain, reps, tmp_path):
    path = tmp_path / "run.db"
    rs.compare(reps, measures="cka", save=path, progress=False)
    with ThreadPoolExecutor(2) as pool:
        rs.compare(reps, measures="rsa", jobs=pool, save=path, progress=False)
    assert os.listdir(tmp_path) == ["run.db"]
    # What SQLite writes there for a file without a log.
    assert path.read_bytes()[18:20] == b"\x01\x01"
    plain.save(path)
    assert os.listdir(tmp_path) == ["run.db"]


def test_a_file_that_another_process_holds_while_workers_close_it_is_one_plain_file(reps, tmp_path):
    path = tmp_path / "run.db"

    class Held(ThreadPoolExecutor):
        def submit(self, function, /, *args, **options):
            def call():
                with closing(sqlite3.connect(path)) as other:
                    other.execute("PRAGMA journal_mode = WAL")
                    other.execute("SELECT count(*) FROM scores").fetchone()
                    return function(*args, **options)

            return super().submit(call)

    with Held(1) as pool:
        rs.compare(reps, measures="cka", jobs=pool, save=path, progress=False)
    assert os.listdir(tmp_path) == ["run.db"]
    assert path.read_bytes()[18:20] == b"\x01\x01"


def _left_open(path, reps) -> None:
    """Write a comparison and end without closing the file, as after a kill."""
    process = get_context("fork").Process(target=_compute_and_die, args=(path, reps))
    process.start()
    process.join()
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


def _compute_and_die(path, reps) -> None:
    store = ScoreFile(path)
    plain = rs.compare(reps, measures="cka", progress=False)
    write_missing_scores(plain, store)
    store.describe(comparison_description(plain))
    os._exit(9)


def test_what_a_kill_left_in_the_log_is_taken_in(reps, plain, tmp_path):
    path = tmp_path / "run.db"
    _left_open(path, reps)
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])
    rs.compare(reps, measures="cka", save=path, progress=False)
    assert os.listdir(tmp_path) == ["run.db"]
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])


def test_where_nothing_can_be_written(reps, plain, tmp_path):
    """A folder in the place of what SQLite would create has the effect of a medium that is read
    only."""
    path = tmp_path / "run.db"
    rs.compare(reps, measures="cka", save=path, progress=False)
    connection = sqlite3.connect(path)
    # A file from before there was one without a log.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    (tmp_path / "run.db-shm").mkdir()
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])


def test_a_log_is_never_passed_over_where_nothing_can_be_written(reps, plain, tmp_path):
    path = tmp_path / "run.db"
    _left_open(path, reps)
    (tmp_path / "run.db-shm").unlink()
    (tmp_path / "run.db-shm").mkdir()
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])
    (tmp_path / "run.db-wal").unlink()
    (tmp_path / "run.db-wal").mkdir()  # a log that cannot be opened
    with pytest.raises(ValueError, match=r"run\.db was not closed: copy it with run\.db-wal"):
        rs.load(path)


def noted(name: str, value: str) -> str:
    """Put a value, as JSON, into the notes of all rows of scores."""
    return f"UPDATE scores SET notes = json_set(notes, '$.{name}', json('{value}'))"


SEVEN, INFINITE = "x'0000000000001c40'", "x'000000000000f07f'"
SABOTAGE = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON scores BEGIN UPDATE scores SET size = 0; END",
    "view": "CREATE VIEW v AS SELECT * FROM scores",
    "table": "CREATE TABLE more (x)",
    "index": "CREATE INDEX i ON scores (size)",
    "range": f"UPDATE scores SET numbers = CAST({SEVEN} || substr(numbers, 9) AS BLOB)",
    "infinite value": f"UPDATE scores SET numbers = CAST({INFINITE} || substr(numbers, 9) AS BLOB)",
    "infinite diagnostic": "UPDATE scores SET "
    f"numbers = CAST(substr(numbers, 1, length(numbers) - 8) || {INFINITE} AS BLOB)",
    "values": "UPDATE scores SET numbers = x'00'",
    "seconds": noted("seconds", '"soon"'),
    "reason": noted("reasons", '{"0": 1}'),
    "no reason": noted("reasons", '{"0": "none"}'),
    "caveat": noted("caveats", '{"0": 1}'),
    "no entry": noted("caveats", '{"9999": "few"}'),
    "names": noted("names", "[]"),
    "a taken name": noted("names", '["value"]'),
    "notes": "UPDATE scores SET notes = '[]'",
    "no notes": "UPDATE scores SET notes = x'ff'",
    "deep notes": "UPDATE scores SET notes = printf('%.*c', 200000, '[')",
    "pairs": "UPDATE scores SET pairs = x'00'",
    "data": "UPDATE scores SET data = json_array(json_extract(data, '$[0]'))",
    "no data": "UPDATE scores SET data = x'ff'",
    "size": "UPDATE scores SET size = size + 1",
    "a million": "UPDATE scores SET size = 1000000000000",
    "version": "UPDATE scores SET version = 'first'",
}
DESCRIBED = {
    "own range": "replace(description, '\"range\": [0, 1]', '\"range\": [0, 9]')",
    "no measures": '\'{"rows": [], "columns": []}\'',
    "a list": "'[]'",
    "deep": "printf('%.*c', 200000, '[')",
    "other rows": "replace(replace(description, 'net/0', 'net/9'), 'fingerprint', 'print')",
    "wrong types": "replace(description, '\"range\": [0, 1]', '\"range\": 3')",
}


def test_a_damaged_or_forged_file_is_refused_by_its_name(reps, tmp_path, subtests):
    path = tmp_path / "run.db"
    rs.compare(reps, measures="cka", save=path, progress=False)
    whole = path.read_bytes()
    described = {k: f"UPDATE header SET description = {v}" for k, v in DESCRIBED.items()}
    refused = r"run\.db (is damaged|contains an entry that resemblance does not|cannot be used)"
    for what, statement in {**SABOTAGE, **described, "no header": "DROP TABLE header"}.items():
        path.write_bytes(whole)
        with forging(path) as connection:
            connection.execute(statement)
            if what == "own range":
                connection.execute(SABOTAGE["range"])
        with subtests.test(what), pytest.raises(ValueError, match=refused):
            rs.load(path)
        if what in SABOTAGE:
            with subtests.test(what, use="compare"), pytest.raises(ValueError, match=refused):
                rs.compare(reps, measures="cka", save=path, progress=False)


def test_a_full_disk_names_the_file(reps, tmp_path):
    path = tmp_path / "run.db"
    with ScoreFile(path) as store:
        store._db.execute("PRAGMA max_page_count = 4")
        store._pending = [one_score(str(i), "y" * 1000) for i in range(1000)]
        with pytest.raises(OSError, match=r"run\.db cannot be written: database or disk is full"):
            store.flush()
        store._pending = []


def _put_twenty(path, barrier, number: int) -> None:
    barrier.wait()
    with ScoreFile(path) as store:
        store.put(one_score(str(number), str(i)) for i in range(20))


def test_processes_that_create_one_file_at_the_same_moment(tmp_path):
    context = get_context("fork")
    for attempt in range(5):
        path, barrier = tmp_path / f"{attempt}.db", context.Barrier(4)
        processes = [
            context.Process(target=_put_twenty, args=(path, barrier, number)) for number in range(4)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 4
        with ScoreFile(path) as store:
            assert store.count() == 80


def test_files_that_are_not_comparisons(tmp_path, subtests):
    (tmp_path / "table.csv").write_text("measure,x,y,value")
    (tmp_path / "text.db").write_text("hello " * 1000)
    (tmp_path / "empty.db").write_bytes(b"")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    with ScoreFile(tmp_path / "damaged.db") as store:
        store.describe({"rows": []})
    refused = {
        "missing.db": "there is no file",
        "table.csv": r"table.csv is not a saved result .*result\.save\(path\)",
        "text.db": r"text\.db is not a saved result",
        "empty.db": r"empty\.db is not .* \(it is empty\)",
        "other.db": "has format 0",
        "damaged.db": "is damaged",
    }
    for name, message in refused.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.load(tmp_path / name)


def test_scores_are_kept_in_no_file_of_another_kind(tmp_path, subtests):
    refused = {
        ".": "is a folder; name a file in it",
        "nowhere/a": "there is no folder .*nowhere; create",
        "a.html": "to_html",
        "a.pdf": "savefig",
        "a.tex": "to_table",
    }
    for name, message in refused.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.compare([np.eye(4), np.eye(4)], measures="cka", save=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_value_that_is_there_stays(tmp_path):
    first, second = np.array([0], np.int32), np.array([1], np.int32)
    matrix = ScoreMatrix("own", 1, False, ("a", "b"), ("a", "b"))
    with ScoreFile(tmp_path / "c.db") as store:
        for value in (1.0, 2.0):
            store.put([ScoreBatch("own", 1, ("a", "b"), first, second, np.array([value]), 0.1)])
            store.flush()
        store.put([ScoreBatch("own", 1, ("a", "b"), first, first, np.array([3.0]), 0.1)])
        store.flush()
        for column in store.columns():
            matrix.put(column)
        matrix.put(ScoreBatch("own", 1, ("a", "b"), first, second, np.array([5.0]), 0.1))
        assert matrix.values[0].tolist() == [3.0, 1.0]
        assert store.count(self_pairs=True) == 1


def test_a_row_names_all_its_data(tmp_path):
    sides = np.array([0], np.int32), np.array([1], np.int32)
    path = tmp_path / "c.db"
    with ScoreFile(path) as store:
        store.put([ScoreBatch("own", 1, ("a", "b"), *sides, np.array([1.0]), 0.1)])
    with forging(path) as connection:
        connection.execute("""UPDATE scores SET data = '["a"]'""")
    with (
        ScoreFile(path, read_only=True) as store,
        pytest.raises(ValueError, match="without the names of the data"),
    ):
        list(store.columns())


def test_a_bit_that_changes_on_the_disk_is_named_or_changes_no_number(reps, plain, tmp_path):
    """Nor is a damaged record taken for a pair that was not computed."""
    path, g = tmp_path / "run.db", np.random.default_rng(0)
    rs.compare(reps, measures=["cka", "procrustes"], save=path, progress=False)
    whole, refused = path.read_bytes(), list[str]()
    for place in g.choice(len(whole), 300, replace=False):
        changed = bytes([whole[place] ^ 1 << int(g.integers(8))])
        path.write_bytes(whole[:place] + changed + whole[place + 1 :])
        try:
            result = rs.load(path)
        except ValueError as error:
            refused.append(str(error))
            continue
        assert not result.failures
        for m in result.measures:
            assert np.array_equal(result[m.spec], plain[m.spec])
    assert len(refused) > 50
    assert all(words.startswith(str(path)) for words in refused)
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE scores SET size = size + 0, version = 2")
    with pytest.raises(ValueError, match=r"run\.db is damaged: .* changed .*; delete the file"):
        rs.load(path)
