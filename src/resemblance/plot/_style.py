"""How figures look: colours, marks and dashes, sizes of letters, and axes to draw in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..base.extras import need
from ..report.colours import colour_table
from ..report.svg import distinct_names

Axes: TypeAlias = Any  # matplotlib.axes.Axes, which this package does not import
POINTS = 72  # of an inch
WIDTH = 3.4  # of a column of a paper, in inches
WIDTHS = {"single": WIDTH, "double": 7.0}  # of one column and of two
FLATNESS = 0.62  # height of figures of matplotlib that have no height of their own, per width
_figure_width: ContextVar[float | None] = ContextVar("width of new figures", default=None)
CHARACTER = 0.6  # of the size of letters: mean width of one
GREY, PALE = "#7b8794", "#eef1f4"
# Okabe and Ito 2008: safe for colour-blind readers; neighbours differ in lightness
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
TEX = str.maketrans({c: f"\\{c}" for c in "_%&#{}"} | {"\\": r"\textbackslash ", "^": r"\^{}"})
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "axes.titlelocation": "left",
    "axes.linewidth": 0.6, "axes.edgecolor": "#1c2530", "axes.labelcolor": "#1c2530",
    "text.color": "#1c2530", "xtick.color": "#1c2530", "ytick.color": "#1c2530",
    "axes.spines.top": False, "axes.spines.right": False,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5,
    "ytick.major.size": 2.5, "lines.linewidth": 1.3, "lines.markersize": 4,
    "legend.frameon": False, "legend.handlelength": 2.2, "text.usetex": False,
    "figure.constrained_layout.use": True, "figure.dpi": 150, "savefig.dpi": 300,
    "svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42,
}  # fmt: skip


class Look(NamedTuple):
    """How one of several lines or groups is drawn, so that it can be told in grey as well."""

    colour: str
    mark: str
    dash: Any


def style(*, width: float | Literal["single", "double"] | None = None) -> Any:
    """Return a context in which matplotlib draws and saves as the figures of this package are.

    Small letters, thin lines, and no frame at the top and the right; letters in SVG and PDF stay
    letters, which a program for drawings can edit: ``with rs.plot.style():
    ax.figure.savefig("figure.svg")``. Nothing outside the context changes.

    ``width``: of new figures, in inches, ``"single"`` (3.4 inches, one column of a paper) or
    ``"double"`` (7 inches, two columns); by default each figure has the width that its names need,
    and at least one column. Letters keep their size. Axes that are passed as ``ax`` keep their
    width.

    Raises ``ImportError`` without matplotlib (extra ``plot``), ``ValueError`` for another width.
    """
    if width is None:
        return need("matplotlib").rc_context(STYLE)
    inches = WIDTHS.get(width) if isinstance(width, str) else width
    if isinstance(inches, bool) or not isinstance(inches, Real) or not 1 <= inches <= 100:
        raise ValueError(
            f"plot.style: width must be 'single', 'double' or 1 to 100 inches; got {width!r}"
        )
    return _style_of_width(need("matplotlib"), float(inches))


@contextmanager
def _style_of_width(matplotlib: Any, inches: float) -> Iterator[None]:
    token = _figure_width.set(inches)
    try:
        with matplotlib.rc_context(STYLE | {"figure.figsize": (inches, FLATNESS * inches)}):
            yield
    finally:
        _figure_width.reset(token)


def figure_width() -> float | None:
    """Return the width of new figures in inches that :func:`style` was given, if any."""
    return _figure_width.get()


@contextmanager
def axes(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Yield axes to draw in: the user's, in their style, or those of a new figure, in ours.

    Raises ``ValueError`` for what is no axes of matplotlib.
    """
    if ax is not None:
        if not hasattr(ax, "transAxes"):
            raise ValueError(
                f"ax must be axes of matplotlib, such as plt.gca(); got {type(ax).__name__}"
            )
        yield ax
        return
    pyplot = need("matplotlib.pyplot")  # whose figures notebooks show
    # Outside the style, which would undo that the first figure of a notebook makes it interactive.
    size = {"figsize": (figure_width() or width, height), "dpi": STYLE["figure.dpi"]}
    figure = pyplot.figure(**size, layout="constrained")
    with style():
        try:
            yield figure.add_subplot()
        except BaseException:
            pyplot.close(figure)
            raise


def setting(name: str) -> Any:
    """Return a setting of matplotlib, as it is now."""
    return need("matplotlib").rcParams[name]


def letter_size(name: str) -> float:
    """Return the size of letters that a setting names, in points."""
    properties = need("matplotlib.font_manager").FontProperties(size=setting(name))
    return float(properties.get_size_in_points())


def look(i: int) -> Look:
    """Return the look of one of several lines."""
    mark = MARKS[(i + i // len(COLOURS)) % len(MARKS)]
    return Look(COLOURS[i % len(COLOURS)], mark, DASHES[i % len(DASHES)])


def plain(name: object, longest: int = 32) -> str:
    """Return a name as matplotlib must have it to show it as it is: ``$`` begins no formula."""
    return plain_names([name], longest)[0]


def plain_names(names: Sequence[object], longest: int = 32) -> list[str]:
    """Return names that are drawn together, as :func:`plain` does; different ones stay
    different."""
    texts = distinct_names([" ".join(str(name).split()) for name in names], longest)
    if setting("text.usetex"):
        texts = [text.translate(TEX) for text in texts]
    return [text.replace("$", r"\$") for text in texts]


def text_width(name: str, size: float) -> float:
    """Estimate the length of a text, in the unit of its size."""
    return len(name) * size * CHARACTER


def legend(ax: Axes, handles: Sequence[Any], names: Sequence[str], **options: Any) -> None:
    """Name lines and patches; also those whose name begins with ``_``, which matplotlib hides."""
    box = ax.legend(handles, [str(i) for i in range(len(names))], **options)
    for text, name in zip(box.get_texts(), plain_names(names, 48)):
        text.set_text(name)


def colour_map(*, is_diverging: bool, is_reversed: bool) -> Any:
    """Return the colours of maps, those of pages: pale to dark; with brown for below 0."""
    table = colour_table(256)
    if is_diverging:
        table = np.concatenate([colour_table(256, opposite=True)[::-1], table])
    table = table[::-1] if is_reversed else table
    return need("matplotlib.colors").ListedColormap(table)
