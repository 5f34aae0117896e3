"""From the facts of an evaluation to its result: one section for every question of a reader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from ...results.claims import Claim
from ...results.headlines import OWN, few_models, listed
from ...results.result import Result
from ...results.sections import Section
from ..case import cell_name
from ..families import ModelFamily, readable
from ..reliability import LEAST_RELIABILITY, is_reliable
from ..study import judged_by
from .cases import TESTS
from .details import (
    failures_section,
    group_table,
    inputs_section,
    measures_section,
    strips_of,
    times_section,
)
from .facts import Evaluation, family_of
from .matrices import choice_of
from .paper import PORTIONS
from .ranking import ranked_cells
from .scores import data_tables, scores_section
from .standings import (
    Standings,
    before_section,
    distribution_section,
    ranking_section,
    standings_of,
    verdict,
)
from .words import ABOUT, FAILURE_WORDS, PAPER, PROTOCOL_WORDS, READING, TITLE, quality_word

Judges = Mapping[str, Callable[[Evaluation], Iterable[Claim]]]


def result_of(facts: Evaluation, claims: Judges | None = None) -> Result:
    """Return the result of an evaluation.

    ``claims``: by the name of a section, a function that judges the claims of a paper on the
    facts.
    """
    standings, judges = standings_of(facts), dict(claims or {})
    sections = [
        s._replace(claims=judged_by(judges, s.name, facts)) if s.name in judges else s
        for s in _sections(standings)
    ]
    return Result(
        "resi",
        facts.size or OWN,
        tuple(sections),
        standings.names,
        provenance=_provenance(standings),
        facts={**_what(facts), "domains": ", ".join(standings.domains), "protocol": facts.protocol},
        lead=verdict(standings),
        remarks=_remarks(facts),
        title=TITLE,
        about=(
            f"{ABOUT} Evaluated by {PROTOCOL_WORDS.get(facts.protocol, facts.protocol)} ({PAPER}); "
            f"{FAILURE_WORDS.get(facts.failures, facts.failures)}."
        ),
        counts=counts_of(standings),
    )


def _sections(standings: Standings) -> Iterator[Section]:
    yield ranking_section(standings)
    yield distribution_section(standings)
    yield _with_scores(scores_section(standings), standings.facts)
    yield from _test_sections(standings)
    for section in (before_section(standings), times_section(standings)):
        if section is not None:
            yield section
    yield failures_section(standings)
    yield measures_section(standings)
    inputs = inputs_section(standings)
    if inputs is not None:
        yield inputs


def _test_sections(standings: Standings) -> Iterator[Section]:
    """Yield a section for every test that was made or tried: its matrices, groups, and scores."""
    facts, tables = standings.facts, data_tables(standings)
    for test, title in TESTS.items():
        absent = {str(family_of(a)): a.reason for a in facts.absent if a.test == test}
        figures = (choice_of(standings, test), *strips_of(facts, test))
        groups = tuple(g for g in facts.groups if g.test == test)
        listed = (group_table(facts._replace(groups=groups)),) if groups else ()
        section = Section(
            test,
            title,
            READING[test],
            (*listed, *([tables[test]] if test in tables else [])),
            tuple(figure for figure in figures if figure is not None),
            reasons=absent,
        )
        if section.tables or section.figures or absent:
            yield section


def _with_scores(section: Section, facts: Evaluation) -> Section:
    """Return a section with the cells that count for the ranking, in the order of the facts."""
    cells = list(ranked_cells(facts.scores, protocol=facts.protocol, failures=facts.failures))
    return section._replace(
        scores={cell_name(cell): scores for cell, scores, _ in cells},
        rules={cell_name(cell): rule for cell, _, rule in cells},
    )


# ------------------------------------------------------------------------------- what was evaluated


def counts_of(standings: Standings) -> dict[str, str]:
    """Return how many models, measures, ranked cells and comparisons there are.

    Comparisons are of two different representations, each counted once.
    """
    facts, pairs = standings.facts, set[tuple[str, ...]]()
    for m in facts.maps:
        pairs |= {(*family_of(m), *sorted(pair)) for pair in combinations(m.names, 2)}
    orders = sum(1 if info.symmetric else 2 for info in facts.measures)
    counts = {
        "model": len(_models(facts)),
        "measure": len(facts.measures),
        "ranked cell": len(standings.ranks),
        "comparison": len(pairs) * orders,
    }
    return {
        f"{word}{'' if count == 1 else 's'}": f"{count:,}".replace(",", "\u202f")
        for word, count in counts.items()
    }


def _models(facts: Evaluation) -> set[tuple[str, ...]]:
    """Return domain, data set, architecture and name of every model that was compared."""
    models = set[tuple[str, ...]]()
    for m in facts.maps:
        names = (m.model,) if m.model else m.names
        models |= {(m.domain, m.dataset, m.architecture, name) for name in names}
    return models


def _what(facts: Evaluation) -> dict[str, str]:
    """Return what was evaluated: data sets, models, seeds."""
    families = dict.fromkeys((m.domain, m.dataset, m.architecture) for m in facts.maps)
    names = [readable(dataset, architecture) for _, dataset, architecture in families]
    architectures = ", ".join(dict.fromkeys(architecture for _, architecture in names))
    models = _models(facts)
    seeds = {name.rpartition("/seed")[2] for *_, name in models if "/seed" in name}
    return {
        "data sets": ", ".join(dict.fromkeys(dataset for dataset, _ in names)) or "none",
        "models": f"{len(models)}: {architectures or 'none'}",
        **({"seeds": str(len(seeds))} if seeds else {}),
    }


def _remarks(facts: Evaluation) -> tuple[str, ...]:
    """Return what a reader must know before the numbers: few models or samples, what is missing."""
    most = max((len(m.names) for m in facts.maps if m.test != "layers"), default=0)
    few = "" if facts.size else few_models(most)
    left = "; ".join(f"{folder} ({why})" for folder, why in facts.left_out.items())
    samples = facts.provenance.get("samples")
    fewer = (
        f"Compared on at most {samples} samples of every data set, drawn once; accuracies and "
        "outputs are those of all samples."
    )
    untrained = _not_trained(facts.untrained)
    if untrained and facts.size not in PORTIONS:
        untrained += " Their tests are made with the models that are left."
    texts = (
        few,
        fewer if samples else "",
        f"Left out: {left}." if left else "",
        untrained,
        _not_ranked(facts),
    )
    return tuple(filter(None, texts))


def _not_trained(untrained: Mapping[str, str]) -> str:
    """Say which models could not be trained, by the reason; nothing when all could."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, why in untrained.items():
        by_reason[why].append(name)
    listing = "; ".join(f"{listed(names)} ({why})" for why, names in by_reason.items())
    return f"{len(untrained)} models could not be trained: {listing}." if untrained else ""


def _not_ranked(facts: Evaluation) -> str:
    """Say in which cells measures are not ranked since what is expected is noise; nothing without
    such a cell."""
    if facts.protocol == "resi-code":
        return ""
    cells = [
        f"{ModelFamily(*family)}, {quality_word(test, quality)} ({reliability:.2f})"
        for (test, quality, *family), reliability in facts.reliabilities().items()
        if not is_reliable(reliability)
    ]
    if not cells:
        return ""
    return (
        "Shown and not ranked, since what is expected would be different on other inputs (a "
        f"reliability below {LEAST_RELIABILITY}): {'; '.join(cells)}."
    )


def _provenance(standings: Standings) -> dict[str, object]:
    """Return the rules, the domains, and the versions that it was computed with."""
    facts = standings.facts
    versions = {k: v for k, v in facts.provenance.items() if k != "representations"}
    rules = {"protocol": facts.protocol, "failures": facts.failures, "permute": facts.permute}
    untrained = {"untrained": dict(facts.untrained)} if facts.untrained else {}
    return {**rules, "domains": list(standings.domains), **versions, **untrained}
