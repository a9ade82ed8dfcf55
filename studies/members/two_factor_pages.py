"""The pages that ask for the second factor, and that turn it on and off."""

from base64 import b32encode
from typing import Any, cast

import segno
from django import forms
from django.contrib import messages
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.util import random_hex

from studies.access import researchers_only, user_of
from studies.members import two_factor
from studies.members.entering import enter, pending
from studies.refusals import told_on

# The secret of an app that has not shown a code yet.
KEY = "two-factor-key"
OFF = "Two-factor authentication is off."
WRONG = {"code": two_factor.WRONG_CODE, "password": "This is not your password."}


class CodeForm(forms.Form):
    code = forms.CharField(
        max_length=32,
        widget=forms.TextInput({"autocomplete": "one-time-code", "autofocus": True}),
    )


class LoginPage(LoginView):
    """Django's page to log in, after which the second factor may be asked for."""

    template_name = "admin/login.html"
    authentication_form = AdminAuthenticationForm

    def form_valid(self, form: Any) -> HttpResponse:
        return enter(self.request, form.get_user(), self.get_success_url())


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Ask somebody whose password was right for a code."""
    waiting = pending(request)
    if waiting is None:
        return redirect("admin:login")
    user, to = waiting
    form = CodeForm(request.POST or None)
    if form.is_valid() and _is_right(request, user, form, "code"):
        return enter(request, user, to, is_verified=True)
    return render(request, "registration/second_factor.html", {"form": form})


def _is_right(request: HttpRequest, user: User, form: forms.Form, name: str) -> bool:
    """Whether the form has the right code or password. Wrong ones are counted alike."""
    entered = {"username": user.get_username(), name: form.cleaned_data[name]}
    if authenticate(request, **entered) == user:
        return True
    form.add_error(name, forms.ValidationError(WRONG[name], code=f"wrong_{name}"))
    return False


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Turn the second factor on or off.

    Whoever has to have one before they can log in may turn it on, too.
    """
    waiting = pending(request)
    if waiting is not None and not two_factor.has_second_factor(waiting[0]):
        return _turn_on(request, *waiting, is_waiting=True)
    return cast(HttpResponse, _own_account(request))


@researchers_only
def _own_account(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if two_factor.has_second_factor(user):
        return _change(request, user)
    return _turn_on(request, user, reverse("admin:index"), is_waiting=False)


class SetUpForm(CodeForm):
    """The first code of an app and, of somebody who is logged in, the password."""

    password = forms.CharField(
        strip=False, widget=forms.PasswordInput({"autocomplete": "current-password"})
    )


def _turn_on(request: HttpRequest, user: User, to: str, *, is_waiting: bool) -> HttpResponse:
    key = request.session.setdefault(KEY, random_hex(20))
    asks_password = not is_waiting and user.has_usable_password()
    form = (SetUpForm if asks_password else CodeForm)(request.POST or None)
    codes: list[str] = []
    if form.is_valid() and _may_turn_on(request, user, form):
        with told_on(form):
            codes = two_factor.turn_on(user=user, key=key, code=form.cleaned_data["code"])
    if codes:
        del request.session[KEY]
        _renew_session(request, user, to, form.cleaned_data.get("password"), is_waiting=is_waiting)
        return _show(request, codes=codes, to=to)
    device = two_factor.new_device(user, key)
    drawn = segno.make(device.config_url, error="m")
    qr = drawn.svg_inline(scale=5, light="#fff", dark="#000", title="QR code for your app")
    return _show(request, form=form, qr=qr, key=b32encode(device.bin_key).decode())


def _may_turn_on(request: HttpRequest, user: User, form: forms.Form) -> bool:
    """Whether the password is right, so that nobody does it in a browser that was left open."""
    asks_password = "password" in form.fields
    return not asks_password or _is_right(request, user, form, "password")


def _renew_session(
    request: HttpRequest, user: User, to: str, password: str | None, *, is_waiting: bool
) -> None:
    """Log in whoever waited for it, or end the sessions that somebody has elsewhere."""
    if is_waiting:
        enter(request, user, to, is_verified=True)
        return
    user.set_password(password)  # the same one with new salt, on which sessions depend
    user.save(update_fields=["password"])
    update_session_auth_hash(request, user)


def _change(request: HttpRequest, user: User) -> HttpResponse:
    """Turn the second factor off or make new recovery codes, for a code."""
    form = CodeForm(request.POST or None)
    if form.is_valid() and _is_right(request, user, form, "code"):
        if "recovery" in request.POST:
            return _show(request, codes=two_factor.new_recovery_codes(user), to=request.path)
        two_factor.turn_off(user)
        if two_factor.is_required():
            return enter(request, user, reverse("admin:index"))
        messages.success(request, OFF)
        return redirect("studies:two-factor")
    return _show(
        request, form=form, left=StaticToken.objects.filter(device__user=user).count(), is_on=True
    )


def _show(request: HttpRequest, **context: Any) -> HttpResponse:
    form = context.get("form")
    status = 400 if form is not None and form.is_bound else 200
    context["is_required"] = two_factor.is_required()
    return render(request, "registration/two_factor.html", context, status=status)
