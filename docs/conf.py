"""Sphinx configuration: everything is built without a network, and every number on a page is computed here."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import generate  # noqa: E402

import resemblance  # noqa: E402

project = "resemblance"
author = "The resemblance developers"
copyright = "2026, the resemblance developers"
version = release = resemblance.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "measures/_*"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = ["../references.bib"]
bibtex_reference_style = "author_year"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88
pygments_style = "tango"

html_theme = "pydata_sphinx_theme"
html_title = "resemblance"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}


def setup(app):
    """Generate the pages that follow from the code before Sphinx reads any."""
    app.connect("builder-inited", lambda app: generate.main(DOCS / "measures"))
