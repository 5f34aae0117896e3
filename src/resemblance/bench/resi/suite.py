"""The ReSi benchmark as a study in a folder: train missing models, compare and score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.codec import encode_value, spell_non_finite
from resemblance.base.json_files import decode_record
from resemblance.catalogue import get_measure
from resemblance.comparison.comparison import MeasureInfo
from resemblance.contracts._measure import Measure, measure
from resemblance.sections.result import Result

from ..case import Case
from ..packs.archive import PACK_IDENTITY_PATTERN
from ..pinned import FrozenFeatures
from ..ranks import catalogue_measure
from ..reliability import is_reliable
from ..status import StudyStatus
from ..status import status as study_status
from ..study import (
    Purpose,
    StageProgress,
    append_to_log,
    check_equal_purpose,
    check_folder,
    join_purpose,
    purpose,
    save_purpose,
    study_folder,
)
from ..study_models import is_trained, train_possible
from ..training import DOMAINS, PaperSubset
from ..training.loop import TrainingEnvironment
from . import models as packaged
from .cases import add_reliabilities, six_tests
from .evaluation import Evaluation, assess
from .models import (
    ModelGroups,
    TrainingPlan,
    check_data,
    collect_model_groups,
    pack_model_groups,
    paper_subsets_of_study,
    pin,
    resi_recipes,
    study_recipes,
)
from .page import JudgesByPaper, add_judged_claims, result_of
from .paper import PAPER_SUBSETS, PaperRun, paper_run, paper_subset_for, planned_recipes
from .rules import PRESET_BY_PROTOCOL, RANKED_QUALITIES, ScoringOptions

__all__ = [
    "SIZES", "cases_of", "load_evaluation", "pin", "run", "run_pinned", "status", "usual_measures",
]  # fmt: skip

SIZES: Mapping[str, TrainingPlan | PaperSubset] = {**packaged.TRAINING_PLANS, **PAPER_SUBSETS}
PAPER_OPTION_NAMES = ("datasets", "architectures", "tests", "seeds", "hyperparameters")
TRAINING_OPTION_NAMES = ("data", "models_from", "device", "precision", "download")
SCORING_OPTION_NAMES = tuple(ScoringOptions.__dataclass_fields__)


class RunConfig(NamedTuple):
    """The configuration of a run: the purpose of its study, the scoring options, and the training
    resources at a size of the paper."""

    purpose: Purpose
    options: Mapping[str, Any]
    paper: PaperRun | None = None


def run(
    folder: str | Path | None = None,
    *,
    size: str | None = None,
    domains: Sequence[str] | None = None,
    models: str | Path | None = None,
    measures: Iterable[str | Measure] | None = None,
    executor: Executor | None = None,
    trainer: Executor | None = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    claims: JudgesByPaper | None = None,
    **options: Any,
) -> Result:
    """Run the ReSi benchmark in a directory, or continue an earlier run there.

    The run trains, extracts, compares, scores and writes the result.

    Finished work is never repeated: models with an unchanged recipe and undamaged files, and
    comparisons of the same data with the same version of a measure. If the process is killed, only
    the models in training and the last half second of comparisons are lost; with an executor, also
    the blocks that its workers were computing. The result covers the measures of this call, and all
    domains (or parts of the paper's benchmark) whose models the study has in full. A model with
    failed training is left out, and the result names the model. Its tests use the remaining models;
    at the sizes of the paper its tests are skipped.

    Parameters
    ----------
    folder : the folder of the study. A study keeps its size; another size needs another folder.
        Without a folder nothing is kept. Size, models, measures and options that a later call omits
        keep their values from the last finished run.
    size : ``"mini"`` (default), ``"standard"`` or ``"slice"``: number and size of the models
        trained on data of the package; ``"paper"``: the paper's models, trained on its data;
        ``"paper-slice"``: a trial of ``"paper"``.
    domains : some of "graphs", "language", "vision"; default: all.
    models : a folder of models of your own (see :func:`resemblance.read_models`) instead of trained
        models.
    measures, memory, claims : as for :func:`resemblance.bench.resi.evaluate`.
    executor : a ``concurrent.futures`` executor of processes, for training and comparing.
    trainer : an executor for training alone, such as an executor whose workers have accelerators.
    progress : called with (stage, done, total); the stages are "training", "not trained",
        "comparing" and "grading".
    options : ``protocol``, ``permute``, ``failures``, ``groups`` and ``max_samples`` of
        :func:`resemblance.bench.resi.evaluate`; at the sizes of the paper ``groups`` is
        ``"published"`` by default, because the paper has chosen its groups. The sizes of the paper
        also accept the keywords of ``resemblance.bench.resi.paper.paper_run``: ``data``,
        ``datasets``, ``architectures``, ``seeds``, ``tests``, ``hyperparameters``, ``models_from``,
        ``device``, ``precision``, ``download``.

    The study stores the comparisons; :func:`resemblance.bench.resi.load_evaluation` reads them.

    Raises ``ValueError`` if another process is working on the study, or if the study has another
    size.
    """
    place = None if folder is None else Path(folder)
    order = run_config(place, size, domains, models, options)
    show = progress or (lambda stage, done, total: None)
    if place is not None:
        check_folder(place)
        join_purpose(place, order.purpose, _join_resi_purposes)
    # Check the data before any work, and before the study records the run.
    if order.paper is not None:
        plan = planned_recipes([order.paper.portion])
        check_data(order.paper, [r for r in plan if place is None or not is_trained(place, r)])
    selection = usual_measures(place, order.options) if measures is None else measures
    with study_folder(place, order.purpose, _join_resi_purposes) as (study, study_purpose):
        material = collect_model_groups(
            study,
            order.purpose,
            study_purpose,
            order.paper,
            lambda plan, resources: train_possible(
                study, plan, trainer or executor, show, resources
            ),
        )
        append_to_log(study, f"comparing {len(material.model_features)} models")
        evaluation = evaluate_study(
            order,
            material,
            study,
            measures=selection,
            executor=executor,
            memory=memory,
            progress=show,
        )
        result = add_judged_claims(result_of(evaluation), evaluation, claims)
        save_resi_result(study, study_purpose, order, evaluation, result)
    return result


def evaluate_study(
    order: RunConfig, material: ModelGroups, study: Path, **assess_options: Any
) -> Evaluation:
    """Compare and score the models of a run. ``assess_options``: keywords of :func:`assess`."""
    is_pack = "pack" in order.purpose.more
    evaluation = assess(
        material.model_features,
        planned=material.planned,
        reliabilities=material.reliabilities,
        save=study / "comparisons.db",
        **assess_options,
        **order.options,
    )
    return evaluation._replace(
        size=order.purpose.size,
        left_out=material.left_out,
        untrained={recipe.name: reason for recipe, reason in material.planned.failed},
        origin={**material.origin} | ({} if is_pack else {"groups": evaluation.options.groups}),
    )


def save_resi_result(
    study: Path, study_purpose: Purpose, order: RunConfig, evaluation: Evaluation, result: Result
) -> None:
    """Write the result of a run, and record its measures and options in the study."""
    last_run = {
        "more": dict(order.purpose.more),
        "options": asdict(evaluation.options),
        "measures": spell_non_finite(encode_value(evaluation.measures)),
        "untrained": dict(evaluation.untrained),
    }
    result.save(study / "result.json")
    save_purpose(study, study_purpose._replace(more={**study_purpose.more, "last": last_run}))
    append_to_log(study, f"wrote {len(evaluation.scores)} scores")


def status(folder: str | Path) -> StudyStatus:
    """Return the progress of a study, also while another process is working on the study."""
    return study_status(folder, study_recipes)


def load_evaluation(study: str | Path) -> Evaluation:
    """Load the evaluation of the last run of a study, from stored models and comparisons; nothing
    is computed.

    Raises ``ValueError`` for a study without a result, and for a damaged study.
    """
    place = Path(study)
    study_purpose = purpose(place) if (place / "study.json").exists() else Purpose("resi")
    last_run = study_purpose.more.get("last")
    if last_run is None or not (place / "result.json").exists():
        raise ValueError(f"{study} has no results yet: resemblance bench run resi {study}")
    run_purpose, run = study_purpose._replace(more=last_run["more"]), None
    if study_purpose.size in PAPER_SUBSETS:
        archive = run_purpose.more["resources"].get("models_from")
        resources = TrainingEnvironment(Path(), archive=None if archive is None else Path(archive))
        run = PaperRun(paper_subsets_of_study(run_purpose)[-1], resources)

    order = RunConfig(run_purpose, last_run["options"], run)
    material = collect_model_groups(
        place, run_purpose, study_purpose, run, lambda plan, resources: last_run["untrained"]
    )
    measures = map(_measure_from_info, decode_record(tuple[MeasureInfo, ...], last_run["measures"]))
    return evaluate_study(order, material, place, measures=tuple(measures), stored_only=True)


def _measure_from_info(info: MeasureInfo) -> Measure:
    """Return the measure of a result; for a user's own measure, a placeholder that raises if
    called."""
    entry = catalogue_measure(info)
    if entry is not None:
        return entry

    def absent(x: Any, y: Any) -> float:
        raise RuntimeError(f"{info.spec} is not at hand")

    absent.__name__ = info.spec
    absent.__doc__ = info.label
    placeholder = measure(
        label=info.label,
        family=info.family,  # type: ignore[arg-type]
        larger_is_more_similar=info.larger_is_more_similar,
        range=info.range,
        symmetric=info.symmetric,
        citation="",
    )(absent)
    return replace(placeholder, version=info.version)


def usual_measures(folder: Path | None, options: Mapping[str, Any]) -> list[str | Measure]:
    """Return the default measures of a run: the measures of the last run that are in the catalogue,
    or the preset of the protocol."""
    protocol = options.get("protocol")
    if folder is not None and (folder / "study.json").exists():
        last_run = purpose(folder).more.get("last")
        if last_run is not None and protocol in (None, last_run["options"]["protocol"]):
            infos = decode_record(tuple[MeasureInfo, ...], last_run["measures"])
            return [get_measure(info.spec) for info in infos if catalogue_measure(info)]
    return [PRESET_BY_PROTOCOL[protocol or "paper"]]


def cases_of(pinned: FrozenFeatures) -> list[Case]:
    """Return the tasks of the six tests that count for the ranking."""
    material = pack_model_groups(pinned.folder, pinned.facts)
    cases = add_reliabilities(
        six_tests(material.model_features).cases, material.reliabilities or {}
    )
    return [c for c in cases if c.cell[1] in RANKED_QUALITIES and is_reliable(c.reliability)]


def run_pinned(
    pinned: FrozenFeatures, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through the six tests on the models of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    material = pack_model_groups(pinned.folder, pinned.facts)
    details = {"pack": str(pinned.folder)}
    order = RunConfig(Purpose("resi", models=pinned.identity, more=details), {})
    with study_folder(folder, order.purpose) as (study, study_purpose):
        evaluation = evaluate_study(order, material, study, measures=measures, **options)
        result = pinned.named(result_of(evaluation))
        save_resi_result(study, study_purpose, order, evaluation, result)
    return result


# --------------------------------------------------------------------------------- what a run is of


def run_config(
    folder: Path | None,
    size: str | None,
    domains: Sequence[str] | None,
    models: str | Path | None,
    words: Mapping[str, Any],
) -> RunConfig:
    """Return the configuration of a run; omitted options keep their values from the last run of a
    study.

    Raises ``ValueError`` for missing, unknown or contradictory options.
    """
    if unknown_names := sorted(
        set(words) - {*PAPER_OPTION_NAMES, *TRAINING_OPTION_NAMES, *SCORING_OPTION_NAMES}
    ):
        raise TypeError(f"run: there is no option {unknown_names[0]!r}")
    if models is not None and (size or domains):
        raise ValueError(
            "run: models brings models along; size and domains are for models to be trained"
        )
    run_options = {
        name: value for name, value in words.items() if value not in (None, (), [], False)
    }
    study_purpose = Purpose("resi")
    if folder is not None and (folder / "study.json").exists():
        study_purpose = purpose(folder)
    options = _scoring_options(
        study_purpose,
        {name: run_options[name] for name in SCORING_OPTION_NAMES if name in run_options},
    )
    if size is None and models is None:
        models = study_purpose.models
        if models and PACK_IDENTITY_PATTERN.fullmatch(models):
            raise ValueError(f"{folder} is a study of the pack {models}: name it, with pack=")
    if models is None and (size or study_purpose.size) in PAPER_SUBSETS:
        return _paper_run_config(
            str(size or study_purpose.size), domains, study_purpose, run_options, options
        )
    if names := [name for name in run_options if name not in SCORING_OPTION_NAMES]:
        raise ValueError(
            f"run: {', '.join(names)} {'is' if len(names) == 1 else 'are'} for the sizes "
            f"{' and '.join(PAPER_SUBSETS)}; got size {size or study_purpose.size or 'mini'!r}"
        )
    ScoringOptions(**options)
    if models is not None:
        return RunConfig(Purpose("resi", models=str(Path(models).resolve())), options)
    domain_names = domains or study_purpose.more.get("domains") or DOMAINS
    details = {"domains": list(dict.fromkeys(domain_names))}
    run_purpose = Purpose("resi", size or study_purpose.size or "mini", more=details)
    # Raises ValueError for unknown words.
    resi_recipes(run_purpose.size, details["domains"])
    return RunConfig(run_purpose, options)


def _scoring_options(study_purpose: Purpose, run_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scoring options of a run. Omitted options keep their values from the last run,
    except that a changed protocol resets its dependent options."""
    last_options: Mapping[str, Any] = study_purpose.more.get("last", {}).get("options", {})
    if run_options.get("protocol", last_options.get("protocol")) != last_options.get("protocol"):
        last_options = {
            name: last_options[name] for name in ("groups", "max_samples") if name in last_options
        }
    return {**last_options, **run_options}


def _paper_run_config(
    size: str,
    domains: Sequence[str] | None,
    study_purpose: Purpose,
    run_options: Mapping[str, Any],
    options: Mapping[str, Any],
) -> RunConfig:
    words = {"domains": domains or None, **run_options}
    portion: dict[str, Any] = {
        name: words[name] if isinstance(words[name], str | int) else list(words[name])
        for name in (*PAPER_OPTION_NAMES, "domains")
        if words.get(name) is not None
    }
    if not portion and study_purpose.more.get("portions"):
        portion = study_purpose.more["portions"][-1]
    resources = {**study_purpose.more.get("resources", {})}
    resources |= {name: run_options[name] for name in TRAINING_OPTION_NAMES if name in run_options}
    paper = paper_run(size, **portion, **resources)
    paths = {
        name: str(Path(resources[name]).resolve())
        for name in TRAINING_OPTION_NAMES[:2]
        if name in resources
    }
    details = {"portions": [portion], "resources": {**resources, **paths}}
    options = {"groups": "published", **options}
    ScoringOptions(**options)
    return RunConfig(Purpose("resi", size, more=details), options, paper)


def _join_resi_purposes(study_purpose: Purpose, run_purpose: Purpose) -> Purpose:
    """Return the purpose of a study after another run; the size and the training hyperparameters
    must stay the same."""
    check_equal_purpose(study_purpose.size, run_purpose.size)
    details = {**study_purpose.more, **run_purpose.more}
    if "domains" in study_purpose.more and "domains" in run_purpose.more:
        domains = {*study_purpose.more["domains"], *run_purpose.more["domains"]}
        details["domains"] = [d for d in DOMAINS if d in domains]
    if "portions" in study_purpose.more and "portions" in run_purpose.more:
        portions = [*study_purpose.more["portions"], *run_purpose.more["portions"]]
        sources = {
            paper_subset_for(run_purpose.size, **portion).hyperparameters: ""
            for portion in portions
        }
        first, *others = (f"the hyperparameters {name}" for name in sources)
        check_equal_purpose(first, others[0] if others else first)
        details["portions"] = [
            portion for i, portion in enumerate(portions) if portion not in portions[i + 1 :]
        ]
    return run_purpose._replace(more=details)
