"""Inviting somebody by e-mail to a study or to the server, and what the link does.

Whether there is an account with the address is told to nobody but whoever has the link. Without an
e-mail server the link is passed on by hand, so it proves nothing about the address: the new account
then has none, because whoever owns it could otherwise be given an account that others opened.
"""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache
from django.db import transaction
from django.db.models import Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse

from jobs.clock import database_now
from jobs.queue import enqueue
from studies.access import RIGHTS, Right, right_in
from studies.models import Invitation, Membership, Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

OPEN_FOR = timedelta(days=14)
# A process sends no more invitations for one person in a day, whose e-mails may else be unwanted.
MAX_IN_A_DAY = 50
SIGNER = signing.Signer(salt="invitation")

OVER = (
    "This invitation was accepted or withdrawn, or has expired. Ask whoever invited you for a new"
    " one. If you have an account, log in."
)
TOO_MANY = "You sent {} invitations within a day. Please wait until tomorrow to send more."
HAS_ACCOUNT = (
    "There is an account with your e-mail address. Log in with it, and accept the invitation then."
)
NONE_SUCH = "There is no such invitation. Reload the page to see those that are open."


def invite(
    *, by: User, email: str, address: Callable[[str], str], study: Study | None, role: str = ""
) -> Invitation:
    """Invite the owner of an e-mail address, and void the earlier invitation to the same study.

    Addresses in expired invitations are forgotten.
    ``address`` completes the path of the link. With an e-mail server a worker sends the link. Raises
    `DomainError` after too many invitations, or if the broker does not answer.
    """
    key = f"invitations:{by.pk}"
    cache.add(key, 0, timedelta(days=1).total_seconds())
    if cache.incr(key) > MAX_IN_A_DAY:
        raise DomainError("too_many_invitations", TOO_MANY.format(MAX_IN_A_DAY), status=429)
    now = database_now()
    with transaction.atomic():
        earlier = Q(study=study, email__iexact=email)
        Invitation.objects.filter(earlier | Q(expires_at__lte=now)).delete()
        invitation = Invitation.objects.create(
            study=study,
            email=email,
            role=role,
            invited_by=by,
            is_sent=settings.TIEBREAK_HAS_EMAIL,
            expires_at=now + OPEN_FOR,
        )
        _log(invitation, StudyEvent.Verb.INVITE, by)
        if invitation.is_sent:
            _send(invitation, address(link_of(invitation)))
    return invitation


def _send(invitation: Invitation, link: str) -> None:
    study = invitation.study
    subject = f"An invitation to {study.title if study else 'Tiebreak'}"
    body = render_to_string(
        "registration/invitation_email.txt", {"invitation": invitation, "link": link}
    )
    enqueue("studies.tasks.send_mail_task", " ".join(subject.split()), body, invitation.email)


def link_of(invitation: Invitation) -> str:
    """Return the path of the link, which is made of the server's key and stored nowhere."""
    return reverse("studies:accept-invitation", args=[SIGNER.sign(invitation.public_id)])


def invitations_to(study: Study | None) -> QuerySet[Invitation]:
    """Return the invitations to a study, or to the server, that can be accepted."""
    return Invitation.objects.filter(study=study, expires_at__gt=database_now())


@transaction.atomic
def withdraw(*, study: Study | None, public_id: str, by: User) -> None:
    invitation = Invitation.objects.filter(study=study, public_id=public_id).first()
    if invitation is None or not _end(invitation):
        raise DomainError("no_such_invitation", NONE_SUCH, status=404)
    _log(invitation, StudyEvent.Verb.WITHDRAW, by)


def _end(invitation: Invitation) -> bool:
    """Delete an invitation, and return whether nobody else was faster."""
    deleted, _ = Invitation.objects.filter(pk=invitation.pk).delete()
    return bool(deleted)


def _log(invitation: Invitation, verb: StudyEvent.Verb, by: User) -> None:
    """Note in the study's log whom it is about, without the address, which all members would read."""
    if invitation.study is not None:
        name, _, domain = invitation.email.rpartition("@")
        details = {"address": f"{name[0]}…@{domain}", "role": invitation.role}
        record_event(study=invitation.study, verb=verb, by=by, details=details)


def open_invitation(token: str) -> Invitation:
    """Return the invitation of a link, or refuse it.

    It is void as soon as whoever sent it may no longer do so.
    """
    try:
        public_id = SIGNER.unsign(token)
    except signing.BadSignature:
        public_id = ""
    found = (
        Invitation.objects.select_related("study", "invited_by")
        .filter(public_id=public_id, expires_at__gt=database_now())
        .first()
    )
    if found is None or not may_invite(found.invited_by, found.study):
        raise DomainError("invitation_over", OVER, status=404)
    return found


def may_invite(user: User, study: Study | None) -> bool:
    """Whether a user may invite somebody to a study or, as an administrator, to the server."""
    if study is None:
        return user.is_active and user.is_staff and user.is_superuser
    return right_in(user, study) >= Right.OWN


@transaction.atomic
def accept(*, token: str, user: User) -> Invitation:
    """Give a researcher the role of an invitation, which ends it; nobody's role becomes less."""
    invitation = open_invitation(token)
    if not _end(invitation):
        raise DomainError("invitation_over", OVER, status=404)
    _log(invitation, StudyEvent.Verb.JOIN, user)
    if invitation.study is not None:
        membership, is_new = Membership.objects.select_for_update().get_or_create(
            study=invitation.study, user=user, defaults={"role": invitation.role}
        )
        if not is_new and RIGHTS[invitation.role] > RIGHTS[membership.role]:
            membership.role = invitation.role
            membership.save(update_fields=["role"])
    return invitation


@transaction.atomic
def open_account(*, token: str, username: str, password: str) -> tuple[User, Invitation]:
    """Create the account of somebody who was invited, and accept the invitation with it."""
    invitation = open_invitation(token)
    email = invitation.email if invitation.is_sent else ""
    if email and User.objects.filter(email__iexact=email).exists():
        raise DomainError("has_account", HAS_ACCOUNT)
    user = User.objects.create_user(username, email, password, is_staff=True)
    return user, accept(token=token, user=user)
