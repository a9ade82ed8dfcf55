"""A folder of small files in the layout of each reader, which are kept with the tests."""

from pathlib import Path

from tests.paths import GOLDEN

MADE_UP = Path(__file__).parent / "made_up"
FOLDERS = {
    "alpacaeval": MADE_UP / "alpacaeval",
    "alttest": MADE_UP / "alttest",
    "inspect": MADE_UP / "inspect",
    "labelstudio": MADE_UP / "labelstudio",
    "lm-eval": MADE_UP / "lm-eval",
    "lmarena": MADE_UP / "lmarena",
    "llmbar": MADE_UP / "llmbar",
    "messages": MADE_UP / "messages",
    "mtbench": MADE_UP / "mtbench",
    "mturk": GOLDEN / "separability",
    "pandalm": GOLDEN / "pandalm",
    "summeval": GOLDEN / "summeval",
}
