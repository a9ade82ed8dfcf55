"""The database side of the scale benchmark: a study half of which is rated, and who looks at it."""

import sys
from collections.abc import Callable

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.test import Client  # noqa: E402

from benchmarks.pages_runs import fill  # noqa: E402
from benchmarks.serving_study import make  # noqa: E402
from studies.models import Membership, Study  # noqa: E402


def filled(hits: int, ratings: int, left: int) -> str:
    """Create an open study whose first HITs have all their ratings, and return its id."""
    study_id = make(hits + left, 1, ratings, 30)
    fill(Study.objects.get(pk=study_id), hits=hits)
    return study_id


def researcher(study_id: str) -> str:
    """Return the cookie of a researcher who may see the study."""
    user = User.objects.create_user("researcher", is_staff=True)
    Membership.objects.create(study_id=study_id, user=user)
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].OutputString().split(";")[0]


ACTIONS: dict[str, Callable[..., str]] = {
    "filled": lambda *numbers: filled(*map(int, numbers)),
    "researcher": researcher,
}

if __name__ == "__main__":
    print(ACTIONS[sys.argv[1]](*sys.argv[2:]))
