"""The kinds of jobs that let machine raters rate or be tested, and that add ratings from elsewhere."""

from jobs.kinds import register_kind
from machine_raters.baselines.job import BaselineJob
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, JudgingJob
from machine_raters.juries.job import JuryJob
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from machine_raters.synthetic.making_job import SyntheticJob
from machine_raters.uploads.uploading import VerdictsJob

register_kind(VerdictsJob)
register_kind(JudgingJob)
register_kind(JudgeDryRunJob)
register_kind(JudgeInjectionJob)
register_kind(BaselineJob)
register_kind(JuryJob)
register_kind(SyntheticJob)
register_kind(SyntheticCheckJob)
