"""The board as a site: its content, links and bytes, hostile input, and what its switches show."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag

import pytest
from factories.boards import CELLS, SERIES, cards, files_of

from resemblance.boards import board_of
from resemblance.boards.repository import AuthorsCard, read_cards
from resemblance.boards.scoring import LEFT_OUT, scored_cells
from resemblance.boards.site import building, write_site
from resemblance.boards.site.content import badge, slugs
from resemblance.boards.views import all_views, cell_sets, domain_of, measure_sets
from resemblance.significance import places
from resemblance.suites.case import Score
from resemblance.suites.joint import shared_ranks
from resemblance.suites.pinned import PinnedCell

AUTHORS = {
    "jaccard": AuthorsCard(
        "Neighbours", ("A. Author",), "https://example.org/paper", "@misc{x,}", "MIT", ("digits",)
    )
}


def with_older(files):
    """The same files, and an earlier version of the first measure with other code."""
    old = [
        f._replace(measure=f.measure._replace(version=f.measure.version - 1), code="0" * 64)
        for f in files
        if f.measure.spec == "cka"
    ]
    return (*old, *files)


def build(folder: Path, files=None, authors=AUTHORS) -> Path:
    write_site(
        with_older(files_of()) if files is None else files, folder, authors=authors, series=SERIES
    )
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(tmp_path_factory.mktemp("board") / "site")


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


class Markup(HTMLParser):
    """The tags of a page, and the texts of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.words: list[str] = []
        self._script: str | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("id") or ""

    def handle_endtag(self, tag):
        if tag == "script":
            self._script = None

    def handle_data(self, data):
        if self._script is None:
            self.words.append(data)
        else:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data

    def data(self, name: str):
        return json.loads(self.scripts[name])

    def rows(self, table: str):
        """The attributes of the rows of a table, from its head on."""
        start = next(i for i, (_, a) in enumerate(self.tags) if a.get("id") == table)
        return [a for tag, a in self.tags[start:] if tag == "tr"]


def pages(folder: Path) -> dict[str, Markup]:
    return {
        p.relative_to(folder).as_posix(): Markup(p.read_text("utf-8"))
        for p in folder.rglob("*.html")
    }


# ---------------------------------------------------------------------------------- links and bytes


def test_every_link_leads_to_a_file_of_the_site(site):
    ids = {name: {a["id"] for _, a in page.tags if "id" in a} for name, page in pages(site).items()}
    for name, page in pages(site).items():
        for link in [a["href"] for tag, a in page.tags if tag == "a" and "href" in a]:
            if link.startswith("https://"):
                continue
            address, fragment = urldefrag(link)
            target = (site / name).parent / unquote(address) if address else site / name
            assert target.is_file(), (name, link)
            if fragment and "=" not in fragment:
                assert fragment in ids[target.resolve().relative_to(site.resolve()).as_posix()]


def test_a_page_loads_nothing(site):
    for name, page in pages(site).items():
        assert not [
            tag for tag, a in page.tags if "src" in a or tag in ("link", "img", "iframe")
        ], name
        outside = [tag for tag, a in page.tags if (a.get("href") or "").startswith("http")]
        assert set(outside) <= {"a"}
        policy = [a for tag, a in page.tags if tag == "meta" and a.get("http-equiv")]
        assert "default-src 'none'" in policy[0]["content"]
        assert not re.search(r"url\((?!#)|@import|fetch\(", read(site, name))


def test_equal_scores_give_equal_bytes(site, tmp_path):
    files = with_older(files_of())
    again = build(
        tmp_path / "again", sorted(files, key=lambda f: (f.measure.version, f.measure.spec))
    )
    mine, other = (
        {p.relative_to(of): p.read_bytes() for p in of.rglob("*") if p.is_file()}
        for of in (site, again)
    )
    assert mine.keys() == other.keys()
    assert [name for name in mine if mine[name] != other[name]] == []


def test_a_page_is_small_and_lists_all_its_files(site):
    assert max(p.stat().st_size for p in site.rglob("*.html")) < 200_000
    listed = set(json.loads(read(site, "site.json")))
    assert listed | {"site.json"} == {
        p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()
    }


# ------------------------------------------------------------------------------------------ content


def test_the_first_page_has_the_joint_ranking(site):
    board = board_of(files_of())
    page = pages(site)["index.html"]
    rows = [row for row in page.rows("places") if "data-i" in row]
    assert [int(row["data-i"]) for row in rows] == list(range(len(rows)))
    for place in board.ranks.places.rows:
        assert board.ranks.labels[place.measure] in page.words
    assert any("OrthProc (sensitivity)" in word for word in page.words)
    marked = [row.get("class") == "tied" for row in rows]
    assert marked == [place.is_tied for place in board.ranks.places.rows]


def test_a_view_is_what_places_computes(site):
    board = board_of(files_of())
    views = pages(site)["index.html"].data("views")
    names = [p.measure for p in board.ranks.places.rows]
    shown = 0
    for cells in cell_sets(board):
        for measures in measure_sets(board):
            expected = _expected(board, cells, measures.specs)
            rows = views[f"{cells.key}|{measures.key}"]["rows"]
            assert [names[row[0]] for row in rows] == [p.measure for p in expected]
            assert [row[1:4] for row in rows] == [
                [round(p.mean, 2), round(p.low, 2), round(p.high, 2)] for p in expected
            ]
            assert [bool(row[6]) for row in rows] == [p.is_tied for p in expected]
            shown += bool(rows)
    assert shown > 10


def _expected(board, cells, specs):
    """Places by the definition: rank the measures among each other, then choose the cells."""
    groups = {}
    for suite in cells.suites:
        ranks = shared_ranks(board.results[suite].ranks(specs))
        chosen = {
            (test, cell): of
            for (test, cell), of in ranks.items()
            if cells.test in ("", test) and cells.domain in ("", domain_of(cell))
        }
        groups |= {suite: chosen} if chosen else {}
    found = places(groups, strata={suite: board.results[suite].models() for suite in groups})
    return found.rows if found.is_settling and len(found.rows) > 1 else ()


def test_too_few_cells_give_no_order(site):
    view = pages(site)["index.html"].data("views")["manifolds|all"]
    assert view["rows"] == []
    assert view["words"].startswith("Too few cells for an order: 2 cells")
    suite = read(site, "suite/manifolds.html")
    assert "By name: there is no order" in suite
    assert "leads with" not in suite


def test_the_page_of_a_measure(site):
    words = " ".join(" ".join(pages(site)["measure/jaccard.html"].words).split())
    for part in (
        "Neighbours, by A. Author.",
        "tuned on digits",
        "The larger its value, the more alike two representations are.",
        "It does not claim to be a metric.",
        "It has a score in every cell of these suites.",
        "times that of CKA",
        "machine a machine, 2 cores",
    ):
        assert part in words
    assert re.search(r"Place \d( to \d)? of 5, with a mean rank of \d\.\d\d", words)
    assert "@misc{x,}" in words
    reference = read(site, "measure/cka.html")
    assert "nothing declared" in reference
    assert "times that of CKA" not in reference


def test_earlier_versions_stay(site):
    for page in ("measure/cka.html", "history.html"):
        text = read(site, page)
        assert "(replaced)" in text
        assert "0" * 12 in text
    cka = next(card for card in cards() if card.spec == "cka")
    copies = {p.name for p in (site / "results" / "resi-tiny@1").iterdir()}
    assert {f"cka@v{cka.version}.json", f"cka@v{cka.version - 1}.json"} <= copies


def test_a_score_that_is_missing_has_its_reason(tmp_path):
    files = list(files_of())
    at = next(i for i, f in enumerate(files) if f.measure.spec == "jaccard")
    first = files[at].cells[0]._replace(value=None, reason="the models have 9 samples, too few")
    files[at] = files[at]._replace(cells=(first, *files[at].cells[1:]))
    page = read(build(tmp_path / "site", tuple(files)), "measure/jaccard.html")
    assert "the models have 9 samples, too few" in page
    assert first.cell in page


def test_a_reason_is_that_of_the_cell():
    pinned = [PinnedCell("canary", f"net/{kind}") for kind in ("rounding", "noise", "adapters")]
    reasons = {"rounding": "the SVD failed", "noise": "the same difference"}
    row = Score("canary", ("net", "else"), "cka", "CKA", float("nan"))
    rows = [row._replace(cell=("net", kind), reason=why) for kind, why in reasons.items()]
    facts = {"cells": list(map(list, pinned))}
    pack = SimpleNamespace(manifest=SimpleNamespace(identity="tiny@1", facts=facts))
    scored = scored_cells(pack, [], [*rows, row])
    assert [cell.reason for cell in scored] == [*reasons.values(), LEFT_OUT]
    with pytest.raises(ValueError, match="tiny@1 has no cell"):
        scored_cells(pack, [], [*rows, row._replace(value=0.5)])


def test_a_measure_without_scores_in_a_suite_has_a_page_but_no_place(tmp_path):
    partial = tuple(f for f in files_of() if (f.measure.spec, f.suite) != ("jaccard", "resi"))
    folder = build(tmp_path / "site", partial)
    assert "Without a joint place" in read(folder, "index.html")
    assert "its scores are missing in a suite" in read(folder, "measure/jaccard.html")
    assert "no place" in read(folder, "badge/jaccard.svg")


def test_pairs_have_the_intervals_of_the_joint_ranking(site):
    board = board_of(files_of())
    data = pages(site)["compare.html"].data("pairs")
    names = [p.measure for p in board.ranks.places.rows]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    for (a, b), (behind, low, high, won, tied, lost) in zip(pairs, data["pairs"], strict=True):
        means = {p.measure: p.mean for p in board.ranks.places.rows}
        assert behind == pytest.approx(means[b] - means[a], abs=1e-3)
        assert (low, high) == pytest.approx(board.ranks.places.differences[b, a], abs=1e-3)
        assert won + tied + lost == sum(map(len, board.ranks.cells.values()))


def test_downloads_have_every_score(site):
    pd = pytest.importorskip("pandas")
    count = sum(len(f.cells) for f in files_of())
    assert (
        len(pd.read_csv(site / "scores.csv"))
        == len(pd.read_parquet(site / "scores.parquet"))
        == count
    )
    document = json.loads(read(site, "scores.json"))
    assert len(document["scores"]) == count
    assert [r["spec"] for r in document["ranking"]] == list(
        pd.read_csv(site / "ranking.csv")["spec"]
    )


def test_without_the_packages_there_is_no_parquet_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("resemblance.boards.site.building.find_spec", lambda name: None)
    folder = build(tmp_path / "site")
    assert not (folder / "scores.parquet").exists()
    assert "pandas and pyarrow were not installed" in read(folder, "downloads.html")


def test_a_badge_has_its_place():
    place = board_of(files_of()).ranks.places.rows[0]._replace(best=3, worst=6)
    assert "resemblance board: place 3–6 of 49" in badge(place, 49)
    assert ">place 3 of 49<" in badge(place._replace(worst=3), 49)


# ------------------------------------------------------------------------------------ hostile input

EVIL = '</script><script>alert(1)</script>"><img src=x onerror=alert(2)>'


def evil_files():
    spec = "evil[x=" + "</script>" + "]"
    first, *others = cards()
    card = first._replace(
        spec=spec, name="evil", label=EVIL + "\u202e" + "x" * 5000, summary=EVIL, reference=EVIL,
        family=EVIL,
    )  # fmt: skip
    files = files_of([card, *others])
    return tuple(
        f._replace(environment={EVIL: EVIL}, cells=tuple(c._replace(reason=EVIL) for c in f.cells))
        if f.measure.spec == spec
        else f
        for f in files
    )


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    authors = {"evil": AuthorsCard(EVIL, (EVIL,), "javascript:alert(3)", EVIL, EVIL, (EVIL,))}
    return build(tmp_path_factory.mktemp("evil") / "site", evil_files(), authors)


def test_what_strangers_write_stays_text(evil, site):
    usual = {name: [tag for tag, _ in page.tags] for name, page in pages(site).items()}
    for name, page in pages(evil).items():
        kinds = [tag for tag, _ in page.tags]
        assert "img" not in kinds
        assert not [a for _, a in page.tags if any(key.startswith("on") for key in a)]
        assert not [a for _, a in page.tags if (a.get("href") or "").startswith("javascript")]
        if name in usual:
            assert kinds.count("script") == usual[name].count("script")
        for script in (s for s in page.scripts if s):
            page.data(script)


def test_absurd_labels_are_cut_and_harmless(evil):
    index = read(evil, "index.html")
    assert "\u202e" not in index
    assert "x" * 60 not in index
    names = [p.name for p in (evil / "measure").iterdir() if p.name.startswith("evil")]
    assert len(names) == 1
    assert re.fullmatch(r"[a-z0-9-]+\.html", names[0])


def test_addresses_are_safe_and_differ():
    assert [*slugs(["cka[estimator=debiased]"]).values()] == ["cka-estimator-debiased"]
    hostile = [
        "a[b=c]",
        "a[b,c]",
        "a-b-c",
        "A[b=c]",
        "../../etc",
        "a" * 500,
        "a" * 501,
        "",
        "é",
        "è",
    ]
    names = slugs(hostile)
    assert len(set(names.values())) == len(hostile)
    assert all(re.fullmatch(r"[a-z0-9_][a-z0-9_.-]{0,80}", name) for name in names.values())


@pytest.mark.parametrize(
    ("text", "problem"),
    [("title = 3", "title must be a text"), ("authors = [1]", "list of texts"), ("= x", "Invalid")],
)
def test_a_card_that_cannot_be_read_is_named(text, problem, tmp_path):
    (tmp_path / "measures").mkdir()
    (tmp_path / "measures" / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"mine.toml is not the card of a measure: .*{problem}"):
        read_cards(tmp_path)


def test_cards_lie_next_to_results(tmp_path):
    (tmp_path / "measures").mkdir()
    (tmp_path / "measures" / "mine.toml").write_text(
        'title = "Mine"\nauthors = ["A", "B"]\nother = 1'
    )
    (tmp_path / "results").mkdir()
    assert read_cards(tmp_path / "results") == {"mine": AuthorsCard("Mine", ("A", "B"))}


# ------------------------------------------------------------------------------- the output folder


def test_the_next_build_removes_what_it_leaves_out(tmp_path):
    folder = build(tmp_path / "site")
    assert (folder / "measure" / "jaccard.html").exists()
    (folder / "mine.txt").write_text("stays")
    build(folder, tuple(f for f in files_of() if f.measure.spec != "jaccard"))
    assert not (folder / "measure" / "jaccard.html").exists()
    assert (folder / "mine.txt").read_text() == "stays"


def test_a_list_of_files_leads_nowhere_else(tmp_path):
    folder, precious = build(tmp_path / "site"), tmp_path / "precious.txt"
    precious.write_text("x")
    (folder / building.LIST).write_text(json.dumps(["../precious.txt"]))
    build(folder)
    assert precious.exists()


def test_a_folder_with_other_content_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="other content than a site"):
        build(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        build(tmp_path / "thesis.tex")


# --------------------------------------------------------------------------------------- a browser


def opened(open_page, path, fragment=""):
    page = Markup(open_page(path, fragment))
    assert (page.tags[0][1].get("data-ready"), page.tags[0][1].get("data-errors")) == ("yes", None)
    return page


def test_switches_show_the_stored_views(site, open_page):
    stored = pages(site)["index.html"].data("views")
    page = opened(open_page, site / "index.html", "#cells=resi&measures=metrics")
    rows = [int(row["data-i"]) for row in page.rows("places") if "data-i" in row]
    assert rows == [row[0] for row in stored["resi|metrics"]["rows"]]
    assert stored["resi|metrics"]["words"] in page.words
    few = opened(open_page, site / "index.html", "#cells=manifolds&measures=all")
    assert next(a for _, a in few.tags if a.get("id") == "order").get("hidden") is not None
    plain = opened(open_page, site / "index.html")
    assert [r["data-i"] for r in plain.rows("places") if "data-i" in r] == [
        str(i) for i in range(5)
    ]


def test_pairs_can_be_chosen_in_both_orders(site, open_page):
    sentences = []
    for fragment in ("#a=cka&b=jaccard", "#a=jaccard&b=cka"):
        page = opened(open_page, site / "compare.html", fragment)
        sentences.append(next(w for w in page.words if "95 %, for all pairs" in w))
        assert len(page.rows("cells")) == 1 + sum(map(len, CELLS.values()))
    assert sentences[0] == sentences[1] or "cannot be told apart" in sentences[0]


def test_hostile_labels_do_no_harm_in_a_browser(evil, open_page):
    for name in ("index.html", "compare.html"):
        page = opened(open_page, evil / name)
        assert "img" not in [tag for tag, _ in page.tags]


def test_all_pages_fit_a_phone(site, look):
    for name in ("index.html", "compare.html", "measure/cka.html", "suite/resi.html", "about.html"):
        assert look(site / name, width=390).wide <= 390, name


def test_views_are_computed_for_all_choices():
    board = board_of(files_of())
    assert len(all_views(board)) == len(cell_sets(board)) * len(measure_sets(board))
