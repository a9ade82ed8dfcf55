"""Uploads a closed study to the Hugging Face Hub: the dataset of the format `hf`, with its card."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.exports.study_export import export_study
from studies.models import Study
from tiebreak import optional
from tiebreak.errors import DomainError
from tiebreak.formats.preferences import Ties

PACKAGE = "huggingface_hub"
REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
BAD_NAME = "{!r} is no name of a dataset on the Hub. Please write it as OWNER/NAME."
STILL_COLLECTS = (
    "The study is {}, so its ratings may still change. Please close it before you upload it."
)
NOT_LOGGED_IN = "There is no token for the Hugging Face Hub. Please set HF_TOKEN, or log in with `hf auth login`."
IS_PUBLIC = (
    "{} exists and is public, so nothing was uploaded. Please name another dataset, or add --public if"
    " everybody may read this study."
)
REFUSED = "The Hugging Face Hub did not take the dataset: {}. Please correct this, and try again."


@dataclass(frozen=True)
class Pushed:
    """Where a dataset is, how many ratings it has, and whether only its owner can read it."""

    url: str
    ratings: int
    is_private: bool


def push_to_hub(*, study: Study, repo: str, public: bool = False, ties: Ties = "drop") -> Pushed:
    """Upload the study as a dataset, which is private unless it is to be public.

    The token is that of the environment or of the login on this machine. Raises `DomainError` if the
    study still collects ratings, the package or the token is missing, the Hub refuses, or a study
    that is not to be public would be uploaded to a public dataset. A private dataset stays private.
    """
    if not REPOSITORY.fullmatch(repo):
        raise DomainError("bad_repository", BAD_NAME.format(repo), status=400)
    if study.status in (Study.Status.OPEN, Study.Status.PAUSED):
        raise DomainError("still_collects", STILL_COLLECTS.format(study.status))
    hub = optional.load(PACKAGE)
    token = hub.get_token()
    if not token:
        raise DomainError("no_token", NOT_LOGGED_IN)
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        out = Path(folder) / "export"
        export = export_study(study=study, out=out, formats=["hf"], ties=ties)
        try:
            url, is_private = _uploaded(hub.HfApi(token=token), repo, out / "hf", public=public)
        except DomainError:
            raise
        except Exception as error:  # the package and its transports have no common class of errors
            reason = str(error).replace(token, "…").strip().rstrip(".")
            raise DomainError("hub_refused", REFUSED.format(reason), status=502) from error
    return Pushed(url, export.counts.rows, is_private)


def _uploaded(api: Any, repo: str, folder: Path, *, public: bool) -> tuple[str, bool]:
    """Upload a folder; return the dataset's address, and whether it is private."""
    url = api.create_repo(repo, repo_type="dataset", private=not public, exist_ok=True)
    is_private = bool(api.repo_info(repo, repo_type="dataset").private)
    if not (public or is_private):
        raise DomainError("hub_repository_is_public", IS_PUBLIC.format(repo))
    api.upload_folder(
        repo_id=repo,
        repo_type="dataset",
        folder_path=folder,
        commit_message="Ratings and texts of a study in Tiebreak",
    )
    return str(url), is_private
