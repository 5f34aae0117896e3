"""A figure of every kind, tables with everything that a table can have, and results with them."""

from __future__ import annotations

from resemblance.sections.claims import (
    NO_DATA,
    NOT_REPRODUCED,
    PARTLY_REPRODUCED,
    REPRODUCED,
    Claim,
)
from resemblance.sections.figures import (
    Bar,
    Bars,
    Box,
    Boxes,
    Bracket,
    Chart,
    Choice,
    Cloud,
    Clouds,
    Dendrogram,
    Figure,
    HeatMap,
    Line,
    Merge,
    Option,
    Strip,
    Strips,
    Switch,
)
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Sign, Table

NAN = float("nan")
CLAIMS = (
    Claim("S1", "Stability is recovered.", "ρ > 0.99", "ρ = 0.997", REPRODUCED),
    Claim(
        "S2", "CKA notices nothing.", "0.95", "0.851", PARTLY_REPRODUCED, "at 16 components it does"
    ),
    Claim("S3", "Procrustes has false alarms.", "44 %", "12 %", NOT_REPRODUCED),
    Claim("S4", "Language models agree.", "ρ = 0.8", "–", NO_DATA),
)
TABLE = Table(
    "deletion",
    "Spectral deletion",
    ("measure", "k", "p", "value", "mixed"),
    (("CKA", 8, 0.5, 1234.5, "a"), ("RSA", 16, 1e-7, -0.04, 2.5), ("GULP", 9, None, None, None)),
    "By components.",
)
LINES = (
    Line("CKA", ((0.0, 0.1), (0.5, 0.4), (1.0, 0.9)), ((0.0, 0.2), (0.3, 0.5), (0.8, 1.0))),
    Line("RSA", ((0.0, 0.2), (0.5, 0.3), (1.0, 0.7))),
)
CHART = Chart(
    "noise", "Weight noise", "noise", "drift", LINES, "The line is chance.", threshold=0.5
)
POINTS = Chart("cloud", "Quadrants", "CKA", "stability", LINES, joined=False)
BARS = Bars(
    "taus",
    "Correlations",
    "τ",
    (Bar("CKA", 0.5, 0.4, 0.6), Bar("RSA", -0.2), Bar("GULP", 0.123)),
    "Sorted.",
    0.3,
)
MODEL_SCORES = Bars(
    "model scores", "Scores", "rsa, mean over 2 subjects",
    (Bar("one", 0.6, 0.4, 0.7, points=(0.5, 0.7)), Bar("two", 0.3, 0.2, 0.4, is_marked=True),
     Bar("three", 0.1, -0.1, 0.3, is_hollow=True, points=(0.05, 0.15))),
    is_dotted=True, band=(0.55, 0.8), brackets=(Bracket(0, 1, "0.02"), Bracket(0, 2, "< 1e-4")),
)  # fmt: skip
FINDINGS = Result(
    "toy",
    "small",
    (
        Section(
            "recovery",
            "Recovery",
            "What is known.",
            (TABLE,),
            (CHART, POINTS, BARS),
            CLAIMS[:2],
            {
                "a": {"cka": 0.9, "rsa": 0.5, "gulp": 0.7},
                "b": {"cka": 0.8, "rsa": 0.8, "gulp": None},
                "c": {"cka": None},
            },
            {"GULP": "k must be below n"},
        ),
        Section("canary", "The canary", "Alarms.", claims=CLAIMS[2:]),
        Section("empty", "Nothing", ""),
    ),
    {"cka": "CKA", "rsa": "RSA"},
    {"recovery": 12.34, "canary": 7000.0},
    {"version": "1", "seeds": [0, 1]},
)


def square_map(name: str, values: tuple[tuple[float | None, ...], ...], **options) -> HeatMap:
    names = tuple("abc"[: len(values)])
    return HeatMap(name, name, names, names, values, **options)


MAP = square_map("map", ((0.0, 0.5, None), (0.5, 0.0, -1.0), (None, -1.0, 0.0)),
                 is_diverging=True,
                 titles=(("", "", "constant"), ("", "", ""), ("constant", "", "")))  # fmt: skip
TREE = Dendrogram(
    "tree", "Tree", "height", ("a", "b", "c"), (Merge(0, 2, 0.1), Merge(3, 1, 0.5)), (0, 2, 1)
)
CHOICE = Choice(
    "choice", "Choice", ("models", "measure"),
    (Option(("bert", "CKA"), (0, 1), "CKA: 0.5"), Option(("bert", "RSA"), (0, 2)),
     Option(("gcn", "RSA"), (3,))),
    (square_map("expected", ((0.0, 1.0), (1.0, 0.0)), is_reversed=True),
     square_map("by CKA", ((0.0, 0.25), (0.25, 0.0))),
     square_map("by RSA", ((0.0, 0.75), (0.5, 0.0))),
     square_map("other", ((0.0, 0.125, 1.0), (0.125, 0.0, 1.0), (1.0, 1.0, 0.0)))),
)  # fmt: skip
# One figure of each kind and form; a kind that is missing here fails tests/plot/test_figures.py.
FIGURES: dict[str, Figure] = {
    "lines": CHART,
    "points": POINTS,
    "logarithmic": CHART._replace(
        log_x=True, span_y=(-0.5, 1.5), lines=(Line("CKA", ((0.01, 0.1), (0.1, 0.4), (1.0, 0.9))),)
    ),
    "lines with a gap": CHART._replace(
        lines=(Line("CKA", ((0.0, 0.1), (0.5, NAN), (1.0, 0.9), (2.0, 1.0))),)
    ),
    "plane": Chart(
        "plane", "Plane", "by CKA", "",
        (Line("a", ((0.0, 0.1), (3.0, 0.4)), titles=("1: in", "2: out")),
         Line("b", ((1.0, -1.0), (2.0, 2.0)), titles=("1: in", "2: out"))),
        is_plane=True, is_labeled=True,
    ),
    "bars": BARS,
    "limits": Bars(
        "limits", "Limits", "times", (Bar("small", 0.5), Bar("large", 50.0, 20.0, 90.0)),
        span=(0.1, 100.0), log_x=True, threshold=1.0, is_limit=True,
    ),
    "ranks": Bars(
        "ranks", "Ranks", "mean rank", (Bar("CKA", 1.5, 1.0, 2.5), Bar("RSA", 3.0)),
        span=(1.0, 4.0), is_dotted=True,
    ),
    "scores": MODEL_SCORES,
    "score bars": MODEL_SCORES._replace(name="score bars", is_dotted=False),
    "boxes": Boxes(
        "boxes", "Boxes", "rank",
        (Box("CKA", (1.0, 2.0, 4.0, 20.0), ("x", "y", "z", "w"), "one"),
         Box("RSA", (2.0, 3.0), ("x", "y"), "two")),
    ),
    "strips": Strips(
        "strips", "Strips", "accuracy",
        (Strip("standard", (0.9, 0.95)), Strip("random", (0.3,), is_used=False)),
    ),
    "map": MAP,
    "map with lines across": square_map(
        "hatched", ((1.0, 0.25), (0.25, 1.0)), span=(0.0, 1.0), is_reversed=True,
        hatched=((0, 1),), hatching="not significantly above chance",
    ),
    "clouds": Clouds("clouds", "Clouds", (Cloud("one", ((1.0, 0.0), (0.0, 1.0)), (0, 1)),)),
    "moved clouds": Clouds(
        "moved", "Moved", (Cloud("two", ((1.0, 0.0),), origins=((0.0, 0.5),)),)
    ),
    "choice": CHOICE,
    "tree": TREE,
    "switch": Switch(
        "switch", "Switch", "measure", ("CKA", "RSA"), (TREE, CHART),
    ),
}  # fmt: skip
# Shades, frames, signs, hints, groups, links and columns to choose from.
SCORES = Table(
    "scores", "Scores", ("measure", "a", "b", "c"),
    (("CKA", 0.5, -0.25, 3.0), ("RSA", 0.75, None, 1)),
    groups=("", "first", "first", "second"), marked=(0,), framed=((1, 1),),
    shades=((None, 0.5, -0.25, 1.0), (None, 0.75, None, 1 / 3)),
    signs=(Sign(1, 2, "†", "too few"),), hints=("", "a hint", "", ""),
    selectors=("quality", "domain"),
    choices=(("", ""), ("JSD", "vision"), ("AUPRC", ""), ("", "graphs")),
)  # fmt: skip
EMPTY = Table("none", "Nothing here", ("measure", "a"), (("CKA", None), ("RSA", NAN)))
EVERY_FIGURE = Result(
    "toy",
    "full",
    (
        Section(
            "kinds",
            "Kinds",
            "",
            (SCORES, EMPTY),
            tuple(figure._replace(name=f"f{i}") for i, figure in enumerate(FIGURES.values())),
            terms={"†": "what a sign means"},
        ),
    ),
)
