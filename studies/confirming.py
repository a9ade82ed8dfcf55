"""Asking before something that cannot be undone: one page for all of it, without JavaScript too.

A view makes the question of what is at stake. Without its token the page is shown; the token
stands for what was shown there, so that a state which changed since asks again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import constant_time_compare, salted_hmac


@dataclass(frozen=True)
class Question:
    """What is about to be done, and what follows from it, in sentences with their numbers.

    `facts` are what a confirmation stands for: numbers that move by themselves while people work
    are shown and left out of it, or a busy study could never be closed. `problems` say why it
    cannot be done at all, by their codes; `warnings` are the codes of the launch checks that it
    takes along.
    """

    title: str
    sentences: tuple[str, ...]
    button: str
    facts: tuple[object, ...]
    problems: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def is_confirmed(request: HttpRequest, questions: Sequence[Question]) -> bool:
    given = request.POST.get("confirmed", "") if request.method == "POST" else ""
    return constant_time_compare(given, token_of(questions))


def token_of(questions: Sequence[Question]) -> str:
    shown = [(each.title, each.button, each.facts, each.problems) for each in questions]
    return salted_hmac("studies.confirming", repr(shown), algorithm="sha256").hexdigest()


def ask(
    request: HttpRequest,
    questions: Sequence[Question],
    *,
    back: str,
    carry: Iterable[tuple[str, str]] = (),
) -> HttpResponse:
    """The page that asks. Its form is sent to this same address, with what is carried along."""
    context = {
        "questions": questions,
        "token": token_of(questions),
        "can_be_done": any(not question.problems for question in questions),
        "has_changed": bool(request.POST.get("confirmed")),
        "back": back,
        "carry": list(carry),
    }
    return render(request, "confirm.html", context)
