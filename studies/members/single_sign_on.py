"""Logging in with an institution's account by OpenID Connect, with Authlib.

An account is found by the provider's lasting id of a person. At the first log-in it is found by the
e-mail address, if the provider has verified it. Authlib checks state, nonce, signature and claims.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from studies.members.entering import enter
from studies.models import SingleSignOn
from studies.public_address import public_url
from studies.refusals import told
from tiebreak.errors import DomainError

logger = logging.getLogger(__name__)

NEXT = "single-sign-on-next"
# Signatures with a key that only the provider has. Others could be made with what we know.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
TIMEOUT_S = 5  # a person waits for the provider, and so does a thread of the web server
CLOCKS_S = 60  # by how much the provider's clock may be off

FAILED = (
    "The log-in with {} did not work. Please try again. If it fails again, tell the administrator of"
    " this server."
)
UNVERIFIED = "{} did not confirm your e-mail address, so no account can be found. Ask them to."
NOT_ALLOWED = "{} says that you do not belong to those who may use this server."
NO_ACCOUNT = (
    "There is no account for you to log in with {}. Ask the administrator of this server to invite"
    " you by the e-mail address that you have there."
)

Claims = Mapping[str, Any]


def refusal(code: str, sentence: str) -> DomainError:
    return DomainError(code, sentence.format(settings.TIEBREAK_OIDC_NAME), status=403)


@cache
def _provider() -> Any:
    """Return Authlib's client, which is loaded only where it is used."""
    from authlib.integrations.django_client import OAuth  # noqa: PLC0415

    return OAuth().register(
        "provider",
        client_id=settings.TIEBREAK_OIDC_CLIENT_ID,
        client_secret=settings.TIEBREAK_OIDC_CLIENT_SECRET,
        server_metadata_url=f"{settings.TIEBREAK_OIDC_ISSUER}/.well-known/openid-configuration",
        client_kwargs={
            "scope": "openid email profile",
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_S,
        },
    )


def _checked_provider() -> Any:
    provider = _provider()
    found = provider.load_server_metadata()
    if found.get("issuer", "").rstrip("/") != settings.TIEBREAK_OIDC_ISSUER:
        raise refusal("another_issuer", FAILED)
    found["id_token_signing_alg_values_supported"] = ALGORITHMS
    return provider


@never_cache
@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Send somebody to the provider. Where they go afterwards is kept here and must be ours."""
    to = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        to, {request.get_host()}, require_https=request.is_secure()
    )
    request.session[NEXT] = to if is_ours else reverse("admin:index")
    with told(request), _failures_refused():
        address = public_url(request, reverse("single-sign-on-answer"))
        sent: HttpResponse = _checked_provider().authorize_redirect(request, address)
        return sent
    return redirect("admin:login")


@never_cache
@require_safe
def answer(request: HttpRequest) -> HttpResponse:
    """Log in whom the provider sends back."""
    to = request.session.pop(NEXT, "") or reverse("admin:index")
    with told(request):
        with _failures_refused():
            claims = _claims(request)
        user = user_for(claims)
        has_second_factor = "mfa" in (claims.get("amr") or ())
        return enter(request, user, to, is_verified=has_second_factor)
    return redirect("admin:login")


def _claims(request: HttpRequest) -> Claims:
    """Return what the provider says of somebody, checked; the address may be in its second answer."""
    provider = _checked_provider()
    issuer, client = provider.server_metadata["issuer"], provider.client_id
    token = provider.authorize_access_token(
        request,
        leeway=CLOCKS_S,
        claims_options={
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": client},
        },
    )
    claims = dict(token["userinfo"])
    if "email" not in claims and "userinfo_endpoint" in provider.server_metadata:
        more = provider.userinfo(token=token)
        if more["sub"] != claims["sub"]:
            raise refusal("another_person", FAILED)
        claims = {**more, **claims}
    return claims


@contextmanager
def _failures_refused() -> Iterator[None]:
    """Refuse whatever fails at the provider with one sentence, and log its kind alone."""
    try:
        yield
    except Exception as error:
        kind = error.code if isinstance(error, DomainError) else type(error).__name__
        logger.warning("Single sign-on failed: %s", kind)
        raise refusal("single_sign_on_failed", FAILED) from error


def user_for(claims: Claims) -> User:
    """Return the researcher whom checked claims are about.

    The first time, the account with the verified address is bound to the provider's id.
    """
    email = str(claims.get("email", "")) if claims.get("email_verified") is True else ""
    if not _is_allowed(claims, email):
        raise refusal("not_allowed", NOT_ALLOWED)
    issuer, subject = settings.TIEBREAK_OIDC_ISSUER, str(claims["sub"])
    known = SingleSignOn.objects.filter(issuer=issuer, subject=subject).first()
    if known is not None:
        return _active(known.user)
    if not email:
        raise refusal("unverified_email", UNVERIFIED)
    try:
        with transaction.atomic():
            user = _active(_owner(email) or _new_user(email))
            SingleSignOn.objects.create(user=user, issuer=issuer, subject=subject)
    except IntegrityError as error:  # the account is bound to another id, or made just now
        raise refusal("no_account", NO_ACCOUNT) from error
    return user


def _is_allowed(claims: Claims, email: str) -> bool:
    """Whether the address has an allowed domain and the claim has the group, where that is asked."""
    domain = email.rpartition("@")[2].lower()
    domains, (name, group) = settings.TIEBREAK_OIDC_DOMAINS, settings.TIEBREAK_OIDC_GROUP
    groups = claims.get(name, ()) if name else ()
    in_group = not name or group in ([groups] if isinstance(groups, str) else groups)
    return in_group and (not domains or domain in domains)


def _active(user: User) -> User:
    if not (user.is_active and user.is_staff):
        raise refusal("no_account", NO_ACCOUNT)
    return user


def _owner(email: str) -> User | None:
    """Return the only account with an address; with several, nobody knows which is meant."""
    found = list(User.objects.filter(email__iexact=email)[:2])
    if len(found) > 1:
        raise refusal("no_account", NO_ACCOUNT)
    return found[0] if found else None


def _new_user(email: str) -> User:
    is_taken = User.objects.filter(username__iexact=email).exists()
    if is_taken or not settings.TIEBREAK_OIDC_NEW_ACCOUNTS:
        raise refusal("no_account", NO_ACCOUNT)
    return User.objects.create_user(email, email, is_staff=True)


def single_sign_on_urls() -> list[URLPattern]:
    return [
        path("single-sign-on/", start, name="single-sign-on"),
        path("single-sign-on/answer/", answer, name="single-sign-on-answer"),
    ]
