"""Published datasets and crowd-platform files, turned into bundles or ratings. No Django.

Adding one: a module with a function from paths and options to `Converted`, and a line here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from studies.readers.converted import Converted
from studies.readers.llmbar import read_llmbar
from studies.readers.mtbench import read_mtbench
from studies.readers.mturk import read_mturk
from studies.readers.pandalm import read_pandalm
from studies.readers.summeval import read_summeval

Reader = Callable[[Sequence[Path], tuple[str, str] | None], Converted]

READERS: dict[str, Reader] = {
    "llmbar": read_llmbar,
    "mtbench": read_mtbench,
    "mturk": read_mturk,
    "pandalm": read_pandalm,
    "summeval": read_summeval,
}

__all__ = ["READERS", "Converted", "Reader"]
