"""Parse the arguments of commands: measures, functions, labels, input files and output files."""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.extras import require_packages
from ..base.text import check_choice, did_you_mean
from ..base.user_modules import UserFileError, load_packaged_file, load_user_file, user_module_name
from .choices import FORMATS

if TYPE_CHECKING:
    import numpy as np

    from ..contracts._measure import Measure
    from ..contracts._statistic import Statistic
    from ..sections.claims import Claim


def parse_measures(texts: Sequence[str] | None) -> list[Measure] | None:
    """Return the measures named on the command line; None without names, for the default list.

    ``texts``: the values of a repeatable option, each with names separated by commas. Raises
    ``ValueError`` for an empty or unknown name.
    """
    from ..catalogue import get_measures

    if not texts:
        return None
    specs = _split_specs(texts)
    if not specs:
        raise ValueError("--measures is empty")
    return get_measures(_load_user_or_spec(spec) for spec in specs)


def parse_measures_and_statistics(texts: Sequence[str]) -> list[Measure | Statistic]:
    """Return the distinct measures and statistics named on the command line, in order; raise
    ``ValueError`` without a name. ``texts``: specifications, several in a text with commas, or
    ``FILE.py:NAME``."""
    from ..catalogue import get_measures, get_statistic, list_statistics
    from ..contracts._measure import Measure
    from ..contracts._statistic import Statistic

    statistic_names = {name.lower() for s in list_statistics() for name in (s.name, s.label)}
    entries: list[Measure | Statistic] = []
    for spec in _split_specs(texts):
        entry = _load_user_or_spec(spec, (Measure, Statistic))
        is_statistic = (
            isinstance(entry, str) and entry.partition("[")[0].strip().lower() in statistic_names
        )
        if isinstance(entry, Statistic) or is_statistic:
            entries.append(get_statistic(entry))
        else:
            entries += get_measures([entry])
    if not entries:
        raise ValueError("name a measure or a statistic")
    return list(dict.fromkeys(entries))


def parse_statistics(texts: Sequence[str]) -> list[Statistic]:
    """Return the distinct statistics named on the command line, in order. ``texts``:
    specifications, several in a text with commas, or ``FILE.py:NAME``."""
    from ..catalogue import get_statistic
    from ..contracts._statistic import Statistic

    entries = (_load_user_or_spec(spec, (Statistic,)) for spec in _split_specs(texts))
    return list(dict.fromkeys(get_statistic(entry) for entry in entries))


def add_user_measures(
    replacements: list[Measure] | None,
    specs: Sequence[str] | None,
    defaults: Iterable[str | Measure],
) -> list[Measure] | None:
    """Return the measures of ``replacements``, or of ``defaults`` if ``replacements`` is None,
    followed by the measures named in ``specs``.

    Without ``specs``, return ``replacements``; None then means the default measures.
    """
    from ..catalogue import get_measures

    user_measures = parse_measures(specs)
    if user_measures is None:
        return replacements
    return get_measures([*(defaults if replacements is None else replacements), *user_measures])


def split_commas(texts: Iterable[str] | None) -> list[str]:
    """Return the words in all values ``texts`` of a repeatable option, split at commas; [] for
    None."""
    words = (word.strip() for text in texts or () for word in text.split(","))
    return [word for word in words if word]


def _split_specs(texts: Iterable[str]) -> list[str]:
    parts = (part.strip() for text in texts for part in re.split(r",(?![^\[\]]*\])", text))
    return list(filter(None, parts))


def _load_user_or_spec(spec: str, kinds: tuple[type, ...] = ()) -> Any:
    from ..catalogue import parse_parameters

    match = re.fullmatch(r"(.+\.py):(\w+)\s*(?:\[(.*)\])?", spec)
    if match is None and spec.endswith(".py"):
        raise ValueError(f"{spec} is a file; name a measure in the file, {spec}:NAME")
    if match is None:
        return spec
    entry = load_user_measure(Path(match[1]), match[2], kinds)
    return entry.with_parameters(**parse_parameters(match[3])) if match[3] else entry


def load_user_measure(path: Path, name: str, kinds: tuple[type, ...] = ()) -> Any:
    """Return the measure called ``name`` from a user's file, or an object of another type in
    ``kinds``; the file is executed.

    ``kinds``: the accepted types, by default only ``Measure``. A plain function of two arrays is a
    measure without declared properties, if measures are accepted. Raises ``ValueError`` if the file
    or the object does not exist, or has another type, ``UserFileError`` if the file fails.
    """
    from ..catalogue import declaration_of
    from ..contracts._measure import (
        Measure,
        is_plain_function,
        takes_two_arrays,
        undeclared_measure,
    )

    kinds = kinds or (Measure,)
    words = [kind.__name__.lower() for kind in kinds]
    value = _load_definition(path, name, " or ".join(words), kinds)
    if Measure in kinds and is_plain_function(value) and takes_two_arrays(value):
        return undeclared_measure(value)
    if not isinstance(value, kinds):
        decorators = " or ".join(declaration_of(name, word) for word in words)
        raise ValueError(
            f"{name} in {path} is not a {' or '.join(words)}: decorate it with {decorators}"
        )
    return value


def load_user_function(text: str) -> Callable[..., Any]:
    """Return the callable named as FILE.py:NAME; the user's file is executed.

    Raises ``ValueError`` if the function does not exist, ``UserFileError`` if the file fails.
    """
    path, _, name = text.rpartition(":")
    if not path:
        raise ValueError(f"a function is named FILE.py:NAME; got {text}")
    value = _load_definition(Path(path), name, "function", FunctionType)
    if not callable(value):
        raise ValueError(f"{name} in {path} is not a function")
    return value


def load_user_claims(text: str) -> Mapping[str, Callable[[Any], Iterable[Claim]]]:
    """Return the functions that judge claims, by section, from a mapping named as FILE.py:NAME; the
    user's file is executed.

    A file of a package, such as the files in ``papers/``, may import other modules of the package.
    Raises ``ValueError`` if the mapping does not exist, ``UserFileError`` if the file fails.
    """
    match = re.fullmatch(r"(.+\.py):(\w+)", text)
    if match is None:
        raise ValueError(f"--claims must be FILE.py:NAME; got {text}")
    value = _load_definition(Path(match[1]), match[2], "claims", Mapping, _load_claims_file)
    if not isinstance(value, Mapping) or not all(map(callable, value.values())):
        raise ValueError(
            f"{match[2]} in {match[1]} must be a mapping from names of sections to functions that "
            "judge the facts of a section"
        )
    return value


def _load_claims_file(file: str, name: str) -> object:
    """Execute a file of claims, and return the module. The file may belong to a package. ``name``:
    the name of the module in ``sys.modules``."""
    if not (Path(file).parent / "__init__.py").exists():
        return load_user_file(file, name)
    loaded = load_packaged_file(file)
    package = loaded.__name__.partition(".")[0]
    neighbors = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == package}
    # Register all modules of the package as a user's modules, so that their errors count as errors
    # in a user's file.
    sys.modules.update({f"{name}.{n}": module for n, module in neighbors.items()})
    return loaded


def _load_definition(
    path: Path,
    name: str,
    description: str,
    kind: type | tuple[type, ...],
    load: Callable[[str, str], object] = load_user_file,
) -> object:
    """Execute a user's file, at most once per process, and return the object called ``name``, of
    any type.

    ``description``: the kind of object in messages. ``kind``: the types of the suggested names.
    ``load``: receives the file and the name of the module, and returns the module. Raises
    ``ValueError`` for a missing file or object, ``UserFileError`` if the file fails.
    """
    if not path.is_file():
        raise ValueError(f"{path} does not exist")
    file = os.path.realpath(path)
    module = user_module_name(file)
    try:
        loaded = sys.modules.get(module) or load(file, module)
    # SystemExit would end the command with success.
    except (Exception, SystemExit) as error:
        raise UserFileError(
            f"{path} cannot be loaded: {type(error).__name__}: {error}{_failing_line(error, file)}"
        ) from error
    names = vars(loaded)
    if names.get(name) is None:
        candidates = [n for n, v in names.items() if isinstance(v, kind) and not n.startswith("__")]
        raise ValueError(f"{path} has no {description} {name!r}{did_you_mean(name, candidates)}")
    return names[name]


def _failing_line(error: BaseException, file: str) -> str:
    """Return " (line 3)" for an error in a file; "" for a syntax error, because its message
    contains the line."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    return f" (line {lines[-1]})" if lines else ""


def choose_format(format: str | None, output: Path | None, formats: Sequence[str] = FORMATS) -> str:
    """Return the output format: ``format``, or the format of the suffix of the output file, or
    "table". ``formats``: the formats that the command has.

    Raises ``ValueError`` for another format or suffix, and for Parquet without a file.
    """
    from ..report.output import FORMAT_BY_SUFFIX

    suffix = output.suffix.removeprefix(".").lower() if output else ""
    suffix = FORMAT_BY_SUFFIX.get(suffix, suffix)
    if format is None and suffix not in ("", "txt", *formats):
        endings = {kind: ending for ending, kind in FORMAT_BY_SUFFIX.items()}
        suffixes = ", ".join(f".{endings.get(k, k)}" for k in ("txt", *formats) if k != "table")
        raise ValueError(
            f"{output}: tables cannot be written as .{suffix}; choose one of {suffixes}, or set "
            "--format; for figures write a page (--html) or use resemblance.plot"
        )
    kind = format or (suffix if suffix in formats else "table")
    check_choice("--format", kind, formats)
    if kind == "parquet" and output is None:
        raise ValueError("--format parquet needs --output FILE")
    return kind


def check_page_suffix(path: Path | None) -> None:
    """Raise ``ValueError`` for a page file with a suffix other than .html or .htm; no suffix is
    allowed."""
    if path is not None and path.suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(f"{path}: a page is written as .html, not as {path.suffix}")


def check_output_paths(
    kind: str,
    inputs: Sequence[str],
    output: Path | None,
    html: Path | None,
    save: Path | None,
    needs: tuple[str, ...] = (),
) -> None:
    """Check before the work that every output can be written, and that no file is used twice; raise
    ``ValueError`` or ``ImportError``.

    ``kind``: the format, which may need packages. ``inputs``: the input files. ``output``,
    ``html``, ``save``: the files to write, None for none. ``needs``: packages for the work; an
    error about a missing package names ``needs`` too.
    """
    targets, real = (output, html, save), os.path.realpath
    check_page_suffix(html)
    real_paths = [real(i) for i in inputs] + [real(t) for t in targets if t is not None]
    for target in (t for t in targets if t is not None and real_paths.count(real(t)) > 1):
        raise ValueError(f"{target} is given twice, as an input or for two outputs")
    for target in (t for t in targets if t is not None):
        if target.is_dir():
            raise ValueError(f"{target} is a folder; a file is needed")
        if target.parent.exists() and not target.parent.is_dir():
            raise ValueError(f"{target.parent} is a file, so {target} cannot be written into it")
        if not target.parent.is_dir():
            raise ValueError(f"the folder {target.parent} does not exist")
    # A run never starts from saved sums (.npz).
    is_state = save is not None and save.suffix == ".npz"
    if save is not None and not is_state and save.is_file() and not save.stat().st_size:
        message = f"{save} is empty: no saved results, so the run starts from the beginning"
        warnings.warn(message, stacklevel=2)
    tables, suffixes = (".parquet", ".jsonl", ".ndjson"), {Path(i).suffix for i in inputs}
    require_packages(
        *(("pandas", "pyarrow") if kind == "parquet" or suffixes & {*tables} else ()),
        *(("jinja2",) if html else ()),
        also=needs,
    )


def check_named_files_are_kept(words: Iterable[Any], targets: Iterable[Path | None]) -> None:
    """Raise ``ValueError`` for an output file in ``targets`` that an argument in ``words`` names,
    also as a part of the argument: mine.py:measure, name=model.pt2."""
    values = [item for word in words for item in (word if isinstance(word, list) else [word])]
    texts = [str(item) for item in values if isinstance(item, str | Path)]
    names = {name for text in texts for name in (text, *re.split("[=:]", text))}
    files = {os.path.realpath(name) for name in names if os.path.isfile(name)}
    for target in targets:
        if target is not None and os.path.realpath(target) in files:
            raise ValueError(f"{target} is given twice, as an input or for two outputs")


# Advice in error messages that names a Python function.
PYTHON_ONLY_ADVICE = re.compile(r"rs\.from_(?:tokens|maps)\(.*?\)")


AGAINST_HELP = (
    "Compare the inputs with these files instead of with each other; the files are the "
    "columns of a map (repeatable)."
)


class ColumnChoice(NamedTuple):
    """The values of ``--column`` and ``--ids`` for archives and tables; "" without the option."""

    column: str = ""
    ids: str = ""


def check_input_files(inputs: Sequence[str], choice: ColumnChoice) -> None:
    """Raise ``ValueError`` for an input that is a measure instead of a file, and for a choice of
    columns if every input is a single array. ``inputs``: as typed on the command line."""
    if any(choice) and all(text.endswith(".npy") for text in inputs):
        option = "--column" if choice.column else "--ids"
        raise ValueError(f"{option} is for archives and tables; {inputs[0]} is a single array")
    # The user typed "-m cka procrustes", which passes only cka to -m
    for text in inputs:
        if not os.path.lexists(text) and _is_measure_spec(text):
            raise ValueError(
                f"{text} is a measure, not a file: give measures as one list, -m cka,{text}"
            )


def read_representations(inputs: list[str], pool: str, choice: ColumnChoice) -> dict[str, Any]:
    """Return the representations in ``inputs``, files and folders, by name; error messages name the
    options of the command. ``pool``: "" for no pooling. ``choice``: the columns with the vectors
    and the ids."""
    from ..models.files import read_files

    with reworded_errors(error_with_option_names):
        return dict(read_files(inputs, pool=pool, column=choice.column, ids=choice.ids))


def read_rows_and_columns(
    inputs: list[str], against: list[str], pool: str, choice: ColumnChoice
) -> list[Any]:
    """Return [rows], or with ``against`` [rows, columns], each a mapping of representations by
    name. ``inputs``, ``against``: files and folders. ``pool``: "" for no pooling. ``choice``: the
    columns with the vectors and the ids.

    If layers of two folders have equal names, the names begin with the folder. Raises
    ``ValueError`` for a single representation without ``against``.
    """
    check_input_files([*inputs, *against], choice)
    rows = read_representations(inputs, pool, choice)
    if against:
        columns = read_representations(against, pool, choice)
        models = [Path(side[0]).name for side in (inputs, against) if len(side) == 1]
        # Prefix equal layer names with the names of the two models.
        if set(rows) & set(columns) and len(set(models)) == 2:
            row_items = ((f"{models[0]}/{name}", x) for name, x in rows.items())
            return [dict(row_items), {f"{models[1]}/{name}": x for name, x in columns.items()}]
        return [rows, columns]
    if len(rows) < 2:
        raise ValueError(
            f"two representations are needed; {inputs[0]} is one: name another file, or give "
            "--against FILE"
        )
    return [rows]


def error_with_option_names(text: str) -> str:
    """Return an error message with options of the command in place of function arguments."""
    text = PYTHON_ONLY_ADVICE.sub("--pool mean", text).replace("pool=", "--pool ")
    text = re.sub(r"rs\.Representation\(X, ids='?([^')]*)'?\)", r"--ids \1", text)
    text = re.sub(r"X\.set_index\('?([^')]*)'?\)", r"--ids \1", text)
    return re.sub(r"column='([^']*)'( to rs.Representation)?", r"--column \1", text)


def _is_measure_spec(text: str) -> bool:
    from ..catalogue import get_measures

    try:
        return bool(get_measures([text]))
    except ValueError:
        return False


def join_paragraph_lines(text: str | None) -> str:
    """Return a docstring with every paragraph on one line; "" for None."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text or ""))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def help_examples(*commands: str) -> str:
    """Return the end of a command's help: example calls, a line per call."""
    return "\n\n".join(
        ["Examples:", *(f"resemblance {command}".replace("[", r"\[") for command in commands)]
    )


@contextmanager
def reworded_errors(reword: Callable[[str], str]) -> Iterator[None]:
    """Reword each ``ValueError`` raised inside the ``with`` block by ``reword``, so that messages
    name options of the command instead of function arguments."""
    try:
        yield
    except ValueError as error:
        text = reword(str(error))
        if text == str(error):
            raise
        kind = UserFileError if isinstance(error, UserFileError) else ValueError
        raise kind(text) from error


def warn_trial_run(is_trial: bool, kind: str) -> None:
    """Print a warning on standard error if the result is of a trial and not written as a table;
    tables contain the warning."""
    from ..sections.headlines import TRIAL_WARNING

    if is_trial and kind != "table":
        print(TRIAL_WARNING, file=sys.stderr)


LABEL_ARRAY_SUFFIXES, LABEL_TEXT_SUFFIXES = (".npy", ".npz"), (".csv", ".txt")
SAVE_LABELS_EXAMPLE = 'np.save("labels.npy", labels)'


def read_label_file(path: Path | None, option: str) -> np.ndarray | None:
    """Return the labels in a file, (n,), one label per sample; None without a file.

    ``option``: the option in messages, such as "--labels". ``.npy`` and ``.npz`` contain a single
    array of labels; ``.csv`` and ``.txt`` have one label per line and no header, and give texts.
    Raises ``ValueError``, naming the option, the file and the remedy, for anything else.
    """
    if path is None:
        return None
    if path.suffix.lower() not in LABEL_ARRAY_SUFFIXES + LABEL_TEXT_SUFFIXES:
        suffixes = ", ".join(LABEL_ARRAY_SUFFIXES + LABEL_TEXT_SUFFIXES)
        raise ValueError(
            f"{option} {path}: labels are read from {suffixes} files; save the labels with "
            f"{SAVE_LABELS_EXAMPLE}"
        )
    if not path.is_file():
        raise ValueError(f"{option} {path} does not exist; check the path")
    if path.suffix.lower() in LABEL_TEXT_SUFFIXES:
        labels = _read_label_lines(path, option)
    else:
        labels = _read_label_array(path, option)
    if labels.ndim != 1:
        raise ValueError(
            f"{option} {path} must be one label per sample, of shape (n_samples,); got "
            f"{labels.shape}; save one column, such as labels[:, 0]"
        )
    return labels


def check_label_count(
    labels: np.ndarray | None, n: int, path: Path | None, option: str, noun: str = "sample"
) -> None:
    """Raise ``ValueError``, naming ``option`` and the file ``path``, unless the number of labels is
    ``n``, one for each ``noun``. None for labels or path is accepted."""
    if labels is None or path is None or len(labels) == n:
        return
    remedy = f"save one label per {noun}, in the order of the {noun}s"
    if path.suffix.lower() in LABEL_TEXT_SUFFIXES and len(labels) == n + 1:
        remedy = f"if its first line, {str(labels[0])!r}, is a header, delete that line"
    rows = " (rows of the representations)" if noun == "sample" else ""
    raise ValueError(f"{option} {path} has {len(labels)} labels for {n} {noun}s{rows}; {remedy}")


def _read_label_array(path: Path, option: str) -> np.ndarray:
    import numpy as np

    try:
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if not isinstance(content, np.lib.npyio.NpzFile):
                return content
            if len(content.files) == 1:
                return content[content.files[0]]
            names = ", ".join(content.files) or "none"
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{option} {path} cannot be read: an array with one number or word per sample is "
            f"needed; save the labels with {SAVE_LABELS_EXAMPLE}"
        ) from error
    raise ValueError(
        f"{option} {path} must contain one array; got {names}; save only the labels, with "
        f"{SAVE_LABELS_EXAMPLE}"
    )


def _read_label_lines(path: Path, option: str) -> np.ndarray:
    import numpy as np

    from ..models.tables import read_csv_rows, read_table_lines

    with reworded_errors(lambda text: f"{option}: {text}"):
        if path.suffix.lower() == ".csv":
            rows = list(read_csv_rows(path))
        else:
            rows = [(i, [line.strip()]) for i, line in enumerate(read_table_lines(path), 1)]
    while rows and not any(rows[-1][1]):
        rows.pop()
    for number, row in rows:
        if len(row) > 1:
            raise ValueError(
                f"{option} {path}, line {number}: {len(row)} columns; leave only the column with "
                "the labels"
            )
        if not any(row):
            raise ValueError(f"{option} {path}, line {number} is empty: every sample needs a label")
    if not rows:
        raise ValueError(
            f"{option} {path} is empty; write one label per line, in the order of the samples"
        )
    return np.array([row[0] for _, row in rows])
