"""`manage.py rotate_secrets`: what is stored with a former secret key gets the current one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.members.login_throttle import KNOWN_DAYS
from studies.rotation import UNREADABLE, rotate_secrets

CAN_GO = (
    "Nothing that is stored needs a former key now. Cookies do: annotators who began before can go on if you"
    f" keep it in TIEBREAK_SECRET_KEY_FALLBACKS for {KNOWN_DAYS} days. If it is known to others, remove it now."
)
CANNOT_GO = "{} stored texts were made with a key that this server lacks. Add it to TIEBREAK_SECRET_KEY_FALLBACKS, and run this again."


class Command(BaseCommand):
    help = (
        "Encrypt and sign anew what only a key in TIEBREAK_SECRET_KEY_FALLBACKS opens. It may be stopped, and"
        " run again while the server runs."
    )

    def handle(self, *_: Any, **__: Any) -> None:
        counts = rotate_secrets()
        for place, done in counts.items():
            said = ", ".join(f"{n} {state}" for state, n in sorted(done.items())) or "none"
            self.stdout.write(f"{place}: {said}")
        # Sessions that nobody can open are those that ended when their key went.
        unreadable = sum(done[UNREADABLE] for place, done in counts.items() if place != "sessions")
        if unreadable:
            raise CommandError(CANNOT_GO.format(unreadable))
        self.stdout.write(CAN_GO)
