"""Sentences on results, which pages, documents and the terminal show."""

from tiebreak.report.sections.machines.noise_ceiling import NO_PAIR as NO_PAIR_WITH_MACHINE
from tiebreak.stats.core.independence import MIN_CLUSTERS
from tiebreak.stats.raters.additive import NO_PAIR, ONE_LABEL

# Headings and sentences of findings.
REST_IS_LABELLED = "All other numbers describe only the answers with a label."
ABOUT_NONRESPONSE = (
    "First answers to main items in which the rater gave no label: they could not say, or reported the item as"
    " broken or harmful. No other number uses them. The intervals treat answers as independent."
)
ON_SELECTED, OVER_DATASET = ", on the selected instances", ", over the dataset"
WIN_RATE_IS = "The win rate of a system is P(win) + ½ P(tie) over all its comparisons."
WEIGHTED = (
    "Instances were drawn, so each is weighted by the inverse of the probability with which it was"
    " drawn."
)
AT_ONCE = (
    "A line is the 95% interval that holds simultaneously for all {n} comparisons, on which the heading rests,"
    " because among many equal systems one often seems better by chance. Its thick part is the interval of one"
    " system alone."
)
RANK_SET, RANK_SET_BY_STRENGTH = "Rank set by win rate", "Rank set by Bradley–Terry strength"
HOW_TO_READ_RANK_SETS = (
    "Rank set: the ranks that a system may have; with a probability of 95%, the sets of"
    " all systems contain the true ranks simultaneously. Systems whose sets overlap are neither"
    " shown to differ nor shown to be equally good."
)
WEIGHTED_TO_DATASET = "Weighted back to the whole dataset"
WITH_THESE = "With these annotators, "
WITHOUT_BAD = "Ratings that call both texts bad are not counted."
WITH_TWO = "with two ratings or more"
ALWAYS_WON = "In these ratings, {systems} won every comparison"
NO_WINNER = "No system is shown to win more often than it loses: no 95% interval lies above ½"
# What follows a heading that names who wins, of three systems or more.
OTHERS_OPEN_TOO = "; the {} are not told apart"
LEADERS_OPEN = "; they are not told apart"
ITS_RANK = "; its rank is {ranks} of {n}"
ALL_RANKED, SOME_RANKED = "; all ranks are known", "; not all other ranks are known"
RATE_OF_WINNER = "The win rate of {name} is {rate}."
TOO_FEW = f"{{n}} {{verb}} too few to say which system is better: {MIN_CLUSTERS} are needed"
TOO_FEW_OF_PAIRS = (
    f"Too few {{noun}}s to say which system is better: {MIN_CLUSTERS} of each pair are needed"
)
TOO_FEW_TO_AGREE = (
    f"{{n}} {{verb}} too few to say whether annotators agree: {MIN_CLUSTERS} are needed"
)
SAVED = "Selecting instances saved about {n} ratings for {pair}"
COST = "Selecting instances cost about {n} additional ratings for {pair}"
SAVING_UNKNOWN = "Selected instances of {pair}"
WITHOUT_PREFERENCE = (
    "Another {instances} were rated, but none of the ratings says which system is better."
)
INSTANCES_WERE_SELECTED = (
    "The instances of this study were drawn. Unless a sentence says otherwise, all numbers here"
    " describe only the selected instances. Do not generalize them to the rest of the dataset."
)
ELO_APART = (
    "Elo ratings cannot be weighted for drawn instances, so they are not shown with weighted numbers;"
    " their own figure has them."
)
INSTANCES_ARE_WEIGHTED = (
    "The instances of this study were drawn. Numbers weight each by the inverse of the probability with"
    " which it was drawn, and so describe the whole dataset. Only these describe the rated items: {titles}."
)
# Behind what a section says that drawn instances are not weighted for.
OF_RATED_ITEMS = (
    " The instances were drawn; these numbers describe the rated items and not the dataset: {why}."
)
# How figures and tests of drawn instances count them, by the instances that they apply to.
READING_IF_DRAWN = {
    "these": "",
    "dataset": (
        " The instances were drawn; each counts by the inverse of the probability with which it was drawn,"
        " so the numbers describe the whole dataset."
    ),
    "selected": (
        " The instances were drawn, and they do not represent the dataset: the numbers describe only"
        " the selected instances."
    ),
}
# Comparisons that are not shown, because there are too many machine raters.
LEFT_OUT = (
    "Left out: {names}. To compare them, choose machine raters on the command line: tiebreak analyze FILE"
    " --section {section} --machine NAME --machine NAME."
)
# While the planned number of responses is not reached.
NO_FINDING_YET = (
    "No finding is stated before the planned number of responses is reached: numbers hold for one look at"
    " it, not for looking again and again."
)
SEQUENCE_ABOVE = (
    "The line stays right however often you look; the numbers below it hold for one look, at the planned"
    " number of responses."
)
FORECAST_ABOVE = "The dashed part is a forecast for more instances and annotators like these."
STILL_MISSING = "{missing} of {planned} planned responses {verb} missing"
NOTHING_SHOWN = "No finding: {}"
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
    "The rates hold for new instances, not for other annotators. This assumes that tasks"
    " reach annotators at random, and that annotators do not arrive in blocks: if annotators of one week or"
    " channel prefer another system than those of the next, the rates may be wrong before all have come."
)
NO_PLAN_KNOWN = (
    "Stopping is about the whole of a study that was opened on this server. For other ratings it is"
    " not known how many were planned, so do not conclude anything from when they ended."
)
NO_SEQUENCE_YET = "The first planned instance is not complete yet."
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
    "A set that prefers each system is mixed, which is not a contradiction, because its comparisons show"
    " different texts: a coin without ties would give {coin} mixed sets in these tasks."
)
# The leading numbers.
NO_SYSTEMS = "The ratings of this criterion do not compare systems."
NO_COMPARISONS = "This number needs comparisons of two systems by annotators. Collect such ratings."
NOT_IN_REPORT = "This report is from before the number was added. Compute it again."
NO_MACHINES = "No machine rater has rated these items yet."
ADVICE = {
    NO_SYSTEMS: "Collect ratings that compare two systems' texts.",
    NO_MACHINES: "Let a judge or another machine rater rate them.",
    NO_PAIR: "Collect at least two ratings of some items.",
    NO_PAIR_WITH_MACHINE: "Collect at least two ratings of some of them.",
    ONE_LABEL: "Read the share of equal labels instead.",
}
MOST_RATED = "Of {} pairs of systems, {} has the most rated items. {}"
CHOSEN_AS_MAIN = ", chosen as the main one among {n} machine raters"
MOST_ANSWERS = (
    ", of {n} machine raters the one with the most answers to annotators' items and then the most agreement,"
    " which flatters the best of several"
)
NOT_RATED_BY_MAIN = "; {chosen}, which was chosen as the main machine rater, has no ratings here"
SINGLE_SETS = (
    "Each rating set has one rating (N = 1), so it cannot be mixed. Consistency needs several"
    " comparisons of an instance by the same annotator."
)
NO_SETS = "This criterion has no rating sets, because it does not compare two systems."
THICK = " The thick part of a line is the interval for these annotators alone."
OTHERS_OPEN = (
    "Whether new annotators would prefer it too is not shown: the annotators differ, and there are"
    " too few of them."
)
OTHERS_AGREE = (
    "Whether new annotators would is not shown: the annotators differ in who they agree with, and"
    " there are too few of them."
)
REST_OF_THESE_RATERS = "Agreement with machines does not hold for other annotators."
DESCRIBED_ONLY = (
    "Items chosen by how much annotators agree are described only, because a test among them would say"
    " nothing about other items."
)

# Ratings that were set aside, once the study is closed.
ABOUT_SET_ASIDE = (
    "A win rate is what the report would say if the ratings of a row also counted. Nothing is concluded"
    " from ratings that were left out, so none of these numbers has an interval. Answers to gold checks, to the"
    " test and to repeats are no ratings of the items compared here, so they are not in the table."
)
UNDECIDED_LATE = (
    " What late answers say is not shown before they are accepted or declined so that the decision does"
    " not depend on it."
)
