"""Models, configs and tokenizers of transformers, read from folders and the hub."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.extras import import_optional
from ..base.formatting import list_names

MAX_SHOWN_WEIGHTS = 3  # names of weights in an error
MAX_REASON_LETTERS = 300  # letters of a reason in an error


def read_pretrained_part(
    kind: Any, name: str | Path, remedy: str, *, caller: str = "", **keywords: Any
) -> Any:
    """Return the object that a transformers class, ``kind``, reads from a folder or the hub.

    ``caller`` begins and ``remedy`` ends the messages. ``keywords`` go to ``from_pretrained``.
    Raises ``ValueError``, with the name and the remedy, for any failure: a damaged file, an unknown
    name, no network.
    """
    try:
        with silence_transformers():
            return kind.from_pretrained(name, **keywords)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if len(reason) >= MAX_REASON_LETTERS:
            reason = f"{reason[:MAX_REASON_LETTERS]} ..."
        if isinstance(error, pickle.UnpicklingError):
            reason = load_error_cause(error)
        raise ValueError(
            f"{caller}{name} cannot be read by transformers.{kind.__name__} ({reason}); {remedy}"
        ) from error


def read_pretrained_model(
    kind: Any,
    name: str | Path,
    remedy: str,
    is_new: Callable[[str], bool],
    *,
    incomplete: str = "",
    caller: str = "",
    **keywords: Any,
) -> tuple[Any, list[str]]:
    """Return a transformers model with stored weights, and the sorted names of randomly drawn
    weights.

    ``kind``: a class of transformers. ``name``: the folder or repository. ``remedy``: the advice in
    errors. ``is_new``: the function that says whether a missing weight, by name, may be drawn at
    random, such as a weight of a new head. The library would draw all missing weights.
    ``incomplete``: the remedy if other weights are missing. ``caller``: the beginning of errors.
    ``keywords``: for ``from_pretrained``.

    Raises ``ValueError`` for an unreadable folder, and when other weights are missing or have
    another shape than the model.
    """
    options: dict[str, Any] = {"caller": caller, "output_loading_info": True, **keywords}
    model, report = read_pretrained_part(kind, name, remedy, **options)
    names = {str(key) for key in report["missing_keys"]}
    names |= {str(entry[0]) for entry in report["mismatched_keys"]}
    missing_weights = sorted(key for key in names if not is_new(key))
    if missing_weights:
        weight_list = list_names(missing_weights, MAX_SHOWN_WEIGHTS)
        raise ValueError(
            f"{caller}{name} lacks {len(missing_weights)} weights of a {type(model).__name__}, or "
            f"has them in another shape ({weight_list}); {incomplete or remedy}"
        )
    return model, sorted(names)


def load_error_cause(error: Exception) -> str:
    """Return the reason why a file could not be read, in one line.

    The advice of PyTorch to run code is left out.
    """
    if isinstance(error, pickle.UnpicklingError):
        return "the file is damaged, or requires to run code"
    return str(error).split("\n")[0] or type(error).__name__


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Keep transformers from reporting new or left-out weights, and from drawing progress bars."""
    logging = import_optional("transformers").logging
    level, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            logging.enable_progress_bar()
