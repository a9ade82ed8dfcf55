"""The kinds of jobs that work on ratings, import data, and let judges and baselines rate or be tested."""

from annotation.baselines.job import BaselineJob
from annotation.export_jobs import ExportJob
from annotation.import_jobs import ImportJob
from annotation.judging.injection_job import JudgeInjectionJob
from annotation.judging.job import JudgeDryRunJob, JudgingJob
from annotation.juries.job import JuryJob
from annotation.synthetic.checking_job import SyntheticCheckJob
from annotation.synthetic.making_job import SyntheticJob
from annotation.verdict_uploads import VerdictsJob
from jobs.kinds import register_kind

register_kind(ExportJob)
register_kind(ImportJob)
register_kind(VerdictsJob)
register_kind(JudgingJob)
register_kind(JudgeDryRunJob)
register_kind(JudgeInjectionJob)
register_kind(BaselineJob)
register_kind(JuryJob)
register_kind(SyntheticJob)
register_kind(SyntheticCheckJob)
