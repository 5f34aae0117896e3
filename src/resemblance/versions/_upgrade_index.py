"""A new embedding model and an old index: keep the index, map vectors, re-rank or re-embed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from ..base.formatting import format_percent, list_names
from ..base.progress import Progress, percent_reporter
from ..base.results import BaseResult
from ..comparison.provenance import environment_versions
from .advice import (
    MAX_EXTRAPOLATION_EXCESS,
    Decision,
    choose_option,
    find_small_samples,
    format_candidate_recalls,
    format_decision,
    format_gain,
    format_option_recalls,
    part_sentence,
    upgrade_verdict,
)
from .facts import Fact, find_version_facts, has_copied_rows
from .index_maps import IndexMap
from .index_options import (
    DECISION_BY_METHOD,
    DECISION_EXIT_CODES,
    TRUTH_PHRASES,
    Goal,
    Option,
    Recall,
    assemble_options,
)
from .index_search import SearchMetric
from .pairing import find_pairing_fault
from .pooled import pooled_recalls
from .recalls import OptionRecalls, extrapolate_recalls, measure_recalls, min_curve_documents
from .relevance import RelevanceGain
from .stored import NEARLY_ALL_SHARE, unchanged_rows
from .upgrade_inputs import (
    MIN_QUERIES,
    UpgradeTask,
    build_upgrade_task,
    check_prices,
    check_upgrade_options,
)
from .ways import ServingMethods, build_serving_methods

DOCUMENT_NAMES = ("documents by the old model", "documents by the new model")
# remedies for facts of the rows, in place of the remedies for two versions
FACT_REMEDIES = {
    "equal rows": "Two models in one index? Embed all rows with one model.",
    "other inputs": "Pass the same documents in the same order for both models.",
    "unrelated rows": "Pass the same documents in the same order for both models.",
}
# Options with a break-even sentence even if another option is chosen.
BREAK_EVEN_OPTIONS = ("orthogonal", "affine")


@dataclass(frozen=True, eq=False, repr=False)
class IndexUpgrade(BaseResult):
    """The decision about an old index under a new model, returned by :func:`upgrade_index`.

    ``decision`` is "stay", "keep", "normalize", "cut", "map queries", "map documents", "re-rank",
    "re-embed a part", "re-embed" or "undecided". ``option`` is the name of the chosen option, or
    None. ``groups`` names the groups whose documents need re-embedding even so. ``options`` lists
    every option with its recalls and its cost, the cheapest first. ``changed`` is the share of the
    old answers that re-embedding all documents would change, None if unknown. ``curve`` (option,
    documents, recall) is extrapolated to the size of a larger index. ``gain`` is the gain of the
    new model in relevant documents, None without ``relevant``. ``maps`` contains the maps of
    queries and of documents by the name of their option. ``row_facts`` describes the rows of the
    documents: equal rows, zeros, copies, far rows, packed bits. ``conclusion`` and ``details`` are
    the decision in words.
    """

    decision: str
    option: str | None
    groups: tuple[Hashable, ...]
    conclusion: str
    details: tuple[str, ...]
    options: tuple[Option, ...]
    changed: float | None
    curve: tuple[tuple[str, int, float], ...]
    gain: RelevanceGain | None
    maps: Mapping[str, IndexMap]
    row_facts: tuple[Fact, ...]
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    caveats: tuple[
        str, ...
    ] = ()  # doubts about the vectors, such as copies, and about their number

    @property
    def failures(self) -> tuple[Option, ...]:
        """The options without an assessment, with their reasons."""
        return tuple(o for o in self.options if o.new_model is None and o.old_model is None)

    def summary(self) -> str:
        """Return the decision with the option, the conclusion, the caveats about the vectors, and
        the details, one per line."""
        notes = (f"  {note}" for note in (*self.caveats, *self.details))
        decision = format_decision(self.decision, self.option)
        return "\n".join((f"Decision: {decision}", self.conclusion, *notes))

    @property
    def code(self) -> int:
        """The exit code of the command: 0 if no document is re-embedded, 1 if some or all documents
        are re-embedded, 4 if the data do not decide."""
        return DECISION_EXIT_CODES[self.decision]

    def map(self, name: str = "") -> IndexMap:
        """Return the map of the chosen option, or of the option with the given name.

        ``side`` of the map names its input: "queries" by the new model, which then search the old
        index, or "documents" of the old index, which new queries then search. Call the map with
        such rows (n, e). The map computes ``after + factor * (rows - before) @ matrix``, from its
        attributes ``before``, ``matrix``, ``factor`` and ``after``. The map first scales ``rows``
        to length 1 if ``normalize`` is True, and then scales the mapped rows if
        ``normalize_mapped`` is True. Raises ``ValueError`` for an option without a map.
        """
        option_name = name or self.option or self.decision
        base = next(
            (o.base for o in self.options if o.name == option_name and o.candidates), option_name
        )
        if base not in self.maps:
            names = ", ".join(map(repr, self.maps)) or "none"
            raise ValueError(f"map: {option_name!r} uses no map; options with a map: {names}")
        return self.maps[base]

    def break_even(self, option: str) -> float | None:
        """Return the number of queries after which re-embedding all documents costs less than the
        losses of an option; infinity if the option loses nothing. Return None without prices,
        without a recall of the option, and for options that embed documents."""
        cost_per_document = self.settings["cost_per_document"]
        cost_per_miss = self.settings["cost_per_miss"]
        entry = next((o for o in self.options if o.name == option), None)
        recall = None if entry is None or entry.candidates or entry.embeds else entry.new_model
        if cost_per_document is None or recall is None:
            return None
        cost = (1 - recall.value) * self.settings["k"] * cost_per_miss
        return (
            float(self.settings["index"] * cost_per_document / cost) if cost > 0 else float("inf")
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one record per option and target: recall, interval, worst group, and costs.

        ``target``: the answers that queries should find, "new_model" or "old_model". ``value``,
        ``low`` and ``high`` are the recall and its interval; ``worst_value`` and ``worst_low`` are
        the recall and the lower bound of the group ``worst_group``. ``n_parameters``: fitted
        parameters of the map. ``candidates``: documents that the new model re-ranks for each query.
        ``embeds``: documents to re-embed at once. ``rebuild``: whether stored vectors change.
        ``reason``: why there is no value; otherwise None.
        """
        records = []
        for option in self.options:
            for target in TRUTH_PHRASES if not option.candidates else ("new_model",):
                recall = getattr(option, target)
                worst = None if recall is None else recall.worst
                values = (None,) * 3 if recall is None else (recall.value, recall.low, recall.high)
                group = (None,) * 3 if worst is None else (worst.group, worst.value, worst.low)
                is_new = target == "new_model"
                records.append(
                    {
                        "measure": "recall",
                        "option": option.name,
                        "decision": option.decision,
                        "target": target,
                        **dict(zip(("value", "low", "high"), values)),
                        **dict(zip(("worst_group", "worst_value", "worst_low"), group)),
                        "n_parameters": option.n_parameters,
                        "candidates": option.candidates,
                        "embeds": option.embeds,
                        "rebuild": option.rebuild,
                        "break_even": self.break_even(option.name) if is_new else None,
                        "reason": (option.reason or None) if recall is None else None,
                    }
                )
        return records

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in (*self.caveats, *self.details))
        return f"<p><b>{escape(self.conclusion)}</b></p>{lines}"


def upgrade_index(
    old: Any,
    new: Any,
    old_queries: Any,
    new_queries: Any,
    *,
    index: Any = None,
    embed: Callable[[np.ndarray], Any] | None = None,
    k: int = 10,
    groups: Any = None,
    target: Goal = "new_model",
    min_recall: float = 0.9,
    maps: Sequence[str] = ("orthogonal", "affine"),
    metric: SearchMetric = "euclidean",
    relevant: Mapping[Hashable, Any] | None = None,
    cost_per_document: float | None = None,
    cost_per_miss: float | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    progress: Progress = True,
) -> IndexUpgrade:
    """Decide whether to keep, map, re-rank or re-embed an old index under a new embedding model.

    The options are, in order of cost: keep the index; normalise or cut its vectors; map new queries
    to the old vectors; map the old vectors to the new model; re-rank the first 20 to 200 candidates
    with the new model; re-embed a part of the documents and map the other documents; re-embed all
    documents. The map is a rotation ("orthogonal": the polar factor of the cross-covariance, with a
    shift and a factor of size) or a ridge regression ("affine"). Maps are fitted to half of the
    documents; the fit of a map excludes every document that the map is applied to. Each option is
    scored by its recall, the share of the k correct documents that a query finds, against two
    definitions of correct: ``new_model``, the answers of the new model if all documents were
    re-embedded, and ``old_model``, the answers of the old query in the old index. Neighbours are
    exact. A document that is as near as the k-th correct document is correct.

    Parameters
    ----------
    old, new : (m, d) and (m, e), vectors of the same m documents by the old and by the new model:
        arrays, or ``.npy`` files read by ``numpy.load(..., mmap_mode="r")``, which stay on disk.
    old_queries, new_queries : (q, d) and (q, e), the same queries by the old and by the new model,
        at least 20. If a query is also a document, queries and documents need ids: the search and
        the fits then leave out the query's own document.
    index : (N, d), all old vectors, if the m documents are a sample of the index. Without ``index``
        the m documents are the index.
    embed : a function of positions in the index, (p,), that returns their new vectors, (p, e). For
        200 queries (40 for each group, if that is more) ``upgrade_index`` embeds the documents that
        every option returns at a depth of 5k, less than 5k · (3 + 2 · number of maps) documents per
        query. Without ``embed`` the recall among m/8, m/4, m/2 and m documents is extrapolated to
        N, linearly in logit recall and log size. In nine trials the estimate was never too low, and
        too high by up to 0.043, so it may lead to "re-embed", never to "keep" or "map queries"; m
        must be at least 1,000.
    k : number of documents returned per query.
    groups : q labels, such as classes or languages: every group must reach the recall.
    target : the deciding definition of correct documents.
    min_recall : the sufficient recall, between 0 and 1.
    maps : the maps to fit. "affine" needs 2 max(d, e) documents.
    metric : the metric of the index: "euclidean"; "cosine", which ignores lengths; or "inner", the
        inner product, which prefers long vectors.
    relevant : ids of queries mapped to ids of relevant documents, one or several each, for at least
        20 queries; without ids, positions. The new model is then compared with the old model on
        these documents. If the new model does not find significantly more, the decision is "stay".
    cost_per_document, cost_per_miss : cost of embedding one document, and cost of one lost document
        of one query, in the same unit; give both or neither.
    confidence_level : confidence of the intervals, over queries: Student's t after one more query
        of recall 0 (lower bound) or of recall 1 (upper bound). The interval holds for a single
        option, not for all options together.
    seed : seed of the halves, of the queries with a pool and of the documents of the curve.
    progress : show a bar on standard error if standard error is a terminal, or call
        ``progress(done, total)``.

    The decision is the cheapest option whose lower bounds are at least ``min_recall``, for all
    queries and for every group of 20 or more (all groups together at ``confidence_level``). If an
    option fails only in groups with less than half of the queries, re-embed the documents of those
    groups and put the new vectors into the index. Re-ranking more than a tenth of the documents is
    measured, but not chosen. In a pool a correct document may be missing: the drop of the recall
    from depth 2k to 5k is subtracted from the lower bound. The decision is "undecided", and the
    conclusion begins with a check, if a map between the models matches held-out documents but not
    queries, or queries but not documents: exchanged files, one file twice, or rows in another
    order. ``docs/upgrade.md`` has the exit codes of all decisions.

    Needs O(q (N + m) (d + e)) time for each option, and memory for one block of rows.

    Raises ``ValueError`` for vectors that do not belong together, too few queries, unknown ids in
    ``relevant``, and more than 5 % of queries without ids that equal a document;
    :class:`~resemblance.UndefinedError` for NaN, for documents that are one point, and for
    documents or cosines that differ by less than rounding.

    Reference: Drift-Adapter (Vejendla 2025) states the problem; its recall relative to re-embedding
    is ``new_model`` here. The maps are Schönemann 1966 and ridge regression.
    """
    check_upgrade_options(target, min_recall, confidence_level, k, seed, maps, metric)
    check_prices(cost_per_document, cost_per_miss)
    task_options: dict[str, Any] = {"groups": groups, "relevant": relevant, "metric": metric}
    task_options |= {"k": int(k), "confidence_level": float(confidence_level), "seed": int(seed)}
    task = build_upgrade_task(old, new, old_queries, new_queries, index, **task_options)
    if embed is not None and not callable(embed):
        raise ValueError(f"upgrade_index: embed must be a function of positions; got {embed!r}")
    if embed is not None and index is None:
        raise ValueError("upgrade_index: embed needs index: embed gets positions in the index")
    methods = build_serving_methods(task, maps)
    fault = find_pairing_fault(task, methods)
    with percent_reporter(progress, 1.0, "upgrade_index") as tick:
        if index is None:
            recalls, truth = measure_recalls(task, methods, tick), "exact"
        elif embed is None or fault:
            recalls, truth = extrapolate_recalls(task, methods, tick), "estimate"
        else:
            recalls, truth = pooled_recalls(task, methods, embed, tick), "pool"
    settings: dict[str, Any] = {
        "target": target,
        "min_recall": min_recall,
        "k": task.k,
        "metric": metric,
    }
    settings |= {
        "confidence_level": confidence_level,
        "seed": seed,
        "documents": len(task.old.source),
    }
    settings |= {"index": len(task.whole.source), "fitted": len(methods.half)}
    settings |= {"queries": len(task.a), "widths": [task.old.width, task.new.width]}
    settings |= {
        "groups": len(task.names),
        "truth": truth,
        "cost_per_document": cost_per_document,
        "cost_per_miss": cost_per_miss,
    }
    return _build_upgrade(task, methods, recalls, settings, fault)


def _build_upgrade(
    task: UpgradeTask,
    methods: ServingMethods,
    recalls: OptionRecalls,
    settings: dict[str, Any],
    fault: str,
) -> IndexUpgrade:
    """Return the upgrade: the decision, all options, and the sentences. ``settings``: the options
    of the call, by name. ``fault``: the sentence on wrong pairs that leaves the decision open, or
    ""."""
    options = _ordered_options(task, methods, recalls)
    target, min_recall, widths = settings["target"], settings["min_recall"], settings["widths"]
    is_estimate = target == "new_model" and settings["truth"] == "estimate"
    decision = Decision("undecided")
    if not fault:
        decision = choose_option(
            options, target, min_recall, is_estimate, settings["index"], recalls.gain
        )
    conclusion = fault or upgrade_verdict(
        decision, options, target, min_recall, task.k, widths, recalls.gain
    )
    facts = find_version_facts(
        unchanged_rows(task.old), unchanged_rows(task.new), DOCUMENT_NAMES, task.seed
    )
    result = IndexUpgrade(
        *decision,
        conclusion=conclusion,
        details=(),
        options=options,
        changed=recalls.changed,
        curve=recalls.curve,
        gain=recalls.gain,
        maps=methods.maps,
        row_facts=facts,
        settings=settings,
        provenance=environment_versions(),
        caveats=(
            *task.caveats,
            *(() if has_copied_rows(facts) else task.copies),
            *find_small_samples(decision, options, settings),
        ),
    )
    sentences = _fact_sentences(result) if fault else _upgrade_sentences(result)
    return replace(result, details=tuple(sentences))


def _ordered_options(
    task: UpgradeTask, methods: ServingMethods, recalls: OptionRecalls
) -> tuple[Option, ...]:
    """Return all options, the cheapest first. ``methods``: the ways to serve queries. ``recalls``:
    by option, of the answers of the new and of the old model."""
    needed = min_curve_documents(task.k)
    unknown_reason = f"fewer than {needed:,} documents are known by both models"
    if task.whole is not task.old and recalls.new_model:
        unknown_reason = "the recall is known only if all documents are re-embedded"
    full_recall = Recall(1.0, 1.0, 1.0, len(task.a))
    after = {**recalls.new_model, "re-embed": full_recall}
    truths = {"new_model": after, "old_model": recalls.old_model}
    sizes = (len(task.whole.source), len(task.old.source))
    return assemble_options(
        methods.numbers, truths, methods.reasons, unknown_reason, sizes, methods.rebuilt
    )


def _upgrade_sentences(result: IndexUpgrade) -> Iterator[str]:
    """Yield the details: facts of the rows, the gain in relevant documents, recalls of the options,
    how the recalls are known, the share of changed answers, and when re-embedding pays."""
    target, settings = result.settings["target"], result.settings
    recalls = [getattr(option, target) for option in result.options if getattr(option, target)]
    yield from _fact_sentences(result)
    method_options = [
        o for o in result.options if o.name in DECISION_BY_METHOD and (o.new_model or o.old_model)
    ]
    if result.gain is not None and result.decision != "stay":
        yield f"On this corpus the new model {format_gain(result.gain)}."
    yield from (format_option_recalls(option, target) for option in method_options)
    if sentence := format_candidate_recalls(result.options):
        yield sentence
    yield from (
        format_option_recalls(o, target) for o in result.options if o.decision == "re-embed a part"
    )
    if sentence := part_sentence(result.options):
        yield sentence
    yield from _map_sentence(result)
    if settings["truth"] == "pool":
        hidden_share = max((o.new_model.hidden for o in result.options if o.new_model), default=0.0)
        yield (
            "The documents that the new model finds are chosen from a pool of candidates; a "
            f"larger pool might lower the recalls by {format_percent(hidden_share)} or a little "
            "more, and the lower bounds account for this."
        )
    groups = [group for recall in recalls for group in recall.groups]
    small_groups = {str(group.group) for group in groups if group.low is None}
    if small_groups:
        yield (
            f"Groups of fewer than {MIN_QUERIES} queries are not assessed: "
            f"{list_names(sorted(small_groups), 5)}."
        )
    if result.curve:
        yield (
            f"The documents that the new model finds are known for {settings['documents']:,} "
            f"documents and continued to {settings['index']:,}; where it was tried the estimate "
            f"was too high by up to {format_percent(MAX_EXTRAPOLATION_EXCESS)}."
        )
        if settings["groups"] and target == "new_model":
            yield "Groups are not assessed by an estimate for a larger index; pass embed."
    if result.changed is not None:
        changed_percent = format_percent(result.changed)
        yield f"Re-embedding everything would change {changed_percent} of the old answers."
    if result.changed is not None and result.changed > NEARLY_ALL_SHARE:
        yield (
            "This is nearly all: check that queries and documents have the same order for both "
            "models, and that old_queries come from the old model."
        )
    for option in result.options:
        n_queries = result.break_even(option.name)
        if n_queries is not None and option.name in (result.option, *BREAK_EVEN_OPTIONS):
            payoff = "never pays" if np.isinf(n_queries) else f"pays after {n_queries:,.0f} queries"
            yield f"Re-embedding all documents, in place of {option.name}, {payoff}."


def _fact_sentences(result: IndexUpgrade) -> Iterator[str]:
    for fact in result.row_facts:
        yield f"{fact.sentence} {FACT_REMEDIES.get(fact.kind, fact.remedy)}"


def _map_sentence(result: IndexUpgrade) -> Iterator[str]:
    """Yield the sentence that says whether the chosen option maps queries or documents. Yield
    nothing if the option has no map."""
    option = next((o for o in result.options if o.name == result.option), None)
    name = "" if option is None else option.base if option.candidates else option.name
    if name in result.maps:
        side = result.maps[name].side
        model, space = ("new", "old index") if side == "queries" else ("old", "new model")
        scaling = " and scales them to length 1" if result.maps[name].normalize_mapped else ""
        yield (
            f"The map takes {side} of the {model} model to the space of the {space}{scaling}; the "
            "other direction needs another map."
        )
