"""Looks up what a request may see: never more than its researcher, or than its token."""

from django.contrib.auth.models import User
from django.db.models import QuerySet
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from annotation.models import Participation
from api.messages import (
    NEEDS_ALL_STUDIES,
    NO_SUCH_DATASET,
    NO_SUCH_JOB,
    NO_SUCH_PARTICIPANT,
    UNKNOWN_STUDY,
)
from api.models import ApiToken
from jobs.models import Job
from recruitment.services.dry_runs import dry_runs_of
from studies.access import Right, check_right, datasets_of, studies_of
from studies.data.dataset_jobs import jobs_of
from studies.models import Dataset, Study
from tiebreak.errors import DomainError


def visible_studies(request: Request) -> QuerySet[Study]:
    """Return the studies of the researcher, of which a token may open only some."""
    studies = studies_of(request.user)
    token = request.auth
    if not isinstance(token, ApiToken) or token.covers_all:
        return studies
    return studies.filter(pk__in=token.studies.values("pk"))


def visible_study(request: Request, public_id: str, may: Right | None = None) -> Study:
    """Return a study, or refuse in the same way whether it exists for others or not at all.

    Refuses members whose role does not include the right, which is by default the right to change
    the study or, for a method that changes nothing, to read all of it.
    """
    study = visible_studies(request).filter(pk=public_id).first()
    if study is None:
        raise DomainError("unknown_study", UNKNOWN_STUDY, status=404)
    default = Right.READ if request.method in SAFE_METHODS else Right.CHANGE
    check_right(request.user, study, may or default)
    return study


def visible_dataset(request: Request, public_id: str) -> Dataset:
    """Return a dataset that the researcher may read, or refuse; a token sees its studies'."""
    datasets = datasets_of(request.user)
    if isinstance(request.auth, ApiToken) and not request.auth.covers_all:
        datasets = datasets.filter(studies__in=visible_studies(request))
    dataset = datasets.filter(public_id=public_id).first()
    if dataset is None:
        raise DomainError("no_such_dataset", NO_SUCH_DATASET, status=404)
    return dataset


def creator(request: Request) -> User:
    """Return the researcher who may create a study with this request."""
    if isinstance(request.auth, ApiToken) and not request.auth.covers_all:
        raise DomainError("needs_all_studies", NEEDS_ALL_STUDIES, status=403)
    return researcher(request)


def researcher(request: Request) -> User:
    assert isinstance(request.user, User)
    return request.user


def visible_participation(
    request: Request, study_id: str, participation_id: str, may: Right | None = None
) -> Participation:
    study = visible_study(request, study_id, may)
    people = study.participations.select_related("study", "rater", "submission__channel")
    participation = people.filter(public_id=participation_id).first()
    if participation is None:
        raise DomainError("no_such_participant", NO_SUCH_PARTICIPANT, status=404)
    return participation


def visible_jobs(study: Study) -> QuerySet[Job]:
    """Return the jobs of a study and of its dry runs, newest first."""
    return (jobs_of(study) | dry_runs_of(study)).order_by("-pk")


def visible_job(request: Request, study_id: str, job_id: str) -> Job:
    job = visible_jobs(visible_study(request, study_id)).filter(public_id=job_id).first()
    if job is None:
        raise DomainError("no_such_job", NO_SUCH_JOB, status=404)
    return job
