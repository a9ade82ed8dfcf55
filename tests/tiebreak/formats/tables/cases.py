"""Plain tables as people have them, with unusual names of columns, and what each of them is."""

import csv
import io
import json
import random
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
WORDS = [
    "the",
    "council",
    "voted",
    "on",
    "tuesday",
    "to",
    "close",
    "ferry",
    "service",
    "because",
    "money",
    "was",
    "short",
    "and",
    "people",
    "in",
    "valley",
    "were",
    "told",
    "about",
    "school",
    "roads",
    "bridges",
    "river",
    "winter",
    "summer",
    "market",
    "farmers",
    "prices",
]
N = 12
RNG = random.Random(1)


@dataclass(frozen=True)
class Case:
    """A table and the layout, columns and counts that its guess must have."""

    content: bytes
    layout: str
    columns: dict[str, str]
    instances: int
    generations: int


CASES: dict[str, Case] = {}


def words(n: int) -> str:
    return " ".join(RNG.choice(WORDS) for _ in range(n)).capitalize() + "."


def delimited(rows: list[Row], separator: str = ",") -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def lines(rows: list[Row]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def case(name: str, rows: list[Row], layout: str, columns: Row, counts: tuple[int, int]) -> None:
    ending = name.rpartition(".")[2]
    separator = {"tsv": "\t", "txt": ";"}.get(ending, ",")
    content = {"json": lambda: json.dumps(rows).encode(), "jsonl": lambda: lines(rows)}.get(
        ending, lambda: delimited(rows, separator)
    )()
    CASES[name] = Case(content, layout, columns, *counts)


QUESTIONS = [f"{i} hi " + words(5) for i in range(N)]
case(
    "question.csv",
    [
        {"question": words(8)[:-1] + "?", "answer_gpt4": words(30), "answer_llama": words(28)}
        for i in range(N)
    ],
    "wide",
    {"source": "question", "text:answer_gpt4": "answer_gpt4", "text:answer_llama": "answer_llama"},
    (N, 2 * N),
)
case(
    "long.csv",
    [
        {"prompt": q, "model": m, "output": words(30)}
        for q in [words(10) for i in range(N)]
        for m in ("gpt-4", "llama-3")
    ],
    "long",
    {"source": "prompt", "system": "model", "text": "output"},
    (N, 2 * N),
)
case(
    "summaries.csv",
    [
        {
            "id": f"cnn-{i}",
            "article": words(90),
            "summary_A": words(15),
            "summary_B": words(14),
            "human_summary": words(12),
            "preferred": RNG.choice(["A", "B", "tie"]),
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "id",
        "source": "article",
        "reference": "human_summary",
        "text:summary_A": "summary_A",
        "text:summary_B": "summary_B",
    },
    (N, 2 * N),
)
case(
    "nested.jsonl",
    [
        {
            "qid": i,
            "prompt": words(12),
            "outputs": {"gpt4": [words(20), words(22)], "mixtral": [words(18), words(25)]},
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "qid",
        "source": "prompt",
        "text:gpt4": "outputs.gpt4",
        "text:mixtral": "outputs.mixtral",
    },
    (N, 4 * N),
)
case(
    "battles.jsonl",
    [
        {
            "question_id": f"q{i}",
            "model_a": RNG.choice("abc") + "-model",
            "model_b": RNG.choice("de") + "-model",
            "winner": RNG.choice(["model_a", "tie"]),
            "judge": "arena_user_1",
            "conversation_a": [
                {"role": "user", "content": QUESTIONS[i]},
                {"role": "assistant", "content": words(20)},
            ],
            "conversation_b": [
                {"role": "user", "content": QUESTIONS[i]},
                {"role": "assistant", "content": words(20)},
            ],
            "turn": 1,
            "language": "English",
            "tstamp": 1.5,
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "question_id",
        "system_a": "model_a",
        "text_a": "conversation_a",
        "system_b": "model_b",
        "text_b": "conversation_b",
    },
    (N, 2 * N),
)
case(
    "arena.csv",
    [
        {
            "id": i,
            "model_a": "gpt-4",
            "model_b": RNG.choice(["claude-2", "palm"]),
            "prompt": words(9),
            "response_a": words(30),
            "response_b": words(40),
            "winner_model_a": 1,
            "winner_model_b": 0,
            "winner_tie": 0,
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "id",
        "source": "prompt",
        "system_a": "model_a",
        "text_a": "response_a",
        "system_b": "model_b",
        "text_b": "response_b",
    },
    (N, 2 * N),
)
case(
    "mockup.csv",
    [
        {
            "doc_id": f"cnn-04{i}",
            "article": words(70),
            "bart_summary": words(8),
            "vicuna_summary": words(9),
            "topic": RNG.choice(["local news", "education"]),
            "tokens": RNG.randint(100, 900),
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "doc_id",
        "source": "article",
        "category": "topic",
        "text:bart_summary": "bart_summary",
        "text:vicuna_summary": "vicuna_summary",
    },
    (N, 2 * N),
)
case(
    "alpaca_outputs.json",
    [
        {
            "dataset": "helpful_base",
            "instruction": words(9),
            "output": words(40),
            "generator": "gpt4_turbo",
        }
        for i in range(N)
    ],
    "long",
    {"source": "instruction", "system": "generator", "text": "output"},
    (N, N),
)
case(
    "alpaca_annotations.json",
    [
        {
            "instruction": words(9),
            "output_1": words(20),
            "generator_1": "davinci",
            "output_2": words(20),
            "generator_2": "tulu",
            "annotator": "alpaca_eval_gpt4",
            "preference": 1.9,
        }
        for i in range(N)
    ],
    "wide",
    {
        "source": "instruction",
        "system_a": "generator_1",
        "text_a": "output_1",
        "system_b": "generator_2",
        "text_b": "output_2",
    },
    (N, 2 * N),
)
case(
    "german.txt",
    [
        {
            "Nr": i,
            "Aufgabe": f"{i} " + words(40),
            "Text Modell X": words(20),
            "Text Modell Y": words(21),
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "Nr",
        "source": "Aufgabe",
        "text:Modell X": "Text Modell X",
        "text:Modell Y": "Text Modell Y",
    },
    (N, 2 * N),
)
rows = [
    {"item": f"it{i}", "who": m, "rendition": words(20), "kind": ["news", "sport"][i % 2]}
    for i in range(N)
    for m in ("alpha", "beta", "gamma")
]
case(
    "long_unusual.csv",
    rows,
    "long",
    {"instance": "item", "system": "who", "text": "rendition", "category": "kind"},
    (N, 3 * N),
)
rows = [
    {
        "example_id": i,
        "sys": m,
        "seed": k,
        "source_text": f"{i} long text of the thing " * 4,
        "generated": words(20),
    }
    for i in range(N)
    for m in ("pegasus", "bart-large")
    for k in range(3)
]
case(
    "samples.csv",
    rows,
    "long",
    {
        "instance": "example_id",
        "system": "sys",
        "text": "generated",
        "source": "source_text",
        "sample": "seed",
    },
    (N, 6 * N),
)
case(
    "ultra.jsonl",
    [
        {
            "source": "evol",
            "instruction": words(12),
            "completions": [
                {"model": m, "response": words(20), "overall_score": 7}
                for m in ("alpaca-7b", "wizardlm-7b")
            ],
        }
        for i in range(N)
    ],
    "wide",
    {
        "source": "instruction",
        "text:alpaca-7b": "completions.alpaca-7b",
        "text:wizardlm-7b": "completions.wizardlm-7b",
    },
    (N, 2 * N),
)
case(
    "chosen.jsonl",
    [{"prompt": words(12), "chosen": words(30), "rejected": words(30)} for i in range(N)],
    "wide",
    {"source": "prompt", "text:chosen": "chosen", "text:rejected": "rejected"},
    (N, 2 * N),
)
case(
    "translation.csv",
    [
        {
            "segment_id": i,
            "src": words(10),
            "ref": words(10),
            "NLLB": words(10),
            "GoogleMT": words(10),
            "score_NLLB": 3,
            "score_GoogleMT": 4,
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "segment_id",
        "source": "src",
        "reference": "ref",
        "text:NLLB": "NLLB",
        "text:GoogleMT": "GoogleMT",
    },
    (N, 2 * N),
)
case(
    "rag.csv",
    [
        {
            "question": words(8) + "?",
            "context": words(100),
            "Answer (baseline)": words(20),
            "Answer (ours)": words(21),
            "ground_truth": words(15),
            "domain": RNG.choice(["law", "med"]),
        }
        for i in range(N)
    ],
    "wide",
    {
        "source": "question",
        "reference": "ground_truth",
        "category": "domain",
        "text:baseline": "Answer (baseline)",
        "text:ours": "Answer (ours)",
        "field:context": "context",
    },
    (N, 2 * N),
)
case(
    "short_answers.csv",
    [
        {
            "id": i,
            "question": words(6) + "?",
            "gpt": RNG.choice(["In Paris", "In Rome", "In Oslo"]),
            "claude": RNG.choice(["In Bonn", "In Rome", "In Oslo"]),
        }
        for i in range(N)
    ],
    "wide",
    {"instance": "id", "source": "question", "text:gpt": "gpt", "text:claude": "claude"},
    (N, 2 * N),
)
CASES["columns.json"] = Case(
    json.dumps(
        {
            "key": [f"k{i}" for i in range(N)],
            "query": [words(9) for _ in range(N)],
            "sys1": [words(20) for _ in range(N)],
            "sys2": [words(20) for _ in range(N)],
        }
    ).encode(),
    "wide",
    {"instance": "key", "source": "query", "text:sys1": "sys1", "text:sys2": "sys2"},
    N,
    2 * N,
)
case(
    "tiny.csv",
    [
        {"prompt": "Say hello to Ann.", "gpt4": "Hello Ann!", "llama": "Hi, Ann."},
        {"prompt": "What is 2+2?", "gpt4": "4, of course.", "llama": "It is four."},
    ],
    "wide",
    {"source": "prompt", "text:gpt4": "gpt4", "text:llama": "llama"},
    (2, 4),
)
case(
    "tiny_long.csv",
    [{"item": i, "model": m, "text": f"Text {i} of {m}."} for i in (1, 2) for m in ("A", "B")],
    "long",
    {"instance": "item", "system": "model", "text": "text"},
    (2, 4),
)
case(
    "stories.csv",
    [
        {
            "story_id": f"s{i}",
            "premise": f"{i} " + "a very long premise of a story " * 3,
            "Author model": m,
            "draft no": k,
            "Draft": words(60),
            "grader": "kim",
            "grade": RNG.randint(1, 5),
        }
        for i in range(N)
        for m in ("qwen2", "olmo")
        for k in (1, 2)
    ],
    "long",
    {"instance": "story_id", "source": "premise", "system": "Author model", "text": "Draft"},
    (N, 4 * N),
)
case(
    "dialogue.csv",
    [
        {
            "conv": f"d{i}",
            "history": words(50),
            "bot_1_reply": words(12),
            "bot_2_reply": words(12),
            "annotator": "w1",
            "choice": RNG.choice(["bot_1", "bot_2"]),
            "comment": words(9),
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "conv",
        "source": "history",
        "text:bot_1_reply": "bot_1_reply",
        "text:bot_2_reply": "bot_2_reply",
    },
    (N, 2 * N),
)
case(
    "headlines.csv",
    [
        {
            "url": f"https://x.org/{i}",
            "published": f"2024-01-{i + 1:02}",
            "lede": words(40),
            "Headline by editor (human)": words(8),
            "Headline by T5": words(8),
            "Headline by BART": words(8),
            "votes_t5": 3,
            "votes_bart": 4,
        }
        for i in range(N)
    ],
    "wide",
    {
        "source": "lede",
        "reference": "Headline by editor (human)",
        "text:Headline by T5": "Headline by T5",
        "text:Headline by BART": "Headline by BART",
    },
    (N, 2 * N),
)
case(
    "prompt_given_to_the_model.csv",
    [
        {
            "Item no": f"L{i}",
            "Prompt given to the model": f"Explain the word order of sentence {i} in two sentences.",
            "ChatGPT says": words(12),
            "Our grammar model": words(13),
            "Notes": "ok",
        }
        for i in range(N)
    ],
    "wide",
    {
        "instance": "Item no",
        "source": "Prompt given to the model",
        "text:ChatGPT says": "ChatGPT says",
        "text:Our grammar model": "Our grammar model",
    },
    (N, 2 * N),
)
for first, second in (("story ours-13B", "story base"), ("story base", "story new")):
    case(
        f"{second}.txt",
        [
            {
                "#": i,
                "writing prompt": words(9),
                first: words(30),
                second: words(24),
                "genre": RNG.choice(["crime", "romance"]),
                "words": 30,
            }
            for i in range(N)
        ],
        "wide",
        {
            "source": "writing prompt",
            f"text:{first.removeprefix('story ')}": first,
            f"text:{second.removeprefix('story ')}": second,
            "instance": "#",
            "category": "genre",
        },
        (N, 2 * N),
    )
