"""The channels through which participants come."""

from typing import Any

from api.resources import Resource, endpoint
from api.serializers.channels import (
    ChangedChannel,
    ChannelAction,
    ChannelChange,
    ChannelSerializer,
)
from api.validation import checked_form, refuse_unknown_names
from recruitment.messages import NOT_SET_UP
from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.services.channels import (
    channel_for,
    channel_statuses,
    close_channel,
    remove_channel,
    reopen_channel,
    set_up_channel,
)
from recruitment.services.platform_actions import PAYS, act_on_channel
from recruitment.views.channels import addresses_of
from studies.access import Right, check_right
from studies.models import Study
from tiebreak.errors import DomainError


class Channels(Resource):
    tag = "channels"
    lookup_url_kwarg, lookup_value_converter = "provider", "slug"

    def channel(self) -> Channel:
        return channel_for(self.study(), self.kwargs["provider"])

    @endpoint(gives=ChannelSerializer, many=True)
    def list(self) -> Any:
        """List a study's channels.

        Every platform of this server, whether or not it is set up for the study. Secrets are never
        returned.
        """
        return channel_statuses(self.study())

    @endpoint(takes=ChannelChange, gives=ChangedChannel)
    def update(self) -> dict[str, Any]:
        """Set up or change a channel.

        The settings match the platform's form on the *Recruit* page. Settings that are left out
        stay as they are.
        """
        study, platform = self.study(), get_platform(self.kwargs["provider"])
        values = self.values
        stored = Channel.objects.filter(study=study, provider=platform.name).first()
        form = platform.settings_form({**(stored.settings if stored else {}), **values["settings"]})
        refuse_unknown_names(values["settings"], form.fields, "settings.")
        _, problem = set_up_channel(
            study=study,
            platform=platform,
            settings=checked_form(form),
            token=values["token"].strip(),
        )
        code = problem.code if problem else None
        return {"channel": _status(study, platform.name), "token_problem": code}

    @endpoint()
    def destroy(self) -> None:
        """Remove a channel."""
        remove_channel(channel=self.channel())

    @endpoint(detail=True, gives=ChannelSerializer)
    def close(self) -> object:
        """Close a channel to newcomers.

        Participants who have already entered can continue.
        """
        channel = self.channel()
        close_channel(channel=channel)
        return _status(channel.study, channel.provider)

    @endpoint(detail=True, gives=ChannelSerializer)
    def reopen(self) -> object:
        """Let people enter through a channel again."""
        channel = self.channel()
        reopen_channel(channel=channel)
        return _status(channel.study, channel.provider)

    @endpoint(detail=True, takes=ChannelAction, gives=ChannelSerializer)
    def actions(self) -> object:
        """Ask a platform for something.

        A worker asks the platform once; follow `pending` and `problem` of the channel. `start` costs
        money, and `approve-all` pays all who await payment, without another question.
        """
        channel, values = self.channel(), self.values
        if values["action"] in PAYS:
            check_right(self.by, channel.study, Right.OWN)
        if channel.pk is None:  # the open link that a study has although nobody set it up
            raise DomainError("no_such_channel", NOT_SET_UP, status=404)
        act_on_channel(
            channel=channel,
            action=values["action"],
            participants=str(values.get("participants", "")),
            addresses=addresses_of(self.request._request, channel),
            by=self.by,
            email=values["email"],
        )
        return _status(channel.study, channel.provider)


def _status(study: Study, provider: str) -> object:
    return next(s for s in channel_statuses(study) if s.platform.name == provider)
