"""The figure of success rates of systems whose texts are rated one by one."""

from collections.abc import Iterator

from tiebreak.digits import in_digits
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import Figure, about_thick_lines, table_of
from tiebreak.report.model.success import KnownOrder, SuccessRates, SystemSuccess
from tiebreak.stats import Estimate

TITLE = "Success rates of the systems"
READING = (
    "● the share of a system's ratings by annotators that are a success. □ the same share by a machine"
    " rater alone, which is wrong wherever the machine rater is. ■ both together: the machine rater's"
    " ratings of all items, corrected by annotators' ratings of some of them (prediction-powered"
    " inference, power-tuned); it is right even if the machine rater is biased, provided that the items"
    " which annotators rated are a random sample. Lines are 95% intervals; for ■ they apply to other items"
    " and to these annotators. The data also have ■ with λ = 1, as in ARES. Each interval applies to one"
    " system: where two overlap, do not conclude that the systems are equally good, and with many"
    " systems some will be far apart by chance."
)
TUNED, FULL = "annotators and {machine}", "annotators and {machine}, λ = 1"


def success_rates_figure(section: SuccessRates) -> Figure:
    """Return the rates by annotators, by each machine rater, and by both together."""
    # The highest rate first; those without a rate are last.
    ordered = sorted(section.systems.items(), key=lambda item: (-_rate(item[1]), item[0]))
    rows = [row for name, system in ordered for row in _drawn_rows(name, system)]
    data = []
    for name, system in ordered:
        full = (
            Mark("machine", one.powered_lambda_1, FULL.format(machine=machine))
            for machine, one in system.machines.items()
        )
        data.append(IntervalRow(name, (*_marks(system), *full)))
    chart = interval_chart(rows, finding=TITLE, label="success rate", bounds=(0, 1))
    about_order = known_order_sentence(section.known_order)
    sentence = f"A success is the answer “{section.success}”. {about_order}"
    thick = about_thick_lines(mark.estimate for row in rows for mark in row.marks)
    return Figure(
        "success-rates",
        TITLE,
        f"{sentence.strip()}{thick}",
        chart,
        *table_of(data),
        READING,
    )


def known_order_sentence(known: KnownOrder | None) -> str:
    """Return how far the rates agree with the known order, if there is one."""
    if known is None:
        return ""
    taus = "; ".join(
        f"{name}: {in_digits(tau.value)}"
        if tau.is_defined
        else f"{name}: {(tau.reason or '').rstrip('.').lower()}"
        for name, tau in taus_of(known)
    )
    missing = f" Without ratings: {', '.join(known.missing)}." if known.missing else ""
    return (
        f"Kendall's τ with the known order {', '.join(known.order)} (1 is the same order, −1 the"
        f" reverse), of the points as they are: {taus}.{missing}"
    )


def taus_of(known: KnownOrder) -> Iterator[tuple[str, Estimate]]:
    """Yield the name and the τ of each kind of rate."""
    yield "annotators", known.human
    for machine in known.machines:
        yield f"{machine} alone", known.machines[machine]
        # A win rate needs items that the machine rater alone has rated.
        if machine in known.powered:
            yield TUNED.format(machine=machine), known.powered[machine]
            yield FULL.format(machine=machine), known.powered_lambda_1[machine]


def _drawn_rows(name: str, system: SystemSuccess) -> Iterator[IntervalRow]:
    """Yield the row of a system; of several machine raters, each has its own below the system's name."""
    if len(system.machines) < 2:
        yield IntervalRow(name, tuple(_marks(system)))
        return
    yield IntervalRow(name)
    yield IntervalRow("annotators", (Mark("human", system.human, "annotators"),))
    for machine, one in system.machines.items():
        alone = Mark("machine-open", one.alone, "machine rater alone")
        yield IntervalRow(machine, (alone, Mark("machine", one.powered, "both together")))


def _marks(system: SystemSuccess) -> Iterator[Mark]:
    yield Mark("human", system.human, "annotators")
    for machine, one in system.machines.items():
        yield Mark("machine-open", one.alone, f"{machine} alone")
        yield Mark("machine", one.powered, TUNED.format(machine=machine))


def _rate(system: SystemSuccess) -> float:
    """Return the rate by both together where there is one, or else by annotators."""
    candidates = [*(machine.powered for machine in system.machines.values()), system.human]
    return next((rate.value for rate in candidates if rate.is_defined), -1.0)
