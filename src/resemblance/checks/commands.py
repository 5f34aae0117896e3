"""Checks of a command on a command line: help, formats, refusals, files, interruptions."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .trial import Outcome

if TYPE_CHECKING:
    import typer

TERMINAL_COLUMNS, HELP_COLUMNS = 80, 250
USAGE_ERROR, INTERRUPTED = 2, 130  # exit codes
UNKNOWN_OPTION = "--no-such-option"
NO_FOLDER = "nowhere"
OLD_CONTENT = "what was there before"


def check_command(
    app: typer.Typer,
    line: str,
    *,
    run: Callable[[list[str]], object] | None = None,
    folder: Path | str | None = None,
    functions: Sequence[Callable[..., Any]] = (),
    extra_options: Collection[str] = (),
    free_options: Collection[str] = (),
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a command, run with a ``line`` that succeeds.

    The help names every option. The answer is on standard output alone, fits 80 columns, and is
    JSON and CSV if the command has these formats. Unknown options, missing files and wrong values
    give exit code 2 with a single line that begins with "error: " and names the fault. An existing
    output file is replaced, but never an input. An interruption gives exit code 130 without a
    traceback, and the same line then gives the same answer. Each option is named like a parameter
    of a function.

    ``line`` omits the name of the program. ``run`` takes the words of a line and returns the exit
    code; default: the app. Each run has a copy of ``folder`` with its files as current folder.
    ``functions``: the Python functions with the same effect; each option is a parameter of such a
    function, or the name of a function, except ``extra_options``. ``free_options`` take any text.

    Raises ``ValueError`` if the app has no such command.
    """
    words, command = shlex.split(line), _command_of_app(app)
    n_names = 0
    while hasattr(command, "get_command"):
        name = words[n_names] if n_names < len(words) else ""
        command = command.get_command(None, name)
        n_names += 1
        if command is None:
            raise ValueError(f"check_command: the app has no command {' '.join(words[:n_names])!r}")
    trial = CommandTrial(
        command,
        words,
        n_names,
        run or (lambda given: app(given)),
        None if folder is None else Path(folder),
        tuple(functions),
        frozenset(extra_options),
        frozenset(free_options),
    )
    return tuple(_command_outcomes(trial))


def _command_of_app(app: typer.Typer) -> Any:
    import typer

    return typer.main.get_command(app)


class CommandRun(NamedTuple):
    """The exit code of a command, the texts of standard output and standard error, and the number
    of writes. The code is a text for an exception."""

    code: object
    out: str
    err: str
    pieces: int


class NotApplicable(Exception):
    """The command has no feature that the check tests."""


class InterruptibleText(io.StringIO):
    """A stream that raises ``KeyboardInterrupt`` at write number ``interrupted_at``; 0 for never.
    Standard output and standard error share the count of writes."""

    def __init__(self, count: list[int], interrupted_at: int, is_terminal: bool) -> None:
        super().__init__()
        self.count, self.interrupted_at, self.is_terminal = count, interrupted_at, is_terminal

    def write(self, text: str) -> int:
        """Write a text, and return the number of characters; at the call that is interrupted, raise
        ``KeyboardInterrupt`` instead."""
        self.count[0] += 1
        if self.count[0] == self.interrupted_at:
            raise KeyboardInterrupt
        return super().write(text)

    def isatty(self) -> bool:
        """Return whether the stream poses as a terminal."""
        return self.is_terminal


@dataclass(frozen=True)
class CommandTrial:
    """A command with a line that succeeds; the first ``n_names`` words of the line are the name of
    the command."""

    command: Any
    words: list[str]
    n_names: int
    run: Callable[[list[str]], object]
    folder: Path | None
    functions: tuple[Callable[..., Any], ...]
    extra_options: frozenset[str]
    free_options: frozenset[str]

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the command, by their longest spellings."""
        parameters = [p for p in self.command.params if p.param_type_name == "option"]
        return {max(parameter.opts, key=len): parameter for parameter in parameters}

    @property
    def quiet_words(self) -> list[str]:
        """Return the words of the line, with ``--quiet`` if the command has this option."""
        return [*self.words, *(["--quiet"] if "--quiet" in self.options else [])]

    def named_files(self) -> list[tuple[int, str]]:
        """Return (position of the word, file) for the existing files in the words of the line."""
        return [
            (position, file)
            for position, word in enumerate(self.words)
            for file in re.split("[=:]", word)
            if position >= self.n_names and file and os.path.exists(file)
        ]

    @contextmanager
    def in_copy(self) -> Iterator[None]:
        """Change to a temporary copy of the folder inside the ``with`` block; without a folder, to
        an empty folder."""
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "copy"
            if self.folder is None:
                copy.mkdir()
            else:
                shutil.copytree(self.folder, copy, symlinks=True)
            with chdir(copy):
                yield

    def require_format(self, name: str) -> None:
        """Raise :class:`NotApplicable` if the command does not write this format."""
        help_text = getattr(self.options.get("--format"), "help", None) or ""
        if not re.search(rf"\b{name}\b", help_text):
            raise NotApplicable(f"it has no --format {name}")

    def result(
        self,
        words: Sequence[str],
        interrupted_at: int = 0,
        is_terminal: bool = False,
        columns: int = TERMINAL_COLUMNS,
    ) -> CommandRun:
        """Run the command line ``words`` in the current folder; return the exit code and the
        output.

        ``interrupted_at``: the number of the write, from 1, that raises ``KeyboardInterrupt``; 0
        for none. ``is_terminal``: whether standard output poses as a terminal. ``columns``: the
        width of the terminal.
        """
        count = [0]
        out = InterruptibleText(count, interrupted_at, is_terminal)
        err = InterruptibleText(count, interrupted_at, False)
        settings = {"COLUMNS": str(columns), "TERM": "dumb", "NO_COLOR": "1"}
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
                warnings.simplefilter("default")
                code = self.run(list(words)) or 0
        except SystemExit as end:
            code = end.code or 0
        except (Exception, KeyboardInterrupt) as error:
            code = f"{type(error).__name__}: {error}"
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        texts = [text.getvalue().replace(str(Path.cwd()), ".") for text in (out, err)]
        return CommandRun(code, texts[0], texts[1], count[0])


def _command_outcomes(trial: CommandTrial) -> Iterator[Outcome]:
    checks: dict[str, Callable[[CommandTrial], str]] = {
        "help": _problem_of_help,
        "an answer": _problem_of_answer,
        "a table of 80 columns": _problem_of_width,
        "JSON": _problem_of_json,
        "CSV": _problem_of_csv_answer,
        "an unknown option": _problem_of_unknown_option,
        "a missing file": _problem_of_missing_files,
        "wrong values": _problem_of_wrong_values,
        "a file that exists": _problem_of_existing_file,
        "an input as output": _problem_of_input_as_output,
        "an interruption": _problem_of_interrupted_command,
        "words of Python": _problem_of_option_words,
    }
    for name, problem_of in checks.items():
        try:
            with trial.in_copy():
                problem = problem_of(trial)
        except NotApplicable as reason:
            yield Outcome(name, "yes", None, str(reason))
        else:
            yield Outcome(name, "yes", not problem, problem)


def _problem_of_help(trial: CommandTrial) -> str:
    words = [*trial.words[: trial.n_names], "--help"]
    done = trial.result(words, columns=HELP_COLUMNS)
    shown = {name for name, p in trial.options.items() if not getattr(p, "hidden", False)}
    missing = sorted(name for name in shown if not re.search(rf"{name}(?![\w-])", done.out))
    if done.code or done.err:
        return f"exit code {done.code}, and on standard error {done.err!r}"
    return f"the help has no {missing[0]}" if missing else ""


def _problem_of_answer(trial: CommandTrial) -> str:
    done = trial.result(trial.words)
    if done.code or not done.out.strip():
        return f"exit code {done.code} with the answer {done.out!r}, and the message {done.err!r}"
    if re.search(r"^(error|internal error|Traceback)", done.err, flags=re.MULTILINE):
        return f"an answer, and the error {done.err!r}"
    with trial.in_copy():
        quiet = trial.result(trial.quiet_words)
    if quiet.err and "--quiet" in trial.options:
        return f"--quiet, and on standard error {quiet.err!r}"
    return f"exit code {quiet.code} with --quiet" if quiet.code else ""


def _problem_of_width(trial: CommandTrial) -> str:
    done = trial.result(trial.words, is_terminal=True)
    longest = max(done.out.splitlines(), key=len, default="")
    return f"a line of {len(longest)} columns: {longest}" if longest[TERMINAL_COLUMNS:] else ""


def _problem_of_json(trial: CommandTrial) -> str:
    trial.require_format("json")
    done = trial.result([*trial.quiet_words, "--format", "json"])
    return _problem_of_json_text(done.out) or (f"exit code {done.code}" if done.code else "")


def _problem_of_json_text(text: str) -> str:
    try:
        return "" if json.loads(text) else f"JSON without content: {text}"
    except ValueError as error:
        return f"no JSON: {error}: {text[:TERMINAL_COLUMNS]!r}"


def _problem_of_csv_answer(trial: CommandTrial) -> str:
    trial.require_format("csv")
    done = trial.result([*trial.quiet_words, "--format", "csv"])
    rows = list(csv.reader(io.StringIO(done.out)))
    if done.code or len(rows) < 2 or len(set(map(len, rows))) > 1 or not all(rows[0]):
        return f"exit code {done.code}, and {len(rows)} rows of {sorted(set(map(len, rows)))} cells"
    return ""


def _problem_of_refusal(done: CommandRun, what: str, *names: str) -> str:
    if done.code != USAGE_ERROR:
        return f"{what}: exit code {done.code}, not {USAGE_ERROR}"
    if done.out:
        return f"{what}: an answer, {done.out[:TERMINAL_COLUMNS]!r}"
    if done.err.count("\n") != 1 or not done.err.startswith("error: "):
        return f"{what}: not one line 'error: ...': {done.err!r}"
    return "" if any(name in done.err for name in names) else f"{what}: not named: {done.err!r}"


def _problem_of_unknown_option(trial: CommandTrial) -> str:
    done = trial.result([*trial.words, UNKNOWN_OPTION])
    return _problem_of_refusal(done, UNKNOWN_OPTION, UNKNOWN_OPTION)


def _problem_of_missing_files(trial: CommandTrial) -> str:
    if not trial.named_files():
        raise NotApplicable("the line names no file")
    for position, file in trial.named_files():
        words = trial.quiet_words
        words[position] = words[position].replace(file, f"no-such-{file}")
        with trial.in_copy():
            done = trial.result(words)
        if problem := _problem_of_refusal(done, f"no-such-{file}", f"no-such-{file}"):
            return problem
    return ""


def _problem_of_wrong_values(trial: CommandTrial) -> str:
    """Return the problem of the first option that accepts a value that is no number, no choice, no
    file, and no possible output path; "" for none. Flags and free options are not tested."""
    for name, parameter in trial.options.items():
        if parameter.is_flag or name.removeprefix("--") in trial.free_options:
            continue
        value = f"{NO_FOLDER}/file.{'html' if name == '--html' else 'json'}"
        with trial.in_copy():
            done = trial.result([*trial.quiet_words, name, value])
        if problem := _problem_of_refusal(done, f"{name} {value}", name, NO_FOLDER):
            return problem
    return ""


def _problem_of_existing_file(trial: CommandTrial) -> str:
    if "--output" not in trial.options:
        raise NotApplicable("it has no --output")
    trial.require_format("json")
    path = Path("old.json")
    path.write_text(OLD_CONTENT, encoding="utf-8")
    done = trial.result([*trial.words, "--output", str(path)])
    if done.code or done.out:
        return f"exit code {done.code}, and the answer {done.out!r}"
    return _problem_of_json_text(path.read_text(encoding="utf-8"))


def _problem_of_input_as_output(trial: CommandTrial) -> str:
    files = [file for _, file in trial.named_files() if Path(file).is_file()]
    if not files or "--output" not in trial.options:
        raise NotApplicable("the line names no file, or it has no --output")
    trial.require_format("json")
    for file in files:
        before = Path(file).read_bytes()
        done = trial.result([*trial.quiet_words, "--format", "json", "--output", file])
        if Path(file).read_bytes() != before:
            return f"the input {file} is overwritten"
        if problem := _problem_of_refusal(done, f"--output {file}", file):
            return problem
    return ""


def _problem_of_interrupted_command(trial: CommandTrial) -> str:
    """Interrupt the command at its first write and at half of its writes, then run the command
    again. Return the first problem in words, or ""."""
    whole = trial.result(trial.words)
    for piece in sorted({1, max(1, whole.pieces // 2)}):
        with trial.in_copy():
            stopped = trial.result(trial.words, interrupted_at=piece)
            if stopped.code != INTERRUPTED or "Traceback" in stopped.err:
                return f"exit code {stopped.code} in piece {piece}: {stopped.err!r}"
            again = trial.result(trial.words)
        if again.code != whole.code or _without_numbers(again.out) != _without_numbers(whole.out):
            return f"after piece {piece}, the same line: {again.code}, {again.out + again.err!r}"
    return ""


def _without_numbers(text: str) -> list[str]:
    return re.sub(r"[\d.,]+", "", text).split()


def _problem_of_option_words(trial: CommandTrial) -> str:
    if not trial.functions:
        raise NotApplicable("no function is named that does the same")
    known = {function.__name__.lower() for function in trial.functions}
    for function in trial.functions:
        known |= set(inspect.signature(function).parameters)
    for option in trial.options:
        name = option.removeprefix("--")
        # such as --domain for domains
        words = {name.replace("-", "_"), f"{name.replace('-', '_')}s"}
        if name not in trial.extra_options and not words & known:
            return f"no function has the word of {option}"
    return ""
