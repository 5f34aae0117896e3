"""Write today's answers of the package for ``tests/test_pins.py``: all sections, or the named
sections, such as ``pages``, the snapshots of pages.

A pin changes only in a commit with a reason. A file without changes is not written.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import pins
from pins.pages import write_snapshots


def main(names: list[str]) -> None:
    for name in names or (*pins.SECTIONS, "pages"):
        if name == "pages":
            write_snapshots()
            continue
        file = pins.file_of(name)
        with tempfile.TemporaryDirectory() as folder:
            answers = pins.answers(name, Path(folder))
        changes = list(pins.differences(pins.pinned(name), answers)) if file.exists() else ["new"]
        for line in sorted(changes)[:20]:
            print(f"{name}{line}" if line != "new" else f"{name}: new")
        if changes:
            file.write_text(json.dumps(answers, indent=0, sort_keys=True) + "\n")
        print(f"{name}: {len(changes)} changed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    names = [*pins.SECTIONS, "pages"]
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(names))
    chosen = parser.parse_args().sections
    if unknown := set(chosen) - set(names):
        parser.error(f"no section {', '.join(sorted(unknown))}; sections: {', '.join(names)}")
    main(chosen)
