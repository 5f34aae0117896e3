"""The catalogue in a terminal: a table of measures with declared properties, and the description of
a measure or statistic: docstring, formulas, declared properties and parameters."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..base.extras import install_hint, packages_in_extra
from ..base.formatting import format_range
from ..citations import citation_url
from ..contracts._measure import Measure
from ..contracts._statistic import Statistic
from ..contracts.claims import INVARIANCES
from ..contracts.streamed import STREAMING_ANSWERS, stream_requirements
from .terminal import plain_table

TEXT_WIDTH = 79
LATEX_SYMBOLS = {
    "lVert": "‖",
    "rVert": "‖",
    "|": "‖",
    "langle": "⟨",
    "rangle": "⟩",
    "sum": "Σ",
    "rho": "ρ",
    "alpha": "α",
    "lambda": "λ",
    "Sigma": "Σ",
    "sigma": "σ",
    "pi": "π",
    "in": "∈",
    "cup": "∪",
    "cap": "∩",
    "neq": "≠",
    "le": "≤",
    "ge": "≥",
    "ldots": "...",
    "cdot": "·",
    "infty": "∞",
    "quad": "\t",
    "qquad": "\t",
    ",": " ",
    "circ": "∘",
    ";": " ",
    "\\": "\t",
    "left": "",
    "right": "",
    "operatorname": "",
    "text": "",
    "mathrm": "",
    "bigl": "",
    "bigr": "",
    "Bigl": "",
    "Bigr": "",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "emptyset": "∅",
    "ne": "≠",
    "mid": "|",
    "{": "(",
    "}": ")",
    "lvert": "|",
    "rvert": "|",
    "beta": "β",
    "mu": "μ",
    "nu": "ν",
    "Gamma": "Γ",
    "theta": "θ",
    "varepsilon": "ε",
    "sim": "~",
    "prod": "Π",
    "mathcal": "",
    "operatorname*": "",
}
NESTED_COMMANDS = ("frac", "tfrac", "sqrt")
SUPERSCRIPTS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
SUBSCRIPTS = str.maketrans("0123456789ij", "₀₁₂₃₄₅₆₇₈₉ᵢⱼ")
INVARIANCE_LETTERS = {name: name[0].upper() for name in INVARIANCES} | {
    "invertible_linear": "L",
    "isotropic_scaling": "S",
}


def measure_table(measures: Sequence[Measure]) -> Any:
    """Return the declared properties of measures, a row per measure."""
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
            format_range(*m.range, 4),
            _format_claim(m.symmetric),
            _format_claim(m.metric),
            _format_claim(m.identity),
            invariance_letters(m.invariant_to),
            _format_claim(m.differentiable),
            f"≥{m.min_samples}",
        )
        for m in measures
    ]
    return plain_table(header, rows, right=(header.index("range"),))


def measure_legend() -> str:
    """Return the meanings of the columns of :func:`measure_table`."""
    columns = (
        "sym: symmetric, self: X with itself is always most similar, grad: differentiable, n: "
        "samples needed"
    )
    return f"invariant: {letters_legend()}\n{columns}"


def letters_legend() -> str:
    """Return the meanings of the letters of :func:`invariance_letters`."""
    return ", ".join(f"{INVARIANCE_LETTERS[name]} {name.replace('_', ' ')}" for name in INVARIANCES)


def invariance_letters(names: Collection[str]) -> str:
    """Return a text with a character per invariance in a fixed order: the letter of an invariance
    in ``names``, a dot for any other."""
    return "".join(INVARIANCE_LETTERS[name] if name in names else "·" for name in INVARIANCES)


def measure_record(measure: Measure) -> dict[str, Any]:
    """Return the declared properties of a measure as data for JSON; infinite ends of the range are
    null."""
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
        "citation": measure.citation,
        "requires": measure.requires,
        "summary": measure.summary,
    }


def _format_claim(claim: bool) -> str:
    return "yes" if claim else "–"


def explain(measure: Measure | Statistic) -> list[Any]:
    """Return the parts to print for a measure or statistic: heading, paragraphs of the docstring,
    declared properties, parameters and the paper."""
    from rich.text import Text

    heading = Text(
        f"{measure.label}   {measure.spec}   {measure.family.replace('_', ' ')}", style="bold"
    )
    parts: list[Any] = [heading, ""]
    for paragraph in paragraphs(measure):
        parts += [Text(paragraph), ""]
    parts += [
        statistic_table(measure) if isinstance(measure, Statistic) else claims_table(measure),
        "",
    ]
    if measure.defaults:
        parts += [parameter_table(measure)]
    if address := citation_url(measure.citation):
        name = f'"{measure.spec}"' if measure.parameters else measure.spec
        parts += [f"Paper: {address}", f"BibTeX: resemblance cite {name}"]
    return parts


def paragraphs(measure: Measure | Statistic) -> list[str]:
    """Return the docstring as wrapped paragraphs, with formulas on separate lines."""
    blocks = []
    for block in (inspect.getdoc(measure.function) or "").split("\n\n"):
        if block.lstrip().startswith(".. math::"):
            formula = latex_to_text(block.split("::", 1)[1])
            lines = formula.split("    ") if len(formula) > TEXT_WIDTH else [formula]
            blocks.append(textwrap.indent("\n".join(lines), "    "))
        elif block.strip():
            blocks.append(
                textwrap.fill(
                    docstring_to_text(block),
                    TEXT_WIDTH,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )
    return blocks


def docstring_to_text(text: str) -> str:
    """Return a paragraph of a docstring as plain text on one line: no roles, no code quotes,
    formulas in Unicode."""
    text = re.sub(r":math:`([^`]*)`", lambda match: latex_to_text(match[1]), text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")
    return " ".join(text.split())


def latex_to_text(formula: str) -> str:
    """Return a LaTeX formula in Unicode characters for a terminal.

    Four spaces separate equations. An unknown command stays unchanged, without the backslash.
    """
    text = (
        " ".join(formula.split()).replace(r"^\top", "ᵀ").replace(r"\top", "ᵀ").replace(r"\|", "‖")
    )
    text = re.sub(r"\\bar\s*\{(\w)\}", "\\1\u0304", text)
    text = re.sub(r"\\hat\s*\{?(\w)\}?", "\\1\u0302", text)
    text = re.sub(
        r"\\([a-zA-Z]+\*?|[,;\\{}])",
        lambda m: LATEX_SYMBOLS.get(m[1], m[0] if m[1] in NESTED_COMMANDS else m[1]),
        text,
    )
    while (resolved := _resolve_inner_braces(text)) != text:
        text = resolved
    parts = [" ".join(part.split()) for part in re.sub("[{}]", "", text).split("\t")]
    return "    ".join(part for part in parts if part)


def _resolve_inner_braces(text: str) -> str:
    """Return a formula with the innermost braces, fractions, roots and indices replaced by plain
    characters; unchanged if nothing is left to replace."""
    text = re.sub(
        r"\\t?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", lambda m: _format_fraction(m[1], m[2]), text
    )
    text = re.sub(r"\\sqrt\s*\{([^{}]*)\}", r"√(\1)", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", lambda m: m[1] + _parenthesize(m[2]), text)
    text = re.sub(r"\^([\d])", lambda m: m[1].translate(SUPERSCRIPTS), text)
    text = re.sub(r"_([\dij])(?![A-Za-z0-9])", lambda m: m[1].translate(SUBSCRIPTS), text)
    return re.sub(r"(?<!frac)(?<!sqrt)(?<![_^}])\{([^{}\\]*)\}(?!\s*\{)", r"\1", text)


def _format_fraction(numerator: str, denominator: str) -> str:
    numerator, denominator = _parenthesize(numerator), _parenthesize(denominator)
    if len(numerator + denominator) < 4:
        return f"{numerator}/{denominator} "
    return f"{numerator} / {denominator}"


def _parenthesize(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"[\w.]+|‖[^‖]*‖|\|[^|]*\|", text) else f"({text})"


def claims_table(measure: Measure) -> Any:
    """Return the declared properties of a measure, a row per property."""
    invariant = [name for name in INVARIANCES if name in measure.invariant_to]
    other_invariances = [name for name in INVARIANCES if name not in measure.invariant_to]
    lines = {
        "more similar is": "larger" if measure.larger_is_more_similar else "smaller",
        "range": format_range(*measure.range, 4),
        "symmetric": _format_yes_no(measure.symmetric),
        "metric": _format_yes_no(measure.metric),
        "X with itself": _most_similar_value(measure)
        if measure.identity
        else "not always the most similar value",
        "unchanged by": _format_identifiers(invariant),
        "changed by": _format_identifiers(other_invariances),
        "from a stream": STREAMING_ANSWERS[stream_requirements(measure)],
        "differentiable": _format_yes_no(measure.differentiable),
        "samples": f"at least {measure.min_samples}",
        "in closed form": _exact_evidence(measure),
        "uninformative": measure.uninformative_when,
        "needs": f"{', '.join(packages_in_extra(measure.requires))} "
        f"({install_hint(measure.requires)})"
        if measure.requires
        else "",
        "citation": measure.citation,
    }
    return plain_table(
        ("", ""), [(name, value) for name, value in lines.items() if value], header_row=False
    )


def _exact_evidence(measure: Measure) -> str:
    """Return the parts of the evidence that need no permutations, as words: p-values from moments,
    chance, intervals; "" for none."""
    p = "chance and p over all permutations of the samples" if measure.product else ""
    chance = "chance" if measure.chance and not p else ""
    intervals = "leave-one-out values, for intervals" if measure.leave_one_out else ""
    return "; ".join(filter(None, (p, chance, intervals)))


def statistic_table(statistic: Statistic) -> Any:
    """Return the declared properties of a statistic, a row per property."""
    better = {True: "larger", False: "smaller", None: "neither"}[statistic.larger_is_more_stable]
    lines = {
        "called with": ", ".join(("X", *statistic.needs)),
        "more stable is": better,
        "range": format_range(*statistic.range, 4),
        "unchanged by": _format_identifiers(
            [name for name in INVARIANCES if name in statistic.invariant_to]
        ),
        "changed by": _format_identifiers(
            [name for name in INVARIANCES if name not in statistic.invariant_to]
        ),
        "samples": f"at least {statistic.min_samples}",
        "caveat": statistic.caveat,
        "citation": statistic.citation,
    }
    return plain_table(
        ("", ""), [(name, value) for name, value in lines.items() if value], header_row=False
    )


def parameter_table(measure: Measure | Statistic) -> Any:
    """Return the parameters with current values and possible choices."""
    values = dict(measure.parameters)
    rows = [
        (name, repr(values.get(name, default)), " ".join(map(repr, measure.choices.get(name, ()))))
        for name, default in measure.defaults.items()
    ]
    return plain_table(("parameter", "value", "choices"), rows)


def _format_identifiers(names: list[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names) or "nothing listed"


def _most_similar_value(measure: Measure) -> str:
    return f"{measure.range[measure.larger_is_more_similar]:.4g}, the most similar value"


def _format_yes_no(claim: bool) -> str:
    return "yes" if claim else "no"
