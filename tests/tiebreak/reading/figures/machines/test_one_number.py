"""Agreement with one annotator is one number, wherever a page or a part of a document names it."""

from collections import defaultdict

import pytest

from tests.metrics.studies import report_of
from tiebreak.reading.figures.machines.stand_in import equal_labels_figure
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.leading_numbers import leading_numbers

JUDGE, OTHER = "judge", "other judge"


def rows() -> list[dict]:
    """Return 30 instances of three items, whose numbers of news and of annotators differ."""
    made = []
    for i in range(30):
        for number in range(3):
            about = {"unit": f"{i}.{number}", "instance": f"i{i}", "criterion": "c"}
            about["category"] = "news" if number < 1 + (i % 3 > 0) else "chat"
            labels = [(i * k + number) % 3 - 1 for k in (1, 2, 5)][: 2 + number % 2]
            made += [about | {"rater": f"r{k}", "label": one} for k, one in enumerate(labels)]
            of_machines = {JUDGE: i % 3 - 1, OTHER: number - 1}
            for rater, label in of_machines.items():
                made.append(about | {"rater": rater, "kind": "machine", "label": label})
    return made


@pytest.fixture(scope="module")
def named() -> dict[tuple[str, str], dict[str, float]]:
    """Return what each place says of a machine rater's agreement on a kind of item."""
    sections = ("machine_replacement", "machine_differences")
    report = report_of(rows(), replicates=100, sections=sections, scales={"c": "preference:tie"})
    about, found = report.criteria["c"], defaultdict(dict)
    for rater, kind, value, *_ in equal_labels_figure(about).rows:
        found[rater, kind.lower()]["picture"] = value
    (figure,) = figures_of_section("machine_replacement", about.machine_replacement)
    for row in figure.rows:
        cells = dict(zip(figure.columns, row, strict=True))
        found[cells["machine"], cells["items_of"].lower()]["licences"] = cells["agreement"]
    for one in about.machine_differences.pairs.values():
        found[one.first_machine, "all items"]["difference"] = one.first.value
        found[one.second_machine, "all items"]["difference"] = one.second.value
    (leading,) = (one for one in leading_numbers(about) if one.tab == "machines")
    found[about.machines_main_first[0], "all items"]["leading"] = float(leading.number.text)
    return found


def test_every_place_has_the_same_agreement_with_one_annotator(named):
    kinds = ("all items", "news", "chat")
    for machine in (JUDGE, OTHER):
        for kind in kinds:
            places = named[machine, kind]
            assert len(places) > 1
            for value in places.values():
                assert value == pytest.approx(places["licences"], abs=0.0051), (machine, kind)
    assert len({round(named[JUDGE, kind]["picture"], 3) for kind in kinds}) == 3
