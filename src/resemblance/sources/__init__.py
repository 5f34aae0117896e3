"""Sources: where representations and subjects come from."""
