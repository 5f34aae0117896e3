"""Stream a million token vectors of two layers from hooks, and compare with one pass over a file.

    python benchmarks/token_stream.py FOLDER              # 1,000,000 tokens of width 768: 6 GB
    python benchmarks/token_stream.py FOLDER --tokens 20000 --no-table

The model is a small GPT-2 with random weights. Hooks pass the tokens of each batch to a stream,
and to files. The scores of the stream must equal the scores of the files.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench import GENERATED, command, grid, peak
from transformers import GPT2Config, GPT2Model

import resemblance as rs

TABLE = GENERATED / "token-stream.md"
MEASURES = ("cka", "cka[estimator=debiased]", "procrustes")
WIDTH, LENGTH, BATCH = 768, 125, 16


def stream_tokens(model: Any, tokens: int, files: dict[str, np.memmap]) -> tuple[rs.Stream, float]:
    """Run the model over the tokens; return the stream of both layers, and its CPU seconds."""
    stream, batch, seconds = rs.Stream(), dict[str, torch.Tensor](), 0.0

    def keep(name: str) -> Any:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            states = output[0] if isinstance(output, tuple) else output
            batch[name] = states.reshape(-1, WIDTH)  # every token is a sample

        return hook

    for i, block in enumerate(model.h):
        block.register_forward_hook(keep(f"block{i}"))
    generator = torch.Generator().manual_seed(0)
    for start in range(0, tokens, BATCH * LENGTH):
        rows = min(BATCH * LENGTH, tokens - start)
        words = torch.randint(1000, (rows // LENGTH, LENGTH), generator=generator)
        with torch.inference_mode():
            model(words)
        for name, values in batch.items():
            files[name][start : start + rows] = values.numpy()
        cpu = time.process_time()
        stream.update(batch)
        seconds += time.process_time() - cpu
    return stream, seconds


def main(folder: str, tokens: int = 1_000_000, no_table: bool = False) -> None:
    """Stream the tokens, compare, and write the table."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = {"n_embd": WIDTH, "n_layer": 2, "n_inner": WIDTH, "n_positions": LENGTH}
    model = GPT2Model(GPT2Config(vocab_size=1000, **shape)).eval()
    Path(folder).mkdir(parents=True, exist_ok=True)
    files = {
        f"block{i}": np.lib.format.open_memmap(
            Path(folder) / f"block{i}.npy", "w+", np.float32, (tokens, WIDTH)
        )
        for i in range(2)
    }
    stream, seconds = stream_tokens(model, tokens, files)
    start = time.process_time()
    scores = stream.compare(MEASURES, progress=False)
    compared = time.process_time() - start
    memory = peak()
    start = time.process_time()
    whole = rs.compare(files, measures=MEASURES, progress=False)
    in_one_pass = time.process_time() - start
    lines = []
    for name in MEASURES:
        streamed, expected = scores[name][0, 1], whole[name][0, 1]
        difference = abs(streamed - expected)
        assert difference < 1e-9, name
        lines.append((f"`{name}`", f"{streamed:.6f}", f"{difference:.0e}"))
        print(*lines[-1], flush=True)
    print(
        f"{tokens:,} tokens: {seconds:.0f} CPU s of the stream, {compared:.1f} s of the scores, "
        f"{in_one_pass:.0f} s from the files; peak {memory / 2**30:.1f} GiB"
    )
    if not no_table:
        text = grid(
            ("measure", "stream", "difference from the files"), lines, "| --- | --: | --: |"
        )
        TABLE.write_text(f"{tokens:,} tokens of two layers of width {WIDTH}:\n\n{text}\n", "utf-8")


if __name__ == "__main__":
    command(__doc__, main)
