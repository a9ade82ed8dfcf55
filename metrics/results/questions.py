"""The four questions that the results of a study answer, each on a page of its own."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    slug: str
    title: str


SYSTEMS = Question("systems", "Which system is better?")
RATERS = Question("raters", "Can I trust the raters?")
MACHINES = Question("machines", "Can a machine stand in?")
PLANNING = Question("planning", "Do I need more?")
QUESTIONS = (SYSTEMS, RATERS, MACHINES, PLANNING)
