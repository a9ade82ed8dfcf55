"""The only way to a protected object: look up and authorise in one step."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet
from django.http import Http404

from studies.identifiers import looks_like_public_id
from studies.models import Dataset, Study


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies a researcher may see: their own, or all for a superuser."""
    if not user.is_authenticated or not user.is_active or not user.is_staff:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user)


def datasets_of(user: User | AnonymousUser) -> QuerySet[Dataset]:
    """The datasets a researcher imported, and those of the studies they belong to."""
    if not user.is_authenticated or not user.is_active or not user.is_staff:
        return Dataset.objects.none()
    if user.is_superuser:
        return Dataset.objects.all()
    visible = Q(created_by=user) | Q(studies__memberships__user=user)
    return Dataset.objects.filter(visible).distinct()


def study_for(user: User | AnonymousUser, public_id: str) -> Study:
    """One study the user may see; a stranger learns nothing, not even that it exists."""
    known = looks_like_public_id(public_id)
    study = studies_of(user).filter(public_id=public_id).first() if known else None
    if study is None:
        raise Http404("No such study.")
    return study


def dataset_for(user: User | AnonymousUser, public_id: str) -> Dataset:
    """One dataset the user may see, or 404."""
    dataset = datasets_of(user).filter(public_id=public_id).first()
    if dataset is None:
        raise Http404("No such dataset.")
    return dataset
