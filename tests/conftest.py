"""Fixtures for all tests, the order of the tests, and garbage collection between them."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests import brief_reports
from tests.recorded import BUNDLED, CASES, user_questions

os.environ["VCDEBUG_CACHE"] = "off"  # tests write nothing to the cache folder of the user who runs them
os.environ["LANGUAGE"] = "C"  # argparse otherwise searches the disk for translations of each of its words
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores SIGINT, as would all programs that the tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # the hook below collects between tests, only after many allocations
MOST_NEW = 4_000_000
"""Number of new objects (about half a gigabyte) after which garbage is collected."""
CHECKOUT = Path(__file__).resolve().parents[1]
SLOW = (
    "architecture/test_forbidden_forms.py",
    "architecture/test_imports.py",
    "architecture/test_shape.py",
    "architecture/test_sizes.py",
    "bench",
    "capture/test_torn.py",
    "cli/test_cluster.py",
    "cli/test_damaged.py",
    "cli/test_diff.py",
    "cli/test_explain.py",
    "cli/test_file_arguments.py",
    "cli/test_script_what_if.py",
    "cli/test_serve.py",
    "cli/test_transcripts.py",
    "comparison/test_cycles.py",
    "comparison/test_log.py",
    "debugger/test_levels.py",
    "debugger/test_remedies.py",
    "pending/test_advice_everywhere.py",
    "explain/test_figures.py",
    "explain/test_restored.py",
    "explain/test_run_again.py",
    "framework/test_forced.py",
    "fuzz",
    "golden/test_upgrades.py",
    "logs/test_written_late.py",
    "properties",
    "scalar/test_node_plugins.py",
    "snapshot/test_bundled.py",
    "snapshot/test_corpus.py",
    "snapshot/test_damage.py",
    "snapshot/test_redact.py",
    "snapshot/test_streaming.py",
    "recording_file/test_equal.py",
    "recording_file/test_kept.py",
    "test_collector.py",
    "tools",
    "recording/test_beside.py",
    "tui/test_answers.py",
    "tui/test_asking",
    "tui/test_burst.py",
    "tui/test_captures.py",
    "tui/test_hangup.py",
    "tui/test_keys.py",
    "tui/test_nothing_hidden.py",
    "tui/test_opening.py",
    "tui/test_overview.py",
    "tui/test_panels.py",
    "tui/test_pens.py",
    "tui/test_session.py",
    "tui/test_story.py",
    "tui/test_tutorial.py",
    "tui/test_what_if.py",
    "tui/test_worker.py",
    "views/test_closing.py",
    "views/test_panel_texts.py",
)
"""Path prefixes of tests that `make quick` skips: subprocess tests, most screen tests, and long series of runs."""
GROUPED: tuple[Path | str, ...] = (*CASES, *user_questions(), *BUNDLED)
PLACES = {case: place for place, case in enumerate(GROUPED)}
PLACES |= {case.name: place for place, case in enumerate(CASES) if case.parent.name == "random"}
"""A test names its case by folder, and a random case or a bundled snapshot by its name."""


def pytest_configure(config: pytest.Config) -> None:
    """Register shorter reports in xdist worker processes."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(brief_reports)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let each xdist worker rewrite the assertions of a part of the files; it reads those of the others as bytecode."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != ["tests"]:
        return
    files = sorted((CHECKOUT / "tests").rglob("test_*.py"))
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        if not pytest_ignore_collect(path, session.config):
            with suppress(Exception, pytest.skip.Exception):  # the collection, which imports it again, reports it
                import_module(".".join(path.relative_to(CHECKOUT).with_suffix("").parts))


@pytest.fixture(scope="session")
def fixtures_folder() -> Path:
    """The folder of the bundled snapshots."""
    return CHECKOUT / "fixtures"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests: tools, memory tests, then by recorded case, so that tests of one case share its cached replay."""
    items.sort(key=place)
    for item in items:
        if is_slow(item.path):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Freeze the heap: test modules and their imports live until the end, so the collector can ignore them."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Collect garbage after a test that allocated many objects, and freeze the objects that are still in use."""
    result = yield
    if gc.get_count()[0] > MOST_NEW:
        gc.collect()
        gc.freeze()  # mostly replays that later tests use: scanning all of them takes four seconds
    if item.get_closest_marker("memory") is not None:  # gc.get_freeze_count() would count every frozen object
        gc.freeze()
    return result


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip slow files at collection under `-m "not slow"`, so that they are not even imported."""
    return True if "not slow" in str(config.option.markexpr) and is_slow(collection_path) else None


@cache
def is_slow(path: Path) -> bool:
    """Whether `make quick` skips the tests at this path."""
    return path.relative_to(CHECKOUT / "tests").as_posix().startswith(SLOW)


def place(item: pytest.Item) -> int:
    """Sort key of a test: the position of its case among the recorded cases; tests without a case come last."""
    if item.path.parent.name == "tools":
        return -2
    if item.get_closest_marker("memory") is not None:
        return -1
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec is not None else {}
    named = [
        PLACES[each]
        for each in (params.get("case"), params.get("name"))
        if isinstance(each, Path | str) and each in PLACES
    ]
    return min(named, default=len(PLACES))
