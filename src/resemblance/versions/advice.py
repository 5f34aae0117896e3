"""The decision about an old index, derived from recalls and worded in sentences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.formatting import format_percent, join_words
from .index_options import (
    ANSWER_PHRASES,
    MIN_DOCUMENTS_PER_CANDIDATE,
    OLD_QUERIES,
    TRUTH_PHRASES,
    Goal,
    GroupRecall,
    Option,
    Recall,
)
from .relevance import RelevanceGain

# largest overestimate of an extrapolated recall, in nine trials
MAX_EXTRAPOLATION_EXCESS = 0.043
OPTION_PHRASES = {  # a phrase for each option, and the verb of the phrase
    "keep": ("new queries as they are", "find"),
    "normalize": ("stored vectors that are normalised", "give"),
    "cut": ("vectors that are cut to the same width", "give"),
    "orthogonal": ("a rotation of new queries", "finds"),
    "affine": ("an affine map of new queries", "finds"),
    "documents_orthogonal": ("documents mapped by a rotation", "give"),
    "documents_affine": ("documents mapped by an affine map", "give"),
    OLD_QUERIES: ("old queries by the old model", "find"),
}
OPTION_INSTRUCTIONS = {  # instructions to the user
    "keep": "Keep the index, and search with new queries as they are",
    "normalize": "Normalise the stored vectors, and search with normalised new queries",
    "orthogonal": "Keep the index, and map new queries with a rotation",
    "affine": "Keep the index, and map new queries with an affine map",
    "documents_orthogonal": "Map the stored vectors with a rotation, and search with new queries",
    "documents_affine": "Map the stored vectors with an affine map, and search with new queries",
}


MIN_ADVISED_QUERIES = 300  # with fewer queries, the lower bounds are far below the recalls
MIN_ROTATION_DOCUMENTS, MIN_RERANK_DOCUMENTS = 1000, 2000
MIN_AFFINE_DOCUMENTS_PER_COLUMN = 10


class Decision(NamedTuple):
    """A decision of :data:`.DECISION_EXIT_CODES`, the name of the chosen option, and the groups
    whose documents need re-embedding."""

    name: str
    option: str | None = None
    groups: tuple[Hashable, ...] = ()


def choose_option(
    options: Sequence[Option],
    target: Goal,
    min_recall: float,
    is_estimate: bool,
    documents: float = np.inf,
    gain: RelevanceGain | None = None,
) -> Decision:
    """Return the decision, from the recalls of the answers ``target``. Options are tried in the
    given order, the cheapest first.

    ``documents``: the number of documents in the index. An option passes if its lower bounds, over
    all queries and in every group, are at least ``min_recall``. The first rule that applies
    decides:

    - "stay", if the lower bound of ``gain`` is at most 0: the new model is not shown to be better.
    - "undecided", if no option has a recall. Re-ranking more than a tenth of the ``documents`` is
      no option.
    - For recalls that are estimates for a larger index (``is_estimate``): "re-embed" if all upper
      bounds are below ``min_recall``, else "undecided".
    - The first option that passes and embeds no document.
    - "re-embed a part", with the failing groups: the first option without re-ranking whose passing
      groups have at least half of the queries.
    - The first partial re-embedding that passes.
    - "re-embed".
    """
    if gain is not None and gain.low <= 0:
        return Decision("stay")
    recalls = [(option, getattr(option, target)) for option in options]
    assessed = [
        (option, recall)
        for option, recall in recalls
        if recall is not None
        and option.decision != "re-embed"
        and option.candidates * MIN_DOCUMENTS_PER_CANDIDATE <= documents
    ]
    if not assessed:
        return Decision("undecided")
    if is_estimate:
        is_low = all(recall.high < min_recall for _, recall in assessed)
        return Decision("re-embed" if is_low else "undecided")
    whole_options = [(o, r) for o, r in assessed if o.decision != "re-embed a part"]
    for option, recall in whole_options:
        if recall.low >= min_recall and not _failing_groups(recall, min_recall):
            return Decision(option.decision, option.name)
    for option, recall in whole_options:
        failing_groups = _failing_groups(recall, min_recall)
        passing_groups = [g for g in recall.groups if g.low is not None and g not in failing_groups]
        is_most = sum(group.queries for group in passing_groups) >= recall.queries / 2
        if failing_groups and is_most and not option.candidates:
            groups = tuple(group.group for group in failing_groups)
            return Decision("re-embed a part", option.name, groups)
    for option, recall in assessed[len(whole_options) :]:
        if recall.low >= min_recall and not _failing_groups(recall, min_recall):
            return Decision(option.decision, option.name)
    return Decision("re-embed")


def _failing_groups(recall: Recall, min_recall: float) -> list[GroupRecall]:
    return [group for group in recall.groups if group.low is not None and group.low < min_recall]


def find_small_samples(
    decision: Decision, options: Sequence[Option], settings: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return caveats about fewer queries or documents than ``docs/upgrade.md`` advises.

    Documents are counted for the chosen option and for all cheaper options.
    """
    caveats, queries, documents = [], settings["queries"], settings["documents"]
    if queries < MIN_ADVISED_QUERIES:
        caveats.append(
            f"{queries:,} queries are fewer than the advised {MIN_ADVISED_QUERIES:,}: the lower "
            "bounds are low, and a rare kind of query may be missing"
        )
    advised_counts = {
        "orthogonal": ("a rotation", MIN_ROTATION_DOCUMENTS),
        "affine": ("an affine map", MIN_AFFINE_DOCUMENTS_PER_COLUMN * max(settings["widths"])),
        "rerank": ("re-ranking", MIN_RERANK_DOCUMENTS),
    }
    names = [option.name for option in options]
    n_tried = names.index(decision.option) + 1 if decision.option in names else len(names)
    tried = {o.name.partition("[")[0] for o in options[:n_tried] if o.new_model or o.old_model}
    lacking = [
        f"{count:,} for {phrase}"
        for name, (phrase, count) in advised_counts.items()
        if name in tried and documents < count
    ]
    if lacking and decision.name != "stay":
        scope = f"; the recalls are for an index of {documents:,} documents"
        caveats.append(
            f"{documents:,} documents by both models are fewer than the advised "
            f"{join_words(lacking)}{scope if settings['index'] == documents else ''}"
        )
    return tuple(caveats)


# ------------------------------------------------------------------------------------------- words


def format_decision(decision: str, option: str | None) -> str:
    """Return the decision with the name of the option: "map queries (option orthogonal)"."""
    return decision if option in (None, decision) else f"{decision} (option {option})"


def upgrade_verdict(
    decision: Decision,
    options: Sequence[Option],
    target: Goal,
    min_recall: float,
    k: int,
    widths: tuple[int, int],
    gain: RelevanceGain | None = None,
) -> str:
    """Return the decision, and the recall of the chosen option, in a sentence or two. ``options``:
    all options. ``min_recall``: the required recall, a share. ``k``: answers per query. ``widths``:
    of the old and of the new vectors. ``gain``: the gain in relevance, if measured."""
    if decision.name == "stay" and gain is not None:
        return f"Stay with the old model: the new model {format_gain(gain)}."
    recalls = {o.name: getattr(o, target) for o in options}
    option = next((o for o in options if o.name == decision.option), None)
    target_phrase = f"of the {k} documents that {TRUTH_PHRASES[target]}"
    if option is None or decision.name in ("re-embed", "undecided"):
        return _no_cheap_option_verdict(decision, options, target, min_recall, target_phrase)
    recall = recalls[option.name]
    text = (
        f"{option_instruction(option, widths)}: they find {format_recall(recall)} {target_phrase}."
    )
    if decision.groups:
        names = ", ".join(map(str, decision.groups))
        instruction = (
            "put them" if not option.n_parameters else "put them, mapped like the queries,"
        )
        if option.decision == "map documents":
            instruction = "put their new vectors"
        text += (
            f" Re-embed the documents of {names} and {instruction} into the index: queries of "
            f"{'these groups are' if len(decision.groups) > 1 else 'this group are'} not shown to "
            f"find {format_percent(min_recall)}."
        )
    return text


def _no_cheap_option_verdict(
    decision: Decision,
    options: Sequence[Option],
    target: Goal,
    min_recall: float,
    target_phrase: str,
) -> str:
    """Return the sentence for the ``decision`` "re-embed" or "undecided", with the option of the
    largest recall. If no option has a recall, the sentence asks for ``index`` and ``embed``.

    ``options``: all options. ``target``: the field with the recall that counts. ``target_phrase``:
    the words after a recall, "of the 10 documents that ...".
    """
    recalls = {o: getattr(o, target) for o in options if o.decision != "re-embed"}
    known_recalls = {option: recall for option, recall in recalls.items() if recall is not None}
    best_option = max(known_recalls, key=lambda option: known_recalls[option].value, default=None)
    if best_option is None:
        return (
            "Undecided: too few documents are embedded by both models to estimate the answers "
            "of the new model. Pass index and embed."
        )
    best_phrase = (
        f"{option_phrase(best_option)} {option_verb(best_option)} "
        f"{format_recall(known_recalls[best_option])} {target_phrase}"
    )
    if decision.name == "undecided":
        return (
            f"Undecided: in an index of this size {best_phrase}, according to an estimate that was "
            f"up to {format_percent(MAX_EXTRAPOLATION_EXCESS)} too high in tests. Pass embed to "
            "measure the recall."
        )
    return (
        f"Re-embed all documents: no cheaper option is shown to find {format_percent(min_recall)}; "
        f"at best {best_phrase}."
    )


def option_instruction(option: Option, widths: tuple[int, int]) -> str:
    """Return the sentence, without full stop, that tells the user how to apply an option.
    ``widths``: of the old and of the new vectors."""
    old_width, new_width = widths
    if option.name == "cut":
        vectors = "new queries"
        if old_width > new_width:
            vectors = f"the stored vectors to their first {new_width}"
        tail = "" if old_width > new_width else f" to their first {old_width}"
        normalization = "" if old_width < new_width else ", normalised if the new model normalises,"
        return (
            f"Keep the index, cut {vectors}{tail} values{normalization} and search with new queries"
        )
    if option.candidates:
        return (
            f"Keep the index, take {option.candidates} candidates for each query by "
            f"{OPTION_PHRASES[option.base][0]}, and re-rank them by the new model"
        )
    if option.decision == "re-embed a part":
        return (
            f"Re-embed {option.embeds:,} documents, map the others by the map of documents, and "
            "search with new queries"
        )
    return OPTION_INSTRUCTIONS[option.name]


def option_phrase(option: Option) -> str:
    """Return a noun phrase for an option, such as "a rotation of new queries"."""
    part_map = "an affine map" if option.base == "documents_affine" else "a rotation"
    if option.candidates:
        return f"re-ranking {option.candidates} candidates of {OPTION_PHRASES[option.base][0]}"
    if option.decision == "re-embed a part":
        return f"re-embedding {option.embeds:,} documents and mapping the others by {part_map}"
    if option.decision == "re-embed":
        return "re-embedding all documents"
    return OPTION_PHRASES[option.name][0]


def option_verb(option: Option) -> str:
    """Return "find" or "finds", the verb for the phrase of an option."""
    return OPTION_PHRASES[option.name][1] if option.name in OPTION_PHRASES else "finds"


def format_recall(recall: Recall) -> str:
    """Return a recall as text, "value (low to high)" in percent."""
    value, low, high = map(format_percent, (recall.value, recall.low, recall.high))
    return f"{value} ({low} to {high})"


def format_gain(gain: RelevanceGain) -> str:
    """Return a phrase that begins with a verb: whether the new model finds more relevant documents
    than the old model, the two recalls, and the difference with the interval, in points of
    percent."""
    new_recall, old_recall = format_percent(gain.new), format_percent(gain.old)
    comparison = f"{new_recall} of the relevant documents, the old one {old_recall}"
    percents = (f"{100 * value:+.1f}".replace("-", "−") for value in gain[2:5])
    difference, low, high = percents
    if gain.low > 0:
        verb = "finds more"
    elif gain.high < 0:
        verb = "finds fewer"
    else:
        verb = "is not shown to find more"
    return f"{verb}: {comparison}, a difference of {difference} ({low} to {high}) points"


def format_option_recalls(option: Option, target: Goal) -> str:
    """Return a sentence with the recalls of an option for the two targets, and with the recall for
    ``target`` in the worst group. For an option without recalls, the sentence gives the reason."""
    name = option_phrase(option)
    subject = f"{name[0].upper()}{name[1:]} {option_verb(option)}"
    recalls = [
        f"{format_recall(recall)} of {ANSWER_PHRASES[truth]}"
        for truth, recall in (("new_model", option.new_model), ("old_model", option.old_model))
        if recall is not None
    ]
    if not recalls:
        return f"{name[0].upper()}{name[1:]}: not assessed, as {option.reason}."
    line = f"{subject} {', and '.join(recalls)}"
    recall = getattr(option, target)
    worst_group = None if recall is None else recall.worst
    if worst_group is not None and worst_group.low is not None:
        value, low = format_percent(worst_group.value), format_percent(worst_group.low)
        line += f"; {value} (at least {low}) in group {worst_group.group}"
    return f"{line}."


def part_sentence(options: Sequence[Option]) -> str:
    """Return the sentence that explains why re-embedding a part of the documents finds less than a
    cheaper option; "" if no part does."""
    recalls = [(o, o.new_model) for o in options if o.new_model is not None and not o.candidates]
    cheaper_recalls = [(o, recall.value) for o, recall in recalls if not o.embeds]
    parts = [recall.value for o, recall in recalls if o.decision == "re-embed a part"]
    best_option, best = max(cheaper_recalls, key=lambda entry: entry[1], default=(None, 0.0))
    if best_option is None or min(parts, default=1.0) >= best:
        return ""
    return (
        f"Re-embedding a part can find less than {option_phrase(best_option)}: the search then "
        "ranks new and mapped vectors together, and mapped vectors are not at the same distances."
    )


def format_candidate_recalls(options: Sequence[Option]) -> str:
    """Return the sentence about re-ranking: the share of the new model's answers among the
    candidates of the best option, by number of candidates. Return "" if no option re-ranks."""
    reranked = [o for o in options if o.candidates and o.new_model is not None]
    if not reranked:
        return ""
    best_option = max(
        reranked, key=lambda option: option.new_model.value if option.new_model else 0.0
    )
    base_options = [o for o in reranked if o.base == best_option.base]
    shares = ", ".join(
        f"with {o.candidates} candidates {format_percent(o.new_model.value)}"
        for o in base_options
        if o.new_model
    )
    return (
        f"Re-ranking the candidates of {OPTION_PHRASES[best_option.base][0]} finds this share of "
        f"the new model's answers: {shares}."
    )
