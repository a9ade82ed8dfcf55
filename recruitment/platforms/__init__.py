"""Where annotators come from: each provider is a folder here, found by its `PROVIDER`.

A provider knows its platform's protocol and nothing of places or ratings: who somebody at the
door is, whether the platform says they are there, where they go in the end, and how the platform
is asked to pay. Adding one is adding a folder.
"""

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from recruitment.platforms.platform import (
    Ending,
    Platform,
    PlatformEntry,
    PlatformReport,
    PrivacyNotice,
    Reentry,
    ReturnInstructions,
    SubmissionStatus,
)
from tiebreak.errors import DomainError

__all__ = [
    "Ending",
    "Platform",
    "PlatformEntry",
    "PlatformReport",
    "PrivacyNotice",
    "Reentry",
    "ReturnInstructions",
    "SubmissionStatus",
    "get_platform",
    "platforms",
]


@cache
def platforms() -> dict[str, Platform]:
    """Every provider by its name."""
    return {provider.name: provider for provider in _found()}


def get_platform(name: str) -> Platform:
    provider = platforms().get(name)
    if provider is None:
        raise DomainError("no_such_provider", f"Nobody knows the provider {name!r}.", status=404)
    return provider


def _found() -> Iterator[Platform]:
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            yield import_module(f"{__name__}.{module.name}").PLATFORM
