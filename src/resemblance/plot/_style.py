"""The style of figures: colours, markers and dashes, font sizes, and axes to draw in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..base.extras import import_optional
from ..report.colors import color_palette
from ..report.svg import shorten_distinct_names

Axes: TypeAlias = Any  # matplotlib.axes.Axes, without an import of matplotlib
POINTS_PER_INCH = 72
COLUMN_WIDTH_INCHES = 3.4  # width of a column in a paper
MILLIMETERS_PER_INCH = 25.4
# Widths of one and two columns; the docstring of `style` names the sources
FIGURE_WIDTHS = {
    "single": COLUMN_WIDTH_INCHES,
    "double": 7.0,
    "nature": 89 / MILLIMETERS_PER_INCH,
    "nature double": 183 / MILLIMETERS_PER_INCH,
    "icml": 3.25,
    "icml double": 6.75,
    "neurips": 5.5,
}
FigureWidth: TypeAlias = Literal[
    "single", "double", "nature", "nature double", "icml", "icml double", "neurips"
]
# Place of a legend above all rows or lines
LEGEND_ABOVE = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
DEFAULT_ASPECT = 0.62  # height per width of figures without a height
_requested_figure_width: ContextVar[float | None] = ContextVar("width of new figures", default=None)
MEAN_CHARACTER_WIDTH = 0.6  # mean width of a character, relative to the font size
SLATE_GRAY, PALE_GRAY = "#7b8794", "#eef1f4"
# Okabe and Ito 2008: safe for colour-blind readers; neighbours differ in lightness
COLORBLIND_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")
PLOT_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASH_PATTERNS = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
TEX_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "_%&#{}"} | {"\\": r"\textbackslash ", "^": r"\^{}"}
)
MATPLOTLIB_STYLE = {
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


class SeriesStyle(NamedTuple):
    """The colour, the matplotlib marker and the matplotlib line style of a line or a group, which
    readers can distinguish in grey as well."""

    color: str
    mark: str
    dash: Any


def style(*, width: float | FigureWidth | None = None) -> Any:
    """Return a context in which matplotlib draws and saves in the style of this package.

    The style has small letters, thin lines, and no frame at the top and the right. Text in SVG and
    PDF stays text, which a drawing program can edit:
    ``with rs.plot.style(): ax.figure.savefig("figure.svg")``. Nothing outside the context changes.

    ``width``: the width of new figures, in inches, ``"single"`` (3.4 inches, one column of a
    paper), ``"double"`` (7 inches, two columns), ``"nature"`` (89 mm), ``"nature double"`` (183
    mm), ``"icml"`` (3.25 inches), ``"icml double"`` (6.75 inches) or ``"neurips"`` (5.5 inches); by
    default each figure has the width that its names need, and at least one column. Letters keep
    their size. Axes that you pass as ``ax`` keep their width.

    The widths of Nature are in Nature's guide to figures. The widths of ICML follow from
    ``icml2025.sty``: a text of 6.75 inches in two columns, 0.25 inches apart. The width of NeurIPS
    is ``textwidth`` in ``neurips_2026.sty``.

    Raises ``ImportError`` without matplotlib (extra ``plot``), ``ValueError`` for another width.
    """
    if width is None:
        return import_optional("matplotlib").rc_context(MATPLOTLIB_STYLE)
    inches = FIGURE_WIDTHS.get(width) if isinstance(width, str) else width
    if isinstance(inches, bool) or not isinstance(inches, Real) or not 1 <= inches <= 100:
        raise ValueError(
            f"plot.style: width must be {', '.join(map(repr, FIGURE_WIDTHS))} or 1 to 100 inches; "
            f"got {width!r}"
        )
    return _style_of_width(import_optional("matplotlib"), float(inches))


@contextmanager
def _style_of_width(matplotlib: Any, inches: float) -> Iterator[None]:
    token = _requested_figure_width.set(inches)
    try:
        with matplotlib.rc_context(
            MATPLOTLIB_STYLE | {"figure.figsize": (inches, DEFAULT_ASPECT * inches)}
        ):
            yield
    finally:
        _requested_figure_width.reset(token)


def figure_width() -> float | None:
    """Return the width of new figures in inches, as :func:`style` set it; None if no width is
    set."""
    return _requested_figure_width.get()


@contextmanager
def axes_in_style(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Yield axes to draw in: ``ax`` in the style of the user, or new axes in the style of the
    package.

    ``width``, ``height``: the size of a new figure in inches; a width set by :func:`style` wins.
    Raises ``ValueError`` if ``ax`` is not a matplotlib axes object.
    """
    if ax is not None:
        if not hasattr(ax, "transAxes"):
            raise ValueError(
                f"ax must be axes of matplotlib, such as plt.gca(); got {type(ax).__name__}"
            )
        yield ax
        return
    # Notebooks show the figures of pyplot
    pyplot = import_optional("matplotlib.pyplot")
    # Outside the style: the first figure makes a notebook interactive, and leaving the style would
    # undo this.
    size = {"figsize": (figure_width() or width, height), "dpi": MATPLOTLIB_STYLE["figure.dpi"]}
    figure = pyplot.figure(**size, layout="constrained")
    with style():
        try:
            yield figure.add_subplot()
        except BaseException:
            pyplot.close(figure)
            raise


def matplotlib_setting(name: str) -> Any:
    """Return the current value of a matplotlib setting, such as "text.color"."""
    return import_optional("matplotlib").rcParams[name]


def font_size_points(name: str) -> float:
    """Return the font size, in points, of the matplotlib setting ``name``, such as
    "axes.labelsize"."""
    properties = import_optional("matplotlib.font_manager").FontProperties(
        size=matplotlib_setting(name)
    )
    return float(properties.get_size_in_points())


def series_style(i: int) -> SeriesStyle:
    """Return the style of line number ``i``, from 0."""
    mark = PLOT_MARKERS[(i + i // len(COLORBLIND_PALETTE)) % len(PLOT_MARKERS)]
    return SeriesStyle(
        COLORBLIND_PALETTE[i % len(COLORBLIND_PALETTE)], mark, DASH_PATTERNS[i % len(DASH_PATTERNS)]
    )


def escape_matplotlib_name(name: object, max_length: int = 32) -> str:
    """Return a name on one line, shortened to ``max_length``, that matplotlib shows literally:
    ``$`` begins no formula."""
    return escape_matplotlib_names([name], max_length)[0]


def escape_matplotlib_names(names: Sequence[object], max_length: int = 32) -> list[str]:
    """Return names to draw together, each on one line, shortened to ``max_length`` characters, that
    matplotlib shows literally: ``$`` begins no formula. Different names stay different."""
    texts = shorten_distinct_names([" ".join(str(name).split()) for name in names], max_length)
    if matplotlib_setting("text.usetex"):
        texts = [text.translate(TEX_ESCAPES) for text in texts]
    return [text.replace("$", r"\$") for text in texts]


def estimate_text_width(name: str, size: float) -> float:
    """Return an estimate of the width, in points, of the text ``name``, for a font of ``size``
    points."""
    return len(name) * size * MEAN_CHARACTER_WIDTH


def draw_legend(ax: Axes, handles: Sequence[Any], names: Sequence[str], **options: Any) -> None:
    """Draw a legend in ``ax``, including names that begin with ``_``, which matplotlib hides.
    ``handles``: the matplotlib lines and patches. ``names``: a name per handle. ``options``: of
    ``Axes.legend``."""
    box = ax.legend(handles, [str(i) for i in range(len(names))], **options)
    for text, name in zip(box.get_texts(), escape_matplotlib_names(names, 48)):
        text.set_text(name)


def map_colormap(*, is_diverging: bool, is_reversed: bool) -> Any:
    """Return the matplotlib colormap of heat maps, as on pages: pale to dark. A diverging map has
    brown before pale. A reversed map has the opposite order."""
    table = color_palette(256)
    if is_diverging:
        table = np.concatenate([color_palette(256, opposite=True)[::-1], table])
    table = table[::-1] if is_reversed else table
    return import_optional("matplotlib.colors").ListedColormap(table)
