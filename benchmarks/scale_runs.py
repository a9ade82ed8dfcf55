"""The database side of the scale benchmark: a study half of which is rated, and who looks at it."""

import sys
from collections.abc import Callable
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Model  # noqa: E402
from django.test import Client  # noqa: E402

from annotation.models import (  # noqa: E402
    HIT,
    Assignment,
    HITUnit,
    Participation,
    Place,
    Rater,
    Rating,
    Tally,
)
from benchmarks.pages_runs import fill  # noqa: E402
from benchmarks.serving_study import make  # noqa: E402
from recruitment.models import Submission  # noqa: E402
from studies.models import (  # noqa: E402
    Generation,
    Instance,
    Membership,
    Study,
    Unit,
    UnitText,
)

# The product plans so many HITs, and the database copies the rest, with everything that belongs to them.
PLANNED = 10_000
COPIED: tuple[type[Model], ...] = (
    *(Instance, Generation, Unit, UnitText, HIT, HITUnit),
    *(Rater, Participation, Submission, Assignment, Place, Rating, Tally),
)
NAMES = {"key", "public_id", "pseudonym", "external_id", "submission_id", "client_key"}


def filled(hits: int, ratings: int, left: int) -> str:
    """Create an open study whose first HITs have all their ratings, and return its id.

    At least ``left`` HITs have none.
    """
    blocks = -(-(hits + left) // PLANNED)
    rated, empty = -(-hits // blocks), -(-left // blocks)
    study_id = make(rated + empty, 1, ratings, 30)
    fill(Study.objects.get(pk=study_id), hits=rated)
    if blocks > 1:
        add_copies(blocks - 1)
    return study_id


def add_copies(copies: int) -> None:
    """Copy all HITs of a new database's only study, and whatever belongs to them."""
    sizes = {model: model._default_manager.latest("pk").pk for model in COPIED}
    with connection.cursor() as cursor:
        # Foreign keys are right by construction, and to check millions of them takes most of the time.
        cursor.execute("SET session_replication_role = replica")
        for model in COPIED:
            table = model._meta.db_table
            fields = model._meta.local_concrete_fields
            columns = ", ".join(f'"{field.column}"' for field in fields)
            values = ", ".join(_copied(model, field, sizes) for field in fields)
            for nth in range(1, copies + 1):
                cursor.execute(
                    f"INSERT INTO {table} ({columns}) SELECT {values.format(nth=nth)}"  # noqa: S608
                    f" FROM {table} WHERE id <= {sizes[model]} ORDER BY id"
                )
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"  # noqa: S608
            )
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def _copied(model: type[Model], field: Any, sizes: dict[type[Model], int]) -> str:
    """Return the expression of a column of the copy number ``{nth}``."""
    column = f'"{field.column}"'
    referred = model if field.primary_key else field.related_model
    if referred in sizes:
        return f"{column} + {{nth}} * {sizes[referred]}"
    if field.column in NAMES:
        return f"{column} || '-{{nth}}'"
    if model is HIT and field.column == "number":
        return f"{column} + {{nth}} * {sizes[HIT]}"
    return "(random() * 4e18)::bigint" if field.column == "draw" else column


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
