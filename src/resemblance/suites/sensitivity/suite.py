"""The sensitivity suite (Ding et al. 2021): do measures respond to what affects function, and to
nothing else?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...catalogue import get_measures
from ...measure import Measure
from ...results.headlines import OWN, few_models
from ...results.result import Result, load_result
from ...sources.folders import folders_left_out
from ...sources.trained import DOMAINS
from ...suggestions import did_you_mean
from ..experiments import Experiment, chosen, run_experiments
from ..study import Judge, Progress
from .benchmarks import BENCHMARKS
from .experiment import Job, experiment
from .facts import PAPER, FamilyFacts, SuiteFacts, name_of
from .sections import summary_section
from .sets import Effort
from .subjects import Models, families, models_in

__all__ = ["BENCHMARKS", "EXPERIMENTS", "MEASURES", "SIZES", "Effort", "run"]

MEASURES: tuple[str, ...] = ("default", *PAPER.values(), "cka[estimator=debiased]", "mka")
SIZES: Mapping[str, Effort] = {
    "small": Effort(120, 1, 1, 200, 199, 100),
    "default": Effort(200, 2, 3),
    "paper": Effort(1000, 5, 3, 2000, 9999, 500),
}
TITLE = "Sensitivity and specificity"
INTRODUCTION = (
    "Do measures of similarity respond to what affects function, and to nothing else? Four "
    "benchmarks after Ding, Denain and Steinhardt (2021): random starts and layers, deleted "
    "principal components, seeds of fine-tuning, seeds of pretraining. In each, distances from "
    "the best representation should be in the order of the differences in what representations "
    "can do. Naive p-values assume that pairs are independent; permuted ones and intervals allow "
    "for the seeds that models have in common."
)
EXPERIMENTS: tuple[Experiment, ...] = tuple(
    experiment(Job(benchmark, Models(), SIZES["default"], {})) for benchmark in BENCHMARKS
)


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    domains: Sequence[str] = tuple(DOMAINS),
    models: str | Path | None = None,
    claims: Mapping[str, Judge] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    pinned: str = "",
    with_intervals: bool = True,
) -> Result:
    """Run measures through the four benchmarks of Ding et al., or continue an earlier run.

    Parameters
    ----------
    folder : keeps models, probes, comparisons and the result (``result.json``); without it nothing
        is kept.
    measures : measures, names, specifications, presets. Default: those of the paper as its authors'
        code computes them, the 24 of ``preset("default")``, debiased CKA and MKA. RTD takes part up
        to a number of samples, beyond which it takes very long; the result names what is left out.
    size : ``"small"`` (a trial), ``"default"`` (about ten minutes of one processor), or ``"paper"``
        (as many models and samples as the paper; many hours).
    only : names of benchmarks: "layers", "deletion", "finetuning", "pretraining". Default: all.
    domains : of the models that are trained: "graphs", "language", "vision".
    models : a folder of your own models instead (see :func:`resemblance.read_subjects`); each takes
        the benchmarks for which it has the data, and the result gives the reason for every other.
        "normal" models with ``labels.npy`` take the first two, "finetuned" ones with ``accuracies``
        on other inputs the others.
    claims : by the name of a section ("summary", or a benchmark), a function from its facts to the
        claims of a paper. The facts of a benchmark are a tuple of ``FamilyFacts``, those of the
        summary all of these by benchmark. Default: no claims.
    executor, memory : as for :func:`resemblance.compare`.
    progress : called with (stage, done, total).
    pinned : the name of the pack that ``models`` come from, by which the folder remembers them.
    with_intervals : compute intervals and p-values, which take most of the time of fast measures.

    Where we differ from the paper: features are centred, not samples, as in the authors' code; the
    reference of benchmark 2 is an undeleted representation, as in the code; models, data and
    functionalities are small ones that every installation has.

    Raises ``ValueError`` for an unknown size, domain, benchmark or measure, or an empty list of
    them, for a folder without models, and for ``models`` in the study of trained models, or the
    other way round.

    Reference: Ding, Denain and Steinhardt 2021.
    """
    only = only if only is None or isinstance(only, str) else list(only)
    _check(folder, size, only, domains, models)
    tested = get_measures(measures if measures is not None else MEASURES)
    source = _models(size, domains, models)
    facts, judges = dict[str, tuple[FamilyFacts, ...]](), claims or {}
    effort = _effort(size, bool(pinned), with_intervals)
    plan = [experiment(Job(benchmark, source, effort, facts)) for benchmark in BENCHMARKS]
    result = run_experiments(
        "sensitivity",
        chosen(plan, only),
        folder,
        size=size,
        measures=tested,
        claims=judges,
        executor=executor,
        memory=memory,
        progress=progress,
        pinned=pinned,
        title=TITLE,
        about=INTRODUCTION,
        provenance={"models": source.folder} if source.folder else {"domains": list(domains)},
    )
    summary = summary_section(facts, tuple(judges["summary"](facts)) if "summary" in judges else ())
    result = replace(result, sections=(summary, *result.sections), labels=_labels(tested))
    return _saved(_about_models(result, source, facts), folder)


def _effort(size: str, is_pinned: bool, with_intervals: bool) -> Effort:
    """Return how much is computed: on a pack, which has few samples, also by slow measures."""
    effort = SIZES[size]
    if is_pinned:
        effort = effort._replace(slow=effort.samples)
    return effort if with_intervals else effort._replace(draws=1, permutations=1)


def _about_models(result: Result, source: Models, facts: SuiteFacts) -> Result:
    """Return a result with what a reader must know of models that were brought along."""
    if not source.folder:
        return result
    return replace(result, facts=_own_models(facts), remarks=_remarks(source, source.folder))


def _saved(result: Result, folder: str | Path | None) -> Result:
    if folder is not None:
        result.save(Path(folder) / "result.json")
    return result


def _labels(measures: Iterable[Measure]) -> dict[str, str]:
    return {m.spec: name_of(m.spec, {m.spec: m.label}) for m in measures}


def _check(
    folder: str | Path | None, size: str, only: Any, domains: Any, models: str | Path | None
) -> None:
    """Find mistakes before the work."""
    if not isinstance(size, str) or size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(str(size), tuple(SIZES))}")
    for name, values, choices in (
        ("only", only, [b.name for b in BENCHMARKS]),
        ("domains", domains, tuple(DOMAINS)),
    ):
        if isinstance(values, str) or (values is not None and not list(values)):
            raise ValueError(
                f"run: {name} must be a list of some of {', '.join(choices)}; got {values!r}"
            )
    if folder is not None:
        _check_folder(Path(folder), own_models=models is not None)


def _check_folder(folder: Path, own_models: bool) -> None:
    if folder.is_file():
        raise ValueError(
            f"{folder} is a file; give a folder for the study, which may not be there yet"
        )
    kind = _kind(folder)
    if kind == "own" and not own_models:
        words = ("models of your own", "trained ones")
    elif kind == "trained" and own_models:
        words = ("trained models", "models of your own")
    else:
        return
    raise ValueError(f"{folder} is a study of {words[0]}; use another folder for {words[1]}")


def _kind(study: Path) -> str:
    """Return whether a study is of "own" or of "trained" models; "" where that is not yet known."""
    if (study / "subjects").is_dir():
        return "trained"
    if not (study / "result.json").exists():
        return ""
    provenance = load_result(study / "result.json").provenance
    return "own" if "models" in provenance else "trained" if "domains" in provenance else ""


def _models(size: str, domains: Sequence[str], folder: str | Path | None) -> Models:
    if folder is None:
        from .models import recipes

        return Models(tuple(recipes(size, domains)))
    return models_in(Path(folder).resolve())  # mistakes of a user are found before the work


def _own_models(facts: SuiteFacts) -> dict[str, str]:
    """Return the data sets and architectures of a user's models."""
    members = [f.family for families in facts.values() for f in families]
    datasets = ", ".join(dict.fromkeys(family.dataset for family in members))
    architectures = ", ".join(dict.fromkeys(family.architecture for family in members))
    return {"data sets": datasets or "none", "models": f"{OWN}: {architectures or 'none that fit'}"}


def _remarks(source: Models, folder: str) -> tuple[str, ...]:
    """Return what a reader must know of a user's models: that they are few, and which were left
    out."""
    most = max(map(len, families(source.read(Path())).values()), default=0)
    left = "; ".join(f"{name} ({why})" for name, why in folders_left_out(folder).items())
    return tuple(filter(None, (few_models(most), f"Left out: {left}." if left else "")))
