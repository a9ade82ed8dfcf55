"""`separability`, `select`, `sample` and `judge`: what works on a whole file for long."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tiebreak.asking.samples import SAMPLES
from tiebreak.batch.asking import Answers
from tiebreak.batch.judging import judge_file, read_judge
from tiebreak.batch.sampling import Systems, sample_file
from tiebreak.batch.selection import draw_file
from tiebreak.batch.separability import score_file
from tiebreak.batch.unfinished import check_output
from tiebreak.commands.command import Outcome, add_json_option, as_domain_errors
from tiebreak.errors import DomainError
from tiebreak.gateway.encoders import DTYPES
from tiebreak.gateway.factory import RAY, on_cluster
from tiebreak.reading.files import write_figures
from tiebreak.reading.terminal import progress_bar
from tiebreak.similarity import DEFAULT, SIMILARITIES
from tiebreak.similarity.spec import SimilaritySpec
from tiebreak.stats.design.drawing import FLOORED, LOGISTIC, Draw


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
    _add_engine_options(parser, "processes, for a similarity without a model")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="write figures into a folder")


def separability(options: Namespace) -> Outcome:
    """Score how separable the systems of a file of generations are, and summarise it."""
    with as_domain_errors(options.out), ExitStack() as opened:
        check_output(options.out)
        spec = SimilaritySpec(options.similarity, options.encoder, options.device, options.dtype)
        cluster = None
        if address := _engine(options):
            cluster = spec.cluster(**address)
            opened.callback(cluster.close)
        scored = score_file(
            options.generations,
            options.out,
            spec.open(),
            systems=_names(options.systems),
            workers=options.workers or 1,
            cluster=cluster,
            report=_progress("scores"),
        )
    if options.figures is not None:
        with as_domain_errors(options.figures):
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
    with as_domain_errors(options.out):
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
    _add_engine_options(parser, "with --engine ray, processes that each open the models")


def sample(options: Namespace) -> Outcome:
    """Sample texts of systems through model servers."""
    if options.k < 1:
        raise DomainError("bad_option", "--k must be 1 or more.", status=400)
    with as_domain_errors(options.out):
        answers = sample_file(
            options.prompts,
            options.out,
            Systems.read(options.systems).on(_engine(options)),
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
    _add_engine_options(parser, "with --engine ray, processes that each open the model")


def judge(options: Namespace) -> Outcome:
    """Let a judge rate items, pairs in both orders."""
    with as_domain_errors(options.out):
        questions, spec = read_judge(options.judge)
        spec = on_cluster(spec, _engine(options))
        answers = judge_file(
            options.pairs, options.out, questions, spec, report=_progress("ratings")
        )
    return _answered(options.out, answers, "ratings")


def _add_engine_options(parser: ArgumentParser, workers: str) -> None:
    """Add the options of where models and encoders run."""
    parser.add_argument(
        "--engine",
        default="",
        metavar=f"{RAY}[=ADDRESS]",
        help="run models and encoders on a Ray cluster, by default one of this machine",
    )
    parser.add_argument(
        "--workers", type=int, help=f"{workers}; by default as many as Ray has room for"
    )


def _engine(options: Namespace) -> dict[str, Any]:
    """Return the cluster that was chosen, with the number of its actors; empty without one."""
    if options.workers is not None and options.workers < 1:
        raise DomainError("bad_option", "--workers must be 1 or more.", status=400)
    name, _, address = options.engine.partition("=")
    if name not in ("", RAY):
        sentence = f"--engine must be {RAY} or {RAY}=ADDRESS; it is {options.engine!r}."
        raise DomainError("bad_option", sentence, status=400)
    return {"address": address, "actors": options.workers or 0} if name else {}


def _answered(out: Path, answers: Answers, what: str) -> Outcome:
    counts = {"out": str(out), what: answers.rows, "failed": answers.failed}
    sentence = f"Wrote {out}: {answers.rows:,} {what}."
    return Outcome(counts, sentence, tuple(answers.problems()), status=int(answers.failed > 0))


def _progress(what: str) -> Callable[[int, int], None]:
    """Return a function that draws how much is done on a terminal."""

    def draw(done: int, of: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(progress_bar(done, of, what))
            sys.stderr.flush()

    return draw


def _names(text: str) -> list[str]:
    """Return the names in a list with commas, in which none may be empty or repeated."""
    names = [name.strip() for name in text.split(",")] if text else []
    if not all(names) or len({*names}) < len(names):
        raise DomainError("bad_option", f"{text!r} is no list of different names.", status=400)
    return names


def _add_file_options(parser: ArgumentParser, name: str, about: str, *, out: str) -> None:
    """Add the options of all commands that make one file of another."""
    parser.add_argument(name, type=Path, metavar=name.upper(), help=about)
    parser.add_argument("--out", type=Path, required=True, metavar=out)
    add_json_option(parser)
