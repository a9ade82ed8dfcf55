"""Judging through vLLM's server beside vLLM's benchmark client, and what a job needs: `make bench-judges`.

The server is that of `make bench-sampling`, with a longer context; see there for what it needs. A judge
reads a study's guidelines before each pair of texts, so that prompts begin alike, and the server's own
counter says how much of them it did not have to compute again. Answers are stored in an SQLite database.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import django
import httpx
from django.db.models import Sum

from benchmarks.harness import Row, publish
from benchmarks.sampling import (
    ENVIRONMENT,
    PEER,
    PYTHON,
    is_possible,
    served,
)

UNITS, SMALL, LARGE, ROUNDS = 2_000, 1_000, 10_000, 5
ORDERS, TOKENS, CONCURRENCY, CONTEXT = 2, 8, 32, 2_048
QUALITIES = ("better", "clearer", "more complete", "more faithful", "shorter")
GUIDELINES = (
    "Prefer the note that leaves nothing out, and adds nothing that the source lacks. " * 12
)
TEXT = "The council met on Tuesday and agreed on most of what the ferry's owners had proposed. " * 2


def make_study(folder: Path, units: int, criteria: int = 1) -> Any:
    """Return a planned study with so many pairs of texts, which may ask about several criteria."""
    from annotation.imports.study_import import import_study  # noqa: PLC0415  after Django's set-up
    from annotation.services.planning import plan_hits  # noqa: PLC0415

    path = folder / f"bundle-{units}-{time.monotonic_ns()}"
    path.mkdir()
    design = {"title": f"{units} pairs", "guidelines": GUIDELINES}
    head = "".join(f"{name} = {json.dumps(value)}\n" for name, value in design.items())
    asked = "".join(
        f'[[criteria]]\nname = "{name}"\nscale = "preference:tie"\nquestion = "Which note is {name}?"\n'
        for name in QUALITIES[:criteria]
    )
    (path / "study.toml").write_text(f'{head}systems = ["old", "new"]\n{asked}')
    rows = [{"id": f"note-{i}", "source": f"Note {i}. {TEXT}"} for i in range(units)]
    texts = [
        {
            "instance": row["id"],
            "system": name,
            "sample_index": 0,
            "text": f"{name}: {row['id']} {TEXT}",
        }
        for row in rows
        for name in ("old", "new")
    ]
    for name, lines in (("instances", rows), ("generations", texts)):
        (path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    study = import_study(path=path).study
    plan_hits(study=study)
    return study


def make_judge(study: Any, name: str, server: str, criteria: int = 1) -> Any:
    """Return a judge of the first criteria, which asks about several in one question."""
    from machine_raters.services.machine_raters import create_machine_rater  # noqa: PLC0415
    from tiebreak.asking.prompts import INSTRUCTIONS  # noqa: PLC0415

    return create_machine_rater(
        kind="judge",
        study=study,
        name=name,
        criteria=list(study.criteria.order_by("position")[:criteria]),
        asks_together=criteria > 1,
        server=server,
        language_model="tiny",
        instructions=INSTRUCTIONS,
        max_tokens=TOKENS * criteria,
    )


def judged(judge: Any) -> float:
    """Let a judge rate what it has not rated, in this process, and return the seconds."""
    from jobs.services import create_job  # noqa: PLC0415
    from jobs.worker import run_job  # noqa: PLC0415
    from machine_raters.judging.job import JudgingJob  # noqa: PLC0415

    options = {"rater": judge.public_id, "name": judge.name}
    job = create_job(kind=JudgingJob.name, owner=judge.study_id, options=options)
    start = time.perf_counter()
    while run_job(job_id=job.pk):
        pass
    job.refresh_from_db()
    if job.status != "done" or job.failed:
        raise RuntimeError(f"{job.status}, {job.failed} failed: {job.problem}")
    return time.perf_counter() - start


def prompts_of(judge: Any) -> list[str]:
    from machine_raters.judging.passes import comparisons_of, items_of, passes  # noqa: PLC0415
    from studies.models import texts_of  # noqa: PLC0415
    from tiebreak.asking.prompts import prompt_of  # noqa: PLC0415

    question = judge.questions.get()
    units = items_of(judge.study).select_related("instance").prefetch_related(texts_of())
    return [
        "\n\n".join(turn.content for turn in prompt_of(question, unit, one.order))
        for unit, one in passes(judge, units, comparisons_of(judge))
    ]


def vllm_benchmark(host: str, folder: Path, prompts: list[str]) -> float:
    """Return how many answers a second vLLM's client gets for the same prompts."""
    file, result = folder / "prompts.jsonl", folder / "result.json"
    file.write_text("\n".join(json.dumps({"prompt": prompt}) for prompt in prompts))
    command = [PYTHON, "-c", PEER, "--backend", "openai-chat", "--base-url", f"http://{host}"]
    command += ["--endpoint", "/v1/chat/completions", "--model", "tiny", "--tokenizer", str(folder)]
    command += ["--dataset-name", "custom", "--dataset-path", str(file), "--disable-shuffle"]
    command += ["--skip-chat-template", "--custom-output-len", str(TOKENS), "--temperature", "0"]
    command += ["--num-prompts", str(len(prompts)), "--max-concurrency", str(CONCURRENCY)]
    command += ["--save-result", "--result-filename", str(result)]
    subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True)
    return float(json.loads(result.read_text())["request_throughput"])


def counter(host: str, name: str) -> float:
    text = httpx.get(f"http://{host}/metrics", trust_env=False).text
    return sum(
        float(n) for n in re.findall(rf"^vllm:{name}(?:_total)?{{.*}} ([0-9.e+]+)$", text, re.M)
    )


def throughput(host: str, folder: Path) -> list[Row]:
    ratios, rates = [], []
    for number in range(ROUNDS):
        judge = make_judge(make_study(folder, UNITS), f"judge-{number}", "lab")
        prompts = prompts_of(judge)
        # The other client goes first in every second round.
        theirs = vllm_benchmark(host, folder, prompts) if number % 2 else 0.0
        ours = len(prompts) / judged(judge)
        theirs = theirs or vllm_benchmark(host, folder, prompts)
        ratios.append(ours / theirs)
        rates.append(ours)
        print(f"{ours:,.0f} against {theirs:,.0f} answers per second: {ours / theirs:.2f}")
    ratio, rate = median(ratios), median(rates)
    work = f"{UNITS} items in both orders through vLLM, {rate:,.0f} answers per second"
    peer = "vLLM's own benchmark client, alternating"
    seconds = UNITS * ORDERS / rate
    row = Row(work, seconds, 0, peer, ratio, "ratio at least 0.9", ratio >= 0.9)
    return [row, once_more(host, judge)]


def together(folder: Path, server: str) -> list[Row]:
    """Ask about five criteria in one answer, and about one of them alone, on the same items.

    Tokens, which the server counted, are what is paid for. The seconds are told without a limit: the answer
    to five may be five times as long, and writing it is most of what this small model does.
    """
    study = make_study(folder, UNITS // 10, len(QUALITIES))
    seconds, tokens = {}, {}
    for number in (1, len(QUALITIES)):
        judge = make_judge(study, f"asked about {number}", server, number)
        seconds[number] = judged(judge)
        [counted] = judge.verdicts.values_list("judge").annotate(
            prompts=Sum("prompt_tokens"), answers=Sum("tokens")
        )
        tokens[number] = sum(counted[1:])
    five, peer = len(QUALITIES), f"one criterion on the same {UNITS // 10} items"
    ratio, longer = (of[five] / of[1] for of in (tokens, seconds))
    work = (
        f"{five} criteria in one answer, {tokens[five]:,} tokens in {longer:.1f} times the seconds"
    )
    must = "at most 1.5 times the tokens"
    return [Row(work, seconds[five], 0, peer, ratio, must, ratio <= 1.5)]


def once_more(host: str, judge: Any) -> Row:
    """Start a judge that has rated everything, and count the requests that the server gets."""
    before = counter(host, "request_success")
    seconds = judged(judge)
    asked = counter(host, "request_success") - before
    work = f"a judge that has rated everything, started again: {asked:.0f} requests"
    return Row(work, seconds, 0, "", None, "no request", asked == 0)


def shared_prefix(host: str) -> Row:
    hits, queries = counter(host, "prefix_cache_hits"), counter(host, "prefix_cache_queries")
    share = hits / queries if queries else 0.0
    work = f"{share:.0%} of the prompts' tokens came from the server's cache of prefixes"
    return Row(work, 0, 0, "", None, "more than none", hits > 0)


def by_size(folder: Path) -> list[Row]:
    """Judge a small and a large study with dummy texts, which take the server no time.

    Costs are processor time, which other work on the machine does not change.
    """
    from machine_raters.models import Verdict  # noqa: PLC0415

    rows, costs, growths = [], [], []
    for units in (SMALL, LARGE):
        judge = make_judge(make_study(folder, units), "dummy", "fake")
        before = _peak()  # making a study of this size takes memory as well
        start = time.process_time()
        seconds = judged(judge)
        processor = time.process_time() - start
        costs.append(processor / units)
        growths.append(_peak() - before)
        again = judged(judge)
        stored = Verdict.objects.filter(judge=judge).count()
        rows.append(
            Row(
                f"{units:,} items in both orders with a dummy model, and once more",
                seconds,
                _peak(),
                f"the second time, which took {again:.2f} s",
                seconds / again,
                "each answer once",
                stored == units * ORDERS,
                processor,
            )
        )
    ratio, growth = costs[1] / costs[0], growths[1] - growths[0]
    work = f"an item of {LARGE:,} costs as much as one of {SMALL:,}"
    must = f"at most 1.1 times, and 40 MB more memory ({growth:.0f})"
    reached = ratio <= 1.1 and growth <= 40
    return [*rows, Row(work, costs[1], _peak(), f"one of {SMALL:,}", ratio, must, reached)]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def set_up(folder: Path, host: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["TIEBREAK_VAR_DIR"] = str(folder)
    os.environ["TIEBREAK_MODEL_SERVERS"] = f"lab=http://{host}/v1"
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)


def main() -> int:
    if not is_possible():
        return 2
    with (
        tempfile.TemporaryDirectory(prefix="tiebreak-bench-") as name,
        served(max_tokens=CONTEXT) as (host, model),
    ):
        set_up(Path(name), host)
        rows = by_size(Path(name))
        rows += [*throughput(host, model), shared_prefix(host), *together(Path(name), "lab")]
    return publish("judges", rows)


if __name__ == "__main__":
    sys.exit(main())
