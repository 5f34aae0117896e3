"""Takes the two pictures of the README from the stored outputs of the tutorial on language models.

python docs/make_two_models.py
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

DOCS = Path(__file__).parent
TUTORIAL = DOCS / "tutorials" / "language-models.ipynb"
PICTURES = {"two-models-map.png": "rs.plot.heatmap(", "two-models-depth.png": "rs.plot.layers("}


def pictures() -> dict[str, bytes]:
    """Return the pictures by the names of their files."""
    cells = json.loads(TUTORIAL.read_text())["cells"]
    found = {}
    for name, call in PICTURES.items():
        cell = next(c for c in cells if call in "".join(c["source"]) and c["cell_type"] == "code")
        image = next(o["data"]["image/png"] for o in cell["outputs"] if "image/png" in o["data"])
        found[name] = base64.b64decode("".join(image))
    return found


if __name__ == "__main__":
    for name, content in pictures().items():
        (DOCS / "_static" / name).write_bytes(content)
