"""Compare values, p-values, intervals and seconds with calibrated-similarity, rsatoolbox and hyppo.

    pip install -e . calibrated-similarity rsatoolbox hyppo       # in an environment of its own
    OMP_NUM_THREADS=1 python benchmarks/inference_elsewhere.py    # ask all, then write the table
    python benchmarks/inference_elsewhere.py --table              # only write the table

All packages get the same two pairs of arrays. ``signal``: the arrays have 30 and 50 directions, and
two directions have a weak common part. ``classes``: the arrays share only the assignment of samples
to five classes. Every call is timed alone on one thread, in CPU seconds, after a call with few
permutations, so compilation is not counted. The table is on docs/coming-from.md.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench import GENERATED, clocked, command, document, grid

import resemblance as rs

MEASURED = Path(__file__).with_suffix(".json")
TABLE = GENERATED / "inference-elsewhere.md"
HEAD = ("question", "data", "call", "value", "chance", "p", "95 % interval", "CPU seconds")
PACKAGES = {
    "calibrated-similarity": "calibrated_similarity",
    "rsatoolbox": "rsatoolbox",
    "hyppo": "hyppo",
}
DRAWS = 1000
WARM = 20  # draws of the warm-up call, which is not timed
LABELS = np.repeat(np.arange(5), 40)

Arrays = tuple[np.ndarray, np.ndarray]


class Answer(NamedTuple):
    """The result of a package: a value, and inference on the value; None for a missing quantity."""

    value: float
    chance: float | None = None
    threshold: float | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None


class Row(NamedTuple):
    """One call: the question, the data, the package, the code of the call, the answer, and the
    seconds."""

    question: str
    data: str
    package: str
    call: str
    answer: Answer
    seconds: float


def main(table: bool = False) -> None:
    """Run all packages unless only the table is wanted, and write the table."""
    if not table:
        measure()
    TABLE.write_text(table_of(json.loads(MEASURED.read_text())))


def measure() -> None:
    """Run all packages, and store the answers."""
    missing_names = [
        name for name, module in PACKAGES.items() if not importlib.util.find_spec(module)
    ]
    if missing_names:
        raise SystemExit(
            f"missing: {', '.join(missing_names)}; pip install {' '.join(missing_names)}"
        )
    single_thread()
    rows = [*linear_kernels(), *distances(), *dissimilarities()]
    answers = {
        "versions": {name: version(name) for name in PACKAGES} | {"resemblance": rs.__version__},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "rows": [row._asdict() | {"answer": row.answer._asdict()} for row in rows],
    }
    MEASURED.write_text(json.dumps(answers, indent=1) + "\n")


def table_of(answers: dict[str, Any]) -> str:
    """Return the table of a page, with the versions of the packages below."""
    lines = []
    for entry in answers["rows"]:
        answer = Answer(**entry["answer"])
        cells = [entry["question"], entry["data"], f"{entry['package']}: `{entry['call']}`"]
        cells += [decimal(answer.value), chance_of(answer), decimal(answer.p, 4)]
        ends = f"{decimal(answer.low)} to {decimal(answer.high)}"
        lines.append([*cells, "" if answer.low is None else ends, f"{entry['seconds']:.2f}"])
    versions = ", ".join(f"{name} {number}" for name, number in answers["versions"].items())
    marks = "| --- | --- | --- | ---: | ---: | ---: | --- | ---: |"
    footnote = f"{versions}; {answers['machine']}, one thread."
    return document(__file__, grid(HEAD, lines, marks), footnote)


def decimal(number: float | None, digits: int = 3) -> str:
    """Return a number with ``digits`` digits after the point, or an empty text for None."""
    return "" if number is None else f"{round(number, digits) + 0:.{digits}f}".replace("-", "−")


def chance_of(answer: Answer) -> str:
    """Return the mean over permutations, or the 5 % threshold of the test if the package gives a
    threshold."""
    return decimal(answer.chance) if answer.threshold is None else f"τ {answer.threshold:.3f}"


def single_thread() -> None:
    """Restrict Torch and Numba to one thread; BLAS reads the environment variable."""
    import torch

    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("set OMP_NUM_THREADS=1, so that all have one thread")
    torch.set_num_threads(1)


def arrays(name: str) -> Arrays:
    """Return a pair of representations of 200 samples, for the data set ``name``."""
    rng = np.random.default_rng([2026, len(name)])
    X, Y = rng.standard_normal((200, 30)), rng.standard_normal((200, 50))
    if name == "signal":
        factors = rng.standard_normal((200, 2))
        X += 0.16 * factors @ rng.standard_normal((2, 30))
        Y += 0.16 * factors @ rng.standard_normal((2, 50))
        return X, Y
    X += 2 * rng.standard_normal((5, 30))[LABELS]
    Y += 2 * rng.standard_normal((5, 50))[LABELS]
    return X, Y


def row(question: str, data: str, package: str, call: str, ask: Callable[[int], Answer]) -> Row:
    """Return the answer of a package with ``DRAWS`` draws, and the CPU seconds of the call."""
    ask(WARM)
    seconds, answer = clocked(lambda: ask(DRAWS))
    return Row(question, data, package, call, answer, seconds)


# ------------------------------------------------------------------------------------------- ours


def ours(measure: str, pair: Arrays, draws: int, **options: Any) -> Answer:
    """Return the answer of this library. No value of an earlier call is reused."""
    sides = [{name: z} for name, z in zip("XY", pair)]
    e = rs.evidence(*sides, measures=measure, n_permutations=draws, progress=False, **options)
    tables = {"chance": e.chance, "p": e.pvalue, "low": e.low, "high": e.high}
    cells = {key: float(table(measure)[0, 0]) for key, table in tables.items()}
    return Answer(float(e[measure][0, 0]), **cells)


def our_rows(question: str, measure: str, name: str) -> Iterator[Row]:
    """Yield our rows: with exact moments and with permutations, or with permutations within
    classes."""
    pair, head = arrays(name), (question, name, "resemblance")
    calls: dict[str, dict[str, Any]] = {", within=labels": {"within": LABELS}}
    if name == "signal":
        calls = {"": {}, ', null="permutations"': {"null": "permutations"}}
    for argument, options in calls.items():
        call = f'evidence(X, Y, measures="{measure}"{argument})'
        yield row(*head, call, lambda draws, o=options: ours(measure, pair, draws, **o))


# --------------------------------------------------------------------------------- other packages


def linear_kernels() -> Iterator[Row]:
    """Yield rows for linear CKA: scores and p-values of calibrated-similarity."""
    import torch
    from calibrated_similarity import calibrate

    def cka(x: Any, y: Any) -> Any:
        x, y = x - x.mean(0), y - y.mean(0)
        return (x.T @ y).norm() ** 2 / (x.T @ x).norm() / (y.T @ y).norm()

    def inside(n: int, device: Any) -> Any:
        rng = np.random.default_rng()
        return torch.as_tensor(np.concatenate([r[rng.permutation(len(r))] for r in groups]))

    groups = [np.flatnonzero(np.equal(LABELS, label)) for label in range(5)]
    for name in ("signal", "classes"):
        yield from our_rows("linear CKA", "cka", name)
        X, Y = (torch.from_numpy(z) for z in arrays(name))
        orders = {"perm_fn": inside} if name == "classes" else {}

        def ask(draws: int, pair: Any = (X, Y), orders: dict[str, Any] = orders) -> Answer:
            _, p, threshold = calibrate(*pair, cka, K=draws, **orders)
            return Answer(float(cka(*pair)), None, float(threshold), float(p))

        call = f"calibrate(X, Y, cka, K={DRAWS}{', perm_fn=inside' if orders else ''})"
        yield row("linear CKA", name, "calibrated-similarity", call, ask)


def distances() -> Iterator[Row]:
    """Yield rows for distance correlation: the tests of hyppo."""
    from hyppo.independence import Dcorr

    measure = "distance_correlation"
    # Negative labels make hyppo permute samples within blocks and leave the blocks in place.
    blocks = -(LABELS + 1)[:, None]
    for name in ("signal", "classes"):
        yield from our_rows("distance correlation", measure, name)
        X, Y = arrays(name)
        options = {"perm_blocks": blocks} if name == "classes" else {}

        def ask(draws: int, pair: Arrays = (X, Y), options: dict[str, Any] = options) -> Answer:
            result = Dcorr(bias=True).test(*pair, reps=draws, random_state=0, **options)
            return Answer(float(result[0]), p=float(result[1]))

        argument = ", perm_blocks=-labels" if options else ""
        call = f"Dcorr(bias=True).test(X, Y, reps={DRAWS}{argument})"
        yield row("distance correlation", name, "hyppo", call, ask)
    X, Y = arrays("signal")

    def fast(draws: int) -> Answer:
        result = Dcorr(bias=False).test(X, Y)
        return Answer(float(result[0]), p=float(result[1]))

    yield row("distance correlation", "signal", "hyppo", "Dcorr().test(X, Y)", fast)


def dissimilarities() -> Iterator[Row]:
    """Yield rows for RSA: the intervals of rsatoolbox."""
    import rsatoolbox
    from rsatoolbox.inference import eval_bootstrap_pattern
    from rsatoolbox.model import ModelFixed
    from rsatoolbox.rdm import calc_rdm, compare

    measure = "rsa[rdm=sqeuclidean,compare=pearson]"
    yield from our_rows("RSA", measure, "signal")
    samples = {"index": np.arange(len(LABELS))}
    data = [rsatoolbox.data.Dataset(z, obs_descriptors=samples) for z in arrays("signal")]

    def ask(draws: int) -> Answer:
        model, data_rdm = (calc_rdm(d, method="euclidean", descriptor="index") for d in data)
        fixed_model = ModelFixed("X", model)
        result = eval_bootstrap_pattern(fixed_model, data_rdm, method="corr", N=draws)
        low, high = result.get_ci(0.95)
        value = float(np.squeeze(compare(model, data_rdm, method="corr")))
        return Answer(value, low=float(np.squeeze(low)), high=float(np.squeeze(high)))

    call = f'eval_bootstrap_pattern(X, Y, method="corr", N={DRAWS})'
    yield row("RSA", "signal", "rsatoolbox", call, ask)


if __name__ == "__main__":
    command(__doc__, main)
