"""BibTeX of the software, of measures, statistics and suites, and addresses of their papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import resemblance as rs
from resemblance import citations
from resemblance.bench import SUITES

ROOT = Path(__file__).parents[1]


def test_every_measure_statistic_and_suite_has_an_entry_with_an_address():
    names = [*SUITES, "drift", "joint"]
    names += [m.name for m in (*rs.list_measures(), *rs.list_statistics())]
    for name in names:
        for key in citations.citation_keys(name):
            assert citations.bibtex_entry(key).startswith("@")
            assert str(citations.citation_url(key)).startswith("https://")


def test_each_work_is_cited_once_and_in_order():
    text = rs.cite("resemblance", rs.cka, "cka[kernel=rbf]", "resi")
    keys = re.findall(r"^@\w+\{([^,]+),", text, flags=re.MULTILINE)
    assert keys == ["resemblance", "kornblith2019similarity", "klabunde2025resi"]
    assert text.count("{") == text.count("}")


def test_the_software_is_cited_as_in_its_citation_file():
    facts = (ROOT / "CITATION.cff").read_text()
    entry = citations.bibtex_entry("resemblance")
    assert re.search(r"^version: (\S+)$", facts, flags=re.MULTILINE)[1] in entry
    assert re.search(r'name: "(.*)"', facts)[1] in entry
    title = re.search(r'^title: "(.*)"', facts, flags=re.MULTILINE)[1]
    assert title.lower() in entry.lower()


@pytest.mark.parametrize(
    ("name", "hint"), [("ckaa", "did you mean 'cka'"), ("manifold", "did you mean 'manifolds'")]
)
def test_an_unknown_name_is_an_error_with_the_closest_one(name, hint):
    with pytest.raises(ValueError, match=hint):
        rs.cite(name)


def test_a_doi_is_an_address_and_an_unknown_work_has_none():
    assert (
        citations.citation_url("szekely2007measuring")
        == "https://doi.org/10.1214/009053607000000505"
    )
    assert citations.citation_url("nobody1900nothing") is None


def test_works_are_named_by_authors_and_year():
    for key, name in {
        "kornblith2019similarity": "Kornblith et al. 2019",
        "boixadsera2022gulp": "Boix-Adserà et al. 2022",
        "velickovic2018graph": "Veličković et al. 2018",
        "allal2025smollm2": "Ben Allal et al. 2025",
        "wang2020understanding": "Wang and Isola 2020",
    }.items():
        assert citations.short_citation(key) == name
    assert citations.short_citation("raju2026geometric").endswith(" 2026")
    assert not [
        key
        for key in citations.bibliography()
        if set("\\\\{}") & set(citations.short_citation(key))
    ]
