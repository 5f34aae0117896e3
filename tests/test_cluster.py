"""Commands on a Dask cluster of two processes."""

from __future__ import annotations

from multiprocessing import get_context

import numpy as np
import pytest

from resemblance import cli
from resemblance.cli.executors import executors
from resemblance.workers import workers_of

# Dask warns of a busy machine, in its own threads, too; the pool of what it lost
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def server():
    """A process with everything imported, from which workers are forked."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["resemblance.suites.training", "torch", "distributed"])
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


def test_a_command_runs_on_a_cluster(client, tmp_path, capsys, rng):
    np.savez(tmp_path / "a.npz", **{name: rng.standard_normal((30, 4)) for name in "xyz"})
    words = ["compare", str(tmp_path / "a.npz"), "-m", "cka", "--format", "csv", "--quiet"]
    assert cli.run([*words, "--scheduler", client.scheduler.address]) == 0
    there = capsys.readouterr().out
    assert cli.run(words) == 0
    assert there == capsys.readouterr().out


def test_workers_without_the_resource_are_not_waited_for(client):
    address = client.scheduler.address
    with executors(None, address) as (work, trainer):
        assert workers_of(work) == 2
        assert trainer is None
    problem = r"no worker of tcp://.* has it \(there are: none\).*--resources .GPU=1"
    with pytest.raises(ValueError, match=problem), executors(None, address, "GPU"):
        pass


def test_options_of_clusters_that_do_not_go_together(monkeypatch):
    monkeypatch.setattr(cli.executors, "PATIENCE", "1s")
    for options, problem in [
        ((2, "tcp://127.0.0.1:1"), "give one of them"),
        ((2, None, "GPU"), "give --scheduler, too"),
        ((None, "tcp://127.0.0.1:1"), "no Dask scheduler answers there"),
        ((None, "nonsense://x"), "no Dask scheduler answers there"),
    ]:
        with pytest.raises(ValueError, match=problem), executors(*options):
            pass
