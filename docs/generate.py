"""Write the pages of the measures when the documentation is built, one for each.

The tables in the committed pages are written by :mod:`write_tables`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from measure_pages import measure_page, sidebar

import resemblance as rs

TABLE = re.compile(r"(?ms)^<!-- table: .*?^<!-- end -->")
IN_PARENTHESES = re.compile(r"\(\[[^\]]*\]\(references\.md#(\w+)\)\)")
IN_TEXT = re.compile(r"\[[^\]]*\]\(references\.md#(\w+)\)")


def main(folder: Path) -> None:
    """Write every generated page into ``folder``, leaving alone what has not changed."""
    folder.mkdir(exist_ok=True)
    pages = {f"{m.name}.rst": measure_page(m) for m in rs.list_measures()}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()


def linked(text: str) -> str:
    """Return a page with what only the built pages have: links from the tables to the pages of
    measures, which the sidebar lists next to the table of all, and citations that lead to their
    entries."""
    names = "|".join(sorted((m.name for m in rs.list_measures()), key=len, reverse=True))
    name = re.compile(rf"^\| `({names})`", flags=re.MULTILINE)
    pages = f"\n\n{sidebar()}\n" if "<!-- table: measures -->" in text else ""
    text = TABLE.sub(lambda found: name.sub(r"| [`\1`](measures/\1)", found[0]), text) + pages
    return IN_TEXT.sub(r"{cite:t}`\1`", IN_PARENTHESES.sub(r"{cite:p}`\1`", text))


if __name__ == "__main__":
    main(Path(__file__).parent / "measures")
