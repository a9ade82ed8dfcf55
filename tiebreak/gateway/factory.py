"""Creation of the model provider that is named in settings."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tiebreak.gateway.cluster import ClusterModels
from tiebreak.gateway.fake import FakeModels
from tiebreak.gateway.http import OpenAIServer
from tiebreak.gateway.protocol import GatewayError, Models
from tiebreak.gateway.vllm_engine import InProcessVLLM

RAY = "ray"


@dataclass(frozen=True)
class ModelSettings:
    """Settings of a model provider."""

    provider: str
    """Kind of provider."""
    model: str
    """The provider's name of the model."""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    """Address and key of an HTTP server; see `OpenAIServer`. The repr does not show the key."""
    allowed_hosts: Collection[str] = ()
    """Hosts to which requests may be sent; see `OpenAIServer`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `OpenAIServer`, `InProcessVLLM` or `FakeModels`. With ``ray``, which has
    the arguments ``address`` and ``actors`` of `Cluster`, each actor of a Ray cluster opens the provider."""


def on_cluster(spec: ModelSettings, cluster: Mapping[str, Any]) -> ModelSettings:
    """Return the settings of the provider on a Ray cluster, or as they are without one."""
    return replace(spec, options={**spec.options, RAY: dict(cluster)}) if cluster else spec


def open_models(spec: ModelSettings) -> Models:
    """Create the model provider that is named in settings.

    Parameters
    ----------
    spec : ModelSettings
        Settings of the provider.

    Returns
    -------
    Models
        Model provider. An HTTP provider has not sent anything yet; vLLM has loaded its weights.

    Raises
    ------
    GatewayError
        ``bad_settings`` for an unknown provider or option, or any error of the provider's
        constructor.
    MissingPackageError
        If the provider is vLLM, and vLLM is not installed.

    Examples
    --------
    >>> open_models(ModelSettings("fake", "small")).model
    'small'
    """
    if spec.provider not in ("http", "vllm", "fake"):
        raise GatewayError(
            "bad_settings",
            f"“{spec.provider}” is not a model provider. Use http, vllm or fake.",
        )
    try:
        return _open(spec)
    except TypeError as error:
        raise GatewayError(
            "bad_settings", f"The settings do not match the model provider: {error}."
        ) from None


def _open(spec: ModelSettings) -> Models:
    if RAY in spec.options:
        options = dict(spec.options)
        cluster, alone = options.pop(RAY), partial(open_models, replace(spec, options=options))
        return ClusterModels(alone, spec.model, needs_gpu=spec.provider == "vllm", **cluster)
    if spec.provider == "fake":
        return FakeModels(spec.model, **spec.options)
    if spec.provider == "vllm":
        return InProcessVLLM(spec.model, **spec.options)
    return OpenAIServer(
        spec.base_url,
        spec.model,
        api_key=spec.api_key,
        allowed_hosts=spec.allowed_hosts,
        **spec.options,
    )
