"""A model server as a client sees it, over real HTTP on the loopback; its faults are scripted.

It has OpenAI's completions and chat completions and, if it calls itself vLLM, also vLLM's
tokeniser, token ids and log-probabilities. A text contains its seed, so that tests can see which
request it answers.
"""

import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

Data = dict[str, Any]

MODEL = "tiny"
KEY = "sk-very-secret-0123456789"
STATUSES = {"busy": 429, "broken": 500, "refused_key": 401, "forbidden": 403, "unknown": 404}
BODIES = {
    "html": b"<html><body>Bad gateway</body></html>",
    "half_json": b'{"model": "tiny", "choices": [{"ind',
    "list": b"[]",
    "shape": b'{"model": "tiny", "choices": {"0": "none"}}',
    "types": b'{"model": "tiny", "choices": [{"index": "0", "text": 7}, {"index": [], "text": 8}]}',
    "deep": b"[" * 100_000,
    "empty": b"",
}


@dataclass(frozen=True)
class Fault:
    """A fault instead of an answer: a status, a body of `BODIES`, or a kind of behaviour."""

    kind: str
    retry_after: str = ""
    message: str = "scripted"


@dataclass
class StubServer:
    """A context manager that serves; faults affect only generations, and other paths always work.

    Each of `faults` happens once, `always` happens every time, and `by_prompt` decides by the text
    that was sent. `logprob_after` tells the log-probability of a label after that text.
    """

    owner: str = "vllm"
    key: str = ""
    delay_s: float = 0.0
    faults: deque[Fault] = field(default_factory=deque)
    always: Fault | None = None
    by_prompt: Callable[[str], Fault | None] = lambda _: None
    logprob_after: Callable[[str, str], float] = lambda _, word: logprob(word)
    missing: frozenset[str] = frozenset()
    # What it tells of the model: a fingerprint with each answer, and a root in its list.
    fingerprint: str = ""
    root: str = ""
    # What it tells of itself, by path.
    about: dict[str, Data] = field(default_factory=dict)
    # How it treats constraints of answers: it enforces, refuses or ignores them.
    choices: str = "enforced"
    # How many scores it gives a text, of which the first is its number of words.
    scores: int = 1
    requests: list[tuple[str, Data]] = field(default_factory=list)
    most_at_once: int = 0
    released: Event = field(default_factory=Event)

    def __enter__(self) -> Self:
        self._lock, self._at_once, self._ids = Lock(), 0, {}
        self._http = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Bound", (Handler,), {"stub": self})
        )
        self._http.daemon_threads = True
        self._http.block_on_close = False
        Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        return f"http://{self.host}/v1"

    @property
    def generations(self) -> list[Data]:
        return [body for path, body in self.requests if path.endswith("completions")]

    def prompts(self) -> Counter[str]:
        return Counter(text_of(body) for body in self.generations)

    def next_fault(self, body: Data) -> Fault | None:
        with self._lock:
            queued = self.faults.popleft() if self.faults else None
        return queued or self.by_prompt(text_of(body)) or self.always

    def enter(self) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1

    def token_ids(self, text: str) -> list[int]:
        """Return a number for each word, which includes the space before it."""
        words = re.findall(r" ?\w+| ?[^\w\s]|\s", text)
        with self._lock:
            return [self._ids.setdefault(word, len(self._ids) + 1) for word in words]

    def word(self, token_id: int) -> str:
        return next(word for word, one in self._ids.items() if one == token_id)


def logprob(word: str) -> float:
    """Return a number that tests can compute as well."""
    return -0.5 - len(word) / 8


def text_of(body: Data) -> str:
    if "messages" in body:
        return "\n".join(f"{one['role']}:{one['content']}" for one in body["messages"])
    return body["prompt"] if isinstance(body["prompt"], str) else ""


def choices_of(body: Data) -> list[str]:
    """Return the texts to which a request constrains the answer, in vLLM's way or in OpenAI's."""
    if "structured_outputs" in body:
        return body["structured_outputs"]["choice"]
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        return schema["properties"]["answer"]["enum"]
    return []


def written(seed: int | None, index: int) -> str:
    return f"Text {index} of seed {seed}."


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stub: StubServer

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.stub.requests.append((self.path, {}))
        if self.path in self.stub.missing:
            return self._send(404, {"detail": "Not Found"})
        if told := self.stub.about.get(self.path):
            return self._send(200, told)
        listed = {"id": MODEL, "owned_by": self.stub.owner, "root": self.stub.root}
        return self._send(200, {"data": [listed]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.stub.requests.append((self.path, body))
        if self.path in self.stub.missing:
            return self._send(404, {"detail": "Not Found"})
        if self.stub.key and self.headers.get("Authorization") != f"Bearer {self.stub.key}":
            return self._send(401, {"error": {"message": f"Not {self.headers['Authorization']}"}})
        if self.path == "/tokenize":
            return self._send(200, {"tokens": self.stub.token_ids(tokenized(body))})
        if self.path == "/classify":
            words = len((body.get("input") or text_of(body)).split())
            data = [{"index": 0, "probs": [float(words)] * self.stub.scores}]
            return self._send(200, {"model": body["model"], "data": data})
        self.stub.enter()
        try:
            time.sleep(self.stub.delay_s)
            return self._generate(body, self.stub.next_fault(body))
        finally:
            self.stub.leave()

    def _generate(self, body: Data, fault: Fault | None) -> None:
        if self.stub.choices == "refused" and choices_of(body):
            return self._send(400, {"error": {"message": "response_format is not supported"}})
        if fault is None:
            return self._send(200, self._answer(body))
        if fault.kind in STATUSES or fault.kind.isdigit():
            status = STATUSES.get(fault.kind) or int(fault.kind)
            error = {"error": {"message": fault.message.format(key=self.headers["Authorization"])}}
            return self._send(status, error, {"Retry-After": fault.retry_after})
        if fault.kind in BODIES:
            return self._raw(200, BODIES[fault.kind])
        return getattr(self, f"_{fault.kind}")(body)

    def _hang(self, body: Data) -> None:
        self.stub.released.wait(20)
        self.close_connection = True

    def _drip(self, body: Data) -> None:
        """Send a byte now and then, for ever."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.stub.released.wait(0.05):
            try:
                self.wfile.write(b" ")
            except OSError:
                break
        self.close_connection = True

    def _truncated(self, body: Data) -> None:
        content = json.dumps(self._answer(body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.close_connection = True

    def _hung_up(self, body: Data) -> None:
        self.close_connection = True
        self.connection.close()

    def _fewer(self, body: Data) -> None:
        answer = self._answer(body)
        self._send(200, answer | {"choices": answer["choices"][:-1]})

    def _twice_the_first(self, body: Data) -> None:
        answer = self._answer(body)
        self._send(200, answer | {"choices": [answer["choices"][0]] * body["n"]})

    def _no_logprobs(self, body: Data) -> None:
        answer = self._answer(body)
        for choice in answer["choices"]:
            choice["logprobs"] = None
        self._send(200, answer)

    def _no_text(self, body: Data) -> None:
        answer = self._answer(body)
        last = answer["choices"][-1]
        last.get("message", last).update(text=None, content=None)
        self._send(200, answer)

    def _unfinished(self, body: Data) -> None:
        answer = self._answer(body)
        answer["choices"][-1]["finish_reason"] = None
        self._send(200, answer)

    def _other_model(self, body: Data) -> None:
        self._send(200, self._answer(body) | {"model": "large"})

    def _redirect(self, body: Data) -> None:
        self._send(307, {}, {"Location": f"http://{self.stub.host}/elsewhere"})

    def _answer(self, body: Data) -> Data:
        if body.get("echo"):
            choices = [self._echo(body)]
        elif body.get("prompt_logprobs") is not None:
            choices = [self._choice(body, 0) | {"prompt_logprobs": self._of_prompt(body)}]
        else:
            choices = [self._choice(body, index) for index in range(body.get("n", 1))]
        tokens = sum(len(choice.get("token_ids") or [1, 2, 3]) for choice in choices)
        usage = {"prompt_tokens": len(text_of(body).split()), "completion_tokens": tokens}
        fingerprint = {"system_fingerprint": self.stub.fingerprint or None}
        # Some servers return choices in another order.
        return {"model": body["model"], "choices": choices[::-1], "usage": usage, **fingerprint}

    def _choice(self, body: Data, index: int) -> Data:
        text = written(body.get("seed"), index)
        if choices_of(body) and self.stub.choices == "enforced":
            first = choices_of(body)[0]
            text = json.dumps({"answer": first}) if "response_format" in body else first
        choice: Data = {"index": index, "finish_reason": "stop"}
        if body.get("return_token_ids"):
            choice["token_ids"] = self.stub.token_ids(text)
        if body.get("logprobs"):
            choice["logprobs"] = self._alternatives(body)
        chat = {"message": {"role": "assistant", "content": text}}
        return choice | (chat if "messages" in body else {"text": text})

    def _alternatives(self, body: Data) -> Data:
        asked = body.get("logprob_token_ids")
        if asked is None:
            logprobs = {word: logprob(word) for word in (" A", "B", "\n")}
        else:
            after, word = self.stub.logprob_after, self.stub.word
            logprobs = {f"token_id:{one}": after(text_of(body), word(one)) for one in asked}
        if "messages" not in body:
            return {"top_logprobs": [logprobs]}
        rows = [{"token": token, "logprob": value} for token, value in logprobs.items()]
        return {"content": [{"token": rows[0]["token"], "top_logprobs": rows}]}

    def _of_prompt(self, body: Data) -> list[Data | None]:
        ids = body["prompt"]
        rows: list[Data | None] = [
            {str(one): {"logprob": logprob(self.stub.word(one)), "rank": 1}} for one in ids
        ]
        return [None, *rows[1:]]

    def _echo(self, body: Data) -> Data:
        text = body["prompt"]
        # Like in vLLM, there is a first token that is not in the text and shifts the offsets.
        words = ["<s>", *(self.stub.word(one) for one in self.stub.token_ids(text))]
        offsets = [sum(map(len, words[:i])) for i in range(len(words))]
        values = [None, *(logprob(word) for word in words[1:])]
        shown = [word.encode("ascii", "replace").decode() for word in words]
        logprobs = {"tokens": shown, "text_offset": offsets, "token_logprobs": values}
        return {"index": 0, "text": text, "finish_reason": "length", "logprobs": logprobs}

    def _send(self, status: int, data: Data, headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(data).encode(), headers)

    def _raw(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def tokenized(body: Data) -> str:
    """Return the text to tokenise; a chat's template has roles, texts and the assistant's turn."""
    if "prompt" in body:
        return str(body["prompt"])
    text = text_of(body)
    return text + "\nassistant:" if body["add_generation_prompt"] else text
