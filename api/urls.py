from django.urls import include, path, re_path

import studies.converters  # noqa: F401  registers public_id
from api import pages, webhook_pages
from api.views import (
    data,
    design,
    expert_weights,
    jobs,
    licences,
    machine_raters,
    participants,
    people,
    ratings,
    recruitment,
    schema,
    scores,
    tables,
)
from api.views import studies as studies_views

app_name = "api"

STUDY = "studies/<public_id:study_id>/"
CHANNEL = f"{STUDY}channels/<slug:provider>/"
JOB = f"{STUDY}jobs/<public_id:job_id>/"
RATER = f"{STUDY}machine-raters/<public_id:rater_id>/"
PARTICIPANT = f"{STUDY}participants/<public_id:participation_id>/"
endpoints = [
    path("schema/", schema.Schema.as_view(), name="schema"),
    path("studies/", studies_views.Studies.as_view(), name="studies"),
    path("imports/<public_id:job_id>/", tables.ImportView.as_view(), name="import"),
    path("studies/from-table/", tables.Tables.as_view(), name="tables"),
    path(STUDY, studies_views.StudyView.as_view(), name="study"),
    path("studies/without-file/", design.DraftStudy.as_view(), name="draft"),
    path("demo/", design.DemoStudy.as_view(), name="demo"),
    path("datasets/<public_id:dataset_id>/", data.DatasetView.as_view(), name="dataset"),
    path("templates/", design.Templates.as_view(), name="templates"),
    path(f"{STUDY}template/", design.UseTemplate.as_view(), name="use-template"),
    path(f"{STUDY}clone/", design.CloneStudy.as_view(), name="clone"),
    path(f"{STUDY}systems/", design.DescribeSystems.as_view(), name="systems"),
    path(f"{STUDY}items/", data.Items.as_view(), name="items"),
    path(f"{STUDY}dummy-texts/", data.DummyTexts.as_view(), name="dummy-texts"),
    path(f"{STUDY}perturbed-copies/", data.PerturbedCopiesView.as_view(), name="perturbed-copies"),
    path(f"{STUDY}perturbed-copies/by-model/", data.ModelCopiesView.as_view(), name="model-copies"),
    path(f"{STUDY}reference-units/", data.ReferenceUnits.as_view(), name="reference-units"),
    path(
        f"{STUDY}reference-units/file/",
        data.ReferenceUnitsFile.as_view(),
        name="reference-units-file",
    ),
    path(f"{STUDY}members/", people.Members.as_view(), name="members"),
    path(f"{STUDY}log/", people.Log.as_view(), name="log"),
    path(f"{STUDY}webhooks/", people.Webhooks.as_view(), name="study-webhooks"),
    path(f"{STUDY}webhooks/deliveries/", people.Deliveries.as_view(), name="deliveries"),
    path(
        f"{STUDY}webhooks/<public_id:webhook_id>/", people.DeleteWebhook.as_view(), name="webhook"
    ),
    path(
        f"{STUDY}webhooks/deliveries/<public_id:delivery_id>/send-again/",
        people.SendAgain.as_view(),
        name="send-again",
    ),
    path(f"{STUDY}launch-checks/", recruitment.LaunchChecks.as_view(), name="launch-checks"),
    path(f"{STUDY}late-answers/", recruitment.LateAnswers.as_view(), name="late-answers"),
    path(f"{STUDY}channels/", recruitment.Channels.as_view(), name="channels"),
    path(CHANNEL, recruitment.ChannelView.as_view(), name="channel"),
    path(f"{CHANNEL}close/", recruitment.CloseChannel.as_view(), name="close-channel"),
    path(f"{CHANNEL}reopen/", recruitment.ReopenChannel.as_view(), name="reopen-channel"),
    path(f"{CHANNEL}new-key/", recruitment.RenewKey.as_view(), name="renew-key"),
    path(f"{CHANNEL}eligibility/", recruitment.Eligibility.as_view(), name="eligibility"),
    path(
        f"{STUDY}payments/<public_id:payment_id>/outcome/",
        recruitment.RecordPaymentOutcome.as_view(),
        name="payment-outcome",
    ),
    path(f"{CHANNEL}actions/", recruitment.ActOnChannel.as_view(), name="act-on-channel"),
    path(f"{STUDY}plan/", studies_views.PlanStudy.as_view(), name="plan"),
    path(f"{STUDY}selection/", studies_views.SelectInstances.as_view(), name="selection"),
    path(
        f"{STUDY}selection/preview/",
        studies_views.PreviewSelection.as_view(),
        name="preview-selection",
    ),
    path(f"{STUDY}open/", studies_views.OpenStudy.as_view(), name="open"),
    path(f"{STUDY}pause/", studies_views.PauseStudy.as_view(), name="pause"),
    path(f"{STUDY}close/", studies_views.CloseStudy.as_view(), name="close"),
    path(f"{STUDY}reopen/", studies_views.ReopenStudy.as_view(), name="reopen"),
    path(f"{STUDY}progress/", studies_views.StudyProgress.as_view(), name="progress"),
    path(f"{STUDY}report/", studies_views.Report.as_view(), name="report"),
    path(f"{STUDY}figures/", studies_views.FigureFile.as_view(), name="figure"),
    path(f"{STUDY}separability/", ratings.Scores.as_view(), name="separability"),
    path(f"{STUDY}ratings/", ratings.Ratings.as_view(), name="ratings"),
    path(f"{STUDY}machine-ratings/", ratings.MachineRatings.as_view(), name="machine-ratings"),
    path(f"{STUDY}machine-raters/", machine_raters.MachineRaters.as_view(), name="machine-raters"),
    path(RATER, machine_raters.OneMachineRater.as_view(), name="machine-rater"),
    path(f"{RATER}start/", machine_raters.StartMachineRater.as_view(), name="start-machine-rater"),
    path(
        f"{RATER}exclude/",
        machine_raters.ExcludeMachineRater.as_view(),
        name="exclude-machine-rater",
    ),
    path(
        f"{RATER}reinstate/",
        machine_raters.ReinstateMachineRater.as_view(),
        name="reinstate-machine-rater",
    ),
    path(f"{RATER}try/", machine_raters.TryJudge.as_view(), name="try-judge"),
    path(f"{RATER}injections/", machine_raters.TryInjections.as_view(), name="try-injections"),
    path(
        f"{STUDY}expert-weights/", expert_weights.ExpertWeightsView.as_view(), name="expert-weights"
    ),
    path(f"{STUDY}scores-study/", scores.ScoresView.as_view(), name="scores-study"),
    path(f"{STUDY}expert-survey/", expert_weights.ExpertSurveyView.as_view(), name="expert-survey"),
    path(f"{STUDY}licences/", licences.Licences.as_view(), name="licences"),
    path(f"{STUDY}licences/evidence/", licences.LicenceEvidence.as_view(), name="licence-evidence"),
    path(
        f"{STUDY}licences/<public_id:licence_id>/revoke/",
        licences.RevokeLicence.as_view(),
        name="revoke-licence",
    ),
    path(
        f"{STUDY}licences/<public_id:licence_id>/follow-up/",
        licences.FollowUpView.as_view(),
        name="follow-up",
    ),
    path(f"{STUDY}participants/", participants.Participants.as_view(), name="participants"),
    path(f"{STUDY}participants/pay/", participants.PayMany.as_view(), name="pay-many"),
    path(PARTICIPANT, participants.ParticipantView.as_view(), name="participant"),
    path(f"{PARTICIPANT}pay/", participants.PayOne.as_view(), name="pay-participant"),
    path(f"{PARTICIPANT}bonus/", participants.PayBonus.as_view(), name="pay-bonus"),
    path(f"{PARTICIPANT}reject/", participants.Reject.as_view(), name="reject"),
    path(f"{PARTICIPANT}exclude/", participants.Exclude.as_view(), name="exclude"),
    path(f"{PARTICIPANT}reinstate/", participants.Reinstate.as_view(), name="reinstate"),
    path(f"{PARTICIPANT}release/", participants.Release.as_view(), name="release"),
    path(
        f"{PARTICIPANT}request-return/",
        participants.RequestReturn.as_view(),
        name="request-return",
    ),
    path(f"{PARTICIPANT}settle/", participants.Settle.as_view(), name="settle"),
    path(f"{STUDY}jobs/", jobs.Jobs.as_view(), name="jobs"),
    path(f"{STUDY}jobs/sampling/", jobs.StartSampling.as_view(), name="start-sampling"),
    path(f"{STUDY}jobs/scoring/", jobs.StartScoring.as_view(), name="start-scoring"),
    path(f"{STUDY}jobs/export/", jobs.StartExport.as_view(), name="start-export"),
    path(f"{STUDY}jobs/report-files/", jobs.StartReportFiles.as_view(), name="start-report-files"),
    path(f"{STUDY}jobs/dry-run/", jobs.StartDryRun.as_view(), name="start-dry-run"),
    path(JOB, jobs.JobView.as_view(), name="job"),
    path(f"{JOB}pause/", jobs.PauseJob.as_view(), name="pause-job"),
    path(f"{JOB}resume/", jobs.ResumeJob.as_view(), name="resume-job"),
    path(f"{JOB}stop/", jobs.StopJob.as_view(), name="stop-job"),
    path(f"{JOB}export.zip", jobs.DownloadExport.as_view(), name="download-export"),
    # Without an end, so that it matches a line break in a path as well.
    re_path(r"^", schema.NothingHere.as_view(), name="nothing"),
]

urlpatterns = [
    path("account/tokens/", pages.tokens, name="tokens"),
    path("account/tokens/<public_id:token_id>/revoke/", pages.revoke, name="revoke-token"),
    path(f"{STUDY}webhooks/", webhook_pages.webhooks, name="webhooks"),
    path(
        f"{STUDY}webhooks/<public_id:webhook_id>/delete/",
        webhook_pages.delete,
        name="delete-webhook",
    ),
    path(
        f"{STUDY}webhooks/deliveries/<public_id:delivery_id>/send-again/",
        webhook_pages.resend,
        name="resend",
    ),
    path("api/v1/", include(endpoints)),
]
