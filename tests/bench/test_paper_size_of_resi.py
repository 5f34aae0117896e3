"""The size of the paper in the ReSi suite, on small made copies of its data sets."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import Executor, Future
from pathlib import Path

import numpy as np
import pytest
import torch
from factories.graph_data import write_cora

from resemblance import cli
from resemblance.bench import training
from resemblance.bench.resi import load_evaluation, run, status
from resemblance.bench.resi.cases import TEST_TITLES
from resemblance.bench.resi.groups import choose_groups
from resemblance.bench.resi.models import model_origin, paper_subsets_of_study
from resemblance.bench.resi.paper import paper_run, paper_subset_for, planned_recipes
from resemblance.bench.resi.planning import plan
from resemblance.bench.study import purpose
from resemblance.bench.study_models import is_trained, model_folder
from resemblance.bench.training import DATASETS, PaperSubset, chosen_architectures, dataset_module
from resemblance.models.recipe import Recipe

MEASURES = ["cka", "gulp"]
CORA = {"size": "paper-slice", "datasets": ["Cora"], "measures": MEASURES}


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
    after = modified(folder)
    assert {path: after[path] for path in before} == before
    return folder


@pytest.fixture
def study(finished, tmp_path):
    """A copy of the finished study, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "study"))


def modified(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("seed*/traits.json")}


def cases_made(folder):
    return {(p.family.architecture, p.test) for p in load_evaluation(folder).parts()}


# --------------------------------------------------------------------------- a run, and another one


def test_all_architectures_make_all_tests_that_the_paper_has(finished):
    facts = load_evaluation(finished)
    made_here = cases_made(finished)
    expected = {(a, test) for a in DATASETS["cora"].architectures for test in TEST_TITLES}
    assert expected - made_here == {("pgnn", "augmentation")}
    (absence,) = facts.absent
    assert (absence.test, absence.family.architecture) == ("augmentation", "pgnn")
    assert "the paper does not make this test" in absence.reason
    assert facts.size == "paper-slice"
    assert facts.is_trial


def test_every_test_has_as_many_models_as_it_should(finished):
    models = {}
    for p in load_evaluation(finished).parts():
        models.setdefault((p.family.architecture, p.test), []).append(len(p.comparison.rows))
    for architecture in ("gcn", "sage", "gat"):
        assert models[architecture, "accuracy"] == models[architecture, "output"] == [3]
        assert models[architecture, "labels"] == [3 * 2]  # normal, 25 %, 100 %
        assert models[architecture, "shortcut"] == [3 * 2]
        assert models[architecture, "augmentation"] == [3 * 2]
        assert len(models[architecture, "layers"]) == 2


def test_all_groups_of_the_paper_are_compared_whatever_their_accuracies(finished):
    groups = load_evaluation(finished).groups
    assert all(group.kept for group in groups)
    assert any(group.note for group in groups)  # one epoch does not separate them
    names = {g.name for g in groups if (g.test, g.architecture) == ("labels", "gcn")}
    assert names == {"normal", "25%", "100%"}


def test_the_origin_of_the_models_is_in_the_provenance(finished):
    provenance = json.loads((finished / "result.json").read_text())["provenance"]
    assert provenance["hyperparameters"] == "resi-code"
    assert provenance["groups"] == "published"
    assert provenance["data"] == {"Cora": {}}  # any data do for a trial


def test_the_checksums_of_data_are_part_of_the_origin(tmp_path):
    order = paper_run("paper", data=tmp_path, datasets=["cora", "flickr"])
    origin = model_origin(order, planned_recipes([order.portion]))
    assert len(set(origin["data"]["Cora"].values())) == 8
    assert origin["data"]["Flickr"] == {}  # none are known


def test_pages_and_tables_have_the_names_of_the_paper(finished, capsys):
    assert cli.run(["bench", "results", str(finished)]) == 0
    out = capsys.readouterr().out
    assert "data sets Cora" in out
    assert "GCN, GraphSAGE, GAT, P-GNN" in out


def test_a_study_knows_how_many_models_it_needs(finished):
    known = status(finished)
    assert (known.size, known.trained, known.planned) == ("paper-slice", 72, 72)
    assert paper_subsets_of_study(purpose(finished)) == (
        paper_subset_for("paper-slice", datasets=["cora"]),
    )
    assert not (finished / "checkpoints").exists()


def test_what_a_later_run_adds_stands_beside_what_is_there(data, tmp_path):
    first = {"architectures": ["GCN"], "tests": ["labels"], "data": data, **CORA}
    run(tmp_path / "study", **first)
    before = modified(tmp_path / "study")
    assert cases_made(tmp_path / "study") == {("gcn", "labels")}
    run(tmp_path / "study", **{**first, "architectures": ["sage"], "tests": ["Shortcut affinity"]})
    assert cases_made(tmp_path / "study") == {("gcn", "labels"), ("sage", "shortcut")}
    after = modified(tmp_path / "study")
    assert {path: after[path] for path in before} == before
    assert len(paper_subsets_of_study(purpose(tmp_path / "study"))) == 2
    assert status(tmp_path / "study").planned == len(after)
    shutil.rmtree(next((tmp_path / "study").rglob("sage/shortcut-1")))
    run(tmp_path / "study", **first)  # what is no longer complete is not of the result
    assert cases_made(tmp_path / "study") == {("gcn", "labels")}
    with pytest.raises(ValueError, match="is a study of the hyperparameters resi-code"):
        run(tmp_path / "study", hyperparameters="paper", **first)
    with pytest.raises(ValueError, match="is a study of paper-slice; use another folder for paper"):
        run(tmp_path / "study", **{**first, "size": "paper"})


def test_more_seeds_make_larger_tests(data, study):
    more = {"data": data, "architectures": ["gcn"], "tests": ["accuracy"], "seeds": 4}
    run(study, max_samples=20, **more, **CORA)
    parts = list(load_evaluation(study).parts())
    sizes = {p.test: len(p.comparison.rows) for p in parts if p.family.architecture == "gcn"}
    assert (sizes["accuracy"], sizes["output"], sizes["labels"]) == (4, 3, 6)
    assert {p.comparison.provenance["n_samples"] for p in parts} == {20}


class Recorder(Executor):
    """An executor that does everything at once, and counts it."""

    def __init__(self):
        self.names = []

    def submit(self, function, *args, **named):
        self.names.append(function.__name__)
        future = Future()
        future.set_result(function(*args, **named))
        return future


def test_training_goes_to_an_executor_of_its_own_with_absolute_paths(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = Recorder()
    run("study", data=data, architectures=["gcn"], tests=["shortcut"], trainer=trainer, **CORA)
    assert trainer.names == ["train_one"] * 6


def test_models_of_an_archive_take_the_place_of_training(finished, data, tmp_path):
    recipes = planned_recipes(
        [paper_subset_for("paper-slice", datasets=["cora"], architectures=["gcn"])]
    )
    wanted = [r for r in recipes if r.setting == "shortcut"]
    for recipe in wanted:
        name = f"GCN/Shortcut_{int(100 * recipe.strength)}/model_s{recipe.seed}.pt"
        file = tmp_path / "archive" / "models" / "graphs" / "cora" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with np.load(model_folder(finished, recipe) / "weights.npz") as weights:
            torch.save({n: torch.from_numpy(weights[n]) for n in weights.files}, file)
    options = {"data": data, "architectures": ["gcn"], "tests": ["shortcut"], **CORA}
    run(tmp_path / "study", models_from=tmp_path / "archive", **options)
    for recipe in wanted:
        (file,) = model_folder(tmp_path / "study", recipe).glob("outputs.npy")
        trained = np.load(model_folder(finished, recipe) / "outputs.npy")
        np.testing.assert_array_equal(np.load(file), trained)
    assert "read graphs/cora/gcn/shortcut-0/seed0" in (tmp_path / "study/log.txt").read_text()
    (tmp_path / "archive/models/graphs/cora/GCN/Shortcut_50/model_s1.pt").unlink()
    shutil.rmtree(tmp_path / "study")
    run(tmp_path / "study", models_from=tmp_path / "archive", **options)
    (absence,) = load_evaluation(tmp_path / "study").absent
    assert "model_s1.pt" in absence.reason


# -------------------------------------------------------------------------------- failed trainings


@pytest.fixture
def failing(monkeypatch):
    """No GCN with all labels at random can be trained."""
    train = dataset_module("cora", "paper")
    fit = train.fit

    def fails(recipe, resources):
        if (recipe.architecture, recipe.setting, recipe.strength) == ("gcn", "labels", 1.0):
            raise RuntimeError("out of memory")
        return fit(recipe, resources)

    monkeypatch.setattr(train, "fit", fails)


def test_a_failed_training_is_listed_and_ends_no_run(failing, data, tmp_path, capsys, monkeypatch):
    words = [
        "bench",
        "run",
        "resi",
        str(tmp_path / "study"),
        "--size",
        "paper-slice",
        "--test",
        "labels",
    ]
    words += ["--test", "augmentation", "--dataset", "Cora", "--architecture", "GCN", "-m", "cka"]
    words += ["-j", "1"]
    monkeypatch.setenv("RESEMBLANCE_DATA", str(data))
    assert cli.run(words) == 1
    out, err = capsys.readouterr()
    assert "2 models could not be trained: graphs/cora/gcn/labels-1/seed0 and" in " ".join(
        out.split()
    )
    assert "error: 2 models could not be trained; the same command tries again" in err
    facts = load_evaluation(tmp_path / "study")
    assert {p.test for p in facts.parts()} == {"augmentation"}
    assert facts.absent[0].test == "labels"
    assert "RuntimeError: out of memory" in facts.absent[0].reason
    assert "Traceback" in (tmp_path / "study" / "log.txt").read_text()
    monkeypatch.undo()
    monkeypatch.setenv("RESEMBLANCE_DATA", str(data))
    assert cli.run([*words, "-q"]) == 0
    evaluation = load_evaluation(tmp_path / "study")
    assert {p.test for p in evaluation.parts()} == {"labels", "augmentation"}


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


def test_a_plan_counts_models_and_what_is_there(finished, capsys, monkeypatch):
    monkeypatch.delenv("RESEMBLANCE_DATA", raising=False)
    words = [
        "bench",
        "run",
        "resi",
        str(finished),
        "--plan",
        "--dataset",
        "cora",
        "--format",
        "json",
    ]
    assert cli.run([*words, "--size", "paper-slice"]) == 0
    rows = {row["architecture"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["GCN", "GraphSAGE", "GAT", "P-GNN"]
    counts = {"normal": 3, "layers": 2, "labels": 4, "shortcut": 6, "augmentation": 4}
    assert rows["GCN"]["models"] == counts
    assert rows["GCN"]["trained"] == sum(counts.values())
    assert rows["GCN"]["cpu_hours"] == 0


def test_a_plan_of_the_paper_needs_no_data_and_trains_nothing(tmp_path, capsys):
    words = ["bench", "run", "resi", str(tmp_path / "study"), "--plan", "--dataset", "cora"]
    assert cli.run([*words, "--size", "paper"]) == 0
    out = capsys.readouterr().out
    assert not (tmp_path / "study").exists()
    assert out.splitlines()[-3].split()[:2] == ["all", "190"]
    assert cli.run([*words, "--size", "mini"]) == 2


def test_a_plan_costs_more_with_more_models():
    few, many = (plan(size="paper", datasets=["cora"], seeds=seeds) for seeds in (10, 20))
    for a, b in zip(few, many):
        assert 0 < a.cpu_hours < b.cpu_hours
        assert 0 < a.representations_gb < b.representations_gb


MISTAKES = [
    ({"size": "paper"}, "data must be the folder with the data sets"),
    ({"data": "."}, "data is for the sizes paper and paper-slice; got size 'mini'"),
    ({"data": ".", "datasets": ["cora"]}, "data, datasets are for the sizes"),
    ({"size": "paper", "data": "nowhere"}, "data must be a folder that exists; got 'nowhere'"),
    ({"size": "paper", "data": ".", "models_from": "nowhere"}, "models_from must be a folder"),
    ({"size": "paper", "data": ".", "datasets": ["Kora"]}, "no data set 'Kora'; did you mean"),
    ({"size": "paper", "data": ".", "architectures": ["gcm"]}, "no architecture 'gcm'"),
    ({"size": "paper", "data": ".", "tests": ["lables"]}, "no test 'lables'"),
    ({"size": "paper", "data": ".", "seeds": 2}, "seeds must be at least 3; got 2"),
    ({"size": "paper", "data": ".", "precision": "float8"}, "precision must be one of"),
    (
        {"size": "paper", "data": ".", "groups": "all"},
        "groups must be 'published' or 'separated'; got 'all'",
    ),
    ({"size": "paper", "data": ".", "domains": ["audio"]}, "domain must be one of"),
    (
        {"size": "paper", "data": ".", "datasets": ["flickr"], "architectures": ["p-gnn"]},
        "no chosen data set has models of the architecture P-GNN; Cora has",
    ),
    (
        {"size": "paper", "data": ".", "datasets": ["cora", "sst2"], "architectures": ["gcn"]},
        "SST-2 has none of the chosen architectures; it has BERT",
    ),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistakes_are_said_before_the_work(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run(tmp_path / "study", **options)
    assert not (tmp_path / "study").exists()


def test_data_that_are_not_there_are_found_before_the_work(tmp_path):
    with pytest.raises(ValueError, match=r"ind\.cora"):
        run(tmp_path / "study", data=tmp_path, **CORA)
    assert not (tmp_path / "study").exists()


def test_a_study_does_not_know_of_data_that_were_not_there(data, study):
    before = purpose(study)
    with pytest.raises(ValueError, match=r"adj_full\.npz is missing"):
        run(study, data=data, **{**CORA, "datasets": ["flickr"]})
    assert purpose(study) == before


COMMAND_MISTAKES = [
    (
        ["--format", "json"],
        "--format belongs to --plan; resemblance bench results STUDY --format json",
    ),
    (["--plan", "--max-samples", "-1"], "max_samples must be a whole number of at least 2; got -1"),
    (["--plan", "--models", "."], "--models names existing models"),
]


@pytest.mark.parametrize(("words", "message"), COMMAND_MISTAKES, ids=str)
def test_options_that_mean_nothing_are_refused(words, message, tmp_path, capsys):
    options = ["--size", "paper-slice", "--dataset", "cora", "--data", str(tmp_path)]
    assert cli.run(["bench", "run", "resi", str(tmp_path / "study"), *options, *words]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("error: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not out


def test_a_study_without_results_names_the_command_of_its_part(study, capsys):
    (study / "result.json").unlink()
    assert cli.run(["bench", "results", str(study)]) == 2
    assert capsys.readouterr().err.endswith(f": resemblance bench run resi {study}\n")
    assert run(study).scores()


# ------------------------------------------------------------------- which models make which tests


def test_words_may_be_spelt_in_any_way():
    spelt = paper_subset_for("paper", datasets=["OGBN Arxiv", "cora"], architectures=["graph-sage"])
    assert (spelt.datasets, spelt.architectures) == (("cora", "ogbn-arxiv"), ("sage",))
    assert list(chosen_architectures(spelt)) == [("cora", "sage"), ("ogbn-arxiv", "sage")]
    assert paper_subset_for("paper", domains=["language"]).datasets == ("sst2", "mnli")


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


def test_a_part_trains_what_its_tests_need_and_no_more(monkeypatch):
    class Trainer:
        VERSION = 1
        options = staticmethod(lambda *words: {})

    monkeypatch.setattr(training, "dataset_module", lambda dataset, part: Trainer)

    def settings(architecture, *tests):
        portion = PaperSubset((), (architecture,), tests)
        recipes = planned_recipes([portion._replace(datasets=("cora", "imagenet100"))])
        return {(r.setting, r.strength): r.seed + 1 for r in recipes}

    assert settings("gcn", "layers") == {("layers", 0.0): 5}
    assert settings("resnet18", "layers") == {("normal", 0.0): 10}
    assert settings("gcn", "accuracy") == {("normal", 0.0): 10}
    assert settings("gcn", "labels") == {
        ("normal", 0.0): 5, ("labels", 0.25): 5, ("labels", 1.0): 5
    }  # fmt: skip
    assert settings("resnet18", "augmentation") == {
        ("augmentation", strength): 5 for strength in (0.25, 0.5, 1.0)
    }
    assert sum(settings("gcn").values()) == 50
    assert sum(settings("pgnn").values()) == 40


def test_published_groups_stay_although_their_accuracies_overlap():
    same = [{"test": 0.5}, {"test": 0.6}]
    groups = {"normal": (0.0, same), "50%": (0.5, same), "100%": (1.0, [{"test": 0.1}] * 2)}
    where = ("labels", "graphs", "cora", "gcn")
    stay = choose_groups(where, groups, "published")
    leave = choose_groups(where, groups)
    assert [g.kept for g in stay] == [True] * 3
    assert [g.kept for g in leave].count(True) == 2
    assert [bool(g.note) for g in stay] == [bool(g.note) for g in leave]
    assert not any("left out" in g.note for g in stay)


def test_a_model_of_another_recipe_is_trained_again(study, data):
    recipe = next(iter(planned_recipes([paper_subset_for("paper-slice", datasets=["cora"])])))
    assert is_trained(study, recipe)
    changed = Recipe(*recipe)._replace(options={**recipe.options, "epochs": 2})
    assert not is_trained(study, changed)
    assert model_folder(study, changed) == model_folder(study, recipe)
