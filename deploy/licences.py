"""Which licences what Tiebreak depends on may have: `[tool.tiebreak.licences]` in pyproject.toml."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageMetadata
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License, LicenseAcknowledgement, LicenseExpression
from license_expression import ExpressionError, get_spdx_licensing

SPDX = get_spdx_licensing()
Refusal = tuple[str, str]
"""A code, and a sentence that says what to do."""
NOT_ALLOWED = (
    "{} is under {}. Replace it, or add the licence to `allowed` in [tool.tiebreak.licences] of"
    " pyproject.toml, if everybody who gets Tiebreak may get it on these terms."
)
NOT_STATED = (
    "{} does not state its licence. Read the file that comes with it, and write what it says into"
    " [tool.tiebreak.licences.read] of pyproject.toml, or replace it."
)


@dataclass(frozen=True)
class Policy:
    """The licences that are allowed, and what somebody read of what does not state its own."""

    allowed: frozenset[str]
    read: Mapping[str, str]

    @classmethod
    def of(cls, project: Path) -> "Policy":
        licences = tomllib.loads(project.read_text())["tool"]["tiebreak"]["licences"]
        return cls(frozenset(licences["allowed"]), licences["read"])

    def licences(self, name: str, stated: Iterable[str]) -> list[License]:
        """Return what a component states, else what was read of it."""
        declared = [_licence(text, LicenseAcknowledgement.DECLARED) for text in stated]
        if declared or name not in self.read:
            return declared
        return [_licence(self.read[name], LicenseAcknowledgement.CONCLUDED)]

    def refusals(self, component: Component) -> Iterator[Refusal]:
        """Yield what is wrong with the licences of a component and of its parts."""
        title = f"{component.name} {component.version or ''}".strip()
        texts = [_text(one) for one in component.licenses]
        if refused := [text for text in texts if not self._allows(text)]:
            yield "licence_not_allowed", NOT_ALLOWED.format(title, " and ".join(refused))
        if not texts and component.type is ComponentType.LIBRARY:
            yield "licence_not_stated", NOT_STATED.format(title)
        for part in component.components:
            yield from self.refusals(part)

    def _allows(self, text: str) -> bool:
        return text in self.allowed if (parsed := _parsed(text)) is None else self._holds(parsed)

    def _holds(self, part: Any) -> bool:
        if isinstance(part, SPDX.AND):
            return all(map(self._holds, part.args))
        if isinstance(part, SPDX.OR):
            return any(map(self._holds, part.args))
        return str(part) in self.allowed


def stated(package: PackageMetadata) -> list[str]:
    """Return the SPDX expression, else the names of classifiers, by which older packages state theirs."""
    fields = [package[name] for name in ("License-Expression", "License") if name in package]
    if expressions := [text for text in fields if _parsed(text) is not None]:
        return expressions[:1]
    classifiers = package.get_all("Classifier") or []
    return [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]


def _parsed(text: str) -> Any:
    try:
        return SPDX.parse(text, validate=True)
    except ExpressionError:
        return None


def _licence(text: str, acknowledgement: LicenseAcknowledgement) -> License:
    return LicenseFactory().make_from_string(text, license_acknowledgement=acknowledgement)


def _text(licence: License) -> str:
    if isinstance(licence, LicenseExpression):
        return licence.value
    return str(licence.id or licence.name)
