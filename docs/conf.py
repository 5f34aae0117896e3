"""Sphinx configuration: everything is built without a network, and every number on a page is
computed here."""

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_scripts"))

import generate  # noqa: E402

import resemblance  # noqa: E402

project = "resemblance"
author = "The resemblance developers"
copyright = "2026, the resemblance developers"
version = release = resemblance.__version__

extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "_generated"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}

# Tutorials run when the pages are built, but for those whose weights or data are not here.
exclude_patterns += ["tutorials/sources"]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the kernels
nb_execution_mode = "auto"
nb_execution_excludepatterns = ["tutorials/*.ipynb"]
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = ["../references.bib"]
bibtex_reference_style = "author_year"
nitpicky = True  # a reference that leads nowhere is an error
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_maximum_signature_line_length = 88
pygments_style = "tango"

html_theme = "pydata_sphinx_theme"
html_title = "resemblance"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_js_files = ["measures.js"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["sidebar-nav-bs"], "index": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": True,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "measures": []},
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
suppress_warnings = ["toc.empty_glob"]


def setup(app):
    """Generate the pages that follow from the code before Sphinx reads any, and read the sections
    of docstrings."""
    app.connect("builder-inited", lambda app: generate.measures(DOCS / "measures"))
    app.connect("builder-inited", lambda app: generate.project_pages(DOCS / "project"))
    app.connect("builder-inited", lambda app: generate.examples(DOCS / "_static" / "pages"))
    app.connect(
        "source-read", lambda app, page, source: source.append(generate.linked(source.pop()))
    )
    app.connect(
        "autodoc-skip-member",
        lambda app, what, name, obj, skip, options: skip or is_field_of_tuple(obj),
    )
    app.connect(
        "autodoc-process-docstring", lambda app, what, name, obj, options, lines: sections(lines)
    )


def is_field_of_tuple(member):
    """Return whether a member is the field of a named tuple, whose class has the description."""
    return (getattr(member, "__doc__", None) or "").startswith("Alias for field number")


def sections(lines):
    """Turn underlined sections of a docstring into rubrics, and ``name : text`` in them into
    definition lists."""
    result, inside = [], False
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        entry = re.match(r"(\w[\w, ]*) : (.*)", line)
        if following and set(following) == {"-"}:
            result += [f".. rubric:: {line}", ""]
            inside = True
        elif line and set(line) == {"-"}:
            continue
        elif inside and entry:
            names = ", ".join(f"``{name.strip()}``" for name in entry[1].split(","))
            result += [names, f"    {entry[2]}"]
        else:
            inside = inside and (not line or line.startswith(" "))
            result.append(line)
    lines[:] = result
