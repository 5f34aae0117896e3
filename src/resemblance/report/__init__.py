"""Reports: a comparison or any other result as an HTML page and as tables in a terminal."""

from .page import write_page

__all__ = ["write_page"]


def __dir__() -> list[str]:
    return __all__
