"""Every command does what all commands do: help, answers, formats, refusals, interruptions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import pytest
from factories.commands import command_leaves
from factories.packs import OWN

import resemblance as rs
from resemblance import bench, cli
from resemblance.bench import packs
from resemblance.bench.packs.opening import find_pack
from resemblance.bench.pinned import build_pack
from resemblance.bench.ranking.subsets import select_measure_subset, select_task_subset
from resemblance.bench.resi import configure_resi
from resemblance.bench.resi.paper import paper_run, paper_subset_for
from resemblance.bench.resi.rules import ScoringOptions
from resemblance.bench.sensitivity.suite import configure_sensitivity
from resemblance.bench.study import Purpose, save_purpose
from resemblance.bench.suite import carry_out
from resemblance.bench.training.vision import digits
from resemblance.checks import check_command, check_measure
from resemblance.models.file_batches import read_file_batches
from resemblance.models.files import read_files
from resemblance.report.output import write_output
from resemblance.stability import perturbations, transformation_study, transformations

NETS = """
import torch

def small(width=4):
    torch.manual_seed(width)
    return torch.nn.Sequential(torch.nn.Linear(5, width), torch.nn.ReLU())

def large():
    return small(8)
"""
SUITES = (bench.run, carry_out, configure_resi, configure_sensitivity)
# Options that have no parameter of the same words in Python, and why.
OPTIONS_WITHOUT_PARAMETER: Mapping[tuple[str, ...], str] = {
    ("format",): "a file's suffix decides in Python; standard output has no suffix",
    ("html", "open"): "Python calls a function with the result",
    ("quiet",): "means progress=False, and no messages",
    ("exit-zero",): "only a process has an exit code",
    ("scheduler", "gpu-resource"): "Python passes an executor as jobs= or trainer=",
    ("add-measure",): "Python adds to a list of measures",
    ("fitted",): "Python passes a list of representations as one model",
    ("patch",): "Python calls patch_models",
}
WITHOUT_PARAMETER = {option for options in OPTIONS_WITHOUT_PARAMETER for option in options}


class Row(NamedTuple):
    """A line of a command that succeeds, what does the same in Python, options of any text, and
    checks that the command fails, with the reason."""

    line: str
    functions: tuple[Callable[..., Any], ...]
    free_options: tuple[str, ...] = ()
    exceptions: Mapping[str, str] = {}


ROWS: Mapping[str, Row] = {
    "compare": Row(
        "compare a.npy b.npy -m cka,rsa --save run.db",
        (
            rs.compare,
            rs.plan,
            read_files,
            read_file_batches,
            rs.Stream,
            rs.Stream.merge,
            rs.stream_from_model,
        ),
    ),
    "compare-models": Row(
        "compare-models m=nets.py:small nets.py:large --data a.npy -m cka --n-permutations 9 "
        "--save run",
        (rs.compare_models, rs.plan),
        ("save",),
    ),
    "statistic": Row(
        "statistic a.npy b.npy -s participation_ratio,anisotropy",
        (
            rs.Statistic,
            read_files,
            transformation_study,
            transformations,
            perturbations,
            *(entry.function for entry in rs.list_statistics()),
        ),
    ),
    # which only shows what the library does
    "demo": Row("demo -o layers", (), ("output",)),
    "evidence": Row(
        "evidence a.npy b.npy -m cka --n-permutations 19 --save run.db", (rs.evidence, read_files)
    ),
    "score-models": Row(
        "score-models a.npy b.npy --models c.npy", (rs.score_models, read_files, rs.dissimilarities)
    ),
    "score-models-over-time": Row(
        "score-models-over-time over.npz --models a.npy --models b.npy --axes 'trials bins units' "
        "--n-permutations 9",
        (rs.score_models_over_time,),
    ),
    "drift": Row("drift a.npy a.npy --n-resamples 10", (rs.drift,)),
    "upgrade-index": Row(
        "upgrade-index a.npy a.npy b.npy b.npy", (rs.upgrade_index, rs.IndexUpgrade.map)
    ),
    "bench run": Row(
        "bench run manifolds new --pack manifolds-tiny@1 -m cka,rsa -j 1",
        (*SUITES, paper_run, paper_subset_for, ScoringOptions, rs.plan),
        exceptions={"JSON": "--format is that of --plan"},
    ),
    "bench status": Row("bench status manifolds", (rs.bench.run,)),
    "bench results": Row("bench results manifolds", (rs.bench.run,)),
    "bench report": Row("bench report manifolds --html page.html", (rs.list_measures,)),
    "bench combine": Row(
        "bench combine manifolds resi",
        (rs.bench.combine,),
        exceptions={"CSV": "two measures are not ranked, so there is no row"},
    ),
    "pack list": Row("pack list", (find_pack,), ("cache",)),
    "pack show": Row("pack show manifolds-tiny@1.tar.xz", (find_pack,), ("cache",)),
    "pack verify": Row(
        "pack verify manifolds-tiny@1.tar.xz",
        (find_pack,),
        ("cache",),
        {"a table of 80 columns": "a checksum is in the line"},
    ),
    "pack get": Row(
        "pack get manifolds-tiny@1 --source . --cache here", (packs.get_pack,), ("cache", "source")
    ),
    "pack build": Row("pack build manifolds small --max-samples 20", (build_pack,), ("output",)),
    "leaderboard": Row(
        "leaderboard scores.jsonl --packs tiny",
        (rs.leaderboard, select_task_subset, select_measure_subset),
    ),
    "rank": Row(
        "rank mine.py:top_share --against scores.jsonl --packs tiny -j 1", (rs.bench.rank,)
    ),
    "check": Row("check variance_ratio", (check_measure,)),
    "measures": Row("measures --family cca", (rs.list_measures,)),
    "explain": Row("explain cka", ()),
    "cite": Row("cite cka", (rs.cite,), exceptions={"a table of 80 columns": "it is BibTeX"}),
}


@pytest.fixture(scope="module")
def folder(tiny_board, tmp_path_factory):
    """A folder with arrays, models, a measure, scores on a pack, and studies."""
    folder = tmp_path_factory.mktemp("commands")
    g = np.random.default_rng(0)
    for name in "abc":
        np.save(folder / f"{name}.npy", g.standard_normal((30, 5)).astype(np.float32))
    np.savez(folder / "over.npz", **{name: g.standard_normal((30, 3, 5)) for name in "stu"})
    (folder / "nets.py").write_text(NETS)
    (folder / "mine.py").write_text(OWN)
    for name in ("scores.jsonl", "manifolds-tiny@1.tar.xz", "manifolds-tiny@1.tar.xz.sha256"):
        shutil.copy(tiny_board / name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESEMBLANCE_CACHE", str(tiny_board / "cache"))
        for suite in ("manifolds", "resi"):
            bench.run(suite, folder / suite, pack=f"{suite}-tiny@1", measures=["cka", "rsa"])
    (folder / "small").mkdir()
    save_purpose(folder / "small", Purpose("manifolds", "small"))
    return folder


@pytest.fixture(scope="module")
def networks():
    """The last layers of networks that hardly learned anything."""
    trained = digits.train_on_digits(seeds=2, shuffled=1, epochs=1, images=30)
    last = {name: x for name, x in trained.representations.items() if name.endswith("/linear")}
    return trained._replace(representations=last)


@pytest.fixture
def settings(tiny_board, networks, monkeypatch):
    """Packs in a cache, and a demonstration of networks that are trained already."""
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tiny_board / "cache"))

    def trained(progress, **options):
        if progress:
            progress("training", 1, 1)
        return networks

    monkeypatch.setattr(digits, "train_on_digits", trained)


@pytest.mark.parametrize("name", command_leaves())
def test_a_command_does_what_all_commands_do(folder, settings, name):
    row = ROWS[name]
    outcomes = check_command(
        cli.commands(),
        row.line,
        run=cli.run,
        folder=folder,
        functions=(*row.functions, write_output) if row.functions else (),
        extra_options=WITHOUT_PARAMETER,
        free_options=row.free_options,
    )
    failed = {outcome.check: outcome.detail for outcome in outcomes if outcome.holds is False}
    assert failed.keys() == row.exceptions.keys(), failed


def test_every_exception_is_an_option_that_a_function_lacks():
    options = {name: list(command.params) for name, command in command_leaves().items()}
    assert options.keys() == ROWS.keys()
    for option in WITHOUT_PARAMETER:
        name = option.replace("-", "_")
        assert any(
            name not in {word for f in ROWS[command].functions for word in signature(f).parameters}
            for command, parameters in options.items()
            if any(f"--{option}" in parameter.opts for parameter in parameters)
        ), f"--{option} is no exception"
