"""What :mod:`resemblance.suites` was called before: everything is found where it is now, with a
warning, until version 0.2."""

from .moved import finder, register

PAPERS = {
    **dict.fromkeys(("published", "published_ranks", "compare_published"), "papers/published.py"),
    **dict.fromkeys(("judged", "Found", "NoData"), "papers/judging.py"),
    "manifold_claims": "papers/mka",
    "resi_claims": "papers/resi",
}
MODULES = {  # of the package before, and where their names are now
    "claims": (".results.claims",),
    "evaluate": (".suites.resi", ".suites.resi.evaluation"),
    "experiments": (".suites.experiments",),
    "findings": (".results", ".results.values"),
    "joint": (".suites.joint",),
    "manifolds": (".suites.manifolds", ".suites.manifolds.suite"),
    "published": (),
    "resi": (".suites.resi",),
    "sensitivity": (".suites.sensitivity.suite",),
    "stability": (".suites.stability.suite",),
    "study": (".suites.resi.suite", ".suites.study"),
    "training": (".suites.training",),
}
for _module, _places in MODULES.items():
    register(f"{__name__}.{_module}", _places, PAPERS)

__getattr__ = finder(__name__, (".suites.resi", ".results", ".suites"), PAPERS)
