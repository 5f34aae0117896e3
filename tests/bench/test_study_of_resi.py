"""A study can be killed, continued, extended and damaged; models of one's own make the same
tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from factories import HANG_SECONDS
from factories.models import write_models
from factories.synthetic import noise_walk

from resemblance import bench, cli
from resemblance.base.json_files import checksum
from resemblance.bench import study_models as training
from resemblance.bench.resi import load_evaluation, status
from resemblance.bench.resi.models import resi_recipes
from resemblance.bench.resi.rules import RANKED_QUALITIES
from resemblance.bench.study_models import is_trained, model_folder
from resemblance.cli.inputs import load_user_measure
from resemblance.models.model_folder import read_models, write_model
from resemblance.models.recipe import ModelOutputs

run = partial(bench.run, "resi")

MEASURES = ["cka", "gulp"]
OWN = '''
import resemblance as rs

@rs.measure(label="SizeDiff", family="descriptive", larger_is_more_similar=False,
    range=(0, float("inf")),
            symmetric=True, citation="x")
def size_difference(x, y):
    """Size difference: how much more one representation varies."""
    return abs(float((x.array**2).sum()) - float((y.array**2).sum()))
'''


def scores(folder):
    return [repr(s) for s in load_evaluation(folder).scores]


# -------------------------------------------------------------------------- models that are trained


@pytest.fixture(scope="module")
def finished(vision_study, tmp_path_factory):
    """A study of the smallest suite in one domain, run to its end."""
    return Path(shutil.copytree(vision_study, tmp_path_factory.mktemp("finished") / "study"))


@pytest.fixture
def study(finished, tmp_path):
    """A copy of the finished study, to be spoilt."""
    return Path(shutil.copytree(finished, tmp_path / "study"))


def modified(folder):
    return {p: p.stat().st_mtime_ns for p in (folder / "models").rglob("*")}


def test_a_finished_study_holds_all_it_promises(finished):
    plan = resi_recipes("slice", ["vision"])
    assert all(is_trained(finished, recipe) for recipe in plan)
    found = status(finished)
    assert run(
        finished, size="slice", domains=["vision", "vision"], measures=MEASURES
    ).scores()  # no model twice
    assert (found.size, found.trained, found.planned, found.running) == (
        "slice",
        len(plan),
        len(plan),
        False,
    )
    scored = [s for s in load_evaluation(finished).scores if s.cell[1] in RANKED_QUALITIES]
    assert found.scores == len(scored)
    lines = (finished / "log.txt").read_text().splitlines()
    assert sum("trained vision/" in line for line in lines) == len(plan)
    traits = json.loads((model_folder(finished, plan[0]) / "traits.json").read_text())
    assert traits["recipe"] == plan[0].fingerprint
    for array in model_folder(finished, plan[0]).glob("*.npy"):
        assert traits["files"][array.name]["sha256"] == checksum(array)
    assert np.load(model_folder(finished, plan[0]) / "weights.npz").files


def test_without_a_model_its_tests_are_made_with_the_others(study, monkeypatch):
    def fails(recipe, *more):
        raise RuntimeError("no power")

    lost = [r for r in resi_recipes("slice", ["vision"]) if r.setting == "normal"][-1]
    shutil.rmtree(model_folder(study, lost))
    monkeypatch.setattr(training, "train_one", fails)
    result = run(study, size="slice", domains=["vision"], measures=MEASURES)
    evaluation = load_evaluation(study)
    assert "accuracy" not in {part.test for part in evaluation.parts()}
    reasons = {task.reason for task in evaluation.absent}
    assert "3 normal models with known accuracy; at least 4 are needed" in reasons
    assert f"1 models could not be trained: {lost.name}" in " ".join(result.caveats)
    assert "use the remaining models" in " ".join(result.caveats)


def test_an_edited_measure_is_computed_again(study, tmp_path):
    file, before = tmp_path / "mine.py", modified(study)
    values = []
    for text in (OWN, OWN.replace("abs(", "2 * abs("), OWN):
        file.write_text(text)
        sys.modules.pop(
            next(
                (n for n, m in sys.modules.items() if getattr(m, "__file__", "") == str(file)), ""
            ),
            None,
        )
        own = load_user_measure(file, "size_difference")
        result = run(study, size="slice", domains=["vision"], measures=[*MEASURES, own])
        assert result.labels["size_difference"] == "SizeDiff"
        first = next(load_evaluation(study).parts()).comparison
        values.append(max(first.values["size_difference"][0]))
    assert values[1] == pytest.approx(2 * values[0])
    assert values[2] == values[0]
    assert modified(study) == before


def test_a_changed_recipe_and_a_damaged_file_are_trained_again(study):
    plan = resi_recipes("slice", ["vision"])
    before, expected = modified(study), scores(study)
    layer = next(model_folder(study, plan[0]).glob("mean.*.npy"))
    data = bytearray(layer.read_bytes())
    data[-1] ^= 1
    layer.write_bytes(data)
    traits = model_folder(study, plan[1]) / "traits.json"
    traits.write_text(traits.read_text().replace(plan[1].fingerprint, "0" * 32))
    (model_folder(study, plan[2]) / "outputs.npy").unlink()
    (model_folder(study, plan[3]) / "weights.npz").write_bytes(b"x")
    (model_folder(study, plan[4]) / "labels.npy").unlink()
    (model_folder(study, plan[5]).with_name(".partial-seed9-1")).mkdir()
    damaged = [r for r in plan if not is_trained(study, r)]
    assert damaged == list(plan[:5])
    run(study, size="slice", domains=["vision"], measures=MEASURES)
    after = modified(study)
    changed = {p for p in after if p.name == "traits.json" and after[p] != before.get(p)}
    assert changed == {model_folder(study, r) / "traits.json" for r in plan[:5]}
    assert not list(study.rglob(".partial-*"))
    assert scores(study) == expected


WORDS = ["--size", "slice", "--domain", "vision", "--quiet", "-m", "cka,gulp"]


def command(folder, *more):
    words = ["bench", "run", "resi", str(folder), *WORDS, *more]
    return [sys.executable, "-c", f"import sys; from resemblance.cli import app; app({words!r})"]


def wait_for(condition, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_and_continued_gives_the_same_numbers(finished, study):
    normal = study / "models" / "vision" / "digits" / "resnet" / "normal"
    shutil.rmtree(normal)
    for file in (*study.glob("comparisons*"), study / "result.json"):
        file.unlink()
    process = subprocess.Popen(command(study, "--jobs", "2"))
    wait_for(lambda: process.poll() is not None or list(normal.glob("seed*/traits.json")))
    assert process.poll() is None
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()  # this process only: the workers notice
    process.wait()
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, timeout=HANG_SECONDS)
    assert not [w for w in alive if w.status() != psutil.STATUS_ZOMBIE]
    assert not (study / "result.json").exists()
    kept = modified(study)
    assert cli.run(["bench", "run", "resi", str(study), *WORDS, "--jobs", "2"]) == 0
    after = modified(study)
    done = [p for p in kept if p.name == "traits.json" and ".partial-" not in str(p)]
    assert done
    assert all(after[p] == kept[p] for p in done)
    assert scores(study) == scores(finished)


def test_a_second_process_is_told_until_the_first_is_dead(study, capsys):
    words = ["bench", "run", "resi", str(study), *WORDS, "--jobs", "1"]
    hold = "import sys, time; from resemblance.base.locks import Path, lock_folder\n"
    hold += "with lock_folder(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(study)], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout.readline() == "held\n"
        assert status(study).running
        assert cli.run(words) == 2
        assert "another process is working on" in capsys.readouterr().err
        first.kill()
    assert not status(study).running
    assert cli.run(words) == 0


def test_a_study_is_of_one_suite(study):
    with pytest.raises(ValueError, match="is a study of slice; use another folder for mini"):
        run(study, size="mini")
    with pytest.raises(ValueError, match="is not a study"):
        status(study.parent)


SUITES = [
    ["bench", "run", "resi", "--size", "slice", "--domain", "vision", "-m", "cka", "-j", "1", "-q"],
    ["bench", "run", "stability", "--size", "small", "--only", "spectral", "-j", "1", "-q"],
    ["bench", "run", "sensitivity", "--size", "small", "--only", "layers", "-j", "1", "-q"],
    ["bench", "run", "manifolds", "--size", "small", "-m", "cka", "-j", "1", "-q"],
]


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("words", SUITES, ids=lambda words: words[2])
@pytest.mark.parametrize(
    "name", [".partial-backup/thesis.tex", ".sales-2025.parquet", "index.html", "study.json"]
)
def test_a_folder_of_somebody_else_is_left_as_it_is(tmp_path, capsys, words, name):
    home = tmp_path / "home"
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text('{"study": "of mine"}')
    (home / "deep").mkdir()
    (home / "deep" / ".settings.json-old").write_text("mine")
    before = contents(home)
    assert cli.run([*words[:3], str(home), *words[3:]]) == 2
    assert "give a" in capsys.readouterr().err
    assert contents(home) == before


def test_only_what_we_left_unfinished_is_removed(study):
    plan = resi_recipes("slice", ["vision"])
    ours = [
        model_folder(study, plan[0]).with_name(".partial-seed0-123") / "traits.json",
        study / "probes" / f".{'0' * 24}.json-123",
        study / ".result.json-123",
    ]
    theirs = [
        study / "models" / ".partial-backup" / "thesis.tex",
        study / "notes" / ".partial-seed0-123" / "thesis.tex",
        study / "notes" / ".settings.json-1",
        study / ".partial-notes" / "a",
        study / ".sales-2025.parquet",
        study / "models" / ".a.json-old",
    ]
    for file in (*ours, *theirs):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    run(study, size="slice", domains=["vision"], measures=MEASURES)
    assert not [file for file in ours if file.exists()]
    assert [file for file in theirs if file.exists()] == theirs


def test_a_run_that_was_killed_at_its_start_can_be_continued(tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    for name in (".lock", ".study.json-77"):
        (study / name).touch()
    models = write_models(tmp_path / "models", noise_walk(models=2))
    assert run(study, models=models, measures=["cka"]).scores()


@pytest.mark.parametrize("words", SUITES, ids=lambda words: words[2])
def test_a_path_that_cannot_be_written_is_found_before_the_work(tmp_path, capsys, words):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/stu\xffdy")
    assert cli.run([*words[:3], folder, *words[3:]]) == 2
    assert "cannot be written as UTF-8; give another folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------ models of one's own


def test_layers_without_a_list_come_in_natural_order(tmp_path):
    own = tmp_path / "model"
    own.mkdir()
    for name in ("block10", "block2", "block1"):
        np.save(own / f"{name}.npy", np.random.default_rng(0).normal(size=(5, 2)))
    np.save(own / "outputs.npy", np.eye(5))
    np.save(own / "labels.npy", np.array([0, 1, 2, 3, 0]))
    (own / "traits.json").write_text("{}")
    (features,) = read_models(tmp_path)
    assert list(features.layers) == ["block1", "block2", "block10"]
    assert dict(features.traits) == {"accuracy": 0.8}  # what nobody said is not stated


def test_what_is_written_is_read(tmp_path):
    layers = {
        "cls": {"a": np.ones((3, 2), "float32"), "b": np.zeros((3, 4), "float32")},
        "mean": {"a": np.eye(3)},
    }
    extraction = ModelOutputs(layers, np.eye(3), np.arange(3), {"test": 1.0}, {"b": (1, 2, 2)})
    traits = {"seed": 4, "architecture": "bert"}
    write_model(tmp_path / "m", extraction, traits, {"w": np.ones(2)})
    cls, mean = read_models(tmp_path, verify=True)
    assert (cls.traits["pooling"], list(cls.layers)) == ("cls", ["a", "b"])
    assert (mean.traits["pooling"], list(mean.layers)) == ("mean", ["a"])
    assert (cls.maps, mean.maps) == ({"b": (1, 2, 2)}, {})
    np.testing.assert_array_equal(mean.last.source, np.eye(3))
    assert cls.name == mean.name == "own/own/bert/normal/seed4"
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    wrong = extraction._replace(maps={"b": (4, 2, 2)})
    with pytest.raises(ValueError, match="'b' has 4 features; 4 x 2 x 2 in maps is 16"):
        write_model(tmp_path / "other", wrong, traits, {"w": np.ones(2)})


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ("[]", "must hold an object"),
        ("[" * 100_000, "traits.json is not an object of traits that can be read"),
        ('{"setting": "odd"}', "setting must be one of"),
        ('{"strength": 2}', "between 0 and 1"),
        ('{"seed": "one"}', "seed must be a whole number"),
        *(
            (f'{{"layers": ["a"], "pretrain": {value}}}', "pretrain must be a whole number")
            for value in ('"one"', "true", "1.5")
        ),
        *(
            (f'{{"accuracy": {value}}}', "accuracy must be a number between 0 and 1")
            for value in ("true", "NaN", "85")
        ),
        ('{"accuracies": [1]}', "accuracies must be an object"),
        ('{"accuracies": {"\\u001b[31m": 0.5}}', "by names that can be printed"),
        ('{"domain": ["x"]}', "domain must be a word"),
        ('{"dataset": "\\ud800"}', "dataset must be a word"),
        ('{"layers": ["a", "a"]}', "must be there once"),
        ('{"layers": ["../a"]}', "name of a file in this folder"),
        ('{"layers": {"../x": ["a"]}}', "the pooling '../x' must be there once"),
        ('{"layers": {"\\u001b[31m": ["a"]}}', "as the name of a file in this folder"),
        ('{"layers": "a"}', "layers must be a list"),
        ('{"layers": []}', "has no layers"),
        ('{"layers": ["gone"]}', "gone.npy is missing"),
        pytest.param(  # hours, when every name is counted by itself
            json.dumps({"layers": [f"l{i}" for i in range(200_000)]}), "l0.npy is", id="many layers"
        ),
        ('{"layers": ["objects"]}', "holds Python objects"),
        ('{"layers": ["flat"]}', "must be .n_samples, n_features."),
        ('{"layers": ["a", "longer"]}', "must have the same samples"),
        *(
            (f'{{"layers": ["a"], "maps": {maps}}}', "maps must be an object of shapes")
            for maps in ("[2, 1, 1]", "null")
        ),
        *(
            (f'{{"layers": ["a"], "maps": {{"a": {shape}}}}}', "three positive whole numbers")
            for shape in ("2", "[2, 1]", "[2, 1, 1.0]", "[2, true, 1]", "[-2, -1, 1]")
        ),
        ('{"layers": ["a"], "maps": {"a": [1, 1, 1]}}', "'a' has 2 features; 1 x 1 x 1 in maps is"),
        (
            '{"layers": ["a"], "maps": {"b": [2, 1, 1]}}',
            "'b' in maps is not a layer; the layers are a",
        ),
    ],
)
def test_folders_that_do_not_fit_are_refused(tmp_path, traits, message):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "longer.npy", np.ones((4, 2)))
    np.save(tmp_path / "flat.npy", np.ones(3))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "traits.json").write_text(traits)
    with pytest.raises(ValueError, match=message):
        read_models(tmp_path)


EYE = np.eye(3)[:, :2]


@pytest.mark.parametrize(
    ("outputs", "labels", "message"),
    [
        (np.array([[1.0, np.nan]] * 3), None, "finite numbers"),
        (np.ones(3), None, "n_samples, n_classes"),
        (np.ones((4, 2)), None, "must have the same samples"),
        (EYE, np.array(["cat", "dog", "cat"]), "got the dtype <U3: number the classes as the colu"),
        (EYE, np.array([0.0, 1.5, 1.0]), "got the dtype float64"),
        (EYE, np.array(["2020-01-01"] * 3, "datetime64[D]"), "got the dtype datetime64"),
        (EYE, np.array([0, 1, -1]), "got the class -1"),
        (EYE, np.array([0, 1, 2]), "the class 2 and outputs.npy 2 columns"),
        (EYE, np.zeros((3, 1), int), "must be .n_samples,. classes"),
    ],
)
def test_outputs_and_labels_that_do_not_fit_are_refused(tmp_path, outputs, labels, message):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.save(tmp_path / "outputs.npy", outputs)
    if labels is not None:
        np.save(tmp_path / "labels.npy", labels)
    (tmp_path / "traits.json").write_text('{"layers": ["a"]}')
    with pytest.raises(ValueError, match=message):
        read_models(tmp_path)


def test_json_files_of_others_are_left_alone(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    (tmp_path / "traits.json").write_text('{"layers": ["a"]}')
    for text in ("[1]", "{", "[" * 100_000):
        (tmp_path / "a.json").write_text(text)
        assert len(read_models(tmp_path, verify=True)) == 1


def test_models_that_moved_or_changed_hands_are_noticed(tmp_path, monkeypatch):
    write_models(tmp_path / "models", noise_walk())
    monkeypatch.chdir(tmp_path)
    run(tmp_path / "study", models="models", measures=["cka"])
    run(tmp_path / "study", models=tmp_path / "models", measures=["cka"])  # the same folder
    write_models(tmp_path / "elsewhere" / "models", noise_walk(seed=1))
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="use another folder"):
        run(tmp_path / "study", models="models", measures=["cka"])
