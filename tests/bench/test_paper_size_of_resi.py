"""The size of the paper in the ReSi suite, on small made copies of its data sets."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from factories.graph_data import write_cora

from resemblance import bench
from resemblance.bench import training
from resemblance.bench.resi import load_evaluation, status
from resemblance.bench.resi.cases import TEST_TITLES
from resemblance.bench.resi.models import model_origin, paper_subsets_of_study
from resemblance.bench.resi.paper import paper_run, paper_subset_for, planned_recipes
from resemblance.bench.resi.planning import plan
from resemblance.bench.study import purpose
from resemblance.bench.study_models import model_folder
from resemblance.bench.training import DATASETS, PaperSubset, chosen_architectures, dataset_module
from resemblance.bench.training.archive import released_file_path

run = partial(bench.run, "resi")

CORA = {"size": "paper-slice", "datasets": ["Cora"], "measures": ["cka", "gulp"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_cora(folder / "graphs" / "cora")
    return folder


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A study of all architectures on Cora, in two runs: the first is interrupted."""
    folder = tmp_path_factory.mktemp("paper") / "study"

    def interrupt(stage, done, total):
        if (stage, done) == ("training", 5):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(folder, data=data, progress=interrupt, **CORA)
    before = modified(folder)
    assert len(before) == 5
    run(folder, data=data, **CORA)
    assert before.items() <= modified(folder).items()
    return folder


@pytest.fixture
def study(finished, tmp_path):
    """A copy of the finished study, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "study"))


def modified(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("seed*/traits.json")}


def cases_made(folder):
    """The sizes of the comparisons by architecture and test."""
    sizes = {}
    for p in load_evaluation(folder).parts():
        sizes.setdefault((p.family.architecture, p.test), []).append(len(p.comparison.rows))
    return sizes


# --------------------------------------------------------------------------- a run, and another one


def test_all_architectures_make_all_tests_that_the_paper_has_with_their_models(finished):
    facts, models = load_evaluation(finished), cases_made(finished)
    expected = {(a, test) for a in DATASETS["cora"].architectures for test in TEST_TITLES}
    assert expected - models.keys() == {("pgnn", "augmentation")}
    (absence,) = facts.absent
    assert (absence.test, absence.family.architecture) == ("augmentation", "pgnn")
    assert "the paper does not make this test" in absence.reason
    assert (facts.size, facts.is_trial) == ("paper-slice", True)
    for architecture in ("gcn", "sage", "gat"):
        assert models[architecture, "accuracy"] == models[architecture, "output"] == [4]
        for test in ("labels", "shortcut", "augmentation"):  # such as normal, 25 %, 100 %
            assert models[architecture, test] == [3 * 2]
        assert len(models[architecture, "layers"]) == 2


def test_all_groups_of_the_paper_are_compared_whatever_their_accuracies(finished):
    groups = load_evaluation(finished).groups
    assert all(group.kept for group in groups)
    assert any(group.note for group in groups)  # one epoch does not separate them
    names = {g.name for g in groups if (g.test, g.architecture) == ("labels", "gcn")}
    assert names == {"normal", "25%", "100%"}


def test_the_origin_of_models_and_data_is_in_the_provenance(finished, tmp_path):
    provenance = json.loads((finished / "result.json").read_text())["provenance"]
    assert provenance["hyperparameters"] == "resi-code"
    assert provenance["groups"] == "published"
    assert provenance["data"] == {"Cora": {}}  # any data do for a trial
    order = paper_run("paper", data=tmp_path, datasets=["cora", "flickr"])
    origin = model_origin(order, planned_recipes([order.portion]))
    assert len(set(origin["data"]["Cora"].values())) == 8
    assert origin["data"]["Flickr"] == {}  # none are known


def test_what_a_later_run_adds_stands_beside_what_is_there(data, tmp_path):
    first, folder = {"architectures": ["GCN"], "tests": ["labels"], "data": data, **CORA}, tmp_path
    run(folder / "study", **first)
    before = modified(folder / "study")
    assert cases_made(folder / "study").keys() == {("gcn", "labels")}
    run(folder / "study", **{**first, "architectures": ["sage"], "tests": ["Shortcut affinity"]})
    assert cases_made(folder / "study").keys() == {("gcn", "labels"), ("sage", "shortcut")}
    after = modified(folder / "study")
    assert before.items() <= after.items()
    assert len(paper_subsets_of_study(purpose(folder / "study"))) == 2
    assert status(folder / "study").planned == len(after)
    shutil.rmtree(next((folder / "study").rglob("sage/shortcut-1")))
    run(folder / "study", **first)  # what is no longer complete is not of the result
    assert cases_made(folder / "study").keys() == {("gcn", "labels")}
    with pytest.raises(ValueError, match="is a study of the hyperparameters resi-code"):
        run(folder / "study", hyperparameters="paper", **first)
    with pytest.raises(ValueError, match="is a study of paper-slice; use another folder for paper"):
        run(folder / "study", **{**first, "size": "paper"})


class Recorder(ThreadPoolExecutor):
    """An executor that notes what it does."""

    def submit(self, function, *args, **named):
        self.names = [*getattr(self, "names", ()), function.__name__]
        return super().submit(function, *args, **named)


def test_training_goes_to_an_executor_of_its_own_with_absolute_paths(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Recorder(1) as trainer:
        run("study", data=data, architectures=["gcn"], tests=["shortcut"], trainer=trainer, **CORA)
    assert trainer.names == ["train_one"] * 6


def test_models_of_an_archive_take_the_place_of_training(finished, data, tmp_path):
    chosen = {"architectures": ["gcn"], "tests": ["shortcut"]}
    recipes = planned_recipes([paper_subset_for("paper-slice", datasets=["cora"], **chosen)])
    for recipe in recipes:
        file = tmp_path / "archive" / released_file_path(recipe)
        file.parent.mkdir(parents=True, exist_ok=True)
        with np.load(model_folder(finished, recipe) / "weights.npz") as weights:
            torch.save({n: torch.from_numpy(weights[n]) for n in weights.files}, file)
    options = {"data": data, "models_from": tmp_path / "archive", **chosen, **CORA}
    run(tmp_path / "study", **options)
    for recipe in recipes:
        read, trained = (
            np.load(model_folder(folder, recipe) / "outputs.npy")
            for folder in (tmp_path / "study", finished)
        )
        np.testing.assert_array_equal(read, trained)
    assert "read graphs/cora/gcn/shortcut-0/seed0" in (tmp_path / "study/log.txt").read_text()
    (tmp_path / "archive/models/graphs/cora/GCN/Shortcut_50/model_s1.pt").unlink()
    shutil.rmtree(tmp_path / "study")
    run(tmp_path / "study", **options)
    (absence,) = load_evaluation(tmp_path / "study").absent
    assert "model_s1.pt" in absence.reason


# -------------------------------------------------------------------------------- failed trainings


def test_a_failed_training_is_listed_and_ends_no_run(data, tmp_path, call, monkeypatch):
    train = dataset_module("cora", "paper")
    fit = train.fit

    def fails(recipe, resources):
        if (recipe.architecture, recipe.setting, recipe.strength) == ("gcn", "labels", 1.0):
            raise RuntimeError("out of memory")
        return fit(recipe, resources)

    study = tmp_path / "study"
    words = f"bench run resi {study} --size paper-slice --dataset Cora --architecture GCN -m cka"
    words += f" --test labels --test augmentation -j 1 --data {data}"
    with monkeypatch.context() as patch:
        patch.setattr(train, "fit", fails)
        code, out, err = call(words)
    assert code == 1
    shown = " ".join(out.split())
    assert "2 models could not be trained: graphs/cora/gcn/labels-1/seed0 and" in shown
    assert "error: 2 models could not be trained; repeat the command to try again" in err
    facts = load_evaluation(study)
    assert {p.test for p in facts.parts()} == {"augmentation"}
    assert facts.absent[0].test == "labels"
    assert "RuntimeError: out of memory" in facts.absent[0].reason
    assert "Traceback" in (study / "log.txt").read_text()
    assert call(f"{words} -q")[0] == 0
    assert {p.test for p in load_evaluation(study).parts()} == {"labels", "augmentation"}


def test_where_no_model_could_be_trained_every_test_says_so(data, tmp_path, monkeypatch):
    def fails(recipe, resources):
        raise RuntimeError("no power")

    monkeypatch.setattr(dataset_module("cora", "paper"), "fit", fails)
    result = run(tmp_path, data=data, architectures=["gcn"], tests=["labels", "output"], **CORA)
    absent = {a.test: a.reason for a in load_evaluation(tmp_path).absent}
    assert absent.keys() == {"labels", "output"}
    assert all("no power" in reason for reason in absent.values())
    assert not result.scores()


# ------------------------------------------------------------------------------ plans and mistakes


def test_a_plan_counts_models_and_what_is_there(finished, tmp_path, call, monkeypatch):
    monkeypatch.delenv("RESEMBLANCE_DATA", raising=False)
    words = "--plan --dataset cora --size"
    code, out, _ = call(f"bench run resi {finished} --format json {words} paper-slice")
    assert code == 0
    rows = {row["architecture"]: row for row in json.loads(out)}
    assert list(rows) == ["GCN", "GraphSAGE", "GAT", "P-GNN"]
    counts = {"normal": 4, "layers": 2, "labels": 4, "shortcut": 6, "augmentation": 4}
    assert rows["GCN"]["models"] == counts
    assert rows["GCN"]["trained"] == sum(counts.values())
    assert rows["GCN"]["cpu_hours"] == 0
    code, out, _ = call(f"bench run resi {tmp_path / 'new'} {words} paper")  # without data
    assert code == 0
    assert not (tmp_path / "new").exists()
    assert out.splitlines()[-3].split()[:2] == ["all", "190"]
    few, many = (plan(size="paper", datasets=["cora"], seeds=seeds) for seeds in (10, 20))
    for a, b in zip(few, many):
        assert a.trained == b.trained == 0
        assert 0 < a.cpu_hours < b.cpu_hours
        assert 0 < a.representations_gb < b.representations_gb


PAPER = {"size": "paper", "data": "."}
MISTAKES = [
    ({"size": "paper"}, "data must be the folder with the data sets"),
    ({"data": "."}, "data is for the sizes paper and paper-slice; got size 'mini'"),
    ({"data": ".", "datasets": ["cora"]}, "data, datasets are for the sizes"),
    ({"size": "paper", "data": "nowhere"}, "data must be a folder that exists; got 'nowhere'"),
    (PAPER | {"models_from": "nowhere"}, "models_from must be a folder"),
    (PAPER | {"datasets": ["Kora"]}, "no data set 'Kora'; did you mean"),
    (PAPER | {"architectures": ["gcm"]}, "no architecture 'gcm'"),
    (PAPER | {"tests": ["lables"]}, "no test 'lables'"),
    (PAPER | {"seeds": 2}, "seeds must be at least 3; got 2"),
    (PAPER | {"precision": "float8"}, "precision must be one of"),
    (PAPER | {"groups": "all"}, "groups must be 'published' or 'separated'; got 'all'"),
    (PAPER | {"domains": ["audio"]}, "domain must be one of"),
    (
        PAPER | {"datasets": ["flickr"], "architectures": ["p-gnn"]},
        "no chosen data set has models of the architecture P-GNN; Cora has",
    ),
    (
        PAPER | {"datasets": ["cora", "sst2"], "architectures": ["gcn"]},
        "SST-2 has none of the chosen architectures; it has BERT",
    ),
    (CORA | {"data": "."}, r"ind\.cora"),
]


def test_mistakes_are_said_before_the_work(tmp_path, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    for options, message in MISTAKES:
        with subtests.test(message):
            with pytest.raises(ValueError, match=message):
                run("study", **options)
            assert not Path("study").exists()


def test_a_study_does_not_know_of_data_that_were_not_there(data, study):
    before = purpose(study)
    with pytest.raises(ValueError, match=r"adj_full\.npz is missing"):
        run(study, data=data, **{**CORA, "datasets": ["flickr"]})
    assert purpose(study) == before


def test_options_that_mean_nothing_are_refused(tmp_path, refused):
    words = f"bench run resi {tmp_path / 'study'} --dataset cora --data {tmp_path} --size"
    refused(f"""
        {words} paper-slice --format json | --format belongs to --plan; resemblance bench results
        {words} paper-slice --plan --max-samples -1 | max_samples must be a whole number of at least
        {words} paper-slice --plan --models . | --models cannot be combined with
        {words} mini --plan | paper
        """)


def test_a_study_without_results_names_the_command_of_its_part(study, call):
    (study / "result.json").unlink()
    code, _, err = call("bench", "results", study)
    assert code == 2
    assert err.endswith(f": resemblance bench run resi {study}\n")
    assert run(study).scores()


# ------------------------------------------------------------------- which models make which tests


def test_words_may_be_spelt_in_any_way_and_unpublished_architectures_are_asked_for():
    spelt = paper_subset_for("paper", datasets=["OGBN Arxiv", "cora"], architectures=["graph-sage"])
    assert (spelt.datasets, spelt.architectures) == (("cora", "ogbn-arxiv"), ("sage",))
    assert list(chosen_architectures(spelt)) == [("cora", "sage"), ("ogbn-arxiv", "sage")]
    assert paper_subset_for("paper", domains=["language"]).datasets == ("sst2", "mnli")
    by_default = chosen_architectures(PaperSubset(datasets=("sst2",)))
    assert {architecture for _, architecture in by_default} == {"bert", "albert", "smollm2"}
    small = chosen_architectures(PaperSubset(architectures=("minilm",)))
    assert list(small) == [("sst2", "minilm")]


def test_numbers_of_models_are_those_of_the_paper():
    graphs = training.planned_tests(PaperSubset(), "cora", "gcn")
    assert graphs["accuracy"] == (("normal",), 10)
    assert graphs["labels"] == (("normal", "labels"), 5)
    assert graphs["shortcut"] == (("shortcut",), 5)
    assert graphs["augmentation"] == (("normal", "augmentation"), 5)
    assert graphs["layers"] == (("layers",), 5)
    assert training.planned_tests(PaperSubset(), "sst2", "bert")["layers"] == (("normal",), 5)
    images = training.planned_tests(PaperSubset(), "imagenet100", "resnet18")
    assert images["augmentation"] == (("augmentation",), 5)  # noise is compared with noise
    assert images["layers"] == (("normal",), 10)
    assert "augmentation" not in training.planned_tests(PaperSubset(), "cora", "pgnn")
