"""SQL statements, time and size of each page of a large study that pays, from a stored report."""

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from decimal import Decimal
from itertools import count

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.db.models.functions import Mod  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.exports.ratings import rating_rows  # noqa: E402
from annotation.models import Assignment, Participation, Rater, Rating, Tally  # noqa: E402
from benchmarks.harness import RESULTS  # noqa: E402
from benchmarks.serving_study import make  # noqa: E402
from metrics.results.question_pages import PAGES  # noqa: E402
from metrics.results.services import store_report, watermark  # noqa: E402
from recruitment.models import Channel, Payment, Submission  # noqa: E402
from studies.design.steps import study_frame  # noqa: E402
from studies.models import Membership, Study  # noqa: E402
from tiebreak.formats import RatingTable  # noqa: E402
from tiebreak.report import build_report  # noqa: E402
from tiebreak.report.source import Source  # noqa: E402

RATINGS = int(os.environ.get("RATINGS", "1000000"))
RATINGS_PER_HIT, UNITS, HITS_PER_ANNOTATOR = 5, 5, 40
PER_TASK, BUDGET = Decimal("0.50"), 400_000
PROLIFIC = {"fee_percent": "33.3", "screen_out_reward": "0.60"}
MAX_STATEMENTS, MAX_SECONDS, MAX_BYTES, RUNS = 12, 0.2, 250_000, 5
# Collect shows what several pages show: progress, money, people and channels. Pages of a study that pays ask
# who waits, what is due and what it can cost at most. Launch looks at all of a study,
# Quality and Generate & select at what there is of each stage, and the list of studies at who waits for money.
MORE_STATEMENTS = {
    "Progress": 22,
    "Participants & payments": 14,
    "Step: Launch": 26,
    "Step: Generate & select": 17,
    "Step: Quality": 16,
    "Step: Size & pay": 15,
    "Step: Recruit": 14,
    "Studies": 14,
}
NOW, SCALE = "now()", "preference:tie"
Replaced = dict[str, str]


@dataclass(frozen=True)
class Page:
    name: str
    statements: int
    seconds: float
    bytes: int

    @property
    def misses(self) -> list[str]:
        limits = {
            "statements": self.statements > MORE_STATEMENTS.get(self.name, MAX_STATEMENTS),
            "time": self.seconds > MAX_SECONDS,
            "size": self.bytes > MAX_BYTES,
        }
        return [name for name, is_missed in limits.items() if is_missed]


def copy_rows(model: type[models.Model], source: str, values: Replaced) -> None:
    """Insert a row per row of ``source``: columns that ``values`` lacks get the field's default."""
    columns, expressions, defaults = [], [], []
    for field in model._meta.local_concrete_fields:
        if field.column in values or not (field.primary_key or field.has_db_default()):
            columns.append(f'"{field.column}"')
            expressions.append(
                values[field.column].replace("%", "%%") if field.column in values else "%s"
            )
            if field.column not in values:
                default = field.get_default()
                defaults.append(timezone.now() if getattr(field, "auto_now_add", 0) else default)
    sql = f"INSERT INTO {model._meta.db_table} ({', '.join(columns)}) SELECT {', '.join(expressions)} FROM {source.replace('%', '%%')}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, defaults)


def fill(study: Study, *, hits: int) -> None:
    """Let annotators complete all places of the first HITs, each as many as one has after each other.

    One in ten leaves early and somebody else does the rest, and another enters and does nothing.
    """
    places = study.places.filter(hit__number__lte=hits).count()
    annotators = -(-places // HITS_PER_ANNOTATOR)
    _add_people(study, annotators + -(-annotators // 5))
    _add_assignments(annotators, hits)
    _add_ratings()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_place AS w SET remaining = 0, assignment_id = a.id,"
            " completed_at = now() - interval '1 second' * a.id"
            " FROM annotation_assignment AS a WHERE a.id = w.id"
        )
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('annotation_assignment', 'id'), max(id))"
            " FROM annotation_assignment"
        )
    vacuum()


def vacuum() -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _add_people(study: Study, annotators: int) -> None:
    raters = {
        "kind": "'human'",
        "pseudonym": "'p' || n",
        "provider": "'open'",
        "external_id": "'e' || n",
    }
    copy_rows(Rater, f"generate_series(1, {annotators}) AS n", raters)
    participations = {
        "public_id": "lpad(r.id::text, 12, '0')",
        "study_id": f"'{study.pk}'",
        "rater_id": "r.id",
        "provider": "'open'",
        "submission_id": "'s' || r.id",
        "status": "'finished'",
        "consented_at": f"{NOW} - interval '1 minute' * (100 + r.id % 60)",
        "order_seed": "'x'",
    }
    copy_rows(Participation, "annotation_rater AS r", participations)
    submissions = {
        "participation_id": "p.id",
        "completion_code": "'C' || p.id",
        "return_params": "'{}'",
    }
    copy_rows(Submission, "annotation_participation AS p", submissions)


def _add_assignments(annotators: int, hits: int) -> None:
    """The places of one HIT go to people who follow each other, so that nobody rates it twice."""
    numbered = (
        "(SELECT w.id, w.number, hit_id, row_number() OVER (PARTITION BY w.number ORDER BY w.id) + w.number AS k"  # noqa: S608
        f" FROM annotation_place AS w JOIN annotation_hit AS h ON h.id = hit_id AND h.number <= {hits}) AS w"
    )
    first, one = "(SELECT min(id) FROM annotation_rater)", f"w.k % {annotators}"
    leaves = f"{one} % 10 = 0 AND w.number > {one} / 10 % 4"
    other = f"{annotators} + {one} / 10"
    person = f"p.rater_id = {first} + CASE WHEN {leaves} THEN {other} ELSE {one} END"
    assignments = {
        "id": "w.id",
        "public_id": "lpad(w.id::text, 12, '0')",
        "hit_id": "w.hit_id",
        "rater_id": "p.rater_id",
        "participation_id": "p.id",
        "status": "'completed'",
        "position": f"w.k / {annotators} % {HITS_PER_ANNOTATOR} + 1",
        "completed_at": NOW,
    }
    copy_rows(Assignment, f"{numbered} JOIN annotation_participation AS p ON {person}", assignments)


def _add_ratings() -> None:
    rated = (
        "annotation_assignment AS a JOIN annotation_hitunit AS u ON u.hit_id = a.hit_id"
        " CROSS JOIN studies_criterion AS c"
    )
    ratings = {
        "assignment_id": "a.id",
        "rater_id": "a.rater_id",
        "unit_id": "u.unit_id",
        "criterion_id": "c.id",
        "place_id": "a.id",
        "label": "((a.id * 7 + u.unit_id * 13 + a.rater_id) % 3 - 1)::text",
        "side_a": "CASE WHEN (a.id + u.id) % 2 = 0 THEN 'left' ELSE 'right' END",
        "duration_ms": "3000 + (a.id * 37 + u.id * 11) % 20000",
        "client_key": "a.id || '-' || u.id",
        "created_at": f"{NOW} - interval '1 second' * (a.id % 500000)",
    }
    copy_rows(Rating, rated, ratings)
    counted = (
        "(SELECT unit_id, criterion_id, label, count(*) AS n FROM annotation_rating"
        " GROUP BY 1, 2, 3) AS t"
    )
    same = {name: f"t.{name}" for name in ("unit_id", "criterion_id", "label", "n")}
    copy_rows(Tally, counted, same)


def pay(study: Study) -> None:
    """Let the study pay: most were paid; others are owed, still work, left early, or failed the test."""
    channel = Channel.objects.create(study=study, provider="prolific", settings=PROLIFIC)
    Submission.objects.update(channel=channel)
    reward = PER_TASK * HITS_PER_ANNOTATOR
    terms = {"reward": reward, "hits_per_annotator": HITS_PER_ANNOTATOR}
    study.versions.update(**terms)
    others = {"minutes_per_hit": 3, "promised_hourly_rate": 9, "budget": BUDGET}
    Study.objects.filter(pk=study.pk).update(**terms, **others)
    # They entered long ago: of who still works, it is looked for whether they do.
    entered = {"created_at": models.F("consented_at")}
    Participation.objects.update(
        consented_version=study.versions.get(), paid_per="study", **entered
    )
    _pay_people(study, reward)


def _pay_people(study: Study, reward: Decimal) -> None:
    done = "(SELECT count(*) FROM annotation_assignment AS a WHERE a.participation_id = p.id)"
    status = (
        f"CASE WHEN {done} = 0 THEN 'screened_out' WHEN {done} < {HITS_PER_ANNOTATOR - 2} THEN 'returned'"
        " WHEN id % 20 = 2 THEN 'active' WHEN id % 50 = 3 THEN 'excluded' ELSE status END"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE annotation_participation AS p SET status = {status}")  # noqa: S608
    earned = f"CASE WHEN status = 'returned' THEN {PER_TASK} * {done} WHEN {done} > 0 THEN {reward} ELSE 0.60 END"
    payment = {
        "public_id": "lpad(p.id::text, 12, '0')",
        "participation_id": "p.id",
        "kind": "'reward'",
        "amount": earned,
        "currency": f"'{study.currency}'",
        "status": "CASE WHEN id % 500 = 5 THEN 'asked' ELSE 'paid' END",
        "created_at": NOW,
    }
    paid = "(SELECT * FROM annotation_participation WHERE status <> 'active' AND id % 4 > 0) AS p"
    copy_rows(Payment, paid, payment)
    bonus = {"public_id": "'b' || p.id", "kind": "'bonus'", "amount": "1", "status": "'paid'"}
    copy_rows(Payment, paid.replace("id % 4 > 0", "id % 10 = 0"), payment | bonus)


def store_some_report(study: Study) -> None:
    """Store a report of every twentieth unit without intervals: pages need only its size."""
    some = Rating.objects.filter(unit__study=study).annotate(rest=Mod("unit", 20)).filter(rest=0)
    table, scales = RatingTable.from_rows(rating_rows(study, some)), {"preference": SCALE}
    report = build_report(table, scales=scales, replicates=0)
    source = Source(table, scales)
    store_report(study=study, state=watermark(study), source=source, report=report)


def addresses(study: Study, user: User) -> dict[str, str]:
    """Return the pages that surround a study, those of its results, and those of all studies."""
    frame = study_frame(study, user)
    return {
        **{page.title: page.url for page in frame.pages},
        **{
            f"Results: {tab.title}": reverse("metrics:results-tab", args=[study.pk, tab.slug])
            for tab in PAGES
        },
        **{f"Step: {shown.step.title}": shown.url for shown in frame.steps},
        "What needs a person": reverse("metrics:attention", args=[study.pk]),
        "Import": reverse("annotation:new-study"),
        "Studies": reverse("admin:index"),
        "List of studies": reverse("admin:studies_study_changelist"),
    }


def visit(client: Client, name: str, address: str) -> Page:
    """Return the median time of several requests, and the first one's statements and size."""
    client.get(address)  # templates are compiled once per process
    queries = count()
    with connection.execute_wrapper(lambda run, *rest: (next(queries), run(*rest))[1]):
        answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        client.get(address)
        times.append(time.perf_counter() - start)
    return Page(name, next(queries), statistics.median(times), len(answer.content))


def main() -> int:
    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("migrate", verbosity=0)
    hits = RATINGS // (RATINGS_PER_HIT * UNITS)
    study = Study.objects.get(pk=make(hits, UNITS, RATINGS_PER_HIT, 30))
    fill(study, hits=hits)
    print(f"{Rating.objects.count():,} ratings, {study.places.count():,} places.", flush=True)
    pay(study)
    vacuum()
    store_some_report(study)
    user = User.objects.create_user("researcher", is_staff=True)
    Membership.objects.create(study=study, user=user)
    client = Client()
    client.force_login(user)
    return publish([visit(client, name, path) for name, path in addresses(study, user).items()])


def publish(pages: list[Page]) -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = [vars(page) for page in pages]
    text = json.dumps({"ratings": RATINGS, "pages": rows}, indent=1)
    (RESULTS / "pages.json").write_text(text + "\n")
    width = max(len(page.name) for page in pages)
    print(f"\n{'page':{width}}  statements      ms      kB")
    for page in pages:
        mark = f"   NOT REACHED: {', '.join(page.misses)}" if page.misses else ""
        print(
            f"{page.name:{width}}  {page.statements:10}  {page.seconds * 1000:6.0f}"
            f"  {page.bytes / 1000:6.0f}{mark}"
        )
    limits = f"{MAX_STATEMENTS} statements, {MAX_SECONDS * 1000:.0f} ms, {MAX_BYTES / 1000:.0f} kB"
    print(f"Each page must need at most {limits}.")
    return int(any(page.misses for page in pages))


if __name__ == "__main__":
    sys.exit(main())
