"""Sentences about licences."""

SPEAKS_OF = (
    "A licence records the decision to let a machine rater stand in for an annotator. ω is the share of the"
    " annotators whom it is shown to match if its labels may fit the other annotators' labels less often than"
    " their own do, by up to ε; a coin's average is listed next to it. It applies to these"
    " annotators, not to others, and does not show that the machine rater is right."
)
PASSED = (
    "Passed: with an allowance of {epsilon} the machine rater is shown to match {of}, and {needed} are needed. That is"
    " a share of {rate}; flipping a coin matches {coin} on average. It agrees with one annotator in {agreement}, at"
    " least {low}, and the best simple guess in {guess}."
)
WHY_NOT = {
    "coins_pass": "more than 5% of 200 simulated coins pass the alternative annotator test with an allowance of {epsilon}"
    " and with every smaller one, down to 0: these labels cannot distinguish an annotator from a coin.",
    "not_passed": "with an allowance of {epsilon} it is shown to match {of}, and {needed} are needed (a share of {rate};"
    " flipping a coin matches {coin} on average).",
    "not_above_guessing": "agreement with one annotator, {agreement}, may be as low as {low}, and a guess"
    " (a coin, one label for all items, the longer or the shorter text) agrees in {guess}.",
}
MATCHED = "It is shown to match {of}, and {needed} are needed."
# The same for a table, by the code of what is lacking.
SHORTLY = {
    "": MATCHED,
    "not_passed": MATCHED,
    "coins_pass": "Flipping a coin would pass, too: these labels cannot distinguish an annotator from a coin.",
    "not_above_guessing": "It may agree with an annotator no more often than a guess does.",
}
NOT_WORSE = "That does not show that the machine rater is worse than they are."
NO_WIN_RATES = "It adds nothing to win rates, because this criterion has none."
NO_FURTHER_ITEMS = "Its contribution to win rates is unknown: for this it must have rated items that no annotator rated."
NO_SPREAD = "Its ratings or the annotators' ratings do not vary, so no interval can be computed."
NO_INTERVAL_ALONE = "Without the other machine raters, no interval can be computed."
UNKNOWN_GAIN = "Its contribution to win rates is unknown. {reasons}"
UNREACHED = (
    "The planned number of responses is not reached. Until then the tests have no outcome here, and no"
    " machine rater may stand in, because a test that is repeated until it passes will pass."
)

NOT_KNOWN_YET = "Not known before the planned number of responses is reached."
NONE_TESTED = "None: no kind could be tested. {reasons}"
NONE_PASSES = "None: no machine rater passes the test on {tested}."
NOT_TESTED = " Not tested: {kinds} of item. {reason}"

# Refusals.
EVIDENCE_PENDING = (
    "The evidence of the current ratings is being computed. Try again in a few seconds."
)
NO_SUCH_EVIDENCE = (
    "There is no evidence for {machine} on {items} of {criterion}. Choose a machine rater that rated this"
    " criterion, and all items or one of their categories."
)
NOT_TESTABLE = "{machine} may not stand in on {items} of {criterion}: {reason}"
NOT_PASSED = (
    "{machine} may not stand in on {items} of {criterion}, because {why_not} {scope} Collect more"
    " ratings, or keep your annotators."
)
ONLY_SIMULATED = (
    "{machine} may not stand in on {items} of {criterion}, because bots gave all labels on which"
    " it would rest. They show nothing about annotators. Let people rate these items, or try this out in"
    " a dry run."
)
IN_FORCE_ALREADY = "{machine} may stand in on {items} of {criterion} already. Withdraw that before you decide anew."
DATE_IS_PAST = "It must be valid until today or later. Choose a later date."
NO_SUCH_LICENCE = "The study has no decision with this id. Reload the page to see them."
FOLLOW_UP_OF_ENDED = (
    "This decision is no longer in force, so there is nothing to follow up. Make a new one first."
)
FOLLOW_UP_IS_DRAFT = (
    "“{}” is still a draft. Launch it before you make another follow-up study of this decision."
)
FOLLOW_UP_TOO_LARGE = (
    "A follow-up study needs texts. Of {items} of this decision, {instances} instances have them: enter"
    " this number or a smaller one."
)
NO_NUMBER = "Enter the number of instances of the follow-up study: a whole number, 1 or more."
FOLLOW_UP_MADE = "“{}” is a draft. Read its tasks and its size, launch it, and let the machine rater rate its items."
ENDED_ALREADY = "This has ended already, so it cannot be withdrawn."
NO_RATINGS_LEFT = (
    "All ratings of this machine rater are excluded, so the licence no longer rests on anything."
)
DROPPED = (
    "Agreement with annotators dropped from {before} to {after} over {labels} that came after the"
    " evidence; the test showed it after {shown}."
)
