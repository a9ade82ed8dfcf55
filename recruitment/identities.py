"""Judges what a link, a platform or a form sends, before it becomes anyone's identity.

A panel that does not fill in its placeholders sends the same text for everyone: the first to come
would own that identity, and all others would be refused as someone else.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils.crypto import salted_hmac

from annotation.models import Participation
from recruitment.messages import ERASED_HERE, INCOMPLETE_LINK, UNFILLED_LINK
from studies.models.lasting_key import known_keys
from tiebreak.errors import DomainError

# IDs of platforms; with ASCII alone, no two IDs look the same.
LETTERS_AND_DIGITS = re.compile(r"[A-Za-z0-9]{1,64}")
ANY_ID = re.compile(r"[A-Za-z0-9_.@:-]{1,150}")
MAX_NAME = 150
# What programs write where they have no value, and what templates and guides have in its place.
PLACEHOLDERS = frozenset(
    re.findall(
        r"\w+",
        "null nil none nan na undefined unknown empty true false test example sample placeholder dummy"
        " xxx id ids pid uid user userid visit visitid person personid participant participantid"
        " submission submissionid session sessionid subject subjectid respondent respondentid worker"
        " workerid assignmentid hitid study studyid prolificpid surveycode",
    )
)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class UnusableId(DomainError):
    """A link whose ID is missing, malformed or a placeholder; nothing of it may be stored."""

    def __init__(self, code: str, sentence: str, parameter: str) -> None:
        super().__init__(code, sentence.format(parameter), status=400)
        self.parameter = parameter


def id_in(parameters: Mapping[str, str], name: str, allowed: re.Pattern[str]) -> str:
    """Return the ID in a link's parameter. Raises `UnusableId`."""
    value = parameters.get(name, "").strip(" ")
    if is_placeholder(value, name):
        raise UnusableId("unfilled_link", UNFILLED_LINK, name)
    if not allowed.fullmatch(value):
        raise UnusableId("incomplete_link", INCOMPLETE_LINK, name)
    return value


def is_placeholder(value: str, name: str = "") -> bool:
    """Whether the value is a template's variable or a word for no value, not anyone's ID."""
    core = re.sub(r"[\W_]+", "", value).casefold()
    words = PLACEHOLDERS | {re.sub(r"[\W_]+", "", name).casefold()}
    is_marked = re.search(r"[{}<>\[\]$%|]|^__|__$|^:", value)
    return bool(value) and (bool(is_marked) or not core.strip("0") or core in words)


def is_usable(value: str) -> bool:
    """Whether what a platform reports can be stored as an ID."""
    return ANY_ID.fullmatch(value) is not None and not is_placeholder(value)


def name_of(typed: str) -> str:
    """Return a typed name in one spelling; "" if it has characters that nobody sees, or is too long."""
    name = unicodedata.normalize("NFKC", " ".join(typed.split()))
    unseen = any(unicodedata.category(character) in UNSEEN for character in name)
    return "" if unseen or len(name) > MAX_NAME else name


def erased_name(identifier: str, key: str) -> str:
    """Return what takes the place of an erased person's identifier.

    Only a server that has the key and is told the identifier again finds that it is the same one.
    """
    digest = salted_hmac("recruitment.erased", identifier, secret=key, algorithm="sha256")
    return f"erased-{digest.hexdigest()[:32]}"


def check_not_erased(study_id: str, provider: str, external_id: str) -> None:
    """Raise `DomainError` if this person was erased from the study, so that no report brings them back."""
    erased = Participation.objects.filter(study=study_id, provider=provider)
    erased = erased.filter(rater__erased_at__isnull=False)
    names = [erased_name(external_id, key) for key in known_keys()]
    is_known = reduce(or_, (Q(rater__external_id__startswith=f"{name}-") for name in names))
    if erased.filter(is_known).exists():
        raise DomainError("erased_here", ERASED_HERE, status=403)
