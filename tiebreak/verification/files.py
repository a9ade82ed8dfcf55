"""Checks of files: digests, forms, the log's chain, and the report computed again."""

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tiebreak.formats import FormatError, read_bundle
from tiebreak.formats.comparison import compare_ratings
from tiebreak.formats.evidence import LOG, MANIFEST, REPORT, SELECTION, chained, file_digests
from tiebreak.formats.ratings import canonical_digest
from tiebreak.report import REPORT_VERSION, build_report
from tiebreak.report.analysis_plan import plan_of
from tiebreak.report.model import Origin
from tiebreak.report.registry import SECTIONS, on_request
from tiebreak.verification.export import Export, Findings, NotChecked, check

TOLERANCE = 1e-9
ABSENT = "nothing"
# Sections that need the server's database.
OF_SERVER = [name for name, section in SECTIONS.items() if section.make is None]


@check("files", "the files against the manifest")
def files(export: Export, findings: Findings) -> None:
    listed, present = export.manifest["files"], file_digests(export.folder)
    for name in sorted({*listed, *present}):
        found, expected = present.get(name, ABSENT), listed.get(name, ABSENT)
        findings.equal(name, None, "the SHA-256", found, expected)


@check("forms", "the form of every file")
def forms(export: Export, findings: Findings) -> None:
    try:
        read_bundle(export.folder)
        findings.n_compared += 1
    except FormatError as error:
        for problem in error.problems:
            place = (problem.file, problem.line)
            findings.compare(*place, "the content", problem.reason, "a valid export", same=False)
        if error.rest:
            findings.not_checked.append(f"only the first problems are listed {error.rest}")
        return
    for name in (LOG, SELECTION, REPORT, MANIFEST):
        try:
            export.json(export.folder / name) if name.endswith(".json") else export.lines(name)
        except NotChecked as error:
            findings.compare(name, None, "the content", str(error), "JSON", same=False)
    # Who exports with a manifest has a log in every study that was opened.
    if (export.folder / MANIFEST).is_file() and len(export.served):
        has_log = (export.folder / LOG).is_file()
        findings.compare(LOG, None, "the log", ABSENT, "the log of this study", same=has_log)
        if has_log and export.events_of("draw") and not export.events_of("take-all"):
            has_draw = export.draw is not None
            findings.compare(SELECTION, None, "the draw", ABSENT, "its parameters", same=has_draw)


@check("log", "the log's chain of digests")
def log(export: Export, findings: Findings) -> None:
    export.events  # refuses an export without a log  # noqa: B018
    bare = ({n: v for n, v in row.items() if n != "sha256"} for row in export.log_rows)
    last: datetime | None = None
    for line, (row, again) in enumerate(zip(export.log_rows, chained(bare), strict=True), start=1):
        findings.equal(LOG, line, "sha256", row.get("sha256"), again["sha256"])
        findings.equal(LOG, line, "number", row["number"], line)
        at = datetime.fromisoformat(row["at"])
        is_later = last is None or at >= last
        findings.compare(LOG, line, "at", at, f"{last} or later", same=is_later)
        last = at


@check("formats", "the ratings in all formats")
def formats(export: Export, findings: Findings) -> None:
    if not export.other_ratings:
        raise NotChecked("the export has the ratings in one format")
    for name, table in export.other_ratings.items():
        differences = compare_ratings(export.ratings, table)
        findings.n_compared += len(table) - len(differences)
        for one in differences:
            line = one.lines[1]
            findings.compare(name, line, "a rating", str(one), export.ratings.name, same=False)


@check("rows", "the digest of the counted ratings")
def rows(export: Export, findings: Findings) -> None:
    source = export.report["source"]
    digest = canonical_digest(export.all_ratings)
    findings.equal(REPORT, None, "source.rows_sha256", source["rows_sha256"], digest)
    if source["kind"] == "study":
        findings.equal(REPORT, None, "source.sha256", source["sha256"], digest)


@check("report", "every number of the report")
def report(export: Export, findings: Findings) -> None:
    stored = export.report
    if stored["report_version"] != REPORT_VERSION:
        versions = f"{stored['report_version']}, and this program writes {REPORT_VERSION}"
        raise NotChecked(f"the report has the version {versions}")
    settings, source = export.bundle.spec.settings, stored["source"]
    asked = {name for about in stored["criteria"].values() for name in about} & {*on_request()}
    again = build_report(
        export.all_ratings,
        seed=stored["seed"],
        replicates=stored["replicates"],
        scales=(scales := {one.name: one.scale for one in export.bundle.spec.criteria}),
        source=Origin(source["kind"], source["sha256"], source.get("part")),
        order=tuple(scales),
        plan=plan_of(settings),
        sections=asked,
        main_machine=str(settings.get("main_machine", "")),
    ).as_json()
    for about in (*stored["criteria"].values(), *again["criteria"].values()):
        if any(about.pop(name, None) is not None for name in OF_SERVER):
            findings.not_checked = [f"only the server can compute {', '.join(OF_SERVER)}"]
    for path, found, expected in _leaves("", stored, again):
        same = _is_same(found, expected)
        findings.compare(REPORT, None, path, found, expected, same=same)


def _leaves(path: str, found: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each leaf of two JSON values with its path; what only one of them has is a leaf."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in dict.fromkeys((*found, *expected)):
            parts = found.get(name, ABSENT), expected.get(name, ABSENT)
            yield from _leaves(f"{path}.{name}" if path else name, *parts)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for i, parts in enumerate(zip(found, expected, strict=True)):
            yield from _leaves(f"{path}[{i}]", *parts)
    else:
        yield path, found, expected


def _is_same(found: Any, expected: Any) -> bool:
    """Whether counts and texts are equal, and other numbers are within the tolerance."""
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    is_number = isinstance(found, int | float) and isinstance(expected, int | float)
    is_alike = is_number or type(found) is type(expected)
    return bool(is_alike and found == expected)
