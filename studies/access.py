"""Access control: functions that look up an object and check the user's access in one step."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from studies.models import Dataset, Study
from tiebreak.identifiers import looks_like_public_id

View = Callable[..., HttpResponseBase]


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
        return checked(request, *args, **kwargs)

    return page


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Return the studies that a researcher is a member of, or all studies for a superuser."""
    if not user.is_authenticated or not user.is_active or not user.is_staff:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user)


def datasets_of(user: User | AnonymousUser) -> QuerySet[Dataset]:
    """Return the datasets of a researcher and of their studies, or all datasets for a superuser.

    A researcher's datasets are those that they imported.
    """
    if not user.is_authenticated or not user.is_active or not user.is_staff:
        return Dataset.objects.none()
    if user.is_superuser:
        return Dataset.objects.all()
    visible = Q(created_by=user) | Q(studies__memberships__user=user)
    return Dataset.objects.filter(visible).distinct()


def study_for(user: User | AnonymousUser, public_id: str) -> Study:
    """Return a study that the user may see, or raise 404, whether or not the study exists."""
    known = looks_like_public_id(public_id)
    study = studies_of(user).filter(public_id=public_id).first() if known else None
    if study is None:
        raise Http404("No such study.")
    return study


def dataset_for(user: User | AnonymousUser, public_id: str) -> Dataset:
    """Return a dataset that the user may see, or raise 404, whether or not the dataset exists."""
    dataset = datasets_of(user).filter(public_id=public_id).first()
    if dataset is None:
        raise Http404("No such dataset.")
    return dataset
