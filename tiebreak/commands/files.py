"""`convert`, `compare` and `verify`: from one file to another, two files, and an export."""

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from dataclasses import asdict, replace
from pathlib import Path

from tiebreak.commands.command import Outcome, add_json_option, as_domain_errors
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.comparison import compare_ratings
from tiebreak.formats.layouts import (
    TABLE,
    Choice,
    read_existing,
)
from tiebreak.formats.ratings import canonical_digest
from tiebreak.formats.readers import READERS, Converted, convert as read_published
from tiebreak.report import read_source
from tiebreak.verification import verify as verify_export

MAX_LISTED = 100
COLUMNS_OF_RATINGS = (
    "columns that are not to be guessed: unit, rater, label, criterion, or rater:NAME and"
    " label:CRITERION where raters or criteria have columns of their own"
)


def add_convert_options(parser: ArgumentParser) -> None:
    """Add the options of `convert`."""
    parser.add_argument(
        "reader", choices=sorted({*READERS, TABLE}), help=f"{TABLE}: ratings in any plain table"
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="PATH")
    parser.add_argument(
        "--systems", metavar="A,B", help="names of the two systems; the first is system A"
    )
    add_choice_options(parser)
    add_json_option(parser)


def convert(options: Namespace) -> Outcome:
    """Convert published files to a ratings file or a bundle, depending on ``--out``'s ending."""
    out: Path = options.out
    if out.is_dir() and any(out.iterdir()):
        sentence = f"{out} already exists and is not empty. Choose another path, or delete it."
        raise DomainError("not_empty", sentence)
    systems = _pair(options.systems)
    with as_domain_errors(out):
        if options.reader == TABLE:
            converted = _read_table(options)
        else:
            converted = read_published(options.reader, options.files, systems)
        converted.write(out)
    scales = {criterion.name: criterion.scale for criterion in converted.spec.criteria}
    counts = {
        "out": str(out),
        "instances": len(converted.instances),
        "generations": len(converted.generations),
        "ratings": len(converted.ratings),
        "left_out": dict(converted.left_out),
        "scales": scales,
    }
    counts["about"] = converted.about
    sentence = (
        f"Wrote {counts['out']}. Ratings: {counts['ratings']}, instances: {counts['instances']},"
        f" generations: {counts['generations']}. Scales:"
        f" {', '.join(f'{name}={scale}' for name, scale in scales.items())}."
    )
    lost = [f"Not used: {what} ({n})." for what, n in converted.left_out.items()]
    return Outcome(counts, "\n".join([*filter(None, [converted.about]), sentence, *lost]))


def _read_table(options: Namespace) -> Converted:
    """Read the one file of ratings that a plain table is."""
    if len(options.files) > 1:
        raise DomainError("bad_option", "A table of ratings is one file. Name one.", status=400)
    path = options.files[0]
    existing = read_existing(path, choice=replace(choice_of(options), reader=TABLE))
    return existing.converted(path.stem)


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        sentence = "--systems must be two different names with a comma between them, such as A,B."
        raise DomainError("bad_option", sentence, status=400)
    return names[0], names[1]


def add_compare_options(parser: ArgumentParser) -> None:
    """Add the options of `compare`."""
    parser.add_argument("first", metavar="FIRST", help="ratings file or bundle")
    parser.add_argument("second", metavar="SECOND", help="a later one of the same study")
    parser.add_argument("--limit", type=int, default=MAX_LISTED, metavar="N")
    add_json_option(parser)


def compare(options: Namespace) -> Outcome:
    """Say which ratings differ between two files, and their digests."""
    try:
        tables = [read_source(Path(name)).table for name in (options.first, options.second)]
    except InvalidInput as error:
        raise DomainError(error.code, error.message, status=400) from error
    differences = compare_ratings(*tables)
    listed = differences[: max(options.limit, 0)]
    digests = [canonical_digest(table) for table in tables]
    counts = {
        "rows_sha256": digests,
        "is_same": not differences,
        "n_differences": len(differences),
        "differences": [asdict(difference) for difference in listed],
    }
    if not differences:
        return Outcome(counts, f"Both have the same ratings. SHA-256 of the rows: {digests[0]}.")
    lines = [
        f"{len(differences)} ratings differ. SHA-256 of the rows: {digests[0]} and {digests[1]}.",
        *map(str, listed),
    ]
    if len(listed) < len(differences):
        lines.append("Further differences are left out; raise --limit to see them.")
    return Outcome(counts, "\n".join(lines))


def add_verify_options(parser: ArgumentParser) -> None:
    """Add the options of `verify`."""
    parser.add_argument("export", metavar="EXPORT", help="exported study (folder or .zip)")
    add_json_option(parser)


def verify(options: Namespace) -> Outcome:
    """Compare an exported study with its own plan, log, seeds and digests."""
    result = verify_export(options.export)
    return Outcome(result.as_json(), "\n".join(result.lines), status=bool(result.n_deviations))


def add_choice_options(
    parser: ArgumentParser | _ArgumentGroup, columns: str = COLUMNS_OF_RATINGS
) -> None:
    """Add the options that say how a table is to be read; ``columns`` says which roles columns have."""
    parser.add_argument("--columns", default="", metavar="ROLE=COLUMN,…", help=columns)
    parser.add_argument(
        "--leave-out",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column that no guess may use; may be repeated",
    )
    parser.add_argument(
        "--fill-down",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column whose empty cells repeat the value above; may be repeated",
    )


def choice_of(options: Namespace) -> Choice:
    return Choice.parse(options.columns, options.leave_out, fill_down=options.fill_down)
