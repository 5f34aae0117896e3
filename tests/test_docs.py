"""The pages say what is true: their snippets run, their outputs are checked, and every measure is
documented."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coming_from
import generate
import how_it_compares
import measure_pages
import numpy as np
import profiles
import pytest
import write_tables
from test_architecture import PRONOUNS, words_per_thousand

import resemblance as rs
from resemblance.base.extras import packages_in_extra

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
SLOW = ("drift.md", "drift-findings.md", "compare-scores.md", "coming-from.md")
MEASURES = rs.list_measures()
HEADING = "Parameters\n----------\n"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Fence(NamedTuple):
    """A fenced block of a Markdown page: language, text, line of its first line."""

    language: str
    text: str
    line: int


def fences(page: Path) -> Iterator[Fence]:
    text = page.read_text()
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        yield Fence(match[1], match[2], text[: match.start(2)].count("\n"))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.long) if p.name in SLOW else p for p in PAGES],
    ids=name_of,
)
def test_snippets_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run all snippets of a page in order, in one namespace and one empty folder, and compare the
    output with the page."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    namespace: dict[str, object] = {"__name__": f"page_{page.stem.replace('-', '_')}"}
    monkeypatch.setitem(sys.modules, str(namespace["__name__"]), _module(namespace))
    for fence in fences(page):
        if fence.language == "python":
            code = compile("\n" * fence.line + fence.text, str(page), "exec", dont_inherit=True)
            exec(code, namespace)
        elif fence.language == "pycon":
            run_session(fence, namespace, page)
        elif fence.language == "console":
            run_commands(fence, page, capsys)


def _module(namespace: dict[str, object]) -> object:
    """Return a module with the names of the page, so that functions of the page can be found and
    pickled."""

    class Page:
        def __getattr__(self, name: str) -> object:
            if name not in namespace:
                raise AttributeError(name)
            return namespace[name]

    return Page()


def run_session(fence: Fence, namespace: dict[str, object], page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(
        fence.text, namespace, name_of(page), str(page), fence.line
    )
    messages: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=messages.append, clear_globs=False)
    namespace.update(test.globs)
    assert not runner.summarize(verbose=False).failed, "".join(messages)


def run_commands(fence: Fence, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the ``$ resemblance ...`` lines of a fence; the lines that follow one are what it must
    print.

    An ``error:`` line among them says that the command must fail, with that message on standard
    error.
    """
    from resemblance.cli import run

    for block in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
        command, _, expected = block.partition("\n")
        words = shlex.split(command, comments=True)
        if words[0] != "resemblance":
            continue
        capsys.readouterr()
        code = run(words[1:])
        got, errors = capsys.readouterr()
        fails = re.search("^error: ", expected, flags=re.MULTILINE) is not None
        assert (code != 0) == fails, f"{name_of(page)}: {command}\n{errors}"
        got += errors if fails else ""
        if expected.strip():
            same = doctest.OutputChecker().check_output(expected, got, OPTIONS)
            assert same, f"{name_of(page)}: {command}\nexpected:\n{expected}\ngot:\n{got}"


def test_options_in_commands_exist(subtests: pytest.Subtests) -> None:
    """Also in fences that are not run, such as those for clusters."""
    import typer

    from resemblance.cli import commands

    for page in PAGES:
        text = "\n".join(fence.text.replace("\\\n", " ") for fence in fences(page))
        for line in re.findall(r"^(?:\$ )?resemblance (.*)$", text, flags=re.MULTILINE):
            command: Any = typer.main.get_command(commands())
            words = shlex.split(line, comments=True)
            while words and hasattr(command, "get_command"):
                command = command.get_command(None, words.pop(0))
            spellings = (s for p in command.params for s in (*p.opts, *p.secondary_opts))
            known = {*spellings, "--help"}
            options = {word for word in words if re.fullmatch(r"--\w[\w-]*", word)}
            with subtests.test(f"{name_of(page)}: {line}"):
                assert options <= known | {"--version"}


def documented_functions() -> Iterator[tuple[str, Any]]:
    """Yield each function and method of the package that lists its parameters, with its name."""
    for module in pkgutil.walk_packages(rs.__path__, "resemblance."):
        loaded = importlib.import_module(module.name)
        for name, member in vars(loaded).items():
            if getattr(member, "__module__", None) != module.name:
                continue
            methods = vars(member).items() if inspect.isclass(member) else ()
            for label, function in ((name, member), *((f"{name}.{m}", f) for m, f in methods)):
                if inspect.isfunction(function) and HEADING in (inspect.getdoc(function) or ""):
                    yield f"{module.name}.{label}", function


def test_docstrings_list_the_parameters_of_their_function(subtests: pytest.Subtests) -> None:
    for name, function in documented_functions():
        parameters = inspect.signature(function).parameters
        extra = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        block = re.split(r"\n\n(?=\S)", inspect.getdoc(function).partition(HEADING)[2])[0]
        entries = re.findall(r"^([a-zA-Z_][\w, ]*) : ", block, re.MULTILINE)
        listed = {word for entry in entries for word in entry.split(", ")}
        options = {p.name for p in parameters.values() if p.kind is not p.VAR_KEYWORD} - {"self"}
        with subtests.test(name):
            assert options - listed == set()
            assert extra or listed - set(parameters) == set()


def test_bibliography_has_no_duplicates_and_complete_entries() -> None:
    entries = bibliography()
    keys = re.findall(r"^@\w+\{([^,]+),", (ROOT / "references.bib").read_text(), flags=re.MULTILINE)
    assert len(keys) == len(set(keys)) == len(entries)
    for key, entry in entries.items():
        for field in ("author", "title", "year"):
            assert field in entry, f"{key} has no {field}"
        assert "doi" in entry or "url" in entry, f"{key} has no link"
        assert re.search(r"\d{4}", entry["year"])


def bibliography() -> dict[str, dict[str, str]]:
    text = (ROOT / "references.bib").read_text()
    entries = {}
    for match in re.finditer(r"^@\w+\{([^,]+),\n(.*?)^\}", text, flags=re.MULTILINE | re.DOTALL):
        fields = re.findall(r"^  (\w+)\s*= \{(.*)\},$", match[2], flags=re.MULTILINE)
        entries[match[1]] = dict(fields)
    return entries


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated pages, written once, with profiles of fewer samples."""
    folder = tmp_path_factory.mktemp("docs") / "measures"
    with pytest.MonkeyPatch.context() as smaller:
        smaller.setattr(profiles, "SAMPLES", 64)
        smaller.setattr(profiles, "DRAWS", 2)
        generate.measures(folder)
    return folder


def test_every_measure_has_a_page_that_its_table_names(generated: Path) -> None:
    index = (DOCS / "measures.md").read_text()
    built = generate.linked(index)
    for m in MEASURES:
        page = (generated / f"{m.name}.rst").read_text()
        assert ".. math::" in page
        assert f":cite:t:`{m.citation}`" in page
        assert f"<measures/{m.name}>" in built
        assert f"\n| `{m.name}` {m.label} |" in index


def test_examples_of_measures_print_what_they_say(generated: Path) -> None:
    for m in MEASURES:
        page = (generated / f"{m.name}.rst").read_text()
        code = textwrap.dedent(page.split(".. code-block:: pycon\n")[1].split("\n\nClaims\n")[0])
        run_session(Fence("pycon", code + "\n", 0), {}, DOCS / f"{m.name}.rst")


def test_every_measure_has_advice_and_a_chart(generated: Path) -> None:
    for m in MEASURES:
        assert all(text.endswith(".") for text in measure_pages.parts_of(m)[1:])
        assert profiles.chart(m).count("<tr>") == len(profiles.ROWS) + 3
        assert len(profiles.chart(m)) < 15_000


def test_charts_show_what_measures_claim_to_ignore_at_the_left_end(generated: Path) -> None:
    for name, profile in profiles.profiles().items():
        places = np.abs(profile.positions()[np.array(profile.claimed)])
        assert (places[np.isfinite(places)] < 1e-5).all(), name


def test_tables_in_pages_are_up_to_date(generated: Path) -> None:
    """If not: python docs/_scripts/write_tables.py"""
    assert write_tables.outdated() == []
    marked = [
        name for page in PAGES for _, name, *_ in write_tables.MARKED.findall(page.read_text())
    ]
    assert sorted(marked) == sorted(write_tables.TABLES)


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_numbers_of_other_packages_agree_to_the_digits_of_the_page(
    generated: Path, subtests: pytest.Subtests
) -> None:
    for package, rows in coming_from.PACKAGES.items():
        for row in rows():
            with subtests.test(f"{package}: {row.theirs}"):
                digits = coming_from.agreement(row.pairs())
                assert digits >= row.digits if row.digits else digits < 2


def test_names_of_this_package_in_the_table_of_other_packages_exist() -> None:
    """The table itself: ``test_tables_in_pages_are_up_to_date``."""
    areas = list(how_it_compares.areas())
    names = {ours for area in areas for _, ours in area.here}
    assert {ours for ours in names if not how_it_compares.exists(ours)} == set()
    missing = {
        name for area in areas for text in area.missing for name in re.findall(r"`(\w+)`", text)
    }
    assert missing & {*rs.__all__} == set()
    assert not how_it_compares.exists("compare(heldout=)")
    assert not how_it_compares.exists("ckaa")
    packages = {area.package for area in areas}
    assert f"{len(packages)} packages" in (ROOT / "README.md").read_text("utf-8")
    assert {"rsatoolbox", "netrep", "brain-score", "mne-rsa", "rebasis", "embedflow"} <= packages


def outside_tables(page: Path) -> str:
    return re.sub(r"<!-- table: .*?<!-- end -->", "", page.read_text("utf-8"), flags=re.DOTALL)


def test_pages_are_short() -> None:
    """At most 1,500 words, the generated tables excepted."""
    words = {name_of(page): len(outside_tables(page).split()) for page in PAGES}
    assert {name: count for name, count in words.items() if count > 1500} == {}


def test_pages_repeat_the_noun() -> None:
    """At most 20 pronouns and 2 times "what" in 1,000 words of prose; scikit-learn has 12 and 0."""
    not_prose = r"^\s*\|.*$|^```.*?^```$|`[^`]*`|\$[^$\n]*\$|\]\([^)]*\)|<[^>]*>|\{[^}]*\}"
    flags = re.DOTALL | re.MULTILINE
    text = "\n".join(re.sub(not_prose, " ", outside_tables(page), flags=flags) for page in PAGES)
    for pattern, limit in {PRONOUNS: 20, r"\bwhat\b": 2}.items():
        assert words_per_thousand(pattern, text) <= limit


def test_numbers_that_are_told_again_are_those_of_their_source() -> None:
    """The story of the README is printed by the tutorial, the sum of ReSi by the plan, and the
    numbers of measures and of entries by the package."""
    entries = len(rs.leaderboard().to_pandas())
    for name, number in (
        ("README.md", f"{len(MEASURES)} measures"),
        ("docs/index.md", f"{len(MEASURES)}\nsimilarity measures"),
        ("docs/leaderboard.md", f"has {entries} entries"),
    ):
        assert number in (ROOT / name).read_text("utf-8"), f"{name}: {number}"
    tutorial = (DOCS / "tutorials" / "language-models.ipynb").read_text("utf-8")
    for page in (ROOT / "README.md", DOCS / "index.md"):
        prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for number in re.findall(r"\b0\.\d\d\b", prose):
            assert f" {number}" in tutorial, f"{name_of(page)}: {number}"
    (total,) = re.findall(r"^\| all \|(.*)\|$", _stored("resi-paper-plan"), re.MULTILINE)
    hours = total.split("|")[-4].strip()
    for name in ("benchmarks.md", "resi-paper.md"):
        assert f"{hours} GPU hours" in (DOCS / name).read_text("utf-8")


def _stored(name: str) -> str:
    return (DOCS / "_generated" / f"{name}.md").read_text("utf-8")


def test_the_design_page_names_files_that_exist() -> None:
    for name in re.findall(r"`([\w/]+\.py)`", (DOCS / "design.md").read_text("utf-8")):
        assert any((ROOT / part / name).exists() for part in ("", "src/resemblance")), name


def test_citations_in_pages_are_in_the_bibliography() -> None:
    entries = (DOCS / "references.md").read_text("utf-8")
    for page in PAGES:
        for key in re.findall(r"\]\(references\.md#(\w+)\)", page.read_text()):
            assert f'<a id="{key}"></a>' in entries, f"{name_of(page)}: {key}"
    linked = generate.linked("([A 2019](references.md#a2019)) [B (2020)](references.md#b2020)")
    assert linked == "{cite:p}`a2019` {cite:t}`b2020`"


def test_intermediates_for_measures_of_ones_own_are_in_the_reference() -> None:
    """Every intermediate that the page on own measures names, with its arguments, shapes and, of a
    tuple, the fields."""
    from resemblance.intermediates.spectra import Decomposition

    page, reference = (
        (DOCS / "fast-measures.md").read_text(),
        (DOCS / "api" / "intermediates.md").read_text(),
    )
    rows = re.findall(
        r"^\| `(\w+)` \| (.*`.*) \|$",
        page[: page.index("An intermediate of your own")],
        flags=re.MULTILINE,
    )
    named = [
        (module, intermediate)
        for module, text in rows
        for intermediate in re.findall(r"`(\w+)`", text)
    ]
    assert len(named) > 15
    for module, intermediate in named:
        assert f".. autofunction:: resemblance.intermediates.{module}.{intermediate}\n" in reference
        found = getattr(
            importlib.import_module(f"resemblance.intermediates.{module}"), intermediate
        )
        assert inspect.getdoc(found)
    assert all(
        f"| `{field}` |" in page and f"``{field}``" in (Decomposition.__doc__ or "")
        for field in Decomposition._fields
    )


def test_the_table_of_extras_has_all_extras_of_users_and_no_others() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"]) - {"docs", "dev"}
    table = (DOCS / "start.md").read_text().split("## What needs what")[1]
    assert set(re.findall(r"^\| .* \| `(\w+)`", table, flags=re.MULTILINE)) == extras


def test_the_first_install_of_the_readme_serves_its_examples() -> None:
    """Two models, a page, figures and the demonstration; with the extras that these include."""
    text = (ROOT / "README.md").read_text()
    first = re.search(r"pip install ['\"]?\.\[([\w,]+)\]", text)
    assert first is not None
    packages = {package for extra in first[1].split(",") for package in packages_in_extra(extra)}
    assert packages >= {"torch", "jinja2", "transformers", "safetensors", "PIL", "matplotlib"}
    assert text.index("pip install") < text.index("$ resemblance")


def test_links_between_pages_exist() -> None:
    generated = {f"measures/{m.name}" for m in MEASURES}
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
            found = (page.parent / target).exists() or (page.parent == DOCS and target in generated)
            assert found, f"{name_of(page)} links to {target}"


def test_the_citation_and_the_changelog_name_this_version() -> None:
    assert f"version: {rs.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"[{rs.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_workflows_call_targets_of_the_makefile(subtests: pytest.Subtests) -> None:
    lines = re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    targets = {name for line in lines for name in line.split()}
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert len(workflows) == 3
    for workflow in workflows:
        with subtests.test(workflow.name):
            assert set(re.findall(r"run: make (\S+)", workflow.read_text())) <= targets
