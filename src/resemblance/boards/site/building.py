"""From score files to a site: every page, every badge, and files for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...citations import PAPERS_OF, SOFTWARE, entries, entry
from ...json_files import read_document, replacing, write_atomically
from ...report.page import environment
from ..ranking import SERIES, board_of, current, read_files
from ..score_files import ScoreFile, scores_text
from ..views import all_views
from .authors import AuthorsCard, read_cards
from .badges import badge
from .comparing import pairs_page
from .content import SCORES, Content, content_of
from .downloads import downloads, has_parquet, ranking_records
from .measure_page import measure_page
from .ranking_page import ranking_page
from .suite_page import suite_page
from .versions import history_page, packs_of, versions_of

HERE = Path(__file__).parent
TITLE = "The board of similarity measures"
LIST = "site.json"  # of all files of the site, so that the next build removes what it leaves out
FIRST = ("index.html", "Ranking")
SECTIONS = (
    ("compare.html", "Compare two"),
    ("history.html", "Versions"),
    ("about.html", "How it works"),
    ("downloads.html", "Downloads"),
)
Files = Iterator[tuple[str, str | bytes]]


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
    check_folder(target)
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
    check_folder(output)
    content = content_of(board_of(current(files)), files, authors or {}, series)
    built = {name: _bytes(text) for name, text in site_files(content)}
    former = _listed(output)
    _list(output, former | set(built))  # first, so that an interrupted build can be repeated
    for name, data in built.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial_file:
            partial_file.write_bytes(data)
    for name in former - set(built):
        if (path := (output / name).resolve()).is_relative_to(output.resolve()):
            path.unlink(missing_ok=True)
    _list(output, set(built))
    return output / "index.html"


def site_files(content: Content) -> Files:
    """Yield the names and contents of all files of the site."""
    views = all_views(content.board)
    versions = {spec: versions_of(content, spec) for spec in content.board.cards}
    ranking = ranking_records(content, views)
    page = partial(_rendered, _templates(), content)
    yield "index.html", page("ranking", "index.html", TITLE, ranking_page(content, views))
    yield (
        "compare.html",
        page("compare", "compare.html", "Compare two measures", pairs_page(content)),
    )
    yield (
        "history.html",
        page("history", "history.html", "Versions", history_page(content, versions)),
    )
    packs = {"packs": list(packs_of(content))}
    yield "about.html", page("about", "about.html", "How it works", packs)
    offered = downloads(content, ranking)
    about = {"names": [*offered], "has_parquet": has_parquet()}
    yield "downloads.html", page("downloads", "downloads.html", "Downloads", about)
    for suite in content.board.results:
        name = f"suite/{suite}.html"
        yield name, page("suite", name, "", suite_page(content, suite, views))
    for spec in content.order:
        name = content.address(spec)
        yield name, page("measure", name, "", measure_page(content, spec, versions[spec]))
        place = content.places.get(spec)
        yield f"badge/{content.slugs[spec]}.svg", badge(place, len(content.places))
    yield from offered.items()
    for scores in content.files:
        yield f"{SCORES}/{scores.path.as_posix()}", scores_text(scores)


# ------------------------------------------------------------------------------------------- pages


def _templates() -> Any:
    from ... import __version__

    templates = environment(HERE / "templates")
    templates.globals |= {
        "board_css": (HERE / "templates" / "board.css").read_text(encoding="utf-8"),
        "site_title": TITLE,
        "version": __version__,
    }
    scripts = {
        name: (HERE / "templates" / f"{name}.js").read_text(encoding="utf-8")
        for name in ("board", "compare")
    }
    templates.globals["scripts"] = scripts
    return templates


def _rendered(
    templates: Any, content: Content, name: str, address: str, title: str, shown: dict[str, Any]
) -> str:
    suites = [(f"suite/{suite}.html", suite) for suite in content.board.results]
    place: dict[str, Any] = {"here": address, "root": "../" * address.count("/")}
    place |= {"sections": (FIRST, *suites, *SECTIONS)}
    papers = [key for key in PAPERS_OF["joint"] if key in entries()]
    defaults = {
        "title": title,
        "content": content,
        "citing": "Cite the software, and the papers of the suites.",
        "bibtex": "\n\n".join(map(entry, [SOFTWARE, *papers])),
    }
    template = templates.get_template(f"{name}.html.j2")
    return template.render(**defaults | place | shown)


# ----------------------------------------------------------------------------- the folder of output


def check_folder(output: Path) -> None:
    """Raise ``ValueError`` for what is no folder, or one with other content than a site."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file; give a folder for the site")
    if output.is_dir() and any(output.iterdir()) and not (output / LIST).is_file():
        raise ValueError(f"{output} has other content than a site of the board; give a new folder")


def _listed(output: Path) -> set[str]:
    """Return the files of an earlier site in the folder."""
    place = output / LIST
    return set(
        read_document(place, _names, "the list of files of a site") if place.exists() else ()
    )


def _list(output: Path, names: set[str]) -> None:
    output.mkdir(parents=True, exist_ok=True)
    write_atomically(output / LIST, json.dumps(sorted(names), indent=0) + "\n")


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "replace")


def _names(document: Any) -> list[str]:
    if not isinstance(document, list) or not all(isinstance(name, str) for name in document):
        raise ValueError("it is no list of names")
    return document
