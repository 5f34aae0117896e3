"""Measure the speed of this package as ratios to plain code, side by side in one process.

    python benchmarks/ratios.py               # all ratios, the file, and the table of the docs
    python benchmarks/ratios.py call single   # only these groups; writes nothing
    python benchmarks/ratios.py --rounds 5

The groups are layers, maps, pairs, call, models and single. The two sides of a ratio run by turns
on one thread. A ratio divides the smallest CPU seconds of the rounds, so a busy machine changes a
ratio little; the ratio of the smallest wall seconds shows how much. pytorch-cka is the yardstick of
a map of layers if installed, otherwise the plain method of ``layers.py``.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import per_pair
import torch
from bench import GENERATED, command, document, grid, machine, model_like
from layers import MEASURE, SHAPES, compared, in_single, layers, packaged, plain

import resemblance as rs
from resemblance.report import write_page

MEASURED = Path(__file__).with_suffix(".json")
TABLE = GENERATED / "ratios.md"
MAP_LAYERS = 12  # per side, of a map with evidence
SLOWER = 1.05  # a call with a larger ratio is slower than the plain function
GOALS_OF_LAYERS = (0.5, 0.5, 1, 1)
Action = Callable[[], object]


class Job(NamedTuple):
    """Our code, the yardstick, the largest ratio to aim at, and the factor of the rounds of short
    jobs."""

    group: str
    name: str
    ours: Action
    yardstick: Action
    goal: float
    repeats: int = 1


class Ratio(NamedTuple):
    """A measured ratio, in CPU and in wall seconds, with the CPU seconds of the yardstick; for a
    count of calls, the number and no ratio of wall seconds."""

    group: str
    name: str
    ratio: float
    goal: float
    wall: float | None
    yardstick: float


def seconds_of(action: Action) -> np.ndarray:
    """Return the CPU seconds and the wall seconds of a call."""
    start = time.process_time(), time.perf_counter()
    action()
    return np.array([time.process_time() - start[0], time.perf_counter() - start[1]])


def fastest(actions: Sequence[Action], rounds: int) -> np.ndarray:
    """Run actions by turns; return the smallest CPU and wall seconds of each, (actions, 2)."""
    return np.min([[seconds_of(action) for action in actions] for _ in range(rounds)], axis=0)


def measured(job: Job, rounds: int) -> Ratio:
    job.ours(), job.yardstick()  # compiles and imports
    ours, plain_seconds = fastest((job.ours, job.yardstick), rounds * job.repeats)
    cpu, wall = ours / plain_seconds
    return Ratio(job.group, job.name, cpu, job.goal, wall, plain_seconds[0])


# ----------------------------------------------------------------------------------------- the jobs


def maps_of_layers() -> Iterator[Job]:
    """Yield debiased CKA of all layers, and the evidence of a map."""
    yardstick = packaged if find_spec("cka") else plain
    for (n, d, count), goal in zip(SHAPES, GOALS_OF_LAYERS, strict=True):
        a, b = layers(n, d, count, 1), layers(n, d, count, 2)
        name = f"map of {count} × {count} layers, {n:,} × {d:,}, single precision"
        yield Job("layers", name, partial(in_single, a, b), partial(yardstick, a, b), goal)
    for n, d, count in SHAPES:
        side = min(count, MAP_LAYERS)
        a, b = layers(n, d, side, 1), layers(n, d, side, 2)
        name = f"evidence of a map of {side} × {side} layers, {n:,} × {d:,}, over the values"
        yield Job("maps", name, partial(evidence, a, b, MEASURE), partial(compared, a, b), 2)


def evidence(a: Any, b: Any, measures: Any = None) -> rs.Evidence:
    return rs.evidence(a, b, measures=measures, progress=False)


def values(a: Any, b: Any, measures: Any) -> rs.Comparison:
    return rs.compare(a, b, measures=measures, progress=False)


def evidence_of_pairs() -> Iterator[Job]:
    """Yield evidence of one pair, and of two measures without exact moments."""
    x, y = model_like(500, 64, 2).values()
    measures = [info.spec for info in evidence(x, y).measures]
    name = f"evidence of one pair, 500 × 64, over the {len(measures)} values"
    yield Job("pairs", name, partial(evidence, x, y), partial(values, x, y, measures), 3, 3)
    reps = list(model_like(300, 64, 2 * MAP_LAYERS).values())
    names = list(map(str, range(MAP_LAYERS)))
    a, b = dict(zip(names, reps[:MAP_LAYERS])), dict(zip(names, reps[MAP_LAYERS:]))
    size = f"{MAP_LAYERS} × {MAP_LAYERS} layers, 300 × 64"
    for spec, goal in (("rsa", 3), ("distance_correlation", 2)):
        name = f"evidence of `{spec}`, {size}, over the values"
        yield Job("pairs", name, partial(evidence, a, b, spec), partial(values, a, b, spec), goal)


def three_lines(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    product = np.linalg.norm(x.T @ y) ** 2
    return product / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))


def single_call() -> Iterator[Job]:
    x, y = np.random.default_rng(0).standard_normal((2, 200, 32))
    yield Job("call", "`rs.cka(X, Y)`, 200 × 32", partial(rs.cka, x, y),
              partial(three_lines, x, y), 3, 100)  # fmt: skip


class Block(torch.nn.Module):
    """A residual block of a perceptron on tokens."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.hidden, self.out = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.out(torch.nn.functional.gelu(self.hidden(self.norm(x))))


def bare_loop(model: torch.nn.Module, data: np.ndarray, batch_size: int = 32) -> list[np.ndarray]:
    """Run a model over batches, and return the mean over tokens of the states of every block."""
    states: list[list[torch.Tensor]] = [[] for _ in model]
    hooks = [
        block.register_forward_hook(lambda _, __, out, kept=kept: kept.append(out.mean(dim=1)))
        for block, kept in zip(model, states, strict=True)
    ]
    with torch.inference_mode():
        for start in range(0, len(data), batch_size):
            model(torch.from_numpy(data[start : start + batch_size]))
    for hook in hooks:
        hook.remove()
    return [torch.cat(kept).numpy() for kept in states]


def two_models() -> Iterator[Job]:
    """Yield the extraction of layers, and the whole comparison of two models with the page, beyond
    the extraction."""
    torch.manual_seed(0)
    models = [torch.nn.Sequential(*(Block(192) for _ in range(8))).eval() for _ in "ab"]
    data = np.random.default_rng(0).standard_normal((1024, 24, 192)).astype(np.float32)
    options = {"layers": "*", "pool": "mean", "progress": False}
    bare = partial(bare_loop, models[0], data)

    def extract() -> object:
        return rs.extract_features(models[0], data, outputs=False, **options)

    def compare() -> None:
        comparison = rs.compare_models(dict(zip("ab", models)), data, **options)
        with tempfile.TemporaryDirectory() as folder:
            write_page(comparison, Path(folder) / "page.html")

    def both() -> None:
        bare(), bare()

    yield Job("models", "extraction of the layers of a model", extract, bare, 1.1)
    yield Job("models", "two models: extraction, scores, evidence and page", compare, both, 1.3)


# ------------------------------------------------------------------------------------- single calls


def slow_calls(rounds: int) -> tuple[Ratio, dict[str, list[float]]]:
    """Count the measures with a call that is slower than the plain function in every round; return
    the count, and the ratios of every measure."""
    x, y = model_like(1000, 128, 2).values()
    ratios: dict[str, list[float]] = {}
    total = 0.0
    for m in rs.preset("default"):
        if m.name == "rtd":
            continue
        calls = (partial(m, x, y), partial(getattr(per_pair, m.name), x, y))
        seconds = [fastest(calls, 2)[:, 0] for _ in range(rounds)]
        ratios[m.name] = [float(ours / theirs) for ours, theirs in seconds]
        total += min(theirs for _, theirs in seconds)
    slow = sum(min(values) > SLOWER for values in ratios.values())
    name = f"measures slower than the plain function in {rounds} of {rounds} runs, 1,000 × 128"
    return Ratio("single", name, slow, 0, None, total), ratios


GROUPS = (maps_of_layers, evidence_of_pairs, single_call, two_models)


# --------------------------------------------------------------------------------------- the table


def table(found: Sequence[Ratio], about: str) -> str:
    """Return the ratios and goals as a table in Markdown."""
    head = ("job", "ratio", "goal", "ratio of wall times", "yardstick, CPU s")
    lines = [
        (
            r.name,
            f"{r.ratio:.2g}",
            f"{r.goal:g}",
            "" if r.wall is None else f"{r.wall:.2g}",
            f"{r.yardstick:.2g}",
        )
        for r in found
    ]
    return document(__file__, grid(head, lines), about)


def main(*groups: str, rounds: int = 2) -> None:
    """Measure the ratios, print the ratios, and write file and table."""
    warnings.simplefilter("ignore", rs.UninformativeWarning)
    torch.set_num_threads(1)
    found = []
    for job in (job for make in GROUPS for job in make()):
        if not groups or job.group in groups:
            found.append(measured(job, rounds))
            print(f"{found[-1].ratio:6.2f}  goal {job.goal:<5g}{job.name}", flush=True)
    details = {}
    if not groups or "single" in groups:
        count, details = slow_calls(5)
        found.append(count)
        slowest = sorted(details, key=lambda name: -min(details[name]))[:8]
        listed = ", ".join(f"{name} {min(details[name]):.2f}" for name in slowest)
        print(f"{count.ratio:6.0f}  goal 0    {count.name}; smallest ratios: {listed}")
    if groups:
        return
    yardstick = "pytorch-cka" if find_spec("cka") else "the plain method of `layers.py`"
    about = f"Yardstick of a map of layers: {yardstick}. {machine()}."
    content = {"about": about, "ratios": [r._asdict() for r in found], "single": details}
    MEASURED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    TABLE.write_text(table(found, about), "utf-8")


if __name__ == "__main__":
    command(__doc__, main)
