"""The figure of machine raters that are compared on the same items."""

from tiebreak.digits import counted
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import Figure, draws, empty_figure, reading_if_drawn, table_of
from tiebreak.reading.messages import LEFT_OUT
from tiebreak.report.model.machines import MachineDifferencesSection

TITLE = "Machine raters compared on the same items"
READING = (
    "A point is how much more often the first machine rater of a pair agrees with one annotator drawn at"
    " random than the second, on the items that both have answered. Of several answers of a machine rater"
    " to an item, by run and order, the most frequent one counts, or the lower median on scales with an"
    " order, as on the Machine raters page. Answers of which none could be read are a disagreement. The lines are intervals on the same items, drawn so wide that they hold simultaneously"
    " with 95%. If two judges differ in one thing only, such as the guidelines in their prompt,"
    " the difference is what it is worth with these annotators and a language model of this kind; if they"
    " differ in several, the data do not show which one matters. An interval around 0 does not show that two"
    " prompts are equally good."
)


@draws("machine_differences")
def machine_difference_figures(section: MachineDifferencesSection) -> list[Figure]:
    if not section.pairs:
        return [empty_figure("machine-differences", TITLE, section.reason or "")]
    differences = [
        IntervalRow(
            f"{one.first_machine} − {one.second_machine}", (Mark("machine", one.difference),)
        )
        for one in section.pairs.values()
    ]
    chart = interval_chart(
        differences, finding=TITLE, label="difference of agreement", reference=0, bounds=(-1, 1)
    )
    agreements = [
        IntervalRow(
            name,
            (
                Mark("machine", one.first, one.first_machine),
                Mark("machine-open", one.second, one.second_machine),
                Mark("machine", one.difference, "difference"),
            ),
        )
        for name, one in section.pairs.items()
    ]
    sentence = f"{counted(len(section.pairs), 'pair')} of machine raters. {_left_out(section)}"
    return [
        Figure(
            "machine-differences",
            TITLE,
            sentence.strip(),
            chart,
            *table_of(agreements, "pair"),
            READING + reading_if_drawn(one.difference for one in section.pairs.values()),
        )
    ]


def _left_out(section: MachineDifferencesSection) -> str:
    if not section.left_out:
        return ""
    chosen = "Compared are the machine raters with the most answers to items that annotators rated."
    names = ", ".join(section.left_out)
    return f"{chosen} {LEFT_OUT.format(names=names, section='machine_differences')}"
