"""The four questions that the results of a study answer, each on a page of its own."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    slug: str
    title: str
    short: str


SYSTEMS = Question("systems", "Which system is better?", "Systems")
RATERS = Question("raters", "Can I trust the raters?", "Raters")
MACHINES = Question("machines", "Can a machine stand in?", "Machines")
PLANNING = Question("planning", "Do I need more?", "Enough?")
QUESTIONS = (SYSTEMS, RATERS, MACHINES, PLANNING)
