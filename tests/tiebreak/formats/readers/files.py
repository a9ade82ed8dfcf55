"""A folder of small files in the layout of each reader, which are kept with the tests."""

from pathlib import Path

from tests.paths import GOLDEN

MADE_UP = Path(__file__).parent / "made_up"
FOLDERS = {
    "alpacaeval": MADE_UP / "alpacaeval",
    "alttest": MADE_UP / "alttest",
    "appraise": MADE_UP / "appraise",
    "argilla": MADE_UP / "argilla",
    "googleforms": MADE_UP / "googleforms",
    "inspect": MADE_UP / "inspect",
    "labelstudio": MADE_UP / "labelstudio",
    "limesurvey": MADE_UP / "limesurvey",
    "lm-eval": MADE_UP / "lm-eval",
    "lmarena": MADE_UP / "lmarena",
    "llmbar": MADE_UP / "llmbar",
    "messages": MADE_UP / "messages",
    "mtbench": MADE_UP / "mtbench",
    "mturk": GOLDEN / "separability",
    "pandalm": GOLDEN / "pandalm",
    "potato": MADE_UP / "potato" / "ann",
    "prodigy": MADE_UP / "prodigy",
    "prolific": MADE_UP / "prolific",
    "qualtrics": MADE_UP / "qualtrics",
    "summeval": GOLDEN / "summeval",
    "wmt": MADE_UP / "wmt",
}
