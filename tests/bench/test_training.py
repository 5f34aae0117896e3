"""Plans of models: names of recipes, what must stay as it is, and pretrained models before those
that need them."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from resemblance import Representation
from resemblance.base.json_files import recorded_fingerprint
from resemblance.bench.resi.models import TRAINING_PLANS, resi_recipes
from resemblance.bench.sensitivity import models as sensitivity_models
from resemblance.bench.study_models import (
    is_trained,
    load_weights,
    model_folder,
    study_models,
    train_one,
    train_plan,
)
from resemblance.bench.training import fit
from resemblance.data.model_features import ModelFeatures
from resemblance.data.representation import fingerprint
from resemblance.models.model_folder import read_models, write_model
from resemblance.models.recipe import ModelOutputs, Recipe

# SHA-256 of the names and fingerprints of all recipes: a change would train every study anew
PLANS = {
    "slice": "337fa958fd04d249dc9a0550de5fe22ddd412123621f7d23ec363e8b67af297f",
    "mini": "ddfab62d87daeaa4136bcc8bf6d33686e04bc682ab526dab8bf6c5e7f788891a",
    "standard": "cf4a8f5201c85754d13e9414b912165faa59c0add46db0ffe0d47080693b3df6",
}


def finetuned(seed=3, pretrain=0, **options):
    both = {"rate": 0.1, "pretraining": {"rate": 1.0}} | options
    return Recipe("vision", "digits", "resnet", "finetuned", 0.0, seed, both, pretrain=pretrain)


# ------------------------------------------------------------------------------------------ recipes


@pytest.mark.parametrize("suite", TRAINING_PLANS)
def test_recipes_of_the_resi_benchmark_stay_as_they_are(suite):
    text = "".join(f"{r.name} {r.fingerprint}\n" for r in resi_recipes(suite))
    assert hashlib.sha256(text.encode()).hexdigest() == PLANS[suite]


def test_single_recipes_stay_as_they_are():
    plan = {r.name: r.fingerprint for r in resi_recipes("slice")}
    assert plan["graphs/stdlib/sage/normal/seed0"] == "ed1c3885e13b782e1b9c2f10feb3172e"
    assert plan["vision/digits/resnet/augmentation-1/seed1"] == "65d498c1b9dad69097679083b4b57636"


def test_both_seeds_name_a_fine_tuned_model_and_its_parent():
    child = finetuned()
    assert child.name == "vision/digits/resnet/finetuned/pretrain0/seed3"
    assert child.parent.name == "vision/digits/resnet/pretrained/seed0"
    assert child.parent.options == {"rate": 1.0}
    assert child.parent.parent is None
    assert "pretrain" not in child.parent.traits
    assert child.traits["pretrain"] == 0


def test_seeds_and_the_options_of_both_trainings_change_the_fingerprint():
    variants = [
        finetuned(),
        finetuned(4),
        finetuned(pretrain=1),
        finetuned(rate=0.2),
        finetuned(pretraining={}),
    ]
    assert len({r.fingerprint for r in variants}) == len(variants)


@pytest.mark.parametrize("broken", [finetuned(pretrain=None), finetuned(pretraining=None)])
def test_a_fine_tuned_model_needs_a_parent(broken):
    with pytest.raises(
        ValueError, match="a finetuned recipe needs a seed in pretrain and the options"
    ):
        _ = broken.parent


# --------------------------------------------------------------------------- what is kept of models


def test_labels_seeds_and_accuracies_survive_on_disk(tmp_path):
    accuracies = {"test": 1.0, "blur/3": 0.5, "blur": 0.25}
    extraction = ModelOutputs(
        {"mean": {"a": np.eye(3)}, "cls": {"a": np.eye(3)}}, np.eye(3), np.arange(3), accuracies
    )
    recipe = finetuned()
    write_model(tmp_path / "m", extraction, recipe.traits, {"w": np.ones(2)})
    for features in read_models(tmp_path, verify=True):
        assert features.labels.tolist() == [0, 1, 2]
        assert features.traits["accuracies"] == accuracies
        assert (features.traits["pretrain"], features.traits["seed"], features.name) == (
            0,
            3,
            recipe.name,
        )


@pytest.fixture
def written(tmp_path):
    """The file of a layer of a model that was written here."""
    layer = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")
    extraction = ModelOutputs({"mean": {"a": layer}}, np.eye(5), np.arange(5), {"test": 1.0})
    write_model(tmp_path / "m", extraction, finetuned().traits, {"w": np.ones(2)})
    return tmp_path / "m" / "mean.a.npy"


def flip(file, **times):
    """Change a byte, so that the size stays, and perhaps set the time of change."""
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    os.utime(file, **times)


def test_the_fingerprint_of_a_layer_is_recorded(written):
    known = recorded_fingerprint(written)
    assert known == fingerprint(Representation(np.load(written)))
    assert known == fingerprint(Representation(written))
    assert known != fingerprint(Representation(written, dtype="float32"))


def test_a_changed_file_is_never_trusted(written):
    before, expected = written.stat().st_mtime_ns, fingerprint(Representation(written))
    assert read_models(written.parent, verify="changed")
    flip(written, ns=(0, before + 1))
    assert fingerprint(Representation(written)) != expected
    for verify in (True, "changed"):
        with pytest.raises(ValueError, match=r"mean\.a\.npy is damaged"):
            read_models(written.parent, verify=verify)


def test_a_file_of_the_recorded_size_and_time_is_not_read(written):
    before, expected = written.stat().st_mtime_ns, fingerprint(Representation(written))
    flip(written, ns=(0, before))
    assert fingerprint(Representation(written)) == expected
    assert read_models(written.parent, verify="changed")
    with pytest.raises(ValueError, match=r"mean\.a\.npy is damaged"):
        read_models(written.parent, verify=True)


def test_a_copy_without_its_times_is_read_and_has_the_same_fingerprint(written):
    expected = fingerprint(Representation(written))
    os.utime(written, ns=(0, 0))
    assert read_models(written.parent, verify="changed")
    assert fingerprint(Representation(written)) == expected


@pytest.mark.parametrize("files", [{"mean.a.npy": {"fingerprint": "x"}}, {"mean.a.npy": 1}, [1]])
def test_records_of_another_kind_have_no_fingerprint(written, files):
    expected = fingerprint(Representation(np.load(written)))
    written.with_name("traits.json").write_text(json.dumps({"files": files}))
    assert fingerprint(Representation(written)) == expected


def test_labels_are_not_needed_but_must_fit(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "traits.json").write_text('{"layers": ["a"]}')
    (features,) = read_models(tmp_path)
    assert features.labels is None
    np.save(tmp_path / "labels.npy", np.arange(4))
    with pytest.raises(ValueError, match="must have the same samples"):
        read_models(tmp_path)
    np.save(tmp_path / "labels.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"must be .n_samples,. classes"):
        read_models(tmp_path)
    with pytest.raises(ValueError, match="labels': 2"):
        ModelFeatures("s", {"a": Representation(np.eye(3))}, labels=np.arange(2))


@pytest.mark.parametrize("pretrain", ['"one"', "true", "1.5"])
def test_the_seed_of_a_parent_is_a_number(tmp_path, pretrain):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "traits.json").write_text(f'{{"layers": ["a"], "pretrain": {pretrain}}}')
    with pytest.raises(ValueError, match="pretrain must be a whole number"):
        read_models(tmp_path)


# ----------------------------------------------------------------------------------------- training


class Silent:
    """Progress that is only counted."""

    def __init__(self):
        self.seen = []

    def __call__(self, stage, done, total):
        self.seen.append((stage, done, total))


def weights(folder, recipe):
    with np.load(model_folder(folder, recipe) / "weights.npz") as found:
        return {name: found[name].tobytes() for name in found.files}


def times(folder):
    return {p: p.stat().st_mtime_ns for p in folder.rglob("traits.json")}


PLAN = [
    r for r in sensitivity_models.sensitivity_recipes("small", ["vision"]) if r.setting != "normal"
]
CHILDREN = [r for r in PLAN if r.parent is not None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all pretrained and fine-tuned models of one domain."""
    folder = tmp_path_factory.mktemp("trained") / "study"
    folder.mkdir()
    train_plan(folder, PLAN, None, Silent())
    return folder


@pytest.fixture
def study(finished, tmp_path):
    """A copy of the folder, to be spoilt."""
    return shutil.copytree(finished, tmp_path / "study")


def test_a_parent_is_trained_once_before_its_children(tmp_path):
    progress = Silent()
    train_plan(tmp_path, CHILDREN[::-1], None, progress)  # the parents are not in this plan
    lines = [
        line.split()[3].rstrip(":") for line in (tmp_path / "log.txt").read_text().splitlines()
    ]
    assert sorted(lines) == sorted(r.name for r in PLAN)
    assert [("pretrained" in line) for line in lines] == [True] * 2 + [False] * len(CHILDREN)
    assert progress.seen == [("training", i, len(PLAN)) for i in range(len(PLAN) + 1)]


def test_trained_again_nothing_changes(study):
    before = times(study)
    train_plan(study, PLAN, None, Silent())
    assert times(study) == before


def test_resumed_and_in_processes_the_same_models_come_out(study, finished):
    shutil.rmtree(model_folder(study, CHILDREN[-1].parent))
    (model_folder(study, CHILDREN[1]) / "outputs.npy").unlink()
    kept = times(study)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        train_plan(study, PLAN, executor, Silent())
    after = times(study)
    done = {model_folder(study, r) / "traits.json" for r in (CHILDREN[1], CHILDREN[-1].parent)}
    assert {p for p in after if after[p] != kept.get(p)} == done
    for recipe in PLAN:
        assert is_trained(study, recipe)
        assert weights(study, recipe) == weights(finished, recipe)


def test_a_stored_start_is_the_trained_one(finished):
    child = CHILDREN[0]
    state = fit(child, start=fit(child.parent))
    assert {name: value.tobytes() for name, value in state.items()} == weights(finished, child)


def test_subjects_have_both_seeds_labels_and_all_accuracies(finished):
    model_features = study_models(finished, CHILDREN)
    seeds = [(s.traits["pretrain"], s.traits["seed"]) for s in model_features]
    assert seeds == [(r.pretrain, r.seed) for r in CHILDREN]
    for features in model_features:
        assert features.traits["accuracies"]["blur/5"] >= 0
        assert (
            features.traits["accuracy"]
            == (features.outputs.argmax(axis=1) == features.labels).mean()
        )
        assert len(features.layers) >= 3


def test_another_pretraining_trains_the_children_again(study):
    child = CHILDREN[0]
    other = child._replace(
        options=child.options | {"pretraining": {**child.options["pretraining"], "lr": 0.05}}
    )
    assert is_trained(study, child)
    assert not is_trained(study, other)
    with pytest.raises(ValueError, match=r"two recipes are named vision/.*/pretrained/seed0"):
        train_plan(study, [child, other._replace(seed=9)], None, Silent())


def test_a_parent_that_is_missing_damaged_or_another_is_named(study):
    child, where = CHILDREN[0], model_folder(study, CHILDREN[0].parent)
    message = (
        r"finetuned/pretrain0/seed0 starts from .*/pretrained/seed0, which .* does not "
        r"hold: train that first"
    )
    assert load_weights(where, child)
    other = child._replace(
        options=child.options | {"pretraining": {**child.options["pretraining"], "lr": 0.05}}
    )
    with pytest.raises(ValueError, match=message):
        load_weights(where, other)
    (where / "weights.npz").write_bytes(b"x")
    with pytest.raises(ValueError, match=message):
        load_weights(where, child)
    shutil.rmtree(where)
    with pytest.raises(ValueError, match=message):
        train_one(child, model_folder(study, child), where)
    with pytest.raises(ValueError, match="starts from random weights"):
        load_weights(where, child.parent)


@pytest.mark.parametrize("name", ["block1", "logits"])
def test_a_training_that_diverged_leaves_no_model(tmp_path, monkeypatch, name):
    arrays = {part: np.ones((4, 3), np.float32) for part in ("block1", "logits")}
    arrays[name][2, 1] = np.nan
    outputs = arrays.pop("logits")
    extraction = ModelOutputs({"mean": arrays}, outputs, np.zeros(4, int), {"test": 1.0})
    monkeypatch.setattr("resemblance.bench.training.fit", lambda *of: {})
    monkeypatch.setattr("resemblance.bench.training.extract", lambda *of: extraction)
    recipe = resi_recipes("slice", ["graphs"])[0]
    with pytest.raises(ValueError, match=f"{recipe.name}: {name} has values .* diverged"):
        train_one(recipe, tmp_path / "model")
    assert not (tmp_path / "model").exists()
