"""Exceptions and warnings of the package, for ``except`` clauses and warning filters."""


class UndefinedError(ValueError):
    """A measure has no value for the data, such as for a constant representation or for NaN.

    A single call raises this error; :func:`resemblance.compare` records the reason.
    """


class ResemblanceWarning(UserWarning):
    """The base class of all warnings of the package."""


class UninformativeWarning(ResemblanceWarning):
    """The value says little: there are too few samples for the number of features, or the data look
    like a mistake, such as duplicate samples or a dissimilarity matrix passed as features."""


class BiasedDifferenceWarning(ResemblanceWarning):
    """A difference between two values of a biased estimator with a bias that depends on the number
    of features."""
