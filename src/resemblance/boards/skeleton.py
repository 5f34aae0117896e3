"""The files of a new repository of results: its rules, how to add a measure, and the workflow that
verifies every submission."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..json_files import write_atomically
from ..packs import Pack
from .repository import MEASURES, REPORT, RESULTS, RULES, is_repository, rules_of, rules_text

WORKFLOW = ".github/workflows/verify.yml"
TEMPLATE = ".github/pull_request_template.md"
SOURCES = Path(__file__).with_name("skeleton_files")
FILES = {  # where a file of the skeleton is written
    "verify.yml": WORKFLOW,
    "pull_request_template.md": TEMPLATE,
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "README.md": "README.md",
}


IGNORED = f"/{REPORT}\n/verified.json\n/site/\n__pycache__/\n"


def init(folder: str | Path, packs: Sequence[Pack]) -> tuple[Path, ...]:
    """Write an empty repository of results on packs into a folder, and return its files.

    Raises ``ValueError`` for a folder that is one, or that holds a file of that name.
    """
    from .. import __version__

    root = Path(folder)
    if is_repository(root):
        raise ValueError(f"{root} is a repository of results: it has a {RULES}")
    rules = rules_of(packs)
    texts = {RULES: rules_text(rules), ".gitignore": IGNORED}
    texts[".gitattributes"] = "* -text\n"  # checksums are of bytes: no other ends of lines
    for source, target in FILES.items():
        text = (SOURCES / source).read_text(encoding="utf-8")
        packed = "\n".join(f"- `{identity}`" for identity in rules.packs)
        text = text.replace("@VERSION@", __version__).replace("@PACKS@", packed)
        text = text.replace("@SERIES@", rules.series)
        texts[target] = text.replace("@TOLERANCE@", f"{rules.tolerance:g}")
    texts |= {f"{name}/.gitkeep": "" for name in (MEASURES, RESULTS)}
    for name in texts:
        if (root / name).exists():
            raise ValueError(f"{root / name} exists: give a new or an empty folder")
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    return tuple(root / name for name in texts)
