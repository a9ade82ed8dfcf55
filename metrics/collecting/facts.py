"""The five numbers of the page *Collect*, each with what it says or why there is none."""

from dataclasses import dataclass
from datetime import datetime

from annotation.counts import StudyCounts
from metrics.results.collection_figure import has_pace, rest_in_words
from recruitment.costs import Accounts
from studies.design.steps import StudyFrame, StudyState
from studies.models import Study
from tiebreak.digits import counted, in_thousands, money

DRAFTS = {StudyState.UNFINISHED, StudyState.READY}


def finding(
    frame: StudyFrame, counts: StudyCounts, now: datetime, possible: int | None = None
) -> str:
    """Return where collecting stands, in at most 15 words.

    ``possible`` is how many of the missing responses can come, if there is a limit.
    """
    so_far = f"{counts.completed:,} of {counts.places:,} responses"
    sentences = {
        StudyState.DRY_RUN: f"Dry run: bots have completed {so_far}",
        StudyState.PAUSED: f"Paused at {so_far}; nobody can work now",
        StudyState.CLOSED: f"Closed: {so_far if counts.remaining else f'all {counts.places:,} responses'} are in",
        StudyState.STALLED: f"Nobody can enter, and {counted(counts.remaining, 'response')} are missing",
    }
    if frame.state in DRAFTS:
        following = frame.next_step
        next_is = f"next comes {following.step.title}" if following else "the study is a draft"
        return f"Nothing is collected yet: {next_is}"
    if frame.state == StudyState.IMPORTED:
        return _imported(counts)
    if not counts.remaining and frame.study.status == Study.Status.OPEN:
        return "All responses are completed; close the study or raise R"
    return sentences.get(frame.state) or _open(frame.study, counts, now, possible)


def _imported(counts: StudyCounts) -> str:
    if not counts.rows.people:
        return f"{counted(counts.rows.machines, 'rating')} by machine raters came from a file"
    people = counted(counts.annotators, "person", "people")
    return f"{counted(counts.rows.people, 'rating')} by {people} came from a file"


def _open(study: Study, counts: StudyCounts, now: datetime, possible: int | None) -> str:
    if not counts.completed:
        return "The study is open; nobody has completed a task yet"
    share = f"{min(99, max(1, round(100 * counts.share)))}% of the responses are completed"
    if possible is not None and possible < counts.remaining:
        return f"{share}; at most {possible:,} of the {counts.remaining:,} missing can come"
    if not has_pace(study, counts):
        return share
    if not counts.completed_last_hour:
        return f"{share}; none came in the last hour"
    rest = rest_in_words(counts, now)
    return f"{share}; the rest takes {rest}" if rest else f"{share}; too early for a forecast"


NO_NUMBER = "–"
ORDER = ("done", "people", "working", "money", "hourly")


@dataclass(frozen=True)
class Fact:
    slug: str
    title: str
    value: str
    detail: str
    due: str = ""  # what of it is not as was promised

    @property
    def is_undefined(self) -> bool:
        return self.value == NO_NUMBER


def progress_facts(study: Study, counts: StudyCounts) -> list[Fact]:
    """Return what changes with every answer: what is done, and who is at work."""
    if study.is_imported:
        return [
            Fact("done", "Done", in_thousands(counts.rows.counted), "ratings from a file"),
            Fact("people", "People", in_thousands(counts.annotators), "gave these ratings"),
            Fact("working", "Working now", NO_NUMBER, "nobody: the ratings are imported"),
        ]
    done = Fact("done", "Done", in_thousands(counts.completed), f"of {counts.places:,} responses")
    working = Fact("working", "Working now", in_thousands(counts.live), "with a task open")
    if study.status in (Study.Status.PAUSED, Study.Status.CLOSED):
        working = Fact("working", "Working now", NO_NUMBER, f"nobody: the study is {study.status}")
    return [done, working]


def people_facts(study: Study, accounting: Accounts) -> list[Fact]:
    """Return how many people entered, what they were paid, and the pay for an hour."""
    return [*_people(study, accounting), *money_facts(study, accounting)]


def _people(study: Study, accounting: Accounts) -> list[Fact]:
    if study.is_imported:  # and nobody entered here
        return []
    entered, most = accounting.ledger.totals.participants, accounting.maximum.most_people
    if study.dry_run_of_id is not None:
        return [Fact("people", "People", in_thousands(entered), "all of them bots")]
    if most is None:
        return [Fact("people", "People", in_thousands(entered), "entered; no maximum is set")]
    return [
        Fact("people", "People", in_thousands(accounting.maximum.people), f"of at most {most:,}")
    ]


def in_order(facts: list[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: ORDER.index(fact.slug))


def money_facts(study: Study, accounting: Accounts) -> list[Fact]:
    costs = accounting.costs
    if costs is None:
        why = "nobody pays bots" if study.dry_run_of_id is not None else "no reward is stated"
        return [
            Fact("money", "Money", NO_NUMBER, why),
            Fact("hourly", "Hourly pay", NO_NUMBER, why),
        ]
    paid, promised = accounting.ledger.money, study.promised_hourly_rate
    rate = paid.median_hourly_rate
    detail = f"{costs.currency}, median"
    detail += f"; promised {money(promised)}" if promised else ""
    few, people = paid.under_promise, counted(paid.timed, "paid person", "paid people")
    due = f"{few:,} of {people} got less" if few else ""
    most = money(accounting.maximum.total)
    sums = f"{costs.currency} paid, {money(costs.owed)} owed"
    more = accounting.ledger.owed_once_they_stop
    sums += f" and {money(more)} more once those who work stop" if more else ""
    sums += f", at most {most}" if study.status != Study.Status.CLOSED else ""
    return [
        Fact("money", "Money", money(costs.spent), sums),
        Fact("hourly", "Hourly pay", money(rate), detail, due)
        if rate is not None
        else Fact("hourly", "Hourly pay", NO_NUMBER, "nobody has been paid yet"),
    ]
