"""`manage.py simulate_raters`: bots take a study through the annotators' pages."""

import json
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.counts import study_counts
from jobs.commands import as_command_error
from jobs.models import Job
from jobs.worker import run_job
from recruitment.forms import MAX_RATERS
from recruitment.services.dry_runs import DryRunOptions, prepare_dry_run, suggested_raters
from recruitment.simulation.raters import simulate_raters
from studies.commands import study_named
from studies.models import Study
from tiebreak.digits import counted

RATERS = 3
BOUNDS = {
    **dict.fromkeys(("accuracy", "position_bias", "drop_out", "malice"), (0, 1)),
    "raters": (1, MAX_RATERS),
    "hits": (1, 1_000_000),
    "seconds": (0, 3600),
}


class Command(BaseCommand):
    help = (
        "Let bots rate an open study through the real pages; their ratings are marked simulated."
        " Studies that people have rated or that are connected to a platform are refused; with"
        " --dry-run, bots rate a copy of any study."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        parser.add_argument(
            "--raters", type=int, help="number of bots; by default 3, or as many as a dry run needs"
        )
        parser.add_argument("--hits", type=int, help="maximum number of tasks per bot")
        parser.add_argument("--accuracy", type=float, default=0.8)
        parser.add_argument("--position-bias", type=float, default=0.0)
        parser.add_argument("--drop-out", type=float, default=0.0)
        parser.add_argument(
            "--malice", type=float, default=0.0, help="share of answers given without reading"
        )
        parser.add_argument(
            "--seconds", type=float, default=8.0, help="median number of seconds per item"
        )
        parser.add_argument("--url", help="URL of a running server, such as http://127.0.0.1:8000")
        parser.add_argument(
            "--real-time", action="store_true", help="let bots wait for these seconds"
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="plan and open a copy of the study, rate it, and report what the bots experienced",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        for name, (least, most) in BOUNDS.items():
            if options[name] is not None and not least <= options[name] <= most:
                option = f"--{name.replace('_', '-')}"
                sentence = f"{option} must be between {least} and {most}, not {options[name]}."
                raise CommandError(sentence)
        if options["dry_run"]:
            return self._dry_run(study, options)
        return self._rate(study, options)

    def _rate(self, study: Study, options: dict[str, Any]) -> None:
        rate = _options(options)
        numbers = range(1, (options["raters"] or RATERS) + 1)
        bots = [replace(rate.bot(number), name=f"bot-{number}") for number in numbers]
        with as_command_error():
            answers = simulate_raters(
                study=study,
                bots=bots,
                seed=options["seed"],
                url=options["url"],
                in_real_time=options["real_time"],
            )
        counts = study_counts(study)
        result = {
            "study": study.pk,
            "raters": len(bots),
            "answers": answers,
            "in_statistics": counts.ratings,
        }
        sentence = (
            f"{counted(len(bots), 'bot')} gave {counted(answers, 'answer')}, marked as simulated."
            f" The statistics now include {counts.ratings} of {counts.expected} expected"
            " ratings."
        )
        self.stdout.write(json.dumps(result) if options["json"] else sentence)

    def _dry_run(self, study: Study, options: dict[str, Any]) -> None:
        wanted = replace(_options(options), raters=options["raters"] or suggested_raters(study))
        with as_command_error():
            job = prepare_dry_run(study=study, options=wanted)
        run_job(job_id=job.pk)
        job.refresh_from_db()
        if job.status != Job.Status.DONE:
            raise CommandError(job.problem or f"The dry run is {job.status}.")
        self._print_result(job, is_json=options["json"])

    def _print_result(self, job: Job, *, is_json: bool) -> None:
        page = f"{settings.TIEBREAK_PUBLIC_URL}/studies/{job.owner}/"
        result = {"study": job.owner, "dashboard": page, **job.result}
        if is_json:
            self.stdout.write(json.dumps(result))
            return
        self.stdout.write(
            f"{counted(result['raters'], 'bot')} gave {counted(result['answers'], 'answer')} in a"
            f" copy: {page}"
        )
        sentences = [conclusion["sentence"] for conclusion in result["conclusions"]]
        for sentence in sentences or ["No problem was found."]:
            self.stdout.write(sentence)


def _options(options: dict[str, Any]) -> DryRunOptions:
    names = ("accuracy", "position_bias", "drop_out", "malice", "seconds", "hits", "seed")
    return DryRunOptions(**{name: options[name] for name in names})
