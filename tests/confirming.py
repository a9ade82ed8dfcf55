"""A researcher who reads what follows and confirms it."""

from typing import Any

from django.test import Client


def post_confirmed(client: Client, address: str, data: dict[str, Any] | None = None) -> Any:
    """Send a form, and the form of the page that asks whether it is meant; follows redirects."""
    answer = client.post(address, data or {}, follow=True)
    if answer.context is None or "token" not in answer.context:
        return answer
    assert answer.context["can_be_done"], answer.context["question"]
    carried = {"confirmed": answer.context["token"]}
    for name, value in answer.context["carry"]:
        carried.setdefault(name, [])
        carried[name] = [*carried[name], value] if isinstance(carried[name], list) else value
    path = answer.request["PATH_INFO"]
    return client.post(path, carried, follow=True)
