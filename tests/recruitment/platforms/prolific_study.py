"""A client of the fake Prolific, and a study to make there."""

from typing import Any

from tenacity import wait_none

from recruitment.platforms.prolific.client import ProlificClient
from recruitment.platforms.prolific.payloads import maximum_allowed_minutes
from tests.recruitment.platforms.fake_prolific import FakeProlific

URL = (
    "https://study.example/crowd/7/?who={{%PROLIFIC_PID%}}&study={{%STUDY_ID%}}"
    "&turn={{%SESSION_ID%}}&lang=en"
)


def connect(fake: FakeProlific, **options: Any) -> ProlificClient:
    defaults = {"base_url": fake.base_url, "wait": wait_none(), "sleep": lambda _: None}
    return ProlificClient(options.pop("token", fake.token), **{**defaults, **options})


def code(text: str, kind: str, action: str, actor: str = "participant", **options: Any) -> Any:
    actions = [{"action": action, **options}]
    return {"code": text, "code_type": kind, "actions": actions, "actor": actor}


def draft(**changes: Any) -> dict[str, Any]:
    payment = {"fixed_screen_out_reward": 20, "slots": 5}
    codes = [
        code("DONE1", "COMPLETED", "AUTOMATICALLY_APPROVE"),
        code("CHECK1", "FAILED_ATTENTION_CHECK", "MANUALLY_REVIEW"),
        code("OURS1", "COMPLETED", "MANUALLY_REVIEW", "researcher"),
        code("OUT1", "FIXED_SCREENOUT", "FIXED_SCREEN_OUT_PAYMENT", "researcher", **payment),
        code("BACK1", "NO_CONSENT", "REQUEST_RETURN", return_reason="No"),
    ]
    fields = {
        "name": "Compare answers",
        "internal_name": "pilot",
        "description": "Read two answers and choose.",
        "external_study_url": URL,
        "prolific_id_option": "url_parameters",
        "is_external_study_url_secure": False,
        "completion_codes": codes,
        "estimated_completion_time": 10,
        "maximum_allowed_time": maximum_allowed_minutes(10),
        "reward": 150,
        "total_available_places": 3,
        "device_compatibility": ["desktop", "tablet"],
        "peripheral_requirements": [],
        "filters": [],
    }
    return fields | changes


def active_study(client: ProlificClient, **changes: Any) -> str:
    study = client.create_study(draft(**changes)).id
    client.transition_study(study, "PUBLISH")
    return study
