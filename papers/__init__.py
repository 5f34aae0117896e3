"""Numbers and claims of papers, next to the values of this library; not part of the wheel."""
