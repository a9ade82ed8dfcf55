"""The open invitations to a study."""

from functools import partial
from typing import Any

from api.resources import Resource, endpoint
from api.serializers.invitations import InvitationSerializer, MadeInvitation, NewInvitation
from studies.access import Right
from studies.members.invitations import invitations_to, invite, withdraw
from studies.models import Invitation
from studies.public_address import public_url


class Invitations(Resource):
    tag = "invitations"
    lookup_url_kwarg, lookup_value_converter = "invitation_id", "public_id"

    @endpoint(gives=InvitationSerializer, many=True)
    def list(self) -> Any:
        """List a study's open invitations."""
        return invitations_to(self.study(Right.OWN))

    @endpoint(takes=NewInvitation, gives=MadeInvitation, status=201)
    def create(self) -> Invitation:
        """Invite somebody by e-mail to a study.

        An earlier invitation of the same address to this study is void. Where the server sends no e-mails,
        the answer has the link to pass on.
        """
        address = partial(public_url, self.request._request)
        study = self.study(Right.OWN)
        return invite(by=self.by, study=study, address=address, **self.values)

    @endpoint()
    def destroy(self) -> None:
        """Withdraw an invitation."""
        public_id = self.kwargs["invitation_id"]
        withdraw(study=self.study(Right.OWN), public_id=public_id, by=self.by)
