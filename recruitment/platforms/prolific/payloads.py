"""The body of the request that creates a channel's study on Prolific."""

from collections.abc import Iterator
from decimal import Decimal
from math import ceil, sqrt

from annotation.services.screening import screening_of
from recruitment.models import Channel
from recruitment.platforms.base import Ending
from recruitment.platforms.prolific.responses import Data
from recruitment.terms import asked_of_one

# Prolific's code type for each ending. All codes are reviewed manually and none pays automatically,
# because participants can pass a code on.
CODES = {
    Ending.COMPLETED: "COMPLETED",
    Ending.FAILED_CHECK: "FAILED_ATTENTION_CHECK",
    Ending.NO_CONSENT: "NO_CONSENT",
    Ending.SCREENED_OUT: "SCREENED_OUT",
    Ending.NO_WORK: "OTHER",
}
# A sixth code, entered by the researcher only: it pays participants who were screened out.
SCREEN_OUT_PAYMENT = "screen_out_payment"


def study_body(channel: Channel, participants: int, entry_url: str) -> Data:
    """Return the request body; times are in minutes, the reward is in pence or cents."""
    study, stored = channel.study, channel.settings
    assert study.reward is not None
    asked = asked_of_one(study, study.hits.main().count(), screening_of(study))
    assert asked is not None
    minutes, warning = max(1, round(asked.minutes)), stored.get("content_warning")
    optional = {
        "content_warnings": [warning] if warning else [],
        "content_warning_details": stored.get("content_warning_details"),
    }
    return {
        "name": study.title,
        "internal_name": f"{study.title} ({study.pk})",
        "description": stored["description"],
        "external_study_url": entry_url,
        "prolific_id_option": "url_parameters",
        "is_external_study_url_secure": bool(stored.get("is_secure")),
        "completion_codes": list(_completion_codes(channel, participants)),
        "estimated_completion_time": minutes,
        "maximum_allowed_time": maximum_allowed_minutes(minutes),
        "reward": int(study.reward * 100),
        "total_available_places": participants,
        "device_compatibility": [name for name in stored.get("devices", "").split(",") if name],
        "peripheral_requirements": [],
        "filters": stored.get("filters", []),
        **{name: value for name, value in optional.items() if value},
    }


def maximum_allowed_minutes(estimated: int) -> int:
    """Return the smallest maximum time that Prolific accepts for this estimate, in minutes."""
    return ceil(2 + 2 * estimated + 2 * sqrt(estimated))


def codes_of(channel: Channel) -> dict[str, str]:
    codes: dict[str, str] = channel.settings.get("codes", {})
    return codes


def _completion_codes(channel: Channel, participants: int) -> Iterator[Data]:
    codes = codes_of(channel)
    for ending, code_type in CODES.items():
        yield {
            "code": codes[ending],
            "code_type": code_type,
            "actions": [{"action": "MANUALLY_REVIEW"}],
            "actor": "participant",
        }
    if reward := channel.settings.get("screen_out_reward"):
        payment = {
            "action": "FIXED_SCREEN_OUT_PAYMENT",
            "fixed_screen_out_reward": int(Decimal(str(reward)) * 100),
            "slots": participants,
        }
        yield {
            "code": codes[SCREEN_OUT_PAYMENT],
            "code_type": "FIXED_SCREENOUT",
            "actions": [payment],
            "actor": "researcher",
        }
