"""Checks the values of a request by a serializer or by the form of a page."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain, islice
from typing import Any

from django import forms
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.fields import Field
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from api.messages import NEAREST_FIELD, TOO_MANY_ROWS, UNKNOWN_FIELD

MAX_UNKNOWN, LONGEST_NAME = 50, 100


def checked(serializer: type[Serializer[Any]], data: Any, *, many: bool = False) -> Any:
    """Return the values of a request, or raise a refusal that lists all problems."""
    bound = serializer(data=data, many=many)
    bound.is_valid(raise_exception=True)
    return bound.validated_data if many else dict(bound.validated_data)


def checked_form(form: forms.BaseForm) -> dict[str, Any]:
    """Return the values of a page's form so that pages and programs have the same rules."""
    if form.is_valid():
        return dict(form.cleaned_data)
    raise ValidationError(
        {
            "" if name == "__all__" else name: [
                ErrorDetail(str(message), code=error.code or "invalid")
                for error in errors
                for message in error.messages
            ]
            for name, errors in form.errors.as_data().items()
        }
    )


def refuse_unknown_fields(request: Request, body: Any, query: Iterable[str]) -> None:
    """Raise a refusal that lists the fields of a request that its endpoint does not know.

    ``body`` is the serializer of its content, or None if it takes none.
    """
    known = body() if isinstance(body, type) else body
    content = _content(request) if known is not None else _unasked(request)
    found = chain(
        _unknown(request.query_params, query), _unknown_in(known or Serializer(), content)
    )
    # The nearest name is looked for only of what is told, as a request may have thousands of others.
    if unknown := dict(islice(found, MAX_UNKNOWN)):
        raise ValidationError(unknown)


def refuse_unknown_names(sent: Mapping[str, Any], known: Iterable[str], path: str) -> None:
    """Raise a refusal that lists the names at a path of a request that are not known."""
    if unknown := dict(_unknown(sent, known, path)):
        raise ValidationError(unknown)


def _unasked(request: Request) -> Any:
    """Return the content of a request to an endpoint that takes none."""
    if request.method in {"GET", "HEAD", "DELETE"}:
        return {}
    is_form = request.content_type.startswith(("multipart/", "application/x-www-form-urlencoded"))
    return request._request.POST if is_form else _content(request)


def _content(request: Request) -> Any:
    """Return the content; of another type than the endpoint's it is refused after the look-up."""
    negotiator: Any = request.negotiator
    parser = negotiator.select_parser(request, request.parsers)
    return {} if parser is None else request.data


def _unknown_in(field: Field[Any, Any, Any, Any], data: Any, path: str = "") -> Iterator[Any]:
    """Yield the unknown fields of some content and of everything in it, with what is said.

    Of a list that is too long, that is said alone: to check each of its rows takes long.
    """
    child = getattr(field, "child", None)
    if child is not None and isinstance(data, list):
        most = getattr(field, "max_length", None)
        if most is not None and len(data) > most:
            sentence = TOO_MANY_ROWS.format(f"{most:,}")
            yield path.rstrip("."), [ErrorDetail(sentence, code="max_length")]
            return
        for number, row in enumerate(data):
            yield from _unknown_in(child, row, f"{path}{number}.")
    if not isinstance(field, Serializer) or not isinstance(data, Mapping):
        return
    known = {name: inner for name, inner in field.fields.items() if not inner.read_only}
    yield from _unknown(data, known, path)
    for name in known.keys() & data.keys():
        yield from _unknown_in(known[name], data[name], f"{path}{name}.")


def _unknown(sent: Iterable[str], known: Iterable[str], path: str = "") -> Iterator[Any]:
    names = sorted(known)
    for name in islice((name for name in sent if name not in names), MAX_UNKNOWN):
        shown = name[:LONGEST_NAME]
        near = get_close_matches(shown, names, n=1, cutoff=0)
        sentence = (NEAREST_FIELD if near else UNKNOWN_FIELD).format(shown, *near)
        yield f"{path}{shown}", [ErrorDetail(sentence, code="unknown_field")]
