"""Launch checks, the channels of a study, and answers that arrived late."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.services.late_answers import accept_late_answers, decline_late_answers
from api.access import researcher, visible_study
from api.messages import NO_SUCH_PAYMENT
from api.schema import NOTHING, described
from api.serializers.running_study import (
    ChangedChannel,
    ChannelAction,
    ChannelChange,
    ChannelSerializer,
    CheckSerializer,
    DecidedAnswers,
    EligibilityChoice,
    EligibilitySerializer,
    LateDecision,
    PaymentOutcome,
)
from api.validation import checked, checked_form, refuse_unknown_names
from recruitment.messages import NOT_SET_UP
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform
from recruitment.services.channels import (
    channel_for,
    channel_statuses,
    close_channel,
    remove_channel,
    renew_signing_key,
    reopen_channel,
    set_up_channel,
)
from recruitment.services.eligibility import (
    choose_filters,
    chosen_filters,
    eligible_people,
    offered_filters,
)
from recruitment.services.launch_checks import launch_checks
from recruitment.services.payments import settle_payment
from recruitment.services.platform_actions import PAYS, act_on_channel
from recruitment.views.channels import addresses_of
from studies.access import Right, check_right
from studies.models import Study
from tiebreak.errors import DomainError

TAG = "recruitment"
NO_CHANNEL = {404: ["no_such_channel"]}


class LaunchChecks(APIView):
    @described(
        "Read the launch checks",
        tag=TAG,
        description="What keeps the study from opening (errors), and what you have to confirm"
        " (warnings).",
        responses={200: CheckSerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        checks = launch_checks(visible_study(request, study_id))
        return Response(CheckSerializer(checks, many=True).data)


class Channels(APIView):
    @described(
        "List a study's channels",
        tag=TAG,
        description="Every platform of this server, whether or not it is set up for the study."
        " Secrets are never returned.",
        responses={200: ChannelSerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        statuses = channel_statuses(visible_study(request, study_id))
        return Response(ChannelSerializer(statuses, many=True).data)


class ChannelView(APIView):
    @described(
        "Set up or change a channel",
        tag=TAG,
        description="The settings are those of the platform's form on the page Recruit. Those that are"
        " left out stay as they are.",
        request=ChannelChange,
        responses={200: ChangedChannel},
        refusals={
            400: ["platform_token_refused", "platform_forbidden", "bad_token"],
            404: ["no_such_platform"],
            409: ["over_budget"],
        },
    )
    def put(self, request: Request, study_id: str, provider: str) -> Response:
        study, platform = visible_study(request, study_id), get_platform(provider)
        values = checked(ChannelChange, request.data)
        stored = Channel.objects.filter(study=study, provider=provider).first()
        entered = {**(stored.settings if stored else {}), **values["settings"]}
        form = platform.settings_form(entered)
        refuse_unknown_names(values["settings"], form.fields, "settings.")
        settings = checked_form(form)
        _, problem = set_up_channel(
            study=study, platform=platform, settings=settings, token=values["token"].strip()
        )
        code = problem.code if problem else None
        body = {"channel": _status(study, provider), "token_problem": code}
        return Response(ChangedChannel(body).data)

    @described(
        "Remove a channel",
        tag=TAG,
        responses=NOTHING,
        refusals={
            **NO_CHANNEL,
            409: ["is_open_link", "has_participants", "is_on_platform", "action_pending"],
        },
    )
    def delete(self, request: Request, study_id: str, provider: str) -> Response:
        remove_channel(channel=_channel(request, study_id, provider))
        return Response(status=204)


class CloseChannel(APIView):
    @described(
        "Let nobody new enter by a channel",
        tag=TAG,
        description="Participants who have entered can continue.",
        responses={200: ChannelSerializer},
        refusals=NO_CHANNEL,
    )
    def post(self, request: Request, study_id: str, provider: str) -> Response:
        channel = _channel(request, study_id, provider)
        close_channel(channel=channel)
        return Response(ChannelSerializer(_status(channel.study, provider)).data)


class ReopenChannel(APIView):
    @described(
        "Let people enter by a channel again",
        tag=TAG,
        responses={200: ChannelSerializer},
        refusals={**NO_CHANNEL, 409: ["over_budget"]},
    )
    def post(self, request: Request, study_id: str, provider: str) -> Response:
        channel = _channel(request, study_id, provider)
        reopen_channel(channel=channel)
        return Response(ChannelSerializer(_status(channel.study, provider)).data)


class RenewKey(APIView):
    @described(
        "Replace a channel's signing key",
        tag=TAG,
        description="Links that were signed with the old key stop working. The new key is on the"
        " page Recruit.",
        responses=NOTHING,
        refusals={**NO_CHANNEL, 400: ["no_signed_links"]},
    )
    def post(self, request: Request, study_id: str, provider: str) -> Response:
        renew_signing_key(channel=_channel(request, study_id, provider))
        return Response(status=204)


class ActOnChannel(APIView):
    @described(
        "Ask a platform for something",
        tag=TAG,
        description="A worker asks the platform once; follow `pending` and `problem` of the channel."
        " `start` costs money, and `approve-all` pays all who awaits payment, without another"
        " question.",
        request=ChannelAction,
        responses={200: ChannelSerializer},
        refusals={
            400: ["no_participants"],
            **NO_CHANNEL,
            409: ["action_pending"],
            503: ["no_broker"],
        },
    )
    def post(self, request: Request, study_id: str, provider: str) -> Response:
        channel = _channel(request, study_id, provider)
        values = checked(ChannelAction, request.data)
        if values["action"] in PAYS:
            check_right(request.user, channel.study, Right.OWN)
        _check_stored(channel)
        act_on_channel(
            channel=channel,
            action=values["action"],
            participants=str(values.get("participants", "")),
            addresses=addresses_of(request._request, channel),
            by=researcher(request),
            email=values["email"],
        )
        return Response(ChannelSerializer(_status(channel.study, provider)).data)


class Eligibility(APIView):
    @described(
        "Read who may take part",
        tag=TAG,
        description="The filters that the platform offered when it was last asked by the action"
        " `check-eligibility`, and those that are chosen.",
        responses={200: EligibilitySerializer},
        refusals=NO_CHANNEL,
    )
    def get(self, request: Request, study_id: str, provider: str) -> Response:
        return _eligibility(_stored(request, study_id, provider))

    @described(
        "Choose who may take part",
        tag=TAG,
        description="They reach the platform with the draft; `update-draft` changes an existing one.",
        request=EligibilityChoice,
        responses={200: EligibilitySerializer},
        refusals={400: ["unknown_filter", "unknown_choice"], **NO_CHANNEL},
    )
    def put(self, request: Request, study_id: str, provider: str) -> Response:
        channel = _stored(request, study_id, provider)
        choose_filters(channel=channel, chosen=checked(EligibilityChoice, request.data)["filters"])
        return _eligibility(channel)


def _eligibility(channel: Channel) -> Response:
    body = {
        "offered": offered_filters(channel),
        "filters": chosen_filters(channel),
        "people": eligible_people(channel),
    }
    return Response(EligibilitySerializer(body).data)


class RecordPaymentOutcome(APIView):
    @described(
        "Record what became of an unconfirmed payment",
        tag=TAG,
        description="If the platform did not answer whether it paid, look there and say so here.",
        request=PaymentOutcome,
        responses=NOTHING,
        refusals={404: ["no_such_payment"]},
    )
    def post(self, request: Request, study_id: str, payment_id: str) -> Response:
        study = visible_study(request, study_id, Right.OWN)
        was_paid = checked(PaymentOutcome, request.data)["was_paid"]
        asked = Payment.objects.filter(participation__study=study, status=Payment.Status.ASKED)
        payment = asked.filter(public_id=payment_id).first()
        if payment is None:
            raise DomainError("no_such_payment", NO_SUCH_PAYMENT, status=404)
        settle_payment(payment=payment, was_paid=was_paid)
        return Response(status=204)


class LateAnswers(APIView):
    @described(
        "Accept or decline answers that arrived late",
        tag=TAG,
        description="Accepted answers count if a place is free; declined ones never do.",
        request=LateDecision,
        responses={200: DecidedAnswers},
        refusals={409: ["still_closed", "nothing_late"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study, by = visible_study(request, study_id), researcher(request)
        is_accepted = checked(LateDecision, request.data)["decision"] == "accept"
        decide = accept_late_answers if is_accepted else decline_late_answers
        return Response(DecidedAnswers({"answers": decide(study=study, by=by)}).data)


def _channel(request: Request, study_id: str, provider: str) -> Channel:
    return channel_for(visible_study(request, study_id), provider)


def _stored(request: Request, study_id: str, provider: str) -> Channel:
    channel = _channel(request, study_id, provider)
    _check_stored(channel)
    return channel


def _check_stored(channel: Channel) -> None:
    """Refuse the open link that a study has although nobody set it up."""
    if channel.pk is None:
        raise DomainError("no_such_channel", NOT_SET_UP, status=404)


def _status(study: Study, provider: str) -> object:
    return next(s for s in channel_statuses(study) if s.platform.name == provider)
