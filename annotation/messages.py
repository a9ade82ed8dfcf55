"""Sentences that annotators read when a request is refused or when an answer needs a note."""

from typing import NamedTuple

from studies.models import Study


class Note(NamedTuple):
    """A message shown next to a unit or to its saved answer."""

    code: str
    sentence: str


NO_WORK_LEFT = (
    "There is no task for you in this study right now, because all tasks are taken or complete."
    " Thank you."
)
PARTICIPATION_ENDED = (
    "Your participation in this study has ended. Your answers are saved. Thank you."
)
NOT_CLEARED = "Please complete the steps that come before the first task."
LIMIT_REACHED = (
    "You have completed the maximum number of tasks per person in this study. Thank you."
)
DAILY_LIMIT = (
    "You have completed the maximum number of tasks per person for today. Thank you. There may be"
    " more tasks after midnight (UTC)."
)
BUDGET_SPENT = "This study has received all the answers it needs. Thank you."
DAILY_BUDGET_SPENT = (
    "This study has received all the answers it needs for today. Thank you. There may be more"
    " tasks after midnight (UTC)."
)
TOO_MANY_AT_ONCE = (
    "Too many people are working on this study right now, so no tasks are available. Please try"
    " again in a few minutes."
)
TOO_MANY_ENTRIES = (
    "Too many people have joined this study from your internet address within the last hour."
    " Please try again in an hour. If you share the address with others, for example in a"
    " classroom, you can ask the person who invited you to raise this limit."
)
TOO_MANY_PEOPLE = (
    "This study limits how many people can take part from one internet address, and the limit has"
    " been reached for yours. If you took part before, please continue in the browser that you"
    " started in. If you share the address with others, you can ask the person who invited you to"
    " raise this limit."
)

# For annotators who have already taken part.
STUDY_NOT_OPEN: dict[str, str] = {
    Study.Status.DRAFT: "This study has not started yet. Please come back when you are invited.",
    Study.Status.PAUSED: "This study is paused, so no new tasks are available. Your answers are"
    " saved. Please come back later.",
    Study.Status.CLOSED: "This study is closed. Your answers are saved. Thank you.",
}
# For newcomers, who have no saved answers yet.
CLOSED_TO_NEWCOMERS: dict[str, str] = {
    Study.Status.DRAFT: STUDY_NOT_OPEN[Study.Status.DRAFT],
    Study.Status.PAUSED: "This study is paused and does not accept new participants right now."
    " Please come back later. If you came from a crowdsourcing platform and your time there runs"
    " out, please return your submission. Returning it costs you nothing.",
    Study.Status.CLOSED: "This study is closed and does not accept new participants. Thank you for"
    " your interest. You can close this page. If you came from a crowdsourcing platform, please"
    " return your submission there first. Returning it costs you nothing.",
}

SCREENING_INCOMPLETE = (
    "The researchers have not finished setting up the first part of this study. Please come back"
    " later using the same link."
)
UNANSWERED = "Please answer every question."
NO_TRY_LEFT = (
    "You have no attempts left. Please open the study's link again to see what you can do next."
)
SCREENED_OUT = (
    "You did not pass the test, and you have no attempts left. Thank you for your interest. You can"
    " close this page. If you came from a crowdsourcing platform, please return your submission"
    " there first. Returning it costs you nothing."
)

NO_ANSWER = "Please choose an answer."
NOT_A_LABEL = "Please choose one of the answers shown. ({})"
NOT_OFFERED = "This answer is not available here."
REASON_TOO_SHORT = (
    "Please give a reason of at least {} characters. Your answer will not be saved until you do."
)
REASON_TOO_LONG = "Please shorten your reason to 2,000 characters. Your answer is not saved yet."
DAMAGED_ANSWER = (
    "Your answer was damaged in transit and was not saved. Please reload the page and answer again."
)
TASK_STAYS = "Your new answer was not saved, because an answer stays once the next item is open."
RELEASED = (
    "You were away for too long, so this task was given to someone else. Your new answer was not"
    " saved. The tasks that you completed before still count."
)
LEFT_WITHOUT_TASK = (
    "You stopped before you completed a task, so it was given to someone else. Your new answer was"
    " not saved."
)
COMMENTS_OFF = (
    "Your comment was not saved, because this study no longer accepts comments. If it matters, please"
    " write to the person who invited you."
)
COMMENT_TOO_LONG = (
    "Your comment has {:,} characters and was not saved. Please shorten it to {:,} characters."
)
COMMENT_READ = (
    "The researchers have already dealt with your comment, so it cannot be removed. You can replace"
    " it by another one."
)
PLACE_LOST = Note(
    "place_lost",
    "The time for your last task ran out before you completed it, so the task was given to another"
    " annotator. Your answers are kept. This is a new task.",
)
TEST_PASSED = Note("test_passed", "You passed the test. The tasks begin here.")
CHECKS_MISSED = Note(
    "checks_missed",
    "Please read the texts carefully. Some of your answers were wrong on texts for which the"
    " correct answer is known. If this continues, your participation in this study may end.",
)
# Shown next to "Saved", by the flag that the answer received.
LATE = Note("late", "The study closed before this answer arrived, so it may not be counted.")
EXCLUDED = Note(
    "excluded",
    "Your participation in this study has ended, so this answer is kept but is not counted.",
)
SURPLUS = Note(
    "surplus",
    "This task has been given to another annotator in the meantime. Your answer is kept but may not be"
    " counted. Please continue with the next task.",
)
LEFT = Note(
    "left",
    "You stopped participating before this answer arrived, so it is kept but may not be counted.",
)

# A draw by machine raters' doubt.
NO_PILOT = (
    "A draw by machine raters' doubt needs a pilot. Choose a study of the same dataset in which machine"
    " raters rated every instance, and annotators some of them."
)
PILOT_OF_OTHER_DATASET = (
    "The pilot “{pilot}” uses another dataset, so it says nothing about these instances. Choose a pilot of"
    " the same dataset."
)
NO_PILOT_PREFERENCE = (
    "The pilot “{pilot}” has no criterion that compares two texts, so there is no win rate that a draw"
    " could make more precise."
)
NOT_ALL_JUDGED = (
    "In the pilot “{pilot}”, machine raters rated {judged} of the {of} instances with texts of {pair}."
    " They must rate every one of them before instances can be drawn by their doubt."
)
NO_PILOT_LABELS = (
    "In the pilot “{pilot}”, no annotator compared {pair}, so it cannot show whether a draw by the"
    " doubt of machine raters would pay off."
)
DOUBT_GAIN = (
    "{pair}: a draw at random would need {value} times the instances ({low} to {high},"
    " from the {n} instances that annotators rated in the pilot “{pilot}”) for a prediction-powered"
    " win rate with an interval of the same width."
)
GAIN_NOT_SHOWN = (
    "The pilot “{pilot}” does not show that a draw by machine raters' doubt pays off for {pair}: the lower"
    " bound of the gain must exceed 1. {shown} Draw at random instead, or collect more ratings in the"
    " pilot."
)
ERASED_MEANWHILE = (
    "Somebody was erased from the study while this was written, so it may tell of them and was deleted."
    " Start it again."
)
