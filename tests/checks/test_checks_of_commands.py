"""Each check finds the command that is wrong in that respect, and in no other."""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from resemblance.checks import check_command

ANSWERS = {"table": "one 1", "json": '{"one": 1}', "csv": "name,value\none,1"}
Format = Annotated[str, typer.Option(help="table, json or csv.")]
RIGHT = "add a.txt --save state.txt"


def refuse(*words: object) -> int:
    print("error:", *words, file=sys.stderr)
    return 2


def add(
    source: Path,
    save: Path = Path("state.txt"),
    times: int = 1,
    format: Format = "table",
    output: Path | None = None,
    quiet: bool = False,
) -> int:
    """Right: what all the others are but for one thing."""
    if not source.is_file() or not save.parent.is_dir():
        return refuse(source, save, "does not exist")
    if format not in ANSWERS:
        return refuse("--format", format)
    if output and (not output.parent.is_dir() or output.resolve() == source.resolve()):
        return refuse(output, "cannot be written")
    if not quiet:
        print("adding", file=sys.stderr)
    save.write_text("saved")
    answer = ANSWERS["json" if output else format]
    if output:
        output.write_text(answer)
    else:
        print(answer)
    return 0


def app_of(command: Any, **settings: Any) -> typer.Typer:
    app = typer.Typer()
    app.command("add", **settings)(command)
    app.callback()(lambda: None)
    return app


def run_of(app: typer.Typer) -> Any:
    """A program that says each mistake in one line."""

    def run(words: list[str]) -> int:
        try:
            return typer.main.get_command(app)(words, standalone_mode=False) or 0
        except Exception as error:
            message = error.format_message() if hasattr(error, "format_message") else str(error)
            return refuse(" ".join(message.split()))

    return run


def changed(act: Callable[[dict[str, Any]], int]) -> Any:
    """A command with the parameters of the right one."""

    @functools.wraps(add)
    def command(**given: Any) -> int:
        return act(given)

    return command


def loud(given: dict[str, Any]) -> int:
    code = add(**given)
    if not code:
        print("a note", file=sys.stderr)
    return code


def silent(given: dict[str, Any]) -> int:
    if given["format"] != "table":
        return add(**given)
    with redirect_stdout(io.StringIO()):
        return add(**given)


def wide(given: dict[str, Any]) -> int:
    code = add(**given)
    if not code and given["format"] == "table" and not given["output"]:
        print("x" * 81)
    return code


def without_json(given: dict[str, Any]) -> int:
    if given["format"] != "json" or given["output"]:
        return add(**given)
    print("{one: 1}")
    return 0


def ragged(given: dict[str, Any]) -> int:
    if given["format"] == "csv":
        print("name")
    return add(**given)


def patient(given: dict[str, Any]) -> int:
    return add(**given) if given["source"].exists() else print("nothing to add") or 0


def chatty(given: dict[str, Any]) -> int:
    if not given["source"].exists():
        print("error: this is", file=sys.stderr)
    return add(**given)


def lenient(given: dict[str, Any]) -> int:
    return add(**{**given, "format": given["format"] if given["format"] in ANSWERS else "table"})


def alarmed(given: dict[str, Any]) -> int:
    return 70 if add(**given) else 0


def careful(given: dict[str, Any]) -> int:
    if given["output"] and given["output"].exists():
        return refuse(given["output"], "exists")
    return add(**given)


def careless(given: dict[str, Any]) -> int:
    if given["output"] == given["source"]:
        given["source"].write_text("lost")
    return add(**given)


def deaf(given: dict[str, Any]) -> int:
    try:
        return add(**given)
    except KeyboardInterrupt:
        return 1


def forgetful(given: dict[str, Any]) -> int:
    if given["save"].exists():
        return refuse(given["save"], "exists")
    given["save"].write_text("begun")
    return add(**given)


FAULTS = {
    loud: {"an answer"},
    silent: {"an answer"},
    wide: {"a table of 80 columns"},
    without_json: {"JSON"},
    ragged: {"CSV"},
    patient: {"a missing file"},
    chatty: {"a missing file"},
    lenient: {"wrong values"},
    alarmed: {"a missing file", "wrong values", "an input as output"},
    careful: {"a file that exists"},
    careless: {"an input as output"},
    deaf: {"an interruption"},
    forgetful: {"an interruption"},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("some text")
    return tmp_path


def failing(app: typer.Typer, folder: Path, **options: Any) -> set[str]:
    settings = {"run": run_of(app), "functions": [add], **options}
    return {o.check for o in check_command(app, RIGHT, folder=folder, **settings) if not o.holds}


def test_a_right_command_passes_and_its_folder_is_as_it_was(folder):
    assert failing(app_of(add), folder) == set()
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("act", FAULTS, ids=lambda act: act.__name__)
def test_what_is_wrong_is_found_and_nothing_else(folder, act):
    assert failing(app_of(changed(act)), folder) == FAULTS[act]


def test_what_is_wrong_with_the_program_is_found(folder):
    app = app_of(add)
    verbose = failing(app, folder, run=None)  # an app of typer has errors of several lines
    assert {"an unknown option", "wrong values"} <= verbose
    assert failing(app, folder, functions=[len]) == {"words of Python"}
    extra_options = {"save", "times", "format", "output", "quiet"}
    assert failing(app, folder, functions=[len], extra_options=extra_options) == set()
    assert failing(app_of(add, add_help_option=False), folder) == {"help"}


def test_what_a_command_does_not_have_is_not_decided():
    def hello() -> None:
        print("hello")

    app = app_of(hello)
    outcomes = check_command(app, "add", run=run_of(app))
    assert {o.check for o in outcomes if o.holds is None} == {
        "JSON",
        "CSV",
        "a missing file",
        "a file that exists",
        "an input as output",
        "words of Python",
    }
    assert not [o for o in outcomes if o.holds is False]
    with pytest.raises(ValueError, match="the app has no command 'ad'"):
        check_command(app, "ad")
