"""The pages of the measures, one for each, and the tables of docs/measures.md.

A page has text, behaviour, advice, claims, parameters, place, an example and the code: text
and advice are the docstring, the table the claims, the code the source of the measure; numbers are
computed when the pages are built.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import profiles
from inference_tables import inference_rows
from pieces import FAMILY_TITLES, interval, invariances, markdown, section, short_invariances, table

import resemblance as rs
from resemblance.bench.answer_tables import format_interval, format_score
from resemblance.bench.answers import MeasureAnswer
from resemblance.bench.ranking.leaderboard import Leaderboard
from resemblance.contracts._measure import MEASURE_FAMILIES
from resemblance.contracts.claims import INVARIANCES
from resemblance.contracts.streamed import STREAMING_ANSWERS, stream_requirements

NEAR = (
    "(*Fixed*: the shapes alone decide the value. *Near*: unrelated representations come close to "
    "the value of equal ones.)"
)


def measure_page(m: rs.Measure) -> str:
    """Return the whole page of a measure."""
    title = f"{m.label}: {m.name}"
    definition, usage, caution = parts_of(m)
    changes = change_table(m)
    parts = [
        f".. _measure-{m.name}:\n\n{title}\n{'=' * len(title)}",
        ".. py:currentmodule:: resemblance",
        f".. py:function:: {m.name}{signature(m)}\n\n" + textwrap.indent(broken(definition), "   "),
        section("When to use it", f"{usage}\n\n{caution}{uninformative(m)}"),
        section("What it sees and what it ignores", behavior(m)),
        section("Example", example(m)),
        section("Claims", claims_table(m)),
        section("Parameters", parameter_table(m)) if m.defaults else "",
        section("Claims that change with a parameter", changes) if changes else "",
        section("Chance, p-values and intervals", table(None, inference_rows(m).items())),
        section("In the benchmarks", answers_about(m)),
        section("The code", source(m)),
        section("See also", see_also(m)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


ADVICE = re.compile(r"(Use it when) (.*?)\n\n(Beware\.) (.*?)\n\n(?=Reference: )", re.DOTALL)


def parts_of(m: rs.Measure) -> tuple[str, str, str]:
    """Return a docstring without its advice; when to use the measure, and what to beware of."""
    text = inspect.getdoc(m.function) or ""
    advice = ADVICE.search(text)
    if not advice:
        raise ValueError(
            f"{m.name}: before 'Reference: ' the docstring says 'Use it when' and, in "
            "another paragraph, 'Beware.'"
        )
    heading, usage, warning, caution = advice.groups()
    return ADVICE.sub("", text), f"**{heading}** {usage}", f"**{warning}** {caution}"


def uninformative(m: rs.Measure) -> str:
    """Return when values say little whatever the data, as a paragraph of its own."""
    condition = m.uninformative_when
    return f"\n\n**Uninformative values.** {condition} {NEAR}" if condition else ""


def behavior(m: rs.Measure) -> str:
    """Return the strip chart with what it shows."""
    intro = (
        f"The same changes of one representation X ({profiles.SAMPLES} samples in "
        f"{profiles.CLASSES} classes, {profiles.FEATURES} features, decaying spectrum) for every "
        f"measure. A mark at the left end: the change is ignored. At the right end: Y is as far "
        f"from X as an unrelated representation, on average over {profiles.DRAWS} draws; an arrow: "
        f"farther. A hollow mark: the measure claims to ignore the change."
    )
    if m.takes == "repeats":
        intro += " Here the classes are the stimuli, and the samples of a class are its repeats."
    return f"{intro}\n\n.. raw:: html\n\n{textwrap.indent(profiles.chart(m), '   ')}"


def example(m: rs.Measure) -> str:
    """Return a session of a few lines with the value that it prints."""
    if m.takes == "repeats":
        return example_with_repeats(m)
    labels = "labels=tuple(X.argmax(axis=1).tolist())"
    argument = f", {labels}" if m.name == "accuracy_difference" else ""
    X, noise = np.random.default_rng(0).standard_normal((2, 200, 16))
    measure = m.with_parameters(labels=tuple(X.argmax(axis=1).tolist())) if argument else m
    value = f"{float(measure(X, X + 0.5 * noise)):.4g}"
    lines = [
        ">>> import numpy as np",
        ">>> import resemblance as rs",
        ">>> X, noise = np.random.default_rng(0).standard_normal((2, 200, 16))",
        f'>>> print(f"{{rs.{m.name}(X, X + 0.5 * noise{argument}):.4g}}")',
        value,
    ]
    return ".. code-block:: pycon\n\n" + textwrap.indent("\n".join(lines), "   ")


def example_with_repeats(m: rs.Measure) -> str:
    """Return a session for a measure that reads repeats: 50 stimuli with 4 repeats each."""
    X, noise = np.random.default_rng(0).standard_normal((2, 200, 16))
    stimuli = np.arange(200) // 4
    first, second = (rs.Representation(x, ids=stimuli) for x in (X, X + 0.5 * noise))
    lines = [
        ">>> import numpy as np",
        ">>> import resemblance as rs",
        ">>> X, noise = np.random.default_rng(0).standard_normal((2, 200, 16))",
        ">>> stimuli = np.arange(200) // 4  # rows with equal ids are repeats of one stimulus",
        ">>> Y = rs.Representation(X + 0.5 * noise, ids=stimuli)",
        ">>> X = rs.Representation(X, ids=stimuli)",
        f'>>> print(f"{{rs.{m.name}(X, Y):.4g}}")',
        f"{float(m(first, second)):.4g}",
    ]
    return ".. code-block:: pycon\n\n" + textwrap.indent("\n".join(lines), "   ")


def see_also(m: rs.Measure) -> str:
    """Return the measures of the family, and those that react most alike to the changes."""
    family = [other.name for other in rs.list_measures(family=m.family) if other.name != m.name]
    similar = profiles.alike(m.name)
    lines = ["- :doc:`The measures <../measures>`, side by side, and :doc:`../choosing`."]
    lines += [f"- In this family: {', '.join(map(link, family))}."] if family else []
    lines += (
        [f"- Most alike in the changes above: {', '.join(map(link, similar))}."] if similar else []
    )
    return "\n".join([*lines, "- Where published codes differ: :doc:`../disagreements`."])


def link(name: str) -> str:
    return f":ref:`{name} <measure-{name}>`"


FORMULA = re.compile(r"(?m)^\.\. math:: ((?:.*\n)(?:    .*\n)*)")

BREAK = re.compile(r"\\qquad|(?<=,)\s*\\quad")


def broken(text: str) -> str:
    """Return a docstring with a line for each part of a formula, so that it fits on a page."""

    def gathered(match: re.Match[str]) -> str:
        parts = [" ".join(part.split()) for part in BREAK.split(match[1])]
        if len(parts) == 1:
            return match[0]
        lines = " \\\\[0.6em]\n    ".join(parts)
        return f".. math::\n\n    \\begin{{gathered}}\n    {lines}\n    \\end{{gathered}}\n"

    return FORMULA.sub(gathered, text)


def signature(m: rs.Measure) -> str:
    parameters = [f"{name}={value!r}" for name, value in m.defaults.items()]
    return f"({', '.join(['X', 'Y', *(['*'] if parameters else []), *parameters])})"


REPEATS = "repeats: rows with equal ids are repeats of one stimulus"


def claims_table(m: rs.Measure) -> str:
    kind = (
        "similarity: larger is more similar"
        if m.larger_is_more_similar
        else "difference: smaller is more similar"
    )
    rows = [
        ("direction", kind),
        ("range", interval(m.range)),
        ("symmetric", "yes" if m.symmetric else "no: m(X, Y) and m(Y, X) differ"),
        ("metric", "yes: the triangle inequality holds" if m.metric else "no"),
        (
            "X with itself",
            "the most similar value" if m.identity else "not always the most similar value",
        ),
        (
            "unchanged by",
            ", ".join(invariances(m.invariant_to)) or "none of the transformations below",
        ),
        ("changed by", ", ".join(invariances(set(INVARIANCES) - m.invariant_to)) or "none of them"),
        ("of a stream", STREAMING_ANSWERS[stream_requirements(m)]),
        ("gradients", "yes, for PyTorch tensors that carry them" if m.differentiable else "no"),
        ("deterministic", "yes" if m.deterministic else "no"),
        *([("reads", REPEATS)] if m.takes == "repeats" else []),
        ("samples", f"at least {m.min_samples}"),
        ("family", FAMILY_TITLES[m.family].lower()),
        ("version", str(m.version)),
        ("needs", f"the extra ``{m.requires}``" if m.requires else "nothing optional"),
        ("reference", f":cite:t:`{m.citation}`"),
    ]
    text = (
        "The transformations are of either argument alone, but rotation of the samples is of both "
        "together. The test suite checks these claims in both directions."
    )
    return f"{text}\n\n{table(None, rows)}"


def parameter_table(m: rs.Measure) -> str:
    hints = typing.get_type_hints(m.function)
    rows = []
    for name, default in m.defaults.items():
        choices = (
            typing.get_args(hints[name]) if typing.get_origin(hints[name]) is typing.Literal else ()
        )
        kind = (
            ", ".join(f"``{c!r}``" for c in choices)
            or f"``{getattr(hints[name], '__name__', hints[name])}``"
        )
        rows.append((f"``{name}``", kind, f"``{default!r}``"))
    return table(("parameter", "values", "default"), rows)


def change_table(m: rs.Measure) -> str:
    """Return which claims differ when one parameter has another value than its default."""
    rows = []
    for name, value in settings(m):
        try:
            variant = m.with_parameters(**{name: value})
        except ValueError:  # the value goes with another value of a second parameter
            continue
        claims = [
            claim(c, getattr(variant, c)) for c in TITLES if getattr(variant, c) != getattr(m, c)
        ]
        if claims:
            rows.append((f"``{name}={value!r}``", "; ".join(claims)))
    return table(("with", "claim"), rows) if rows else ""


def settings(m: rs.Measure) -> Iterator[tuple[str, object]]:
    """Yield the choices of every parameter; of a number the ends of its range, 1 for infinity."""
    for name, default in m.defaults.items():
        if isinstance(default, bool):
            yield name, not default
        elif isinstance(default, float):
            yield from ((name, min(end, 1.0)) for end in m.limits.get(name, ()))
        yield from ((name, choice) for choice in m.choices.get(name, ()))


TITLES = {
    "invariant_to": "unchanged by",
    "range": "range",
    "metric": "metric",
    "symmetric": "symmetric",
    "identity": "X with itself is always most similar",
    "differentiable": "gradients",
    "requires": "needs the extra",
    "min_samples": "samples, at least",
}


def claim(name: str, value: object) -> str:
    if name == "invariant_to":
        text = ", ".join(invariances(value)) or "nothing"
    elif name == "range":
        text = interval(value)
    else:
        text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    return f"{TITLES[name]}: {text}"


def source(m: rs.Measure) -> str:
    """Return the function without decorator and docstring, as it is in the package."""
    text = Path(inspect.getsourcefile(m.function)).read_text()
    node = next(
        n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == m.name
    )
    docstring, *body = node.body
    lines = text.splitlines()
    code = "\n".join(
        lines[node.lineno - 1 : docstring.lineno - 1] + lines[body[0].lineno - 1 : node.end_lineno]
    )
    file = "/".join(m.function.__module__.split("."))
    return (
        f"From ``src/{file}.py``, without the docstring:\n\n.. code-block:: "
        f"python\n\n{textwrap.indent(code, '   ')}"
    )


# -------------------------------------------------------- what is known of a measure elsewhere


@cache
def board() -> Leaderboard:
    """Return what the leaderboard answers about all measures."""
    return rs.leaderboard()


def answers_about(m: rs.Measure) -> str:
    """Return the scores of a measure on the leaderboard, and how it compares with CKA."""
    link = ":doc:`the leaderboard <../leaderboard>`"
    if m.takes == "repeats":
        return (
            "It needs repeats of each stimulus, and the benchmarks have each sample once, so it is "
            f"not on {link}."
        )
    if m.spec not in board().labels:
        return f"It compares predictions of models, so it is not on {link}."
    rows = [
        (answer.question.words, format_score(line.score), _standing_words(line))
        for answer in board().answers
        if (line := answer.of(m.spec))
    ]
    intro = (
        f"On the packs of {link}; larger scores are better. Differences from CKA have 95 % "
        "intervals that hold together for all measures, for other seeds of the same networks:"
    )
    return f"{intro}\n\n{table(('you want to know', 'score', 'in comparison'), rows)}"


def _standing_words(line: MeasureAnswer) -> str:
    if line.may_be_best is None:
        return "shown, not ranked"
    words = ["may be the best"] if line.may_be_best else ["surely behind the best"]
    joint = line.joint
    if joint and joint != (0, 0, 0):
        verdict = "better" if joint.is_better else "worse" if joint.is_worse else ""
        words.append(f"{verdict} than CKA: {format_interval(joint)}" if verdict else "as CKA")
    return ", ".join(words).replace(", as CKA", ", no difference from CKA")


# ------------------------------------------------------------------- the tables of docs/measures.md

HEAD = ("measure, label", "in short", "range", "ignores", "also")


def all_measures() -> str:
    """Return a table for each family, below its heading."""
    return "\n\n".join(f"### {FAMILY_TITLES[f]}\n\n{family_table(f)}" for f in MEASURE_FAMILIES)


def family_table(family: str) -> str:
    return markdown(HEAD, map(row, rs.list_measures(family=family)))


def sidebar() -> str:
    """Return the pages of all measures as entries of the sidebar, which the page does not show."""
    return "\n\n".join(map(family_pages, MEASURE_FAMILIES))


def family_pages(family: str) -> str:
    pages = "\n".join(f"{m.label} <measures/{m.name}>" for m in rs.list_measures(family=family))
    return f"```{{toctree}}\n:hidden:\n:caption: {FAMILY_TITLES[family]}\n\n{pages}\n```"


def row(m: rs.Measure) -> tuple[str, ...]:
    """Return the claims of a measure with its default parameters."""
    properties = {
        "symmetric": m.symmetric,
        "metric": m.metric,
        "gradients": m.differentiable,
        "streams": "sample_rotation" in m.invariant_to,
    }
    return (
        f"`{m.name}` {m.label}",
        (m.summary.partition(": ")[2] or m.summary).rstrip("."),
        f"{interval(m.range)} {'↑' if m.larger_is_more_similar else '↓'}",
        short_invariances(m.invariant_to),
        ", ".join(word for word, holds in properties.items() if holds),
    )
