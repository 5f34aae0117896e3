"""Parts of the page of a comparison: the finding in words, the main figures, tables and
statistics."""
