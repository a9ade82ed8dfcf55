"""Check that annotators are shown two real texts that differ."""

from collections.abc import Collection, Iterator
from itertools import combinations

from django.db.models import Count, F, Max

from annotation.services.items import SAME, UNCOMPARED, common_texts, same_units
from recruitment.launch.check import (
    DATA,
    GENERATE_SELECT,
    QUALITY,
    SIZE,
    TASK,
    LaunchCheck,
    error,
    warning,
)
from studies.models import Generation, Instance, Study, Unit, UnitText
from studies.rendering.recognising import LEAST_SHARE, LOOKED_AT, markdown_share
from studies.rendering.renderers import RENDERERS
from tiebreak.digits import counted, percent
from tiebreak.formats.shown_fields import parsed_fields
from tiebreak.reading.words import named_instances

SPLIT = "If your file has these texts, look at Data whether they became instances of their own"
LEFT_OUT = (
    "There is nothing to do if your file lacks these texts or you left them out when you imported it."
    " Otherwise correct it, and import it as a new study."
)


def missing_texts(study: Study) -> Iterator[LaunchCheck]:
    lacking = UnitText.objects.filter(unit__study=study, unit__hit_units__isnull=False)
    if n := lacking.filter(generation=None).values("unit").distinct().count():
        yield error(
            "missing_texts",
            f"{counted(n, 'item')} would be shown without a text. Import the generations, and plan"
            " the tasks again.",
            DATA,
        )


def empty_texts(study: Study) -> Iterator[LaunchCheck]:
    if n := study.units.filter(texts__generation__text="").distinct().count():
        yield warning(
            "empty_texts",
            f"{counted(n, 'item')} would show an empty text.",
            DATA,
            advice="Remove its instance at Data, or sample the text again, unless you want empty texts rated.",
        )


def dummy_texts(study: Study) -> Iterator[LaunchCheck]:
    if n := study.units.filter(texts__generation__is_dummy=True).distinct().count():
        yield error(
            "dummy_texts",
            f"{counted(n, 'item')} would show dummy texts, which are for testing only. Remove"
            " them, sample real generations, and plan the tasks again.",
            GENERATE_SELECT,
        )


def raw_markdown(study: Study) -> Iterator[LaunchCheck]:
    """Yield a warning of texts whose asterisks and number signs annotators would read."""
    texts = Generation.objects.filter(
        instance__dataset=study.dataset_id, system__in=study.systems.all()
    )
    sources = Instance.objects.filter(dataset=study.dataset_id).exclude(source="")
    for chosen, what, rows in (
        (study.generation_format, "Responses", texts.values_list("text", flat=True)),
        (study.source_format, "Source texts", sources.values_list("source", flat=True)),
    ):
        if RENDERERS[chosen].is_markup:
            continue
        share = markdown_share(rows.order_by("pk")[:LOOKED_AT])
        if share >= LEAST_SHARE:
            yield warning(
                "raw_markdown",
                f"{what} have Markdown ({percent(share)} of those looked at), and annotators would"
                " see its signs. Show them as Markdown.",
                TASK,
            )


def absent_fields(study: Study) -> Iterator[LaunchCheck]:
    """A field whose name was mistyped shows nothing to anybody."""
    instances = Instance.objects.filter(pk__in=study.units.values("instance"))
    absent = [
        f"“{field.name}”"
        for field in parsed_fields(study.fields)
        if not instances.filter(metadata__has_key=field.name).exists()
    ]
    if absent:
        yield warning(
            "absent_fields",
            f"No instance has {', '.join(absent)}, so nobody will see it. Correct the names under"
            " “further texts of each instance”, or delete the lines.",
            TASK,
        )


def identical_texts(study: Study) -> Iterator[LaunchCheck]:
    """Nobody can prefer one of two identical texts."""
    reference = study.units.exclude(role=Unit.Role.MAIN)
    if n := reference.filter(text_a__generation__text=F("text_b__generation__text")).count():
        yield error(
            "identical_reference_texts",
            f"{counted(n, 'reference item')} would show the same text twice, although an answer is"
            " expected. Remove them, and make others.",
            QUALITY,
        )
    main = study.units.filter(role=Unit.Role.MAIN).count()
    if n := same_units(study).count():
        remove = "emove those instances at Data"
        yield warning(
            "identical_texts",
            f"{n} of {counted(main, 'item')} would show the same text twice, so annotators cannot"
            f" prefer one ({SAME.named(study)}).",
            **_way_out(
                study,
                f"Sample at a higher temperature or with other seeds, or r{remove}.",
                f"If that is a slip in your file, correct it and import it anew; otherwise r{remove}.",
            ),
            items=SAME.address,
        )


def too_few_generations(study: Study) -> Iterator[LaunchCheck]:
    """With fewer than N generations a HIT is shorter, and pays more per comparison."""
    if study.unit_kind != Study.UnitKind.COMPARISON or study.dataset is None:
        return
    counts = [count for pair in study.system_pairs() for count in common_texts(study, pair)]
    n = study.comparisons_per_hit
    few = {instance for instance, common in counts if 0 < common < n}
    none = {instance for instance, common in counts if not common}
    instances = counted(len({instance for instance, _ in counts}), "instance")
    most = max((common for _, common in counts), default=0)
    if few and study.bundling == Study.Bundling.INSTANCE and most < n:
        yield warning(
            "n_without_effect",
            f"N is {n}, but a task shows one instance, and no instance has more than"
            f" {counted(most, 'text')} per system. No task has more comparisons than that. Bundle several"
            f" instances or sample more generations; otherwise set N to {most}, which changes no task.",
            SIZE,
        )
    elif few and study.bundling == Study.Bundling.INSTANCE:
        least = min(common for _, common in counts if common)
        yield warning(
            "too_few_generations",
            f"N is {n}, but for {len(few)} of {instances} there are fewer generations per system"
            f" (the fewest: {least}), so their tasks will have fewer comparisons.",
            GENERATE_SELECT,
            advice="Lower N, bundle several instances, or sample more generations.",
        )
    if none and most:  # where nothing is compared, the plan refuses the study
        keys = Instance.objects.filter(pk__in=none).values_list("key", flat=True)
        ways = (
            (f"{SPLIT}; otherwise generate them.", f"{SPLIT}.")
            if _are_split(study, none)
            else ("Generate them, unless the others are enough.", LEFT_OUT)
        )
        yield warning(
            "instances_left_out",
            f"For {len(none)} of {instances}, at least one pair of systems has no texts to compare, and"
            f" the instance will be left out for that pair ({named_instances(keys)}).",
            **_way_out(study, *ways),
            items=UNCOMPARED.address,
        )


def _are_split(study: Study, instances: Collection[int]) -> bool:
    """Whether two of them have texts of no common system, as if they were halves of one."""
    texts = Generation.objects.filter(
        instance__dataset=study.dataset_id, system__in=study.systems.all()
    )
    of_each: dict[int, set[int]] = {}
    for instance, system in texts.order_by().values_list("instance", "system").distinct():
        if instance in instances:
            of_each.setdefault(instance, set()).add(system)
    kinds = set(map(frozenset, of_each.values()))
    return any(a.isdisjoint(b) for a, b in combinations(kinds, 2))


def most_comparisons(study: Study) -> int:
    """Return the largest number of texts that a system of the study has for an instance."""
    texts = Generation.objects.filter(
        instance__dataset=study.dataset_id, system__in=study.systems.all()
    )
    of_each = texts.order_by().values("instance", "system").annotate(n=Count("pk"))
    most: int | None = of_each.aggregate(most=Max("n"))["most"]
    return most or 0


def _way_out(study: Study, if_generated: str, if_uploaded: str) -> dict[str, str]:
    """Return where the texts come from, and the advice for those that models wrote here, or for others."""
    if study.systems.exclude(language_model="").exists():
        return {"where": GENERATE_SELECT, "advice": if_generated}
    return {"where": DATA, "advice": if_uploaded}
