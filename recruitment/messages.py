"""Messages to participants and researchers about entering, leaving, channels and payments."""

# Entering a study.
WRONG_LINK = (
    "You cannot enter this study through this link. Please use the link on the page or in the"
    " message that invited you."
)
INCOMPLETE_LINK = (
    "This link is incomplete: the parameter {} is missing or invalid. Please open the study from the"
    " page that invited you, without changing its address."
)
UNFILLED_LINK = (
    "This link has a placeholder instead of your ID in {}. Nothing about you was stored. Please tell"
    " the people who sent you the link."
)
# For the researcher.
LINK_REFUSED = (
    "Someone was refused because their link has no ID in {}, or a placeholder. If it was not you,"
    " correct the address that the platform or panel uses."
)
IDS_REFUSED = (
    "{} reported by the platform had unusable IDs and were ignored. Look them up on the platform."
)
CHANNEL_CLOSED = (
    "This study no longer accepts new participants through this link. If you came from a"
    " crowdsourcing platform, please return your submission there; returning it costs you nothing."
    " Otherwise, you can close this page."
)
STUDY_FULL = (
    "Other people are doing all tasks of this study, so you cannot take part now. Thank you for coming. If a"
    " crowdsourcing platform sent you, please return your submission there. Returning it costs you"
    " nothing. Otherwise, you can close this page, or try again later."
)
CHANNEL_FULL = (
    "As many people as can take part now have already entered, so you cannot take part. Thank you for"
    " coming. If a crowdsourcing platform sent you, please return your submission there. Returning it"
    " costs you nothing. Otherwise, you can close this page."
)
OVER_BUDGET_AT_ENTRY = (
    "The study cannot pay more people at this time, so you cannot take part. If a crowdsourcing"
    " platform sent you, please return your submission there. Returning it costs you nothing."
)
CHANNEL_NOT_READY = (
    "This link cannot be used yet. Please tell the person who sent it to you, and try again later."
)
CHOOSE = "Please choose “I agree” or “I do not agree”."
CONSENT_CHANGED = (
    "The researchers changed this text while you were reading it. Please read it again before you"
    " choose."
)
DRY_RUN_ONLY = (
    "This is a dry run of a study: only bots take part in it. Please use the link of the study"
    " itself."
)
OTHER_BROWSER = (
    "Someone started this study with your ID in another browser. If that was you, please continue"
    " there: all of your answers are saved. If it was not you, please tell the person who invited"
    " you."
)
RETURN_TO_PANEL = (
    "Someone started this study with your ID in another browser. If that was you, please continue"
    " there: all of your answers are saved. If you cannot, please return to the page that invited"
    " you and ask there."
)
FRAME_EXPIRED = (
    "This page was open for too long. All answers that you gave before are saved. To continue,"
    " please reload the platform's page or open the HIT there again."
)
EVENT_TOO_LARGE = "The event was not read because it exceeds the limit of {} bytes."

# Leaving a study, by the status of the participation.
ENDED = {
    "screened_out": "You did not pass {}, so there are no tasks for you in this study.",
    "stopped": "Several of your answers were wrong on texts where the correct answer is known, so"
    " you will not receive any more tasks. The tasks that you completed still count. If a code or a"
    " button is shown below, please use it; otherwise, you can close this page.",
    "excluded": "Your participation has ended, and your answers do not count. The usual reason is"
    " that several answers were wrong on texts where the correct answer is known. If you think this"
    " is a mistake, please write to the researchers.",
    "returned": "Your submission was returned on the platform, so your answers here do not count."
    " If you start the study there again in time, open it with the platform's link.",
    "released": "You were away for too long, so your task was given to someone else. The tasks"
    " that you completed before still count. If a code or a button is shown below, please use it;"
    " otherwise, you can close this page.",
    "rejected": "The researchers did not accept your submission. You can read their message on the"
    " platform and reply to it there.",
    "erased": "What was stored about you was erased, so your participation has ended.",
    "timed_out": "The platform's time limit for this submission has passed, so someone else may"
    " have taken over your task. Your answers are saved. If they can still count, the researchers"
    " will contact you on the platform. You can close this page.",
}
SCREENED_OUT_BY = {
    "": "the steps before the first task",
    "comprehension": "the questions about the guidelines",
    "qualification": "the qualification test",
}
TEST_PAID = "You are paid {} {} for the time that you spent."
TEST_UNPAID = "As the first page said, you are not paid for this time."
NEXT_STEP = {
    "form": "Please submit the HIT below to tell the platform.",
    "link": "Please use the button below to return so that the people who invited you know.",
    "code": "Please give the code below to the person who invited you.",
    "none": "You can close this page.",
}
ONE_PAYMENT_FOR_ALL = (
    "The platform you came from pays once for all tasks together, so you will get your completion"
    " code when you have finished them all. You may take a break and continue in this browser. If"
    " you do not want to continue, please return your submission on the platform."
)
NOTHING_ARRIVED = "We did not receive any completed work from you in this study."

# Channels, as researchers see them.
NO_SIGNED_LINKS = (
    "This channel does not use signed links, so it has no signing key. Turn on “Signed links only”"
    " first."
)
NOT_SET_UP = "Nobody can enter through this channel until you set it up."
OPEN_BY_DEFAULT = (
    "It closes when another channel is ready. To keep it open alongside others, save it below."
)
OPEN_LINK_REPLACED = (
    "The open link is closed because another channel was set up. Set up the open link as well if"
    " anyone with the link should be able to enter."
)
OPEN_LINK_NOW_CLOSED = (
    "This channel is ready, so the open link is now closed. Set up the open link as well if it"
    " should stay open."
)
CHANNEL_CLOSED_STATUS = (
    "No new participants can enter. Participants who already entered can continue, and are paid as"
    " before."
)
STILL_ON_PLATFORM = (
    " The study on {0} is still running: press “Stop” below, because otherwise {0} keeps sending"
    " people who are turned away here. You can still use “Sync now” and “Pay all completed work”."
)
OPEN_LINK_STAYS = "The open link cannot be removed. Stop new entries instead."
HAS_PARTICIPANTS = (
    "This channel cannot be removed because participants entered through it. Stop new entries"
    " instead."
)
IS_ON_PLATFORM = (
    "This channel cannot be removed because it has a study on {0}. Stop that study on {0}, and stop"
    " new entries here instead."
)
ACTION_PENDING = (
    "Another request to the platform is still pending. Wait until it has finished, then try again."
)
CHANNEL_GONE = "The study no longer has the channel “{}”. It may have been removed already."
NOT_TESTED = "{}: the token is saved but could not be tested yet. {}"
CHANNEL_FULL_STATUS = (
    "{} of at most {} people have entered, so nobody else can. To let more people in, raise the"
    " maximum of people below."
)
PARTICIPANTS_NEEDED = "Enter how many participants you need: a number from 1 to {}."

# Requests to platforms, as researchers see them. What is pending, by the action:
PENDING = {
    "publish": "Waiting for the platform to create the draft or add participants.",
    "start": "Waiting for the platform to start the study.",
    "pause": "Waiting for the platform to pause the study.",
    "stop": "Waiting for the platform to stop the study.",
    "check-eligibility": "Waiting for the platform to count the people who can take part.",
    "update-draft": "Waiting for the platform to change the draft.",
    "rehearse": "Waiting for the platform to set up the rehearsal.",
    "sync": "Waiting for the platform's list of submissions.",
    "subscribe-webhook": "Waiting for the platform to enable webhooks. No action is needed.",
    "approve-all": "Waiting for the platform to approve the completed submissions.",
    "reject": "Waiting for the platform to reject a submission.",
    "ask-to-return": "Waiting for the platform to ask for a submission's return.",
    "pay-many": "Waiting for the platform to make the payments.",
    "pay": "Waiting for the platform to make a payment.",
}
UNEXPECTED_ERROR = (
    "An unexpected error occurred ({}). The worker's log has the details. Sync with the platform"
    " before you try again."
)
# Stored before the platform is asked, so it stays only if the worker dies without an answer.
NO_RESULT = (
    "The platform was asked, but no result has arrived yet. If this message does not disappear, the"
    " worker stopped during the request. Sync with the platform before you try again."
)
NO_SUCH_PARTICIPATION = (
    "No participant with this ID entered through this channel. Check the ID and the channel, or"
    " sync with the platform."
)
NO_PLATFORM = (
    "This annotator entered through the open link, so there is no platform that could do this."
)
PLATFORM_CANNOT = (
    "Tiebreak cannot do this for the channel “{}”. Please do it on the site that your annotators"
    " come from."
)

PUBLISHED_STAYS = (
    "The study is published on the platform, so its description, devices and filters can no longer"
    " change there."
)
NO_REHEARSAL_NOW = "Only a draft on the platform can be rehearsed, and this study is published."
NOT_OPEN_FOR_REHEARSAL = (
    "The study is not open here, so a test participant would be turned away. Open it first; nobody"
    " else can enter before you publish the draft."
)
UNKNOWN_FILTER = "The platform offers no filter “{:.50}”. Load the list of filters again."
UNKNOWN_CHOICE = "“{}” does not offer the choice “{:.50}”. Load the list of filters again."
BAD_RANGE = "“{}”: enter {} from {} to {}, the lower number first."
UNKNOWN_CATEGORY = "“{:.50}” is not one of {}'s categories of rejections. Choose one of: {}."
MESSAGE_LENGTH = (
    "Tell the participant why the submission is rejected: the message needs {} to {} characters."
)
NOT_SUBMITTED = (
    "Only a submission that is waiting for review on {} can be rejected; this one is {}. Sync with"
    " the platform if that is out of date."
)
PAID_NOT_REJECTED = (
    "This submission was paid, or its payment was requested, so it cannot be rejected. You can"
    " still exclude the annotator's ratings."
)

# Opening a study.
STILL_CHANGES = (
    "You can still change guidelines, consent, labels of the parts, limits and pay, and increase R."
    " People who have agreed keep the pay that they agreed to. To change anything else, clone the study."
)

# Payments.
UNDER_PROMISE = (
    "The median hourly pay is lower than the study promised. Raise the reward, or pay a bonus to"
    " annotators who took longer."
)
PROMISED = "An hour of all that is asked is paid {0} {2}, and the study promises {1}. {3}"
PAYS_LESS = "Raise the reward to at least {} {}, or lower the minutes or the tasks per annotator."
PAYS_MORE = "Check the reward, the minutes and the tasks per annotator."
LAST_IS_PAID_LESS = (
    "The last person finds only {0} and earns {1} {3} an hour, counting the time before the first task;"
    " {2} is promised. {4}"
)
ONE_TASK_PAYS_LESS = (
    "All tasks together pay what is promised. Stopping after 1 task pays {0} {2} an hour instead of {1}, as the pay for"
    " the time before the first task is spread over all tasks; the welcome page says so."
)
FAIR_TOGETHER = "With a reward of {} {} for at most {} per annotator, everybody is paid as promised, also the last person."
DIVIDES_NOT = (
    "Choose a maximum of tasks per annotator that divides the responses, or shorten what comes before the"
    " first task."
)
BEYOND_BUDGET = (
    "What people were paid, or can still earn, exceeds the study's budget by {} {}. A platform"
    " may have paid people that the study did not expect. Compare the payments with the platform's"
    " list, stop new entries there, and raise the budget."
)
OVER_BUDGET = (
    "The study could cost up to {0} {2} with fees, and its budget is {1} {2}. Lower a channel's maximum of people"
    " on Recruit, the reward or R, or raise the budget on Size & pay."
)
COST_DIFFERS = "The study can cost up to {} {} with fees, not {}. Look at its pay and channels again before you confirm."
OVER_MAXIMUM = (
    "This channel admits at most {} people, so more participants would be turned away here. Ask for"
    " fewer, or raise the channel's maximum of people first."
)
BOTS_UNPAID = "This participant is a bot of a dry run. Nobody is paid for it."
NO_REWARD = "The study does not say what annotators are paid. Enter the reward in its design."
BAD_AMOUNT = "Enter an amount greater than 0 and less than {}, with at most two decimals."
AMOUNT_NOT_A_NUMBER = "Enter the amount as a number."
NO_BONUS_REASON = "Say what the bonus is for, in at most {} characters."
NO_REQUEST_KEY = "Give the payment a key of 1 to 64 characters so that it is made only once."
AMOUNT_IS_FIXED = (
    "{} pays the reward of the study when a submission is approved, so no other amount can be"
    " chosen. Pay what you want to add as a bonus."
)
NOT_AWAITING_PAYMENT = (
    "{} of these participants do not await payment, because they have been paid or have no"
    " completed work. Reload the list and choose again."
)
TOTAL_DIFFERS = "These payments add up to {} {}, not {}. Look at them again before you confirm."
PAID_ALREADY = "This has already been paid, or the payment is in progress."
SETTLED_ALREADY = "The result of this payment has already been recorded."
NOBODY_SELECTED = (
    "No participant is selected. Tick the boxes of those whom you want to pay, then choose again."
)
NOBODY_AWAITS_PAYMENT = "Nobody with completed work that counts is awaiting payment."

# Late answers.
NO_LATE_ANSWERS = "No late answers are waiting for a decision."
STILL_CLOSED = (
    "The study is still closed, so more late answers may arrive. Reopen it before you decide."
)

CLOSING_EARLY = (
    "If you close the study before the planned number of responses is reached, its findings still"
    " come from the confidence sequences, its other numbers have no finding, and the report says so."
)

ERASED_HERE = (
    "What was stored about you in this study was erased, so you cannot take part in it again. Choose another"
    " study, please."
)
NOT_A_PERSON = "This is a machine rater. Delete or exclude it on the page of machine raters."
ERASED_ALREADY = "This person was erased already."
STILL_OWED = (
    "This person is owed a payment, which cannot be made once nobody knows who it is. Pay it, or mark the"
    " submission as settled, and then erase the person."
)
JOB_WITH_PERSON = (
    "A job of a study in which this person took part is not finished, and its file may contain them. Stop"
    " it, or wait until it ends."
)
PART_OF_OTHERS = (
    "This person also took part in studies that you do not own. Ask the server's administrator, who can"
    " erase people from all studies with `manage.py erase_participant`."
)
