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
DAMAGED_ANSWER = (
    "Your answer was damaged in transit and was not saved. Please reload the page and answer again."
)
TASK_STAYS = "Your new answer was not saved, because an answer stays once the next item is open."
RELEASED = (
    "You were away for too long, so this task was given to somebody else. Your new answer was not"
    " saved. The tasks that you completed before still count."
)
PLACE_LOST = Note(
    "place_lost",
    "The time for your last task ran out before you completed it, so the task was given to another"
    " annotator. Your answers are kept. This is a new task.",
)
CHECKS_MISSED = Note(
    "checks_missed",
    "Please read the texts carefully. Some of your answers were wrong on texts for which the"
    " correct answer is known. If this continues, your participation in this study may end.",
)
# Shown beside "Saved", by the flag that the answer received.
LATE = Note("late", "The study closed before this answer arrived, so it may not be counted.")
EXCLUDED = Note(
    "excluded",
    "Your participation in this study has ended, so this answer is kept but is not counted.",
)
SURPLUS = Note(
    "surplus",
    "The time for this task ran out, so the task was given to another annotator. Your answer is"
    " kept but may not be counted. Please continue with the next task.",
)
LEFT = Note(
    "left",
    "You stopped participating before this answer arrived, so it is kept but may not be counted.",
)

# Machine ratings.
ADD_TO_DRAFT = (
    "This study is a draft, whose items may still change. Open it first, and add the ratings then."
)
NO_PILOT = (
    "A draw by machine raters' doubt needs a pilot. Choose a study of the same dataset in which machine"
    " raters rated every instance, and annotators some of them."
)
PILOT_OF_OTHER_DATASET = (
    "The pilot “{pilot}” uses another dataset, so it says nothing of these instances. Choose a pilot of"
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
    "In the pilot “{pilot}”, no annotator compared {pair}, so it cannot tell whether a draw by the"
    " doubt of machine raters would pay."
)
DOUBT_GAIN = (
    "{pair}: a draw at random would need {value} times as many instances ({low} to {high},"
    " from the {n} instances that annotators rated in the pilot “{pilot}”) for a prediction-powered"
    " win rate with an interval of the same width."
)
GAIN_NOT_SHOWN = (
    "The pilot “{pilot}” does not show that a draw by machine raters' doubt pays for {pair}: the lower"
    " bound of the gain must exceed 1. {shown} Draw at random instead, or collect more ratings in the"
    " pilot."
)

# Judges.
RATER_NAME_TAKEN = "A rater of this study is already called {name}. Please choose another name."
JUDGE_REPEATS_ITSELF = (
    "At temperature 0 all answers to the same question are equal. Please ask for one answer to each"
    " item and order, or raise the temperature."
)
JUDGE_HAS_ONE_PROBABILITY = (
    "The probabilities of answers are the same each time. Please ask once about each item and order,"
    " or choose written answers."
)
JUDGE_WITHOUT_LABELS = (
    "Probabilities are asked for where a scale has at most {most} labels. Please choose written"
    " answers, or another criterion."
)
EXAMPLES_NOT_TRAINING = (
    "{item} is not the key of a training item of this study. Please enter keys of training items,"
    " whose expected answers people see as well."
)
EXAMPLES_REPEATED = "The set has an item twice. Please enter each item once."
EXAMPLES_NAME_TAKEN = (
    "A set of examples of this study is already called {name}. Please choose another name."
)
EXAMPLES_TWICE = (
    "Please choose either a set of examples or a number of training items, and 0 for the number with"
    " a set."
)
EXAMPLES_WITHOUT_LABEL = (
    "{item} has no expected answer for {criterion}, or is no training item any more. Please choose a"
    " set whose items all have one."
)
EXAMPLES_CHANGED = (
    "The training items that this judge reads as examples have changed since it was created, so its"
    " ratings would not all be made in the same way. Please create another judge."
)
EXAMPLE_SET_IN_USE = "A judge uses this set of examples. Please delete that judge first."
NO_SUCH_EXAMPLE_SET = (
    "This study has no such set of examples. Reload the page to see those that it has."
)
JUDGE_ASKS_ALL = (
    "With a budget, please choose which comparisons it is spent on: symmetric, no repeat or random."
    " “All” asks about every comparison."
)
JUDGE_ASKS_TWICE = (
    "A symmetric schedule asks about each pair in both orders, so its budget is an even number."
    " Please change the budget by one."
)
ALWAYS_FIRST = (
    "All {number} readable answers prefer text {letter}, wherever each system's text was shown. A"
    " judge that looks at the place only says nothing about the texts: its preferences in the two"
    " orders cancel out."
)
ALWAYS_SAME = (
    "All {number} readable answers are the same: {label}. The texts may be alike, but a judge that"
    " does not read them answers like this, too. Read its answers in a trial."
)
SEVERAL_MODELS = (
    "The server named {number} models or revisions, so that not all answers were made by the same"
    " one. The table says how many came from each. Compare them, or create another judge and let it"
    " rate with one model."
)
CHOICES_IGNORED = (
    "The server constrained {constrained} answers, or said so, but {number} unreadable ones are none"
    " of the allowed answers. It may ignore the constraint."
)
JUDGE_WRITES_NOTHING = (
    "A judge that answers by probability writes nothing that could be constrained. Please choose"
    " written answers, or no constraint."
)
JUDGE_OF_NUMBERS = (
    "This criterion takes any number, so there are no answers to which a judge could be constrained."
    " Please choose no constraint, or another criterion."
)
NO_PROBABILITIES = (
    " If this server does not tell probabilities, create a judge with written answers and several"
    " answers to each item: the shares of its answers estimate the probabilities."
)
JUDGE_IN_DRAFT = (
    "This study is a draft, whose items may still change. Launch it first, and let the judge rate"
    " then. You can try the judge on five items now."
)
JUDGE_NO_ITEMS = (
    "There is nothing to rate: no planned item of this study has texts. Upload verdicts that were"
    " given elsewhere, or start a new study from the texts."
)
JUDGE_HAS_RATINGS = (
    "This judge has rated items or is at work, and ratings are never deleted. Please leave it as it"
    " is, and create another judge for other settings."
)
SYNTHETIC_NO_MODEL = (
    "This model server does not say which language model it runs. Enter the name of the model that is"
    " to write."
)
JUDGE_NO_MODEL = (
    "This model server does not say which language model it runs. Enter the name of the model that the"
    " judge is to ask."
)
JUDGE_WITHOUT_STEPS = (
    "The model wrote no evaluation steps, so nothing was asked. {} Try again, or create a judge without"
    " steps."
)
NO_SUCH_JUDGE = "This study has no such judge. Reload the page to see those it has."

# Synthetic items.
NO_SUCH_SYNTHETIC_SET = "This study has no such synthetic set. Reload the page to see those it has."
NO_SYNTHETIC_CRITERIA = (
    "Synthetic items have labels for the criteria {names}, and this study has none that they fit."
    " Single texts are answered by yes or no (scale nominal:yes,no), comparisons by a preference, and"
    " context relevance has no comparisons, because both answers share their passage. Start from a"
    " RAG template, or name your criteria so."
)
FEW_PASSAGES = (
    "Synthetic items are made from passages, and this study has fewer than two different ones. Put"
    " the passage of each instance into a message with the role Passage, or into its source."
)
NO_EXAMPLE_QUESTIONS = (
    "The model cannot be shown questions of this study as examples, because no instance has a turn with"
    " the role Question. Put the question of each instance into a message with the role Question, and"
    " its passage into one with the role Passage. To go on without examples, and with the source of"
    " each instance as its passage, set the number of examples to 0."
)
SYNTHETIC_NAME_TAKEN = "This study has a synthetic set named {name}. Please choose another name."
JUDGE_HAS_NO_SYNTHETIC_ITEMS = (
    "The synthetic set has no items for {criterion}. Wait until it is made, or look at why its texts"
    " were dropped."
)
SYNTHETIC_HAS_ANSWERS = (
    "Judges have answered items of this synthetic set, and their answers are kept. Please exclude"
    " the set instead: it is then left out of what judges are asked and of the results."
)
SYNTHETIC_EXCLUDED = (
    "This synthetic set is excluded, so no more texts are made for it and no judge is tested on it."
    " Please reinstate it first, or have another set made."
)

# What machines made by mistake.
MACHINE_AT_WORK = (
    "A job is still at work on it. Please stop the job under Jobs, or wait until it is finished, and"
    " try again then."
)
EXCLUSION_NO_REASON = (
    "An exclusion needs a reason, because reports and exports state it. Please say what is wrong."
)
REASON_TOO_LONG = "The reason is too long. Please say what is wrong in at most {most} characters."

# Baselines.
BASELINE_HAS_RATINGS = (
    "This simple rater has rated items, and ratings are never deleted. Please exclude it instead: its"
    " ratings are then left out of all results."
)
BASELINE_EXCLUDED = (
    "This simple rater is excluded, so it rates nothing more. Please reinstate it first, or add"
    " another one."
)
BASELINE_IN_DRAFT = "This study is a draft, whose items may still change. Open it first, and add simple raters then."
BASELINE_NO_PAIRS = (
    "There is nothing to rate: no planned item of this study compares two texts. Upload verdicts that"
    " were given elsewhere, or start a new study from the texts."
)
BASELINE_NEEDS_PREFERENCE = (
    "Simple raters prefer one of two texts, but {criterion} is not a preference. Please choose a"
    " criterion with a scale of preference."
)
BASELINE_NO_REFERENCE = (
    "No item of this study has a reference to compare its texts with. Please choose a rule that"
    " needs none."
)
REWARD_NO_MODEL = (
    "The server does not say which model it runs. Please enter the name of the reward model."
)
BASELINE_SERVER_NOT_USED = (
    "Only a reward model needs a model server here. Please leave server and model empty, or choose"
    " the rule of a reward model."
)
PERPLEXITY_NO_SERVER = (
    "{system} has no model server that could say how probable the reference is. Please choose one for"
    " it in the dataset."
)
PERPLEXITY_NO_MODEL = "Please enter the language model of {system} in the dataset."
PERPLEXITY_OF_PROMPT = (
    "The prompt of {system} contains the reference, so how probable the reference is says nothing."
    " Please choose another rule."
)
NO_SUCH_BASELINE = "This study has no such simple rater. Reload the page to see those it has."

# Juries.
FEW_MEMBERS = "A jury needs two members or more. Please choose them among the machine raters."
JURY_NEEDS_LABELS = (
    "A jury decides between labels, but {criterion} allows any number. Please choose a criterion with"
    " labels."
)
JURY_NOTHING_TO_DECIDE = (
    "There is nothing to decide: no item has been answered by all members that the jury has not decided"
    " already. Please let the members rate the same items first."
)
JURY_NEEDS_ALL_ANSWERS = (
    "Dawid and Skene's method compares the members on all {items} items at once, but not all have been"
    " answered ({lacking}). Please let these members rate the remaining items first, or choose another"
    " rule."
)
JURY_MEMBER_HAS_BUDGET = (
    "Dawid and Skene's method compares the members on all {items} items at once, but not all have been"
    " answered ({lacking}). The budget of {judges} is too small to rate all items, so it cannot be a"
    " member for this rule. Please choose a judge without a budget, or another rule."
)
JURY_MEMBER_LACKS = "{member} lacks {missing}"
JURY_MEMBER_EXCLUDED = (
    "{member} is excluded, so the jury cannot decide anything more. Please reinstate it first, or add a"
    " jury without it."
)
NO_SUCH_JURY = "This study has no such jury. Reload the page to see those it has."
