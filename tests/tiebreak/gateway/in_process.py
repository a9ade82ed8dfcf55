"""Sends requests to vLLM in this process, and prints the answers as JSON, for `test_vllm`."""

import json
import sys
from dataclasses import astuple
from math import isnan

from tiebreak.gateway import (
    AnswerLogprobRequest,
    Failed,
    InProcessVLLM,
    LabelLogprobsRequest,
    Message,
    SampleRequest,
)

CHAT = (Message("user", "Answer with A, B or C: which summary is better?"),)
PROMPT = "The river rose on"


def main(folder: str) -> None:
    models = InProcessVLLM(
        folder, max_model_len=256, max_num_seqs=16, dtype="float32", enforce_eager=True
    )
    [labels] = models.label_logprobs([LabelLogprobsRequest("1", CHAT, [" A", "B", "A B C"])])
    [answer] = models.answer_logprobs([AnswerLogprobRequest("1", CHAT, " A, B")])
    [sampled] = models.sample([SampleRequest("1", PROMPT, 3, 5, temperature=1.0, max_tokens=8)])
    [again] = models.sample([SampleRequest("1", PROMPT, 1, 6, temperature=1.0, max_tokens=8)])
    texts = {"a": PROMPT, "long": "A " * 400, "b": PROMPT}
    mixed = [SampleRequest(name, text, 1, 1, max_tokens=8) for name, text in texts.items()]
    results = list(models.sample(mixed))
    choose = SampleRequest("1", CHAT, 1, 5, temperature=0, max_tokens=8, choices=["B"])
    [chosen] = models.sample([choose])
    failed = [one for one in results if isinstance(one, Failed)]
    logprobs = dict(labels.logprobs)
    served_by = models.served_by()
    models.close()
    print(
        json.dumps(
            {
                "nan": isnan(logprobs.pop("A B C")),
                "labels": logprobs,
                "answer": [answer.logprob, answer.tokens],
                "texts": [one.text for one in sampled.samples],
                "seeds": [one.seed for one in sampled.samples],
                "again": again.samples[0].text,
                "too_long": [text for one in failed for text in (one.id, one.error.code)],
                "chosen": [chosen.samples[0].text, chosen.is_constrained],
                "served_by": astuple(served_by),
                "good": len(results) - len(failed),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
