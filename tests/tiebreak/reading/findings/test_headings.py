"""The headings of the questions claim nothing that the intervals of a random design do not say."""

import re
from dataclasses import replace
from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest

from tests.metrics.studies import report_of
from tests.tiebreak.reading.figures.test_differences import THIRD, TWO, of
from tests.tiebreak.reading.findings.machine_cases import section_with
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    base,
    interval,
    with_biases,
    with_rates,
    without_interval,
)
from tests.tiebreak.report.sections.systems.test_simultaneous import rows as ratings_of
from tiebreak.digits import in_digits, percent
from tiebreak.reading.agreement_findings import agreement_finding
from tiebreak.reading.annotator_tests import annotator_tests, is_beyond_chance
from tiebreak.reading.document.summary import summary
from tiebreak.reading.figures.planning.smallest_difference import (
    MOST_TIMES,
    NEARLY,
    PRECISION,
    smallest_difference_figure,
)
from tiebreak.reading.figures.planning.stopping import USUAL_WIDTH
from tiebreak.reading.figures.raters.bias import TITLE as BIAS_TITLE, bias_finding, preferred_shares
from tiebreak.reading.findings import win_rate_finding
from tiebreak.reading.leading_numbers import pair_rates
from tiebreak.reading.messages import WITH_THESE
from tiebreak.reading.shown import rater_measures
from tiebreak.report.model.raters import Bias
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.stats import Estimate, RankSet

SEEDS = range(400)
BANDS = [f"{n / 4}<=separability<{(n + 1) / 4}" for n in range(4)]


def around(rng: np.random.Generator, middle: float, scale: float) -> Estimate:
    """Return an estimate with an interval, sometimes of these annotators alone or with a narrower one."""
    value, half = middle + rng.normal(0, scale), scale * rng.uniform(0.2, 2)
    raters = "these" if rng.random() < 0.2 else "new"
    these = (value - half / 2, value + half / 2) if rng.random() < 0.3 else None
    return interval(value - half, value + half, these=these, raters=raters)


def ranked(seed: int) -> CriterionSection:
    """Return a section of a few systems, of whose order some is shown."""
    rng = np.random.default_rng(seed)
    names = list("abcdef"[: rng.integers(2, 6)])
    worth = np.sort(rng.normal(0, 1, len(names)))[::-1]
    rates = {n: around(rng, 0.5 + 0.1 * w, 0.05) for n, w in zip(names, worth, strict=True)}
    margin = rng.uniform(0, 1.5)
    better = worth[:, None] - worth[None, :] > margin
    sets = {
        name: RankSet(1 + int(better[:, n].sum()), len(names) - int(better[n].sum()))
        for n, name in enumerate(names)
    }
    section = with_rates(at_once=len(names), **rates)
    pairs = {f"{a} vs {b}": around(rng, 0.5, 0.05) for a, b in combinations(names, 2)}
    together = replace(section.systems.simultaneous, pairs=pairs)
    systems = replace(section.systems, rank_sets=sets, simultaneous=together)
    return replace(section, systems=systems)


def excludes_half(rate: Estimate) -> bool:
    return any(one.low > 0.5 or one.high < 0.5 for one in (rate, *rate.narrower))


@pytest.mark.parametrize("made", [ranked, "ratings"])
def test_a_heading_on_systems_tells_nothing_apart_and_nothing_equal_that_is_not_shown(made):
    seen = set()
    for seed in SEEDS if made is ranked else range(8):
        section = ranked(seed) if made is ranked else rated(seed)
        heading, explanation = win_rate_finding(section)
        sets, together = section.systems.rank_sets or {}, section.systems.simultaneous
        ahead = [name for name in sets if together.win_rate[name].low > 0.5]
        if "ranks first" in heading:
            (first,) = (name for name, one in sets.items() if one.worst == 1)
            assert heading.removeprefix(WITH_THESE).startswith(f"{first} ranks")
            assert ahead in ([first], [])
        rest = heading.partition("; ")[2]
        seen.add(re.sub(r"\d( to \d)?|other two", "n", rest))
        if not rest:
            continue
        assert not heading.startswith(WITH_THESE)
        assert len(heading.split()) <= 15
        among = [name for name in sets if name not in ahead] if "the other" in rest else ahead
        if "not told apart" in rest:
            shown = [together.pairs[f"{a} vs {b}"] for a, b in combinations(among, 2)]
            assert not any(map(excludes_half, shown))
            assert len({sets[name].best for name in among}) == 1
        if "all ranks" in rest:
            assert all(one.best == one.worst for one in sets.values())
        if "its rank" in rest:
            assert rest == f"its rank is {sets[ahead[0]]} of {len(sets)}"
        if len(ahead) == 1:
            assert f"{ahead[0]} is {in_digits(together.win_rate[ahead[0]].value)} (" in explanation
    if made is ranked:
        assert seen >= {
            *("", "all ranks are known", "not all other ranks are known", "its rank is n of n"),
            "the n are not told apart",
            "they are not told apart",
        }


def rated(seed: int) -> CriterionSection:
    """Return what a report says of random ratings."""
    names, lead = [f"s{n}" for n in range(3 + seed % 2)], 0.4 * (seed % 4 > 0)
    (section,) = report_of(ratings_of(names, lead=lead, seed=seed)).criteria.values()
    return section


def test_the_number_that_a_heading_leaves_out_is_in_the_written_report():
    report = report_of(ratings_of([f"s{n}" for n in range(4)], lead=0.4))
    (section,) = report.criteria.values()
    rate = section.systems.simultaneous.win_rate["s0"]
    assert in_digits(rate.value) not in win_rate_finding(section)[0]
    text = " ".join(paragraph.text for paragraph in summary(report, []))
    assert f"The win rate of s0 is {in_digits(rate.value)} ({in_digits(rate.low)} to" in text


def stratum(kind: str, name: str, alpha: Estimate, n: int = 20) -> StratumSection:
    like = base().strata[0]
    agreement = replace(like.human_human, krippendorff_alpha=alpha)
    return replace(like, stratifier=kind, stratum=name, n_units=n, human_human=agreement)


def agreed(seed: int) -> CriterionSection:
    """Return a section whose annotators agree, with α by how alike texts are, by pair or category."""
    rng = np.random.default_rng(seed)
    alpha = around(rng, 0.35, 0.1)
    kinds = {"separability": BANDS, "systems": ["x", "y", "z"][: seed % 4], "category": ["p", "q"]}
    strata = [
        stratum(kind, name, without_interval(0.3) if rng.random() < 0.1 else around(rng, 0.3, 0.2))
        for kind, names in kinds.items()
        for name in (names if kind != "separability" or seed % 2 else ())
    ]
    section = base()
    of_all = stratum("all", "all", alpha)
    others = [one for one in section.strata[1:] if one.stratifier not in kinds]
    return replace(section, strata=(of_all, *others, *strata))


def over_the_dataset(section: CriterionSection) -> CriterionSection:
    """Return the same of instances that were drawn out of a dataset."""
    strata = []
    for one in section.strata:
        alpha = one.human_human.krippendorff_alpha
        scope = replace(alpha.scope, instances="dataset")
        drawn = replace(alpha, stated_scope=scope)
        strata.append(stratum(one.stratifier, one.stratum, drawn, one.n_units))
    return replace(section, strata=tuple(strata))


def test_a_heading_on_agreement_says_where_only_as_the_intervals_do():
    seen = set()
    for seed in SEEDS:
        section = agreed(seed)
        heading, _ = agreement_finding(section)
        of_these = heading.startswith("These")
        start = f"{'These a' if of_these else 'A'}nnotators agree beyond chance"
        if not heading.startswith(start):
            continue
        where = heading.removeprefix(start)
        seen.add(re.sub(r"\d", "n", where))
        assert len(heading.split()) <= 15

        def is_shown(one: Estimate, of_these: bool = of_these) -> bool:
            if of_these:
                return any(ends.low > 0 for ends in (one, *one.narrower))
            return one.low > 0 and one.scope.raters == "new"

        alphas: dict[str, list[Estimate]] = {}
        for one in section.strata:
            alphas.setdefault(one.stratifier, []).append(one.human_human.krippendorff_alpha)
        if "texts" in where:
            most, least = alphas["separability"][0], alphas["separability"][-1]
            claims_least = where != ", but this is not shown where texts are most different"
            assert is_shown(least) or not claims_least
            not_alike = ", but this is not shown where texts are most alike"
            assert (where == not_alike) == (not is_shown(most))
            assert least.low > most.high or ", more for texts most different" not in where
            assert most.low > least.high or ", more for texts most alike" not in where
            # Of instances that were drawn it says the same, in fewer words where it would be too long.
            drawn, _ = agreement_finding(over_the_dataset(section))
            assert ("not shown" in drawn) == ("not shown" in where)
            assert len(drawn.split()) <= 15 or "not shown" not in drawn
        elif where:
            kind = "systems" if "pairs" in where else "category"
            known = [one for one in alphas[kind] if one.has_interval]
            missing = sum(not is_shown(one) for one in known)
            assert where.endswith(
                f"of {len(known)} {'pairs of systems' * (kind == 'systems')}"
            ) or (f"of {len(known)} " in where)
            assert (f"not shown in {missing} of" in where) == bool(missing)
    assert len(seen) == 10
    assert any("more for" in where for where in seen)


def test_a_heading_on_preferences_for_a_side_or_length_says_only_what_the_intervals_below_it_do():
    seen = set()
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        odd = [UNDEFINED, without_interval(0.1)]
        biases = [
            odd[seed % 2] if rng.random() < 0.2 else around(rng, 0, rng.choice([0.02, 0.2]))
            for _ in range(4)
        ]
        section = with_biases(*biases[:2])
        if seed % 3:
            together = Bias(position=biases[2], length=biases[3])
            section = replace(section, bias=replace(section.bias, simultaneous=together))
        heading, _ = bias_finding(section.bias)
        first, longer = preferred_shares(section.bias).values()
        bias = section.bias.simultaneous or section.bias
        shares = [(first, 0.5 + bias.position.value), (longer, (1 + bias.length.value) / 2)]
        assert all(one.value == pytest.approx(share, nan_ok=True) for one, share in shares)
        below = [row for row in rater_measures(section) if row.cases == "preferences"]
        assert [row.numbers[0].text for row in below] == [
            percent(one.value) for one in (first, longer) if one.is_defined
        ]
        whose = [first.scope.raters, longer.scope.raters]
        known = {"a side": first, "length": longer}
        known = {name: one for name, one in known.items() if one.has_interval}
        seen.add(re.sub("first|second", "n", heading.replace("shorter", "longer")))
        if heading.startswith("No preference"):
            assert all(one.low <= 0.5 <= one.high for one in known.values())
            assert heading == f"No preference for {' or for '.join(known)} is shown"
        elif "prefer" in heading and "whether others do" not in heading:
            assert ("shown first" in heading) == (first.low > 0.5)
            assert ("shown second" in heading) == (first.high < 0.5)
            assert ("longer" in heading) == (longer.low > 0.5)
            assert ("shorter" in heading) == (longer.high < 0.5)
            assert heading.startswith("Annotators") or "these" in whose
        elif known:
            assert heading.startswith("These annotators")
            assert all(one.low <= 0.5 <= one.high for one in known.values())
        else:
            assert heading == BIAS_TITLE
    assert len(seen) >= 11


def test_a_verdict_on_a_machine_rater_is_no_more_than_its_intervals_show():
    seen = set()
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        ends = rng.uniform(0.4, 0.8, 2)
        rate = rng.choice([0.25, 0.75])
        section = section_with(
            rate, agreement=tuple(sorted(ends)), beyond_chance=bool(rng.random() < 0.5)
        )
        (row,) = annotator_tests(section, states_findings=True).rows
        (found,) = section.noise_ceiling.values()
        is_below = found.agreement.high < found.annotators.low
        is_beyond = is_beyond_chance(section, row.machine)
        seen.add((row.verdict, re.split("[:;] ", row.why)[-1]))
        assert (row.verdict == "Passed") == (rate >= 0.5 and is_beyond)
        assert (row.verdict == "Not passed") == (rate < 0.5 and is_below)
        assert (": agrees less often" in row.why) == (row.verdict == "Not passed")
        assert not annotator_tests(section, states_findings=False).rows[0].is_worse
        if "not shown" in row.why or "too few" in row.why:
            assert row.verdict == "Undecided"
    assert {verdict for verdict, _ in seen} == {"Passed", "Undecided", "Not passed"}
    assert len(seen) == 5


def test_a_heading_on_size_says_what_is_settled_and_how_many_times_the_ratings_the_rest_needs():
    section, seen = of([*TWO, *THIRD]), set()
    names = [*section.systems.simultaneous.pairs, "b vs c"]
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, scale = rng.integers(1, len(names) + 1), rng.choice([0.03, 0.1, 0.3])
        rates = {}
        for name in names[:n]:
            half = scale * rng.uniform(0.5, 1)
            value = float(np.clip(0.5 + rng.normal(0, scale), half, 1 - half))
            raters = "these" if seed % 7 == 0 else "new"
            one = interval(value - half, value + half, raters=raters)
            rates[name] = replace(one, standard_error=half / 1.96)
        together = replace(section.systems.simultaneous, pairs=rates)
        systems = replace(section.systems, simultaneous=together)
        made = replace(section, systems=systems)
        figure = smallest_difference_figure(made)
        if not figure.chart:
            continue
        heading, rates = figure.finding, pair_rates(made)
        halves = [(one.high - one.low) / 2 for one in rates.values()]
        told = {n: half for n, half, _ in figure.rows}
        assert told[made.n_ratings] == pytest.approx(
            max(halves)
        )  # to which any pair's rate is told
        undecided = [one for one in rates.values() if not excludes_half(one)]
        settled = len(rates) - len(undecided)
        assert heading.startswith(WITH_THESE) == (seed % 7 == 0 and settled > 0)
        said = heading.removeprefix(WITH_THESE)
        assert len(said.split()) <= 15
        if undecided and settled:
            pairs = {name: name.split(" vs ") for name in rates}
            systems = {system for pair in pairs.values() for system in pair}
            told = {
                s for s in systems if all(excludes_half(rates[p]) for p in pairs if s in pairs[p])
            }
            seen.add(said.split()[0])
            if said.lower().startswith("enough for"):
                # All pairs are known, one system's are settled, and no other pair is.
                assert len(rates) == comb(len(systems), 2)
                assert said[len("enough for ") :].partition(";")[0] == told.pop()
                assert not told
                assert settled == len(systems) - 1
                assert re.search("; the (other two need|other two are known|lead seen bet)", said)
            else:
                assert said.startswith(f"{settled} of {len(rates)} pairs settled")
                assert len(told) != 1 or len(rates) < comb(len(systems), 2)
        else:
            none = ("No pair is settled", "No difference is shown")
            assert said.startswith(none) == bool(undecided)
        times = max([((r.high - r.low) / USUAL_WIDTH) ** 2 for r in undecided], default=0)
        found = re.search(r"(about|over) ([\d.]+) times", said)
        # Intervals around the leads that are seen, as narrow as the usual precision of the widest.
        narrow = [sqrt(times) * 2 * abs(r.value - 0.5) / (r.high - r.low) for r in undecided]
        is_too_small = times >= NEARLY and max(narrow) < 1
        seen.add((bool(undecided), settled > 0, found and found[1], is_too_small))
        assert said.endswith(f"too small for {PRECISION}") == is_too_small
        leads = sorted(in_digits(abs(one.value - 0.5)) for one in undecided)
        told = re.match("leads? seen: (.*) over one half;", figure.chart.caption)
        assert (told[1].split(" to ") if told else []) == sorted({*leads[:1], *leads[-1:]})
        if is_too_small:
            assert not found  # nothing is to be had for so many times the ratings
        elif times >= NEARLY:
            assert float(found[2]) == pytest.approx(min(times, MOST_TIMES), rel=0.2)
            assert (found[1] == "over") == (times > MOST_TIMES)
        else:
            assert not found
    assert len(seen) >= 7
    assert {"Enough", "enough"} <= seen
