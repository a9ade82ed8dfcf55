"""Starting a web server and workers side by side, and stopping them together."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent
Processes = dict[str, "subprocess.Popen[bytes]"]


def port_of(text: str) -> int | None:
    """Return a free port, or None with a sentence on why the given one is not."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        say(f"TIEBREAK_PORT must be a port number, not {text!r}.")
        return None
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, int(text)))
        except OSError:
            say(f"Port {text} is in use. Choose another port in TIEBREAK_PORT, such as 8001.")
            return None
    return int(text)


def run(port: int, commands: dict[str, list[str]], welcome: Callable[[], None]) -> int:
    """Run Python modules by their names in messages until Ctrl-C or until one of them stops."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _interrupt)
    processes: Processes = {}
    try:
        processes |= {name: _start(command) for name, command in commands.items()}
        if _wait_until_ready(port, processes):
            welcome()
        return _watch(processes)
    except KeyboardInterrupt:
        say("\nStopping. The data is kept, and the next start uses it.")
        return 0
    finally:
        _stop(processes)


def _start(module_and_options: list[str]) -> subprocess.Popen[bytes]:
    # Because of the new session, Ctrl-C reaches only this process, which then stops the others.
    return subprocess.Popen(  # noqa: S603  no user input
        [sys.executable, "-m", *module_and_options], cwd=ROOT, start_new_session=True
    )


def _wait_until_ready(port: int, processes: Processes) -> bool:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return True
        if any(process.poll() is not None for process in processes.values()):
            return False
        time.sleep(0.1)
    return False


def _watch(processes: Processes) -> int:
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                say(f"{name} stopped unexpectedly. Its last messages are above.")
                return 1
        time.sleep(0.5)


def _stop(processes: Processes) -> None:
    for process in processes.values():
        if process.poll() is None:
            process.terminate()
    for process in processes.values():
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def say(sentence: str) -> None:
    print(sentence, flush=True)  # noqa: T201  the output of the command
