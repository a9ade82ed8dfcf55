"""Check that texts do not tell annotators which system wrote them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from annotation.services.items import ODD
from recruitment.launch.check import DATA, LaunchCheck, warning
from studies.models import Generation, Instance, Study
from studies.rendering.recognising import SIGNS
from tiebreak.digits import counted
from tiebreak.odd_texts import CUT_BY_DOTS, CUT_OFF, OddTexts, length_gap, telling, told
from tiebreak.reading.words import named_instances

# Enough to see what a system does, and few enough for a page that someone waits for.
MAX_TEXTS = 20_000
MIN_TEXTS = 10
EXAMPLES = 3
AT_DATA = "At Data you can remove these instances. Texts change only in your file, which then becomes a new study."
ALIKE = (
    "If the study is not about that, treat the texts of all systems alike in your file{}, and import it as a"
    " new study."
)
OR_ANEW = ", or have those that were cut off written anew with a higher limit of their length"
# A format gives systems away if at least this share of one's texts have it, and of another's few.
OFTEN, SELDOM = 0.75, 0.25
SHORTEST_NAME = 4

FAMILIES = (
    *(
        "chatgpt",
        "gpt-2",
        "gpt-3",
        "gpt-4",
        "gpt-5",
        "gpt-oss",
        "claude",
        "gemini",
        "gemma",
        "bard",
    ),
    *("llama", "vicuna", "alpaca", "mistral", "mixtral", "qwen", "deepseek", "falcon-", "phi-3"),
    *("command r", "grok", "yi-34b", "olmo", "pythia", "flan-t5", "bloomz", "palm 2", "baichuan"),
    *("internlm", "chatglm", "kimi", "wizardlm", "openchat", "starling-", "zephyr-", "tulu"),
)
VENDORS = (
    *("openai", "anthropic", "deepmind", "meta ai", "mistral ai", "alibaba cloud", "cohere"),
    *("hugging face", "huggingface", "moonshot ai", "xai", "microsoft copilot"),
)
# What every match contains in lower case so that most texts are not searched any further.
_CLUES = (" ai", "language model", "training data", "knowledge cutoff", "trained by")
AS_AN_AI = re.compile(
    r"\b(?:as|i am|i['’]m) an? (?:helpful )?(?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bmy (?:training data|knowledge cutoff)\b|\bi was (?:trained|developed|created) by\b",
    re.IGNORECASE,
)
FORMATS: dict[str, Callable[[str], object]] = {
    **SIGNS,
    "bullet points": re.compile(r"^ *[-*•] ", re.MULTILINE).search,
    "numbered lists": re.compile(r"^ *\d+[.)] ", re.MULTILINE).search,
    "boxed answers": lambda text: "\\boxed" in text,
    "several lines": lambda text: "\n" in text.strip(),
    "an opening such as “Sure” or “Certainly”": re.compile(
        r"\s*(?:sure|certainly|of course|absolutely|great question)\b", re.IGNORECASE
    ).match,
    "emoji": re.compile("[\U0001f300-\U0001faff\u2705\u2728]").search,
}


@dataclass
class _TextsOfSystem:
    """What was counted in one system's texts."""

    name: str
    lengths: list[int] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)

    def add(self, text: str) -> None:
        self.lengths.append(len(text))
        self.formats.update(name for name, has in FORMATS.items() if has(text))

    def share(self, format_name: str) -> float:
        return self.formats[format_name] / len(self.lengths)

    def told(self, format_name: str) -> str:
        return f"{self.name}: {self.formats[format_name]} of {len(self.lengths)}"


@dataclass
class _Findings:
    systems: dict[int, _TextsOfSystem]
    as_an_ai: list[str] = field(default_factory=list)
    # The name that was found and the instance, by the instance's key.
    named: list[tuple[str, int, str]] = field(default_factory=list)
    odd: OddTexts = field(default_factory=OddTexts)


def blinding(study: Study) -> Iterator[LaunchCheck]:
    """Yield what gives a system away. Texts are read once, one after the other."""
    findings = _read(study)
    yield from _names(findings)
    yield from _self_references(findings)
    systems = [texts for texts in findings.systems.values() if len(texts.lengths) >= MIN_TEXTS]
    if len(systems) > 1:
        yield from _formats(systems)
    if gap := length_gap(findings.odd.lengths):
        yield warning("length_gap", gap, DATA, advice="Report results by length, too.")
    yield from _odd(findings.odd)
    if tells := findings.odd.telltales():
        anew = OR_ANEW if {CUT_BY_DOTS, CUT_OFF} & {tell.trait for tell in tells} else ""
        yield warning("telltale_texts", telling(tells), DATA, advice=ALIKE.format(anew))


def _read(study: Study) -> _Findings:
    systems = study.ordered_systems()
    findings = _Findings({system.pk: _TextsOfSystem(system.name) for system in systems})
    own_names = {name for s in systems for name in (s.name, s.language_model)}
    names = {*FAMILIES, *VENDORS, *(n.lower() for n in own_names if len(n) >= SHORTEST_NAME)}
    rows = Generation.objects.filter(system__in=systems, is_dummy=False).order_by("pk")
    values = rows.values_list("system", "instance", "instance__key", "text")
    for system, instance, key, text in islice(values.iterator(chunk_size=500), MAX_TEXTS):
        findings.systems[system].add(text)
        findings.odd.add(key, findings.systems[system].name, text)
        lowered = text.lower()
        findings.named += [
            (name, instance, key)
            for name in names
            # The first test is fast, and the second finds whole words.
            if name in lowered and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lowered)
        ]
        if any(clue in lowered for clue in _CLUES) and AS_AN_AI.search(text):
            findings.as_an_ai.append(key)
    return findings


def _names(findings: _Findings) -> Iterator[LaunchCheck]:
    """Yield names of systems, models and vendors, unless the source text has them as well."""
    instances = Instance.objects.filter(pk__in={instance for _, instance, _ in findings.named})
    sources = {
        pk: f"{source} {messages}".lower()
        for pk, source, messages in instances.values_list("pk", "source", "messages")
    }
    named: dict[str, list[str]] = defaultdict(list)
    for name, instance, key in findings.named:
        if name not in sources[instance]:
            named[name].append(key)
    if not named:
        return
    n = sum(map(len, named.values()))
    most = sorted(named, key=lambda name: (-len(named[name]), name))[:EXAMPLES]
    listed = "; ".join(
        f"“{name}” {len(named[name])} times ({named_instances(named[name])})" for name in most
    )
    yield warning(
        "texts_name_systems",
        f"Texts contain the name of a system, model or vendor that is not in the source text"
        f" {counted(n, 'time')}, so annotators may learn which system wrote them: {listed}.",
        DATA,
        advice=AT_DATA,
    )


def _self_references(findings: _Findings) -> Iterator[LaunchCheck]:
    if keys := findings.as_an_ai:
        yield warning(
            "texts_say_ai",
            f"{counted(len(keys), 'text says', 'texts say')} “as an AI” or the like"
            f" ({named_instances(keys)}), so annotators may recognise the system.",
            DATA,
            advice=AT_DATA,
        )


def _formats(systems: list[_TextsOfSystem]) -> Iterator[LaunchCheck]:
    telling = []
    for name in FORMATS:
        by_share = sorted(systems, key=lambda texts: texts.share(name))
        least, most = by_share[0], by_share[-1]
        if most.share(name) >= OFTEN and least.share(name) <= SELDOM:
            telling.append(f"{name} ({most.told(name)} texts, {least.told(name)})")
    if telling:
        yield warning(
            "telltale_format",
            f"Systems can be told apart by the format of their texts: {'; '.join(telling)}.",
            DATA,
            advice="To change that, bring the texts into one format in your file, and import it as a new study.",
        )


def _odd(texts: OddTexts) -> Iterator[LaunchCheck]:
    """Yield a warning of texts that are hardly what a system wrote."""
    if found := texts.found():
        what = told(found)
        yield warning(
            "odd_texts",
            f"Some texts are hardly what a system wrote, and annotators would read them: {what}.",
            DATA,
            advice="Look at them at Data, and remove their instances if so.",
            items=ODD.address,
        )
