"""The kind of job that sends webhooks."""

from api.services.webhook_sending import WebhookJob
from jobs.kinds import register_kind

register_kind(WebhookJob)
