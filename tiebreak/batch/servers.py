"""Settings in TOML files of commands that ask language models: values by name, and model servers."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from tiebreak.errors import DomainError
from tiebreak.gateway import ModelSettings
from tiebreak.gateway.transport import host_of

FAKE = "fake"
SERVER = {"provider": str, "base_url": str, "api_key_env": str, "options": dict}
T = TypeVar("T")


def read_settings(path: Path, known: Mapping[str, type]) -> dict[str, Any]:
    """Return the content of a TOML file, which has these settings of these types. Raises `DomainError`."""
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        sentence = f"{path} is no readable TOML file ({error})."
        raise DomainError("bad_settings", sentence, status=400) from error
    check_settings(settings, known, path.name)
    return settings


def check_settings(given: Any, known: Mapping[str, type], where: str) -> None:
    """Raise `DomainError` for a setting that does not exist, or is of another type."""
    if not isinstance(given, dict):
        raise DomainError("bad_settings", f"{where} must be a table of settings.", status=400)
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, 1) or [", ".join(known)]
            sentence = f"{where} has no setting {name!r}. Did you mean {near[0]}?"
            raise DomainError("unknown_setting", sentence, status=400)
        allowed = (int, float) if known[name] is float else known[name]
        if not isinstance(value, allowed) or (known[name] is not bool and isinstance(value, bool)):
            sentence = f"{where} has {name} = {value!r}, which must be a {known[name].__name__}."
            raise DomainError("bad_settings", sentence, status=400)


def settings_as(kind: type[T], given: Any, where: str) -> T:
    """Return settings as a dataclass, whose fields say their types and defaults. Raises `DomainError`."""
    known = {
        column.name: _type_of(column)
        for column in fields(kind)  # type: ignore[arg-type]
    }
    check_settings(given, known, where)
    try:
        return kind(**given)
    except TypeError as error:
        sentence = f"{where} lacks a setting ({error})."
        raise DomainError("setting_missing", sentence, status=400) from error


def _type_of(column: Field[Any]) -> type:
    """Return the type of a setting: that of its default, and text without one."""
    if column.default_factory is not MISSING:
        return type(column.default_factory())
    return str if column.default is MISSING else type(column.default)


def model_settings(
    servers: Mapping[str, Mapping[str, Any]], name: str, model: str, *, where: str
) -> tuple[str, ModelSettings]:
    """Return one of the file's servers by name, or the only one, and the settings of a model on it.

    Keys are in environment variables, so that none is in a file. The address in the file is allowed.
    """
    if not name and len(servers) == 1:
        [name] = servers
    for label, given in servers.items():
        check_settings(given, SERVER, f"The server {label}")
    if name == FAKE or servers.get(name, {}).get("provider") == FAKE:
        return FAKE, ModelSettings(FAKE, model)
    if name not in servers:
        listed = ", ".join(servers) or "none"
        sentence = f"{where} names the server {name!r}; the file's servers are: {listed}."
        raise DomainError("no_such_server", sentence, status=400)
    server = dict(servers[name])
    variable = server.pop("api_key_env", "")
    if variable and variable not in os.environ:
        sentence = f"The server {name} has its key in the variable {variable}, which is not set."
        raise DomainError("no_key", sentence, status=400)
    address = server.get("base_url", "")
    return name, ModelSettings(
        provider=server.get("provider", "http"),
        model=model,
        base_url=address,
        api_key=os.environ[variable] if variable else "",
        allowed_hosts=(host_of(address),) if address else (),
        options=server.get("options", {}),
    )
