"""Training and comparing by several processes, one of which is killed: the same bits, nothing lost,
nothing done twice. And commands and examples on a Dask cluster of two processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from factories.graph_data import write_cora

import resemblance as rs
from resemblance import cli
from resemblance.bench.resi.paper import paper_subset_for, planned_recipes
from resemblance.bench.study_models import is_trained, model_folder, study_models, train_possible
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.cli.executors import open_executors
from resemblance.engine._compare import compare_many
from resemblance.engine.inputs import ComparisonInputs
from resemblance.engine.options import check_run_options
from resemblance.engine.workers import WorkerPool, count_workers
from resemblance.models.recipe import Recipe

# Dask warns of a busy machine, in its own threads, too; the pool of what it lost
pytestmark = pytest.mark.filterwarnings("ignore")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
# All that a worker would import when it trains its first model
PRELOADED = ["resemblance.bench.study_models", "resemblance.bench.training.graphs.paper"]
PRELOADED += ["torch._dynamo", "torch_geometric.nn", "torch_geometric.datasets", "distributed"]
MEASURES = ["cka", "procrustes", "pwcca"]


@pytest.fixture(scope="module")
def server():
    """A process with everything imported, from which workers are forked."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()  # before Dask names another list
    return context


@pytest.fixture(scope="module")
def client(server):
    """A client of a Dask cluster of two worker processes."""
    import dask
    from distributed import Client, LocalCluster

    here = {"host": "127.0.0.1", "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **here) as cluster,
        Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture
def pool(server):
    workers = WorkerPool(lambda: ProcessPoolExecutor(2, server))
    yield workers
    workers.pool.shutdown()


# ---------------------------------------------------------------------------------- killed workers


class Alone(NamedTuple):
    """The results of a run in this process alone: a folder with models, their recipes and training
    data, and comparisons."""

    folder: Path
    plan: tuple[Recipe, ...]
    resources: TrainingEnvironment
    comparisons: tuple[rs.Comparison, ...]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    data, folder = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("alone")
    write_cora(data / "graphs" / "cora")
    chosen = {"datasets": ["cora"], "architectures": ["gcn"], "tests": ["labels"]}
    plan, resources = (
        planned_recipes([paper_subset_for("paper-slice", **chosen)]),
        TrainingEnvironment(data),
    )
    assert not train_possible(folder, plan, None, lambda *_: None, resources)
    return Alone(folder, plan, resources, compare_many(works_of(folder, plan), check_run_options()))


def works_of(folder, plan):
    """Compare all models' last layers, and the layers of each of two models."""
    model_features = study_models(folder, plan)
    last = {s.name: s.last for s in model_features}
    return [
        ComparisonInputs.of(last, MEASURES),
        *(ComparisonInputs.of(s, MEASURES) for s in model_features[:2]),
    ]


class Killer:
    """Progress that kills a process when the first piece of work is done."""

    def __init__(self, victim):
        self.victim, self.killed = victim, 0

    def __call__(self, *steps):
        done, total = steps[-2:]
        if 0 < done < total and not self.killed:
            self.killed = self.victim()
            os.kill(self.killed, signal.SIGKILL)


def with_work(client):
    """Return the number of a process of a Dask cluster that has tasks."""
    processes = client.run(os.getpid)
    busy = [worker for worker, tasks in client.processing().items() if tasks]
    return processes[busy[0] if busy else next(iter(processes))]


def weights(folder, plan):
    named = {}
    for recipe in plan:
        with np.load(model_folder(folder, recipe) / "weights.npz") as arrays:
            named[recipe.name] = {name: arrays[name].tobytes() for name in arrays.files}
    return named


def check(executor, victim, folder, alone):
    """Train and compare, with a process killed in the middle of either."""
    training, comparing = Killer(victim), Killer(victim)
    assert not train_possible(folder, alone.plan, executor, training, alone.resources)
    lines = [line for line in (folder / "log.txt").read_text().splitlines() if "trained" in line]
    assert sorted(line.split()[3].rstrip(":") for line in lines) == sorted(
        recipe.name for recipe in alone.plan
    )
    assert all(is_trained(folder, recipe) for recipe in alone.plan)
    assert weights(folder, alone.plan) == weights(alone.folder, alone.plan)
    file = folder / "comparisons.db"
    works = works_of(folder, alone.plan)
    compared = compare_many(
        works, check_run_options(executor, block_size=1, save=file, progress=comparing)
    )
    assert training.killed
    assert comparing.killed not in (0, training.killed)
    for one, other in zip(compared, alone.comparisons, strict=True):
        assert all(np.array_equal(one[m], other[m]) for m in MEASURES)
        assert not one.failures
    counted = []
    options = check_run_options(save=file, progress=lambda done, total: counted.append(total))
    compare_many(works_of(folder, alone.plan), options)
    assert not counted  # the file has everything


def test_a_cluster_loses_workers_and_no_work(client, tmp_path, alone):
    check(client.get_executor(), lambda: with_work(client), tmp_path, alone)


def test_a_pool_loses_processes_and_no_work(pool, tmp_path, alone):
    check(pool, lambda: next(iter(pool.pool._processes)), tmp_path, alone)
    assert "a worker ended before it finished" in (tmp_path / "log.txt").read_text()


# --------------------------------------------------------------------------- commands and examples


def test_evidence_on_a_cluster_is_the_same(client, tmp_path, rng):
    arrays = {name: rng.standard_normal((30, 4)) for name in "xyz"}
    options = {"measures": ["procrustes", "rsa"], "n_permutations": 19, "progress": False}
    path = tmp_path / "e.db"
    there = rs.evidence(arrays, **options, jobs=client.get_executor(), save=path)
    here = rs.evidence(arrays, **options)
    for measure in options["measures"]:
        for other in (there, rs.load(path)):
            np.testing.assert_array_equal(here.pvalue(measure), other.pvalue(measure))
            np.testing.assert_array_equal(here.low(measure), other.low(measure))


@pytest.fixture
def elsewhere(client, monkeypatch):
    """The client of a cluster that is taken for one of other machines."""
    monkeypatch.setattr("resemblance.engine.cache_sharing.is_local_cluster", lambda executor: False)
    return client


def test_intermediates_are_lent_in_the_memory_of_a_cluster(elsewhere, rng, tmp_path):
    arrays = {str(i): rng.standard_normal((40, 6)) for i in range(5)}
    arrays["wide"] = rng.standard_normal((40, 50))
    measures = [m for m in rs.preset("default") if m.name != "rtd"]
    here = rs.compare(arrays, measures=measures)
    for spill in (None, False, tmp_path):
        executor = Recorded(elsewhere.get_executor())
        there = rs.compare(arrays, measures=measures, jobs=executor, block_size=2, spill=spill)
        futures = [f for arguments in executor.submitted for f in arguments if is_future(f)]
        assert len({f.key for f in futures}) == (len(arrays) if spill is None else 0)
        assert all(np.array_equal(here[m.spec], there[m.spec]) for m in measures)
    assert not list(tmp_path.iterdir())


def is_future(argument) -> bool:
    return type(argument).__name__ == "Future"


class Recorded:
    """The executor of a Dask client that notes what it gets."""

    def __init__(self, executor):
        self._executor, self._client, self._kwargs = executor, executor._client, executor._kwargs
        self.submitted = []

    def submit(self, function, *arguments, **options):
        self.submitted.append(arguments)
        return self._executor.submit(function, *arguments, **options)


def test_a_cluster_that_loses_a_worker_computes_what_it_had_lent_again(elsewhere, rng):
    arrays = {str(i): rng.standard_normal((200, 20)) for i in range(6)}
    killer = Killer(lambda: with_work(elsewhere))
    executor = elsewhere.get_executor()
    there = rs.compare(
        arrays, measures=["cka", "rsa"], jobs=executor, block_size=1, progress=killer
    )
    assert killer.killed
    here = rs.compare(arrays, measures=["cka", "rsa"])
    assert all(np.array_equal(here[m], there[m]) for m in ("cka", "rsa"))


def test_workers_without_the_resource_are_not_waited_for(client, capsys):
    address = client.scheduler.address
    client.wait_for_workers(2)  # one was killed before
    with open_executors(None, address) as (work, trainer):
        assert count_workers(work) == 2
        assert trainer is None
    assert "waiting for a worker" not in capsys.readouterr().err
    problem = r"no worker of tcp://.* has this resource \(resources: none\).*--resources .GPU=1"
    with pytest.raises(ValueError, match=problem), open_executors(None, address, "GPU"):
        pass


def test_options_of_clusters_that_do_not_go_together(monkeypatch):
    monkeypatch.setattr(cli.executors, "SCHEDULER_TIMEOUT", "1s")
    for options, problem in [
        ((2, "tcp://127.0.0.1:1"), "give one of them"),
        ((2, None, "GPU"), "also give --scheduler"),
        ((None, "tcp://127.0.0.1:1"), "no Dask scheduler answers at this address"),
        ((None, "nonsense://x"), "no Dask scheduler answers at this address"),
    ]:
        with pytest.raises(ValueError, match=problem), open_executors(*options):
            pass


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_run_a_study(client, pool, tmp_path, monkeypatch, alone):
    monkeypatch.chdir(tmp_path)
    options = {"models": alone.folder, "measures": ["cka"], "groups": "published"}
    by_dask = example("cluster_slurm").study("dask", client.cluster, **options)
    by_pool = example("cluster_mpi").study("pool", pool, **options)
    assert by_dask.scores() == by_pool.scores() != {}
    assert rs.load("dask/comparisons.db").rows


def test_the_examples_compare_the_arrays_of_a_folder(client, pool, tmp_path):
    by = {}
    for name, where in [
        ("cluster_processes", pool),
        ("cluster_dask", client),
        ("cluster_slurm", client.cluster),
        ("cluster_mpi", pool),
    ]:
        folder = tmp_path / name
        folder.mkdir()
        for i in range(4):
            np.save(folder / f"{i}.npy", np.random.default_rng(i).standard_normal((30, 4)))
        by[name] = example(name).compared(folder, where, measures=["cka", "rsa"])
        again = rs.load(folder / "comparison.db")
        assert np.array_equal(again["rsa"], by[name]["rsa"])
    one, *others = by.values()
    assert all(np.array_equal(one[m], other[m]) for m in ("cka", "rsa") for other in others)
    assert one.rows == ("0", "1", "2", "3")


def test_the_example_for_the_layers_of_one_model_runs_as_it_is(tmp_path, rng):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", rng.standard_normal((30, 4)))
    command = [sys.executable, EXAMPLES / "layers_dask.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Comparison of 3 x 3 representations by 1 measure")
    assert rs.load(tmp_path / "comparison.db").rows == ("0", "1", "2")
