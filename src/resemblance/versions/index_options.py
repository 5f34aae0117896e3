"""Options for an old index under a new model, in order of cost, with their recalls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal, NamedTuple

Goal = Literal["new_model", "old_model"]
TRUTH_PHRASES = {
    "new_model": "the new model would find if all documents were re-embedded",
    "old_model": "the old model found",
}
ANSWER_PHRASES = {"new_model": "the new model's answers", "old_model": "the old model's"}
DECISION_EXIT_CODES = {  # exit codes of the command by decision, in order of cost
    "stay": 0, "keep": 0, "normalize": 0, "cut": 0, "map queries": 0, "map documents": 0,
    "re-rank": 0, "re-embed a part": 1, "re-embed": 1, "undecided": 4,
}  # fmt: skip
DECISION_BY_METHOD = {  # decision for each way to serve new queries, in order of cost
    "keep": "keep", "normalize": "normalize", "cut": "cut",
    "orthogonal": "map queries", "affine": "map queries",
    "documents_orthogonal": "map documents", "documents_affine": "map documents",
}  # fmt: skip
DECISION_BY_OPTION = {
    **DECISION_BY_METHOD,
    "rerank": "re-rank",
    "part": "re-embed a part",
    "re-embed": "re-embed",
}
OLD_QUERIES = "old_queries"  # candidates that the old model finds and the new model re-ranks
CANDIDATE_COUNTS = (20, 50, 100, 200)  # documents of the old index that the new model re-ranks
MIN_DOCUMENTS_PER_CANDIDATE = 10  # re-ranking more than one document in ten is no option
REEMBEDDED_SHARES = (0.25, 0.5, 0.75)  # shares of re-embedded documents


class GroupRecall(NamedTuple):
    """The recall of the queries of one group; ``low`` is None for fewer than 20 queries."""

    group: Hashable
    value: float
    low: float | None
    queries: int


class Recall(NamedTuple):
    """The share of the k correct documents that queries find, averaged over queries, with its
    interval.

    The bounds of groups hold for all groups simultaneously. ``hidden`` is the further loss of
    recall in a deeper pool; ``low`` already allows for the loss.
    """

    value: float
    low: float
    high: float
    queries: int
    groups: tuple[GroupRecall, ...] = ()
    hidden: float = 0.0

    @property
    def worst(self) -> GroupRecall | None:
        """The group with the lowest recall among groups with at least 20 queries; None without such
        a group."""
        assessed = [group for group in self.groups if group.low is not None]
        return min(assessed, key=lambda group: group.value, default=None)


class Option(NamedTuple):
    """An option for an old index, its recall for both targets, and why a recall is missing.

    ``n_parameters``: number of fitted parameters. ``base``: the option whose candidates are
    re-ranked, or whose map is applied to the remaining documents. ``candidates``: number of
    documents re-ranked by the new model, 0 for none. ``embeds``: number of documents to re-embed
    before the first query. ``rebuild``: whether stored vectors change.
    """

    name: str
    n_parameters: int
    new_model: Recall | None
    old_model: Recall | None
    reason: str = ""
    base: str = ""
    candidates: int = 0
    embeds: int = 0
    rebuild: bool = False

    @property
    def decision(self) -> str:
        """The decision for the option."""
        return DECISION_BY_OPTION[self.name.partition("[")[0]]


def rerank_option_name(base: str, candidates: int) -> str:
    """Return the name of the option that re-ranks the first candidates of another option."""
    return f"rerank[{base}, {candidates}]"


def part_option_name(share: float) -> str:
    """Return the name of the option that re-embeds a share of the documents."""
    return f"part[{share:g}]"


def assemble_options(
    numbers: Mapping[str, int],
    recalls: Mapping[str, Mapping[str, Recall]],
    reasons: Mapping[str, str],
    unknown_reason: str,
    sizes: tuple[int, int],
    rebuilt_names: frozenset[str],
) -> tuple[Option, ...]:
    """Return all options, the cheapest first.

    ``numbers``: the free parameters of the map of each requested method. ``recalls``: by target
    ("new_model", "old_model") and option. ``reasons``: why an option is not assessed, with
    ``unknown_reason`` for all other options without a recall. ``sizes``: number of documents in the
    index, and number of documents of which a partial re-embedding takes a share. ``rebuilt_names``:
    methods that change stored vectors.
    """
    index_size, n_documents = sizes

    def option(name: str, count: int, **fields: Any) -> Option:
        after, before = (recalls[truth].get(name) for truth in ("new_model", "old_model"))
        reason = reasons.get(name, "" if name in recalls["new_model"] else unknown_reason)
        return Option(name, count, after, before, reason)._replace(**fields)

    method_options = [
        option(name, numbers[name], rebuild=name in rebuilt_names)
        for name in DECISION_BY_METHOD
        if name in numbers
    ]
    reranked_options = [
        option(
            rerank_option_name(base, count),
            numbers.get(base, 0),
            base=base,
            candidates=count,
            rebuild=base in rebuilt_names,
        )
        for count in CANDIDATE_COUNTS
        for base in (*DECISION_BY_METHOD, OLD_QUERIES)
        if rerank_option_name(base, count) in recalls["new_model"]
    ]
    base = next((b for b in ("documents_affine", "documents_orthogonal") if b in numbers), "")
    partial_options = [
        option(
            part_option_name(share),
            numbers[base],
            base=base,
            embeds=round(share * n_documents),
            rebuild=True,
        )
        for share in REEMBEDDED_SHARES
        if part_option_name(share) in recalls["new_model"]
    ]
    full_option = option("re-embed", 0, embeds=index_size, rebuild=True)
    return (*method_options, *reranked_options, *partial_options, full_option)
