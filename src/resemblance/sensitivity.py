"""What :mod:`resemblance.suites.sensitivity` was called before: everything is found there, with a
warning, until version 0.2."""

from .moved import finder, register

for _module in ("operators", "probing", "procedure", "resampling"):
    register(f"{__name__}.{_module}", (f".suites.sensitivity.{_module}", ".suites.sensitivity"))

__getattr__ = finder(__name__, (".suites.sensitivity",))
