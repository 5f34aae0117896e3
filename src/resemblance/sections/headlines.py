"""The first lines of a result: trial warning, description of the run, and leading measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..base.formatting import join_words
from ..significance import SETTLING, Place, Places
from .claims import NO_DATA, Claim

TRIAL_SIZES = {  # (suite, size)
    ("resi", "slice"), ("resi", "paper-slice"), ("sensitivity", "small"), ("manifolds", "small"),
    ("stability", "small"), ("joint", "trial"),
}  # fmt: skip
TRIAL_WARNING = "Trial run: the scores mean nothing."
USER_MODELS_NOTE, STANDARD_SIZE_NOTE = (
    "models of your own",
    "small models on data that comes with the package; not the paper's",
)
SIZE_DESCRIPTIONS: Mapping[tuple[str, str], str] = {
    ("resi", "mini"): "small stand-in models; not the paper's",
    ("resi", "standard"): STANDARD_SIZE_NOTE,
    ("resi", "paper"): "the paper's models, trained on its data",
    ("sensitivity", "default"): STANDARD_SIZE_NOTE,
    (
        "sensitivity",
        "paper",
    ): "as many models and samples as the paper, but small ones on data of the package",
    ("stability", "default"): STANDARD_SIZE_NOTE,
    ("stability", "paper"): "three seeds of small models on data of the package; not the paper's",
    ("manifolds", "default"): "up to 1,000 points, where the paper has 5,000",
    ("manifolds", "paper"): "up to 5,000 points, as in the paper",
}
MAX_NAMES_IN_HEADLINE = 5  # names listed in a sentence
RESAMPLING_NOTE = (
    "Two measures cannot be told apart when the 95 % interval of the difference of their mean "
    "ranks contains 0: it is from samples of the cells of the same models, each with the ranks of "
    "all measures, and wide enough that the intervals of all pairs hold together; other models may "
    "order the measures otherwise."
)
MIN_COMPARED_MODELS = 10  # models compared with each other, as in the ReSi benchmark


def is_trial(suite: str, size: str) -> bool:
    """Return whether a run of this size is a trial, only to check that everything works."""
    return (suite, size) in TRIAL_SIZES


def remove_verdicts(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the claims for a trial run: no numbers and no verdict."""
    return tuple(
        c._replace(ours="–", verdict=NO_DATA, note="a trial run puts no claim to the test")
        for c in claims
    )


def describe_run_size(suite: str, size: str) -> str:
    """Return the size of a run with its meaning: "mini: small stand-in models; not the paper's"."""
    meaning = (
        "for trying out" if is_trial(suite, size) else SIZE_DESCRIPTIONS.get((suite, size), "")
    )
    return f"{size}: {meaning}" if meaning else size


def warn_few_models(n_models: int) -> str:
    """Return a warning if at most ``n_models`` models are compared with each other, and that is too
    few; else "" (no warning)."""
    if n_models >= MIN_COMPARED_MODELS:
        return ""
    return (
        f"Few models: at most {n_models} are compared with each other, where the benchmark has "
        f"{MIN_COMPARED_MODELS}. Other models may order the measures otherwise, which no interval "
        "here shows."
    )


def headline(places: Places, labels: Mapping[str, str]) -> str:
    """Return a sentence on the leading measure, and on the measures statistically tied with it."""
    if not places.rows:
        return "No measure has a rank: there is no cell in which measures were ranked."
    leader, count = places.rows[0], len(places.rows)
    names = {p.measure: labels.get(p.measure, p.measure) for p in places.rows}
    leaders = [p for p in places.rows if p.mean == leader.mean]
    leader_names = join_words([names[p.measure] for p in leaders], MAX_NAMES_IN_HEADLINE)
    if count == 1:
        return f"{leader_names} is the only measure with a rank, so its rank means nothing."
    if not places.is_settling:
        cells = "1 cell does" if places.cells == 1 else f"{places.cells} cells do"
        return (
            f"{cells} not settle the order of {count} measures: with fewer than {SETTLING}, even "
            "the first in all of them may be so by chance. Here the best mean rank is that of "
            f"{leader_names}, {leader.mean:.2f}."
        )
    verb = "leads" if len(leaders) == 1 else "lead together"
    sentence = (
        f"{leader_names} {verb} with a mean rank of {leader.mean:.2f} among {count} measures over "
        f"{places.cells} cells"
    )
    other_places = [p for p in places.rows if p.mean > leader.mean]
    return f"{sentence}; {_describe_measures_behind(other_places, names, len(leaders) > 1)}"


def leaders_without_each_group(places: Places, labels: Mapping[str, str]) -> str:
    """Return which measure leads if a group of tasks is left out, for each decisive group, and
    which groups do not count; "" for a single group."""
    if not places.is_settling or len(places.by_group) < 2:
        return ""
    parts = []
    for group in (g for g in places.by_group if g not in places.few):
        if leaders := places.leader_without(group):
            names = join_words((labels.get(m, m) for m in leaders), MAX_NAMES_IN_HEADLINE)
            parts.append(f"without {group}: {names}")
    sentences = [f"The leader {'; '.join(parts)}."] if parts else []
    if places.few:
        names = join_words(places.few, MAX_NAMES_IN_HEADLINE)
        sentences.append(f"Not counted, for fewer than {SETTLING} cells: {names}.")
    return " ".join(sentences)


def _describe_measures_behind(
    places: Sequence[Place], names: Mapping[str, str], is_plural: bool
) -> str:
    pronoun = "them" if is_plural else "it"
    tied_names = [names[p.measure] for p in places if p.is_tied]
    if not places:
        return "there is no other measure."
    if not tied_names:
        return (
            f"every other measure is behind {pronoun}, the next being {names[places[0].measure]} "
            f"{places[0].mean:.2f}."
        )
    if len(tied_names) == len(places) > 1:
        return f"none of the {len(places)} others can be told from {pronoun}."
    return f"{join_words(tied_names, MAX_NAMES_IN_HEADLINE)} cannot be told from {pronoun}."
