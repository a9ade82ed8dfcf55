"""The kinds of jobs that use every part of the server."""

from jobs.kinds import register_kind
from metrics.demo import DemoJob

register_kind(DemoJob)
