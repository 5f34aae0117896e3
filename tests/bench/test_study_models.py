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
from resemblance.bench.sensitivity.models import sensitivity_recipes
from resemblance.bench.study_models import (
    is_trained,
    load_weights,
    model_folder,
    train_one,
    train_plan,
)
from resemblance.data.representation import fingerprint
from resemblance.models.model_folder import read_models, write_model
from resemblance.models.recipe import ModelOutputs, Recipe

# SHA-256 of the names and fingerprints of all recipes: a change would train every study anew
PLANS = {
    "slice": "337fa958fd04d249dc9a0550de5fe22ddd412123621f7d23ec363e8b67af297f",
    "demo": "deee04b021c1bc995aa7ea79fcd94d3bca46e6a83192c8b097386056875cfb16",
    "mini": "ddfab62d87daeaa4136bcc8bf6d33686e04bc682ab526dab8bf6c5e7f788891a",
    "architectures": "315cd27b77353e7b3b20535a0c8cbc1515ddd8d55c34dba8d734a2429dc8b6c8",
    "standard": "38ff5aa0da518ca38c471d047feccddf1cd2ae88dc2bdac1559137c0c41ab0c1",
}


@pytest.mark.parametrize("suite", TRAINING_PLANS)
def test_recipes_of_the_resi_benchmark_stay_as_they_are(suite):
    text = "".join(f"{r.name} {r.fingerprint}\n" for r in resi_recipes(suite))
    assert hashlib.sha256(text.encode()).hexdigest() == PLANS[suite]


def finetuned(seed=3, pretrain=0, **options):
    both = {"rate": 0.1, "pretraining": {"rate": 1.0}} | options
    return Recipe("vision", "digits", "resnet", "finetuned", 0.0, seed, both, pretrain=pretrain)


def test_seeds_and_options_of_both_trainings_name_a_fine_tuned_model_and_its_parent():
    child = finetuned()
    assert child.name == "vision/digits/resnet/finetuned/pretrain0/seed3"
    assert child.parent.name == "vision/digits/resnet/pretrained/seed0"
    assert child.parent.options == {"rate": 1.0}
    assert child.parent.parent is None
    assert "pretrain" not in child.parent.traits
    assert child.traits["pretrain"] == 0
    others = [finetuned(4), finetuned(pretrain=1), finetuned(rate=0.2), finetuned(pretraining={})]
    assert len({r.fingerprint for r in (child, *others)}) == 5
    for broken in (finetuned(pretrain=None), finetuned(pretraining=None)):
        with pytest.raises(ValueError, match="a finetuned recipe needs a seed in pretrain and the"):
            _ = broken.parent


# --------------------------------------------------------------------------- what is kept of models


@pytest.fixture
def written(tmp_path):
    """The file of a layer of a model that was written here."""
    layer = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")
    accuracies = {"test": 1.0, "blur/3": 0.5, "blur": 0.25}
    layers = {"mean": {"a": layer}, "cls": {"a": layer}}
    outputs = ModelOutputs(layers, np.eye(5), np.arange(5), accuracies)
    write_model(tmp_path / "m", outputs, finetuned().traits, {"w": np.ones(2)})
    return tmp_path / "m" / "mean.a.npy"


def flip(file, time):
    """Change a byte, so that the size stays, and set the time of change."""
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(0, time))


def test_the_fingerprint_of_a_layer_is_recorded(written):
    known = recorded_fingerprint(written)
    assert known == fingerprint(Representation(np.load(written)))
    assert known == fingerprint(Representation(written))
    assert known != fingerprint(Representation(written, dtype="float32"))
    os.utime(written, ns=(0, 0))  # a copy without its times is read
    assert read_models(written.parent, verify="changed")
    assert fingerprint(Representation(written)) == known
    for files in ({"mean.a.npy": {"xxh3_128": "x"}}, {"mean.a.npy": 1}, [1]):
        written.with_name("traits.json").write_text(json.dumps({"files": files}))
        assert fingerprint(Representation(written)) == known


def test_a_file_is_read_unless_it_has_the_recorded_size_and_time(written):
    before, expected = written.stat().st_mtime_ns, fingerprint(Representation(written))
    assert read_models(written.parent, verify="changed")
    flip(written, before)
    assert fingerprint(Representation(written)) == expected
    assert read_models(written.parent, verify="changed")
    with pytest.raises(ValueError, match=r"mean\.a\.npy is damaged"):
        read_models(written.parent, verify=True)
    os.utime(written, ns=(0, before + 1))
    assert fingerprint(Representation(written)) != expected
    with pytest.raises(ValueError, match=r"mean\.a\.npy is damaged"):
        read_models(written.parent, verify="changed")


# ----------------------------------------------------------------------------------------- training


def ignored(*state):
    """Progress that nobody sees."""


def weights(folder, recipe):
    with np.load(model_folder(folder, recipe) / "weights.npz") as found:
        return {name: found[name].tobytes() for name in found.files}


def times(folder):
    return {p: p.stat().st_mtime_ns for p in folder.rglob("traits.json")}


PLAN = [r for r in sensitivity_recipes("small", ["vision"]) if r.setting != "normal"]
CHILDREN = [r for r in PLAN if r.parent is not None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all fine-tuned models of one domain, and their parents, each trained once
    before its children although the plan does not have it."""
    folder, seen = tmp_path_factory.mktemp("trained") / "study", []
    folder.mkdir()
    train_plan(folder, CHILDREN[::-1], None, lambda *state: seen.append(state))
    lines = (folder / "log.txt").read_text().splitlines()
    assert sorted(line.split()[3].rstrip(":") for line in lines) == sorted(r.name for r in PLAN)
    assert ["pretrained" in line for line in lines] == [True] * 2 + [False] * len(CHILDREN)
    assert seen == [("training", i, len(PLAN)) for i in range(len(PLAN) + 1)]
    return folder


@pytest.fixture
def study(finished, tmp_path):
    """A copy of the folder, to be spoilt."""
    return shutil.copytree(finished, tmp_path / "study")


def test_resumed_and_in_processes_the_same_models_come_out(study, finished):
    shutil.rmtree(model_folder(study, CHILDREN[-1].parent))
    (model_folder(study, CHILDREN[1]) / "outputs.npy").unlink()
    kept = times(study)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        train_plan(study, PLAN, executor, ignored)
    after = times(study)
    done = {model_folder(study, r) / "traits.json" for r in (CHILDREN[1], CHILDREN[-1].parent)}
    assert {p for p in after if after[p] != kept.get(p)} == done
    for recipe in PLAN:
        assert is_trained(study, recipe)
        assert weights(study, recipe) == weights(finished, recipe)


def test_a_parent_that_is_missing_damaged_or_another_is_named(study):
    child, where = CHILDREN[0], model_folder(study, CHILDREN[0].parent)
    pretraining = {**child.options["pretraining"], "lr": 0.05}
    other = child._replace(options=child.options | {"pretraining": pretraining})
    message = (
        r"finetuned/pretrain0/seed0 starts from .*/pretrained/seed0, which .* does not "
        r"hold: train that first"
    )
    assert load_weights(where, child)
    assert is_trained(study, child)
    assert not is_trained(study, other)
    with pytest.raises(ValueError, match=r"two recipes are named vision/.*/pretrained/seed0"):
        train_plan(study, [child, other._replace(seed=9)], None, ignored)
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
