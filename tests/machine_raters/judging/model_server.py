"""A model server in a process of its own: it writes down each request before it answers A.

Run it with a port (0 for any) and the file in which it notes the SHA-256 of each prompt.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.paths import ROOT
from tests.tiebreak.gateway.stub_server import Data, Fault, Handler, StubServer, text_of

SECONDS = 0.05


class NotingHandler(Handler):
    notes = -1

    def _generate(self, body: Data, fault: Fault | None) -> None:
        noted = f"{body['model']} {hashlib.sha256(text_of(body).encode()).hexdigest()}\n"
        os.write(self.notes, noted.encode())
        time.sleep(SECONDS)
        super()._generate(body, fault)

    def _choice(self, body: Data, index: int) -> Data:
        message = {"role": "assistant", "content": "A"}
        return {"index": index, "finish_reason": "stop", "message": message}


@contextmanager
def model_server(port: int, notes: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Yield the process of a server, and its port."""
    command = [sys.executable, "-m", __name__, str(port), str(notes)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(timeout=20)


def main() -> None:
    stub = StubServer(owner="other")
    with stub:  # for its lock and its ids; requests go to the handler below
        NotingHandler.stub = stub
        NotingHandler.notes = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), NotingHandler)
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
