"""The researcher's page of one participant: work, evidence, payments and answers."""

from typing import Any

from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from annotation.models import HIT, Participation, Rater
from annotation.participant_answers import answers_page, given_answer
from annotation.participant_evidence import FAST_WORDS_PER_MINUTE, MAX_ANSWERS, evidence_of
from annotation.selectors import exclusions
from annotation.services.screening import unanswered_checks
from recruitment.ledger import awaits_payment, is_on_platform, pays_by_platform, platform_title
from recruitment.messages import PART_OF_OTHERS
from recruitment.people_table import pay_label
from recruitment.platforms import Platform, get_platform
from recruitment.platforms.base import MAX_MESSAGE
from recruitment.services.personal_data import own_data, studies_of_person
from recruitment.terms import owed
from studies.access import Right, held_right, of_study, shows_study, studies_of
from studies.models import Study, StudyEvent
from studies.refusals import told
from tiebreak.digits import counted
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

# What the signs are called on the page, and what their number of cases counts.
SIGNS = {
    "seconds": ("Typical seconds per answer (geometric mean)", "answer"),
    "fast": (f"Answers given faster than {FAST_WORDS_PER_MINUTE} words a minute", "answer"),
    "agreement": ("Agreement with others on the same items", "pair of answers", "pairs of answers"),
    "repeats": ("Repeated items answered the same way", "repeat"),
    "checks": ("Gold checks failed", "check"),
    "first-text": ("Preferences for the text shown first", "preference"),
    "run": ("Longest run of one choice", "answer"),
}
STAGES = {
    "comprehension": "Questions on the guidelines",
    "training": "Practice",
    "qualification": "Test",
}


@shows_study
def participant(request: HttpRequest, study: Study, participation_id: str) -> HttpResponse:
    participation = _participation(study, participation_id)
    evidence = evidence_of(participation)
    alone = request.GET.get("answers") == "alone"
    page = answers_page(participation, request.GET.get("page"), alone=alone)
    right = held_right(request.user, study)
    rater = participation.rater
    context = {
        "study": study,
        "here": "ledger",
        "participation": participation,
        "name": participation.rater.pseudonym,
        "source": platform_title(participation),
        "is_on_platform": is_on_platform(participation),
        "owed": owed(participation),
        "payments": participation.payments.all(),
        "evidence": evidence,
        "attempts": [
            (STAGES[one.stage], one)
            for one in participation.screening_attempts.order_by("created_at", "pk")
        ],
        "signs": [
            (sign, title, counted(sign.n, *cases))
            for sign in evidence.signs
            for title, *cases in [SIGNS[sign.name]]
        ],
        "max_answers": MAX_ANSWERS,
        "exclusion": _exclusion(participation),
        "page": page,
        "alone": alone,
        "answers": [given_answer(row) for row in page],
        # The platform's IDs identify a person, so only those who recruit see them.
        "shows_ids": right >= Right.CHANGE and rater.erased_at is None,
        **(_actions(participation) if right >= Right.OWN and not rater.is_erased else {}),
    }
    return render(request, "recruitment/participant.html", context)


@require_safe
@of_study(Right.OWN)
def data(request: HttpRequest, study: Study, participation_id: str) -> HttpResponse:
    """Send everything that is stored about a person as a file, for the person."""
    participation = _participation(study, participation_id)
    with told(request):
        check_owns_all(request.user, participation.rater)
        headers = {"Content-Disposition": f'attachment; filename="{participation_id}.json"'}
        content = own_data(participation.rater)
        return HttpResponse(content, content_type="application/json", headers=headers)
    return redirect("recruitment:participant", study.pk, participation_id)


def check_owns_all(user: Any, rater: Rater) -> None:
    """Raise `DomainError` if the person took part in a study that the researcher does not own."""
    if studies_of_person(rater).exclude(pk__in=studies_of(user, Right.OWN)).exists():
        raise DomainError("part_of_others", PART_OF_OTHERS, status=403)


def _participation(study: Study, public_id: str) -> Participation:
    done = Q(
        assignments__completed_at__isnull=False,
        assignments__hit__kind=HIT.Kind.MAIN,
    )
    matches = Participation.objects.filter(study=study, public_id=public_id)
    related = matches.select_related("study", "rater", "submission__channel")
    participation = related.annotate(
        hits=Count("assignments", filter=done), unanswered=unanswered_checks()
    ).first()
    if participation is None:
        raise Http404("This study has no such participant.")
    return participation


def _exclusion(participation: Participation) -> StudyEvent | None:
    if participation.status != Participation.Status.EXCLUDED:
        return None
    name = participation.rater.pseudonym
    return exclusions(participation.study, details__annotator=name).get(name)


def _actions(participation: Participation) -> dict[str, Any]:
    """Return what owners of the study can do here, and why they cannot do the rest."""
    platform, channel = _paying_platform(participation), participation.submission.channel
    return {
        "is_owner": True,
        "pay_label": pay_label(channel) if awaits_payment(participation) else "",
        "platform": platform,
        "can_reject": platform is not None and platform.supports("reject"),
        "can_pay_bonus": platform is not None and platform.supports("pay"),
        "max_message": MAX_MESSAGE,
        "request_key": new_public_id(),
    }


def _paying_platform(participation: Participation) -> Platform | None:
    channel = participation.submission.channel
    has_ids = participation.rater.erased_at is None
    if channel is None or not pays_by_platform(channel) or not has_ids:
        return None
    try:
        return get_platform(channel.provider)
    except DomainError:
        return None
