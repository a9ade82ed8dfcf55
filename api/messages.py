"""The sentences that researchers and programs read."""

CREDENTIALS_REFUSED = (
    "This token is not valid: it is unknown, was revoked or has expired. Create a new one on"
    " the page “API tokens” of the menu Account."
)
CREDENTIALS_MISSING = (
    "Log in, or send a token in the “Authorization: Bearer tb_…” header. Tokens are created on"
    " the page “API tokens” of the menu Account."
)
READ_ONLY = (
    "This token may only read. On the page “API tokens”, create a token that may also write."
)
NOT_A_RESEARCHER = "Only researchers may use the API. Ask the administrator of this server."
NEEDS_ALL_STUDIES = (
    "This token opens chosen studies only, so it could not open the new one. Create studies with a"
    " token for all studies."
)
BAD_NAME = "Give the token a name of up to {} characters, such as the program that uses it."
TOO_MANY_TOKENS = "You have too many tokens. Revoke some that you no longer need."
TOO_MANY_WRONG = "There were too many wrong tokens from this address. Wait, and check the token."
TOO_MANY_REQUESTS = "There were too many requests. Wait as long as the Retry-After header says."
UNKNOWN_STUDY = "There is no such study, or you are not a member of it. Check the study's id."
NO_SUCH_DATASET = "There is no such dataset, or you may not read it. Check the dataset's id."
NOT_FOUND = "There is nothing at this address. Check the path and the ids in it."
NO_SUCH_JOB = "This study has no such job. Check the job's id in the list of jobs."
NOT_A_DRY_RUN = "Only the jobs of dry runs can be deleted. Stop another job instead."
NOT_TRIED = "No trial of a system of this study has an answer yet. Start one, and wait until its job is done."
UNKNOWN_FIELD = "There is no field {!r} here. Leave it out."
NEAREST_FIELD = "There is no field {!r} here. Leave it out, or did you mean {!r}?"
TOO_MANY_ROWS = "This list may have at most {} entries. Send fewer."
TOO_LARGE_A_NUMBER = "This number is too large. Enter a smaller one."
INVALID_REQUEST = "The request has invalid values; see `problems`."
UNFORESEEN = "This request is not possible. Check its method, its path and its content."
SERVER_ERROR = (
    "An unexpected error occurred on the server. Its log has the details. Please repeat the request,"
    " or tell the server's administrator."
)
BODY_TOO_LARGE = "The request's body is too large. Please send less at a time."
BAD_JSON = "The request's body cannot be used: it {}. Correct it and send it again."
REVOKED = "The token is revoked. Programs that use it are refused from now on."
WITHOUT_STUDIES = "Choose at least one study, or all studies."
EXPIRES_IN_PAST = "Choose a date in the future, or leave this empty."

# Webhooks.
URL_NOT_ALLOWED = (
    "Enter an https URL of a host that this server may send to ({}), without a user name or a"
    " fragment. The administrator can add hosts to TIEBREAK_WEBHOOK_HOSTS."
)
TOO_MANY_WEBHOOKS = "This study has too many webhooks. Delete one first."
WEBHOOK_KNOWN = "This study already sends to this URL. Delete that webhook to get a new secret."
NO_SUCH_WEBHOOK = "This study has no such webhook. Reload the page to see those it has."
NO_SUCH_DELIVERY = "This study has no such delivery. Reload the page to see those it has."
WEBHOOK_DELETED = "The webhook and its log were deleted."
SENDING_AGAIN = "The event will be sent again within a minute, with the same id."
NO_SUCH_PARTICIPANT = (
    "The study has no participant with this id. List its participants to find the right one."
)
