"""Ratings that were set aside, beside those that count: each number by hand."""

from tests.metrics.studies import report_of

PAIR = {"system_a": "x", "system_b": "y"}


def row(rater: str, label: object, unit: str = "u", **more: object) -> dict:
    return {"unit": unit, "rater": rater, "label": label, **more}


def section(rows: list[dict], scale: str = "preference:tie"):
    report = report_of(rows, sections=["set_aside"], scales={"preference": scale})
    return report.criteria["preference"].set_aside


def test_votes_stand_by_reason_and_win_rates_with_them():
    declined = PAIR | {"late": True, "excluded": True, "superseded": True}
    rows = [
        *(row(f"r{n}", label, **PAIR) for n, label in enumerate((-1, -1, 0, 1))),
        row("e", 1, excluded=True, **PAIR),
        row("e", 1, "v", excluded=True, partial=True, system_a="y", system_b="x"),
        row("p", 0, partial=True, **PAIR),
        row("s", -1, surplus=True, **PAIR),
        row("d", -1, created_at="2026-01-01", **declined),
        row("d", 1, created_at="2026-01-02", **declined),
        row("l", 1, late=True, superseded=True, created_at="2026-01-01", **PAIR),
        row("l", 1, late=True, created_at="2026-01-02", **PAIR),
        # Answers that were changed, repeats, gold checks and machine raters are none of it.
        row("r0", 1, superseded=True, **PAIR),
        row("e", 1, repeat=1, role="repeat", excluded=True, **PAIR),
        row("e", 1, "g", role="gold", excluded=True, **PAIR),
        row("m", 1, kind="machine", excluded=True, **PAIR),
    ]
    for aside in (section(rows), section(rows[::-1])):
        shown = {
            name: (one.votes["x"], one.votes["y"], one.ties, one.win_rate["x"])
            for name, one in {"counted": aside.counted, **aside.reasons}.items()
        }
        assert shown == {
            "counted": (2, 1, 1, 2.5 / 4),
            "late": (0, 1, 0, 2.5 / 5),
            "excluded": (1, 1, 0, 3.5 / 6),
            "partial": (0, 0, 1, 3 / 5),
            "surplus": (1, 0, 0, 3.5 / 5),
            "all": (2, 2, 1, 5 / 9),
        }
        assert aside.undecided == 1


def test_other_scales_have_labels_and_a_mean():
    rows = [row("a", 2), row("b", 5), row("c", 1, excluded=True)]
    aside = section(rows, "ordinal:1..5")
    assert (aside.counted.mean, aside.reasons["excluded"].mean) == (3.5, 1)
    assert aside.reasons["excluded"].votes == {"1": 1, "2": 0, "3": 0, "4": 0, "5": 0}
    assert section(rows[:2], "ordinal:1..5") is None


def test_drawn_instances_are_weighted_as_the_report_weights_them():
    rows = [
        row(rater, label, unit, instance=unit, phase="control", inclusion_probability=p, **PAIR)
        for unit, p, label in (("u", 0.5, -1), ("v", 0.1, 1), ("w", 0.1, -1))
        for rater in "ab"
    ]
    aside = section([*rows[:-1], rows[-1] | {"partial": True}])
    for part, counting in ((aside.counted, rows[:-1]), (aside.reasons["partial"], rows)):
        systems = report_of(counting).criteria["preference"].systems
        assert part.win_rate["x"] == systems.win_rate["x"].value
