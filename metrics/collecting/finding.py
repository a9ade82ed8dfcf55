"""What the page *Collect* says first: where collecting stands, in a sentence for each state."""

from datetime import datetime

from annotation.counts import StudyCounts
from metrics.results.collection_figure import has_pace, rest_in_words
from studies.design.steps import StudyFrame, StudyState
from studies.models import Study
from tiebreak.reading.words import counted

DRAFTS = {StudyState.UNFINISHED, StudyState.READY}


def finding(frame: StudyFrame, counts: StudyCounts, now: datetime) -> str:
    """Return where collecting stands, in at most 15 words."""
    so_far = f"{counts.completed} of {counts.places} responses"
    sentences = {
        StudyState.DRY_RUN: f"Dry run: bots have completed {so_far}",
        StudyState.PAUSED: f"Paused at {so_far}; nobody can work now",
        StudyState.CLOSED: f"Closed with {so_far if counts.remaining else 'all responses'}",
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
    return sentences.get(frame.state) or _open(frame.study, counts, now)


def _imported(counts: StudyCounts) -> str:
    if not counts.rows.people:
        return f"{counted(counts.rows.machines, 'rating')} by machine raters came from a file"
    people = counted(counts.annotators, "person", "people")
    return f"{counted(counts.rows.people, 'rating')} by {people} came from a file"


def _open(study: Study, counts: StudyCounts, now: datetime) -> str:
    if not counts.completed:
        return "The study is open; nobody has completed a task yet"
    share = f"{max(1, int(100 * counts.share))}% of the responses are completed"
    if not has_pace(study, counts):
        return share
    if not counts.completed_last_hour:
        return f"{share}; none came in the last hour"
    rest = rest_in_words(counts, now)
    return f"{share}; the rest takes {rest}" if rest else f"{share}; too early for a forecast"
