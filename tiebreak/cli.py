"""The command line `tiebreak`: analyses of ratings, and work on whole files of texts.

The server's management commands `analyze` and `convert` use the same options and functions.
"""

import json
import logging
import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tiebreak import __version__
from tiebreak.asking.samples import SAMPLES
from tiebreak.batch.asking import Answers
from tiebreak.batch.judging import judge_file, read_judge
from tiebreak.batch.sampling import Systems, sample_file
from tiebreak.batch.selection import draw_file
from tiebreak.batch.separability import score_file
from tiebreak.batch.unfinished import check_output
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.comparison import compare_ratings
from tiebreak.formats.layouts import (
    TABLE,
    Choice,
    UnclearLayoutError,
    parse_scales,
    read_existing,
)
from tiebreak.formats.ratings import canonical_digest
from tiebreak.formats.readers import READERS, Converted, convert as read_published
from tiebreak.gateway import GatewayError
from tiebreak.gateway.encoders import DTYPES, open_encoder
from tiebreak.optional import TYPESETTER, load
from tiebreak.reading.document.of_report import document_of
from tiebreak.reading.files import WRITTEN, write_figures
from tiebreak.reading.terminal import as_text, progress_bar
from tiebreak.report import Report, build_report, read_source
from tiebreak.report.analysis_plan import names_in
from tiebreak.report.build import REPLICATES
from tiebreak.report.check import PACKAGE, TOLERANCE, CheckedAlpha, check_alphas
from tiebreak.report.left_out import PREFIX as LEFT_OUT
from tiebreak.report.model.report import OPTIONAL_SECTIONS
from tiebreak.report.registry import after_closing, on_request, part_title
from tiebreak.report.sections.machines.discernment import Weights
from tiebreak.report.sections.machines.expert_weights import expert_weights
from tiebreak.report.sections.planning.simulated_sizes import SIMULATED, in_words, simulated_sizes
from tiebreak.report.source import Source
from tiebreak.similarity import DEFAULT, ENCODED, SIMILARITIES, similarity
from tiebreak.stats.design.drawing import FLOORED, LOGISTIC, Draw
from tiebreak.stats.machines.alternative_annotators import EPSILON
from tiebreak.verification import verify as verify_export

MAX_LISTED = 100
ALL_SECTIONS = "all"
NOT_CLOSED = (
    "What ratings say that were set aside is shown once the study is closed, because who is left out must"
    " not depend on it. Close the study first, or ask for other sections."
)
STOPPED = "Stopped. What was done so far is kept; repeat the command to go on."
INTERRUPTED = 130  # the usual exit status after Ctrl-C


@dataclass(frozen=True)
class Outcome:
    """The result of a command: counts for ``--json``, a sentence, problems to report, exit status."""

    counts: dict[str, Any]
    sentence: str
    problems: tuple[str, ...] = ()
    status: int = 0

    def shown(self, options: Namespace) -> str:
        """Return the text for standard output; `main` prints the problems to standard error."""
        return json.dumps(self.counts) if options.json else self.sentence


@dataclass(frozen=True)
class Command:
    """A command, whose ``run`` refuses with a `DomainError` that tells the user why."""

    help: str
    add_options: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], Outcome]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    logging.basicConfig(level=logging.ERROR)  # the outcome's problems include the warnings
    options = _parser().parse_args(arguments)
    try:
        outcome: Outcome = COMMANDS[options.command].run(options)
    except DomainError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        return INTERRUPTED
    for problem in outcome.problems:
        print(problem, file=sys.stderr)
    print(outcome.shown(options))
    return outcome.status


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="tiebreak", description="Analyze and convert human preference studies."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.add_options(commands.add_parser(name, help=command.help, description=command.help))
    return parser


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
    _add_json_option(parser)


def _add_extent_options(parser: ArgumentParser) -> None:
    """Add the options that say how much is computed."""
    parser.add_argument(
        "--section",
        action="append",
        default=[],
        choices=sorted({*OPTIONAL_SECTIONS, ALL_SECTIONS}),
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


def analyze(options: Namespace, *, read: Callable[[Path, Choice], Source] = read_source) -> Outcome:
    """Read a source with ``read``, and return its leading numbers; write the files that were asked for."""
    _check_numbers(options)
    # What is absent is said before a long computation.
    if options.check:
        load(PACKAGE)
    if options.pdf:
        load(TYPESETTER)
    scales = parse_scales(options.scale)
    with _as_domain_errors():
        source = read(Path(options.source), _choice(options))
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
            raise _cannot_write(path, error) from error
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
    return build_report(
        source.table,
        seed=options.seed,
        replicates=options.replicates,
        scales=scales,
        unparsed=options.unparsed,
        source=source.origin,
        order=source.order,
        plan=source.plan,
        sections=_sections(options.section, source),
        epsilon=options.epsilon,
        known_order=names_in(options.known_order),
        weights=weights,
        scores=scores,
        core=options.core,
        main_machine=source.main_machine,
        simple_raters=source.simple_raters,
        separability_ends=source.separability_ends,
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
    _add_json_option(parser)


def convert(options: Namespace) -> Outcome:
    """Convert published files to a ratings file or a bundle, depending on ``--out``'s ending."""
    out: Path = options.out
    if out.is_dir() and any(out.iterdir()):
        sentence = f"{out} already exists and is not empty. Choose another path, or delete it."
        raise DomainError("not_empty", sentence)
    systems = _pair(options.systems)
    with _as_domain_errors(out):
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
    existing = read_existing(path, choice=replace(_choice(options), reader=TABLE))
    return existing.converted(path.stem)


def add_compare_options(parser: ArgumentParser) -> None:
    """Add the options of `compare`."""
    parser.add_argument("first", metavar="FIRST", help="ratings file or bundle")
    parser.add_argument("second", metavar="SECOND", help="a later one of the same study")
    parser.add_argument("--limit", type=int, default=MAX_LISTED, metavar="N")
    _add_json_option(parser)


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
    _add_json_option(parser)


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


def add_verify_options(parser: ArgumentParser) -> None:
    """Add the options of `verify`."""
    parser.add_argument("export", metavar="EXPORT", help="exported study (folder or .zip)")
    _add_json_option(parser)


def verify(options: Namespace) -> Outcome:
    """Compare an exported study with its own plan, log, seeds and digests."""
    result = verify_export(options.export)
    return Outcome(result.as_json(), "\n".join(result.lines), status=bool(result.n_deviations))


def add_separability_options(parser: ArgumentParser) -> None:
    """Add the options of `separability`."""
    _add_file_options(
        parser,
        "generations",
        "texts with the columns instance, system, sample_index and text (.jsonl, .csv, .parquet), or"
        " a bundle (folder or .zip)",
        out="scores.parquet",
    )
    parser.add_argument(
        "--similarity",
        default=DEFAULT,
        metavar="NAME",
        help=f"{', '.join(SIMILARITIES)}; {DEFAULT} by default",
    )
    parser.add_argument(
        "--systems", default="", metavar="A,B,…", help="systems to compare, in their order"
    )
    parser.add_argument(
        "--encoder",
        default="",
        metavar="FOLDER",
        help="folder or hub name of an encoder's safetensors weights, in place of the small encoder",
    )
    parser.add_argument("--device", default="cpu", help="the encoder's device, such as cuda")
    parser.add_argument("--dtype", default=DTYPES[0], choices=DTYPES)
    parser.add_argument(
        "--workers", type=int, default=1, help="processes, for a similarity without a model"
    )
    parser.add_argument("--figures", type=Path, metavar="DIR", help="write figures into a folder")


def separability(options: Namespace) -> Outcome:
    """Score how separable the systems of a file of generations are, and summarise it."""
    if options.workers < 1:
        raise DomainError("bad_option", "--workers must be 1 or more.", status=400)
    with _as_domain_errors(options.out):
        check_output(options.out)
        encoder = None
        if options.similarity in ENCODED:
            encoder = open_encoder(options.encoder, device=options.device, dtype=options.dtype)
        scored = score_file(
            options.generations,
            options.out,
            similarity(options.similarity, encoder=encoder),
            systems=_names(options.systems),
            workers=options.workers,
            report=_progress("scores"),
        )
    if options.figures is not None:
        with _as_domain_errors(options.figures):
            write_figures(options.figures, scored.figures())
    counts = {"out": str(options.out), **scored.as_json()}
    sentence = "\n".join([*scored.lines(), f"Wrote {options.out}."])
    return Outcome(counts, sentence, tuple(scored.problems()))


def add_select_options(parser: ArgumentParser) -> None:
    """Add the options of `select`."""
    _add_file_options(
        parser,
        "scores",
        "scores of `tiebreak separability`, or the table separability of an export",
        out="selection.parquet",
    )
    parser.add_argument(
        "--n",
        dest="instances",
        type=int,
        required=True,
        metavar="N",
        help="instances per pair of systems",
    )
    parser.add_argument(
        "--design",
        default="proportional",
        choices=("uniform", "proportional", "top", "strata"),
        help="at random, with probability increasing in δ, the largest δ, or the same number from each"
        " range of δ",
    )
    parser.add_argument(
        "--control",
        dest="control_share",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="share of N that is drawn first, with equal probability; 0.2 by default",
    )
    parser.add_argument("--weights", default=LOGISTIC, choices=(LOGISTIC, FLOORED))
    parser.add_argument(
        "--floor", type=float, default=0.1, help=f"of the weights {FLOORED}; 0.1 by default"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--similarity", default="", metavar="NAME", help="one of several")


def select(options: Namespace) -> Outcome:
    """Draw instances from scores, with known inclusion probabilities."""
    with _as_domain_errors(options.out):
        check_output(options.out)
        drawn = draw_file(
            options.scores, options.out, Draw.of(options), similarity=options.similarity
        )
    counts = {"out": str(options.out), **drawn.as_json()}
    sentence = "\n".join([*drawn.lines(), f"Wrote {options.out}."])
    return Outcome(counts, sentence, tuple(drawn.problems()))


def add_sample_options(parser: ArgumentParser) -> None:
    """Add the options of `sample`."""
    _add_file_options(
        parser,
        "prompts",
        "instances with the columns id and source, or messages (.jsonl, .csv, .parquet), or a bundle"
        " (folder or .zip)",
        out="generations.parquet",
    )
    parser.add_argument(
        "--systems",
        type=Path,
        required=True,
        metavar="systems.toml",
        help="the systems: their models, model servers, prompts and decoding",
    )
    parser.add_argument(
        "--k",
        type=int,
        default=SAMPLES,
        help=f"texts of each system for each instance; {SAMPLES} by default",
    )
    parser.add_argument("--seed", type=int, default=0)


def sample(options: Namespace) -> Outcome:
    """Sample texts of systems through model servers."""
    if options.k < 1:
        raise DomainError("bad_option", "--k must be 1 or more.", status=400)
    with _as_domain_errors(options.out):
        answers = sample_file(
            options.prompts,
            options.out,
            Systems.read(options.systems),
            samples=options.k,
            seed=options.seed,
            report=_progress("texts"),
        )
    return _answered(options.out, answers, "texts")


def add_judge_options(parser: ArgumentParser) -> None:
    """Add the options of `judge`."""
    _add_file_options(
        parser,
        "pairs",
        "items with the columns unit, text_a and text_b, and what ratings say of items (.jsonl,"
        " .csv, .parquet)",
        out="ratings.parquet",
    )
    parser.add_argument(
        "--judge",
        type=Path,
        required=True,
        metavar="judge.toml",
        help="the judge: its model, model server, guidelines and criteria",
    )


def judge(options: Namespace) -> Outcome:
    """Let a judge rate items, pairs in both orders."""
    with _as_domain_errors(options.out):
        questions, spec = read_judge(options.judge)
        answers = judge_file(
            options.pairs, options.out, questions, spec, report=_progress("ratings")
        )
    return _answered(options.out, answers, "ratings")


def _answered(out: Path, answers: Answers, what: str) -> Outcome:
    counts = {"out": str(out), what: answers.rows, "failed": answers.failed}
    sentence = f"Wrote {out}: {answers.rows:,} {what}."
    return Outcome(counts, sentence, tuple(answers.problems()), status=int(answers.failed > 0))


def _progress(what: str) -> Callable[[int, int], None]:
    """Return a function that draws how much is done on a terminal."""

    def draw(done: int, of: int) -> None:
        if sys.stderr.isatty():
            print(progress_bar(done, of, what), end="", file=sys.stderr, flush=True)

    return draw


def _names(text: str) -> list[str]:
    """Return the names in a list with commas, in which none may be empty or repeated."""
    names = [name.strip() for name in text.split(",")] if text else []
    if not all(names) or len({*names}) < len(names):
        raise DomainError("bad_option", f"{text!r} is no list of different names.", status=400)
    return names


COMMANDS = {
    "analyze": Command(
        "Write the report of a ratings file or a bundle (folder or .zip).",
        add_analyze_options,
        analyze,
    ),
    "convert": Command(
        "Turn published datasets and crowd-platform files into a bundle or a ratings file.",
        add_convert_options,
        convert,
    ),
    "compare": Command(
        "Say which ratings differ between two ratings files or bundles, such as two exports.",
        add_compare_options,
        compare,
    ),
    "judge": Command(
        "Let a language model rate pairs of texts, in both orders.",
        add_judge_options,
        judge,
    ),
    "plan": Command(
        "Simulate how many instances a study needs, from a pilot's ratings.",
        add_plan_options,
        plan,
    ),
    "separability": Command(
        "Score how separable systems are on each instance of a file of generations.",
        add_separability_options,
        separability,
    ),
    "sample": Command(
        "Sample texts of systems for a file of prompts, through model servers.",
        add_sample_options,
        sample,
    ),
    "select": Command(
        "Draw instances from a file of scores, with known inclusion probabilities.",
        add_select_options,
        select,
    ),
    "verify": Command(
        "Check an exported study: every number, draw and digest again, plan and log against ratings.",
        add_verify_options,
        verify,
    ),
}


def add_choice_options(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add the options that say how a file of ratings is to be read."""
    parser.add_argument(
        "--columns",
        default="",
        metavar="ROLE=COLUMN,…",
        help="columns that are not to be guessed: unit, rater, label, criterion, or rater:NAME and"
        " label:CRITERION where raters or criteria have columns of their own",
    )
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


def _choice(options: Namespace) -> Choice:
    return Choice.parse(options.columns, options.leave_out, fill_down=options.fill_down)


def _add_file_options(parser: ArgumentParser, name: str, about: str, *, out: str) -> None:
    """Add the options of all commands that make one file of another."""
    parser.add_argument(name, type=Path, metavar=name.upper(), help=about)
    parser.add_argument("--out", type=Path, required=True, metavar=out)
    _add_json_option(parser)


def _add_json_option(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


@contextmanager
def _as_domain_errors(out: Path | None = None) -> Iterator[None]:
    """Turn errors raised while reading, computing or writing ``out`` into `DomainError`."""
    try:
        yield
    except UnclearLayoutError as error:
        example = f" For example: --columns {error.example}" if error.example else ""
        raise DomainError(error.code, f"{error.message}{example}", status=400) from error
    except (InvalidInput, GatewayError) as error:
        raise DomainError(error.code, error.message, status=400) from error
    except OSError as error:
        if out is None:
            raise
        raise _cannot_write(out, error) from error


def _cannot_write(path: Path, error: OSError) -> DomainError:
    return DomainError(
        "cannot_write", f"{path} cannot be written ({error.strerror}). Choose another path."
    )


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


def _inferred(report: Report) -> str:
    """Return a sentence about scales that nobody declared, for the end of another."""
    named = [f"{n}={about.scale}" for n, about in report.criteria.items() if about.scale_inferred]
    return f" Scales inferred from the labels: {', '.join(named)}." if named else ""


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        sentence = "--systems must be two different names with a comma between them, such as A,B."
        raise DomainError("bad_option", sentence, status=400)
    return names[0], names[1]
