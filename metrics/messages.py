"""Sentences for researchers on the dashboard and on the page Generate & select."""

# Headings and sentences of findings.
ON_SELECTED, OVER_DATASET = ", on the selected instances", ", over the dataset"
WIN_RATE_IS = "The win rate of a system is P(win) + ½ P(tie) over all its comparisons."
WEIGHTED = (
    "Instances were drawn, so each is weighted by the inverse of the probability with which it was"
    " drawn."
)
AT_ONCE = (
    "A line is the 95% interval of one system alone. The heading rests on wider intervals that hold"
    " for all {n} comparisons at once, because among many equal systems one often"
    " seems better by chance."
)
RANK_SET, RANK_SET_BY_STRENGTH = "Rank set by win rate", "Rank set by Bradley–Terry strength"
HOW_TO_READ_RANK_SETS = (
    "Rank set: the ranks that a system may have; with a probability of 95%, the sets of"
    " all systems contain the true ranks at once. Systems whose sets overlap are neither shown to"
    " differ nor shown to be equally good."
)
WEIGHTED_TO_DATASET = "Weighted back to the whole dataset"
WITH_THESE = "With these annotators, "
WITHOUT_BAD = "Ratings that call both texts bad are not counted."
WITH_TWO = "with two ratings or more"
ALWAYS_WON = "In these ratings, {systems} won every comparison"
NO_WINNER = "No system is shown to win more often than it loses"
TOO_FEW = "{n} {verb} too few to say which system is better"
TOO_FEW_OF_PAIRS = "There are too few {noun}s to say which system is better"
SAVED = "Selecting instances saved about {n} ratings for {pair}"
COST = "Selecting instances cost about {n} additional ratings for {pair}"
SAVING_UNKNOWN = "Selected instances of {pair}"
WITHOUT_PREFERENCE = (
    "A further {instances} were rated, but none of the ratings says which system is better."
)
INSTANCES_WERE_SELECTED = (
    "The instances of this study were drawn. Unless a sentence says otherwise, all numbers here"
    " describe only the selected instances. Do not generalize them to the rest of the dataset."
)
ELO_APART = (
    "Elo ratings cannot be weighted for drawn instances, so they do not stand beside weighted numbers;"
    " their own figure has them."
)
INSTANCES_ARE_WEIGHTED = (
    "The instances of this study were drawn. Win rates, Bradley–Terry strengths, biases, agreement"
    " among annotators and with machines weight each by the inverse of the probability with which it"
    " was drawn, and so describe the whole dataset. All other numbers, such as consistency, shares of"
    " items and Elo ratings, are unweighted and describe only the selected instances."
)

# How figures and tests of drawn instances count them, by the instances that they speak of.
READING_IF_DRAWN = {
    "these": "",
    "dataset": (
        " The instances were drawn; each counts by the inverse of the probability with which it was drawn,"
        " so that the numbers describe the whole dataset."
    ),
    "selected": (
        " The instances were drawn, and they do not represent the dataset: the numbers describe only the"
        " selected ones."
    ),
}

# Comparisons that are not shown, because there are too many machine raters.
LEFT_OUT = (
    "Left out: {names}. To compare them, choose machine raters on the command line: tiebreak analyze FILE"
    " --section {section} --machine NAME --machine NAME."
)

# While the planned number of responses is not reached.
NO_FINDING_YET = (
    "No finding is stated: this interval holds for one look at the planned number of responses, not"
    " for looking again and again."
)
NO_PAIRS_TO_WATCH = (
    "Confidence sequences need a main criterion that compares two systems, so no finding is stated"
    " before the planned number of responses is reached."
)
NO_WINNER_YET = "No system is shown to win more often than it loses so far"
WATCHED = (
    "Until a study ends at its planned number of responses, findings come from confidence sequences:"
    " however often you look, all of them are right with a probability of at least 95% together (each"
    " at {level:.4g}, for {statements})."
)
WATCHED_UNITS = (
    "One observation is the mean of all planned ratings of one instance, in the random order drawn at"
    " planning; complete instances wait for unfinished ones before them."
)
WATCHED_SCOPE = (
    "The rates generalize to similar instances, and not to other raters. This assumes that tasks"
    " reach annotators at random, and that annotators do not arrive in blocks: if those of one week or"
    " channel prefer another system than those of the next, the rates may be wrong before all have come."
)
NO_PLAN_KNOWN = (
    "Stopping is about the whole of a study that was opened on this server. For other ratings it is"
    " not known how many were planned, so do not conclude anything from when they ended."
)
NO_SEQUENCE_YET = "The first planned instance is not complete yet."
REACHED = (
    "Findings come from intervals for one look at the planned number of responses. Collecting more"
    " because of what you saw would need confidence sequences again."
)
CLOSED_EARLY = (
    "The study is closed. Unless the planned number of responses was reached before, its findings stay"
    " those of the confidence sequences, and the report says that it was closed early."
)
NEEDED_ASSUMES = (
    "These forecasts assume that instances to come are like those so far, and are medians of several"
    " possible futures: take them as orders of magnitude. The cost is that of all ratings of these"
    " instances by the study's reward and its highest fee."
)
AT_ONE_LOOK = (
    "The last column is for a study that plans the number in advance and looks once: 80% of such studies"
    " have the width, by the variance components of these ratings and for these raters."
)
NOT_IN_SIGHT = "not in sight"

# Generate & select.
DUMMY_TEXTS = "Dummy texts (testing only)"
NO_SERVER = (
    "No model server is configured. The administrator of this server can add one to"
    " TIEBREAK_MODEL_SERVERS, for example gpu1=http://10.0.0.5:8000/v1, and restart Tiebreak; see"
    " docs/generate-and-select.md. To try this page without a model server, choose dummy texts. They"
    " are marked wherever they are shown, and a study that shows them cannot be opened."
)
SERVER_HELP = (
    "The administrator of this server configures the model servers. A system for which the dataset"
    " names a server uses that server instead."
)
PROMPT_HELP = "Used for systems without a prompt template of their own. The instance's text replaces {source}."
PROMPT_WITHOUT_SOURCE = (
    "The prompt does not contain {source}. Write {source} where the instance's text belongs."
)
TEMPERATURES_HELP = (
    "For example 0.3, 0.7, 1. If you list temperatures, texts are generated only at these"
    " temperatures and only for some instances, to show whether separability (δ) depends on the"
    " temperature."
)
BAD_TEMPERATURES = "List up to 8 numbers above 0 and at most 2, for example 0.3, 1."
NO_SUCH_JOB = "This study does not have this job. Reload the page to see the study's jobs."
NO_DATASET = "The study has no dataset. Choose one first."
GENERATION_STARTED = "Text generation has started. This page shows its progress."
SCORING_STARTED = "Scoring has started. This page shows its progress."
JOB_PAUSES = "The job will pause when its current batch is finished."
JOB_RESUMED = "The job has been resumed."
JOB_STOPPED = "The job has ended. Everything that it stored is kept."
EXPORT_STARTED = (
    "The export has started. Its download link appears under Exports when it is finished."
)
TOO_MANY_FOR_DIRECT = (
    "This study has more than {:,} ratings, so a worker writes the file. Choose the format CSV below and"
    " press Export."
)
JOBS_ENDED = "No job is running any more. The results are shown below."

# Planning the size.
SINGLE_RATINGS = (
    "A plan keeps at least 15% of instances with two ratings or more, or agreement and consistency"
    " cannot be told. Here all instances of a study get the same number, so R is at least 2."
)
ONLY_DRAFTS = "N and R can be planned only for a draft. Clone the study to plan another one."
NO_SUCH_PLAN = "These numbers cannot be N and R. Choose a design of the table."
APPLIED = "N is now {n} and R is now {r}. The tasks are planned again when the study opens."
PILOT_WITHOUT_COMPONENTS = (
    "This study compares no systems, or its report is older than the planner: look at its results"
    " once, so that the report is made again."
)

# Parts of a study.
OF_A_PART = (
    "You look at a part of the ratings that was chosen after seeing the data. Of many parts, some"
    " differ by chance alone, so this page states no finding about it. The numbers keep their"
    " intervals, each of which speaks of this part only; call them exploratory if you report them."
)
EMPTY_PART = (
    "No rating that counts is in this part. Remove one of the filters, or wait for more ratings."
)
OUTCOME_HIDDEN = (
    "Not shown for annotators chosen by their checks: if you leave people out, you must not see first"
    " what that does to the outcome, because that would be a selection on the outcome."
)

# Ratings that were set aside, once the study is closed.
ABOUT_SET_ASIDE = (
    "A win rate is what the report would say if the ratings of a row counted, too. Nothing is concluded"
    " from ratings that were left out, so none of these numbers has an interval."
)
UNDECIDED_LATE = (
    " What late answers say is not shown before they are accepted or declined, so that the decision does"
    " not depend on it."
)

# Sections that are computed on request.
MORE_SECTIONS = (
    "These take longer. Each is computed when you open it, and kept until there are new ratings."
)

# The report for programs.
REPORT_PENDING = "The report is being built. Ask again in a few seconds."

# The dashboard.
NO_SHARED_RANK = "The win rate has no interval, or does not rank systems."
NO_UNITS = "No items are in this stratum."
STRATA_BY_AGREEMENT = (
    "These strata are formed by how much annotators agree, so the agreement within them follows from"
    " how they were formed and is not a finding. Use them to compare machine raters with annotators."
)
MACHINES_FIRST = (
    "Check machine raters on these items first, because the annotators' answer is clear there. "
)
RATING_SET = (
    "A rating set is one annotator's ratings of one instance for one pair of systems. Its"
    " consistency runs from 0 (it prefers each system at least once, or has only ties) to 1 (it"
    " prefers the same system at full strength every time)."
)
MIXED = (
    "A set that prefers each system is mixed, which is no contradiction, because its comparisons show"
    " different texts: a coin without ties would give {coin} mixed sets in these tasks."
)

# The leading numbers.
NO_SYSTEMS = "The ratings of this criterion do not compare systems."
NO_MACHINES = "No machine rater has rated these items yet."
CHOSEN_AS_MAIN = ", chosen as the main one of {n} machine raters"
MOST_ANSWERS = (
    ", of {n} machine raters the one with most answers to annotators' items and then most agreement,"
    " which flatters the best of several"
)
NOT_RATED_BY_MAIN = "; {chosen}, which was chosen as the main one, has no ratings here"
SINGLE_SETS = (
    "Each rating set has one rating (N = 1), so it cannot be mixed. Consistency needs several"
    " comparisons of an instance by the same annotator."
)
NO_SETS = "This criterion has no rating sets, because it does not compare two systems."
THICK = " The thick part of a line is the interval for these raters alone."
OTHERS_OPEN = (
    "Whether new annotators would prefer it too is not shown: the annotators differ, and there are"
    " too few of them."
)
OTHERS_AGREE = (
    "Whether new annotators would is not shown: the annotators differ in whom they agree with, and"
    " there are too few of them."
)
REST_OF_THESE_RATERS = "Agreement with machines and consistency do not generalize to other raters."

DEMO_STARTED = "The demo study is being loaded. It appears on this page within a minute."
