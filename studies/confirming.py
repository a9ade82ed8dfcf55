"""A confirmation page before actions that cannot be undone. It works without JavaScript.

A view builds a question from the current state. The page is shown until the request contains the
question's token. The token is computed from the content of the page, so the page is shown again if
the state has changed in the meantime.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme

from studies.models import Study


@dataclass(frozen=True)
class Question:
    """An action and its consequences, as sentences for the confirmation page.

    `facts` are the values for which a confirmation is valid. Numbers that change while annotators
    work are shown but left out of `facts`, because otherwise a busy study could never be closed.
    `problems` are the reasons why the action is impossible, with a sentence for each code.
    `warnings` are what the confirmation accepts, with a sentence for each code of a launch check.
    `final` lists what can no longer change afterwards, with the values of `settings` by their names,
    and `stays` says what still can. `listed` has an entry for each that the action affects.
    """

    title: str
    sentences: tuple[str, ...]
    button: str
    facts: tuple[object, ...]
    problems: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    final: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    stays: str = ""
    listed: tuple[str, ...] = ()


def is_confirmed(request: HttpRequest, question: Question) -> bool:
    token = request.POST.get("confirmed", "") if request.method == "POST" else ""
    return constant_time_compare(token, token_of(question))


def token_of(question: Question) -> str:
    content = (question.title, question.button, question.facts, question.problems)
    return salted_hmac("studies.confirming", repr(content), algorithm="sha256").hexdigest()


def ask(
    request: HttpRequest,
    question: Question,
    *,
    back: str,
    carry: Iterable[tuple[str, str]] = (),
) -> HttpResponse:
    """Return the confirmation page. Its form posts to the current URL and includes ``carry``.

    Who cancels returns to the page that asked, or to ``back`` where the browser does not say which.
    """
    came_from = request.POST.get("back") or request.headers.get("Referer", "")
    if url_has_allowed_host_and_scheme(came_from, {request.get_host()}):
        back = came_from
    match = request.resolver_match
    context = {
        "question": question,
        "study": Study.objects.filter(pk=match.kwargs.get("study_id")).first() if match else None,
        "token": token_of(question),
        "can_be_done": not question.problems,
        "has_changed": bool(request.POST.get("confirmed")),
        "back": back,
        "carry": list(carry),
    }
    return render(request, "confirm.html", context)
