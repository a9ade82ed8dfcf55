"""Dataclasses as JSON, and back.

A field that is None has no key if it has a default; otherwise, it is null. NaN is null.
"""

import math
import types
from collections.abc import Callable, Hashable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from tiebreak.stats import Estimate


def to_json(value: Any) -> Any:
    """Return an object in the form in which it is written as JSON."""
    if isinstance(value, Estimate):
        return value.as_json()
    if is_dataclass(value):
        required = _required(value.__class__)
        return {
            name: to_json(part)
            for name, part in vars(value).items()
            if part is not None or name in required
        }
    if isinstance(value, dict):
        return {name: to_json(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


@cache
def _required(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind) if field.default is MISSING)


def from_json(kind: Any, data: Any) -> Any:
    """Return an object of this class from its JSON. Keys that the class does not have are ignored."""
    return _reader(kind)(data)


@cache
def _reader(kind: Hashable) -> Callable[[Any], Any]:
    """Return the function that reads a type. It is cached, as looking types up takes longer."""
    if kind is Estimate:
        return Estimate.from_json
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is dict:
        read = _reader(parts[1])
        return dict if read is _same else lambda data: {k: read(part) for k, part in data.items()}
    if origin is tuple:
        return _tuple_reader(_reader(parts[0]))
    if origin is types.UnionType and parts[1] is types.NoneType:
        return _reader(parts[0])
    return _number if kind is float else _same


def _tuple_reader(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    if read is _same:
        return tuple
    if read is _number:
        return _numbers
    return lambda data: tuple(read(part) for part in data)


def _dataclass_reader(kind: type[Any]) -> Callable[[Any], Any]:
    readers = {name: _reader(part) for name, part in get_type_hints(kind).items()}
    return lambda data: kind(
        **{name: read(data[name]) for name, read in readers.items() if name in data}
    )


def _number(data: float | None) -> float:
    return math.nan if data is None else data


def _numbers(data: list[float | None]) -> tuple[float, ...]:
    return tuple(map(_number, data)) if None in data else tuple(data)  # type: ignore[arg-type]


def _same(data: Any) -> Any:
    return data
