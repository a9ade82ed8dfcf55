"""Human preference studies: statistics, text similarities, reports and file formats."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "analyze", "verify"]

# What the top level offers, by the module that has it. It is loaded when it is asked for: a program that
# needs one module of the library need not wait for all. `__init__.pyi` has the types.
_MODULES = {"analyze": "tiebreak.analysis", "verify": "tiebreak.verification"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
