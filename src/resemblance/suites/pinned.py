"""Every suite on pinned features: a finished study becomes a pack, and measures run on packs.

A suite has a module ``pinned`` with two functions: ``pin`` writes what its measures see, and what
they are held to, into the folder of a pack; ``run_pinned`` reads it and returns the result.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from ..catalogue import get_measures
from ..json_files import DAMAGED, check_types
from ..measure import Measure
from ..packs import Manifest, Pack, write_pack
from ..packs.manifest import SUFFIX
from ..results.ranks import BY_SCORES
from ..results.result import Result
from . import SUITES
from .pinning import Pinned, Reduction, check_reduction
from .study import Progress, purpose

# What determines the cells of a pack: a cell is there if one of these has a value in it.
WITNESSES = ("cka", "procrustes", "jaccard", "rsa")


class PinnedCell(NamedTuple):
    """A cell in which a pack ranks measures: its test, its name, how many parts it has, and the
    models that it shares with others of its name."""

    test: str
    cell: str
    parts: int = 0
    models: str = ""


def build_pack(
    study: str | Path,
    target: str | Path,
    *,
    name: str | None = None,
    version: int = 1,
    samples: int | None = None,
    half: bool = False,
) -> tuple[Path, Manifest]:
    """Write the pinned features of a finished study as a pack; return its archive and manifest.

    ``target``: a folder, or a file that ends in ``.tar.xz``. ``name``: by default the suite and
    the size of the study. ``samples``: how many of each model stay, by default all; ``half``: keep
    arrays in half precision.

    Raises ``ValueError`` for a folder that is no finished study of trained models.
    """
    known = purpose(study)
    reduction = Reduction(samples, half)
    check_reduction(reduction)
    with tempfile.TemporaryDirectory() as temporary:
        content = Path(temporary) / "content"
        content.mkdir()
        facts = _module(known.suite).pin(Path(study), content, reduction)
        pinned = Pinned(content, facts, "pack", with_intervals=False)
        result = _run(known.suite, pinned, get_measures(WITNESSES), None)
        facts["cells"] = [list(cell) for cell in _cells(result)]
        facts["reduction"] = {k: v for k, v in reduction._asdict().items() if v}
        manifest = write_pack(
            content,
            Path(target),
            name=name or f"{known.suite}-{known.size}",
            version=version,
            suite=known.suite,
            about=_about(known.suite, known.size, facts.pop("content", ""), reduction),
            facts=facts,
        )
    place = Path(target)
    is_archive = place.name.endswith(SUFFIX)
    return place if is_archive else place / f"{manifest.identity}{SUFFIX}", manifest


def _about(suite: str, size: str, content: str, reduction: Reduction) -> str:
    fewer = f"{reduction.samples} samples of each model" if reduction.samples else ""
    precision = "half precision" if reduction.half else ""
    parts = [SUITES[suite], f"size {size}", content or fewer, precision]
    return ", ".join(filter(None, parts))


def run_pack(
    pack: Pack,
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    with_intervals: bool = True,
) -> Result:
    """Run measures on a pack with the suite that it is of, or continue such a run in a folder.

    Nothing is trained, and PyTorch is not needed. The result is of the size ``NAME@VERSION`` of the
    pack. ``measures``: by default those of :func:`resemblance.preset` ``"default"``.
    ``with_intervals``: also what scores do not depend on, the intervals and p-values of single
    experiments. The others as for :func:`resemblance.suites.run`.

    Raises ``ValueError`` for a folder that is a study of something else.
    """
    tested = get_measures(("default",) if measures is None else measures)
    manifest = pack.manifest
    pinned = Pinned(pack.folder, manifest.facts, manifest.identity, manifest.sha256, with_intervals)
    place = None if folder is None else Path(folder)
    options = {"executor": executor, "memory": memory, "progress": progress}
    return _run(manifest.suite, pinned, tested, place, **options)


def pinned_cells(pack: Pack) -> tuple[PinnedCell, ...]:
    """Return the cells in which a pack ranks measures; ``ValueError`` for one without them."""
    try:
        cells = tuple(PinnedCell(*cell) for cell in pack.manifest.facts["cells"])
        check_types(cells, tuple[PinnedCell, ...])
    except DAMAGED as error:
        raise ValueError(
            f"{pack.manifest.identity} does not name the cells in which it ranks measures: build "
            "it with resemblance pack build"
        ) from error
    return cells


def _run(
    suite: str, pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    return _module(suite).run_pinned(pinned, measures, folder, **options)


def _module(suite: str) -> Any:
    if suite not in SUITES:
        raise ValueError(f"no suite {suite!r}; known: {', '.join(SUITES)}")
    return importlib.import_module(f"{__package__}.{suite}.pinned")


def _cells(result: Result) -> Iterable[PinnedCell]:
    for section in result.sections:
        for cell in section.scores:
            rule = section.rules.get(cell, BY_SCORES)
            yield PinnedCell(*section.key(cell), len(rule.parts), rule.models)
