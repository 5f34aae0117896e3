"""Raju 2026 on the stability of representations (Shesha), arXiv 2601.09173."""
