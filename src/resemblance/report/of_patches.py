"""Layers of one model put into another as a figure and as a page: the predictions that move, beside
the similarity of each layer."""

from __future__ import annotations

from dataclasses import replace

from ..base.formatting import count_with_noun, format_level, format_number
from ..models.patching import LayerPatches
from ..sections.figures import Bar, Bars
from ..sections.result import Result
from ..sections.sections import Section, Table
from ..sections.values import finite_or_none
from .output import Output
from .terminal import table_as_text


def patches_section(patches: LayerPatches) -> Section:
    """Return the share of predictions that move with each layer, and the similarity of the layer in
    the two models."""
    receiver, donor = patches.receiver, patches.donor
    level = f"{format_level(patches.confidence_level)} interval"
    bars = tuple(
        Bar(row.layer, row.moved, finite_or_none(row.low), finite_or_none(row.high))
        for row in patches.layers
    )
    rows = tuple(
        (
            row.layer,
            row.moved,
            f"{format_number(row.low, 3)} to {format_number(row.high, 3)}",
            finite_or_none(row.similarity),
        )
        for row in patches.layers
    )
    return Section(
        "patch_models",
        f"Layers of {donor} in {receiver}",
        f"{receiver} and {donor} predict different classes for {patches.n_different} of "
        f"{count_with_noun(patches.n_samples, 'sample')}. A layer moves a prediction if {receiver} "
        f"with this layer of {donor} predicts the class of {donor}. Intervals are for other "
        "samples.",
        (Table("patches", "Layers", ("layer", "share moved", level, patches.measure), rows),),
        (Bars("moved", "Predictions that move", f"share moved, {level}", bars, is_dotted=True),),
        reasons={failure.x: failure.reason for failure in patches.failures},
    )


def page_with_patches(page: Result, patches: LayerPatches) -> Result:
    """Return a new page of a comparison with the section of patched layers before all values."""
    places = [k for k, section in enumerate(page.sections) if section.name in ("values", "models")]
    place = min(places, default=len(page.sections))
    before, after = page.sections[:place], page.sections[place:]
    return replace(page, sections=(*before, patches_section(patches), *after))


def patches_output(patches: LayerPatches) -> Output:
    """Return the output of patched layers: the counts, and a row per layer."""
    section = patches_section(patches)
    reasons = [f"{layer}: no {patches.measure}: {text}" for layer, text in section.reasons.items()]
    notes = [f"Note: {caveat}." for caveat in patches.caveats]
    parts = [section.about, table_as_text(section.tables[0]), *reasons, *notes]
    return Output(parts, patches._document(), patches.records())


def patches_result(patches: LayerPatches) -> Result:
    """Return the patched layers of two models as a result for a page."""
    return Result(
        "patch_models",
        "",
        (patches_section(patches),),
        provenance={"command": "rs.patch_models"},
        conclusion=patches.verdict,
        title=f"Layers of {patches.donor} in {patches.receiver}",
    )
