"""Intermediates: quantities of one representation or of a pair, cached and shared by the
measures."""
