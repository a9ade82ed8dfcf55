"""What the test of the evidence says of machine raters by kind of item, as a page of results shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import F

from annotation.filters import EVERYTHING
from metrics.licensing.evidence import SECTION, Evidence
from metrics.models import ReportSnapshot, SectionSnapshot
from metrics.results.sections import refresh_section, stored_section
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.reading.annotator_tests import UNDECIDED
from tiebreak.reading.findings import stratum_name
from tiebreak.report.model.machines import ReplacementStratum

# The ratings of a study of which the evidence takes a second at most.
MAX_WITH_REPORT = 2_000
NOUNS = {
    "category": ("category", "categories"),
    "systems": ("pair of systems", "pairs of systems"),
    "separability": ("range of separability", "ranges of separability"),
}


@dataclass(frozen=True)
class KindsRow:
    """Kinds of item on which the test says the same of a machine rater, or of all of them."""

    machine: str
    state: str
    items: str
    why: str


def refresh_with_report(*, study: Study, report: ReportSnapshot) -> None:
    """Compute the evidence with a report of few ratings, so that pages show it without a request."""
    rows = (report.counted or {})["rows"]
    if rows["machines"] and rows["counted"] <= MAX_WITH_REPORT:
        refresh_section(study=study, name=SECTION)


def stored_kinds(study: Study, criterion: str, epsilon: float) -> list[KindsRow]:
    """Return what the stored evidence says by kind of item; nothing if the report is a newer one."""
    snapshot = SectionSnapshot.objects.filter(
        report__study=study,
        report__digest=EVERYTHING.digest,
        report__watermark=F("watermark"),
        name=SECTION,
    ).first()
    stored = stored_section(snapshot, criterion) if snapshot else None
    strata: Sequence[ReplacementStratum] = (stored and stored.part) or ()
    rows = [
        Evidence(machine, stratum, one, test, is_reached=True)
        for stratum in strata
        if stratum.stratifier in NOUNS and stratum.n_units
        for machine, one in stratum.machines.items()
        if (test := one.test_of_licence(epsilon))
    ]
    return [*_tested(rows, strata), *_untested(rows)]


def _tested(rows: Sequence[Evidence], strata: Sequence[ReplacementStratum]) -> Iterator[KindsRow]:
    alike: dict[tuple[str, str], list[Evidence]] = {}
    for row in rows:
        if not row.untested:
            alike.setdefault((row.machine, row.outcome_in_short), []).append(row)
    for (machine, state), of in sorted(alike.items()):
        names = ", ".join(_name(row.stratum, strata) for row in of)
        # Not to pass shows nothing either way.
        verdict = UNDECIDED if state == "not passed" else state.capitalize()
        yield KindsRow(machine, verdict, names, of[0].shortly if len(of) == 1 else "")


def _name(stratum: ReplacementStratum, strata: Sequence[ReplacementStratum]) -> str:
    among = [one for one in strata if one.stratifier == stratum.stratifier]
    return stratum_name(stratum.stratifier, stratum.stratum, among)


def _untested(rows: Sequence[Evidence]) -> Iterator[KindsRow]:
    """Yield a row for each reason, with how many kinds it is of: there may be as many as categories."""
    kinds: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        if row.untested:
            of = kinds.setdefault(row.untested, {}).setdefault(row.stratum.stratifier, set())
            of.add(row.stratum.stratum)
    for reason, found in kinds.items():
        items = ", ".join(counted(len(of), *NOUNS[kind]) for kind, of in found.items())
        yield KindsRow("", "Not tested", items, reason)
