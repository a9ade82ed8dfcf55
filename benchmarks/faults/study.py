"""The database side of the benchmark of faults, with the settings of its servers."""

import json
import sys
import time
from collections.abc import Callable

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from annotation.services.participations import mark_guidelines_read  # noqa: E402
from annotation.services.places import find_work  # noqa: E402
from api.models import ApiToken  # noqa: E402
from api.services.tokens import create_token  # noqa: E402
from benchmarks.jobs_runs import make_study, start_scoring  # noqa: E402
from benchmarks.serving_study import count, lost, make, migrate  # noqa: E402
from jobs.models import Job  # noqa: E402
from jobs.services import resume_job  # noqa: E402
from recruitment.models import Channel  # noqa: E402
from recruitment.platforms.invitation import invitations  # noqa: E402
from recruitment.services.entry import Entrant, give_consent  # noqa: E402
from studies.models import SeparabilityScore, Study  # noqa: E402

JOB_SECONDS = 120


def set_up(instances: int) -> str:
    """Fill an empty database; return the id of the study that jobs score, and a token."""
    migrate()
    user = User.objects.create_superuser("owner")
    _, token = create_token(user=user, name="faults", access=ApiToken.Access.WRITE)
    return f"{make_study(instances).pk} {token}"


def begin(scored: str, hits: int, ratings: int, lease_minutes: float, people: int) -> str:
    """Open a study and start a job; return the study's id, and an entrance for each person."""
    study = Study.objects.get(pk=make(hits, 1, ratings, lease_minutes))
    names = "\n".join(f"person {n}" for n in range(people))
    channel = Channel(study=study, provider="invitation", settings={"people": names})
    if people:
        channel.save()
    SeparabilityScore.objects.all().delete()
    start_scoring(Study.objects.get(pk=scored))
    tokens = [token for _, token in invitations(channel)]
    return json.dumps({"study": study.pk, "tokens": tokens})


def end(study: str, path: str, ratings: int) -> str:
    """Return what was lost and what is wrong, once the job has ended; failed jobs are resumed."""
    resumed, until = 0, time.monotonic() + JOB_SECONDS
    while (job := Job.objects.filter(kind="scoring").latest("pk")).is_moving or (
        job.status == Job.Status.FAILED
    ):
        if job.status == Job.Status.FAILED:
            resume_job(job=job)
            resumed += 1
        if time.monotonic() > until:
            break
        time.sleep(0.5)
    counted, wrong = map(int, count(study).split())
    surplus = counted - ratings * Study.objects.get(pk=study).units.count()
    scores = SeparabilityScore.objects.count()
    exact = job.status == Job.Status.DONE and scores == job.done == job.total
    return json.dumps(
        {
            "lost": int(lost(study, path)),
            "wrong": wrong + abs(surplus),
            "job": f"{job.status}, {job.done} of {job.total}, {scores} scores",
            "job_is_exact": exact,
            "resumed": resumed,
        }
    )


def hold(study: str) -> str:
    """Take a place, and keep the transaction open for as long as this process lives."""
    with transaction.atomic():
        entrant = Entrant(provider="benchmark", external_id="held", submission_id="held")
        person = give_consent(study=Study.objects.get(pk=study), entrant=entrant)
        mark_guidelines_read(participation=person)
        find_work(participation=person)
        with connection.cursor() as cursor:  # whoever needs a place of the study has to wait
            cursor.execute("SELECT 1 FROM annotation_place WHERE study_id = %s FOR UPDATE", [study])
        print("held", flush=True)
        time.sleep(3600)
    return ""


ACTIONS: dict[str, Callable[..., str]] = {
    "set_up": lambda n: set_up(int(n)),
    "begin": lambda scored, *a: begin(scored, int(a[0]), int(a[1]), float(a[2]), int(a[3])),
    "end": lambda study, path, ratings: end(study, path, int(ratings)),
    "hold": hold,
}

if __name__ == "__main__":
    print(ACTIONS[sys.argv[1]](*sys.argv[2:]))
