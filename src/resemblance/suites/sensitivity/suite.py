"""The sensitivity suite (Ding et al. 2021): do measures respond to what affects function, and to
nothing else?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...catalogue import get_measures
from ...display import did_you_mean
from ...measure import Measure
from ...results.headlines import OWN, few_models
from ...results.result import Result
from ...sources.model_folder import folders_left_out
from ...sources.training import DOMAINS
from ..experiments import Experiment, chosen, run_experiments
from ..pinning import Pinned
from ..study import Judge, Progress, judged_by
from .benchmarks import BENCHMARKS
from .experiment import experiment
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
    experiment(benchmark, Models(), SIZES["default"], {}) for benchmark in BENCHMARKS
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
    pinned: Pinned | None = None,
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
    pinned : the content of the pack that ``models`` are from.

    Where we differ from the paper: features are centred, not samples, as in the authors' code; the
    reference of benchmark 2 is an undeleted representation, as in the code; models, data and
    functionalities are small ones that every installation has.

    Raises ``ValueError`` for an unknown size, domain, benchmark or measure, or an empty list of
    them, for a folder without models, and for ``models`` in the study of trained models, or the
    other way round.

    Reference: Ding, Denain and Steinhardt 2021.
    """
    only = only if only is None or isinstance(only, str) else list(only)
    _check(size, only, domains)
    tested = get_measures(measures if measures is not None else MEASURES)
    source = _models(size, domains, models)
    facts, judges = dict[str, tuple[FamilyFacts, ...]](), claims or {}
    effort = _effort(size, pinned)
    trained = {} if source.folder else {"domains": list(domains)}
    labels = {m.spec: name_of(m.spec, {m.spec: m.label}) for m in tested}
    plan = [experiment(benchmark, source, effort, facts) for benchmark in BENCHMARKS]

    def finished(result: Result) -> Result:
        summary = summary_section(facts, judged_by(judges, "summary", facts))
        result = replace(result, sections=(summary, *result.sections), labels=labels)
        return _about_models(result, source, facts, pinned)

    return run_experiments(
        "sensitivity",
        chosen(plan, only),
        folder,
        size=size,
        measures=tested,
        claims=judges,
        executor=executor,
        memory=memory,
        progress=progress,
        models=source.folder,
        pinned=pinned,
        finish=finished,
        title=TITLE,
        about=INTRODUCTION,
        provenance={} if pinned else trained or {"models": source.folder},
    )


def _effort(size: str, pinned: Pinned | None) -> Effort:
    """Return how much is computed: on a pack, which has few samples, also by slow measures."""
    effort = SIZES[size]
    if pinned is None:
        return effort
    effort = effort._replace(slow=effort.samples)
    return effort if pinned.with_intervals else effort._replace(draws=1, permutations=1)


def _about_models(
    result: Result, source: Models, facts: SuiteFacts, pinned: Pinned | None
) -> Result:
    """Return a result with what a reader must know of models that were not trained here."""
    if not source.folder:
        return result
    whose = f"of {pinned.identity}" if pinned else OWN
    members = [f.family for families in facts.values() for f in families]
    datasets = ", ".join(dict.fromkeys(family.dataset for family in members))
    architectures = ", ".join(dict.fromkeys(family.architecture for family in members))
    about = {
        "data sets": datasets or "none",
        "models": f"{whose}: {architectures or 'none that fit'}",
    }
    return replace(result, facts=about, remarks=_remarks(source, source.folder))


def _check(size: str, only: Any, domains: Any) -> None:
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


def _models(size: str, domains: Sequence[str], folder: str | Path | None) -> Models:
    if folder is None:
        from .models import recipes

        return Models(tuple(recipes(size, domains)))
    return models_in(Path(folder).resolve())  # mistakes of a user are found before the work


def _remarks(source: Models, folder: str) -> tuple[str, ...]:
    """Return what a reader must know of a user's models: that they are few, and which were left
    out."""
    most = max(map(len, families(source.read(Path())).values()), default=0)
    left = "; ".join(f"{name} ({why})" for name, why in folders_left_out(folder).items())
    return tuple(filter(None, (few_models(most), f"Left out: {left}." if left else "")))
