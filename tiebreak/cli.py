"""The command line `tiebreak`: analyses of ratings, and work on whole files of texts.

The server's management commands `analyze` and `convert` use the same options and functions.
"""

import logging
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from tiebreak import __version__
from tiebreak.commands.batch import (
    add_judge_options,
    add_sample_options,
    add_select_options,
    add_separability_options,
    judge,
    sample,
    select,
    separability,
)
from tiebreak.commands.command import Command, Outcome
from tiebreak.commands.files import (
    add_compare_options,
    add_convert_options,
    add_verify_options,
    compare,
    convert,
    verify,
)
from tiebreak.commands.reports import add_analyze_options, add_plan_options, analyze, plan
from tiebreak.errors import DomainError

STOPPED = "Stopped. What was done so far is kept; repeat the command to go on."
INTERRUPTED = 130  # the usual exit status after Ctrl-C


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
