"""The ReSi benchmark as a study in a folder: train missing models, compare and score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.codec import encode_value, spell_non_finite
from resemblance.base.json_files import decode_record
from resemblance.catalogue import get_measure, get_measures
from resemblance.comparison.comparison import MeasureInfo
from resemblance.contracts._measure import Measure, measure
from resemblance.models.recipe import Recipe

from ..case import Case
from ..packs.archive import PACK_IDENTITY_PATTERN
from ..pinned import FrozenFeatures
from ..ranks import catalogue_measure
from ..status import StudyStatus
from ..status import status as study_status
from ..study import Purpose, append_to_log, check_equal_purpose, check_folder, join_purpose, purpose
from ..study_models import is_trained, train_possible
from ..suite import Outcome, Suite, SuiteRun
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
    resi_recipes,
    study_recipes,
    write_resi_models,
)
from .page import RESI_TITLE, result_of
from .paper import PAPER_SUBSETS, PaperRun, paper_run, paper_subset_for, planned_recipes
from .rules import PRESET_BY_PROTOCOL, RANKED_QUALITIES, ScoringOptions

__all__ = ["SIZES", "SUITE", "configure_resi", "load_evaluation", "status", "usual_measures"]

SIZES: Mapping[str, TrainingPlan | PaperSubset] = {**packaged.TRAINING_PLANS, **PAPER_SUBSETS}
PAPER_OPTION_NAMES = ("datasets", "architectures", "tests", "seeds", "hyperparameters")
TRAINING_OPTION_NAMES = ("data", "models_from", "device", "precision", "download")
SCORING_OPTION_NAMES = tuple(ScoringOptions.__dataclass_fields__)


class ResiOptions(NamedTuple):
    """The options of the ReSi suite.

    ``scoring``: keywords of :class:`ScoringOptions`. ``trainer``: the executor for training alone;
    None for the executor of the run. ``paper``: the part of the benchmark and the training
    resources; None except at a size of the paper.
    """

    scoring: Mapping[str, Any] = {}
    trainer: Executor | None = None
    paper: PaperRun | None = None


def configure_resi(
    run: SuiteRun,
    folder: Path | None,
    *,
    domains: Sequence[str] | None = None,
    models: str | Path | None = None,
    trainer: Executor | None = None,
    **options: Any,
) -> SuiteRun:
    """Return a run with the options of the ReSi suite.

    A study keeps its size; another size needs another folder. Size, models, measures and options
    that a later call omits keep their values from the last finished run. The result covers the
    measures of this call, and all domains (or parts of the paper's benchmark) whose models the
    study has in full. A model with failed training is left out, and the result names the model. Its
    tests use the remaining models; at the sizes of the paper its tests are skipped.

    Parameters
    ----------
    run : the run without options of this suite.
    folder : the folder of the study; None for a run that stores nothing.
    domains : some of "graphs", "language", "vision"; default: all.
    models : a folder of models of your own (see :func:`resemblance.read_models`) instead of trained
        models.
    trainer : an executor for training alone, such as an executor whose workers have accelerators.
    options : ``protocol``, ``permute``, ``failures``, ``groups`` and ``max_samples`` of
        :func:`resemblance.bench.resi.evaluate`; at the sizes of the paper ``groups`` is
        ``"published"`` by default, because the paper has chosen its groups. The sizes of the paper
        also accept the keywords of ``resemblance.bench.resi.paper.paper_run``: ``data``,
        ``datasets``, ``architectures``, ``seeds``, ``tests``, ``hyperparameters``, ``models_from``,
        ``device``, ``precision``, ``download``.

    Claims are judged on the :class:`~resemblance.bench.resi.Evaluation`.

    Raises ``ValueError`` for missing, unknown or contradictory options, and if the study has
    another size; ``TypeError`` for an unknown option.
    """
    purpose, resi_options = _purpose_and_options(folder, run.purpose.size, domains, models, options)
    if folder is not None:
        check_folder(folder)
        join_purpose(folder, purpose, join_resi_purposes)
    # Check the data before any work, and before the study records the run.
    if (paper := resi_options.paper) is not None:
        plan = planned_recipes([paper.portion])
        check_data(paper, [r for r in plan if folder is None or not is_trained(folder, r)])
    usual = usual_measures(folder, resi_options.scoring)
    return run._replace(
        purpose=purpose,
        measures=run.measures or tuple(get_measures(usual)),
        options=resi_options._replace(trainer=trainer),
    )


def prepare_resi_models(run: SuiteRun) -> ModelGroups:
    """Train the missing models of a run, and return the models to compare."""
    executor = run.options.trainer or run.executor

    def train(plan: Sequence[Recipe], resources: TrainingEnvironment | None) -> Mapping[str, str]:
        return train_possible(run.folder, plan, executor, run.show, resources)

    return collect_model_groups(run.folder, run.purpose, run.study, run.options.paper, train)


def resi_models_from_pack(pinned: FrozenFeatures) -> ModelGroups:
    """Read the features of every model in a pack, and the task reliabilities that the pack stores.
    Without stored reliabilities, ``reliabilities`` of the result is None."""
    return pack_model_groups(pinned.folder, pinned.facts)


def resi_tasks(material: ModelGroups) -> list[Case]:
    """Return the tasks of the six tests that count for the ranking. ``material``: the models to
    compare."""
    cases = six_tests(material.model_features).cases
    cases = add_reliabilities(cases, material.reliabilities or {})
    return [c for c in cases if c.cell[1] in RANKED_QUALITIES]


def evaluate_resi_models(run: SuiteRun, material: ModelGroups) -> Outcome:
    """Put the models ``material`` of a run through the six tests; return the result, and the
    measures and options for the record of the study."""
    append_to_log(run.folder, f"comparing {len(material.model_features)} models")
    evaluation = evaluate_study(run, material)
    result = result_of(evaluation)
    last = {
        "more": dict(run.purpose.more),
        "options": asdict(evaluation.options),
        "measures": spell_non_finite(encode_value(evaluation.measures)),
        "untrained": dict(evaluation.untrained),
    }
    return Outcome(result, dict.fromkeys((s.name for s in result.sections), evaluation), last)


def evaluate_study(
    run: SuiteRun, material: ModelGroups, *, stored_only: bool = False
) -> Evaluation:
    """Compare and score the models ``material`` of a run. ``stored_only``: compute no comparison;
    pairs without a stored value have no value."""
    evaluation = assess(
        material.model_features,
        measures=run.measures,
        planned=material.planned,
        reliabilities=material.reliabilities,
        save=run.folder / "comparisons.db",
        executor=run.executor,
        memory=run.memory,
        progress=run.progress,
        stored_only=stored_only,
        **(run.options or ResiOptions()).scoring,
    )
    is_pack = "pack" in run.purpose.more
    return evaluation._replace(
        size=run.purpose.size,
        left_out=material.left_out,
        untrained={recipe.name: reason for recipe, reason in material.planned.failed},
        origin={**material.origin} | ({} if is_pack else {"groups": evaluation.options.groups}),
    )


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
        raise ValueError(f"{study} has no results yet; run: resemblance bench run resi {study}")
    run_purpose, paper = study_purpose._replace(more=last_run["more"]), None
    if study_purpose.size in PAPER_SUBSETS:
        archive = run_purpose.more["resources"].get("models_from")
        resources = TrainingEnvironment(Path(), archive=None if archive is None else Path(archive))
        paper = PaperRun(paper_subsets_of_study(run_purpose)[-1], resources)
    infos = decode_record(tuple[MeasureInfo, ...], last_run["measures"])
    material = collect_model_groups(
        place, run_purpose, study_purpose, paper, lambda plan, resources: last_run["untrained"]
    )
    options = ResiOptions(last_run["options"], paper=paper)
    measures = tuple(map(_measure_from_info, infos))
    run = SuiteRun(run_purpose, measures, (), options=options, folder=place)
    return evaluate_study(run, material, stored_only=True)


def _measure_from_info(info: MeasureInfo) -> Measure:
    """Return the measure of a result; for a user's own measure, a placeholder that raises if
    called."""
    entry = catalogue_measure(info)
    if entry is not None:
        return entry

    def absent(x: Any, y: Any) -> float:
        raise RuntimeError(f"{info.spec} is not available")

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
    """Return the default measures of a run: the measures of the last run in the folder that are in
    the catalogue; the preset of the protocol without such a run, or if the run had another
    protocol. ``options``: the scoring options of the run."""
    protocol = options.get("protocol")
    if folder is not None and (folder / "study.json").exists():
        last_run = purpose(folder).more.get("last")
        if last_run is not None and protocol in (None, last_run["options"]["protocol"]):
            infos = decode_record(tuple[MeasureInfo, ...], last_run["measures"])
            return [get_measure(info.spec) for info in infos if catalogue_measure(info)]
    return [PRESET_BY_PROTOCOL[protocol or "paper"]]


# --------------------------------------------------------------------------------- what a run is of


def _purpose_and_options(
    folder: Path | None,
    size: str,
    domains: Sequence[str] | None,
    models: str | Path | None,
    words: Mapping[str, Any],
) -> tuple[Purpose, ResiOptions]:
    """Return the purpose and the options of a run; omitted options keep their values from the last
    run of a study.

    ``folder``: of the study. ``size``: empty if omitted. ``domains``: of the models to train, None
    if omitted. ``models``: the folder of a user's own models. ``words``: all other options by name.
    Raises ``TypeError`` for an unknown name, and ``ValueError`` for missing or contradictory
    options.
    """
    if unknown_names := sorted(
        set(words) - {*PAPER_OPTION_NAMES, *TRAINING_OPTION_NAMES, *SCORING_OPTION_NAMES}
    ):
        raise TypeError(f"run: there is no option {unknown_names[0]!r}")
    if models is not None and (size or domains):
        raise ValueError(
            "run: models= names existing models; leave out size and domains, which select models "
            "to train"
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
    if not size and models is None:
        models = study_purpose.models
        if models and PACK_IDENTITY_PATTERN.fullmatch(models):
            raise ValueError(f"{folder} is a study of the pack {models}; pass pack={models!r}")
    if models is None and (size or study_purpose.size) in PAPER_SUBSETS:
        return _paper_purpose_and_options(
            size or study_purpose.size, domains, study_purpose, run_options, options
        )
    if names := [name for name in run_options if name not in SCORING_OPTION_NAMES]:
        raise ValueError(
            f"run: {', '.join(names)} {'is' if len(names) == 1 else 'are'} for the sizes "
            f"{' and '.join(PAPER_SUBSETS)}; got size {size or study_purpose.size or 'mini'!r}"
        )
    ScoringOptions(**options)
    if models is not None:
        return Purpose("resi", models=str(Path(models).resolve())), ResiOptions(options)
    domain_names = domains or study_purpose.more.get("domains") or DOMAINS
    details = {"domains": list(dict.fromkeys(domain_names))}
    run_purpose = Purpose("resi", size or study_purpose.size or "mini", more=details)
    # Raises ValueError for unknown words.
    resi_recipes(run_purpose.size, details["domains"])
    return run_purpose, ResiOptions(options)


def _scoring_options(study_purpose: Purpose, run_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scoring options of a run, by name: ``run_options``, the options given for the run,
    and for omitted options the values from the last run of the study with the purpose
    ``study_purpose``. A changed protocol resets its dependent options."""
    last_options: Mapping[str, Any] = study_purpose.more.get("last", {}).get("options", {})
    if run_options.get("protocol", last_options.get("protocol")) != last_options.get("protocol"):
        last_options = {
            name: last_options[name] for name in ("groups", "max_samples") if name in last_options
        }
    return {**last_options, **run_options}


def _paper_purpose_and_options(
    size: str,
    domains: Sequence[str] | None,
    study_purpose: Purpose,
    run_options: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Purpose, ResiOptions]:
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
    return Purpose("resi", size, more=details), ResiOptions(options, paper=paper)


def join_resi_purposes(study_purpose: Purpose, run_purpose: Purpose) -> Purpose:
    """Return the purpose of a study after another run; ``ValueError`` if the size or the training
    hyperparameters differ."""
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


SUITE = Suite(
    "resi",
    RESI_TITLE,
    prepare_resi_models,
    resi_tasks,
    sizes=SIZES,
    size="",  # the size of the study, otherwise "mini"
    evaluate=evaluate_resi_models,
    configure=configure_resi,
    join=join_resi_purposes,
    recipes=study_recipes,
    write_pack=write_resi_models,
    read_pack=resi_models_from_pack,
)
