"""Errors and warnings of the package, for ``except`` and for filters of warnings."""


class UndefinedError(ValueError):
    """A measure has no value for these data, such as a constant representation or one with a NaN.

    A single call raises this error; :func:`resemblance.compare` records the reason.
    """


class ResemblanceWarning(UserWarning):
    """The base of all warnings of the package."""


class UninformativeWarning(ResemblanceWarning):
    """The value says little: there are too few samples for so many features, or the data are not
    what they seem to be, such as copies of samples or a matrix of dissimilarities."""


class BiasedDifferenceWarning(ResemblanceWarning):
    """A difference between values of a biased estimator, whose bias depends on the widths."""
