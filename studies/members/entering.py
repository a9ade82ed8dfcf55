"""The last step of every way to log in: nobody has a session before the second factor is right.

Therefore no page has to ask whether somebody has given it, and no request needs a query for it.
"""

from datetime import timedelta

from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from studies.members.two_factor import has_second_factor, is_required

PENDING = "second-factor"
# The backend that a session names says whether there was a second factor.
PASSWORD = "django.contrib.auth.backends.ModelBackend"  # noqa: S105
SECOND_FACTOR = "studies.members.two_factor.SecondFactorBackend"
# How long a right password waits for the second factor.
PATIENCE = timedelta(minutes=10)


def enter(request: HttpRequest, user: User, to: str, *, is_verified: bool = False) -> HttpResponse:
    """Log somebody in and go to an address that is known to be ours, or ask for the second factor.

    ``is_verified`` says that whoever vouches for the user asked for one.
    """
    if is_verified or not (has_second_factor(user) or is_required()):
        login(request, user, SECOND_FACTOR if is_verified else PASSWORD)
        return redirect(to)
    logout(request)  # whoever was logged in here; and the session gets another key
    waiting = [user.pk, user.get_session_auth_hash(), to]
    request.session[PENDING] = signing.dumps(waiting, salt=PENDING)
    return redirect("studies:second-factor" if has_second_factor(user) else "studies:two-factor")


def pending(request: HttpRequest) -> tuple[User, str] | None:
    """Return who gave the right password just now, and where they go; None if nobody did."""
    try:
        key, password, to = signing.loads(
            request.session.get(PENDING, ""), salt=PENDING, max_age=PATIENCE
        )
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=key, is_active=True, is_staff=True).first()
    is_same = user is not None and user.get_session_auth_hash() == password
    return (user, to) if user is not None and is_same else None
