"""The vocabulary of the project: a word that was retired is left in no name and on no page.

A name is read as lower-case words: `DryRunState`, `dry_run_state` and `dry-run-state` are all "dry
run state". A retired word that has another legitimate meaning gets a precise pattern, or a list of
the files that may use it.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from django.db.models import Field, Model
from django.urls import get_resolver

from recruitment.models import Channel
from studies.models import Criterion, Screening, Study
from tests.architecture.test_imports import PACKAGES
from tests.architecture.test_urls import patterns
from tests.paths import ROOT

CODE = (*PACKAGES, "benchmarks", "tests")
THIS_FILE = Path(__file__).relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Use:
    """A name or a text, and where it is used."""

    text: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Retired:
    """A retired word.

    `pattern` is searched in the words of a name. If `is_exact`, it must match the name as it is
    written instead, upper and lower case included. `only` and `allowed` are regular expressions of
    the files in which it is looked for, and of those in which it has its other meaning.
    """

    pattern: str
    instead: str
    is_exact: bool = False
    only: str = ""
    allowed: str = "$^"

    def matches(self, name: str) -> bool:
        if self.is_exact:
            return re.fullmatch(self.pattern, name) is not None
        return re.search(rf"\b(?:{self.pattern})\b", words_of(name)) is not None

    def is_looked_for_in(self, file: str) -> bool:
        return bool(re.search(self.only, file) and not re.search(self.allowed, file))


@cache
def words_of(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_\-./]+", " ", name)
    return " ".join(spaced.lower().split())


NAMES = {
    "way in": Retired(r"ways? in", "channel"),
    "Recruitment": Retired("Recruitment", "Channel; an app's verbose name is no class", True),
    "turn": Retired(
        "turn",
        "change_channel_state",
        is_exact=True,
        only="^(recruitment|tests/recruitment)/",
    ),
    "Provider": Retired("Provider", "Platform; the field `provider` keeps its name", True),
    "door": Retired(r"doors?", "entry, participation_cookie or login"),
    "named_in": Retired("named in", "participation_stub"),
    "participation_in": Retired("participation_in", "current_participation", True),
    "desk": Retired("desk", "unit_presentation, _LockedAnswers or researcher_client"),
    "books": Retired("books", "ledger"),
    # Tests are sentences, in which "asking" may be a verb.
    "asking": Retired("asking", "platform_actions", is_exact=True),
    "ask_for": Retired(r"ask_for\w*", "enqueue_action", is_exact=True),
    "carry_out": Retired("carry out", "run_action"),
    "VERBS": Retired("VERBS", "ACTIONS", is_exact=True),
    "recruiting": Retired("recruiting", "platform_sync"),
    "steer": Retired("steer", "transition_platform_study"),
    "listen": Retired("listen", "subscribe_webhook", is_exact=True),
    "meet": Retired("meet", "get_or_create_participation", is_exact=True),
    "is_there": Retired(
        "is_there", "is_submission_active", True, "^(recruitment|tests/recruitment)/"
    ),
    "Standing": Retired("Standing", "SubmissionStatus", is_exact=True),
    "Arrival": Retired("Arrival|arrival_at", "PlatformEntry", is_exact=True),
    "Departure": Retired("Departure|departure", "ReturnInstructions", is_exact=True),
    "Kept": Retired("Kept", "PrivacyNotice", is_exact=True),
    "way_back": Retired("ways? back", "return_params"),
    "word as a token": Retired(
        r"word|words?_of_entry|entry_word|frame_word",
        "entry_token or frame_token",
        is_exact=True,
        only="^recruitment/",
        # A simulated rater reads the words of a text.
        allowed="^recruitment/simulation/",
    ),
    "Entry": Retired("Entry", "LedgerRow", is_exact=True, only="ledger"),
    "withdraw_work": Retired("withdraw work", "exclude_work"),
    "WITHDRAWN": Retired(
        # A participant withdraws; an assignment is excluded.
        "WITHDRAWN",
        "EXCLUDED",
        is_exact=True,
        only="^annotation/models/(assignments?|hits?|places?)",
    ),
    "Trial": Retired(r"Trials?|trials?", "ScreeningAttempt", is_exact=True),
    "known unit": Retired(r"known (units?|pairs?)", "reference unit"),
    "spoilt": Retired("spoilt", "degraded copy, or malformed for a file"),
    "attention check": Retired(r"attention checks?", "gold check"),
    "seat": Retired(r"seats?", "HITUnit"),
    # A place is one response that a HIT still needs. The library knows no HITs, so that a place in
    # it is an index; a platform's host and port are its authority, and a semaphore has slots.
    "place": Retired(r"_?places?", "index, authority or slots", True, "^tiebreak/"),
    "Person.met": Retired("met", "hits_started", is_exact=True, only="^(annotation|recruitment)/"),
    "Share": Retired("Share", "AnnotatorProgress", is_exact=True),
    "_fate": Retired("fate", "_note"),
    "choosing": Retired("choosing|selecting", "instance selection", is_exact=True),
    "Prospect": Retired(r"prospects?", "SelectionPreview"),
    "Pool of instances": Retired(
        # Processes, threads and connections come in pools.
        r"pools?|Pool",
        "sampling frame",
        is_exact=True,
        only="^(studies/instance_selection|metrics|tests/studies/instance_selection)/",
    ),
    "work_of": Retired("work_of", "register_handler", is_exact=True),
    "take_up_abandoned_jobs": Retired("take up", "requeue_stale_jobs"),
    # A place may be lost to somebody else.
    "LOST": Retired("LOST", "REQUEUE_AFTER", True, "^(jobs|studies|tests/(jobs|studies))/"),
    "PATIENCE": Retired(r"patience", "STALE_AFTER, or a timeout"),
    "shift_tallies": Retired("shift tallies", "apply_tally_deltas"),
    "_Season": Retired(r"seasons?", "_EloSimulation"),
    "drawn replicates": Retired(
        # Instances and units are drawn.
        "drawn",
        "bootstrap_values",
        is_exact=True,
        only="^tiebreak/stats/(bootstrap|replicates|resampling)",
    ),
    "found, own, each, said": Retired(r"found|own|each|said", "what the thing is", is_exact=True),
    # Hypothesis has a decorator of this name.
    "given": Retired("given", "what the thing is", is_exact=True, allowed="^tests/"),
    "MOST_": Retired(r"_?(MOST|FEWEST)(_\w+)?", "MAX_ or MIN_", is_exact=True),
    "case number": Retired(r"test_\d\d_\w+", "the words of the case", is_exact=True),
}

TEXTS = {
    "places done": r"places? (done|in work|filled)|\bin work\b",
    "People and money": r"people and money",
    "Everybody": r"\beverybody\b",
    "Came by": r"\bcame by\b",
    "Says the platform": r"says the platform",
    "Choosing": r"\bchoosing\b",
    "As an annotator": r"\bas an annotator\b",
    "What it would bring": r"would bring",
    "Score what is not scored": r"(score|sample) what is",
    "Close this way in": r"\bways? in\b",
    "Make the study there": r"make the study there",
    "Raise the number": r"raise the number",
    "Be told of changes": r"be told of",
    "Compare now": r"compare now",
    "Noted as paid": r"noted as paid",
    "Data without payment": r"data without payment",
    "Paid to who": r"\bpaid to who\b",
    "made-up texts": r"made-up texts",
    "what we hold right": r"\bhold right\b|\bwe say:",
    "come across": r"come across",
    "Go back to where you came from": r"back to where you came from",
    "of one mind": r"of one mind",
    "point nowhere": r"points? nowhere",
    "preferred besides the text": r"besides the text",
    "What people said": r"what people said",
    "spoilt": r"\bspoilt\b",
    "known units": r"\bknown (units?|pairs?)\b",
    "books": r"\bbooks\b",
    "seat": r"\bseats?\b",
    "people for annotators": r"\b(ratings?|preferences|majority) (by|of) people\b",
}
# Words of the code and of files that are other words on pages. MTurk calls its own tasks HITs. A
# sentence about a row of a file or an argument of the library uses the name of its column.
TASK_AND_ITEM = re.compile(r"(?<![-\w])(HITs?|[Uu]nits?)\b")
NAMES_OF_COLUMNS = re.compile(
    r"^(recruitment/platforms/mturk/|recruitment/messages\.py"
    r"|templates/recruitment/(platform_preview|return_instructions)\.html"
    r"|annotation/(import_checks|services/(machine_ratings|verdicts))\.py|api/views/ratings\.py"
    r"|tiebreak/(formats/(?!export_columns)|stats/))"
)
# What researchers read of a dataset are its instances: an item is what annotators rate.
DATA_PAGES = re.compile(
    r"^(templates/(imports/|studies/data)|annotation/(services/items|views/data))"
)
# Written for those who run studies, not for those who read the code, the library or the files.
GUIDES = (
    *(ROOT / "docs").glob("how-to/*.md"),
    *(ROOT / "docs" / f"{name}.md" for name in ("collecting", "generate-and-select", "index")),
    *(ROOT / "docs" / f"{name}.md" for name in ("tutorial", "which-number")),
    ROOT / "README.md",
)
# The annotators' pages call a HIT a task; MTurk's own button says "Submit the HIT".
ANNOTATOR_PAGES = re.compile(
    r"^templates/(annotation/(?!ratings_counted)|annotator_base"
    r"|recruitment/(welcome|waiting|end|leave|declined|return_instructions))"
)


# What is looked at.


def sources(folders: tuple[str, ...] = CODE) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg | ast.keyword) and node.arg:
        yield node.arg
    elif isinstance(node, ast.alias):
        yield from (node.asname or node.name).split(".")
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names


@cache
def identifiers() -> frozenset[Use]:
    """Every name in the code, at the line of its use."""
    return frozenset(
        Use(name, file.relative_to(ROOT).as_posix(), getattr(node, "lineno", 0))
        for file in sources()
        for node in ast.walk(ast.parse(file.read_text()))
        for name in names_in(node)
        if file.relative_to(ROOT).as_posix() != THIS_FILE
    )


@cache
def file_names() -> frozenset[Use]:
    files = [*sources(), *templates(), *(ROOT / "static").rglob("*.*"), *(ROOT / "docs").rglob("*")]
    return frozenset(Use(path.stem, path.relative_to(ROOT).as_posix(), 0) for path in files)


@cache
def url_names() -> frozenset[Use]:
    """The names of all URLs of ours, their parameters and the fixed parts of their paths."""
    return frozenset(
        Use(part, "the URL configuration", 0)
        for name, route, _ in patterns(get_resolver())
        if not name.startswith("admin:auth")
        for part in (name.split(":")[-1], *re.findall(r"\w[\w-]*", route))
    )


TAG = re.compile(r"\{[{%](.*?)[%}]\}", re.S)
COMMENT = re.compile(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", re.S)
STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
# What people read or hear of an element's attributes.
READ_ATTRIBUTE = re.compile(r"\b(?:aria-label|alt|title|placeholder|value)=\"([^\"]*)\"")
ELEMENT = re.compile(r"<[^>]*>", re.S)


@cache
def context_names() -> frozenset[Use]:
    """Every name in the tags of the templates, their strings left out."""
    return frozenset(
        Use(name, path.relative_to(ROOT).as_posix(), number)
        for path in templates()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        for tag in TAG.findall(COMMENT.sub("", line))
        for name in re.findall(r"[A-Za-z_]\w*", STRING.sub("", tag))
    )


def visible(html: str) -> str:
    """The text of a template and of its read attributes, without tags."""
    text = TAG.sub(lambda tag: " ".join(["", *STRING.findall(tag[1]), ""]), COMMENT.sub("", html))
    return " ".join([ELEMENT.sub(" ", text), *READ_ATTRIBUTE.findall(text)])


@cache
def page_texts() -> frozenset[Use]:
    """Visible text by line: of templates, and of strings in the code that are no docstrings."""
    in_templates = {
        Use(visible(line), path.relative_to(ROOT).as_posix(), number)
        for path in templates()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
    }
    return frozenset(in_templates | set(_strings()))


def _strings() -> Iterator[Use]:
    for path in sources(tuple(PACKAGES)):
        file = path.relative_to(ROOT).as_posix()
        if "/migrations/" in file:
            continue
        tree = ast.parse(path.read_text())
        docstrings = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docstrings:
                yield Use(" ".join(node.value.split()), file, node.lineno)


@cache
def by_name() -> dict[str, list[Use]]:
    uses: dict[str, list[Use]] = {}
    for use in identifiers() | file_names() | url_names() | context_names():
        uses.setdefault(use.text, []).append(use)
    return uses


def check_none(left: set[Use], instead: str = "") -> None:
    if left:
        lines = sorted({str(use) for use in left})
        advice = f"; write {instead}" if instead else ""
        pytest.fail(f"{len(lines)} left{advice}:\n" + "\n".join(lines), pytrace=False)


# The tests.


@pytest.mark.parametrize("word", NAMES)
def test_no_name_uses_a_retired_word(word: str):
    retired = NAMES[word]
    uses = [use for name, same in by_name().items() if retired.matches(name) for use in same]
    left = {use for use in uses if retired.is_looked_for_in(use.file)}
    check_none(left, retired.instead)


@pytest.mark.parametrize("phrase", TEXTS)
def test_no_page_uses_a_retired_phrase(phrase: str):
    pattern = re.compile(TEXTS[phrase], re.I)
    left = {use for use in page_texts() if pattern.search(use.text)}
    check_none(left)


def test_annotators_read_of_tasks_and_not_of_hits():
    left = {
        use
        for use in page_texts()
        if ANNOTATOR_PAGES.search(use.file)
        and re.search(r"\bHITs?\b", use.text)
        and "Submit the HIT" not in use.text
    }
    check_none(left)


def is_sentence(text: str) -> bool:
    return " " in text


def test_pages_speak_of_tasks_and_items():
    """One word for one thing: a HIT is a task, and a unit an item, wherever people read."""
    left = {
        use
        for use in page_texts()
        if is_sentence(use.text)
        and TASK_AND_ITEM.search(use.text)
        and not NAMES_OF_COLUMNS.search(use.file)
        and not use.text.startswith(("SELECT", "INSERT", "UPDATE", "WITH"))
    }
    check_none(left, "task or item")


def test_counted_nouns_are_the_words_of_pages():
    """A noun that a number stands before is a word alone, in a call."""
    nouns = {
        Use(noun.value, path.relative_to(ROOT).as_posix(), noun.lineno)
        for path in sources(tuple(PACKAGES))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ("counted", "_number_of")
        for noun in node.args[1:]
        if isinstance(noun, ast.Constant) and isinstance(noun.value, str)
    }
    assert len(nouns) > 20
    check_none({use for use in nouns if TASK_AND_ITEM.search(use.text)}, "task or item")


@pytest.mark.parametrize("model", [Study, Screening, Criterion, Channel])
def test_labels_of_fields_are_the_words_of_pages(model: type[Model]):
    fields = [field for field in model._meta.get_fields() if isinstance(field, Field)]
    texts = [
        str(text)
        for field in fields
        if field.editable
        for text in (field.verbose_name, field.help_text, *(name for _, name in field.flatchoices))
    ]
    texts += [str(model._meta.verbose_name), str(model._meta.verbose_name_plural)]
    assert not [text for text in texts if TASK_AND_ITEM.search(text)]


def test_the_pages_of_the_data_speak_of_instances():
    left = {
        use
        for use in page_texts()
        if DATA_PAGES.search(use.file)
        and is_sentence(use.text)
        and re.search(r"\bitems?\b", use.text, re.I)
    }
    check_none(left, "instance")


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_guides_use_the_words_of_the_pages(guide: Path):
    prose = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", " ", guide.read_text(), flags=re.S)
    assert not TASK_AND_ITEM.findall(prose)


def test_no_client_module_has_a_retired_name():
    """The modules of model servers and platforms are named after what they hold."""
    retired = {"opening", "answers", "refusals", "drafts"}
    folders = (ROOT / "tiebreak" / "gateway", ROOT / "recruitment" / "platforms")
    left = {path for folder in folders for path in folder.rglob("*.py") if path.stem in retired}
    assert not left


# The patterns find what they are for.


@pytest.mark.parametrize(
    ("word", "name", "file"),
    [
        ("way in", "WaysIn", "recruitment/models.py"),
        ("door", "CLOSED_DOORS", "annotation/x.py"),
        ("desk", "_Desk", "annotation/x.py"),
        ("ask_for", "ask_for_known", "recruitment/x.py"),
        ("MOST_", "_MOST_CELLS", "tiebreak/x.py"),
        ("PATIENCE", "PATIENCE_S", "tests/x.py"),
        ("case number", "test_25_forty_race", "tests/x.py"),
        ("Pool of instances", "Pool", "studies/instance_selection/drawing.py"),
    ],
)
def test_a_retired_name_is_found(word: str, name: str, file: str):
    assert NAMES[word].matches(name)
    assert NAMES[word].is_looked_for_in(file)


@pytest.mark.parametrize(
    ("word", "name", "file"),
    [
        ("desk", "desktop", "annotation/x.py"),
        ("Provider", "provider", "recruitment/x.py"),
        ("MOST_", "most_common", "tiebreak/x.py"),
        ("Pool of instances", "pool", "tiebreak/similarity/processes.py"),
        ("turn", "turn", "studies/conversations.py"),
        ("door", "outdoor", "annotation/x.py"),
    ],
)
def test_another_meaning_is_left_alone(word: str, name: str, file: str):
    assert not (NAMES[word].matches(name) and NAMES[word].is_looked_for_in(file))


def test_the_text_of_a_page_is_what_people_read():
    html = '<p class="desk" title="Came by">{{ seat }} {% include "x" with words="Go on" %}a{# b #}'
    assert visible(html).split() == ['"x"', '"Go', 'on"', "a", "Came", "by"]
