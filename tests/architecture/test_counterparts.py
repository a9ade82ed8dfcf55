"""What a page can do, programs can do, too: through the REST interface or by a command.

Every page that takes a form or sends a file is listed with the endpoint or command that does the
same, and with the function that both call. A page that is added without one makes a test fail.
"""

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.management import get_commands
from django.test import Client
from django.urls import get_resolver

from annotation.baselines.services import (
    add_baseline,
    delete_baseline,
    exclude_baseline,
    reinstate_baseline,
    start_baseline,
)
from annotation.export_jobs import finished_export, start_export
from annotation.exporting import StudyExport
from annotation.importing import import_study
from annotation.judging.example_sets import add_example_set, delete_example_set
from annotation.judging.services import (
    create_judge,
    create_judges,
    delete_judge,
    start_judging,
    try_injections,
    try_judge,
)
from annotation.juries.services import add_jury, start_jury
from annotation.services.dummies import remove_dummy_generations
from annotation.services.items import remove_item
from annotation.services.late_answers import accept_late_answers, decline_late_answers
from annotation.services.planning import draw_and_plan, plan_hits, take_all_and_plan
from annotation.services.reference_units import (
    degrade_copies,
    expect_labels,
    import_reference_units,
    remove_reference_unit,
)
from annotation.synthetic.services import (
    add_synthetic_set,
    check_judge,
    continue_synthetic_set,
    delete_synthetic_set,
    exclude_synthetic_set,
    reinstate_synthetic_set,
)
from annotation.verdict_uploads import upload_verdicts
from annotation.views import judges
from api.services.tokens import create_token, revoke_token
from api.services.webhooks import create_webhook, delete_webhook, send_again
from jobs.services import pause_job, resume_job, stop_job
from metrics import generate_select
from metrics.demo import start_demo
from metrics.expert_weights import use_expert_weights
from metrics.licensing.follow_ups import make_follow_up
from metrics.licensing.services import grant_licence, revoke_licence
from metrics.report_files import start_report_files
from metrics.scores_study import use_scores
from metrics.selectors import stored_report
from metrics.views import figure_response
from recruitment import study_actions
from recruitment.services.channels import (
    close_channel,
    remove_channel,
    renew_signing_key,
    reopen_channel,
    set_up_channel,
)
from recruitment.services.cloning import clone_study
from recruitment.services.dry_runs import end_dry_run, remove_dry_run, start_dry_run
from recruitment.services.eligibility import choose_filters
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from recruitment.services.participants import (
    exclude_participant,
    pay_awaiting,
    pay_bonus,
    pay_participant,
    reinstate_participant,
    reject_submission,
    release_participant,
    request_return,
)
from recruitment.services.payments import settle, settle_payment
from recruitment.services.platform_actions import act_on_channel
from recruitment.services.settings import save_settings
from recruitment.views import channels, participant_actions
from studies.dataset_jobs import start_dataset_job
from studies.expert_surveys import make_expert_survey
from studies.instance_selection.sampling import start_sampling
from studies.members import has_owner
from studies.model_copies import start_model_copies
from studies.perturbed_copies import add_perturbed_copies
from studies.protocols import create_from_protocol, fill_in
from studies.services import (
    create_study,
    delete_dataset,
    delete_draft,
    save_design,
    use_dataset_systems,
)
from studies.tables import import_table
from tests.architecture.test_roles import member
from tests.architecture.test_urls import address, patterns
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db
PACKAGES = ("api", "metrics", "recruitment", "annotation", "studies", "jobs")


@dataclass(frozen=True)
class Counterpart:
    """An endpoint, as its method and the name of its address, or a command; and the function.

    Without a function, the page is a form of Django's admin that saves a row itself.
    """

    name: str
    function: Callable[..., Any] | None


def counterpart(name: str, *functions: Callable[..., Any]) -> tuple[Counterpart, ...]:
    return tuple(Counterpart(name, function) for function in functions or (None,))


COUNTERPARTS: dict[str, tuple[Counterpart, ...]] = {
    # Creating studies.
    "annotation:new-study": counterpart("post studies", import_study),
    "annotation:import-columns": counterpart("post tables", import_table),
    "annotation:repeat-import": counterpart("post tables", import_table)
    + counterpart("post studies", import_study),
    "annotation:column-problems": counterpart("post tables", import_table),
    "annotation:import-problems": counterpart("post tables", import_table),
    "studies:from-template": counterpart("post templates", create_from_protocol),
    "metrics:try-demo": counterpart("post demo", start_demo),
    "admin:studies_study_add": counterpart("post draft", create_study),
    "admin:studies_study_clone": counterpart("post clone", clone_study),
    # The design.
    "studies:use-template": counterpart("post use-template", fill_in),
    "studies:data": counterpart("patch study", save_design, use_dataset_systems),
    "studies:task": counterpart("patch study", save_design),
    "recruitment:size": counterpart("patch study", save_settings),
    "metrics:apply-plan": counterpart("patch study", save_settings),
    "recruitment:quality": counterpart("patch study", save_settings)
    + counterpart("post reference-units", degrade_copies)
    + counterpart("post reference-units-file", import_reference_units)
    + counterpart("patch reference-units", expect_labels)
    + counterpart("delete reference-units", remove_reference_unit),
    "admin:studies_study_change": counterpart("patch study", save_settings, use_dataset_systems),
    "admin:studies_study_delete": counterpart("delete study", delete_draft),
    "admin:studies_study_reference_units": counterpart("post reference-units", degrade_copies)
    + counterpart("post reference-units-file", import_reference_units),
    "admin:studies_dataset_change": counterpart("patch dataset") + counterpart("patch systems"),
    "admin:studies_dataset_delete": counterpart("delete dataset", delete_dataset),
    "annotation:remove-item": counterpart("delete items", remove_item),
    "studies:members": counterpart("put members", has_owner)
    + counterpart("delete members", has_owner),
    # Generating and selecting.
    "metrics:selection-action sample": counterpart("post start-sampling", start_sampling),
    "metrics:selection-action score": counterpart("post start-scoring", start_dataset_job)
    + counterpart("manage.py score_separability"),
    "metrics:selection-action draw": counterpart("post selection", draw_and_plan),
    "metrics:selection-action take-all": counterpart("delete selection", take_all_and_plan),
    "metrics:selection-action pause": counterpart("post pause-job", pause_job),
    "metrics:selection-action resume": counterpart("post resume-job", resume_job),
    "metrics:selection-action stop": counterpart("post stop-job", stop_job),
    "metrics:selection-action remove-dummies": counterpart(
        "delete dummy-texts", remove_dummy_generations
    ),
    # Judges.
    "annotation:judges": counterpart("post judges", create_judge)
    + counterpart("post judges-of-each-criterion", create_judges),
    "annotation:upload-verdicts": counterpart("post machine-ratings", upload_verdicts),
    "annotation:judge-action try": counterpart("post try-judge", try_judge),
    "annotation:judge-action injections": counterpart("post try-injections", try_injections),
    "annotation:judge-action start": counterpart("post start-judge", start_judging),
    "annotation:judge-action delete": counterpart("delete judge", delete_judge),
    "annotation:synthetic": counterpart("post synthetic-sets", add_synthetic_set),
    "annotation:start-synthetic": counterpart("post start-synthetic-set", continue_synthetic_set),
    "annotation:check-synthetic": counterpart("post check-judge", check_judge),
    "annotation:delete-synthetic": counterpart("delete synthetic-set", delete_synthetic_set),
    "annotation:exclude-synthetic": counterpart(
        "post exclude-synthetic-set", exclude_synthetic_set
    ),
    "annotation:reinstate-synthetic": counterpart(
        "post reinstate-synthetic-set", reinstate_synthetic_set
    ),
    "annotation:example-sets": counterpart("post example-sets", add_example_set),
    "annotation:delete-example-set": counterpart("delete example-set", delete_example_set),
    "annotation:juries": counterpart("post juries", add_jury),
    "annotation:start-jury": counterpart("post start-jury", start_jury),
    "annotation:add-baseline": counterpart("post baselines", add_baseline),
    "annotation:start-baseline": counterpart("post start-baseline", start_baseline),
    "studies:model-copies": counterpart("post model-copies", start_model_copies),
    "annotation:delete-baseline": counterpart("delete baseline", delete_baseline),
    "annotation:exclude-baseline": counterpart("post exclude-baseline", exclude_baseline),
    "annotation:reinstate-baseline": counterpart("post reinstate-baseline", reinstate_baseline),
    "studies:perturbed-copies": counterpart("post perturbed-copies", add_perturbed_copies)
    + counterpart("manage.py add_perturbed_copies"),
    "metrics:expert-weights": counterpart("put expert-weights", use_expert_weights),
    "metrics:scores": counterpart("put scores-study", use_scores),
    "metrics:expert-survey": counterpart("post expert-survey", make_expert_survey),
    "metrics:licences": counterpart("post licences", grant_licence),
    "metrics:follow-up": counterpart("post follow-up", make_follow_up),
    "metrics:revoke-licence": counterpart("post revoke-licence", revoke_licence),
    # Running.
    **{
        f"{page} {action}": counterparts
        for page in ("recruitment:launch-action", "admin:studies_study_do")
        for action, counterparts in {
            "plan": counterpart("post plan", plan_hits),
            "open": counterpart("post open", open_study),
            "pause": counterpart("post pause", pause_study),
            "close": counterpart("post close", close_study),
            "reopen": counterpart("post reopen", reopen_study),
            "accept-late": counterpart("post late-answers", accept_late_answers),
            "decline-late": counterpart("post late-answers", decline_late_answers),
        }.items()
    },
    "admin:studies_study_changelist": counterpart("post plan", plan_hits)
    + counterpart("post open", open_study)
    + counterpart("post pause", pause_study)
    + counterpart("post close", close_study)
    + counterpart("post reopen", reopen_study),
    "recruitment:dry-runs": counterpart("post start-dry-run", start_dry_run)
    + counterpart("manage.py simulate_raters"),
    "recruitment:stop-dry-run": counterpart("post stop-job", end_dry_run),
    "recruitment:remove-dry-run": counterpart("delete job", remove_dry_run),
    "metrics:pause-job": counterpart("post pause-job", pause_job),
    "metrics:resume-job": counterpart("post resume-job", resume_job),
    "metrics:stop-job": counterpart("post stop-job", stop_job),
    # Recruiting.
    "recruitment:save-channel": counterpart("put channel", set_up_channel),
    "recruitment:change-channel-state close": counterpart("post close-channel", close_channel),
    "recruitment:change-channel-state reopen": counterpart("post reopen-channel", reopen_channel),
    "recruitment:change-channel-state remove": counterpart("delete channel", remove_channel),
    "recruitment:change-channel-state new-key": counterpart("post renew-key", renew_signing_key),
    "recruitment:platform-action": counterpart("post act-on-channel", act_on_channel),
    "recruitment:eligibility": counterpart("put eligibility", choose_filters),
    # Participants and payments.
    "recruitment:pay-many": counterpart("post pay-many", pay_awaiting),
    "recruitment:settle-payment": counterpart("post payment-outcome", settle_payment),
    "recruitment:ledger-action settle": counterpart("post settle", settle),
    "recruitment:ledger-action release": counterpart("post release", release_participant),
    "recruitment:ledger-action exclude": counterpart("post exclude", exclude_participant),
    "recruitment:ledger-action reinstate": counterpart("post reinstate", reinstate_participant),
    "recruitment:ledger-action approve": counterpart("post pay-participant", pay_participant),
    "recruitment:ledger-action ask-to-return": counterpart("post request-return", request_return),
    "recruitment:ledger-action bonus": counterpart("post pay-bonus", pay_bonus),
    "recruitment:ledger-action reject": counterpart("post reject", reject_submission),
    # Results.
    "metrics:export": counterpart("post start-export", start_export)
    + counterpart("manage.py export_study"),
    "metrics:report-files": counterpart("post start-report-files", start_report_files)
    + counterpart("manage.py write_report"),
    "metrics:download-export": counterpart("get download-export", finished_export),
    "metrics:report-pdf": counterpart("get download-export", finished_export),
    "metrics:ratings-csv": counterpart("manage.py export_study", StudyExport),
    "metrics:report": counterpart("get report", stored_report) + counterpart("manage.py analyze"),
    "metrics:figure": counterpart("get figure", figure_response),
    # Programs.
    "api:tokens": counterpart("manage.py create_token", create_token),
    "api:revoke-token": counterpart("manage.py revoke_token", revoke_token),
    "api:webhooks": counterpart("post study-webhooks", create_webhook),
    "api:delete-webhook": counterpart("delete webhook", delete_webhook),
    "api:resend": counterpart("post send-again", send_again),
}
# What programs need no counterpart to, and why.
WITHOUT = {
    "home": "leads to the list of studies",
    "studies": "leads to the list of studies",
    "favicon": "is an icon",
    "admin:studies_study_import": "leads to annotation:new-study",
    "annotation:sample-file": "has examples for people",
    "annotation:stop-import": "ends a job of the page; an import of the interface ends with its request",
    "recruitment:typed-preview": "shows what has been typed and changes nothing",
}
# Django's own pages. Accounts have commands such as createsuperuser and changepassword.
ACCOUNTS = (
    *("admin:index", "admin:login", "admin:logout", "admin:password", "admin:autocomplete"),
    *("admin:jsi18n", "admin:view_on_site", "admin:auth_", "admin:None", "admin:app_list"),
    *("admin:studies_dataset_changelist", "admin:studies_dataset_add"),
    *("admin:studies_dataset_history", "admin:studies_study_history"),
)
# Pages with several actions, which have a counterpart each.
ACTIONS: dict[str, Any] = {
    "annotation:judge-action": judges.ACTIONS,
    "metrics:selection-action": {**generate_select.STEPS, **generate_select.ACTIONS},
    "recruitment:launch-action": study_actions.ACTIONS,
    "admin:studies_study_do": study_actions.ACTIONS,
    "recruitment:change-channel-state": channels.STATE_CHANGES,
    "recruitment:ledger-action": participant_actions.ACTIONS,
}
# Where the function of a page is called from, if the page is a form of the admin.
MODULES = {
    "studies:data": "studies.step_pages",
    "studies:task": "studies.step_pages",
    "studies:members": "studies.step_pages",
    "recruitment:quality": "recruitment.step_pages",
    "recruitment:size": "recruitment.step_pages",
}


def pages() -> dict[str, tuple[str, Any]]:
    """The route and the view of each page by its name; annotators' pages are for people alone."""
    return {
        name: (route, entry.callback)
        for name, route, entry in patterns(get_resolver())
        if not route.startswith(("s/", "rate/", "api/"))
    }


def takes_a_form(client: Client, route: str, study: str) -> bool:
    return client.post(address(route, study)).status_code != 405


def sends_a_file(route: str) -> bool:
    return "." in route.rpartition("/")[2] or "/samples/" in route


def without_counterpart(name: str) -> bool:
    return name in WITHOUT or name.startswith(ACCOUNTS)


def test_every_page_that_does_something_has_a_counterpart():
    study = make_open_study(instances=1)
    client = member(study, "owner")
    needed = {
        f"{name} {action}".strip()
        for name, (route, _) in pages().items()
        if not without_counterpart(name)
        and (takes_a_form(client, route, study.pk) or sends_a_file(route))
        for action in ACTIONS.get(name, [""])
    }
    assert needed == COUNTERPARTS.keys()


def endpoints() -> dict[str, type]:
    return {
        name.removeprefix("api:"): entry.callback.view_class
        for name, route, entry in patterns(get_resolver())
        if route.startswith("api/")
    }


def module_behind(name: str) -> ModuleType:
    """The module of an endpoint or a command. Fails if it does not exist."""
    method, _, rest = name.partition(" ")
    if method == "manage.py":
        return import_module(f"{get_commands()[rest]}.management.commands.{rest}")
    view = endpoints()[rest]
    assert hasattr(view, method), name
    return import_module(view.__module__)


@cache
def modules_used(module: ModuleType, depth: int = 2) -> set[ModuleType]:
    """The module and those of this server that it imports, and those that they import."""
    if not depth:
        return {module}
    names = set()
    for node in ast.parse(Path(module.__file__ or "").read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    imported = [sys.modules[name] for name in names if name in sys.modules]
    return {module}.union(*(modules_used(other, depth - 1) for other in imported))


def uses(module: ModuleType, function: Callable[..., Any]) -> bool:
    return any(value is function for used in modules_used(module) for value in vars(used).values())


@pytest.mark.parametrize(
    ("page", "entrance"),
    [
        pytest.param(page, entrance, id=f"{page} – {entrance.name}")
        for page, counterparts in COUNTERPARTS.items()
        for entrance in counterparts
    ],
)
def test_a_page_and_its_counterpart_call_the_same_function(page, entrance):
    name = page.partition(" ")[0]
    default = pages()[name][1].__module__
    behind = MODULES.get(name, default if default.startswith(PACKAGES) else "recruitment.admin")
    at_the_counterpart = module_behind(entrance.name)
    if entrance.function is not None:
        assert uses(import_module(behind), entrance.function), behind
        assert uses(at_the_counterpart, entrance.function)


def test_the_exceptions_are_pages():
    names = pages()
    assert names.keys() >= WITHOUT.keys()
    assert all(any(name.startswith(start) for name in names) for start in ACCOUNTS)
