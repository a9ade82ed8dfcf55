"""The page of contested items, which a researcher settles one after another."""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from annotation.models import Rating, Settlement
from annotation.services.settling import settle_item
from metrics.collecting.needs import Need
from metrics.models import ReportSnapshot
from metrics.results.contested_items import (
    ContestedUnit,
    UnitAgreement,
    contested_units,
    label_in_words,
)
from metrics.results.rater_rows import rows_of
from metrics.results.selectors import stored_rows
from studies.access import Right, held_right, of_study, user_of
from studies.models import Criterion, Study
from studies.refusals import told
from tiebreak.digits import counted
from tiebreak.scales import Scale


@dataclass(frozen=True)
class Queue:
    """The contested items of a criterion, as the newest report lists them, and those settled."""

    criterion: str
    items: tuple[UnitAgreement, ...]
    settled: frozenset[str]

    @property
    def left(self) -> list[UnitAgreement]:
        return [one for one in self.items if one.unit not in self.settled]

    def at(self, key: str) -> UnitAgreement | None:
        """Return the item with this key, or else the first that is not settled."""
        named = (one for one in self.items if one.unit == key)
        return next(named, None) or next(iter(self.left or self.items), None)

    def after(self, key: str) -> str:
        """Return the key of the next item that is not settled, from the start after the last."""
        keys = [one.unit for one in self.items]
        start = keys.index(key) + 1 if key in keys else 0
        left = [one for one in keys[start:] + keys[:start] if one not in self.settled | {key}]
        return left[0] if left else ""


def queues_of(study: Study, snapshot: ReportSnapshot | None) -> list[Queue]:
    """Return a queue for each criterion that has contested items."""
    if snapshot is None:
        return []
    rows, found = stored_rows(snapshot, with_raters=False), []
    current = Settlement.objects.filter(unit__study=study, replaced_at=None)
    settled = set(current.values_list("criterion__name", "unit__key"))
    for name in rows:
        items = tuple(one for one in rows_of(rows, name).contested.units if one.is_contested)
        keys = frozenset(one.unit for one in items if (name, one.unit) in settled)
        found += [Queue(name, items, keys)] * bool(items)
    return found


def contested_need(study: Study, snapshot: ReportSnapshot) -> list[Need]:
    """Return that items wait to be settled, once nobody collects more answers."""
    n = sum(len(queue.left) for queue in queues_of(study, snapshot))
    sentence = f"{counted(n, 'item is', 'items are')} contested: no label has more than half."
    url = reverse("metrics:contested", args=[study.pk])
    return [Need("contested", sentence, url, f"Settle {counted(n, 'contested item')}")] * bool(n)


@of_study()
def contested_items(request: HttpRequest, study: Study) -> HttpResponse:
    snapshot = ReportSnapshot.objects.filter(study=study, digest="").first()
    queues = queues_of(study, snapshot)
    named = request.GET.get("criterion", "")
    queue = next((one for one in queues if one.criterion == named), queues[0] if queues else None)
    agreement = queue.at(request.GET.get("item", "")) if queue else None
    if request.method == "POST" and queue and agreement:
        with told(request):
            _settle(request, study, queue.criterion, agreement.unit)
            return redirect(_address(study, queue.criterion, queue.after(agreement.unit)))
    context: dict[str, Any] = {"study": study, "queues": queues, "queue": queue, "here": "overview"}
    if queue and agreement:
        context |= _shown(study, queue, agreement)
    context["can_settle"] = held_right(request.user, study) >= Right.CHANGE
    context["typed"] = request.POST.get("reason", "")
    return render(request, "metrics/collecting/contested.html", context)


def _settle(request: HttpRequest, study: Study, criterion: str, unit: str) -> None:
    settle_item(
        study=study,
        unit=unit,
        criterion=criterion,
        label=request.POST.get("label", ""),
        reason=request.POST.get("reason", ""),
        by=user_of(request),
    )
    messages.success(request, f"Item {unit} was settled. Its ratings are as they were.")


def _address(study: Study, criterion: str, unit: str) -> str:
    query = {"criterion": criterion} | ({"item": unit} if unit else {})
    return f"{reverse('metrics:contested', args=[study.pk])}?{urlencode(query)}"


def _shown(study: Study, queue: Queue, agreement: UnitAgreement) -> dict[str, Any]:
    criterion = Criterion.objects.get(study=study, name=queue.criterion)
    scale, ratings = Scale.parse(criterion.scale), Rating.objects.filter(criterion=criterion)
    found = contested_units(study, ratings, scale, [agreement])
    item: ContestedUnit | None = found[0] if found else None
    if item is None:  # it was taken out since the report was made
        return {}
    kept = Settlement.objects.filter(unit=item.unit, criterion=criterion).select_related("by")
    words = _in_words(scale, item.unit.system_names)
    return {
        "criterion": criterion,
        "item": item,
        "texts": item.texts,
        "labels": list(words.items()),
        "kept": [(words.get(one.label, one.label), one) for one in kept],
        "position": queue.items.index(agreement) + 1,
        "following": queue.after(agreement.unit),
    } | ({} if kept else _blinded(item, scale))


def _blinded(item: ContestedUnit, scale: Scale) -> dict[str, Any]:
    """Return the texts and the labels without the systems' names, the texts in an order by chance.

    The order is always the same for an item, so that the page can be opened again.
    """
    first, second = "Text 1", "Text 2"
    is_swapped = len(item.texts) == 2 and bool(crc32(item.unit.key.encode()) % 2)
    texts = item.texts[::-1] if is_swapped else item.texts
    words = _in_words(scale, (second, first) if is_swapped else (first, second))
    order = list(scale.labels or ())
    if is_swapped and scale.kind == "preference":
        order = [-one if isinstance(one, int) else one for one in order]
    named = [(name, *of) for name, of in zip((first, second), texts, strict=False)]
    return {
        "texts": [(name, text) for name, _, text in named],
        "labels": [(str(one), words[str(one)]) for one in order],
        "systems": [(name, system) for name, system, _ in named],
    }


def _in_words(scale: Scale, sides: tuple[str, str]) -> dict[str, str]:
    return {str(one): label_in_words(one, sides, scale) for one in scale.labels or ()}
