"""Submissions: what is written, what is refused, and that nothing is written half."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from factories.packs import OWN, packs_in

import resemblance as rs
from resemblance.boards import repository, submission
from resemblance.boards.repository import (
    AuthorsCard,
    read_rules,
    read_submitted,
    rules_of,
    rules_text,
    toml,
)
from resemblance.boards.skeleton import init
from resemblance.checks import Outcome, check_measure
from resemblance.cli.inputs import own_measure

CARD = AuthorsCard("Top share", ("Ada", "Grace"), licence="MIT")


def fine(measure):
    return [Outcome("symmetric", "claimed", True, "")]


def failing(measure):
    return [Outcome("symmetric", "claimed", False, "m(X, Y) = 1, m(Y, X) = 2")]


@pytest.fixture(scope="module")
def tiny(tiny_board):
    return tiny_board, packs_in(tiny_board)


@pytest.fixture
def root(tiny, tmp_path, monkeypatch):
    """A repository without measures, and a file with one."""
    folder, packs = tiny
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(folder / "cache"))
    monkeypatch.chdir(tmp_path)
    init(tmp_path / "results", packs)
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path / "results"


def add(root, name="top_share", **options):
    measure = own_measure(root.parent / "mine.py", name)
    return submission.submit(measure, root, CARD, **{"check": fine} | options)


def files(root):
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}


def test_a_submission_has_a_file_a_card_and_scores_on_every_pack(root):
    before = files(root)
    done = add(root)
    version = own_measure(root.parent / "mine.py", "top_share").version
    assert files(root) - before == {
        "measures/top_share.py",
        "measures/top_share.toml",
        f"results/resi-tiny@1/top_share@v{version}.json",
        f"results/manifolds-tiny@1/top_share@v{version}.json",
    }
    assert (root / "measures/top_share.py").read_text() == OWN
    card = read_submitted(root / "measures/top_share.toml")
    assert card == done.card
    assert card.authors == CARD
    assert (card.specs, card.failing) == (("top_share",), ())


def test_variants_of_a_file_share_a_card(root):
    add(root)
    measure = own_measure(root.parent / "mine.py", "top_share").where(power=2)
    submission.submit(measure, root, CARD, check=failing, allow_failed_checks=True)
    card = read_submitted(root / "measures/top_share.toml")
    assert card.specs == ("top_share", "top_share[power=2]")
    assert card.failing == ("symmetric",)


def test_failing_checks_stop_a_submission_unless_they_are_declared(root):
    before = files(root)
    with pytest.raises(ValueError, match=r"fails 1 of its checks \(symmetric: m\(X, Y\) = 1"):
        add(root, check=failing)
    assert files(root) == before
    assert add(root, check=failing, allow_failed_checks=True).card.failing == ("symmetric",)


def test_nothing_is_written_by_a_run_that_ends_early(root, monkeypatch):
    before = files(root)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(submission, "scores_on", interrupted)
    with pytest.raises(KeyboardInterrupt):
        add(root)
    assert files(root) == before


def test_a_measure_that_always_raises_has_no_scores_but_reasons(root):
    raising = OWN.replace("first, second =", "raise rs.Undefined('no')\n    first, second =")
    (root.parent / "mine.py").write_text(raising)
    done = add(root)
    cells = [cell for scores in done.scores for cell in scores.cells]
    assert all(cell.value is None and cell.reason for cell in cells)


def test_a_changed_measure_needs_another_name(root):
    add(root)
    (root.parent / "mine.py").write_text(OWN + "# changed\n")
    other = root.parent / "other.py"
    shutil.copy(root.parent / "mine.py", other)
    measure = own_measure(other, "top_share")
    with pytest.raises(ValueError, match="give the measure another name"):
        submission.submit(measure, root, CARD, check=fine)
    done = submission.submit(measure, root, CARD, check=fine, replace=True)
    assert (root / "measures/top_share.py").read_text().endswith("# changed\n")
    names = [p.name for p in (root / "results").rglob("top_share*")]
    assert names == [f"top_share@v{done.scores[0].measure.version}.json"] * 2


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../../evil", "named by at most 64 letters"),
        ("a/b", "named by at most 64 letters"),
        ("x" * 65, "named by at most 64 letters"),
        ("con", "named by at most 64 letters"),
        ("maß", "named by at most 64 letters"),
        ("CKA", "the catalogue has a measure cka"),
    ],
)
def test_names_that_are_no_safe_files_are_refused(root, name, problem):
    def function(x, y):
        return 0.0

    function.__name__ = name
    measure = rs.measure(
        label="Evil", family="statistic", larger_is_more_similar=True, range=(0, 1),
        symmetric=True, reference="mine2026",
    )(function)  # fmt: skip
    before = files(root.parent)
    with pytest.raises(ValueError, match=problem):
        submission.submit(measure, root, CARD, check=fine)
    assert files(root.parent) == before


def test_measures_of_the_library_and_empty_cards_are_refused(root):
    with pytest.raises(ValueError, match="is a measure of this library"):
        submission.submit(rs.cka, root, CARD, check=fine)
    measure = own_measure(root.parent / "mine.py", "top_share")
    with pytest.raises(ValueError, match="needs an entry 'licence'"):
        submission.submit(measure, root, CARD._replace(licence=""), check=fine)


def test_a_frozen_board_takes_no_measures(root):
    rules = read_rules(root)
    (root / "board.toml").write_text(rules_text(rules._replace(frozen="2026-12-31")))
    with pytest.raises(ValueError, match="no more measures since 2026-12-31"):
        add(root)


# ----------------------------------------------------------------------------------- the repository


def test_rules_and_texts_survive_toml(tiny):
    rules = rules_of(tiny[1])
    document = tomllib.loads(rules_text(rules))
    assert document["packs"] == rules.packs
    text = 'two\nlines "quoted" \\ \x7f\x01 é 漢'
    assert tomllib.loads(f"x = {toml((text,))}")["x"] == [text]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("format = 1", "format = 2", "another format"),
        ("tolerance = 1e-06", "tolerance = 3", "tolerance is not between 0 and 1"),
        ("resi-tiny@1", "../resi@1", "is no pack"),
        ('series = "tiny"', 'series = "other"', "not of other"),
        ('series = "tiny"', "series = [", "is not the rules"),
    ],
)
def test_damaged_rules_are_refused(root, before, after, problem):
    text = (root / "board.toml").read_text()
    (root / "board.toml").write_text(text.replace(before, after))
    with pytest.raises(ValueError, match=problem):
        read_rules(root)


def test_a_board_on_another_pack_of_the_name_is_refused(root):
    rules = read_rules(root)
    packs = dict.fromkeys(rules.packs, "0" * 64)
    with pytest.raises(ValueError, match="get the pack of the board"):
        repository.open_packs(rules._replace(packs=packs))


def test_init_writes_no_file_twice(root, tiny):
    with pytest.raises(ValueError, match="is a repository of results"):
        init(root, tiny[1])
    other = root.parent / "other"
    other.mkdir()
    (other / "README.md").write_text("mine")
    with pytest.raises(ValueError, match=r"README.md exists"):
        init(other, tiny[1])
    assert files(other) == {"README.md"}


def test_submitted_code_runs_without_secrets_and_rights(root):
    text = (root / ".github/workflows/verify.yml").read_text()
    verify, site = text.split("  site:\n")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert "write" not in verify
    assert verify.count("persist-credentials: false") == verify.count("actions/checkout")
    assert "github.event_name == 'push'" in site
    assert "board verify new --base base" in verify
    assert "@VERSION@" not in text
    assert rs.__version__ in text


def test_the_package_is_installed_from_an_address_that_must_be_set(root):
    text = (root / ".github/workflows/verify.yml").read_text()
    assert 'PACKAGE: ""' in text
    installs = [line.strip() for line in text.splitlines() if "pip install" in line]
    assert len(installs) == 2
    for line in installs:
        assert line.startswith('run: test -n "$PACKAGE" && pip install "resemblance')
        assert line.endswith('@ $PACKAGE"')


# ----------------------------------------------------------------------------------- the command


WORDS = ("--authors", "Ada", "--licence", "MIT", "--tuned-on", "none", "-j", 1)


def test_submit_prints_the_place_and_the_git_commands(root, tiny, call):
    shutil.copytree(tiny[0] / "scores", root / "results", dirs_exist_ok=True)
    code, out, err = call("submit", "mine.py:top_share", "-o", "results", *WORDS)
    assert code == 0, err
    assert "of 5, with a mean rank" in out
    assert "git -C results add measures/top_share.py measures/top_share.toml" in out
    report = (root / "REPORT.md").read_text()
    assert "| → |" in report
    assert "Ada; licence: MIT; tuned on: nothing here" in report


def test_the_git_commands_add_every_file(root, call):
    subprocess.run(["git", "init", "-q", "results"], check=True)
    _, out, _ = call("submit", "mine.py:top_share", "-o", "results", *WORDS)
    line = next(line for line in out.splitlines() if " add " in line)
    subprocess.run(line, shell=True, check=True)
    status = ["git", "-C", "results", "diff", "--cached", "--name-only"]
    staged = subprocess.run(status, check=True, capture_output=True, text=True).stdout.split()
    assert len(staged) == 4
    assert set(staged) == {f for f in files(root) if "top_share" in f}


def test_what_a_card_lacks_is_asked_for_or_named(root, call):
    code, _, err = call("submit", "mine.py:top_share", "-o", "results", "-q", "-j", 1)
    assert (code, "needs --authors" in err) == (2, True)
    code, _, err = call("submit", "mine.py:top_share", "-o", "results", *WORDS[:4])
    assert (code, "--tuned-on" in err) == (2, True)
    Path("card.toml").write_text('authors = ["Ada"]\nlicence = "MIT"\ntuned_on = ["resi-tiny@1"]\n')
    words = ("-o", "results", "--card", "card.toml", "--title", "Mine", "-q", "-j", 1)
    code, out, err = call("submit", "mine.py:top_share", *words)
    assert (code, out, err) == (0, "", "")
    card = read_submitted(root / "measures/top_share.toml")
    assert card.authors == AuthorsCard("Mine", ("Ada",), licence="MIT", tuned_on=("resi-tiny@1",))


def test_a_file_that_fails_is_its_authors_error(root, call):
    Path("broken.py").write_text("import nowhere_at_all\n")
    code, _, err = call("submit", "broken.py:mine", "-o", "results", *WORDS)
    assert (code, "nowhere_at_all" in err) == (3, True)
    assert not list((root / "measures").glob("*.py"))


def test_a_board_takes_scores_on_its_own_packs_only(root, tiny):
    with pytest.raises(ValueError, match="the board is on resi-tiny@1, manifolds-tiny@1; got"):
        add(root, packs=tiny[1][:1])
    assert not list((root / "measures").glob("*.py"))


def test_replacing_keeps_the_file_that_is_submitted(root):
    add(root)
    source = root / "measures/top_share.py"
    measure = own_measure(source, "top_share")
    done = submission.submit(measure, root, CARD, check=fine, replace=True)
    assert source.read_text() == OWN
    assert all(file.is_file() for file in done.files)


def test_an_interrupted_submission_can_be_repeated(root):
    done = add(root)
    (root / "measures/top_share.toml").unlink()  # which is written last
    done.files[-1].unlink()
    again = add(root)
    assert again.card == done.card
    assert all(file.is_file() for file in again.files)


def test_a_measure_that_ends_the_process_is_an_error(root):
    (root.parent / "mine.py").write_text(
        OWN.replace("first,", "raise SystemExit(0)\n    first,", 1)
    )
    with pytest.raises(ValueError, match="top_share ends the process, with 0"):
        add(root)
    faults = [o.detail for o in check_measure(own_measure(root.parent / "mine.py", "top_share"))]
    assert faults == ["SystemExit: 0 (mine.py:11)"]
