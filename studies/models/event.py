from typing import Any

from django.conf import settings
from django.db import models

from studies.models.choices import OpenChoiceField
from studies.models.study import Study
from tiebreak.digits import in_thousands


class AppendOnly(TypeError):
    """An attempt to change or delete an append-only row."""


class StudyEvent(models.Model):
    """An entry of a study's activity log: what was done, when and who did it, with details.

    Entries are append-only. `by` is null if a rule of the study or a management command acted.
    """

    class Verb(models.TextChoices):
        TEMPLATE = "template", "filled in a template"
        PERTURB = "perturb", "added perturbed copies"
        PERTURB_BY_MODEL = "perturb-by-model", "asked a language model for perturbed copies"
        WRITE_FIELD = "write-field", "asked a language model for a further text of the instances"
        OPEN = "open", "opened"
        PAUSE = "pause", "paused"
        CLOSE = "close", "closed"
        REOPEN = "reopen", "reopened"
        EXCLUDE = "exclude", "excluded an annotator"
        REINSTATE = "reinstate", "reinstated an annotator"
        ERASE = "erase", "erased a person at their request"
        FORGET = "forget", "removed what this server no longer keeps"
        SET_ASIDE = "set-aside", "set an item aside"
        PUT_BACK = "put-back", "put an item back"
        REJECT = "reject", "rejected a submission"
        DRAW = "draw", "drew instances"
        TAKE_ALL = "take-all", "selected all instances"
        INVITE = "invite", "invited somebody"
        WITHDRAW = "withdraw-invitation", "withdrew an invitation"
        JOIN = "join", "accepted an invitation"
        PUBLISH = "publish", "published on a platform"
        PAY = "pay", "paid"
        BONUS = "bonus", "paid a bonus"
        ACCEPT_LATE = "accept-late", "accepted late answers"
        DECLINE_LATE = "decline-late", "declined late answers"
        ADD_MACHINE = "add-machine-rater", "added a machine rater"
        DELETE_MACHINE = "delete-machine-rater", "deleted a machine rater"
        EXCLUDE_MACHINE = "exclude-machine-rater", "excluded a machine rater"
        REINSTATE_MACHINE = "reinstate-machine-rater", "reinstated a machine rater"
        STATE_COST = "state-rating-cost", "said what a machine's rating cost"
        JOIN_MACHINES = "join-machine-raters", "joined the judges of one model"
        ADD_EXAMPLES = "add-examples", "named a set of examples for judges"
        DELETE_EXAMPLES = "delete-examples", "deleted a set of examples"
        GRANT_LICENCE = "grant-licence", "licensed a machine rater"
        REVOKE_LICENCE = "revoke-licence", "revoked a licence"
        EXPERT_SURVEY = "expert-survey", "made a survey for experts"
        EXPERT_WEIGHTS = "expert-weights", "chose experts' weights"
        USE_SCORES = "use-scores", "chose the study of scores"
        JOIN_SYSTEM = "join-system", "let a system join that only machines judge"
        HIDE_PART = "hide-part", "hid a part of the instances from the board"
        PUBLISH_BOARD = "publish-board", "made the board public"
        WITHDRAW_BOARD = "withdraw-board", "withdrew the public board"
        MAIN_MACHINE = "main-machine", "chose the main machine rater"
        ANALYSIS = "analysis", "changed a setting of the analysis"
        FOLLOW_UP = "follow-up", "made a follow-up study of a licence"
        RECOUNT = "recount", "recounted the ratings"
        MOVE = "move", "moved the study to another server"
        RECEIVE = "receive", "received the study from another server"
        LICENCE_DRIFT = "licence-drift", "revoked a licence because agreement dropped"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    # Who it was on the server from which the study came, if they have no account on this one.
    by_name = models.CharField(max_length=150, blank=True, db_default="")
    verb = OpenChoiceField(choices=Verb.choices)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.get_verb_display()}, {self.at:%Y-%m-%d %H:%M}"

    def save(self, **options: Any) -> None:
        if not self._state.adding:
            raise AppendOnly("The log of a study is append-only. Record another event instead.")
        super().save(**options)

    def delete(self, *_: Any, **__: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnly("The log of a study is append-only, so no event can be deleted.")

    @property
    def details_in_words(self) -> str:
        """The details as text, such as `completed: 22; of: 36`. Empty details are left out."""
        texts = {name.replace("_", " "): _in_words(value) for name, value in self.details.items()}
        return "; ".join(f"{name}: {value}" for name, value in texts.items() if value != "")


def _in_words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return in_thousands(value) if type(value) is int else f"{value}"
