"""The runs of the benchmark of jobs, on the database and the broker of the environment."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import django

django.setup()

import numpy as np  # noqa: E402
from celery import current_app  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Sum  # noqa: E402
from redis import Redis  # noqa: E402

from benchmarks.harness import Row, publish  # noqa: E402
from benchmarks.servers import ROOT  # noqa: E402
from jobs.models import Job, JobChunk, Round  # noqa: E402
from jobs.services import requeue_stale_jobs, resume_job  # noqa: E402
from studies.data.dataset_jobs import start_dataset_job  # noqa: E402
from studies.models import (  # noqa: E402
    Dataset,
    Generation,
    Instance,
    SeparabilityScore,
    Study,
    StudySystem,
    System,
)

INSTANCES, SAMPLES, WORDS = 5_000, 5, 1_000
# Far longer than a run takes, also where starting workers takes most of the time.
MAX_SECONDS = 900
NUMBERS = count()
BROKER = Redis.from_url(os.environ["TIEBREAK_BROKER_URL"])
Process = subprocess.Popen[bytes]


def make_study(instances: int) -> Study:
    """Create a study with long texts of two systems."""
    dataset = Dataset.objects.create(name="Generated")
    systems = [System.objects.create(dataset=dataset, name=name) for name in ("one", "two")]
    study = Study.objects.create(title="Generated", guidelines="None.", dataset=dataset)
    for position, system in enumerate(systems):
        StudySystem.objects.create(study=study, system=system, position=position)
    rows = Instance.objects.bulk_create(
        Instance(dataset=dataset, key=f"i{n}", source="A source.") for n in range(instances)
    )
    draws, words = np.random.default_rng(0), np.array([f"word{n}" for n in range(5_000)])
    generations = (
        Generation(
            instance=row, system=system, sample_index=k, text=" ".join(draws.choice(words, WORDS))
        )
        for row in rows
        for system in systems
        for k in range(SAMPLES)
    )
    Generation.objects.bulk_create(generations, batch_size=500)
    return study


def start_scoring(study: Study) -> Job:
    return start_dataset_job(study=study, kind="scoring", options={"similarity": "rouge1"})


def start_worker() -> Process:
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "solo"]
    command += ["-Q", "interactive,default", "-n", f"worker{next(NUMBERS)}@%h"]
    return subprocess.Popen(
        [*command, "--loglevel", "CRITICAL"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill(worker: Process) -> None:
    worker.kill()
    worker.wait()


@contextmanager
def workers(number: int) -> Iterator[list[Process]]:
    """Start workers on an empty queue and without scores, and wait until all are ready."""
    BROKER.flushall()
    for model in (SeparabilityScore, Job, Round):
        model.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_stat_reset()")
    started = [start_worker() for _ in range(number)]
    try:
        wait_until(lambda: len(current_app.control.ping(timeout=1)) >= number)
        yield started
    finally:
        for worker in started:
            kill(worker)


def wait_until(
    condition: Callable[[], object], *, between: Callable[[], None] | None = None
) -> float:
    """Return how many seconds it took until the condition was true."""
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() > start + MAX_SECONDS:
            raise RuntimeError(f"Not in {MAX_SECONDS} s: {list(Job.objects.values())}")
        if between is not None:
            between()
        time.sleep(0.05)
    return time.perf_counter() - start


def is_done(job: Job) -> bool:
    job.refresh_from_db()
    return is_ended(job)


def is_ended(job: Job) -> bool:
    return job.status == Job.Status.DONE


def is_exact(job: Job) -> bool:
    """Whether every instance has one score, stored once, and the counts agree."""
    time.sleep(2)  # until PostgreSQL's processes have reported their statistics
    with connection.cursor() as cursor:
        table = SeparabilityScore._meta.db_table
        cursor.execute(
            "SELECT n_tup_ins, n_tup_upd FROM pg_stat_user_tables WHERE relname = %s", [table]
        )
        inserted, updated = cursor.fetchone()
    scores = SeparabilityScore.objects.count()
    print(
        f"{scores} scores, {inserted} inserted, {updated} updated; {job.done}/{job.total}",
        flush=True,
    )
    return {scores, int(inserted), job.done, job.total} == {INSTANCES} and int(updated) == 0


def scored_by(number: int, study: Study) -> tuple[Job, float]:
    with workers(number):
        job = start_scoring(study)
        return job, wait_until(lambda: is_done(job))


def scaling_rows(study: Study) -> list[Row]:
    """Measure the same job on one, two and four workers."""
    rows: list[Row] = []
    scored_by(2, study)  # reads all texts once, so that the first run has no colder caches
    for number in (1, 2, 4):
        job, seconds = scored_by(number, study)
        ratio = rows[0].seconds / seconds if rows else 1.0
        must, reached = (
            ("exact", True) if number != 2 else ("exact, ratio at least 1.5", ratio >= 1.5)
        )
        work = f"{INSTANCES:,} instances, ROUGE-1, {number} worker{'s' * (number > 1)}"
        rows.append(Row(work, seconds, 0, "one worker", ratio, must, is_exact(job) and reached))
    return rows


class Chaos:
    """Kills one of three workers every one to two seconds, and empties the broker once."""

    def __init__(self, started: list[Process], job: Job) -> None:
        self.started, self.job = started, job
        self.killed = self.lost_attempts = self.resumed = 0
        self.is_flushed = False
        self.next_kill = self.next_round = time.monotonic() + 1

    def __call__(self) -> None:
        now = time.monotonic()
        if now > self.next_round:  # as the periodic task does
            self.next_round = now + 1
            requeue_stale_jobs()
        if now > self.next_kill:
            self.next_kill = now + random.uniform(1, 2)
            victim = random.randrange(len(self.started))
            kill(self.started[victim])
            self.started[victim] = start_worker()
            self.killed += 1
        if not self.is_flushed and self.job.done > INSTANCES / 2:
            self.is_flushed = BROKER.flushall()
        if self.job.status == Job.Status.FAILED:  # a part whose workers were killed three times
            unfinished = self.job.chunks.exclude(status=JobChunk.Status.DONE)
            self.lost_attempts += unfinished.aggregate(n=Sum("attempts"))["n"]
            self.resumed += 1
            resume_job(job=self.job)


def chaos_row(study: Study) -> Row:
    with workers(3) as started:
        job = start_scoring(study)
        chaos = Chaos(started, job)
        seconds = wait_until(lambda: is_done(job), between=chaos)
    attempts = job.chunks.aggregate(n=Sum("attempts"))["n"] + chaos.lost_attempts
    repeated = attempts - job.chunks.count()
    print(f"{repeated} chunks begun again, resumed {chaos.resumed} times", flush=True)
    exact = is_exact(job) and repeated <= chaos.killed and chaos.is_flushed
    return Row(
        f"3 workers, {chaos.killed} killed and replaced, Redis emptied once;"
        f" {job.chunks.count()} parts begun again {repeated} times, resumed {chaos.resumed} times",
        seconds,
        0,
        "",
        None,
        "exact, only what was in work is repeated",
        exact,
    )


def return_row(study: Study) -> Row:
    """Kill both workers; a new one finds the job by the periodic task that it proposes itself."""
    with workers(2) as started:
        job = start_scoring(study)
        wait_until(lambda: is_done(job) or job.done > INSTANCES / 5)
        for worker in started:
            kill(worker)
        job.refresh_from_db()
        left_at = job.done
        time.sleep(6)
        job.refresh_from_db()
        has_stopped = job.done == left_at
        started[:] = [start_worker()]
        silent = wait_until(lambda: is_done(job) or job.done > left_at)
        wait_until(lambda: is_done(job))
    return Row(
        "all workers killed, one started: until the job continues",
        silent,
        0,
        "",
        None,
        "exact, under 120 s",
        is_exact(job) and has_stopped and silent < 120,
    )


def fairness_row(study: Study) -> Row:
    """Start a second job behind a long one, with one worker."""
    other = make_study(INSTANCES // 5)
    with workers(1):
        first, second = start_scoring(study), start_scoring(other)
        pauses = {job.pk: [time.monotonic()] for job in (first, second)}

        def note_progress() -> None:
            for job in (first, second):
                before = job.done
                job.refresh_from_db()
                if job.done > before:
                    pauses[job.pk].append(time.monotonic())

        wait_until(lambda: is_ended(first) or is_ended(second), between=note_progress)
        longest = max(float(np.diff(times).max()) for times in pauses.values())
        print(f"the second ended at {first.done} instances of the first", flush=True)
    return Row(
        f"{INSTANCES // 5:,} instances behind {INSTANCES:,}, 1 worker: longest pause of a job",
        longest,
        0,
        "",
        None,
        "the short job ends first, pauses under 5 s",
        is_ended(second) and not is_ended(first) and longest < 5,
    )


def main() -> int:
    call_command("migrate", verbosity=0)
    study = make_study(INSTANCES)
    work: dict[str, Callable[[Study], list[Row]]] = {
        "scaling": scaling_rows,
        "chaos": lambda study: [chaos_row(study)],
        "return": lambda study: [return_row(study)],
        "fairness": lambda study: [fairness_row(study)],
    }
    only = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(work)
    return publish("jobs", [row for name in only for row in work[name](study)])


if __name__ == "__main__":
    sys.exit(main())
