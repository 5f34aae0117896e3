"""The board as a static site: pages that need neither a server nor a network."""

from .building import build_site, write_site

__all__ = ["build_site", "write_site"]
