"""The pages of the site that are of no single measure or suite: the first, the files, and how it
works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ...results.result import Result
from ...results.sections import Section, Table
from ...results.standing import tie_diagram
from ...suites import SUITES
from ..views import View
from .content import SHORT, Content

ABOUT: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "protocol": (
        "Protocol",
        {
            "pack": "The models of each suite are trained once. Their features, and what measures "
            "are held to, such as accuracies, are kept in an archive whose every file has a "
            "checksum.",
            "score": "A measure sees only the pack. resemblance compares all pairs, and scores the "
            "measure in every cell: one test by one quality on one set of models. Larger scores "
            "are better.",
            "score file": "The scores of one version of one measure on one pack, with the checksum "
            "of its code, the versions of libraries, the machine and the CPU time.",
            "rank": "Files are joined, and measures are ranked in each cell, 1 for the best. Equal "
            "measures share the mean of their ranks. A measure without a score is behind all "
            "others, so that failing on hard cells gains nothing. Cells in which all are equal, "
            "and cells whose expected differences do not repeat on other inputs, rank nothing.",
            "place": "Measures are placed by the mean over suites of their mean rank over cells: a "
            "suite with many cells counts no more than another, and one of fewer than six does "
            "not count.",
        },
    ),
    "intervals": (
        "What the intervals mean",
        {
            "samples": "Cells are resampled 2,000 times: each sample takes as many cells as there "
            "are, with replacement, and with each cell the ranks of all measures in it. So two "
            "measures are always compared in the same cells.",
            "mean rank": "95 % intervals of one measure, over the samples.",
            "differences, ties, places": "95 % intervals of the differences of all pairs, wide "
            "enough to hold all at once. Two measures are tied where theirs contains 0, and a "
            "place runs over all measures that one is tied with. That the intervals of two mean "
            "ranks overlap does not decide this.",
            "what they leave out": "They are for other cells of the same models and data. Other "
            "models, or other data, may order measures otherwise.",
            "few cells": "With fewer than six, even the first in all of them may be so by chance. "
            "Such a view has no order, and a suite of so few cells does not count in the joint "
            "ranking.",
        },
    ),
    "submit": (
        "Put your own measure on the board",
        {
            "@resemblance.measure": "makes a measure of a function.",
            "resemblance submit mine.py:mine": "checks it, and computes its scores on the packs.",
            "resemblance board build results --output site": "builds the board with them.",
            "resemblance board verify results": "computes scores again from the pack and the code, "
            "as anyone can: they are checked, not believed.",
        },
    ),
    "rules": (
        "Rules",
        {
            "tuning": "Authors declare on which packs or data they chose parameters (tuned_on of "
            "the card); the page of the measure says so.",
            "versions": "A changed measure is a new version with a row of its own. Versions that "
            "were replaced stay on the page of versions.",
            "packs": "A pack never changes. One with other data has another number.",
            "missing scores": "A measure without scores in some suite has no joint place, but a "
            "page and a place in the other suites.",
        },
    ),
}
READING: Mapping[str, str] = {
    "mean rank": "The rank of a measure among the chosen measures, 1 for the best, averaged over "
    "the chosen cells; every suite of at least six cells counts alike, and smaller ones do not "
    "count. A measure that guesses would be in the middle.",
    "place": "From behind all measures that are surely ahead to before all that are surely behind: "
    "3 to 6 is all that is known.",
    "ties": "The 95 % intervals of all differences hold at once. Where that of two measures "
    "contains 0, these cells do not say which is better.",
    "switches": "Each view ranks the chosen measures anew, among each other alone, in the chosen "
    "cells alone. With too few cells there is no order.",
}


def downloads_page(content: Content, names: Iterable[str]) -> Result:
    """Return the page of the files for programs and of the badges."""
    what = {
        "scores.csv": "every score in every cell, one a line, with its rank",
        "ranking.csv": "the joint ranking, one measure a line, with what it claims",
        "scores.json": "both, with the packs and the state of the board",
        "scores.parquet": "the scores as a frame",
    }
    files = list(names)
    note = "No scores.parquet: pandas and pyarrow were not installed where this site was built."
    offered = Table.of(
        ({"file": name, "has": what[name]} for name in files),
        "files",
        "Files for programs",
        note * ("scores.parquet" not in files),
        links={"file": files},
    )
    order = content.order
    badges = Table.of(
        ({"measure": content.labels[s], "badge": content.badge_address(s)} for s in order),
        "badges",
        "Badges",
        "Every measure has one with its place, as an image to keep next to its code.",
        links={"measure": map(content.address, order), "badge": map(content.badge_address, order)},
    )
    python = {"import resemblance as rs; rs.board()": "the joint ranking as a pandas frame"}
    return Result(
        "board",
        "",
        (
            Section("files", "Files", "", (offered,)),
            Section("python", "In Python", "", terms=python),
            Section("badges", "Badges", "", (badges,)),
        ),
        title="Downloads",
        about="Everything behind these pages, for programs.",
    )


def about_page(content: Content) -> Result:
    """Return the page that says how the board works."""
    counts = Counter((s.pack, s.suite, s.manifest) for s in content.files)
    packs = sorted(counts.items())
    table = Table.of(
        (
            {
                "pack": pack,
                "suite": suite,
                "SHA-256 of its manifest": manifest,
                "score files": count,
            }
            for (pack, suite, manifest), count in packs
        ),
        "packs",
        "Packs of this board",
        "Scores on packs with other checksums are never mixed.",
        links={"suite": [f"suite/{suite}.html" for (_, suite, _), _ in packs]},
    )
    protocol, *others = (
        Section(name, title, "", terms=terms) for name, (title, terms) in ABOUT.items()
    )
    return Result(
        "board",
        "",
        (protocol, Section("packs", "Packs", "", (table,)), *others),
        title="How it works",
        about="Scores on this board are not reported by authors. One program computes all of them, "
        "on the same data.",
    )


def first_page(content: Content, whole: View, title: str) -> Result:
    """Return the first page, without the switches and the ranking that they show."""
    ties = tie_diagram(whole.places, content.labels)
    suites = Table.of(
        (
            {"suite": SUITES[suite], "cells that rank": len(content.ranks[suite])}
            for suite in content.board.results
        ),
        "suites",
        "Suites",
        links={"suite": [f"suite/{suite}.html" for suite in content.board.results]},
    )
    joint = [Section("ties", "All measures in all cells", "", figures=(ties,))] if ties else []
    return Result(
        "board",
        "",
        (*joint, Section("reading", "How to read it", "", (suites,), terms=READING)),
        facts={
            "series": content.series,
            "measures": str(len(whole.places.rows)),
            "suites": str(len(content.board.results)),
            "cells": str(sum(whole.counts.values())),
            "state": content.state[:SHORT],
        },
        title=title,
        about="Which measure of similarity can be trusted? Every measure is computed by one "
        "program on the same pinned features, and ranked in every cell: one test on one set of "
        f"models. The {len(content.board.results)} suites count alike; those of fewer than six "
        "cells do not count.",
    )
