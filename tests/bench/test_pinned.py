"""Suites on pinned features: a study becomes a pack, and a run on the pack gives what a run of the
study gives, without PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from factories.packs import resi_pack

import resemblance as rs
from resemblance import bench, cli
from resemblance.bench import resi
from resemblance.bench.packs import Manifest, Pack, open_pack
from resemblance.bench.pinned import PACK_MODELS_FOLDER, Reduction, build_pack, pack_tasks
from resemblance.bench.reliability import LEAST_RELIABILITY
from resemblance.cli.entries import read_resi_result
from resemblance.models.model_folder import read_models

MEASURES = ("cka", "jaccard")


def packed(study: Path, folder: Path, **reduction: object) -> Pack:
    archive, _ = build_pack(study, folder, **reduction)
    return open_pack(archive, cache=folder / "cache")


def assert_same(scores, expected):
    """The same cells, and scores that differ by rounding only."""
    assert list(scores) == list(expected)
    for cell, of_cell in expected.items():
        assert scores[cell] == pytest.approx(of_cell)


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clouds")
    result = bench.run("manifolds", folder / "study", measures=MEASURES, size="small")
    return packed(folder / "study", folder), result


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disturbed")
    result = bench.run("stability", folder / "study", measures=MEASURES, size="small")
    return packed(folder / "study", folder), result


@pytest.fixture(scope="module")
def vision(vision_study, tmp_path_factory):
    return packed(vision_study, tmp_path_factory.mktemp("vision"))


def test_a_pack_gives_the_scores_of_its_study(clouds, disturbed):
    for pack, result in (clouds, disturbed):
        again = bench.run(pack.manifest.suite, pack=pack, measures=MEASURES)
        assert_same(again.scores(), result.scores())
        assert again.size == pack.manifest.identity
        assert not again.is_trial


def test_a_pack_without_reliabilities_does_not_rank_noise_either(vision):
    known = vision.manifest.facts["reliability"]
    assert min(known.values()) < LEAST_RELIABILITY
    facts = {name: fact for name, fact in vision.manifest.facts.items() if name != "reliability"}
    older = vision._replace(manifest=vision.manifest._replace(facts=facts))
    cells = list(bench.run(older.manifest.suite, pack=older, measures=["cka"]).scores())
    assert cells == list(bench.run(vision.manifest.suite, pack=vision, measures=["cka"]).scores())


def test_a_pack_of_models_gives_the_scores_of_the_models(vision, vision_study):
    result = bench.run(vision.manifest.suite, pack=vision, measures=["cka"])
    expected = resi.evaluate(read_models(vision_study / "models"), measures=["cka"]).scores()
    assert_same(result.scores(), expected)
    facts = vision.manifest.facts
    assert {s.name for s in read_models(vision.folder / PACK_MODELS_FOLDER)} == set(
        facts["recipes"]
    )
    assert [tuple(c[:2]) for c in pack_tasks(vision)] == list(result.ranks())


def test_no_suite_needs_pytorch(clouds, disturbed, vision):
    folders = [str(pack.folder) for pack in (clouds[0], disturbed[0], vision)]
    code = (
        "import sys\nfrom resemblance.bench.packs import open_pack\n"
        f"from resemblance.bench import run\nfor folder in {folders!r}:\n"
        "    pack = open_pack(folder)\n"
        "    assert run(pack.manifest.suite, pack=pack, measures=['cka']).scores()\n"
        "assert not {'torch', 'transformers', 'torch_geometric'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reduced_packs_hold_the_same_samples_of_all_models_in_half_precision(
    vision_study, tmp_path
):
    small = packed(vision_study, tmp_path, max_samples=40, half=True)
    whole = {s.name: s for s in read_models(vision_study / "models")}
    rows = Reduction(40).rows("digits", len(next(iter(whole.values())).labels))
    assert len(set(rows.tolist())) == 40
    for features in read_models(small.folder / PACK_MODELS_FOLDER):
        full = whole[features.name]
        assert np.array_equal(features.labels, full.labels[rows])
        assert np.array_equal(features.outputs, full.outputs[rows].astype(np.float16))
        assert np.array_equal(
            features.last.source, np.asarray(full.last.source)[rows].astype(np.float16)
        )
        assert features.traits["accuracy"] == full.traits["accuracy"]
    assert small.manifest.facts["reduction"] == {"samples": 40, "half": True}
    assert bench.run(small.manifest.suite, pack=small, measures=["cka"]).scores()


def test_a_study_on_a_pack_continues_and_is_opened_again(clouds, disturbed, tmp_path, subtests):
    packs = (resi_pack(tmp_path), clouds[0], disturbed[0])
    studies = [str(tmp_path / pack.manifest.suite) for pack in packs]
    for pack, study in zip(packs, studies):
        with subtests.test(pack.manifest.suite):
            found = bench.run(pack.manifest.suite, study, pack=pack, measures=["cka", "jaccard"])
            assert rs.load(study) == found
            assert (
                bench.run(
                    pack.manifest.suite, study, pack=pack, measures=["cka", "jaccard"]
                ).scores()
                == found.scores()
            )
            for command in ("status", "results", "report"):
                assert cli.run(["bench", command, study]) == 0
    assert cli.run(["bench", "combine", *studies, "--html", str(tmp_path / "joint.html")]) == 0
    fewer = read_resi_result(Path(studies[0]), ["neighbors"])
    assert list(fewer.labels) == ["jaccard"]
    assert fewer.provenance == rs.load(studies[0]).provenance
    with pytest.raises(ValueError, match="use another folder"):
        bench.run("stability", studies[1], pack=disturbed[0], measures=["cka"])


def test_what_is_no_finished_study_is_refused(tmp_path, vision_study):
    with pytest.raises(ValueError, match="not a study"):
        build_pack(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="at least 20 samples"):
        build_pack(vision_study, tmp_path, max_samples=3)
    study = tmp_path / "unfinished"
    study.mkdir()
    (study / "study.json").write_text((vision_study / "study.json").read_text())
    with pytest.raises(ValueError, match=r"lacks the model .*; finish the study"):
        build_pack(study, tmp_path)


@pytest.mark.parametrize("facts", [{}, {"cells": 3}, {"cells": [["test"]]}, {"cells": [[1, 2]]}])
def test_a_pack_that_names_no_cells_is_refused(facts):
    manifest = Manifest("mine", 1, "resi", "about", {}, facts, {}, "machine")
    with pytest.raises(ValueError, match="mine@1 does not list the tasks"):
        pack_tasks(Pack(Path(), manifest))
