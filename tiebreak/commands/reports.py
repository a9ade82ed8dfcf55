"""`analyze` and `plan`: the report of a file of ratings, and the size of the next study."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from tiebreak.commands.command import (
    Outcome,
    add_json_option,
    as_domain_errors,
    cannot_write,
)
from tiebreak.commands.files import add_choice_options, choice_of
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.layouts import (
    Choice,
    parse_scales,
)
from tiebreak.optional import TYPESETTER, load
from tiebreak.reading.document.of_report import document_of
from tiebreak.reading.files import WRITTEN
from tiebreak.reading.terminal import as_text
from tiebreak.reading.words import ELO_SYMBOLS
from tiebreak.report import Report, build_report, read_source
from tiebreak.report.analysis_plan import names_in
from tiebreak.report.build import REPLICATES, report_from
from tiebreak.report.check import PACKAGE, TOLERANCE, CheckedAlpha, check_alphas
from tiebreak.report.families import MARK, parsed_families
from tiebreak.report.left_out import PREFIX as LEFT_OUT
from tiebreak.report.model.report import OPTIONAL_SECTIONS
from tiebreak.report.registry import after_closing, on_request, part_title
from tiebreak.report.sections.machines.discernment import Weights
from tiebreak.report.sections.machines.expert_weights import expert_weights
from tiebreak.report.sections.planning.simulated_sizes import SIMULATED, in_words, simulated_sizes
from tiebreak.report.source import Source
from tiebreak.stats.machines.alternative_annotators import EPSILON
from tiebreak.stats.rankings.elo import ELO_LIMITS, PAPER

ALL_SECTIONS = "all"
NOT_CLOSED = (
    "What ratings say that were set aside is shown once the study is closed, because who is left out must"
    " not depend on it. Close the study first, or ask for other sections."
)


def add_analyze_options(parser: ArgumentParser, *, source: str = "PATH") -> None:
    """Add the options of `analyze`; ``source`` is the name of its first argument in the help."""
    parser.add_argument("source", metavar=source)
    add_choice_options(parser)
    for name, kind in WRITTEN.items():
        parser.add_argument(f"--{name}", type=Path, metavar=kind.example, help=kind.help)
    parser.add_argument("--scale", action="append", default=[], metavar="CRITERION=SCALE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument(
        "--unparsed", metavar="LABEL", help="label for unparsed machine answers, such as tie"
    )
    _add_extent_options(parser)
    _add_knowledge_options(parser, source)
    _add_elo_options(parser)
    add_json_option(parser)


def _add_extent_options(parser: ArgumentParser) -> None:
    """Add the options that say how much is computed."""
    parser.add_argument(
        "--section",
        action="append",
        default=[],
        choices=sorted({*OPTIONAL_SECTIONS, *on_request(), ALL_SECTIONS}),
        metavar="NAME",
        help="also compute this section, which takes long: "
        f"{', '.join(on_request())}, or {ALL_SECTIONS}; may be repeated",
    )
    parser.add_argument(
        "--core",
        action="store_true",
        help="compute only what the leading numbers and their strata need, which is faster",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compute Krippendorff's α again with the package krippendorff, and print both",
    )


def _add_knowledge_options(parser: ArgumentParser, source: str) -> None:
    """Add the options of what is known from elsewhere, and of which machine raters are compared."""
    parser.add_argument(
        "--epsilon",
        type=float,
        default=EPSILON,
        help="how much less often than an annotator a machine may be the better one, in the"
        f" alternative annotator test; {EPSILON} by default",
    )
    parser.add_argument(
        "--known-order",
        default="",
        metavar="BEST;SECOND;…",
        help="systems in an order that is known from elsewhere, best first, separated by semicolons;"
        " success rates have Kendall's tau with it",
    )
    parser.add_argument(
        "--machine",
        action="append",
        default=[],
        metavar="NAME",
        help="use the ratings of this machine rater and leave out ratings of others that are not named;"
        " may be repeated",
    )
    parser.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="NAME=FAMILY",
        help="model family of a system or a machine rater, for the section family_bias; may be repeated",
    )
    parser.add_argument(
        "--expert-weights",
        metavar=source,
        help="ratings of the survey in which experts said what each perturbation damages, as weights"
        " of the section discernment",
    )
    parser.add_argument(
        "--scores",
        metavar=source,
        help="ratings in which machine raters scored single texts of the same instances, for the"
        " section scoring_against_pairwise; by default the source's",
    )


def _add_elo_options(parser: ArgumentParser) -> None:
    """Add an option for each constant of Elo ratings."""
    for name, (low, high) in ELO_LIMITS.items():
        parser.add_argument(
            f"--elo-{name}",
            type=float,
            metavar=name.upper(),
            help=f"constant {ELO_SYMBOLS[name]} of Elo ratings, from {low:g} to {high:g}; by default that of"
            f" the study, or {getattr(PAPER, name):g}, as published",
        )


def analyze(options: Namespace, *, read: Callable[[Path, Choice], Source] = read_source) -> Outcome:
    """Read a source with ``read``, and return its leading numbers; write the files that were asked for."""
    _check_numbers(options)
    # What is absent is said before a long computation.
    if options.check:
        load(PACKAGE)
    if options.pdf:
        load(TYPESETTER)
    scales = parse_scales(options.scale)
    with as_domain_errors():
        source = read(Path(options.source), choice_of(options))
        if options.machine:
            source = source.with_machines(options.machine)
        used = source.scales | scales
        survey = options.expert_weights
        weights = expert_weights(read(Path(survey), Choice()).table) if survey else None
        scores = read(Path(options.scores), Choice()) if options.scores else None
        report = _report(source, used, options, weights, scores)
        _check_declared(scales, report)
        written = _write(options, report, title=Path(options.source).name)
    scales_of = {name: about.scale for name, about in report.criteria.items()}
    counts = {**written, **vars(report.source), "scales": scales_of, "read": source.read}
    before = "".join(f"{line}\n" for line in (source.read, *source.notes) if line)
    sentence = (
        f"{before}{as_text(report)}\n\nRatings used: {counts['n_used']} of {counts['n_rows']}."
        f"{_inferred(report)}"
    )
    if written:
        sentence += f" Wrote {', '.join(written.values())}."
    outcome = Outcome(counts, sentence, tuple(_problems(report)))
    if not options.check:
        return outcome
    return _checked(
        outcome,
        check_alphas(
            report, source.table, scales=used, unparsed=options.unparsed, order=source.order
        ),
    )


def _write(options: Namespace, report: Report, *, title: str) -> dict[str, str]:
    """Write the files that were asked for, and return their paths by the option that named them."""
    asked = {name: path for name in WRITTEN if (path := getattr(options, name)) is not None}
    document = document_of(report, title=title, made_at=datetime.now(UTC))
    for name, path in asked.items():
        try:
            WRITTEN[name].write(report, document, path)
        except OSError as error:
            raise cannot_write(path, error) from error
    return {name: str(path) for name, path in asked.items()}


def _check_numbers(options: Namespace) -> None:
    if options.replicates < 0:
        sentence = f"--replicates must be 0 or more; it is {options.replicates}."
        raise DomainError("bad_option", sentence, status=400)
    if not 0 <= options.epsilon <= 1:
        sentence = f"--epsilon must be between 0 and 1; it is {options.epsilon}."
        raise DomainError("bad_option", sentence, status=400)


def _report(
    source: Source,
    scales: dict[str, str],
    options: Namespace,
    weights: Weights | None,
    scores: Source | None,
) -> Report:
    given = {name: getattr(options, f"elo_{name}") for name in ELO_LIMITS}
    stated = {name: value for name, value in given.items() if value is not None}
    lines = (f" {MARK} ".join(one.rpartition("=")[::2]) for one in options.family)
    return report_from(
        source,
        seed=options.seed,
        replicates=options.replicates,
        scales=scales,
        unparsed=options.unparsed,
        sections=_sections(options.section, source),
        epsilon=options.epsilon,
        known_order=names_in(options.known_order),
        weights=weights,
        scores=scores,
        core=options.core,
        elo_constants=replace(source.elo_constants, **stated),
        families={**source.families, **parsed_families("\n".join(lines))},
    )


def _checked(outcome: Outcome, checked: Sequence[CheckedAlpha]) -> Outcome:
    """Return the outcome with both values of each α; refuse if they differ."""
    differing = [str(alpha) for alpha in checked if alpha.difference > TOLERANCE]
    if differing:
        sentence = (
            "The report was written, but α differs from the value of the package krippendorff."
        )
        raise DomainError("alpha_differs", "\n".join([sentence, *differing]))
    largest = max((alpha.difference for alpha in checked), default=0.0)
    lines = [outcome.sentence, *map(str, checked), f"Largest difference: {largest:.1g}."]
    listed = [alpha.as_json() for alpha in checked]
    counts = outcome.counts | {"check": {"largest_difference": largest, "alphas": listed}}
    return Outcome(counts, "\n".join(lines), outcome.problems)


def _sections(names: Sequence[str], source: Source) -> set[str]:
    """Return which sections must be asked for; a report has the others anyway."""
    asked = {*on_request()} if ALL_SECTIONS in names else {*on_request()} & {*names}
    closing = set() if source.is_closed else {*after_closing()}
    if closing & {*names}:
        raise DomainError("not_closed", NOT_CLOSED)
    return asked - closing


def _check_declared(scales: dict[str, str], report: Report) -> None:
    """Refuse scales for criteria without ratings, whose names are probably misspelt."""
    for name in scales:
        if name not in report.criteria:
            names = ", ".join(report.criteria_order) or "none"
            sentence = (
                f"--scale names the criterion {name!r}, which has no ratings."
                f" The criteria with ratings are: {names}."
            )
            raise DomainError("bad_option", sentence, status=400)


def _problems(report: Report) -> Iterator[str]:
    """Return a sentence for each part that is missing from the report, with the reason."""
    problems = dict(report.problems)
    for criterion, section in report.criteria.items():
        titled = {part_title(name): text for name, text in section.problems.items()}
        problems |= {f"{criterion}: {title}": text for title, text in titled.items()}
    for name, text in problems.items():
        is_left_out = name.startswith(LEFT_OUT)
        yield text if is_left_out else f"{name} could not be computed. {text}"


def add_plan_options(parser: ArgumentParser) -> None:
    """Add the options of `plan`."""
    parser.add_argument("pilot", metavar="PILOT", help="ratings file or bundle of a pilot")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--width", type=float, help="width of the win rate's interval, such as 0.1")
    target.add_argument("--power", type=float, help="probability that the interval excludes ½")
    parser.add_argument("--criterion", default="", help="by default the first preference")
    parser.add_argument("--items", type=int, default=1, help="items per instance")
    parser.add_argument("--ratings", type=int, default=3, help="ratings per item")
    parser.add_argument("--items-per-rater", type=int, default=50)
    parser.add_argument("--raters", type=int, help="their number, instead of --items-per-rater")
    parser.add_argument("--these-raters", action="store_true", help="plan for these raters alone")
    add_json_option(parser)


def plan(options: Namespace) -> Outcome:
    """Simulate how many instances the next study needs, for each pair of systems of a pilot."""
    try:
        source = read_source(Path(options.pilot))
        report = build_report(source.table, scales=source.scales, replicates=0)
        sizes = simulated_sizes(
            report,
            criterion=options.criterion,
            target_width=options.width,
            power=options.power,
            units=[options.items],
            ratings=[options.ratings],
            units_per_rater=options.items_per_rater,
            raters=options.raters,
            new_raters=not options.these_raters,
        )
    except InvalidInput as error:
        raise DomainError(error.code, error.message, status=400) from error
    counts = {"pairs": {pair: asdict(size) for pair, size in sizes.items()}}
    lines = [f"{pair}: {in_words(size)}" for pair, size in sizes.items()]
    return Outcome(counts, "\n".join([*lines, SIMULATED + _inferred(report)]))


def _inferred(report: Report) -> str:
    """Return a sentence about scales that nobody declared, for the end of another."""
    named = [f"{n}={about.scale}" for n, about in report.criteria.items() if about.scale_inferred]
    return f" Scales inferred from the labels: {', '.join(named)}." if named else ""
