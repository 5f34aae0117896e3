"""The first lines of a result: trial warning, description of the run, and the best mean rank."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ..base.formatting import count_with_noun, join_words
from .claims import NO_DATA, Claim
from .ranks import Ranking

TRIAL_SIZES = {  # (suite, size)
    ("resi", "slice"), ("resi", "paper-slice"), ("sensitivity", "small"), ("manifolds", "small"),
    ("stability", "small"), ("joint", "trial"),
}  # fmt: skip
TRIAL_WARNING = "Trial run: do not interpret these scores."
USER_MODELS_NOTE = "models of your own"
STANDARD_SIZE_NOTE = "small models on data that comes with the package; not the paper's"
SIZE_DESCRIPTIONS: Mapping[tuple[str, str], str] = {
    ("resi", "demo"): "small stand-in models, half as many; not the paper's",
    ("resi", "mini"): "small stand-in models; not the paper's",
    ("resi", "architectures"): "ten small stand-in models, three seeds; not the paper's",
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
MIN_COMPARED_MODELS = 10  # models compared with each other, as in the ReSi benchmark


def is_trial(suite: str, size: str) -> bool:
    """Return whether a run of a suite (by name) with this size is a trial, only to check that
    everything works."""
    return (suite, size) in TRIAL_SIZES


def remove_verdicts(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return copies of ``claims`` for a trial run: "–" in place of our result, and the verdict "no
    data"."""
    return tuple(
        c._replace(ours="–", verdict=NO_DATA, note="a trial run tests no claim") for c in claims
    )


def describe_run_size(suite: str, size: str) -> str:
    """Return the size of a run with its meaning: "mini: small stand-in models; not the paper's";
    the size alone without a known meaning."""
    meaning = (
        "for trying out" if is_trial(suite, size) else SIZE_DESCRIPTIONS.get((suite, size), "")
    )
    return f"{size}: {meaning}" if meaning else size


def warn_few_models(n_models: int) -> str:
    """Return a warning if fewer than ten models are compared with each other; otherwise "".
    ``n_models``: the largest number of such models."""
    if n_models >= MIN_COMPARED_MODELS:
        return ""
    return (
        f"Few models: at most {n_models} are compared with each other, where the benchmark has "
        f"{MIN_COMPARED_MODELS}. Other models may rank the measures differently, and the intervals "
        "do not show this."
    )


def headline(rankings: Sequence[Ranking], labels: Mapping[str, str]) -> str:
    """Return a sentence on the measures with the best mean rank, or on the lack of ranks.
    ``rankings``: best mean first. ``labels``: by measure."""
    if not rankings:
        return "No measure has a rank: there is no task in which measures were ranked."
    first = rankings[0]
    leaders = [r for r in rankings if math.isclose(r.mean, first.mean)]
    names = [labels.get(r.measure, r.measure) for r in leaders]
    text = join_words(names, MAX_NAMES_IN_HEADLINE)
    if len(rankings) == 1:
        return f"{text} is the only measure with a rank, so its rank means nothing."
    verb = "has" if len(leaders) == 1 else "have"
    return (
        f"{text} {verb} the best mean rank, {first.mean:.2f}, among {len(rankings)} measures over "
        f"{count_with_noun(len(first.ranks), 'task')}. Without scores of several seeds of the same "
        "networks there are no intervals, and other models may rank the measures differently."
    )
