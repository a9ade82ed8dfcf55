"""All sections: importing this package declares each of them (`tiebreak.report.registry`)."""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
