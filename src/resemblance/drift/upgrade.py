"""A new embedding model and an old index: keep the index, map the queries, or embed again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ..cautions import cautions_of, moved_columns
from ..display import did_you_mean, written
from ..inputs import check_order, order_of
from ..progress import Progress, in_hundredths
from ..provenance import environment
from ..representation import Representation, as_representation, check_same_samples, title
from ..significance.labels import numbers_of
from ..streamed import need_features
from .advice import OVERSTATED, TRUTHS, Goal, Option, decide, option_line, verdict
from .bridges import BRIDGES, fitted, freedom
from .findings import percent
from .inputs import check_count, check_share, columns_by_model
from .maps import Affine
from .recalls import FEWEST, LEAST_SAMPLE, Recalls, Task, recalls_of
from .retrieval import NEARLY_ALL, Rows, rows_of

LARGEST = 1e100  # values whose squares are still far from overflow
LOOKED_AT, NEARLY = 200, 0.01  # vectors whose lengths are measured; rounding of a length of 1


@dataclass(frozen=True, eq=False, repr=False)
class Upgrade:
    """Whether an old index can be kept under a new model: what :func:`upgrade` returns.

    ``decision`` is "keep", "bridge", "re-embed" or "undecided", ``option`` the way to ask the old
    index ("keep", "orthogonal", "affine", or None), ``groups`` those whose documents are to be
    embedded again all the same. ``options`` has the recalls of each way, ``changed`` the share of
    the old answers that embedding everything again would change anyway (None where unknown),
    ``curve`` (option, documents, recall) what the estimate for a larger index continues.
    """

    decision: str
    option: str | None
    groups: tuple[Hashable, ...]
    verdict: str
    lines: tuple[str, ...]
    options: tuple[Option, ...]
    changed: float | None
    curve: tuple[tuple[str, int, float], ...]
    maps: Mapping[str, Affine]
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    cautions: tuple[str, ...] = ()  # what is doubtful about the vectors, such as copies

    def __repr__(self) -> str:
        lines = (f"  {line}" for line in (*self.cautions, *self.lines))
        return "\n".join([f"Upgrade: {self.verdict}", *lines])

    def map(self, name: str = "") -> Affine:
        """Return the map of new queries to the old index: of the option chosen, or by its name.

        Call it with queries (q, e) to get (q, d); ``before``, ``matrix``, ``factor`` and ``after``
        are its numbers: ``after + factor * (queries - before) @ matrix``.

        Raises ``ValueError`` for an option without a map.
        """
        wanted = name or self.option or self.decision
        if wanted not in self.maps:
            names = ", ".join(map(repr, self.maps)) or "none"
            raise ValueError(f"map: {wanted!r} has no map; fitted: {names}")
        return self.maps[wanted]

    def break_even(self, option: str) -> float | None:
        """Return after how many queries embedding all documents again costs less than what the
        option loses; None without prices or without its recall."""
        price, loss = self.settings["price"], self.settings["loss"]
        recall = next((o.as_new for o in self.options if o.name == option), None)
        if price is None or recall is None:
            return None
        cost = (1 - recall.value) * self.settings["k"] * loss
        return float(self.settings["index"] * price / cost) if cost > 0 else float("inf")

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each option and truth: recall, interval, worst group, break-even."""
        rows = []
        for option in self.options:
            for truth in TRUTHS:
                recall = getattr(option, truth)
                worst = None if recall is None else recall.worst
                facts = [None] * 3 if recall is None else [recall.value, recall.low, recall.high]
                tail = [None] * 3 if worst is None else [worst.group, worst.value, worst.low]
                rows.append(
                    {
                        "option": option.name,
                        "numbers": option.numbers,
                        "truth": truth,
                        **dict(zip(("recall", "low", "high"), facts)),
                        **dict(zip(("worst_group", "worst_recall", "worst_low"), tail)),
                        "break_even": self.break_even(option.name) if truth == "as_new" else None,
                        "reason": option.reason if recall is None else "",
                    }
                )
        return rows

    def to_pandas(self) -> Any:
        """Return :meth:`records` as a DataFrame."""
        import pandas

        return pandas.DataFrame(self.records())

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in (*self.cautions, *self.lines))
        return f"<p><b>{escape(self.verdict)}</b></p>{lines}"

    def save(self, path: str | Path) -> None:
        """Write everything but the maps to a file, in the format of its suffix: .json, .csv, .md,
        .tex, .parquet or .txt."""
        written(self, "of_upgrade", "upgrade_output", Path(path))


def upgrade(
    old: Any,
    new: Any,
    queries: Sequence[Any],
    *,
    index: Any = None,
    embed: Callable[[np.ndarray], Any] | None = None,
    k: int = 10,
    groups: Any = None,
    goal: Goal = "as_new",
    accept: float = 0.9,
    maps: Sequence[str] = ("orthogonal", "affine"),
    price: float | None = None,
    loss: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress = True,
) -> Upgrade:
    """Say whether an index of an old embedding model can be kept under a new one.

    Old vectors stay, and new queries are asked as they are ("keep"), after a rotation
    ("orthogonal": the polar factor of the cross-covariance, with a shift and a factor of size), or
    after a ridge regression of old vectors on new ones ("affine"). Each way is judged by its
    recall, the share of the k right documents that a query finds, by two truths: ``as_new``, what
    the new model would find if all documents were embedded again, and ``as_before``, what the old
    query finds in the old index. Neighbours are exact, by Euclidean distance: normalise all vectors
    if your index does. A document that is as near as the k-th right one is right.

    Parameters
    ----------
    old, new : (m, d) and (m, e), vectors of the same m documents by both models: arrays, or
        ``.npy`` files read by ``numpy.load(..., mmap_mode="r")``, which stay on disk.
    queries : a pair (q, d) and (q, e), the same queries by the old and by the new model, at least
        20. A query that is a document needs ids on both sides: its own document is then left out.
    index : (N, d), all old vectors, where the m documents are a sample of them. Without it the m
        documents are the index.
    embed : a function of positions in the index, (p,), that returns their new vectors, (p, e).
        For 200 queries (40 for each group, if that is more) it embeds what each way of asking
        returns at a depth of 5k, less than 5k · (2 + number of maps) documents a query. Without
        it recall among m/8, m/4, m/2
        and m documents is continued to N as a line of its logit in log size: in nine cases tried
        that was never too low, and too high by up to 0.043, so it may say "re-embed", never
        "bridge"; m must be at least 1,000.
    k : documents that a query returns.
    groups : q labels, such as classes or languages: every group must be served.
    goal : the truth that decides.
    accept : the recall that is enough, between 0 and 1.
    maps : which maps to fit. "affine" needs 2 max(d, e) documents.
    price, loss : what embedding one document costs, and what one lost document of one query costs,
        in the same unit; both or none.
    level : confidence of the intervals, over queries, by Student's t.
    seed : of the queries with a pool and of the documents of the curve.
    progress : show a bar on standard error if that is a terminal, or call ``progress(done,
        total)``.

    The decision is the way of fewest free numbers whose lower bounds are at least ``accept``, for
    all queries and for every group of 20 or more (all groups together at ``level``). If it fails
    only in groups with less than half of the queries, these are to be embedded again and put,
    mapped, into the old index; else all documents are. In a pool a right document may be missing:
    how far recall fell from depth 2k to 5k is taken off the lower bound.

    Needs O(q (N + m) (d + e)) time for each way, and memory for one block of rows.

    Raises ``ValueError`` for vectors that do not belong together, too few queries, and more than
    5 % of queries without ids that equal a document; :class:`~resemblance.Undefined` for NaN and
    for documents that are one point.

    Reference: the problem is that of Drift-Adapter (Vejendla 2025), whose recall relative to
    embedding again is ``as_new`` here; the maps are Schönemann 1966 and ridge regression.
    """
    _check_options(goal, accept, level, k, seed, maps, price, loss)
    task = _task(old, new, queries, index, groups, int(k), float(level), int(seed))
    if embed is not None and not callable(embed):
        raise ValueError(f"upgrade: embed must be a function of positions; got {embed!r}")
    if embed is not None and index is None:
        raise ValueError("upgrade: embed needs index, whose positions it is asked for")
    free = np.setdiff1d(np.arange(len(task.old.source)), task.selves)
    if len(free) < FEWEST:
        raise ValueError(
            f"upgrade: {len(free)} documents are no queries; the maps need at least {FEWEST}"
        )
    chosen, reasons = fitted(tuple(maps), task.new, task.old, free)
    ways = {name: bridge(task.b) for name, bridge in chosen.items()}
    d, e = task.a.shape[1], task.b.shape[1]
    if d == e:
        ways = {"keep": task.b, **ways}
    else:
        reasons["keep"] = f"the widths differ, {d} and {e}"
    with in_hundredths(progress, 1.0, "upgrade") as tick:
        recalls = recalls_of(task, ways, embed, tick)
    options = _options(("keep", *BRIDGES), {"keep", *maps}, (d, e), recalls, reasons)
    truth = "exact" if index is None else "estimate" if embed is None else "pool"
    decision = decide(options, goal, accept, goal == "as_new" and truth == "estimate")
    settings: dict[str, Any] = {"goal": goal, "accept": accept, "k": task.k}
    settings |= {"level": level, "seed": seed}
    settings |= {"documents": len(task.old.source), "index": len(task.whole.source)}
    settings |= {"queries": len(task.a), "widths": [d, e], "groups": len(task.names)}
    settings |= {"truth": truth, "price": price, "loss": loss}
    words = verdict(decision, options, goal, accept, task.k)
    result = Upgrade(
        *decision,
        verdict=words,
        lines=(),
        options=options,
        changed=recalls.changed,
        curve=recalls.curve,
        maps=chosen,
        settings=settings,
        provenance=environment(),
        cautions=task.cautions,
    )
    return replace(result, lines=tuple(_lines(result)))


def _options(
    order: Sequence[str],
    names: set[str],
    widths: tuple[int, int],
    recalls: Recalls,
    reasons: dict[str, str],
) -> tuple[Option, ...]:
    """Return the ways to ask the index, those of fewest free numbers first."""
    unknown = f"fewer than {LEAST_SAMPLE:,} documents are known by both models"
    return tuple(
        Option(
            name,
            freedom(name, *widths),
            recalls.as_new.get(name),
            recalls.as_before.get(name),
            reasons.get(name, "" if name in recalls.as_new else unknown),
        )
        for name in order
        if name in names
    )


def listed(names: Iterable[str], most: int = 5) -> str:
    """Write names in order, the first of many."""
    names = sorted(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _lines(result: Upgrade) -> Iterator[str]:
    """Say what each way gives, how that is known, and when embedding everything again pays."""
    goal, settings = result.settings["goal"], result.settings
    recalls = [getattr(option, goal) for option in result.options if getattr(option, goal)]
    yield from (option_line(option, goal) for option in result.options)
    if settings["truth"] == "pool":
        hidden = max((o.as_new.hidden for o in result.options if o.as_new), default=0.0)
        yield (
            "What the new model would find is its choice from a pool; a deeper pool might lower "
            f"the recalls by {percent(hidden)} or a little more, which their lower bounds allow "
            "for."
        )
    groups = [group for recall in recalls for group in recall.groups]
    few = {str(group.group) for group in groups if group.low is None}
    if few:
        yield f"Groups of fewer than {FEWEST} queries are not assessed: {listed(few)}."
    if result.curve:
        yield (
            f"What the new model would find is known for {settings['documents']:,} documents and "
            f"continued to {settings['index']:,}; where it was tried the estimate was too high by "
            f"up to {percent(OVERSTATED)}."
        )
        if settings["groups"] and goal == "as_new":
            yield "Groups are not assessed by an estimate for a larger index; pass embed."
    if result.changed is not None:
        changed = percent(result.changed)
        yield f"Embedding everything again would change {changed} of the old answers."
    if result.changed is not None and result.changed > NEARLY_ALL:
        yield (
            "That is nearly all: check that queries and documents are in the same order by both "
            "models, and that queries are the pair (old, new)."
        )
    for option in result.options:
        queries = result.break_even(option.name)
        if queries is not None and option.name in (result.option, *BRIDGES):
            after = "never pays" if np.isinf(queries) else f"pays after {queries:,.0f} queries"
            yield f"Embedding all documents again, in place of {option.name}, {after}."


# ------------------------------------------------------------------------------------------ inputs


def _check_options(
    goal: Any, accept: Any, level: Any, k: Any, seed: Any, maps: Any, price: Any, loss: Any
) -> None:
    if goal not in TRUTHS:
        hint = did_you_mean(str(goal), TRUTHS)
        raise ValueError(f"upgrade: goal must be 'as_new' or 'as_before'; got {goal!r}{hint}")
    check_share("upgrade: accept", accept)
    check_share("upgrade: level", level)
    check_count("upgrade: k", k, 1)
    check_count("upgrade: seed", seed, 0)
    if isinstance(maps, str):
        raise ValueError(f"upgrade: maps must be a list of names, such as [{maps!r}]; got a word")
    for name in maps:
        if name not in BRIDGES:
            hint = did_you_mean(str(name), BRIDGES)
            raise ValueError(f"upgrade: there is no map {name!r}{hint}")
    if (price is None) != (loss is None):
        raise ValueError("upgrade: price and loss are needed together, in the same unit")
    for name, value in (("price", price), ("loss", loss)):
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"upgrade: {name} must be a positive number; got {value!r}")


def _task(
    old: Any, new: Any, queries: Any, index: Any, groups: Any, k: int, level: float, seed: int
) -> Task:
    if not isinstance(queries, tuple | list) or len(queries) != 2:
        raise ValueError(
            "upgrade: queries must be a pair, the same queries by the old and by the new model; "
            f"got {type(queries).__name__}"
        )
    x, y = as_representation(old, "old"), as_representation(new, "new")
    a, b = (as_representation(q, f"queries by {n}") for q, n in zip(queries, ("old", "new")))
    z = x if index is None else as_representation(index, "index")
    need_features("upgrade", x, y, a, b, z)
    for one, other, nouns in ((x, y, "documents"), (a, b, "queries")):
        if one.shape[0] != other.shape[0]:
            raise ValueError(
                f"upgrade: {one.shape[0]:,} {nouns} by the old model and {other.shape[0]:,} by the "
                f"new one; give the same {nouns} by both"
            )
        check_same_samples("upgrade", one, other)
    for one, other in ((x, a), (y, b), (x, z)):
        if one.shape[1] != other.shape[1]:
            raise ValueError(
                f"upgrade: {title(one)} {one.shape} and {title(other)} {other.shape} are of one "
                "model and must have the same width"
            )
    _check_sizes(x, a, z, k, index is not None)
    names = y.features
    (x, a, *more), (y, b) = columns_by_model((x, a, *([] if index is None else [z])), (y, b))
    z = more[0] if more else x
    is_moved = names is not None and y.features is not None and y.column_order
    rows = {name: rows_of(v) for name, v in (("old", x), ("new", y))}
    points = tuple(rows_of(q).take(np.arange(q.shape[0])) for q in (a, b))
    whole = rows["old"] if index is None else rows_of(z)
    _check_values(*rows.values(), *points)
    parts = ("old", "queries by old", *(["index"] if index is not None else []))
    _check_lengths(dict(zip(parts, (rows["old"], points[0], whole))))
    _check_lengths({"new": rows["new"], "queries by new": points[1]})
    numbers = None if groups is None else numbers_of("upgrade", groups, a.shape[0], "groups")
    index_of_groups = order_of(groups, "groups")
    check_order("upgrade", title(a), a.order, "the index of groups", index_of_groups)
    return Task(
        **rows,
        whole=whole,
        a=points[0],
        b=points[1],
        selves=_selves(a, x),
        places=_selves(a, z),
        groups=numbers,
        names=() if numbers is None else _names(numbers, groups),
        k=k,
        level=level,
        seed=seed,
        cautions=(*cautions_of((x, y)), *moved_columns((a, b, *more))),
        moved=tuple(map(names.index, y.features)) if is_moved else None,
    )


def _check_sizes(
    x: Representation, a: Representation, z: Representation, k: int, has_index: bool
) -> None:
    if a.shape[0] < FEWEST:
        raise ValueError(
            f"upgrade needs at least {FEWEST} queries for an interval; got {a.shape[0]}"
        )
    if has_index and z.shape[0] <= x.shape[0]:
        raise ValueError(
            f"upgrade: the index has {z.shape[0]:,} vectors, no more than the {x.shape[0]:,} "
            "documents; leave it out if the documents are the whole index"
        )
    if x.shape[0] < max(FEWEST, 2 * k):
        raise ValueError(
            f"upgrade needs at least {max(FEWEST, 2 * k)} documents by both models for k={k}; got "
            f"{x.shape[0]}"
        )
    known = None if a.ids is None or x.ids is None else set(x.ids) & set(a.ids)
    if has_index and known and z.ids is None:
        raise ValueError(
            f"upgrade: {len(known)} queries are documents by their ids; give the index ids, too: "
            "rs.Representation(index, ids=...)"
        )


def _check_values(*parts: Rows | np.ndarray) -> None:
    for part in parts:
        blocks = [block for _, block in part.blocks()] if isinstance(part, Rows) else [part]
        if any(max(block.max(), -block.min()) > LARGEST for block in blocks):
            raise ValueError(f"upgrade: values above {LARGEST:g}; give vectors in a larger unit")


def _check_lengths(parts: Mapping[str, Rows | np.ndarray]) -> None:
    """Raise ``ValueError`` if some of the vectors of a model are normalised and others are not."""
    are_unit = {}
    for name, part in parts.items():
        if isinstance(part, Rows):
            part = part.take(np.linspace(0, len(part.source) - 1, LOOKED_AT).astype(int))
        are_unit[name] = (abs(np.linalg.norm(part, axis=1) - 1) < NEARLY).mean() > NEARLY_ALL
    unit = [name for name, is_unit in are_unit.items() if is_unit]
    others = [name for name in are_unit if name not in unit]
    if unit and others:
        raise ValueError(
            f"upgrade: vectors of {' and '.join(unit)} are normalised to length 1, and those of "
            f"{' and '.join(others)} are not; normalise all vectors of a model, or none"
        )


def _names(numbers: np.ndarray, groups: Any) -> tuple[Hashable, ...]:
    labels = np.asarray(groups).tolist()
    first = np.unique(numbers, return_index=True)[1]
    return tuple(labels[i] for i in first)


def _selves(queries: Representation, documents: Representation) -> np.ndarray:
    """Return which document each query is by its id, -1 for none."""
    if queries.ids is None or documents.ids is None:
        return np.full(queries.shape[0], -1)
    places = {name: place for place, name in enumerate(documents.ids)}
    return np.array([places.get(name, -1) for name in queries.ids])
