"""Models, configs and tokenizers of transformers, read from folders."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...extras import need
from .pickles import reason_of

SHOWN = 3  # names of weights in an error


def read_folder(kind: Any, folder: Path, origin: str, **keywords: Any) -> Any:
    """Return what a class of transformers reads from a folder, without asking any host.

    Raises ``ValueError`` with the folder and where it comes from when the files cannot be read.
    """
    try:
        with silent():
            return kind.from_pretrained(folder, local_files_only=True, **keywords)
    except Exception as error:  # whatever a damaged file causes in the library
        raise ValueError(
            f"{folder} cannot be read as {kind.__name__} does ({reason_of(error)}); get it from "
            f"{origin}"
        ) from error


def read_model(
    kind: Any, folder: Path, origin: str, new: Collection[str] = (), **keywords: Any
) -> Any:
    """Return a model of transformers with the weights of a folder.

    ``new``: the parts, by the first word of their names, whose weights are drawn at random when the
    folder has none, such as the head of a classifier. The library would draw all missing ones.

    Raises ``ValueError`` as :func:`read_folder` does, and when other weights are missing or have
    another shape than the model.
    """
    model, report = read_folder(kind, folder, origin, output_loading_info=True, **keywords)
    names = {str(name) for name in report["missing_keys"]}
    names |= {str(entry[0]) for entry in report["mismatched_keys"]}
    lacking = sorted(name for name in names if name.split(".")[0] not in new)
    if lacking:
        shown = ", ".join(lacking[:SHOWN]) + (", ..." if len(lacking) > SHOWN else "")
        raise ValueError(
            f"{folder} lacks {len(lacking)} weights of a {type(model).__name__}, or has them in "
            f"another shape ({shown}); get it from {origin}"
        )
    return model


@contextmanager
def silent() -> Iterator[None]:
    """Keep transformers from reporting that weights are new or left out, and from drawing bars."""
    logging = need("transformers").logging
    level, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            logging.enable_progress_bar()
