"""The sensitivity benchmark (Ding et al. 2021): do measures respond to what affects function, and
to nothing else?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from ..study import Progress
from . import claims, deletion, figures, finetuning, layers, pretraining
from .frame import Benchmark, experiment
from .sections import Finding, name_of
from .settings import MEASURES, SIZES, Size
from .subjects import Models, families
from .summary import summary

__all__ = ["BENCHMARKS", "EXPERIMENTS", "MEASURES", "SIZES", "Size", "run"]

BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(layers.NAME, layers.TITLE, layers.ABOUT, "normal", layers.choose, layers.sets,
    claims.LAYERS,
              layers.extra, figures.specificity),
    Benchmark(deletion.NAME, deletion.TITLE, deletion.ABOUT, "normal", deletion.choose,
    deletion.sets, claims.DELETION,
              deletion.extra, figures.deletions),
    Benchmark(finetuning.NAME, finetuning.TITLE, finetuning.ABOUT, "finetuned", finetuning.choose,
    finetuning.sets,
              claims.FINETUNING),
    Benchmark(pretraining.NAME, pretraining.TITLE, pretraining.ABOUT, "finetuned",
    pretraining.choose, pretraining.sets,
              claims.PRETRAINING),
)  # fmt: skip
EXPERIMENTS: tuple[Experiment, ...] = tuple(
    experiment(b, Models()) for b in BENCHMARKS
)  # on no models yet


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    only: Iterable[str] | None = None,
    domains: Sequence[str] = DOMAINS,
    models: str | Path | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> Result:
    """Put measures through the four benchmarks of Ding et al., or continue where an earlier run
    stopped.

    Parameters
    ----------
    folder : keeps models, probes, comparisons and findings (``result.json``); without it nothing is
        kept.
    measures : measures, names, specifications, presets. Default: those of the paper as its authors'
        code has them, the 24 of ``preset("default")``, debiased CKA and MKA. RTD takes part up to a
        number of samples, beyond which it takes very long; what is left out is said.
    size : ``"small"`` (a trial), ``"default"`` (about ten minutes of one processor), or ``"paper"``
        (as many models and samples as there; many hours).
    only : names of benchmarks: "layers", "deletion", "finetuning", "pretraining". Default: all.
    domains : of the models that are trained: "graphs", "language", "vision".
    models : a folder of models of your own instead (see :func:`resemblance.read_subjects`); they
        make the benchmarks that they can, and the findings say which they cannot make and why.
        "normal" models with ``labels.npy`` make the first two, "finetuned" ones with ``accuracies``
        on other inputs the others.
    executor, memory : as for :func:`resemblance.compare`.
    progress : called with (stage, done, total).

    Where we differ from the paper: features are centred, not samples, as in the authors' code; the
    reference of benchmark 2 is an undeleted representation, as in the code; models, data and
    functionalities are small ones that every installation has.

    Raises ``ValueError`` for a size, domain, benchmark or measure that does not exist, or none of
    them, for a folder without models, and for a study of trained models when ``models`` are given,
    or the other way round.

    Reference: Ding, Denain and Steinhardt 2021.
    """
    only = only if only is None or isinstance(only, str) else list(only)
    _check(folder, size, only, domains, models)
    tested = get_measures(measures if measures is not None else MEASURES)
    source = (
        _models(size, domains) if models is None else Models(folder=str(Path(models).resolve()))
    )
    if source.folder:
        source.read(Path())  # mistakes of a user come before the work
    found: dict[str, list[Finding]] = {}
    plan = chosen([experiment(b, source, memory, found) for b in BENCHMARKS], only)
    provenance = {"domains": list(domains)} if models is None else {"models": source.folder}
    findings = run_experiments(
        "sensitivity",
        plan,
        folder,
        size=size,
        measures=tested,
        executor=executor,
        progress=progress,
        provenance=provenance,
    )
    labels = {m.spec: name_of(m.spec, {m.spec: m.label}) for m in tested}
    findings = replace(findings, sections=(summary(found), *findings.sections), labels=labels)
    if source.folder:
        findings = replace(findings, facts=_own(found), remarks=_remarks(source, source.folder))
    if folder is not None:
        findings.save(Path(folder) / "result.json")
    return findings


def _check(
    folder: str | Path | None, size: str, only: Any, domains: Any, models: str | Path | None
) -> None:
    """Find mistakes before the work."""
    if not isinstance(size, str) or size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(str(size), tuple(SIZES))}")
    for name, given, known in (
        ("only", only, [b.name for b in BENCHMARKS]),
        ("domains", domains, DOMAINS),
    ):
        if isinstance(given, str) or (given is not None and not list(given)):
            raise ValueError(
                f"run: {name} must be a list of some of {', '.join(known)}; got {given!r}"
            )
    if folder is None:
        return
    if Path(folder).is_file():
        raise ValueError(
            f"{folder} is a file; give a folder for the study, which may not be there yet"
        )
    kind = _kind(Path(folder))
    if kind and (kind == "own") != (models is not None):
        had, other = (
            ("models of your own", "trained ones")
            if kind == "own"
            else ("trained models", "models of your own")
        )
        raise ValueError(f"{folder} is a study of {had}; use another folder for {other}")


def _kind(study: Path) -> str:
    """Return whether a study is of "own" or of "trained" models; nothing where that cannot be known
    yet."""
    if (study / "subjects").is_dir():
        return "trained"
    if not (study / "result.json").exists():
        return ""
    provenance = load_result(study / "result.json").provenance
    return "own" if "models" in provenance else "trained" if "domains" in provenance else ""


def _own(found: dict[str, list[Finding]]) -> dict[str, str]:
    """Return what models of somebody's own are: data sets and architectures."""
    families = list(dict.fromkeys(family for own in found.values() for family, _ in own))
    return {
        "data sets": ", ".join(dict.fromkeys(f.dataset for f in families)) or "none",
        "models": f"{OWN}: "
        + (", ".join(dict.fromkeys(f.architecture for f in families)) or "none that fit"),
    }


def _remarks(source: Models, folder: str) -> tuple[str, ...]:
    """Return what a reader must know of models of somebody's own: that they are few, and what was
    left out."""
    most = max(map(len, families(source.read(Path())).values()), default=0)
    left = "; ".join(f"{name} ({why})" for name, why in folders_left_out(folder).items())
    return tuple(filter(None, (few_models(most), f"Left out: {left}." if left else "")))


def _models(size: str, domains: Sequence[str]) -> Models:
    from .models import recipes

    return Models(tuple(recipes(size, domains)))
