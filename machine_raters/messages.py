"""Sentences that researchers read about machine raters."""

ADD_TO_DRAFT = (
    "This study is a draft, whose items may still change. Open it first, and add the ratings then."
)

# All machine raters.
NO_SERVERS = "No model servers are configured. The server's administrator can list some in TIEBREAK_MODEL_SERVERS."
NO_MODEL = "This model server does not say which language model it runs. Please enter the name of the model."
BAD_RATING_COST = (
    "The cost of a rating must be a number from 0 to {most:,}, with at most 8 decimals. Leave it empty if it is"
    " not known."
)
COST_FOLLOWS_FROM_PRICES = (
    "{name} was made in this study, so what its ratings cost follows from its own settings. Please leave the"
    " cost of a rating empty."
)
NO_COST_STATED = "nobody has said what a rating of it cost"
NO_ANSWERS_YET = "it has not answered yet"
MEMBER_COST_UNKNOWN = "that of {member} is not known: {why}"
COST_STATED = "A rating of {name} cost {amount} {currency}."
COST_REMOVED = "What a rating of {name} cost is not known."
NO_SUCH_MACHINE = "This study has no such machine rater. Reload the page to see those that it has."
MACHINE_EXCLUDED = (
    "{name} is excluded, so it has stopped. Please reinstate it first, or add another one."
)
MACHINE_HAS_RATINGS = (
    "It has answered items, or answers are about it, and answers are never deleted. Please exclude it"
    " instead: it is then left out of all results."
)
MACHINE_AT_WORK = (
    "A job for it is still running. Please stop the job under Jobs, or wait until it is finished, and"
    " then try again."
)
MACHINE_CREATED = "{name} was created, and is running."
MACHINE_TO_TRY = "{name} was created. Try it on five items next."
MACHINE_STARTED = "{name} is running. It can be paused and stopped under Jobs."
MACHINE_DELETED = "{name} was deleted."
MACHINE_REINSTATED = "{name} was reinstated, and counts again."
MACHINE_IS_EXCLUDED = "{name} was excluded, and no longer counts."
DELETE_MACHINE = "Delete the {kind}"
DELETES_MACHINE = (
    "It is deleted with everything that was made for it. This cannot be undone. It has no answers, so"
    " none is lost."
)
EXCLUSION_NO_REASON = (
    "An exclusion needs a reason, because reports and exports state it. Please say what is wrong."
)
REASON_TOO_LONG = "The reason is too long. Please say what is wrong in at most {most} characters."
EXCLUSION = (
    "Its answers, or those about it ({answers}), are left out of all results, reports and figures. They"
    " stay in exports, flagged as excluded, with your reason.",
    "It stops. The report lists the exclusion with its time as a deviation. You can"
    " reinstate it later, and it counts again.",
    "Exclude it for how it was made, such as a wrong criterion, rule, prompt or model. To leave it out"
    " for how it did would make others look better or worse than they are.",
)
JURIES_STAY = (
    "It is a member of {juries}. Decisions made with it stay as they are, and no others are made"
    " while it is excluded."
)
RATER_NAME_TAKEN = "A rater of this study is already called {name}. Please choose another name."

# Judges.
JUDGE_TRIED = "{name} is being tried. The results appear below."
JUDGE_WITHOUT_CRITERION = (
    "The criterion of this judge was deleted. Please delete the judge, and create another one."
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
    "{item} has no expected answer for {criterion}, or is no longer a training item. Please choose a"
    " set whose items all have one."
)
EXAMPLES_CHANGED = (
    "The training items that this judge reads as examples, or the reasons for their answers, have"
    " changed since it was created, so its ratings would not all be made in the same way. Please create"
    " another judge."
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
    " judge that looks only at the position says nothing about the texts: its preferences in the two"
    " orders cancel out."
)
ALWAYS_SAME = (
    "All {number} readable answers are the same: {label}. The texts may be alike, but a judge that"
    " does not read them also answers like this. Read its answers in a trial."
)
SEVERAL_MODELS = (
    "The server named {number} models or revisions, so not all answers were made by the same"
    " model. The table says how many came from each. Compare them, or create another judge and let it"
    " rate with one model."
)
CHOICES_IGNORED = (
    "The server constrained {constrained} answers, or said so, but {number} unreadable answers are not"
    " among the allowed answers. It may ignore the constraint."
)
PROMPT_CHANGED = (
    "The guidelines, the texts or the examples have changed since the judge answered, so its prompt would"
    " be another one, and the answer would say nothing about the server. Create another judge to test it."
)
NOTHING_TO_ASK_AGAIN = (
    "This judge has not answered anything yet. Let it rate first, and ask it again then."
)
ASKED_AGAIN = "{name} is being asked again. How often it gives the same verdict appears below."
JUDGE_IN_DRAFT = (
    "This study is a draft, whose items may still change. Launch it first, and let the judge rate"
    " then. You can try the judge on five items now."
)
NO_ITEMS = (
    "There is nothing to rate: no planned item of this study has texts. Upload verdicts that were"
    " given elsewhere, or start a new study from the texts."
)
JUDGE_WITHOUT_STEPS = (
    "The model wrote no evaluation steps, so nothing was asked. {} Try again, or create a judge without"
    " steps."
)

# Synthetic items.
JUDGE_TESTED = "{name} is being tested on {set}."
NO_SYNTHETIC_CRITERIA = (
    "Synthetic items have labels for the criteria {names}, and this study has none that they fit."
    " Single texts are answered by yes or no (scale nominal:yes,no), comparisons by a preference, and"
    " context relevance has no comparisons, because both answers share their passage. Start from a"
    " RAG template, or give your criteria these names."
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
JUDGE_HAS_NO_SYNTHETIC_ITEMS = (
    "The synthetic set has no items for {criterion}. Wait until it is made, or look at why its texts"
    " were dropped."
)

# Baselines.
BASELINE_NO_PREFERENCE = (
    "Simple raters prefer one of two texts, and this study asks for no preference."
)
BASELINE_IN_DRAFT = "This study is a draft, whose items may still change. Open it first, and add simple raters then."
BASELINE_NEEDS_PREFERENCE = (
    "Simple raters prefer one of two texts, but {criterion} is not a preference. Please choose a"
    " criterion with a scale of preference."
)
BASELINE_NO_REFERENCE = (
    "No item of this study has a reference to compare its texts with. Please choose a rule that"
    " needs none."
)
BASELINE_SERVER_NOT_USED = (
    "Only a reward model needs a model server here. Please leave server and model empty, or choose"
    " the rule of a reward model."
)
PERPLEXITY_NO_SERVER = (
    "{system} has no model server that could say how probable the reference is. Please choose one for"
    " it in the dataset."
)
PERPLEXITY_NO_MODEL = "Please enter the language model of {system} on the step Data."
PERPLEXITY_OF_PROMPT = (
    "The prompt of {system} contains the reference, so how probable the reference is says nothing."
    " Please choose another rule."
)

# Juries.
JURY_NO_MEMBERS = (
    "This study has no machine raters yet. Add judges or simple raters, or upload verdicts, under"
    " Judges."
)
FEW_MEMBERS = "A jury needs two members or more. Please choose them from the machine raters."
JURY_NEEDS_LABELS = (
    "A jury decides between labels, but {criterion} allows any number. Please choose a criterion with"
    " labels."
)
JURY_NOTHING_TO_DECIDE = (
    "There is nothing to decide: no undecided item has been answered by all members."
    " Please let the members rate the same items first."
)
JURY_NEEDS_ALL_ANSWERS = (
    "Dawid and Skene's method compares the members on all {items} items together, but not all have been"
    " answered ({lacking}). Please let these members rate the remaining items first, or choose another"
    " rule."
)
JURY_MEMBER_HAS_BUDGET = (
    "Dawid and Skene's method compares the members on all {items} items together, but not all have been"
    " answered ({lacking}). The budget of {judges} is too small to rate all items, so it cannot be a"
    " member for this rule. Please choose a judge without a budget, or another rule."
)
JURY_NEEDS_ANNOTATORS = (
    "By this rule the jury follows the members that agree best with annotators, so two annotators must have"
    " rated each of some items, of two instances or more. Please wait for annotators' answers, or choose"
    " another rule."
)
JURY_MEMBER_LACKS = "{member} lacks {missing}"
JURY_MEMBER_EXCLUDED = (
    "{member} is excluded, so the jury cannot decide any more items. Please reinstate it first, or add a"
    " jury without it."
)
