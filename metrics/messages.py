"""Sentences for researchers on the dashboard and on the page Generate & select."""

# Headings and sentences of findings.
ON_SELECTED, OVER_DATASET = ", on the selected instances", ", over the dataset"
WEIGHTED_TO_DATASET = "Weighted back to the whole dataset"
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
    "The instances of this study were drawn. Unless a sentence says that a rate is weighted, all"
    " numbers here are unweighted and describe only the selected instances. Do not generalize them to"
    " the rest of the dataset."
)

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
FORECAST_OF_WHOLE = "The forecast is made for the whole study only."

# Sections that are computed on request.
MORE_SECTIONS = (
    "These take longer. Each is computed when you open it, and kept until there are new ratings."
)

# The report for programs.
REPORT_PENDING = "The report is being built. Ask again in a few seconds."

# The dashboard.
NO_SHARED_RANK = "The win rate has no interval."
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

# The five leading numbers.
NO_SYSTEMS = "The ratings of this criterion do not compare systems."
NO_MACHINES = "No machine rater has rated these items yet."
SINGLE_SETS = (
    "Each rating set has one rating (N = 1), so it cannot contradict itself. Consistency needs several"
    " comparisons of an instance by the same annotator."
)
NO_SETS = "This criterion has no rating sets, because it does not compare two systems."
THICK = " The thick part of a line is the interval for these raters alone."
OTHERS_OPEN = (
    "Whether new annotators would prefer it too is not shown: the annotators differ, and there are"
    " too few of them."
)
REST_OF_THESE_RATERS = "Agreement and consistency do not generalize to other raters."
ENOUGH_RATINGS = "The interval of the highest win rate excludes ½."
RATINGS_NEEDED = (
    "Rough forecast until the interval of the highest win rate excludes ½, if the rate stays as it"
    " is. Do not plan to stop at the first moment that it does."
)
TOO_CLOSE = (
    "The systems are too close to each other for a forecast: it would take more than 100 times as many"
    " ratings."
)

DEMO_STARTED = "The demo study is being loaded. It appears on this page within a minute."
