"""A self-contained HTML page of any result: no network, sortable tables, ready to print."""

from __future__ import annotations

import base64
import re
import sys
import webbrowser
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ..base.extras import import_optional
from ..base.formatting import (
    count_with_noun,
    format_duration,
    format_two_decimals,
    join_words,
    with_minus_signs,
)
from ..base.json_files import write_atomically
from ..base.results import BaseResult
from ..base.text import escape_control_characters, replace_unencodable
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..inference import ModelScores, TimeCourses
from ..inference.result import Evidence
from ..models.patching import LayerPatches
from ..sections.claims import CONTRADICTED, NO_DATA, NOT_REPRODUCED, PARTLY_REPRODUCED, REPRODUCED
from ..sections.figures import Bars, Choice, HeatMap
from ..sections.headlines import TRIAL_WARNING, describe_run_size
from ..sections.result import Result, opening_sentences, result_text
from ..sections.sections import Section, Table
from ..versions import DriftReport, IndexUpgrade
from .chapters import chapters, common_legend, mean_rank_chart, needs_legend
from .citing import citations_of_result, label_meanings
from .colors import color_style_sheet
from .maps import page_data
from .of_comparison import result_from_comparison, result_from_evidence
from .of_drift import drift_result
from .of_model_scores import model_scores_result
from .of_patches import patches_result
from .of_time_courses import time_courses_result
from .of_upgrade import upgrade_result
from .rows import bar_rows_svg

VERDICT_SIGNS: Mapping[str, str] = {
    REPRODUCED: "✓",
    PARTLY_REPRODUCED: "◐",
    NOT_REPRODUCED: "✗",
    CONTRADICTED: "≠",
    NO_DATA: "–",
}
VERDICT_CLASSES: Mapping[str, str] = {
    REPRODUCED: "yes",
    PARTLY_REPRODUCED: "part",
    NOT_REPRODUCED: "no",
    CONTRADICTED: "part",
    NO_DATA: "dim",
}
COMMAND_BY_SUITE: Mapping[str, str] = {
    "joint": "resemblance bench combine STUDY ...",
    "drift": "resemblance drift REFERENCE CURRENT",
    "upgrade": "resemblance upgrade-index OLD NEW OLD_QUERIES NEW_QUERIES",
    "compare": "resemblance compare",
    "score_models": "resemblance score-models",
    "evidence": "resemblance evidence",
}
MAX_EMBEDDED_CHARACTERS = 3_000_000  # characters of the embedded document
MAX_LARGE_MAPS = 6  # with more maps, maps are smaller


def write_page(
    result: BaseResult,
    path: str | Path,
    *,
    title: str = "",
    introduction: str = "",
    facts: Mapping[str, str] | None = None,
    evidence: Evidence | None = None,
    measure: str | Measure | None = None,
    stretch: bool = False,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write any result to a single HTML file, and return the path.

    The page begins with the main finding. Every section has a description, claims, figures and
    tables, and reasons for missing values. At the end are the mean ranks of the measures, run
    times, and provenance. Readers can show or hide any line, sort any table, and read the value of
    any mark. The page needs no network. Two calls with equal results write the same bytes. Readers
    see the old or the new file, never a part.

    Parameters
    ----------
    result : the return value of a function of this package or of :func:`resemblance.load`, for
        example a comparison, evidence, a drift report, or the result of a suite.
    path : the file to write; the folder must exist.
    title : the heading; by default the title of the result.
    introduction : a paragraph before everything else, as plain text.
    facts : names and values to show at the top, for example accuracies.
    evidence : chance, p-values and intervals of a comparison, from ``resemblance.evidence`` on the
        same representations.
    measure : the measure of a comparison that leads the page; by default debiased CKA, then CKA,
        then the first.
    stretch : let the colours of every map of a comparison span the values instead of the range of
        the measure; a note on the map says so.
    provenance : names and values to add to the provenance, for example the command and the date.

    Raises ``KeyError`` for a measure missing from the comparison, and ``ValueError`` for evidence
    of other representations. Needs the extra ``report``.
    """
    content = page_result(result, evidence=evidence, measure=measure, stretch=stretch)
    content = replace(content, provenance={**content.provenance, **(provenance or {})})
    text = _page_text(content, title, introduction, facts or {})
    write_atomically(Path(path), replace_unencodable(text, keep="\n\t"))
    return Path(path)


def page_result(
    result: BaseResult,
    *,
    evidence: Evidence | None = None,
    measure: str | Measure | None = None,
    stretch: bool = False,
) -> Result:
    """Return a result as the tables and figures of a page. Raises ``ValueError`` for an object that
    is no result.

    For a comparison: ``evidence`` on the same representations, or None; ``measure`` leads the page,
    None for the usual choice; ``stretch``: let the colours span the values.
    """
    if isinstance(result, Comparison):
        return result_from_comparison(result, evidence=evidence, measure=measure, stretch=stretch)
    if isinstance(result, Evidence):
        return result_from_evidence(result, measure=measure, stretch=stretch)
    if isinstance(result, DriftReport):
        return drift_result(result)
    if isinstance(result, IndexUpgrade):
        return upgrade_result(result)
    if isinstance(result, TimeCourses):
        return time_courses_result(result)
    if isinstance(result, ModelScores):
        return model_scores_result(result)
    if isinstance(result, LayerPatches):
        return patches_result(result)
    if isinstance(result, Result):
        return result
    if not isinstance(result, BaseResult):
        raise ValueError(f"write_page: result must be a result; got {type(result).__name__}")
    page: Result | None = result._page()
    return page or _result_of_records(result)


def _result_of_records(result: BaseResult) -> Result:
    """Return a result with the records as the only table."""
    name = type(result).__name__
    table = Table.of(result.records(), "values", "Values", figures=4)
    reasons = {f"{i + 1}": str(getattr(f, "reason", f)) for i, f in enumerate(result.failures)}
    return Result(
        name.lower(),
        "",
        (Section("values", "Values", "", (table,), reasons=reasons),),
        provenance={"command": f"rs.{name}", **getattr(result, "provenance", {})},
        conclusion=result.summary(),
        caveats=tuple(f"{caveat}." for caveat in result.caveats),
        title=name,
    )


def open_page(path: Path) -> None:
    """Open a page in the browser; if no browser opens, print the path to standard error."""
    if not webbrowser.open(path.resolve().as_uri()):
        line = f"no browser can be opened here; the page is {path.resolve()}"
        print(escape_control_characters(line), file=sys.stderr)


def _page_text(result: Result, title: str, introduction: str, facts: Mapping[str, str]) -> str:
    """Return the page of a result as HTML. ``facts``: the texts under the title, by name."""
    content = _template_variables(result, facts) | {"introduction": introduction}
    content["title"] = title or result.title or f"The {result.suite} suite"
    html: str = _page_template().render(**content)
    return html


def _template_variables(result: Result, facts: Mapping[str, str]) -> dict[str, Any]:
    page_chapters = chapters(result)
    figures = [(d.place, d.figure) for c in page_chapters for d in c.drawings]
    data = page_data((p, f) for p, f in figures if isinstance(f, HeatMap | Choice))
    keys = [key for c in page_chapters for _, key in c.keys]
    return {
        "result": result,
        "strip": _subtitle_facts(result) | dict(facts),
        "trial": TRIAL_WARNING if result.is_trial else "",
        "remarks": [remark for remark in (*result.caveats, result.idle()) if remark],
        "counts": dict(result.counts) or _best_mean_rank(result),
        "lead": [] if result.is_trial else opening_sentences(result).splitlines(),
        **_verdict_counts(result),
        "chapters": page_chapters,
        "legend": common_legend(page_chapters),
        "standing": _mean_rank_markup(result),
        "numbers": sorted({key.number for key in keys}),
        "seconds": [(name, format_duration(seconds)) for name, seconds in result.seconds.items()],
        "total": format_duration(sum(result.seconds.values())),
        "meanings": label_meanings(result),
        "citing": citations_of_result(result),
        "links": {f.name: place for place, f in figures if isinstance(f, HeatMap)},
        "has_maps": bool(data.document),
        "data": data.document,
        "frames": data.frames,
        "document": compress_document(result),
        "command": result.provenance.get("command")
        or COMMAND_BY_SUITE.get(result.suite, f"resemblance bench run {result.suite}"),
    }


def compress_document(result: Result) -> str:
    """Return the document of a result, compressed and in base64, which readers can save from the
    page.

    Return "" if the result contains numbers that no document can hold, or if the document would
    make the page slow to load.
    """
    try:
        document = result_text(result)
    except ValueError:
        return ""
    if len(document) > MAX_EMBEDDED_CHARACTERS:
        return ""
    return base64.b64encode(zlib.compress(replace_unencodable(document).encode(), 9)).decode()


def _verdict_counts(result: Result) -> dict[str, Any]:
    count = Counter(claim.verdict for claim in result.claims)
    has_verdict = bool(result.claims) and not result.is_trial
    return {
        "tested": len(result.claims) - count[NO_DATA],
        "verdicts": [(v, count[v]) for v in VERDICT_SIGNS if count[v]],
        "verdict": summarize_verdicts(result) if has_verdict else "",
    }


def _best_mean_rank(result: Result) -> dict[str, str]:
    """Return the best mean rank, by a label that names the measure; {} for a trial, and with fewer
    than two measures."""
    rankings = () if result.is_trial else result.mean_ranks()
    if len(rankings) < 2:
        return {}
    best = rankings[0]
    name = result.labels.get(best.measure, best.measure)
    words = f"mean rank of {name}, the best of {len(rankings)} measures"
    return {words: format_two_decimals(best.mean)}


def _subtitle_facts(result: Result) -> dict[str, str]:
    """Return the facts under the title: the suite with its size, if any, and the facts of the
    result."""
    run = {"suite": result.suite, "size": describe_run_size(result.suite, result.size)}
    return (run if result.size and result.suite not in COMMAND_BY_SUITE else {}) | dict(
        result.facts
    )


def summarize_verdicts(result: Result) -> str:
    """Return a sentence with the number of claims per verdict, or that no claim is tested."""
    total = len(result.claims)
    if not total:
        return "This run tests no claim of the paper."
    count = Counter(claim.verdict for claim in result.claims)
    parts = [f"{count[name]} {name}" for name in VERDICT_SIGNS if count[name]]
    return f"{count_with_noun(total, 'claim')}: {'; '.join(parts)}."


def _mean_rank_markup(result: Result) -> tuple[Bars, str] | None:
    """Return the figure of mean ranks, and its SVG; None without ranks, and if a section shows the
    ranking."""
    figure = None if any(s.name == "ranking" for s in result.sections) else mean_rank_chart(result)
    return figure and (figure, bar_rows_svg(figure))


@cache
def _page_template() -> Any:
    """Return the template of all pages. Inserted values are escaped, and a missing value is an
    error."""
    jinja2, folder = import_optional("jinja2"), Path(__file__).parent
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    css, *scripts = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js", "save.js")
    )
    common = {
        "css": css,
        "js": "".join(scripts),
        "ramps": color_style_sheet(),
        "many": MAX_LARGE_MAPS,
    }
    common |= {
        "written": format_setting,
        "join_words": join_words,
        "signs": VERDICT_SIGNS,
        "kinds": VERDICT_CLASSES,
        "worth": needs_legend,
    }
    templates.globals |= common
    templates.filters |= {"minus": with_minus_signs, "units": keep_percent_signs}
    return templates.get_template("page.html.j2")


def keep_percent_signs(text: str) -> str:
    """Return a text whose lines do not break between a number and a percent sign."""
    return re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)


def format_setting(value: Any) -> str:
    """Return a setting as text for a person: names with their values for a mapping, without None;
    other collections with commas."""
    if isinstance(value, Mapping):
        texts = {name: format_setting(part) for name, part in value.items()}
        return ", ".join(f"{name} {text}" for name, text in texts.items() if text)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(filter(None, map(format_setting, value)))
    return "" if value is None else str(value)
