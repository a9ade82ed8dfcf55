"""The kinds of jobs that work on a dataset."""

from jobs.kinds import register_kind
from studies.data.model_copies import ModelCopiesJob
from studies.instance_selection.sampling import SamplingJob
from studies.instance_selection.scoring import ScoringJob
from studies.instance_selection.trial import SystemTrialJob
from studies.instance_selection.written_fields import WrittenFieldJob

register_kind(SamplingJob)
register_kind(ScoringJob)
register_kind(ModelCopiesJob)
register_kind(SystemTrialJob)
register_kind(WrittenFieldJob)
