"""Access to language models and encoders. No other package calls a model."""

from tiebreak.field_docs import list_fields
from tiebreak.gateway.choices import chosen
from tiebreak.gateway.factory import ModelSettings, open_models
from tiebreak.gateway.fake import FakeModels
from tiebreak.gateway.http import OpenAIServer
from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Message,
    Models,
    Prompt,
    Sample,
    Sampled,
    SampleRequest,
    ScoreRequest,
    ServedBy,
    TextScore,
)
from tiebreak.gateway.vllm_engine import InProcessVLLM

__all__ = [
    "AnswerLogprob",
    "AnswerLogprobRequest",
    "Failed",
    "FakeModels",
    "GatewayError",
    "InProcessVLLM",
    "LabelLogprobs",
    "LabelLogprobsRequest",
    "Message",
    "ModelSettings",
    "Models",
    "OpenAIServer",
    "Prompt",
    "Sample",
    "SampleRequest",
    "Sampled",
    "ScoreRequest",
    "ServedBy",
    "TextScore",
    "chosen",
    "open_models",
]

list_fields(globals())
