"""Suites of experiments: what is kept and found again, whoever computes it, and what goes wrong
says where."""

from __future__ import annotations

import json
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

import resemblance as rs
from resemblance.results.result import load_result
from resemblance.results.sections import Section, Table
from resemblance.sources.recipe import Extraction, Recipe
from resemblance.suites import experiments, study, training
from resemblance.suites.experiments import Experiment, chosen, measured, run_experiments


def sizes(setting):
    return [{"n": n, "measures": measured(setting.measures)} for n in (3, 1, 2)]


def count(setting, part):
    """Note that a part was computed, in a file, for workers are other processes."""
    with (setting.folder / "computed.txt").open("a") as file:
        file.write(f"{part['n']}\n")
    return {
        "sum": float(np.arange(part["n"] + 1).sum()),
        "none": None,
        "names": ["ä", "\u2028"],
        "pair": (1, 2),
    }


def add_up(setting, found):
    rows = tuple((part["n"], value["sum"], value["none"]) for part, value in found)
    assert all(
        value["pair"] == [1, 2] for _, value in found
    )  # as JSON holds it, computed just now or not
    return Section(
        "sums", "Sums", f"of {setting.size}", (Table("sums", "Sums", ("n", "sum", "none"), rows),)
    )


SUMS = Experiment("sums", sizes, count, add_up)


def run(folder, *experiments, suite="toy", size="small", **options):
    return run_experiments(suite, experiments or (SUMS,), folder, size=size, **options)


def computed(folder):
    file = folder / "computed.txt"
    return sorted(file.read_text().split()) if file.exists() else []


def parts(folder, name="sums"):
    return sorted((folder / "parts" / name).glob("*.json"))


# ------------------------------------------------------------------------------------- what is kept


def test_findings_are_in_the_order_of_the_plan_and_are_kept(tmp_path):
    found = run(tmp_path, provenance={"seed": 0})
    assert found["sums"].tables[0].rows == ((3, 6.0, None), (1, 1.0, None), (2, 3.0, None))
    assert (found.suite, found.size, found.provenance["seed"]) == ("toy", "small", 0)
    assert found.provenance["resemblance"] == rs.__version__
    assert set(found.seconds) == {"sums"}
    assert load_result(tmp_path / "result.json") == found
    assert "toy: 1 sections, 0 claims" in (tmp_path / "log.txt").read_text()


def test_a_second_run_computes_nothing(tmp_path):
    first, shown = run(tmp_path), []
    again = run(tmp_path, progress=lambda *step: shown.append(step))
    assert again == first
    assert computed(tmp_path) == ["1", "2", "3"]
    assert shown == [("experiments", 3, 3)]


def test_without_a_folder_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert run(None).sections == run(tmp_path / "kept").sections
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b'{"part": {}, "val',
        b"[]",
        b"null",
        b'"value seconds"',
        b'{"value": 1}',
        b'{"value": 1, "seconds": null}',
        b'{"value": 1, "seconds": "x"}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_part_is_computed_again(damage, tmp_path):
    first = run(tmp_path)
    parts(tmp_path)[0].write_bytes(damage)
    assert run(tmp_path).sections == first.sections
    assert len(computed(tmp_path)) == 4


def test_a_file_of_another_part_is_computed_again(tmp_path):
    first = run(tmp_path)
    one, other, _ = parts(tmp_path)
    one.write_bytes(other.read_bytes())
    assert run(tmp_path).sections == first.sections
    assert len(computed(tmp_path)) == 4


def test_parts_of_several_experiments_are_mixed_evenly(tmp_path):
    def task(name, i):
        return experiments.Task(name, count, {"i": i}, tmp_path / f"{name}{i}")

    mixed = experiments.interleaved(
        [*(task("many", i) for i in range(6)), *(task("few", i) for i in range(2))]
    )
    assert [t.experiment for t in mixed] == [
        "many",
        "many",
        "few",
        "many",
        "many",
        "many",
        "few",
        "many",
    ]
    assert [t.part["i"] for t in mixed if t.experiment == "many"] == list(range(6))


def test_the_memory_of_a_run_is_in_its_setting(tmp_path):
    seen = []
    watch = SUMS._replace(parts=lambda setting: seen.append(setting.memory) or sizes(setting))
    run(tmp_path, watch, memory="1MB")
    assert set(seen) == {"1MB"}
    assert experiments.RunConfig(tmp_path, "small", ()).memory == "half"


def test_a_part_that_occurs_twice_is_computed_once(tmp_path):
    found = run(tmp_path, SUMS._replace(parts=lambda setting: [*sizes(setting), *sizes(setting)]))
    assert len(found["sums"].tables[0].rows) == 6
    assert computed(tmp_path) == ["1", "2", "3"]


def test_what_was_done_before_an_end_is_kept(tmp_path):
    def stop(setting, part):
        if part["n"] == 2:
            raise KeyboardInterrupt
        return count(setting, part)

    shown = []
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, SUMS._replace(compute=stop), progress=lambda *step: shown.append(step))
    assert shown == [("experiments", 0, 3), ("experiments", 1, 3), ("experiments", 2, 3)]
    assert not (tmp_path / "result.json").exists()
    left = tmp_path / "parts" / "sums" / f".{'a' * 24}.json-77"
    left.write_text('{"val')
    assert run(tmp_path).sections == run(None).sections
    assert computed(tmp_path) == ["1", "2", "3"]
    assert not left.exists()


def test_workers_find_the_same(tmp_path):
    alone = run(tmp_path / "alone", measures=(rs.cka,))
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        local = SUMS._replace(
            parts=lambda setting: sizes(setting), conclude=lambda *given: add_up(*given)
        )
        found = run(tmp_path / "pool", local, measures=(rs.cka,), executor=executor)
        with pytest.raises(
            ValueError, match=r'experiment nothing, part {"n": \d.*: its value cannot be kept'
        ):
            run(
                tmp_path / "wrong",
                SUMS._replace(name="nothing", compute=nothing),
                executor=executor,
            )
    assert (found.sections, found.labels) == (alone.sections, alone.labels)
    assert [p.name for p in parts(tmp_path / "pool")] == [p.name for p in parts(tmp_path / "alone")]
    assert computed(tmp_path / "pool") == ["1", "2", "3"]


# -------------------------------------------------------------------------------- what is new again


def test_a_new_version_or_measure_is_computed_and_the_old_still_known(tmp_path):
    run(tmp_path)
    run(tmp_path, SUMS._replace(version=2))
    assert len(computed(tmp_path)) == 6
    found = run(tmp_path, measures=(rs.cka,))
    assert (len(computed(tmp_path)), found.labels) == (9, {"cka": "CKA"})
    run(tmp_path)
    run(tmp_path, SUMS._replace(version=2))
    assert len(computed(tmp_path)) == 9


def test_a_new_version_of_a_measure_is_computed(tmp_path):
    run(tmp_path, measures=(rs.cka,))
    run(tmp_path, measures=(replace(rs.cka, version=rs.cka.version + 1),))
    assert len(computed(tmp_path)) == 6


def test_experiments_do_not_share_parts(tmp_path):
    other = SUMS._replace(
        name="others", conclude=lambda *given: add_up(*given)._replace(name="others")
    )
    found = run(tmp_path, SUMS, other)
    assert [s.name for s in found.sections] == ["sums", "others"]
    assert len(computed(tmp_path)) == 6


# ----------------------------------------------------------------------------------------- mistakes


def test_another_process_is_locked_out(tmp_path):
    with study.alone(tmp_path), pytest.raises(ValueError, match="another process is working on"):
        run(tmp_path)
    assert computed(tmp_path) == []


def test_another_suite_needs_another_folder_and_another_size_does_not(tmp_path):
    run(tmp_path)
    assert run(tmp_path, size="large")["sums"].about == "of large"
    with pytest.raises(ValueError, match="is a study of toy; use another folder for other"):
        run(tmp_path, suite="other")
    (tmp_path / "study.json").write_text('{"suite')
    with pytest.raises(
        ValueError, match=r"study.json is not the description of a study that can be read"
    ):
        run(tmp_path)


def test_results_of_something_else_are_not_overwritten(tmp_path):
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(
        ValueError, match=r"is not a study, but holds result.json: give a new or an empty folder"
    ):
        run(tmp_path)
    assert (tmp_path / "result.json").read_text() == "{}"


def nothing(setting, part):
    return {"deep": [1.0, {"value": float("nan")}]}


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float32(1), np.arange(2), {1, 2}])
def test_what_json_cannot_hold_names_the_experiment_and_the_part(value, tmp_path):
    experiment = SUMS._replace(compute=lambda setting, part: {"deep": [1.0, {"value": value}]})
    with pytest.raises(
        ValueError, match=r'experiment sums, part {"n": 3.*: its value cannot be kept: '
    ):
        run(tmp_path, experiment)
    assert parts(tmp_path) == []


def test_data_that_cannot_be_taken_name_the_experiment_and_the_part(tmp_path):
    def fail(setting, part):
        raise ValueError("no samples")

    with pytest.raises(
        ValueError, match=r'experiment sums, part {"n": 3, "measures": \[\]}: no samples'
    ):
        run(tmp_path, SUMS._replace(compute=fail))


def test_errors_of_other_kinds_and_in_conclusions_name_the_experiment(tmp_path):
    def fail(setting, part):
        return 1 / 0

    with pytest.raises(
        ValueError, match=r'experiment sums, part {"n": 3.*: ZeroDivisionError: division by zero'
    ):
        run(tmp_path, SUMS._replace(compute=fail))
    with pytest.raises(
        ValueError, match="experiment sums: no conclusion from its parts: ZeroDivisionError"
    ):
        run(tmp_path, SUMS._replace(conclude=fail))


def test_a_section_with_nan_is_an_error_that_names_it(tmp_path):
    table = Table("t", "T", ("x",), ((math.nan,),))
    with pytest.raises(ValueError, match="section 'sums' contains a value that cannot be saved"):
        run(tmp_path, SUMS._replace(conclude=lambda *given: Section("sums", "S", "", (table,))))


def test_experiments_are_chosen_by_name_in_their_order():
    other = SUMS._replace(name="other")
    assert chosen((SUMS, other), None) == [SUMS, other]
    assert chosen((SUMS, other), ["other", "sums"]) == [SUMS, other]
    assert chosen((SUMS, other), ["other"]) == [other]
    with pytest.raises(ValueError, match="no experiment 'sms'; did you mean 'sums'"):
        chosen((SUMS, other), ["sms"])


# ------------------------------------------------------------------------------------------- models


class Trainer:
    """A source whose models are numbers."""

    def __init__(self):
        self.trained = []

    def fit(self, recipe, resources, start):
        self.trained.append(recipe.name)
        return {"weight": np.full(2, float(recipe.seed))}

    def extract(self, recipe, state, resources):
        layer = np.outer(np.arange(4.0), state["weight"] + 1).astype(np.float32)
        outputs = np.eye(4, 2, dtype=np.float32)
        return Extraction({"": {"first": layer}}, outputs, np.array([0, 1, 0, 0]), {"test": 1.0})


def recipe(seed, **options):
    return Recipe("vision", "toy", "net", "normal", 0.0, seed, options)


def total(setting, part):
    (subject,) = training.subjects_of(setting.folder, [recipe(part["seed"])])
    return float(subject.last.array.sum())


def heights(setting, found):
    return Section(
        "heights",
        "Heights",
        "",
        (Table("h", "H", ("seed", "sum"), tuple((p["seed"], v) for p, v in found)),),
    )


MODELS = Experiment(
    "heights",
    lambda setting: [{"seed": 0}, {"seed": 1}],
    total,
    heights,
    lambda setting: [recipe(0), recipe(1)],
)


def test_models_are_trained_once_and_before_anything_else(tmp_path, monkeypatch):
    trainer, shown = Trainer(), []
    monkeypatch.setattr(training, "training", trainer)
    more = MODELS._replace(
        name="more", conclude=lambda *given: heights(*given)._replace(name="more")
    )
    found = run(tmp_path, MODELS, more, progress=lambda stage, *_: shown.append(stage))
    assert found["heights"].tables[0].rows == ((0, 12.0), (1, 24.0))
    assert found["more"].tables == found["heights"].tables
    assert trainer.trained == [recipe(0).name, recipe(1).name]
    assert [s for i, s in enumerate(shown) if s not in shown[:i]] == ["training", "experiments"]
    run(tmp_path, MODELS)
    assert len(trainer.trained) == 2


def test_two_recipes_of_one_name_are_an_error(tmp_path):
    other = MODELS._replace(name="other", models=lambda setting: [recipe(0, epochs=3)])
    with pytest.raises(
        ValueError, match="two experiments have different recipes for vision/toy/net/normal/seed0"
    ):
        run(tmp_path, MODELS, other)


def test_a_part_says_what_it_depends_on(tmp_path):
    run(tmp_path, measures=(rs.cka,))
    found = json.loads(parts(tmp_path)[0].read_text(encoding="utf-8"))
    assert found["part"]["measures"] == [["cka", rs.cka.version]]
    assert set(found) == {"part", "value", "seconds"}
