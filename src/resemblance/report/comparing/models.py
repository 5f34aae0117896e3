"""Which models and which data were compared, where a comparison knows: a line, and a section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...results.sections import Entry, Section, Table
from ..numbers import count, counted

SOURCES = ("source", "checkpoint", "model", "class", "architecture")
SIZES = ("parameters", "n_parameters")
POOLINGS = ("pool", "pooling")
DATA_NAMES = ("name", "source", "dataset", "path")
SAMPLES = ("n", "n_samples", "samples")
UNITS = ("unit", "kind")
MILLION = 1e6
FEW = 4  # models that the line under the title names
LONGEST_LIST = 12  # entries of a list that a table writes


def models_facts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the line under the title: each model with its size, the data, the pooling.

    Nothing for what is unknown.
    """
    models, data = parts_of(provenance)
    facts = dict[str, str]()
    if len(models) <= FEW:
        facts |= {name: _model_words(of) for name, of in models.items() if _model_words(of)}
    elif models:
        facts["models"] = count(len(models))
    if words := _data_words(data):
        facts["data"] = words
    pools = dict.fromkeys(
        str(fact_words(pool)) for of in models.values() if (pool := first_of(of, POOLINGS))
    )
    pools = pools or dict.fromkeys(filter(None, [str(first_of(data, POOLINGS) or "")]))
    return facts | ({"pooling": ", ".join(pools)} if pools else {})


def parts_of(
    provenance: Mapping[str, Any],
) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Return the facts of each model, and those of the data; nothing for any other form."""
    models, data = provenance.get("models"), provenance.get("data")
    known = models if isinstance(models, Mapping) else {}
    each = {str(name): of for name, of in known.items() if isinstance(of, Mapping)}
    return each, data if isinstance(data, Mapping) else {}


def first_of(facts: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first fact of these names that is there; None for none."""
    return next((facts[name] for name in names if facts.get(name) not in (None, "")), None)


def _model_words(facts: Mapping[str, Any]) -> str:
    source, size = first_of(facts, SOURCES), first_of(facts, SIZES)
    words = f"{size_words(size)} parameters" if isinstance(size, int | float) else ""
    if source is None:
        return words
    if source == facts.get("class"):
        source = str(source).rpartition(".")[2]
    return f"{source} ({words})" if words else str(source)


def size_words(size: float) -> str:
    """Write a number of parameters: "22.7 M" or "1.1 G"."""
    for unit, letter in ((1e9, "G"), (MILLION, "M"), (1e3, "k")):
        if size >= unit:
            return f"{size / unit:.3g} {letter}"
    return f"{size:g}"


def _data_words(data: Mapping[str, Any]) -> str:
    name, samples = first_of(data, DATA_NAMES), first_of(data, SAMPLES)
    unit = str(first_of(data, UNITS) or "sample").removesuffix("s")
    many = counted(samples, unit) if isinstance(samples, int) else ""
    return ", ".join(filter(None, (str(name or ""), many)))


def models_section(provenance: Mapping[str, Any]) -> Iterator[Section]:
    """Yield what is known of models and data, as tables; nothing if nothing is."""
    models, data = parts_of(provenance)
    tables = []
    if models:
        names = list(dict.fromkeys(str(name) for of in models.values() for name in of))
        rows = tuple(
            (model, *(fact_words(of.get(name)) for name in names)) for model, of in models.items()
        )
        columns = ("model", *(name.replace("_", " ") for name in names))
        tables.append(Table("models", counted(len(models), "model"), columns, rows))
    if data:
        facts = tuple((name.replace("_", " "), fact_words(fact)) for name, fact in data.items())
        tables.append(Table("data", "Data", ("fact", "value"), facts))
    if tables:
        yield Section("models", "Models and data", "", tuple(tables))


def fact_words(fact: Any) -> Entry:
    """Write any fact for a cell: lists with commas, long ones with their length."""
    if fact is None or isinstance(fact, str):
        return fact
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, int | float):
        return float(fact)
    if isinstance(fact, Mapping):
        return ", ".join(f"{name} {fact_words(part)}" for name, part in fact.items())
    if isinstance(fact, Sequence):
        words = ", ".join(str(fact_words(part)) for part in fact[:LONGEST_LIST])
        rest = len(fact) - LONGEST_LIST
        return f"{words} and {rest} more" if rest > 0 else words
    return str(fact)
