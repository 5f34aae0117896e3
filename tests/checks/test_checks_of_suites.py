"""A small suite passes all checks of suites; one with a fault fails the check that is about it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resemblance as rs
from resemblance.base.text import check_choice
from resemblance.catalogue import get_measures
from resemblance.checks import Outcome, check_suite
from resemblance.sections import Result, Section

CELLS = ("near", "far")
OPTIONS: dict[str, Any] = {"size": "small", "cells": ["near", "far"]}


def layers(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.standard_normal((30, 4))
    return {name: x + i * random.standard_normal(x.shape) for i, name in enumerate("abcd")}


def honest(
    study: Path | None = None,
    *,
    measures: Any,
    size: str = "small",
    cells: Any = CELLS,
    pack: int | None = None,
    progress: Any = None,
    jobs: int | None = None,
) -> Result:
    """Score measures by how much a layer differs from others; a pack is the seed of the layers."""
    check_choice("size", size, ["small", "large"])
    for cell in cells:
        check_choice("cells", cell, CELLS)
    selection = get_measures(measures)
    folder = Path(tempfile.mkdtemp()) if study is None else study
    folder.mkdir(exist_ok=True)
    show = progress and (lambda done, total: progress("comparing", done, total))
    found = rs.compare(
        layers(7 if pack is None else pack),
        measures=selection,
        save=folder / "comparisons.db",
        progress=show or False,
        block_size=1,
    )
    columns = {"near": 1, "far": 3}
    values = {c: {m: float(found[m][0, columns[c]]) for m in found} for c in cells}
    scores = {c: {m: None if np.isnan(v) else v for m, v in of.items()} for c, of in values.items()}
    reasons = {failure.measure: failure.reason for failure in found.failures}
    section = Section("part", "Part", "About.", scores=scores, reasons=reasons)
    labels = {m.spec: m.label for m in selection}
    result = Result("toy", size, (section,), labels)
    result.save(folder / "result.json")
    if study is None:
        shutil.rmtree(folder)
    return result


def rescored(result: Result, change: Callable[[str, float | None], float | None]) -> Result:
    """The result with other scores."""
    (section,) = result.sections
    scores = {c: {m: change(m, v) for m, v in of.items()} for c, of in section.scores.items()}
    return replace(result, sections=(section._replace(scores=scores),))


def checked(run: Callable[..., Any]) -> tuple[Outcome, ...]:
    return check_suite(run, write_pack=lambda study, folder: 7, **OPTIONS)


def test_a_suite_without_a_fault_passes_every_check():
    steps: list[tuple[str, int, int]] = []
    outcomes = check_suite(
        honest,
        write_pack=lambda study, folder: 7,
        progress=lambda *step: steps.append(step),
        **OPTIONS,
    )
    assert [o for o in outcomes if o.holds is not True] == []
    names = [o.check for o in outcomes]
    assert steps == [(name, i + 1, len(names)) for i, name in enumerate(names)]
    assert {name for name in names if "unknown" in name} == {
        *("unknown: measures", "unknown: size", "unknown: cells")
    }


# ------------------------------------------------------------------------------------------- faults


def raises(study=None, **options):
    raise RuntimeError("no power")


def returns_nothing(study=None, **options):
    honest(study, **options)


def scores_nothing(study=None, **options):
    return rescored(honest(study, **options), lambda m, v: None)


def has_caveats_that_are_no_texts(study=None, **options):
    return replace(honest(study, **options), caveats=(3,))


def saves_another_result(study=None, **options):
    return replace(honest(study, **options), title="Another")


def computes_all_again(study=None, **options):
    if study is not None:
        (study / "comparisons.db").unlink(missing_ok=True)
    return honest(study, **options)


def computes_all_after_an_interruption(study=None, **options):
    if study is not None and not (study / "result.json").exists():
        (study / "comparisons.db").unlink(missing_ok=True)
    return honest(study, **options)


def never_repeats_itself(study=None, **options):
    noise = np.random.default_rng().random()
    return rescored(honest(study, **options), lambda m, v: v and v + noise)


def shows_no_progress(study=None, *, progress=None, **options):
    return honest(study, **options)


def swallows_what_progress_raises(study=None, *, progress=None, **options):
    def quiet(*step):
        with suppress(Exception):
            progress(*step)

    return honest(study, **options, progress=progress and quiet)


def depends_on_jobs(study=None, *, jobs=None, **options):
    return rescored(honest(study, **options), lambda m, v: v and v + 1e-9 * (jobs or 1))


def loses_a_cell_in_processes(study=None, *, jobs=None, cells=CELLS, **options):
    return honest(study, **options, cells=cells[:1] if jobs else cells)


def knows_every_size(study=None, *, size="small", **options):
    return honest(study, **options)


def says_too_little(study=None, **options):
    try:
        return honest(study, **options)
    except ValueError as error:
        raise ValueError("something is wrong") from error


def takes_every_cell(study=None, *, cells=CELLS, **options):
    return honest(study, **options, cells=[c for c in cells if c in CELLS])


def has_other_packs(study=None, *, pack=None, **options):
    return honest(study, **options, pack=pack and pack + 1)


def has_empty_packs(study=None, *, pack=None, **options):
    return honest(study, **options, cells=[]) if pack else honest(study, **options)


def hides_failures(study=None, **options):
    result = honest(study, **options)
    (section,) = result.sections
    return replace(result, sections=(section._replace(reasons={}),))


def loses_all_by_one_failure(study=None, **options):
    result = honest(study, **options)
    return rescored(result, lambda m, v: None) if result.failures else result


FAULTS = {
    raises: ("a run", "RuntimeError: no power"),
    returns_nothing: ("a run", "NoneType"),
    scores_nothing: ("a run", "cka has no score"),
    has_caveats_that_are_no_texts: ("its result", "no texts"),
    saves_another_result: ("its study", "another result"),
    computes_all_again: ("a second run", "computed again"),
    computes_all_after_an_interruption: ("an interruption", "computed again"),
    never_repeats_itself: ("a second run", "instead of"),
    shows_no_progress: ("an interruption", "never calls progress"),
    swallows_what_progress_raises: ("an interruption", "does not stop"),
    depends_on_jobs: ("two processes", "instead of"),
    loses_a_cell_in_processes: ("two processes", "it has the cells"),
    knows_every_size: ("unknown: size", "smallx is taken"),
    says_too_little: ("unknown: measures", "does not name ckax"),
    takes_every_cell: ("unknown: cells", "nearx is taken"),
    has_other_packs: ("a pack", "instead of"),
    has_empty_packs: ("a pack", "has no scores"),
    hides_failures: ("a measure that fails", "no failure names failing"),
    loses_all_by_one_failure: ("a measure that fails", "instead of"),
}


@pytest.mark.parametrize("run", FAULTS, ids=lambda run: run.__name__)
def test_a_fault_fails_the_check_that_is_about_it(run):
    check, words = FAULTS[run]
    outcomes = {o.check: o for o in checked(run)}
    assert outcomes[check].holds is False
    assert words in outcomes[check].detail
    if check == "a run":
        assert list(outcomes) == [check]
