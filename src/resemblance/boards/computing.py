"""The scores of measures on packs, one measure on one pack at a time, in processes where there are
some."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor

from ..engine.workers import Call, run, single_threaded
from ..measure import Measure
from ..packs import Pack
from ..suites.study import Progress
from ..user_modules import OwnFileError
from .score_files import ScoreFile
from .scoring import score

STAGE = "packs"  # of progress, where processes report no stages of their own


def score_all(
    work: Sequence[tuple[Measure, Pack]],
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Iterator[ScoreFile]:
    """Yield the scores of each measure on its pack, as they are ready.

    Each is computed in one process on one thread, so that CPU times can be compared, and each
    warning is given once, however many packs and processes there are. ``progress``:
    called with a stage, how much of it is done, and of how much.
    """
    calls = [
        Call(
            f"{measure.spec} on {pack.manifest.identity}",
            _scored,
            (measure, pack, None if executor else _inner(pack, progress)),
        )
        for measure, pack in work
    ]
    shown = set[tuple[type[Warning], str]]()
    for done, (_, future) in enumerate(run(calls, executor), start=1):
        scores, caught = future.result()
        for category, text in [each for each in caught if each not in shown]:
            warnings.warn(text, category, stacklevel=2)
        shown.update(caught)
        yield scores
        if progress is not None:
            progress(STAGE, done, len(work))


def _inner(pack: Pack, progress: Progress | None) -> Progress | None:
    """Return what shows the stages of a suite, each with the name of the suite."""
    return progress and (
        lambda stage, done, total: progress(f"{pack.manifest.suite}: {stage}", done, total)
    )


def scores_on(
    packs: Iterable[Pack],
    measures: Iterable[Measure],
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> tuple[ScoreFile, ...]:
    """Return the scores of all measures on all packs, by measure and then by pack."""
    places, specs = list(packs), list(measures)
    work = [(measure, pack) for pack in places for measure in specs]
    order = {pack.manifest.identity: i for i, pack in enumerate(places)}
    ranks = {measure.spec: i for i, measure in enumerate(specs)}
    files = score_all(work, executor, progress)
    return tuple(sorted(files, key=lambda s: (ranks[s.measure.spec], order[s.pack])))


def _scored(
    measure: Measure, pack: Pack, progress: Progress | None
) -> tuple[ScoreFile, list[tuple[type[Warning], str]]]:
    """Return scores, and the warnings that were given, each once."""
    with single_threaded(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("once")
        try:
            scores = score(pack, measure, progress=progress)
        except SystemExit as error:  # it would end the command, as if all were well
            raise OwnFileError(
                f"{measure.spec} ends the process, with {error.code!r:.80}"
            ) from error
    return scores, list(dict.fromkeys((w.category, str(w.message)) for w in caught))
