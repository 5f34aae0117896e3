"""The catalogue in a terminal: a line of claims for each measure, and one measure or statistic
explained by its docstring, formulas, claims and parameters."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..base.extras import install_hint, packages_of
from ..citations import url_of
from ..contracts._measure import Measure
from ..contracts._statistic import Statistic
from ..contracts.claims import INVARIANCES
from ..contracts.streamed import STREAMS, needs_of
from .numbers import span
from .terminal import plain_table

WIDTH = 79
SYMBOLS = {
    "lVert": "‖", "rVert": "‖", "|": "‖", "langle": "⟨", "rangle": "⟩", "sum": "Σ", "rho": "ρ",
    "alpha": "α",
    "lambda": "λ", "Sigma": "Σ", "sigma": "σ", "pi": "π", "in": "∈", "cup": "∪", "cap": "∩",
    "neq": "≠", "le": "≤",
    "ge": "≥", "ldots": "...", "cdot": "·", "infty": "∞", "quad": "\t", "qquad": "\t", ",": " ",
    "circ": "∘",
    ";": " ", "\\": "\t",
    "left": "", "right": "", "operatorname": "", "text": "", "mathrm": "", "bigl": "", "bigr": "",
    "Bigl": "",
    "Bigr": "", "lfloor": "⌊", "rfloor": "⌋", "emptyset": "∅", "ne": "≠", "mid": "|", "{": "(",
    "}": ")",
    "lvert": "|", "rvert": "|", "beta": "β", "mu": "μ", "theta": "θ", "varepsilon": "ε", "sim": "~",
    "prod": "Π",
    "mathcal": "", "operatorname*": "",
}  # fmt: skip
NESTING = ("frac", "tfrac", "sqrt")
RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
LOWERED = str.maketrans("0123456789ij", "₀₁₂₃₄₅₆₇₈₉ᵢⱼ")
LETTERS = {name: name[0].upper() for name in INVARIANCES} | {
    "invertible_linear": "L",
    "isotropic_scaling": "S",
}


def measure_table(measures: Sequence[Measure]) -> Any:
    """Return the claims of measures, one line each."""
    header = (
        "measure",
        "label",
        "family",
        "similar",
        "range",
        "sym",
        "metric",
        "self",
        "invariant",
        "grad",
        "n",
    )
    rows = [
        (
            m.name,
            m.label,
            m.family,
            "larger" if m.larger_is_more_similar else "smaller",
            span(*m.range, 4),
            _tick(m.symmetric),
            _tick(m.metric),
            _tick(m.identity),
            invariance_letters(m.invariant_to),
            _tick(m.differentiable),
            f"≥{m.min_samples}",
        )
        for m in measures
    ]
    return plain_table(header, rows, right=(header.index("range"),))


def measure_legend() -> str:
    """Return what the columns of :func:`measure_table` mean."""
    columns = (
        "sym: symmetric, self: X with itself is always most similar, grad: differentiable, n: "
        "samples needed"
    )
    return f"invariant: {letters_legend()}\n{columns}"


def letters_legend() -> str:
    """Return what the letters of :func:`invariance_letters` mean."""
    return ", ".join(f"{LETTERS[name]} {name.replace('_', ' ')}" for name in INVARIANCES)


def invariance_letters(names: Collection[str]) -> str:
    """Return one letter per invariance in a fixed place, and a dot for each that is not there."""
    return "".join(LETTERS[name] if name in names else "·" for name in INVARIANCES)


def measure_record(measure: Measure) -> dict[str, Any]:
    """Return the claims of a measure as data for JSON; infinite ends of the range are null."""
    return {
        "name": measure.spec,
        "label": measure.label,
        "family": measure.family,
        "larger_is_more_similar": measure.larger_is_more_similar,
        "range": [float(end) if np.isfinite(end) else None for end in measure.range],
        "symmetric": measure.symmetric,
        "metric": measure.metric,
        "identity": measure.identity,
        "invariant_to": sorted(measure.invariant_to),
        "differentiable": measure.differentiable,
        "min_samples": measure.min_samples,
        "min_features": measure.min_features,
        "version": measure.version,
        "uninformative": measure.uninformative_when,
        "reference": measure.reference,
        "extra": measure.extra,
        "summary": measure.summary,
    }


def _tick(claim: bool) -> str:
    return "yes" if claim else "–"


def explain(measure: Measure | Statistic) -> list[Any]:
    """Return what to print: heading, definition, claims, and parameters."""
    from rich.text import Text

    heading = Text(
        f"{measure.label}   {measure.spec}   {measure.family.replace('_', ' ')}", style="bold"
    )
    shown: list[Any] = [heading, ""]
    for paragraph in paragraphs(measure):
        shown += [Text(paragraph), ""]
    shown += [
        statistic_table(measure) if isinstance(measure, Statistic) else claims_table(measure),
        "",
    ]
    if measure.defaults:
        shown += [parameter_table(measure)]
    if address := url_of(measure.reference):
        shown += [f"Paper: {address}", f"BibTeX: resemblance cite {measure.name}"]
    return shown


def paragraphs(measure: Measure | Statistic) -> list[str]:
    """Return the docstring as wrapped text, formulas set apart."""
    blocks = []
    for block in (inspect.getdoc(measure.function) or "").split("\n\n"):
        if block.lstrip().startswith(".. math::"):
            formula = readable(block.split("::", 1)[1])
            lines = formula.split("    ") if len(formula) > WIDTH else [formula]
            blocks.append(textwrap.indent("\n".join(lines), "    "))
        elif block.strip():
            blocks.append(
                textwrap.fill(plain(block), WIDTH, break_long_words=False, break_on_hyphens=False)
            )
    return blocks


def plain(text: str) -> str:
    """Take the markup out of a docstring: roles, quotes of code, formulas."""
    text = re.sub(r":math:`([^`]*)`", lambda match: readable(match[1]), text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")
    return " ".join(text.split())


def readable(formula: str) -> str:
    """Write a LaTeX formula with the characters of a terminal.

    What is not known stays as it is, without the backslash.
    """
    text = (
        " ".join(formula.split()).replace(r"^\top", "ᵀ").replace(r"\top", "ᵀ").replace(r"\|", "‖")
    )
    text = re.sub(r"\\bar\s*\{(\w)\}", "\\1\u0304", text)
    text = re.sub(r"\\hat\s*\{?(\w)\}?", "\\1\u0302", text)
    text = re.sub(
        r"\\([a-zA-Z]+\*?|[,;\\{}])",
        lambda m: SYMBOLS.get(m[1], m[0] if m[1] in NESTING else m[1]),
        text,
    )
    while (simpler := _innermost(text)) != text:
        text = simpler
    parts = [" ".join(part.split()) for part in re.sub("[{}]", "", text).split("\t")]
    return "    ".join(part for part in parts if part)


def _innermost(text: str) -> str:
    """Resolve the braces that hold no others."""
    text = re.sub(r"\\t?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", lambda m: _fraction(m[1], m[2]), text)
    text = re.sub(r"\\sqrt\s*\{([^{}]*)\}", r"√(\1)", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", lambda m: m[1] + _grouped(m[2]), text)
    text = re.sub(r"\^([\d])", lambda m: m[1].translate(RAISED), text)
    text = re.sub(r"_([\dij])(?![A-Za-z0-9])", lambda m: m[1].translate(LOWERED), text)
    return re.sub(r"(?<!frac)(?<!sqrt)(?<![_^}])\{([^{}\\]*)\}(?!\s*\{)", r"\1", text)


def _fraction(above: str, below: str) -> str:
    above, below = _grouped(above), _grouped(below)
    return f"{above}/{below} " if len(above + below) < 4 else f"{above} / {below}"


def _grouped(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"[\w.]+|‖[^‖]*‖|\|[^|]*\|", text) else f"({text})"


def claims_table(measure: Measure) -> Any:
    """Return the claims, one line each."""
    invariant = [name for name in INVARIANCES if name in measure.invariant_to]
    others = [name for name in INVARIANCES if name not in measure.invariant_to]
    lines = {
        "more similar is": "larger" if measure.larger_is_more_similar else "smaller",
        "range": span(*measure.range, 4),
        "symmetric": _yes(measure.symmetric),
        "metric": _yes(measure.metric),
        "X with itself": _extreme(measure)
        if measure.identity
        else "not always the most similar value",
        "unchanged by": _words(invariant),
        "changed by": _words(others),
        "from a stream": STREAMS[needs_of(measure)],
        "differentiable": _yes(measure.differentiable),
        "samples": f"at least {measure.min_samples}",
        "in closed form": _exact(measure),
        "uninformative": measure.uninformative_when,
        "needs": f"{', '.join(packages_of(measure.extra))} ({install_hint(measure.extra)})"
        if measure.extra
        else "",
        "reference": measure.reference,
    }
    return plain_table(
        ("", ""), [(name, value) for name, value in lines.items() if value], header_row=False
    )


def _exact(measure: Measure) -> str:
    """Say what of the evidence for a value needs no draws: p by moments, intervals."""
    p = "chance and p over all orders of the samples" if measure.product else ""
    chance = "chance" if measure.chance and not p else ""
    intervals = "the values without each sample, for intervals" if measure.left_out else ""
    return "; ".join(filter(None, (p, chance, intervals)))


def statistic_table(statistic: Statistic) -> Any:
    """Return the claims of a statistic, one line each."""
    better = {True: "larger", False: "smaller", None: "neither"}[statistic.larger_is_more_stable]
    lines = {
        "called with": ", ".join(("X", *statistic.needs)),
        "more stable is": better,
        "range": span(*statistic.range, 4),
        "unchanged by": _words([name for name in INVARIANCES if name in statistic.invariant_to]),
        "changed by": _words([name for name in INVARIANCES if name not in statistic.invariant_to]),
        "samples": f"at least {statistic.min_samples}",
        "caution": statistic.caution,
        "reference": statistic.reference,
    }
    return plain_table(
        ("", ""), [(name, value) for name, value in lines.items() if value], header_row=False
    )


def parameter_table(measure: Measure | Statistic) -> Any:
    """Return the parameters with their values here and what else they can be."""
    fixed = dict(measure.parameters)
    rows = [
        (name, repr(fixed.get(name, default)), " ".join(map(repr, measure.choices.get(name, ()))))
        for name, default in measure.defaults.items()
    ]
    return plain_table(("parameter", "value", "choices"), rows)


def _words(names: list[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names) or "nothing listed"


def _extreme(measure: Measure) -> str:
    return f"{measure.range[measure.larger_is_more_similar]:.4g}, the most similar value"


def _yes(claim: bool) -> str:
    return "yes" if claim else "no"
