"""Access control: functions that look up an object and check the user's access in one step.

This is the only place that decides what the members of a study may do.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Any, cast
from urllib.parse import urlsplit

from django.contrib.admin.views.decorators import staff_member_required
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from studies.models import Dataset, Membership, Study
from tiebreak.errors import DomainError
from tiebreak.identifiers import looks_like_public_id

View = Callable[..., HttpResponseBase]
Role = Membership.Role


class Right(IntEnum):
    """What someone may do in a study. Each right includes those before it."""

    NONE = 0
    SEE = 1  # progress and results, without participants
    READ = 2  # the design, texts, participants and downloads
    CHANGE = 3  # the design, recruitment, collecting
    OWN = 4  # members, payments, deletion


RIGHTS: dict[str, Right] = {
    Role.VIEWER: Right.SEE,
    Role.ANALYST: Right.READ,
    Role.EDITOR: Right.CHANGE,
    Role.OWNER: Right.OWN,
}
_NEEDS = {
    Right.READ: "Viewers see the progress and the results of this study, but nothing else.",
    Right.CHANGE: "Your role in this study lets you see it, but not change it.",
    Right.OWN: "Only the owners of this study can pay, manage its members or delete it.",
}


def researchers_only(view: View) -> View:
    """Restrict a view to users who may log in to the admin; redirect others to the login page.

    An htmx request gets a full page refresh instead of the redirect; otherwise the login form
    would appear inside a part of the page.
    """
    checked = staff_member_required(view)

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_researcher = request.user.is_active and request.user.is_staff
        if "HX-Request" in request.headers and not is_researcher:
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
        if request.method == "POST" and not is_researcher:
            # The page whose form was sent offers what was typed after the log-in.
            referer = urlsplit(request.headers.get("Referer", ""))
            is_here = referer.netloc == request.get_host()
            form_page = referer.path if is_here else reverse("admin:index")
            return redirect_to_login(form_page, reverse("admin:login"))
        return checked(request, *args, **kwargs)

    return page


def user_of(request: HttpRequest) -> User:
    """Return the researcher of a request to a view that only researchers reach."""
    return cast(User, request.user)


def of_study(may: Right | None = None) -> Callable[[View], View]:
    """Decorator of a researcher's view: it gets the study that its address names.

    Refuses those who lack the right, which is `right_for` the request by default.
    """

    def decorate(view: View) -> View:
        @researchers_only
        @wraps(view)
        def page(request: HttpRequest, **ids: str) -> HttpResponseBase:
            public_id = ids.pop("study_id", "") or ids.pop("public_id")
            study = study_for(request.user, public_id, right_for(request) if may is None else may)
            return view(request, study, **ids)

        return page

    return decorate


def shows_study(view: View) -> View:
    """Decorator of a researcher's view that shows something of a study and changes nothing."""
    return require_safe(of_study(Right.READ)(view))


def changes_study(view: View) -> View:
    """Decorator of a researcher's view that changes something of a study."""
    return require_POST(of_study(Right.CHANGE)(view))


def shows_and_changes_study(view: View) -> View:
    """Decorator of a researcher's view that shows something of a study, and changes it when it is sent."""
    return require_http_methods(["GET", "HEAD", "POST"])(of_study()(view))


def studies_of(user: User | AnonymousUser, may: Right = Right.SEE) -> QuerySet[Study]:
    """Return the studies in which a researcher has a right, or all studies for a superuser."""
    if not user.is_authenticated or not user.is_active or not user.is_staff:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user, memberships__role__in=roles_with(may))


def right_for(request: HttpRequest) -> Right:
    """Return the right that a page with a form needs: reading it, or sending the form."""
    return Right.READ if request.method in {"GET", "HEAD"} else Right.CHANGE


def roles_with(right: Right) -> list[str]:
    return [role for role, rights in RIGHTS.items() if rights >= right]


def datasets_of(user: User | AnonymousUser, may: Right = Right.READ) -> QuerySet[Dataset]:
    """Return the datasets of a researcher and of their studies, or all datasets for a superuser.

    A researcher's datasets are those that they imported.
    """
    if not user.is_authenticated or not user.is_active or not user.is_staff:
        return Dataset.objects.none()
    if user.is_superuser:
        return Dataset.objects.all()
    visible = Q(created_by=user) | Q(studies__in=studies_of(user, may))
    return Dataset.objects.filter(visible).distinct()


def right_in(user: User | AnonymousUser, study: Study) -> Right:
    """Return what a user may do in a study."""
    rows = studies_of(user).filter(pk=study.pk).annotate(role=held_role(user))
    return right_of(user, rows.values_list("role", flat=True).first())


def held_right(user: User | AnonymousUser, study: Any) -> Right:
    """Return the right in a study that `study_for` returned to this user, without a query."""
    return right_of(user, study.role)


def right_in_dataset(user: User | AnonymousUser, dataset: Dataset) -> Right:
    """Return what a user may do with a dataset, through their studies or because they made it."""
    for right in (Right.CHANGE, Right.READ):
        if datasets_of(user, right).filter(pk=dataset.pk).exists():
            return right
    return Right.NONE


def held_role(user: User | AnonymousUser) -> Subquery:
    """Return the expression for a user's role in each study of a query."""
    rows = Membership.objects.filter(study=OuterRef("pk"), user=user.pk)
    return Subquery(rows.values("role")[:1])


def right_of(user: User | AnonymousUser, role: str | None) -> Right:
    """Return the right that comes with a role; superusers have every right."""
    is_superuser = user.is_active and user.is_staff and user.is_superuser
    return Right.OWN if is_superuser else RIGHTS.get(role or "", Right.NONE)


def check_right(user: User | AnonymousUser, study: Study, may: Right) -> None:
    """Raise `DomainError` if a member's role does not include a right."""
    _check(right_in(user, study), may)


def _check(right: Right, may: Right) -> None:
    if right < may:
        sentence = f"{_NEEDS.get(may, '')} Ask an owner of the study to change your role."
        raise DomainError("role_forbids", sentence.strip(), status=403)


def study_for(user: User | AnonymousUser, public_id: str, may: Right = Right.CHANGE) -> Study:
    """Return a study in which the user has a right.

    Raises 404 for everyone but members, whether or not the study exists, and refuses members
    whose role does not include the right. Without `may`, the study can be changed with what is
    returned, so a view that forgets it shows too little, not too much.
    """
    known = looks_like_public_id(public_id)
    studies = studies_of(user).annotate(role=held_role(user))
    study = studies.filter(public_id=public_id).first() if known else None
    if study is None:
        raise Http404("No such study.")
    refuse_below(right_of(user, study.role), may)
    return study


def refuse_below(right: Right, may: Right) -> None:
    """Show a page that says why, with status 403, to a member whose right does not suffice."""
    try:
        _check(right, may)
    except DomainError as refusal:
        raise PermissionDenied(refusal.message) from refusal
