"""The database side of the serving benchmark: creating a study, counting ratings, taking places."""

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from annotation.models import HIT, Place, Rating  # noqa: E402
from annotation.services.participations import mark_guidelines_read  # noqa: E402
from annotation.services.places import find_work  # noqa: E402
from annotation.services.planning import plan_hits  # noqa: E402
from recruitment.services.entry import Entrant, give_consent  # noqa: E402
from recruitment.services.lifecycle import open_study  # noqa: E402
from studies.models import (  # noqa: E402
    Criterion,
    Dataset,
    Generation,
    Instance,
    Study,
    StudySystem,
    System,
)
from tests.annotation.tallies import recount, stored_tallies  # noqa: E402

TEXT = "A plain sentence of some length, as a summary might have it. " * 8
CLAIMS = 300


def migrate() -> str:
    call_command("migrate", verbosity=0)
    return ""


def make(hits: int, units: int, ratings: int, lease_minutes: float) -> str:
    """Create an open study in which each HIT has its own instance, and return the study's id."""
    dataset = Dataset.objects.create(name="Generated")
    systems = [System.objects.create(dataset=dataset, name=name) for name in ("one", "two")]
    instances = Instance.objects.bulk_create(
        (Instance(dataset=dataset, key=f"i{n}", source=TEXT) for n in range(hits)), batch_size=1000
    )
    Generation.objects.bulk_create(
        (
            Generation(
                instance=instance,
                system=system,
                sample_index=k,
                text=f"{instance.key} {k} {system.name} {TEXT}",
            )
            for instance in instances
            for system in systems
            for k in range(units)
        ),
        batch_size=1000,
    )
    study = Study.objects.create(
        title="Generated",
        guidelines="Prefer the clearer text.",
        consent="A program gives the answers.",
        dataset=dataset,
        ratings_per_hit=ratings,
        comparisons_per_hit=units,
        lease_minutes=lease_minutes,
        annotators_per_address=None,
        entries_per_address_per_hour=None,
        unconfirmed_leases=1_000_000,
    )
    for position, system in enumerate(systems):
        StudySystem.objects.create(study=study, system=system, position=position)
    Criterion.objects.create(study=study, name="preference", question="Which is better?")
    plan_hits(study=study)
    open_study(study=study)
    _analyze()
    return str(study.pk)


def _analyze() -> None:
    """Update statistics and flush the bulk load now, and not during a measurement."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def count(study_id: str) -> str:
    """Return the number of counted ratings, and the number of wrong units, places and tallies."""
    study = Study.objects.get(pk=study_id)
    counted = Rating.objects.counted().filter(unit__study=study)
    per_unit = Counter(counted.values_list("unit_id", flat=True))
    wrong = sum(n != study.ratings_per_hit for n in per_unit.values())
    wrong += study.units.count() - len(per_unit)
    wrong += Place.objects.filter(study=study, completed_at__isnull=True).count()
    wrong += stored_tallies(study=study) != recount(study=study)
    raters = Counter(counted.values_list("place_id", "rater_id").distinct())
    wrong += len(raters) != len({place for place, _ in raters})
    return f"{counted.count()} {wrong}"


def lost(study_id: str, path: str) -> str:
    """Return the number of acknowledged answers that are not stored exactly once."""
    rows = Rating.objects.filter(assignment__hit__study=study_id, superseded=False)
    stored = Counter(rows.values_list("assignment__public_id", "position"))
    acknowledged = {tuple(line.split()) for line in Path(path).read_text().splitlines()}
    return str(sum(stored[assignment, int(position)] != 1 for assignment, position in acknowledged))


def claims(hits: int) -> str:
    """Return the median time of taking a place in seconds, each time by a new annotator."""
    study = Study.objects.get(pk=make(1, 1, 1, 30))
    last = HIT.objects.get(study=study).number
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_hit (study_id, instance_id, number, kind) SELECT study_id,"
            " instance_id, %s + n, kind FROM annotation_hit, generate_series(1, %s) AS n",
            [last, hits - 1],
        )
        cursor.execute(
            "INSERT INTO annotation_place (study_id, hit_id, number, remaining, draw) SELECT"
            " study_id, id, 0, 1, (random() * 4e18)::bigint FROM annotation_hit WHERE number > %s",
            [last],
        )
    _analyze()
    times = []
    for n in range(CLAIMS):
        person = give_consent(
            study=study,
            entrant=Entrant(provider="benchmark", external_id=str(n), submission_id=str(n)),
        )
        mark_guidelines_read(participation=person)
        start = time.perf_counter()
        find_work(participation=person)
        times.append(time.perf_counter() - start)
    return str(statistics.median(times))


ACTIONS: dict[str, Callable[..., str]] = {
    "migrate": migrate,
    "make": lambda *a: make(int(a[0]), int(a[1]), int(a[2]), float(a[3])),
    "count": count,
    "lost": lost,
    "claims": lambda hits: claims(int(hits)),
}

if __name__ == "__main__":
    print(ACTIONS[sys.argv[1]](*sys.argv[2:]))
