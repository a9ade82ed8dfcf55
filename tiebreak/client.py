"""A client of a Tiebreak server: studies from data frames, their ratings, reports and exports."""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import httpx

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.field_docs import list_fields
from tiebreak.formats import atomic_path
from tiebreak.formats.frames import rows_of_frame
from tiebreak.formats.layouts import Choice, read_existing
from tiebreak.gateway.http_errors import retry_after_s
from tiebreak.identifiers import looks_like_public_id
from tiebreak.report import Report

__all__ = ["Client", "Job", "LaunchCheck", "RequestRefused", "Studies", "Study"]

Json = dict[str, Any]
Sum = Decimal | int | str
ATTEMPTS, LONGEST_WAIT_S = 4, 30.0
# Answers after which the same request may succeed later.
FOR_NOW = frozenset({429, 502, 503, 504})
MOVING = frozenset({"queued", "running"})

BAD_ADDRESS = "The address must be that of a server, such as https://rate.example.org, without a user or password."
WRITTEN_AS = (
    "The token must be the text that the page API tokens showed, such as tb_…, without spaces."
)
NO_STUDY = "{!r} is not the id of a study. Copy it from the address of the study's page."
UNREACHABLE = "The server {url} cannot be reached ({error}). Check the address and the network."
NO_ANSWER = (
    "{url} answered with status {status}, and not as Tiebreak's interface. Check the address."
)
FAILED = "The job {kind} ended as {status}. {problem}"
UNFINISHED = (
    "The job {kind} is still {status} after {seconds:.0f} s. Wait for it again; it goes on."
)


class RequestRefused(DomainError):
    """The server refused a request, or could not be asked.

    ``code`` and ``message`` are the server's, as is ``status``, which is 0 if there was no answer.

    Parameters
    ----------
    code : str
        Identifies the case for programs.
    message : str
        What happened, and what to do.
    status : int, default 0
        The HTTP status.
    problems : list of dict, optional
        What is wrong with each row or field, with ``code`` and ``reason``.
    """

    def __init__(
        self, code: str, message: str, *, status: int = 0, problems: Iterable[Json] = ()
    ) -> None:
        super().__init__(code, message, status=status)
        self.problems = list(problems)


class _Api:
    """Requests with a token, which appears in no message, repr or log."""

    def __init__(self, url: str, token: str, timeout_s: float) -> None:
        address = httpx.URL(url)
        if address.scheme not in {"http", "https"} or not address.host or address.userinfo:
            raise InvalidInput("bad_address", BAD_ADDRESS)
        if not re.fullmatch(r"[!-~]+", token):
            raise InvalidInput("bad_token", WRITTEN_AS)
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_s,
        )

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self._answer(lambda: self._http.get(path, params=params), attempts=ATTEMPTS)

    def send(self, method: str, path: str, **content: Any) -> Any:
        """Send a request that changes something, once, and return its answer."""
        answer = self._answer(lambda: self._http.request(method, path, **content))
        return answer.json() if answer.content else None

    def download(self, path: str, out: Path) -> None:
        """Write a file that the server sends, in whole or not at all."""
        with atomic_path(out) as temporary, temporary.open("wb") as file:

            def write() -> httpx.Response:
                file.seek(0)
                file.truncate()
                with self._http.stream("GET", path) as response:
                    if response.is_success:
                        file.writelines(response.iter_bytes())
                    else:
                        response.read()
                    return response

            self._answer(write, attempts=ATTEMPTS)

    def _answer(self, ask: Callable[[], httpx.Response], attempts: int = 1) -> httpx.Response:
        """Return a successful answer; ask again while a further attempt may help."""
        for left in reversed(range(attempts)):
            wait_s = 0.5 * 2 ** (attempts - left - 1)
            try:
                response = ask()
            except httpx.TransportError as error:
                if left:
                    time.sleep(wait_s)
                    continue
                sentence = UNREACHABLE.format(url=self.url, error=type(error).__name__)
                raise RequestRefused("unreachable", sentence) from error
            if response.status_code in FOR_NOW and left:
                stated = retry_after_s(response.headers.get("Retry-After", ""))
                time.sleep(min(max(stated, wait_s), LONGEST_WAIT_S))
                continue
            break
        if response.is_success:
            return response
        raise self._refusal(response)

    def _refusal(self, response: httpx.Response) -> RequestRefused:
        status = response.status_code
        if response.headers.get("Content-Type", "").startswith("application/problem+json"):
            body = response.json()
            problems = body.get("problems", ())
            return RequestRefused(body["code"], body["detail"], status=status, problems=problems)
        sentence = NO_ANSWER.format(url=self.url, status=status)
        return RequestRefused("no_interface", sentence, status=status)


@dataclass(frozen=True)
class Job:
    """Work of the server, as it was when it was last read."""

    facts: Json = field(repr=False)
    """All that the server says about it."""
    _api: _Api = field(repr=False, compare=False)
    _path: str

    @property
    def status(self) -> str:
        """One of queued, running, paused, done, failed and stopped."""
        return str(self.facts["status"])

    @property
    def result(self) -> Json:
        """What it gave that is not stored elsewhere."""
        return dict(self.facts["result"])

    def wait(self, *, timeout_s: float = 3600, poll_s: float = 1.0) -> "Job":
        """Return the job once it is done.

        Raises `RequestRefused` if it failed, was stopped or paused, or is not done in time
        (``job_unfinished``).
        """
        end, facts = time.monotonic() + timeout_s, self.facts
        while facts["status"] in MOVING:
            if time.monotonic() > end:
                raise RequestRefused(
                    "job_unfinished", UNFINISHED.format(**facts, seconds=timeout_s)
                )
            time.sleep(poll_s)
            facts = self._api.get(self._path).json()
        if facts["status"] != "done":
            result = facts["result"]
            code = result.get("code", f"job_{facts['status']}")
            sentence = FAILED.format(**facts).strip()
            raise RequestRefused(code, sentence, problems=result.get("problems", ()))
        return Job(facts, self._api, self._path)


@dataclass(frozen=True)
class LaunchCheck:
    """A reason not to open a study."""

    code: str
    """Identifies the check."""
    severity: str
    """An error keeps the study from opening; a warning has to be accepted."""
    sentence: str
    """What is wrong, and what to do."""


@dataclass(frozen=True)
class Study:
    """A study of the server."""

    id: str
    """Its public id."""
    _api: _Api = field(repr=False, compare=False)

    def details(self) -> Json:
        """Return the study's state and design, as the interface gives them."""
        return dict(self._api.get(self._path()).json())

    def settings(self, **changes: Any) -> Json:
        """Change settings, such as ``ratings_per_hit=3``, and return the design.

        A list replaces the whole list. Without a change, the design is only read.
        """
        if not changes:
            return dict(self.details()["design"])
        return dict(self._send("PATCH", "", json=changes)["study"]["design"])

    def plan(self) -> Json:
        """Plan the tasks of a draft, and return the plan's size."""
        return dict(self._send("POST", "plan/"))

    def launch_checks(self) -> list[LaunchCheck]:
        """Return what keeps the study from opening, errors first."""
        return [LaunchCheck(**one) for one in self._api.get(self._path("launch-checks/")).json()]

    def maximum_cost(self) -> Decimal:
        """Return the most that the study can cost as it is, with fees, in its design's currency."""
        return Decimal(self.details()["maximum_cost"])

    def open(self, *, confirm: Sum, accept: Collection[str] = ()) -> None:
        """Plan the study if it is not planned, and let annotators in.

        ``confirm`` is the most that the study can cost, which `maximum_cost` returns: with another sum
        the server refuses (``cost_differs``), and names the sum. ``accept`` has the codes of the warnings
        among the launch checks to open the study in spite of.
        """
        body = {
            "maximum_cost": str(confirm),
            "confirmed_warnings": sorted(accept),
            "plan_first": True,
        }
        self._send("POST", "open/", json=body)

    def pause(self) -> None:
        """Hand out no new places."""
        self._send("POST", "pause/")

    def close(self) -> None:
        """End the study."""
        self._send("POST", "close/")

    def dry_run(self, **options: Any) -> Job:
        """Let bots rate a copy of the study, which `dry_runs` then has.

        Options are ``raters``, ``accuracy``, ``position_bias`` and ``drop_out``.
        """
        return self._job(self._send("POST", "jobs/dry-run/", json=options))

    def dry_runs(self) -> list["Study"]:
        """Return the copies that bots rated, the newest first."""
        return [study for study, facts in _listed(self._api) if facts["dry_run_of"] == self.id]

    def write_field(self, name: str, *, server: str, **options: Any) -> Job:
        """Let a language model write a further text of each instance, such as a reference for judges.

        Options are ``language_model``, ``prompt_template``, ``temperature``, ``top_p``, ``max_tokens``,
        ``seed`` and ``stop``.
        """
        body = {"name": name, "server": server, **options}
        return self._job(self._send("POST", "jobs/written-field/", json=body))

    def progress(self) -> Json:
        """Return the study's counts, such as ``places``, ``completed`` and ``share``."""
        return dict(self._api.get(self._path("progress/")).json())

    def report(self, *, timeout_s: float = 600, poll_s: float = 1.0) -> Report:
        """Wait for the report of all ratings that are stored, and return it.

        Notebooks show it as they show that of `tiebreak.analyze`.
        """
        end = time.monotonic() + timeout_s
        while True:
            try:
                answer = self._api.get(self._path("report/"), current="true")
                return Report.from_json(answer.json())
            except RequestRefused as refusal:
                if refusal.code != "report_pending" or time.monotonic() > end:
                    raise
            time.sleep(poll_s)

    def ratings(self, *, page_rows: int = 10_000) -> Iterator[Json]:
        """Yield the rows of the ratings file, oldest first, flagged ones included, page by page.

        Ratings of the last ten seconds may be missing.
        """
        cursor, has_more = "0", True
        while has_more:
            page = self._api.get(self._path("ratings/"), after=cursor, limit=page_rows)
            yield from map(json.loads, page.content.splitlines())
            cursor = page.headers["Tiebreak-Cursor"]
            has_more = page.headers["Tiebreak-More"] == "true"

    def export(self, format: str, out: str | Path, **options: Any) -> Path:
        """Let the server write an export, and download it as a .zip file.

        Formats are those of the interface, such as ``jsonl``, ``csv`` and ``hf``; options are ``ties``,
        ``with_texts`` and ``with_comments``.
        """
        body = {"formats": [format], **options}
        job = self._job(self._send("POST", "jobs/export/", json=body)).wait()
        self._api.download(f"{job._path}export.zip", Path(out))
        return Path(out)

    def add_machine_ratings(self, data: Any, **options: str) -> Json:
        """Add ratings of machines from a data frame or a file, and return how many are new.

        Options are ``cost`` of a rating, and ``format``, ``criterion`` and ``rater`` for files of benchmarks.
        """
        with _as_file(data) as file:
            answer = self._send("POST", "machine-ratings/", files={"ratings": file}, data=options)
        if "job" in answer:
            path = self._path(f"jobs/{answer['job']}/")
            return Job(self._api.get(path).json(), self._api, path).wait().result
        return dict(answer)

    def owed(self) -> Decimal:
        """Return the sum that participants are owed who await payment, without fees."""
        people = _pages(self._api, self._path("participants/"), awaiting="true")
        return sum((Decimal(one["owed"] or 0) for one in people), Decimal(0))

    def pay(self, *, confirm: Sum) -> Json:
        """Pay all participants who await payment, each once.

        ``confirm`` is the sum, which `owed` returns: with another one the server pays nobody
        (``total_differs``), and names the sum.
        """
        return dict(self._send("POST", "participants/pay/", json={"total": str(confirm)}))

    def _path(self, rest: str = "") -> str:
        return f"studies/{self.id}/{rest}"

    def _send(self, method: str, rest: str, **content: Any) -> Any:
        return self._api.send(method, self._path(rest), **content)

    def _job(self, facts: Json) -> Job:
        return Job(facts, self._api, self._path(f"jobs/{facts['id']}/"))


@dataclass(frozen=True)
class Studies:
    """The studies that the token may see."""

    _api: _Api = field(repr=False)

    def __iter__(self) -> Iterator[Study]:
        return (study for study, _ in _listed(self._api))

    def __getitem__(self, study_id: str) -> Study:
        if not looks_like_public_id(study_id):  # which would become a part of addresses
            raise RequestRefused("unknown_study", NO_STUDY.format(study_id), status=404)
        study = Study(study_id, self._api)
        study.details()
        return study

    def from_pairs(self, data: Any, *, title: str, **options: Any) -> Study:
        """Create a draft from texts: a data frame or a file, in any layout that the pages read.

        Options are ``layout``, ``columns`` (``ROLE=COLUMN,…`` or a dict), ``leave_out_bad_rows``,
        ``leave_out_errors`` (texts such as “ERROR: timeout”), ``fill_down`` (columns whose empty cells
        repeat the value above) and ``known_dataset`` (``use`` or ``refuse`` what you imported before).
        """
        columns = options.get("columns", "")
        if isinstance(columns, Mapping):
            options["columns"] = ",".join(f"{role}={name}" for role, name in columns.items())
        with _as_file(data) as file:
            return self._imported("from-table/", {"title": title, **options}, table=file)

    def from_ratings(
        self, data: Any, *, title: str, columns: Mapping[str, str] | None = None
    ) -> Study:
        """Create a closed study of ratings that exist: a data frame or a file, in any usual layout.

        ``columns`` are columns by role, as for `tiebreak.analyze`.
        """
        source = Path(data) if isinstance(data, str | Path) else rows_of_frame(data)
        existing = read_existing(source, choice=Choice(dict(columns or {})), name="the data frame")
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle"
            existing.converted(title).write(bundle)
            return self.from_bundle(shutil.make_archive(str(bundle), "zip", bundle))

    def from_bundle(self, path: str | Path, *, known_dataset: str = "refuse") -> Study:
        """Create a study from a bundle (.zip); one with ratings is closed."""
        with Path(path).open("rb") as file:
            return self._imported("", {"known_dataset": known_dataset}, bundle=file)

    def _imported(self, rest: str, options: Json, **files: IO[bytes]) -> Study:
        """Upload a file, and wait for the job if the server imports it later."""
        answer = self._api.send("POST", f"studies/{rest}", data=options, files=files)
        if "job" in answer:
            path = f"imports/{answer['job']}/"
            answer = Job(self._api.get(path).json(), self._api, path).wait().result
        study = answer["study"]
        return Study(study if isinstance(study, str) else study["id"], self._api)


class Client:
    """A server, as a token opens it. Nothing is asked before a method needs it.

    Only requests that change nothing are repeated if they fail. The token appears in no message,
    repr or log.

    Parameters
    ----------
    url : str
        Address of the server, such as ``https://rate.example.org``.
    token : str
        A token of the page *API tokens*.
    timeout_s : float, default 60.0
        Seconds to wait for a connection, or for the next part of an answer.

    Examples
    --------
    >>> Client("https://rate.example.org", "tb_secret")
    Client('https://rate.example.org')
    """

    def __init__(self, url: str, token: str, *, timeout_s: float = 60.0) -> None:
        self._api = _Api(url, token, timeout_s)
        self.studies = Studies(self._api)

    def __repr__(self) -> str:
        return f"Client({self._api.url!r})"


def _pages(api: _Api, path: str, **params: Any) -> Iterator[Json]:
    """Yield the rows of a list, page by page."""
    while True:
        page = api.get(path, **params).json()
        yield from page["results"]
        if not page["next"]:
            return
        params |= {"cursor": httpx.URL(page["next"]).params["cursor"]}


def _listed(api: _Api) -> Iterator[tuple[Study, Json]]:
    return ((Study(facts["id"], api), facts) for facts in _pages(api, "studies/", limit=200))


@contextmanager
def _as_file(data: Any) -> Iterator[IO[bytes]]:
    """Yield a file as it is, or rows as JSON Lines."""
    if isinstance(data, str | Path):
        with Path(data).open("rb") as file:
            yield file
        return
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        for row in rows_of_frame(data):
            file.write(json.dumps(row, allow_nan=False).encode() + b"\n")
        file.seek(0)
        yield file


list_fields(globals())
