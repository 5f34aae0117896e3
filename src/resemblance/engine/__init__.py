"""How measures are computed for many pairs: work, scores, workers, files."""
