"""Verification: whatever is changed in a repository of results is named."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from factories.files import hide
from factories.packs import MEASURES, OWN, packs_in

import resemblance as rs
from resemblance.boards import apart, read_scores, submission, verifying, write_scores
from resemblance.boards.ranking import SHIPPED
from resemblance.boards.repository import RULES, AuthorsCard
from resemblance.boards.score_files import file_name
from resemblance.boards.scoring import scored_cells
from resemblance.boards.skeleton import init
from resemblance.boards.verifying import score_faults, verify_repository, verify_shipped
from resemblance.checks import Outcome
from resemblance.cli.inputs import own_measure
from resemblance.engine import memory
from resemblance.json_files import checksum
from resemblance.packs import open_pack
from resemblance.suites.pinned import pack_cases
from resemblance.suites.scoring import score

CARD = AuthorsCard("Top share", ("Ada",), licence="MIT")


def fine(measure):
    return [Outcome("symmetric", "claimed", True, "")]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Run measures here, without all checks, which takes seconds less."""
    monkeypatch.setattr(apart, "check_measure", fine)
    monkeypatch.setattr(verifying, "answers", lambda requests, *_: map(apart.examined, requests))


@pytest.fixture(scope="module")
def made(tiny_board, tmp_path_factory):
    """A repository before and after a submission."""
    folder = shutil.copytree(tiny_board, tmp_path_factory.mktemp("made") / "board")
    file = folder / "mine.py"
    file.write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESEMBLANCE_CACHE", str(folder / "cache"))
        init(folder / "base", packs_in(folder))
        shutil.copytree(folder / "base", folder / "new")
        submission.submit(own_measure(file, "top_share"), folder / "new", CARD, check=fine)
    return folder


@pytest.fixture
def root(made, tmp_path, monkeypatch):
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(made / "cache"))
    shutil.copytree(made / "new", tmp_path / "new")
    return tmp_path / "new"


def problems(root, **options):
    verified = verify_repository(root, **options)
    return [f"{fault.file}: {fault.what}" for fault in verified.faults]


def score_file(root, pack="manifolds-tiny@1"):
    return next((root / "results" / pack).glob("top_share@*"))


def rewritten(root, **changes):
    """Write a score file again with other content, as somebody would who knows its form."""
    scores = read_scores(score_file(root))._replace(**changes)
    return write_scores(root / "results", scores)


def only(lines, text):
    assert lines, text
    assert all(text in line for line in lines), lines


def test_a_score_says_that_comparisons_are_missing(made, monkeypatch):
    """Unless the measure has no score then."""
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(made / "cache"))
    pack, cka = open_pack("manifolds-tiny@1"), rs.get_measure("cka")
    cases = pack_cases(pack)
    lenient = [case._replace(rule=case.rule._replace(is_complete=False)) for case in cases]
    rows = score(cases, [cka])
    failing = [row._replace(failed=3) for row in rows]
    runs = ((cases, failing, False), (lenient, rows, False), (lenient, failing, True))
    for of, some, expected in runs:
        assert {c.is_incomplete for c in scored_cells(pack, of, some)} == {expected}


def test_a_submission_holds(root, made):
    verified = verify_repository(root, base=made / "base")
    assert verified.holds
    assert len(verified.files) == 2
    only(problems(root, base=root), "nothing is verified")  # as nothing is new


def test_a_changed_score_is_found_by_its_checksum_and_by_computing_it(root):
    file = score_file(root)
    text = file.read_text()
    cells = read_scores(file).cells
    better = tuple(c._replace(value=1.0 if c.value != 1.0 else 0.5) for c in cells)
    file.write_text(text.replace('"seconds":', '"seconds": 0.0001, "x":'))
    only(problems(root), "checksum is another")
    file.write_text(text)
    rewritten(root, cells=better)
    lines = problems(root)
    only(lines, "when computed")
    assert len(lines) == len(cells)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"value": None, "reason": "none"}, "the score is missing, and"),
        ({"is_incomplete": True}, "it is complete when computed"),
        ({"reason": "why"}, "a reason belongs to a cell without a score"),
        ({"cell": "another"}, "does not have the cells of manifolds-tiny@1"),
        ({"models": "others"}, "does not have the cells of manifolds-tiny@1"),
        ({"parts": (1.0,)}, "does not have the cells of manifolds-tiny@1"),
    ],
)
def test_changed_cells_are_found(root, changes, text):
    first, *rest = read_scores(score_file(root)).cells
    rewritten(root, cells=(first._replace(**changes), *rest))
    only(problems(root), text)


def test_every_entry_of_a_cell_is_compared(root, subtests):
    scores = read_scores(score_file(root))
    cell = scores.cells[0]._replace(value=0.5, parts=(0.25, None), is_incomplete=False, reason="")
    file = scores._replace(cells=(cell,))
    assert not list(score_faults(file, file, 0.0))
    for changes, text in (
        ({"value": 0.6}, "the score is"),
        ({"parts": (0.5, None)}, "part 1 is"),
        ({"parts": (0.25, 1.0)}, "part 2 is"),
        ({"is_incomplete": True}, "complete when computed"),
    ):
        other = scores._replace(cells=(cell._replace(**changes),))
        for stored, again in ((file, other), (other, file)):
            with subtests.test(text):
                (line,) = score_faults(stored, again, 1e-6)
                assert text in line


def test_scores_within_the_tolerance_hold(root):
    cells = read_scores(score_file(root)).cells
    assert [c.value for c in cells] == [round(c.value, 12) for c in cells]
    assert any(c.value != round(c.value, 11) for c in cells)
    rewritten(root, cells=tuple(c._replace(value=c.value + 1e-8) for c in cells))
    assert not problems(root)
    only(problems(root, tolerance=1e-9), "when computed")


def test_changed_statements_about_code_and_claims_are_found(root):
    scores = read_scores(score_file(root))
    rewritten(root, code="0" * 64)
    only(problems(root), "computed by other code")
    claims = scores.measure._replace(metric=True)
    rewritten(root, measure=claims, code=scores.code)
    only(problems(root), "states metric True, and the code False")
    rewritten(root, manifest="0" * 64, measure=scores.measure)
    only(problems(root), "is on the manifest 000000000000")
    rewritten(root, seconds=-1.0, manifest=scores.manifest)
    only(problems(root), "states a time of -1.0 seconds")


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ('sha256 = "', 'sha256 = "0', "another SHA-256 than its card states"),
        ('specs = ["top_share"]', 'specs = ["top_share[power=7]"]', "top_share"),
        ('specs = ["top_share"]', 'specs = ["top_share[no=7]"]', "top_share"),
        ("[checks]", "[other]", "no entry 'checks'"),
        ("[checks]", "[checks]\nholding = [99]", "unknown entry 'holding'): submit"),
        ("[checks]", "[checks]\nkept = 3", "unknown entry 'kept'): submit the measure again"),
        ('specs = ["top_share"]', 'specs = ["cka"]', "'cka', which is not of top_share"),
        ("authors = ", "authors = 3\nothers = ", "authors must be a list"),
    ],
)
def test_a_changed_card_is_found(root, before, after, text):
    card = root / "measures/top_share.toml"
    assert before in card.read_text()
    card.write_text(card.read_text().replace(before, after))
    lines = problems(root)
    assert any(text in line for line in lines), lines


def test_changed_code_is_found(root):
    file = root / "measures/top_share.py"
    file.write_text(OWN.replace("abs(first - second)", "0.0"))
    lines = problems(root)
    assert any("another SHA-256" in line for line in lines)


@pytest.mark.parametrize(
    "code", ["import nowhere", "raise SystemExit(0)", "top_share = 3", "def f(:", ""]
)
def test_code_that_cannot_be_used_is_a_fault_of_its_file(root, code):
    card, file = root / "measures/top_share.toml", root / "measures/top_share.py"
    old = checksum(file)
    file.write_text(code)
    card.write_text(card.read_text().replace(old, checksum(file)))
    only(problems(root), "measures/top_share.py: cannot be used")


def test_failing_checks_must_be_listed(root, monkeypatch):
    failing = [Outcome("symmetric", "claimed", False, "m(X, Y) = 1")]
    monkeypatch.setattr(apart, "check_measure", lambda measure: failing)
    only(problems(root), "fails the check 'symmetric', which is not listed")
    card = root / "measures/top_share.toml"
    card.write_text(card.read_text().replace("failing = []", 'failing = ["symmetric"]'))
    assert not problems(root)


@pytest.mark.parametrize(
    "name",
    [
        "results/foreign.json",
        "results/resi-tiny@1/deep/cka@v3.json",
        "results/resi-tiny@1/notes.txt",
        "results/other-tiny@1/cka@v3.json",
        "measures/evil.sh",
        "measures/evil.py",
        "measures/deep/evil.py",
    ],
)
def test_foreign_files_are_found(root, name):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("{}")
    only(problems(root), name)


def test_compiled_code_is_found_wherever_it_is_and_not_run(root, made):
    file = root / "measures/top_share.py"
    verify_repository(root)
    assert not list(root.rglob("*.pyc"))  # none is made
    hide("raise AssertionError('another code')", file)
    for place in ("setup.pyc", "tools/__pycache__/setup"):
        (root / place).parent.mkdir(exist_ok=True, parents=True)
        (root / place).touch()
    lines = [line for line in problems(root, base=made / "base") if "compiled code" in line]
    assert len(lines) == 3
    assert not any("another code" in line for line in problems(root))


def test_links_are_not_followed(root, tmp_path):
    outside = tmp_path / "outside.json"
    shutil.move(score_file(root), outside)
    os.symlink(outside, root / "results/manifolds-tiny@1/top_share@v1.json")
    lines = problems(root)
    assert any("is no score file" in line for line in lines)


def test_links_at_the_root_and_those_that_lead_nowhere_are_found(root, tmp_path):
    (root / "measures/.gitkeep").unlink()
    (root / "measures/.gitkeep").symlink_to("nowhere")
    only(problems(root), "measures/.gitkeep: is neither")
    for name in ("measures", "results"):
        (root / name).rename(tmp_path / name)
        (root / name).symlink_to(tmp_path / name)
    lines = problems(root)
    only(lines, "is a link")
    assert len(lines) == 2


def test_a_board_without_measures_is_not_verified(root, made):
    only(problems(made / "base"), "nothing is verified")


def test_measures_are_run_apart_within_limits(made, tmp_path, subtests):
    file = tmp_path / "top_share.py"
    request = apart.Request(str(file), ("top_share",), (), ())
    attacks = {
        "import os; os._exit(0)": "ends the process, with 0",
        "while True: pass": "was ended after 1 seconds",
        "import os; os.fork()": "may not start a process",
        "bytearray(2**33)": "MemoryError",
        "open('big', 'wb').write(bytes(2**25))": "File too large",
    }
    limits = apart.Limits(1.0, "4GB")
    for code, problem in attacks.items():
        with subtests.test(code):
            file.write_text(f"print('words')\n{code}\n")
            patient = limits if "while" in code else apart.LIMITS
            (answer,) = apart.answers([request], patient._replace(memory="4GB"))
            (fault,) = answer.faults
            assert fault.file == "measures/top_share.py"
            assert problem in fault.what
    file.write_text(f"print('words')\n{OWN}")
    assert list(apart.answers([request])) == [apart.Answer(())]


def test_measures_that_run_at_a_time_share_the_memory(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 10**9)
    monkeypatch.setattr(apart, "_answer", lambda request, limits, running: limits.memory)
    for count, jobs, limit, each in (
        (4, 2, "half", 2 * 10**9), (2, 8, "half", 2 * 10**9), (1, 8, "half", 4 * 10**9),
        (4, 2, "1GB", 10**9), (200, 200, "half", memory.SMALLEST),
    ):  # fmt: skip
        limits = apart.Limits(memory=limit)
        assert list(apart.answers([None] * count, limits, jobs)) == [each] * count
    assert list(apart.answers([], jobs=2)) == []


def test_what_a_measure_raises_steers_no_terminal(root):
    card, file = root / "measures/top_share.toml", root / "measures/top_share.py"
    old = checksum(file)
    file.write_text("raise ValueError('\\x1b[2J\\x9b')")
    card.write_text(card.read_text().replace(old, checksum(file)))
    only(problems(root), r"\x1b[2J\x9b")


def test_an_answer_with_other_scores_is_refused(root, monkeypatch):
    files = sorted((root / "results").glob("*/top_share@*"))
    right = tuple(map(read_scores, files))
    other = right[0]._replace(pack="other-tiny@1")
    for given in ((), (other,), (*right, other)):
        monkeypatch.setattr(verifying, "answers", lambda *_, given=given: [apart.Answer((), given)])
        only(problems(root), "does not give the scores that its card lists")


def test_scores_in_the_wrong_place_missing_or_of_nobody_are_found(root, made):
    file = score_file(root)
    file.rename(file.with_name("top_share@v1.json"))
    lines = problems(root)
    assert any("which is its place" in line for line in lines)
    assert any("is missing: top_share has no scores" in line for line in lines)
    shutil.copytree(made / "scores", root / "results", dirs_exist_ok=True)
    assert any("has scores of cka, which no card" in line for line in problems(root))


def test_two_versions_of_a_measure_are_found(root):
    scores = read_scores(score_file(root))
    write_scores(root / "results", scores._replace(measure=scores.measure._replace(version=7)))
    lines = problems(root)
    assert any("has the measure of" in line and "there already" in line for line in lines)


# ----------------------------------------------------------------------------------- what was there


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CONTRIBUTING.md", "was changed"),
        (".github/workflows/verify.yml", "was changed"),
        (RULES, "was changed"),
        ("measures/top_share.py", "was changed"),
        ("setup.py", "is new, and neither a measure nor its scores"),
    ],
)
def test_a_pull_request_changes_nothing_that_was_there(root, made, name, text):
    with (root / name).open("a") as file:
        file.write("# more\n")
    lines = problems(root, base=made / "new")
    assert f"{name}: {text}" in " ".join(lines)


def test_a_pull_request_removes_nothing(root, made):
    file = score_file(root)
    file.unlink()
    name = file.relative_to(root).as_posix()
    assert f"{name}: was removed" in problems(root, base=made / "new")


def test_a_pull_request_cannot_loosen_the_rules(root, made):
    rules = root / RULES
    rules.write_text(rules.read_text().replace("1e-06", "0.9"))
    cells = read_scores(score_file(root)).cells
    rewritten(root, cells=tuple(c._replace(value=c.value - 0.1) for c in cells))
    lines = problems(root, base=made / "base")
    assert any("other rules than before" in line for line in lines)
    assert any("when computed" in line for line in lines)


def test_a_variant_may_join_the_card_of_its_measure(root, made):
    measure = own_measure(made / "mine.py", "top_share").where(power=2)
    submission.submit(measure, root, CARD, check=fine)
    assert not problems(root, base=made / "new")
    card = root / "measures/top_share.toml"
    card.write_text(card.read_text().replace('"top_share", ', ""))
    lines = problems(root, base=made / "new")
    assert "measures/top_share.toml: was changed" in " ".join(lines)


def test_scores_that_a_pull_request_adds_are_computed_again(root, made, tmp_path):
    base = tmp_path / "base"
    shutil.copytree(root, base)
    score_file(base).unlink()  # the card of the board lists it, but nobody verified that
    cells = read_scores(score_file(root)).cells
    rewritten(root, cells=tuple(c._replace(value=c.value - 0.1) for c in cells))
    assert any("when computed" in line for line in problems(root, base=base))


def test_a_measure_that_is_not_there_cannot_be_verified(root, made):
    assert problems(root, measures=["top_shore"]) == [
        "measures: has no measure 'top_shore' to verify"
    ]
    with pytest.raises(ValueError, match="board is called ckb"):
        verify_shipped(measures=["cka", "ckb"], folder=made / "scores", series="tiny")


def test_a_link_to_an_equal_file_is_a_change(root, made):
    file = root / "README.md"
    file.unlink()
    file.symlink_to(made / "new" / "README.md")
    assert "README.md: was changed" in " ".join(problems(root, base=made / "new"))


# ------------------------------------------------------------------------ the scores of the library


def test_the_scores_that_ship_are_what_is_computed():
    """Of a measure on all packs, and of one of many equal values on that of several draws."""
    verified = [
        verify_shipped(measures=["cka"], tolerance=1e-9),
        verify_shipped(measures=["cycle_knn"], packs=["stability-compact@1"]),
    ]
    for of_measure in verified:
        assert of_measure.files
        assert of_measure.faults == ()


def test_all_scores_that_ship_are_of_measures_that_can_be_verified():
    """Those that are computed again by default are those of the files, on each pack."""
    names = {file_name(m.spec, m.version) for m in rs.preset("board")}
    for pack in verifying.packs_of(verifying.SERIES):
        shipped = {path.name for path in (SHIPPED / pack.manifest.identity).glob("*@v*.json")}
        assert shipped == names


def test_shipped_scores_are_computed_again(made, tmp_path, monkeypatch):
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(made / "cache"))
    packs = tuple(open_pack(f"{suite}-tiny@1") for suite in ("resi", "manifolds"))
    monkeypatch.setattr(verifying, "packs_of", lambda series: packs)
    folder = tmp_path / "scores"
    shutil.copytree(made / "scores", folder)
    verified = verify_shipped(folder=folder, measures=["cka"])
    assert verified.holds
    assert len(verified.files) == 2
    file = next((folder / "manifolds-tiny@1").glob("cka@*"))
    scores = read_scores(file)
    cells = tuple(c._replace(value=-1.0) for c in scores.cells)
    write_scores(folder, scores._replace(cells=cells))
    faults = verify_shipped(folder=folder, measures=["cka"], packs=["manifolds-tiny@1"]).faults
    assert len(faults) == len(cells)
    with pytest.raises(ValueError, match="no measure of the board"):
        verify_shipped(folder=folder, measures=["nothing"])
    with pytest.raises(ValueError, match="no pack other@1"):
        verify_shipped(folder=folder, measures=["cka"], packs=["other@1"])
    file.unlink()
    assert "is missing" in verify_shipped(folder=folder, measures=[MEASURES[0]]).faults[0].what


def test_the_command_says_what_differs_and_ends_with_1(root, made, call):
    card = root / "measures/top_share.toml"
    card.write_text(card.read_text().replace("[checks]", "[other]"))
    code, out, err = call("board", "verify", root, "-q", "-j", 1)
    assert (code, err) == (1, "")
    assert "measures/top_share.toml: " in out
    words = ("--base", made / "new", "--format", "json", "-q", "-j", 1)
    code, out, _ = call("board", "verify", root, *words)
    document = json.loads(out)
    assert (code, document["holds"], document["files"]) == (1, False, [])
    assert {"file": "measures/top_share.toml", "what": "was changed: nothing on a board is"} in (
        document["faults"]
    )
    code, _, err = call("board", "verify", made / "scores", "-q")
    assert (code, "no repository of results" in err) == (2, True)
