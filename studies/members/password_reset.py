"""Resetting a forgotten password by e-mail, with Django's own pages. It needs `TIEBREAK_EMAIL_URL`."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth import views
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path

from jobs.queue import enqueue
from studies.refusals import told_on
from tiebreak.errors import DomainError

# Nobody is sent more than one e-mail by a process in this time, however often somebody asks.
SEND_AGAIN = timedelta(minutes=10)


class QueuedResetForm(PasswordResetForm):
    """Has a worker send the e-mail, so that the page tells nothing about the account by its time."""

    def get_users(self, email: str) -> Iterable[User]:
        users = super().get_users(email)
        return (user for user in users if user.is_staff and cache.get(_key(user)) is None)

    def send_mail(self, *arguments: Any, **_: Any) -> None:
        subject_template, body_template, context, _from, to = arguments
        subject = " ".join(render_to_string(subject_template, context).splitlines())
        body = render_to_string(body_template, context)
        enqueue("studies.tasks.send_mail_task", subject, body, to)
        cache.set(_key(context["user"]), True, SEND_AGAIN.total_seconds())


def _key(user: User) -> str:
    return f"password-reset:{user.pk}"


class PasswordResetPage(views.PasswordResetView):
    form_class = QueuedResetForm

    def form_valid(self, form: Any) -> HttpResponse:
        try:
            return super().form_valid(form)
        except DomainError as refusal:
            with told_on(form):
                raise refusal
            return self.form_invalid(form)


def password_reset_urls() -> list[URLPattern]:
    """Return the pages under the names by which the login page of Django's admin finds them."""
    sent, chosen = views.PasswordResetDoneView, views.PasswordResetCompleteView
    choose = views.PasswordResetConfirmView
    return [
        path("admin/password_reset/", PasswordResetPage.as_view(), name="admin_password_reset"),
        path("admin/password_reset/done/", sent.as_view(), name="password_reset_done"),
        path("admin/reset/<uidb64>/<token>/", choose.as_view(), name="password_reset_confirm"),
        path("admin/reset/done/", chosen.as_view(), name="password_reset_complete"),
    ]
