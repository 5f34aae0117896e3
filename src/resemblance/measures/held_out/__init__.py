"""Measures of held-out samples alone: regressions as users of Brain-Score fit them.

The value of fitted samples says little, so the catalogue does not list these measures, and no
ranking has them. :func:`resemblance.align` and ``held_out=`` take them by name.
"""
