"""From score files to a site: every page, every badge, and files for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import __version__
from ...citations import PAPERS_OF, SOFTWARE, entries, entry
from ...extras import need
from ...json_files import read_document, replacing, write_atomically
from ...report.citing import Citing, paper_of
from ...report.numbers import duration
from ...report.output import csv_text
from ...report.page import page_text
from ...results.result import Result
from ...results.standing import PLACES, place_words
from ...results.values import known
from ...significance import duels
from .. import views
from ..ranking import SERIES, board_of, current, read_files
from ..repository import AuthorsCard, read_cards
from ..score_files import ScoreFile, scores_text
from ..standing import own_suites, own_words, records_of, view_words
from . import overviews, pages
from .content import SCORES, Content, badge, content_of

TEMPLATE = Path(__file__).with_name("templates") / "board.html.j2"
TITLE = "The board of similarity measures"
LIST = "site.json"  # of all files of the site, so that the next build removes what it leaves out
FIRST = ("index.html", "Ranking")
SECTIONS = (
    ("compare.html", "Compare two"),
    ("history.html", "Versions"),
    ("about.html", "How it works"),
    ("downloads.html", "Downloads"),
)
COLUMNS = (
    "suite", "pack", "test", "cell", "domain", "spec", "version", "score", "rank", "incomplete",
    "reason",
)  # fmt: skip
FIGURES, DECIMALS = 2, 3  # decimals of ranks in views, and of scores and ranks of pairs
Views = Mapping[tuple[str, str], views.View]
PAIRS = Result(
    "board",
    "",
    (),
    title="Compare two measures",
    about="Two measures in the same cells: how far their mean ranks are apart, and in which cells "
    "each is ahead. In the mean ranks every suite of at least six cells counts alike.",
)


def build_site(*folders: str | Path, output: str | Path, series: str = SERIES) -> Path:
    """Write the board of a series of packs as a static site; return its first page.

    Its scores are those that ship with the library and those in ``folders`` of results, next to
    which ``measures/NAME.toml`` may have what the authors of a measure say of it. The site needs
    neither a server nor a network. Equal scores give equal bytes. An earlier site in the folder is
    replaced.

    Raises ``ValueError`` for a folder without score files, and for a folder of output that has
    other content. Needs the extra ``report``.
    """
    target = Path(output)
    _check_folder(target)
    files = read_files(*folders, series=series)
    return write_site(files, target, authors=read_cards(*folders), series=series)


def write_site(
    files: tuple[ScoreFile, ...],
    output: Path,
    *,
    authors: Mapping[str, AuthorsCard] | None = None,
    series: str = SERIES,
) -> Path:
    """Write score files, of all versions, as a site; return its first page.

    Raises ``ValueError`` for files that cannot be joined, and for a folder of output that has other
    content.
    """
    _check_folder(output)
    content = content_of(board_of(current(files)), files, authors or {}, series)
    built, place = dict(_site_files(content)), output / LIST
    former = set(read_document(place, _names, "a list of files") if place.exists() else ())
    _list(output, former | set(built))  # first, so that an interrupted build can be repeated
    for name, data in built.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_bytes(
                data if isinstance(data, bytes) else data.encode("utf-8", "replace")
            )
    for name in former - set(built):
        if (path := (output / name).resolve()).is_relative_to(output.resolve()):
            path.unlink(missing_ok=True)
    _list(output, set(built))
    return output / "index.html"


def _check_folder(output: Path) -> None:
    """Raise ``ValueError`` for what is no folder, or one with other content than a site."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file; give a folder for the site")
    if output.is_dir() and any(output.iterdir()) and not (output / LIST).is_file():
        raise ValueError(f"{output} has other content than a site of the board; give a new folder")


def _list(output: Path, names: set[str]) -> None:
    output.mkdir(parents=True, exist_ok=True)
    write_atomically(output / LIST, json.dumps(sorted(names), indent=0) + "\n")


def _names(document: Any) -> list[str]:
    if not isinstance(document, list) or not all(isinstance(name, str) for name in document):
        raise ValueError("it is no list of names")
    return document


# ------------------------------------------------------------------------------------------- pages


def _site_files(content: Content) -> Iterator[tuple[str, str | bytes]]:
    """Yield the names and contents of all files of the site."""
    board = content.board
    chosen = {(v.cells.key, v.measures.key): v for v in views.all_views(board)}
    whole = chosen[views.ALL, views.ALL]
    first = overviews.first_page(content, whole, TITLE)
    yield _page(content, "index.html", first, ranking=_ranking(content, chosen))
    yield _page(content, "compare.html", PAIRS, pairs=_pairs(content))
    yield _page(content, "history.html", pages.history_page(content))
    yield _page(content, "about.html", overviews.about_page(content))
    offered = _downloads(content, records_of(board, whole))
    yield _page(content, "downloads.html", overviews.downloads_page(content, offered))
    for suite in board.results:
        page = pages.suite_page(content, suite, chosen[suite, views.ALL])
        yield _page(content, f"suite/{suite}.html", page, PAPERS_OF.get(suite, ()), suite=suite)
    for spec in content.order:
        page, card = pages.measure_page(content, spec), board.cards[spec]
        image = badge(content.places.get(spec), len(content.places))
        bib = content.authors.get(card.name, AuthorsCard()).bib
        yield _page(content, content.address(spec), page, [card.reference], bib, badge=image)
        yield content.badge_address(spec), image
    yield from offered.items()
    for scores in content.files:
        yield f"{SCORES}/{scores.path.as_posix()}", scores_text(scores)


def _page(
    content: Content,
    name: str,
    result: Result,
    papers: Iterable[str] = (),
    bib: str = "",
    **more: Any,
) -> tuple[str, str]:
    """Return a page of the site under its name; ``papers``: those that it names at the top and
    cites, by default those of the suites; ``bib``: what it cites besides."""
    works = [key for key in papers if key in entries()]
    cited = works or ([] if papers else [key for key in PAPERS_OF["joint"] if key in entries()])
    texts = [*map(entry, [SOFTWARE, *cited]), *filter(None, [bib])]
    suites = [(f"suite/{suite}.html", suite) for suite in content.board.results]
    provenance = {"series": content.series, "state of the board": content.state}
    usual = {"ranking": None, "pairs": None, "badge": "", "suite": "", "document": ""}
    text = page_text(
        replace(result, provenance={**provenance, "resemblance": __version__}),
        template=TEMPLATE,
        citing=Citing(tuple(filter(None, map(paper_of, works))), "\n\n".join(texts), len(texts)),
        here=name,
        root="../" * name.count("/"),
        sections=(FIRST, *suites, *SECTIONS),
        content=content,
        site=TITLE,
        **usual | more,
    )
    return name, text


# ------------------------------------------------------------------------------------- the switches


def _ranking(content: Content, chosen: Views) -> dict[str, Any]:
    """Return the view of all, and the others to select."""
    whole, board, order = chosen[views.ALL, views.ALL], content.board, content.order
    count = len(whole.places.rows)
    return {
        "reading": PLACES,
        "own": own_words([board.cards[spec] for spec in order], content.labels),
        "rows": [_row(content, spec, i, count) for i, spec in enumerate(order)],
        "words": view_words(whole, content.labels),
        "is_settled": whole.is_settled,
        "count": count,
        "menus": {
            "cells": _menus(views.cell_sets(board)),
            "measures": _menus(views.measure_sets(board)),
        },
        "views": {"|".join(keys): _stored(view, content) for keys, view in chosen.items()},
        "absent": [(s, _missing(content, s)) for s in order if s not in board.ranks.labels],
    }


def _missing(content: Content, spec: str) -> str:
    return ", ".join(suite for suite, of in content.board.files.items() if spec not in of)


def _row(content: Content, spec: str, i: int, count: int) -> dict[str, Any]:
    """Return a row of the ranking; ``at``: mean rank and interval in percent of the axis."""
    place, seconds = content.places.get(spec), views.seconds_of(content.board, spec)
    ends = (place.mean, place.low, place.high) if place else ()
    return {
        "number": i,
        "spec": spec,
        "family": content.board.cards[spec].family.replace("_", " "),
        "cost": duration(seconds),
        "seconds": seconds,
        "place": place,
        "words": place_words(place) if place else "–",
        "own": own_suites(content.board.cards[spec]),
        "at": [round(100 * (rank - 1) / max(count - 1, 1), 1) for rank in ends],
    }


def _menus(choices: Sequence[views.CellSet | views.MeasureSet]) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a switch, a key and a name each, by their headings."""
    options: dict[str, list[tuple[str, str]]] = {}
    for choice in choices:
        options.setdefault(choice.group, []).append((choice.key, choice.name))
    return options


def _stored(view: views.View, content: Content) -> dict[str, Any]:
    """Return a view as the page stores it: its words, and a list for every place."""
    numbers = {spec: i for i, spec in enumerate(content.order)}
    rows = [
        [
            numbers[p.measure],
            *(round(rank, FIGURES) for rank in (p.mean, p.low, p.high)),
            p.position,
            place_words(p),
            int(p.is_tied),
        ]
        for p in (view.places.rows if view.is_settled else ())
    ]
    return {"words": view_words(view, content.labels), "rows": rows}


def _pairs(content: Content) -> dict[str, Any]:
    """Return what the page of pairs selects from: how far the second of each pair is behind the
    first, the interval of that, and in how many cells the first is better, equal and worse."""
    order, cells, places = list(content.places), content.board.ranks.cells, content.places
    keys = [(suite, *key) for suite, of_suite in cells.items() for key in of_suite]
    counts = duels({key: cells[key[0]][key[1:]] for key in keys})
    scores = {suite: result.scores() for suite, result in content.board.results.items()}
    pairs = []
    for i, one in enumerate(order):
        for other in order[i + 1 :]:
            ends = content.board.ranks.places.differences[other, one]
            won, lost = counts[one, other], counts[other, one]
            behind = _rounded([places[other].mean - places[one].mean, *ends])
            pairs.append([*behind, won.better, won.tied, lost.better])
    return {
        "slugs": [content.slugs[s] for s in order],
        "labels": [content.labels[s] for s in order],
        "cells": keys,
        "ranks": [_rounded(cells[key[0]][key[1:]][s] for s in order) for key in keys],
        "scores": [_rounded(scores[key[0]][key[1:]].get(s) for s in order) for key in keys],
        "pairs": pairs,
    }


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [v if v is None else round(v, DECIMALS) for v in map(known, values)]


# ---------------------------------------------------------------------------------------- downloads


def _downloads(content: Content, ranking: Sequence[Mapping[str, Any]]) -> dict[str, str | bytes]:
    """Return the files for programs by their names; Parquet only where it can be written."""
    scores = list(_score_records(content))
    document = {
        "series": content.series,
        "state": content.state,
        "packs": {s.pack: s.manifest for s in sorted(content.files, key=lambda s: s.pack)},
        "ranking": list(ranking),
        "scores": scores,
    }
    files: dict[str, str | bytes] = {
        "scores.csv": csv_text(COLUMNS, scores),
        "ranking.csv": csv_text(list(ranking[0]) if ranking else (), ranking),
        "scores.json": json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
    }
    if all(find_spec(package) for package in ("pandas", "pyarrow")):
        frame, target = need("pandas").DataFrame(scores, columns=list(COLUMNS)), io.BytesIO()
        frame.astype({"score": float, "rank": float}).to_parquet(target, index=False)
        files["scores.parquet"] = target.getvalue()
    return files


def _score_records(content: Content) -> Iterator[dict[str, Any]]:
    """Yield a record for every score: the newest version of every measure in every cell."""
    for suite, files in content.board.files.items():
        for spec, scores in sorted(files.items()):
            for cell in scores.cells:
                rank = content.ranks[suite].get((cell.test, cell.cell), {}).get(spec)
                where = (suite, scores.pack, cell.test, cell.cell, views.domain_of(cell.cell))
                measured = (spec, scores.measure.version, known(cell.value), rank)
                yield dict(zip(COLUMNS, (*where, *measured, cell.is_incomplete, cell.reason)))
