"""TRL itself reads the preferences. It needs transformers: `make test-encoders` installs both."""

import datasets
import pytest

from annotation.exports.study_export import export_study
from tests.annotation.exports.test_study_export import rated

data_utils = pytest.importorskip(
    "trl.data_utils", reason="TRL is installed by make test-encoders only, with transformers"
)
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("conversation", [False, True])
def test_trl_takes_the_rows_as_preferences_with_a_prompt(conversation, tmp_path):
    study = rated(tmp_path / "b", conversation=conversation)
    export_study(study=study, out=tmp_path / "out", formats=["preference"], ties="both")
    file = str(tmp_path / "out" / "preference.jsonl")
    rows = datasets.load_dataset("json", data_files=file, cache_dir=str(tmp_path / "cache"))[
        "train"
    ]
    assert len(rows) == 6
    for row in rows:
        assert data_utils.is_conversational(row) is conversation
        # TRL takes an explicit prompt as it is; otherwise it would cut it out of the texts.
        assert data_utils.maybe_extract_prompt(row) == row
    unpaired = data_utils.unpair_preference_dataset(
        rows.select_columns(["prompt", "chosen", "rejected"])
    )
    assert unpaired.column_names == ["prompt", "completion", "label"]
    assert sum(unpaired["label"]) == 6
