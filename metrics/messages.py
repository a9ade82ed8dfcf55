"""Sentences for researchers on the dashboard and on the Generate & select page."""

NO_PAIRS_TO_WATCH = (
    "Confidence sequences need a main criterion that compares two systems, so no finding is stated"
    " before the planned number of responses is reached."
)
REACHED = (
    "Findings come from intervals for one look at the planned number of responses. Collecting more"
    " because of what you saw would need confidence sequences, which allow for"
    " looking more than once."
)
CLOSED_EARLY = (
    "The study is closed. Unless the planned number of responses was reached before, its findings still"
    " come from the confidence sequences, and the report says that it was closed early."
)
NEEDED_ASSUMES = (
    "These forecasts assume that future instances are like those so far, and are medians of several"
    " possible futures: take them as orders of magnitude. The cost covers all ratings of these"
    " instances at the study's reward and its highest fee."
)
AT_ONE_LOOK = (
    "The last column is for a study that plans the number in advance and looks once: 80% of such studies"
    " have the width, given the variance components of these ratings and for these annotators."
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
    "The administrator of this server configures the model servers. A system that names a server"
    " uses that server instead."
)
PROMPT_HELP = (
    "Used for systems without their own prompt template. The instance's text replaces {source}."
)
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
GENERATION_STARTED = "Text generation has started. This page shows its progress."
TRIAL_STARTED = (
    "{name} is being tried. Its texts appear below when they are made, and are not stored."
)
SCORING_STARTED = "Scoring has started. This page shows its progress."
JOB_PAUSES = "The job will pause when its current batch is finished."
JOB_RESUMED = "The job has been resumed."
JOB_STOPPED = "The job has ended. Everything that it stored is kept."
EXPORT_STARTED = (
    "The export has started. Its download link appears under Exports when it is finished."
)
TOO_MANY_FOR_DIRECT = (
    "This study has more than {:,} ratings, so a worker writes the file. Choose the CSV format below and"
    " press Export."
)
JOBS_ENDED = "No job is running now. The results are shown below."

# Planning the size.
SINGLE_RATINGS = (
    "A plan keeps at least 15% of tasks with two ratings or more, or agreement and consistency cannot"
    " be estimated. With R = 1, one additional rating of 15% of the tasks, drawn at random, is enough."
)
ONLY_DRAFTS = "N and R can be planned only for a draft. Clone the study to plan another one."
NO_SUCH_PLAN = "These numbers cannot be N and R. Choose a design from the table."
APPLIED = "N is now {n} and R is now {r}. The tasks are planned again when the study opens."
PILOT_WITHOUT_COMPONENTS = (
    "This study compares no systems, or its report is older than the planner: look at its results"
    " once, and the report is made again."
)
PILOT_SAVES = "In the pilot, ratings of some pairs are saved by choosing {ways}"
PILOT_SAVES_NOTHING = "In the pilot, no way of choosing is shown to save ratings"

# Parts of a study.
OF_A_PART = (
    "You are looking at a part of the ratings that was chosen after seeing the data. Of many parts, some"
    " differ by chance alone, so this page states no finding about it. The numbers keep their"
    " intervals, each of which applies to this part only; call them exploratory if you report them."
)
EMPTY_PART = (
    "No rating that counts is in this part. Remove one of the filters, or wait for more ratings."
)
OUTCOME_HIDDEN = (
    "Not shown for annotators chosen by their checks: if you leave people out, you must not see first"
    " what that does to the outcome, because that would be a selection on the outcome."
)

# The report for programs.
REPORT_PENDING = "The report is being built. Ask again in a few seconds."


DEMO_STARTED = "The demo study is being loaded. It appears on this page within a minute."

# The board of systems.
NO_SUCH_SHARE = "Please hide between {low} and {high} percent of the instances."
NO_BOARD_TO_HIDE = (
    "This study has no board of systems, because none of its criteria asks for a preference. Nothing can be"
    " hidden from it."
)
HIDDEN_PART_FIXED = (
    "The hidden part of this board is fixed already. Another draw could be chosen by its result, so it stays;"
    " make a clone of the study to hide another part."
)
PUBLISHED_WHILE_OPEN = (
    "The board shows which system is preferred, and annotators who read it would not be blind any more. Close"
    " the study first, and publish the board then."
)
BOARD_NOT_COMPUTED = "The board has not been computed yet. Open the board of systems in Results once, and publish it then."
PART_HIDDEN = "The part is hidden. The board is computed anew."
BOARD_PUBLISHED = "The board is public at the address below."
BOARD_WITHDRAWN = "The page is withdrawn."

# Systems that join.
JOIN_OF_DRAFT = (
    "This study is a draft, so people can still compare the system. Add it on the step Data, and plan the"
    " study again."
)
JOIN_NEEDS_PAIRS = "Only a study that compares two texts has a board that a system can join."
JOINED_ALREADY = "{name} competes in this study, or has joined it already. Choose another system of the data set."
NO_MEMBER_THERE = (
    "{members} did not judge the system that joined. Upload their verdicts to its study, and let machine raters"
    " judge once more."
)
SYSTEM_JOINED = "{name} joined the study. Machine raters judge it in a study of its own."
MACHINES_JUDGE = "Machine raters judge {name} as far as they can. {waiting}"
RATED_ELSEWHERE = "it rates elsewhere, so upload its verdicts in the system's own study."
TEXTS_MISSING = (
    "{name} has no text of its own for {lacking} of the study's {instances} instances, so it would be judged on"
    " other instances than the systems on the board. Add the missing texts, and let it join then."
)
NO_SYSTEM_NAMED = "Name the system, and choose the file with its texts."
