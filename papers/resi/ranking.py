"""What the six tests say about the measures of the paper, with models as the random unit: on the
models of the package, and on the printed tables as far as they allow.

``python -m papers`` writes the page ``ranking.md``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

import resemblance as rs
from papers.markdown import MADE, table
from papers.published import DOMAINS, FEWEST, RANKED, columns
from resemblance.bench.answer_tables import networks_sentence, question_records
from resemblance.bench.answers import Answer, answer_questions
from resemblance.bench.ranking.ranking import read_board
from resemblance.bench.ranking.trivial import TRIVIAL_SPECS
from resemblance.sections.result import Result
from resemblance.sections.sections import RankRule, Section

PAGE = "papers/resi/ranking.md"
BASELINE = "CKA"  # label in the printed tables
INTRODUCTION = """\
The paper ranks its 24 measures by their mean ranks over tests. A mean rank has no interval, and
ranks of tests on the same models are not independent. Below are the mean scores of the tests by
question, with the inference of the leaderboard (`docs/leaderboard.md`)."""
OURS = """\
The 24 measures on `resi-compact@1`, three small networks with five seeds a group. The answers hold
for other seeds of the same networks. **Size alone** compares one number of each model: the root
mean square norm of the centred rows of its last layer."""
PRINTED = """\
The printed tables have no scores of single seeds. So the random unit is the network with its data
set, and an answer holds for other networks of the same domain: a harder claim, on more networks.
Domains with fewer than two networks are left out, and so are measures without a readable value in
some column. Size alone is not among the printed measures."""


def own_answers() -> tuple[Answer, ...]:
    """Return what the pack of the six tests answers about the measures of the paper."""
    specs = {m.spec for m in rs.preset("default")}
    result = read_board().results["resi"]
    return answer_questions([result], among=specs, trivial=TRIVIAL_SPECS)


def printed_answers() -> tuple[Answer, ...]:
    """Return what the printed tables answer, with networks as the random unit within domains."""
    scores: dict[str, Mapping[str, float]] = {}
    rules: dict[str, RankRule] = {}
    for (question, domain), by_network in _printed_scores().items():
        measures = set.intersection(*(set(values) for values in by_network.values()))
        if len(by_network) < 2 or BASELINE not in measures:
            continue
        means = {network: {m: v[m] for m in measures} for network, v in by_network.items()}
        name = f"{question}/{domain}"
        scores[name] = {m: float(np.mean([v[m] for v in means.values()])) for m in measures}
        without = {m: _without_each({n: v[m] for n, v in means.items()}) for m in measures}
        rules[name] = RankRule(test=question, models=domain, without=without)
    section = Section("printed", "Printed tables", "", scores=scores, rules=rules)
    return answer_questions([Result("resi", "printed", (section,))], baseline=BASELINE)


def _printed_scores() -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    """Return the mean printed scores, by test and domain, then by network, then by measure."""
    values: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    tests = {"labels": "labels", "shortcut": "labels", "augmentation": "labels", "layers": "layers"}
    for (test, quality, domain, dataset, architecture, _), by_measure in columns().items():
        is_ranked = quality.partition("_")[0] == RANKED.get(test, "auprc")
        if test in tests and is_ranked and len(by_measure) >= FEWEST:
            for measure, value in by_measure.items():
                network = f"{dataset}/{architecture}"
                values[tests[test], domain][network][measure].append(value)
    return {
        (test, domain): {
            network: {
                m: float(np.mean(v))
                for m, v in by_measure.items()
                if len(v) == max(map(len, by_measure.values()))
            }
            for network, by_measure in values[test, domain].items()
        }
        for test in dict.fromkeys(tests.values())
        for domain in DOMAINS
        if (test, domain) in values
    }


def _without_each(values: Mapping[str, float]) -> dict[str, float]:
    return {n: float(np.mean([v for m, v in values.items() if m != n])) for n in values}


def page() -> str:
    """Return the page as Markdown."""
    labels = rs.leaderboard().labels
    ours, printed = own_answers(), printed_answers()
    parts = [
        MADE,
        "# ReSi: the ranking with intervals",
        INTRODUCTION,
        "## On the models of the package",
        OURS,
        _table(ours, labels),
        networks_sentence(ours, labels),
        "## On the printed tables",
        PRINTED,
        _table(printed, {}),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(answers: Sequence[Answer], labels: Mapping[str, str]) -> str:
    records = question_records(answers, labels)
    return table(tuple(records[0]), [[str(v) for v in record.values()] for record in records])
