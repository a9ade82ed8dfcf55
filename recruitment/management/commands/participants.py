"""`manage.py participants`: list a study's participants, pay, reject, exclude and reinstate them."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import Participation
from jobs.commands import as_command_error
from recruitment.ledger import ledger
from recruitment.services.participants import (
    Chosen,
    exclude_participant,
    pay_awaiting,
    pay_bonus,
    reinstate_participant,
    reject_submission,
)
from recruitment.terms import owed
from studies.commands import study_named
from studies.models import Study


class Command(BaseCommand):
    help = (
        "List a study's participants or act on them, as the Participants & payments page does."
        " Participants are named by their pseudonyms."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's public id")
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="list all with their work, payments and what is owed")
        pay = actions.add_parser("pay", help="pay all who await payment, or these")
        pay.add_argument("participant", nargs="*")
        pay.add_argument("--total", type=_money, required=True, help="the sum that you expect")
        bonus = _one(actions, "bonus", "pay a bonus, once for each key")
        bonus.add_argument("--amount", type=_money, required=True)
        bonus.add_argument("--reason", required=True)
        bonus.add_argument("--key", required=True, help="your name for this bonus")
        reject = _one(actions, "reject", "reject a submission on its platform")
        reject.add_argument("--category", default="")
        reject.add_argument("--message", required=True)
        exclude = _one(actions, "exclude", "leave the ratings out and offer the work to others")
        exclude.add_argument("--reason", default="")
        _one(actions, "reinstate", "undo an exclusion")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        with as_command_error(with_code=True):
            self.stdout.write(_act(study, options))


def _one(actions: Any, name: str, description: str) -> CommandParser:
    parser: CommandParser = actions.add_parser(name, help=description)
    parser.add_argument("participant")
    return parser


def _money(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ArgumentTypeError(f"{text!r} is no amount of money") from error


def _act(study: Study, options: dict[str, Any]) -> str:
    """Do what was asked, and return a line that says what was done."""
    if options["action"] == "list":
        return _listed(study)
    if options["action"] == "pay":
        return _pay(study, options)
    return ACTIONS[options["action"]](_person(study, options["participant"]), options)


def _bonus(participation: Participation, options: dict[str, Any]) -> str:
    pay_bonus(
        participation=participation,
        amount=options["amount"],
        reason=options["reason"],
        request_key=options["key"],
    )
    return "The bonus was requested."


def _reject(participation: Participation, options: dict[str, Any]) -> str:
    category, message = options["category"], options["message"]
    reject_submission(participation=participation, category=category, message=message)
    return "The rejection was requested."


def _listed(study: Study) -> str:
    header = ("rater", "status", "HITs", "ratings", "paid", "owed")
    rows = [
        (
            row.participation.rater.pseudonym,
            row.participation.status,
            row.hits,
            row.ratings,
            row.paid,
            owed(row.participation),
        )
        for row in ledger(study).rows
    ]
    return "\n".join("\t".join(map(str, row)) for row in (header, *rows))


def _pay(study: Study, options: dict[str, Any]) -> str:
    names = options["participant"]
    public_ids = tuple(_person(study, name).public_id for name in names) if names else None
    paid = pay_awaiting(study=study, chosen=Chosen(public_ids), total=options["total"])
    return f"Payments recorded: {paid.recorded}; requested of platforms: {paid.requested}."


def _person(study: Study, pseudonym: str) -> Participation:
    people = study.participations.filter(rater__pseudonym=pseudonym)
    related = people.select_related("study", "rater", "submission__channel").order_by("pk")
    participation = related.last()
    if participation is None:
        raise CommandError(f"Nobody called {pseudonym!r} took part in this study.")
    return participation


ACTIONS: dict[str, Callable[[Participation, dict[str, Any]], str]] = {
    "bonus": _bonus,
    "reject": _reject,
    "exclude": lambda one, options: (
        "Tasks that no longer count:"
        f" {exclude_participant(participation=one, reason=options['reason'])}."
    ),
    "reinstate": lambda one, _: (
        f"Tasks that count again or are surplus: {reinstate_participant(participation=one)}."
    ),
}
