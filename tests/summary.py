"""What a run says at its end: what each test file costs, and which tests passed by a second try only.

Costs are seconds of processor of the processes that ran the tests and of those that the tests started and
waited for, summed over all workers. Only tests in a browser have a second try. One that needs it is
listed as FLAKY, a fault whose cause is to be found, and a run with more than a few of them fails.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

SHOWN = 12
TOLERATED = 3
SECONDS = "processor_seconds"
STARTED = pytest.StashKey[float]()


def _spent() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Start the clock of a test, which also pays for the fixtures that it is the first to need."""
    item.stash[STARTED] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Let the last report of a test carry its seconds, which brings them from a worker, too."""
    report = yield
    if report.when == "teardown":
        seconds = _spent() - item.stash[STARTED]
        report.user_properties.append((SECONDS, seconds))
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items if config.pluginmanager.hasplugin("rerunfailures") else ():
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def flaky_tests(reporter: pytest.TerminalReporter) -> set[str]:
    """The tests that failed, were tried again, and passed."""
    passed = {report.nodeid for report in reporter.stats.get("passed", ())}
    return passed & {report.nodeid for report in reporter.stats.get("rerun", ())}


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and len(flaky_tests(reporter)) > TOLERATED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    costs: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            seconds = dict(getattr(report, "user_properties", ())).get(SECONDS, 0.0)
            costs[getattr(report, "nodeid", "").partition("::")[0]] += seconds
    terminalreporter.section(f"{costs.total():.0f} seconds of processor, and the costliest files")
    for name, seconds in costs.most_common(SHOWN):
        terminalreporter.line(f"{seconds:7.1f}  {name}")
    flaky = flaky_tests(terminalreporter)
    for report in terminalreporter.stats.get("rerun", ()):
        if report.nodeid in flaky:
            terminalreporter.line(f"FLAKY  {report.nodeid}\n{report.longreprtext}")
