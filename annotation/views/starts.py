"""What a new study begins with: texts, prompts or ratings. One page takes the files of all three."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Start:
    slug: str
    title: str
    about: str
    examples: str
    asks: str
    explains: str


STARTS = (
    Start(
        "texts",
        "Texts I have",
        "A table of each system's texts, in columns or in rows.",
        "CSV, TSV, XLSX, JSON Lines, Parquet",
        "Choose the file with the texts to compare",
        "A table with the sources and the texts of two or more systems, a study bundle, or the logs of"
        " an evaluation. You can check its columns before anything is stored.",
    ),
    Start(
        "prompts",
        "Prompts and models",
        "Prompts, and models that answer them.",
        "a list of prompts, a model server",
        "Choose the file with the prompts",
        "A table with a column of prompts, without texts of systems. You add the systems, with"
        " their models and prompt templates, on the next page.",
    ),
    Start(
        "ratings",
        "Ratings I have",
        "Answers that were collected elsewhere, ready to be analysed.",
        "any table, Mechanical Turk, Label Studio, Argilla",
        "Choose the file with the ratings",
        "Ratings in any layout, or as an annotation platform exports them, become a closed study. You"
        " can check how they are read before anything is stored.",
    ),
)


def start_named(slug: str) -> Start:
    """Return a start by its slug, the first one if there is none."""
    return next((start for start in STARTS if start.slug == slug), STARTS[0])
