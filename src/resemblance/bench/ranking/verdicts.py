"""Verdicts on your measures: score the measures on a series of packs, and compare them with a
baseline, question by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from resemblance.base.formatting import count_with_noun, format_duration, format_number, join_words
from resemblance.base.results import BaseResult
from resemblance.base.text import check_choice, did_you_mean
from resemblance.catalogue import get_measures, preset
from resemblance.contracts._measure import Measure
from resemblance.engine.jobs import Jobs, open_executor
from resemblance.report.terminal import plain_table
from resemblance.sections.figures import FIGURE_TYPES
from resemblance.sections.result import Result

from .. import SUITES
from ..answer_tables import (
    format_difference,
    format_ends,
    format_score,
    networks_sentence,
    population_words,
)
from ..answers import BASELINE, RANDOM_UNITS, Answer, Interval
from ..packs import Pack
from ..study import StageProgress
from .leaderboard import page_of_board, unranked_tasks_sentence
from .ranking import DEFAULT_PACK_SERIES, Board, board_of, newest_scores, packs_of, read_all_scores
from .score_file import PackScores, read_scores, read_scores_if_any, write_scores
from .scoring import score_packs
from .subsets import (
    answers_of_subset,
    cpu_seconds_on_packs,
    select_measure_subset,
    select_task_subset,
)
from .trivial import size_alone

MIN_SHARE_OF_EQUAL_SCORES = 0.75  # of the questions, for a sentence on a measure with equal scores
INTERVALS_NOTE = (
    "difference: from the baseline. low and high: the 95 % interval of this comparison alone. "
    "low_together and high_together: the 95 % interval that holds together with all measures that "
    "have scores. "
    "holds_together: whether this interval shows the difference, too."
)


class QuestionVerdict(NamedTuple):
    """How a measure answers a question, compared with a baseline.

    ``question``, ``words``: the name of the question, and its words. ``quality``: the unit of the
    score. ``score``: None with a ``reason`` if the measure has no answer. ``baseline``: the score
    of the baseline, if any. ``difference``: from the score of the baseline, with a 95 % interval
    for this comparison alone. ``together``: the same difference, with an interval that holds
    together with all measures. Both are None without intervals. ``may_be_best``: no other measure
    is ahead by more than chance. ``equals``: labels of measures with equal scores in all tasks.
    ``size_alone``: the score of size alone, a trivial measure. ``is_baseline``: the measure is the
    baseline itself. ``n_together``: the number of measures that ``together`` holds with; None for
    all measures of the leaderboard.
    """

    question: str
    words: str
    quality: str
    score: float | None
    baseline: float | None
    difference: Interval | None = None
    together: Interval | None = None
    may_be_best: bool | None = None
    equals: tuple[str, ...] = ()
    size_alone: float | None = None
    is_baseline: bool = False
    reason: str = ""
    n_together: int | None = None

    @property
    def verdict(self) -> str:
        """One of "better", "worse", "no difference", "equal", "baseline", "no score" and "no
        interval", by the interval of this comparison alone."""
        if self.score is None:
            return "no score"
        if self.is_baseline:
            return "baseline"
        if self.difference is None:
            return "no interval"
        if self.difference == (0, 0, 0):
            return "equal"
        words = {self.difference.is_better: "better", self.difference.is_worse: "worse"}
        return words.get(True, "no difference")

    @property
    def holds_together(self) -> bool | None:
        """Whether the interval together with all measures shows the difference, too; None unless
        the verdict is "better" or "worse"."""
        if self.verdict not in ("better", "worse") or self.together is None:
            return None
        return self.together.is_better if self.verdict == "better" else self.together.is_worse


class MeasureVerdicts(NamedTuple):
    """The verdicts on a measure, a verdict per question.

    ``baseline``: the label of the baseline. ``seconds``: CPU time on all packs; ``times``: in
    multiples of the CPU time of the baseline, if known.
    """

    spec: str
    label: str
    baseline: str
    verdicts: tuple[QuestionVerdict, ...]
    seconds: float
    times: float | None


@dataclass(frozen=True, eq=False, repr=False)
class RankedMeasures(BaseResult):
    """The verdicts on measures, returned by :func:`resemblance.bench.rank`.

    ``measures``: the verdicts on every measure. ``scores``: of the measures on the packs.
    ``networks``: how many measures differ from the baseline with networks as the random unit.
    ``ranking``: the whole leaderboard, for the page; None for a single benchmark, where the page
    shows the records.
    """

    measures: tuple[MeasureVerdicts, ...]
    scores: tuple[PackScores, ...]
    networks: str = ""
    ranking: Result | None = None
    caveats: tuple[str, ...] = ()
    _tagged: ClassVar[Mapping[str, type]] = FIGURE_TYPES

    @property
    def failures(self) -> tuple[QuestionVerdict, ...]:
        """The questions without a score of a measure, and the reasons."""
        return tuple(v for m in self.measures for v in m.verdicts if v.score is None)

    def summary(self) -> str:
        """Return the verdicts in words, a paragraph per measure."""
        sentences = map(verdict_sentences, self.measures)
        return "\n".join(filter(None, (*sentences, self.networks, *self.caveats)))

    def records(self) -> list[dict[str, Any]]:
        """Return a record per measure and question."""
        return [_verdict_record(m, v) for m in self.measures for v in m.verdicts]

    def _table_parts(self) -> list[Any]:
        notes = [""] * (len(self.measures) - 1) + [self.networks]
        parts = [p for m, note in zip(self.measures, notes) for p in (*_report_parts(m, note), "")]
        return [*parts, *self.caveats]

    def _document(self) -> dict[str, Any]:
        texts = {"intervals": INTERVALS_NOTE, "networks": self.networks}
        return {"verdicts": self.records(), **texts, "caveats": list(self.caveats)}

    def _page(self) -> Result | None:
        return self.ranking


def rank(
    *measures: str | Measure,
    packs: str = DEFAULT_PACK_SERIES,
    against: str | Path | None = None,
    baseline: str = BASELINE,
    unit: str = "seeds",
    benchmark: str | None = None,
    jobs: Jobs = None,
    progress: StageProgress | None = None,
    save: str | Path | None = None,
) -> RankedMeasures:
    r"""Score measures on feature packs, and compare them with a baseline, question by question.

    Nothing is trained, and the scores of the other measures are stored. The tasks of a question are
    fixed, and the models are random: a verdict holds for other seeds of the same networks (or for
    other networks, see ``unit``). The score of a question is the mean over networks of the mean
    score over tasks. The interval of the difference from the baseline follows from the scores
    without each seed or network (see ``resemblance.significance.jackknife``). A verdict follows
    from the interval of the comparison alone; a second interval holds together with all measures
    that have scores on the packs.

    Parameters
    ----------
    measures : one or more measures: names, specifications such as ``"cka[kernel=rbf]"``, or
        measures of your own.
    packs : the series of the packs, such as "compact" for "resi-compact@1"; "architectures" for
        the pack of ten networks, which you build first.
    against : a score file (.jsonl); its measures take part too, on the packs of the file.
    baseline : the measure to compare with, by specification.
    unit : "seeds" or "networks": what the intervals take as random.
    benchmark : use the tasks of this benchmark alone: "resi", "sensitivity", "manifolds" or
        "stability".
    jobs : number of processes, or an executor of ``concurrent.futures``; by default this process
        computes.
    progress : called with a stage, the amount done, and the total amount.
    save : a file (.jsonl) to which the scores are added, a line per measure.

    Raises ``ValueError`` for no measure, for an unknown benchmark or series, for a measure that
    packs cannot score, for a baseline without scores, and for files of another kind.
    """
    if benchmark is not None:
        check_choice("bench.rank: benchmark", benchmark, SUITES)
    check_choice("bench.rank: unit", unit, RANDOM_UNITS)
    entries = get_measures(measures)
    if not entries:
        raise ValueError("bench.rank needs a measure, such as rs.bench.rank('cka'); got none")
    if save is not None:
        # Report a file of another kind before the work starts.
        read_scores_if_any(save)
    against_scores = () if against is None else read_scores(against)
    opened_packs = packs_of(packs, against_scores, benchmark)
    reference_scores = _reference_scores(opened_packs, against, packs)
    _check_baseline(baseline, entries, reference_scores, opened_packs)
    # On a pack that you built, no trivial measure has scores.
    lines = () if reference_scores or size_alone in entries else (size_alone,)
    with open_executor("bench.rank", jobs) as executor:
        all_scores = score_packs(opened_packs, (*entries, *lines), executor, progress)
    specs = {measure.spec for measure in entries}
    scores = tuple(s for s in all_scores if s.measure.spec in specs)
    if save is not None:
        write_scores(save, scores)
    board = board_of([*reference_scores, *all_scores])
    return verdicts_on_board(board, entries, scores, baseline, benchmark, unit)


def _check_baseline(
    baseline: str,
    measures: Iterable[Measure],
    reference_scores: Sequence[PackScores],
    packs: Iterable[Pack],
) -> None:
    """Raise ``ValueError`` for a baseline without scores."""
    known = {s.measure.spec for s in reference_scores} | {m.spec for m in measures}
    if baseline in known:
        return
    remedy = "compare with a measure that has scores"
    if not reference_scores:
        names = join_words(pack.manifest.identity for pack in packs)
        remedy = (
            f"no scores are known on this copy of {names}, because training gives other features "
            f"on another machine; give {baseline!r} as a measure, too"
        )
    raise ValueError(
        f"bench.rank: the baseline {baseline!r} has no scores{did_you_mean(baseline, known)}; "
        f"{remedy}"
    )


def verdicts_on_board(
    board: Board,
    measures: Sequence[Measure],
    scores: tuple[PackScores, ...],
    baseline: str = BASELINE,
    benchmark: str | None = None,
    unit: str = "seeds",
) -> RankedMeasures:
    """Return the verdicts on measures of a leaderboard, in all tasks or the tasks of a benchmark.

    ``measures``: with scores on the board. ``scores``: of these measures, kept in the result.
    ``baseline``: a specification. ``benchmark``: the name; None for all tasks.
    """
    tasks = select_task_subset(board, benchmark)
    answers = answers_of_subset(board, tasks, select_measure_subset(board), baseline, unit)
    found = tuple(_measure_verdicts(board, answers, m.spec, baseline) for m in measures)
    caveats = tuple(filter(None, [unranked_tasks_sentence(board, tasks)]))
    own = {verdicts.spec: verdict_sentences(verdicts) for verdicts in found}
    page = None if benchmark else page_of_board(board, answers, own, caveats)
    networks = networks_sentence(answers, board.labels)
    if unit == "networks":
        models = population_words(answers)
        networks = f"The random unit is the network: the intervals hold for {models}"
    return RankedMeasures(found, scores, networks, page, caveats)


def _measure_verdicts(
    board: Board, answers: Iterable[Answer], spec: str, baseline: str
) -> MeasureVerdicts:
    is_whole = {m.spec for m in preset("leaderboard")} <= board.cards.keys()
    verdicts = tuple(_verdict(answer, spec, baseline, board.labels, is_whole) for answer in answers)
    seconds = cpu_seconds_on_packs(board, spec)
    suites = [s for s, files in board.scores.items() if {spec, baseline} <= files.keys()]
    reference = sum(board.scores[suite][baseline].seconds for suite in suites)
    own = sum(board.scores[suite][spec].seconds for suite in suites)
    times = own / reference if reference and spec != baseline else None
    return MeasureVerdicts(
        spec, board.labels[spec], board.labels.get(baseline, baseline), verdicts, seconds, times
    )


def _verdict(
    answer: Answer, spec: str, baseline: str, labels: Mapping[str, str], is_whole: bool
) -> QuestionVerdict:
    """Return a verdict. ``is_whole``: all measures of the leaderboard have scores."""
    line, other, size = answer.of(spec), answer.of(baseline), answer.of(size_alone.spec)
    verdict = QuestionVerdict(
        answer.question.name,
        answer.question.words,
        answer.question.quality,
        line.score if line else None,
        other.score if other else None,
        size_alone=size.score if size else None,
        is_baseline=spec == baseline,
        n_together=None if is_whole else sum(len(m.measures) for m in answer.measures),
    )
    if line is None:
        return verdict._replace(reason=answer.missing.get(spec, "the measure was not scored here"))
    equals = tuple(labels.get(m, m) for m in line.measures if m != spec)
    return verdict._replace(
        difference=line.single, together=line.joint, may_be_best=line.may_be_best, equals=equals
    )


def _reference_scores(
    packs: Sequence[Pack], against: str | Path | None, series: str
) -> list[PackScores]:
    """Return the stored scores on packs: the scores that ship with the library, and the scores in
    the file ``against``. ``series``: of the packs."""
    manifests = {pack.manifest.identity: pack.manifest.sha256 for pack in packs}
    files = () if against is None else (against,)
    scores = newest_scores(read_all_scores(*files, packs=series))
    return [s for s in scores if manifests.get(s.pack) == s.manifest]


# ----------------------------------------------------------------------------------------- in words


def verdict_sentences(measure: MeasureVerdicts) -> str:
    """Return the verdicts on a measure, as a paragraph."""
    return " ".join(_labeled_lines(measure))


def _labeled_lines(measure: MeasureVerdicts) -> list[str]:
    """Return the sentences about a measure; the first sentence begins with the label."""
    label = measure.label if measure.label == measure.spec else f"{measure.label} ({measure.spec})"
    first, *others = [*_verdict_lines(measure)] or ["no question has an answer."]
    return [f"{label}: {first}", *(f"{line[:1].upper()}{line[1:]}" for line in others)]


def _verdict_lines(measure: MeasureVerdicts) -> Iterator[str]:
    by_verdict: dict[str, list[QuestionVerdict]] = {}
    for verdict in measure.verdicts:
        by_verdict.setdefault(verdict.verdict, []).append(verdict)
    name = measure.baseline
    if own := by_verdict.get("baseline"):
        own_scores = join_words(f"{v.words} {format_score(v.score or 0.0)}" for v in own)
        yield f"the baseline, which the other measures are compared with: {own_scores}."
    for word in ("better", "worse"):
        for v in by_verdict.get(word, ()):
            yield f"{word} than {name} at telling {v.words}: {_both_intervals(v)}."
    if same := by_verdict.get("no difference"):
        yield f"No significant difference from {name} at telling {_words_of(same)}."
    if equal := by_verdict.get("equal"):
        yield f"Equal to {name} at telling {_words_of(equal)}."
    if shown := by_verdict.get("no interval"):
        shown_scores = [
            f"{v.words} {format_score(v.score or 0.0)}{_baseline_score(v, name)}" for v in shown
        ]
        yield f"Shown without a verdict: {join_words(shown_scores)}."
    yield from _missing_answers_lines(by_verdict.get("no score", ()))
    if best := [v for v in measure.verdicts if v.may_be_best]:
        yield (
            f"May be the best measure, as far as these seeds tell, at telling {_words_of(best)}."
        )
    for v in measure.verdicts:
        if v.score is None or v.size_alone is None or v.difference is None:
            continue
        if v.score <= v.size_alone:
            yield (
                f"The score of size alone is at least as high at telling {v.words} "
                f"({format_score(v.size_alone)}, here {format_score(v.score)})."
            )
    yield from _equal_measures_lines(measure.verdicts)


def _missing_answers_lines(verdicts: Iterable[QuestionVerdict]) -> Iterator[str]:
    """Yield a sentence for every cause of missing answers, with the questions. ``verdicts``: the
    questions without an answer, of a single measure."""
    by_cause: dict[str, list[QuestionVerdict]] = {}
    for verdict in verdicts:
        count, _, cause = verdict.reason.partition(": ")
        by_cause.setdefault(cause or count, []).append(verdict)
    for cause, group in by_cause.items():
        reason = group[0].reason if len(group) == 1 else cause
        yield f"No answer to {_words_of(group)}: {reason}."


def _both_intervals(verdict: QuestionVerdict) -> str:
    """Return the difference with both intervals: "+0.04 (0.01 to 0.08 alone, 0.01 to 0.09 together
    with all measures)", or "+0.04 (0.01 to 0.08) as a single comparison, not shown together with
    all measures (−0.03 to 0.12)"; with fewer measures than the leaderboard has, "together with 2
    measures"; "" without a difference."""
    if verdict.difference is None:
        return ""
    difference, alone = format_difference(verdict.difference), format_ends(verdict.difference)
    if verdict.together is None:
        return f"{difference} ({alone})"
    together, count = format_ends(verdict.together), verdict.n_together
    group = "all measures" if count is None else count_with_noun(count, "measure")
    if verdict.holds_together:
        return f"{difference} ({alone} alone, {together} together with {group})"
    return (
        f"{difference} ({alone}) as a single comparison, not shown together with {group} "
        f"({together})"
    )


def _words_of(verdicts: Iterable[QuestionVerdict]) -> str:
    return join_words(v.words for v in verdicts)


def _baseline_score(verdict: QuestionVerdict, name: str) -> str:
    return "" if verdict.baseline is None else f" ({name} {format_score(verdict.baseline)})"


def _equal_measures_lines(verdicts: Iterable[QuestionVerdict]) -> Iterator[str]:
    """Yield at most a sentence: the other measures whose scores equal the scores of the measure in
    all or nearly all questions. ``verdicts``: of a single measure."""
    scored = [v for v in verdicts if v.score is not None]
    counts = Counter(label for v in scored for label in v.equals)
    most = max(counts.values(), default=0)
    if most and most >= MIN_SHARE_OF_EQUAL_SCORES * len(scored):
        labels = join_words(sorted(label for label, count in counts.items() if count == most))
        questions = count_with_noun(len(scored), "question")
        yield f"Same scores as {labels} in {most} of {questions}: is it the same measure?"


def _report_parts(measure: MeasureVerdicts, note: str) -> Iterator[Any]:
    yield from _labeled_lines(measure)
    rows = [
        (
            f"{v.words} ({v.quality})",
            "–" if v.score is None else format_score(v.score),
            "–" if v.baseline is None else format_score(v.baseline),
            "–" if v.difference is None else format_difference(v.difference),
            "–" if v.difference is None else format_ends(v.difference),
            "–" if v.together is None else format_ends(v.together),
            f"{v.verdict}{' alone' * (v.holds_together is False)}"
            f"{', may be the best' * bool(v.may_be_best)}",
        )
        for v in measure.verdicts
    ]
    scores, ends = (measure.label, measure.baseline), ("alone, 95 %", "together, 95 %")
    heads = ("you want to know (unit)", *scores, "difference", *ends, "verdict")
    yield plain_table(heads, rows, right=(1, 2, 3), note=note)
    times = f", {format_number(measure.times, 2)} times that of {measure.baseline}"
    yield f"CPU time: {format_duration(measure.seconds)}{times if measure.times else ''}."


def _verdict_record(measure: MeasureVerdicts, verdict: QuestionVerdict) -> dict[str, Any]:
    return {
        "spec": measure.spec,
        "label": measure.label,
        "question": verdict.question,
        "words": verdict.words,
        "quality": verdict.quality,
        "verdict": verdict.verdict,
        "score": verdict.score,
        "baseline": measure.baseline,
        "baseline_score": verdict.baseline,
        **dict(zip(("difference", "low", "high"), verdict.difference or (None,) * 3)),
        **dict(zip(("low_together", "high_together"), (verdict.together or (None,) * 3)[1:])),
        "holds_together": verdict.holds_together,
        "may_be_best": verdict.may_be_best,
        "size_alone": verdict.size_alone,
        "same_scores_as": ", ".join(verdict.equals),
        "reason": verdict.reason,
        "cpu_seconds": measure.seconds,
    }
