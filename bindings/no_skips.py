"""A plugin of pytest: a skipped test fails the run, for a machine that has all that tests need."""

from __future__ import annotations

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("skipped"):
        terminalreporter.section("a skipped test is a failure here: NESTCAST_REQUIRE_BINDINGS is set")
