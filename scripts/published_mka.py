"""The tables of the MKA paper: per table its title, columns and one row per measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TESTS = {
    "1": "accuracy", "2": "output", "3": "labels", "4": "shortcut", "5": "augmentation",
    "6": "layers",
}  # fmt: skip
QUALITIES = {
    "JSD": "spearman_jsd", "Disagreement": "spearman_disagreement", "AUPRC": "auprc",
    "Conformity": "conformity",
    "Spearman": "spearman",
}  # fmt: skip
MEASURES = {
    "CKA": "cka[kernel=rbf]",
    "CKA (delta=0.45)": "cka[bandwidth=0.45,kernel=rbf]",
    "CKA (delta=0.2)": "cka[bandwidth=0.2,kernel=rbf]",
    "CKA (linear)": "cka",
    "kCKA (k=100)": "kcka[variant=code]",
    "MKA (k=15)": "mka[k=15]",
    "MKA (k=50)": "mka[k=50]",
    "MKA (k=100)": "mka",
    "MKA (k=200)": "mka[k=200]",
    "SVCCA": "svcca",
    "RTD": "rtd",
    "IMD": "imd",
    "AlignedCosineSimilarity": "aligned_cosine",
    "ConcentricityDifference": "concentricity_difference",
    "DistanceCorrelation": "distance_correlation",
    "EigenspaceOverlapScore": "eigenspace_overlap",
    "Gulp": "gulp",
    "HardCorrelationMatch": "hard_correlation_match",
    "JaccardSimilarity": "jaccard",
    "LinearRegression": "linear_regression",
    "MagnitudeDifference": "magnitude_difference",
    "OrthogonalAngularShapeMetricCentered": "angular_shape",
    "OrthogonalProcrustesCenteredAndNormalized": "procrustes",
    "PWCCA": "pwcca",
    "PermutationProcrustes": "permutation_procrustes",
    "ProcrustesSizeAndShapeDistance": "procrustes_size_shape",
    "RSA": "rsa",
    "RSMNormDifference": "rsm_norm_difference",
    "RankSimilarity": "rank_similarity",
    "SecondOrderCosineSimilarity": "second_order_cosine",
    "SoftCorrelationMatch": "soft_correlation_match",
    "UniformityDifference": "uniformity_difference",
}
ALIASES = {"MKA (k=100)": "UMAP (k=100)"}  # what Table 16 calls it

DASH = "the paper prints a dash"
NO_ROW = "the table as it was read has no row for this measure"
MISPLACED = (
    "the row has a dash under one quality of a model and none under the other, so its values may "
    "be displaced"
)


def lines(tables: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """One line per table, column and measure, whether there is a value or not."""
    for name in tables:
        if name != "about":
            yield from lines_of(name, tables[name])


def lines_of(name: str, table: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    facets = [facets_of(table["title"], column) for column in table["columns"]]
    for position, where in enumerate(facets):
        for label, spec in MEASURES.items():
            alias = ALIASES.get(label, "")
            row = table["rows"].get(label, table["rows"].get(alias))
            about = (name, table["title"], "arXiv 2510.22953", *where, label, spec)
            if row is None:
                yield *about, "", "", 0, NO_ROW
                continue
            value, doubtful = row[position], is_displaced(row, facets)
            renamed = f'the paper calls it "{alias}"' if label not in table["rows"] else ""
            reason = MISPLACED if doubtful else DASH if value is None else renamed
            yield *about, "" if value is None else value, "", int(doubtful), reason


def facets_of(title: str, column: str) -> tuple[str, ...]:
    """Test, quality, domain, data set, architecture and pooling of a column."""
    test, parts = TESTS[title.split("Test ")[1][0]], column.split("/")
    quality = next((QUALITIES[p] for p in parts if p in QUALITIES), "spearman_accuracy")
    rest = [p for p in parts if p not in QUALITIES]
    if "MNLI" in title:
        pooling, architecture = rest
        return test, quality, "language", "MNLI", architecture, pooling.lower()
    if "graph" in title:
        return test, quality, "graphs", *rest, "node"
    return test, quality, "vision", "IN100", rest[-1].replace(" ", "_"), ""


def is_displaced(row: list[float | None], facets: list[tuple[str, ...]]) -> bool:
    """Say whether a model has a value under one quality and none under the other: both come from
    the same numbers."""
    missing: dict[tuple[str, ...], set[bool]] = {}
    for value, facet in zip(row, facets):
        missing.setdefault(facet[2:], set()).add(value is None)
    return any(len(found) > 1 for found in missing.values())
