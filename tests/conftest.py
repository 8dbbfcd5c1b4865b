"""What every test may ask for, and the order of the tests."""

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import brief_reports
from tests.recorded import CASES, GOLDEN

os.environ["VCDEBUG_CACHE"] = "off"  # tests keep nothing in the folder of whoever runs them
gc.disable()  # between tests there is one search for garbage after very much of it, and none for each recording
MOST_NEW = 4_000_000
"""Objects since the last search for garbage; half a gigabyte."""
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
"""What `make quick` leaves out: whole processes, most screens, and many runs of one kind. Each begins a path."""
PLACES: dict[Path | str, int] = {case: place for place, case in enumerate(CASES)}
PLACES |= {case.name: place for place, case in enumerate(CASES) if case.name in GOLDEN and case.parent.name == "random"}
"""A test names the case that it looks at by its folder, or a loose random case by its name."""


def pytest_configure(config: pytest.Config) -> None:
    """Workers say less of what passes."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(brief_reports)


@pytest.fixture(scope="session")
def fixtures_folder() -> Path:
    """The bundled snapshots."""
    return CHECKOUT / "fixtures"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tools begin, then who searches memory; the tests of a recorded case follow each other: one replay serves."""
    items.sort(key=place)
    for item in items:
        if is_slow(item.path):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """The tests themselves and what they import stay: nothing of it need be searched again and again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Behind a test, garbage is searched for where there may be much; what was found to be in use stays aside."""
    result = yield
    if gc.get_count()[0] > MOST_NEW:
        gc.collect()
        gc.freeze()  # mostly replays to which tests come back: a search through all of them takes four seconds
    if item.get_closest_marker("memory") is not None:  # to ask whether anything is aside would count all of it
        gc.freeze()
    return result


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is left out for being slow is not even imported."""
    return True if "not slow" in str(config.option.markexpr) and is_slow(collection_path) else None


@cache
def is_slow(path: Path) -> bool:
    """Whether `make quick` leaves out what lies there."""
    return path.relative_to(CHECKOUT / "tests").as_posix().startswith(SLOW)


def place(item: pytest.Item) -> int:
    """Where the item's case stands among the recorded ones; others keep their order behind them."""
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
