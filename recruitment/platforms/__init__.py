"""The platforms that annotators come from. Each is a folder here that defines `PLATFORM`.

A platform implements its own protocol: who enters, whether a submission is active, where the
participant returns to, and how payments are requested. It knows nothing about places or ratings.
To add a platform, add a folder.
"""

import pkgutil
from functools import cache
from importlib import import_module

from recruitment.platforms.base import (
    Ending as Ending,
    Platform as Platform,
    PlatformEntry as PlatformEntry,
    PlatformReport as PlatformReport,
    PrivacyNotice as PrivacyNotice,
    Reentry as Reentry,
    ReturnInstructions as ReturnInstructions,
    SubmissionStatus as SubmissionStatus,
)
from tiebreak.errors import DomainError


@cache
def platforms() -> dict[str, Platform]:
    """Return all installed platforms by name."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    found = [import_module(f"{__name__}.{name}").PLATFORM for name in names]
    return {platform.name: platform for platform in found}


def get_platform(name: str) -> Platform:
    platform = platforms().get(name)
    if platform is None:
        raise DomainError("no_such_platform", f"There is no platform {name!r}.", status=404)
    return platform
