"""A tiny random Llama behind vLLM on the CPU, for tests with a real model server.

vLLM for the CPU needs other versions of some packages, so it may be installed in another environment.
Set TIEBREAK_TEST_VLLM_PYTHON to the Python interpreter of that environment; `make test-vllm` does.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx

from tests.paths import ROOT

PYTHON = os.environ.get("TIEBREAK_TEST_VLLM_PYTHON") or (
    sys.executable if find_spec("vllm") else ""
)
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "PYTHONPATH": str(ROOT),
}
START_S = 400
MODEL = "tiny"


def build_model(folder: Path) -> None:
    builder = Path(__file__).with_name("tiny_llama.py")
    subprocess.run([PYTHON, builder, folder], check=True, env=ENVIRONMENT, timeout=START_S)


@contextmanager
def vllm_server(folder: Path, *, max_tokens: int, **environment: str) -> Iterator[str]:
    """Serve the model of a folder, and yield ``host:port`` once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", folder]
    command += ["--served-model-name", MODEL, "--host", "127.0.0.1", "--port", host[10:]]
    command += ["--max-model-len", str(max_tokens), "--max-num-seqs", "16", "--dtype", "float32"]
    command += ["--enforce-eager", "--load-format", "safetensors"]
    # On a CPU, vLLM ends if it reads a part of a prompt whose request has a seed.
    whole_prompts = str(16 * max_tokens)
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", whole_prompts]
    log = folder / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            env=ENVIRONMENT | environment,
            start_new_session=True,
        )
    try:
        _wait_for(f"http://{host}/health", server, log)
        yield host
    finally:
        server.terminate()
        server.wait(60)


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            if httpx.get(url, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(1)
    raise AssertionError(log.read_text()[-3000:])
