"""Mechanical Turk as a worker's browser sees it, over real HTTP on the loopback.

`/preview` and `/work` hold the requester's page in a frame with the parameters of the protocol;
`POST /mturk/externalSubmit` takes what the page in the frame submits.
"""

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"


class MTurkSimulator:
    """`with MTurkSimulator() as simulator:` and point a browser at `simulator.work_url(page)`.

    `host="localhost"` makes the frame cross-site to a page on 127.0.0.1.
    """

    def __init__(self, *, host: str = "127.0.0.1") -> None:
        self.submitted: list[dict[str, str]] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.simulator = self
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.origin = f"http://{host}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def submit_url(self) -> str:
        return f"{self.origin}/mturk/externalSubmit"

    def preview_url(self, url: str, *, hit: str = "HIT1") -> str:
        return f"{self.origin}/preview?{urlencode({'url': url, 'hitId': hit})}"

    def work_url(
        self, url: str, *, assignment: str = "ASSIGNMENT1", hit: str = "HIT1", worker: str = "A1"
    ) -> str:
        ids = {"assignmentId": assignment, "hitId": hit, "workerId": worker}
        return f"{self.origin}/work?{urlencode({'url': url, **ids})}"

    def frame_url(self, path: str, query: Mapping[str, str]) -> str:
        """The address in the frame: that of the page, with the protocol's parameters added."""
        scheme, host, page, page_query, fragment = urlsplit(query["url"])
        ids = {"assignmentId": NOT_ACCEPTED, "hitId": query.get("hitId", "HIT1")}
        if path == "/work":
            ids["assignmentId"] = query.get("assignmentId", "ASSIGNMENT1")
            ids["workerId"] = query.get("workerId", "A1")
        ids["turkSubmitTo"] = self.origin
        merged = [*parse_qsl(page_query, keep_blank_values=True), *ids.items()]
        return urlunsplit((scheme, host, page, urlencode(merged), fragment))

    def take(self, body: str) -> str | None:
        """Record a submitted form, or say why it is refused."""
        fields = parse_qs(body, keep_blank_values=True)
        form = {name: "|".join(values) for name, values in fields.items()}
        assignment = form.get("assignmentId", "")
        if assignment in {"", NOT_ACCEPTED}:
            return "The form has no assignmentId."
        if len(form) < 2:
            return "The form has no field besides assignmentId."
        self.submitted.append(form)
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    simulator: MTurkSimulator


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = dict(parse_qsl(address.query, keep_blank_values=True))
        if address.path == "/mturk/externalSubmit":
            self._answer(HTTPStatus.METHOD_NOT_ALLOWED, "Submit with POST.")
        elif address.path not in {"/preview", "/work"}:
            self._answer(HTTPStatus.NOT_FOUND, "There is no such page.")
        elif "url" not in query:
            self._answer(HTTPStatus.BAD_REQUEST, "Which page? Give its url.")
        else:
            source = escape(self.server.simulator.frame_url(address.path, query))
            frame = f'<iframe title="Task" src="{source}" width="1000" height="800"></iframe>'
            self._answer(HTTPStatus.OK, frame)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path != "/mturk/externalSubmit":
            self._answer(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        refusal = self.server.simulator.take(body)
        if refusal:
            self._answer(HTTPStatus.BAD_REQUEST, refusal)
        else:
            self._answer(HTTPStatus.OK, "<p>submitted</p>")

    def log_message(self, *args: object) -> None:
        """Log nothing, because the output belongs to the tests."""

    def _answer(self, status: HTTPStatus, content: str) -> None:
        page = f'<!doctype html><html lang="en"><title>Worker</title><body>{content}</body></html>'
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
