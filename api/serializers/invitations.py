"""What requests and responses about invitations contain."""

from typing import Any

from rest_framework import serializers

from studies.members.invitations import link_of
from studies.models import Invitation, Membership


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    id = serializers.CharField(source="public_id")

    class Meta:
        model = Invitation
        fields = ("id", "email", "role", "created_at", "expires_at")


class MadeInvitation(InvitationSerializer):
    """It alone has the link: who may only read could otherwise accept the invitation."""

    link = serializers.SerializerMethodField(
        help_text="The path to pass on by hand; null if it was sent by e-mail."
    )

    class Meta(InvitationSerializer.Meta):
        fields = (*InvitationSerializer.Meta.fields, "link")  # type: ignore[assignment]

    def get_link(self, invitation: Invitation) -> str | None:
        return None if invitation.is_sent else link_of(invitation)


class NewInvitation(serializers.Serializer[Any]):
    email = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(choices=Membership.Role.choices)
