"""Suites that grade measures: each puts them to a test whose outcome is known."""
