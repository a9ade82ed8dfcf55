"""Checks of files: digests, forms, the log's chain, and the report computed again."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tiebreak import __version__
from tiebreak.formats import FormatError, read_ratings
from tiebreak.formats.comparison import compare_ratings
from tiebreak.formats.evidence import (
    LOG,
    MANIFEST,
    REPORT,
    SELECTION,
    chained,
    file_digests,
    simple_raters_in,
)
from tiebreak.formats.ratings import SUFFIXES, canonical_digest
from tiebreak.report import REPORT_VERSION, build_report
from tiebreak.report.analysis_plan import elo_constants_of, plan_of
from tiebreak.report.families import parsed_families
from tiebreak.report.model.report import Origin
from tiebreak.report.registry import SECTIONS, on_request
from tiebreak.verification.export import Export, NotChecked, check, needed
from tiebreak.verification.results import Checked

TOLERANCE = 1e-9
ABSENT = "nothing"
OF_SERVER = {name for name, section in SECTIONS.items() if section.make is None}


@check("files", "the files against the manifest")
def files(export: Export, findings: Checked) -> None:
    listed, present = export.manifest["files"], file_digests(export.folder)
    for name in sorted({*listed, *present}):
        digests = present.get(name, ABSENT), listed.get(name, ABSENT)
        findings.equal(name, None, "the SHA-256", *digests)


@check("forms", "the form of every file")
def forms(export: Export, findings: Checked) -> None:
    if isinstance(export.read, FormatError):
        for problem in export.read.problems:
            place = (problem.file, problem.line)
            findings.compare(*place, "the content", problem.reason, "valid", same=False)
        return
    findings.n_compared += 1
    for name in (LOG, SELECTION, REPORT, MANIFEST):
        try:
            export.rows(name)
        except NotChecked as error:
            findings.compare(name, None, "the content", str(error), "valid", same=False)
    # Whoever exports with a manifest has a log of every study that was opened, and of its draw.
    if export.rows(MANIFEST) and export.served["line"]:
        has_log = (export.folder / LOG).is_file()
        findings.compare(LOG, None, "the log", ABSENT, "the study's", same=has_log)
        if has_log and export.events_of("draw", "take-all")[-1:] == export.events_of("draw")[-1:]:
            same = export.draw is not None or not export.events_of("draw")
            findings.compare(SELECTION, None, "the draw", ABSENT, "its parameters", same=same)


@check("log", "the log's chain of digests")
def log(export: Export, findings: Checked) -> None:
    rows = needed(export.rows(LOG), f"the export has no {LOG}")
    bare = ({name: row[name] for name in row if name != "sha256"} for row in rows)
    for line, (row, again) in enumerate(zip(rows, chained(bare), strict=True), start=1):
        findings.equal(LOG, line, "sha256", row.get("sha256"), again["sha256"])
        findings.equal(LOG, line, "number", row["number"], line)
    for line, (before, after) in enumerate(pairwise(export.events), start=2):
        same = before.at <= after.at
        findings.compare(LOG, line, "at", after.at, f"{before.at} or later", same=same)


@check("formats", "the ratings in all formats")
def formats(export: Export, findings: Checked) -> None:
    names = [f"ratings{suffix}" for suffix in SUFFIXES if f"ratings{suffix}" != export.ratings.name]
    present = [name for name in names if (export.folder / name).is_file()]
    for name in needed(present, "the export has the ratings in one format"):
        table = read_ratings(export.folder / name)
        findings.n_compared += len(table)
        for one in compare_ratings(export.ratings, table):
            same_as = export.ratings.name
            findings.compare(name, one.lines[1], "a rating", str(one), same_as, same=False)


@check("rows", "the digest of the counted ratings")
def rows(export: Export, findings: Checked) -> None:
    source, digest = export.report["source"], canonical_digest(export.all_ratings)
    for name in ("rows_sha256", *(["sha256"] if source["kind"] == "study" else [])):
        findings.equal(REPORT, None, f"source.{name}", source[name], digest)


@check("report", "every number of the report")
def report(export: Export, findings: Checked) -> None:
    stored = export.report
    if stored["report_version"] != REPORT_VERSION:
        versions = f"{stored['report_version']}, and this program writes {REPORT_VERSION}"
        raise NotChecked(f"the report has the version {versions}")
    settings, source = export.bundle.spec.settings, stored["source"]
    scales = {one.name: one.scale for one in export.bundle.spec.criteria}
    again = build_report(
        export.all_ratings,
        seed=stored["seed"],
        replicates=stored["replicates"],
        scales=scales,
        source=Origin(source["kind"], source["sha256"], source.get("part")),
        order=tuple(scales),
        plan=plan_of(settings),
        sections={name for about in stored["criteria"].values() for name in about}
        & {*on_request()},
        main_machine=str(settings.get("main_machine", "")),
        simple_raters=simple_raters_in(export.folder),
        elo_constants=elo_constants_of(settings),
        families=parsed_families(str(settings.get("families", ""))),
    ).as_json()
    for about in stored["criteria"].values():
        for name in about.keys() & OF_SERVER:
            del about[name]
            findings.not_checked = [f"only the server can compute {', '.join(OF_SERVER)}"]
    writer = next(iter(export.rows(MANIFEST)), {}).get("tiebreak_version")
    for path, found, expected in _leaves("", stored, again):
        # Reports of an earlier version lack what was added since.
        same = _is_same(found, expected) or (found == ABSENT and writer != __version__)
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
    # A JSON column may store 1.0 as 1; true is no number.
    return bool(found == expected and isinstance(found, bool) == isinstance(expected, bool))
