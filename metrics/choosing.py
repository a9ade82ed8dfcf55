"""The page where a researcher sees what is separable and chooses what people will rate."""

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from math import ceil
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from annotation.services.planning import plan_hits
from metrics.charts import scenarios_chart, separability_histogram
from metrics.similarity import ENCODED, SIMILARITIES
from studies.access import study_for
from studies.errors import DomainError
from studies.jobs import pace_of, pause_job, resume_job, start_job, stop_job
from studies.models import Generation, InstanceSelection, Job, SeparabilityScore, Study, System
from studies.robustness import similarity_of_parts, variants
from studies.sampling import FAKE
from studies.selecting import (
    Prospect,
    draw_instances,
    extremes,
    prospects,
    take_all_instances,
)

MOST_POINTS = 2_000
# Words and spaces of a text whose differences are marked.
MOST_MARKED = 1_000


class SamplingForm(forms.Form):
    """What a job that samples generations has to know."""

    server = forms.ChoiceField(help_text="Set up by whoever runs this server.")
    samples = forms.IntegerField(label="generations each (K)", min_value=2, max_value=50, initial=5)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0)
    prompt = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="For systems without a template of their own; {source} is filled in.",
    )

    temperatures = forms.CharField(
        label="other temperatures (τ)",
        required=False,
        help_text="Such as 0.3, 0.7, 1. Then only these are sampled, on some instances, to see"
        " whether δ depends on them.",
    )
    instances = forms.IntegerField(
        label="instances for other temperatures", min_value=3, max_value=200, initial=50
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [*sorted(settings.TIEBREAK_MODEL_SERVERS), FAKE]
        field = cast(forms.ChoiceField, self.fields["server"])
        field.choices = [(name, NO_SERVER if name == FAKE else name) for name in names]

    def clean_prompt(self) -> str:
        prompt = str(self.cleaned_data["prompt"])
        if prompt and "{source}" not in prompt:
            raise forms.ValidationError("Write {source} where an instance's text belongs.")
        return prompt

    def clean_temperatures(self) -> list[float]:
        text = self.cleaned_data["temperatures"]
        try:
            found = sorted({float(word) for word in re.split(r"[,\s]+", text) if word})
        except ValueError:
            found = [0.0]
        if (
            not all(0 < each <= MOST_TEMPERATURE for each in found)
            or len(found) > MOST_TEMPERATURES
        ):
            raise forms.ValidationError("List up to 8 numbers above 0 and up to 2, such as 0.3, 1.")
        return found


NO_SERVER = "none: made-up texts, to try this out"
MOST_TEMPERATURE, MOST_TEMPERATURES = 2, 8


class ScoringForm(forms.Form):
    similarity = forms.ChoiceField(choices=[(name, name) for name in sorted(SIMILARITIES)])


class DesignForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = InstanceSelection
        fields = ("design", "instances", "control_share", "weights", "floor", "seed")


@require_safe
@staff_member_required
def choosing(request: HttpRequest, public_id: str) -> HttpResponse:
    """With a design in the address, what it would bring; nothing is drawn by looking."""
    study = study_for(request.user, public_id)
    return render(request, "metrics/choosing.html", _context(request, study))


@require_POST
@staff_member_required
def choose(request: HttpRequest, public_id: str, verb: str) -> HttpResponse:
    study = study_for(request.user, public_id)
    if verb not in VERBS:
        raise Http404("No such step.")
    try:
        messages.success(request, VERBS[verb](request, study))
    except DomainError as refusal:
        messages.error(request, refusal.message)
    return redirect("metrics:choosing", public_id)


def _context(request: HttpRequest, study: Study) -> dict[str, Any]:
    jobs = list(study.jobs.all()[:6])
    scored = sorted(_scored_similarities(study))
    asked = request.GET.get("similarity", "")
    shown = asked if asked in scored else study.similarity
    is_robustness = "robustness" in request.GET and shown == study.similarity
    design = DesignForm(request.GET if "design" in request.GET else None, instance=_design(study))
    is_asked = design.is_bound and design.is_valid()
    return {
        "study": study,
        "here": "choosing",
        "jobs": [(job, pace_of(job)) for job in jobs],
        "is_moving": any(job.status in {"queued", "running"} for job in jobs),
        "sampling_form": SamplingForm(auto_id="sample_%s", initial=_as_last_time(study)),
        "has_made_up": Generation.objects.filter(
            instance__dataset=study.dataset_id, params__server=FAKE
        ).exists(),
        "scoring_form": ScoringForm(auto_id="score_%s", initial={"similarity": study.similarity}),
        "design_form": design,
        "pairs": [
            _pair(study, pair, shown, with_variants=is_robustness) for pair in study.system_pairs()
        ],
        "shown": shown,
        "scored": [name for name in scored if name != shown],
        "prospects": _prospects(study, design.save(commit=False)) if is_asked else None,
        "is_robustness": is_robustness,
        "similarity_of_parts": similarity_of_parts(study),
        "drawn": study.selected.count(),
        "is_draft": study.status == Study.Status.DRAFT,
    }


def _as_last_time(study: Study) -> dict[str, Any]:
    """So that other temperatures are asked of the same server by the same prompt."""
    last = study.jobs.filter(kind=Job.Kind.SAMPLING).first()
    known = last.options if last is not None else {}
    return {name: known[name] for name in ("server", "samples", "seed", "prompt") if name in known}


def _scored_similarities(study: Study) -> set[str]:
    scores = SeparabilityScore.objects.filter(instance__dataset=study.dataset_id)
    return {study.similarity, *scores.values_list("similarity", flat=True).distinct()}


def _design(study: Study) -> InstanceSelection:
    stored = InstanceSelection.objects.filter(study=study).first()
    count = study.dataset.instances.count() if study.dataset else 0
    return stored or InstanceSelection(study=study, instances=max(1, count // 4))


def _prospects(study: Study, design: InstanceSelection) -> dict[str, Any]:
    names = {system.pk: system.name for pair in study.system_pairs() for system in pair}
    try:
        found = prospects(study, design)
    except (DomainError, ValueError) as refusal:
        return {"problem": getattr(refusal, "message", str(refusal))}
    rows = [(f"{names[a]} – {names[b]}", each) for (a, b), each in found.items()]
    ratings = sum(each.ratings for each in found.values())
    return {"rows": rows, "ratings": ratings, "cost": _cost(study, found)}


def _cost(study: Study, found: dict[Any, Prospect]) -> str:
    """The reward for all HIT answers, without a platform's fee."""
    if study.reward is None or not study.hits_per_annotator:
        return ""
    answers = _hits(study, found) * study.ratings_per_hit
    return f"{study.reward * answers / study.hits_per_annotator:.2f} {study.currency}"


def _hits(study: Study, found: dict[Any, Prospect]) -> int:
    """One for each instance and pair; mixed, the units of all pairs are dealt into full HITs."""
    if study.bundling == Study.Bundling.MIXED:
        return ceil(sum(each.units for each in found.values()) / study.comparisons_per_hit)
    return sum(each.instances for each in found.values())


def _pair(
    study: Study, pair: tuple[System, System], similarity: str, *, with_variants: bool
) -> dict[str, Any]:
    rows = SeparabilityScore.objects.known(pair, similarity)
    values = list(
        rows.order_by("pk").values_list(
            "delta", "cross_alignment", "self_alignment_a", "self_alignment_b"
        )
    )
    points = values[:MOST_POINTS]
    return {
        "variants": variants(study, pair) if with_variants else None,
        "name": f"{pair[0].name} – {pair[1].name}",
        "n": len(values),
        "truncated": sum(rows.values_list("truncated", flat=True)),
        "histogram": separability_histogram([float(v[0]) for v in values if v[0] is not None]),
        "scenarios": scenarios_chart(
            [float(v[1] or 0) for v in points], [max(v[2] or 0.0, v[3] or 0.0) for v in points]
        ),
        "extremes": [
            (title, [_beside(score, pair) for score in scores])
            for title, scores in extremes(pair, similarity).items()
        ]
        if values
        else [],
    }


def _beside(score: SeparabilityScore, pair: tuple[System, System]) -> dict[str, Any]:
    """An instance with the first generation of either system."""
    rows = Generation.objects.filter(instance=score.instance_id, system__in=pair)
    texts: dict[int, str] = {}
    for generation in rows.order_by("sample_index"):
        texts.setdefault(generation.system_id, generation.text)
    first, second = (texts.get(system.pk, "") for system in pair)
    marked = _marked(first, second), _marked(second, first)
    return {"score": score, "texts": list(zip(pair, marked, strict=True))}


def _marked(text: str, other: str) -> SafeString:
    """The text with the words marked that the other one lacks at that place.

    Of a long one only the beginning: comparing takes the square of the length.
    """
    words, others = (re.findall(r"\S+|\s+", each) for each in (text, other))
    words, rest = words[:MOST_MARKED], words[MOST_MARKED:]
    others = others[:MOST_MARKED]
    same = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    parts, at = [], 0
    for start, _, size in same:
        parts.append(("mark", "".join(words[at:start])))
        parts.append(("span", "".join(words[start : start + size])))
        at = start + size
    parts.append(("span", "".join(rest)))
    shown = [(tag, part, tag) for tag, part in parts if part]
    return format_html_join("", "<{}>{}</{}>", shown)


def _sample(request: HttpRequest, study: Study) -> str:
    form = SamplingForm(request.POST)
    if not form.is_valid():
        raise DomainError("odd_form", _first_error(form), status=400)
    by = cast(User, request.user)
    start_job(study=study, kind=Job.Kind.SAMPLING, options=form.cleaned_data, by=by)
    return "Sampling has begun; this page shows how far it is."


def _score(request: HttpRequest, study: Study) -> str:
    form = ScoringForm(request.POST)
    if not form.is_valid():
        raise DomainError("odd_form", _first_error(form), status=400)
    by = cast(User, request.user)
    queue = "gpu" if form.cleaned_data["similarity"] in ENCODED else "default"
    options = {**form.cleaned_data, "queue": queue}
    start_job(study=study, kind=Job.Kind.SCORING, options=options, by=by)
    return "Scoring has begun; this page shows how far it is."


def _draw(request: HttpRequest, study: Study) -> str:
    form = DesignForm(request.POST, instance=_design(study))
    if not form.is_valid():
        raise DomainError("odd_form", _first_error(form), status=400)
    n = draw_instances(study=study, design=form.save(commit=False))
    plan = plan_hits(study=study)
    return f"Drew {n} instances and planned {plan.hits} HITs with {plan.places} places."


def _take_all(_: HttpRequest, study: Study) -> str:
    take_all_instances(study=study)
    plan = plan_hits(study=study)
    return f"The draw is forgotten: planned {plan.hits} HITs of every instance."


def _job(request: HttpRequest, study: Study) -> Job:
    job = study.jobs.filter(public_id=request.POST.get("job", "")).first()
    if job is None:
        raise DomainError("no_such_job", "This study has no such job.", status=404)
    return job


def _pause(request: HttpRequest, study: Study) -> str:
    pause_job(job=_job(request, study))
    return "The job pauses after the chunk it is at."


def _resume(request: HttpRequest, study: Study) -> str:
    resume_job(job=_job(request, study))
    return "The job goes on."


def _stop(request: HttpRequest, study: Study) -> str:
    stop_job(job=_job(request, study))
    return "The job has ended; what it made is kept."


def _first_error(form: forms.BaseForm) -> str:
    name, errors = next(iter(form.errors.items()))
    return f"{name}: {errors[0]}"


VERBS: dict[str, Callable[[HttpRequest, Study], str]] = {
    "sample": _sample,
    "score": _score,
    "draw": _draw,
    "take-all": _take_all,
    "pause": _pause,
    "resume": _resume,
    "stop": _stop,
}
