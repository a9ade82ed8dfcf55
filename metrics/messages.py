"""The sentences that researchers read on the dashboard and on Generate & select."""

# Headings and sentences of findings.
ON_SELECTED, OVER_DATASET = ", on the selected instances", ", over the dataset"
WEIGHTED_TO_DATASET = "Weighted back to the whole dataset"
NO_WINNER = "No system is shown to win more often than it loses"
SAVED = "Selecting instances saved about {n} ratings for {pair}"
COST = "Selecting instances cost about {n} additional ratings for {pair}"
SAVING_UNKNOWN = "Selected instances of {pair}"
WITHOUT_PREFERENCE = (
    "{n} more instances were rated, but no rating of them says which system is better."
)
INSTANCES_WERE_SELECTED = (
    "The instances of this study were drawn. Unless a sentence says that a rate is weighted, every"
    " number here describes the selected instances only, without weights. Do not generalize these"
    " numbers to the rest of the dataset."
)

# Generate & select.
DUMMY_TEXTS = "Dummy texts (testing only)"
NO_SERVER = (
    "No model server is configured. The administrator of this server can add one to"
    " TIEBREAK_MODEL_SERVERS, for example gpu1=http://10.0.0.5:8000/v1, and restart Tiebreak; see"
    " docs/generate-and-select.md. To try this page without a model server, choose the dummy texts:"
    " they are marked wherever they are shown, and a study that shows them cannot be opened."
)
SERVER_HELP = (
    "Model servers are configured by the administrator of this server. A system whose server is"
    " set in the dataset uses that one."
)
PROMPT_HELP = "Used for systems without a prompt template of their own; {source} is filled in."
PROMPT_WITHOUT_SOURCE = "Write {source} where an instance's text belongs."
TEMPERATURES_HELP = (
    "For example 0.3, 0.7, 1. If you list any, texts are generated at these temperatures only, for"
    " some instances, to see whether δ depends on the temperature."
)
BAD_TEMPERATURES = "List up to 8 numbers above 0 and at most 2, for example 0.3, 1."
NO_SUCH_JOB = "This study has no such job."
NO_DATASET = "The study has no dataset. Choose one first."
GENERATION_STARTED = "Text generation has started. This page shows its progress."
SCORING_STARTED = "Scoring has started. This page shows its progress."
JOB_PAUSES = "The job will pause after its current chunk."
JOB_RESUMED = "The job has been resumed."
JOB_STOPPED = "The job has ended. Everything it stored is kept."
EXPORT_STARTED = "The export has started. Its download link appears below when it is finished."
JOBS_ENDED = "No jobs are running. Their results are shown below."

# The report for programs.
REPORT_PENDING = "The report is being built. Ask again in a few seconds."
