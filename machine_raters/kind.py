"""What a kind of machine rater is: what differs between judges, juries, baselines and synthetic sets."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.urls import reverse

from jobs.kinds import JobKind
from jobs.models import Job
from machine_raters.forms import MachineRaterForm
from machine_raters.judging.passes import Items
from machine_raters.messages import NO_SERVERS
from machine_raters.models import MachineRater
from studies.models import Study


class MachineJob(JobKind):
    """A job of one machine rater, whose id and name are among its options.

    ``page`` is the name of the page that shows the machine rater.
    """

    page: ClassVar[str] = "judges"
    # The options that name what else the job is about: only one for the same may be unfinished.
    also_about: ClassVar[tuple[str, ...]] = ()

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse(f"machine_raters:{self.page}", args=[job.owner])


@dataclass(frozen=True)
class Shown:
    """What a page needs for its lists of a study's machine raters: items, and jobs, newest last."""

    study: Study
    items: Items
    jobs: Sequence[Job]

    def newest(self, kind: type[MachineJob], public_id: str) -> Job | None:
        """Return the newest job of a kind of a machine rater."""
        own = [
            job for job in self.jobs if job.kind == kind.name and job.options["rater"] == public_id
        ]
        return own[-1] if own else None


class Kind(ABC):
    """A kind of machine rater. The verbs, the pages and the interface ask it for what differs."""

    name: ClassVar[MachineRater.Kind]
    model: ClassVar[type[MachineRater]]
    form: ClassVar[type[MachineRaterForm]]
    # The job that is started with it, and other jobs whose state its page shows.
    job: ClassVar[type[MachineJob]]
    other_jobs: ClassVar[tuple[type[MachineJob], ...]] = ()
    # The settings that are rows of other tables, which `add_rows` stores.
    rows: ClassVar[tuple[str, ...]] = ()
    has_rater: ClassVar[bool] = True
    starts_at_once: ClassVar[bool] = True

    # Its list and form: their address below the study's, which names them, and the page that has
    # them. Then the heading, and what is on the form's button.
    path: ClassVar[str]
    page: ClassVar[str] = "judges"
    heading: ClassVar[str]
    button: ClassVar[str]

    @property
    def url(self) -> str:
        return f"machine_raters:{self.path}"

    @property
    def part_url(self) -> str:
        return f"machine_raters:{self.path}-part"

    @property
    def template(self) -> str:
        return f"machine_raters/{self.name.replace('-', '_')}.html"

    @abstractmethod
    def of(self, study: Study) -> QuerySet[Any]:
        """Return the study's, with the counts that pages and the interface show."""

    def listed(self, study: Study, **only: Any) -> list[Any]:
        """Return the study's with everything that pages and the interface show."""
        return list(self.of(study).filter(**only))

    @abstractmethod
    def check_new(self, machine: Any, rows: Mapping[str, Any]) -> None:
        """Raise `DomainError` if one with these settings cannot be created."""

    def add_rows(self, machine: Any, rows: Mapping[str, Any]) -> None:  # noqa: B027  most kinds have none
        """Store the rows of other tables that belong to a new one."""

    def check_start(self, machine: Any) -> None:  # noqa: B027  a set can always go on
        """Raise `DomainError` if it could do nothing now."""

    def answers(self, machine: Any) -> int:
        """Return how many answers it has given, or others about it. With any it is never deleted."""
        return int(machine.rater.ratings.count())

    @abstractmethod
    def facts(self, machine: Any) -> dict[str, Any]:
        """Return what the study's log says about a new one in addition to its name."""

    def job_options(self, machine: Any) -> dict[str, Any]:  # noqa: ARG002  for subclasses
        """Return what its job needs to know before it has looked the machine rater up."""
        return {}

    def rows_of(self, shown: Shown) -> list[dict[str, Any]]:
        """Return what the page shows of each."""
        return [
            {
                "machine": machine,
                "job": shown.newest(self.job, machine.public_id),
                **self.row(machine, shown),
            }
            for machine in self.listed(shown.study)
        ]

    @abstractmethod
    def row(self, machine: Any, shown: Shown) -> dict[str, Any]:
        """Return what the page shows of one.

        `answers` says whether it has any, and `start` is on the button that starts it, or "" if it
        has nothing to do.
        """

    def why_not(self, form: Any) -> str:
        """Return why a form cannot be filled in, or ""."""
        field = form.fields.get("server")
        return NO_SERVERS if field and field.required and not field.choices else ""
