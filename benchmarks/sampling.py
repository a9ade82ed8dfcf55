"""Sampling through the gateway, compared with vLLM's benchmark client: `make bench-sampling`.

The Python interpreter in TIEBREAK_TEST_VLLM_PYTHON serves a tiny random Llama on the CPU. It needs pandas,
with which vLLM's client reads the prompts. The model has a core to itself, as it would have a GPU, and the
server's front end shares another core with the clients. Without this division, the model's processes busy-wait
on every core, the front end is starved, and the same client is served sixteen texts at once in one run and two
in the next.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import httpx
import numpy as np

from benchmarks.harness import Row, publish
from benchmarks.servers import free_port
from tiebreak.gateway import OpenAIServer, Sampled, SampleRequest

ROOT = Path(__file__).resolve().parent.parent
PYTHON = shutil.which(os.environ.get("TIEBREAK_TEST_VLLM_PYTHON", "")) or ""
ENVIRONMENT = {
    **os.environ,
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
CONCURRENCY, REQUESTS, TOKENS, ROUNDS = 16, 300, 64, 9
MODEL_CORE, CLIENT_CORE = 0, 1
START_S = 400
SETTINGS = {"seed": 5, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
# `vllm bench serve` needs package metadata that the CPU build lacks.
PEER = (
    "import argparse; from vllm.benchmarks.serve import add_cli_args, main;"
    " parser = argparse.ArgumentParser(); add_cli_args(parser); main(parser.parse_args())"
)


@contextmanager
def served(*, max_tokens: int = 256) -> Iterator[tuple[str, Path]]:
    """Serve a tiny model with so long a context, and yield the host and the model's folder."""
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as name:
        folder = Path(name)
        builder = ROOT / "tests" / "tiebreak" / "gateway" / "tiny_llama.py"
        subprocess.run([PYTHON, builder, folder], check=True, env=ENVIRONMENT)
        host = f"127.0.0.1:{free_port()}"
        server = _start(folder, host, max_tokens)
        try:
            _wait(f"http://{host}/health", server)
            _divide_the_cores(server.pid)
            yield host, folder
        finally:
            server.terminate()
            server.wait(60)


def _start(folder: Path, host: str, max_tokens: int) -> "subprocess.Popen[bytes]":
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", host[10:]]
    command += ["--max-model-len", str(max_tokens), "--max-num-seqs", "16", "--dtype", "float32"]
    command += ["--enforce-eager", "--load-format", "safetensors"]
    # On a CPU, vLLM ends if it reads a part of a prompt whose request has a seed.
    whole_prompts = str(16 * max_tokens)
    command += ["--no-enable-chunked-prefill", "--max-num-batched-tokens", whole_prompts]
    log = (folder / "server.log").open("w")
    environment = ENVIRONMENT | {"VLLM_CPU_OMP_THREADS_BIND": str(MODEL_CORE)}
    return subprocess.Popen(
        command, stdout=log, stderr=log, env=environment, start_new_session=True
    )


def _divide_the_cores(session: int) -> None:
    """Pin the model's processes to one core, and the front end and all clients to another."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # another process has just ended
            name, rest = (process / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            if int(rest.split()[3]) == session:
                core = MODEL_CORE if name.startswith("VLLM::") else CLIENT_CORE
                for thread in (process / "task").iterdir():
                    os.sched_setaffinity(int(thread.name), {core})
    os.sched_setaffinity(0, {CLIENT_CORE})


def _wait(url: str, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            if httpx.get(url, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            time.sleep(1)
    raise RuntimeError("vLLM did not start.")


def prompts() -> list[str]:
    rng = np.random.default_rng(0)
    words = ["river", "school", "road", "Monday", "summary", "better", "open", "closed"]
    return [" ".join(rng.choice(words, 10)) for _ in range(REQUESTS)]


def vllm_benchmark(host: str, folder: Path) -> float:
    """Return the number of output tokens per second for vLLM's client."""
    file, result = folder / "prompts.jsonl", folder / "result.json"
    file.write_text("\n".join(json.dumps({"prompt": prompt}) for prompt in prompts()))
    command = [PYTHON, "-c", PEER, "--backend", "openai", "--base-url", f"http://{host}"]
    command += ["--model", "tiny", "--tokenizer", str(folder), "--dataset-name", "custom"]
    command += ["--dataset-path", str(file), "--custom-output-len", str(TOKENS)]
    command += ["--skip-chat-template", "--disable-shuffle"]
    command += ["--num-prompts", str(REQUESTS), "--max-concurrency", str(CONCURRENCY)]
    command += ["--temperature", "1.0", "--save-result", "--result-filename", str(result)]
    # Seeds cost the server time, so both clients send a seed for each text.
    command += ["--extra-body", json.dumps(SETTINGS)]
    subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True)
    return float(json.loads(result.read_text())["output_throughput"])


def through_the_gateway(host: str) -> float:
    """Return the number of output tokens per second through the gateway, for the same prompts."""
    requests = (
        SampleRequest(str(n), prompt, 1, n, temperature=1.0, max_tokens=TOKENS)
        for n, prompt in enumerate(prompts())
    )
    models = OpenAIServer(f"http://{host}", "tiny", allowed_hosts=[host], concurrency=CONCURRENCY)
    start = time.perf_counter()
    answers = list(models.sample(requests))
    seconds = time.perf_counter() - start
    models.close()
    sampled = [answer for answer in answers if isinstance(answer, Sampled)]
    if len(sampled) < REQUESTS:
        raise RuntimeError(f"{REQUESTS - len(sampled)} requests failed.")
    return sum(answer.samples[0].tokens or 0 for answer in sampled) / seconds


def pair(host: str, folder: Path, *, is_first: bool) -> tuple[float, float]:
    """Return the rates of vLLM's client and of the gateway, measured in the given order."""
    if is_first:
        theirs = vllm_benchmark(host, folder)
        return theirs, through_the_gateway(host)
    ours = through_the_gateway(host)
    return vllm_benchmark(host, folder), ours


def is_possible() -> bool:
    """Whether a model and its client can have a core each; says what is missing."""
    if not PYTHON:
        print(
            "Set TIEBREAK_TEST_VLLM_PYTHON to the path of a Python interpreter with vLLM and pandas."
        )
        return False
    if sys.platform != "linux" or not os.sched_getaffinity(0) >= {MODEL_CORE, CLIENT_CORE}:
        print("This benchmark needs Linux and access to the first two cores.")
        return False
    return True


def main() -> int:
    if not is_possible():
        return 2
    with served() as (host, folder):
        through_the_gateway(host)  # warm up the server
        vllm_benchmark(host, folder)
        pairs = [pair(host, folder, is_first=n % 2 == 0) for n in range(ROUNDS)]
    ratio = median(ours / theirs for theirs, ours in pairs)
    rate = median(ours for _, ours in pairs)
    for theirs, ours in pairs:
        print(f"{ours:,.0f} against {theirs:,.0f} tokens per second: {ours / theirs:.2f}")
    work = (
        f"{REQUESTS} texts of a tiny model, {CONCURRENCY} at a time, {rate:,.0f} tokens per second"
    )
    return publish(
        "sampling",
        [
            Row(
                work,
                REQUESTS * TOKENS / rate,
                0,
                "vLLM's own benchmark client, alternating",
                ratio,
                "ratio at least 0.9",
                ratio >= 0.9,
            )
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
