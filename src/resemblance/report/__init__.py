"""Reports: a comparison or any result as one page for a person, and as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .page import write_page

if TYPE_CHECKING:
    from .resi_page import write_resi_page

__all__ = ["write_page", "write_resi_page"]


def __getattr__(name: str) -> Any:
    """Import the page of a benchmark when it is asked for: benchmarks take long to import."""
    if name == "write_resi_page":
        from .resi_page import write_resi_page

        return write_resi_page
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
