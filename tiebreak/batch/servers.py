"""Settings in TOML files of commands that ask language models: values by name, and model servers."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from tiebreak.errors import DomainError
from tiebreak.gateway import ModelSettings
from tiebreak.gateway.transport import host_of

FAKE = "fake"
SERVER = ("provider", "base_url", "api_key_env", "options")
T = TypeVar("T")


def read_settings(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises `DomainError`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        sentence = f"{path} is no readable TOML file ({error})."
        raise DomainError("bad_settings", sentence, status=400) from error


def check_names(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raise `DomainError` for a setting that does not exist, with the nearest that does."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1) or [", ".join(known)]
            sentence = f"{where} has no setting {name!r}. Did you mean {near[0]}?"
            raise DomainError("unknown_setting", sentence, status=400)


def settings_as(kind: type[T], given: Mapping[str, Any], where: str) -> T:
    """Return settings as a dataclass, whose fields say their types and defaults. Raises `DomainError`."""
    known = {column.name: column for column in fields(kind)}  # type: ignore[arg-type]
    check_names(given, tuple(known), where)
    try:
        return kind(**given)
    except TypeError as error:
        sentence = f"{where} lacks a setting ({error})."
        raise DomainError("setting_missing", sentence, status=400) from error


def model_settings(
    servers: Mapping[str, Mapping[str, Any]], name: str, model: str, *, where: str
) -> tuple[str, ModelSettings]:
    """Return one of the file's servers by name, or the only one, and the settings of a model on it.

    Keys are in environment variables, so that none is in a file. The address in the file is allowed.
    """
    if not name and len(servers) == 1:
        [name] = servers
    if name == FAKE or servers.get(name, {}).get("provider") == FAKE:
        return FAKE, ModelSettings(FAKE, model)
    if name not in servers:
        listed = ", ".join(servers) or "none"
        sentence = f"{where} names the server {name!r}; the file's servers are: {listed}."
        raise DomainError("no_such_server", sentence, status=400)
    server = dict(servers[name])
    check_names(server, SERVER, f"The server {name}")
    variable = server.pop("api_key_env", "")
    if variable and variable not in os.environ:
        sentence = f"The server {name} has its key in the variable {variable}, which is not set."
        raise DomainError("no_key", sentence, status=400)
    address = str(server.get("base_url", ""))
    return name, ModelSettings(
        provider=str(server.get("provider", "http")),
        model=model,
        base_url=address,
        api_key=os.environ[variable] if variable else "",
        allowed_hosts=(host_of(address),) if address else (),
        options=server.get("options", {}),
    )
